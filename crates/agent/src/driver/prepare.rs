//! Makes the request of a step: window, materials, routing.

use std::sync::Arc;

use attache_core::message::UserOrigin;
use attache_core::{ChatRequest, Message, MessageId, UserMessage, UserPart};
use attache_documents::{Routing, gather, route};

use crate::driver::Driver;
use crate::driver::rules::Offered;
use crate::driver::stop::Fault;
use crate::event::EventKind;
use crate::log::{Entry, EntryKind, Key, SyntheticMessage};
use crate::memory::look::Look;

impl Driver {
    /// The request of a step, and the events that tell how it came about. It is boxed, since the run waits with room for
    /// whatever it hands on.
    pub(super) async fn prepare(
        &mut self,
        step: u32,
        landing: bool,
    ) -> Result<(Box<ChatRequest>, Vec<EventKind>), Fault> {
        let setup = Arc::clone(&self.setup);
        let mut events = Vec::new();
        self.library.catch_up(&self.run);
        if let Some(messages) = self.messages_to_count() {
            Box::pin(self.count(messages, &mut events)).await?;
        }
        let mut messages = match self.look(false) {
            Look::Show { messages, evicted } => self.shown(messages, evicted, &mut events),
            decision => Box::pin(self.remember(decision, &mut events)).await?,
        };
        let reader = setup.routing.read_tool.as_deref();
        self.library.shorten(&mut messages, self.run.limits().max_result_chars, reader);
        if self.library.has_made() {
            Box::pin(self.bring_made(&mut messages)).await;
        }
        if self.library.needs_routing() {
            messages = Box::pin(self.route(messages, &mut events)).await?;
        }
        let offered = self.tools_of_step(step, landing, &mut events)?;
        let count = offered.len();
        let Offered { tools, choice, allowed } = offered;
        let choice = match self.run.output() {
            Some(output) => output.choice(choice, landing, count, setup.forces_tools()),
            None => choice,
        };
        let mut request = Box::new(ChatRequest::default());
        request.messages = messages;
        request.tools = tools;
        request.tool_choice = choice;
        request.allowed_tools = allowed;
        request.settings = setup.settings.clone();
        request.transcript = Some(self.transcript.clone());
        request.streaming = setup.streaming;
        Ok((request, events))
    }

    /// The messages as the model shall see them.
    async fn route(
        &mut self,
        messages: Vec<Arc<Message>>,
        events: &mut Vec<EventKind>,
    ) -> Result<Vec<Arc<Message>>, Fault> {
        let setup = Arc::clone(&self.setup);
        self.store_again().await;
        let capabilities = setup.model.capabilities();
        let (store, fetcher) = (&*setup.store, setup.fetcher.as_deref());
        let materials = &mut self.library.materials;
        gather(materials, &messages, capabilities, &setup.routing, store, fetcher, &setup.converters).await;
        self.record_found(events).await?;
        let materials = &self.library.materials;
        let Routing { messages, report, .. } =
            route(&messages, capabilities, &self.toolbox.set, materials, &setup.routing)?;
        self.record_synthetic(&messages).await?;
        let before = self.library.reported.as_deref();
        if !report.decisions.is_empty() && before.is_none_or(|before| before.decisions != report.decisions) {
            let documents = before.map(|before| report.left_out_since(before)).unwrap_or_default();
            if !documents.is_empty() {
                events.push(EventKind::DocumentsLeftOut { documents });
            }
            let report = Arc::new(report);
            self.library.reported = Some(Arc::clone(&report));
            events.push(EventKind::DocumentsRouted(report));
        }
        Ok(messages)
    }

    /// Records the documents that conversion found inside others, so that tools may take them also when the run was
    /// resumed.
    async fn record_found(&mut self, events: &mut Vec<EventKind>) -> Result<(), Fault> {
        let unmet = self.library.unmet();
        if unmet.is_empty() {
            return Ok(());
        }
        let mut message =
            UserMessage::new(unmet.into_iter().map(|document| Some(UserPart::Document(document))));
        message.origin = UserOrigin::Event;
        let number = u32::try_from(self.run.found().len()).unwrap_or(u32::MAX);
        message.id = MessageId::parse(format!("{}.found.{number}", self.run.base())).unwrap_or(message.id);
        let message = Message::User(message).shared();
        let kept =
            crate::store_documents::keep_of_messages(&*self.setup.store, std::slice::from_ref(&message))
                .await;
        events.extend(self.unless_kept(kept)?);
        self.record(Key::found(number), EntryKind::Found(message)).await?;
        self.library.catch_up(&self.run);
        Ok(())
    }

    /// Records synthetic messages as they are sent, each right behind its results.
    async fn record_synthetic(&mut self, routed: &[Arc<Message>]) -> Result<(), Fault> {
        let mut entries = Vec::new();
        let mut number = self.run.synthetic_count();
        for pair in routed.windows(2) {
            let [anchor, message] = pair else { continue };
            let Message::User(user) = &**message else { continue };
            if user.origin != UserOrigin::ToolCallDocuments {
                continue;
            }
            let stamp = message.stamp();
            if self.run.synthetic(anchor.id()).is_some_and(|known| known.stamp == stamp) {
                continue;
            }
            // The log keeps what was shown as the message's parts.
            let mut shown = user.clone();
            if let Some(routed) = shown.routed.take() {
                shown.parts = routed.content;
            }
            let synthetic = SyntheticMessage {
                anchor: anchor.id().clone(),
                message: Message::User(shown).shared(),
                fingerprint: self.setup.model.capabilities().fingerprint(),
                stamp,
            };
            entries.push(Entry::new(Key::documents(number), EntryKind::Documents(synthetic)));
            number = number.saturating_add(1);
        }
        if !entries.is_empty() {
            self.record_all(entries).await?;
        }
        Ok(())
    }
}
