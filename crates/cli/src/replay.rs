//! `attache replay`: what recorded replies say, as our decoders understand them.

use std::path::Path;
use std::sync::Arc;

use attache_anthropic::MessagesCodec;
use attache_bedrock::ConverseCodec;
use attache_cohere::CohereCodec;
use attache_core::{AssistantPart, Completion, Document, ErrorKind, ToolCall, Usage};
use attache_gemini::GenerateCodec;
use attache_openai::{Api, ChatCodec, OllamaCodec, Profile, Profiles, ResponsesCodec};
use attache_transport::cassette::{Cassette, Interaction, chunked};
use attache_transport::{Codec, Replay as Replayed};
use bytes::Bytes;
use http::StatusCode;
use serde_json::{Value, json};

use crate::args::Replay;
use crate::exit::Exit;
use crate::output::{answer, fail, written};

/// Runs the command.
pub(crate) fn run(replay: &Replay) -> Exit {
    let mut exit = Exit::Done;
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
            let told = tell(file, index, interaction, &cassette.api, replay.chunk_seed);
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
    file: &Path,
    index: usize,
    interaction: &Interaction,
    provider: &str,
    seed: Option<u64>,
) -> Result<(Value, bool), String> {
    let Some((api, codec)) = api(interaction, provider) else {
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

/// The API of a model call, and what reads it; `None` for what is none, such as files and token counts. The recording
/// names its provider.
fn api(interaction: &Interaction, provider: &str) -> Option<(&'static str, Box<dyn Codec>)> {
    let uri = &*interaction.request.uri;
    let (address, query) = uri.split_once('?').unwrap_or((uri, ""));
    let path = address.split('#').next().unwrap_or_default().trim_end_matches('/');
    // The name only tags what would go back: what the table says of single models is not asked for.
    let model = "recorded";
    let responses = || {
        let profile = profile(Api::Responses, uri, provider).map_or_else(Profile::openai, Arc::clone);
        ("openai-responses", Box::new(ResponsesCodec::new(profile, model)) as Box<dyn Codec>)
    };
    if !interaction.request.method.eq_ignore_ascii_case("POST") {
        // An answer that is made in the background, taken up again.
        let (before, id) = path.rsplit_once('/').unwrap_or_default();
        let is_streamed = query.split('&').any(|part| part == "stream=true");
        let is_answer = before.ends_with("/responses") && !id.is_empty() && is_streamed;
        let is_get = interaction.request.method.eq_ignore_ascii_case("GET");
        return (is_get && is_answer).then(responses);
    }
    let is = |ending: &str| path.ends_with(ending);
    let is_claude = || {
        let model = path.split_once("/publishers/anthropic/models/").map_or("", |(_, model)| model);
        let counts = model.starts_with("count-tokens:");
        !counts && (model.ends_with(":rawPredict") || model.ends_with(":streamRawPredict"))
    };
    let codec: (&'static str, Box<dyn Codec>) = if is("/chat/completions") {
        let known = profile(Api::Chat, uri, provider);
        let mut profile = known.map_or_else(|| Profile::compatible(model, ""), |known| (**known).clone());
        // The counts of a recording are told as they were sent.
        profile.reasoning_in_total = false;
        ("openai-chat", Box::new(ChatCodec::new(profile, model)))
    } else if is("/responses") {
        responses()
    } else if is("/messages") || is_claude() {
        ("anthropic", Box::new(MessagesCodec::from(model)))
    } else if is(":generateContent") || is(":streamGenerateContent") {
        ("gemini", Box::new(GenerateCodec::from(model)))
    } else if is("/converse") || is("/converse-stream") {
        ("bedrock-converse", Box::new(ConverseCodec::new(model).with_region("us-east-1")))
    } else if is("/api/chat") {
        ("ollama", Box::new(OllamaCodec::new(model)))
    } else if is("/v2/chat") {
        ("cohere", Box::new(CohereCodec::new(model)))
    } else {
        return None;
    };
    Some(codec)
}

/// The quirks of the server that answered. A recording may hold traffic with several servers, so that the host counts
/// before the provider's name; most recordings have no host.
fn profile(api: Api, uri: &str, provider: &str) -> Option<&'static Arc<Profile>> {
    fn host(url: &str) -> Option<&str> {
        url.split_once("://")?.1.split(['/', '?', '#']).next().filter(|host| !host.is_empty())
    }
    let is_there = |profile: &&Arc<Profile>| profile.api == api && host(&profile.base_url) == host(uri);
    let by_host = host(uri).and_then(|_| Profiles::bundled().iter().find(is_there));
    by_host.or_else(|| Profiles::bundled().get(provider))
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
