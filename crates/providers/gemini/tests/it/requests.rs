//! Snapshots of requests: each holds what goes over the wire, and the strict rules of the API accept it.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::wildcard_imports,
    reason = "helpers of tests are not recognised as tests"
)]

use crate::common::*;
use attache_core::message::{Routed, UserOrigin};
use attache_core::{
    ChatRequest, Effort, Message, ModelSettings, Reasoning, ResponseFormat, ToolChoice, ToolResult,
    UserMessage, UserPart,
};
use attache_gemini::GenerateCodec;
use serde_json::{Value, json};

/// The request as `attache wire` shows it.
fn wire(request: &ChatRequest) -> Value {
    wire_for(request, &codec())
}

fn wire_for(request: &ChatRequest, codec: &GenerateCodec) -> Value {
    shown(&encode_for(request, codec).unwrap(), &body_for(request, codec))
}

fn inbox() -> Vec<Message> {
    let read = call(2, "files.read", r#"{"path":"a.csv"}"#);
    let table = ToolResult::error(&read, "no such file");
    tool_turn(signed(1, "files.list", r#"{"folder": "inbox"}"#, "c2lnbmF0dXJl"), read, table)
}

#[test]
fn plain() {
    insta::assert_json_snapshot!(wire(&request([Message::user("Hello \"world\"\n")])));
}

#[test]
fn whole_with_options() {
    let options = ModelSettings::new()
        .with_system("Be brief.")
        .with_max_tokens(64)
        .with_reasoning(Reasoning::Effort(Effort::Low))
        .with_response_format(ResponseFormat::JsonSchema {
            name: "city".to_owned(),
            schema:
                json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]})
                    .into(),
            strict: true,
        });
    insta::assert_json_snapshot!(wire(
        &request([Message::user("Where?")]).with_settings(options).streaming(false)
    ));
}

#[test]
fn tools_and_results() {
    let asked = request(inbox()).with_tools(tools()).with_tool_choice(ToolChoice::None);
    insta::assert_json_snapshot!(wire(&asked));
}

#[test]
fn documents_in_results() {
    let made = signed(1, "files.read", r#"{"path":"b.pdf"}"#, "c2lnbmF0dXJl");
    let result = routed(ToolResult::ok(&made, "b.pdf"), [pdf("b.pdf").into(), png("c.png").into()]);
    insta::assert_json_snapshot!(wire(
        &request([Message::user("Read it."), assistant([made.into()]), results([result])])
            .with_tools(tools())
    ));
}

// gemini.md (a) 9: older models read documents of results in a content of their own
#[test]
fn documents_behind_results() {
    let made = call(1, "files.read", r#"{"path":"b.pdf"}"#);
    let mut documents = UserMessage::new([]);
    documents.origin = UserOrigin::ToolCallDocuments;
    let label = UserPart::text(r#"<document tool-name="files_read" tool-call-id="id_1" filename="b.pdf" />"#);
    let content = [UserPart::text("Documents extracted from tool call results:"), label, pdf("b.pdf").into()];
    documents.routed = Some(Routed::new(content.into_iter().flatten().collect(), 1));
    let asked = request([
        Message::user("Read it."),
        assistant([made.clone().into()]),
        results([routed(ToolResult::ok(&made, "b.pdf"), [])]),
        Message::User(documents),
    ]);
    insta::assert_json_snapshot!(wire_for(&asked.with_tools(tools()), &GenerateCodec::new(OLD)));
}

#[test]
fn vertex() {
    let codec = GenerateCodec::vertex(MODEL).with_project("my-project", "eu");
    insta::assert_json_snapshot!(wire_for(&request(inbox()).with_tools(tools()), &codec));
}
