//! What a model behind a profile can do.

use attache_core::{Matrix, ModelCapabilities};

use crate::profile::Profile;

/// What the bundled [`Matrix`] knows of a model. Another matrix, or another row, is set with
/// [`ChatCodec::with_capabilities`](crate::ChatCodec::with_capabilities) or
/// [`OpenAiChat::with_matrix`](crate::OpenAiChat::with_matrix).
pub fn capabilities(profile: &Profile, model: &str) -> ModelCapabilities {
    Matrix::bundled().resolve(&profile.family, model)
}
