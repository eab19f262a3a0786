//! Takes results of calls that wait for the caller, also of those of runs inside.

use std::collections::VecDeque;

use attache_core::{ToolCall, ToolCallId, ToolResult};

use crate::control::Control;
use crate::deliver::{SubmitError, fits};
use crate::log::{Disposition, Entry, EntryKind, Key, ToolOutcome};
use crate::store_documents::keep_of_result;

impl Control {
    /// Delivers results of calls that wait for the caller, all or some, also of calls of agents inside. They are checked
    /// together: if one does not fit, none is taken. Their documents go into the agent's store before any is recorded. If
    /// the store or the journal fails, those recorded until then are taken, and the rest may be submitted again.
    ///
    /// # Errors
    /// [`SubmitError`] says which result does not fit; the run stays as it was. [`SubmitError::ChatLoopClosed`] also
    /// where the run ended before the result was recorded.
    pub async fn submit(&self, results: impl IntoIterator<Item = ToolResult>) -> Result<(), SubmitError> {
        self.take(results.into_iter().collect(), Disposition::Submitted).await
    }

    /// Closes a call that waits for the caller and that nobody answered in time, also one of an agent inside: the model
    /// reads the text as its failed result. A result that was submitted before stands.
    ///
    /// # Errors
    /// See [`submit`](Self::submit).
    pub async fn expire(&self, call: &ToolCall, text: &str) -> Result<(), SubmitError> {
        self.take(vec![ToolResult::error(call, text)], Disposition::TimedOut).await
    }

    async fn take(&self, results: Vec<ToolResult>, disposition: Disposition) -> Result<(), SubmitError> {
        let mut reserved = Vec::new();
        self.reserve_all(results, &mut reserved)?;
        for reserved in &mut reserved {
            reserved.keep().await?;
        }
        for reserved in reserved {
            reserved.record(disposition).await?;
        }
        Ok(())
    }

    /// Reserves the calls of results, here and in the runs inside. Those of a batch of which one does not fit are released
    /// when `reserved` is dropped.
    fn reserve_all(
        &self,
        mut results: Vec<ToolResult>,
        reserved: &mut Vec<Reserved>,
    ) -> Result<(), SubmitError> {
        let inside = self.lock().inside.clone();
        for inside in &inside {
            let (theirs, rest): (Vec<_>, Vec<_>) =
                results.into_iter().partition(|result| inside.awaits(&result.call_id));
            results = rest;
            if !theirs.is_empty() {
                inside.reserve_all(theirs, reserved)?;
            }
        }
        if results.is_empty() && !reserved.is_empty() {
            return Ok(());
        }
        let waits_inside = inside.iter().any(Control::waits);
        let keys = self.reserve(&results, waits_inside)?;
        reserved.push(Reserved { control: self.clone(), open: keys.into_iter().zip(results).collect() });
        Ok(())
    }

    /// True if the run, or one inside, waits for results of the caller.
    fn waits(&self) -> bool {
        let state = self.lock();
        let inside = state.inside.clone();
        let own = !state.awaiting.is_empty();
        drop(state);
        own || inside.iter().any(Control::waits)
    }

    /// Lets a call be answered again whose result could not be recorded.
    fn release(&self, id: &ToolCallId) {
        if let Some((_, _, answered)) = self.lock().awaiting.get_mut(id) {
            *answered = false;
        }
    }

    fn reserve(&self, results: &[ToolResult], waits_inside: bool) -> Result<Vec<Key>, SubmitError> {
        let mut state = self.lock();
        if state.is_over() {
            return Err(SubmitError::ChatLoopClosed);
        }
        if state.awaiting.is_empty() && !waits_inside {
            return Err(SubmitError::NotAwaiting);
        }
        let mut seen: Vec<&ToolCallId> = Vec::new();
        for result in results {
            let id = &result.call_id;
            match state.awaiting.get(id) {
                None => return Err(SubmitError::UnknownCall { id: id.clone() }),
                Some((_, _, true)) => return Err(SubmitError::DuplicateResult { id: id.clone() }),
                Some(_) if seen.contains(&id) => return Err(SubmitError::DuplicateResult { id: id.clone() }),
                Some(_) => seen.push(id),
            }
        }
        for (call, schema) in &state.schemas {
            for result in results.iter().filter(|result| result.call_id == *call) {
                fits(result, schema)?;
            }
        }
        let mut keys = Vec::with_capacity(results.len());
        for result in results {
            if let Some((key, _, answered)) = state.awaiting.get_mut(&result.call_id) {
                *answered = true;
                keys.push(key.clone());
            }
        }
        Ok(keys)
    }

    /// True if a call of the run, or of one inside, waits for its result.
    fn awaits(&self, id: &ToolCallId) -> bool {
        let state = self.lock();
        let inside = state.inside.clone();
        let own = state.awaiting.contains_key(id);
        drop(state);
        own || inside.iter().any(|inside| inside.awaits(id))
    }
}

/// Results of calls of one run on their way into its journal. Those that do not get there, also because the submitting
/// future is dropped, may be submitted again.
struct Reserved {
    control: Control,
    open: VecDeque<(Key, ToolResult)>,
}

impl Reserved {
    /// Keeps the documents of the results.
    async fn keep(&mut self) -> Result<(), SubmitError> {
        for (_, result) in &mut self.open {
            let (kept, error) = keep_of_result(&*self.control.shared.store, result.clone()).await;
            if let Some(error) = error {
                return Err(SubmitError::Store(error));
            }
            *result = kept;
        }
        Ok(())
    }

    async fn record(mut self, disposition: Disposition) -> Result<(), SubmitError> {
        while let Some((key, result)) = self.open.front().cloned() {
            let id = result.call_id.clone();
            let outcome = ToolOutcome { call_id: id.clone(), result, disposition };
            let entry = Entry::new(key, EntryKind::ToolOutcome(outcome));
            let place = &self.control.shared.place;
            let recorded = place.deliver(entry.clone()).await.map_err(SubmitError::Journal)?;
            // The first entry stays. The run's end closes the calls that are open.
            if recorded.closes_call() {
                return Err(SubmitError::ChatLoopClosed);
            }
            if recorded.kind != entry.kind {
                return Err(SubmitError::DuplicateResult { id });
            }
            self.open.pop_front();
        }
        Ok(())
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        for (_, result) in &self.open {
            self.control.release(&result.call_id);
        }
    }
}
