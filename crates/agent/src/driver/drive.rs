//! The loop: does what the fold asks for, and records what came of it, until the run ends.

use std::pin::{Pin, pin};
use std::sync::Arc;

use async_stream::stream;
use futures_core::Stream;
use futures_util::FutureExt as _;

use crate::control::Control;
use crate::driver::interrupt::Interrupt;
use crate::driver::open::Task;
use crate::driver::stop::{Fault, Stop};
use crate::driver::{ask, calls, open};
use crate::event::{Event, EventKind};
use crate::journal::{Origin, Recorder, now};
use crate::log::Ended;
use crate::run::Action;
use crate::setup::Setup;
use crate::tool_time::Pace;

pub(crate) fn drive(
    setup: Arc<Setup>,
    origin: Origin,
    task: Task,
    control: Control,
    pace: Pace,
) -> impl Stream<Item = Event> + Send {
    stream! {
        let given = origin.scope().and_then(|scope| scope.time().cloned());
        let deadline = task.deadline(&setup);
        let mut interrupt = Interrupt::new(&control, deadline, given.clone());
        // Each run carries the room of its largest step, so those that are rare are boxed.
        let (nested, is_kept) = (origin.recorder(), !origin.place().is_volatile());
        let opening = Box::pin(open::open(&setup, origin, &task, deadline, &control, &pace));
        let opened = match &task {
            Task::Start(_) => interrupt.attempt(opening).await,
            // One that is to end has its end in its log, which must be open for that; one that cannot be opened does not end.
            Task::Resume(_) => {
                let opened = interrupt.complete(opening.map(Ok::<_, Fault>)).await;
                opened.and_then(|opened| opened.map_err(Stop::from))
            }
        };
        let (mut driver, events) = match opened {
            Ok(opened) => opened,
            Err(stop) => {
                break_off(&stop, nested.as_ref());
                let mut seq = 1;
                if is_kept && matches!(stop, Stop::Interrupted(..)) {
                    let message = "the run was interrupted while its log was opened, and may be resumed".to_owned();
                    yield Event { seq, step: 0, kind: EventKind::Warning { code: "end_not_recorded", message } };
                    seq += 1;
                }
                let (reason, _, cause) = stop.tell();
                let mut outcome = task.outcome(reason);
                outcome.unread.extend(control.close());
                yield Event { seq, step: 0, kind: EventKind::Finished(outcome.judged(cause)) };
                return;
            }
        };
        interrupt = Interrupt::new(&control, driver.run.deadline(now()), given);
        for kind in events {
            yield driver.event(kind);
        }
        let was_over = driver.run.next() == Action::Ended;
        // The reason of an end that is not in the log, what the model had said until then, and the cause.
        let (mut unrecorded, mut said, mut cause) = (None, String::new(), None);
        let mut is_recorded = !was_over;
        loop {
            let mut stop = None;
            match driver.run.next() {
                Action::CallModel { key, step, landing } => match driver.take_unseen(&mut interrupt, step).await {
                    Ok((_, warning)) => {
                        if let Some(kind) = warning {
                            yield driver.event(*kind);
                        }
                        let allowed = match driver.is_bounded() {
                            true => Box::pin(driver.may_ask(&mut interrupt, step, landing)).await,
                            false => Ok(None),
                        };
                        match allowed {
                            Ok(None) => {
                                let mut asking = pin!(ask::ask(&mut driver, &mut interrupt, key, step, landing));
                                while let Some(item) = next(&mut asking).await {
                                    match item {
                                        Ok(event) => yield event,
                                        Err(stopped) => stop = Some(stopped),
                                    }
                                }
                            }
                            Ok(Some(events)) => {
                                for kind in events {
                                    yield driver.event(kind);
                                }
                            }
                            Err(stopped) => stop = Some(stopped),
                        }
                    }
                    Err(stopped) => stop = Some(stopped),
                },
                Action::HandOver { .. } => match interrupt.attempt(Box::pin(driver.hand_over())).await {
                    Ok(events) => {
                        for kind in events {
                            yield driver.event(kind);
                        }
                    }
                    Err(stopped) => stop = Some(stopped),
                },
                Action::AnswerCalls { calls } => {
                    // Most runs wait for their models most of the time, and need no room for a round then.
                    let mut answering = Box::pin(calls::answer(&mut driver, &mut interrupt, calls));
                    while let Some(item) = next(&mut answering.as_mut()).await {
                        match item {
                            Ok(event) => yield event,
                            Err(stopped) => stop = Some(stopped),
                        }
                    }
                }
                Action::End { reason, open } => {
                    let mut more = if open { driver.take_messages(&mut interrupt).await } else { Ok((false, None)) };
                    if open && matches!(more, Ok((false, _))) && driver.control.begin_follow_up() {
                        more = Box::pin(driver.take_messages(&mut interrupt)).await;
                    }
                    stop = match more {
                        Ok((true, warning)) => {
                            if let Some(kind) = warning {
                                yield driver.event(*kind);
                            }
                            None
                        }
                        Ok((false, _)) => match interrupt.attempt(Box::pin(driver.end(Ended::new(reason)))).await {
                            Ok(events) => {
                                for kind in events {
                                    yield driver.event(kind);
                                }
                                None
                            }
                            Err(stopped) => Some(stopped),
                        },
                        Err(stopped) => Some(stopped),
                    };
                }
                Action::Start | Action::Ended => break,
            }
            let Some(stop) = stop else { continue };
            // An interruption ends the run. A fault ends the drive, and the run can be resumed.
            match stop {
                Stop::Interrupted(interrupted, said) => {
                    let (reason, detail) = interrupted.reason();
                    let ended = Ended { interrupted_text: said, detail, ..Ended::new(reason) };
                    let closed = Box::pin(driver.end_interrupted(ended, interrupt.closes())).await;
                    is_recorded &= closed.is_recorded;
                    for kind in closed.told {
                        yield driver.event(kind);
                    }
                }
                stop => {
                    break_off(&stop, Some(&driver.recorder));
                    let (reason, until_then, of) = stop.tell();
                    (unrecorded, said, cause) = (Some(reason), until_then, of);
                }
            }
            break;
        }
        driver.absorb();
        let outcome = driver.outcome(unrecorded, &said);
        if is_recorded && !driver.setup.hooks.is_empty() && driver.run.next() == Action::Ended {
            Box::pin(driver.setup.hooks.end(&outcome)).await;
        }
        yield driver.event(EventKind::Finished(outcome.judged(cause)));
    }
}

/// A run inside a tool that cannot go on now has no end, and its tool no result.
fn break_off(stop: &Stop, recorder: Option<&Recorder>) {
    if let (Stop::Fault(fault, _), Some(recorder)) = (stop, recorder)
        && fault.is_of_storage()
    {
        recorder.break_off();
    }
}

async fn next<S: Stream>(stream: &mut Pin<&mut S>) -> Option<S::Item> {
    std::future::poll_fn(|context| stream.as_mut().poll_next(context)).await
}
