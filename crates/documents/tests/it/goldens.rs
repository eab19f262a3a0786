//! The texts that models read, in both profiles: C06, C37, documents.md 2.9.

use attache_core::{Capture, Document};
use attache_documents::{ConvertedText, LabelProfile, Materials, RouteOptions};
use serde_json::json;

use crate::builder::{Chat, PDF, PNG, id, model, transcript};

fn lease() -> Document {
    Document::from_bytes(PDF, "application/pdf")
        .with_id(id("7d41c0b2-93e5-4f6a-8b1d-2a6e5f0c9d34"))
        .with_file_name("lease.pdf")
        .with_store_id("main")
}

fn conversation() -> Chat {
    let stored = |document: Document, known: &str| document.with_id(id(known)).with_store_id("main");
    let plan = stored(Document::from_bytes(PNG, "image/png"), "b20f6e91-11aa-4c3f-9a51-0d6a4a5b8c11");
    let table = stored(
        Document::from_bytes(&b"day,sum\n1,900\n"[..], "text/csv"),
        "5ac3d7e8-0b1c-4d2e-8f3a-4b5c6d7e8f90",
    )
    .with_file_name("payments.csv");
    let archive = stored(
        Document::from_bytes(&b"PK\x03\x04"[..], "application/zip"),
        "5ac3d7e8-ffff-4d2e-8f3a-4b5c6d7e8f90",
    )
    .with_file_name(r#"rent "2027" <v2> & 'final'.zip"#);
    let link = Document::external("https://files.example/lease.pdf?sig=secret")
        .with_id(id("e1e1e1e1-93e5-4f6a-8b1d-2a6e5f0c9d34"))
        .with_file_name("Lease 2027");
    let note = stored(Document::inline("Key handed over."), "0a0a0a0a-93e5-4f6a-8b1d-2a6e5f0c9d34");
    let tree = |make: &dyn Fn() -> serde_json::Value| {
        let mut capture = Capture::new().with_store_id("main");
        let value = capture.run_blocking(make);
        capture.finish(&value).unwrap()
    };
    Chat::new()
        .author("What is the rent?", &[table.clone().with_id(id("aaaaaaaa-1111-4d2e-8f3a-4b5c6d7e8f90"))])
        .calls(&[
            ("find_contract", tree(&|| json!({"lease": lease(), "floor_plan": plan, "link": link}))),
            ("list.payments", tree(&|| json!({"table": table, "archive": archive}))),
        ])
        .event(tree(&|| json!({"note": note, "plan": plan})))
        .reply("900.")
        .user("Are you sure?")
        .calls(&[("find_contract", tree(&|| json!({"lease": lease()})))])
}

fn golden(family: &str, profile: LabelProfile) -> String {
    let mut materials = Materials::new();
    if family == "offline" {
        materials.insert(
            &lease(),
            ConvertedText::new("[page 1]\nRent: 900").with_note("only 1 of 3 pages is shown"),
        );
    }
    let options = RouteOptions::new().with_profile(profile);
    let routing = conversation().routed(&model(family), &materials, &options).unwrap();
    let report: Vec<_> = routing.report.decisions.iter().map(|d| serde_json::to_string(d).unwrap()).collect();
    format!("{}\n{}\n", transcript(&routing.messages), report.join("\n"))
}

#[test]
fn spec_synthetic() {
    insta::assert_snapshot!(golden("openai-chat", LabelProfile::Spec));
}

#[test]
fn spec_native() {
    insta::assert_snapshot!(golden("anthropic", LabelProfile::Spec));
}

#[test]
fn spec_converted() {
    insta::assert_snapshot!(golden("offline", LabelProfile::Spec));
}

#[test]
fn refs_synthetic() {
    insta::assert_snapshot!(golden("openai-chat", LabelProfile::Refs));
}

#[test]
fn refs_native() {
    insta::assert_snapshot!(golden("anthropic", LabelProfile::Refs));
}
