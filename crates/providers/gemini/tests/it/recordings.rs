//! Unknown members, unknown words, nulls and absent members break no reply.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::wildcard_imports,
    reason = "helpers of tests are not recognised as tests"
)]

use std::path::Path;

use crate::common::*;
use attache_conformance::CassetteIndex;
use attache_core::{ErrorKind, StreamChunk};
use attache_transport::cassette::Cassette;
use serde_json::{Map, Value, json};

/// The chunks of every recorded reply.
fn recorded() -> Vec<Vec<Value>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/fixtures/cassettes");
    let index = CassetteIndex::load(folder.join("index.json")).unwrap();
    let mut replies = Vec::new();
    for file in index.with_protocol("gemini") {
        let cassette = Cassette::load(folder.join(&file.file)).unwrap();
        for (interaction, expected) in cassette.interactions.iter().zip(&file.expect) {
            let is_reply = expected.kind == "generate" && expected.finish_reason.is_some();
            if is_reply && expected.protocol.as_deref() == Some("gemini") {
                let body = String::from_utf8(interaction.response.body.bytes().to_vec()).unwrap();
                let lines = body.lines().filter_map(|line| line.strip_prefix("data: "));
                let chunks: Vec<Value> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
                replies.push(match chunks.is_empty() {
                    true => vec![serde_json::from_str(&body).unwrap()],
                    false => chunks,
                });
            }
        }
    }
    assert!(replies.len() > 30);
    replies
}

/// Every object changed, but those whose content is not the protocol's.
fn change(value: &mut Value, edit: &impl Fn(&mut Map<String, Value>)) {
    match value {
        Value::Object(members) => {
            for (key, value) in members.iter_mut() {
                if !matches!(
                    key.as_str(),
                    "args" | "usageMetadata" | "toolCall" | "toolResponse" | "groundingMetadata"
                ) {
                    change(value, edit);
                }
            }
            edit(members);
        }
        Value::Array(list) => list.iter_mut().for_each(|value| change(value, edit)),
        _ => {}
    }
}

fn said(chunks: &[Value]) -> (Vec<String>, Option<String>) {
    let completion = completion(&sse(chunks));
    (shape(&completion), completion.raw_finish_reason)
}

fn changed(chunks: &[Value], edit: &impl Fn(&mut Map<String, Value>)) -> Vec<Value> {
    let mut chunks = chunks.to_vec();
    chunks.iter_mut().for_each(|chunk| change(chunk, edit));
    chunks
}

#[test]
fn added_members_change_nothing() {
    for reply in recorded() {
        // Parts that are kept verbatim are kept with what was added.
        let plain =
            |shape: Vec<String>| shape.into_iter().filter(|part| !part.contains(" {\"")).collect::<Vec<_>>();
        let (parts, finish) = said(&reply);
        let (again, same) = said(&changed(&reply, &|members| {
            members.insert("newMember".to_owned(), json!({"a": [1, {"b": null}]}));
            members.insert("newNull".to_owned(), Value::Null);
        }));
        assert_eq!((plain(again), same), (plain(parts), finish));
    }
}

#[test]
fn missing_and_null_members_break_nothing() {
    for key in [
        "usageMetadata",
        "modelVersion",
        "responseId",
        "index",
        "role",
        "safetyRatings",
        "finishMessage",
        "args",
        "id",
    ] {
        for reply in recorded() {
            let (parts, finish) = said(&reply);
            for value in [None, Some(Value::Null), Some(json!([])), Some(json!("x"))] {
                if key == "args" && value.is_some() || key == "id" && value == Some(json!("x")) {
                    continue;
                }
                let (again, same) = said(&changed(&reply, &|members| {
                    if members.contains_key(key) {
                        match &value {
                            Some(value) => members.insert(key.to_owned(), value.clone()),
                            None => members.shift_remove(key),
                        };
                    }
                }));
                assert_eq!(same, finish, "{key}");
                assert_eq!(again.len(), parts.len(), "{key}");
            }
        }
    }
}

#[test]
fn words_that_are_new_are_kept() {
    for reply in recorded() {
        let (_, finish) = said(&changed(&reply, &|members| {
            for key in ["finishReason", "role", "modality", "trafficType"] {
                if members.contains_key(key) {
                    members.insert(key.to_owned(), json!("SOMETHING_NEW"));
                }
            }
        }));
        assert_eq!(finish.as_deref(), Some("SOMETHING_NEW"));
    }
}

#[test]
fn nonsense_is_malformed_and_never_a_panic() {
    for body in
        ["{", "[]", "[1]", "{}", "[{}]", r#"{"status":"ok"}"#, "data: {\r\n\r\n", "data: []\r\n\r\n", "\"x\""]
    {
        let kinds = [ErrorKind::Malformed, ErrorKind::StreamCut];
        let replay = replay_pieces([body]);
        assert!(
            replay.error.as_ref().is_some_and(|error| kinds.contains(&error.kind())),
            "{body} {replay:?}"
        );
    }
    let odd = json!({"candidates": [null, 3, {"content": 4}, {"content": {"parts": "x"}}, {"content": {"parts": [5, {"text": 6}]}},
        {"index": "0", "content": {"parts": [{"text": "fine"}]}, "finishReason": "STOP"}]});
    assert_eq!(whole(&odd).message.text(), "fine");
    let done =
        decode(&sse(&[chunk(&json!([{"text": "a"}]), Some("STOP")), json!({"usageMetadata": {}})])).unwrap();
    assert!(matches!(done.last(), Some(StreamChunk::Done(_))));
}
