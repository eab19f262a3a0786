//! The bounds of a server.

use std::time::Duration;

/// The bounds of an MCP server of ours: on the work of clients, and on the documents that it keeps for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct McpServeLimits {
    /// The maximum number of bytes of one message of a client; 32 MiB. Larger ones are refused.
    pub message_bytes: usize,
    /// The time in which the body of a request must be there; 30 s.
    pub body: Duration,
    /// The maximum number of bytes of all bodies that are read at a time over HTTP, each beyond its first 64 KiB; 512
    /// MiB, or what one message may have where that is more. Further ones are refused (503) until others are read. One
    /// principal has half of it at most, and always what one message may have. Without principals all clients are one.
    pub bodies: usize,
    /// The maximum number of calls under way at once, of all clients; 64. One more is refused with a text that says so.
    pub calls: usize,
    /// The maximum number of calls under way at once in one MCP session; 16.
    pub session_calls: usize,
    /// The maximum number of MCP sessions over HTTP; 1,000. Where requests are told apart by their principals, one
    /// principal has half of them at most. One more closes that session of its principal which is unused for the longest, and is refused if
    /// all of these have a call under way.
    pub sessions: usize,
    /// The time after which an MCP session over HTTP ends in which no message came or went, no call is under way and on which no
    /// client listens, with its conversations and the documents behind its links; 30 minutes, and 1 s at least.
    pub session_idle: Duration,
    /// The maximum number of connections of [`McpListener`](crate::McpListener); 256. Others wait.
    pub connections: usize,
    /// The time that a person has to answer a question; 10 minutes.
    pub answer: Duration,
    /// The time that the function of a template or a prompt has; 60 s, as tools have where nothing else is said.
    pub function: Duration,
    /// The maximum number of bytes of a document that stands in a result; 4 MiB. Larger ones are linked to.
    pub inline_bytes: usize,
    /// The maximum number of bytes of all documents that stand in one result; 16 MiB.
    pub inline_total: usize,
    /// The maximum number of bytes of documents that are kept for one principal, to be read by their links; 64 MiB.
    /// Each counts with its address, and as 1 KiB at least. The oldest go first.
    pub kept_bytes: usize,
    /// The maximum number of bytes of documents that are kept for all principals together; 256 MiB.
    pub kept_total: usize,
    /// The maximum number of documents of one call, in and out; 500.
    pub documents: usize,
    /// The maximum number of conversations of a principal, where the program keeps no
    /// [sessions](crate::McpAgent::with_sessions) of its own; 1,000. They live for 60 minutes without use.
    pub conversations: usize,
    /// The items on a page of a list; 100.
    pub page: usize,
}

impl Default for McpServeLimits {
    fn default() -> Self {
        Self {
            message_bytes: 32 << 20,
            body: Duration::from_secs(30),
            bodies: 512 << 20,
            calls: 64,
            session_calls: 16,
            sessions: 1_000,
            session_idle: Duration::from_secs(30 * 60),
            connections: 256,
            answer: Duration::from_secs(600),
            function: Duration::from_secs(60),
            inline_bytes: 4 << 20,
            inline_total: 16 << 20,
            kept_bytes: 64 << 20,
            kept_total: 256 << 20,
            documents: 500,
            conversations: 1_000,
            page: 100,
        }
    }
}

impl McpServeLimits {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the maximum number of bytes of one message.
    #[must_use]
    pub fn with_message_bytes(mut self, bytes: usize) -> Self {
        self.message_bytes = bytes;
        self
    }

    /// Sets the maximum number of calls under way at once, of all clients and in one session.
    #[must_use]
    pub fn with_calls(mut self, all: usize, session: usize) -> Self {
        (self.calls, self.session_calls) = (all, session);
        self
    }

    /// Sets the maximum number of sessions over HTTP.
    #[must_use]
    pub fn with_sessions(mut self, sessions: usize) -> Self {
        self.sessions = sessions;
        self
    }

    /// Sets the time after which a session over HTTP ends that nobody uses.
    #[must_use]
    pub fn with_session_idle(mut self, limit: Duration) -> Self {
        self.session_idle = limit;
        self
    }

    /// As it is kept: the SDK would end sessions at once, and messages that keep one would never cease.
    pub(super) fn idle(&self) -> Duration {
        self.session_idle.max(Duration::from_secs(1))
    }

    /// Sets the time that a person has to answer.
    #[must_use]
    pub fn with_answer(mut self, limit: Duration) -> Self {
        self.answer = limit;
        self
    }

    /// Sets the time that the function of a template or a prompt has.
    #[must_use]
    pub fn with_function(mut self, limit: Duration) -> Self {
        self.function = limit;
        self
    }

    /// Sets the maximum number of bytes of a document that stands in a result, and of all of them.
    #[must_use]
    pub fn with_inline_bytes(mut self, each: usize, total: usize) -> Self {
        (self.inline_bytes, self.inline_total) = (each, total);
        self
    }

    /// Sets the maximum number of bytes of documents that are kept, for one principal and for all.
    #[must_use]
    pub fn with_kept_bytes(mut self, each: usize, total: usize) -> Self {
        (self.kept_bytes, self.kept_total) = (each, total);
        self
    }

    /// Sets the items on a page of a list.
    #[must_use]
    pub fn with_page(mut self, items: usize) -> Self {
        self.page = items.max(1);
        self
    }
}
