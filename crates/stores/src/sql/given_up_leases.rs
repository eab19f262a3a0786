//! Leases that this process has given up without saying so to the database.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// The most of them that are remembered; the others end by themselves.
const MOST: usize = 4096;

/// The holders of leases that nobody uses any more, by the sessions.
#[derive(Debug, Default)]
pub(crate) struct Left(Mutex<HashMap<String, String>>);

impl Left {
    pub(crate) fn note(&self, session: &str, holder: &str) {
        let mut left = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if left.len() >= MOST {
            left.clear();
        }
        left.insert(session.to_owned(), holder.to_owned());
    }

    /// The holder who has left a session.
    pub(crate) fn of(&self, session: &str) -> String {
        let left = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        left.get(session).cloned().unwrap_or_default()
    }

    /// Somebody else has the session than that holder. One who left it meanwhile stays noted.
    pub(crate) fn forget(&self, session: &str, holder: &str) {
        let mut left = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if left.get(session).is_some_and(|noted| noted == holder) {
            left.remove(session);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_holder_who_leaves_while_the_lease_is_handed_over_stays_noted() {
        let left = Left::default();
        left.note("one", "old");
        let before = left.of("one");
        left.note("one", "new");
        left.forget("one", &before);
        assert_eq!(left.of("one"), "new");
        left.forget("one", "new");
        assert_eq!(left.of("one"), "");
    }
}
