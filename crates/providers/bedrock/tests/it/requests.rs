//! Snapshots of requests: each holds what goes over the wire, and the strict rules of the API accept it.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::wildcard_imports,
    reason = "helpers of tests are not recognised as tests"
)]

use std::sync::Arc;

use crate::common::*;
use attache_bedrock::ConverseCodec;
use attache_core::message::{OpaquePart, UserOrigin};
use attache_core::settings::CachePolicy;
use attache_core::{
    AssistantPart, ChatRequest, ContentTree, Document, DocumentId, Effort, Message, ModelSettings, Reasoning,
    ReasoningPart, ResponseFormat, TextPart, ToolChoice, ToolResult, Transcript, UserMessage, UserPart,
};
use serde_json::{Value, json};

/// The request as `attache wire` shows it.
fn wire(request: &ChatRequest) -> Value {
    wire_for(request, &codec())
}

fn wire_for(request: &ChatRequest, codec: &ConverseCodec) -> Value {
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
    insta::assert_json_snapshot!(wire(&with_tools([Message::user("What is in the inbox?")])));
}

// E02, E03, E18; bedrock.md (a) 8
#[test]
fn parallel_calls_with_results() {
    insta::assert_json_snapshot!(wire(&with_tools(inbox())));
}

// bedrock.md 3: Mistral reads JSON best, has ids of nine characters, and takes nothing beside results
#[test]
fn parallel_calls_of_mistral() {
    let messages = inbox().into_iter().chain([Message::user("Go on.")]);
    insta::assert_json_snapshot!(wire_for(&with_tools(messages), &of(MISTRAL)));
}

#[test]
fn documents_of_the_user() {
    let table = Document::inline("a,b\n1,2").with_file_name("table.csv").with_media_type("text/csv");
    let messages = [
        Message::User(UserMessage::new([
            UserPart::text("Compare these."),
            png("chart.png").into(),
            pdf("report \"final\".pdf")
                .with_id(DocumentId::parse("7d41c0b2-1111-4222-8333-444455556666").unwrap())
                .into(),
            table.into(),
        ])),
        Message::assistant("They agree."),
        Message::User(UserMessage::new([
            pdf("ignore everything.pdf").into(),
            pdf("ignore everything.pdf").into(),
        ])),
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
    insta::assert_json_snapshot!(wire(&with_tools(messages)));
}

// P23, bedrock.md (a) 12: what Claude does not take beside results follows in a turn of its own
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
    insta::assert_json_snapshot!(wire(&with_tools(messages)));
}

// P08, bedrock.md 5
#[test]
fn reasoning_goes_back() {
    let redacted = replay_data("bedrock-converse", MODEL, &json!({"redactedContent": "RW1Lcw=="}));
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
    insta::assert_json_snapshot!(wire(&with_tools(messages).with_settings(options)));
}

// bedrock.md 5: what a model encrypts goes back to it, whatever is known of it.
#[test]
fn encrypted_reasoning_goes_back_to_the_model_that_wrote_it() {
    let content = json!([
        {"reasoningContent": {"redactedContent": "cnNuX2NhbmFyeQ=="}},
        {"toolUse": {"toolUseId": "call_61f8", "name": "files_list", "input": {}}},
    ]);
    for (wrote, goes_on, is_sent) in [
        (GPT_5_6, "global.openai.gpt-5.6-sol", true),
        ("us.xai.grok-4.6", "us.xai.grok-4.6", true),
        (GPT_5_6, "us.openai.gpt-5.6-luna", false),
        (GPT_5_6, MODEL, false),
    ] {
        let said = replay_of(&of(wrote), [whole(&content, "tool_use")]).completion.message;
        let result = ToolResult::ok(said.tool_calls().next().unwrap(), "x");
        let messages = [Message::user("List."), Message::Assistant(said), results([result])];
        let sent = body_for(&with_tools(messages), &of(goes_on))["messages"][1]["content"].clone();
        let expected = if is_sent { content.clone() } else { json!([content[1]]) };
        assert_eq!(sent, expected, "{wrote} {goes_on}");
    }
}

#[test]
fn blocks_of_the_provider_go_back() {
    let opaque = |kind: &str, block: Value| {
        Some(AssistantPart::Opaque(OpaquePart::new(kind, replay_data("bedrock-converse", NOVA_2, &block))))
    };
    let citations = json!({"citations": [{"title": "D"}]});
    let cited =
        TextPart::new("It is so.").unwrap().with_replay(replay_data("bedrock-converse", NOVA_2, &citations));
    let messages = [
        Message::user("Compute."),
        assistant([
            opaque(
                "server_tool_use",
                json!({"toolUse": {"toolUseId": "s1", "name": "nova_code_interpreter", "type": "server_tool_use",
                    "input": {"snippet": "1+1"}}}),
            ),
            opaque(
                "toolResult",
                json!({"toolResult": {"toolUseId": "s1", "status": "success", "type": "nova_code_interpreter_result",
                    "content": [{"json": {"stdOut": "2"}}]}}),
            ),
            opaque(
                "server_tool_use",
                json!({"toolUse": {"toolUseId": "s2", "name": "nova_grounding", "type": "server_tool_use",
                    "input": {}}}),
            ),
            opaque("image", json!({"image": {"format": "png", "source": {"bytes": "iVBORw0K"}}})),
            Some(AssistantPart::Text(cited)),
        ]),
        Message::user("Go on."),
    ];
    let options = ModelSettings::new()
        .with_extra_body("toolConfig", json!({"tools": [{"systemTool": {"name": "nova_code_interpreter"}}]}));
    let request = request(messages).with_settings(options);
    insta::assert_json_snapshot!(wire_for(&request, &of("eu.amazon.nova-2-lite-v1:0")));
}

// P27: points move, blocks stay; bedrock.md (a) 22, 23, 25
#[test]
fn caching_of_three_growing_requests() {
    let transcript = Transcript::new();
    let tools = Arc::new(tools());
    let mut messages: Vec<_> =
        [Message::system("You are a clerk.")].into_iter().chain(inbox()).map(Message::shared).collect();
    let mut bodies = Vec::new();
    let mut ask = |messages: &[Arc<Message>]| {
        let request = ChatRequest::new(messages.iter().cloned())
            .with_tools(Arc::clone(&tools))
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
    insta::assert_json_snapshot!(wire(&with_tools([Message::user("Read it.")]).with_settings(options)));
}

#[test]
fn forced_choices() {
    let asked = |choice: ToolChoice, parallel: Option<bool>| {
        let mut options = ModelSettings::new();
        options.parallel_tool_calls = parallel;
        let request = with_tools([Message::user("a")]).with_tool_choice(choice).with_settings(options);
        let body = body(&request);
        json!([body["toolConfig"].get("toolChoice"), body.get("additionalModelRequestFields")])
    };
    insta::assert_json_snapshot!([
        asked(ToolChoice::Auto, None),
        asked(ToolChoice::Auto, Some(true)),
        asked(ToolChoice::Auto, Some(false)),
        asked(ToolChoice::None, Some(false)),
        asked(ToolChoice::Required, None),
        asked(ToolChoice::Tool("files.read".into()), None),
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
        .with_extra_body("guardrailConfig", json!({"guardrailIdentifier": "gr1", "guardrailVersion": "1"}))
        .with_extra_body("serviceTier", json!({"type": "flex"}))
        .with_extra_body("inferenceConfig", json!({"maxTokens": 400}))
        .with_extra_body("additionalModelRequestFields", json!({"anthropic_beta": ["context-1m-2025-08-07"]}))
        .with_extra_body(
            "toolConfig",
            json!({"tools": [{"toolSpec": {"name": "extra",
            "inputSchema": {"json": {"type": "object"}}}}]}),
        )
        .with_extra_header("x-trace", "canary");
    let codec = codec().with_base_url("https://gateway.example.com/bedrock/?stage=1");
    let request = with_tools([Message::system("s"), Message::user("a")]).with_settings(options);
    insta::assert_json_snapshot!(wire_for(&request, &codec));
}

// P05
#[test]
fn sampling_of_nova() {
    let options = ModelSettings::new().with_temperature(0.25).with_top_p(0.5).with_top_k(40);
    insta::assert_json_snapshot!(wire_for(&request([Message::user("a")]).with_settings(options), &of(NOVA)));
}

// bedrock.md 3
#[test]
fn the_last_text_has_no_white_space_behind_it_though_reasoning_that_stays_out_follows() {
    let unsigned = || Some(AssistantPart::Reasoning(ReasoningPart::new("unsigned")));
    let messages = [Message::user("a"), assistant([AssistantPart::text("b \n"), unsigned()])];
    let claude = of("us.anthropic.claude-sonnet-4-5-20250929-v1:0");
    let body = body_for(&request(messages), &claude);
    assert_eq!(body["messages"][1]["content"], json!([{"text": "b"}]));
}
