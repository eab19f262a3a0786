//! The recorded traffic of real providers, decoded as the index of an independent parser expects: at any chunking, with
//! members and events that nobody knows, and damaged.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken expectation is a failed test"
)]

#[path = "cassettes/changes.rs"]
mod changes;
#[path = "cassettes/restated.rs"]
mod restated;

use std::collections::BTreeMap;

use attache_core::{AssistantPart, StreamChunk};
use attache_testkit::{Expectation, chunked};
use attache_tests::recorded::{PROTOCOLS, Recorded, codec, recordings};
use attache_transport::{Replay, replay};
use bytes::Bytes;
use http::StatusCode;
use serde_json::Value;

use changes::CHANGES;
use restated::{RESTATED, taken_up};

/// Those that are read, with how many there are: a recording that is lost shows.
const EXPECTED: [(&str, usize); 7] = [
    ("openai-chat", 109),
    ("openai-responses", 62),
    ("anthropic", 37),
    ("gemini", 36),
    ("bedrock-converse", 28),
    ("ollama", 11),
    ("cohere", 3),
];

fn read(recorded: &Recorded, chunks: &[Bytes]) -> Replay {
    let codec = codec(&recorded.protocol).expect("the protocol is read");
    let status = StatusCode::from_u16(recorded.response.status).expect("recorded statuses are valid");
    replay(&*codec, status, &recorded.response.headers, chunks)
}

fn of_read_protocols() -> Vec<Recorded> {
    let mut all = recordings().expect("the recordings are there");
    all.retain(|recorded| PROTOCOLS.contains(&recorded.protocol.as_str()));
    all
}

fn joined(misses: &[String]) -> String {
    misses.iter().take(40).cloned().collect::<Vec<_>>().join("\n")
}

#[test]
fn nothing_recorded_is_left_out() {
    let mut counted: BTreeMap<String, usize> = BTreeMap::new();
    for recorded in of_read_protocols() {
        *counted.entry(recorded.protocol).or_default() += 1;
    }
    let expected: BTreeMap<String, usize> =
        EXPECTED.iter().map(|(protocol, count)| ((*protocol).to_owned(), *count)).collect();
    assert_eq!(counted, expected);
}

// Invariant 6, P07 to P09: however the bytes are cut, the same comes out, and the deltas are the message
#[test]
fn recordings_replay_as_expected_at_any_chunking() {
    let mut misses = Vec::new();
    for recorded in of_read_protocols() {
        let body = recorded.response.body.bytes();
        let bytewise: Vec<Bytes> = (0..body.len()).map(|at| body.slice(at..=at)).collect();
        let chunkings =
            [vec![body.clone()], bytewise].into_iter().chain((0..5).map(|seed| chunked(&body, seed)));
        let mut first: Option<Vec<String>> = None;
        for chunks in chunkings {
            let replay = read(&recorded, &chunks);
            let mut found = differences(&replay, &recorded);
            let shape = shape(&replay);
            if first.get_or_insert_with(|| shape.clone()) != &shape {
                found.push("the chunking changes it".to_owned());
            }
            if !found.is_empty() {
                misses.push(format!("{}: {}", recorded.name, found.join("; ")));
                break;
            }
        }
    }
    assert!(misses.is_empty(), "{} differ:\n{}", misses.len(), joined(&misses));
}

// openai.md, golden rule 1: closed enums never stand on the way of a reply
#[test]
fn what_providers_add_leave_out_or_null_changes_nothing() {
    let mut misses = Vec::new();
    let mut compared = 0;
    for recorded in of_read_protocols() {
        for (name, change) in CHANGES {
            let Some(body) = change(&recorded) else { continue };
            compared += 1;
            let found = differences(&read(&recorded, &[body]), &recorded);
            if !found.is_empty() {
                misses.push(format!("{}, {name}: {}", recorded.name, found.join("; ")));
            }
        }
    }
    let all: usize = EXPECTED.iter().map(|(_, count)| count).sum();
    assert!(compared > 3 * all, "{compared} changes to {all} recordings");
    assert!(misses.is_empty(), "{} of {compared} differ:\n{}", misses.len(), joined(&misses));
}

// A snapshot completes what was streamed of the same thing, and never adds to it by position
#[test]
fn a_thing_said_again_as_a_whole_adds_nothing() {
    let mut misses = Vec::new();
    let mut compared = std::collections::BTreeMap::<&str, usize>::new();
    for recorded in of_read_protocols() {
        for (name, change) in RESTATED {
            let Some(body) = change(&recorded) else { continue };
            *compared.entry(name).or_default() += 1;
            let found = differences(&read(&recorded, &[body]), &recorded);
            if !found.is_empty() {
                misses.push(format!("{}, {name}: {}", recorded.name, found.join("; ")));
            }
        }
    }
    let unused: Vec<&str> =
        RESTATED.iter().map(|(name, _)| *name).filter(|name| !compared.contains_key(name)).collect();
    assert!(unused.is_empty(), "in no recording: {unused:?}");
    let all: usize = compared.values().sum();
    assert!(misses.is_empty(), "{} of {all} differ:\n{}", misses.len(), joined(&misses));
}

// openai.md B.8: `GET /responses/{id}?stream=true&starting_after=…` yields the events behind one that was seen
#[test]
fn a_stream_taken_up_again_ends_in_the_whole_answer() {
    let mut misses = Vec::new();
    let mut compared = 0;
    for recorded in of_read_protocols() {
        for from in [0, 1, 2, 3, 5, 8, 13, 21, 34, 55] {
            let Some(body) = taken_up(&recorded, from) else { continue };
            compared += 1;
            let replay = read(&recorded, &[body]);
            let mut found = differences(&replay, &recorded);
            found.retain(|found| !found.starts_with("the deltas'"));
            if !found.is_empty() {
                misses.push(format!("{} from {from}: {}", recorded.name, found.join("; ")));
            }
        }
    }
    assert!(compared > 100, "{compared}");
    assert!(misses.is_empty(), "{} of {compared} differ:\n{}", misses.len(), joined(&misses));
}

// Whatever comes, a decoder answers with chunks and one end, and never panics
#[test]
fn damaged_recordings_end_once() {
    for recorded in of_read_protocols() {
        let body = recorded.response.body.bytes();
        for damage in 0..24_usize {
            let mut bytes = body.to_vec();
            let at = damage.wrapping_mul(7919).wrapping_add(recorded.name.len()) % bytes.len().max(1);
            match damage % 4 {
                0 => bytes.truncate(at),
                1 if !bytes.is_empty() => bytes[at] = b'"',
                2 if !bytes.is_empty() => bytes[at] = 0xff,
                _ => bytes.insert(at.min(bytes.len()), b'{'),
            }
            let replay = read(&recorded, &[bytes.into()]);
            let ends = replay.chunks.iter().filter(|chunk| matches!(chunk, StreamChunk::Done(_))).count();
            assert_eq!(ends + usize::from(replay.error.is_some()), 1, "{}: one ending", recorded.name);
        }
    }
}

/// What was handed out, without ids of ours, which are drawn anew.
fn shape(replay: &Replay) -> Vec<String> {
    let (mut text, mut thinking, mut calls) = (String::new(), String::new(), Vec::new());
    for chunk in &replay.chunks {
        match chunk {
            StreamChunk::Content(piece) => text.push_str(piece),
            StreamChunk::Thinking(piece) => thinking.push_str(piece),
            StreamChunk::ToolCallDelta { slot, provider_id, name, arguments_delta, .. } => {
                calls.push(format!("{slot} {provider_id:?} {name:?} {arguments_delta:?}"));
            }
            _ => {}
        }
    }
    let error = replay.error.iter().map(|error| format!("{:?} {error}", error.kind()));
    [text, thinking].into_iter().chain(calls).chain(error).collect()
}

/// What the deltas of a reply do not add up to.
fn deltas(replay: &Replay, check: &mut impl FnMut(&str, String, String)) {
    let (mut text, mut thinking) = (String::new(), String::new());
    let mut calls: Vec<(String, String, String)> = Vec::new();
    for chunk in &replay.chunks {
        match chunk {
            StreamChunk::Content(piece) => text.push_str(piece),
            StreamChunk::Thinking(piece) => thinking.push_str(piece),
            StreamChunk::ToolCallDelta { slot, id, name, arguments_delta, .. } => {
                if *slot == calls.len() {
                    calls.push((id.to_string(), String::new(), String::new()));
                }
                let Some(call) = calls.get_mut(*slot) else { continue };
                call.1.push_str(name.as_deref().unwrap_or_default());
                call.2.push_str(arguments_delta);
            }
            _ => {}
        }
    }
    let message = &replay.completion.message;
    check("the deltas' text", text, message.text());
    check("the deltas' thinking", thinking, message.thinking());
    let made = message.tool_calls().map(|call| {
        let raw = call.arguments.raw().to_owned();
        (call.id.to_string(), call.name.clone(), raw)
    });
    check("the deltas' calls", format!("{calls:?}"), format!("{:?}", made.collect::<Vec<_>>()));
}

/// What differs between a decoded reply and what is expected of it.
fn differences(replay: &Replay, recorded: &Recorded) -> Vec<String> {
    let expected = &recorded.expected;
    let mut found = Vec::new();
    let mut check = |what: &str, is: String, wanted: String| {
        if is != wanted {
            found.push(format!("{what} is {is}, not {wanted}"));
        }
    };
    let error = replay.error.as_ref();
    let wanted = expected.error.as_ref().or(expected.stream_error.as_ref());
    // A blocked prompt is no answer, although the status is 200. (gemini.md 7)
    let is_wanted = wanted.is_some() || expected.block_reason.is_some();
    check("an error", error.is_some().to_string(), is_wanted.to_string());
    if let (Some(wanted), Some(error)) = (wanted, error) {
        if let Some(message) = wanted.message.as_deref() {
            // Messages of errors are one line of bounded length and end without a full stop.
            let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
            let start: String = line.trim_end_matches('.').chars().take(200).collect();
            check("the message", error.message().starts_with(&start).to_string(), "true".to_owned());
        }
        if expected.kind == "error" {
            let status = format!("{:?}", Some(expected.status));
            check("the status", format!("{:?}", error.status()), status);
        }
    }
    if expected.kind == "error" {
        return found;
    }
    let completion = &replay.completion;
    let message = &completion.message;
    if error.is_none() {
        deltas(replay, &mut check);
    }
    check("text", message.text(), expected.text.clone().unwrap_or_default());
    check("refusal", format!("{:?}", message.refusal()), format!("{:?}", expected.refusal));
    let thinking = expected.thinking.clone().unwrap_or_default();
    check("thinking", message.thinking(), thinking.text);
    let reasoning = || {
        message.parts.iter().filter_map(|part| match part {
            AssistantPart::Reasoning(part) => Some(part),
            _ => None,
        })
    };
    check("thinking present", (reasoning().count() > 0).to_string(), thinking.present.to_string());
    check("finish", format!("{:?}", completion.raw_finish_reason), format!("{:?}", expected.finish_reason));
    for (what, is, wanted) in
        [("model", &completion.model, &expected.model), ("id", &completion.response_id, &expected.id)]
    {
        if wanted.is_some() {
            check(what, format!("{is:?}"), format!("{wanted:?}"));
        }
    }
    let (is, wanted) = usage(replay, recorded);
    check("usage", is, wanted);
    calls(replay, expected, &mut check);
    // What is neither text nor thinking nor a call of ours is kept.
    let opaque = message.parts.iter().any(|part| matches!(part, AssistantPart::Opaque(_)));
    if !expected.server_tools.is_empty() {
        check(&format!("{:?} kept", expected.server_tools), opaque.to_string(), "true".to_owned());
    }
    found
}

fn calls(replay: &Replay, expected: &Expectation, check: &mut impl FnMut(&str, String, String)) {
    let calls: Vec<_> = replay.completion.message.tool_calls().collect();
    check("number of calls", calls.len().to_string(), expected.tool_calls.len().to_string());
    for (call, wanted) in calls.iter().zip(&expected.tool_calls) {
        // An empty id is none.
        let id = wanted.id.clone().filter(|id| !id.is_empty());
        let is = call.provider_id.as_ref().map(ToString::to_string);
        check("call id", format!("{is:?}"), format!("{id:?}"));
        check("call name", call.name.clone(), wanted.name.clone());
        match (&wanted.arguments, call.arguments.object()) {
            (Some(wanted), is) => {
                let wanted = format!("{:?}", Ok::<_, ()>(wanted));
                check("arguments", format!("{:?}", is.map(Value::Object)), wanted);
            }
            // JSON null stands for no arguments; whatever else is not there was cut off.
            (None, Ok(empty)) if empty.is_empty() && wanted.arguments_raw.as_deref() == Some("null") => {}
            (None, is) => check("arguments", is.is_err().to_string(), "true".to_owned()),
        }
    }
}

/// Token counts. The index has them as the provider counts; ours include what some providers count apart.
fn usage(replay: &Replay, recorded: &Recorded) -> (String, String) {
    let is = &replay.completion.usage;
    let wanted = recorded.expected.usage.unwrap_or_default();
    let sum = |counts: &[Option<u64>]| counts.iter().flatten().sum::<u64>();
    let input = match recorded.protocol.as_str() {
        "anthropic" | "bedrock-converse" => {
            wanted.input.map(|input| input + sum(&[wanted.cached, wanted.cache_write]))
        }
        // What the provider's own tools brought is read too. (gemini.md 7)
        "gemini" => {
            let raw = recorded.expected.usage_raw.as_ref();
            let tools = raw.and_then(|raw| raw.get("toolUsePromptTokenCount")?.as_u64());
            wanted.input.map(|input| input + sum(&[tools]))
        }
        _ => wanted.input,
    };
    let output = match recorded.protocol.as_str() {
        "gemini" => {
            wanted.output.or(wanted.reasoning.map(|_| 0)).map(|output| output + sum(&[wanted.reasoning]))
        }
        _ => wanted.output,
    };
    (
        format!("{:?}", [is.input_tokens, is.output_tokens, is.cached_tokens, is.cache_write_tokens]),
        format!("{:?}", [input, output, wanted.cached, wanted.cache_write]),
    )
}
