//! Runs by their logs, whoever drives them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use attache_agent::{
    Asked, Decided, Disposition, Entry, EntryKind, Journal, Outcome, Run, RunInfo, Session, Waiting,
};
use attache_core::{Effect, Message, ToolCall, ToolCallId};
use futures_util::stream::{StreamExt as _, iter};

use crate::agents::Hosted;
use crate::app::App;
use crate::auth::Principal;
use crate::dialect::Shown;
use crate::fault::Fault;
use crate::live::{Entry as Told, Origins, Stand, failure};
use crate::resuming::known;

/// The logs of a session that are read at once.
const READ_AT_ONCE: usize = 8;

/// A run by its log.
pub(super) struct Stored {
    pub(super) session: Session,
    pub(super) info: RunInfo,
    pub(super) entries: Vec<Entry>,
    pub(super) run: Run,
}

impl Stored {
    pub(super) async fn load(hosted: &Hosted, principal: &Principal, run: &str) -> Result<Self, Fault> {
        let known = known(hosted, principal, run).await?;
        let (session, info) = known.ok_or_else(|| Fault::not_found("run"))?;
        let entries = session.journal_of(run).load().await?;
        let run = Run::replay(&entries).map_err(|error| Fault::internal(&error))?;
        Ok(Self { session, info, entries, run })
    }

    /// True if it has something to do: somebody drives it, or will. An outcome would say that it was cancelled.
    pub(super) fn is_under_way(&self) -> bool {
        self.info.ended.is_none() && Stand::of(&self.run) == Stand::UnderWay
    }

    /// The outcome as clients see it.
    pub(super) fn outcome(&self, shown: Shown) -> Outcome {
        let mut outcome = self.run.outcome();
        if !shown.details {
            Origins::of(&outcome.messages).hide_in(&mut outcome);
        }
        outcome
    }

    /// The failure with which the last drive of the run ended, if nobody goes on with it. The log of a run whose store failed
    /// does not have it: the process that drove it tells it for a while.
    pub(super) async fn failure(&self, app: &App) -> Result<Option<Arc<Told>>, Fault> {
        let live = app.runs.get(self.session.principal(), &self.info.id);
        let known = match self.run.has_failed() {
            true => Some(failure(&self.entries)),
            // A log that has more steps went on elsewhere.
            false => live.and_then(|live| live.failure()).filter(|end| end.steps() >= Some(self.run.steps())),
        };
        // A lease that is over is that of a process which is gone: another one goes on with the run.
        let is_let_go = known.is_some() && self.session.undriven_for().await? == Some(Duration::ZERO);
        Ok(known.filter(|_| is_let_go))
    }
}

/// The call of that id, whichever run made it: the one whose log it is, or one inside its tools.
pub(super) fn called(entries: &[Entry], id: &ToolCallId) -> Option<ToolCall> {
    entries.iter().rev().find_map(|entry| match &entry.kind {
        EntryKind::Reply(reply) => match &*reply.message {
            Message::Assistant(message) => message.tool_calls().find(|call| call.id == *id).cloned(),
            _ => None,
        },
        _ => None,
    })
}

/// True if a run has something to do now that a call has its result, also where its log has not taken that yet: somebody
/// drives it, or it stands still.
pub(super) async fn has_work(journal: &dyn Journal, answered: &ToolCallId) -> Result<bool, Fault> {
    let run = Run::replay(&journal.load().await?).map_err(|error| Fault::internal(&error))?;
    let is_left = |waiting: Waiting| waiting.calls.iter().any(|call| call.id == *answered);
    Ok(Stand::of(&run) == Stand::UnderWay || run.waiting().is_some_and(is_left))
}

/// True if the log of a run has these results, and behind them something that the user said.
pub(super) async fn has_heard(journal: &dyn Journal, answered: &[ToolCallId]) -> Result<bool, Fault> {
    let entries = journal.load().await?;
    let place = |id: &ToolCallId| {
        let is_its =
            |entry: &Entry| matches!(&entry.kind, EntryKind::ToolOutcome(told) if told.call_id == *id);
        entries.iter().rposition(is_its)
    };
    let Some(places) = answered.iter().map(place).collect::<Option<Vec<_>>>() else { return Ok(false) };
    let behind = places.into_iter().max().and_then(|last| entries.get(last..)).unwrap_or_default();
    Ok(behind.iter().any(|entry| matches!(entry.kind, EntryKind::Inbox(_)) && is_own(entry)))
}

/// True for an entry of the run itself. Those of an agent inside a tool have ids of another conversation.
fn is_own(entry: &Entry) -> bool {
    !entry.key.as_str().contains('>')
}

/// The logs of a session that tell what its messages do not: those of the newest run, and of each other one with results.
pub(super) struct Logs(Vec<(String, Vec<Entry>)>);

impl Logs {
    /// Reads them, and tells how the newest run stands.
    pub(super) async fn load(session: &Session, runs: &[RunInfo]) -> Result<(Self, Option<Outcome>), Fault> {
        let Some((newest, earlier)) = runs.split_last() else { return Ok((Self(Vec::new()), None)) };
        let entries = session.behind(&newest.id, 0).await?;
        if entries.is_empty() {
            return Ok((Self(Vec::new()), None));
        }
        let last = Run::replay(&entries).map_err(|error| Fault::internal(&error))?.outcome();
        let results = last.messages.iter().filter(|message| matches!(&***message, Message::ToolResults(_)));
        let with_results: HashSet<&str> =
            results.filter_map(|results| Run::that_made(results.id())).collect();
        let earlier = earlier.iter().filter(|run| with_results.contains(&*run.id));
        let earlier: Vec<String> = earlier.map(|run| run.id.clone()).collect();
        let read = earlier.into_iter().map(|run| async move {
            // Its beginning has the conversation alone.
            match session.behind(&run, 1).await {
                Ok(entries) => Some((run, entries)),
                Err(error) => {
                    tracing::warn!(run, %error, "the log of a run cannot be read");
                    None
                }
            }
        });
        let mut logs: Vec<_> =
            iter(read).buffered(READ_AT_ONCE).filter_map(std::future::ready).collect().await;
        logs.push((newest.id.clone(), entries));
        Ok((Self(logs), Some(last)))
    }

    fn entries(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.0.iter().flat_map(|(run, entries)| entries.iter().map(move |entry| (run.as_str(), entry)))
    }

    /// The ways in which the results of calls came about. One that a run was given at its end, for a call that it never
    /// began, has no entry, and a call that still runs, or waits, has no result yet.
    pub(super) fn dispositions(&self) -> HashMap<&ToolCallId, Disposition> {
        let own = |entry: &&Entry| is_own(entry);
        let known = self.0.iter().flat_map(|(_, entries)| {
            let is_end = |entry: &Entry| matches!(entry.kind, EntryKind::Ended(_));
            let has_ended = entries.iter().filter(own).any(is_end);
            entries.iter().filter(own).filter_map(move |entry| match &entry.kind {
                EntryKind::Begun(begun) if has_ended && begun.effect != Effect::Read => {
                    Some((&begun.call_id, Disposition::Unknown))
                }
                EntryKind::ToolOutcome(outcome) => Some((&outcome.call_id, outcome.disposition)),
                _ => None,
            })
        });
        // An outcome comes behind its beginning.
        known.collect()
    }

    /// The decisions about calls, each with its run, the question, and its time in milliseconds since 1970.
    pub(super) fn decisions(&self) -> impl Iterator<Item = (&str, &Asked, &Decided, u64)> {
        let asked = self.entries().filter_map(|(_, entry)| match &entry.kind {
            EntryKind::Asked(asked) => Some((&*asked.id, asked)),
            _ => None,
        });
        let asked: HashMap<&str, &Asked> = asked.collect();
        self.entries().filter_map(move |(run, entry)| match &entry.kind {
            EntryKind::Decided(decided) if decided.decision.is_some() => {
                Some((run, *asked.get(&*decided.id)?, decided, entry.at))
            }
            _ => None,
        })
    }
}
