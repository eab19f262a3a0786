//! The progress of a call, for the people who watch it.

use std::fmt;
use std::sync::Arc;

use crate::id::ToolCallId;

/// The progress of a call. It is for people: the model never sees it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// The completed work, in a unit chosen by the tool. It should not decrease.
    pub done: f64,
    /// The total work, in the same unit, if the tool knows it.
    pub total: Option<f64>,
    /// A line about the current work.
    pub message: Option<String>,
}

impl Progress {
    /// Creates a progress with `done` completed units of work.
    pub fn new(done: f64) -> Self {
        Self { done, total: None, message: None }
    }

    /// Sets the total work, in the unit of `done`.
    #[must_use]
    pub fn with_total(mut self, total: f64) -> Self {
        self.total = Some(total);
        self
    }

    /// Sets a line about the current work.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }

    /// The completed share, from 0 to 1, if the total is known.
    pub fn share(&self) -> Option<f64> {
        let share = self.done / self.total.filter(|total| *total > 0.0)?;
        share.is_finite().then(|| share.clamp(0.0, 1.0))
    }
}

/// Receives the progress of calls.
pub trait Hears: Send + Sync {
    /// Receives the progress of a call. It must not block.
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
    /// Creates the listeners to that call.
    pub fn of(hears: Arc<dyn Hears>, call: ToolCallId) -> Self {
        Self(Some((hears, call)))
    }

    /// Reports the progress of the call. If reports follow in quick succession, only the latest counts.
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
