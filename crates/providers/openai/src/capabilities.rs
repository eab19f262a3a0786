//! What a model behind a profile can do.

use attache_core::{Matrix, ModelCapabilities};

use crate::profile::Profile;

/// What the bundled [`Matrix`] knows of a model.
pub(crate) fn of(profile: &Profile, model: &str) -> ModelCapabilities {
    Matrix::bundled().resolve(&profile.family, model)
}
