//! One call of a client, for the tool that answers it.
#![expect(
    deprecated,
    reason = "messages for the log are on their way out of the protocol, and clients want them"
)]

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use attache_core::tool::Progress;
use rmcp::model::{
    LoggingLevel, LoggingMessageNotification, LoggingMessageNotificationParam, ProgressNotificationParam,
    ProgressToken, ServerNotification,
};
use rmcp::service::{Peer, RoleServer};
use serde_json::Value;

/// The call of an MCP client, which its tool finds in its [context](attache_core::ToolContext::get): it writes to the
/// client's log. How far it has come the tool says by [`ToolContext::progress`](attache_core::ToolContext::progress), as it
/// does to anybody. Clones are of the same call.
///
/// ```
/// use attache_agent::tool_fn;
/// use attache_core::ToolContext;
/// use attache_core::tool::Progress;
/// use attache_mcp::{McpCall, McpLogLevel};
///
/// let count = tool_fn("count", "Counts", |_: attache_agent::NoArguments, context: ToolContext| async move {
///     for done in 1..=3 {
///         context.progress(Progress::new(f64::from(done)).with_total(3.0).with_message("counting"));
///     }
///     if let Some(call) = context.get::<McpCall>() {
///         call.log(McpLogLevel::Info, "count", "counted to three").await;
///     }
///     Ok::<_, attache_core::ToolError>("three")
/// });
/// # let _ = count;
/// ```
#[derive(Clone)]
pub struct McpCall(pub(super) Arc<Line>);

/// The line to the client that made a call.
pub(super) struct Line {
    pub(super) peer: Peer<RoleServer>,
    /// The token of the client that wants to hear of progress.
    pub(super) token: Option<ProgressToken>,
    /// The lowest level of messages that the client wants; none if it wants none.
    pub(super) level: Option<McpLogLevel>,
    pub(super) told: Mutex<f64>,
}

/// The weight of a message, in the words of syslog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum McpLogLevel {
    /// Details for people who look for a fault.
    Debug,
    /// Usual events.
    Info,
    /// Unusual events.
    Notice,
    /// A thing that is not as it should be.
    Warning,
    /// A failure.
    Error,
    /// A failure of a part.
    Critical,
    /// Somebody must act at once.
    Alert,
    /// Nothing works.
    Emergency,
}

impl McpLogLevel {
    pub(super) fn from_wire(level: LoggingLevel) -> Self {
        match level {
            LoggingLevel::Debug => Self::Debug,
            LoggingLevel::Info => Self::Info,
            LoggingLevel::Notice => Self::Notice,
            LoggingLevel::Warning => Self::Warning,
            LoggingLevel::Error => Self::Error,
            LoggingLevel::Critical => Self::Critical,
            LoggingLevel::Alert => Self::Alert,
            LoggingLevel::Emergency => Self::Emergency,
        }
    }

    fn on_wire(self) -> LoggingLevel {
        match self {
            Self::Debug => LoggingLevel::Debug,
            Self::Info => LoggingLevel::Info,
            Self::Notice => LoggingLevel::Notice,
            Self::Warning => LoggingLevel::Warning,
            Self::Error => LoggingLevel::Error,
            Self::Critical => LoggingLevel::Critical,
            Self::Alert => LoggingLevel::Alert,
            Self::Emergency => LoggingLevel::Emergency,
        }
    }
}

impl McpCall {
    /// Tells the client how far the call has come. A client that did not ask for it hears nothing, and what is not more
    /// than before is not told: the protocol wants it to grow.
    pub(super) async fn progress(&self, Progress { done, total, message, .. }: Progress) {
        let Some(token) = self.0.token.clone() else { return };
        {
            let mut told = self.0.told.lock().unwrap_or_else(PoisonError::into_inner);
            if done <= *told {
                return;
            }
            *told = done;
        }
        self.tell(token, done, total, message.unwrap_or_default()).await;
    }

    /// Tells the client of one more step, where nobody knows how many there are.
    pub(super) async fn step(&self, message: String) {
        let Some(token) = self.0.token.clone() else { return };
        let done = {
            let mut told = self.0.told.lock().unwrap_or_else(PoisonError::into_inner);
            *told = told.max(0.0) + 1.0;
            *told
        };
        self.tell(token, done, None, message).await;
    }

    async fn tell(&self, token: ProgressToken, done: f64, total: Option<f64>, message: String) {
        let mut progress = ProgressNotificationParam::new(token, done);
        progress.total = total;
        if !message.is_empty() {
            progress = progress.with_message(message);
        }
        // A client that is gone cancels the call.
        let _ = self.0.peer.notify_progress(progress).await;
    }

    /// Sends the client a message for its log, if it wants messages of that weight.
    pub async fn log(&self, level: McpLogLevel, logger: &str, data: impl Into<Value>) {
        if self.0.level.is_none_or(|wanted| level < wanted) {
            return;
        }
        let mut message = LoggingMessageNotificationParam::new(level.on_wire(), data.into());
        message.logger = Some(logger.to_owned());
        let message = LoggingMessageNotification::new(message);
        let _ = self.0.peer.send_notification(ServerNotification::LoggingMessageNotification(message)).await;
    }
}

impl fmt::Debug for McpCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpCall").field("progress", &self.0.token.is_some()).finish_non_exhaustive()
    }
}
