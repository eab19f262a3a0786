//! Which documents of a tool's output are found, shown and withheld.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken expectation is a failed test"
)]

use std::collections::HashMap;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use attache_core::tool::{DynToolHandler, ToolSpec};
use attache_core::tree::TreeErrorKind;
use attache_core::{
    Arguments, Capture, ContentTree, Document, DocumentId, ResultStatus, ToolCall, ToolContext, ToolError,
    ToolHandler, ToolOutput, ToolResult, ToolReturn,
};
use serde::{Serialize, Serializer};
use serde_json::json;

fn pdf(name: &str) -> Document {
    Document::from_bytes(format!("%PDF-{name}").into_bytes(), "application/pdf").with_file_name(name)
}

fn names<'d>(documents: impl IntoIterator<Item = &'d Document>) -> Vec<&'d str> {
    documents.into_iter().filter_map(Document::file_name).collect()
}

fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("it waits for nothing"),
    }
}

fn call() -> ToolCall {
    ToolCall::new("t", Arguments::new("{}"))
}

#[test]
fn two_documents_of_one_id_are_two_documents() {
    let id = DocumentId::parse("report").unwrap();
    let (first, second) = (pdf("a.pdf").with_id(id.clone()), pdf("b.pdf").with_id(id.clone()));
    let tree = Capture::new().finish(&[&first, &second, &first, &second]).unwrap();
    assert_eq!(names(tree.documents()), ["a.pdf", "b.pdf"]);
    assert!(tree.unresolved().is_empty(), "each reference means one of them: {}", tree.json());
    assert_eq!(tree.documents()[0].id(), &id);
    assert_eq!(tree.documents()[1].bytes(), second.bytes());
    assert_eq!(tree.json().matches(tree.documents()[1].id().as_str()).count(), 2);
    // A handler that shows what it made means what stands in the tree.
    let shown = ToolOutput::showing(tree.clone(), [second]);
    assert_eq!(names(&shown.documents), ["b.pdf"]);
    assert_eq!(shown.withheld, [id]);
    assert_eq!(ToolOutput::new(tree).documents.len(), 2);
}

#[test]
fn a_later_result_stands_apart_from_what_is_known() {
    let id = DocumentId::parse("contract-42").unwrap();
    let (first, second, other) =
        (pdf("v1.pdf").with_id(id.clone()), pdf("v2.pdf").with_id(id), pdf("other.pdf"));
    let result = |documents: &[&Document]| {
        let tree = Capture::new().finish(&json!({ "text": "contract-42" })).unwrap();
        assert!(tree.documents().is_empty());
        let tree = Capture::new().finish(&(documents, "contract-42")).unwrap();
        ToolResult::new(&call(), ResultStatus::Ok, tree)
    };
    let known = |id: &DocumentId| Some(&first).filter(|known| known.id() == id);
    let same = result(&[&first, &other]);
    assert_eq!(same.clone().apart_from(known), same);
    let mut changed = result(&[&second, &other]);
    changed.withheld = vec![changed.documents.remove(0).id().clone()];
    let apart = changed.apart_from(known);
    let own = apart.tree.documents()[0].id();
    assert_ne!(own, first.id());
    assert_eq!((&apart.withheld[0], apart.documents[0].id()), (own, other.id()));
    assert!(apart.tree.unresolved().is_empty() && apart.tree.json().ends_with(r#","contract-42"]"#));
    // The reference that is stored has no bytes any more, and a size.
    let resumed = Document::stored(first.id().clone(), "main", "application/pdf").with_size(1);
    let again = result(&[&second]).apart_from(|id| Some(&resumed).filter(|known| known.id() == id));
    assert_eq!(again.documents[0].id(), own, "the same each time");
}

#[test]
fn the_same_content_under_one_id_is_one_document() {
    let again = || Document::inline("same").with_id(DocumentId::parse("report").unwrap());
    let tree = Capture::new().finish(&[again(), again()]).unwrap();
    assert_eq!(tree.documents().len(), 1);
}

#[test]
fn what_a_thread_serialised_says_that_it_is_not_there_and_leaks_nothing() {
    let mut capture = Capture::new();
    let value = capture.run_blocking(|| {
        let elsewhere = || {
            json!({
                "a": Document::external("https://x/a.pdf?sig=CANARY"),
                "b": Document::inline("CANARY"),
                "c": pdf("c.pdf"),
            })
        };
        std::thread::spawn(elsewhere).join().unwrap()
    });
    let tree = capture.finish(&value).unwrap();
    assert!(!tree.json().contains("CANARY"), "{}", tree.json());
    assert_eq!(tree.unresolved().len(), 3);
    assert_eq!(tree.json().matches("the content is not available").count(), 3);
}

#[test]
fn a_document_of_a_log_line_is_withheld() {
    let mut capture = Capture::new();
    capture.run_blocking(|| serde_json::to_string(&json!({ "audit": pdf("salary.pdf") })).unwrap());
    let output = ToolOutput::new(capture.finish("done").unwrap());
    assert_eq!(names(&output.documents), [""; 0]);
    assert_eq!(output.withheld.len(), 1, "it is not forgotten");
    let result = ToolResult::new(&call(), ResultStatus::Ok, output.tree);
    assert!(result.documents.is_empty() && result.withheld.len() == 1);
}

#[test]
fn json_that_a_tool_wrote_and_returned_as_text_has_its_documents() {
    let mut capture = Capture::new();
    let text =
        capture.run_blocking(|| serde_json::to_string_pretty(&json!({ "report": pdf("a.pdf") })).unwrap());
    let tree = capture.finish(&text).unwrap();
    assert_eq!(names(tree.shown()), ["a.pdf"]);
}

#[test]
fn what_one_handler_withheld_no_other_shows() {
    let (open, secret) = (pdf("open.pdf"), pdf("secret.pdf"));
    let tree = Capture::new().finish(&[&open, &secret]).unwrap();
    let inner = ToolOutput::showing(tree, [open]);
    // As it is, in a field, and through a value that the body made.
    let outer = ToolOutput::new(Capture::new().finish(&inner.tree).unwrap());
    assert_eq!((names(&outer.documents), outer.withheld), (vec!["open.pdf"], inner.withheld.clone()));
    let mut capture = Capture::new();
    let value = capture.run_blocking(|| json!({ "status": "ok", "result": inner.tree }));
    let outer = ToolOutput::new(capture.finish(&(value, &inner.tree)).unwrap());
    assert_eq!((names(&outer.documents), &outer.withheld), (vec!["open.pdf"], &inner.withheld));
    let again = ToolOutput::new(Capture::new().finish(&outer.tree).unwrap());
    assert_eq!(again.withheld, inner.withheld);
}

#[test]
fn a_tree_brings_the_documents_that_its_text_does_not_mention() {
    let inner = ContentTree::parse(r#"{"content":"see the image"}"#, vec![pdf("image.pdf")]).unwrap();
    let direct = Capture::new().finish(&json!([1])).unwrap();
    assert!(direct.documents().is_empty());
    assert_eq!(names(Capture::new().finish(&inner).unwrap().shown()), ["image.pdf"]);
    let mut capture = Capture::new();
    let value = capture.run_blocking(|| json!({ "result": inner }));
    assert_eq!(names(capture.finish(&value).unwrap().shown()), ["image.pdf"]);
    let mut capture = Capture::new();
    capture.run_blocking(|| serde_json::to_string(&inner).unwrap());
    let tree = capture.finish("logged").unwrap();
    assert_eq!((tree.shown().count(), tree.withheld().len()), (0, 1));
}

#[test]
fn a_tool_says_what_to_withhold_and_what_to_show() {
    let (report, raw, beside) = (pdf("report.pdf"), pdf("raw.pdf"), pdf("beside.pdf"));
    let returned = ToolReturn::new(json!({ "n": 1 })).with_document(beside.clone());
    let tree = Capture::new().finish(&returned).unwrap();
    assert_eq!((tree.json(), names(tree.shown())), (r#"{"n":1}"#, vec!["beside.pdf"]));
    let returned = ToolReturn::new([&report, &raw]).withhold(&raw).with_document(beside);
    let tree = Capture::new().finish(&returned).unwrap();
    assert_eq!(names(tree.shown()), ["report.pdf", "beside.pdf"]);
    assert_eq!(tree.withheld(), [raw.id().clone()]);
    assert!(serde_json::to_string(&returned).is_ok(), "elsewhere it is its value");
}

struct Fails;

impl Serialize for Fails {
    fn serialize<S: Serializer>(&self, _serializer: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom("canary"))
    }
}

#[test]
fn documents_survive_an_output_that_is_no_json() {
    let by_pair = HashMap::from([((1, 2), pdf("in the map.pdf"))]);
    let mut capture = Capture::new().with_store_id("main");
    let value = capture.run_blocking(|| {
        let _logged = json!(pdf("logged.pdf"));
        json!({ "x": pdf("made before.pdf") })
    });
    let error = capture.finish(&(pdf("first.pdf"), by_pair, Fails, value, pdf("last.pdf"))).unwrap_err();
    assert_eq!(error.kind(), TreeErrorKind::Serialize);
    let error = ToolError::from(error);
    assert_eq!(error.for_model(), "the tool failed: the output cannot be serialised");
    assert!(error.source().is_some());
    assert_eq!(
        names(error.documents()),
        ["first.pdf", "in the map.pdf", "made before.pdf", "last.pdf"],
        "in the order of the output"
    );
    assert_eq!(names(error.withheld()), ["logged.pdf"]);
    assert!(error.documents().iter().all(|document| document.store_id() == Some("main")));
    let result = ToolResult::failed(&call(), &error);
    assert_eq!((result.status, result.documents.len()), (ResultStatus::Error, 4));
    assert_eq!((result.tree.documents().len(), result.withheld.len()), (5, 1));
    assert_eq!(result.tree.model_text(), error.for_model());
}

#[test]
fn documents_beyond_the_limit_leave_the_others() {
    let many: Vec<Document> = (0..1_001).map(|number| Document::inline(format!("{number}"))).collect();
    let error = ToolError::from(Capture::new().finish(&many).unwrap_err());
    assert_eq!(error.for_model(), "the output holds more than 1000 documents");
    assert_eq!(error.documents(), &many[..1_000]);
}

#[test]
fn documents_survive_an_output_that_is_too_deep_or_too_large() {
    let deep = (0..500).fold(json!(1), |inner, _| serde_json::Value::Array(vec![inner]));
    let error = Capture::new().finish(&(pdf("a.pdf"), &deep, pdf("b.pdf"))).unwrap_err();
    assert_eq!(names(error.documents()), ["a.pdf", "b.pdf"]);
    let long = "x".repeat(17 << 20);
    let error = Capture::new().finish(&(pdf("a.pdf"), &long, pdf("b.pdf"))).unwrap_err();
    assert_eq!(error.kind(), TreeErrorKind::TooLarge { limit: 16 << 20 });
    assert_eq!(names(error.documents()), ["a.pdf", "b.pdf"]);
}

struct Browser;

impl ToolHandler for Browser {
    type Output = ();

    fn name(&self) -> &str {
        "browser"
    }

    async fn tools(&self) -> Result<Vec<ToolSpec>, ToolError> {
        Ok(Vec::new())
    }

    async fn call(&self, _: &str, _: &Arguments, _: ToolContext) -> Result<(), ToolError> {
        let screenshot = pdf("screenshot.pdf");
        let _logged = json!({ "screenshot": screenshot, "cookies": pdf("cookies.pdf") });
        Err(ToolError::new("the page did not load").with_document(screenshot))
    }
}

#[test]
fn a_failure_shows_the_documents_that_it_brings_and_withholds_the_others() {
    let mut context = ToolContext::new();
    context.store_id = Some("main".to_owned());
    let error = ready(DynToolHandler::call(&Browser, "t", &Arguments::new("{}"), context)).unwrap_err();
    assert_eq!(names(error.documents()), ["screenshot.pdf"]);
    assert_eq!(names(error.withheld()), ["cookies.pdf"]);
    let result = ToolResult::failed(&call(), &error);
    assert_eq!(names(&result.documents), ["screenshot.pdf"]);
    assert_eq!(result.documents[0].store_id(), Some("main"));
    assert_eq!(result.withheld, [error.withheld()[0].id().clone()]);
}

// A type may claim to be raw JSON.
#[derive(Serialize)]
#[serde(rename = "$serde_json::private::RawValue")]
struct Pretends {
    #[serde(rename = "$serde_json::private::RawValue")]
    text: &'static str,
}

#[test]
fn raw_json_that_is_none_is_refused() {
    let error = Capture::new().finish(&Pretends { text: "not json {" }).unwrap_err();
    assert_eq!(error.kind(), TreeErrorKind::Serialize);
    assert!(Capture::new().finish(&Pretends { text: " [1] " }).is_ok());
}
