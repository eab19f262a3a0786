//! The documents that clients may read by their addresses.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use attache_core::Document;
use attache_transport::percent_encoded;

use super::limits::McpServeLimits;

/// The beginning of the addresses of documents.
const SCHEME: &str = "attache://documents/";

/// The documents of results, the oldest first. Each is of one principal, and of one MCP session if there are sessions.
#[derive(Debug, Default)]
pub(super) struct Shelf(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    entries: VecDeque<Entry>,
    bytes: usize,
}

#[derive(Clone, Debug)]
struct Entry {
    principal: Arc<str>,
    scope: Option<Arc<str>>,
    uri: String,
    document: Document,
    bytes: usize,
}

/// On whose behalf a request is made, and in which MCP session.
#[derive(Clone, Debug)]
pub(super) struct Whose {
    pub(super) principal: Arc<str>,
    /// None where each request stands for itself.
    pub(super) scope: Option<Arc<str>>,
    /// True if its user may approve calls.
    pub(super) may_approve: bool,
}

impl Whose {
    /// Documents without a session are had by whoever of the principal knows their address, which nobody can guess.
    fn may_read(&self, entry: &Entry) -> bool {
        entry.principal == self.principal && (entry.scope.is_none() || entry.scope == self.scope)
    }
}

/// The address of a document: its id, as its references have it, and its name.
pub(super) fn address(document: &Document) -> String {
    let id = percent_encoded(document.id().as_str().as_bytes());
    format!("{SCHEME}{id}/{}", percent_encoded(name(document).as_bytes()))
}

/// The file name of a document, or one of its type.
pub(super) fn name(document: &Document) -> String {
    match document.file_name() {
        Some(name) => name.to_owned(),
        None => match document.media_type().extension() {
            Some(extension) => format!("document.{extension}"),
            None => "document".to_owned(),
        },
    }
}

impl Shelf {
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a document whose bytes are in memory, and says where; none if it is larger than what is kept.
    pub(super) fn keep(&self, whose: &Whose, document: &Document, limits: &McpServeLimits) -> Option<String> {
        let bytes = document.bytes()?.len();
        if bytes > limits.kept_bytes.min(limits.kept_total) {
            return None;
        }
        let uri = address(document);
        let mut kept = self.lock();
        kept.remove(|entry| {
            entry.uri == uri && entry.principal == whose.principal && entry.scope == whose.scope
        });
        let own = |kept: &Kept| -> usize {
            kept.entries
                .iter()
                .filter(|entry| entry.principal == whose.principal)
                .map(|entry| entry.bytes)
                .sum()
        };
        let mut mine = own(&kept);
        while mine.saturating_add(bytes) > limits.kept_bytes {
            mine -= kept.remove_first(|entry| entry.principal == whose.principal);
        }
        while kept.bytes.saturating_add(bytes) > limits.kept_total {
            kept.remove_first(|_| true);
        }
        kept.bytes += bytes;
        kept.entries.push_back(Entry {
            principal: Arc::clone(&whose.principal),
            scope: whose.scope.clone(),
            uri: uri.clone(),
            document: document.clone(),
            bytes,
        });
        Some(uri)
    }

    /// The document at an address.
    pub(super) fn read(&self, whose: &Whose, uri: &str) -> Option<Document> {
        let kept = self.lock();
        let found = kept.entries.iter().rev().find(|entry| entry.uri == uri && whose.may_read(entry));
        found.map(|entry| entry.document.clone())
    }

    /// The documents of the MCP session, the oldest first; none where there is no session.
    pub(super) fn list(&self, whose: &Whose) -> Vec<(String, Document)> {
        if whose.scope.is_none() {
            return Vec::new();
        }
        let kept = self.lock();
        let own = kept.entries.iter().filter(|entry| entry.scope.is_some() && whose.may_read(entry));
        own.map(|entry| (entry.uri.clone(), entry.document.clone())).collect()
    }

    /// Forgets the documents of an MCP session.
    pub(super) fn forget(&self, scope: &str) {
        self.lock().remove(|entry| entry.scope.as_deref() == Some(scope));
    }
}

impl Kept {
    fn remove(&mut self, goes: impl Fn(&Entry) -> bool) {
        self.entries.retain(|entry| !goes(entry));
        self.bytes = self.entries.iter().map(|entry| entry.bytes).sum();
    }

    /// Removes the oldest of those, and says how many bytes it had.
    fn remove_first(&mut self, goes: impl Fn(&Entry) -> bool) -> usize {
        let found = self.entries.iter().position(goes).and_then(|at| self.entries.remove(at));
        let bytes = found.map_or(0, |entry| entry.bytes);
        self.bytes -= bytes;
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(principal: &str, scope: Option<&str>) -> Whose {
        Whose { principal: principal.into(), scope: scope.map(Arc::from), may_approve: true }
    }

    #[test]
    fn the_oldest_documents_go_first() {
        let (shelf, limits) = (Shelf::default(), McpServeLimits::new().with_kept_bytes(10, 15));
        let ann = of("ann", Some("1"));
        let keep =
            |whose: &Whose, bytes: usize| shelf.keep(whose, &Document::new(vec![7_u8; bytes]), &limits);
        let first = keep(&ann, 6).unwrap();
        let second = keep(&ann, 4).unwrap();
        assert!(shelf.read(&ann, &first).is_some());
        let third = keep(&ann, 6).unwrap();
        assert!(shelf.read(&ann, &first).is_none(), "ann has no more than 10 bytes");
        assert!(shelf.read(&ann, &second).is_some());
        let bob = of("bob", Some("2"));
        keep(&bob, 9).unwrap();
        assert!(shelf.read(&ann, &second).is_none(), "all have no more than 15 bytes");
        assert!(shelf.read(&ann, &third).is_some());
        assert!(keep(&bob, 11).is_none(), "larger than what is kept");
    }

    #[test]
    fn nobody_reads_documents_of_another_principal_or_session() {
        let (shelf, limits) = (Shelf::default(), McpServeLimits::new());
        let document = Document::new("words").with_file_name("a b.txt");
        let uri = shelf.keep(&of("ann", Some("1")), &document, &limits).unwrap();
        assert!(uri.ends_with("/a%20b.txt"), "{uri}");
        assert!(shelf.read(&of("ann", Some("1")), &uri).is_some());
        for other in [of("bob", Some("1")), of("ann", Some("2")), of("ann", None)] {
            assert!(shelf.read(&other, &uri).is_none());
            assert!(shelf.list(&other).is_empty());
        }
        shelf.forget("1");
        assert!(shelf.read(&of("ann", Some("1")), &uri).is_none());
    }

    #[test]
    fn sessions_of_one_principal_keep_the_same_document_each() {
        let (shelf, limits) = (Shelf::default(), McpServeLimits::new());
        let document = Document::new("words");
        let (one, two) = (of("ann", Some("1")), of("ann", Some("2")));
        let uri = shelf.keep(&one, &document, &limits).unwrap();
        assert_eq!(shelf.keep(&two, &document, &limits).as_ref(), Some(&uri));
        assert!(shelf.read(&one, &uri).is_some() && shelf.read(&two, &uri).is_some());
        shelf.forget("2");
        assert!(shelf.read(&one, &uri).is_some());
    }
}
