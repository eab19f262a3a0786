//! The documents of a conversation, as tools may take them.

use std::collections::{HashMap, HashSet};
use std::fmt::{self, Write as _};
use std::sync::Arc;

use crate::document::{Document, DocumentSource};
use crate::id::DocumentId;
use crate::message::{Message, ResultStatus, UserOrigin, UserPart};
use crate::store::{DocumentStore, StoreErrorKind};
use crate::tool::{DocumentRef, ToolError, ToolErrorKind};

/// The documents that the model of a conversation was shown or made, and where their bytes are.
///
/// Documents that a tool's handler withheld are not among them, nor those of a cancelled call; those that left the
/// model's window still are. Cloning copies two pointers.
///
/// A loop fills it for its tools; who runs tools without one makes it from the messages:
///
/// ```
/// use attache_core::{Document, DocumentRef, Message, ToolContext, UserMessage};
/// use attache_core::tool::ConversationDocuments;
///
/// let lease = Document::inline("The lease ends on 30 June 2031.");
/// let messages = [Message::User(UserMessage::new([lease.clone().into()])).shared()];
/// let mut context = ToolContext::new();
/// context.documents = ConversationDocuments::of(&messages);
///
/// assert_eq!(context.document(&DocumentRef::from(&lease))?, lease);
/// assert!(context.document(&DocumentRef::from(&Document::inline("elsewhere"))).is_err());
/// # Ok::<(), attache_core::ToolError>(())
/// ```
#[derive(Clone, Default)]
pub struct ConversationDocuments {
    /// There once a document is known: most contexts know none.
    known: Option<Arc<Known>>,
    store: Option<Arc<dyn DocumentStore>>,
}

/// Each document once. An id means the newest document of that id: the one that the model saw last.
#[derive(Clone, Default)]
struct Known {
    documents: Vec<Document>,
    places: HashMap<DocumentId, usize>,
}

/// Documents that an error lists at most.
const LISTED: usize = 20;
/// Characters of a name or an id that an error shows at most.
const SHOWN: usize = 80;

impl ConversationDocuments {
    /// No documents.
    pub fn new() -> Self {
        Self::default()
    }

    /// The documents of `messages`.
    pub fn of<'m>(messages: impl IntoIterator<Item = &'m Arc<Message>>) -> Self {
        let mut documents = Self::new();
        documents.add(messages);
        documents
    }

    /// Says where the bytes are that no handle holds.
    #[must_use]
    pub fn with_store(mut self, store: Arc<dyn DocumentStore>) -> Self {
        self.store = Some(store);
        self
    }

    /// Adds the documents of further messages; known ones stay as they are. Copies that were handed out before do not
    /// change.
    pub fn add<'m>(&mut self, messages: impl IntoIterator<Item = &'m Arc<Message>>) {
        for message in messages {
            each_shown(message, |document| self.insert(document));
        }
    }

    /// Adds a document that the model is shown without a message that holds it, such as one inside another.
    ///
    /// Of two documents of one id and different content the newer one takes the place of the older.
    pub fn insert(&mut self, document: &Document) {
        let at = self.known.as_ref().and_then(|known| known.places.get(document.id()).copied());
        let known = at.and_then(|at| self.documents().get(at));
        if known.is_some_and(|known| !known.has_other_content(document)) {
            return;
        }
        // In place, unless a tool still holds a copy.
        let Known { documents, places } = Arc::make_mut(self.known.get_or_insert_default());
        match at.and_then(|at| documents.get_mut(at)) {
            Some(older) => *older = document.clone(),
            None => {
                places.insert(document.id().clone(), documents.len());
                documents.push(document.clone());
            }
        }
    }

    fn documents(&self) -> &[Document] {
        self.known.as_ref().map_or(&[], |known| &known.documents)
    }

    /// The documents in the order in which their ids came, each once.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Document> + ExactSizeIterator {
        self.documents().iter()
    }

    /// The count.
    pub fn len(&self) -> usize {
        self.documents().len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.documents().is_empty()
    }

    /// The document of exactly that id.
    pub fn get(&self, id: &DocumentId) -> Option<&Document> {
        let known = self.known.as_ref()?;
        known.places.get(id).and_then(|at| known.documents.get(*at))
    }

    /// The document that a reference means: by its whole id, by the start of its id as labels show it if only one
    /// document's id starts so, or by its URL. Its bytes may not be in memory.
    ///
    /// # Errors
    /// [`ToolErrorKind::InvalidArguments`] tells the model that there is no such document, or several, and which ids
    /// there are.
    pub fn resolve(&self, reference: &DocumentRef) -> Result<Document, ToolError> {
        let text = reference.as_str();
        if let Some(document) = DocumentId::parse(text).and_then(|id| self.get(&id)) {
            return Ok(document.clone());
        }
        if reference.is_address() {
            let at = |document: &&Document| match document.source() {
                DocumentSource::External { url } => **url == *text,
                _ => false,
            };
            return match self.iter().find(at) {
                Some(document) => Ok(document.clone()),
                None => Err(self.unknown("no document of this conversation is at that address")),
            };
        }
        let mut matching = self.iter().filter(|document| is_short_for(text, document.id()));
        match (matching.next(), matching.next()) {
            (Some(only), None) => Ok(only.clone()),
            (Some(first), Some(second)) => Err(ambiguous(text, [first, second].into_iter().chain(matching))),
            (None, _) => {
                Err(self.unknown(&format!("there is no document {} in this conversation", quoted(text))))
            }
        }
    }

    /// [`resolve`](Self::resolve)s a reference and has the bytes in memory: those of the handle, or the store's.
    ///
    /// # Errors
    /// As `resolve`; [`ToolErrorKind::Failed`] or, where another try may help, [`ToolErrorKind::Unavailable`] tells the
    /// model that the bytes cannot be had.
    pub async fn load(&self, reference: &DocumentRef) -> Result<Document, ToolError> {
        self.bring(self.resolve(reference)?).await
    }

    /// The document with its bytes in memory.
    async fn bring(&self, document: Document) -> Result<Document, ToolError> {
        let problem =
            |why: &str| ToolError::new(format!("the content of {} cannot be had: {why}", named(&document)));
        const NOT_FETCHED: &str = "it is at an address that was not fetched";
        let is_external = match document.source() {
            DocumentSource::Bytes(_) | DocumentSource::Inline { .. } => return Ok(document),
            DocumentSource::External { .. } => true,
            DocumentSource::Stored => false,
        };
        // The bytes of an external document that was fetched are kept under its id; nothing is fetched here.
        let Some(store) = &self.store else {
            return Err(problem(if is_external { NOT_FETCHED } else { "there is no store" }));
        };
        match store.get(document.id()).await {
            Ok(bytes) => Ok(document.with_bytes(bytes)),
            Err(error) => {
                let (why, kind) = match error.kind() {
                    StoreErrorKind::NotFound if is_external => (NOT_FETCHED, ToolErrorKind::Failed),
                    StoreErrorKind::NotFound => ("it is not in the store any more", ToolErrorKind::Failed),
                    StoreErrorKind::Unavailable => ("the store does not answer", ToolErrorKind::Unavailable),
                    _ => ("the store cannot read it", ToolErrorKind::Failed),
                };
                Err(problem(why).with_kind(kind).with_source(error))
            }
        }
    }

    fn unknown(&self, problem: &str) -> ToolError {
        let mut text = problem.to_owned();
        if self.is_empty() {
            text.push_str("; it holds no documents");
        } else {
            text.push_str("; its documents, newest first: ");
            list(&mut text, self.iter().rev());
        }
        ToolError::new(text).with_kind(ToolErrorKind::InvalidArguments)
    }
}

fn ambiguous<'d>(text: &str, matching: impl Iterator<Item = &'d Document>) -> ToolError {
    let mut problem = format!(
        "several documents of this conversation have an id that starts with {}; give the whole id: ",
        quoted(text)
    );
    list(&mut problem, matching);
    ToolError::new(problem).with_kind(ToolErrorKind::InvalidArguments)
}

/// Calls `with` with each document that the model was or will be shown, or made. The synthetic message repeats those of
/// its results.
fn each_shown(message: &Message, mut with: impl FnMut(&Document)) {
    match message {
        Message::System(_) => {}
        Message::Assistant(reply) => reply.documents().for_each(with),
        Message::User(user) if user.origin == UserOrigin::ToolCallDocuments => {}
        Message::User(user) => {
            for part in &user.parts {
                match part {
                    UserPart::Text(_) => {}
                    UserPart::Document(document) => with(document),
                    UserPart::Object(tree) => tree.shown().for_each(&mut with),
                }
            }
        }
        Message::ToolResults(message) => {
            for result in message.results.iter().filter(|result| result.status != ResultStatus::Cancelled) {
                let withheld: HashSet<&DocumentId> = result.withheld.iter().collect();
                let shown = result.documents.iter();
                shown.filter(|document| !withheld.contains(document.id())).for_each(&mut with);
            }
        }
    }
}

/// True if a label may show `text` for that id: its short form, or a longer start of it up to a dash.
fn is_short_for(text: &str, id: &DocumentId) -> bool {
    let rest = || id.as_str().strip_prefix(text);
    text == id.short() || (!text.is_empty() && rest().is_some_and(|rest| rest.starts_with('-')))
}

fn list<'d>(text: &mut String, documents: impl Iterator<Item = &'d Document>) {
    let mut more = 0_usize;
    for (at, document) in documents.enumerate() {
        if at >= LISTED {
            more += 1;
            continue;
        }
        let separator = if at == 0 { "" } else { ", " };
        // Writing to a string cannot fail.
        let _ = write!(text, "{separator}{}", named(document));
    }
    if more > 0 {
        let _ = write!(text, " and {more} more");
    }
}

/// The id, whole, with the name if there is one.
fn named(document: &Document) -> String {
    let id = document.id().as_str();
    // A handler's id may be longer than any of ours; cut, it would not be one.
    let id = if id.len() > 4 * SHOWN { tame(id) } else { id.chars().map(harmless).collect() };
    match document.file_name() {
        Some(name) => format!("{id} ({})", tame(name)),
        None => id,
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", tame(text))
}

/// Text from outside as part of a sentence: one line, not too long, nothing that looks like a label or a fence.
fn tame(text: &str) -> String {
    let mut tamed: String = text.chars().take(SHOWN).map(harmless).collect();
    if text.chars().nth(SHOWN).is_some() {
        tamed.push('…');
    }
    tamed
}

fn harmless(c: char) -> char {
    match c {
        '<' | '[' => '(',
        '>' | ']' => ')',
        '"' => '\'',
        c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') => ' ',
        c => c,
    }
}

/// Shows how many there are.
impl fmt::Debug for ConversationDocuments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ConversationDocuments({})", self.len())
    }
}

#[cfg(test)]
mod tests;
