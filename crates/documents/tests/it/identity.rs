//! A document is its id and its content: invariant 16.

use std::sync::Mutex;

use attache_core::converter::Transcoded;
use attache_core::fetcher::{FetchError, Fetched, Fetcher};
use attache_core::{
    BoxFuture, ContentTree, Document, DocumentId, DocumentStore, Message, StoreError, StoreErrorKind,
    ToolResult, UserPart,
};
use attache_documents::{
    BackReferences, ConvertedText, DocumentOutcome, Material, Materials, ReasonKind, RouteOptions, Routing,
    gather, plan,
};
use bytes::Bytes;

use crate::builder::{Chat, PNG, doc, id, model, only, outcomes, pdf, shown, tree};
use crate::gathering::ready;

/// The contract under one id, in some version.
fn contract(version: &str) -> Document {
    doc("contract.pdf", format!("%PDF-1.7 {version}").as_bytes(), "application/pdf")
}

fn natives(routing: &Routing) -> Vec<String> {
    let mut found = Vec::new();
    for message in &routing.messages {
        let Message::ToolResults(results) = &**message else { continue };
        for content in results.results.iter().flat_map(ToolResult::attached) {
            if let UserPart::Document(document) = content {
                found.push(String::from_utf8_lossy(&document.bytes().unwrap()).into_owned());
            }
        }
    }
    found
}

#[test]
fn a_new_version_under_the_old_id_is_shown() {
    let chat =
        Chat::new().user("?").tool(&[contract("one")]).tool(&[contract("two")]).tool(&[contract("one")]);
    let routing = chat.route("anthropic");
    assert_eq!(outcomes(&routing), ["native", "native", "note"]);
    assert_eq!(natives(&routing), ["%PDF-1.7 one", "%PDF-1.7 two"]);
    assert_eq!(routing.report.decisions[2].reason.kind(), ReasonKind::ShownBefore);
    assert!(
        routing.report.decisions[2].reason.as_str().ends_with("call_1"),
        "the first version stands there"
    );
}

#[test]
fn two_versions_in_one_output_are_two_documents() {
    let both = ContentTree::parse("{}", vec![contract("one"), contract("two"), contract("one")]).unwrap();
    let routing = Chat::new().user("?").calls(&[("find", both)]).route("anthropic");
    assert_eq!(natives(&routing), ["%PDF-1.7 one", "%PDF-1.7 two"]);
    assert_eq!(routing.report.decisions.len(), 2);
    // A document that a handler shows in place of another does not make that one disappear from the report.
    let chat = Chat::new().user("?").calls_with(&[("find", tree(&[contract("whole")]))], |_, result| {
        result.documents = vec![contract("redacted")];
    });
    let routing = chat.route("anthropic");
    assert_eq!(outcomes(&routing), ["native", "withheld"]);
    assert_eq!(natives(&routing), ["%PDF-1.7 redacted"]);
}

// The text of one version is not shown for the other.
#[test]
fn texts_and_forms_belong_to_a_version() {
    let (one, two) = (contract("one"), contract("two"));
    let chat = Chat::new().user("?").tool(std::slice::from_ref(&one)).tool(std::slice::from_ref(&two));
    let (offline, options) = (model("offline"), RouteOptions::new());
    let mut have = Materials::new();
    assert_eq!(plan(&chat.messages, &offline, &options, &have).convert.len(), 2);
    have.insert(&one, ConvertedText::new("text of one"));
    assert_eq!(plan(&chat.messages, &offline, &options, &have).convert.len(), 1);
    have.insert(&two, ConvertedText::new("text of two"));
    let routing = chat.routed(&offline, &have, &options).unwrap();
    assert!(shown(&routing.messages[2])[1].contains("\ntext of one\n"));
    assert!(shown(&routing.messages[4])[1].contains("\ntext of two\n"));

    let claude = model("anthropic");
    let wanted = plan(&chat.messages, &claude, &options, &Materials::new()).transcode;
    assert_eq!(wanted.len(), 2);
    let mut have = Materials::new();
    have.insert(&wanted[0].0, Material::Untranscodable(wanted[0].1.clone(), "it is encrypted".into()));
    have.insert(&wanted[0].0, Material::Unconvertible("it is encrypted".into()));
    have.insert(&wanted[1].0, Material::Transcoded(wanted[1].1.clone(), Transcoded::unchanged()));
    let pages = plan(&chat.messages, &claude, &options, &have).render.remove(0);
    have.insert(&pages.0, Material::Unrenderable(pages.1.clone(), "it is encrypted".into()));
    assert!(plan(&chat.messages, &claude, &options, &have).is_empty());
    assert_eq!(outcomes(&chat.routed(&claude, &have, &options).unwrap()), ["note", "native"]);
    // Documents inside both have the same ids, too.
    let (mut have, inner) = (Materials::new(), |bytes: &[u8]| doc("in.pdf", bytes, "application/pdf"));
    have.insert(&one, ConvertedText::new("one").with_attachment(inner(b"%PDF-1 in one")));
    have.insert(&two, ConvertedText::new("two").with_attachment(inner(b"%PDF-1 in two")));
    let mut texts = claude;
    texts.tool_result.media.retain(|media| media == "text");
    let report = chat.routed(&texts, &have, &options).unwrap().report;
    assert_eq!(report.count(DocumentOutcome::Synthetic), 2, "{report:?}");
}

// A handle without bytes stands for what the store holds.
#[test]
fn what_was_loaded_is_the_same_as_what_is_in_memory() {
    let stored = Document::stored(contract("one").id().clone(), "main", "application/pdf")
        .with_file_name("contract.pdf");
    let chat = Chat::new().user("?").tool(&[contract("one")]).tool(std::slice::from_ref(&stored));
    for (kept, words) in [("one", ["native", "note"]), ("two", ["native", "native"])] {
        let mut have = Materials::new();
        have.insert(&stored, Material::Bytes(format!("%PDF-1.7 {kept}").into_bytes().into()));
        let routing = chat.routed(&model("anthropic"), &have, &RouteOptions::new()).unwrap();
        assert_eq!(outcomes(&routing), words, "{kept}");
    }
    // A name of its own changes nothing about what it is.
    let renamed =
        Chat::new().user("?").tool(&[contract("one")]).tool(&[contract("one").with_file_name("x.pdf")]);
    assert_eq!(outcomes(&renamed.route("anthropic")), ["native", "note"]);
}

/// Keeps nothing.
struct Nothing;

impl DocumentStore for Nothing {
    fn id(&self) -> &str {
        "nothing"
    }

    fn put<'a>(&'a self, _: &'a Document) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async { Ok(()) })
    }

    fn get<'a>(&'a self, _: &'a DocumentId) -> BoxFuture<'a, Result<Bytes, StoreError>> {
        Box::pin(async { Err(StoreError::new(StoreErrorKind::NotFound, "nothing is kept")) })
    }

    fn delete<'a>(&'a self, _: &'a DocumentId) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async { Ok(()) })
    }
}

/// Shows another picture each time.
#[derive(Default)]
struct Camera(Mutex<u8>);

impl Fetcher for Camera {
    fn fetch<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Fetched, FetchError>> {
        let mut frame = self.0.lock().unwrap();
        *frame += 1;
        let picture = [PNG, format!(" frame {frame}").as_bytes()].concat();
        Box::pin(std::future::ready(Ok(Fetched::new(picture))))
    }
}

#[test]
fn an_address_is_fetched_for_each_handle_on_it() {
    let now = || Document::external("https://camera.example/latest.png");
    let (first, later) = (now(), now());
    for (documents, repeats, fetches, words) in [
        ([&first, &later], BackReferences::AcrossMessages, 2, ["native", "native"]),
        ([&first, &later], BackReferences::Never, 2, ["native", "native"]),
        // The same handle is the same document, which is how a caller says so.
        ([&first, &first], BackReferences::AcrossMessages, 1, ["native", "note"]),
        ([&first, &first], BackReferences::Never, 1, ["native", "native"]),
    ] {
        let chat = Chat::new().user("now?").tool(&[documents[0].clone()]).tool(&[documents[1].clone()]);
        let (camera, options) = (Camera::default(), RouteOptions::new().with_back_references(repeats));
        let (mut have, claude) = (Materials::new(), model("anthropic"));
        ready(gather(&mut have, &chat.messages, &claude, &options, &Nothing, Some(&camera), &[]));
        let routing = chat.routed(&claude, &have, &options).unwrap();
        assert_eq!(outcomes(&routing), words, "{repeats:?}");
        assert_eq!(*camera.0.lock().unwrap(), fetches, "{repeats:?}");
        if fetches == 2 {
            assert!(natives(&routing)[0].ends_with("frame 1") && natives(&routing)[1].ends_with("frame 2"));
        }
    }
}

// The ids of two documents may begin alike: the longer prefixes are those that nothing else begins with.
#[test]
fn short_ids_that_collide_are_longer() {
    let named = |text: &str| pdf("x.pdf").with_id(id(text)).with_file_name("");
    let documents = ["inv-2025-1", "inv-2025-1-b", "inv-2025-2", "inv-2026-1", "inv", "other-1"].map(named);
    let routing = Chat::new().user("?").tool(&documents).route("openai-chat");
    let labels: Vec<_> = shown(&routing.messages[3])
        .iter()
        .filter_map(|text| text.split_once("short-id=\"")?.1.split_once('"').map(|(id, _)| id.to_owned()))
        .collect();
    assert_eq!(labels, ["inv-2025-1", "inv-2025-1-b", "inv-2025-2", "inv-2026", "inv", "other"]);
    let alone = Chat::new().user("?").tool(&[named("inv-2025-1")]);
    assert_eq!(only(&alone.route("anthropic")).document_id, id("inv-2025-1"));
}
