//! The message window: which part of the history the model sees.

use std::sync::Arc;

use attache_core::{Message, MessageId, Role, UserOrigin};

/// Shows the model the newest messages, in whole turns.
///
/// A turn is a user message and all that follows up to the next one; a round is an assistant message with calls, its
/// results, and their synthetic message. Neither is ever cut. System messages stay and do not count, nor do
/// synthetic messages. Once the limit is passed, turns leave until the low mark is reached, and the start stays there
/// until the limit is passed again: a cut at each turn would break the providers' prefix caches each time. The
/// newest turn always stays; only when it alone is over the limit, its oldest rounds leave, behind its user message
/// and with a marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageWindow {
    max_messages: usize,
    low_mark: usize,
}

impl Default for MessageWindow {
    fn default() -> Self {
        Self { max_messages: 40, low_mark: 30 }
    }
}

/// Where a window stands; it moves only forward.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct WindowState {
    /// The first message of the window that is no system message.
    start: Option<MessageId>,
    /// The first message kept behind the newest turn's user message, where rounds left it.
    resumed: Option<MessageId>,
    dropped_rounds: usize,
}

/// What the model sees, and what left since the last look.
pub(crate) struct Window {
    pub(crate) messages: Vec<Arc<Message>>,
    pub(crate) evicted: usize,
}

impl MessageWindow {
    /// A window of at most `max_messages` (at least 1), which is cut down to three quarters.
    pub fn new(max_messages: usize) -> Self {
        let max_messages = max_messages.max(1);
        Self { max_messages, low_mark: (max_messages * 3 / 4).max(1) }
    }

    /// Sets the mark down to which it is cut.
    #[must_use]
    pub fn with_low_mark(mut self, low_mark: usize) -> Self {
        self.low_mark = low_mark.clamp(1, self.max_messages);
        self
    }

    /// The messages that a model is shown of `history`, if the window was never cut before.
    pub fn apply(&self, history: &[Arc<Message>]) -> Vec<Arc<Message>> {
        self.advance(history, &mut WindowState::default()).messages
    }

    pub(crate) fn advance(&self, history: &[Arc<Message>], state: &mut WindowState) -> Window {
        let at = |id: &Option<MessageId>| {
            id.as_ref().and_then(|id| history.iter().position(|message| message.id() == id))
        };
        let mut start = at(&state.start).unwrap_or_else(|| leading_system(history));
        let mut evicted = 0;
        if state.resumed.is_none() && counted(history.get(start..).unwrap_or_default()) <= self.max_messages {
            return Window { messages: self.shown(history, start, start, None, 0), evicted };
        }
        let turns = turn_starts(history, start);
        let current = turns.last().copied().unwrap_or(start);
        let mut resumed = at(&state.resumed).filter(|resumed| *resumed > current);
        if resumed.is_none() {
            state.resumed = None;
            state.dropped_rounds = 0;
        }
        if self.counted(history, start, current, resumed) > self.max_messages {
            let before = start;
            for turn in turns {
                start = turn;
                if self.counted(history, start, current, resumed) <= self.low_mark {
                    break;
                }
            }
            evicted += counted(history.get(before..start).unwrap_or_default());
            // The newest turn alone is too long: its oldest rounds leave.
            if start == current && self.counted(history, start, current, resumed) > self.max_messages {
                let body = body_start(history, current);
                let rounds = round_starts(history, resumed.unwrap_or(body));
                for round in rounds.into_iter().skip(1) {
                    let from = resumed.unwrap_or(body);
                    evicted += counted(history.get(from..round).unwrap_or_default());
                    state.dropped_rounds += 1;
                    resumed = Some(round);
                    if self.counted(history, start, current, resumed) <= self.low_mark {
                        break;
                    }
                }
            }
            state.start = history.get(start).map(|message| message.id().clone());
            state.resumed = resumed.and_then(|at| history.get(at)).map(|message| message.id().clone());
        }
        Window { messages: self.shown(history, start, current, resumed, state.dropped_rounds), evicted }
    }

    fn counted(
        &self,
        history: &[Arc<Message>],
        start: usize,
        current: usize,
        resumed: Option<usize>,
    ) -> usize {
        match resumed {
            None => counted(history.get(start..).unwrap_or_default()),
            Some(resumed) => {
                let body = body_start(history, current);
                counted(history.get(start..body).unwrap_or_default())
                    + counted(history.get(resumed..).unwrap_or_default())
            }
        }
    }

    fn shown(
        &self,
        history: &[Arc<Message>],
        start: usize,
        current: usize,
        resumed: Option<usize>,
        dropped: usize,
    ) -> Vec<Arc<Message>> {
        // System messages stay wherever they stand; one message too many is room for the marker.
        let mut shown = Vec::with_capacity(history.len() - start.min(history.len()) + 2);
        let before = history.get(..start).unwrap_or_default();
        shown.extend(before.iter().filter(|message| message.role() == Role::System).cloned());
        let Some(resumed) = resumed else {
            shown.extend(history.get(start..).unwrap_or_default().iter().cloned());
            return shown;
        };
        let body = body_start(history, current);
        shown.extend(history.get(start..body).unwrap_or_default().iter().cloned());
        if let Some(first) = history.get(resumed) {
            let text = format!("[{dropped} earlier rounds of tool calls of this turn are no longer shown.]");
            shown.push(Message::user(text).with_id(first.id().derived("window")).shared());
        }
        shown.extend(history.get(resumed..).unwrap_or_default().iter().cloned());
        shown
    }
}

/// Messages that count towards the limit.
fn counted(messages: &[Arc<Message>]) -> usize {
    messages
        .iter()
        .filter(|message| message.role() != Role::System && !message.is_tool_call_documents())
        .count()
}

fn leading_system(history: &[Arc<Message>]) -> usize {
    history.iter().take_while(|message| message.role() == Role::System).count()
}

/// Where turns begin, from `from` on: user messages that do not go on with what stands before. What happens during a
/// round, such as an event or a notice behind results, belongs to it; what an author says opens a turn.
fn turn_starts(history: &[Arc<Message>], from: usize) -> Vec<usize> {
    let (mut opening, mut in_round) = (false, false);
    let mut starts = Vec::new();
    for (at, message) in history.iter().enumerate() {
        match &**message {
            Message::User(user) => {
                let opens = match user.origin {
                    UserOrigin::ToolCallDocuments => false,
                    UserOrigin::Author => !opening,
                    _ => !opening && !in_round,
                };
                if opens {
                    starts.push(at);
                }
                opening = opening || opens;
                in_round = in_round && !opens;
            }
            message => {
                opening = false;
                in_round = message.role() == Role::ToolResults;
            }
        }
    }
    starts.retain(|start| *start >= from);
    starts
}

/// The first message behind the user's side of the turn at `turn`.
fn body_start(history: &[Arc<Message>], turn: usize) -> usize {
    let user =
        history.get(turn..).unwrap_or_default().iter().take_while(|message| message.role() == Role::User);
    turn + user.count()
}

/// Where rounds begin: assistant messages with calls.
fn round_starts(history: &[Arc<Message>], from: usize) -> Vec<usize> {
    let calls = |at: &usize| matches!(history.get(*at).map(|message| &**message), Some(Message::Assistant(message)) if message.has_tool_calls());
    (from..history.len()).filter(calls).collect()
}

#[cfg(test)]
mod tests;
