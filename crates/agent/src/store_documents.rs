//! Puts the documents of messages and results into a store.

use std::sync::Arc;
use std::time::Duration;

use attache_core::{
    AssistantMessage, Document, DocumentSource, DocumentStore, Message, StoreError, StoreErrorKind,
    ToolResult,
};

/// The waits before further attempts at storing what cannot be had again.
pub(crate) const ATTEMPTS: [Duration; 3] =
    [Duration::from_millis(50), Duration::from_millis(250), Duration::from_secs(1)];

/// The ids that a document may get whose own one is taken, each longer than the one before.
const NAMES: usize = 4;

/// Puts the documents of messages into the store, as far as their bytes are in memory.
pub(crate) async fn keep_of_messages(
    store: &dyn DocumentStore,
    messages: &[Arc<Message>],
) -> Result<(), StoreError> {
    for message in messages {
        keep(store, message.documents()).await?;
    }
    Ok(())
}

/// Puts the documents that a model made into the store, as far as their bytes are in memory.
pub(crate) async fn keep_of_reply(
    store: &dyn DocumentStore,
    reply: &AssistantMessage,
) -> Result<(), StoreError> {
    keep(store, reply.documents()).await
}

/// The documents of a result, withheld ones included: those of its tree, and those that are shown beside it.
pub(crate) fn documents_of(result: &ToolResult) -> impl Iterator<Item = &Document> {
    let captured = result.tree.documents();
    captured.iter().chain(result.documents.iter().filter(|shown| !captured.contains(shown)))
}

/// Puts the documents of a result into the store, as far as their bytes are in memory. One whose id stands for another
/// document there gets an id of its own, in the result that comes back. The tool has run, so it comes back also where the
/// store fails.
pub(crate) async fn keep_of_result(
    store: &dyn DocumentStore,
    mut result: ToolResult,
) -> (ToolResult, Option<StoreError>) {
    let mut documents: Vec<Document> = documents_of(&result).cloned().collect();
    // The log says it: whoever reads that has no bytes, and must know as well as this process which contents differ.
    for document in &documents {
        document.hash();
    }
    let (mut at, mut renamed) = (0, 0);
    while let Some(document) = documents.get(at) {
        match put(store, document).await {
            Ok(()) => (at, renamed) = (at + 1, 0),
            Err(error) if error.kind() == StoreErrorKind::Conflict && renamed < NAMES => {
                renamed += 1;
                // No document is as large as this one, so each is another.
                let taken = Document::stored(document.id().clone(), store.id(), "").with_size(u64::MAX);
                result = result.apart_from(|id| Some(&taken).filter(|taken| taken.id() == id));
                documents = documents_of(&result).cloned().collect();
            }
            Err(error) => return (result, Some(error)),
        }
    }
    (result, None)
}

async fn keep(
    store: &dyn DocumentStore,
    documents: impl IntoIterator<Item = &Document>,
) -> Result<(), StoreError> {
    for document in documents {
        put(store, document).await?;
    }
    Ok(())
}

/// Puts a document into the store, with several attempts, if its bytes are in memory.
async fn put(store: &dyn DocumentStore, document: &Document) -> Result<(), StoreError> {
    if !matches!(document.source(), DocumentSource::Bytes(_)) {
        return Ok(());
    }
    let mut waits = ATTEMPTS.iter();
    while let Err(error) = store.put(document).await {
        match waits.next().filter(|_| error.is_retryable()) {
            Some(wait) => tokio::time::sleep(*wait).await,
            None => return Err(error),
        }
    }
    Ok(())
}

/// The result with references in the place of bytes, which the store holds now.
pub(crate) fn released(mut result: ToolResult, store_id: &str) -> ToolResult {
    let release = |document: &Document| match document.source() {
        DocumentSource::Bytes(_) => document.clone().without_bytes().with_store_id(store_id),
        _ => document.clone(),
    };
    if result.tree.documents().iter().chain(&result.documents).any(|document| document.bytes().is_some()) {
        result.tree = result.tree.map_documents(release);
        result.documents = result.documents.iter().map(release).collect();
    }
    result
}
