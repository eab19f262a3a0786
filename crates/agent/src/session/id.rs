//! The ids of sessions.

use std::fmt;
use std::sync::Arc;

use attache_core::fresh;

use super::error::SessionError;

/// The most bytes of an id.
const MAX_LEN: usize = 200;

/// The id of a session. It names the session and is no secret: whoever opens one must be its principal.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(Arc<str>);

impl SessionId {
    /// An id that somebody gives.
    ///
    /// # Errors
    /// [`SessionError::InvalidId`] unless it has 1 to 200 bytes and no control characters.
    pub fn parse(id: impl AsRef<str>) -> Result<Self, SessionError> {
        let id = id.as_ref();
        if id.is_empty() || id.len() > MAX_LEN || id.chars().any(char::is_control) {
            return Err(SessionError::InvalidId);
        }
        Ok(Self(Arc::from(id)))
    }

    /// A random id, a UUID of version 4.
    pub fn fresh() -> Self {
        Self(fresh::uuid())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_bounded_and_of_one_line() {
        for bad in ["", "a\nb", "a\0", "\u{85}", &"x".repeat(201)] {
            assert!(matches!(SessionId::parse(bad), Err(SessionError::InvalidId)), "{bad:?}");
        }
        for good in ["a", "tenant:user/7", "é", &"x".repeat(200)] {
            assert_eq!(SessionId::parse(good).unwrap().as_str(), good);
        }
        assert_ne!(SessionId::fresh(), SessionId::fresh());
    }
}
