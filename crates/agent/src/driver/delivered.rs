//! Results that come from elsewhere, and what the hooks make of them. The verdict is recorded in one step with the result.

use std::sync::Arc;

use attache_core::{DocumentStore, Effect, StoreError, ToolCall, ToolResult};

use crate::driver::Driver;
use crate::driver::stop::Fault;
use crate::driver::wait::{Answer, Answered};
use crate::hooks::Hooks;
use crate::keep::keep_of_result;
use crate::log::{Disposition, Entry, EntryKind, Hooked, Key};
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
        let seen = self.hooks.result(&self.call, outcome.result.clone(), self.closed).await;
        let changed = (seen != outcome.result).then(|| Box::new(seen));
        if let Some(changed) = &changed {
            match keep_of_result(&*self.store, changed).await {
                Err(error) if !self.is_volatile => return Err(error),
                _ => {}
            }
        }
        Ok(Some(Box::new(verdict(&self.call, changed))))
    }
}

fn verdict(call: &ToolCall, result: Option<Box<ToolResult>>) -> Entry {
    let hooked = Hooked::Result { call_id: call.id.clone(), result };
    Entry::new(Key::hook_result(&call.id), EntryKind::Hooked(hooked))
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
        let mut entry = stand.pop().ok_or_else(|| {
            let problem = "an append yielded no entry".to_owned();
            Fault::Journal(crate::journal::JournalError::Unreadable { problem })
        })?;
        let changed = stand.into_iter().find_map(|entry| match entry.kind {
            EntryKind::Hooked(Hooked::Result { result, .. }) => result,
            _ => None,
        });
        if let (EntryKind::ToolOutcome(outcome), Some(changed)) = (&mut entry.kind, changed)
            && outcome.disposition == Disposition::Submitted
        {
            outcome.result = *changed;
        }
        Ok(entry)
    }

    /// The verdict for the moment in which nobody waits for a result any more, in front of its end: one that was delivered
    /// before stands in the place of that end, and no hook has seen it.
    pub(super) fn unseen(&self, call: &ToolCall) -> Option<Entry> {
        let is_looked_at = !self.setup.hooks.is_empty() && !self.run.has_hooked_result(&call.id);
        is_looked_at.then(|| verdict(call, Some(Box::new(ToolResult::error(call, UNSEEN)))))
    }
}
