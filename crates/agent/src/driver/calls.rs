//! The calls of a step: their tools run side by side, or the caller is waited for.

use std::pin::pin;

use async_stream::stream;
use attache_core::{StoreError, StoreErrorKind, ToolCallId};
use futures_core::Stream;
use futures_util::stream::FuturesUnordered;

use crate::driver::Driver;
use crate::driver::interrupt::Interrupt;
use crate::driver::record::Recording;
use crate::driver::stop::{Fault, Stop};
use crate::driver::wait::{Answer, Answered, Gate, StartedCalls, next_answer};
use crate::event::{Event, EventKind};
use crate::journal::JournalError;
use crate::log::{Entry, EntryKind};
use crate::run::{Action, PendingCall};
use crate::tools::Resolved;

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
        // Results of the calls of this round are no part of it: the model made them side by side.
        driver.library.catch_up(&driver.run);
        let mut under_way: FuturesUnordered<Answer> = FuturesUnordered::new();
        let mut recording = Recording::default();
        let (external, mut waiting) = driver.split(calls);
        if !external.is_empty()
            && let Err(stop) = interrupt.attempt(Box::pin(driver.let_through(&external))).await
        {
            yield Err(stop);
            return;
        }
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
        // Once a call has begun, all that wait were judged.
        let mut holds_up = driver.setup.handling.hold_all;
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
            let mut batch = Vec::with_capacity(waiting.len().min(driver.setup.timing.parallel_calls));
            if driver.run.is_held() {
                driver.look_again(&mut waiting, &begun);
            }
            let holds = holds_up && !waiting.is_empty();
            if holds && driver.run.open_questions().next().is_none() {
                let asked = {
                    let asking = Box::pin(driver.ask_all(interrupt, &mut waiting, &begun));
                    recording.beside(pin!(asking)).await
                };
                let Some(StartedCalls { answers, events, is_over }) = noted(asked, &mut fault, &mut stopped) else { continue };
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
                holds_up = false;
                let started = {
                    let starting = pin!(driver.start_calls(interrupt, batch, false));
                    recording.beside(starting).await
                };
                let Some(started) = noted(started, &mut fault, &mut stopped) else { continue };
                let StartedCalls { answers, events, is_over } = started;
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
            let answered = {
                let control = &driver.control;
                let next = next_answer(&mut driver.inside, driver.heard.as_ref(), &mut under_way, &mut recording, control, gate.as_deref_mut());
                interrupt.guard(next).await
            };
            let answered = match answered {
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
                        let record = interrupt.attempt(Box::pin(driver.take_in(*entry, verdict)));
                        recording.beside(pin!(record)).await
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
                    for kind in Box::pin(driver.stop_tools(&mut under_way, &mut recording, interrupt, false)).await {
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
                // A task that a tool left behind may tell of a call that is over.
                Answered::Progress(id, progress) => {
                    if driver.run.is_open(&id) {
                        yield Ok(driver.event(EventKind::ToolProgress { id, progress }));
                    }
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
                    for kind in Box::pin(driver.stop_tools(&mut under_way, &mut recording, interrupt, true)).await {
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
            for kind in Box::pin(driver.stop_tools(&mut under_way, &mut recording, interrupt, false)).await {
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
    fn is_sequential(&self, pending: &PendingCall) -> bool {
        match self.toolbox.resolve(&pending.call.name) {
            Resolved::Tool(entry) => entry.spec.metadata.sequential,
            Resolved::External(_) | Resolved::Waiting(_) | Resolved::Unknown(_) => false,
        }
    }
}
