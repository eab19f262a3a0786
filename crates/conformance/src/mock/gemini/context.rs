//! The platform and the model of a request.

use super::models::{self, Model};
use super::proto::Platform;

/// The facts that the rules depend on.
pub(super) struct Context<'r> {
    pub(super) platform: Platform,
    pub(super) model: Option<Model>,
    /// The model's id.
    pub(super) id: &'r str,
}

impl<'r> Context<'r> {
    pub(super) fn new(resource: &'r str) -> Self {
        Self {
            platform: models::platform(resource),
            model: models::model(resource),
            id: models::id(resource),
        }
    }

    /// True if the model is known to be older than Gemini 3.
    pub(super) fn is_old(&self) -> bool {
        self.model.is_some_and(|model| !model.is_third_generation())
    }
}
