//! Conversations as files.

use std::sync::Arc;

use attache_core::{Conversation, ConversationError, DocumentId, DocumentStore, Message, ToolDefinition};
use serde_json::Value;

use crate::agent::Agent;

impl Agent {
    /// The exported form of messages of its runs, and of these tools, as [`Conversation::from_json`] reads it, with lines
    /// for people.
    ///
    /// Documents whose bytes are not in memory are read from its [store](Self::store); one that the store has lost is
    /// marked as missing. Messages in which a run showed documents of tools to its model are left out: the results name
    /// the documents, and whichever model looks at them next is shown them anew.
    ///
    /// ```
    /// # use attache_agent::Agent;
    /// # use attache_core::Conversation;
    /// # use attache_testkit::{ScriptedModel, Turn};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// # let agent = Agent::builder(ScriptedModel::new([Turn::text("There is one at nine.")])).build()?;
    /// let outcome = agent.run("Is there a train to Rome?").outcome().await?;
    /// let json = agent.export(&outcome.messages, []).await?;
    /// assert_eq!(Conversation::from_json(&json)?.messages.len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ConversationError`] if a message cannot be written, or the store fails to read a document that it may still have.
    pub async fn export(
        &self,
        messages: &[Arc<Message>],
        tools: impl IntoIterator<Item = ToolDefinition>,
    ) -> Result<String, ConversationError> {
        let kept = messages.iter().filter(|message| !message.is_tool_call_documents()).cloned();
        let json = Conversation::new(kept).with_tools(tools).to_json()?;
        let mut conversation = serde_json::from_str(&json).map_err(ConversationError::Unwritable)?;
        fill(&mut conversation, &*self.store()).await?;
        serde_json::to_string_pretty(&conversation).map_err(ConversationError::Unwritable)
    }
}

/// Puts the bytes of documents where they are missing, as far as the store has them.
async fn fill(conversation: &mut Value, store: &dyn DocumentStore) -> Result<(), ConversationError> {
    let entries = conversation.get_mut("documents").and_then(Value::as_array_mut);
    for entry in entries.into_iter().flatten().filter_map(Value::as_object_mut) {
        let id = entry.get("id").and_then(Value::as_str).and_then(DocumentId::parse);
        let Some(id) = id.filter(|_| entry.contains_key("missing")) else { continue };
        let bytes = match store.get(&id).await {
            Ok(bytes) => bytes,
            // It has the document, and whoever asks again gets it.
            Err(source) if source.is_retryable() => return Err(ConversationError::Store { id, source }),
            Err(_) => continue,
        };
        entry.shift_remove("missing");
        entry.insert("data".to_owned(), base64_simd::STANDARD.encode_to_string(&bytes).into());
    }
    Ok(())
}
