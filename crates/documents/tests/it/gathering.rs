//! Gathering: loading from a store and converting, without a runtime.

use std::collections::HashMap;
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use attache_core::converter::{ConverterError, ConverterErrorKind};
use attache_core::{
    BoxFuture, Converter, Document, DocumentId, DocumentStore, MediaType, ModelCapabilities, StoreError,
    StoreErrorKind, ToolSet,
};
use attache_documents::{ConvertedText, Materials, RouteOptions, Router, gather};
use bytes::Bytes;

use crate::builder::{Chat, PDF, csv, id, model, outcomes, pdf, zip};

/// Runs a future whose store and converters are always ready.
pub(crate) fn ready<T>(future: impl Future<Output = T> + Send) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("nothing here waits"),
    }
}

/// A store that remembers what it was asked for; it fails on what it does not hold.
struct Shelf {
    kept: HashMap<DocumentId, &'static [u8]>,
    fails_with: StoreErrorKind,
    asked: Mutex<Vec<DocumentId>>,
}

impl Shelf {
    fn new(kept: &[(&Document, &'static [u8])], fails_with: StoreErrorKind) -> Self {
        let kept = kept.iter().map(|(document, bytes)| (document.id().clone(), *bytes)).collect();
        Self { kept, fails_with, asked: Mutex::default() }
    }

    fn asked(&self) -> Vec<DocumentId> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }
}

impl DocumentStore for Shelf {
    fn id(&self) -> &str {
        "shelf"
    }

    fn put<'a>(&'a self, _: &'a Document) -> BoxFuture<'a, Result<(), StoreError>> {
        panic!("gathering only reads")
    }

    fn get<'a>(&'a self, id: &'a DocumentId) -> BoxFuture<'a, Result<Bytes, StoreError>> {
        self.asked.lock().unwrap().push(id.clone());
        let found = self.kept.get(id).map(|bytes| Bytes::from_static(bytes));
        let found = found.ok_or_else(|| StoreError::new(self.fails_with, "canary"));
        Box::pin(std::future::ready(found))
    }

    fn delete<'a>(&'a self, _: &'a DocumentId) -> BoxFuture<'a, Result<(), StoreError>> {
        panic!("gathering only reads")
    }
}

/// Makes text of PDFs, unless it is broken.
struct Reader {
    broken: bool,
    made: Mutex<Vec<DocumentId>>,
}

impl Reader {
    fn new(broken: bool) -> Arc<Self> {
        Arc::new(Self { broken, made: Mutex::default() })
    }
}

impl Converter for Reader {
    fn converts(&self, media_type: &MediaType) -> bool {
        media_type.essence() == "application/pdf"
    }

    fn convert<'a>(
        &'a self,
        document: &'a Document,
        bytes: Bytes,
    ) -> BoxFuture<'a, Result<ConvertedText, ConverterError>> {
        assert!(!bytes.is_empty());
        self.made.lock().unwrap().push(document.id().clone());
        let text = if self.broken {
            Err(ConverterError::new(ConverterErrorKind::Malformed, "it is broken"))
        } else {
            Ok(ConvertedText::new("[page 1]"))
        };
        Box::pin(std::future::ready(text))
    }
}

fn gathered(
    materials: &mut Materials,
    chat: &Chat,
    capabilities: &ModelCapabilities,
    store: &Shelf,
    converters: &[Arc<dyn Converter>],
) -> Vec<(&'static str, String)> {
    let options = RouteOptions::new();
    ready(gather(materials, &chat.messages, capabilities, &options, store, None, converters));
    let routing = chat.routed(capabilities, materials, &options).unwrap();
    let reasons = routing.report.decisions.iter().map(|decision| decision.reason.as_str().to_owned());
    outcomes(&routing).into_iter().zip(reasons).collect()
}

fn stored(name: &str, media_type: &str) -> Document {
    Document::stored(id(&format!("{name}-1")), "shelf", media_type).with_file_name(name)
}

#[test]
fn what_is_wanted_is_loaded_and_converted_once() {
    // The type of the second one shows only in its bytes.
    let (kept, unknown) = (stored("a", "application/pdf"), stored("b", "application/octet-stream"));
    let store = Shelf::new(&[(&kept, PDF), (&unknown, PDF)], StoreErrorKind::NotFound);
    let chat = Chat::new()
        .user("?")
        .tool(&[kept.clone(), unknown.clone(), csv("c.csv")])
        .tool(std::slice::from_ref(&kept));
    let reader = Reader::new(false);
    let converters: [Arc<dyn Converter>; 1] = [reader.clone()];
    let mut materials = Materials::new();
    let found = gathered(&mut materials, &chat, &model("offline"), &store, &converters);
    let words: Vec<_> = found.iter().map(|(outcome, _)| *outcome).collect();
    assert_eq!(words, ["converted", "converted", "text", "note"], "the last one stands there already");
    let ids = [kept.id().clone(), unknown.id().clone()];
    assert_eq!((store.asked(), &*reader.made.lock().unwrap()), (ids.to_vec(), &ids.to_vec()));
    // Another model, with what is there: nothing is asked for again.
    let found = gathered(&mut materials, &chat, &model("anthropic"), &store, &converters);
    assert_eq!(found[0].0, "native");
    assert_eq!((store.asked().len(), reader.made.lock().unwrap().len()), (0, 2));
}

// A PDF that no converter changes is looked at once, for the number of its pages.
#[test]
fn a_pdf_that_is_shown_as_it_is_is_not_hashed() {
    let own = pdf("a.pdf");
    let chat = Chat::new().user("?").tool(std::slice::from_ref(&own)).tool(&[own]);
    let (store, mut materials) = (Shelf::new(&[], StoreErrorKind::NotFound), Materials::new());
    let found = gathered(&mut materials, &chat, &model("anthropic"), &store, &[]);
    assert_eq!(found.iter().map(|(outcome, _)| *outcome).collect::<Vec<_>>(), ["native", "note"]);
    for document in chat.messages.iter().flat_map(|message| message.documents()) {
        assert_eq!(document.clone().without_bytes().hash(), None);
    }
}

/// A converter that cannot begin at first, and then can.
#[derive(Default)]
struct Occupied(Mutex<u32>);

impl Occupied {
    fn tried(&self) -> u32 {
        let mut tries = self.0.lock().unwrap();
        *tries += 1;
        *tries
    }
}

impl Converter for Occupied {
    fn converts(&self, media_type: &MediaType) -> bool {
        media_type.essence() == "application/pdf"
    }

    fn convert<'a>(
        &'a self,
        _: &'a Document,
        _: Bytes,
    ) -> BoxFuture<'a, Result<ConvertedText, ConverterError>> {
        Box::pin(std::future::ready(match self.tried() {
            1 | 2 => Err(ConverterError::new(ConverterErrorKind::Busy, "too much is under way")),
            _ => Ok(ConvertedText::new("[page 1]\nThe rent is 900.")),
        }))
    }
}

// A converter that is busy says nothing about the document: it is asked at the next request, and once it answered no more.
#[test]
fn a_busy_converter_is_asked_again() {
    let store = Shelf::new(&[], StoreErrorKind::NotFound);
    let chat = Chat::new().user("?").tool(&[pdf("d.pdf")]);
    let occupied = Arc::new(Occupied::default());
    let converters: [Arc<dyn Converter>; 1] = [occupied.clone()];
    let (mut materials, offline) = (Materials::new(), model("offline"));
    let mut gathered = || gathered(&mut materials, &chat, &offline, &store, &converters).remove(0);
    let (first, second, third, fourth) = (gathered(), gathered(), gathered(), gathered());
    assert!(first.0 == "note" && first.1.ends_with("too much is under way"), "{first:?}");
    assert_eq!((second.0, third.0, fourth.0), ("note", "converted", "converted"));
    assert_eq!(occupied.tried(), 4, "three times before");
}

#[test]
fn what_cannot_be_had_is_said() {
    let (gone, linked) = (stored("a", "application/pdf"), Document::external("https://x/a.pdf?sig=canary"));
    let documents = [gone, linked, zip("c.zip"), pdf("d.pdf")];
    let chat = Chat::new().user("?").tool(&documents);
    let (offline, claude) = (model("offline"), model("anthropic"));
    let reasons = |fails_with, capabilities: &ModelCapabilities| -> Vec<String> {
        let store = Shelf::new(&[], fails_with);
        let converters: [Arc<dyn Converter>; 1] = [Reader::new(true)];
        let found = gathered(&mut Materials::new(), &chat, capabilities, &store, &converters);
        found.into_iter().map(|(_, reason)| reason).collect()
    };
    let missing = reasons(StoreErrorKind::NotFound, &claude);
    assert_eq!(missing[0], "it could not be loaded: its content is not in the store any more");
    assert_eq!(missing[1], "it could not be loaded: it is at an address that is not fetched");
    assert!(
        missing[2].ends_with("could not be converted to text: there is no converter for application/zip")
    );
    assert!(reasons(StoreErrorKind::NotFound, &offline)[3].ends_with("converted to text: it is broken"));
    let failing = reasons(StoreErrorKind::Unavailable, &claude);
    assert_eq!(failing[0], "it could not be loaded: its content cannot be read from the store");
    assert!(!format!("{missing:?}{failing:?}").contains("canary"), "what a store says is for the operator");
}

/// A store may hold what somebody else put under the same id.
#[test]
fn another_document_of_the_same_id_is_not_shown() {
    let own = Document::from_bytes(&b"%PDF-1.7 hers"[..], "").with_id(id("invoice"));
    let chat = |document: &Document| Chat::new().user("?").tool(std::slice::from_ref(document));
    let reason = |document: &Document, kept: &'static [u8]| {
        let store = Shelf::new(&[(document, kept)], StoreErrorKind::NotFound);
        gathered(&mut Materials::new(), &chat(document), &model("anthropic"), &store, &[]).remove(0)
    };
    assert_eq!(reason(&own.clone().without_bytes(), b"%PDF-1.7 hers").0, "native");
    own.hash();
    let known = own.without_bytes();
    assert_eq!(reason(&known, b"%PDF-1.7 hers").0, "native");
    let (outcome, why) = reason(&known, b"%PDF-1.7 his!");
    assert_ne!(outcome, "native");
    assert_eq!(why, "it could not be loaded: the store has another document under its id");
}

/// A store whose answers come when they are let go, newest question first.
#[derive(Default)]
struct Slow {
    asked: Mutex<Vec<(DocumentId, Waker)>>,
    answered: Mutex<Vec<DocumentId>>,
    most: Mutex<usize>,
}

impl DocumentStore for Slow {
    fn id(&self) -> &str {
        "slow"
    }

    fn put<'a>(&'a self, _: &'a Document) -> BoxFuture<'a, Result<(), StoreError>> {
        panic!("gathering only reads")
    }

    fn get<'a>(&'a self, id: &'a DocumentId) -> BoxFuture<'a, Result<Bytes, StoreError>> {
        let mut is_asked = false;
        Box::pin(std::future::poll_fn(move |context| {
            if self.answered.lock().unwrap().contains(id) {
                return Poll::Ready(Ok(Bytes::from_static(PDF)));
            }
            let mut asked = self.asked.lock().unwrap();
            if !std::mem::replace(&mut is_asked, true) {
                asked.push((id.clone(), context.waker().clone()));
            }
            let mut most = self.most.lock().unwrap();
            *most = (*most).max(asked.len());
            Poll::Pending
        }))
    }

    fn delete<'a>(&'a self, _: &'a DocumentId) -> BoxFuture<'a, Result<(), StoreError>> {
        panic!("gathering only reads")
    }
}

// Waiting for one is no reason not to ask for the next, up to a bound; what comes of it is the same in any order.
#[test]
fn documents_are_loaded_side_by_side() {
    let documents: Vec<_> = (0..20).map(|n| stored(&format!("{n}"), "application/pdf")).collect();
    let chat = Chat::new().user("?").tool(&documents);
    let (capabilities, options, store) = (model("openai-chat"), RouteOptions::new(), Slow::default());
    let mut materials = Materials::new();
    let mut rounds = 0;
    {
        let mut all =
            pin!(gather(&mut materials, &chat.messages, &capabilities, &options, &store, None, &[]));
        while all.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {
            rounds += 1;
            let (id, _) = store.asked.lock().unwrap().pop().unwrap();
            store.answered.lock().unwrap().push(id);
        }
    }
    assert_eq!((rounds, *store.most.lock().unwrap()), (20, 8));
    let kept: Vec<_> = documents.iter().map(|document| (document, PDF)).collect();
    let mut one_by_one = Materials::new();
    let shelf = Shelf::new(&kept, StoreErrorKind::NotFound);
    gathered(&mut one_by_one, &chat, &capabilities, &shelf, &[]);
    let routed = |have: &Materials| chat.routed(&capabilities, have, &options).unwrap();
    assert_eq!(routed(&materials), routed(&one_by_one));
}

// Whoever stops waiting keeps what came so far.
#[test]
fn what_was_gathered_stays_when_gathering_is_dropped() {
    let documents: Vec<_> = (0..3).map(|n| stored(&format!("{n}"), "application/pdf")).collect();
    let chat = Chat::new().user("?").tool(&documents);
    let (capabilities, options, store) = (model("openai-chat"), RouteOptions::new(), Slow::default());
    store.answered.lock().unwrap().push(documents[1].id().clone());
    let mut materials = Materials::new();
    {
        let all = pin!(gather(&mut materials, &chat.messages, &capabilities, &options, &store, None, &[]));
        assert!(all.poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    let left = attache_documents::plan(&chat.messages, &capabilities, &options, &materials);
    assert_eq!(left.load, [documents[0].clone(), documents[2].clone()]);
}

// Materials that were brought for one request are there for the next.
#[test]
fn a_router_brings_what_it_routes() {
    let (lease, gone) = (stored("lease", "application/pdf"), stored("gone", "application/pdf"));
    let chat = Chat::new().user("?").tool(&[lease.clone(), gone]);
    let store = Arc::new(Shelf::new(&[(&lease, PDF)], StoreErrorKind::NotFound));
    let mut router = Router::new(model("offline"))
        .store(store.clone())
        .converter(Reader { broken: false, made: Mutex::default() });
    let tools = ToolSet::default();
    let routing = ready(router.route(&chat.messages, &tools)).unwrap();
    assert_eq!(outcomes(&routing), ["converted", "note"]);
    assert_eq!(store.asked().len(), 2);
    let again = ready(router.route(&chat.messages, &tools)).unwrap();
    // A document that could not be had is asked for again, in case the store is well by now.
    assert_eq!((again.messages, store.asked()), (routing.messages, vec![id("gone-1")]));
    // A document that no message holds is let go.
    ready(router.route(&Chat::new().user("?").messages, &tools)).unwrap();
    ready(router.route(&chat.messages, &tools)).unwrap();
    assert_eq!(store.asked().len(), 2);
    // Without a store only what is in memory is there.
    let routing = ready(Router::new(model("openai")).route(&chat.messages, &tools)).unwrap();
    assert_eq!(outcomes(&routing), ["note", "note"]);
}
