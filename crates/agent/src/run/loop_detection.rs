//! Notices calls that go round in circles.

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};

use attache_core::{ContentTree, DocumentSource, ToolCall, ToolResult};

/// The rounds of late.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Repeats {
    /// Signatures of calls and their results. A call is no repetition where its result changes.
    recent: VecDeque<u64>,
    /// The rounds in a row that found nothing.
    empty: usize,
    /// The calls that failed and did not succeed since.
    failing: Vec<Failing>,
}

/// A call with its arguments that failed and did not succeed since.
#[derive(Clone, Debug, PartialEq)]
struct Failing {
    call: u64,
    times: usize,
    /// A hash of its last words, and how often in a row it said them.
    said: u64,
    alike: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Fine,
    /// The model is told that it repeats itself.
    Nudge,
    /// The model is told that it finds nothing.
    Empty,
    Stop,
}

/// Wide enough for circles of three rounds.
const WINDOW: usize = 15;
const NUDGE_AT: usize = 3;
const STOP_AT: usize = 5;
/// The failures of one call from which on the model is told of them.
const FAILING_AT: usize = 2;
/// The failures of one call at which the run stops although their words differ, as those of a tool do that says how long to
/// wait. Failures in the same words stop it at `STOP_AT`.
const FAILING_STOP: usize = 10;
/// The rounds without a result after which the model is told so, and the run stops.
const EMPTY_NUDGE: usize = 4;
const EMPTY_STOP: usize = 8;

impl Repeats {
    /// Takes the calls of a round with their results, and whether each has an effect. A round of none is passed over.
    pub(crate) fn observe<'a>(
        &mut self,
        round: impl Iterator<Item = (&'a ToolCall, &'a ToolResult, bool)>,
    ) -> Verdict {
        let mut hasher = Words::default();
        let (mut calls, mut is_empty) = (0_usize, true);
        for (call, result, has_effect) in round {
            calls += 1;
            // An effect has done something, although it returns nothing.
            is_empty &= !has_effect && found_nothing(result);
            call.name.hash(&mut hasher);
            call.arguments.replay_json().hash(&mut hasher);
            result.is_error().hash(&mut hasher);
            hash_stable(result, &mut hasher);
        }
        if calls == 0 {
            return Verdict::Fine;
        }
        self.empty = if is_empty { self.empty.saturating_add(1) } else { 0 };
        let signature = hasher.finish();
        if self.recent.len() == WINDOW {
            self.recent.pop_front();
        }
        self.recent.push_back(signature);
        match (self.recent.iter().filter(|seen| **seen == signature).count(), self.empty) {
            (STOP_AT.., _) | (_, EMPTY_STOP..) => Verdict::Stop,
            (NUDGE_AT.., _) => Verdict::Nudge,
            (_, EMPTY_NUDGE..) => Verdict::Empty,
            _ => Verdict::Fine,
        }
    }

    /// Takes a call that was made, with its result. Says how often it has failed by now, if the model is to be told.
    pub(crate) fn fails(&mut self, call: &ToolCall, result: &ToolResult, has_effect: bool) -> Option<usize> {
        if !result.is_error() && self.failing.is_empty() {
            return None;
        }
        if !result.is_error() && has_effect {
            // Something is otherwise now, so that what failed may succeed.
            self.failing.clear();
            return None;
        }
        let mut hasher = Words::default();
        call.name.hash(&mut hasher);
        call.arguments.replay_json().hash(&mut hasher);
        let known = hasher.finish();
        if !result.is_error() {
            self.failing.retain(|failing| failing.call != known);
            return None;
        }
        let mut hasher = Words::default();
        hash_stable(result, &mut hasher);
        let said = hasher.finish();
        let Some(failing) = self.failing.iter_mut().find(|failing| failing.call == known) else {
            self.failing.push(Failing { call: known, times: 1, said, alike: 1 });
            return None;
        };
        failing.times = failing.times.saturating_add(1);
        failing.alike = if failing.said == said { failing.alike.saturating_add(1) } else { 1 };
        failing.said = said;
        (failing.times >= FAILING_AT).then_some(failing.times)
    }

    /// True if one call has failed so often that nothing is to be hoped of it.
    pub(crate) fn is_stuck(&self) -> bool {
        self.failing.iter().any(|failing| failing.alike >= STOP_AT || failing.times >= FAILING_STOP)
    }
}

fn found_nothing(result: &ToolResult) -> bool {
    !result.is_error()
        && result.documents.is_empty()
        && matches!(result.tree.json(), "null" | "\"\"" | "[]" | "{}")
}

/// The result's text without the ids of its documents, which are new at each call, and their contents. All of it is what
/// the log says of them, so that a replay finds the same rounds alike.
fn hash_stable(result: &ToolResult, hasher: &mut Words) {
    let mut text = result.tree.json();
    for document in result.tree.documents() {
        if let Some((before, after)) = text.split_once(document.id().as_str()) {
            before.hash(hasher);
            text = after;
        }
        match (document.hash(), document.source()) {
            (Some(content), _) => content.hash(hasher),
            (None, DocumentSource::External { url }) => url.hash(hasher),
            // Nobody knows whether another one has the same content.
            (None, _) => document.id().hash(hasher),
        }
    }
    text.hash(hasher);
}

/// A hash of sixteen bytes at a time: results are long, and nobody gains by two that have the same.
#[derive(Default)]
struct Words(u64);

impl Hasher for Words {
    fn write(&mut self, bytes: &[u8]) {
        let mut add = |pair: [u8; 16]| {
            let pair = u128::from_le_bytes(pair);
            let (first, second) = (self.0 ^ pair as u64, (pair >> 64) as u64 ^ 0xf135_7aea_2e62_a9c5);
            let product = u128::from(first) * u128::from(second);
            self.0 = product as u64 ^ (product >> 64) as u64;
        };
        let (pairs, rest) = bytes.as_chunks();
        pairs.iter().for_each(|pair| add(*pair));
        let mut last = [0xff; 16];
        last.iter_mut().zip(rest).for_each(|(place, byte)| *place = *byte);
        add(last);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

impl Verdict {
    /// Tells the model, in this result, what is wrong.
    pub(crate) fn told(self, call: &ToolCall, result: &mut ToolResult) {
        match self {
            Self::Nudge => {
                let text = format!(
                    "The call {} was made several times with the same result. Try something else, or answer with what you have.",
                    call.name
                );
                hint(result, &text);
            }
            Self::Empty => hint(
                result,
                "The last calls found nothing. Try something else, or answer with what you have.",
            ),
            Self::Fine | Self::Stop => {}
        }
    }
}

/// Says something behind a result. One with documents keeps its tree, in which their references stand.
pub(super) fn hint(result: &mut ToolResult, text: &str) {
    if result.documents.is_empty() && result.withheld.is_empty() {
        result.tree = ContentTree::text(&format!("{}\n\n[{text}]", result.tree.model_text()));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn texts_that_differ_anywhere_differ() {
        let text = "a result of some length, read sixteen bytes at a time";
        let changed = (0..text.len()).map(|at| [&text[..at], "#", &text[at + 1..]].concat());
        let cut = (0..=text.len()).map(|at| text[..at].to_owned());
        let padded = (1..17).map(|count| text.to_owned() + &"\0".repeat(count));
        let texts: HashSet<String> = changed.chain(cut).chain(padded).collect();
        let hash = |text: &String| {
            let mut hasher = Words::default();
            text.hash(&mut hasher);
            hasher.finish()
        };
        assert_eq!(texts.iter().map(hash).collect::<HashSet<u64>>().len(), texts.len());
    }
}
