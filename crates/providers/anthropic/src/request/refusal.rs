//! Options that the model or API cannot honour.

use attache_core::{Degradation, ErrorKind, ProviderError, Unsupported};

/// Refuses such options or, where the caller allows it, records what is done instead.
#[derive(Debug)]
pub(super) struct Refusals<'a> {
    model: &'a str,
    degrade: bool,
    recorded: Vec<Degradation>,
}

impl<'a> Refusals<'a> {
    pub(super) fn new(model: &'a str, policy: Option<Unsupported>) -> Self {
        Self { model, degrade: policy == Some(Unsupported::Degrade), recorded: Vec::new() }
    }

    /// `option` cannot be honoured. Returns if the caller allows to do `instead`.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] otherwise.
    pub(super) fn refuse(&mut self, option: &str, why: &str, instead: &str) -> Result<(), ProviderError> {
        if self.degrade {
            self.note(option, format!("{why}; {instead}"));
            return Ok(());
        }
        let message = format!("{} cannot honour {option}: {why}", self.model);
        Err(ProviderError::new(ErrorKind::Unsupported, message).with_param(option.to_owned()))
    }

    /// Records what needs nobody's leave.
    pub(super) fn note(&mut self, option: &str, note: impl Into<String>) {
        self.recorded.push(Degradation::new(option, note));
    }

    /// How many were recorded.
    pub(super) fn count(&self) -> usize {
        self.recorded.len()
    }

    pub(super) fn into_recorded(self) -> Vec<Degradation> {
        self.recorded
    }
}
