//! Replies of providers. However the network cuts them, they say the same.

use attache_anthropic::MessagesCodec;
use attache_bedrock::ConverseCodec;
use attache_cohere::CohereCodec;
use attache_core::StreamChunk;
use attache_gemini::GenerateCodec;
use attache_openai::{ChatCodec, OllamaCodec, Profile, ResponsesCodec};
use attache_transport::cassette::chunked;
use attache_transport::{Codec, Replay, SseDecoder, SseEvent, replay};
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, StatusCode};

/// The events of a stream: names and data, and whether it ended well.
fn events(pieces: &[Bytes]) -> (Vec<(Vec<u8>, Vec<u8>)>, bool) {
    let mut events = Vec::new();
    let mut take = |event: SseEvent<'_>| {
        events.push((event.name.to_vec(), event.data.to_vec()));
        Ok(())
    };
    let mut decoder = SseDecoder::new().with_limit(1 << 16);
    let mut read = || {
        for piece in pieces {
            decoder.push(piece, &mut take)?;
        }
        decoder.finish(&mut take)
    };
    let ended = read().is_ok();
    (events, ended)
}

pub fn sse(data: &[u8]) {
    let data = Bytes::copy_from_slice(data);
    let whole = events(std::slice::from_ref(&data));
    let bytes: Vec<Bytes> = (0..data.len()).map(|at| data.slice(at..=at)).collect();
    let single = events(&bytes);
    // Where a limit is passed, a larger piece may show fewer events before the error.
    if whole.1 && single.1 {
        assert_eq!(whole.0, single.0, "events depend on how the stream was cut");
    }
}

/// The contents of a reply: text, names and arguments of calls, the end, and whether it failed.
type Said = (String, Vec<(String, String)>, Option<String>, bool);

fn said(replay: &Replay) -> Said {
    let completion = &replay.completion;
    let calls = completion.message.tool_calls();
    let calls = calls.map(|call| (call.name.to_string(), call.arguments.raw().to_owned())).collect();
    (completion.message.text(), calls, completion.raw_finish_reason.clone(), replay.error.is_some())
}

fn reply(codec: &dyn Codec, content_type: &'static str, data: &[u8]) {
    let data = Bytes::copy_from_slice(data);
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    let read = |pieces: Vec<Bytes>| {
        let replay = replay(codec, StatusCode::OK, &headers, pieces);
        let ends = replay.chunks.iter().filter(|chunk| matches!(chunk, StreamChunk::Done(_))).count();
        assert_eq!(ends + usize::from(replay.error.is_some()), 1, "a reply has one ending");
        said(&replay)
    };
    let whole = read(vec![data.clone()]);
    let cut = read(chunked(&data, data.len() as u64));
    // The part before an error may be longer or shorter.
    if !whole.3 && !cut.3 {
        assert_eq!(whole, cut, "a reply depends on how it was cut");
    } else {
        assert_eq!(whole.3, cut.3, "an error depends on how the reply was cut");
    }
}

/// Events, or one JSON object.
fn text(data: &[u8]) -> &'static str {
    if data.starts_with(b"{") { "application/json" } else { "text/event-stream" }
}

pub fn chat(data: &[u8]) {
    reply(&ChatCodec::new(Profile::openai_chat(), "gpt-4.1"), text(data), data);
}

pub fn responses(data: &[u8]) {
    reply(&ResponsesCodec::new(Profile::openai(), "gpt-5"), text(data), data);
}

pub fn ollama(data: &[u8]) {
    reply(&OllamaCodec::new("qwen3"), "application/x-ndjson", data);
}

pub fn messages(data: &[u8]) {
    reply(&MessagesCodec::new("claude-opus-4-8"), text(data), data);
}

pub fn generate(data: &[u8]) {
    reply(&GenerateCodec::new("gemini-2.5-flash"), text(data), data);
}

pub fn converse(data: &[u8]) {
    let kind = if data.starts_with(b"{") { "application/json" } else { "application/vnd.amazon.eventstream" };
    reply(&ConverseCodec::new("amazon.nova-pro-v1:0"), kind, data);
}

pub fn cohere(data: &[u8]) {
    reply(&CohereCodec::new("command-a-03-2025"), text(data), data);
}
