//! The words of a server, in errors that a model may read.

use attache_core::{ToolError, ToolErrorKind};
use rmcp::service::{ClientInitializeError, ServiceError};

use super::config::Config;

/// Longer texts of errors are cut.
const LONGEST: usize = 2_000;

/// A text of a server: cut, and without characters that control a terminal or turn the direction of what follows.
pub(crate) fn cut(text: &str, longest: usize) -> String {
    let turns = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let shown = |c: &char| (!c.is_control() || *c == '\n') && !turns(*c);
    let mut cut: String = text.chars().filter(shown).take(longest).collect();
    if cut.len() < text.len() && text.chars().nth(longest).is_some() {
        cut.push('…');
    }
    cut
}

impl Config {
    /// A text of the server in a question to people: each line but the first is marked, so that none passes for ours.
    pub(crate) fn quoted(&self, text: &str, longest: usize) -> String {
        cut(self.redactor().given_only().redact(text).trim(), longest).replace('\n', "\n> ")
    }

    /// The error that the model reads of a request that failed. `begun` says that it may have taken effect.
    pub(crate) fn failure(&self, error: ServiceError, begun: bool) -> ToolError {
        let alias = &self.alias;
        match error {
            ServiceError::McpError(error) => {
                let said = cut(&self.redactor().redact(&error.message), LONGEST);
                ToolError::new(format!("the server {alias:?} answers with error {}: {said}", error.code.0))
            }
            ServiceError::Timeout { .. } => self.late("did not answer in time"),
            ServiceError::Cancelled { .. } => {
                self.unavailable(&format!("the server {alias:?} has cancelled the call"))
            }
            ServiceError::UnexpectedResponse => {
                ToolError::new(format!("the server {alias:?} answers with something else than was asked for"))
            }
            error if error.is_authorization_required() => {
                self.unavailable(&format!("the server {alias:?} asks for credentials, or refuses them"))
            }
            error => {
                let text = match begun {
                    true => format!("the connection to the server {alias:?} broke during the call"),
                    false => format!("the server {alias:?} cannot be reached"),
                };
                self.unavailable(&text).with_source(self.redactor().redact(&error.to_string()).into_owned())
            }
        }
    }

    /// The message about a connection that does not come about.
    pub(crate) fn unconnected(&self, error: &ClientInitializeError) -> String {
        match error {
            ClientInitializeError::LegacyFallbackFailed { fallback, .. } => self.unconnected(fallback),
            ClientInitializeError::JsonRpcError(error) => {
                let said = cut(&self.redactor().redact(&error.message), LONGEST);
                format!("it answers with error {}: {said}", error.code.0)
            }
            ClientInitializeError::ConnectionClosed(_) => "it ended before it answered".to_owned(),
            ClientInitializeError::NoCompatibleProtocolVersion { .. } => {
                "it speaks no version of the protocol that is known here".to_owned()
            }
            error if error.is_authorization_required() => {
                "it asks for credentials, or refuses them".to_owned()
            }
            ClientInitializeError::TransportError { error, .. } => {
                let mut text = error.error.to_string();
                if let Some(more) = error.error.source().map(ToString::to_string)
                    && !text.contains(&more)
                {
                    text = format!("{text}: {more}");
                }
                cut(&self.redactor().redact(&text), 300)
            }
            _ => "it does not answer as a server does".to_owned(),
        }
    }

    pub(crate) fn late(&self, what: &str) -> ToolError {
        ToolError::new(format!("the server {:?} {what}", self.alias)).with_kind(ToolErrorKind::Timeout)
    }

    pub(crate) fn unavailable(&self, text: &str) -> ToolError {
        ToolError::new(text).with_kind(ToolErrorKind::Unavailable)
    }
}
