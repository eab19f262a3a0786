//! The recorded traffic of real providers, decoded as the index of an independent parser expects, at any chunking.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken expectation is a failed test"
)]

use std::path::PathBuf;

use attache_anthropic::MessagesCodec;
use attache_core::{Completion, ProviderError};
use attache_openai::{ChatCodec, Profile, ResponsesCodec};
use attache_testkit::{Cassette, CassetteIndex, Expectation, Interaction, chunked};
use attache_transport::{Codec, replay};
use bytes::Bytes;
use http::StatusCode;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/cassettes")
}

fn decode(
    protocol: &str,
    interaction: &Interaction,
    chunks: &[Bytes],
) -> (Completion, Option<ProviderError>) {
    let response = &interaction.response;
    let status = StatusCode::from_u16(response.status).expect("recorded statuses are valid");
    let codec: Box<dyn Codec> = match protocol {
        "openai-chat" => {
            Box::new(ChatCodec::new(Profile::compatible("recorded", "http://localhost"), "recorded"))
        }
        "openai-responses" => Box::new(ResponsesCodec::from("recorded")),
        "anthropic" => Box::new(MessagesCodec::new("recorded")),
        other => panic!("nobody reads {other}"),
    };
    let replay = replay(&*codec, status, &response.headers, chunks);
    (replay.completion, replay.error)
}

/// What differs between a decoded reply and what is expected of it.
fn differences(
    expected: &Expectation,
    completion: &Completion,
    error: Option<&ProviderError>,
) -> Vec<String> {
    let mut found = Vec::new();
    let mut check = |what: &str, expected: String, got: String| {
        if expected != got {
            found.push(format!("{what}: expected {expected}, got {got}"));
        }
    };
    if expected.kind == "error" {
        check("error", "true".to_owned(), error.is_some().to_string());
        return found;
    }
    let stream_error = expected.stream_error.is_some();
    check("error", stream_error.to_string(), error.is_some().to_string());
    check("text", expected.text.clone().unwrap_or_default(), completion.message.text());
    let calls: Vec<_> = completion.message.tool_calls().collect();
    check("calls", expected.tool_calls.len().to_string(), calls.len().to_string());
    for (expected, call) in expected.tool_calls.iter().zip(calls) {
        check("call name", expected.name.clone(), call.name.clone());
        // An empty id is none.
        let id = expected.id.clone().filter(|id| !id.is_empty());
        check(
            "call id",
            format!("{id:?}"),
            format!("{:?}", call.provider_id.as_ref().map(|id| id.as_str().to_owned())),
        );
        if let Some(arguments) = &expected.arguments {
            let got = call.arguments.object().map(serde_json::Value::Object);
            check(
                "arguments",
                arguments.to_string(),
                got.map_or_else(|error| error.to_string(), |got| got.to_string()),
            );
        }
    }
    check("finish", format!("{:?}", expected.finish_reason), format!("{:?}", completion.raw_finish_reason));
    if let Some(thinking) = &expected.thinking {
        check("thinking", thinking.text.clone(), completion.message.thinking());
    }
    found
}

#[test]
fn recordings_replay_as_expected_at_any_chunking() {
    let index = CassetteIndex::load(folder().join("index.json")).expect("the index is there");
    let mut interactions = 0;
    let mut misses = Vec::new();
    for protocol in ["openai-chat", "openai-responses", "anthropic"] {
        for indexed in index.with_protocol(protocol) {
            let cassette = Cassette::load(folder().join(&indexed.file)).expect("the recording is there");
            for (at, (interaction, expected)) in cassette.interactions.iter().zip(&indexed.expect).enumerate()
            {
                if expected.protocol.as_deref() != Some(protocol)
                    || !matches!(expected.kind.as_str(), "generate" | "error")
                {
                    continue;
                }
                interactions += 1;
                let body = interaction.response.body.bytes();
                let whole = vec![body.clone()];
                let bytewise: Vec<Bytes> = body.iter().map(|byte| Bytes::copy_from_slice(&[*byte])).collect();
                let chunkings = (0..4).map(|seed| chunked(&body, seed)).chain([whole, bytewise]);
                for chunks in chunkings {
                    let (completion, error) = decode(protocol, interaction, &chunks);
                    let found = differences(expected, &completion, error.as_ref());
                    if !found.is_empty() {
                        misses.push(format!("{} #{at}: {}", indexed.file, found.join("; ")));
                        break;
                    }
                }
            }
        }
    }
    // 109 of Chat Completions and its imitations, 37 of Messages.
    assert_eq!(interactions, 146 + 62, "the recordings of the two APIs");
    assert!(misses.is_empty(), "{} of {interactions} differ:\n{}", misses.len(), misses.join("\n"));
}
