//! The tool with which a model asks for more of a document.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a broken expectation is a failed test"
)]

mod charsets;
mod images;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use attache_agent::{
    Agent, AgentBuilder, BuildError, Disposition, EventKind, Limits, MemoryDocumentStore, NoArguments,
    Outcome, RunInput, tool_fn,
};
use attache_core::converter::{ConvertedText, ConverterError, ConverterErrorKind, Transcoded, Units};
use attache_core::{
    BoxFuture, Converter, Document, DocumentId, DocumentStore, Effect, MediaType, Message, ToolError,
    UserMessage,
};
use attache_documents::{RouteOptions, unfence};
use attache_testkit::{ScriptedModel, Turn};
use attache_tools::ReadDocument;
use bytes::Bytes;
use proptest::prelude::*;
use serde_json::{Value, json};

/// How often something happened.
#[derive(Clone, Default)]
struct Counter(Arc<AtomicUsize>);

impl Counter {
    fn add(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    fn get(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

const ID: &str = "7d41c0b2-93e5-4f6a-8b1d-2a6e5f0c9d34";

fn named(document: Document, name: &str) -> Document {
    document.with_id(DocumentId::parse(ID).unwrap()).with_file_name(name)
}

/// A PDF for [`Pages`]: its pages are divided by form feeds.
fn pdf(pages: impl IntoIterator<Item = impl AsRef<str>>) -> Document {
    let pages: Vec<String> = pages.into_iter().map(|page| page.as_ref().to_owned()).collect();
    named(Document::from_bytes(format!("%PDF-1.7\n{}", pages.join("\x0c")), "application/pdf"), "lease.pdf")
}

/// Reads PDFs of [`pdf`], and counts how often.
#[derive(Clone, Default)]
struct Pages {
    conversions: Counter,
    cuts: bool,
}

fn pages_of(bytes: &Bytes) -> Vec<String> {
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    text.trim_start_matches("%PDF-1.7\n").split('\x0c').map(str::to_owned).collect()
}

impl Converter for Pages {
    fn converts(&self, media_type: &MediaType) -> bool {
        media_type.essence() == "application/pdf"
    }

    fn convert<'a>(
        &'a self,
        _document: &'a Document,
        bytes: Bytes,
    ) -> BoxFuture<'a, Result<ConvertedText, ConverterError>> {
        self.conversions.add();
        Box::pin(async move {
            // So that calls beside this one find it under way.
            tokio::task::yield_now().await;
            let pages = pages_of(&bytes);
            if pages.iter().all(|page| page.trim().is_empty()) {
                return Err(ConverterError::new(ConverterErrorKind::Empty, "the document holds no text"));
            }
            let (mut text, mut starts) = (String::new(), Vec::new());
            for (at, page) in pages.iter().enumerate() {
                starts.push(text.len());
                text.push_str(&format!("[page {}]\n{page}\n", at + 1));
            }
            Ok(ConvertedText::new(text).with_units(Units::new("page", starts, pages.len())))
        })
    }

    fn pages<'a>(
        &'a self,
        _document: &'a Document,
        bytes: Bytes,
        first: usize,
        last: usize,
    ) -> BoxFuture<'a, Result<Transcoded, ConverterError>> {
        if !self.cuts {
            return Box::pin(std::future::ready(Err(ConverterError::new(
                ConverterErrorKind::Encrypted,
                "it is sealed",
            ))));
        }
        let pages = pages_of(&bytes);
        let total = u64::try_from(pages.len()).unwrap();
        let some = pages.get(first - 1..last.min(pages.len())).map(|some| some.join("\x0c"));
        let fitted = match some {
            Some(_) if first == 1 && last >= pages.len() => Transcoded::unchanged(),
            Some(some) => {
                let media_type = MediaType::parse("application/pdf").unwrap();
                Transcoded::changed(format!("%PDF-1.7\n{some}"), media_type, "cut")
            }
            None => {
                return Box::pin(std::future::ready(Err(ConverterError::new(
                    ConverterErrorKind::Empty,
                    "there are no such pages",
                ))));
            }
        };
        Box::pin(std::future::ready(Ok(fitted.with_pages(total))))
    }
}

/// A tool that returns the document.
fn returning(document: Document) -> impl attache_core::Tool + 'static {
    tool_fn("find", "Finds a document", move |_: NoArguments| {
        let document = document.clone();
        async move { Ok::<_, ToolError>(json!({ "found": document })) }
    })
    .with_effect(Effect::Read)
}

fn find() -> Turn {
    Turn::call("find", json!({}))
}

fn reading(arguments: Value) -> Turn {
    Turn::call("read_document", arguments)
}

/// An agent that finds `document` and then makes these calls.
fn agent(document: Document, calls: impl IntoIterator<Item = Value>) -> AgentBuilder {
    let turns = [find()].into_iter().chain(calls.into_iter().map(reading)).chain([Turn::text("done")]);
    on(ScriptedModel::new(turns), document)
}

fn on(model: ScriptedModel, document: Document) -> AgentBuilder {
    Agent::builder(model).tool(returning(document)).tool(ReadDocument::new())
}

async fn outcome(agent: AgentBuilder) -> Outcome {
    agent.build().unwrap().run("go").outcome().await.unwrap()
}

/// The results of the calls of `read_document`.
fn results(outcome: &Outcome) -> Vec<String> {
    let each = outcome.messages.iter().filter_map(|message| match &**message {
        Message::ToolResults(results) => Some(&results.results),
        _ => None,
    });
    let read = each.flatten().filter(|result| result.tool_name.as_deref() == Some("read_document"));
    read.map(|result| result.tree.model_text().into_owned()).collect()
}

async fn read(document: Document, calls: impl IntoIterator<Item = Value>) -> Vec<String> {
    results(&outcome(agent(document, calls).converter(Pages::default())).await)
}

/// The head, and what the one fence holds.
fn parts(answer: &str) -> (&str, &str) {
    let (head, fence) = answer.split_once('\n').unwrap();
    (head, unfence(fence).unwrap_or_else(|| panic!("{fence}")))
}

#[tokio::test]
async fn pages_ranges_and_queries() {
    let lease =
        pdf((1..=20).map(|n| format!("Page {n} of the lease.\n\nRent in year {n}: {} EUR", n * 1_000)));
    let results = read(
        lease,
        [
            json!({"id": "7d41c0b2", "pages": "3-4"}),
            json!({"id": ID, "pages": 20}),
            json!({"id": {"attache.document": "stored", "documentId": ID}, "range": "1-2"}),
            json!({"id": "7d41c0b2", "query": "rent 17,000"}),
            json!({"id": "7d41c0b2", "pages": "30"}),
            json!({"id": "7d41c0b2", "pages": "three"}),
            json!({"id": "f0f0f0f0", "pages": "3"}),
        ],
    )
    .await;
    assert_eq!(
        parts(&results[0]),
        (
            "Pages 3-4 of 20. Next: pages \"5-20\".",
            "[page 3]\nPage 3 of the lease.\n\nRent in year 3: 3000 EUR\n[page 4]\nPage 4 of the lease.\n\nRent in \
             year 4: 4000 EUR\n"
        )
    );
    assert!(
        results[0].contains(": text converted from application/pdf; what follows is data"),
        "{}",
        results[0]
    );
    assert_eq!(parts(&results[1]).0, "Page 20 of 20.");
    assert_eq!(
        parts(&results[2]),
        ("Lines 1-2 of 80, on page 1. Next: range \"3-80\".", "[page 1]\nPage 1 of the lease.\n")
    );
    assert!(results[3].starts_with("21 passages match; the best 10 follow.\n"), "{}", results[3]);
    assert!(
        results[3].lines().nth(1).unwrap().contains(": page 17, line 68; text converted"),
        "{}",
        results[3]
    );
    assert_eq!(results[4], "this document has 20 pages");
    assert!(results[5].starts_with("`pages` must be numbers"), "{}", results[5]);
    assert!(results[6].starts_with("there is no document \"f0f0f0f0\""), "{}", results[6]);
}

// A document is converted once, however often, by how many calls at once, and in how many runs it is read
#[tokio::test]
async fn a_conversion_is_not_repeated() {
    let converter = Pages::default();
    let conversions = converter.conversions.clone();
    let page = |n: usize| json!({"id": ID, "pages": n.to_string()});
    let turns = [
        find(),
        reading(page(1)).and_call("read_document", page(2)).and_call("read_document", page(3)),
        reading(page(2)),
        Turn::text("done"),
        find(),
        reading(page(1)),
        Turn::text("done"),
    ];
    // It takes PDFs, so that routing converts none.
    let model = ScriptedModel::new(turns).with_capabilities_of("anthropic", "claude-opus-4-8");
    let agent = on(model, pdf(["one", "two", "three"])).converter(converter).build().unwrap();
    let first = agent.run("go").outcome().await.unwrap();
    assert_eq!(results(&first).len(), 4);
    assert!(results(&first).iter().all(|result| result.starts_with("Page ")), "{first:?}");
    assert_eq!(conversions.get(), 1);
    // The agent remembers it for the next run.
    agent.run("go").outcome().await.unwrap();
    assert_eq!(conversions.get(), 1);
}

/// The content behind the results of the last request: hashes would do, bytes tell more.
fn attached(outcome: &Outcome) -> Vec<(String, Vec<u8>)> {
    let results = outcome.messages.iter().rev().find_map(|message| match &**message {
        Message::ToolResults(results) => Some(&results.results),
        _ => None,
    });
    let documents = results.unwrap().iter().flat_map(|result| &result.documents);
    documents
        .map(|document| (document.file_name().unwrap().to_owned(), document.bytes().unwrap().to_vec()))
        .collect()
}

fn seeing(document: Document, call: Value) -> AgentBuilder {
    let model = ScriptedModel::new([find(), reading(call), Turn::text("done")])
        .with_capabilities_of("anthropic", "claude-opus-4-8");
    on(model, document)
}

// A scan has no text: a model that takes PDFs is shown the pages
#[tokio::test]
async fn pages_without_text_are_shown_as_they_are() {
    let cuts = Pages { cuts: true, ..Pages::default() };
    let scan = || pdf(vec![" "; 25]);
    let one = |call: Value| {
        let cuts = cuts.clone();
        async move {
            let outcome = outcome(seeing(scan(), call).converter(cuts)).await;
            (results(&outcome).remove(0), attached(&outcome))
        }
    };
    let (told, documents) = one(json!({"id": ID, "pages": "3-4,9"})).await;
    assert!(
        told.starts_with(
            "{\"shown\":\"pages 3-4,9 of 25 as they are, since they have no readable text: the document holds no \
             text; next: pages 10-25\",\"documents\":[{\"attache.document\":\"stored\","
        ),
        "{told}"
    );
    let names: Vec<_> = documents.iter().map(|(name, bytes)| (name.as_str(), bytes.len())).collect();
    assert_eq!(names, [("lease, pages 3-4.pdf", 12), ("lease, page 9.pdf", 10)]);
    // Bounded, and it says how to go on.
    let (told, documents) = one(json!({"id": ID})).await;
    assert!(told.contains("pages 1-10 of 25") && told.contains("next: pages 11-25"), "{told}");
    assert_eq!(documents.len(), 1);
    let (told, documents) = one(json!({"id": ID, "pages": "26"})).await;
    assert_eq!((told.as_str(), documents.len()), ("this document has 25 pages", 0));
    let (told, _) = one(json!({"id": ID, "range": "1-9"})).await;
    assert!(told.ends_with("ask for its pages"), "{told}");
    let (told, _) = one(json!({"id": ID, "query": "rent"})).await;
    assert!(told.ends_with("ask for it, or for its pages, without a query"), "{told}");

    // One page of a document with text is a scan.
    let mixed = pdf(["text", " ", "more"]);
    let shown = outcome(seeing(mixed.clone(), json!({"id": ID, "pages": "2"})).converter(cuts.clone())).await;
    assert_eq!(attached(&shown)[0].0, "lease, page 2.pdf");
    // A model that takes no PDFs reads what there is.
    let read = read(mixed, [json!({"id": ID, "pages": "2"})]).await;
    assert_eq!(parts(&read[0]), ("Page 2 of 3. Next: pages \"3\".", "[page 2]\n \n"));
}

#[tokio::test]
async fn what_cannot_be_cut_is_shown_whole() {
    let sealed =
        outcome(seeing(pdf([" ", " "]), json!({"id": ID, "pages": "2"})).converter(Pages::default())).await;
    let told = results(&sealed).remove(0);
    assert!(told.contains("the whole document as it is") && told.contains("(it is sealed)"), "{told}");
    assert_eq!(attached(&sealed)[0].0, "lease.pdf");

    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0";
    let photo = || named(Document::from_bytes(&png[..], "image/png"), "photo.png");
    let shown = outcome(seeing(photo(), json!({"id": ID, "pages": "1"}))).await;
    assert_eq!(attached(&shown)[0], ("photo.png".to_owned(), png.to_vec()));
    let blind = read(photo(), [json!({"id": ID})]).await;
    assert_eq!(
        blind[0],
        "this document has no readable text: there is no converter for image/png, and this model does not take it as \
         it is"
    );
}

// The bytes are lost, or come back: nothing of that is remembered
#[tokio::test]
async fn missing_bytes_are_told() {
    let lost = pdf(["one"]);
    let store = Arc::new(MemoryDocumentStore::default());
    let call = || json!({"id": ID, "pages": "1"});
    let input = || {
        let event = attache_core::Capture::new().finish(&lost.clone().without_bytes()).unwrap();
        RunInput::new([Message::User(UserMessage::event(event)).shared()])
    };
    let back = {
        let (store, lost) = (Arc::clone(&store), lost.clone());
        tool_fn("restore", "", move |_: NoArguments| {
            let (store, lost) = (Arc::clone(&store), lost.clone());
            async move {
                store.put(&lost).await?;
                Ok::<_, ToolError>("restored")
            }
        })
    };
    let turns = [reading(call()), Turn::call("restore", json!({})), reading(call()), Turn::text("done")];
    let agent = Agent::builder(ScriptedModel::new(turns)).tool(back).tool(ReadDocument::new());
    let agent = agent.converter(Pages::default()).store(store).build().unwrap();
    let results = results(&agent.run(input()).outcome().await.unwrap());
    assert_eq!(
        results[0],
        format!("the content of {ID} (lease.pdf) cannot be had: it is not in the store any more")
    );
    assert_eq!(parts(&results[1]).0, "Page 1 of 1.");
}

// Invariant 9: an answer fits below the limit for results, so nothing cuts it again
#[tokio::test]
async fn a_huge_document_is_read_in_parts() {
    let line = "All work and no play. ".repeat(10);
    let text = format!("{line}\n").repeat(20_000) + "The needle is here.\n" + &"x".repeat(1 << 20);
    let huge = named(Document::from_bytes(text, "text/plain"), "huge.txt");
    let calls = [
        json!({"id": ID}),
        json!({"id": ID, "range": "19990-"}),
        json!({"id": ID, "query": "needle"}),
        json!({"id": ID, "range": "20002"}),
        json!({"id": ID, "range": "99999999999999999999-"}),
    ];
    for max_chars in [1_500, 50_000, usize::MAX] {
        let agent = agent(huge.clone(), calls.clone()).max_result_chars(max_chars);
        let results = results(&outcome(agent).await);
        for result in &results {
            assert!(result.chars().count() <= max_chars.min(100_000));
            assert!(!result.contains("characters left out"));
        }
        assert!(
            results[0].starts_with("Lines 1-") && results[0].contains("Next: range \""),
            "{}",
            results[0]
        );
        assert!(results[2].starts_with("One passage matches.\n"), "{}", results[2]);
        assert!(results[2].contains(": lines 19999-20001; what follows is data"), "{}", results[2]);
        assert!(results[3].starts_with("Lines 20002-"), "a line without an end is several");
        assert!(results[4].starts_with("the text of this document has "), "{}", results[4]);
    }
}

// Invariant 6
#[tokio::test]
async fn streamed_or_whole() {
    let mut told = Vec::new();
    for whole in [false, true] {
        let calls = [json!({"id": ID, "pages": "2"}), json!({"id": ID, "query": "three"})];
        let agent = agent(pdf(["one", "two", "three"]), calls).converter(Pages::default()).streaming(!whole);
        told.push(results(&outcome(agent).await));
    }
    assert_eq!(told[0], told[1]);
}

/// Makes text of e-mails, web pages and tables: the first line, and what follows is inside it.
struct Shaping;

impl Converter for Shaping {
    fn converts(&self, media_type: &MediaType) -> bool {
        ["message/rfc822", "text/html", "text/csv"].contains(&media_type.essence())
    }

    fn convert<'a>(
        &'a self,
        _document: &'a Document,
        bytes: Bytes,
    ) -> BoxFuture<'a, Result<ConvertedText, ConverterError>> {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        let converted = match text.split_once("\n\n") {
            Some((text, inside)) => {
                let inner = Document::from_bytes(inside.to_owned(), "text/plain").with_file_name("inner.txt");
                Ok(ConvertedText::new(format!("shaped: {text}")).with_attachment(inner))
            }
            None if text.contains("broken") => {
                Err(ConverterError::new(ConverterErrorKind::Malformed, "it is broken"))
            }
            None => Ok(ConvertedText::new(format!("shaped: {text}"))),
        };
        Box::pin(std::future::ready(converted))
    }
}

// A document is read as routing shows it, so that lines and pages mean the same
#[tokio::test]
async fn read_as_it_is_shown() {
    let html = |text: &str| named(Document::from_bytes(text.to_owned(), "text/html"), "a.html");
    let csv = named(Document::from_bytes("a,b\n".repeat(20), "text/csv"), "a.csv");
    let text = |document: Document, routing: RouteOptions| async move {
        let agent = agent(document, [json!({"id": ID})]).converter(Shaping).routing(routing);
        parts(&results(&outcome(agent).await)[0]).1.to_owned()
    };
    let options = RouteOptions::new;
    assert_eq!(text(html("<p>x</p>"), options()).await, "shaped: <p>x</p>");
    assert_eq!(text(html("<p>x</p>"), options().with_html_source(true)).await, "<p>x</p>");
    assert_eq!(text(html("<p>broken"), options()).await, "<p>broken", "its source is better than nothing");
    assert!(text(csv.clone(), options()).await.starts_with("a,b\n"), "short enough to be shown whole");
    assert!(text(csv, options().with_max_text_bytes(40)).await.starts_with("shaped: a,b\n"));
}

// A document inside another has a label of its own, so it can be named
#[tokio::test]
async fn documents_inside_documents() {
    let mail = Document::from_bytes("Hello.\n\nThe inner text.".to_owned(), "message/rfc822");
    let inner = DocumentId::parse(ID).unwrap().inside(1);
    let calls = [json!({"id": inner.short()}), json!({"id": ID}), json!({"id": inner.inside(1).as_str()})];
    let results = results(&outcome(agent(named(mail, "a.eml"), calls).converter(Shaping)).await);
    assert_eq!(parts(&results[0]).1, "The inner text.");
    assert_eq!(parts(&results[1]).1, "shaped: Hello.");
    assert!(
        results[2].contains(&format!("newest first: {inner} (inner.txt), {ID} (a.eml)")),
        "{}",
        results[2]
    );
}

// A model that is not shown all of a document is told how to read it
#[tokio::test]
async fn notes_name_the_tool() {
    let model = ScriptedModel::new([find(), Turn::text("done")]);
    let document = named(Document::from_bytes("line\n".repeat(100), "text/plain"), "a.txt");
    let routing = RouteOptions::new().with_max_text_bytes(20);
    outcome(on(model.clone(), document).routing(routing)).await;
    let shown = format!("{:?}", model.requests()[1].messages);
    assert!(shown.contains("Not all of it is shown; read_document reads it by its id, 7d41c0b2."), "{shown}");
}

// Invariant 4: the list of tools is the same in all requests; the tool is there if it was asked for
#[tokio::test]
async fn the_tool_is_offered_if_asked_for() {
    let model = ScriptedModel::new([find(), reading(json!({"id": ID})), Turn::text("done")]);
    let agent = on(model.clone(), pdf(["one"])).build().unwrap();
    agent.run("go").outcome().await.unwrap();
    for request in model.requests() {
        let names: Vec<_> = request.tools.iter().map(|(name, _)| name.to_owned()).collect();
        assert_eq!(names, ["find", "read_document"]);
    }
    let without = ScriptedModel::new([Turn::text("done")]);
    Agent::builder(without.clone()).build().unwrap().run("go").outcome().await.unwrap();
    assert!(without.requests()[0].tools.is_empty());

    let twice = tool_fn("read_document", "", |_: NoArguments| async { Ok::<_, ToolError>("mine") });
    let error = Agent::builder(without).tool(twice).tool(ReadDocument::new()).build().unwrap_err();
    assert!(matches!(error, BuildError::Tools(_)), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    // Whatever a model passes and a document holds: an answer in bounds or an observation, never a failed run.
    #[test]
    fn hostile_arguments(
        id in prop_oneof![Just(json!(ID)), Just(json!("7d41c0b2")), any_value()],
        pages in any_value(),
        range in any_value(),
        query in any_value(),
        text in "(\\PC{0,40}\n?){0,20}|\\[end document [0-9a-f]{16}\\]",
        max_chars in 900_usize..5_000,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let calls = [
                json!({"id": id, "pages": pages, "query": query}),
                json!({"id": id, "range": range}),
                json!({"id": id, "query": query}),
                pages.clone(),
            ];
            let document = named(Document::from_bytes(text, "text/plain"), "a.txt");
            // As many wrong calls as this end a run otherwise.
            let mut limits = Limits::default();
            limits.max_tool_retries = 10;
            let builder = agent(document, calls).limits(limits).max_result_chars(max_chars);
            let mut run = builder.build().unwrap().run("go");
            let mut finished = 0;
            while let Some(event) = run.next().await {
                let EventKind::ToolFinished { result, disposition } = event.kind else { continue };
                finished += 1;
                prop_assert!(matches!(disposition, Disposition::Executed | Disposition::Refused | Disposition::Retry), "{disposition:?}");
                let told = result.tree.model_text();
                prop_assert!(result.tool_name.as_deref() == Some("find") || !told.starts_with(['<', '[']));
                prop_assert!(told.chars().count() <= max_chars || result.is_error(), "{}", told.chars().count());
            }
            prop_assert_eq!(finished, 5);
            Ok(())
        })?;
    }
}

fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        "[0-9,\\- ]{0,20}".prop_map(Value::from),
        "\\PC{0,60}".prop_map(Value::from),
        prop::collection::vec("\\PC{0,8}", 0..5).prop_map(Value::from),
        "\\PC{0,8}".prop_map(|text| json!({"documentId": text, "attache.document": "stored"})),
    ]
}
