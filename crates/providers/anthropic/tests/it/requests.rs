//! Snapshots of requests: each holds what goes over the wire, and the strict rules of the API accept it.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::wildcard_imports,
    reason = "helpers of tests are not recognised as tests"
)]

use crate::common::*;
use attache_anthropic::MessagesCodec;
use attache_core::message::{OpaquePart, Routed, UserOrigin};
use attache_core::settings::CachePolicy;
use attache_core::{
    AssistantPart, ChatRequest, ContentTree, Document, Effort, Message, ModelSettings, Reasoning,
    ReasoningPart, ResponseFormat, TextPart, ToolChoice, ToolResult, Transcript, UserMessage, UserPart,
};
use serde_json::{Value, json};

/// The request as `attache wire` shows it.
fn wire(request: &ChatRequest) -> Value {
    wire_for(request, &codec())
}

fn wire_for(request: &ChatRequest, codec: &MessagesCodec) -> Value {
    shown(&encode_for(request, codec).unwrap(), &body_for(request, codec))
}

fn inbox() -> Vec<Message> {
    let read = call(2, "files.read", r#"{"path":"a.csv"}"#);
    let table = ToolResult::ok(&read, "total,due\n12,\"June\"");
    tool_turn(call(1, "files.list", r#"{"folder": "inbox"}"#), read, table)
}

#[test]
fn plain() {
    insta::assert_json_snapshot!(wire(&request([Message::user("Hello \"world\"\n")])));
}

#[test]
fn plain_answered_whole() {
    insta::assert_json_snapshot!(wire(&request([Message::user("Hello")]).streaming(false)));
}

// P32
#[test]
fn system_messages() {
    let messages = [
        Message::system("You are a clerk."),
        Message::system("You are brief."),
        Message::user("Hello"),
        Message::assistant("Good day."),
        Message::user("Go on."),
        Message::system("The user is in a hurry."),
        Message::user("Well?"),
    ];
    let options = ModelSettings::new().with_system("House rules.").with_cache(CachePolicy::Off);
    insta::assert_json_snapshot!(wire(&request(messages).with_settings(options)));
}

#[test]
fn tools_are_offered() {
    insta::assert_json_snapshot!(wire(
        &request([Message::user("What is in the inbox?")]).with_tools(tools())
    ));
}

// E02, E03, E18
#[test]
fn parallel_calls_with_results() {
    insta::assert_json_snapshot!(wire(&request(inbox()).with_tools(tools())));
}

#[test]
fn documents_of_the_user() {
    let address = Document::external("https://example.com/scan.png");
    let mut linked = UserMessage::new([UserPart::text("And this one?")]);
    linked.routed = Some(Routed::new(
        [UserPart::text("And this one?"), address.into()].into_iter().flatten().collect(),
        7,
    ));
    let table = Document::inline("a,b\n1,2").with_file_name("table.csv");
    let messages = [
        Message::User(UserMessage::new([
            UserPart::text("Compare these."),
            png("chart.png").into(),
            pdf("report \"final\".pdf").into(),
            table.into(),
        ])),
        Message::assistant("They agree."),
        Message::User(linked),
    ];
    insta::assert_json_snapshot!(wire(&request(messages)));
}

// C24
#[test]
fn documents_in_results() {
    let read = call(1, "files.read", r#"{"path":"b"}"#);
    let result = ToolResult::new(&read, Default::default(), ContentTree::value(&json!({"pages": 3})));
    let result = routed(
        result,
        [pdf("b.pdf").into(), UserPart::text("The chart of page 2:"), png("chart.png").into()],
    );
    let messages = [Message::user("Read b."), assistant([read.into()]), results([result])];
    insta::assert_json_snapshot!(wire(&request(messages).with_tools(tools())));
}

// P23: the text stays in the failed result, its documents and the event follow in the same turn
#[test]
fn failed_result_with_documents_behind_it() {
    let (read, list) = (call(1, "files.read", r#"{"path":"b"}"#), call(2, "files.list", "{}"));
    let failed = routed(ToolResult::error(&read, "page 3 is damaged"), []);
    let mut synthetic = UserMessage::new([
        UserPart::text("Documents extracted from tool call results:"),
        pdf("b.pdf").into(),
    ]);
    synthetic.origin = UserOrigin::ToolCallDocuments;
    let event = UserMessage::event(ContentTree::value(&json!({"event": "mail", "from": "ann"})));
    let messages = [
        Message::user("Read b."),
        assistant([read.into(), list.clone().into()]),
        results([failed, ToolResult::cancelled(&list)]),
        Message::User(synthetic),
        Message::User(event),
    ];
    insta::assert_json_snapshot!(wire(&request(messages).with_tools(tools())));
}

// P08
#[test]
fn thinking_goes_back() {
    let redacted = replay_data("anthropic", MODEL, &json!({"type": "redacted_thinking", "data": "EmwKAhgB"}));
    let (first, second) = (call(1, "files.list", "{}"), call(2, "files.read", "{}"));
    let messages = [
        Message::user("Think."),
        assistant([
            thinking("Let me see.\n", "sig1=="),
            Some(AssistantPart::Reasoning(ReasoningPart::redacted().with_replay(redacted))),
            AssistantPart::text("First the list."),
            first.clone().into(),
            thinking("", "sig2=="),
            second.clone().into(),
        ]),
        results([ToolResult::ok(&first, "x"), ToolResult::ok(&second, "y")]),
    ];
    let options = ModelSettings::new().with_reasoning(Reasoning::Budget(4096));
    insta::assert_json_snapshot!(wire(&request(messages).with_tools(tools()).with_settings(options)));
}

#[test]
fn blocks_of_the_provider_go_back() {
    let opaque = |kind: &str, block: Value| {
        Some(AssistantPart::Opaque(OpaquePart::new(kind, replay_data("anthropic", MODEL, &block))))
    };
    let citations = json!({"citations": [{"type": "web_search_result_location", "url": "https://example.com",
        "title": "T", "encrypted_index": "E==", "cited_text": "cited"}]});
    let cited = TextPart::new("It is so.").unwrap().with_replay(replay_data("anthropic", MODEL, &citations));
    let asked = call(1, "files.list", "{}").with_replay(replay_data(
        "anthropic",
        MODEL,
        &json!({"caller": {"type": "direct"}, "toolset_name": "browser"}),
    ));
    let messages = [
        Message::user("Search."),
        assistant([
            opaque(
                "server_tool_use",
                json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search",
                "input": {"query": "q"}}),
            ),
            opaque(
                "web_search_tool_result",
                json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1",
                "content": [{"type": "web_search_result", "url": "https://example.com", "encrypted_content": "X=="}]}),
            ),
            Some(AssistantPart::Text(cited)),
            asked.clone().into(),
        ]),
        results([ToolResult::ok(&asked, "x")]),
    ];
    insta::assert_json_snapshot!(wire(&request(messages).with_tools(tools())));
}

// P27: markers move, blocks stay
#[test]
fn caching_of_three_growing_requests() {
    let transcript = Transcript::new();
    let tools = std::sync::Arc::new(tools());
    let mut messages: Vec<_> =
        [Message::system("You are a clerk.")].into_iter().chain(inbox()).map(Message::shared).collect();
    let mut bodies = Vec::new();
    let mut ask = |messages: &[std::sync::Arc<Message>]| {
        let request = ChatRequest::new(messages.iter().cloned())
            .with_tools(std::sync::Arc::clone(&tools))
            .with_transcript(transcript.clone());
        bodies.push(body(&request));
    };
    ask(&messages[..2]);
    ask(&messages);
    let more = call(3, "files.read", r#"{"path":"b.pdf"}"#);
    messages.push(assistant([more.clone().into()]).shared());
    messages.push(results([ToolResult::ok(&more, "z")]).shared());
    ask(&messages);
    insta::assert_json_snapshot!(bodies);
}

#[test]
fn structured_output() {
    let schema = json!({"type": "object", "properties": {"total": {"type": "number", "minimum": 0},
        "due": {"type": "string", "format": "date"}}, "required": ["total", "due"]});
    let format = ResponseFormat::JsonSchema { name: "invoice".into(), schema: schema.into(), strict: false };
    let options = ModelSettings::new().with_response_format(format);
    insta::assert_json_snapshot!(wire(&request([Message::user("Read it.")]).with_settings(options)));
}

#[test]
fn forced_choices() {
    let asked = |choice: ToolChoice, parallel: Option<bool>| {
        let mut options = ModelSettings::new();
        options.parallel_tool_calls = parallel;
        let request = request([Message::user("a")]).with_tools(tools()).with_tool_choice(choice);
        body(&request.with_settings(options))["tool_choice"].clone()
    };
    insta::assert_json_snapshot!([
        asked(ToolChoice::Auto, None),
        asked(ToolChoice::Auto, Some(true)),
        asked(ToolChoice::Auto, Some(false)),
        asked(ToolChoice::None, Some(false)),
        asked(ToolChoice::Required, None),
        asked(ToolChoice::Tool("files.read".into()), Some(false)),
    ]);
}

// P05
#[test]
fn options() {
    let options = ModelSettings::new()
        .with_max_tokens(500)
        .with_temperature(1.0)
        .with_stop(vec!["END".into(), "\n\nHuman:".into()])
        .with_reasoning(Reasoning::Effort(Effort::Low))
        .with_cache(CachePolicy::Long)
        .with_extra_body("metadata", json!({"user_id": "u-1"}))
        .with_extra_body("service_tier", "standard_only")
        .with_extra_body(
            "tools",
            json!([{"type": "web_search_20260318", "name": "web_search", "max_uses": 3}]),
        )
        .with_extra_header("anthropic-beta", "files-api-2025-04-14, context-1m-2025-08-07")
        .with_extra_header("x-trace", "canary");
    let codec =
        codec().with_base_url("https://gateway.example.com/anthropic/v1/").with_beta("context-1m-2025-08-07");
    let request =
        request([Message::system("s"), Message::user("a")]).with_tools(tools()).with_settings(options);
    insta::assert_json_snapshot!(wire_for(&request, &codec));
}

// P05
#[test]
fn sampling() {
    let options = ModelSettings::new().with_temperature(0.25).with_top_k(40);
    insta::assert_json_snapshot!(wire(&request([Message::user("a")]).with_settings(options)));
}
