//! Drives a run: one lazily polled stream that does what the fold asks for.

mod answer;
mod ask;
mod close;
mod fault;
mod handle;
mod interrupt;
mod library;
mod open;
mod prepare;
mod record;
mod shorten;

use std::pin::{Pin, pin};
use std::sync::Arc;

use async_stream::stream;
use attache_core::{Document, Extensions, Transcript};
use futures_core::Stream;

use crate::control::Control;
use crate::event::{Event, EventKind};
use crate::journal::{Origin, Recorder};
use crate::log::{Ended, Entry, EntryKind, Key};
use crate::outcome::{Cause, EndReason};
use crate::pace::Pace;
use crate::run::{Action, Run};
use crate::setup::Setup;
use crate::tools::Toolbox;
use crate::window::Marks;
use fault::{Fault, Stop};
use interrupt::{Interrupt, Interrupted};
use library::Library;

pub use handle::AgentRun;
pub(crate) use open::Task;

/// The state that a run carries from step to step, beside its log: all of it can be made again from the log.
struct Driver {
    setup: Arc<Setup>,
    recorder: Recorder,
    control: Control,
    pace: Pace,
    run: Run,
    toolbox: Arc<Toolbox>,
    extensions: Extensions,
    marks: Marks,
    library: Library,
    transcript: Transcript,
    /// Documents of tools that the store did not take yet.
    unstored: Vec<Document>,
    /// Entries of which nobody knows whether they are in the log, because the run was interrupted meanwhile.
    unconfirmed: Vec<Entry>,
    warned_of_usage: bool,
    seq: u64,
}

fn drive(
    setup: Arc<Setup>,
    origin: Origin,
    task: Task,
    control: Control,
    pace: Pace,
) -> impl Stream<Item = Event> + Send {
    stream! {
        let deadline = task.deadline(&setup);
        let mut interrupt = Interrupt::new(&control, deadline);
        // Each run carries the room of its largest step, so those that are rare are boxed.
        let (nested, is_kept) = (origin.recorder(), !origin.place().is_volatile());
        let opened = interrupt.attempt(Box::pin(open::open(&setup, origin, &task, deadline, &control, &pace))).await;
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
        interrupt = Interrupt::new(&control, driver.run.deadline());
        for kind in events {
            yield driver.event(kind);
        }
        // The reason of an end that is not in the log, what the model had said until then, and the cause.
        let (mut unrecorded, mut said, mut cause) = (None, String::new(), None);
        loop {
            let mut stop = None;
            match driver.run.next() {
                Action::CallModel { key, step, landing } => match driver.take_messages(&mut interrupt).await {
                    Ok((_, warning)) => {
                        if let Some(kind) = warning {
                            yield driver.event(kind);
                        }
                        let mut asking = pin!(ask::ask(&mut driver, &mut interrupt, key, step, landing));
                        while let Some(item) = next(&mut asking).await {
                            match item {
                                Ok(event) => yield event,
                                Err(stopped) => stop = Some(stopped),
                            }
                        }
                    }
                    Err(stopped) => stop = Some(stopped),
                },
                Action::AnswerCalls { calls } => {
                    let mut answering = pin!(answer::answer(&mut driver, &mut interrupt, calls));
                    while let Some(item) = next(&mut answering).await {
                        match item {
                            Ok(event) => yield event,
                            Err(stopped) => stop = Some(stopped),
                        }
                    }
                }
                Action::End { reason, open } => {
                    let more = if open { driver.take_messages(&mut interrupt).await } else { Ok((false, None)) };
                    stop = match more {
                        Ok((true, warning)) => {
                            if let Some(kind) = warning {
                                yield driver.event(kind);
                            }
                            None
                        }
                        Ok((false, _)) => interrupt.attempt(Box::pin(driver.end(Ended::new(reason)))).await.err(),
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
                    if let Some(warning) = Box::pin(driver.end_interrupted(ended, interrupt.closes())).await {
                        yield driver.event(warning);
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
        let outcome = driver.outcome(unrecorded, &said);
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

impl Stop {
    /// The reason of the end, what the model had said, and the cause of a failure.
    fn tell(self) -> (EndReason, String, Option<Cause>) {
        match self {
            Self::Interrupted(interrupted, said) => (interrupted.reason().0, said, None),
            Self::Pending => (EndReason::PendingExternal, String::new(), None),
            Self::Fault(fault, said) => (fault.reason(), said, Some(fault.into_cause())),
        }
    }
}

impl Interrupted {
    fn reason(self) -> (EndReason, Option<String>) {
        match self {
            Self::Cancelled(why) => (EndReason::Cancelled, Some(why)),
            Self::Deadline => (EndReason::Deadline, None),
        }
    }
}

async fn next<S: Stream>(stream: &mut Pin<&mut S>) -> Option<S::Item> {
    std::future::poll_fn(|context| stream.as_mut().poll_next(context)).await
}

impl Driver {
    fn event(&mut self, kind: EventKind) -> Event {
        self.seq += 1;
        Event { seq: self.seq, step: self.run.steps(), kind }
    }

    /// Records an entry and folds in the one that stands under its key.
    async fn record(&mut self, key: Key, kind: EntryKind) -> Result<Entry, Fault> {
        let mut entries = self.record_all(vec![Entry::new(key, kind)]).await?;
        entries.pop().ok_or_else(|| {
            let problem = "an append yielded no entry".to_owned();
            crate::journal::JournalError::Unreadable { problem }.into()
        })
    }

    async fn record_all(&mut self, entries: Vec<Entry>) -> Result<Vec<Entry>, Fault> {
        let entries = self.recorder.append(entries).await?;
        for entry in &entries {
            self.run.apply(entry)?;
        }
        Ok(entries)
    }

    /// Takes what came from outside into the log: messages of the inbox, and receipts of calls of unknown outcome.
    /// Says whether there was something, and warns if a document of it is in memory only.
    async fn take_messages(&mut self, interrupt: &mut Interrupt) -> Result<(bool, Option<EventKind>), Stop> {
        let mut warning = None;
        let mut taken =
            self.looks_for_receipts() && interrupt.attempt(Box::pin(self.take_receipts())).await?;
        let messages = self.control.inbox();
        if !messages.is_empty() {
            interrupt.check().await?;
            let count = messages.len();
            warning = interrupt.complete(Box::pin(self.take_inbox(messages))).await?;
            self.control.taken(count);
            taken = true;
        }
        Ok((taken, warning))
    }

    async fn take_inbox(
        &mut self,
        messages: Vec<Arc<attache_core::Message>>,
    ) -> Result<Option<EventKind>, Fault> {
        let kept = crate::keep::keep_of_messages(&*self.setup.store, &messages).await;
        let warning = self.unless_kept(kept)?;
        let key = Key::inbox(self.run.inboxes());
        self.record(key, EntryKind::Inbox(messages)).await?;
        Ok(warning)
    }

    /// True if a call of unknown outcome may come to its end elsewhere.
    fn looks_for_receipts(&self) -> bool {
        !self.run.unknown().is_empty() && !self.recorder.place().is_volatile()
    }

    async fn take_receipts(&mut self) -> Result<bool, Fault> {
        let keys: Vec<Key> = self.run.unknown().iter().map(|call| Key::receipt(&call.id)).collect();
        let mut taken = false;
        for key in keys {
            let place = self.recorder.place().clone();
            if let Some(entry) = place.wait(&key, Some(attache_core::fresh::now())).await? {
                self.record(key, entry.kind).await?;
                taken = true;
            }
        }
        Ok(taken)
    }
}
