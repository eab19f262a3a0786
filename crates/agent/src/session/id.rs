//! The ids of sessions.

use std::fmt;
use std::sync::Arc;

use attache_core::fresh;

use super::error::SessionError;

/// The maximum number of bytes of an id.
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

    /// The id of a new run in the session, `SESSION.WORD`: whoever has it finds the session by it. A run that is given no id
    /// has such a one.
    #[must_use]
    pub fn fresh_run(&self) -> String {
        let random: String = fresh::uuid().chars().filter(|letter| *letter != '-').take(12).collect();
        format!("{self}.{random}")
    }

    /// The session in the id of a run, if there may be one.
    pub fn of_run(run: &str) -> Option<&str> {
        run.rsplit_once('.').map(|(session, _)| session)
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
        let run = SessionId::parse("a.b/7").unwrap().fresh_run();
        assert_eq!((SessionId::of_run(&run), SessionId::of_run("a-b")), (Some("a.b/7"), None));
    }
}
