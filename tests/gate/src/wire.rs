//! The five APIs: requests as they leave, and streams as they come in.

use std::sync::Arc;

use attache_anthropic::MessagesCodec;
use attache_bedrock::ConverseCodec;
use attache_core::{ChatRequest, ModelSettings, StreamChunk};
use attache_gemini::GenerateCodec;
use attache_openai::{ChatCodec, ResponsesCodec};
use attache_transport::{ChunkSink, Codec, Decoder};
use bytes::Bytes;

use crate::{history, tools};

/// One of the APIs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a gate that forgets an API must not compile")]
pub enum Api {
    /// Chat Completions.
    Chat,
    /// Responses.
    Responses,
    /// Messages.
    Messages,
    /// generateContent.
    Gemini,
    /// ConverseStream.
    Converse,
}

impl Api {
    /// The codec of a model that is much used.
    pub fn codec(self) -> Box<dyn Codec> {
        match self {
            Self::Chat => Box::new(ChatCodec::from("gpt-4o-mini")),
            Self::Responses => Box::new(ResponsesCodec::from("gpt-5.1")),
            Self::Messages => Box::new(MessagesCodec::from("claude-sonnet-4-5")),
            Self::Gemini => Box::new(GenerateCodec::from("gemini-2.5-flash")),
            Self::Converse => Box::new(
                ConverseCodec::new("us.anthropic.claude-sonnet-4-5-20250929-v1:0").with_region("us-east-1"),
            ),
        }
    }

    /// A request over a conversation of that many messages.
    pub fn request(self, messages: usize) -> (Box<dyn Codec>, ChatRequest, ModelSettings) {
        let request = ChatRequest::new(history(messages)).with_tools(tools());
        (self.codec(), request, ModelSettings::new())
    }

    /// The events before the first delta of a stream, and one delta of a word.
    fn events(self) -> (Vec<Bytes>, Bytes) {
        let sse = |event: &str, data: &str| match event {
            "" => Bytes::from(format!("data: {data}\n\n")),
            event => Bytes::from(format!("event: {event}\ndata: {data}\n\n")),
        };
        match self {
            Self::Chat => {
                let chunk = |delta: &str| {
                    sse(
                        "",
                        &format!(
                            r#"{{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-4o-mini-2024-07-18","service_tier":"default","system_fingerprint":"fp_1","choices":[{{"index":0,"delta":{delta},"logprobs":null,"finish_reason":null}}],"usage":null,"obfuscation":"x"}}"#
                        ),
                    )
                };
                (
                    vec![chunk(r#"{"role":"assistant","content":"","refusal":null}"#)],
                    chunk(r#"{"content":"word"}"#),
                )
            }
            Self::Responses => {
                let head = [
                    (
                        "response.created",
                        r#"{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","created_at":1,"status":"in_progress","model":"gpt-5.1","output":[],"usage":null}}"#,
                    ),
                    (
                        "response.output_item.added",
                        r#"{"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{"id":"msg_1","type":"message","status":"in_progress","content":[],"role":"assistant"}}"#,
                    ),
                    (
                        "response.content_part.added",
                        r#"{"type":"response.content_part.added","sequence_number":2,"item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","annotations":[],"logprobs":[],"text":""}}"#,
                    ),
                ];
                let delta = r#"{"type":"response.output_text.delta","sequence_number":3,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"word","logprobs":[],"obfuscation":"x"}"#;
                (
                    head.map(|(event, data)| sse(event, data)).to_vec(),
                    sse("response.output_text.delta", delta),
                )
            }
            Self::Messages => {
                let head = [
                    (
                        "message_start",
                        r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":10,"output_tokens":1}}}"#,
                    ),
                    (
                        "content_block_start",
                        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
                    ),
                ];
                let delta =
                    r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"word"}}"#;
                (head.map(|(event, data)| sse(event, data)).to_vec(), sse("content_block_delta", delta))
            }
            Self::Gemini => {
                let delta = r#"{"candidates": [{"content": {"parts": [{"text": "word"}],"role": "model"},"index": 0}],"usageMetadata": {"promptTokenCount": 10,"candidatesTokenCount": 4,"totalTokenCount": 14},"modelVersion": "gemini-2.5-flash","responseId": "r1"}"#;
                (Vec::new(), sse("", delta))
            }
            Self::Converse => {
                let start = frame("messageStart", r#"{"role":"assistant"}"#);
                (
                    vec![start],
                    frame("contentBlockDelta", r#"{"contentBlockIndex":0,"delta":{"text":"word"}}"#),
                )
            }
        }
    }
}

/// An event of `application/vnd.amazon.eventstream`.
fn frame(event: &str, payload: &str) -> Bytes {
    let mut headers = Vec::new();
    for (name, value) in
        [(":event-type", event), (":content-type", "application/json"), (":message-type", "event")]
    {
        headers.push(u8::try_from(name.len()).unwrap_or_default());
        headers.extend_from_slice(name.as_bytes());
        headers.push(7);
        headers.extend_from_slice(&u16::try_from(value.len()).unwrap_or_default().to_be_bytes());
        headers.extend_from_slice(value.as_bytes());
    }
    let long = |length: usize| u32::try_from(length).unwrap_or_default().to_be_bytes();
    let mut frame = Vec::new();
    frame.extend_from_slice(&long(16 + headers.len() + payload.len()));
    frame.extend_from_slice(&long(headers.len()));
    frame.extend_from_slice(&crc32fast::hash(&frame).to_be_bytes());
    frame.extend_from_slice(&headers);
    frame.extend_from_slice(payload.as_bytes());
    frame.extend_from_slice(&crc32fast::hash(&frame).to_be_bytes());
    frame.into()
}

/// A stream that has begun.
pub struct Stream {
    decoder: Box<dyn Decoder>,
    sink: ChunkSink,
    delta: Bytes,
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stream").finish_non_exhaustive()
    }
}

impl Stream {
    /// A stream of an API, before its deltas.
    pub fn begun(api: Api) -> Self {
        let (head, delta) = api.events();
        let mut stream =
            Self { decoder: api.codec().decoder(Arc::default(), Vec::new()), sink: ChunkSink::new(), delta };
        for event in head {
            stream.push(&event);
        }
        // The first delta makes room for those that follow.
        stream.take(1);
        stream
    }

    /// Decodes that many deltas, each in a network chunk of its own, and counts the words that come out.
    pub fn take(&mut self, deltas: usize) -> usize {
        let delta = self.delta.clone();
        (0..deltas).map(|_| self.push(&delta)).sum()
    }

    fn push(&mut self, chunk: &Bytes) -> usize {
        #[expect(clippy::unwrap_used, reason = "a stream that is not understood has nothing to measure")]
        self.decoder.push(chunk, &mut self.sink).unwrap();
        let mut words = 0;
        while let Some(chunk) = self.sink.pop() {
            words += usize::from(matches!(chunk, StreamChunk::Content(text) if text == "word"));
        }
        words
    }
}
