//! The progress of a call, for the people who look on.

use std::fmt;
use std::sync::Arc;

use crate::id::ToolCallId;

/// How far a call has come. It is for people: the model never sees it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// The work that is done, in the unit of the tool's choice. It should not become less.
    pub done: f64,
    /// All of the work, in the same unit, where the tool knows it.
    pub total: Option<f64>,
    /// A line about the work under way.
    pub message: Option<String>,
}

impl Progress {
    /// Progress with `done` units of work behind it.
    pub fn new(done: f64) -> Self {
        Self { done, total: None, message: None }
    }

    /// Says how much work there is in all, in the unit of `done`.
    #[must_use]
    pub fn with_total(mut self, total: f64) -> Self {
        self.total = Some(total);
        self
    }

    /// Adds a line about the work under way.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }

    /// The share that is done, from 0 to 1, where the whole is known.
    pub fn share(&self) -> Option<f64> {
        let share = self.done / self.total.filter(|total| *total > 0.0)?;
        share.is_finite().then(|| share.clamp(0.0, 1.0))
    }
}

/// Hears the progress of calls.
pub trait Hears: Send + Sync {
    /// The call has come so far. It must not block.
    fn hear(&self, call: &ToolCallId, progress: Progress);
}

impl<F: Fn(&ToolCallId, Progress) + Send + Sync> Hears for F {
    fn hear(&self, call: &ToolCallId, progress: Progress) {
        self(call, progress);
    }
}

/// The listeners to the progress of a call, if there are any. A clone has the same listeners.
#[derive(Clone, Default)]
pub struct Listening(Option<(Arc<dyn Hears>, ToolCallId)>);

impl Listening {
    /// These, who hear of that call.
    pub fn of(hears: Arc<dyn Hears>, call: ToolCallId) -> Self {
        Self(Some((hears, call)))
    }

    /// Tells how far the call has come. Of much that is told within a moment the newest counts.
    pub fn tell(&self, progress: Progress) {
        if let Some((hears, call)) = &self.0 {
            hears.hear(call, progress);
        }
    }
}

impl fmt::Debug for Listening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Listening(somebody)" } else { "Listening(nobody)" })
    }
}
