//! The expected reply of a decoder: the content that an independent parser found.

use attache_conformance::{Expectation, ExpectedError};
use attache_core::{AssistantPart, ErrorKind, ProviderError, RawUsage, StreamChunk};
use attache_tests::recorded::Recorded;
use attache_transport::Replay;
use serde_json::Value;

/// The chunks that were handed out, without ids of ours, which differ each time.
pub(crate) fn shape(replay: &Replay) -> Vec<String> {
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

/// The parts of a reply that its deltas do not add up to.
pub(crate) fn deltas(replay: &Replay, check: &mut impl FnMut(&str, String, String)) {
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

/// The differences between a decoded reply and the expected one.
pub(crate) fn differences(replay: &Replay, recorded: &Recorded) -> Vec<String> {
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
        failure(error, wanted, recorded, &mut check);
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
    let present = message.parts.iter().any(|part| matches!(part, AssistantPart::Reasoning(_)));
    check("thinking present", present.to_string(), thinking.present.to_string());
    if matches!(recorded.protocol.as_str(), "anthropic" | "bedrock-converse" | "gemini") {
        check("signed", message.parts.iter().any(is_signed).to_string(), thinking.signed.to_string());
        let redacted = message.parts.iter().filter(|part| is_redacted(part)).count();
        check("redacted", redacted.to_string(), thinking.redacted.to_string());
    }
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
    calls(replay, expected, &recorded.protocol, &mut check);
    kept(replay, recorded, &mut check);
    found
}

fn calls(
    replay: &Replay,
    expected: &Expectation,
    protocol: &str,
    check: &mut impl FnMut(&str, String, String),
) {
    let calls: Vec<_> = replay.completion.message.tool_calls().collect();
    check("number of calls", calls.len().to_string(), expected.tool_calls.len().to_string());
    for (call, wanted) in calls.iter().zip(&expected.tool_calls) {
        // An empty id is none.
        let id = wanted.id.clone().filter(|id| !id.is_empty());
        let is = call.provider_id.as_ref().map(ToString::to_string);
        check("call id", format!("{is:?}"), format!("{id:?}"));
        check("call name", call.name.clone(), wanted.name.clone());
        if let (Some(raw), "openai-chat" | "cohere") = (&wanted.arguments_raw, protocol) {
            check("raw arguments", call.arguments.raw().to_owned(), raw.clone());
        }
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

/// The problem with the counts as they came. Ollama's stand among other members, and the index has a part of them.
pub(crate) fn raw_usage(replay: &Replay, recorded: &Recorded) -> Option<String> {
    let raw = replay.completion.usage.raw.as_ref().map(RawUsage::value);
    let is_whole = recorded.protocol != "ollama" && recorded.expected.kind != "error";
    (is_whole && raw != recorded.expected.usage_raw).then(|| format!("raw usage is {raw:?}"))
}

/// Blocks that are neither text nor thinking nor a call of ours are kept, in their order.
fn kept(replay: &Replay, recorded: &Recorded, check: &mut impl FnMut(&str, String, String)) {
    let wanted = &recorded.expected.server_tools;
    let kinds = replay.completion.message.parts.iter().filter_map(|part| match part {
        AssistantPart::Opaque(part) => Some(part.kind.as_str()),
        _ => None,
    });
    // The place where tools ran is no block, and a text may be kept as it came.
    let kinds: Vec<&str> = match recorded.protocol.as_str() {
        "anthropic" => kinds.filter(|kind| *kind != "container").collect(),
        "gemini" => kinds.filter(|kind| *kind != "text").collect(),
        "bedrock-converse" => kinds.collect(),
        _ => {
            let is_kept = wanted.is_empty() || kinds.count() > 0;
            return check(&format!("{wanted:?} kept"), is_kept.to_string(), "true".to_owned());
        }
    };
    let wanted: Vec<&str> = wanted.iter().map(|kind| kind.split(':').next().unwrap_or_default()).collect();
    check("what is kept", format!("{kinds:?}"), format!("{wanted:?}"));
}

fn is_redacted(part: &AssistantPart) -> bool {
    matches!(part, AssistantPart::Reasoning(part) if part.is_redacted() && part.replay().is_some())
}

/// True if a part carries what its provider wants back: a signature of Gemini on any part, else thinking that can be
/// read.
fn is_signed(part: &AssistantPart) -> bool {
    let of_gemini = match part {
        AssistantPart::Text(part) => part.replay(),
        AssistantPart::ToolCall(call) => call.replay.as_deref(),
        AssistantPart::Opaque(part) => Some(&part.replay),
        AssistantPart::Reasoning(part) if !part.is_redacted() => return part.replay().is_some(),
        _ => None,
    };
    of_gemini.is_some_and(|replay| replay.json().contains("\"thoughtSignature\":"))
}

fn failure(
    error: &ProviderError,
    wanted: &ExpectedError,
    recorded: &Recorded,
    check: &mut impl FnMut(&str, String, String),
) {
    if let Some(message) = wanted.message.as_deref() {
        // Messages of errors are one line of bounded length and end without a full stop.
        let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
        let start: String = line.trim_end_matches('.').chars().take(200).collect();
        check("the message", error.message().starts_with(&start).to_string(), "true".to_owned());
    }
    let word = wanted.kind.as_deref().and_then(|kind| kind.split(':').next());
    let code = match recorded.protocol.as_str() {
        "openai-chat" => wanted.code.as_deref().or(word),
        "anthropic" | "bedrock-converse" | "gemini" => word,
        _ => error.code(),
    };
    check("the code", format!("{:?}", error.code()), format!("{code:?}"));
    if recorded.expected.kind != "error" {
        return;
    }
    let status = format!("{:?}", Some(recorded.expected.status));
    check("the status", format!("{:?}", error.status()), status);
    let kind = match recorded.expected.status {
        401 => ErrorKind::Authentication,
        404 => ErrorKind::NotFound,
        429 => ErrorKind::RateLimited,
        _ if matches!(recorded.protocol.as_str(), "anthropic" | "bedrock-converse" | "gemini") => {
            ErrorKind::InvalidRequest
        }
        _ => return,
    };
    check("the kind", format!("{:?}", error.kind()), format!("{kind:?}"));
    let retryable = kind == ErrorKind::RateLimited;
    check("retryable", error.is_retryable().to_string(), retryable.to_string());
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
        // The results of the provider's own tools are read too. (gemini.md 7)
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
    let reasoning = match recorded.protocol.as_str() {
        // The index leaves it out, which the raw object of a model that reasons has.
        "cohere" => {
            let raw = recorded.expected.usage_raw.as_ref();
            raw.and_then(|raw| raw.pointer("/tokens/reasoning_tokens")?.as_u64())
        }
        _ => wanted.reasoning,
    };
    let ours =
        [is.input_tokens, is.output_tokens, is.cached_tokens, is.cache_write_tokens, is.reasoning_tokens];
    let wanted = [input, output, wanted.cached, wanted.cache_write, reasoning];
    (format!("{ours:?}"), format!("{wanted:?}"))
}
