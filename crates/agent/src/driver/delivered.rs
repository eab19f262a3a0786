//! Results that come from elsewhere, and what the hooks make of them. The verdict is recorded in one step with the result.

use std::sync::Arc;

use attache_core::{DocumentStore, Effect, StoreError, ToolCall, ToolCallId, ToolResult};

use crate::driver::Driver;
use crate::driver::stop::Fault;
use crate::driver::wait::{Answer, Answered};
use crate::hooks::{Hooks, changed};
use crate::log::{Disposition, Entry, EntryKind, Hooked, Key, ToolOutcome};
use crate::run::Run;
use crate::setup::Setup;
use crate::store_documents::{documents_of, keep_of_result};
use crate::tools::Resolved;

/// The words for a model whose call was answered in the moment in which nobody waited for it any more.
const UNSEEN: &str =
    "the result came when nobody waited for it any more, and is withheld: it was not checked in time";

/// Hooks that look at the result of a call.
struct Looking {
    hooks: Arc<Hooks>,
    store: Arc<dyn DocumentStore>,
    /// True if a hook that fails withholds the result.
    closed: bool,
    is_volatile: bool,
    call: ToolCall,
}

impl Looking {
    /// The verdict about a result that somebody submitted.
    async fn at(&self, entry: &Entry) -> Result<Option<Box<Entry>>, StoreError> {
        let EntryKind::ToolOutcome(outcome) = &entry.kind else { return Ok(None) };
        if outcome.disposition != Disposition::Submitted {
            return Ok(None);
        }
        let given = &outcome.result;
        let seen = self.hooks.result(&self.call, given.clone(), self.closed).await;
        // The store has the document as it was delivered, under its id.
        let is_changed = changed(given, &seen).next().is_some();
        let seen = seen.apart_from(|id| documents_of(given).find(|document| document.id() == id));
        if !is_changed && seen == *given {
            return Ok(Some(Box::new(verdict(&self.call.id, None))));
        }
        match keep_of_result(&*self.store, seen).await {
            (_, Some(error)) if !self.is_volatile => Err(error),
            (seen, _) => Ok(Some(Box::new(verdict(&self.call.id, Some(Box::new(seen)))))),
        }
    }
}

fn verdict(call: &ToolCallId, result: Option<Box<ToolResult>>) -> Entry {
    let hooked = Hooked::Result { call_id: call.clone(), result };
    Entry::new(Key::hook_result(call), EntryKind::Hooked(hooked))
}

/// Puts the results as they are told in the place of those that were delivered. Each verdict stands before its result.
pub(super) fn tell(stand: &mut [Entry]) {
    let mut changed = None;
    for entry in stand {
        match &mut entry.kind {
            EntryKind::Hooked(Hooked::Result { call_id, result: Some(result) }) => {
                changed = Some((call_id.clone(), result.clone()));
            }
            EntryKind::ToolOutcome(outcome) if outcome.disposition == Disposition::Submitted => {
                if let Some((_, result)) = changed.take_if(|(call, _)| *call == outcome.call_id) {
                    outcome.result = *result;
                }
            }
            _ => {}
        }
    }
}

impl Driver {
    /// The hooks that have yet to see the result of a call.
    fn looking(&self, call: &ToolCall) -> Option<Looking> {
        if self.setup.hooks.is_empty() || self.run.has_hooked_result(&call.id) {
            return None;
        }
        let closed = match self.toolbox.resolve(&call.name) {
            Resolved::Tool(entry) | Resolved::External(entry) => entry.spec.metadata.effect != Effect::Read,
            Resolved::Waiting(_) | Resolved::Unknown(_) => true,
        };
        Some(Looking {
            hooks: Arc::clone(&self.setup.hooks),
            store: Arc::clone(&self.setup.store),
            closed,
            is_volatile: self.recorder.place().is_volatile(),
            call: call.clone(),
        })
    }

    /// Has the hooks look at what comes of a wait for a result, beside everything else that is under way.
    pub(super) fn looked_at(&self, call: &ToolCall, comes: Answer) -> Answer {
        let Some(looking) = self.looking(call) else { return comes };
        Box::pin(async move {
            match comes.await {
                Answered::Delivered(entry, None) => match looking.at(&entry).await {
                    Ok(verdict) => Answered::Delivered(entry, verdict),
                    Err(error) => Answered::Failed(error.into()),
                },
                other => other,
            }
        })
    }

    /// The verdict of the hooks about a result that was left.
    pub(super) async fn verdict_on(
        &self,
        call: &ToolCall,
        entry: &Entry,
    ) -> Result<Option<Box<Entry>>, StoreError> {
        match self.looking(call) {
            Some(looking) => looking.at(entry).await,
            None => Ok(None),
        }
    }

    /// Records what somebody left, with the verdict of the hooks, and yields the entry as it is told.
    pub(super) async fn take_in(
        &mut self,
        entry: Entry,
        verdict: Option<Box<Entry>>,
    ) -> Result<Entry, Fault> {
        match verdict {
            Some(verdict) => self.record_seen(vec![*verdict, Entry::new(entry.key, entry.kind)]).await,
            None => self.record(entry.key, entry.kind).await,
        }
    }

    /// Records an outcome, the last of these entries, and yields it as it is told.
    pub(super) async fn record_seen(&mut self, entries: Vec<Entry>) -> Result<Entry, Fault> {
        let mut stand = self.record_all(entries).await?;
        tell(&mut stand);
        stand.pop().ok_or_else(|| {
            let problem = "an append yielded no entry".to_owned();
            crate::journal::JournalError::Unreadable { problem }.into()
        })
    }

    /// The verdict in front of the outcome of a call that is not run, where the caller would answer it: a result that was
    /// delivered before somebody looked at the call stands in the place of that outcome, and nobody let it through.
    pub(super) fn in_place_of_delivered(&self, outcome: &ToolOutcome) -> Option<Entry> {
        let call = self.run.proposed(&outcome.call_id)?;
        let is_external = self.run.is_external(&call.name) && !self.run.has_hooked_result(&call.id);
        is_external.then(|| verdict(&call.id, Some(Box::new(outcome.result.clone()))))
    }

    pub(super) fn unseen(&self, call: &ToolCall) -> Option<Entry> {
        unseen(&self.run, &self.setup, call)
    }
}

/// The verdict for the moment in which nobody waits for a result any more, in front of its end: one that was delivered
/// before stands in the place of that end, and no hook has seen it.
pub(crate) fn unseen(run: &Run, setup: &Setup, call: &ToolCall) -> Option<Entry> {
    let is_looked_at = !setup.hooks.is_empty() && !run.has_hooked_result(&call.id);
    is_looked_at.then(|| verdict(&call.id, Some(Box::new(ToolResult::error(call, UNSEEN)))))
}
