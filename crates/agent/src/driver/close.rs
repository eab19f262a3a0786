//! Ends a run, or leaves it to whoever resumes it.

use attache_core::{MessageId, fresh};
use std::sync::Arc;
use tokio::time::{Instant, timeout_at};

use crate::driver::Driver;
use crate::driver::approval::undecided;
use crate::driver::delivered::unseen;
use crate::driver::stop::Fault;
use crate::event::EventKind;
use crate::log::{Ended, Entry, EntryKind, Key};
use crate::outcome::{EndReason, Outcome};
use crate::run::{Action, PendingCall, Run, interrupted};
use crate::setup::Setup;
use crate::store_documents::keep_of_messages;

/// The results of a run's calls that nobody answers any more, and the approvals that nobody needs any more. Appended with
/// the end, they decide in one step whether the caller's result came in time: one that was delivered before stands in
/// their place, and whoever delivers one afterwards learns that the run has ended.
pub(crate) fn closed_calls(run: &Run, setup: &Setup) -> Vec<Entry> {
    let Action::AnswerCalls { calls } = run.next() else { return Vec::new() };
    let questions = run.open_questions().map(|asked| asked.id.as_str());
    let undecided = questions.map(|id| Entry::new(Key::decided(id), undecided(id)));
    let closed =
        calls.into_iter().filter(|pending| pending.external).flat_map(|PendingCall { key, call, .. }| {
            let closed = Entry::new(key, EntryKind::ToolOutcome(run.closed_call(&call)));
            unseen(run, setup, &call).into_iter().chain([closed])
        });
    undecided.chain(closed).collect()
}

/// The end of a run that was interrupted.
pub(super) struct Closed {
    /// The things to tell before it.
    pub(super) told: Vec<EventKind>,
    /// True if its log has it.
    pub(super) is_recorded: bool,
}

impl Driver {
    /// Records the end of the run, with what was found out about its answer. Yields the events that tell of it.
    pub(super) async fn end(&mut self, ended: Ended) -> Result<Vec<EventKind>, Fault> {
        // The last moment at which this process can give documents to a store that was away.
        self.store_again().await;
        #[cfg(feature = "citations")]
        if self.setup.citations {
            return Box::pin(self.end_checked(ended)).await;
        }
        self.record_end(ended, self.has_looked()).await?;
        Ok(Vec::new())
    }

    /// True if the run has its answer and found nothing else to read: it ends behind that look, unless it is interrupted.
    pub(super) fn has_looked(&self) -> bool {
        matches!(self.run.next(), Action::End { open: true, .. })
    }

    pub(super) async fn record_end(&mut self, mut ended: Ended, has_looked: bool) -> Result<(), Fault> {
        ended.unread = self.control.unheard();
        let said = self.said_unread(has_looked).await?;
        // Its own stand there, too, where nobody knows whether they were recorded.
        let is_new = |message: &Arc<attache_core::Message>| !ended.unread.contains(message);
        let said: Vec<_> = said.into_iter().filter(is_new).collect();
        ended.unread.extend(said);
        if let Err(error) = keep_of_messages(&*self.setup.store, &ended.unread).await {
            tracing::error!(run = self.run.id(), %error, "the documents of unread messages could not be stored");
        }
        let unread = ended.unread.clone();
        let mut entries = self.closed_calls();
        entries.push(Entry::new(Key::end(), EntryKind::Ended(ended)));
        let stand = self.record_all(entries).await?;
        // An end that was written before may hold fewer messages; the others come back with the outcome.
        if matches!(stand.last().map(|entry| &entry.kind), Some(EntryKind::Ended(end)) if end.unread == unread)
        {
            self.control.taken(&unread);
        }
        Ok(())
    }

    pub(super) fn closed_calls(&self) -> Vec<Entry> {
        closed_calls(&self.run, &self.setup)
    }

    /// Records the end of a run that was interrupted, and yields what is to be told before it. A journal that does not take
    /// the end before `until` must not hold up whoever cancelled: the run ends for them, and somebody may resume it.
    pub(super) async fn end_interrupted(&mut self, mut ended: Ended, until: Instant) -> Closed {
        let unconfirmed = std::mem::take(&mut self.unconfirmed);
        let mut told = Vec::new();
        let reply = self.run.next_id();
        if unconfirmed.iter().any(|entry| matches!(entry.kind, EntryKind::Reply(_))) {
            // The reply says it, whole.
            ended.interrupted_text.clear();
        }
        let closing = async {
            // They may be written already, or not. An end without them would be the end of another run.
            if !unconfirmed.is_empty() {
                let stand = self.record_all(unconfirmed.clone()).await?;
                told = self.told_of(&stand, &reply);
            }
            self.record_end(ended.clone(), false).await?;
            self.store_again().await;
            Ok(())
        };
        let closed: Result<Result<(), Fault>, _> = timeout_at(until, closing).await;
        let failed = match closed {
            Ok(Ok(())) => return Closed { told, is_recorded: true },
            Err(_) if matches!(self.run.next(), Action::Ended) => return Closed { told, is_recorded: true },
            Ok(Err(fault)) => fault.to_string(),
            Err(_) => "the journal did not answer in time".to_owned(),
        };
        tracing::error!(run = self.run.id(), error = failed, "the end of the run could not be recorded");
        // Those that were recorded are applied already, and refused.
        let mut left = unconfirmed;
        left.retain(|entry| self.run.apply(entry).is_ok());
        told.extend(self.told_of(&left, &reply));
        self.run.end_unrecorded(&ended);
        let message = format!("the end of the run could not be recorded, and it can be resumed: {failed}");
        told.push(EventKind::Warning { code: "end_not_recorded", message });
        Closed { told, is_recorded: false }
    }

    /// The things that are still to be told of a reply, because the run was interrupted while it was recorded: its
    /// documents or that a hook takes it back, and its tokens.
    fn told_of(&self, stand: &[Entry], id: &MessageId) -> Vec<EventKind> {
        let mut told = Vec::new();
        for entry in stand {
            let EntryKind::Reply(reply) = &entry.kind else { continue };
            match self.is_withdrawn(stand) {
                true => told.push(EventKind::ReplyWithdrawn { reply: id.clone() }),
                false => {
                    let made = self.run.made_in(id).into_iter();
                    told.extend(made.map(|made| EventKind::Made(Box::new(made))));
                }
            }
            let (finish_reason, usage) = (reply.finish_reason.clone(), reply.usage.clone());
            told.push(EventKind::StepFinished { finish_reason, usage, response: None });
        }
        told
    }

    /// Takes the results into the log that the caller has delivered and nobody took yet.
    pub(super) async fn take_delivered(&mut self) -> Result<Vec<EventKind>, Fault> {
        let Action::AnswerCalls { calls } = self.run.next() else { return Ok(Vec::new()) };
        let mut events = Vec::new();
        for PendingCall { key, call, .. } in calls.into_iter().filter(|call| call.external) {
            if !self.is_let_through(&call.id) {
                continue;
            }
            let place = self.recorder.place().clone();
            if let Some(mut entry) = place.wait(&key, Some(fresh::now())).await? {
                let verdict = self.verdict_on(&call, &entry).await?;
                entry.key = key;
                let entry = self.take_in(entry, verdict).await?;
                events.extend(super::calls::finished_event(&entry));
            }
        }
        Ok(events)
    }

    /// The outcome of a drive that stops before its run has ended: the messages are valid to go on from.
    pub(super) fn outcome(&self, reason: Option<EndReason>, said: &str) -> Box<Outcome> {
        let mut outcome = Box::new(self.run.outcome_beside(&self.paused()));
        if let Some(reason) = reason {
            outcome.reason = reason;
        }
        if !said.trim().is_empty() {
            said.clone_into(&mut outcome.text);
            outcome.messages.push(interrupted(said).shared());
        }
        outcome.unread.extend(self.control.close());
        outcome
    }

    /// Tries again to store documents of tools and of replies that could not be stored.
    pub(super) async fn store_again(&mut self) {
        let store = Arc::clone(&self.setup.store);
        let mut left = Vec::new();
        for document in std::mem::take(&mut self.unstored) {
            if store.put(&document).await.is_err() {
                left.push(document);
            }
        }
        self.unstored = left;
    }
}
