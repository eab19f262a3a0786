//! The things that the log of a run tells, whoever drives it.

use std::sync::Arc;

use attache_agent::{Action, Disposition, Entry as LogEntry, EntryKind, EventKind, LogEvents, Run};
use attache_core::{Document, ToolCall};

use super::entry::{Entry, What, lighten};
use super::origins::Origins;
use super::view::View;

/// The state of a run by its log. Nothing there says whether somebody drives it at this moment.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Stand {
    /// It has something to do.
    UnderWay,
    /// It has nothing to do before its client answers these calls.
    AsksClient(Vec<ToolCall>),
    /// It has nothing to do before somebody decides, or something comes from elsewhere.
    Waits,
    Ended,
}

impl Stand {
    pub(crate) fn of(run: &Run) -> Self {
        if run.next() == Action::Ended {
            return Self::Ended;
        }
        if run.waiting().is_none() {
            return Self::UnderWay;
        }
        let asked = run.awaited();
        if asked.is_empty() { Self::Waits } else { Self::AsksClient(asked) }
    }
}

/// The calls that were the client's to answer, if an entry is its result of one of them, also of one of an agent inside: an
/// answer ended there. Nobody knows whether another result came with it, so that each of them begins an answer, also where
/// the run goes on with the one before already.
pub(crate) fn left_by(run: &Run, entry: &LogEntry) -> Option<Vec<ToolCall>> {
    let EntryKind::ToolOutcome(told) = &entry.kind else { return None };
    if told.disposition != Disposition::Submitted {
        return None;
    }
    let stops = run.awaited();
    stops.iter().any(|stop| stop.id == told.call_id).then_some(stops)
}

/// The run so far by its log, and the number of the last event.
pub(crate) fn so_far(entries: &[LogEntry], mut origins: Option<Origins>) -> (View, u64) {
    let (mut log, mut view, mut last) = (LogEvents::new(), View::default(), 0);
    for entry in entries {
        for told in told(&mut log, entry, origins.as_mut()) {
            last = told.seq;
            view.add(&told);
        }
    }
    (view, last)
}

/// The failure with which the log of a run ends.
pub(crate) fn failure(entries: &[LogEntry]) -> Arc<Entry> {
    let mut log = LogEvents::new();
    for entry in entries {
        told(&mut log, entry, None);
    }
    let mut event = log.finish();
    lighten(&mut event);
    Arc::new(Entry { seq: event.seq, what: What::Event(event) })
}

/// The things that an entry of a log tells. One that cannot be told is left out.
pub(super) fn told(
    log: &mut LogEvents,
    entry: &LogEntry,
    mut origins: Option<&mut Origins>,
) -> Vec<Arc<Entry>> {
    let events = match log.take(entry) {
        Ok(events) => events,
        Err(error) => {
            tracing::warn!(run = log.run().id(), %error, "an entry of a log cannot be told");
            return Vec::new();
        }
    };
    let shared = events.into_iter().map(|mut event| {
        lighten(&mut event);
        if let Some(origins) = &mut origins {
            origins.pass(&mut event);
        }
        Arc::new(Entry { seq: event.seq, what: What::Event(event) })
    });
    shared.collect()
}

/// Puts the content of an image into the entry that tells it, if it is one of these.
pub(super) fn give_content(entry: &mut Arc<Entry>, images: &[Document]) {
    if let Some(Entry { what: What::Event(event), .. }) = Arc::get_mut(entry)
        && let EventKind::Made(made) = &mut event.kind
        && let Some(image) = images.iter().find(|image| image.id() == made.id())
    {
        *made = image.clone().into();
    }
}
