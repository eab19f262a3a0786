//! Results that come later, from elsewhere.

use std::time::Duration;

use serde_json::Value;

/// A result that comes later from elsewhere, in a minute or in a week. A tool returns it instead of a value.
///
/// The run that made the call is told who works on it, or what a person is asked; it continues when the result is
/// delivered. Outside of a run it is a value that says so.
///
/// ```
/// use attache_core::ToolOutput;
/// use attache_core::tool::Deferred;
/// use std::time::Duration;
/// let job = ToolOutput::deferred(Deferred::to("render-42").with_lifetime(Duration::from_secs(3 * 86_400)));
/// let question = ToolOutput::deferred(Deferred::ask("Which account?"));
/// assert_eq!(job.deferred.unwrap().handle.as_deref(), Some("render-42"));
/// assert!(question.deferred.unwrap().handle.is_none());
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Deferred {
    /// The worker's own id for the job.
    pub handle: Option<String>,
    /// The question, if a person is asked.
    pub prompt: Option<String>,
    /// The JSON Schema of the result.
    pub schema: Option<Value>,
    /// The time after which a result is no longer accepted. Unlimited by default.
    pub lifetime: Option<Duration>,
}

impl Deferred {
    /// Creates a deferred result that somebody works on under this handle.
    pub fn to(handle: impl Into<String>) -> Self {
        Self { handle: Some(handle.into()), ..Self::default() }
    }

    /// Creates a question to a person.
    pub fn ask(prompt: impl Into<String>) -> Self {
        Self { prompt: Some(prompt.into()), ..Self::default() }
    }

    /// Sets the JSON Schema of the result.
    #[must_use]
    pub fn with_schema(mut self, schema: Value) -> Self {
        self.schema = Some(schema);
        self
    }

    /// Sets the time after which a result is no longer accepted.
    #[must_use]
    pub fn with_lifetime(mut self, lifetime: Duration) -> Self {
        self.lifetime = Some(lifetime);
        self
    }
}

impl From<&str> for Deferred {
    fn from(handle: &str) -> Self {
        Self::to(handle)
    }
}

impl From<String> for Deferred {
    fn from(handle: String) -> Self {
        Self::to(handle)
    }
}
