//! Starts calls: records the intents of those that may run, and runs their tools.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use attache_core::tool::Asking;
use attache_core::{Effect, ToolCall, ToolContext, ToolResult};

use crate::driver::Driver;
use crate::driver::approval::Admission;
use crate::driver::calls::finished_event;
use crate::driver::delivered::tell;
use crate::driver::interrupt::Interrupt;
use crate::driver::stop::Stop;
use crate::driver::wait::{Answer, Answered, StartedCalls};
use crate::event::EventKind;
use crate::hooks::Hooks;
use crate::log::{Begun, Disposition, Entry, EntryKind, Key, ToolOutcome};
use crate::nested::PEOPLE;
use crate::observe::{ToolCallEnd, Watching};
use crate::run::{PendingCall, told_of_change, unknown_outcome};
use crate::session::SessionId;
use crate::tool_time::LONGEST;
use crate::tools::{Invocation, Ready, Work, invoke, is_ours};

/// The things that are done with the result of a call whose agent has hooks, or whose arguments somebody changed.
struct After {
    hooks: Option<Arc<Hooks>>,
    call: ToolCall,
    /// True if a hook that fails refuses.
    closed: bool,
    is_changed: bool,
}

impl After {
    async fn of(self, mut result: ToolResult) -> ToolResult {
        if let Some(hooks) = &self.hooks {
            result = hooks.result(&self.call, result, self.closed).await;
        }
        match self.is_changed {
            true => told_of_change(result, &self.call.arguments),
            false => result,
        }
    }
}

/// Runs the tool. The invocation stays in its place: an argument of an `async fn` has room twice.
fn execute(mut invocation: Invocation, after: Option<Box<After>>) -> impl Future<Output = Answered> + Send {
    let scope = invocation.scope.clone();
    let watching = Watching::new(invocation.watched.as_ref());
    let documents = invocation.context.documents.clone();
    async move {
        let mut outcome = match invoke(&mut invocation).await {
            Ok(outcome) => outcome,
            Err(deferred) => {
                watching.end(&ToolCallEnd::Deferred);
                return Answered::Deferred(invocation.call.id.clone(), deferred);
            }
        };
        // Another document under a known id is another document.
        outcome.result = outcome.result.apart_from(|id| documents.get(id));
        let superseded = scope.as_ref().is_some_and(|scope| scope.was_superseded());
        // A word about a run that somebody else goes on with ends nothing.
        let aborts = outcome.disposition == Disposition::Aborted && !superseded;
        // A run inside that waits or broke off has no result yet: there is nothing to look at.
        let is_result = aborts
            || superseded
            || scope.as_ref().is_none_or(|scope| !scope.was_broken_off() && !scope.was_paused());
        if let Some(after) = after.filter(|_| is_result) {
            outcome.result = Box::pin(after.of(outcome.result)).await;
        }
        if aborts {
            watching.end(&ToolCallEnd::Result(&outcome));
            return Answered::Aborted(outcome);
        }
        let answered = match scope {
            Some(scope) if !is_result && scope.was_broken_off() => Answered::BrokenOff,
            Some(_) if !is_result => Answered::Paused,
            _ => Answered::Done(outcome, !superseded),
        };
        watching.end(&match &answered {
            Answered::Done(outcome, true) => ToolCallEnd::Result(outcome),
            _ => ToolCallEnd::Paused,
        });
        answered
    }
}

/// The outcome of a call for which no time is left. One that was begun before may have done its work.
fn out_of_time(pending: &PendingCall) -> ToolOutcome {
    let PendingCall { call, begun, .. } = pending;
    match begun {
        Some(_) => unknown_outcome(call),
        None => {
            let text = "not executed: the time of this run is almost up";
            ToolOutcome::not_made(call, text, Disposition::TimedOut)
        }
    }
}

impl Driver {
    /// Starts calls: those that cannot run are answered, the intents of the others are recorded, and they run. Where
    /// `only_asks`, questions about them are recorded, and nothing else.
    pub(super) async fn start_calls(
        &mut self,
        interrupt: &mut Interrupt,
        batch: Vec<PendingCall>,
        only_asks: bool,
    ) -> Result<StartedCalls, Stop> {
        if !self.setup.handling.fallback.is_empty() {
            interrupt.attempt(Box::pin(self.fall_back(&batch))).await?;
        }
        let mut events = Vec::new();
        let batch = match self.setup.hooks.is_empty() {
            true => batch,
            false => {
                let (made, told, tripped) = Box::pin(self.hook_calls(interrupt, batch)).await?;
                events = told;
                if let Some(outcome) = tripped {
                    return Ok(StartedCalls::over(outcome, events));
                }
                made
            }
        };
        let mut entries = Vec::new();
        let mut running = Vec::with_capacity(batch.len());
        let mut announced = Vec::new();
        for pending in batch {
            let mut judged = self.judge(&pending);
            let barred = match &judged {
                Ok(Ready { spec, work: Work::Family(door) }) => {
                    interrupt.guard(Box::pin(self.gone_or_changed(spec, door))).await
                }
                _ => Ok(None),
            };
            let barred = barred.map_err(|interrupted| Stop::Interrupted(interrupted, String::new()))?;
            if let Some(text) = barred {
                judged = Err(Box::new(self.refusal_of(&pending, text)));
            } else if self.is_gated(&pending, &judged) {
                match interrupt.attempt(Box::pin(self.admit(&pending, judged))).await? {
                    Admission::Judged(admitted) => judged = *admitted,
                    Admission::Asks(asked) => {
                        let key = self.run.asks_at(&pending.call.id);
                        entries.push(Entry::new(key, EntryKind::Asked(*asked)));
                        continue;
                    }
                    Admission::Waits => continue,
                }
            }
            match judged {
                _ if only_asks => {}
                Err(outcome) => {
                    let outcome = self.refused(&pending, *outcome);
                    if outcome.disposition == Disposition::Aborted {
                        return Ok(StartedCalls::over(outcome, events));
                    }
                    entries.extend(self.in_place_of_delivered(&outcome));
                    entries.push(Entry::new(pending.key, EntryKind::ToolOutcome(outcome)));
                }
                Ok(Ready { work: Work::External, .. }) => {
                    entries.extend(self.lets_through(&pending));
                    announced.push(pending);
                }
                Ok(_) if self.time_for_tools(interrupt).is_some_and(|left| left.is_zero()) => {
                    let outcome = out_of_time(&pending);
                    entries.push(Entry::new(pending.key, EntryKind::ToolOutcome(outcome)));
                }
                Ok(entry) => {
                    let effect = entry.spec.metadata.effect;
                    if effect != Effect::Read && pending.begun.is_none() {
                        let id = &pending.call.id;
                        entries.push(Entry::new(
                            Key::begun(id),
                            EntryKind::Begun(Begun::new(id.clone(), effect)),
                        ));
                    }
                    running.push((pending, entry));
                }
            }
        }
        if !entries.is_empty() {
            interrupt.check().await?;
            let again = (!self.recorder.place().is_volatile()).then(|| entries.clone());
            let recorded = interrupt.attempt(pin!(self.record_all(entries))).await;
            if let (Err(Stop::Interrupted(..)), Some(entries)) = (&recorded, again) {
                self.note_unstarted(entries, &running);
            }
            let mut recorded = recorded?;
            tell(&mut recorded);
            events.extend(recorded.iter().filter_map(finished_event));
        }
        self.control.expect(announced.iter().cloned());
        events.extend(announced.into_iter().map(|pending| EventKind::ExternalPending { call: pending.call }));
        let mut answers: Vec<Answer> = Vec::with_capacity(running.len());
        events.reserve_exact(running.len());
        for (PendingCall { key, call, .. }, entry) in running {
            let metadata = &entry.spec.metadata;
            let effect = metadata.effect;
            let usual = if metadata.nests { LONGEST } else { self.setup.timing.tool_timeout };
            let own = entry.spec.metadata.timeout.unwrap_or(usual);
            let left = self.time_for_tools(interrupt);
            let limit = left.map_or(own, |left| own.min(left)).min(LONGEST);
            // The driver reads in results of its own tools which others were shown.
            let is_looked_at = !self.setup.hooks.is_empty() && !is_ours(&entry.spec);
            let watched = self.control.watched();
            let watched = watched.and_then(|watched| watched.tool(&call, &entry.spec, self.run.steps()));
            let invocation = Invocation {
                watched,
                scope: self.scope_of(&call, &entry.spec, own, left),
                entry,
                context: self.context(&key, &call),
                call: call.clone(),
                limit,
                pace: self.pace.clone(),
                handling: Arc::clone(&self.setup.handling),
            };
            let is_changed = self.run.is_changed(&call.id) || self.run.is_rewritten(&call.id);
            let after = (is_changed || is_looked_at).then(|| {
                let hooks = is_looked_at.then(|| Arc::clone(&self.setup.hooks));
                Box::new(After { hooks, call: call.clone(), closed: effect != Effect::Read, is_changed })
            });
            answers.push(Box::pin(execute(invocation, after)));
            events.push(EventKind::ToolStarted { call });
        }
        Ok(StartedCalls { answers, events, is_over: false })
    }

    /// Notes entries of which nobody knows whether they are in the log, and that the calls with new intents among them did
    /// not run.
    fn note_unstarted(&mut self, entries: Vec<Entry>, calls: &[(PendingCall, Ready)]) {
        let intents: Vec<Key> = entries.iter().map(|entry| entry.key.clone()).collect();
        self.unconfirmed.extend(entries);
        for (PendingCall { key, call, .. }, _) in calls {
            if intents.contains(&Key::begun(&call.id)) {
                let outcome = EntryKind::ToolOutcome(self.run.interrupted_call(call));
                self.unconfirmed.push(Entry::new(key.clone(), outcome));
            }
        }
    }

    /// The time that tools have, if the run has a deadline: behind them there is some left for a last answer, unless the run
    /// ends with them.
    fn time_for_tools(&self, interrupt: &Interrupt) -> Option<Duration> {
        let left = interrupt.left()?;
        Some(match self.run.is_landing() {
            true => left,
            false => left.saturating_sub(self.landing_room()),
        })
    }

    fn context(&mut self, key: &Key, call: &ToolCall) -> ToolContext {
        let mut context = ToolContext::new();
        context.run_id = Some(self.run.id().to_owned());
        context.call_id = Some(call.id.clone());
        context.step = self.run.steps();
        context.principal.clone_from(&self.setup.principal);
        context.idempotency_key = Some([self.run.base(), "/", key.as_str()].concat());
        context.session = self.extensions.get::<SessionId>().map(SessionId::to_string);
        context.store_id = Some(self.setup.store.id().to_owned());
        context.documents = self.library.documents();
        context.extensions = self.extensions.clone();
        context.run_values = self.run_values.clone();
        context.asking = Asking::of(PEOPLE);
        context.listening = self.heard.get_or_insert_default().of(&call.id);
        context
    }
}
