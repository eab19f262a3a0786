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

    /// Somebody else has the session.
    pub(crate) fn forget(&self, session: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(session);
    }
}
