//! Has calls answered: runs their tools side by side, or waits for the caller.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;

use async_stream::stream;
use attache_core::{Arguments, Effect, StoreError, StoreErrorKind, ToolCallId, ToolContext, ToolResult};
use futures_core::Stream;
use futures_util::stream::FuturesUnordered;

use crate::driver::Driver;
use crate::driver::gate::Admission;
use crate::driver::interrupt::Interrupt;
use crate::driver::record::Recording;
use crate::driver::stop::{Fault, Stop};
use crate::driver::wait::{Answer, Answered, Gate, Started, next_answer};
use crate::event::{Event, EventKind};
use crate::hooks::Hooks;
use crate::journal::JournalError;
use crate::log::{Begun, Disposition, Entry, EntryKind, Key, ToolOutcome};
use crate::observe::{ToolCallEnd, Watching};
use crate::output::ANSWERED;
use crate::pace::LONGEST;
use crate::run::{Action, PendingCall, told_of_change, unknown_outcome};
use crate::tools::{Invocation, Ready, Resolved, Work, invoke, is_ours};

/// The events of one round of calls; at most one `Err`, which comes last.
pub(super) fn answer<'a>(
    driver: &'a mut Driver,
    interrupt: &'a mut Interrupt,
    calls: Vec<PendingCall>,
) -> impl Stream<Item = Result<Event, Stop>> + Send + 'a {
    stream! {
        let _watch = driver.pace.watch();
        let calls = if driver.run.is_held() {
            // Somebody may have decided while nobody drove the run.
            match interrupt.attempt(Box::pin(driver.take_left())).await {
                Ok(events) => {
                    for kind in events {
                        yield Ok(driver.event(kind));
                    }
                    driver.open_calls()
                }
                Err(stop) => {
                    yield Err(stop);
                    return;
                }
            }
        } else {
            calls
        };
        let round = driver.run.round_len();
        // What the calls of this round return is no part of it: the model made them side by side.
        driver.library.catch_up(&driver.run);
        let mut under_way: FuturesUnordered<Answer> = FuturesUnordered::new();
        let mut recording = Recording::default();
        let (external, mut waiting): (Vec<_>, VecDeque<_>) = driver.split(calls);
        driver.control.expect(external.iter().cloned());
        for PendingCall { call, .. } in external {
            under_way.push(driver.wait_for_caller(&call));
            yield Ok(driver.event(EventKind::ExternalPending { call }));
        }
        let mut gate: Option<Box<Gate>> = None;
        if driver.run.is_held() {
            for kind in driver.watch(&mut gate) {
                yield Ok(driver.event(kind));
            }
        }
        // The calls that were started since somebody was asked about calls of the round: none is started again.
        let mut begun: Vec<ToolCallId> = Vec::new();
        let mut inside = 0_usize;
        let mut alone = false;
        let mut late = false;
        let mut fault: Option<Fault> = None;
        let mut stopped: Option<Stop> = None;
        while stopped.is_none() {
            if fault.is_some() {
                // The drive is over. Tools that run come to their end first: nobody else has their results.
                waiting.clear();
                if inside == 0 {
                    break;
                }
            }
            // Start what may start: up to the limit side by side, a sequential call only by itself.
            let mut batch = Vec::new();
            if driver.run.is_held() {
                driver.look_again(&mut waiting, &begun);
            }
            let holds = driver.setup.handling.hold_all && !waiting.is_empty();
            if holds && driver.run.open_questions().next().is_none() {
                let asked = {
                    let asking = Box::pin(driver.ask_all(interrupt, &mut waiting, &begun));
                    recording.beside(pin!(asking)).await
                };
                let Some(Started { answers, events, is_over }) = noted(asked, &mut fault, &mut stopped) else { continue };
                inside += answers.len();
                under_way.extend(answers);
                if is_over {
                    waiting.clear();
                }
                for kind in events {
                    yield Ok(driver.event(kind));
                }
                for kind in driver.watch(&mut gate) {
                    yield Ok(driver.event(kind));
                }
            }
            let is_free = !(holds && driver.run.open_questions().next().is_some());
            while let Some(pending) = waiting.front().filter(|_| is_free && !driver.control.is_interrupting()) {
                let busy = inside + batch.len();
                let sequential = driver.is_sequential(pending);
                if alone || busy >= driver.setup.timing.parallel_calls || (sequential && busy > 0) {
                    break;
                }
                alone = sequential;
                batch.extend(waiting.pop_front());
            }
            if !batch.is_empty() {
                let started = {
                    let starting = pin!(driver.start_calls(interrupt, batch, false));
                    recording.beside(starting).await
                };
                let Some(started) = noted(started, &mut fault, &mut stopped) else { continue };
                let Started { answers, events, is_over } = started;
                if is_over {
                    waiting.clear();
                }
                inside += answers.len();
                alone = alone && !answers.is_empty();
                under_way.extend(answers);
                if driver.run.is_held() {
                    begun.extend(events.iter().filter_map(started_call));
                }
                for kind in events {
                    if let EventKind::ExternalPending { call } = &kind {
                        under_way.push(driver.wait_for_caller(call));
                    }
                    yield Ok(driver.event(kind));
                }
                if driver.run.is_held() {
                    for kind in driver.watch(&mut gate) {
                        yield Ok(driver.event(kind));
                    }
                }
                // A call that was answered at once makes room for the next.
                if inside < driver.setup.timing.parallel_calls && !alone && !waiting.is_empty() {
                    continue;
                }
            }
            let control = &driver.control;
            let next = next_answer(&mut driver.inside, &mut under_way, &mut recording, control, gate.as_deref_mut());
            let answered = match interrupt.guard(next).await {
                Ok(None) if gate.is_none() || fault.is_some() => break,
                // Nothing else is left to do. Items left in a journal may not have been noticed.
                Ok(None) => {
                    let left = interrupt.attempt(Box::pin(driver.take_left())).await;
                    let Some(events) = noted(left, &mut fault, &mut stopped) else { continue };
                    if events.is_empty() {
                        break;
                    }
                    for kind in events {
                        yield Ok(driver.event(kind));
                    }
                    waiting.extend(driver.decided_calls());
                    continue;
                }
                // It was taken when the run looked for what was left.
                Ok(Some(answered)) if driver.is_settled(&answered) => continue,
                Ok(Some(answered)) => answered,
                Err(interrupted) => {
                    stopped = Some(Stop::Interrupted(interrupted, String::new()));
                    break;
                }
            };
            match answered {
                Answered::Done(outcome, is_result) => driver.keep(outcome, is_result, &mut recording),
                Answered::Ran(ran) => {
                    inside = inside.saturating_sub(1);
                    alone = false;
                    let (events, failed) = driver.take_result(*ran);
                    for kind in events {
                        yield Ok(driver.event(kind));
                    }
                    fault = fault.or(failed);
                }
                Answered::Delivered(entry, verdict) => {
                    let recorded = {
                        let mut record = Box::pin(interrupt.attempt(driver.take_in(*entry, verdict)));
                        recording.beside(record.as_mut()).await
                    };
                    let Some(entry) = noted(recorded, &mut fault, &mut stopped) else { continue };
                    if let EntryKind::Decided(decided) = &entry.kind {
                        waiting.extend(driver.decided_call(&decided.id));
                    }
                    if let Some(kind) = finished_event(&entry) {
                        yield Ok(driver.event(kind));
                    }
                }
                Answered::Deferred(call, deferred) => {
                    inside = inside.saturating_sub(1);
                    alone = false;
                    let recorded = interrupt.complete(Box::pin(driver.defer(call, *deferred))).await;
                    if noted(recorded, &mut fault, &mut stopped).is_some() {
                        for kind in driver.watch(&mut gate) {
                            yield Ok(driver.event(kind));
                        }
                    }
                }
                // Whatever the clock says: the time for it is up.
                Answered::Overdue(call) => {
                    let closed = interrupt.attempt(Box::pin(driver.close_deferred(&call))).await;
                    if let Some(kind) = noted(closed, &mut fault, &mut stopped).flatten() {
                        yield Ok(driver.event(kind));
                    }
                }
                Answered::Interrupted => {
                    for kind in Box::pin(driver.stop_tools(&mut under_way, &mut recording, interrupt)).await {
                        yield Ok(driver.event(kind));
                    }
                    let recorded = interrupt.complete(Box::pin(driver.interrupt_calls())).await;
                    for kind in noted(recorded, &mut fault, &mut stopped).into_iter().flatten() {
                        yield Ok(driver.event(kind));
                    }
                    gate = None;
                    break;
                }
                Answered::Undecided(approval) => {
                    let closed = interrupt.attempt(Box::pin(driver.close_approval(&approval))).await;
                    let Some(decided) = noted(closed, &mut fault, &mut stopped) else { continue };
                    waiting.extend(driver.decided_call(&approval));
                    yield Ok(driver.event(EventKind::ApprovalDecided(Box::new(decided))));
                }
                Answered::Inside(kind) => yield Ok(driver.event(*kind)),
                Answered::Paused => {
                    inside = inside.saturating_sub(1);
                    alone = false;
                    late = true;
                }
                Answered::BrokenOff => {
                    inside = inside.saturating_sub(1);
                    alone = false;
                    let text = "a run inside a tool could not go on";
                    let error = StoreError::new(StoreErrorKind::Unavailable, text);
                    fault = fault.or(Some(JournalError::from(error).into()));
                }
                // The caller's time is up. Our own tools come to their end.
                Answered::Late => late = true,
                // The run ends now: the other tools are stopped, and nobody waits for the caller any more.
                Answered::Aborted(outcome) => {
                    for kind in Box::pin(driver.stop_tools(&mut under_way, &mut recording, interrupt)).await {
                        yield Ok(driver.event(kind));
                    }
                    match interrupt.complete(Box::pin(driver.abort(outcome))).await {
                        Ok((events, failed)) => {
                            for kind in events {
                                yield Ok(driver.event(kind));
                            }
                            fault = fault.or(failed);
                        }
                        Err(stop) => stopped = Some(stop),
                    }
                    break;
                }
                Answered::Failed(failed) => fault = fault.or(Some(failed)),
            }
        }
        if let Some(stop) = stopped {
            for kind in Box::pin(driver.stop_tools(&mut under_way, &mut recording, interrupt)).await {
                yield Ok(driver.event(kind));
            }
            yield Err(stop);
            return;
        }
        if let Some(fault) = fault {
            yield Err(fault.into());
            return;
        }
        if late || gate.is_some() {
            // The caller may have delivered after its time, while our tools still ran.
            match interrupt.attempt(Box::pin(driver.take_delivered())).await {
                Ok(events) => {
                    for event in events {
                        yield Ok(driver.event(event));
                    }
                }
                Err(stop) => {
                    yield Err(stop);
                    return;
                }
            }
            if matches!(driver.run.next(), Action::AnswerCalls { .. }) {
                yield Err(Stop::Pending(driver.waits_for()));
                return;
            }
        }
        driver.control.settled();
        yield Ok(driver.event(EventKind::ToolResultsReceived { count: round }));
    }
}

/// The value, unless the work failed: a fault lets the tools come to their end, anything else stops them.
fn noted<T>(done: Result<T, Stop>, fault: &mut Option<Fault>, stopped: &mut Option<Stop>) -> Option<T> {
    match done {
        Ok(done) => return Some(done),
        Err(Stop::Fault(failed, _)) => {
            fault.get_or_insert(failed);
        }
        Err(stop) => *stopped = Some(stop),
    }
    None
}

/// Runs the tool, perhaps with arguments that a person changed.
async fn execute(invocation: Invocation, changed: Option<Arguments>, hooks: Option<Arc<Hooks>>) -> Answered {
    // The driver reads in results of its own tools which others were shown.
    let looked_at = hooks.filter(|_| !is_ours(&invocation.entry.spec)).map(|hooks| {
        let closed = invocation.entry.spec.metadata.effect != Effect::Read;
        (hooks, invocation.call.clone(), closed)
    });
    let scope = invocation.scope.clone();
    let watching = Watching::new(invocation.watched.as_ref());
    let documents = invocation.context.documents.clone();
    let call_id = invocation.call.id.clone();
    let mut outcome = match invoke(invocation).await {
        Ok(outcome) => outcome,
        Err(deferred) => {
            watching.end(&ToolCallEnd::Deferred);
            return Answered::Deferred(call_id, deferred);
        }
    };
    // Another document under a known id is another document.
    outcome.result = outcome.result.apart_from(|id| documents.get(id));
    if let Some((hooks, call, closed)) = looked_at {
        outcome.result = Box::pin(hooks.result(&call, outcome.result, closed)).await;
    }
    if let Some(arguments) = changed {
        outcome.result = told_of_change(outcome.result, &arguments);
    }
    if outcome.disposition == Disposition::Aborted {
        watching.end(&ToolCallEnd::Result(&outcome));
        return Answered::Aborted(outcome);
    }
    let superseded = scope.as_ref().is_some_and(|scope| scope.was_superseded());
    let answered = match scope {
        Some(scope) if scope.was_broken_off() && !superseded => Answered::BrokenOff,
        Some(scope) if scope.was_paused() && !superseded => Answered::Paused,
        _ => Answered::Done(outcome, !superseded),
    };
    watching.end(&match &answered {
        Answered::Done(outcome, true) => ToolCallEnd::Result(outcome),
        _ => ToolCallEnd::Paused,
    });
    answered
}

/// The call that an event says to be started.
fn started_call(kind: &EventKind) -> Option<ToolCallId> {
    match kind {
        EventKind::ToolStarted { call } | EventKind::ExternalPending { call } => Some(call.id.clone()),
        _ => None,
    }
}

pub(super) fn finished_event(entry: &Entry) -> Option<EventKind> {
    match &entry.kind {
        EntryKind::ToolOutcome(outcome) => Some(EventKind::ToolFinished {
            result: Box::new(outcome.result.clone()),
            disposition: outcome.disposition,
        }),
        EntryKind::Decided(decided) => Some(EventKind::ApprovalDecided(Box::new(decided.clone()))),
        _ => None,
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
    ) -> Result<Started, Stop> {
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
                    return Ok(Started::over(outcome, events));
                }
                made
            }
        };
        let mut entries = Vec::new();
        let mut running = Vec::new();
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
                        return Ok(Started::over(outcome, events));
                    }
                    entries.push(Entry::new(pending.key, EntryKind::ToolOutcome(outcome)));
                }
                Ok(Ready { work: Work::External, .. }) => announced.push(pending),
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
            let recorded = interrupt.attempt(self.record_all(entries)).await?;
            events.extend(recorded.iter().filter_map(finished_event));
        }
        self.control.expect(announced.iter().cloned());
        events.extend(announced.into_iter().map(|pending| EventKind::ExternalPending { call: pending.call }));
        let mut answers: Vec<Answer> = Vec::with_capacity(running.len());
        for (PendingCall { key, call, .. }, entry) in running {
            let nests = entry.spec.metadata.nests;
            let usual = if nests { LONGEST } else { self.setup.timing.tool_timeout };
            let own = entry.spec.metadata.timeout.unwrap_or(usual);
            // There is time left for a last answer behind the tools.
            let left = interrupt.left().map(|left| left.saturating_sub(self.run.landing_room()));
            let limit = left.map_or(own, |left| own.min(left)).min(LONGEST);
            let watched = self.control.watched();
            let watched = watched.and_then(|watched| watched.tool(&call, &entry.spec, self.run.steps()));
            let invocation = Invocation {
                watched,
                scope: self.scope_of(&call, nests, limit),
                entry,
                context: self.context(&key, &call),
                call: call.clone(),
                limit,
                pace: self.pace.clone(),
                handling: Arc::clone(&self.setup.handling),
            };
            let is_changed = self.run.is_changed(&call.id) || self.run.is_rewritten(&call.id);
            let changed = is_changed.then(|| call.arguments.clone());
            let hooks = (!self.setup.hooks.is_empty()).then(|| Arc::clone(&self.setup.hooks));
            answers.push(Box::pin(execute(invocation, changed, hooks)));
            events.push(EventKind::ToolStarted { call });
        }
        Ok(Started { answers, events, is_over: false })
    }

    /// The tool that runs a call, or the result of a call that is not run. A call that was begun before an interruption
    /// and cannot be run again is of unknown outcome, whatever the reason.
    pub(super) fn judge(&self, pending: &PendingCall) -> Result<Ready, Box<ToolOutcome>> {
        self.ready(pending).map_err(|refused| match pending.begun {
            Some(_) => Box::new(unknown_outcome(&pending.call)),
            None => refused,
        })
    }

    fn ready(&self, pending: &PendingCall) -> Result<Ready, Box<ToolOutcome>> {
        let call = &pending.call;
        // It was begun before an interruption. Only a call that may be repeated is.
        let is_repeated =
            |effect| matches!(effect, Effect::Read | Effect::Idempotent) || self.nests(&call.name);
        if pending.begun.is_some_and(|effect| !is_repeated(effect)) {
            return Err(Box::new(unknown_outcome(call)));
        }
        let refused = |text: &str| {
            Box::new(ToolOutcome {
                call_id: call.id.clone(),
                result: ToolResult::error(call, text),
                disposition: Disposition::Refused,
            })
        };
        if self.run.has_answered() && !self.reads(&call.name) {
            return Err(refused(ANSWERED));
        }
        if let Some(limit) = pending.beyond_limit {
            return Err(refused(&limit.to_string()));
        }
        if let Some(text) = self.barred(call) {
            return Err(refused(text));
        }
        match self.toolbox.resolve(&call.name) {
            Resolved::Tool(entry) => entry.ready(&call.arguments).map_err(|text| refused(&text)),
            Resolved::External(entry) => match entry.ready(&call.arguments) {
                Ok(ready) if self.run.is_external(&call.name) => Ok(ready),
                Ok(_) => Err(refused("not executed: this tool is answered by the caller")),
                Err(text) => Err(refused(&text)),
            },
            Resolved::Waiting(text) => Err(refused(&text)),
            Resolved::Unknown(text) => match self.fallen_back(&call.name) {
                Some(entry) => entry.ready(&call.arguments).map_err(|text| refused(&text)),
                None => {
                    let outcome = *refused(&text);
                    Err(Box::new(ToolOutcome { disposition: Disposition::NoSuchTool, ..outcome }))
                }
            },
        }
    }

    /// True if the tool of that name has no effect.
    fn reads(&self, name: &str) -> bool {
        matches!(self.toolbox.resolve(name), Resolved::Tool(entry) if entry.spec.metadata.effect == Effect::Read)
    }

    /// True if the tool of that name starts runs: their logs know what was done.
    fn nests(&self, name: &str) -> bool {
        matches!(self.toolbox.resolve(name), Resolved::Tool(entry) if entry.spec.metadata.nests)
    }

    fn is_sequential(&self, pending: &PendingCall) -> bool {
        match self.toolbox.resolve(&pending.call.name) {
            Resolved::Tool(entry) => entry.spec.metadata.sequential,
            Resolved::External(_) | Resolved::Waiting(_) | Resolved::Unknown(_) => false,
        }
    }

    fn context(&self, key: &Key, call: &attache_core::ToolCall) -> ToolContext {
        let mut context = ToolContext::new();
        context.run_id = Some(self.run.id().to_owned());
        context.call_id = Some(call.id.clone());
        context.step = self.run.steps();
        context.principal.clone_from(&self.setup.principal);
        context.idempotency_key = Some([self.run.base(), "/", key.as_str()].concat());
        context.store_id = Some(self.setup.store.id().to_owned());
        context.documents = self.library.documents();
        context.extensions = self.extensions.clone();
        context.run_values = self.run_values.clone();
        context
    }
}
