//! Requests to Responses as they go over the wire, each accepted by the strict mock's rules.

#![cfg(test)]

use std::sync::Arc;

use attache_conformance::{Api, SeenPlace, seen_documents};
use attache_core::message::{Routed, UserOrigin};
use attache_core::{
    Capture, ChatRequest, ContentTree, Document, DocumentId, Effort, ErrorKind, Message, MessageId,
    ModelSettings, Reasoning, ResponseFormat, ResultStatus, Secret, ToolDefinition, ToolResult, ToolSet,
    Transcript, UserMessage, UserPart,
};
use attache_openai::{ResponsesCodec, SystemPlace, SystemRole};
use attache_transport::{Ask, Codec as _};
use serde_json::{Value, json};

use crate::common::items::{answer, at, body, encode, gpt, input, profile, refused, says, thought};
use crate::common::items::{asks as wants, calls};
use crate::common::{answers, asks, call, shown, tools, user};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
const PDF: &[u8] = b"%PDF-1.7";

#[test]
fn plain() {
    let request = ChatRequest::new([user("Hi"), Message::system("Be brief.").shared(), user("There?")]);
    let key = Secret::new("sk-canary-0123456789");
    let encoded = gpt()
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

// openai.md B.4: flat, and never without `strict`
#[test]
fn tools_are_offered() {
    let request = ChatRequest::new([user("Hi")]).with_tools(tools());
    let offered = body(&gpt(), &request)["tools"].clone();
    insta::assert_snapshot!(shown(&offered));
    let without = body(&at("xai-responses", "grok-4.3"), &request)["tools"].clone();
    assert_eq!((without[0].get("strict"), &without[0]["name"]), (None, &json!("weather_now")));
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
    insta::assert_snapshot!(shown(&body(&gpt(), &request)["input"]));
}

// openai.md B.2, documents.md 6.2: where the row takes them, documents stand in the result
#[test]
fn documents_stand_in_the_result() {
    let (read, broken) = (call("read", "call_1", "{}"), call("read", "call_2", "{}"));
    let documents = || {
        vec![
            UserPart::text("[q3.pdf]").unwrap(),
            UserPart::Document(Document::from_bytes(PDF, "application/pdf").with_file_name("q3.pdf")),
            UserPart::Document(Document::from_bytes(PNG, "image/png")),
            UserPart::Document(Document::from_bytes(&b"a;b"[..], "text/csv").with_file_name("t.csv")),
        ]
    };
    let mut fine = ToolResult::ok(&read, "see q3.pdf");
    fine.routed = Some(Routed::new(documents(), 1));
    let mut failed = ToolResult::error(&broken, "half of it");
    failed.routed = Some(Routed::new(documents(), 1));
    let request = ChatRequest::new([user("Read"), asks("", &[&read, &broken]), answers([fine, failed])])
        .streaming(false);
    let body = body(&gpt(), &request);
    insta::assert_snapshot!(shown(&body["input"]));
    let seen = seen_documents(Api::Responses, &body);
    let types: Vec<_> = seen.iter().map(|document| document.media_type.as_str()).collect();
    assert_eq!(
        types,
        ["application/pdf", "image/png", "application/pdf", "image/png"],
        "text stands as text"
    );
    let ids: Vec<_> = seen.iter().filter_map(|document| document.tool_call_id.as_deref()).collect();
    assert_eq!(ids, ["call_1", "call_1", "call_2", "call_2"]);
    assert!(seen.iter().all(|document| document.place == SeenPlace::ToolResult));
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
    ]);
    let outputs: Vec<_> = input(&gpt(), &request)[3..].iter().map(|item| item["output"].clone()).collect();
    assert_eq!(
        outputs,
        [
            json!("Tool execution succeeded, but returned no result."),
            json!("two\n[a.csv]\n1;2\n{\"x\":1}"),
            json!("{\"error\":\"the tool failed\"}"),
        ]
    );
}

#[test]
fn images_and_a_pdf_of_the_user() {
    let parts = [
        UserPart::text("What is this?"),
        Document::from_bytes(PNG, "image/png").into(),
        Document::from_bytes(PDF, "application/pdf").with_file_name("a \"b\".pdf").into(),
        Document::from_bytes(PDF, "application/pdf").with_file_name(" ").into(),
        Some(UserPart::Object(ContentTree::value(&json!({"event": 1})))),
    ];
    let request = ChatRequest::new([Message::User(UserMessage::new(parts)).shared()]);
    insta::assert_snapshot!(shown(&body(&gpt(), &request)["input"]));
}

// openai.md D 31: an address goes without a name, and only where the server fetches it
#[test]
fn d31_addresses_of_documents() {
    let pdf = Document::external("https://example.org/a.pdf")
        .with_media_type("application/pdf")
        .with_file_name("a.pdf");
    let png = Document::external("https://example.org/a.png").with_media_type("image/png");
    let mut message = UserMessage::new([pdf.into(), png.into()]);
    let alone = ChatRequest::new([Message::User(message.clone()).shared()]);
    assert_eq!(refused(&gpt(), &alone).0, ErrorKind::Unsupported, "nobody has cleared the address");
    message.routed = Some(Routed::new(message.parts.clone(), 1));
    let request = ChatRequest::new([Message::User(message).shared()]);
    assert_eq!(
        input(&gpt(), &request)[0]["content"],
        json!([
            {"type": "input_file", "file_url": "https://example.org/a.pdf"},
            {"type": "input_image", "detail": "auto", "image_url": "https://example.org/a.png"},
        ])
    );
    assert_eq!(refused(&at("bedrock-mantle", "openai.gpt-5.6"), &request).0, ErrorKind::Unsupported);
}

#[test]
fn the_synthetic_message_follows_the_results() {
    let read = call("read", "call_1", "{}");
    let pdf = Document::from_bytes(PDF, "application/pdf").with_file_name("q3.pdf");
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
    ]);
    let items = input(&at("openrouter-responses", "google/gemini-3"), &request);
    let kinds: Vec<_> = items.iter().map(|item| item["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["message", "function_call", "function_call_output", "message"]);
    assert_eq!(items[3]["content"][1]["filename"], "q3.pdf");
}

#[test]
fn instructions_stand_before_the_items() {
    let history = [Message::system("one").shared(), user("Hi"), Message::system("two").shared(), user("So?")];
    let request = ChatRequest::new(history).with_settings(ModelSettings::new().with_system("zero"));
    let body_of = |codec: &ResponsesCodec| body(codec, &request);
    let message = |role: &str, text: &str| json!({"type": "message", "role": role, "content": text});
    let openai = body_of(&gpt());
    assert_eq!(openai["instructions"], "zero");
    let (hi, so) = (message("user", "Hi"), message("user", "So?"));
    assert_eq!(openai["input"], json!([message("system", "one"), hi, message("system", "two"), so]));
    // A server without the member.
    let xai = body_of(&at("xai-responses", "grok-4.3"));
    assert_eq!(xai.get("instructions"), None);
    assert_eq!(
        xai["input"],
        json!([message("system", "zero"), message("system", "one"), hi, message("system", "two"), so])
    );
    // A server that takes them only at the start. (openai.md D 51)
    let mut strict = profile("openai");
    strict.system_place = SystemPlace::MergedFirst;
    strict.system_role = SystemRole::Developer;
    let merged = body_of(&ResponsesCodec::new(strict.clone(), "gpt-5.6"));
    assert_eq!(merged["instructions"], "zero\n\none");
    assert_eq!(merged["input"], json!([hi, message("user", "two"), so]));
    strict.responses.instructions = false;
    let first = body_of(&ResponsesCodec::new(strict, "gpt-5.6"));
    assert_eq!(first["input"][0], message("developer", "zero\n\none"));
}

// openai.md A.4: JSON without a schema must be asked for in an item
#[test]
fn instructions_are_an_item_where_they_ask_for_json() {
    let options =
        ModelSettings::new().with_system("Answer in JSON.").with_response_format(ResponseFormat::JsonObject);
    let body = body(&gpt(), &ChatRequest::new([user("Hi")]).with_settings(options));
    assert_eq!(body.get("instructions"), None);
    assert_eq!(body["input"][0]["content"], "Answer in JSON.");
    assert_eq!(body["text"], json!({"format": {"type": "json_object"}}));
}

#[test]
fn messages_that_say_nothing_are_left_out() {
    let request =
        ChatRequest::new([user("Hi"), asks("", &[]), user(" \n"), Message::system("").shared(), answers([])]);
    assert_eq!(input(&gpt(), &request), [json!({"type": "message", "role": "user", "content": "Hi"})]);
    let nothing = ChatRequest::new([user("")]).with_settings(ModelSettings::new().with_system("x"));
    assert_eq!(refused(&gpt(), &nothing).0, ErrorKind::InvalidHistory);
    let xai = at("xai-responses", "grok-4.3");
    assert_eq!(input(&xai, &nothing).len(), 1, "instructions are an item there");
}

#[test]
fn documents_are_never_lost_in_silence() {
    let fail = |message: Message| refused(&gpt(), &ChatRequest::new([message.shared()])).0;
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
    let attached = |codec: &ResponsesCodec, routed: Option<Routed>| {
        let mut result = ToolResult::new(&ask, ResultStatus::Ok, tree.clone());
        result.routed = routed;
        refused(codec, &ChatRequest::new([asks("", &[&ask]), answers([result])])).0
    };
    assert_eq!(attached(&gpt(), None), ErrorKind::InvalidHistory, "nobody routed them");
    let sound = UserPart::Document(Document::from_bytes(&b"ID3"[..], "audio/mpeg"));
    assert_eq!(attached(&gpt(), Some(Routed::new(vec![sound], 1))), ErrorKind::Unsupported);
    let image = Routed::new(vec![UserPart::Document(Document::from_bytes(PNG, ""))], 1);
    assert_eq!(attached(&at("xai-responses", "grok-4.3"), Some(image)), ErrorKind::Unsupported);
}

// openai.md 0.1, C.11
#[test]
fn addresses_and_keys_by_profile() {
    let mut azure = profile("azure-responses");
    azure.base_url = "https://r.example/openai/v1/?api-version=preview".to_owned();
    let request = ChatRequest::new([user("Hi")]);
    let key = Secret::new("k");
    let encoded = ResponsesCodec::new(azure, "gpt-5.5")
        .encode(Ask::new(&request, &request.settings, Some(&key)))
        .unwrap();
    assert_eq!(encoded.parts.url, "https://r.example/openai/v1/responses?api-version=preview");
    assert!(encoded.parts.shown_headers().any(|header| header == ("api-key", "***")));
    for (name, url) in [
        ("openai", "https://api.openai.com/v1/responses"),
        ("xai-responses", "https://api.x.ai/v1/responses"),
        ("deepseek-responses", "https://api.deepseek.com/responses"),
        ("openrouter-responses", "https://openrouter.ai/api/v1/responses"),
        ("bedrock-mantle", "https://bedrock-mantle.us-east-1.api.aws/openai/v1/responses"),
    ] {
        assert_eq!(encode(&at(name, "m"), &request).parts.url, url);
        assert_eq!(profile(name).name, name);
    }
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
    let first = body(&gpt(), &request("one"));
    // A message of the same identity is the same message.
    assert_eq!(body(&gpt(), &request("two")), first);
    let other = at("openai", "gpt-4.1");
    assert_eq!(body(&other, &request("two"))["input"][0]["content"], "two", "models keep apart");
    // Other tools that change no name leave the items as they are.
    let more =
        request("three").with_tools(ToolSet::new([ToolDefinition::new("new", "", json!({}))]).unwrap());
    let seen: Value = body(&other, &more);
    assert_eq!((&seen["input"][0]["content"], &seen["tools"][0]["name"]), (&json!("two"), &json!("new")));
    // Answers that are kept at the server change the request.
    let stored = request("four").with_settings(ModelSettings::new().with_extra_body("store", true));
    assert_eq!(body(&other, &stored)["input"][0]["content"], "four");
}

// One conversation as each bundled profile renders it.
#[test]
fn each_profile_in_its_own_way() {
    for (name, model) in [
        ("openai", "gpt-5.6"),
        ("azure-responses", "gpt-5.5"),
        ("bedrock-mantle", "openai.gpt-5.6-luna"),
        ("xai-responses", "grok-4.3"),
        ("deepseek-responses", "deepseek-v4-flash"),
        ("openrouter-responses", "google/gemini-3-flash-preview"),
    ] {
        let codec = at(name, model);
        let said = says("msg_1", "Let me see.");
        let reply = answer(&codec, &[thought("rs_1", "gAAA"), wants("fc_1", "call:0", "weather_now"), said]);
        let results = answers(calls(&reply).iter().map(|call| ToolResult::error(call, "no such city")));
        let request =
            ChatRequest::new([Message::system("Be brief.").shared(), user("Weather?"), reply, results])
                .with_tools(tools())
                .with_settings(
                    ModelSettings::new()
                        .with_system("You are kind.")
                        .with_max_tokens(100)
                        .with_reasoning(Reasoning::Effort(Effort::High)),
                );
        let body = body(&codec, &request);
        insta::assert_snapshot!(format!("of_{name}"), shown(&body));
    }
}
