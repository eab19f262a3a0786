//! Recorded traffic at every chunking, against what an independent parser made of it.

use std::path::PathBuf;

use attache_cohere::CohereCodec;
use attache_conformance::{CassetteIndex, Expectation};
use attache_core::{AssistantMessage, ChatRequest, Message, RawUsage, StreamChunk, ToolResult};
use attache_transport::cassette::{Cassette, Interaction, chunked, json_differences};
use attache_transport::{Replay, replay};
use bytes::Bytes;
use http::StatusCode;
use serde_json::{Map, Value};

use crate::common::{answers, body, deltas_agree, opaque};

fn recordings() -> Vec<(String, Interaction, Expectation)> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../tests/fixtures/cassettes");
    let index = CassetteIndex::load(root.join("index.json")).unwrap();
    let mut found = Vec::new();
    for file in index.with_protocol("cohere") {
        let cassette = Cassette::load(root.join(&file.file)).unwrap();
        assert_eq!(cassette.interactions.len(), file.expect.len(), "{}", file.file);
        for (interaction, expected) in cassette.interactions.into_iter().zip(&file.expect) {
            found.push((file.file.clone(), interaction, expected.clone()));
        }
    }
    found
}

fn read(interaction: &Interaction, pieces: impl IntoIterator<Item = Bytes>) -> Replay {
    let request = interaction.request.body.json().unwrap();
    let codec = CohereCodec::new(request["model"].as_str().unwrap());
    let status = StatusCode::from_u16(interaction.response.status).unwrap();
    replay(&codec, status, &interaction.response.headers, pieces)
}

/// One piece, single bytes, and seven random cuts.
fn chunkings(body: &Bytes) -> Vec<Vec<Bytes>> {
    let bytes = (0..body.len()).map(|at| body.slice(at..=at)).collect();
    [vec![body.clone()], bytes].into_iter().chain((0..7).map(|seed| chunked(body, seed))).collect()
}

#[test]
fn every_recording_reads_as_its_index_expects() {
    let recordings = recordings();
    assert_eq!(recordings.len(), 3);
    for (name, interaction, expected) in &recordings {
        for (chunking, pieces) in chunkings(&interaction.response.body.bytes()).into_iter().enumerate() {
            let replay = read(interaction, pieces);
            assert!(replay.error.is_none(), "{name} chunking {chunking}: {:?}", replay.error);
            deltas_agree(&replay.chunks, &replay.completion);
            compare(&replay, expected, &format!("{name} chunking {chunking}"));
        }
    }
}

fn compare(replay: &Replay, expected: &Expectation, name: &str) {
    let completion = &replay.completion;
    let message = &completion.message;
    assert_eq!(message.text(), expected.text.clone().unwrap_or_default(), "{name}");
    assert_eq!(completion.raw_finish_reason, expected.finish_reason, "{name}");
    assert_eq!(completion.response_id, expected.id, "{name}");
    assert_eq!(message.thinking(), expected.thinking.as_ref().unwrap().text, "{name}");
    let calls: Vec<_> = message
        .tool_calls()
        .map(|call| (call.provider_id.as_ref().map(|id| id.as_str()), &*call.name, call.arguments.raw()))
        .collect();
    let wanted: Vec<_> = expected
        .tool_calls
        .iter()
        .map(|call| (call.id.as_deref(), &*call.name, call.arguments_raw.as_deref().unwrap()))
        .collect();
    assert_eq!(calls, wanted, "{name}");

    let (usage, wanted) = (&completion.usage, expected.usage.unwrap());
    assert_eq!(
        [usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.cache_write_tokens],
        [wanted.input, wanted.output, wanted.cached, wanted.cache_write],
        "{name}"
    );
    assert_eq!(usage.raw.as_ref().map(RawUsage::value), expected.usage_raw, "{name}");
    // The index leaves the count of reasoning out, which the raw object of a model that reasons has.
    let raw = expected.usage_raw.as_ref().unwrap();
    assert_eq!(
        usage.reasoning_tokens,
        raw.pointer("/tokens/reasoning_tokens").and_then(Value::as_u64),
        "{name}"
    );
}

// The plan is no text, and goes back as the plan.
#[test]
fn a_tool_plan_makes_the_round() {
    let (_, interaction, _) = &recordings()[0];
    let replay = read(interaction, [interaction.response.body.bytes()]);
    let message: AssistantMessage = replay.completion.message;
    let recorded = interaction.response.body.json().unwrap();
    let plan = recorded["message"]["tool_plan"].as_str().unwrap();
    assert_eq!(message.text(), "");
    assert_eq!(opaque(&message), [("tool_plan", &*Value::from(plan).to_string())]);
    let results: Vec<_> = message.tool_calls().map(|call| ToolResult::ok(call, "x")).collect();
    let request = ChatRequest::new([Message::Assistant(message).shared(), answers(results)]).streaming(false);
    let sent = body(&CohereCodec::new("command-a-03-2025"), &request);
    assert_eq!(json_differences(&recorded["message"], &sent["messages"][0], &[]), []);
}

// The recorded requests are those that we would send, but for the form of texts.
#[test]
fn a_recorded_request_is_made_again() {
    let (_, first, _) = &recordings()[0];
    let (_, second, _) = &recordings()[1];
    let recorded = second.request.body.json().unwrap();
    let said =
        |at: usize, pointer: &str| recorded["messages"][at].pointer(pointer).unwrap().as_str().unwrap();
    let message = read(first, [first.response.body.bytes()]).completion.message;
    let results: Vec<_> = (3..)
        .zip(message.tool_calls())
        .map(|(at, call)| ToolResult::ok(call, said(at, "/content/0/text")))
        .collect();
    let request = ChatRequest::new([
        Message::system(said(0, "/content")).shared(),
        Message::user(said(1, "/content/0/text")).shared(),
        Message::Assistant(message).shared(),
        answers(results),
    ])
    .streaming(false);
    let sent = body(&CohereCodec::new("command-a-03-2025"), &request);
    assert_eq!(sent["messages"][1]["content"], recorded["messages"][1]["content"][0]["text"]);
    for at in [0, 3, 4] {
        assert_eq!(json_differences(&recorded["messages"][at], &sent["messages"][at], &[]), []);
    }
    for member in ["id", "type", "function"] {
        assert_eq!(
            sent["messages"][2]["tool_calls"][1][member],
            recorded["messages"][2]["tool_calls"][1][member]
        );
    }
}

/// A change to a JSON object.
type Change = fn(&mut Map<String, Value>);

/// The body with every JSON object in it changed.
fn changed(body: &Bytes, change: Change) -> Bytes {
    fn visit(value: &mut Value, change: Change) {
        match value {
            Value::Object(object) => {
                object.values_mut().for_each(|member| visit(member, change));
                change(object);
            }
            Value::Array(list) => list.iter_mut().for_each(|item| visit(item, change)),
            _ => {}
        }
    }
    let edit = |json: &str| {
        let mut value = serde_json::from_str::<Value>(json).ok()?;
        visit(&mut value, change);
        Some(value.to_string())
    };
    let text = std::str::from_utf8(body).unwrap();
    if let Some(whole) = edit(text) {
        return whole.into();
    }
    let lines = text.lines().map(|line| match line.strip_prefix("data:").and_then(edit) {
        Some(data) => format!("data: {data}"),
        None => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n").into()
}

#[test]
fn added_missing_and_null_members_change_nothing() {
    const IDLE: [&str; 4] = ["role", "billed_units", "search_units", "citations"];
    let add = |object: &mut Map<String, Value>| {
        object.insert("zz_object".to_owned(), serde_json::json!({"a": [1]}));
        object.insert("zz_null".to_owned(), Value::Null);
    };
    let null = |object: &mut Map<String, Value>| {
        let names = object
            .iter_mut()
            .filter(|(name, value)| IDLE.contains(&name.as_str()) || value.as_str() == Some(""));
        names.for_each(|(_, value)| *value = Value::Null);
    };
    let drop = |object: &mut Map<String, Value>| {
        object.retain(|name, value| !value.is_null() && !IDLE.contains(&name.as_str()));
    };
    let changes: [Change; 3] = [add, null, drop];
    for (name, interaction, mut expected) in recordings() {
        let usage = expected.usage_raw.take();
        for change in changes {
            let mut replay = read(&interaction, [changed(&interaction.response.body.bytes(), change)]);
            assert!(replay.error.is_none(), "{name}: {:?}", replay.error);
            // The raw object is as it came.
            replay.completion.usage.raw = usage.clone().map(RawUsage::from);
            expected.usage_raw.clone_from(&usage);
            compare(&replay, &expected, &name);
        }
    }
}

// Whatever comes, the decoder answers with chunks or an error, once.
#[test]
fn damaged_recordings_do_no_harm() {
    for (name, interaction, _) in recordings() {
        let whole = interaction.response.body.bytes();
        for damage in 0..200_usize {
            let mut bytes = whole.to_vec();
            let at = damage.wrapping_mul(7919).wrapping_add(name.len()) % bytes.len();
            match damage % 4 {
                0 => bytes.truncate(at),
                1 => bytes[at] = b'"',
                2 => bytes[at] = 0xff,
                _ => bytes.insert(at, b'{'),
            }
            let replay = read(&interaction, [Bytes::from(bytes)]);
            let ends = replay.chunks.iter().filter(|chunk| matches!(chunk, StreamChunk::Done(_))).count();
            assert_eq!(ends + usize::from(replay.error.is_some()), 1, "{name}: one ending");
        }
    }
}
