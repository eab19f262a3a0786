//! Recorded replies to which members were added, of which members were taken away, or whose words are unknown, still
//! read as what they are.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::wildcard_imports,
    reason = "helpers of tests are not recognised as tests"
)]

use std::path::{Path, PathBuf};

use crate::common::*;
use attache_conformance::{CassetteIndex, event_frame};
use attache_core::{AssistantPart, Completion};
use attache_transport::cassette::Cassette;
use serde_json::{Value, json};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/fixtures/cassettes")
}

/// The bodies of recorded replies, streamed and whole.
fn bodies() -> Vec<(String, Vec<u8>)> {
    let index = CassetteIndex::load(folder().join("index.json")).unwrap();
    let mut bodies = Vec::new();
    for file in index.with_protocol("bedrock-converse") {
        let cassette = Cassette::load(folder().join(&file.file)).unwrap();
        for (interaction, expected) in cassette.interactions.iter().zip(&file.expect) {
            if expected.kind == "generate" && expected.protocol.as_deref() == Some("bedrock-converse") {
                bodies.push((file.file.clone(), interaction.response.body.bytes().to_vec()));
            }
        }
    }
    bodies
}

/// The body with each of its JSON values changed.
fn changed(body: &[u8], change: &impl Fn(&mut Value)) -> Vec<u8> {
    let apply = |json: &[u8]| {
        let mut value: Value = serde_json::from_slice(json).unwrap();
        change(&mut value);
        value.to_string().into_bytes()
    };
    if body[0] == b'{' {
        return apply(body);
    }
    let mut out = Vec::new();
    let mut rest = body;
    while !rest.is_empty() {
        let number =
            |at: usize| usize::try_from(u32::from_be_bytes(rest[at..at + 4].try_into().unwrap())).unwrap();
        let (total, headers) = (number(0), number(4));
        let mut at = 12;
        let mut owned = Vec::new();
        while at < 12 + headers {
            let name = usize::from(rest[at]);
            let text =
                |from: usize, length: usize| String::from_utf8(rest[from..from + length].to_vec()).unwrap();
            let length = usize::from(u16::from_be_bytes([rest[at + name + 2], rest[at + name + 3]]));
            owned.push((text(at + 1, name), text(at + name + 4, length)));
            at += name + 4 + length;
        }
        let headers: Vec<(&str, &str)> =
            owned.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        out.extend(event_frame(&headers, &apply(&rest[at..total - 4])));
        rest = &rest[total..];
    }
    out
}

fn each_object(value: &mut Value, change: &impl Fn(&mut serde_json::Map<String, Value>)) {
    match value {
        Value::Object(object) => {
            // Results and arguments of tools are theirs.
            for (name, child) in object.iter_mut() {
                if !matches!(name.as_str(), "input" | "json") {
                    each_object(child, change);
                }
            }
            change(object);
        }
        Value::Array(list) => list.iter_mut().for_each(|child| each_object(child, change)),
        _ => {}
    }
}

/// The parts that must stay the same.
fn essence(done: &Completion) -> String {
    let parts: Vec<String> = done
        .message
        .parts
        .iter()
        .map(|part| match part {
            AssistantPart::Text(text) => text.text().to_owned(),
            AssistantPart::Reasoning(reasoning) => {
                format!("{} {:?}", reasoning.text(), reasoning.replay().map(|replay| replay.json().len()))
            }
            AssistantPart::ToolCall(call) => format!("{} {:?}", call.name, call.arguments.object()),
            AssistantPart::Opaque(part) => part.kind.clone(),
            other => format!("{other:?}"),
        })
        .collect();
    format!("{parts:?} {:?}", done.finish_reason)
}

#[test]
fn additions_change_nothing() {
    for (name, body) in bodies() {
        let plain = essence(&completion(&body));
        let front = changed(&body, &|value| {
            each_object(value, &|object| {
                let old = std::mem::take(object);
                object.insert("aaUnknown".to_owned(), json!({"deep": [1, {"x": null}]}));
                object.extend(old);
            });
        });
        let behind = changed(&body, &|value| {
            each_object(value, &|object| {
                object.insert("zzNull".to_owned(), Value::Null);
                object.insert("zzList".to_owned(), json!([[], "x", 1e9]));
            });
        });
        for body in [front, behind] {
            assert_eq!(essence(&completion(&body)), plain, "{name}");
        }
    }
}

#[test]
fn absent_and_null_members_break_nothing() {
    const DISPENSABLE: [&str; 9] =
        ["p", "metrics", "role", "usage", "toolUseId", "type", "status", "trace", "latencyMs"];
    for (name, body) in bodies() {
        let plain = completion(&body).message.text();
        for member in DISPENSABLE {
            let absent = changed(&body, &|value| {
                each_object(value, &|object| {
                    object.shift_remove(member);
                });
            });
            let null = changed(&body, &|value| {
                each_object(value, &|object| {
                    if let Some(value) = object.get_mut(member) {
                        *value = Value::Null;
                    }
                });
            });
            for body in [absent, null] {
                assert_eq!(completion(&body).message.text(), plain, "{name} without {member}");
            }
        }
    }
}

#[test]
fn unknown_words_are_kept() {
    for (name, body) in bodies() {
        let plain = completion(&body);
        let strange = completion(&changed(&body, &|value| {
            each_object(value, &|object| {
                for (member, word) in
                    [("stopReason", "brand_new"), ("role", "oracle"), ("type", "brand_new_use")]
                {
                    if let Some(value) = object.get_mut(member).filter(|value| value.is_string()) {
                        *value = json!(word);
                    }
                }
            });
        }));
        assert_eq!(strange.message.text(), plain.message.text(), "{name}");
        assert_eq!(strange.raw_finish_reason.as_deref(), Some("brand_new"));
    }
}
