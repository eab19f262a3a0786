//! The message window: which part of the history the model sees.

use std::sync::Arc;

use attache_core::{Message, Role, UserOrigin};

/// Shows the model the newest messages or turns.
///
/// A turn is a user message and all that follows up to the next one; a round is an assistant message with calls, its
/// results, and their synthetic message. Neither is ever cut. System messages stay and do not count, nor do
/// synthetic messages. Once the limit is passed, turns leave until the low mark is reached, and the start stays there
/// until the limit is passed again: a cut at each turn would break the providers' prefix caches each time. The
/// newest turn always stays; only when it alone is over a limit of messages, its oldest rounds leave, with a marker in
/// their place. What authors say during a turn stays with it.
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

/// The metadata of a word of the loop to the model, which opens no turn.
pub(crate) const NOTICE: &str = "notice";
/// The metadata of a reply that the provider paused and that is continued.
pub(crate) const PAUSED: &str = "paused";
/// The metadata of results, or of a paused reply, after which the run ended without an answer.
pub(crate) const TURN_ENDED: &str = "turnEnded";

/// Where a window stands in a history that only grows.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Marks {
    /// How many messages were looked at.
    seen: usize,
    /// Where the system messages are.
    systems: Vec<usize>,
    /// Where the turns of the window begin.
    turns: Vec<usize>,
    /// True if the last message belongs to the user's side at the beginning of a turn.
    opening: bool,
    /// True if the turn goes on after the last message.
    in_round: bool,
    /// The first message of the window that is no system message.
    start: usize,
    /// The rounds that left one turn of the window.
    hole: Option<Hole>,
    /// How many messages that count are shown.
    shown: usize,
    /// How many messages have left, and how many of them were told of.
    left: usize,
    told: usize,
}

/// Where rounds have left a turn.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Hole {
    /// The first message that may have left.
    from: usize,
    /// The first one behind that has not.
    to: usize,
    /// How many rounds left.
    rounds: usize,
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
        self.look(history, usize::MAX, &mut Marks::default()).messages
    }

    /// The messages that the model is shown now. `task` is where the newest input begins: it opens a turn, whatever
    /// stands before it. Messages that were looked at before cost nothing again.
    pub(crate) fn look(&self, history: &[Arc<Message>], task: usize, marks: &mut Marks) -> Window {
        while let Some(message) = history.get(marks.seen) {
            // The model was asked for it with all that stands before it.
            if message.role() == Role::Assistant {
                self.cut(history, marks);
            }
            marks.note(message, task);
        }
        // The next reply makes this cut one of the history; until then more messages may come.
        let ahead = (self.size(marks) > self.limit).then(|| {
            let mut ahead = marks.clone();
            self.cut(history, &mut ahead);
            ahead
        });
        let now = ahead.as_ref().unwrap_or(marks);
        let (messages, left) = (now.visible(history), now.left);
        let evicted = left.saturating_sub(marks.told);
        marks.told = left;
        Window { messages, evicted }
    }

    /// Moves the window down to the low mark, if it is too long.
    fn cut(&self, history: &[Arc<Message>], marks: &mut Marks) {
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
    fn size(&self, marks: &Marks) -> usize {
        match self.unit {
            Unit::Messages => marks.shown,
            Unit::Turns => marks.turns.len(),
        }
    }
}

impl Marks {
    fn note(&mut self, message: &Message, task: usize) {
        self.shown += usize::from(counts(message));
        match message {
            Message::System(_) => self.systems.push(self.seen),
            Message::User(user) => {
                let says =
                    user.origin != UserOrigin::ToolCallDocuments && user.metadata.get(NOTICE).is_none();
                if says && !self.opening && (!self.in_round || self.seen == task) {
                    self.turns.push(self.seen);
                    (self.opening, self.in_round) = (true, false);
                }
            }
            Message::Assistant(reply) => {
                self.opening = false;
                self.in_round =
                    reply.metadata.get(PAUSED).is_some() && reply.metadata.get(TURN_ENDED).is_none();
            }
            Message::ToolResults(results) => {
                self.opening = false;
                self.in_round = results.metadata.get(TURN_ENDED).is_none();
            }
            _ => {}
        }
        self.seen += 1;
    }

    /// Drops the oldest turn, unless it is the newest.
    fn drop_turn(&mut self, history: &[Arc<Message>]) -> bool {
        let next = match self.turns.first() {
            // Messages stand before the first turn.
            Some(first) if *first > self.start => *first,
            _ if self.turns.len() > 1 => {
                self.turns.remove(0);
                self.turns.first().copied().unwrap_or(self.seen)
            }
            _ => return false,
        };
        self.leave(history, self.start, next, |_| true);
        self.start = next;
        self.hole = self.hole.filter(|hole| hole.to > next);
        true
    }

    /// Drops the oldest round of the newest turn, unless it is the only one.
    fn drop_round(&mut self, history: &[Arc<Message>]) -> bool {
        let turn = self.turns.last().copied().unwrap_or(self.start);
        let hole = self.hole.unwrap_or_else(|| {
            let users = history.get(turn..).unwrap_or_default().iter();
            let body = turn + users.take_while(|message| message.role() == Role::User).count();
            Hole { from: body, to: body, rounds: 0 }
        });
        let calls = |at: &usize| {
            let message = history.get(*at).map(|message| &**message);
            matches!(message, Some(Message::Assistant(reply)) if reply.has_tool_calls())
        };
        let Some(next) = (hole.to..self.seen).filter(calls).nth(1) else { return false };
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
        !gone || is_of_author(message)
    }

    fn visible(&self, history: &[Arc<Message>]) -> Vec<Arc<Message>> {
        let window = history.get(self.start..).unwrap_or_default();
        // System messages stay wherever they stand; one message too many is room for the marker.
        let mut shown = Vec::with_capacity(window.len() + self.systems.len() + 2);
        let systems = self.systems.iter().take_while(|at| **at < self.start);
        shown.extend(systems.filter_map(|at| history.get(*at)).cloned());
        let Some(hole) = self.hole else {
            shown.extend(window.iter().cloned());
            return shown;
        };
        for (at, message) in (self.start..).zip(window) {
            if at == hole.from
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
    message.role() != Role::System && !message.is_tool_call_documents()
}

/// True if it stays with its turn, whatever rounds leave.
fn is_of_author(message: &Message) -> bool {
    match message {
        Message::System(_) => true,
        Message::User(user) => user.origin == UserOrigin::Author,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
