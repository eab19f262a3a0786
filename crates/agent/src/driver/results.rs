//! Takes the results of tools into the log, also of tools that are stopped.

use std::sync::Arc;

use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use tokio::sync::mpsc::Receiver;

use crate::driver::Driver;
use crate::driver::calls::finished_event;
use crate::driver::delivered::tell;
use crate::driver::interrupt::Interrupt;
use crate::driver::record::{Kept, Ran, Recording, has_documents, record_result, store_documents};
use crate::driver::stop::Fault;
use crate::driver::unstored::{held_of, is_held, not_stored};
use crate::driver::wait::{Answer, Answered};
use crate::event::EventKind;
use crate::log::{Disposition, Ended, Entry, EntryKind, Key, ToolOutcome};
use crate::outcome::EndReason;
use crate::run::Action;

impl Driver {
    /// Folds in the result of a tool.
    pub(super) fn take_result(&mut self, ran: Ran) -> (Vec<EventKind>, Option<Fault>) {
        let Ran { entry, result, not_stored: error, fault } = ran;
        let mut events: Vec<EventKind> = Vec::with_capacity(1);
        events.extend(error.as_ref().map(not_stored));
        self.absorb();
        if let Err(error) = self.run.apply(&entry) {
            return (events, Some(error.into()));
        }
        if let Some(result) = &result {
            if error.is_some() {
                self.unstored.extend(held_of(result));
            } else if self.setup.keeps {
                // The next request shows them; their bytes leave with the window.
                for document in result.documents.iter().filter(is_held) {
                    if let Some(bytes) = document.bytes() {
                        self.library.materials.insert(document, bytes);
                    }
                }
            }
        }
        if let EntryKind::ToolOutcome(ToolOutcome { result: recorded, disposition, .. }) = entry.kind {
            let result = Box::new(result.unwrap_or(recorded));
            events.push(EventKind::ToolFinished { result, disposition });
        }
        (events, fault)
    }

    /// Begins to record what came of a tool; where nothing has to be waited for it is recorded then.
    pub(super) fn keep(&self, outcome: ToolOutcome, is_result: bool, recording: &mut Recording) {
        if let Some(heard) = &self.heard {
            heard.forget(&outcome.call_id);
        }
        if self.recorder.place().is_volatile() && !has_documents(&outcome.result) {
            let mut entry = result_entry(outcome);
            self.recorder.place().stamp(&mut entry);
            recording.note(Box::new(Ran { entry, result: None, not_stored: None, fault: None }));
            return;
        }
        self.warn_of_loss(outcome.result.tree.documents().iter().chain(&outcome.result.documents));
        let (recorder, store) = (self.recorder.clone(), Arc::clone(&self.setup.store));
        recording.push(outcome, is_result, recorder, store, self.setup.keeps);
    }

    /// Stops the tools that run. The results that are there are recorded, if that does not take long; those that are not
    /// are left to whoever records the end. `ends` says that the run is about to end anyway.
    pub(super) async fn stop_tools(
        &mut self,
        under_way: &mut FuturesUnordered<Answer>,
        recording: &mut Recording,
        interrupt: &mut Interrupt,
        ends: bool,
    ) -> Vec<EventKind> {
        let mut aborted = None;
        // A tool may have come to its end while the consumer of the events was busy.
        while let Some(Some(answered)) = under_way.next().now_or_never() {
            match answered {
                Answered::Done(outcome, is_result) => self.keep(outcome, is_result, recording),
                Answered::Aborted(outcome) if !ends && aborted.is_none() => aborted = Some(outcome),
                // One end of a round is all that the run takes.
                Answered::Aborted(mut outcome) => {
                    outcome.disposition = match outcome.disposition {
                        Disposition::Tripped => Disposition::Denied,
                        _ => Disposition::Executed,
                    };
                    self.keep(outcome, true, recording);
                }
                _ => {}
            }
        }
        under_way.clear();
        // The things that happened in runs inside them until now.
        let mut events: Vec<EventKind> = Vec::new();
        while let Some(Ok(inside)) = self.inside.as_mut().map(Receiver::try_recv) {
            events.push(*inside);
        }
        self.record_stopped(recording, interrupt, &mut events).await;
        // The round ends with it, so it stands behind all other results.
        match aborted {
            Some(outcome) if self.unconfirmed.is_empty() => {
                self.keep(outcome, true, recording);
                self.record_stopped(recording, interrupt, &mut events).await;
            }
            Some(outcome) => self.unconfirmed.push(result_entry(outcome)),
            None => {}
        }
        events
    }

    /// Takes the results into the log that are on their way, as far as that does not take long.
    async fn record_stopped(
        &mut self,
        recording: &mut Recording,
        interrupt: &mut Interrupt,
        events: &mut Vec<EventKind>,
    ) {
        let recorded = async {
            while let Some(ran) = recording.next().await {
                if ran.fault.is_some() {
                    self.unconfirmed.push(ran.entry);
                } else {
                    events.extend(self.take_result(*ran).0);
                }
            }
        };
        interrupt.in_time(recorded).await;
        for outcome in recording.unfinished() {
            self.unstored.extend(held_of(&outcome.result));
            self.unconfirmed.push(result_entry(outcome));
        }
    }

    /// Records the end that a tool makes of its round, in one step with the end of the calls that wait for the caller,
    /// and with the results of which nobody knows whether they are recorded.
    pub(super) async fn abort(
        &mut self,
        outcome: ToolOutcome,
    ) -> Result<(Vec<EventKind>, Option<Fault>), Fault> {
        // The round has its end already.
        if !self.run.is_open(&outcome.call_id) {
            return Ok((Vec::new(), None));
        }
        let Kept { outcome, held, error } =
            store_documents(outcome, &*self.setup.store, self.setup.keeps).await;
        if error.is_some() {
            self.unstored.extend(held_of(&held));
        }
        let mut events: Vec<EventKind> = error.as_ref().map(not_stored).into_iter().collect();
        let mut entries = std::mem::take(&mut self.unconfirmed);
        let key = Key::result(&outcome.call_id);
        let seen = Key::hook_result(&outcome.call_id);
        entries.extend(self.closed_calls().into_iter().filter(|entry| entry.key != key && entry.key != seen));
        entries.extend(self.in_place_of_delivered(&outcome));
        let mut ended = Ended::new(EndReason::ToolAbort);
        if outcome.disposition == Disposition::Tripped {
            ended = Ended::new(EndReason::GuardrailTripped);
            ended.detail = Some(outcome.result.tree.model_text().into_owned());
        }
        entries.push(Entry::new(key, EntryKind::ToolOutcome(outcome)));
        self.unconfirmed.clone_from(&entries);
        let (mut stand, fault) = record_result(&self.recorder, entries, true).await;
        self.unconfirmed.clear();
        for entry in &stand {
            self.run.apply(entry)?;
        }
        tell(&mut stand);
        events.extend(stand.iter().filter_map(finished_event));
        // A result that was delivered before stands in the place of the end.
        if fault.is_none() && !matches!(self.run.next(), Action::End { .. } | Action::Ended) {
            events.extend(Box::pin(self.end(ended)).await?);
        }
        Ok((events, fault))
    }
}

fn result_entry(outcome: ToolOutcome) -> Entry {
    Entry::new(Key::result(&outcome.call_id), EntryKind::ToolOutcome(outcome))
}
