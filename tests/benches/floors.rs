//! The hot paths beside floors: the least that somebody would write by hand for the same work, in the same run.
//!
//! `cargo xtask bench` prints the ratios.

#![allow(missing_docs, reason = "criterion's macros define the entry points")]
#![allow(clippy::unwrap_used, reason = "a bench whose input is broken has no result")]

use std::hint::black_box;
use std::sync::Arc;

use attache_core::{
    Arguments, AssistantMessage, ChatRequest, Message, ModelSettings, ProviderCallId, StreamChunk, ToolCall,
    ToolResult, ToolResultsMessage, Transcript,
};
use attache_openai::{ChatCodec, Profile};
use attache_transport::{Ask, ChunkSink, Codec};
use bytes::Bytes;
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use serde::Deserialize;

const DELTAS: usize = 20_000;
const STEPS: usize = 200;

fn codec() -> ChatCodec {
    ChatCodec::new(Profile::openai_chat(), "gpt-4o-mini")
}

/// A stream of short deltas, `per` events in each network chunk.
fn events(per: usize) -> Vec<Bytes> {
    let event = r#"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-4o-mini","service_tier":"default","system_fingerprint":"fp_1","choices":[{"index":0,"delta":{"content":"word"},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"x"}"#;
    let mut chunks: Vec<Bytes> =
        (0..DELTAS / per).map(|_| Bytes::from(format!("{event}\n\n").repeat(per))).collect();
    chunks.push(Bytes::from_static(
        b"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
    ));
    chunks
}

/// A line splitter and a borrowed parse of the one field that counts.
fn split_lines(chunks: &[Bytes]) -> (usize, String) {
    #[derive(Deserialize)]
    struct Chunk<'a> {
        #[serde(borrow)]
        choices: Vec<Choice<'a>>,
    }
    #[derive(Deserialize)]
    struct Choice<'a> {
        #[serde(borrow)]
        delta: Delta<'a>,
    }
    #[derive(Deserialize)]
    struct Delta<'a> {
        #[serde(borrow, default)]
        content: Option<std::borrow::Cow<'a, str>>,
    }
    let (mut count, mut text) = (0, String::new());
    for chunk in chunks {
        let mut from = 0;
        for end in memchr::memchr_iter(b'\n', chunk) {
            let line = chunk.get(from..end).unwrap_or_default();
            from = end + 1;
            let Some(data) = line.strip_prefix(b"data: ").filter(|data| *data != b"[DONE]") else { continue };
            let parsed: Chunk<'_> = serde_json::from_slice(data).unwrap();
            for choice in parsed.choices {
                if let Some(piece) = choice.delta.content {
                    count += 1;
                    text.push_str(&piece);
                }
            }
        }
    }
    (count, text)
}

fn decode(codec: &ChatCodec, chunks: &[Bytes]) -> (usize, String) {
    let mut decoder = codec.decoder(Arc::default(), Vec::new());
    let mut sink = ChunkSink::new();
    let (mut count, mut text) = (0, String::new());
    for chunk in chunks {
        decoder.push(chunk, &mut sink).unwrap();
        while let Some(chunk) = sink.pop() {
            if let StreamChunk::Content(piece) = chunk {
                count += 1;
                text.push_str(&piece);
            }
        }
    }
    (count, text)
}

fn streams(criterion: &mut Criterion) {
    for per in [1, 32] {
        let (chunks, codec) = (events(per), codec());
        let mut group = criterion.benchmark_group(format!("stream, {per} events a chunk"));
        group.throughput(Throughput::Elements(DELTAS as u64)).sample_size(30);
        group.bench_function("floor", |bench| bench.iter(|| black_box(split_lines(&chunks))));
        group.bench_function("attache", |bench| bench.iter(|| black_box(decode(&codec, &chunks))));
        group.finish();
    }
}

/// A run of calls, each answered with a kibibyte.
fn history() -> Vec<Arc<Message>> {
    let answer = "record: \"alpha\" = 17;\n".repeat(48);
    let mut messages = vec![Message::system("You are an agent.").shared(), Message::user("Go on.").shared()];
    for step in 0..STEPS {
        let call = ToolCall::new("lookup", Arguments::new(format!("{{\"query\":\"{step}\"}}")))
            .with_provider_id(ProviderCallId::parse(format!("call_{step}")));
        messages.push(Message::Assistant(AssistantMessage::new([call.clone().into()])).shared());
        messages
            .push(Message::ToolResults(ToolResultsMessage::new([ToolResult::ok(&call, &answer)])).shared());
    }
    messages
}

/// The bodies of all requests of a run, as one buffer that is appended to.
fn append(messages: &[Arc<Message>]) -> usize {
    let mut buffer: Vec<u8> = br#"{"model":"gpt-4o-mini","messages":["#.to_vec();
    let mut sent = 0;
    for message in messages {
        match &**message {
            Message::Assistant(message) => {
                for call in message.tool_calls() {
                    let id = call.provider_id.as_ref().unwrap().as_str();
                    let head = format!(
                        r#"{{"role":"assistant","content":null,"tool_calls":[{{"id":"{id}","type":"function","function":{{"name":"{}","arguments":"#,
                        call.name
                    );
                    buffer.extend_from_slice(head.as_bytes());
                    serde_json::to_writer(&mut buffer, call.arguments.raw()).unwrap();
                    buffer.extend_from_slice(b"}}]},");
                }
            }
            Message::ToolResults(results) => {
                for result in &results.results {
                    let id = result.provider_id.as_ref().unwrap().as_str();
                    let head = format!(r#"{{"role":"tool","tool_call_id":"{id}","content":"#);
                    buffer.extend_from_slice(head.as_bytes());
                    serde_json::to_writer(&mut buffer, &result.tree.model_text()).unwrap();
                    buffer.extend_from_slice(b"},");
                }
                // The request of this step is the history as it is; nobody copies it.
                sent += black_box(buffer.len());
            }
            _ => buffer.extend_from_slice(br#"{"role":"user","content":"Go on."},"#),
        }
    }
    sent
}

fn encode(codec: &ChatCodec, messages: &[Arc<Message>]) -> u64 {
    let (transcript, config) = (Transcript::new(), ModelSettings::new());
    let mut sent = 0;
    for end in (4..=messages.len()).step_by(2) {
        let shown = messages.get(..end).unwrap_or_default().iter().cloned();
        let request = ChatRequest::new(shown).with_transcript(transcript.clone());
        let encoded = codec.encode(Ask::new(&request, &config, None)).unwrap();
        sent += black_box(&encoded.parts.body).len();
    }
    sent
}

fn bodies(criterion: &mut Criterion) {
    let (messages, codec) = (history(), codec());
    let mut group = criterion.benchmark_group(format!("bodies of a run of {STEPS} steps"));
    group.sample_size(30);
    group.bench_function("floor", |bench| bench.iter(|| black_box(append(&messages))));
    group.bench_function("attache", |bench| {
        bench.iter_batched(
            || messages.clone(),
            |messages| black_box(encode(&codec, &messages)),
            BatchSize::SmallInput,
        );
    });
    group.finish();
}

criterion_group!(floors, streams, bodies);
criterion_main!(floors);
