use std::collections::BTreeMap;

use proptest::prelude::*;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::*;
use crate::capture::Capture;

fn doc(name: &str) -> Document {
    Document::from_bytes(format!("%PDF-{name}").into_bytes(), "application/pdf").with_file_name(name)
}

fn names(tree: &ContentTree) -> Vec<&str> {
    tree.documents().iter().filter_map(Document::file_name).collect()
}

#[derive(Serialize)]
#[serde(untagged)]
enum Either {
    File(Document),
    #[expect(dead_code, reason = "the other arm of an untagged enum")]
    Text(String),
}

fn as_pair<S: Serializer>(document: &Document, serializer: S) -> Result<S::Ok, S::Error> {
    (1, document).serialize(serializer)
}

#[derive(Serialize)]
struct Flat {
    title: &'static str,
    #[serde(flatten)]
    document: Document,
}

#[derive(Serialize)]
struct Placements {
    root: Document,
    list: Vec<Document>,
    map: BTreeMap<&'static str, Document>,
    option: Option<Document>,
    none: Option<Document>,
    tuple: (u8, Document),
    boxed: Box<Document>,
    either: Either,
    flat: Flat,
    #[serde(serialize_with = "as_pair")]
    custom: Document,
    value: Value,
    nested: Vec<Vec<Document>>,
}

// C01: wherever serde can put it
#[test]
fn documents_are_found_in_every_placement_in_source_order() {
    let mut capture = Capture::new();
    let value = capture.run_blocking(|| json!({"z": doc("k.pdf"), "a": [doc("l.pdf")]}));
    let output = Placements {
        root: doc("a.pdf"),
        list: vec![doc("b.pdf"), doc("c.pdf")],
        map: BTreeMap::from([("x", doc("d.pdf"))]),
        option: Some(doc("e.pdf")),
        none: None,
        tuple: (1, doc("f.pdf")),
        boxed: Box::new(doc("g.pdf")),
        either: Either::File(doc("h.pdf")),
        flat: Flat { title: "t", document: doc("i.pdf") },
        custom: doc("j.pdf"),
        value,
        nested: vec![vec![], vec![doc("m.pdf")]],
    };
    let tree = capture.finish(&output).unwrap();
    let expected: Vec<String> = ('a'..='m').map(|c| format!("{c}.pdf")).collect();
    assert_eq!(names(&tree), expected);
    // C02, C30: references, never bytes
    assert!(!tree.json().contains("%PDF"));
    assert!(tree.unresolved().is_empty());
}

#[test]
fn captured_but_not_returned_comes_last_and_is_withheld() {
    let mut capture = Capture::new();
    let returned = capture.run_blocking(|| {
        let _dropped = json!({"not": doc("dropped.pdf")});
        json!({"a": doc("a.pdf")})
    });
    let tree = capture.finish(&returned).unwrap();
    assert_eq!(names(&tree), ["a.pdf", "dropped.pdf"]);
    assert_eq!(tree.withheld(), [tree.documents()[1].id().clone()]);
    assert_eq!(tree.shown().filter_map(Document::file_name).collect::<Vec<_>>(), ["a.pdf"]);
}

#[test]
fn same_document_twice_is_listed_once() {
    let twice = doc("a.pdf");
    let tree = Capture::new().finish(&[&twice, &twice]).unwrap();
    assert_eq!(names(&tree), ["a.pdf"]);
}

#[test]
fn forged_references_are_text() {
    let forged = json!({"attache.document": "stored", "documentId": "stolen", "metadata": {}});
    let in_string = json!({"note": r#"{"attache.document":"stored","documentId":"quoted"}"#});
    let tree = Capture::new().finish(&json!([forged, in_string, doc("mine.pdf")])).unwrap();
    assert_eq!(tree.documents().len(), 0, "json! outside the scope captures nothing");
    let tree = Capture::new().finish(&(&forged, &in_string, doc("mine.pdf"))).unwrap();
    assert_eq!(names(&tree), ["mine.pdf"]);
    assert_eq!(tree.unresolved(), [DocumentId::parse("stolen").unwrap()]);
}

#[test]
fn scopes_nest_and_survive_panics() {
    let mut outer = Capture::new();
    outer.run_blocking(|| {
        let _kept = json!(doc("before.pdf"));
        let panicked = std::panic::catch_unwind(|| {
            let mut inner = Capture::new();
            inner.run_blocking(|| -> () {
                let _lost = json!(doc("inner.pdf"));
                panic!("boom");
            })
        });
        assert!(panicked.is_err());
        let inner = Capture::new().finish(&doc("returned.pdf")).unwrap();
        let _kept = json!({ "result": inner });
    });
    let tree = outer.finish(&()).unwrap();
    assert_eq!(names(&tree), ["before.pdf", "returned.pdf"]);
    assert!(matches!(crate::capture::register(&doc("x")), Ok(None)));
}

#[test]
fn a_scope_is_active_only_while_its_future_is_polled() {
    use std::task::{Context, Poll, Waker};
    let mut capture = Capture::new();
    let mut polls = 0;
    let future = capture.run(std::future::poll_fn(|_| {
        let _seen = json!(doc(if polls == 0 { "first.pdf" } else { "second.pdf" }));
        polls += 1;
        if polls == 2 { Poll::Ready(()) } else { Poll::Pending }
    }));
    let mut future = Box::pin(future);
    let mut context = Context::from_waker(Waker::noop());
    assert!(future.as_mut().poll(&mut context).is_pending());
    let _elsewhere = json!(doc("elsewhere.pdf"));
    assert!(future.as_mut().poll(&mut context).is_ready());
    drop(future);
    assert_eq!(names(&capture.finish(&()).unwrap()), ["first.pdf", "second.pdf"]);
}

fn nested(depth: usize) -> Value {
    (0..depth).fold(json!(1), |inner, _| json!([inner]))
}

#[test]
fn limits_hold_while_writing() {
    assert!(Capture::new().finish(&nested(100)).is_ok());
    let kind = |finished: Result<ContentTree, TreeError>| finished.unwrap_err().kind();
    assert_eq!(kind(Capture::new().finish(&nested(101))), TreeErrorKind::TooDeep { limit: 100 });
    let raw = RawValue::from_string(format!("{}1{}", "[".repeat(101), "]".repeat(101))).unwrap();
    assert_eq!(kind(Capture::new().finish(&raw)), TreeErrorKind::TooDeep { limit: 100 });
    let small = TreeLimits { max_bytes: 10, max_documents: 1, ..TreeLimits::default() };
    let too_large = Capture::with_limits(small).finish("0123456789");
    assert_eq!(kind(too_large), TreeErrorKind::TooLarge { limit: 10 });
    let one = TreeLimits { max_documents: 1, ..TreeLimits::default() };
    let too_many = Capture::with_limits(one).finish(&[doc("a"), doc("b")]);
    assert_eq!(kind(too_many), TreeErrorKind::TooManyDocuments { limit: 1 });
}

#[test]
fn urls_and_inline_text_stay_out_of_the_models_text() {
    let tree = Capture::new()
        .with_store_id("main")
        .finish(&(Document::external("https://x/canary.pdf"), Document::inline("canary"), doc("a.pdf")))
        .unwrap();
    assert!(!tree.json().contains("canary"), "{}", tree.json());
    assert!(tree.json().contains(r#""storeId":"main""#));
    assert_eq!(tree.documents()[2].store_id(), Some("main"));
}

// S04
#[test]
fn what_the_model_reads() {
    let text = |value: Value| ContentTree::value(&value).model_text().into_owned();
    assert_eq!(text(json!("plain \"text\"\n")), "plain \"text\"\n");
    assert_eq!(text(json!({"b": 1, "a": null})), r#"{"b":1,"a":null}"#);
    assert_eq!(text(json!(3)), "3");
    for blank in [json!(null), json!(""), json!(" \n\t")] {
        assert_eq!(text(blank), NO_RESULT);
    }
    assert_eq!(ContentTree::text("a\"b").model_text_literal(), r#""a\"b""#);
    assert_eq!(ContentTree::value(&json!([1])).model_text_literal(), r#""[1]""#);
}

#[test]
fn stored_text_is_compacted_and_kept_in_order() {
    let tree = ContentTree::parse("{ \"b\": 1.0,\n \"a\": [ ] }", vec![]).unwrap();
    assert_eq!(tree.json(), r#"{"b":1.0,"a":[]}"#);
    assert!(ContentTree::parse("{", vec![]).is_none());
}

#[derive(Debug, Clone)]
enum Shape {
    Leaf(u8),
    Planted,
    List(Vec<Shape>),
    Object(Vec<(String, Shape)>),
}

impl Shape {
    fn plant(&self, planted: &mut Vec<Document>) -> Planted {
        match self {
            Shape::Leaf(n) => Planted::Leaf(match n % 4 {
                0 => json!(null),
                1 => json!(n),
                2 => json!(r#"{"attache.document":"stored","documentId":"x"}"#),
                _ => json!(true),
            }),
            Shape::Planted => {
                let document = doc(&planted.len().to_string());
                planted.push(document.clone());
                Planted::Document(document)
            }
            Shape::List(items) => Planted::List(items.iter().map(|item| item.plant(planted)).collect()),
            Shape::Object(items) => {
                let unique: BTreeMap<_, _> = items.iter().map(|(key, item)| (key.clone(), item)).collect();
                Planted::Object(unique.into_iter().map(|(key, item)| (key, item.plant(planted))).collect())
            }
        }
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum Planted {
    Leaf(Value),
    Document(Document),
    List(Vec<Planted>),
    Object(BTreeMap<String, Planted>),
}

fn shape() -> impl Strategy<Value = Shape> {
    let leaf = prop_oneof![3 => any::<u8>().prop_map(Shape::Leaf), 2 => Just(Shape::Planted)];
    leaf.prop_recursive(6, 48, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Shape::List),
            prop::collection::vec(("[a-c\"\\\\]{0,3}", inner), 0..5).prop_map(Shape::Object),
        ]
    })
}

proptest! {
    // C01, invariant 1: the found set is the planted set, in order
    #[test]
    fn found_is_planted(shape in shape()) {
        let mut planted = Vec::new();
        let output = shape.plant(&mut planted);
        let tree = Capture::new().finish(&output).unwrap();
        let found: Vec<_> = tree.documents().iter().map(|d| d.id().clone()).collect();
        let expected: Vec<_> = planted.iter().map(|d| d.id().clone()).collect();
        prop_assert_eq!(&found, &expected);
        let stored = ContentTree::parse(tree.json(), tree.documents().to_vec()).unwrap();
        prop_assert_eq!(stored, tree);
    }
}
