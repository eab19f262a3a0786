//! Puts results into the log that cannot be had again, their documents first.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use attache_core::{DocumentStore, StoreError, ToolResult};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use crate::driver::stop::Fault;
use crate::journal::{JournalError, Place, Recorder};
use crate::log::{Disposition, Entry, EntryKind, Key, ToolOutcome};
use crate::store_documents::{ATTEMPTS, keep_of_result, released};

/// A result that is recorded, or could not be.
pub(super) struct Ran {
    /// The entry that stands.
    pub(super) entry: Entry,
    /// The result with the bytes of its documents, unless another one stands.
    pub(super) result: Option<ToolResult>,
    pub(super) not_stored: Option<StoreError>,
    pub(super) fault: Option<Fault>,
}

type Record = Pin<Box<dyn Future<Output = Box<Ran>> + Send>>;

/// Results on their way into the log. Nobody else has them.
#[derive(Default)]
pub(super) struct Recording {
    /// There once something is recorded that takes time.
    under_way: Option<FuturesUnordered<Record>>,
    /// The outcomes that the futures record.
    outcomes: Vec<ToolOutcome>,
    /// Those that came to their end beside something else.
    done: VecDeque<Box<Ran>>,
}

impl Recording {
    /// Records what came of a tool, documents first. `is_result` is false for the word of a tool that was superseded.
    pub(super) fn push(
        &mut self,
        outcome: ToolOutcome,
        is_result: bool,
        recorder: Recorder,
        store: Arc<dyn DocumentStore>,
        keeps: bool,
    ) {
        self.outcomes.push(outcome.clone());
        self.under_way.get_or_insert_default().push(Box::pin(async move {
            let (outcome, result, not_stored) = match has_documents(&outcome.result) {
                true => {
                    let Kept { outcome, held, error } =
                        Box::pin(store_documents(outcome, &*store, keeps)).await;
                    (outcome, Some(held), error)
                }
                false => (outcome, None, None),
            };
            let entry = Entry::new(Key::result(&outcome.call_id), EntryKind::ToolOutcome(outcome));
            let (stand, fault) = record_result(&recorder, vec![entry.clone()], is_result).await;
            let entry = stand.into_iter().next_back().unwrap_or(entry);
            Box::new(Ran { entry, result, not_stored, fault })
        }));
    }

    /// Takes a result that is recorded already, for its turn.
    pub(super) fn note(&mut self, ran: Box<Ran>) {
        self.done.push_back(ran);
    }

    fn poll_under_way(&mut self, context: &mut Context<'_>) -> Poll<Option<Box<Ran>>> {
        self.under_way.as_mut().map_or(Poll::Ready(None), |under_way| under_way.poll_next_unpin(context))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.outcomes.is_empty()
    }

    pub(super) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Box<Ran>>> {
        let mut ran = match self.done.pop_front() {
            Some(ran) => ran,
            None => match self.poll_under_way(context) {
                Poll::Ready(Some(ran)) => ran,
                other => return other,
            },
        };
        if let EntryKind::ToolOutcome(stands) = &ran.entry.kind
            && let Some(at) = self.outcomes.iter().position(|outcome| outcome.call_id == stands.call_id)
        {
            let outcome = self.outcomes.swap_remove(at);
            let own = ran.result.take().unwrap_or(outcome.result);
            // A result that was recorded before stands.
            ran.result = (outcome.disposition == stands.disposition && own == stands.result).then_some(own);
        }
        Poll::Ready(Some(ran))
    }

    pub(super) async fn next(&mut self) -> Option<Box<Ran>> {
        poll_fn(|context| self.poll_next(context)).await
    }

    /// The value of `work`, which may wait for a lock of the journal that a result holds.
    pub(super) async fn beside<F: Future>(&mut self, mut work: Pin<&mut F>) -> F::Output {
        poll_fn(|context| {
            while let Poll::Ready(Some(ran)) = self.poll_under_way(context) {
                self.done.push_back(ran);
            }
            work.as_mut().poll(context)
        })
        .await
    }

    /// Gives up on what is not recorded yet, and yields it.
    pub(super) fn unfinished(&mut self) -> Vec<ToolOutcome> {
        self.under_way = None;
        self.done.clear();
        std::mem::take(&mut self.outcomes)
    }
}

/// True if a result has documents.
pub(super) fn has_documents(result: &ToolResult) -> bool {
    !result.tree.documents().is_empty() || !result.documents.is_empty()
}

/// A result whose documents were given to the store.
pub(super) struct Kept {
    /// The outcome as it is recorded: documents that the user's store has are references.
    pub(super) outcome: ToolOutcome,
    /// Its result with their bytes.
    pub(super) held: ToolResult,
    pub(super) error: Option<StoreError>,
}

/// Puts the documents of a result into the store; those that the user's store has are references from then on.
pub(super) async fn store_documents(
    mut outcome: ToolOutcome,
    store: &dyn DocumentStore,
    keeps: bool,
) -> Kept {
    let (held, error) = keep_of_result(store, outcome.result).await;
    // Where the store fails, the result counts, and this process still holds the documents.
    outcome.result = match keeps && error.is_none() {
        true => released(held.clone(), store.id()),
        false => held.clone(),
    };
    Kept { outcome, held, error }
}

/// Records a result that cannot be had again, the last of these entries: with several attempts and, where another driver
/// has taken the run over, by leaving it for that one, if it is a result and not a word of that. Yields the entries that
/// stand.
pub(super) async fn record_result(
    recorder: &Recorder,
    entries: Vec<Entry>,
    is_result: bool,
) -> (Vec<Entry>, Option<Fault>) {
    let mut waits = ATTEMPTS.iter();
    loop {
        let error = match recorder.append(entries.clone()).await {
            Ok(stand) => return (stand, None),
            Err(error) => error,
        };
        match (&error, waits.next()) {
            (JournalError::Fenced, _) => {
                if let Some(result) = entries.last().filter(|_| is_result) {
                    Box::pin(leave_receipt(recorder.place(), result)).await;
                }
                return (entries, Some(error.into()));
            }
            (JournalError::Store(_), Some(wait)) => tokio::time::sleep(*wait).await,
            _ => return (entries, Some(error.into())),
        }
    }
}

/// Leaves a result for whoever drives the run now. They may have recorded already that nobody knows what came of the
/// call.
async fn leave_receipt(place: &Place, entry: &Entry) {
    let EntryKind::ToolOutcome(outcome) = &entry.kind else { return };
    let left = match place.deliver(entry.clone()).await {
        Ok(stands) if stands.kind == entry.kind => return,
        // This driver knows no more than is recorded already, or will be by whoever closes the run.
        Ok(_) | Err(JournalError::Fenced)
            if matches!(outcome.disposition, Disposition::TimedOut | Disposition::Panicked) =>
        {
            return;
        }
        // Or another run of the session is about to close this one.
        Ok(_) | Err(JournalError::Fenced) => {
            let receipt = EntryKind::Receipt(outcome.clone());
            place.deliver(Entry::new(Key::receipt(&outcome.call_id), receipt)).await
        }
        Err(error) => Err(error),
    };
    if let Err(error) = left {
        tracing::error!(call = %outcome.call_id, %error, "a result could not be left for the driver that took the run over");
    }
}
