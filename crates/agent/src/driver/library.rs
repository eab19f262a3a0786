//! The documents of a run, for routing and for tools.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use attache_core::tool::ConversationDocuments;
use attache_core::{Document, DocumentId, Message};
use attache_documents::{Materials, RoutingReport, needs_routing};

use crate::driver::truncate::shortened;
use crate::log::Routed;
use crate::memory::message_tokens::kept_id;
use crate::run::Run;
use crate::setup::Setup;

/// The documents and results that this run has loaded, converted and shortened, each once.
pub(super) struct Library {
    pub(super) materials: Materials,
    pub(super) reported: Option<Arc<RoutingReport>>,
    /// The last one that the log has.
    recorded: Option<Arc<RoutingReport>>,
    /// Messages that are sent in another form, by where the message is in memory, with the message that is kept there:
    /// results that are too long, and replies whose documents were loaded.
    replaced: HashMap<usize, (Arc<Message>, Arc<Message>)>,
    /// The documents that tools may take.
    documents: ConversationDocuments,
    /// The length from which on a tool reads results as documents, beside those that are cut; `None` without such a
    /// tool.
    keeps_above: Option<usize>,
    seen: usize,
    seen_found: usize,
    needs_routing: bool,
    has_made: bool,
}

impl Library {
    pub(super) fn new(setup: &Setup) -> Self {
        let cleared = setup.memory.as_ref().and_then(|memory| memory.clears_above());
        let reads = setup.routing.read_tool.is_some();
        Self {
            materials: Materials::default(),
            reported: None,
            recorded: None,
            replaced: HashMap::new(),
            documents: ConversationDocuments::new().with_store(Arc::clone(&setup.store)),
            keeps_above: reads.then_some(cleared.unwrap_or(usize::MAX)),
            seen: 0,
            seen_found: 0,
            needs_routing: false,
            has_made: false,
        }
    }

    /// Reads what the run met since the last look, in the order in which it met it.
    pub(super) fn catch_up(&mut self, run: &Run) {
        loop {
            let found = run.found().get(self.seen_found);
            // Documents inside others come behind the messages that stood there when they were found.
            let until = found.map_or(run.history().len(), |(at, _)| *at);
            if self.seen < until {
                let new = run.history().get(self.seen..until).unwrap_or_default();
                self.needs_routing = self.needs_routing || new.iter().any(|message| needs_routing(message));
                self.has_made = self.has_made || new.iter().any(makes);
                self.documents.add(new);
                if let Some(length) = self.keeps_above {
                    let length = length.min(run.limits().max_result_chars);
                    kept_results(new, length).for_each(|document| self.documents.insert(&document));
                }
                self.seen = until;
            }
            let Some((_, message)) = found else { return };
            self.documents.add([message]);
            self.seen_found += 1;
        }
    }

    /// True if some of the conversation is to be shown otherwise than it is.
    pub(super) fn needs_routing(&self) -> bool {
        self.needs_routing
    }

    /// True if the model made documents.
    pub(super) fn has_made(&self) -> bool {
        self.has_made
    }

    /// The last report as an entry of the log, unless that has it.
    pub(super) fn unrecorded(&mut self) -> Option<Routed> {
        let report = self.reported.as_ref()?;
        let before = self.recorded.replace(Arc::clone(report));
        match before {
            Some(before) if Arc::ptr_eq(&before, report) => None,
            before => {
                let before = before.as_ref().map(|before| before.decisions.as_slice());
                Some(Routed::since(before.unwrap_or_default(), &report.decisions))
            }
        }
    }

    /// The documents inside others that no tool can take yet.
    pub(super) fn unmet(&self) -> Vec<Document> {
        let mut unmet: Vec<Document> = Vec::new();
        for document in self.materials.inside() {
            if self.documents.get(document.id()).is_none()
                && unmet.iter().all(|known| known.id() != document.id())
            {
                unmet.push(document.clone());
            }
        }
        // The materials keep no order.
        unmet.sort_by(|one, other| one.id().cmp(other.id()));
        unmet
    }

    /// The documents that a tool gets: no copy of the list.
    pub(super) fn documents(&self) -> ConversationDocuments {
        self.documents.clone()
    }

    /// Lets go what belongs to messages that the window no longer shows.
    pub(super) fn forget_unseen(&mut self, messages: &[Arc<Message>]) {
        let seen: HashSet<&DocumentId> =
            messages.iter().flat_map(|message| message.documents()).map(Document::id).collect();
        self.materials.retain(|id| seen.contains(id));
        let shown: HashSet<usize> = messages.iter().map(address).collect();
        self.replaced.retain(|address, _| shown.contains(address));
    }

    /// The messages with results no longer than the model shall read. A message that is short enough stays the same
    /// pointer.
    pub(super) fn shorten(&mut self, messages: &mut [Arc<Message>], max_chars: usize, reader: Option<&str>) {
        for message in messages {
            let Message::ToolResults(results) = &**message else { continue };
            // A character takes at least a byte, so most results need no closer look.
            if results.results.iter().all(|result| result.tree.json().len() <= max_chars) {
                continue;
            }
            let (_, short) = self.replaced.entry(address(message)).or_insert_with(|| {
                let short =
                    shortened(results, max_chars, reader).map(|short| Message::ToolResults(short).shared());
                (Arc::clone(message), short.unwrap_or_else(|| Arc::clone(message)))
            });
            *message = Arc::clone(short);
        }
    }

    /// The message that is sent in the place of another one, if it is known.
    pub(super) fn replaced(&self, message: &Arc<Message>) -> Option<Arc<Message>> {
        self.replaced.get(&address(message)).map(|(_, other)| Arc::clone(other))
    }

    /// Sends another message in the place of one, as long as that is shown.
    pub(super) fn replace(&mut self, message: &Arc<Message>, with: &Arc<Message>) {
        self.replaced.insert(address(message), (Arc::clone(message), Arc::clone(with)));
    }
}

fn makes(message: &Arc<Message>) -> bool {
    matches!(&**message, Message::Assistant(reply) if reply.documents().next().is_some())
}

/// The results that are longer than so many characters, as documents that a tool reads.
fn kept_results(messages: &[Arc<Message>], length: usize) -> impl Iterator<Item = Document> {
    let results = messages.iter().filter_map(|message| match &**message {
        Message::ToolResults(results) => Some(&results.results),
        _ => None,
    });
    // A character takes at least a byte.
    let long = results.flatten().filter(move |result| result.tree.json().len() > length);
    long.filter_map(|result| {
        let id = DocumentId::parse(kept_id(result))?;
        Some(Document::inline(result.tree.model_text()).with_id(id))
    })
}

fn address(message: &Arc<Message>) -> usize {
    Arc::as_ptr(message).addr()
}
