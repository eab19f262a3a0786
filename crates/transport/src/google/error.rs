//! The errors of a configuration.

use attache_core::{ErrorKind, ProviderError};

pub(super) fn configuration(message: impl Into<String>) -> ProviderError {
    ProviderError::new(ErrorKind::Configuration, message)
}
