//! The logs of the runs that tools start, and how a run finds its own when its tool is run again.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use attache_core::{Effect, ToolCallId};

use crate::input::named;
use crate::log::{Entry, EntryKind, Key, Started};

/// The logs of the runs inside the tools of a run, by the calls that the tools answer.
#[derive(Default)]
pub(super) struct Nested(HashMap<String, BTreeMap<u32, Vec<Entry>>>);

impl Nested {
    /// Adds an entry of a run inside a tool.
    pub(super) fn push(&mut self, entry: Entry) {
        let place = entry.key.outer_scope().and_then(|scope| {
            let (head, number) = scope.strip_suffix('>')?.rsplit_once('/')?;
            Some((format!("{head}/"), number.parse().ok()?))
        });
        if let Some((call, number)) = place {
            self.0.entry(call).or_default().entry(number).or_default().push(entry);
        }
    }

    /// Takes the logs of the runs out that the tool started which answers `call`.
    pub(super) fn of(&mut self, call: &ToolCallId) -> Logs {
        if self.0.is_empty() {
            return Logs::default();
        }
        Logs::new(self.0.remove(&Key::scopes(call)).unwrap_or_default())
    }
}

impl Nested {
    /// The handle of the question at which the tool stopped that answers `call`.
    pub(super) fn left_off(&self, call: &ToolCallId) -> Option<&str> {
        self.0.get(&Key::scopes(call))?.values().find_map(|log| open_question(log))
    }
}

/// The handle of the question that a run inside asks, if it has one and nobody has read the answer.
fn open_question(log: &[Entry]) -> Option<&str> {
    let has_ended = log.iter().any(|entry| matches!(entry.kind, EntryKind::Ended(_)));
    match has_ended {
        true => None,
        false => log.iter().find_map(|entry| match &entry.kind {
            EntryKind::Deferred(deferred) if deferred.prompt.is_some() => deferred.handle.as_deref(),
            _ => None,
        }),
    }
}

/// The logs of the runs that a tool started for one call.
#[derive(Default)]
pub(super) struct Logs {
    /// Those that no run of this attempt has taken up.
    left: BTreeMap<u32, Vec<Entry>>,
    /// Their numbers by the number of the question that they began with.
    by_question: HashMap<u64, VecDeque<u32>>,
    /// The number of the next new run.
    next: u32,
    /// The number of those that have no name and began something that must not be repeated.
    at_stake: usize,
    /// The questions of runs that an earlier attempt started, also of those that wrote nothing.
    known: HashSet<u64>,
    /// The questions of the runs that this attempt started.
    pub(super) asked: Vec<u64>,
    /// The number of those that a log tells of.
    pub(super) told: usize,
}

impl Logs {
    fn new(left: BTreeMap<u32, Vec<Entry>>) -> Self {
        let next = left.last_key_value().map_or(0, |(number, _)| number.saturating_add(1));
        let mut by_question: HashMap<u64, VecDeque<u32>> = HashMap::new();
        for (number, log) in &left {
            if let Some(question) = begin(log).and_then(|started| started.question) {
                by_question.entry(question).or_default().push_back(*number);
            }
        }
        let at_stake = left.values().filter(|log| is_at_stake(log)).count();
        let known = left.values().filter_map(|log| begin(log)).flat_map(|started| &started.beside).copied();
        Self { known: known.collect(), left, by_question, next, at_stake, asked: Vec::new(), told: 0 }
    }

    /// The handle of the question at which an earlier attempt stopped.
    pub(super) fn left_off(&self) -> Option<&str> {
        self.left.values().find_map(|log| open_question(log))
    }

    /// The number and the log of a run: the first that began with its question, or a new one. `None` if it may be one
    /// that was begun with a question in other words, and would repeat what that did.
    pub(super) fn take(&mut self, question: u64, is_named: bool) -> Option<(u32, Vec<Entry>)> {
        self.asked.push(question);
        let written = self.by_question.get_mut(&question).and_then(VecDeque::pop_front);
        if let Some((number, log)) = written.and_then(|number| self.left.remove_entry(&number)) {
            self.at_stake -= usize::from(is_at_stake(&log));
            return Some((number, log));
        }
        if !is_named && self.at_stake > 0 && !self.known.contains(&question) {
            return None;
        }
        let number = self.next;
        self.next = number.checked_add(1)?;
        Some((number, Vec::new()))
    }
}

fn is_at_stake(log: &[Entry]) -> bool {
    let is_named = begin(log).is_some_and(|started| started.question == Some(named(&started.run_id)));
    !is_named
        && log
            .iter()
            .any(|entry| matches!(&entry.kind, EntryKind::Begun(begun) if begun.effect != Effect::Read))
}

/// The beginning of a log, which may hold others.
fn begin(log: &[Entry]) -> Option<&Started> {
    log.iter().find_map(|entry| match &entry.kind {
        EntryKind::Started(started) => Some(started),
        _ => None,
    })
}
