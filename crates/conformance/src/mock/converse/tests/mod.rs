//! Each rule with a body that keeps it and one that breaks it.

mod authentication;
mod blocks;
mod cache;
mod fields;
mod history;
mod media;
mod recordings;
mod render;
mod tools;

use serde_json::{Value, json};

use super::{validate_converse, validate_converse_with};
use crate::testing::{PDF, base64, png, spoiled};

const CLAUDE: &str = "us.anthropic.claude-sonnet-4-5-20250929-v1:0";
const CLAUDE_5: &str = "us.anthropic.claude-opus-5";
const NOVA: &str = "us.amazon.nova-lite-v1:0";
const NOVA_2: &str = "us.amazon.nova-2-lite-v1:0";
const LLAMA_4: &str = "us.meta.llama4-maverick-17b-instruct-v1:0";
const MISTRAL: &str = "mistral.pixtral-large-2502-v1:0";
const WRITER: &str = "us.writer.palmyra-x5-v1:0";
const GPT_OSS: &str = "openai.gpt-oss-120b-1:0";
const GPT: &str = "us.openai.gpt-5.6-sol";

/// The smallest valid body.
fn body() -> Value {
    json!({"messages": [{"role": "user", "content": [{"text": "hi"}]}]})
}

/// Expects the smallest body to be valid for that model after the change.
#[track_caller]
fn keeps(model_id: &str, change: impl FnOnce(&mut Value)) {
    let mut body = body();
    change(&mut body);
    assert_eq!(validate_converse(model_id, &body), Ok(()), "{body}");
}

/// Expects the smallest body to break a rule for that model after the change: at `path`, with `words` in the message.
#[track_caller]
fn breaks(model_id: &str, path: &str, words: &str, change: impl FnOnce(&mut Value)) {
    let mut body = body();
    change(&mut body);
    let violation = validate_converse(model_id, &body).expect_err("a broken rule");
    assert_eq!((violation.status, violation.kind), (400, "ValidationException"));
    assert_eq!(violation.path, path, "{violation}");
    assert!(violation.message.contains(words), "{violation}");
}

fn user(blocks: &[Value]) -> Value {
    json!({"role": "user", "content": blocks})
}

fn assistant(blocks: &[Value]) -> Value {
    json!({"role": "assistant", "content": blocks})
}

fn text(text: &str) -> Value {
    json!({"text": text})
}

fn call(id: &str) -> Value {
    json!({"toolUse": {"toolUseId": id, "name": "add", "input": {"a": 1}}})
}

fn result(id: &str) -> Value {
    json!({"toolResult": {"toolUseId": id, "content": [{"text": "3"}]}})
}

fn image() -> Value {
    json!({"image": {"format": "png", "source": {"bytes": base64(png(2, 2))}}})
}

fn pdf(name: &str) -> Value {
    json!({"document": {"format": "pdf", "name": name, "source": {"bytes": base64(PDF)}}})
}

fn tool() -> Value {
    json!({"toolSpec": {"name": "add", "inputSchema": {"json": {"type": "object", "properties": {}}}}})
}

/// Sets the messages behind a first one of the user, and the tools.
fn after_user(messages: Vec<Value>) -> impl FnOnce(&mut Value) {
    move |body| {
        body["messages"].as_array_mut().expect("an array").extend(messages);
        body["toolConfig"] = json!({"tools": [tool()]});
    }
}

/// One round: a call and a user message of these blocks.
fn round(blocks: &[Value]) -> impl FnOnce(&mut Value) + use<> {
    after_user(vec![assistant(&[call("a")]), user(blocks)])
}

/// A round whose result holds these blocks.
fn returned(content: &[Value]) -> impl FnOnce(&mut Value) + use<> {
    round(&[json!({"toolResult": {"toolUseId": "a", "content": content}})])
}

#[test]
fn every_member_is_known_and_of_its_type() {
    let body = json!({
        "messages": [
            user(&[
                text("x"),
                image(),
                pdf("Document 1"),
                json!({"document": {
                    "name": "Document 2", "format": "txt", "context": "c", "citations": {"enabled": false},
                    "source": {"text": "a"},
                }}),
                json!({"document": {"name": "Document 3", "source": {"content": [text("a")]}}}),
                json!({"searchResult": {"source": "s", "title": "t", "content": [text("a")]}}),
                json!({"guardContent": {"text": {"text": "x", "qualifiers": ["query"]}}}),
                image(),
                json!({"cachePoint": {"type": "default", "ttl": "5m"}}),
            ]),
            assistant(&[
                json!({"reasoningContent": {"reasoningText": {"text": "", "signature": "s"}}}),
                json!({"reasoningContent": {"redactedContent": base64("x")}}),
                json!({"citationsContent": {"content": [text("a")], "citations": [{"title": "t"}]}}),
                call("a"),
            ]),
            user(&[json!({"toolResult": {"toolUseId": "a", "status": "success", "content": [text("3"), {"json": {}}]}})]),
        ],
        "system": [text("x"), {"cachePoint": {"type": "default"}}],
        "inferenceConfig": {"maxTokens": 9, "temperature": 0.5, "stopSequences": ["x"]},
        "toolConfig": {
            "tools": [{"toolSpec": {
                "name": "add", "description": "d", "strict": true,
                "inputSchema": {"json": {"type": "object", "properties": {}, "additionalProperties": false}},
            }}],
            "toolChoice": {"tool": {"name": "add"}},
        },
        "outputConfig": {"textFormat": {"type": "json_schema", "structure": {"jsonSchema": {
            "schema": "{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false}", "name": "n", "description": "d",
        }}}},
        "additionalModelRequestFields": {},
        "additionalModelResponseFieldPaths": ["/stop_sequence"],
        "guardrailConfig": {
            "guardrailIdentifier": "g", "guardrailVersion": "1", "trace": "enabled", "streamProcessingMode": "sync",
        },
        "performanceConfig": {"latency": "optimized"},
        "serviceTier": {"type": "flex"},
        "requestMetadata": {"k": "v"},
    });
    assert_eq!(validate_converse(CLAUDE, &body), Ok(()));
    let free = [
        "/messages/1/content/3/toolUse/input",
        "/messages/1/content/2/citationsContent/citations/0/title",
        "/messages/2/content/0/toolResult/content/1/json",
        "/toolConfig/tools/0/toolSpec/inputSchema/json",
        "/requestMetadata",
    ];
    let spoiled = spoiled(&body, &free);
    assert!(spoiled.len() > 90, "{}", spoiled.len());
    for (place, body) in spoiled {
        assert!(validate_converse(CLAUDE, &body).is_err(), "{place}");
    }
}
