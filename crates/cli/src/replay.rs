//! `attache replay`: what recorded replies say, as our decoders understand them.

use std::path::Path;

use attache_anthropic::MessagesCodec;
use attache_core::{Completion, ProviderError, ToolCall, Usage};
use attache_openai::{ChatCodec, Profile};
use attache_testkit::{Cassette, Interaction, chunked};
use attache_transport::Codec;
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use crate::args::Replay;
use crate::exit::Exit;
use crate::output::{answer, line};

/// The APIs whose replies are understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Api {
    Chat,
    Messages,
}

/// Runs the command.
pub(crate) fn run(replay: &Replay) -> Exit {
    let mut exit = Exit::Done;
    for file in &replay.files {
        let cassette = match Cassette::load(file) {
            Ok(cassette) => cassette,
            Err(error) => {
                line(&format!("attache: {}: {error}", file.display()));
                exit = Exit::Failed;
                continue;
            }
        };
        for (index, interaction) in cassette.interactions.iter().enumerate() {
            let told = tell(file, index, interaction, replay.chunk_seed);
            let told = told.unwrap_or_else(|problem| {
                line(&format!("attache: {} #{index}: {problem}", file.display()));
                exit = Exit::Failed;
                json!({ "file": shown(file), "index": index, "kind": "not_understood", "problem": problem })
            });
            if answer(&format!("{told}\n")).is_err() {
                return Exit::Failed;
            }
        }
    }
    exit
}

fn shown(file: &Path) -> String {
    file.display().to_string()
}

fn tell(file: &Path, index: usize, interaction: &Interaction, seed: Option<u64>) -> Result<Value, String> {
    let Some(api) = api(interaction)? else {
        return Ok(json!({ "file": shown(file), "index": index, "kind": "other" }));
    };
    let response = &interaction.response;
    let status = StatusCode::from_u16(response.status)
        .map_err(|_| format!("{} is no HTTP status", response.status))?;
    let body = response.body.bytes();
    let chunks: Vec<Bytes> = match seed {
        Some(seed) => chunked(&body, seed),
        None => vec![body],
    };
    let (completion, error) = decode(api, status, &response.headers, &chunks);
    let Completion { message, usage, finish_reason, raw_finish_reason, .. } = &completion;
    // A reply that failed has no finish of its own.
    let finish_reason = (error.is_none() || raw_finish_reason.is_some()).then_some(finish_reason);
    Ok(json!({
        "file": shown(file),
        "index": index,
        "api": match api { Api::Chat => "openai-chat", Api::Messages => "anthropic" },
        "text": message.text(),
        "thinking": message.thinking(),
        "refusal": message.refusal(),
        "tool_calls": message.tool_calls().map(call).collect::<Vec<_>>(),
        "finish_reason": finish_reason,
        "raw_finish_reason": raw_finish_reason,
        "usage": counts(usage),
        "error": error.as_ref().map(|error| json!({
            "kind": error.kind().as_str(),
            "status": error.status(),
            "message": error.message(),
            "retryable": error.is_retryable(),
        })),
    }))
}

/// The API of a model call; `None` for what is none, such as files and token counts.
fn api(interaction: &Interaction) -> Result<Option<Api>, String> {
    let path = interaction.request.uri.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
    if !interaction.request.method.eq_ignore_ascii_case("POST") {
        return Ok(None);
    }
    for (ending, api) in [("/chat/completions", Api::Chat), ("/messages", Api::Messages)] {
        if path.ends_with(ending) {
            return Ok(Some(api));
        }
    }
    let later = [
        "/responses",
        ":generateContent",
        ":streamGenerateContent",
        "/converse",
        "/converse-stream",
        "/api/chat",
        "/v2/chat",
    ];
    match later.iter().find(|ending| path.ends_with(**ending)) {
        Some(ending) => Err(format!("the API behind {ending} is not understood yet")),
        None => Ok(None),
    }
}

fn decode(
    api: Api,
    status: StatusCode,
    headers: &HeaderMap,
    chunks: &[Bytes],
) -> (Completion, Option<ProviderError>) {
    let codec: Box<dyn Codec> = match api {
        // The decoder is lenient for every server; the name only tags what would go back to it.
        Api::Chat => {
            Box::new(ChatCodec::new(Profile::compatible("recorded", "http://localhost"), "recorded"))
        }
        Api::Messages => Box::new(MessagesCodec::new("recorded")),
    };
    let replay = attache_transport::replay(&*codec, status, headers, chunks);
    (replay.completion, replay.error)
}

fn counts(usage: &Usage) -> Value {
    json!({
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cached_tokens": usage.cached_tokens,
        "cache_write_tokens": usage.cache_write_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
    })
}

fn call(call: &ToolCall) -> Value {
    json!({
        "id": call.provider_id,
        "name": call.name,
        "arguments": call.arguments.object().ok(),
    })
}
