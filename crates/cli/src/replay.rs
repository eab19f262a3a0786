//! `attache replay`: what recorded replies say, as our decoders understand them.

use std::path::Path;

use attache_core::{AssistantPart, Completion, Document, ErrorKind, ToolCall, Usage};
use attache_models::Registry;
use attache_transport::Replay as Replayed;
use attache_transport::cassette::{Cassette, Interaction, chunked};
use bytes::Bytes;
use http::StatusCode;
use serde_json::{Value, json};

use crate::args::Replay;
use crate::exit::Exit;
use crate::model_by_name::bundled;
use crate::output::{answer, fail, written};

/// Runs the command.
pub(crate) fn run(replay: &Replay) -> Exit {
    let (mut exit, registry) = (Exit::Done, bundled());
    for file in &replay.files {
        let cassette = match Cassette::load(file) {
            Ok(cassette) => cassette,
            Err(error) => {
                fail(&format!("{}: {error}", file.display()));
                exit = Exit::Failed;
                continue;
            }
        };
        for (index, interaction) in cassette.interactions.iter().enumerate() {
            let told = tell(&registry, file, index, interaction, &cassette.api, replay.chunk_seed);
            let told = told.map(|(told, is_understood)| {
                exit = exit.and(is_understood);
                told
            });
            let told = told.unwrap_or_else(|problem| {
                fail(&format!("{} #{index}: {problem}", file.display()));
                exit = Exit::Failed;
                json!({ "file": shown(file), "index": index, "kind": "not_understood", "problem": problem })
            });
            let shown = answer(&format!("{told}\n"));
            if shown.is_err() {
                return written(shown);
            }
        }
    }
    exit
}

fn shown(file: &Path) -> String {
    file.display().to_string()
}

/// The line of an interaction, and whether its reply was understood to its end.
fn tell(
    registry: &Registry,
    file: &Path,
    index: usize,
    interaction: &Interaction,
    provider: &str,
    seed: Option<u64>,
) -> Result<(Value, bool), String> {
    let Some((api, codec)) = registry.recorded(&interaction.request, provider) else {
        return Ok((json!({ "file": shown(file), "index": index, "kind": "other" }), true));
    };
    let response = &interaction.response;
    let status = StatusCode::from_u16(response.status)
        .map_err(|_| format!("{} is no HTTP status", response.status))?;
    let body = response.body.bytes();
    let chunks: Vec<Bytes> = match seed {
        Some(seed) => chunked(&body, seed),
        None => vec![body],
    };
    let Replayed { completion, error, .. } =
        attache_transport::replay(&*codec, status, &response.headers, &chunks);
    let Completion { message, usage, finish_reason, raw_finish_reason, .. } = &completion;
    // A reply that failed has no finish of its own.
    let finish_reason = (error.is_none() || raw_finish_reason.is_some()).then_some(finish_reason);
    // A refusal of a provider is understood.
    let is_understood = error
        .as_ref()
        .is_none_or(|error| !matches!(error.kind(), ErrorKind::Malformed | ErrorKind::StreamCut));
    let told = json!({
        "file": shown(file),
        "index": index,
        "api": api,
        "text": message.text(),
        "thinking": message.thinking(),
        "refusal": message.refusal(),
        "tool_calls": message.tool_calls().map(call).collect::<Vec<_>>(),
        "documents": message.documents().map(document).collect::<Vec<_>>(),
        "opaque": message.parts.iter().filter_map(opaque).collect::<Vec<_>>(),
        "finish_reason": finish_reason,
        "raw_finish_reason": raw_finish_reason,
        "usage": counts(usage),
        "error": error.as_ref().map(|error| json!({
            "kind": error.kind().as_str(),
            "status": error.status(),
            "message": error.message(),
            "retryable": error.is_retryable(),
        })),
    });
    Ok((told, is_understood))
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

fn document(document: &Document) -> Value {
    json!({ "media_type": document.media_type().essence(), "bytes": document.size() })
}

/// The kind of a part that only its provider understands.
fn opaque(part: &AssistantPart) -> Option<&str> {
    match part {
        AssistantPart::Opaque(part) => Some(&part.kind),
        _ => None,
    }
}
