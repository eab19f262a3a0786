//! The names under which tasks are known to whoever delivers their results.

use std::fmt;
use std::str::FromStr;

use attache_transport::{percent_decoded, percent_encoded};

/// A task of an agent, as the handle of a deferred call names it: `a2a://ALIAS/TASK?context=CONTEXT`. The handle of a
/// question has more behind a `#`.
///
/// ```
/// use attache_a2a::A2aHandle;
/// let handle: A2aHandle = "a2a://leases/task-1?context=c%201".parse().unwrap();
/// assert_eq!((handle.alias(), handle.task(), handle.context()), ("leases", "task-1", Some("c 1")));
/// assert_eq!(handle.to_string(), "a2a://leases/task-1?context=c%201");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct A2aHandle {
    alias: String,
    task: String,
    context: Option<String>,
}

/// A text that names no task of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it names no task of an A2A agent")]
pub struct A2aHandleError;

impl A2aHandle {
    /// A task of the agent with that alias.
    pub fn new(alias: impl Into<String>, task: impl Into<String>, context: Option<String>) -> Self {
        Self { alias: alias.into(), task: task.into(), context }
    }

    /// The agent's alias.
    pub fn alias(&self) -> &str {
        &self.alias
    }

    /// The task's id.
    pub fn task(&self) -> &str {
        &self.task
    }

    /// The id of the conversation that it belongs to.
    pub fn context(&self) -> Option<&str> {
        self.context.as_deref()
    }
}

impl fmt::Display for A2aHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let step = |text: &str| percent_encoded(text.as_bytes());
        write!(f, "a2a://{}/{}", step(&self.alias), step(&self.task))?;
        match &self.context {
            Some(context) => write!(f, "?context={}", step(context)),
            None => Ok(()),
        }
    }
}

impl FromStr for A2aHandle {
    type Err = A2aHandleError;

    fn from_str(text: &str) -> Result<Self, A2aHandleError> {
        let read = |text: &str| String::from_utf8(percent_decoded(text)).map_err(|_| A2aHandleError);
        // The question of a task stands behind its name.
        let (text, _) = text.split_once('#').unwrap_or((text, ""));
        let rest = text.strip_prefix("a2a://").ok_or(A2aHandleError)?;
        let (place, context) = match rest.split_once("?context=") {
            Some((place, context)) => (place, Some(read(context)?)),
            None => (rest, None),
        };
        let (alias, task) = place.split_once('/').ok_or(A2aHandleError)?;
        match alias.is_empty() || task.is_empty() {
            true => Err(A2aHandleError),
            false => Ok(Self { alias: read(alias)?, task: read(task)?, context }),
        }
    }
}
