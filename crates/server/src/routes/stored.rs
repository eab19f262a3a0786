//! Runs by their logs, whoever drives them.

use attache_agent::{Entry, Outcome, Run, RunInfo, Session};

use crate::auth::Principal;
use crate::fault::Fault;
use crate::hosted::Hosted;
use crate::live::Stand;
use crate::resuming::known;

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

    /// Its end, or that for which it waits, without its messages.
    pub(super) fn outcome(&self) -> Outcome {
        let mut outcome = self.run.outcome();
        outcome.messages.clear();
        outcome
    }
}
