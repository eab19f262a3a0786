//! Leases that this process has given up without saying so to the database.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The most of them that are remembered; the others end by themselves.
const MOST: usize = 4096;

/// The number of attempts at the runs of one session that this process takes back because the database failed them. It may
/// fail at one session alone, such as one that takes too long to read, which nobody should try for ever.
const SPARED: u32 = 100;
/// The beginning of the name of a holder who took a run over, and has not taken its lease to go on with it.
pub(crate) const ADOPTED: &str = "adopted:";

/// The holders of leases that nobody uses any more, by the sessions.
#[derive(Debug, Default)]
pub(crate) struct Left(Mutex<Noted>);

#[derive(Debug, Default)]
struct Noted {
    holders: HashMap<String, Holder>,
    /// The attempts that were taken back.
    spared: HashMap<String, u32>,
}

#[derive(Debug)]
struct Holder {
    name: String,
    /// The name under which the run was taken over: the lease has it still where its taking failed.
    adopted: Option<String>,
    /// True if the database kept them from going on with the run, and was not told so yet.
    is_spared: bool,
}

impl Left {
    pub(crate) fn note(&self, session: &str, holder: &str) {
        let mut noted = self.lock();
        if noted.holders.len() >= MOST {
            noted.holders.clear();
        }
        let before = noted.holders.remove(session);
        let adopted = before.map(|before| before.name).filter(|name| name.starts_with(ADOPTED));
        let left = Holder { name: holder.to_owned(), adopted, is_spared: false };
        noted.holders.insert(session.to_owned(), left);
    }

    /// The database failed whoever has left a session.
    pub(crate) fn spare(&self, session: &str) {
        let mut noted = self.lock();
        let Noted { holders, spared } = &mut *noted;
        let Some(holder) = holders.get_mut(session) else { return };
        if spared.len() >= MOST {
            spared.clear();
        }
        let times = spared.entry(session.to_owned()).or_default();
        if *times < SPARED {
            *times += 1;
            holder.is_spared = true;
        }
    }

    /// The sessions and holders whom the database failed, and does not know of yet.
    pub(crate) fn spared(&self) -> Vec<(String, String)> {
        let noted = self.lock();
        let spared = noted.holders.iter().filter(|(_, holder)| holder.is_spared);
        let names = |(session, holder): (&String, &Holder)| {
            let names = holder.adopted.clone().into_iter().chain([holder.name.clone()]);
            names.map(|name| (session.clone(), name)).collect::<Vec<_>>()
        };
        spared.flat_map(names).collect()
    }

    /// The database knows of them.
    pub(crate) fn told(&self, spared: &[(String, String)]) {
        let mut noted = self.lock();
        for (session, name) in spared {
            if let Some(holder) = noted.holders.get_mut(session).filter(|holder| holder.name == *name) {
                holder.is_spared = false;
            }
        }
    }

    /// The holder who has left a session.
    pub(crate) fn of(&self, session: &str) -> String {
        self.lock().holders.get(session).map(|holder| holder.name.clone()).unwrap_or_default()
    }

    /// Somebody else has the session than that holder. One who left it meanwhile stays noted.
    pub(crate) fn forget(&self, session: &str, holder: &str) {
        let mut noted = self.lock();
        if noted.holders.get(session).is_some_and(|left| left.name == holder) {
            noted.holders.remove(session);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Noted> {
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

    #[test]
    fn a_session_that_the_database_fails_again_and_again_is_spared_no_more_in_the_end() {
        let left = Left::default();
        let mut times = 0;
        for _ in 0..1000 {
            left.note("one", "taker");
            left.spare("one");
            let spared = left.spared();
            times += spared.len();
            left.told(&spared);
        }
        assert_eq!(times, 100);
        left.note("other", "adopted:a");
        left.spare("other");
        assert_eq!(left.spared().len(), 1);
    }
}
