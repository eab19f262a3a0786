//! Where documents stand in the messages.

use std::collections::HashSet;
use std::sync::Arc;

use attache_core::capability::Place;
use attache_core::message::{UNANSWERED, UserOrigin};
use attache_core::{
    ContentTree, Document, DocumentId, Message, ResultStatus, ToolResult, UserMessage, UserPart,
};

use crate::find::identity::Identities;
use crate::materials::Materials;
use crate::text::imitation::pretends;

/// One document in one place: in a tool result, or in a part of a user message.
#[derive(Clone, Copy, Debug)]
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

/// The side that brought the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Tool,
    Event,
    Author {
        /// True in the turn that the author began last, of what they attached themselves.
        current: bool,
    },
}

/// Why a document of a tool result is not looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Excluded {
    Withheld,
    Cancelled,
}

/// All that there is to route.
#[derive(Default)]
pub(crate) struct Survey<'m> {
    /// Every document, in message order.
    pub(crate) occurrences: Vec<Occurrence<'m>>,
    /// The number of tool results.
    pub(crate) results: usize,
    /// True if an earlier routing left something in the messages, or an event imitates a label or a fence.
    pub(crate) to_rewrite: bool,
    /// Which documents are the same.
    pub(crate) identities: Identities<'m>,
}

/// True if [`route`](crate::route) may change how that message is shown: it contains a document, it is an event that
/// imitates a label or the fence around a text, or it has content from an earlier routing.
///
/// A conversation without such a message needs no routing.
///
/// ```
/// use attache_core::{ContentTree, Message, UserMessage};
/// use attache_documents::needs_routing;
///
/// let event = |text| Message::User(UserMessage::event(ContentTree::text(text)));
/// assert!(needs_routing(&event("<document filename=\"lease.pdf\" />")));
/// assert!(!needs_routing(&event("a lease came")));
/// ```
pub fn needs_routing(message: &Message) -> bool {
    let imitates = |user: &UserMessage| user.origin == UserOrigin::Event && pretends(user);
    !message.documents().is_empty()
        || message.stamp() != 0
        || matches!(message, Message::User(user) if imitates(user))
}

/// Looks through the messages once. Synthetic messages are projections, so they hold no documents.
pub(crate) fn survey<'m>(messages: &'m [Arc<Message>], materials: &'m Materials) -> Survey<'m> {
    let mut survey = Survey::default();
    let mut beside_results = false;
    // An author's messages belong to one turn until the model or a tool has answered, or a run has failed without.
    let (mut turn, mut answered) = (0, true);
    for (at, message) in messages.iter().enumerate() {
        let Survey { occurrences: found, results: count, to_rewrite, identities } = &mut survey;
        let mut put = Put { found, identities, materials, message: at, part: 0, place: Place::User };
        match &**message {
            Message::System(_) => {}
            Message::Assistant(_) => (beside_results, answered) = (false, true),
            Message::ToolResults(results) => {
                (beside_results, answered) = (true, true);
                *count += results.results.len();
                for (part, result) in results.results.iter().enumerate() {
                    *to_rewrite |= result.routed.is_some();
                    if !(result.documents.is_empty() && result.tree.documents().is_empty()) {
                        (put.part, put.place) = (part, place_of(result));
                        put.result(result);
                    }
                }
            }
            Message::User(user) => {
                *to_rewrite |= user.routed.is_some();
                let origin = match user.origin {
                    UserOrigin::ToolCallDocuments => {
                        *to_rewrite = true;
                        continue;
                    }
                    UserOrigin::Event => {
                        *to_rewrite |= pretends(user);
                        Origin::Event
                    }
                    _ => {
                        if user.metadata.get(UNANSWERED).is_some() {
                            (turn, answered) = (at + 1, true);
                        } else if std::mem::take(&mut answered) {
                            turn = at;
                        }
                        Origin::Author { current: false }
                    }
                };
                // On the wire it joins the user content after the results, if it is not divided from it.
                put.place = if beside_results { Place::AfterToolResults } else { Place::User };
                for (part, content) in user.parts.iter().enumerate() {
                    put.part = part;
                    match content {
                        UserPart::Document(document) => put.one(document, origin, None),
                        UserPart::Object(tree) => put.tree(tree, origin),
                        _ => {}
                    }
                }
            }
            // A kind of message that this version does not know holds no documents that it could find.
            _ => {}
        }
    }
    for occurrence in survey.occurrences.iter_mut().rev().take_while(|occurrence| occurrence.message >= turn)
    {
        if let Origin::Author { current } = &mut occurrence.origin {
            *current = true;
        }
    }
    survey
}

/// The result's place.
pub(crate) fn place_of(result: &ToolResult) -> Place {
    if result.is_error() { Place::FailedResult } else { Place::ToolResult }
}

struct Put<'a, 'm> {
    found: &'a mut Vec<Occurrence<'m>>,
    identities: &'a mut Identities<'m>,
    materials: &'m Materials,
    message: usize,
    part: usize,
    place: Place,
}

impl<'m> Put<'_, 'm> {
    /// The documents that are shown, in the handler's order, then those of the tree that are not.
    fn result(&mut self, result: &'m ToolResult) {
        let cancelled = result.status == ResultStatus::Cancelled;
        let kept_back: HashSet<&DocumentId> = result.withheld.iter().collect();
        let withheld = |document: &Document| cancelled || kept_back.contains(document.id());
        let why = if cancelled { Excluded::Cancelled } else { Excluded::Withheld };
        let mut seen = HashSet::new();
        for document in result.documents.iter().filter(|document| !withheld(document)) {
            self.once(document, Origin::Tool, None, &mut seen);
        }
        for document in result.tree.documents().iter().chain(&result.documents) {
            self.once(document, Origin::Tool, Some(why), &mut seen);
        }
    }

    /// The documents of a user part, the same one listed twice being one: those that are shown, then those that were not
    /// meant to be.
    fn tree(&mut self, tree: &'m ContentTree, origin: Origin) {
        let mut seen = HashSet::new();
        tree.shown().for_each(|document| self.once(document, origin, None, &mut seen));
        let withheld: HashSet<&DocumentId> = tree.withheld().iter().collect();
        for document in tree.documents().iter().filter(|document| withheld.contains(document.id())) {
            self.once(document, origin, Some(Excluded::Withheld), &mut seen);
        }
    }

    fn once(
        &mut self,
        document: &'m Document,
        origin: Origin,
        excluded: Option<Excluded>,
        seen: &mut HashSet<usize>,
    ) {
        if seen.insert(self.identities.of(document, self.materials)) {
            self.one(document, origin, excluded);
        }
    }

    fn one(&mut self, document: &'m Document, origin: Origin, excluded: Option<Excluded>) {
        let identity = self.identities.of(document, self.materials);
        let Self { message, part, place, .. } = *self;
        let inside = None;
        self.found.push(Occurrence { message, part, document, origin, place, identity, excluded, inside });
    }
}
