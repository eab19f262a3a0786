//! Puts results into the log that cannot be had again, their documents first.

use std::sync::Arc;

use attache_core::{DocumentStore, StoreError, ToolResult};

use crate::driver::fault::Fault;
use crate::journal::{JournalError, Place, Recorder};
use crate::keep::{ATTEMPTS, keep_of_result, released};
use crate::log::{Disposition, Entry, EntryKind, Key, ToolOutcome};

/// A result that is recorded, or could not be.
pub(super) struct Ran {
    pub(super) entry: Entry,
    /// The result with the bytes of its documents, unless another one stands.
    pub(super) result: Option<ToolResult>,
    pub(super) not_stored: Option<StoreError>,
    pub(super) fault: Option<Fault>,
}

/// Records what came of a tool, documents first.
pub(super) async fn record_outcome(
    outcome: ToolOutcome,
    is_result: bool,
    recorder: Recorder,
    store: Arc<dyn DocumentStore>,
    keeps: bool,
) -> Box<Ran> {
    let result = outcome.result.clone();
    let (outcome, not_stored) = store_documents(outcome, &*store, keeps).await;
    let entry = Entry::new(Key::result(&outcome.call_id), EntryKind::ToolOutcome(outcome));
    let (stand, fault) = record_result(&recorder, vec![entry.clone()], is_result).await;
    let stands = stand.into_iter().next_back().unwrap_or_else(|| entry.clone());
    // A result that was recorded before stands.
    let result = (stands.kind == entry.kind).then_some(result);
    Box::new(Ran { entry: stands, result, not_stored, fault })
}

/// Puts the documents of a result into the store; those that the user's store has are references from then on.
pub(super) async fn store_documents(
    mut outcome: ToolOutcome,
    store: &dyn DocumentStore,
    keeps: bool,
) -> (ToolOutcome, Option<StoreError>) {
    match keep_of_result(store, &outcome.result).await {
        Ok(()) if keeps => {
            outcome.result = released(outcome.result, store.id());
            (outcome, None)
        }
        Ok(()) => (outcome, None),
        // The tool has run. Its result counts, and this process still holds the documents.
        Err(error) => (outcome, Some(error)),
    }
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
                    leave_receipt(recorder.place(), result).await;
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
        Ok(stands) if stands.kind == entry.kind => Ok(stands),
        // This driver knows no more than is recorded already.
        Ok(stands) if matches!(outcome.disposition, Disposition::TimedOut | Disposition::Panicked) => {
            Ok(stands)
        }
        Ok(_) => {
            let receipt = EntryKind::Receipt(outcome.clone());
            place.deliver(Entry::new(Key::receipt(&outcome.call_id), receipt)).await
        }
        Err(error) => Err(error),
    };
    if let Err(error) = left {
        tracing::error!(call = %outcome.call_id, %error, "a result could not be left for the driver that took the run over");
    }
}
