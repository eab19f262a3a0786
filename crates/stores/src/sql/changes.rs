//! Those who wait for something in a run.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::sync::futures::Notified;

/// Wakes those who wait for something in a run, and nobody else. A mark is there as long as somebody waits, and tells how
/// many do.
#[derive(Debug, Default)]
pub(crate) struct Changes(Mutex<HashMap<u64, (usize, Arc<Notify>)>>);

/// Somebody who waits.
pub(crate) struct Waiting<'c> {
    changes: &'c Changes,
    mark: u64,
    notify: Arc<Notify>,
}

/// The mark of a run, the same in every process. Another run may have it, too: whoever is woken looks.
pub(crate) fn mark_of(session: &str, run: &str) -> u64 {
    // FNV-1a. No session has a line's end in its id.
    let bytes = session.bytes().chain([b'\n']).chain(run.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |mark, byte| {
        (mark ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

impl Changes {
    pub(crate) fn waiting(&self, session: &str, run: &str) -> Waiting<'_> {
        let mark = mark_of(session, run);
        let mut waiting = self.lock();
        let (count, notify) = waiting.entry(mark).or_default();
        *count += 1;
        Waiting { changes: self, mark, notify: Arc::clone(notify) }
    }

    /// Something came to a run.
    pub(crate) fn wake(&self, session: &str, run: &str) {
        if !self.lock().is_empty() {
            self.wake_marked(mark_of(session, run));
        }
    }

    pub(crate) fn wake_marked(&self, mark: u64) {
        if let Some((_, notify)) = self.lock().get(&mark) {
            notify.notify_waiters();
        }
    }

    /// Something may have come to any run.
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "SQLite tells of each run"))]
    pub(crate) fn wake_all(&self) {
        self.lock().values().for_each(|(_, notify)| notify.notify_waiters());
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, (usize, Arc<Notify>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting<'_> {
    pub(crate) fn notified(&self) -> Notified<'_> {
        self.notify.notified()
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut waiting = self.changes.lock();
        if let Some((count, _)) = waiting.get_mut(&self.mark) {
            *count -= 1;
            if *count == 0 {
                waiting.remove(&self.mark);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn a_run_wakes_those_who_wait_for_it_and_nobody_else() {
        let changes = Changes::default();
        let others: Vec<_> = (0..200).map(|number| changes.waiting("s", &format!("r{number}"))).collect();
        let mut others: Vec<_> = others.iter().map(|waiting| Box::pin(waiting.notified())).collect();
        for woken in &mut others {
            woken.as_mut().enable();
        }
        let waiting = [changes.waiting("s", "own"), changes.waiting("s", "own")];
        for _ in 0..100 {
            let [mut one, mut other] = [pin!(waiting[0].notified()), pin!(waiting[1].notified())];
            one.as_mut().enable();
            other.as_mut().enable();
            changes.wake("s", "own");
            assert!(one.now_or_never().is_some() && other.now_or_never().is_some());
        }
        assert!(others.iter_mut().all(|woken| woken.now_or_never().is_none()));
        changes.wake_all();
        assert!(others.iter_mut().all(|woken| woken.now_or_never().is_some()));
    }

    #[test]
    fn nothing_is_left_of_those_who_have_gone() {
        let changes = Changes::default();
        let (one, other) = (changes.waiting("s", "r"), changes.waiting("s", "r"));
        drop(one);
        {
            let mut woken = pin!(other.notified());
            woken.as_mut().enable();
            changes.wake("s", "r");
            assert!(woken.now_or_never().is_some());
        }
        drop(other);
        assert!(changes.lock().is_empty());
    }

    #[test]
    fn nothing_is_left_of_two_who_go_together() {
        let (changes, meet) = (Changes::default(), std::sync::Barrier::new(2));
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for round in 0..5_000 {
                        let waiting = changes.waiting("s", &format!("r{round}"));
                        meet.wait();
                        drop(waiting);
                    }
                });
            }
        });
        assert_eq!(changes.lock().len(), 0);
    }

    // Nodes of several versions tell each other.
    #[test]
    fn a_mark_is_the_same_in_every_process() {
        assert_eq!(mark_of("s", "r"), 0x81d1_9319_5c87_867e);
        assert_ne!(mark_of("a", "b"), mark_of("ab", ""));
    }
}
