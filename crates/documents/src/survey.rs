//! Where documents stand in the messages.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use attache_core::{
    Content, ContentTree, Document, DocumentId, DocumentSource, Message, Place, ResultStatus, ToolResult,
    UserOrigin,
};

/// One document in one place: in a tool result, or in a part of a user message.
#[derive(Debug)]
pub(crate) struct Occurrence<'m> {
    /// The index of the message.
    pub(crate) message: usize,
    /// The index of the result, or of the part, inside the message.
    pub(crate) part: usize,
    pub(crate) document: &'m Document,
    pub(crate) origin: Origin,
    /// The place of the result, or of the user message.
    pub(crate) place: Place,
    /// Occurrences of the same document have the same number.
    pub(crate) identity: usize,
    /// Why it is not looked at.
    pub(crate) excluded: Option<Excluded>,
    /// The document that it was found in, and how deep.
    pub(crate) inside: Option<Inside<'m>>,
}

/// Where a document of no message is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Inside<'m> {
    pub(crate) holder: &'m DocumentId,
    /// 1 for what is in a document of a message.
    pub(crate) depth: usize,
}

/// Who brought the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Tool,
    Event,
    Author {
        /// Whether it is in the author's last message.
        current: bool,
    },
}

/// Why a document of a tool result is not looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Excluded {
    Withheld,
    Cancelled,
    /// It is the same as this earlier occurrence in the same result or event, under another id.
    Duplicate(usize),
}

/// What there is to route.
#[derive(Debug, Default)]
pub(crate) struct Survey<'m> {
    /// Every document, in message order.
    pub(crate) occurrences: Vec<Occurrence<'m>>,
    /// How many tool results there are.
    pub(crate) results: usize,
    /// Whether an earlier routing left something in the messages.
    pub(crate) routed_before: bool,
}

/// Looks through the messages once. Synthetic messages are projections, so they hold no documents.
pub(crate) fn survey(messages: &[Arc<Message>]) -> Survey<'_> {
    let mut survey = Survey::default();
    let mut identities = Identities::default();
    let mut last_author = None;
    let mut beside_results = false;
    for (at, message) in messages.iter().enumerate() {
        let Survey { occurrences: found, results: count, routed_before } = &mut survey;
        let mut put = Put { found, identities: &mut identities, message: at, part: 0, place: Place::User };
        match &**message {
            Message::System(_) => {}
            Message::Assistant(_) => beside_results = false,
            Message::ToolResults(results) => {
                beside_results = true;
                *count += results.results.len();
                for (part, result) in results.results.iter().enumerate() {
                    *routed_before |= result.routed.is_some();
                    if !(result.documents.is_empty() && result.tree.documents().is_empty()) {
                        (put.part, put.place) = (part, place_of(result));
                        put.result(result);
                    }
                }
            }
            Message::User(user) => {
                *routed_before |= user.routed.is_some();
                let origin = match user.origin {
                    UserOrigin::ToolCallDocuments => {
                        *routed_before = true;
                        continue;
                    }
                    UserOrigin::Event => Origin::Event,
                    _ => {
                        last_author = Some(at);
                        Origin::Author { current: false }
                    }
                };
                // On the wire it joins the user content after the results, if it is not divided from it.
                put.place = if beside_results { Place::BesideResult } else { Place::User };
                for (part, content) in user.parts.iter().enumerate() {
                    put.part = part;
                    match content {
                        Content::Document(document) => put.one(document, origin, None),
                        Content::Object(tree) => put.tree(tree, origin),
                        _ => {}
                    }
                }
            }
            // A kind of message that this version does not know holds no documents that it could find.
            _ => {}
        }
    }
    for occurrence in survey.occurrences.iter_mut().rev() {
        if let Origin::Author { current } = &mut occurrence.origin {
            *current = last_author == Some(occurrence.message);
        }
    }
    survey
}

/// The place that a result is.
pub(crate) fn place_of(result: &ToolResult) -> Place {
    if result.is_error() { Place::FailedResult } else { Place::ToolResult }
}

struct Put<'a, 'm> {
    found: &'a mut Vec<Occurrence<'m>>,
    identities: &'a mut Identities<'m>,
    message: usize,
    part: usize,
    place: Place,
}

impl<'m> Put<'_, 'm> {
    /// The documents that are shown, in the handler's order, then those of the tree that are not.
    fn result(&mut self, result: &'m ToolResult) {
        let cancelled = result.status == ResultStatus::Cancelled;
        let withheld = |document: &Document| cancelled || result.withheld.contains(document.id());
        let why = if cancelled { Excluded::Cancelled } else { Excluded::Withheld };
        let first = self.found.len();
        self.all(result.documents.iter().filter(|document| !withheld(document)), Origin::Tool);
        let shown = self.found.get(first..).unwrap_or_default();
        let mut seen: HashSet<&DocumentId> = shown.iter().map(|shown| shown.document.id()).collect();
        for document in result.tree.documents().iter().chain(&result.documents) {
            if seen.insert(document.id()) {
                self.one(document, Origin::Tool, Some(why));
            }
        }
    }

    /// The documents of an event: those that are shown, then those that were not meant to be.
    fn tree(&mut self, tree: &'m ContentTree, origin: Origin) {
        self.all(tree.shown(), origin);
        let withheld: HashSet<&DocumentId> = tree.withheld().iter().collect();
        for document in tree.documents().iter().filter(|document| withheld.contains(document.id())) {
            self.one(document, origin, Some(Excluded::Withheld));
        }
    }

    /// Documents that stand together: each is shown once, and the same handle listed twice is one document.
    fn all(&mut self, documents: impl IntoIterator<Item = &'m Document>, origin: Origin) {
        let mut seen: HashSet<&DocumentId> = HashSet::new();
        let mut last: HashMap<usize, usize> = HashMap::new();
        for document in documents.into_iter().filter(|document| seen.insert(document.id())) {
            let known = last.insert(self.identities.of(document), self.found.len());
            self.one(document, origin, known.map(Excluded::Duplicate));
        }
    }

    fn one(&mut self, document: &'m Document, origin: Origin, excluded: Option<Excluded>) {
        let identity = self.identities.of(document);
        let Self { message, part, place, .. } = *self;
        let inside = None;
        self.found.push(Occurrence { message, part, document, origin, place, identity, excluded, inside });
    }
}

/// Numbers for documents: the same id or, for external ones, the same URL is the same document.
#[derive(Default)]
struct Identities<'m> {
    by_id: HashMap<&'m DocumentId, usize>,
    by_url: HashMap<&'m str, usize>,
}

impl<'m> Identities<'m> {
    fn of(&mut self, document: &'m Document) -> usize {
        let url = match document.source() {
            DocumentSource::External { url } => Some(&**url),
            _ => None,
        };
        let known = self.by_id.get(document.id()).or_else(|| self.by_url.get(url?)).copied();
        let number = known.unwrap_or(self.by_id.len());
        self.by_id.insert(document.id(), number);
        if let Some(url) = url {
            self.by_url.entry(url).or_insert(number);
        }
        number
    }
}
