//! Holds calls up until somebody approves them.

use std::collections::VecDeque;
use std::time::Duration;

use attache_core::{Approval, ToolCall, ToolCallId, fresh};
use futures_util::stream::FuturesUnordered;

use crate::approval::is_expired;
use crate::approval::{Ask, Verdict, judged};
use crate::driver::Driver;
use crate::driver::interrupt::Interrupt;
use crate::driver::open::time;
use crate::driver::stop::{Fault, Stop};
use crate::driver::wait::{Answered, Gate, StartedCalls, wait_decision};
use crate::event::EventKind;
use crate::journal::now;
use crate::log::{Asked, Decided, Decision, Disposition, Entry, EntryKind, Key, ToolOutcome};
use crate::run::{Action, PendingCall, Run};
use crate::tools::{Ready, Work};

/// A call that is ready to run, or its outcome without a run.
type Judged = Result<Ready, Box<ToolOutcome>>;

/// The admission of a call about which somebody may be asked.
pub(super) enum Admission {
    /// It runs, or has its result.
    Judged(Box<Judged>),
    /// Somebody has to be asked.
    Asks(Box<Asked>),
    /// Somebody was asked.
    Waits,
}

impl From<Judged> for Admission {
    fn from(judged: Judged) -> Self {
        Self::Judged(Box::new(judged))
    }
}

/// True if the caller answers a call that may be made.
fn is_external(judged: &Judged) -> bool {
    matches!(judged, Ok(Ready { work: Work::External, .. }))
}

impl Driver {
    /// True if each call is looked at before anything of it begins, also where the caller answers it.
    pub(super) fn looks_at_calls(&self) -> bool {
        self.setup.approval.is_some() || !self.setup.hooks.is_empty() || self.setup.handling.hold_all
    }

    /// Asks about all calls that wait, where none may run before somebody has decided about all: those that nobody
    /// needs to be asked about go on waiting.
    pub(super) async fn ask_all(
        &mut self,
        interrupt: &mut Interrupt,
        waiting: &mut VecDeque<PendingCall>,
        begun: &[ToolCallId],
    ) -> Result<StartedCalls, Stop> {
        let all = waiting.iter().cloned().collect();
        let started = Box::pin(self.start_calls(interrupt, all, true)).await?;
        self.look_again(waiting, begun);
        Ok(started)
    }

    /// True if somebody may have to be asked about a call. One that was begun had its approval.
    pub(super) fn is_gated(&self, pending: &PendingCall, judged: &Judged) -> bool {
        let asks = |ready: &Ready| ready.spec.metadata.approval != Approval::Never;
        pending.begun.is_none()
            && (self.run.is_held() || self.setup.approval.is_some() || judged.as_ref().is_ok_and(asks))
    }

    /// Says what becomes of a call, with what was asked and decided about it.
    pub(super) async fn admit(&mut self, pending: &PendingCall, judged: Judged) -> Result<Admission, Fault> {
        let call = &pending.call;
        let Some(question) = self.run.question(&call.id) else {
            let ready = match judged {
                Ok(ready) => ready,
                refused => return Ok(refused.into()),
            };
            return Ok(match self.verdict(call, &ready, None).await {
                Verdict::Run => Ok(ready).into(),
                Verdict::Deny(text) => Err(denied(call, &text)).into(),
                Verdict::Ask(ask) if !ask.each_time && self.is_granted(&ready) => Ok(ready).into(),
                Verdict::Ask(ask) => Admission::Asks(Box::new(self.asks(call, &ready, ask))),
            });
        };
        let asked = question.asked.clone();
        let decided = match &question.decided {
            Some(decided) => decided.clone(),
            None if !is_expired(&asked) => return Ok(Admission::Waits),
            None => self.close_approval(&asked.id).await?,
        };
        if let Some(refused) = refused(call, &asked, &decided, is_external(&judged)) {
            return Ok(Err(refused).into());
        }
        let proposed = self.run.proposed(&call.id).cloned().unwrap_or_else(|| call.clone());
        let anew = match judged {
            Err(unfit) => format!("the changed arguments do not fit: {}", unfit.result.tree.model_text()),
            Ok(ready)
                if ready.spec.digest() == asked.tool
                    && proposed.arguments.digest() == asked.arguments
                    && !self.run.is_edit_rewritten(&call.id) =>
            {
                return Ok(match self.verdict(call, &ready, decided.by.as_deref()).await {
                    Verdict::Deny(text) => Err(denied(call, &text)).into(),
                    Verdict::Run | Verdict::Ask(_) => Ok(ready).into(),
                });
            }
            Ok(ready) if ready.spec.digest() == asked.tool && self.run.is_edit_rewritten(&call.id) => {
                "a check changed the arguments".to_owned()
            }
            Ok(_) => "the tool is another one than was approved".to_owned(),
        };
        let again = PendingCall { call: proposed, ..pending.clone() };
        Ok(match self.judge(&again) {
            Ok(ready) => {
                let lifetime = Duration::from_millis(asked.expires_at.saturating_sub(now()));
                let ask = Ask::because(anew).with_lifetime(lifetime);
                Admission::Asks(Box::new(self.asks(&again.call, &ready, ask)))
            }
            refused => refused.into(),
        })
    }

    async fn verdict(&self, call: &ToolCall, ready: &Ready, approved_by: Option<&str>) -> Verdict {
        let (policy, principal) = (self.setup.approval.as_deref(), self.setup.principal.as_deref());
        judged(policy, call, ready, self.run.id(), principal, approved_by).await
    }

    fn asks(&self, call: &ToolCall, ready: &Ready, ask: Ask) -> Asked {
        let lifetime = u64::try_from(ask.lifetime.as_millis()).unwrap_or(u64::MAX);
        Asked {
            id: fresh::uuid().to_string(),
            call_id: call.id.clone(),
            arguments: call.arguments.digest(),
            tool: ready.spec.digest(),
            principal: self.setup.principal.clone(),
            reason: ask.reason,
            expires_at: now().saturating_add(lifetime),
        }
    }

    /// True if somebody gave leave for calls of the tool.
    fn is_granted(&self, ready: &Ready) -> bool {
        let grants = self.run.grants();
        !grants.is_empty() && {
            let (name, digest) = (ready.spec.definition.name(), ready.spec.digest());
            grants.iter().any(|grant| {
                grant.tool == name && grant.digest == digest && grant.principal == self.setup.principal
            })
        }
    }

    /// Waits for the decisions that nobody waits for yet, and announces the questions.
    pub(super) fn watch(&self, gate: &mut Option<Box<Gate>>) -> Vec<EventKind> {
        let mut events = Vec::new();
        for request in self.run.approvals() {
            let gate = gate.get_or_insert_with(|| Box::new(self.gate()));
            if gate.asked.contains(&request.id) {
                continue;
            }
            gate.asked.push(request.id.clone());
            let place = self.recorder.place().clone();
            gate.waits.push(wait_decision(place, request.id.clone(), time(request.expires_at)));
            events.push(EventKind::ApprovalRequested(Box::new(request)));
        }
        self.control.expect_decisions(self.run.open_questions());
        self.watch_deferred(gate, &mut events);
        events
    }

    pub(super) fn gate(&self) -> Gate {
        let patience = u64::try_from(self.setup.timing.patience.as_millis()).unwrap_or(u64::MAX);
        let left = self.run.asked_at().saturating_add(patience).saturating_sub(now());
        let patience = Box::pin(tokio::time::sleep(Duration::from_millis(left)));
        let time = self.scope.as_ref().and_then(|scope| scope.time().cloned());
        Gate { waits: FuturesUnordered::new(), patience, asked: Vec::new(), time, waits_alone: false }
    }

    /// Takes the decisions into the log that somebody left and nobody took yet.
    pub(super) async fn take_decisions(&mut self) -> Result<Vec<EventKind>, Fault> {
        let open: Vec<String> = self.run.open_questions().map(|asked| asked.id.clone()).collect();
        let mut events = Vec::new();
        for approval in open {
            let (key, place) = (Key::decided(&approval), self.recorder.place().clone());
            let decided = match place.wait(&key, Some(fresh::now())).await? {
                Some(entry) => self.settle_approval(&approval, entry.kind).await?,
                None if self.run.open_questions().any(|asked| asked.id == approval && is_expired(asked)) => {
                    self.close_approval(&approval).await?
                }
                None => continue,
            };
            events.push(EventKind::ApprovalDecided(Box::new(decided)));
        }
        Ok(events)
    }

    /// Settles an approval about which nobody decides any more. A decision that came before stands.
    pub(super) async fn close_approval(&mut self, approval: &str) -> Result<Decided, Fault> {
        self.settle_approval(approval, undecided(approval)).await
    }

    async fn settle_approval(&mut self, approval: &str, kind: EntryKind) -> Result<Decided, Fault> {
        match self.record(Key::decided(approval), kind).await?.kind {
            EntryKind::Decided(decided) => Ok(decided),
            _ => Ok(nobody(approval)),
        }
    }

    /// The calls without a result.
    pub(super) fn open_calls(&self) -> Vec<PendingCall> {
        match self.run.next() {
            Action::AnswerCalls { calls } => calls,
            _ => Vec::new(),
        }
    }

    /// Takes the calls that wait for their turn as they are now, each once: without those that have a result, were begun
    /// in this round, or whose results come later.
    pub(super) fn look_again(&self, waiting: &mut VecDeque<PendingCall>, begun: &[ToolCallId]) {
        if waiting.is_empty() {
            return;
        }
        let mut open = self.open_calls();
        open.retain(|pending| {
            !begun.contains(&pending.call.id) && self.run.deferred_call(&pending.call.id).is_none()
        });
        let again = |pending: PendingCall| {
            let place = open.iter().position(|open| open.call.id == pending.call.id)?;
            Some(open.swap_remove(place))
        };
        *waiting = std::mem::take(waiting).into_iter().filter_map(again).collect();
    }

    /// True if the log says already what came of a wait.
    pub(super) fn is_settled(&self, answered: &Answered) -> bool {
        let is_decided = |approval: &str| self.run.open_questions().all(|asked| asked.id != *approval);
        match answered {
            Answered::Delivered(entry, _) => match &entry.kind {
                EntryKind::Decided(decided) => is_decided(&decided.id),
                EntryKind::ToolOutcome(outcome) => !self.run.is_open(&outcome.call_id),
                _ => false,
            },
            Answered::Undecided(approval) => is_decided(approval),
            Answered::Overdue(call) => !self.run.is_open(call),
            _ => false,
        }
    }

    /// The calls without a result about which somebody has decided.
    pub(super) fn decided_calls(&self) -> impl Iterator<Item = PendingCall> {
        let decided = |pending: &PendingCall| {
            self.run.question(&pending.call.id).is_some_and(|question| question.decided.is_some())
        };
        self.open_calls().into_iter().filter(decided)
    }

    /// The call of an approval, as it was decided.
    pub(super) fn decided_call(&self, approval: &str) -> Option<PendingCall> {
        let is_its = |pending: &PendingCall| {
            self.run.question(&pending.call.id).is_some_and(|question| question.asked.id == approval)
        };
        self.open_calls().into_iter().find(is_its)
    }
}

/// The outcome of a call that does not run, by what was decided about it and when.
fn refused(call: &ToolCall, asked: &Asked, decided: &Decided, is_external: bool) -> Option<Box<ToolOutcome>> {
    match &decided.decision {
        None => Some(denied(call, "nobody decided in time")),
        Some(Decision::Deny(text)) => Some(denied(call, text)),
        // The caller was told of its call when it was approved, and may be at work.
        Some(_) if is_expired(asked) && !is_external => {
            Some(denied(call, "its approval expired before it was run"))
        }
        Some(Decision::Approve | Decision::ApproveAlways | Decision::Edit(_)) => None,
    }
}

/// The end of an approval whose time is up while nobody drives its run, by the decision that was left for it, if one was.
pub(crate) fn expired(run: &Run, asked: &Asked, left: Option<EntryKind>) -> Vec<Entry> {
    let kind = left.unwrap_or_else(|| undecided(&asked.id));
    let outcome = match (&kind, run.proposed(&asked.call_id)) {
        (EntryKind::Decided(decided), Some(call)) => {
            refused(call, asked, decided, run.is_external(&call.name))
        }
        _ => None,
    };
    let result =
        outcome.map(|outcome| Entry::new(Key::result(&asked.call_id), EntryKind::ToolOutcome(*outcome)));
    [Entry::new(Key::decided(&asked.id), kind)].into_iter().chain(result).collect()
}

/// The end of an approval without a decision.
pub(super) fn undecided(approval: &str) -> EntryKind {
    EntryKind::Decided(nobody(approval))
}

fn nobody(approval: &str) -> Decided {
    Decided { id: approval.to_owned(), decision: None, by: None }
}

/// The outcome of a call to which somebody said no.
pub(crate) fn denied(call: &ToolCall, text: &str) -> Box<ToolOutcome> {
    let text = match text.trim() {
        "" => "not executed: the call was denied".to_owned(),
        text => format!("not executed: {text}"),
    };
    Box::new(ToolOutcome::not_made(call, &text, Disposition::Denied))
}
