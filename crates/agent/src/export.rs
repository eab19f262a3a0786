//! Conversations as files.

use std::sync::Arc;

use attache_core::conversation::ConversationError;
use attache_core::{Conversation, DocumentId, DocumentStore, Message, ToolDefinition};
use bytes::Bytes;
use futures_core::Stream;
use serde_json::{Map, Value};

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
        let mut conversation = exported(messages, tools)?;
        fill(&mut conversation, &*self.store()).await?;
        serde_json::to_string_pretty(&conversation).map_err(ConversationError::Unwritable)
    }

    /// [Exports](Self::export) a conversation piece by piece, without line breaks: one document of the store is in memory
    /// at a time.
    ///
    /// # Errors
    /// [`ConversationError`] if a message cannot be written; in the stream, if the store fails to read a document that it
    /// may still have. The text is no JSON then.
    pub fn export_in_pieces(
        &self,
        messages: &[Arc<Message>],
        tools: Vec<ToolDefinition>,
    ) -> Result<impl Stream<Item = Result<Bytes, ConversationError>> + Send + use<>, ConversationError> {
        let mut conversation = exported(messages, tools)?;
        let documents = match conversation.as_object_mut().and_then(|all| all.shift_remove("documents")) {
            Some(Value::Array(documents)) => documents,
            _ => Vec::new(),
        };
        let mut text = serde_json::to_vec(&conversation).map_err(ConversationError::Unwritable)?;
        drop(conversation);
        // The documents are its last member.
        text.pop();
        text.extend_from_slice(if text.len() > 1 { b",\"documents\":[" } else { b"\"documents\":[" });
        let store = self.store();
        Ok(async_stream::try_stream! {
            yield Bytes::from(text);
            for (at, mut entry) in documents.into_iter().enumerate() {
                let bytes = match entry.as_object_mut() {
                    Some(entry) => missing(entry, &*store).await?,
                    None => None,
                };
                let mut text = if at == 0 { Vec::new() } else { vec![b','] };
                serde_json::to_writer(&mut text, &entry).map_err(ConversationError::Unwritable)?;
                let Some(bytes) = bytes else {
                    yield Bytes::from(text);
                    continue;
                };
                text.pop();
                text.extend_from_slice(b",\"data\":\"");
                yield Bytes::from(text);
                for piece in bytes.chunks(PIECE) {
                    yield Bytes::from(attache_core::base64::encode(piece));
                }
                yield Bytes::from_static(b"\"}");
            }
            yield Bytes::from_static(b"]}");
        })
    }
}

/// The maximum number of bytes that are encoded at a time: whole groups of base64.
const PIECE: usize = 48 << 10;

fn exported(
    messages: &[Arc<Message>],
    tools: impl IntoIterator<Item = ToolDefinition>,
) -> Result<Value, ConversationError> {
    let kept = messages.iter().filter(|message| !message.is_tool_call_documents()).cloned();
    let json = Conversation::new(kept).with_tools(tools).to_json()?;
    serde_json::from_str(&json).map_err(ConversationError::Unwritable)
}

/// Puts the bytes of documents where they are missing, as far as the store has them.
async fn fill(conversation: &mut Value, store: &dyn DocumentStore) -> Result<(), ConversationError> {
    let entries = conversation.get_mut("documents").and_then(Value::as_array_mut);
    for entry in entries.into_iter().flatten().filter_map(Value::as_object_mut) {
        if let Some(bytes) = missing(entry, store).await? {
            entry.insert("data".to_owned(), attache_core::base64::encode(&bytes).into());
        }
    }
    Ok(())
}

/// The bytes of a document that are missing, if the store has them. The entry says so no longer.
async fn missing(
    entry: &mut Map<String, Value>,
    store: &dyn DocumentStore,
) -> Result<Option<Bytes>, ConversationError> {
    let id = entry.get("id").and_then(Value::as_str).and_then(DocumentId::parse);
    let Some(id) = id.filter(|_| entry.contains_key("missing")) else { return Ok(None) };
    match store.get(&id).await {
        Ok(bytes) => {
            entry.shift_remove("missing");
            Ok(Some(bytes))
        }
        // It has the document, and whoever asks again gets it.
        Err(source) if source.is_retryable() => Err(ConversationError::Store { id, source }),
        Err(_) => Ok(None),
    }
}
