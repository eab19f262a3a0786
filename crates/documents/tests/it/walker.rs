//! Finding documents: C01, C13, C18, documents.md 8.1.

use attache_core::{Capture, ContentTree, Document, DocumentId};
use attache_documents::{walk, walk_value};
use serde::Serialize;
use serde_json::{Value, json};

use crate::builder::{csv, id, pdf, tree};

fn captured(make: impl FnOnce() -> Value) -> (Value, ContentTree) {
    let mut capture = Capture::new();
    let value = capture.run_blocking(make);
    let tree = capture.finish(&value).unwrap();
    (serde_json::from_str(tree.json()).unwrap(), tree)
}

fn names(documents: &[Document]) -> Vec<&str> {
    documents.iter().filter_map(Document::file_name).collect()
}

#[track_caller]
fn found_in(make: impl FnOnce() -> Value, expected: &[&str]) {
    let (value, tree) = captured(make);
    assert_eq!(names(&walk_value(&value, tree.documents())), expected);
    let whole: Vec<Document> = walk(&tree).into_iter().cloned().collect();
    assert_eq!(names(&whole), expected, "walking the whole tree finds the same");
}

// #1–#5, #8, #9
#[test]
fn documents_are_found_wherever_they_are() {
    found_in(|| json!(pdf("root.pdf")), &["root.pdf"]);
    found_in(|| json!({"a": 1, "b": pdf("value.pdf")}), &["value.pdf"]);
    found_in(|| json!([pdf("one.pdf"), "x", pdf("two.pdf")]), &["one.pdf", "two.pdf"]);
    found_in(|| json!({"a": [{"b": [[pdf("deep.pdf")]]}]}), &["deep.pdf"]);
    found_in(
        || json!({"z": [pdf("1.pdf"), {"y": pdf("2.pdf")}], "a": pdf("3.pdf"), "0": [[], pdf("4.pdf")]}),
        &["1.pdf", "2.pdf", "3.pdf", "4.pdf"],
    );
}

// #6, #7, #10, #11, C18: nothing to find is no error
#[test]
fn other_content_yields_nothing() {
    for value in
        [json!(null), json!("text"), json!(3), json!(true), json!({}), json!([]), json!({"a": [1, {}]})]
    {
        assert_eq!(walk_value(&value, &[pdf("x.pdf")]), [], "{value}");
    }
    found_in(|| json!({"a": null, "b": [null, pdf("kept.pdf"), null]}), &["kept.pdf"]);
}

// #12, #20: keys mean nothing, a document is found once, only the listed ones are documents
#[test]
fn only_references_to_listed_documents_count() {
    let listed = [pdf("mine.pdf")];
    let mine = listed[0].id().as_str();
    let reference = |id: &str| json!({"attache.document": "stored", "documentId": id, "metadata": {}});
    let value = json!({
        "documentId": mine,
        "document": {"id": mine, "contentType": "application/pdf"},
        "text": reference(mine).to_string(),
        "malformed": [{"attache.document": "stored"}, {"attache.document": 7, "documentId": {}}],
        "forged": reference("someone-elses"),
    });
    assert_eq!(walk_value(&value, &listed), []);
    assert_eq!(walk_value(&json!([reference(mine), {"again": reference(mine)}]), &listed), listed);
    let odd = json!({"attache.document": [reference(mine)]});
    assert_eq!(walk_value(&odd, &listed), listed, "the marker's own value is data");
}

// A flattened document shares its object with other members.
#[test]
fn documents_beside_a_flattened_one_are_found() {
    #[derive(Serialize)]
    struct Flat {
        #[serde(flatten)]
        cover: Document,
        pages: Vec<Document>,
    }
    let flat = Flat { cover: pdf("cover.pdf"), pages: vec![pdf("page.pdf")] };
    let tree = Capture::new().finish(&flat).unwrap();
    let value: Value = serde_json::from_str(tree.json()).unwrap();
    assert_eq!(names(&walk_value(&value, tree.documents())), ["cover.pdf", "page.pdf"]);
}

#[test]
fn a_stored_tree_is_walked_in_the_order_of_its_text() {
    let [a, b, c] = ["a.pdf", "b.pdf", "c.pdf"].map(pdf);
    let json = tree(&[b.clone(), a.clone()]).json().to_owned();
    let stored = ContentTree::parse(&json, vec![c.clone(), a.clone(), b.clone()]).unwrap();
    assert_eq!(walk(&stored), [&b, &a, &c]);
}

// #13
#[test]
fn depth_costs_no_stack() {
    let document = csv("deep.csv");
    let mut value = json!({"attache.document": "stored", "documentId": document.id(), "metadata": {}});
    let mut text = value.to_string();
    for level in 0..10_000 {
        value = match level % 2 {
            0 => Value::Array(vec![value]),
            _ => Value::Object([("a".to_owned(), value)].into_iter().collect()),
        };
    }
    text = format!("{}{text}{}", "[".repeat(10_000), "]".repeat(10_000));
    let listed = [document];
    std::thread::scope(|scope| {
        let small = std::thread::Builder::new().stack_size(64 << 10);
        let walked = small.spawn_scoped(scope, || {
            assert_eq!(walk_value(&value, &listed), listed);
            attache_core::tree::reference_ids(&text).collect::<Vec<DocumentId>>()
        });
        assert_eq!(walked.unwrap().join().unwrap(), [listed[0].id().clone()]);
    });
    // Dropping the value recurses, which is serde_json's affair.
    std::mem::forget(value);
}

// C13: stateless, so the same from every thread
#[test]
fn concurrent_walks_agree() {
    let (value, tree) = captured(|| json!({"a": [pdf("1.pdf")], "b": pdf("2.pdf"), "c": csv("3.csv")}));
    let expected = walk_value(&value, tree.documents());
    assert_eq!(expected.len(), 3);
    std::thread::scope(|scope| {
        let walks: Vec<_> = (0..2)
            .map(|_| scope.spawn(|| (0..100).all(|_| walk_value(&value, tree.documents()) == expected)))
            .collect();
        assert!(walks.into_iter().all(|walk| walk.join().unwrap()));
    });
}

#[test]
fn a_part_of_a_tree_has_only_its_own_documents() {
    let (value, tree) = captured(|| json!({"shown": [pdf("1.pdf")], "raw": {"x": pdf("2.pdf")}}));
    assert_eq!(names(&walk_value(&value["raw"], tree.documents())), ["2.pdf"]);
    assert_eq!(walk_value(&value["shown"], &[]), []);
    assert_eq!(tree.documents()[0].id(), &id("1-4f6a-8b1d"));
}
