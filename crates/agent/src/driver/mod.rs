//! Drives a run: one lazily polled stream that does what the fold asks for.

mod approval;
mod ask;
mod calls;
mod citable;
#[cfg(feature = "citations")]
mod cite;
mod close;
mod deferred;
mod delivered;
mod drive;
mod external;
mod hand_over;
mod handle;
mod hooks;
mod interrupt;
mod library;
mod limits;
mod made;
mod memory;
mod native_citations;
mod nested;
mod offer;
mod offer_state;
mod open;
mod prepare;
mod progress;
mod record;
mod refusal;
mod rerun;
mod results;
mod rules;
mod start_calls;
mod stop;
mod team;
mod token_count;
mod truncate;
mod unstored;
mod wait;

use std::sync::Arc;

use attache_core::tool::{Extensions, RunValues};
use attache_core::{ChatRequest, ChunkStream, Document, ModelHandle, Transcript};
use tokio::sync::mpsc::Receiver;

use crate::control::Control;
use crate::event::{Event, EventKind};
use crate::journal::{Recorder, Scope};
use crate::log::{Entry, EntryKind, Key};
use crate::memory::marks::Marks;
use crate::nested::{Around, Inside};
use crate::price::Prices;
use crate::run::{Action, Run};
use crate::setup::Setup;
use crate::spending::Budget;
use crate::store_documents::keep_of_messages;
use crate::tool_time::Pace;
use crate::tools::Toolbox;
use citable::Citable;
use interrupt::Interrupt;
use library::Library;
use offer_state::Offers;
use progress::Heard;
use stop::{Fault, Stop};
use team::Team;

pub(crate) use approval::{denied, expired};
pub(crate) use close::closed_calls;
pub(crate) use delivered::unseen;
pub(crate) use drive::drive;
pub use handle::AgentRun;
pub(crate) use interrupt::OPENING;
pub(crate) use open::{Task, ToolFacts, conversation};
pub(crate) use truncate::shortened;

/// The state that a run carries from step to step, beside its log: all of it can be made again from the log.
struct Driver {
    setup: Arc<Setup>,
    recorder: Recorder,
    control: Control,
    pace: Pace,
    run: Run,
    toolbox: Arc<Toolbox>,
    extensions: Extensions,
    run_values: RunValues,
    marks: Marks,
    library: Library,
    transcript: Transcript,
    /// Documents of tools and of replies that the store did not take yet.
    unstored: Vec<Document>,
    /// Entries of which nobody knows whether they are in the log, because the run was interrupted meanwhile.
    unconfirmed: Vec<Entry>,
    warned_of_usage: bool,
    warned_of_cost: bool,
    prices: Option<Arc<Prices>>,
    /// The call whose tool the run works for.
    scope: Option<Arc<Scope>>,
    /// The things that runs inside tools share with this one.
    around: Option<Arc<Around>>,
    /// The events of runs inside tools.
    inside: Option<Receiver<Inside>>,
    /// The progress of calls.
    heard: Option<Heard>,
    /// Set if spending is limited.
    budget: Option<Box<Budget>>,
    /// The tools that change during the run, where some may.
    offers: Option<Box<Offers>>,
    /// The request under way, where answers are checked.
    citable: Option<Box<Citable>>,
    /// The agents to which the conversation may be handed over.
    team: Option<Box<Team>>,
    seq: u64,
}

impl Driver {
    fn event(&mut self, kind: EventKind) -> Event {
        self.seq += 1;
        let step = match kind {
            // Its reply is recorded, and it has the number that the step had before.
            EventKind::Made(_) => self.run.steps().saturating_sub(1),
            _ => self.run.steps(),
        };
        Event { seq: self.seq, step, kind }
    }

    /// Asks a model.
    fn stream(&self, model: &ModelHandle, request: ChatRequest) -> ChunkStream {
        match self.control.watched() {
            None => model.stream(request),
            Some(watched) => watched.ask(model, request, self.run.steps().saturating_add(1)),
        }
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
        self.absorb();
        for entry in &entries {
            self.run.apply(entry)?;
        }
        Ok(entries)
    }

    /// Takes what came from outside into the log: messages of the inbox, and receipts of calls of unknown outcome.
    /// Says whether there was something, and warns if a document of it is in memory only.
    async fn take_messages(
        &mut self,
        interrupt: &mut Interrupt,
    ) -> Result<(bool, Option<Box<EventKind>>), Stop> {
        let mut warning = None;
        let mut taken =
            self.looks_for_receipts() && interrupt.attempt(Box::pin(self.take_receipts())).await?;
        // Nobody knows a run that has no step yet.
        if self.run.steps() > 0 && !self.recorder.place().is_volatile() {
            let said = interrupt.attempt(Box::pin(self.take_said())).await?;
            (taken, warning) = (taken | said.0, said.1);
        }
        let messages = self.control.inbox();
        if !messages.is_empty() {
            interrupt.check().await?;
            let own = interrupt.complete(Box::pin(self.take_inbox(messages.clone()))).await?;
            warning = own.or(warning);
            self.control.taken(&messages);
            taken = true;
        }
        Ok((taken, warning))
    }

    /// The same before a step, unless the hooks have seen the conversation as it is sent: the next step takes what came
    /// since.
    async fn take_unseen(
        &mut self,
        interrupt: &mut Interrupt,
        step: u32,
    ) -> Result<(bool, Option<Box<EventKind>>), Stop> {
        match self.run.is_hooked(step) {
            true => Ok((false, None)),
            false => self.take_messages(interrupt).await,
        }
    }

    async fn take_inbox(
        &mut self,
        messages: Vec<Arc<attache_core::Message>>,
    ) -> Result<Option<Box<EventKind>>, Fault> {
        let kept = keep_of_messages(&*self.setup.store, &messages).await;
        let warning = self.unless_kept(kept)?;
        self.warn_of_loss(messages.iter().flat_map(|message| message.documents()));
        let kind = EntryKind::Inbox(messages);
        // One that somebody left in this moment stands in the place of these.
        while self.record(Key::inbox(self.run.inboxes()), kind.clone()).await?.kind != kind {}
        Ok(warning.map(Box::new))
    }

    /// Takes the messages that others left in the journal; see [`say`](crate::say).
    async fn take_said(&mut self) -> Result<(bool, Option<Box<EventKind>>), Fault> {
        let (mut taken, mut warning) = (false, None);
        // One that comes behind the last append is taken behind the next one; see `say`.
        while self.recorder.place().has_deliveries()
            && matches!(
                self.run.next(),
                Action::CallModel { .. } | Action::HandOver { .. } | Action::End { open: true, .. }
            )
        {
            let (key, place) = (Key::inbox(self.run.inboxes()), self.recorder.place().clone());
            let Some(entry) = place.wait(&key, Some(attache_core::fresh::now())).await? else { break };
            if let EntryKind::Inbox(messages) = &entry.kind {
                match Box::pin(keep_of_messages(&*self.setup.store, messages)).await {
                    Ok(()) => {}
                    Err(error) if error.is_retryable() => return Err(error.into()),
                    // It was taken, and would stop each driver of the run.
                    Err(error) => {
                        let documents = messages.iter().flat_map(|message| message.documents());
                        warning = Some(self.hold(documents, &error));
                    }
                }
                self.warn_of_loss(messages.iter().flat_map(|message| message.documents()));
            }
            self.record(key, entry.kind).await?;
            taken = true;
        }
        Ok((taken, warning))
    }

    /// The messages that others left in the journal, and that the run does not read any more. One that `has_looked` finds
    /// none, and nothing is lost where somebody comes behind its look; see `say`.
    async fn said_unread(&self, has_looked: bool) -> Result<Vec<Arc<attache_core::Message>>, Fault> {
        let mut unread = Vec::new();
        let place = self.recorder.place();
        if has_looked || place.is_volatile() {
            return Ok(unread);
        }
        for number in self.run.inboxes().. {
            let left = place.wait(&Key::inbox(number), Some(attache_core::fresh::now())).await?;
            let Some(Entry { kind: EntryKind::Inbox(messages), .. }) = left else { break };
            unread.extend(messages);
        }
        Ok(unread)
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
