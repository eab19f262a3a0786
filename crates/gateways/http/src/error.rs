//! Declarations that cannot be.

/// The reason why endpoints cannot become tools. It names the tool or the place, and no secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", tool.as_ref().map(|tool| format!("the tool {tool:?} cannot be: ")).unwrap_or_default())]
pub struct HttpToolsError {
    message: String,
    tool: Option<String>,
    place: String,
}

impl HttpToolsError {
    /// A mistake in words of the program's own, such as a file that cannot be read.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), tool: None, place: String::new() }
    }

    /// The problem alone, without the name of the tool.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The member of a configuration that is wrong, such as `endpoints[0].method`; empty if that is not known.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// The same, of a tool.
    pub(crate) fn of(mut self, tool: &str) -> Self {
        self.tool.get_or_insert_with(|| tool.to_owned());
        self
    }

    /// The same, at a place that is not known more closely.
    pub(crate) fn at(mut self, place: &str) -> Self {
        if self.place.is_empty() {
            place.clone_into(&mut self.place);
        }
        self
    }
}
