//! Has the model's API count the tokens of the conversation, where the memory wants to know them.

use std::sync::Arc;
use std::time::Duration;

use attache_core::{ChatRequest, Message};
use attache_documents::{gather, route};

use crate::driver::Driver;
use crate::driver::stop::Fault;
use crate::event::EventKind;
use crate::log::{Counted, EntryKind, Key};

/// An estimate is better than an answer that takes longer.
const PATIENCE: Duration = Duration::from_secs(30);

impl Driver {
    /// Counts what the model would be shown, and records the answer: a resumed run decides by the same number.
    pub(super) async fn count(
        &mut self,
        messages: Vec<Arc<Message>>,
        events: &mut Vec<EventKind>,
    ) -> Result<(), Fault> {
        let counted = match self.tokens_of(messages).await {
            Ok(tokens) => Counted { tokens: Some(tokens), failure: None },
            Err(failure) => {
                let message = format!("the conversation could not be counted, and is estimated: {failure}");
                events.push(EventKind::Warning { code: "count_failed", message });
                Counted { tokens: None, failure: Some(failure) }
            }
        };
        self.record(Key::counted(), EntryKind::Counted(counted)).await?;
        Ok(())
    }

    async fn tokens_of(&mut self, mut messages: Vec<Arc<Message>>) -> Result<u64, String> {
        let setup = Arc::clone(&self.setup);
        let reader = setup.routing.read_tool.as_deref();
        self.library.shorten(&mut messages, self.run.limits().max_result_chars, reader);
        if self.library.has_made() {
            Box::pin(self.bring_made(&mut messages)).await;
        }
        if self.library.needs_routing() {
            let capabilities = setup.model.capabilities();
            let (store, fetcher) = (&*setup.store, setup.fetcher.as_deref());
            let materials = &mut self.library.materials;
            gather(materials, &messages, capabilities, &setup.routing, store, fetcher, &setup.converters)
                .await;
            let materials = &self.library.materials;
            let routed = route(&messages, capabilities, &self.toolbox.set, materials, &setup.routing);
            messages = routed.map_err(|error| error.to_string())?.messages;
        }
        let mut request = ChatRequest::new(messages);
        request.tools = Arc::clone(&self.toolbox.set);
        request.settings = setup.settings.clone();
        let counting = setup.model.count_tokens(request).ok_or("the model's API counts no tokens")?;
        match tokio::time::timeout(PATIENCE, counting).await {
            Ok(counted) => counted.map_err(|error| error.to_string()),
            Err(_) => Err(format!("there was no answer within {} s", PATIENCE.as_secs())),
        }
    }
}
