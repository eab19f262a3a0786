//! The scope that captures the documents that a tool returns.

mod gather;
mod serialize;

use std::any::Any;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::future::{Future, poll_fn};
use std::mem;
use std::pin::pin;
use std::sync::Arc;

use serde::Serialize;

use crate::document::Document;
use crate::id::DocumentId;
use crate::tool::deferred::Deferred;
use crate::tool::error::ToolError;
use crate::tree::{ContentTree, Reason, TreeError, TreeLimits, reference_ids, references_within};

/// Collects the documents that are serialised while it is active.
///
/// A tool's future is polled inside [`run`](Self::run) and its output is serialised by [`finish`](Self::finish), so a
/// document is captured wherever it is serialised: a field of the output, `json!` in the tool's body, a flattened or
/// untagged type, a custom `serialize_with`. Scopes nest (a tool that runs an agent); a document belongs to the
/// innermost one. A panic leaves the outer scope intact.
///
/// Documents with a place in the output are shown. A document that was serialised but not returned, such as for a log,
/// is withheld: it is listed but never shown. [`ToolReturn`](crate::ToolReturn) overrides this for single documents.
///
/// A document is identified by its id and its content. A second document with the same id and different content gets a
/// new id: the id followed by the start of the content's hash.
///
/// The scope follows the task, not the threads that a tool spawns: a document that such a thread serialises itself is
/// not captured, and its reference says so; a document that it returns as a value is captured.
#[derive(Debug)]
pub struct Capture {
    scope: Scope,
    limits: TreeLimits,
}

#[derive(Debug, Default)]
struct Scope {
    store_id: Option<Arc<str>>,
    found: Vec<Found>,
    /// The index in `found` of each id, once there are more than a [`FEW`].
    places: HashMap<DocumentId, usize>,
    max_documents: usize,
    /// True if there were more than that.
    is_over: bool,
    /// True if the output itself is being written.
    finishing: bool,
    /// True if the documents may stand in another order than the text, or without a place in it.
    is_scattered: bool,
    /// Trees that were serialised before, with their documents that have no place in them.
    trees: Vec<(ContentTree, Vec<usize>)>,
    /// The output says that there is no result yet.
    deferred: Option<Box<Deferred>>,
}

#[derive(Debug)]
struct Found {
    document: Document,
    standing: Standing,
}

/// The way in which a document came to be captured. The later ones count more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Standing {
    /// It was serialised before the output; whether it is shown depends on whether it has a place there.
    Seen,
    /// It was serialised with the output.
    Carried,
    /// A tree in the output withholds it.
    Kept,
    /// The tool shows it, wherever it stands.
    Shown,
    /// The tool withholds it.
    Withheld,
}

/// Documents among which one is found by looking at each.
const FEW: usize = 8;
/// Trees without places for their documents that are looked for in the output.
const MAX_TREES: usize = 16;

thread_local! {
    static SCOPES: RefCell<Vec<Scope>> = const { RefCell::new(Vec::new()) };
}

impl Default for Capture {
    fn default() -> Self {
        Self::new()
    }
}

impl Capture {
    /// Creates a scope with the default [`TreeLimits`].
    pub fn new() -> Self {
        Self::with_limits(TreeLimits::default())
    }

    /// Creates a scope with the given limits.
    pub fn with_limits(limits: TreeLimits) -> Self {
        let scope = Scope { max_documents: limits.max_documents, ..Scope::default() };
        Self { scope, limits }
    }

    /// Sets the id of the store that will receive the captured documents; their references contain it.
    #[must_use]
    pub fn with_store_id(mut self, store_id: impl Into<String>) -> Self {
        self.scope.store_id = Some(Arc::from(store_id.into()));
        self
    }

    /// Runs `future` with the scope active at each poll.
    ///
    /// # Cancellation
    /// Dropping the returned future drops `future`; nothing is left behind on the thread.
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

    /// Serialises a tool's output and returns it with every document captured so far.
    ///
    /// # Errors
    /// [`TreeError`] if the output is nested too deep, is too large, holds too many documents, or its own `Serialize`
    /// fails. The error still contains the documents of the output.
    pub fn finish<T: Serialize + ?Sized>(self, output: &T) -> Result<ContentTree, TreeError> {
        let (max_depth, max_bytes) = (self.limits.max_depth, self.limits.max_bytes);
        self.finish_by(output, || crate::json::to_compact(output, max_depth, max_bytes)).map(|(tree, _)| tree)
    }

    /// The same for a tool's output, which may be a [`Deferred`].
    pub(crate) fn finish_deferrable<T: Serialize + 'static>(
        self,
        output: &T,
    ) -> Result<(ContentTree, Option<Box<Deferred>>), TreeError> {
        let (max_depth, max_bytes) = (self.limits.max_depth, self.limits.max_bytes);
        // Most tools return a text, in which there are neither documents nor depth.
        match (output as &dyn Any).downcast_ref::<String>() {
            Some(text) => self.finished(output, crate::json::quoted(text, max_bytes)),
            None => self.finish_by(output, || crate::json::to_compact(output, max_depth, max_bytes)),
        }
    }

    fn finish_by<T: Serialize + ?Sized>(
        mut self,
        output: &T,
        write: impl FnOnce() -> Result<String, Reason>,
    ) -> Result<(ContentTree, Option<Box<Deferred>>), TreeError> {
        self.scope.finishing = true;
        let written = self.run_blocking(write);
        self.finished(output, written)
    }

    fn finished<T: Serialize + ?Sized>(
        mut self,
        output: &T,
        written: Result<String, Reason>,
    ) -> Result<(ContentTree, Option<Box<Deferred>>), TreeError> {
        let TreeLimits { max_bytes, max_documents, .. } = self.limits;
        match written {
            Ok(json) => {
                let deferred = self.scope.deferred.take();
                Ok((self.scope.into_tree(json), deferred))
            }
            Err(reason) => {
                let references = self.run_blocking(|| gather::references(output, max_bytes));
                let is_over = self.scope.is_over;
                let reason = if is_over { Reason::TooManyDocuments { limit: max_documents } } else { reason };
                let (documents, withheld) = self.scope.sorted(&references);
                Err(TreeError::new(reason, documents, withheld))
            }
        }
    }

    /// Adds every document captured so far to the failure of a tool. Documents of the error itself are shown; the
    /// others are listed as withheld, since the tool did not return them.
    pub fn fail(self, error: ToolError) -> ToolError {
        let store_id = self.scope.store_id.clone();
        let (captured, _) = self.scope.sorted(&[]);
        error.with_captured(captured, store_id.as_deref())
    }
}

impl Scope {
    /// Takes a document and yields its place. A second one of a known id with other content gets an id of its own.
    fn take(&mut self, document: &Document, standing: Standing) -> Result<usize, Full> {
        let mut own_id = None;
        let mut known = self.place_of(document.id());
        if known.is_some_and(|(_, known)| known.document.has_other_content(document)) {
            own_id = document.id_beside_another();
            known = own_id.as_ref().and_then(|id| self.place_of(id));
        }
        if let Some((at, _)) = known {
            if let Some(found) = self.found.get_mut(at) {
                found.standing = found.standing.max(standing);
                if !found.document.is_in_memory() && document.is_in_memory() {
                    found.document = document.clone();
                }
            }
            return Ok(at);
        }
        if self.found.len() >= self.max_documents {
            self.is_over = true;
            return Err(Full);
        }
        let document = match own_id {
            Some(id) => document.clone().with_id(id),
            None => document.clone(),
        };
        self.found.push(Found { document, standing });
        if self.found.len() > FEW {
            let numbered = self.found.iter().enumerate().skip(self.places.len());
            self.places.extend(numbered.map(|(at, found)| (found.document.id().clone(), at)));
        }
        Ok(self.found.len() - 1)
    }

    fn place_of(&self, id: &DocumentId) -> Option<(usize, &Found)> {
        if self.found.len() <= FEW {
            return self.found.iter().enumerate().find(|(_, found)| found.document.id() == id);
        }
        let at = *self.places.get(id)?;
        self.found.get(at).map(|found| (at, found))
    }

    fn into_tree(mut self, json: String) -> ContentTree {
        if !self.is_scattered {
            // All were met where they stand in the text.
            let (documents, _) = self.sorted(&[]);
            return ContentTree::from_parts(json, documents);
        }
        for (tree, documents) in mem::take(&mut self.trees) {
            if json.contains(tree.json()) {
                documents.into_iter().for_each(|at| self.raise(at, Standing::Carried));
            }
        }
        let references =
            if json.starts_with('"') { references_within(&json) } else { reference_ids(&json).collect() };
        let (documents, withheld) = self.sorted(&references);
        ContentTree::from_parts(json, documents).with_withheld(withheld)
    }

    fn raise(&mut self, at: usize, standing: Standing) {
        if let Some(found) = self.found.get_mut(at) {
            found.standing = found.standing.max(standing);
        }
    }

    /// The documents in the order of `references`, then those without a place, and which of them are withheld.
    fn sorted(self, references: &[DocumentId]) -> (Vec<Document>, Vec<DocumentId>) {
        // Most results have none.
        if self.found.is_empty() {
            return (Vec::new(), Vec::new());
        }
        let mut is_placed = HashSet::new();
        let placed: Vec<usize> = references
            .iter()
            .filter_map(|id| self.place_of(id).map(|(at, _)| at))
            .filter(|at| is_placed.insert(*at))
            .collect();
        let Self { found, store_id, .. } = self;
        let withheld = found.iter().enumerate().filter(|(at, found)| match found.standing {
            Standing::Seen => !is_placed.contains(at),
            Standing::Carried | Standing::Shown => false,
            Standing::Kept | Standing::Withheld => true,
        });
        let withheld = withheld.map(|(_, found)| found.document.id().clone()).collect();
        let mut found: Vec<Option<Document>> = found.into_iter().map(|found| Some(found.document)).collect();
        let mut documents: Vec<Document> = Vec::with_capacity(found.len());
        documents.extend(placed.iter().filter_map(|at| found.get_mut(*at)?.take()));
        documents.extend(found.into_iter().flatten());
        if let Some(store) = store_id {
            documents = documents.into_iter().map(|document| document.or_in_store(&store)).collect();
        }
        (documents, withheld)
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

/// The words of a captured document's reference.
pub(crate) struct Captured {
    pub(crate) id: DocumentId,
    pub(crate) store_id: Option<Arc<str>>,
}

/// The scope takes no more documents.
#[derive(Debug)]
pub(crate) struct Full;

impl std::fmt::Display for Full {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("too many documents in one result")
    }
}

/// Tells the innermost active scope that `document` is serialised. `None` if there is no scope.
pub(crate) fn register(document: &Document) -> Result<Option<Captured>, Full> {
    SCOPES.with_borrow_mut(|scopes| {
        let Some(scope) = scopes.last_mut() else { return Ok(None) };
        scope.is_scattered |= !scope.finishing;
        let at = scope.take(document, if scope.finishing { Standing::Carried } else { Standing::Seen })?;
        let id =
            scope.found.get(at).map_or_else(|| document.id().clone(), |found| found.document.id().clone());
        Ok(Some(Captured { id, store_id: scope.store_id.clone() }))
    })
}

/// Tells the innermost active scope how `document` stands to the output.
pub(crate) fn mark(document: &Document, standing: Standing) -> Result<(), Full> {
    SCOPES.with_borrow_mut(|scopes| {
        let Some(scope) = scopes.last_mut() else { return Ok(()) };
        scope.is_scattered = true;
        scope.take(document, standing).map(drop)
    })
}

/// Tells the innermost active scope, if it writes the output, that there is no result yet.
pub(crate) fn defer(deferred: &Deferred) -> Result<(), &'static str> {
    SCOPES.with_borrow_mut(|scopes| match scopes.last_mut() {
        Some(scope) if scope.finishing && scope.deferred.is_some() => Err("two results are deferred in one"),
        Some(scope) if scope.finishing => {
            scope.deferred = Some(Box::new(deferred.clone()));
            Ok(())
        }
        _ => Ok(()),
    })
}

/// Tells the innermost active scope that a tree is serialised, with all its documents.
pub(crate) fn register_tree(tree: &ContentTree) -> Result<(), Full> {
    if tree.documents().is_empty() {
        return Ok(());
    }
    SCOPES.with_borrow_mut(|scopes| {
        let Some(scope) = scopes.last_mut() else { return Ok(()) };
        scope.is_scattered = true;
        let shown = if scope.finishing { Standing::Carried } else { Standing::Seen };
        let withheld: HashSet<&DocumentId> = tree.withheld().iter().collect();
        let placed: HashSet<DocumentId> =
            if scope.finishing { HashSet::new() } else { reference_ids(tree.json()).collect() };
        let mut without_place = Vec::new();
        for document in tree.documents() {
            let is_withheld = withheld.contains(document.id());
            let at = scope.take(document, if is_withheld { Standing::Kept } else { shown })?;
            if !scope.finishing && !is_withheld && !placed.contains(document.id()) {
                without_place.push(at);
            }
        }
        // A tree that comes to stand in the output brings the documents that its text does not mention.
        if !without_place.is_empty() && scope.trees.len() < MAX_TREES {
            scope.trees.push((tree.clone(), without_place));
        }
        Ok(())
    })
}
