//! Leases that this process has given up without saying so to the database.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The most of them that are remembered; the others end by themselves.
const MOST: usize = 4096;

/// The holders of leases that nobody uses any more, by the sessions.
#[derive(Debug, Default)]
pub(crate) struct Left(Mutex<HashMap<String, Holder>>);

#[derive(Debug)]
struct Holder {
    name: String,
    /// True if the database kept them from going on with the run, and was not told so yet.
    is_spared: bool,
}

impl Left {
    pub(crate) fn note(&self, session: &str, holder: &str) {
        let mut left = self.lock();
        if left.len() >= MOST {
            left.clear();
        }
        left.insert(session.to_owned(), Holder { name: holder.to_owned(), is_spared: false });
    }

    /// The database failed whoever has left a session.
    pub(crate) fn spare(&self, session: &str) {
        if let Some(holder) = self.lock().get_mut(session) {
            holder.is_spared = true;
        }
    }

    /// The sessions and holders whom the database failed, and does not know of yet.
    pub(crate) fn spared(&self) -> Vec<(String, String)> {
        let left = self.lock();
        let spared = left.iter().filter(|(_, holder)| holder.is_spared);
        spared.map(|(session, holder)| (session.clone(), holder.name.clone())).collect()
    }

    /// The database knows of them.
    pub(crate) fn told(&self, spared: &[(String, String)]) {
        let mut left = self.lock();
        for (session, name) in spared {
            if let Some(holder) = left.get_mut(session).filter(|holder| holder.name == *name) {
                holder.is_spared = false;
            }
        }
    }

    /// The holder who has left a session.
    pub(crate) fn of(&self, session: &str) -> String {
        self.lock().get(session).map(|holder| holder.name.clone()).unwrap_or_default()
    }

    /// Somebody else has the session than that holder. One who left it meanwhile stays noted.
    pub(crate) fn forget(&self, session: &str, holder: &str) {
        let mut left = self.lock();
        if left.get(session).is_some_and(|noted| noted.name == holder) {
            left.remove(session);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Holder>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
