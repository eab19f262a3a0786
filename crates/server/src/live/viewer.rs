//! Those who look at a run.

use std::pin::pin;
use std::sync::Arc;

use super::entry::Entry;
use super::run::{Live, Look};
use super::view::View;

/// The most entries that a viewer takes at a time: what it writes of them is in memory at once.
const AT_ONCE: usize = 64;

/// A place in a run. The rules say what becomes of a run when the last viewer is dropped before its end.
#[derive(Debug)]
pub(crate) struct Viewer {
    live: Arc<Live>,
    /// The number of the last entry that was seen.
    seen: u64,
    /// True if the view comes before the entries.
    begins_with_view: bool,
    /// True if nobody leaves when it is dropped.
    is_quiet: bool,
}

/// The things that a viewer sees next.
#[derive(Debug)]
pub(crate) enum Seen {
    Entries(Vec<Arc<Entry>>),
    /// The run so far, up to the entry of that number.
    View(Box<View>, u64),
}

impl Viewer {
    /// A viewer of all that happens.
    pub(super) fn new(live: Arc<Live>) -> Self {
        live.enter();
        Self { live, seen: 0, begins_with_view: false, is_quiet: false }
    }

    /// A viewer that goes on behind an entry, or begins with the run so far.
    pub(crate) fn behind(live: Arc<Live>, seen: Option<u64>) -> Self {
        let mut viewer = Self::new(live);
        viewer.begins_with_view = seen.is_none();
        viewer.seen = seen.unwrap_or(0);
        viewer
    }

    /// A viewer of the run from its beginning, also where it began in another drive.
    pub(crate) fn of_all(live: Arc<Live>) -> Self {
        let seen = (!live.goes_on()).then_some(0);
        Self::behind(live, seen)
    }

    /// Looks no longer, as if it never had.
    pub(crate) fn forget(mut self) {
        self.is_quiet = true;
    }

    /// The run.
    pub(crate) fn live(&self) -> &Arc<Live> {
        &self.live
    }

    /// The next entries; `None` behind the last one.
    pub(crate) async fn next(&mut self) -> Option<Seen> {
        if std::mem::take(&mut self.begins_with_view) {
            let (view, last) = self.live.view();
            self.seen = last;
            return Some(Seen::View(Box::new(view), last));
        }
        loop {
            let live = Arc::clone(&self.live);
            let mut changed = pin!(live.changed.notified());
            changed.as_mut().enable();
            match live.look(self.seen, AT_ONCE) {
                Look::Entries(entries) => {
                    self.seen = entries.last().map_or(self.seen, |entry| entry.seq);
                    return Some(Seen::Entries(entries));
                }
                Look::Fallen(view, last) => {
                    self.seen = last;
                    return Some(Seen::View(view, last));
                }
                Look::Over => return None,
                Look::Nothing => changed.await,
            }
        }
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        self.live.leave(self.is_quiet);
    }
}
