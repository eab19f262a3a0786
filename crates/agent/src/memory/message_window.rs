//! The message window: which part of the history the model sees.

use std::sync::Arc;

use attache_core::{Message, Role};

use crate::memory::cut::Standing;
use crate::memory::look::{Look, Memory};
use crate::memory::mark::Mark;
use crate::memory::marks::Marks;
use crate::memory::past::Past;
use crate::memory::text_tokens::EstimatedTokens;

/// Shows the model the newest messages or turns.
///
/// A turn is a user message and all that follows up to the next one; a round is an assistant message with calls, its
/// results, and their synthetic message. Neither is ever cut. System messages stay and do not count, nor do
/// synthetic messages. Once the limit is passed, turns leave until the low mark is reached, and the start stays there
/// until the limit is passed again: a cut at each turn would break the providers' prefix caches each time. The
/// newest turn always stays; only when it alone is over a limit of messages, its oldest rounds leave, with a marker in
/// their place. Messages of authors during a turn stay with it. Where the provider refuses a request as too long, half of
/// it leaves, and stays away: oldest turns first, then rounds of the newest one.
///
/// The window is a function of the history alone: it stands where it would stand if each assistant message in the
/// history had been asked for through it. A run that is resumed, and the next run of a conversation, see what one long
/// run would see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageWindow {
    unit: Unit,
    limit: usize,
    low_mark: usize,
}

/// The things that a window counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Messages,
    Turns,
}

impl Default for MessageWindow {
    fn default() -> Self {
        Self::new(40)
    }
}

/// The part that the model sees, and how much left since the last look.
pub(crate) struct Window {
    pub(crate) messages: Vec<Arc<Message>>,
    pub(crate) evicted: usize,
}

impl MessageWindow {
    /// A window of at most `max_messages` (at least 1), which is cut down to three quarters.
    pub fn new(max_messages: usize) -> Self {
        let limit = max_messages.max(1);
        Self { unit: Unit::Messages, limit, low_mark: (limit * 3 / 4).max(1) }
    }

    /// A window of the newest `turns` (at least 1), whole, however many messages they are. It moves with each turn;
    /// with a [low mark](Self::with_low_mark) it moves in blocks, so that providers' caches hold longer.
    ///
    /// ```
    /// use attache_agent::MessageWindow;
    /// use attache_core::Message;
    ///
    /// let history = ["one", "1", "two", "2", "three"].iter().enumerate().map(|(at, text)| {
    ///     let message = if at % 2 == 0 { Message::user(*text) } else { Message::assistant(*text) };
    ///     message.shared()
    /// });
    /// let history: Vec<_> = history.collect();
    /// assert_eq!(MessageWindow::turns(2).apply(&history).len(), 3);
    /// ```
    pub fn turns(turns: usize) -> Self {
        let limit = turns.max(1);
        Self { unit: Unit::Turns, limit, low_mark: limit }
    }

    /// Sets the mark down to which it is cut, in messages or turns as the window counts.
    #[must_use]
    pub fn with_low_mark(mut self, low_mark: usize) -> Self {
        self.low_mark = low_mark.clamp(1, self.limit);
        self
    }

    /// The messages of `history` that a model is shown.
    pub fn apply(&self, history: &[Arc<Message>]) -> Vec<Arc<Message>> {
        self.see(history, usize::MAX, &mut Standing::default()).messages
    }

    /// The messages that the model is shown now. `task` is where the newest input begins: it opens a turn, whatever
    /// stands before it. Messages that were looked at before cost nothing again.
    pub(crate) fn see(&self, history: &[Arc<Message>], task: usize, marks: &mut Standing) -> Window {
        let ahead = self.catch_up(history, task, marks);
        let now = ahead.as_ref().unwrap_or(marks);
        let (messages, left) = (now.visible(history), now.left);
        let evicted = left.saturating_sub(marks.told);
        marks.told = left;
        Window { messages, evicted }
    }

    /// Reads what came since the last look. Yields where the window stands now, if that is further on: the next reply makes
    /// this cut one of the history; until then more messages may come.
    fn catch_up(&self, history: &[Arc<Message>], task: usize, marks: &mut Standing) -> Option<Standing> {
        while let Some(message) = history.get(marks.seen) {
            // The model was asked for it with all that stands before it.
            if message.role() == Role::Assistant {
                self.cut(history, marks);
            }
            marks.note(message, history, task);
        }
        (self.size(marks) > self.limit).then(|| {
            let mut ahead = marks.clone();
            self.cut(history, &mut ahead);
            ahead
        })
    }

    /// The mark that shows half of the tokens that are shown now, and no more than half of the model's window takes, once
    /// the provider has refused them as too many. None where nothing more can leave.
    fn halved(&self, past: &Past<'_>, marks: &mut Marks) -> Option<Mark> {
        let ahead = self.catch_up(past.history, past.task, &mut marks.window);
        let mut now = ahead.unwrap_or_else(|| marks.window.clone());
        let ledger = marks.ledger.get_or_insert_default();
        ledger.catch_up(past, &EstimatedTokens);
        let (fixed, shown) = (ledger.fixed(past), ledger.between(now.begin(), past.history.len()));
        let half = past.capabilities.context_window.map(|window| (window / 2).saturating_sub(fixed));
        let from = ledger.recent(half.unwrap_or(u64::MAX).min(shown / 2), true);
        let mark = ledger.mark(ledger.cut(from, from, past), past);
        let left = now.left;
        now.follow(&mark, past.history);
        let tokens = fixed.saturating_add(shown);
        // A summary that another memory made is a message of the window.
        let own = Mark { tokens, summary: None, as_user: false, of_window: true, ..mark };
        (now.left > left).then_some(own)
    }

    /// Moves the window down to the low mark, if it is too long.
    fn cut(&self, history: &[Arc<Message>], marks: &mut Standing) {
        if self.size(marks) <= self.limit {
            return;
        }
        while self.size(marks) > self.low_mark && marks.drop_turn(history) {}
        // The newest turn alone is too long.
        if self.size(marks) > self.limit {
            while self.size(marks) > self.low_mark && marks.drop_round(history) {}
        }
    }

    /// The messages or turns that are shown.
    fn size(&self, marks: &Standing) -> usize {
        match self.unit {
            Unit::Messages => marks.shown,
            Unit::Turns => marks.turns.len(),
        }
    }
}

impl Memory for MessageWindow {
    fn look(&self, past: &Past<'_>, marks: &mut Marks) -> Look {
        if past.is_full
            && let Some(mark) = self.halved(past, marks)
        {
            return Look::Move(Box::new(mark));
        }
        let Window { messages, evicted } = self.see(past.history, past.task, &mut marks.window);
        Look::Show { messages, evicted }
    }
}

#[cfg(test)]
mod tests;
