//! Those who look at a run.

use std::sync::Arc;

use attache_agent::LogEvents;

use super::entry::Entry;
use super::log::told;
use super::run::{Live, Look};
use super::view::View;

/// The maximum number of entries that a viewer takes at a time: what it writes of them is in memory at once.
const AT_ONCE: usize = 64;

/// The entries for which a viewer waits that tells nothing before the end: so many are held as they came.
const LOT: u64 = 16;

/// A place in a run. The rules say what becomes of a run when the last viewer is dropped before its end.
#[derive(Debug)]
pub(crate) struct Viewer {
    live: Arc<Live>,
    /// The number of the last entry that was seen.
    seen: u64,
    /// True if the view comes before the entries.
    begins_with_view: bool,
    /// The entries that are to be there before it takes them.
    at_least: u64,
    /// True if nobody leaves when it is dropped.
    is_quiet: bool,
    /// True if it is told what this drive tells, and nothing from before.
    is_own: bool,
    /// True if it is told what tools of agents inside returned.
    has_inside: bool,
}

/// The things that a viewer sees next.
#[derive(Debug)]
pub(crate) enum Seen {
    Entries(Vec<Arc<Entry>>),
    /// The run so far, up to the entry of that number.
    View(Box<View>, u64),
}

impl Viewer {
    /// A viewer of all that happens in this drive of the run.
    pub(super) fn new(live: Arc<Live>) -> Self {
        live.enter();
        let (begins_with_view, is_quiet, has_inside) = (false, false, false);
        Self { live, seen: 0, begins_with_view, at_least: 1, is_quiet, is_own: true, has_inside }
    }

    /// A viewer that goes on behind an entry, or begins with the run so far.
    pub(crate) fn behind(live: Arc<Live>, seen: Option<u64>) -> Self {
        let mut viewer = Self::new(live);
        viewer.is_own = false;
        viewer.begins_with_view = seen.is_none();
        viewer.seen = seen.unwrap_or(0);
        viewer
    }

    /// A viewer of the run from its beginning, also where it began in another drive.
    pub(crate) fn of_all(live: Arc<Live>) -> Self {
        let seen = (!live.goes_on()).then_some(0);
        Self::behind(live, seen)
    }

    /// A viewer of the answer that this drive gives, of a run that asks its client in between; of the run from its beginning
    /// where it gives no such one.
    pub(crate) fn of_answer(live: Arc<Live>) -> Self {
        match live.is_answer() {
            true => Self::new(live),
            false => Self::of_all(live),
        }
    }

    /// Sees many entries at a time: a task that is woken for each of them would do little with it.
    pub(crate) fn in_lots(mut self) -> Self {
        self.at_least = LOT;
        self
    }

    /// Is told what tools of agents inside returned also where it has fallen behind.
    pub(crate) fn with_results_inside(mut self) -> Self {
        self.has_inside = true;
        self
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
            let changed = self.live.changed.notified();
            match self.live.look(self.seen, self.at_least, AT_ONCE, self.is_own) {
                Look::Entries(entries) => {
                    self.seen = entries.last().map_or(self.seen, |entry| entry.seq);
                    return Some(Seen::Entries(entries));
                }
                Look::Fallen(mut view, last) => {
                    if self.has_inside {
                        self.live.recall_inside(&mut view).await;
                    }
                    self.seen = last;
                    return Some(Seen::View(view, last));
                }
                Look::Over => return None,
                Look::Nothing => changed.await,
            }
        }
    }
}

impl Live {
    /// Gives a view the results of tools of agents inside. They are in the log before they are told.
    async fn recall_inside(&self, view: &mut View) {
        let Some(session) = self.in_session().filter(|_| view.tools_inside.lacks_results()) else { return };
        let entries = match session.behind(&self.id, 0).await {
            Ok(entries) => entries,
            Err(error) => {
                tracing::warn!(run = self.id, %error, "results of agents inside cannot be told");
                return;
            }
        };
        let mut log = LogEvents::new();
        for entry in entries.iter().flat_map(|entry| told(&mut log, entry, None)) {
            view.tools_inside.give(&entry);
        }
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        self.live.leave(self.is_quiet);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Context, Poll, Wake, Waker};

    use attache_agent::{Agent, Event};
    use attache_testkit::{ScriptedModel, Turn};

    use super::super::entry::What;
    use super::super::event_buffer::Bounds;
    use super::super::run::NewRun;
    use super::super::run_rules::{ClientCalls, OnDisconnect, Rules};
    use super::*;

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A run that nobody drives, and the events that it would have.
    async fn told() -> (Arc<Live>, Vec<Event>) {
        let agent = Agent::builder(ScriptedModel::new([Turn::text("Twelve.")])).build().unwrap();
        let mut run = agent.run("How many?");
        let rules = Rules {
            on_disconnect: OnDisconnect::Detach,
            run_time: None,
            client_calls: ClientCalls::Pause,
            is_kept: false,
            is_taken_over: false,
        };
        let new = NewRun {
            id: "run".to_owned(),
            request: None,
            principal: Arc::from("ann"),
            agent: Arc::from("agent"),
            session: None,
            rules,
            parking: None,
            answered: Vec::new(),
            answer: None,
            goes_on: false,
        };
        let bounds = Bounds { entries: 1000, bytes: 1 << 20 };
        let live = Arc::new(Live::new(new, "epoch".to_owned(), run.control(), bounds, None));
        let mut events = Vec::new();
        while let Some(event) = run.next().await {
            events.push(event);
        }
        (live, events)
    }

    #[tokio::test]
    async fn a_viewer_in_lots_is_woken_for_many_entries_or_the_last_one() {
        let (live, events) = told().await;
        let (first, last) = (events.first().unwrap(), events.last().unwrap());
        let mut all = Viewer::new(Arc::clone(&live));
        let mut lots = Viewer::new(Arc::clone(&live)).in_lots();
        let woken = Arc::<Woken>::default();
        let waker = Waker::from(Arc::clone(&woken));
        let mut context = Context::from_waker(&waker);
        let mut next = Box::pin(lots.next());
        assert!(next.as_mut().poll(&mut context).is_pending());
        for _ in 1..16 {
            live.push(What::Event(first.clone()));
        }
        assert_eq!(woken.0.load(Ordering::Relaxed), 0);
        // Others see each of them.
        assert!(matches!(all.next().await, Some(Seen::Entries(entries)) if entries.len() == 15));
        live.push(What::Event(first.clone()));
        assert_eq!(woken.0.load(Ordering::Relaxed), 1);
        let Poll::Ready(Some(Seen::Entries(entries))) = next.as_mut().poll(&mut context) else {
            panic!("sixteen")
        };
        assert_eq!(entries.len(), 16);
        drop(next);
        // Somebody else who waits for the next one takes nothing from whoever waits for sixteen.
        let mut next = Box::pin(lots.next());
        assert!(next.as_mut().poll(&mut context).is_pending());
        assert!(matches!(all.next().await, Some(Seen::Entries(entries)) if entries.len() == 1));
        let mut one = pin!(all.next());
        assert!(one.as_mut().poll(&mut context).is_pending());
        live.push(What::Event(first.clone()));
        assert!(one.as_mut().poll(&mut context).is_ready());
        assert!(next.as_mut().poll(&mut context).is_pending());
        live.push(What::Event(last.clone()));
        let Poll::Ready(Some(Seen::Entries(entries))) = next.as_mut().poll(&mut context) else {
            panic!("the end")
        };
        assert_eq!(entries.len(), 2);
        drop(next);
        assert!(lots.next().await.is_none());
    }
}
