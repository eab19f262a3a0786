//! The documents that clients may read by their addresses.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use attache_core::Document;
use attache_transport::percent_encoded;

use super::limits::McpServeLimits;

/// The beginning of the addresses of documents.
const SCHEME: &str = "attache://documents/";

/// The least that a document counts: what is kept of it beside its bytes.
const LEAST: usize = 1 << 10;

/// The documents of results. Each is of one principal, and of one MCP session if there are sessions.
#[derive(Debug, Default)]
pub(super) struct Shelf(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    /// By the order in which they came.
    entries: BTreeMap<u64, Entry>,
    last: u64,
    bytes: usize,
    /// Those of each principal.
    own: HashMap<Arc<str>, Own>,
    /// Those of each MCP session.
    scopes: HashMap<Arc<str>, BTreeSet<u64>>,
}

#[derive(Debug, Default)]
struct Own {
    bytes: usize,
    places: BTreeSet<u64>,
    /// By its address and session.
    found: HashMap<(Arc<str>, Option<Arc<str>>), u64>,
}

#[derive(Clone, Debug)]
struct Entry {
    principal: Arc<str>,
    scope: Option<Arc<str>>,
    uri: Arc<str>,
    document: Document,
    /// The bytes that it counts.
    price: usize,
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
        let (bytes, uri) = (document.bytes()?.len(), address(document));
        let price = bytes.saturating_add(uri.len()).max(LEAST);
        if price > limits.kept_bytes.min(limits.kept_total) {
            return None;
        }
        let mut kept = self.lock();
        if let Some(before) = kept.place(whose, &uri, whose.scope.clone()) {
            kept.remove(before);
        }
        while let Some(own) = kept.own.get(&whose.principal)
            && own.bytes.saturating_add(price) > limits.kept_bytes
            && let Some(oldest) = own.places.first().copied()
        {
            kept.remove(oldest);
        }
        while kept.bytes.saturating_add(price) > limits.kept_total
            && let Some(oldest) = kept.entries.keys().next().copied()
        {
            kept.remove(oldest);
        }
        let (principal, scope) = (Arc::clone(&whose.principal), whose.scope.clone());
        let entry = Entry { principal, scope, uri: Arc::from(&*uri), document: document.clone(), price };
        kept.add(entry);
        Some(uri)
    }

    /// The document at an address. One without a session is had by whoever of its principal knows its address, which nobody
    /// can guess.
    pub(super) fn read(&self, whose: &Whose, uri: &str) -> Option<Document> {
        let kept = self.lock();
        let newest = kept.place(whose, uri, None).max(kept.place(whose, uri, whose.scope.clone()))?;
        kept.entries.get(&newest).map(|entry| entry.document.clone())
    }

    /// The documents of the MCP session, the oldest first; none where there is no session.
    pub(super) fn list(&self, whose: &Whose) -> Vec<(String, Document)> {
        let kept = self.lock();
        let places = whose.scope.as_ref().and_then(|scope| kept.scopes.get(scope)).into_iter().flatten();
        let own = places.filter_map(|place| kept.entries.get(place));
        let own = own.filter(|entry| entry.principal == whose.principal);
        own.map(|entry| (entry.uri.to_string(), entry.document.clone())).collect()
    }

    /// Forgets the documents of an MCP session.
    pub(super) fn forget(&self, scope: &str) {
        let mut kept = self.lock();
        for place in kept.scopes.remove(scope).unwrap_or_default() {
            kept.remove(place);
        }
    }
}

impl Kept {
    fn place(&self, whose: &Whose, uri: &str, scope: Option<Arc<str>>) -> Option<u64> {
        self.own.get(&whose.principal)?.found.get(&(Arc::from(uri), scope)).copied()
    }

    fn add(&mut self, entry: Entry) {
        self.last += 1;
        self.bytes += entry.price;
        let own = self.own.entry(Arc::clone(&entry.principal)).or_default();
        own.bytes += entry.price;
        own.places.insert(self.last);
        own.found.insert((Arc::clone(&entry.uri), entry.scope.clone()), self.last);
        if let Some(scope) = &entry.scope {
            self.scopes.entry(Arc::clone(scope)).or_default().insert(self.last);
        }
        self.entries.insert(self.last, entry);
    }

    fn remove(&mut self, place: u64) {
        let Some(Entry { principal, scope, uri, price, .. }) = self.entries.remove(&place) else { return };
        self.bytes -= price;
        if let Some(own) = self.own.get_mut(&principal) {
            own.bytes -= price;
            own.places.remove(&place);
            own.found.remove(&(uri, scope.clone()));
            if own.places.is_empty() {
                self.own.remove(&principal);
            }
        }
        if let Some(scope) = scope
            && let Some(places) = self.scopes.get_mut(&scope)
        {
            places.remove(&place);
            if places.is_empty() {
                self.scopes.remove(&scope);
            }
        }
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
        let limits = McpServeLimits::new().with_kept_bytes(11_000, 16_000);
        let (shelf, ann) = (Shelf::default(), of("ann", Some("1")));
        let keep = |whose: &Whose, thousands: usize| {
            shelf.keep(whose, &Document::new(vec![7_u8; 1_000 * thousands]), &limits)
        };
        let first = keep(&ann, 6).unwrap();
        let second = keep(&ann, 4).unwrap();
        assert!(shelf.read(&ann, &first).is_some());
        let third = keep(&ann, 6).unwrap();
        assert!(shelf.read(&ann, &first).is_none(), "ann has no more than 11,000 bytes");
        assert!(shelf.read(&ann, &second).is_some());
        let bob = of("bob", Some("2"));
        keep(&bob, 9).unwrap();
        assert!(shelf.read(&ann, &second).is_none(), "all have no more than 16,000 bytes");
        assert!(shelf.read(&ann, &third).is_some());
        assert!(keep(&bob, 11).is_none(), "larger than what is kept");
    }

    #[test]
    fn documents_without_bytes_are_bounded_in_number() {
        let (shelf, limits) = (Shelf::default(), McpServeLimits::new().with_kept_bytes(1 << 20, 1 << 21));
        let keep = |whose: &Whose, named: usize| {
            let document = Document::new(named.to_string()).with_file_name("x".repeat(named));
            shelf.keep(whose, &document, &limits).unwrap()
        };
        let ann = of("ann", Some("1"));
        let first = keep(&ann, 0);
        for _ in 0..10_000 {
            keep(&ann, 1);
        }
        assert!(shelf.read(&ann, &first).is_none());
        assert_eq!(shelf.list(&ann).len(), 1 << 10);
        keep(&ann, 1 << 19);
        assert!(shelf.list(&ann).len() < 600, "names count too");
        // Sums are those of what is there.
        for at in 0..4_000 {
            keep(&of(&format!("user-{}", at % 7), (at % 2 == 0).then_some("2")), at % 100);
        }
        assert_eq!(shelf.lock().entries.len(), 1 << 11);
        shelf.forget("1");
        shelf.forget("2");
        let rest = shelf.lock();
        assert!(rest.scopes.is_empty() && rest.entries.values().all(|entry| entry.scope.is_none()));
        assert_eq!(rest.bytes, rest.entries.values().map(|entry| entry.price).sum::<usize>());
        assert_eq!(rest.bytes, rest.own.values().map(|own| own.bytes).sum::<usize>());
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
