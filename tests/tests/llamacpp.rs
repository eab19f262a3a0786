//! A real llama.cpp server around models of random weights: what it answers is noise, how it answers is not.
//! (interop.md 5, openai.md C.16)
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken expectation is a failed test"
)]

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use attache_anthropic::{Anthropic, MessagesCodec};
use attache_core::capability::Matrix;
use attache_core::{
    Arguments, ChatRequest, Completion, ContentTree, ErrorKind, FinishReason, Message, ModelHandle,
    ModelSettings, ProviderError, ResponseFormat, ResultStatus, Secret, StreamChunk, ToolCall, ToolChoice,
    ToolDefinition, ToolResult, ToolResultsMessage, ToolSet,
};
use attache_openai::{ChatCodec, OpenAi, OpenAiChat, Profile, ResponsesCodec};
use attache_tests::real::{LlamaServer, Python};
use attache_transport::{Auth, HttpClient, RetryPolicy, Timeouts};
use futures_util::StreamExt;
use serde_json::{Map, Value, json};

/// The most tokens of a reply.
const TOKENS: u32 = 24;

fn python() -> Python {
    Python::installed("llama", Path::new(env!("CARGO_TARGET_TMPDIR"))).unwrap()
}

/// The server that all tests share. It ends with this process.
fn server() -> &'static LlamaServer {
    static SERVER: OnceLock<Result<LlamaServer, String>> = OnceLock::new();
    match SERVER.get_or_init(|| LlamaServer::start(&python())) {
        Ok(server) => server,
        Err(error) => panic!("{error}"),
    }
}

/// Connections of one test alone: they live on the runtime that opened them, and each test has its own.
fn connections() -> HttpClient {
    HttpClient::new(Timeouts::default())
}

/// The server hangs up after each stream without having said so, and now and then the next request meets that.
fn at_once() -> RetryPolicy {
    RetryPolicy::new().with_backoff(Duration::from_millis(1), Duration::from_millis(2))
}

/// A model that is described as what it is: a server that takes schemas.
fn chat(url: &str, key: Option<&str>) -> ModelHandle {
    let profile = Profile::compatible("llamacpp", format!("{url}/v1"));
    let matrix = Matrix::bundled().merged_with("[compatible]\nstructured_output = 'json_schema'").unwrap();
    let model = OpenAiChat::new(ChatCodec::new(profile, "tiny"), key.map(Secret::from)).unwrap();
    model.with_matrix(&matrix).with_retry(at_once()).with_http(connections()).into()
}

/// The dialect of Responses, of the same models.
fn responses(url: &str, key: Option<&str>) -> ModelHandle {
    let profile = Profile::compatible("llamacpp", format!("{url}/v1"));
    let model = OpenAi::new(ResponsesCodec::new(profile, "tiny"), key.map(Secret::from)).unwrap();
    model.with_retry(at_once()).with_http(connections()).into()
}

fn messages(url: &str) -> ModelHandle {
    let codec = MessagesCodec::new("tiny").with_base_url(url);
    let model = Anthropic::new(codec, Auth::None).unwrap();
    model.with_retry(at_once()).with_http(connections()).into()
}

fn hello() -> ChatRequest {
    ChatRequest::new([Message::system("Be brief.").shared(), Message::user("Hello").shared()])
}

/// `plain` never ends a turn, so a reply is of exactly so many tokens.
fn endless() -> ModelSettings {
    ModelSettings::new().with_max_tokens(TOKENS)
}

/// A call is begun at once, and the turn ends as soon as the grammar lets it.
fn calling(server: &LlamaServer) -> ModelSettings {
    let bias = json!([[server.opener(), 100], [server.end(), 200]]);
    ModelSettings::new().with_max_tokens(600).with_extra_body("logit_bias", bias)
}

fn day_schema() -> Value {
    json!({
        "type": "object",
        "properties": {"day": {"type": "string", "enum": ["monday", "friday"]}},
        "required": ["day"],
        "additionalProperties": false
    })
}

fn tools() -> Arc<ToolSet> {
    let find = ToolDefinition::new("menu.find", "Finds the menu of a day", day_schema());
    Arc::new(ToolSet::new([find]).unwrap())
}

fn is_a_day(object: &Map<String, Value>) -> bool {
    object.len() == 1 && matches!(object["day"].as_str(), Some("monday" | "friday"))
}

/// The content of a stream: texts and calls put together from its pieces, and its end.
#[derive(Default)]
struct Streamed {
    pieces: usize,
    text: String,
    calls: Vec<(String, String)>,
    end: Option<Completion>,
}

async fn streamed(model: &ModelHandle, request: ChatRequest) -> Streamed {
    let mut stream = model.stream(request);
    let mut seen = Streamed::default();
    while let Some(chunk) = stream.next().await {
        match chunk.unwrap() {
            StreamChunk::Content(piece) => {
                assert!(!piece.is_empty());
                seen.pieces += 1;
                seen.text.push_str(&piece);
            }
            StreamChunk::ToolCallDelta { slot, name, arguments_delta, .. } => {
                seen.pieces += 1;
                if slot == seen.calls.len() {
                    seen.calls.push(Default::default());
                }
                seen.calls[slot].0.push_str(&name.unwrap_or_default());
                seen.calls[slot].1.push_str(&arguments_delta);
            }
            StreamChunk::Done(completion) => {
                assert!(seen.end.is_none());
                seen.end = Some(*completion);
            }
            other => panic!("{other:?}"),
        }
    }
    seen
}

async fn failure(model: &ModelHandle, request: ChatRequest) -> ProviderError {
    let whole = model.complete(request.clone().streaming(false)).await.unwrap_err();
    let streamed = model.complete(request).await.unwrap_err();
    assert_eq!((whole.kind(), whole.status()), (streamed.kind(), streamed.status()));
    whole
}

fn told_all(completion: &Completion) {
    told_all_but(completion, &FinishReason::Length);
}

fn told_all_but(completion: &Completion, reason: &FinishReason) {
    let usage = &completion.usage;
    // Each token is a character, some a white one.
    let text = completion.message.text();
    assert!((1..=TOKENS as usize).contains(&text.chars().count()), "{text}");
    assert!(!text.contains(char::REPLACEMENT_CHARACTER), "{text}");
    assert_eq!(&completion.finish_reason, reason);
    assert_eq!(usage.output_tokens, Some(u64::from(TOKENS)));
    // Each letter of the prompt is a token, whether it is cached or not.
    assert!(usage.input_tokens.is_some_and(|tokens| (20..1_000).contains(&tokens)), "{usage:?}");
    assert!(usage.cached_tokens <= usage.input_tokens, "{usage:?}");
    assert_eq!(completion.model.as_deref(), Some("plain"));
    assert!(completion.response_id.is_some());
}

#[tokio::test]
#[ignore = "runs against Python packages, which `cargo xtask test` installs"]
async fn it_answers() {
    let server = server();
    let model = chat(server.plain(), None);
    let request = hello().with_settings(endless()).streaming(false);
    told_all(&model.complete(request).await.unwrap());
}

#[tokio::test]
#[ignore = "runs against Python packages, which `cargo xtask test` installs"]
async fn it_streams() {
    let server = server();
    let model = chat(server.plain(), None);
    let seen = streamed(&model, hello().with_settings(endless())).await;
    let end = seen.end.unwrap();
    assert!(seen.pieces > 4, "{} pieces", seen.pieces);
    assert_eq!(seen.text, end.message.text());
    told_all(&end);
    let state = model.state();
    assert_eq!((state.turns, state.usage.output_tokens), (1, Some(u64::from(TOKENS))));
}

// openai.md C.16: an object as tool choice would be ignored; `required` with one tool is not
#[tokio::test]
#[ignore = "runs against Python packages, which `cargo xtask test` installs"]
async fn it_calls_a_forced_tool() {
    let server = server();
    let model = chat(server.tools(), Some(server.key()));
    let asked = || {
        let request = hello().with_tools(tools()).with_tool_choice(ToolChoice::Required);
        request.with_settings(calling(server).with_parallel_tool_calls(false))
    };
    let whole = model.complete(asked().streaming(false)).await.unwrap();
    let seen = streamed(&model, asked()).await;
    let end = seen.end.unwrap();
    assert!(seen.pieces > 4, "{} pieces", seen.pieces);
    for completion in [&whole, &end] {
        assert_eq!(completion.finish_reason, FinishReason::ToolCalls);
        // The server may make several, whatever it is told.
        let calls: Vec<&ToolCall> = completion.message.tool_calls().collect();
        assert!(!calls.is_empty());
        for call in calls {
            assert_eq!(call.name, "menu.find");
            assert!(call.provider_id.is_some());
            assert!(is_a_day(&call.arguments.object().unwrap()), "{call:?}");
        }
        assert!(completion.usage.output_tokens.is_some_and(|tokens| tokens > 10));
    }
    let wire = |call: &ToolCall| ("menu_find".to_owned(), call.arguments.raw().to_owned());
    assert_eq!(seen.calls, end.message.tool_calls().map(wire).collect::<Vec<_>>());
}

// The history of a call and its results is one that the server's template takes.
#[tokio::test]
#[ignore = "runs against Python packages, which `cargo xtask test` installs"]
async fn it_takes_what_a_tool_returned() {
    let server = server();
    let call = ToolCall::new("menu.find", Arguments::new(r#"{"day":"friday"}"#));
    let result = ToolResult::new(&call, ResultStatus::Ok, ContentTree::text("Soup"));
    let history = [
        Message::user("What is there on Friday?").shared(),
        Message::Assistant(attache_core::AssistantMessage::new([call.into()])).shared(),
        Message::ToolResults(ToolResultsMessage::new([result])).shared(),
    ];
    let request = ChatRequest::new(history).with_tools(tools()).with_settings(endless());
    for model in [chat(server.plain(), None), messages(server.plain())] {
        for request in [request.clone(), request.clone().streaming(false)] {
            told_all(&model.complete(request).await.unwrap());
        }
    }
    for request in [request.clone(), request.streaming(false)] {
        let completion = responses(server.plain(), None).complete(request).await.unwrap();
        told_all_but(&completion, &FinishReason::Stop);
    }
}

#[tokio::test]
#[ignore = "runs against Python packages, which `cargo xtask test` installs"]
async fn it_keeps_to_a_schema() {
    let server = server();
    let model = chat(server.tools(), Some(server.key()));
    let format =
        ResponseFormat::JsonSchema { name: "Day".to_owned(), schema: day_schema().into(), strict: true };
    let options = ModelSettings::new().with_max_tokens(600).with_response_format(format);
    let request = hello().with_settings(options);
    for request in [request.clone(), request.streaming(false)] {
        let completion = model.complete(request).await.unwrap();
        let text = completion.message.text();
        assert!(is_a_day(&serde_json::from_str(&text).unwrap()), "{text}");
        assert_eq!((completion.finish_reason, completion.degradations), (FinishReason::Stop, Vec::new()));
    }
}

#[tokio::test]
#[ignore = "runs against Python packages, which `cargo xtask test` installs"]
async fn its_errors_are_typed() {
    let server = server();
    let plain = chat(server.plain(), None);

    let schema = json!({"type": "no such type"});
    let format =
        ResponseFormat::JsonSchema { name: "Wrong".to_owned(), schema: schema.into(), strict: false };
    let wrong = hello().with_settings(ModelSettings::new().with_response_format(format));
    let error = failure(&plain, wrong).await;
    assert_eq!((error.kind(), error.status()), (ErrorKind::InvalidRequest, Some(400)));
    assert!(error.message().contains("no such type"), "{error}");
    assert!(!error.is_retryable());

    let long = ChatRequest::new([Message::user("long ".repeat(2_000)).shared()]);
    let error = failure(&plain, long).await;
    assert_eq!((error.kind(), error.status()), (ErrorKind::ContextTooLong, Some(400)));

    for key in [None, Some("sk-wrong")] {
        let error = failure(&chat(server.tools(), key), hello()).await;
        assert_eq!((error.kind(), error.status()), (ErrorKind::Authentication, Some(401)));
    }

    let error = failure(&chat(&format!("{}/elsewhere", server.plain()), None), hello()).await;
    assert_eq!((error.kind(), error.status()), (ErrorKind::NotFound, Some(404)));
}

// interop.md 5: the server also speaks Anthropic's dialect
#[tokio::test]
#[ignore = "runs against Python packages, which `cargo xtask test` installs"]
async fn it_answers_and_streams_messages() {
    let server = server();
    let model = messages(server.plain());
    let request = hello().with_settings(endless());
    told_all(&model.complete(request.clone().streaming(false)).await.unwrap());
    let seen = streamed(&model, request).await;
    let end = seen.end.unwrap();
    assert!(seen.pieces > 4, "{} pieces", seen.pieces);
    assert_eq!(seen.text, end.message.text());
    told_all(&end);
}

// interop.md 5: and that of Responses
#[tokio::test]
#[ignore = "runs against Python packages, which `cargo xtask test` installs"]
async fn it_answers_and_streams_responses() {
    let server = server();
    let model = responses(server.plain(), None);
    let request = hello().with_settings(endless());
    // It calls each response complete, also one that reached its limit.
    let whole = model.complete(request.clone().streaming(false)).await.unwrap();
    told_all_but(&whole, &FinishReason::Stop);
    let seen = streamed(&model, request).await;
    let end = seen.end.unwrap();
    assert!(seen.pieces > 4, "{} pieces", seen.pieces);
    assert_eq!(seen.text, end.message.text());
    told_all_but(&end, &FinishReason::Stop);
}

#[tokio::test]
#[ignore = "runs against Python packages, which `cargo xtask test` installs"]
async fn it_calls_a_forced_tool_in_responses() {
    let server = server();
    let model = responses(server.tools(), Some(server.key()));
    let asked = || {
        let request = hello().with_tools(tools()).with_tool_choice(ToolChoice::Required);
        request.with_settings(calling(server))
    };
    let whole = model.complete(asked().streaming(false)).await.unwrap();
    let seen = streamed(&model, asked()).await;
    let end = seen.end.unwrap();
    for completion in [&whole, &end] {
        assert_eq!(completion.finish_reason, FinishReason::ToolCalls);
        let calls: Vec<&ToolCall> = completion.message.tool_calls().collect();
        assert!(!calls.is_empty());
        for call in calls {
            assert_eq!(call.name, "menu.find");
            assert!(call.provider_id.is_some());
            assert!(is_a_day(&call.arguments.object().unwrap()), "{call:?}");
        }
    }
    let wire = |call: &ToolCall| ("menu_find".to_owned(), call.arguments.raw().to_owned());
    assert_eq!(seen.calls, end.message.tool_calls().map(wire).collect::<Vec<_>>());

    // Its reply and the results go back.
    let mut history = hello().messages;
    let results: Vec<ToolResult> = whole
        .message
        .tool_calls()
        .map(|call| ToolResult::new(call, ResultStatus::Ok, ContentTree::text("Soup")))
        .collect();
    history.push(Message::Assistant(whole.message).shared());
    history.push(Message::ToolResults(ToolResultsMessage::new(results)).shared());
    let next = ChatRequest::new(history).with_tools(tools()).with_settings(endless());
    let completion = model.complete(next).await.unwrap();
    assert!(completion.usage.output_tokens.is_some_and(|tokens| tokens > 0));
}

// No test process leaves one behind, however it ends.
#[test]
#[ignore = "runs against Python packages, which `cargo xtask test` installs"]
fn it_ends_when_nobody_listens() {
    let server = LlamaServer::start(&python()).unwrap();
    let address = server.plain().strip_prefix("http://").unwrap().to_owned();
    assert!(std::net::TcpStream::connect(&address).is_ok());
    assert!(server.hang_up().unwrap());
    assert!(std::net::TcpStream::connect(&address).is_err());
}
