//! The documents of sessions that are deleted go with them, also where their store fails or a process dies.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use attache_agent::{
    Agent, Draft, HookContext, HookError, MemoryDocumentStore, NoArguments, RunHook, SessionError, Sessions,
    tool_fn,
};
use attache_core::{
    BoxFuture, Document, DocumentId, DocumentStore, StoreError, StoreErrorKind, ToolError, UserMessage,
    UserPart,
};
use attache_testkit::{FunctionModel, Turn};
use bytes::Bytes;

use crate::kit::echo;
use crate::place::Place;

/// Documents whose next deletion fails, if a test says so.
#[derive(Default)]
struct Failing {
    documents: MemoryDocumentStore,
    fails: AtomicBool,
}

impl DocumentStore for Failing {
    fn id(&self) -> &str {
        self.documents.id()
    }

    fn put<'a>(&'a self, document: &'a Document) -> BoxFuture<'a, Result<(), StoreError>> {
        self.documents.put(document)
    }

    fn get<'a>(&'a self, id: &'a DocumentId) -> BoxFuture<'a, Result<Bytes, StoreError>> {
        self.documents.get(id)
    }

    fn delete<'a>(&'a self, id: &'a DocumentId) -> BoxFuture<'a, Result<(), StoreError>> {
        if self.fails.swap(false, Ordering::SeqCst) {
            let error = StoreError::new(StoreErrorKind::Unavailable, "it fails");
            return Box::pin(std::future::ready(Err(error)));
        }
        self.documents.delete(id)
    }
}

/// Sessions whose answer needs a tool that fetches the document.
async fn fetching(place: &Place, documents: &Arc<Failing>, document: &Document) -> Sessions {
    let document = document.clone();
    let fetch = tool_fn("fetch", "Fetches.", move |_: NoArguments| {
        let document = document.clone();
        async move { Ok::<_, ToolError>(document) }
    });
    let model = FunctionModel::new(|request, _| match request.messages.len() {
        1 => Turn::call("fetch", "{}"),
        _ => Turn::text("done"),
    });
    let agent = Agent::builder(model.unverified()).tool(fetch).store(Arc::clone(documents) as _);
    let sessions = Sessions::new(agent.build().unwrap(), place.store().await);
    sessions.with_expiry(None).with_documents(Arc::clone(documents) as _)
}

pub(crate) async fn a_deletion_that_failed_or_was_cut_off_is_made_good(place: Place) {
    let documents = Arc::<Failing>::default();
    let document = Document::from_bytes(&b"a secret"[..], "text/plain");
    let is_there = async || documents.get(document.id()).await.is_ok();
    let sessions = fetching(&place, &documents, &document).await;
    let run = async |id: &str| {
        sessions.open("ann", Some(id)).await.unwrap().run("go").outcome().await.unwrap();
    };
    run("s").await;
    documents.fails.store(true, Ordering::SeqCst);
    let failed = sessions.clear("ann", "s").await.unwrap_err();
    assert!(matches!(failed, SessionError::Journal(_)), "{failed:?}");
    assert!(is_there().await);
    sessions.cleanup().await.unwrap();
    assert!(!is_there().await);
    // The process dies behind the deletion of the rows, and another one cleans up.
    run("s").await;
    place.store().await.clear("ann", None).await.unwrap();
    assert!(is_there().await);
    // Another session has it by then.
    run("t").await;
    fetching(&place, &documents, &document).await.cleanup().await.unwrap();
    assert!(is_there().await);
    place.store().await.clear("ann", None).await.unwrap();
    fetching(&place, &documents, &document).await.cleanup().await.unwrap();
    assert!(!is_there().await);
    // A document that is deleted is not deleted again.
    documents.put(&document).await.unwrap();
    sessions.cleanup().await.unwrap();
    assert!(is_there().await);
}

/// Shows the model a document before each request.
struct Shows(Document);

impl RunHook for Shows {
    fn before_model<'a>(
        &'a self,
        draft: &'a mut Draft<'_>,
        _context: &'a HookContext<'_>,
    ) -> BoxFuture<'a, Result<(), HookError>> {
        draft.append(UserMessage::new([Some(UserPart::Document(self.0.clone()))]));
        Box::pin(std::future::ready(Ok(())))
    }
}

pub(crate) async fn documents_of_hooks_go_with_their_session(place: Place) {
    let documents = Arc::<Failing>::default();
    let document = Document::from_bytes(&b"a secret"[..], "text/plain");
    let agent = Agent::builder(echo()).hook(Shows(document.clone())).store(Arc::clone(&documents) as _);
    let sessions = Sessions::new(agent.build().unwrap(), place.store().await);
    let sessions = sessions.with_documents(Arc::clone(&documents) as _);
    sessions.open("ann", Some("s")).await.unwrap().run("go").outcome().await.unwrap();
    documents.get(document.id()).await.unwrap();
    sessions.clear("ann", "s").await.unwrap();
    assert!(documents.get(document.id()).await.is_err());
}
