//! Recorded traffic of real servers, at every chunking, against what an independent parser made of it.

#![cfg(test)]

mod common;

use std::path::PathBuf;
use std::sync::Arc;

use attache_core::{AssistantPart, Completion, StreamChunk};
use attache_openai::{ChatCodec, Profiles};
use attache_testkit::{Cassette, CassetteIndex, Expectation, RecordedResponse, chunked};
use attache_transport::{Replay, replay};
use bytes::Bytes;
use http::StatusCode;
use serde_json::{Map, Value};

use common::{compatible, deltas_agree};

const PROTOCOL: &str = "openai-chat";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../tests/fixtures/cassettes")
}

/// Every recorded answer of the protocol, with what it holds.
fn recordings() -> Vec<(String, RecordedResponse, Expectation)> {
    let index = CassetteIndex::load(root().join("index.json")).unwrap();
    let mut found = Vec::new();
    for file in index.with_protocol(PROTOCOL) {
        let cassette = Cassette::load(root().join(&file.file)).unwrap();
        assert_eq!(cassette.interactions.len(), file.expect.len(), "{}", file.file);
        for (at, (interaction, expected)) in cassette.interactions.into_iter().zip(&file.expect).enumerate() {
            if expected.protocol.as_deref() == Some(PROTOCOL) {
                found.push((format!("{}[{at}]", file.file), interaction.response, expected.clone()));
            }
        }
    }
    found
}

/// One piece, single bytes, and seven random cuts.
fn chunkings(body: &Bytes) -> Vec<Vec<Bytes>> {
    let bytes = (0..body.len()).map(|at| body.slice(at..=at)).collect();
    [vec![body.clone()], bytes].into_iter().chain((0..7).map(|seed| chunked(body, seed))).collect()
}

fn replays(response: &RecordedResponse) -> Vec<Replay> {
    // No profile of the server is needed to understand it.
    let codec = ChatCodec::new(compatible(), "m");
    let status = StatusCode::from_u16(response.status).unwrap();
    let chunkings = chunkings(&response.body.bytes());
    chunkings.into_iter().map(|body| replay(&codec, status, &response.headers, body)).collect()
}

#[test]
fn every_recording_is_understood_at_every_chunking() {
    let recordings = recordings();
    assert!(recordings.len() >= 109, "only {} recordings", recordings.len());
    let mut misses = Vec::new();
    for (name, response, expected) in &recordings {
        for (chunking, replay) in replays(response).iter().enumerate() {
            let found = differences(replay, expected);
            misses.extend(found.into_iter().map(|miss| format!("{name} chunking {chunking}: {miss}")));
        }
    }
    assert!(misses.is_empty(), "{} misses:\n{}", misses.len(), misses.join("\n"));
}

// design.md invariant 6: however the bytes are cut, the same chunks come out, ids that we mint aside
#[test]
fn chunking_changes_nothing() {
    for (name, response, _) in recordings() {
        let replays = replays(&response);
        let first = shape(&replays[0]);
        for replay in &replays[1..] {
            assert_eq!(shape(replay), first, "{name}");
        }
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

// openai.md, golden rule 1
#[test]
fn added_missing_and_null_members_change_nothing() {
    const IDLE: [&str; 8] = [
        "object",
        "created",
        "system_fingerprint",
        "service_tier",
        "logprobs",
        "role",
        "obfuscation",
        "x_groq",
    ];
    let add = |object: &mut Map<String, Value>| {
        for (name, value) in [("zz_object", serde_json::json!({"a": [1]})), ("zz_null", Value::Null)] {
            object.insert(name.to_owned(), value);
        }
    };
    let null = |object: &mut Map<String, Value>| {
        for (name, value) in object.iter_mut() {
            if IDLE.contains(&name.as_str()) {
                *value = Value::Null;
            }
        }
    };
    let drop = |object: &mut Map<String, Value>| {
        object.retain(|name, value| !value.is_null() && !IDLE.contains(&name.as_str()));
    };
    let changes: [Change; 3] = [add, null, drop];
    let codec = ChatCodec::new(compatible(), "m");
    for (name, response, expected) in recordings() {
        for (at, change) in changes.into_iter().enumerate() {
            let status = StatusCode::from_u16(response.status).unwrap();
            let body = changed(&response.body.bytes(), change);
            let replay = replay(&codec, status, &response.headers, [body]);
            assert_eq!(differences(&replay, &expected), Vec::<String>::new(), "{name}, change {at}");
        }
    }
}

// Whatever comes, the decoder answers with chunks or an error.
#[test]
fn damaged_recordings_do_no_harm() {
    let codec = ChatCodec::new(compatible(), "m");
    for (name, response, _) in recordings() {
        let body = response.body.bytes();
        for damage in 0..40_usize {
            let mut bytes = body.to_vec();
            let at = damage.wrapping_mul(7919).wrapping_add(name.len()) % bytes.len().max(1);
            match damage % 4 {
                0 => bytes.truncate(at),
                1 => bytes[at] = b'"',
                2 => bytes[at] = 0xff,
                _ => bytes.insert(at, b'{'),
            }
            let replay = replay(&codec, StatusCode::OK, &response.headers, [bytes]);
            let ends = replay.chunks.iter().filter(|chunk| matches!(chunk, StreamChunk::Done(_))).count();
            assert_eq!(ends + usize::from(replay.error.is_some()), 1, "{name}: one ending");
        }
    }
}

fn shape(replay: &Replay) -> Vec<String> {
    let chunks = replay.chunks.iter().map(|chunk| match chunk {
        StreamChunk::ToolCallDelta { slot, provider_id, name, arguments_delta, .. } => {
            format!("{slot} {provider_id:?} {name:?} {arguments_delta:?}")
        }
        StreamChunk::Done(_) => "done".to_owned(),
        other => format!("{other:?}"),
    });
    chunks.chain(replay.error.iter().map(|error| format!("{error:?}"))).collect()
}

/// What differs from the expectation.
fn differences(replay: &Replay, expected: &Expectation) -> Vec<String> {
    let mut found = Vec::new();
    let mut check = |what: &str, is: String, wanted: String| {
        if is != wanted {
            found.push(format!("{what} is {is}, not {wanted}"));
        }
    };
    let error = replay.error.as_ref();
    if let Some(wanted) = expected.error.as_ref().or(expected.stream_error.as_ref()) {
        check(
            "message",
            format!("{:?}", error.map(|error| error.message().trim_end_matches('.'))),
            // Messages of errors are one line and end without a full stop.
            format!("{:?}", wanted.message.as_deref().map(|message| message.trim_end_matches('.'))),
        );
        let code = wanted.code.as_deref().or(wanted.kind.as_deref());
        check("code", format!("{:?}", error.and_then(|error| error.code())), format!("{code:?}"));
        if expected.kind == "error" {
            check(
                "status",
                format!("{:?}", error.and_then(|error| error.status())),
                format!("{:?}", Some(expected.status)),
            );
            return found;
        }
    } else {
        check("error", format!("{error:?}"), "None".to_owned());
        deltas_agree(&replay.chunks, &replay.completion);
        check(
            "end",
            replay.chunks.iter().filter(|chunk| matches!(chunk, StreamChunk::Done(_))).count().to_string(),
            "1".to_owned(),
        );
    }
    let completion = &replay.completion;
    let message = &completion.message;
    check("text", message.text(), expected.text.clone().unwrap_or_default());
    check("refusal", format!("{:?}", message.refusal()), format!("{:?}", expected.refusal));
    let thinking = expected.thinking.clone().unwrap_or_default();
    check("thinking", message.thinking(), thinking.text);
    let reasons = message.parts.iter().any(|part| matches!(part, AssistantPart::Reasoning(_)));
    check("thinking present", reasons.to_string(), thinking.present.to_string());
    check("finish", format!("{:?}", completion.raw_finish_reason), format!("{:?}", expected.finish_reason));
    check("model", format!("{:?}", completion.model), format!("{:?}", expected.model));
    check("id", format!("{:?}", completion.response_id), format!("{:?}", expected.id));
    let (is, wanted) = usage(completion, expected);
    check("usage", is, wanted);
    let calls: Vec<_> = message.tool_calls().collect();
    check("number of calls", calls.len().to_string(), expected.tool_calls.len().to_string());
    for (call, wanted) in calls.iter().zip(&expected.tool_calls) {
        let id = wanted.id.clone().filter(|id| !id.is_empty());
        check(
            "call id",
            format!("{:?}", call.provider_id.as_ref().map(ToString::to_string)),
            format!("{id:?}"),
        );
        check("call name", call.name.clone(), wanted.name.clone());
        if let Some(raw) = &wanted.arguments_raw {
            check("raw arguments", call.arguments.raw().to_owned(), raw.clone());
        }
        match (&wanted.arguments, call.arguments.object()) {
            (Some(wanted), is) => check(
                "arguments",
                format!("{:?}", is.map(Value::Object)),
                format!("{:?}", Ok::<_, ()>(wanted)),
            ),
            // JSON null stands for no arguments; whatever else is not there was cut off.
            (None, Ok(empty)) if empty.is_empty() && wanted.arguments_raw.as_deref() == Some("null") => {}
            (None, is) => check("arguments", is.is_err().to_string(), "true".to_owned()),
        }
    }
    found
}

fn usage(completion: &Completion, expected: &Expectation) -> (String, String) {
    let is = &completion.usage;
    let wanted = expected.usage.unwrap_or_default();
    (
        format!(
            "{:?}",
            [is.input_tokens, is.output_tokens, is.cached_tokens, is.cache_write_tokens, is.reasoning_tokens]
        ),
        format!("{:?}", [wanted.input, wanted.output, wanted.cached, wanted.cache_write, wanted.reasoning]),
    )
}

/// The profile of the servers that a folder of recordings comes from.
const RECORDED: [(&str, &str); 12] = [
    ("azure-chat", "azure"),
    ("cerebras", "cerebras"),
    ("deepseek", "deepseek"),
    ("gemini-chat", "gemini-chat"),
    ("groq", "groq"),
    ("huggingface", "huggingface"),
    ("llamacpp", "llamacpp"),
    ("mistral", "mistral"),
    ("ollama-chat", "ollama-chat"),
    ("openai-chat", "openai-chat"),
    ("openrouter", "openrouter"),
    ("perplexity", "perplexity"),
];

// The profile makes no difference to what is understood.
#[test]
fn recordings_read_alike_under_the_profile_of_their_server() {
    let mut read = 0;
    for (name, response, mut expected) in recordings() {
        let folder = name.split('/').next().unwrap();
        let Some((_, profile)) = RECORDED.iter().find(|(known, _)| *known == folder) else { continue };
        let profile = Arc::clone(Profiles::bundled().get(profile).unwrap());
        if profile.reasoning_in_total
            && let Some(usage) = &mut expected.usage
            && let (Some(input), Some(output), Some(total)) = (usage.input, usage.output, usage.total)
        {
            // openai.md C.18: thoughts are counted in the total alone.
            usage.output = Some(total - input);
            usage.reasoning = Some(total - input - output).filter(|hidden| *hidden > 0);
        }
        let status = StatusCode::from_u16(response.status).unwrap();
        let codec = ChatCodec::new(profile, "m");
        let replay = replay(&codec, status, &response.headers, [response.body.bytes()]);
        assert_eq!(differences(&replay, &expected), Vec::<String>::new(), "{name}");
        read += 1;
    }
    assert!(read >= 94, "only {read} recordings");
}
