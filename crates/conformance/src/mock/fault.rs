//! The faults that a script can ask for.

use std::time::Duration;

use bytes::Bytes;

use super::converse::error_frame;
use super::delivery::{Ending, Insert, Writes};
use super::reply::Reply;

/// Fault injection. Offsets count bytes of the response's body.
impl Reply {
    /// Chooses the network writes. Each reaches the client as a chunk of its own.
    #[must_use]
    pub fn writes(mut self, writes: Writes) -> Self {
        self.delivery.writes = writes;
        self
    }

    /// Waits before the response's head is sent.
    #[must_use]
    pub fn delay_first(mut self, delay: Duration) -> Self {
        self.delivery.first_delay = delay;
        self
    }

    /// Waits between two writes.
    #[must_use]
    pub fn delay_between(mut self, delay: Duration) -> Self {
        self.delivery.write_delay = delay;
        self
    }

    /// Resets the connection instead of answering.
    #[must_use]
    pub fn reset_before_response(mut self) -> Self {
        self.delivery.ending = Ending::ResetBeforeHead;
        self
    }

    /// Resets the connection after that many bytes.
    #[must_use]
    pub fn reset_after(mut self, bytes: usize) -> Self {
        self.delivery.ending = Ending::Reset(bytes);
        self
    }

    /// Closes the connection after that many bytes, without ending the HTTP body.
    #[must_use]
    pub fn cut_after(mut self, bytes: usize) -> Self {
        self.delivery.ending = Ending::Cut(bytes);
        self
    }

    /// Ends the HTTP body properly after that many bytes: a truncated answer that looks whole to HTTP.
    #[must_use]
    pub fn end_after(mut self, bytes: usize) -> Self {
        self.delivery.ending = Ending::Truncated(bytes);
        self
    }

    /// Sends nothing more after that many bytes and keeps the connection open until the client closes it or
    /// the mock is dropped.
    #[must_use]
    pub fn stall_after(mut self, bytes: usize) -> Self {
        self.delivery.ending = Ending::Stall(bytes);
        self
    }

    /// Leaves out the event that ends a stream: `[DONE]`, `message_stop`, `response.completed`, Gemini's chunk with
    /// the finish reason, Converse's `messageStop` with the metadata behind it, Cohere's `message-end`, Ollama's last line.
    #[must_use]
    pub fn without_terminator(mut self) -> Self {
        self.delivery.no_terminator = true;
        self
    }

    /// Puts bytes among a stream's events, before the event that has that index, such as a malformed frame or
    /// a comment; an index past the end means behind the last one.
    #[must_use]
    pub fn insert_event(mut self, index: usize, bytes: impl Into<Bytes>) -> Self {
        self.delivery.inserts.push(Insert::Raw(index, bytes.into()));
        self
    }

    /// Ends a stream with these bytes instead of the event that has that index.
    #[must_use]
    pub fn end_with(mut self, index: usize, bytes: impl Into<Bytes>) -> Self {
        self.delivery.inserts.push(Insert::Last(index, bytes.into()));
        self
    }

    /// Ends a stream of Converse with a frame of the message type `error` instead of the event that has that index.
    #[must_use]
    pub fn error_frame(self, index: usize, code: impl AsRef<str>, message: impl AsRef<str>) -> Self {
        self.end_with(index, error_frame(code.as_ref(), message.as_ref()))
    }

    /// Ends a stream with an error event in the API's shape instead of the event that has that index. `kind` is
    /// its type, its `code` in Responses, its `status` in Gemini, the finish reason in Cohere; Ollama has none. In
    /// Converse it is a frame of the message type `exception`, such as `throttlingException`.
    #[must_use]
    pub fn error_event(mut self, index: usize, kind: impl Into<String>, message: impl Into<String>) -> Self {
        self.delivery.inserts.push(Insert::Error { at: index, kind: kind.into(), message: message.into() });
        self
    }
}
