//! The scope that notices which documents a tool returns.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::mem;
use std::pin::pin;

use serde::Serialize;

use crate::document::Document;
use crate::tree::{ContentTree, TreeError, TreeLimits};

/// Collects the documents that are serialised while it is active.
///
/// A tool's future is driven inside [`run`](Self::run) and its output serialised by [`finish`](Self::finish), so a
/// document is noticed wherever its `Serialize` happens: a field of the output, `json!` in the tool's body, a
/// flattened or untagged type, a custom `serialize_with`. Scopes nest (a tool that runs an agent); a document
/// belongs to the innermost one. A panic leaves the outer scope intact.
///
/// The scope follows the task, not the threads that a tool spawns: what such a thread serialises on its own is not
/// seen here, what it returns as a value is.
#[derive(Debug, Default)]
pub struct Capture {
    scope: Scope,
    limits: TreeLimits,
}

#[derive(Debug, Default)]
struct Scope {
    store_id: Option<String>,
    documents: Vec<Document>,
    max_documents: usize,
}

thread_local! {
    static SCOPES: RefCell<Vec<Scope>> = const { RefCell::new(Vec::new()) };
}

impl Capture {
    /// A scope with the default [`TreeLimits`].
    pub fn new() -> Self {
        Self::with_limits(TreeLimits::default())
    }

    /// A scope with other limits.
    pub fn with_limits(limits: TreeLimits) -> Self {
        let scope = Scope { max_documents: limits.max_documents, ..Scope::default() };
        Self { scope, limits }
    }

    /// Names the store in which the captured documents will be put; their references say it.
    #[must_use]
    pub fn with_store_id(mut self, store_id: impl Into<String>) -> Self {
        self.scope.store_id = Some(store_id.into());
        self
    }

    /// Drives `future` with the scope active at each poll.
    ///
    /// # Cancellation
    /// Dropping the returned future drops `future`; nothing stays behind on the thread.
    pub async fn run<F: Future>(&mut self, future: F) -> F::Output {
        let mut future = pin!(future);
        poll_fn(|context| {
            let _active = Active::enter(&mut self.scope);
            future.as_mut().poll(context)
        })
        .await
    }

    /// Runs `work` with the scope active, for tools that block a thread.
    pub fn run_blocking<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let _active = Active::enter(&mut self.scope);
        work()
    }

    /// Serialises a tool's output and yields it with every document captured so far.
    ///
    /// # Errors
    /// [`TreeError`] if the output is nested too deep, is too large, holds too many documents, or its own
    /// `Serialize` fails.
    pub fn finish<T: Serialize + ?Sized>(mut self, output: &T) -> Result<ContentTree, TreeError> {
        let json = {
            let _active = Active::enter(&mut self.scope);
            crate::json::to_compact(output, self.limits.max_depth, self.limits.max_bytes)?
        };
        let Scope { store_id, documents, .. } = self.scope;
        let documents = documents.into_iter().map(|document| match &store_id {
            Some(store) if document.store_id().is_none() => document.with_store_id(store.clone()),
            _ => document,
        });
        Ok(ContentTree::located(json, documents.collect()))
    }
}

/// Moves a scope onto this thread's stack and, when dropped, back to its owner.
struct Active<'a> {
    home: &'a mut Scope,
}

impl<'a> Active<'a> {
    fn enter(home: &'a mut Scope) -> Self {
        SCOPES.with_borrow_mut(|scopes| scopes.push(mem::take(home)));
        Self { home }
    }
}

impl Drop for Active<'_> {
    fn drop(&mut self) {
        if let Some(scope) = SCOPES.with_borrow_mut(Vec::pop) {
            *self.home = scope;
        }
    }
}

pub(crate) enum Registered {
    NoScope,
    Yes,
    Full,
}

/// Tells the innermost active scope that `document` was serialised.
pub(crate) fn register(document: &Document) -> Registered {
    SCOPES.with_borrow_mut(|scopes| {
        let Some(scope) = scopes.last_mut() else { return Registered::NoScope };
        if !scope.documents.iter().any(|known| known.id() == document.id()) {
            if scope.documents.len() >= scope.max_documents {
                return Registered::Full;
            }
            scope.documents.push(document.clone());
        }
        Registered::Yes
    })
}

/// The store named by the innermost active scope.
pub(crate) fn store_id() -> Option<String> {
    SCOPES.with_borrow(|scopes| scopes.last().and_then(|scope| scope.store_id.clone()))
}
