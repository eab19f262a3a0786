//! Leases that this process has given up without saying so to the database.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The maximum number of leases that are remembered; the others end by themselves.
const MOST: usize = 4096;

/// The number of attempts at the runs of one session that this process takes back because the database failed them. It may
/// fail at one session alone, such as one that takes too long to read, which nobody should try for ever.
const SPARED: u32 = 100;
/// The beginning of the name of a holder who took a run over, and has not taken its lease to go on with it.
pub(crate) const ADOPTED: &str = "adopted:";

/// The maximum number of holders of one session that are remembered: one for each attempt at its lease of which nobody
/// knows how it ended.
const MOST_OF_ONE: usize = 32;

/// The holders of leases that nobody uses any more, by the sessions.
#[derive(Debug, Default)]
pub(crate) struct Left(Mutex<Noted>);

#[derive(Debug, Default)]
struct Noted {
    /// Any of those of one session may have its lease: a later one may have failed to get it. The last one is the latest.
    holders: HashMap<String, Vec<Holder>>,
    /// The attempts that were taken back.
    spared: HashMap<String, u32>,
}

#[derive(Debug)]
struct Holder {
    name: String,
    /// True if the database kept them from going on with the run, and was not told so yet.
    is_spared: bool,
}

impl Left {
    pub(crate) fn note(&self, session: &str, holder: &str) {
        let mut noted = self.lock();
        if noted.holders.len() >= MOST && !noted.holders.contains_key(session) {
            noted.holders.clear();
        }
        let holders = noted.holders.entry(session.to_owned()).or_default();
        holders.retain(|known| known.name != holder);
        if holders.len() >= MOST_OF_ONE {
            holders.remove(0);
        }
        holders.push(Holder { name: holder.to_owned(), is_spared: false });
    }

    /// The database failed whoever has left a session.
    pub(crate) fn spare(&self, session: &str) {
        let mut noted = self.lock();
        let Noted { holders, spared } = &mut *noted;
        let Some(holders) = holders.get_mut(session) else { return };
        if spared.len() >= MOST {
            spared.clear();
        }
        let times = spared.entry(session.to_owned()).or_default();
        if *times < SPARED {
            *times += 1;
            // The lease has the name under which the run was taken over still where its taking failed.
            let last = holders.len().saturating_sub(1);
            let meant = |(at, holder): &(usize, &mut Holder)| *at == last || holder.name.starts_with(ADOPTED);
            let meant = holders.iter_mut().enumerate().filter(meant);
            meant.for_each(|(_, holder)| holder.is_spared = true);
        }
    }

    /// The sessions and holders whom the database failed, and does not know of yet.
    pub(crate) fn spared(&self) -> Vec<(String, String)> {
        let noted = self.lock();
        let spared = noted.holders.iter().flat_map(|(session, holders)| {
            let spared = holders.iter().filter(|holder| holder.is_spared);
            spared.map(move |holder| (session.clone(), holder.name.clone()))
        });
        spared.collect()
    }

    /// The database knows of them.
    pub(crate) fn told(&self, spared: &[(String, String)]) {
        let mut noted = self.lock();
        for (session, name) in spared {
            let holders = noted.holders.get_mut(session).into_iter().flatten();
            holders.filter(|holder| holder.name == *name).for_each(|holder| holder.is_spared = false);
        }
    }

    /// The holders who have left a session: any of them may have its lease.
    pub(crate) fn of(&self, session: &str) -> Vec<String> {
        let noted = self.lock();
        let holders = noted.holders.get(session).into_iter().flatten();
        holders.map(|holder| holder.name.clone()).collect()
    }

    /// Somebody else has the session than those holders. One who left it meanwhile stays noted.
    pub(crate) fn forget(&self, session: &str, gone: &[String]) {
        let mut noted = self.lock();
        if let Some(holders) = noted.holders.get_mut(session) {
            holders.retain(|holder| !gone.contains(&holder.name));
            if holders.is_empty() {
                noted.holders.remove(session);
            }
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
        assert_eq!(left.of("one"), ["new"]);
        left.forget("one", &["new".to_owned()]);
        assert!(left.of("one").is_empty());
        assert!(left.lock().holders.is_empty());
    }

    #[test]
    fn attempts_that_failed_do_not_hide_whose_lease_was_given_up() {
        let left = Left::default();
        for holder in ["adopted:a", "holder", "failed", "holder"] {
            left.note("one", holder);
        }
        assert_eq!(left.of("one"), ["adopted:a", "failed", "holder"]);
        left.spare("one");
        let names = |left: &Left| left.spared().into_iter().map(|(_, name)| name).collect::<Vec<_>>();
        assert_eq!(names(&left), ["adopted:a", "holder"]);
        left.note("one", "again");
        left.spare("one");
        assert_eq!(names(&left), ["adopted:a", "holder", "again"], "none of them is lost");
        left.told(&left.spared());
        assert!(left.spared().is_empty());
        (0..100).for_each(|number| left.note("one", &number.to_string()));
        assert_eq!(left.of("one").len(), MOST_OF_ONE);
        assert_eq!(left.of("one").last().map(String::as_str), Some("99"));
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
