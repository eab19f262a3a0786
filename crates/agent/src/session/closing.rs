//! The last run of a session, as the next one finds it: a run that has not ended is closed, and what came for it while
//! nobody drove it is not lost.

use std::sync::Arc;
use std::time::SystemTime;

use attache_core::Message;

use super::error::SessionError;
use super::id::SessionId;
use super::store::SessionStore;
use crate::approval::is_expired;
use crate::driver::{closed_calls, expired, unseen};
use crate::journal::{JournalError, now};
use crate::log::{Asked, Decision, Ended, Entry, EntryKind, Key};
use crate::outcome::{EndReason, Outcome};
use crate::run::{Action, Run, told_late};
use crate::setup::Setup;

/// The detail of a run that was closed because another one began.
const CLOSED: &str = "another run of the session began";

/// The last run of a session.
pub(super) struct Last<'a> {
    pub(super) store: &'a dyn SessionStore,
    pub(super) principal: &'a str,
    pub(super) session: &'a SessionId,
    pub(super) id: String,
    pub(super) entries: Vec<Entry>,
    /// The entries that came behind its end.
    pub(super) late: Vec<Entry>,
}

/// The things of the last run that the next one goes on from.
pub(super) struct Before {
    pub(super) outcome: Outcome,
    /// The messages behind it that its model did not read.
    pub(super) unread: Vec<Arc<Message>>,
    /// The run with the end that it is given, if it has none.
    pub(super) closes: Option<(String, Vec<Entry>)>,
}

impl Last<'_> {
    /// The run as it has ended, or as it ends now.
    pub(super) async fn closed(self, setup: &Setup, leaves_approvals: bool) -> Result<Before, SessionError> {
        let mut run = Run::replay(&self.entries)?;
        if self.entries.iter().any(|entry| entry.key == Key::end()) {
            // The next run tells of receipts that came between the last look of the driver and the end.
            let mut unread = self.receipts(&run).await?;
            for entry in self.late {
                if let EntryKind::Inbox(messages) = entry.kind {
                    unread.extend(messages);
                }
            }
            return Ok(Before { outcome: run.outcome(), unread, closes: None });
        }
        let mut unread = self.receipts(&run).await?;
        // The next run reads these messages, so the end of this one does not count them as unread.
        unread.extend(self.said(&run).await?);
        let ended = match run.failed() {
            // It stays one that failed. The words of the provider are in that entry alone: a detail is shown to anybody.
            Some(failed) => Ended::new(failed.reason.clone()),
            None => Ended { detail: Some(CLOSED.to_owned()), ..Ended::new(EndReason::Cancelled) },
        };
        let mut closes = Vec::new();
        for entry in self.results(&run, setup).await? {
            let is_open = match &entry.kind {
                EntryKind::ToolOutcome(outcome) => run.is_open(&outcome.call_id),
                _ => true,
            };
            // The one before may have ended the round.
            if is_open && run.apply(&entry).is_ok() {
                closes.push(entry);
            }
        }
        let overdue: Vec<Asked> = run.open_questions().filter(|asked| is_expired(asked)).cloned().collect();
        for asked in overdue {
            let left = self.left(&Key::decided(&asked.id)).await?;
            for entry in expired(&run, &asked, left) {
                run.apply(&entry)?;
                closes.push(entry);
            }
        }
        let mut outcome = run.outcome();
        // Calls that wait for approval refuse a run, which a history says that has not ended. Those whose time is up wait no
        // more, and the ones of agents inside end with the calls of these.
        if outcome.approvals.iter().all(|asked| asked.expires_at <= now()) {
            for mut entry in closed_calls(&run, setup) {
                // A result that came while nobody drove the run is the model's.
                if matches!(entry.kind, EntryKind::ToolOutcome(_))
                    && let Some(delivered) = self.left(&entry.key).await?
                {
                    entry.kind = delivered;
                }
                run.apply(&entry)?;
                closes.push(entry);
            }
            run.end_unrecorded(&ended);
            outcome = run.outcome();
        } else if leaves_approvals {
            self.refuse_approved(&outcome).await?;
        }
        closes.push(Entry::new(Key::end(), EntryKind::Ended(ended)));
        Ok(Before { outcome, unread, closes: Some((self.id, closes)) })
    }

    /// The entry that somebody left under a key, or that stands there.
    async fn left(&self, key: &Key) -> Result<Option<EntryKind>, JournalError> {
        let now = Some(SystemTime::UNIX_EPOCH);
        let found = self.store.wait(self.principal, self.session, &self.id, key, now).await?;
        Ok(found.map(|entry| entry.kind))
    }

    /// The messages that were left for the run; see [`say`](crate::say).
    async fn said(&self, run: &Run) -> Result<Vec<Arc<Message>>, JournalError> {
        let mut said = Vec::new();
        for number in run.inboxes().. {
            let Some(EntryKind::Inbox(messages)) = self.left(&Key::inbox(number)).await? else { break };
            said.extend(messages);
        }
        Ok(said)
    }

    /// The word of calls that the model was told are of unknown outcome, and that came to their end elsewhere.
    async fn receipts(&self, run: &Run) -> Result<Vec<Arc<Message>>, JournalError> {
        let mut told = Vec::new();
        for call in run.unknown() {
            if let Some(EntryKind::Receipt(outcome)) = self.left(&Key::receipt(&call.id)).await? {
                told.push(Message::User(told_late(&call.name, &outcome)).shared());
            }
        }
        Ok(told)
    }

    /// The results that came while nobody drove the run: of clients, and of tools that came to their end at a driver that
    /// had the run no more.
    async fn results(&self, run: &Run, setup: &Setup) -> Result<Vec<Entry>, JournalError> {
        let Action::AnswerCalls { calls } = run.next() else { return Ok(Vec::new()) };
        let mut results = Vec::new();
        // Nobody let a call through that waits for a decision.
        for pending in calls.into_iter().filter(|pending| !run.waits_for_decision(&pending.call.id)) {
            let left = match self.left(&pending.key).await? {
                None if pending.begun.is_some() && !pending.external => {
                    self.left(&Key::receipt(&pending.call.id)).await?
                }
                left => left,
            };
            if let Some(EntryKind::ToolOutcome(outcome) | EntryKind::Receipt(outcome)) = left {
                if pending.external {
                    results.extend(unseen(run, setup, &pending.call));
                }
                results.push(Entry::new(pending.key, EntryKind::ToolOutcome(outcome)));
            }
        }
        Ok(results)
    }

    /// Refuses a run that would leave calls which somebody has approved by now: they were told that these run.
    async fn refuse_approved(&self, outcome: &Outcome) -> Result<(), SessionError> {
        let mut ids = Vec::new();
        for request in &outcome.approvals {
            let is_asked =
                |entry: &&Entry| matches!(&entry.kind, EntryKind::Asked(asked) if asked.id == request.id);
            let scope = self.entries.iter().find(is_asked).map_or("", |entry| entry.key.scope_text());
            let decided = self.left(&Key::decided(&request.id).within(scope)).await?;
            if let Some(EntryKind::Decided(decided)) = decided
                && decided.decision.is_some_and(|decision| !matches!(decision, Decision::Deny(_)))
            {
                ids.push(request.id.clone());
            }
        }
        match ids.is_empty() {
            true => Ok(()),
            false => Err(SessionError::Approved { run: self.id.clone(), ids }),
        }
    }
}
