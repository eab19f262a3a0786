//! Answers of callers: to the questions of a task, and to its calls that wait for approval.

use std::sync::Arc;
use std::time::Duration;

use attache_agent::{AgentRun, DecideError, Decision, Session, SubmitError, decide, deliver_with, say};
use attache_core::{Capture, ResultStatus, ToolCall, ToolResult, UserMessage};
use tokio::sync::watch;

use super::error::Refusal;
use super::message::{Answer, decision, documents};
use super::step::Step;
use super::tasks::{Place, STOPPING, Tasks};
use crate::wire::Message;

/// The time in which a message must be delivered, with its files.
const DELIVERING: Duration = Duration::from_secs(60);
/// The word for whoever decides about a call here, and what the model reads of a call that was denied.
const CALLER: &str = "the caller";
const DENIED: &str = "the caller says no";

impl Tasks {
    /// Takes a message to a task that is not over.
    pub(super) async fn go_on(
        self: &Arc<Self>,
        principal: &str,
        task: &str,
        message: &Message,
        input: UserMessage,
    ) -> Result<Place, Refusal> {
        let place = Place::parse(task).ok_or(Refusal::TaskNotFound)?;
        let session = self.session(principal, &place).await?;
        if message.context.as_ref().is_some_and(|context| *context != place.context) {
            return Err(Refusal::InvalidParams("`contextId` is not that of the task"));
        }
        let logged = Self::logged(&session, &place).await?.ok_or(Refusal::TaskNotFound)?;
        if logged.has_ended {
            return Err(Refusal::Unsupported("the task is over"));
        }
        if let Some(control) = self.control(&place.id).filter(|_| !logged.asks()) {
            control.inject(input).map_err(|_| Refusal::Unsupported("the task takes no message now"))?;
            return Ok(place);
        }
        if !logged.asks() {
            return Err(Refusal::Unsupported("the task takes no message now"));
        }
        let asked = logged.outcome.deferred.iter().find(|request| request.deferred.prompt.is_some());
        if let Some(request) = asked {
            let answer = Answer::of(message, &input, request.deferred.schema.as_ref());
            // A tool in the midst of its work takes a value alone.
            if !request.path.is_empty() && !answer.is_bare() {
                return Err(Refusal::InvalidParams(
                    "the answer to this question is one value, without files",
                ));
            }
            let step = self.unseen_step(&place.id);
            self.deliver(&session, &place, &request.call, answer).await?;
            self.take(&session, &place, step).await;
            return Ok(place);
        }
        if !self.caller_approves {
            return Err(Refusal::Unsupported("the task waits until somebody else approves a call"));
        }
        // A file that its model cannot read would end the run.
        if documents(&input).next().is_some() {
            return Err(Refusal::InvalidParams("the answer to this question takes no files"));
        }
        let (approves, more) = decision(message)
            .ok_or(Refusal::InvalidParams("the answer must be `yes` or `no`, or data with `approved`"))?;
        let approvals = || logged.outcome.approvals.iter();
        // Its run may wait for the decision itself, or be about to stop: either reads what the log says.
        if let Some(step) = self.unseen_step(&place.id) {
            let journal = session.journal_of(&place.run);
            if let Some(more) = more {
                say(&*journal, more).await.map_err(|error| not_taken(&error))?;
            }
            for request in approvals() {
                let decision = match approves {
                    true => Decision::Approve,
                    false => Decision::Deny(DENIED.to_owned()),
                };
                decide(&*journal, &request.id, CALLER, decision).await.map_err(undecided)?;
            }
            self.take(&session, &place, Some(step)).await;
            return Ok(place);
        }
        let run = session.resume();
        if let Some(more) = more {
            run.control().inject(more).map_err(|error| not_taken(&error))?;
        }
        let decided = |run: AgentRun, id: &str| match approves {
            true => run.approve(id),
            false => run.deny(id, DENIED),
        };
        let run = approvals().fold(run, |run, request| decided(run, &request.id));
        self.drive(&place, run).await?;
        Ok(place)
    }

    /// The steps of a task that is driven here, from now on.
    pub(super) fn unseen_step(&self, id: &str) -> Option<watch::Receiver<Step>> {
        let mut step = self.step(id)?;
        step.mark_unchanged();
        Some(step)
    }

    /// Lets a task go on whose answer is in the log: by itself where it waits for it, or here where it has stopped, or was
    /// about to and did not see it.
    async fn take(self: &Arc<Self>, session: &Session, place: &Place, step: Option<watch::Receiver<Step>>) {
        if let Some(mut step) = step {
            let _ = tokio::time::timeout(STOPPING, step.changed()).await;
        }
        if self.step(&place.id).is_some() {
            return;
        }
        if let Ok(Some(logged)) = Self::logged(session, place).await
            && !logged.has_ended
        {
            self.take_up(session, place, &logged).await;
        }
    }

    /// Delivers an answer; its files go to the store that its run reads.
    async fn deliver(
        &self,
        session: &Session,
        place: &Place,
        call: &ToolCall,
        answer: Answer,
    ) -> Result<(), Refusal> {
        const TOO_LARGE: Refusal = Refusal::InvalidParams("the answer is too large");
        let store = self.sessions.agent().store();
        let tree = Capture::new().with_store_id(store.id()).finish(&answer.returned());
        let result = ToolResult::new(call, ResultStatus::Ok, tree.map_err(|_| TOO_LARGE)?);
        let journal = session.journal_of(&place.run);
        let delivering = deliver_with(&*journal, &*store, result);
        match tokio::time::timeout(DELIVERING, delivering).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(SubmitError::Unfit { .. })) => {
                Err(Refusal::InvalidParams("the answer does not fit what is asked"))
            }
            Ok(Err(SubmitError::Store(_))) | Err(_) => {
                tracing::warn!("the files of an answer to an A2A task cannot be stored");
                Err(Refusal::Internal)
            }
            Ok(Err(_)) => Err(Refusal::Unsupported("the task takes no message now")),
        }
    }
}

fn not_taken(error: &SubmitError) -> Refusal {
    tracing::debug!(%error, "an A2A task takes no message");
    Refusal::Unsupported("the task takes no message now")
}

fn undecided(error: DecideError) -> Refusal {
    match error {
        DecideError::Decided { .. } => Refusal::Unsupported("somebody has decided otherwise about the call"),
        DecideError::Journal(error) => {
            tracing::warn!(%error, "a decision about a call of an A2A task cannot be recorded");
            Refusal::Internal
        }
        _ => Refusal::Unsupported("the call takes no decision any more"),
    }
}
