//! Declarations that cannot be.

/// The reason why endpoints cannot become tools. It names the tool or the place, and no secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HttpToolsError(String);

impl HttpToolsError {
    /// A mistake in words of the program's own, such as a file that cannot be read.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// The same, of a tool.
    pub(crate) fn of(self, tool: &str) -> Self {
        Self(format!("the tool {tool:?} cannot be: {}", self.0))
    }
}
