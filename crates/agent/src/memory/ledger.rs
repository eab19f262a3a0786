//! The tokens of a conversation, its units, and what the newest mark shows of it.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use attache_core::{Message, MessageId, Role};

use crate::memory::mark::{Mark, PINNED, is_mark};
use crate::memory::message_tokens::{self, slim, tokens};
use crate::memory::past::Past;
use crate::memory::text_tokens::TokenCounter;
use crate::memory::turns::{Turns, goes_on, is_of_author};

/// A conversation that was looked at, message by message: none costs anything twice, also where each look finds the
/// conversation too long and nothing that makes it shorter.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    seen: usize,
    reader: Turns,
    /// Where a turn or a round begins, so that nothing is torn apart there, and where a turn does.
    units: Vec<Unit>,
    turns: Vec<usize>,
    /// The tokens before each message, as they are and as cleared; one longer than the messages.
    full: Vec<u64>,
    slim: Vec<u64>,
    /// The messages before each one that a mark counts among those that left.
    counted: Vec<usize>,
    systems: Vec<usize>,
    /// The messages with which turns begin, and the words of authors during them.
    said: Vec<usize>,
    pinned: Vec<usize>,
    marks: Vec<usize>,
    /// The frame of each mark, and the frame without one, which shows all.
    frames: Vec<Frame>,
    none: Frame,
    /// The last reply.
    replied: Option<usize>,
    /// The tokens of the tools, and which they are.
    tools: (usize, u64),
    told: usize,
}

#[derive(Clone, Copy, Debug)]
struct Unit {
    at: usize,
    opens_turn: bool,
}

/// The part of a conversation that a mark shows.
#[derive(Clone, Debug, Default)]
pub(super) struct Frame {
    /// The place of the mark.
    since: usize,
    pub(super) mark: Mark,
    /// The first message that is shown.
    pub(super) from: usize,
    /// The first message that is shown whole.
    pub(super) rest: usize,
    /// The messages before it that are shown all the same.
    kept: Vec<usize>,
    /// The messages that stand before it.
    head: Vec<Arc<Message>>,
    head_tokens: u64,
    summary_tokens: u64,
}

/// The part of a conversation that a mark would show.
pub(super) struct Cut {
    from: usize,
    rest: usize,
    kept: Vec<usize>,
    /// The number of messages that are not shown.
    left: usize,
}

impl Ledger {
    /// Reads what came since the last look.
    pub(super) fn catch_up(&mut self, past: &Past<'_>, counter: &dyn TokenCounter) {
        if self.full.is_empty() {
            self.full.push(0);
            self.slim.push(0);
            self.counted.push(0);
        }
        let tools = Arc::as_ptr(past.tools).addr();
        if self.tools.0 != tools {
            self.tools = (tools, message_tokens::of_tools(past, counter));
        }
        while let Some(message) = past.history.get(self.seen) {
            self.note(message, past, counter);
        }
    }

    fn note(&mut self, message: &Arc<Message>, past: &Past<'_>, counter: &dyn TokenCounter) {
        let at = self.seen;
        let counted = match is_mark(message) {
            true => message_tokens::Tokens::default(),
            false => tokens(message, counter, past),
        };
        let last = |sums: &[u64]| sums.last().copied().unwrap_or(0);
        self.full.push(last(&self.full).saturating_add(counted.full));
        self.slim.push(last(&self.slim).saturating_add(counted.slim));
        let is_system = message.role() == Role::System;
        let counts = !is_system && !message.is_tool_call_documents() && !is_mark(message);
        self.counted.push(self.counted.last().map_or(0, |before| before + usize::from(counts)));
        self.seen += 1;
        if let Some(mark) = Mark::of(message) {
            self.marks.push(at);
            let frame = self.frame(mark, message.id(), at, past, counter);
            self.frames.push(frame);
            return;
        }
        if self.reader.opens(message, at == past.task) {
            self.units.push(Unit { at, opens_turn: true });
            self.turns.push(at);
        } else if message.role() == Role::Assistant && !goes_on(past.history, at) {
            self.units.push(Unit { at, opens_turn: false });
        }
        if message.role() == Role::Assistant {
            self.replied = Some(at);
        }
        if self.reader.is_in_opening(message) || message.role() == Role::User && is_of_author(message) {
            self.said.push(at);
        }
        if message.metadata().get(PINNED).is_some_and(|pinned| pinned == true) {
            self.pinned.push(at);
        }
        if is_system {
            self.systems.push(at);
        }
    }

    /// The frame of a mark that would stand at `since`.
    fn frame(
        &self,
        mark: Mark,
        id: &MessageId,
        since: usize,
        past: &Past<'_>,
        counter: &dyn TokenCounter,
    ) -> Frame {
        let history = past.history.get(..since).unwrap_or_default();
        let place = |id: &MessageId| history.iter().rposition(|message| message.id() == id);
        // Of a conversation that lost its beginning elsewhere, all that is there is shown.
        let from = mark.from.as_ref().and_then(place).unwrap_or(0);
        let rest = mark.clears.as_ref().and_then(place).unwrap_or(0).max(from);
        let kept: Vec<usize> = mark.keeps.iter().filter_map(place).filter(|at| *at < from).collect();
        let mut head: Vec<Arc<Message>> =
            self.systems_before(from).filter_map(|at| history.get(at).cloned()).collect();
        let summary = mark.shown_summary(id);
        let summary_tokens = summary.as_ref().map_or(0, |summary| tokens(summary, counter, past).full);
        head.extend(summary);
        let marker = marker(&mark, from, &kept, history).then(|| mark.shown_marker(id));
        let marker_tokens = marker.as_ref().map_or(0, |marker| tokens(marker, counter, past).full);
        head.extend(marker);
        head.extend(kept.iter().filter_map(|at| history.get(*at).cloned()));
        let whole = self.pinned_before(rest, past);
        let cleared = (from..rest).filter_map(|at| Some((at, history.get(at)?)));
        head.extend(cleared.filter(|(_, message)| !is_mark(message)).filter_map(|(at, message)| {
            match whole.contains(&at) {
                true => Some(Arc::clone(message)),
                false => slim(message, past.reader),
            }
        }));
        let head_tokens = self.head_tokens(from, rest, &kept, past) + summary_tokens + marker_tokens;
        Frame { since, mark, from, rest, kept, head, head_tokens, summary_tokens }
    }

    fn systems_before(&self, from: usize) -> impl Iterator<Item = usize> {
        self.systems.iter().copied().take_while(move |at| *at < from)
    }

    /// The tokens before the messages that are shown whole, without the summary and the marker.
    fn head_tokens(&self, from: usize, rest: usize, kept: &[usize], past: &Past<'_>) -> u64 {
        let slim = |from: usize, to: usize| at(&self.slim, to).saturating_sub(at(&self.slim, from));
        let stay = self.systems_before(from).chain(kept.iter().copied());
        let stay: u64 = stay.map(|at| self.between(at, at + 1)).sum();
        let whole = self.pinned_before(rest, past).into_iter().filter(|at| *at >= from);
        let spared: u64 = whole.map(|at| self.between(at, at + 1).saturating_sub(slim(at, at + 1))).sum();
        stay + slim(from, rest) + spared
    }

    /// The tokens of the messages between two places.
    pub(super) fn between(&self, from: usize, to: usize) -> u64 {
        at(&self.full, to).saturating_sub(at(&self.full, from))
    }

    /// The tokens of a request that a frame shows, of the messages until `until`.
    fn total(&self, frame: &Frame, until: usize) -> u64 {
        self.tools.1 + frame.head_tokens + self.between(frame.rest, until)
    }

    /// The tokens of `frame` now, by the estimate that the provider's count of the last request corrects.
    fn corrected(&self, tokens: u64, past: &Past<'_>) -> u64 {
        let (until, read, is_exact) = match (past.read_tokens, self.replied, past.counted) {
            (Some(read), Some(replied), _) => (replied, read, false),
            (None, _, Some((until, read))) => (until, read, true),
            _ => return tokens,
        };
        let asked = self.frames.iter().rev().find(|frame| frame.since < until).unwrap_or(&self.none);
        let counted = self.total(asked, until).max(1);
        // A provider that counts something else must not mislead by more than this.
        let read = if is_exact { read } else { read.clamp(counted / 2, counted.saturating_mul(2)) };
        tokens.saturating_mul(read) / counted
    }

    /// The tokens of the next request.
    pub(super) fn now(&self, past: &Past<'_>) -> u64 {
        self.corrected(self.total(self.newest(), self.seen), past)
    }

    /// The tokens right behind the newest mark, if there is one.
    pub(super) fn after_mark(&self, past: &Past<'_>) -> Option<u64> {
        let frame = self.frames.last()?;
        Some(self.corrected(self.total(frame, frame.since), past))
    }

    /// The tokens that a mark at the end would leave which shows that part, with the newest summary. Nothing is looked
    /// at again for it but the marker that stands in the place of what left.
    pub(super) fn would_leave(&self, cut: &Cut, past: &Past<'_>, counter: &dyn TokenCounter) -> u64 {
        let newest = self.newest();
        let mark = Mark { left: cut.left, summary: newest.mark.summary.clone(), ..Mark::default() };
        let mut head = self.head_tokens(cut.from, cut.rest, &cut.kept, past) + newest.summary_tokens;
        if marker(&mark, cut.from, &cut.kept, past.history) {
            head += tokens(&mark.shown_marker(&MessageId::new()), counter, past).full;
        }
        self.corrected(self.tools.1 + head + self.between(cut.rest, self.seen), past)
    }

    /// The tokens that no mark takes away: tools, system messages, and what is pinned.
    pub(super) fn fixed(&self, past: &Past<'_>) -> u64 {
        let mut stay = self.pinned_before(self.seen, past);
        stay.extend(&self.systems);
        self.tools.1 + stay.into_iter().map(|at| self.between(at, at + 1)).sum::<u64>()
    }

    pub(super) fn newest(&self) -> &Frame {
        self.frames.last().unwrap_or(&self.none)
    }

    /// The place where the newest units begin that have at most so many tokens: whole turns if one fits and
    /// `whole` says so, rounds otherwise. The newest unit always belongs to them.
    pub(super) fn recent(&self, most: u64, whole: bool) -> usize {
        let is_beyond = |at: usize| self.between(at, self.seen) > most;
        // The later one begins, the fewer tokens it has.
        let turn = self.turns.get(self.turns.partition_point(|turn| is_beyond(*turn))).filter(|_| whole);
        let unit = || self.units.get(self.units.partition_point(|unit| is_beyond(unit.at)));
        let newest = || self.units.last().map(|unit| unit.at);
        turn.copied().or_else(|| unit().map(|unit| unit.at)).or_else(newest).unwrap_or(0)
    }

    /// The messages from `from` on, of which those before `rest` are cleared, and those before them that stay.
    pub(super) fn cut(&self, from: usize, rest: usize, past: &Past<'_>) -> Cut {
        let mut kept = self.pinned_before(from, past);
        let turn = self.turns.partition_point(|at| *at <= from).checked_sub(1);
        if let Some(turn) = turn.and_then(|turn| self.turns.get(turn)) {
            let said = |at: usize| self.said.partition_point(|said| *said < at);
            kept.extend(self.said.get(said(*turn)..said(from)).unwrap_or_default());
        }
        let counts = |places: Range<usize>| at(&self.counted, places.end) - at(&self.counted, places.start);
        let stay: usize = kept.iter().filter(|at| **at < from).map(|at| counts(*at..at + 1)).sum();
        let left = counts(0..from).saturating_sub(stay);
        Cut { from, rest, kept: kept.into_iter().collect(), left }
    }

    /// The tokens of the messages before a place that stay all the same, without those that no mark takes away.
    pub(super) fn kept_beside(&self, from: usize, past: &Past<'_>) -> u64 {
        let (kept, pinned) = (self.cut(from, from, past).kept, self.pinned_before(from, past));
        kept.into_iter().filter(|at| !pinned.contains(at)).map(|at| self.between(at, at + 1)).sum()
    }

    /// The same with the messages of the newest mark that stay.
    pub(super) fn cut_further(&self, rest: usize, past: &Past<'_>) -> Cut {
        let newest = self.newest();
        Cut { kept: newest.kept.clone(), ..self.cut(newest.from, rest, past) }
    }

    /// The mark that shows a part of the conversation.
    pub(super) fn mark(&self, cut: Cut, past: &Past<'_>) -> Mark {
        let id = |at: usize| past.history.get(at).map(|message| message.id().clone());
        let newest = &self.newest().mark;
        let mut mark = Mark { left: cut.left, tokens: self.now(past), ..Mark::default() };
        mark.from = id(cut.from).filter(|_| cut.from > 0);
        mark.keeps = cut.kept.into_iter().filter_map(id).collect();
        mark.clears = id(cut.rest).filter(|_| cut.rest > cut.from);
        mark.summary.clone_from(&newest.summary);
        mark.as_user = newest.as_user;
        mark
    }

    /// The places that are pinned before a place, with all of their rounds; a mark may stand at the end of one.
    fn pinned_before(&self, until: usize, past: &Past<'_>) -> BTreeSet<usize> {
        let pinned = self.pinned.iter().take_while(|at| **at < until);
        let places = pinned.flat_map(|at| self.round_of(*at, past));
        places.filter(|at| self.marks.binary_search(at).is_err()).collect()
    }

    /// A message, with all of its round if it is one of a reply.
    fn round_of(&self, message: usize, past: &Past<'_>) -> Range<usize> {
        let is_said = past.history.get(message).is_some_and(|message| message.role() == Role::User);
        let next = self.units.partition_point(|unit| unit.at <= message);
        let begin = next.checked_sub(1).and_then(|unit| self.units.get(unit));
        match begin {
            Some(begin) if !begin.opens_turn && !is_said => {
                begin.at..self.units.get(next).map_or(self.seen, |unit| unit.at)
            }
            _ => message..message + 1,
        }
    }

    /// The messages that the newest mark shows, and how many have left since the last look.
    pub(super) fn show(&mut self, past: &Past<'_>) -> (Vec<Arc<Message>>, usize) {
        let messages = self.messages(past);
        let left = self.newest().mark.left;
        let evicted = left.saturating_sub(self.told);
        self.told = left;
        (messages, evicted)
    }

    /// The messages that a memory with such a limit wants counted: half of it is far enough from it for an estimate.
    pub(super) fn to_count(&self, past: &Past<'_>, limit: u64) -> Option<Vec<Arc<Message>>> {
        (self.now(past) > limit / 2).then(|| self.messages(past))
    }

    fn messages(&self, past: &Past<'_>) -> Vec<Arc<Message>> {
        let (frame, history) = (self.newest(), past.history);
        let mut messages = Vec::with_capacity(frame.head.len() + history.len().saturating_sub(frame.rest));
        messages.extend(frame.head.iter().cloned());
        let mut from = frame.rest;
        for mark in self.marks.iter().filter(|mark| **mark >= frame.rest) {
            messages.extend(history.get(from..*mark).unwrap_or_default().iter().cloned());
            from = mark + 1;
        }
        messages.extend(history.get(from..).unwrap_or_default().iter().cloned());
        messages
    }
}

fn at<T: Copy + Default>(sums: &[T], at: usize) -> T {
    sums.get(at).or(sums.last()).copied().unwrap_or_default()
}

/// True if a word stands in the place of the messages that a mark does not show.
fn marker(mark: &Mark, from: usize, kept: &[usize], history: &[Arc<Message>]) -> bool {
    let first = kept.first().copied().unwrap_or(from);
    let opens = history.get(first).is_none_or(|message| message.role() == Role::User);
    from > 0 && (!opens || (mark.summary.is_none() && mark.left > 0))
}
