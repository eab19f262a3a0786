//! Requests as they go over the wire, each accepted by the strict mock's rules.

#![cfg(test)]

use std::sync::Arc;

use attache_core::message::{Routed, UserOrigin};
use attache_core::{
    Arguments, AssistantMessage, AssistantPart, Capture, ChatRequest, ContentTree, Document, DocumentId,
    ErrorKind, Message, MessageId, ModelSettings, ReasoningPart, ResultStatus, Secret, TextPart, ToolCall,
    ToolCallId, ToolDefinition, ToolResult, ToolSet, Transcript, UserMessage, UserPart,
};
use attache_openai::{ChatCodec, EmptyContent, Profile, SystemRole};
use attache_transport::{Ask, Codec as _};
use serde_json::{Value, json};

use crate::common::{answers, asks, body, call, compatible, encode, openai, shown, tools, user};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

#[test]
fn plain() {
    let request = ChatRequest::new([Message::system("Be brief.").shared(), user("Hi"), user("There?")]);
    let key = Secret::new("sk-canary-0123456789");
    let encoded = openai()
        .encode(Ask::new(&request, &ModelSettings::new().with_system("You are kind."), Some(&key)))
        .unwrap();
    let headers: Vec<_> =
        encoded.parts.shown_headers().map(|(name, value)| format!("{name}: {value}")).collect();
    let body = String::from_utf8(encoded.parts.body.to_vec()).unwrap();
    insta::assert_snapshot!(format!(
        "{} {}\n{}\n\n{body}",
        encoded.parts.method,
        encoded.parts.url,
        headers.join("\n")
    ));
    assert!(!format!("{encoded:?}").contains("canary"));
}

// openai.md A.1: model, tools, messages; the rest behind them
#[test]
fn tools_are_offered() {
    let request = ChatRequest::new([user("Hi")]).with_tools(tools());
    insta::assert_snapshot!(shown(&body(&openai(), &request)));
}

#[test]
fn parallel_calls_with_results() {
    let (rome, oslo) =
        (call("weather.now", "call_1", "{\"city\": \"Rome\"}"), call("weather.now", "call_2", ""));
    let (clock, gone) = (call("clock", "call_3", "{\"cut"), call("clock", "call_4", "{}"));
    let table = ContentTree::value(&json!({"t": [1.0, "é\"\n"]}));
    let request = ChatRequest::new([
        user("Weather?"),
        asks("Let me see.", &[&rome, &oslo, &clock, &gone]),
        // Results are sent in the order of the calls, whatever order they came in.
        answers([
            ToolResult::ok(&oslo, "a \"quoted\"\nline"),
            ToolResult::new(&rome, ResultStatus::Ok, table),
            ToolResult::error(&clock, "no \"time\""),
            ToolResult::cancelled(&gone),
        ]),
    ])
    .with_tools(tools());
    insta::assert_snapshot!(shown(&body(&openai(), &request)));
}

#[test]
fn results_without_text_and_with_more() {
    let (a, b, c) = (call("a", "call_1", "{}"), call("b", "call_2", "{}"), call("c", "call_3", "{}"));
    let mut labelled = ToolResult::ok(&b, "two");
    let object = UserPart::Object(ContentTree::value(&json!({"x": 1})));
    labelled.routed = Some(Routed::new(vec![UserPart::text("[a.csv]\n1;2").unwrap(), object], 1));
    let request = ChatRequest::new([
        asks("", &[&a, &b, &c]),
        answers([ToolResult::ok(&a, " "), labelled, ToolResult::error(&c, "")]),
    ])
    .streaming(false);
    let body = body(&openai(), &request);
    let contents: Vec<_> =
        body["messages"].as_array().unwrap()[1..].iter().map(|message| &message["content"]).collect();
    assert_eq!(
        contents,
        [
            &json!("Tool execution succeeded, but returned no result."),
            &json!("two\n[a.csv]\n1;2\n{\"x\":1}"),
            &json!("{\"error\":\"the tool failed\"}"),
        ]
    );
}

#[test]
fn images_and_a_pdf_of_the_user() {
    let parts = [
        UserPart::text("What is this?"),
        Document::from_bytes(PNG, "image/png").into(),
        Document::from_bytes(&b"%PDF-1.7"[..], "application/pdf").with_file_name("a \"b\".pdf").into(),
        Document::from_bytes(&b"%PDF-1.7"[..], "application/pdf").into(),
        Some(UserPart::Object(ContentTree::value(&json!({"event": 1})))),
    ];
    let request = ChatRequest::new([Message::User(UserMessage::new(parts)).shared()]).streaming(false);
    insta::assert_snapshot!(shown(&body(&openai(), &request)));
}

#[test]
fn the_synthetic_message_follows_the_results() {
    let read = call("read", "call_1", "{}");
    let pdf = Document::from_bytes(&b"%PDF-1.7"[..], "application/pdf").with_file_name("q3.pdf");
    let mut result = ToolResult::ok(&read, "see q3.pdf");
    result.documents = vec![pdf.clone()];
    result.routed = Some(Routed::new(Vec::new(), 1));
    let mut synthetic = UserMessage::new([UserPart::text("[q3.pdf]"), pdf.into()]);
    synthetic.origin = UserOrigin::ToolCallDocuments;
    let request = ChatRequest::new([
        user("Read it"),
        asks("", &[&read]),
        answers([result]),
        Message::User(synthetic).shared(),
    ])
    .streaming(false);
    insta::assert_snapshot!(shown(&body(&openai(), &request)));
}

#[test]
fn a_refusal_goes_back() {
    let refusal = TextPart::new("I can't.").map(|text| AssistantPart::Text(text.into_refusal()));
    let message = |parts: Vec<_>| Message::Assistant(AssistantMessage::new(parts)).shared();
    let request = ChatRequest::new([
        user("Do it"),
        message(vec![refusal.clone()]),
        user("Please"),
        message(vec![AssistantPart::text("Well."), refusal]),
        user("Why?"),
    ])
    .streaming(false);
    let body_of = |codec: &ChatCodec| body(codec, &request)["messages"].clone();
    insta::assert_snapshot!(shown(&body_of(&openai())));
    let imitation = body_of(&ChatCodec::new(compatible(), "m"));
    assert_eq!(imitation[1]["content"], "I can't.");
    assert_eq!(imitation[3]["content"], "Well.I can't.");
}

// openai.md D 49, D 51
#[test]
fn d49_d51_instructions_in_one_message_at_the_start() {
    let mut profile = compatible();
    let request = ChatRequest::new([
        Message::system("one").shared(),
        Message::system("two").shared(),
        user("Hi"),
        Message::system("three").shared(),
    ])
    .with_settings(ModelSettings::new().with_system("zero"));
    let messages = body(&ChatCodec::new(profile.clone(), "m"), &request)["messages"].clone();
    assert_eq!(
        messages,
        json!([
            {"role": "system", "content": "zero\n\none\n\ntwo"},
            {"role": "user", "content": "Hi"},
            {"role": "user", "content": "three"},
        ])
    );
    profile.system_role = SystemRole::Developer;
    assert_eq!(body(&ChatCodec::new(profile, "m"), &request)["messages"][0]["role"], "developer");
}

// openai.md D 62
#[test]
fn d62_the_content_of_a_message_of_calls() {
    let ask = call("clock", "call_1", "{}");
    let request = ChatRequest::new([asks("", &[&ask]), answers([ToolResult::ok(&ask, "12")])]);
    let content = |content: EmptyContent| {
        let mut profile = compatible();
        profile.empty_content = content;
        let codec = ChatCodec::new(profile, "m");
        let body: Value = serde_json::from_slice(&encode(&codec, &request).parts.body.to_vec()).unwrap();
        body["messages"][0].get("content").cloned()
    };
    assert_eq!(content(EmptyContent::Null), Some(json!(null)));
    assert_eq!(content(EmptyContent::Empty), Some(json!("")));
    assert_eq!(content(EmptyContent::Omitted), None);
}

// openai.md D 63, E17
#[test]
fn d63_messages_that_say_nothing_are_left_out() {
    let thought = AssistantPart::Reasoning(ReasoningPart::new("hm"));
    let request = ChatRequest::new([
        user("Hi"),
        asks("", &[]),
        Message::Assistant(AssistantMessage::new([Some(thought)])).shared(),
        user(" \n"),
        Message::system("").shared(),
        answers([]),
    ]);
    assert_eq!(body(&openai(), &request)["messages"], json!([{"role": "user", "content": "Hi"}]));
    let nothing = ChatRequest::new([user("")]);
    assert_eq!(
        openai().encode(Ask::new(&nothing, &nothing.settings, None)).unwrap_err().kind(),
        ErrorKind::InvalidHistory
    );
}

// openai.md D 12, D 13, D 19
#[test]
fn d19_ids_of_other_providers_pair_up() {
    let long = call("clock", &"x".repeat(80), "{}");
    let odd = call("clock", "functions.clock:0", "{}");
    let again = call("clock", "functions.clock:0", "{}");
    let none = ToolCall::new("clock", Arguments::new("{}")).with_id(ToolCallId::parse("call_mine").unwrap());
    let calls = [&long, &odd, &none];
    let request = ChatRequest::new([
        asks("", &calls),
        answers(calls.map(|call| ToolResult::ok(call, "x"))),
        asks("", &[&again]),
        answers([ToolResult::ok(&again, "x")]),
    ]);
    let strict = body(&openai(), &request);
    assert_eq!(strict["messages"][0]["tool_calls"][2]["id"], "call_mine");
    let kept = body(&ChatCodec::new(compatible(), "m"), &request);
    assert_eq!(kept["messages"][0]["tool_calls"][1]["id"], "functions.clock:0");
    assert_eq!(kept["messages"][5]["tool_call_id"], "functions.clock:0");
}

#[test]
fn documents_are_never_lost_in_silence() {
    let fail = |message: Message| {
        let request = ChatRequest::new([message.shared()]);
        openai().encode(Ask::new(&request, &request.settings, None)).unwrap_err().kind()
    };
    let user_with = |document: Document| Message::User(UserMessage::new([document.into()]));
    assert_eq!(
        fail(user_with(Document::from_bytes(&b"PK\x03\x04"[..], "application/zip"))),
        ErrorKind::Unsupported
    );
    let stored = Document::stored(DocumentId::new(), "s", "application/pdf");
    assert_eq!(fail(user_with(stored)), ErrorKind::Unsupported);
    let tree = Capture::new().finish(&Document::from_bytes(PNG, "")).unwrap();
    assert_eq!(fail(Message::User(UserMessage::event(tree.clone()))), ErrorKind::InvalidHistory);
    let ask = call("clock", "call_1", "{}");
    let fail = |result: ToolResult| {
        let request = ChatRequest::new([asks("", &[&ask]), answers([result])]);
        openai().encode(Ask::new(&request, &request.settings, None)).unwrap_err().kind()
    };
    let result = ToolResult::new(&ask, ResultStatus::Ok, tree);
    assert_eq!(fail(result.clone()), ErrorKind::InvalidHistory, "nobody routed them");
    let mut attached = result;
    attached.routed = Some(Routed::new(vec![UserPart::Document(Document::from_bytes(PNG, ""))], 1));
    assert_eq!(fail(attached), ErrorKind::Unsupported, "tool messages take only text");
}

#[test]
fn several_texts_are_parts_or_one_string() {
    let message = UserMessage::new([UserPart::text("one"), UserPart::text("two")]);
    let request = ChatRequest::new([Message::User(message).shared()]);
    assert_eq!(body(&openai(), &request)["messages"][0]["content"].as_array().unwrap().len(), 2);
    assert_eq!(body(&ChatCodec::new(compatible(), "m"), &request)["messages"][0]["content"], "one\ntwo");
}

// openai.md 0.1, C.11
#[test]
fn urls_and_keys_by_profile() {
    let mut profile =
        Profile::compatible("azure", "https://r.example/openai/deployments/d/?api-version=2024-10-21");
    profile.key.header = "api-key".to_owned();
    profile.key.prefix = String::new();
    let request = ChatRequest::new([user("Hi")]);
    let encoded = ChatCodec::new(profile, "d")
        .encode(Ask::new(&request, &request.settings, Some(&Secret::new("k"))))
        .unwrap();
    assert_eq!(
        encoded.parts.url,
        "https://r.example/openai/deployments/d/chat/completions?api-version=2024-10-21"
    );
    assert!(encoded.parts.shown_headers().any(|header| header == ("api-key", "***")));
    let nowhere = ChatCodec::new(Profile::compatible("x", "localhost"), "m");
    assert_eq!(
        nowhere.encode(Ask::new(&request, &request.settings, None)).unwrap_err().kind(),
        ErrorKind::Configuration
    );
}

// invariant 5: what was rendered once is not rendered again
#[test]
fn a_transcript_holds_what_was_rendered() {
    let transcript = Transcript::new();
    let tools = Arc::new(tools());
    let id = MessageId::parse("m1").unwrap();
    let request = |text: &str| {
        ChatRequest::new([Message::user(text).with_id(id.clone()).shared()])
            .with_tools(Arc::clone(&tools))
            .with_transcript(transcript.clone())
    };
    let first = body(&openai(), &request("one"));
    // A message of the same identity is the same message.
    assert_eq!(body(&openai(), &request("two")), first);
    let other = ChatCodec::new(Profile::openai_chat(), "gpt-4.1");
    assert_eq!(body(&other, &request("two"))["messages"][0]["content"], "two", "models keep apart");
    // Other tools that change no name leave the messages as they are.
    let more =
        request("three").with_tools(ToolSet::new([ToolDefinition::new("new", "", json!({}))]).unwrap());
    let body = body(&other, &more);
    assert_eq!(
        (&body["messages"][0]["content"], &body["tools"][0]["function"]["name"]),
        (&json!("two"), &json!("new"))
    );
}
