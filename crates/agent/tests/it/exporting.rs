//! Conversations as files.

use std::sync::Arc;

use attache_agent::{Agent, Journal, MemoryDocumentStore, MemoryJournal, Run, tool_fn};
use attache_core::conversation::ConversationError;
use attache_core::{
    BoxFuture, Conversation, Document, DocumentId, DocumentStore, Message, StoreError, StoreErrorKind,
    UserMessage,
};
use attache_testkit::{ScriptedModel, Turn};
use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _};
use serde_json::{Value, json};

const PICTURE: &[u8] = b"\x89PNG\r\n\x1a\n and so on";

#[tokio::test]
async fn an_export_has_the_documents_of_the_store_by_name_and_says_which_are_lost() {
    let lease = || {
        Ok(vec![
            Document::from_bytes("The rent is 900.", "text/plain").with_file_name("lease.txt"),
            Document::from_bytes(PICTURE, "image/png").with_file_name("door.png"),
        ])
    };
    let store = Arc::new(MemoryDocumentStore::default());
    let model = || ScriptedModel::new([Turn::call("lease", json!({})), Turn::text("900.")]).unverified();
    let agent = Agent::builder(model()).tool(tool_fn("lease", "The lease", lease)).store(store.clone());
    let agent = agent.build().unwrap();
    let journal = Arc::new(MemoryJournal::default());
    agent.run_in(journal.clone(), "What is the rent?").outcome().await.unwrap();
    // Read from its log, a conversation has references alone.
    let read = Run::replay(&journal.load().await.unwrap()).unwrap().outcome().messages;
    let tools = agent.tool_manager().await.unwrap().tools();
    let tools = || tools.iter().map(|(_, tool)| tool.clone());
    let whole = agent.export(&read, tools()).await.unwrap();
    let conversation = Conversation::from_json(&whole).unwrap();
    let documents: Vec<&Document> =
        conversation.messages.iter().flat_map(|message| message.documents()).collect();
    let told = |document: &&Document| (document.file_name().unwrap().to_owned(), document.bytes().unwrap());
    let told: Vec<_> = documents.iter().map(told).collect();
    assert_eq!(
        told,
        [("lease.txt".to_owned(), "The rent is 900.".into()), ("door.png".to_owned(), PICTURE.into())]
    );
    assert_eq!(conversation.tools[0].name(), "lease");
    // In pieces it is the same.
    let pieces: Vec<Bytes> =
        agent.export_in_pieces(&read, tools().collect()).unwrap().try_collect().await.unwrap();
    let same: Value = serde_json::from_slice(&pieces.concat()).unwrap();
    assert_eq!(same, serde_json::from_str::<Value>(&whole).unwrap());
    // The message in which the model was shown the documents is made of the results.
    assert_eq!(conversation.messages.len(), 4);
    let lost = documents[1].id().clone();
    store.delete(&lost).await.unwrap();
    let rest: Value = serde_json::from_str(&agent.export(&read, []).await.unwrap()).unwrap();
    let entries = rest["documents"].as_array().unwrap();
    let is_missing: Vec<bool> = entries.iter().map(|entry| entry["missing"] == true).collect();
    assert_eq!(is_missing, [false, true]);
    assert_eq!(entries[1]["fileName"], "door.png");
}

#[tokio::test]
async fn an_export_in_pieces_holds_no_document_as_text() {
    const SIZE: usize = 3 << 20;
    let bytes: Vec<u8> = (0..SIZE).map(|at| (at % 251) as u8).collect();
    let large = Document::from_bytes(bytes.clone(), "application/octet-stream").with_file_name("large.bin");
    let store = Arc::new(MemoryDocumentStore::default());
    store.put(&large).await.unwrap();
    let agent = Agent::builder(ScriptedModel::new([])).store(store).build().unwrap();
    let messages = [Message::User(UserMessage::new([large.clone().without_bytes().into()])).shared()];
    let pieces: Vec<Bytes> =
        agent.export_in_pieces(&messages, Vec::new()).unwrap().try_collect().await.unwrap();
    assert!(pieces.iter().all(|piece| piece.len() <= 64 << 10), "a piece is bounded");
    let text = String::from_utf8(pieces.concat()).unwrap();
    let conversation = Conversation::from_json(&text).unwrap();
    assert_eq!(conversation.messages[0].documents()[0].bytes().unwrap(), bytes);
    let away = Agent::builder(ScriptedModel::new([])).store(Arc::new(Away)).build().unwrap();
    let pieces: Vec<_> = away.export_in_pieces(&messages, Vec::new()).unwrap().collect().await;
    assert!(matches!(pieces.last(), Some(Err(ConversationError::Store { .. }))), "it breaks off");
}

/// A store that cannot be reached.
struct Away;

impl DocumentStore for Away {
    fn id(&self) -> &str {
        "away"
    }

    fn put<'a>(&'a self, _: &'a Document) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async { Err(StoreError::new(StoreErrorKind::Unavailable, "it does not answer")) })
    }

    fn get<'a>(&'a self, _: &'a DocumentId) -> BoxFuture<'a, Result<Bytes, StoreError>> {
        Box::pin(async { Err(StoreError::new(StoreErrorKind::Unavailable, "it does not answer")) })
    }

    fn delete<'a>(&'a self, _: &'a DocumentId) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async { Ok(()) })
    }
}

#[tokio::test]
async fn an_export_fails_while_its_documents_cannot_be_reached() {
    let document = Document::from_bytes("The rent is 900.", "text/plain");
    let id = document.id().clone();
    let message = Message::User(UserMessage::new([document.without_bytes().into()]));
    let agent = Agent::builder(ScriptedModel::new([])).store(Arc::new(Away)).build().unwrap();
    let error = agent.export(&[Arc::new(message)], []).await.unwrap_err();
    let ConversationError::Store { id: told, source } = error else { panic!("{error:?}") };
    assert_eq!((told, source.kind()), (id, StoreErrorKind::Unavailable));
}
