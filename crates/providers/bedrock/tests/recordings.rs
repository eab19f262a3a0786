//! Recorded traffic reads as its index expects, streamed or not, however it is cut.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests are not recognised as tests"
)]

use std::path::{Path, PathBuf};

use attache_bedrock::ConverseCodec;
use attache_core::{AssistantPart, Completion, ErrorKind, ProviderError, RawUsage, StreamChunk};
use attache_testkit::{Cassette, CassetteIndex, Expectation, Interaction, chunked};
use attache_transport::replay;
use bytes::Bytes;
use http::StatusCode;

const PROTOCOL: &str = "bedrock-converse";

#[derive(Default)]
struct Report {
    replies: usize,
    errors: usize,
    misses: Vec<String>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/fixtures/cassettes")
}

#[test]
fn every_recording_reads_as_its_index_expects() {
    let index = CassetteIndex::load(folder().join("index.json")).unwrap();
    let mut report = Report::default();
    for file in index.with_protocol(PROTOCOL) {
        let cassette = Cassette::load(folder().join(&file.file)).unwrap();
        assert_eq!(cassette.interactions.len(), file.expect.len(), "{}", file.file);
        for (number, (interaction, expected)) in cassette.interactions.iter().zip(&file.expect).enumerate() {
            if expected.protocol.as_deref() == Some(PROTOCOL) {
                check(&format!("{}#{number}", file.file), interaction, expected, &mut report);
            }
        }
    }
    println!("{} replies and {} errors", report.replies, report.errors);
    assert!(report.misses.is_empty(), "{}", report.misses.join("\n"));
    assert!(report.replies >= 25 && report.errors >= 3, "{} {}", report.replies, report.errors);
}

fn check(name: &str, interaction: &Interaction, expected: &Expectation, report: &mut Report) {
    let body = interaction.response.body.bytes();
    let bytewise = (0..body.len()).map(|at| body.slice(at..=at)).collect();
    let cuts: Vec<Vec<Bytes>> =
        (0..8).map(|seed| chunked(&body, seed)).chain([bytewise, vec![body.clone()]]).collect();
    let mut misses = Vec::new();
    for chunks in cuts {
        let status = StatusCode::from_u16(interaction.response.status).unwrap();
        let replay = replay(&ConverseCodec::new("recorded"), status, &interaction.response.headers, chunks);
        let differences = match (expected.kind.as_str(), &replay.error) {
            ("generate", None) => reply(&replay.chunks, expected),
            ("error", Some(error)) => failure(error, expected),
            (kind, error) => vec![format!("{kind} decoded as {error:?}")],
        };
        misses.extend(differences);
    }
    misses.dedup();
    report.misses.extend(misses.into_iter().map(|miss| format!("{name}: {miss}")));
    match expected.kind.as_str() {
        "generate" => report.replies += 1,
        _ => report.errors += 1,
    }
}

fn reply(chunks: &[StreamChunk], expected: &Expectation) -> Vec<String> {
    let Some((StreamChunk::Done(completion), deltas)) = chunks.split_last() else {
        return vec!["the last chunk is not Done".to_owned()];
    };
    let mut misses = Vec::new();
    let mut same = |what: &str, ours: String, theirs: String| {
        if ours != theirs {
            misses.push(format!("{what}: {ours} instead of {theirs}"));
        }
    };
    let message = &completion.message;
    let text = expected.text.clone().unwrap_or_default();
    let (mut streamed, mut thought) = (String::new(), String::new());
    for delta in deltas {
        match delta {
            StreamChunk::Content(piece) => streamed.push_str(piece),
            StreamChunk::Thinking(piece) => thought.push_str(piece),
            _ => {}
        }
    }
    same("text", message.text(), text.clone());
    same("streamed text", streamed, text);

    let thinking = expected.thinking.clone().unwrap_or_default();
    same("thinking", message.thinking(), thinking.text.clone());
    same("streamed thinking", thought, thinking.text.clone());
    let reasoning = || {
        message.parts.iter().filter_map(|part| match part {
            AssistantPart::Reasoning(reasoning) => Some(reasoning),
            _ => None,
        })
    };
    same("thinking is there", (reasoning().count() > 0).to_string(), thinking.present.to_string());
    let signed = reasoning().any(|part| !part.is_redacted() && part.replay().is_some());
    same("signed", signed.to_string(), thinking.signed.to_string());
    let redacted = reasoning().filter(|part| part.is_redacted() && part.replay().is_some()).count();
    same("redacted", redacted.to_string(), thinking.redacted.to_string());

    let calls: Vec<_> = message
        .tool_calls()
        .map(|call| {
            let id = call.provider_id.as_ref().map(|id| id.as_str().to_owned());
            (id, &*call.name, call.arguments.object().ok())
        })
        .collect();
    let wanted: Vec<_> = expected
        .tool_calls
        .iter()
        .map(|call| {
            let arguments = call.arguments.as_ref().and_then(|value| value.as_object().cloned());
            (call.id.clone(), &*call.name, arguments)
        })
        .collect();
    same("calls", format!("{calls:?}"), format!("{wanted:?}"));
    same("streamed calls", streamed_calls(deltas), format!("{wanted:?}"));

    // What only the provider understands stands between the calls where it came.
    let kinds = |part: &AssistantPart| match part {
        AssistantPart::Opaque(part) => Some(part.kind.clone()),
        _ => None,
    };
    let server: Vec<String> = message.parts.iter().filter_map(kinds).collect();
    let wanted: Vec<&str> =
        expected.server_tools.iter().map(|kind| kind.split(':').next().unwrap_or_default()).collect();
    same("server blocks", format!("{server:?}"), format!("{wanted:?}"));

    same("finish", format!("{:?}", completion.raw_finish_reason), format!("{:?}", expected.finish_reason));
    same("usage", usage(completion), expected_usage(expected));
    let raw = completion.usage.raw.as_ref().map(RawUsage::value);
    same("raw usage", format!("{raw:?}"), format!("{:?}", expected.usage_raw));
    same("model", format!("{:?}", completion.model), format!("{:?}", expected.model));
    same("id", format!("{:?}", completion.response_id), format!("{:?}", expected.id));
    misses
}

/// The calls as a consumer of the deltas rebuilds them.
fn streamed_calls(deltas: &[StreamChunk]) -> String {
    let mut calls: Vec<(Option<String>, String, String)> = Vec::new();
    for delta in deltas {
        if let StreamChunk::ToolCallDelta { slot, provider_id, name, arguments_delta, .. } = delta {
            if calls.len() <= *slot {
                calls.push(Default::default());
            }
            let call = &mut calls[*slot];
            call.0 = provider_id.as_ref().map(|id| id.as_str().to_owned());
            call.1.push_str(name.as_deref().unwrap_or_default());
            call.2.push_str(arguments_delta);
        }
    }
    let calls: Vec<_> = calls
        .iter()
        .map(|(id, name, arguments)| {
            (id, &**name, attache_core::Arguments::new(arguments.as_str()).object().ok())
        })
        .collect();
    format!("{calls:?}")
}

/// Our counts as the provider counts.
fn usage(completion: &Completion) -> String {
    let usage = &completion.usage;
    let parts = usage.cached_tokens.unwrap_or(0) + usage.cache_write_tokens.unwrap_or(0);
    let input = usage.input_tokens.map(|tokens| tokens - parts);
    format!(
        "{:?}",
        (input, usage.output_tokens, usage.cached_tokens, usage.cache_write_tokens, usage.reasoning_tokens)
    )
}

fn expected_usage(expected: &Expectation) -> String {
    let usage = expected.usage.unwrap_or_default();
    format!("{:?}", (usage.input, usage.output, usage.cached, usage.cache_write, usage.reasoning))
}

fn failure(error: &ProviderError, expected: &Expectation) -> Vec<String> {
    let wanted = expected.error.clone().unwrap_or_default();
    let code = wanted.kind.as_deref().and_then(|kind| kind.split(':').next());
    let ours = (error.kind(), error.status(), error.code(), error.is_retryable());
    let theirs = (ErrorKind::InvalidRequest, Some(expected.status), code, false);
    let begins = error.message().starts_with(wanted.message.as_deref().unwrap_or_default());
    if ours == theirs && begins { Vec::new() } else { vec![format!("{error:?} instead of {theirs:?}")] }
}
