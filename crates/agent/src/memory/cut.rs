//! The cut of a window in a history that only grows: no result stands without its call.

use std::sync::Arc;

use attache_core::message::UserOrigin;
use attache_core::{Message, Role};

use crate::memory::mark::Mark;
use crate::memory::turns::{MEMORY, Turns, goes_on, is_of_author};

/// The place of a window in a history that only grows.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Standing {
    /// The number of messages that were looked at.
    pub(crate) seen: usize,
    /// The places of the system messages.
    systems: Vec<usize>,
    /// The places where the turns of the window begin.
    pub(crate) turns: Vec<usize>,
    reader: Turns,
    /// The places of marks without a summary, which nobody is shown.
    marks: Vec<usize>,
    /// The first message of the window that is no system message.
    start: usize,
    /// The rounds that left one turn of the window.
    hole: Option<Hole>,
    /// The number of shown messages that count.
    pub(crate) shown: usize,
    /// The number of messages that have left, and of those that were told of.
    pub(crate) left: usize,
    pub(crate) told: usize,
}

/// The gap that rounds have left in a turn.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Hole {
    /// The first message that may have left.
    from: usize,
    /// The first one behind that has not.
    to: usize,
    /// The number of rounds that left.
    rounds: usize,
}

impl Standing {
    pub(crate) fn note(&mut self, message: &Message, history: &[Arc<Message>], task: usize) {
        self.shown += usize::from(counts(message));
        if let Message::System(_) = message {
            self.systems.push(self.seen);
        } else if self.reader.opens(message, self.seen == task) {
            self.turns.push(self.seen);
        } else if let Some(mark) = Mark::of(message).filter(|mark| mark.summary.is_none()) {
            self.marks.push(self.seen);
            if mark.of_window {
                self.follow(&mark, history);
            }
        }
        self.seen += 1;
    }

    /// Lets the turns leave that stand before the first message of a mark, and the rounds of the newest one.
    pub(crate) fn follow(&mut self, mark: &Mark, history: &[Arc<Message>]) {
        let before = history.get(..self.seen).unwrap_or_default();
        let Some(from) = before.iter().rposition(|message| mark.from.as_ref() == Some(message.id())) else {
            return;
        };
        while self.next_turn().is_some_and(|next| next <= from) && self.drop_turn(history) {}
        let is_in_newest = self.turns.last().is_some_and(|turn| *turn < from);
        while is_in_newest && self.gap(history).to < from && self.drop_round(history) {}
    }

    /// The first message that is shown whatever is shown of those before it.
    pub(crate) fn begin(&self) -> usize {
        self.hole.map_or(self.start, |hole| hole.to)
    }

    /// The place where the window would begin without its oldest turn.
    fn next_turn(&self) -> Option<usize> {
        match self.turns.as_slice() {
            // Messages stand before the first turn.
            [first, ..] if *first > self.start => Some(*first),
            [_, second, ..] => Some(*second),
            _ => None,
        }
    }

    /// Drops the oldest turn, unless it is the newest.
    pub(crate) fn drop_turn(&mut self, history: &[Arc<Message>]) -> bool {
        let Some(next) = self.next_turn() else { return false };
        if self.turns.first().is_some_and(|first| *first < next) {
            self.turns.remove(0);
        }
        self.leave(history, self.start, next, |_| true);
        self.start = next;
        self.hole = self.hole.filter(|hole| hole.to > next);
        true
    }

    /// The gap in the newest turn, also where no round has left it.
    fn gap(&self, history: &[Arc<Message>]) -> Hole {
        self.hole.unwrap_or_else(|| {
            let turn = self.turns.last().copied().unwrap_or(self.start);
            let users = history.get(turn..).unwrap_or_default().iter();
            let body = turn + users.take_while(|message| message.role() == Role::User).count();
            Hole { from: body, to: body, rounds: 0 }
        })
    }

    /// Drops the oldest round of the newest turn, unless it is the only one.
    pub(crate) fn drop_round(&mut self, history: &[Arc<Message>]) -> bool {
        let hole = self.gap(history);
        let calls = |at: &usize| {
            let message = history.get(*at).map(|message| &**message);
            matches!(message, Some(Message::Assistant(reply)) if reply.has_tool_calls())
        };
        let begin = |mut at: usize| {
            while goes_on(history, at) {
                at -= 1;
            }
            at
        };
        let mut rounds = (hole.to..self.seen).filter(calls).map(begin);
        let Some(oldest) = rounds.next() else { return false };
        let Some(next) = rounds.find(|at| *at > oldest) else { return false };
        self.leave(history, hole.to, next, |message| !is_of_author(message));
        self.hole = Some(Hole { to: next, rounds: hole.rounds + 1, ..hole });
        true
    }

    /// Takes the messages between two places off the count, as far as they leave and are not gone already.
    fn leave(&mut self, history: &[Arc<Message>], from: usize, to: usize, leaves: impl Fn(&Message) -> bool) {
        let gone =
            |at: usize, message: &Message| counts(message) && self.is_visible(at, message) && leaves(message);
        let between = history.get(from..to).unwrap_or_default().iter().enumerate();
        let count = between.filter(|(at, message)| gone(from + at, message)).count();
        self.shown = self.shown.saturating_sub(count);
        self.left += count;
    }

    fn is_visible(&self, at: usize, message: &Message) -> bool {
        let gone = self.hole.is_some_and(|hole| (hole.from..hole.to).contains(&at));
        (!gone || is_of_author(message)) && self.marks.binary_search(&at).is_err()
    }

    pub(crate) fn visible(&self, history: &[Arc<Message>]) -> Vec<Arc<Message>> {
        let window = history.get(self.start..).unwrap_or_default();
        // System messages stay wherever they stand; one message too many is room for the marker.
        let mut shown = Vec::with_capacity(window.len() + self.systems.len() + 2);
        let systems = self.systems.iter().take_while(|at| **at < self.start);
        shown.extend(systems.filter_map(|at| history.get(*at)).cloned());
        if self.hole.is_none() && self.marks.is_empty() {
            shown.extend(window.iter().cloned());
            return shown;
        }
        for (at, message) in (self.start..).zip(window) {
            if let Some(hole) = self.hole.filter(|hole| at == hole.from)
                && let Some(first) = history.get(hole.to)
            {
                let text = format!(
                    "[{} earlier rounds of tool calls of this turn are no longer shown.]",
                    hole.rounds
                );
                shown.push(Message::user(text).with_id(first.id().derived("window")).shared());
            }
            if self.is_visible(at, message) {
                shown.push(Arc::clone(message));
            }
        }
        shown
    }
}

/// True if a message counts towards the limit.
fn counts(message: &Message) -> bool {
    match message {
        Message::System(_) => false,
        Message::User(user) => {
            user.origin != UserOrigin::ToolCallDocuments && user.metadata.get(MEMORY).is_none()
        }
        _ => true,
    }
}
