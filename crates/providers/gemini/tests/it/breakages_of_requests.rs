//! Failures elsewhere with requests: the rows of gemini.md (a) about encoding.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::wildcard_imports,
    reason = "helpers of tests are not recognised as tests"
)]

use crate::common::*;
use attache_core::message::OpaquePart;
use attache_core::settings::Unsupported;
use attache_core::{
    AssistantPart, ContentTree, ErrorKind, Message, ModelSettings, ResponseFormat, ResultStatus, ToolCall,
    ToolDefinition, ToolResult, ToolSet, UserMessage, UserPart,
};
use attache_gemini::GenerateCodec;
use serde_json::json;

const STAND_IN: &str = "skip_thought_signature_validator";

/// A round of a call of `made` and its result, between two words of the user.
fn round(made: &ToolCall) -> [Message; 3] {
    [
        Message::user("read it"),
        assistant([made.clone().into()]),
        results([ToolResult::ok(made, "three pages")]),
    ]
}

// gemini.md (a) 1, (a) 2, E03
#[test]
fn a1_a2_signatures_go_back_beside_the_call() {
    let made = signed(1, "files.read", r#"{"path":"a"}"#, "c2ln");
    let contents = contents(&request(round(&made)).with_tools(tools()));
    assert_eq!(
        contents[1],
        json!({"role": "model", "parts": [{"functionCall": {"id": "id_1", "name": "files_read", "args": {"path": "a"}},
            "thoughtSignature": "c2ln"}]})
    );
    assert_eq!(
        contents[2],
        json!({"role": "user", "parts": [{"functionResponse": {"id": "id_1", "name": "files_read",
            "response": {"output": "three pages"}}}]})
    );
}

// gemini.md (a) 3
#[test]
fn a3_foreign_histories_get_the_stand_in_on_the_first_call_of_each_step() {
    let (one, two, three) =
        (call(1, "files.list", "{}"), call(2, "files.read", "{}"), call(3, "files.read", "{}"));
    let foreign = replay_data("anthropic", "claude-opus-4-6", &json!({"signature": "canary"}));
    let other = three.with_replay(replay_data(
        "gemini",
        "gemini-3-pro-preview",
        &json!({"thoughtSignature": "canary"}),
    ));
    let messages = [
        Message::user("go"),
        assistant([
            AssistantPart::text("Well."),
            one.clone().with_replay(foreign).into(),
            two.clone().into(),
        ]),
        results([ToolResult::ok(&one, "1"), ToolResult::ok(&two, "2")]),
        assistant([other.clone().into()]),
        results([ToolResult::ok(&other, "3")]),
    ];
    let request = request(messages).with_tools(tools());
    let contents = contents(&request);
    let parts = |content: usize| contents[content]["parts"].as_array().unwrap().clone();
    assert_eq!(parts(1)[1]["thoughtSignature"], STAND_IN);
    assert_eq!(parts(1)[2].get("thoughtSignature"), None, "parallel calls have one signature");
    assert_eq!(parts(3)[0]["thoughtSignature"], STAND_IN);
    assert!(!contents.to_string().contains("canary"), "signatures are for the model that signed");
    let old = body_for(&request, &GenerateCodec::new(OLD));
    assert!(!old.to_string().contains("thoughtSignature"), "nobody demands it there");
    let vertex = body_for(&request, &GenerateCodec::vertex(MODEL).with_project("p", "global"));
    assert_eq!(vertex["contents"][1]["parts"][1]["thoughtSignature"], STAND_IN);
}

// gemini.md (a) 8, (a) 25, E18
#[test]
fn a8_a25_results_of_a_turn_stand_together_in_call_order() {
    let (one, two) = (call(1, "files.list", "{}"), call(2, "files.read", "{}"));
    let contents = contents(
        &request([
            Message::user("go"),
            assistant([one.clone().into(), two.clone().into()]),
            results([ToolResult::ok(&two, "2"), ToolResult::ok(&one, "1")]),
        ])
        .with_tools(tools()),
    );
    assert_eq!(contents.as_array().unwrap().len(), 3);
    assert_eq!(contents[1]["parts"].as_array().unwrap().len(), 2, "one content of the model");
    let ids: Vec<_> =
        contents[2]["parts"].as_array().unwrap().iter().map(|part| &part["functionResponse"]["id"]).collect();
    assert_eq!(ids, ["id_1", "id_2"]);

    let torn = request([
        Message::user("go"),
        assistant([one.clone().into(), two.into()]),
        results([ToolResult::ok(&one, "1")]),
    ]);
    assert_eq!(encode(&torn).unwrap_err().kind(), ErrorKind::InvalidHistory);
}

// gemini.md (a) 9
#[test]
fn a9_nothing_stands_beside_results() {
    let made = call(1, "files.read", "{}");
    let [user, calls, answered] = round(&made);
    let contents = contents(
        &request([user, calls, answered, Message::user("and?"), Message::system("Be brief.")])
            .with_tools(tools()),
    );
    let texts = json!([{"text": "and?"}, {"text": "<system>\nBe brief.\n</system>"}]);
    assert_eq!(contents[3], json!({"role": "user", "parts": texts}));
    assert_eq!(contents[2]["parts"].as_array().unwrap().len(), 1);
}

// gemini.md 2: the first content is the user's, neighbours share a content
#[test]
fn turns_begin_with_the_user() {
    let contents = contents(&request([
        Message::system("Be kind."),
        Message::assistant("Hello!"),
        Message::user("a"),
        Message::user(""),
        Message::user("b"),
        Message::assistant("c"),
        Message::assistant("d"),
        Message::user("e"),
    ]));
    let roles: Vec<_> =
        contents.as_array().unwrap().iter().map(|content| content["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "model", "user", "model", "user"]);
    assert_eq!(contents[2]["parts"], json!([{"text": "a"}, {"text": "b"}]));
    let error = encode(&request([Message::system("x"), Message::user(" ")])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidHistory);
}

// gemini.md (a) 11
#[test]
fn a11_a_form_beside_tools_is_refused_before_the_third_generation() {
    let form = ResponseFormat::JsonSchema {
        name: "x".to_owned(),
        schema: json!({"type": "object"}).into(),
        strict: false,
    };
    let asked =
        |settings: ModelSettings| request([Message::user("go")]).with_tools(tools()).with_settings(settings);
    let settings = ModelSettings::new().with_response_format(form);
    let error = encode_for(&asked(settings.clone()), &GenerateCodec::new(OLD)).unwrap_err();
    assert_eq!((error.kind(), error.param()), (ErrorKind::Unsupported, Some("response_format")));
    let lenient = asked(settings.clone().with_unsupported(Unsupported::Degrade));
    let encoded = encode_for(&lenient, &GenerateCodec::new(OLD)).unwrap();
    assert_eq!(encoded.degradations.len(), 1);
    assert_eq!(body_for(&lenient, &GenerateCodec::new(OLD)).get("generationConfig"), None);
    let body = body(&asked(settings));
    assert_eq!(body["generationConfig"]["responseMimeType"], "application/json");
}

// gemini.md (a) 12, (a) 13, (a) 14, (a) 15
#[test]
fn a12_to_a15_schemas_are_real_ones_without_what_the_api_does_not_know() {
    let schema = json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Args", "type": "object",
        "properties": {
            "title": {"title": "Title", "type": ["string", "null"], "minLength": 1},
            "level": {"type": "integer", "enum": [1, 2]},
            "mode": {"const": "fast"},
            "tags": {"type": "object", "propertyNames": {"pattern": "^a"}, "additionalProperties": {"type": "string", "title": "T"}}},
        "required": ["title"], "additionalProperties": false});
    let tools = ToolSet::new([ToolDefinition::new("t", "", schema)]).unwrap();
    let body = body(&request([Message::user("go")]).with_tools(tools));
    let declaration = &body["tools"][0]["functionDeclarations"][0];
    assert_eq!(declaration.get("parameters"), None);
    assert_eq!(
        declaration["parametersJsonSchema"],
        json!({"type": "object",
            "properties": {
                "title": {"type": ["string", "null"], "description": "{\"minLength\":1}"},
                "level": {"type": "integer", "enum": [1, 2]},
                "mode": {"enum": ["fast"], "type": "string"},
                "tags": {"type": "object", "additionalProperties": {"type": "string"},
                    "description": "{\"propertyNames\":{\"pattern\":\"^a\"}}"}},
            "required": ["title"], "additionalProperties": false})
    );
}

// gemini.md (a) 23
#[test]
fn a23_the_temperature_is_left_alone() {
    assert_eq!(body(&request([Message::user("go")])).get("generationConfig"), None);
}

// E19, P23, gemini.md 3
#[test]
fn results_are_objects() {
    let made = call(1, "files.read", "{}");
    let response = |status: ResultStatus, json: &str| {
        let tree = ContentTree::parse(json, Vec::new()).unwrap();
        let contents = contents(
            &request([
                Message::user("go"),
                assistant([made.clone().into()]),
                results([ToolResult::new(&made, status, tree)]),
            ])
            .with_tools(tools()),
        );
        contents[2]["parts"][0]["functionResponse"]["response"].clone()
    };
    for (result, expected) in [
        (r#""12 C""#, json!({"output": "12 C"})),
        ("[1,2]", json!({"output": [1, 2]})),
        ("3", json!({"output": 3})),
        (r#"{"temp":12}"#, json!({"temp": 12})),
        (r#"{"error":"x","code":1}"#, json!({"output": {"error": "x", "code": 1}})),
        (r#"{"output":{"a":1}}"#, json!({"output": {"output": {"a": 1}}})),
        (r#"{"a":{"error":1}}"#, json!({"a": {"error": 1}})),
        ("null", json!({"output": "Tool execution succeeded, but returned no result."})),
    ] {
        assert_eq!(response(ResultStatus::Ok, result), expected);
    }
    assert_eq!(response(ResultStatus::Error, r#""no such file""#), json!({"error": "no such file"}));
    assert_eq!(response(ResultStatus::Cancelled, r#"{"a":1}"#), json!({"error": {"a": 1}}));
}

// gemini.md 3, (a) 9; C24
#[test]
fn results_hold_media_where_the_model_takes_them() {
    let made = call(1, "files.read", "{}");
    let tree = ContentTree::value(&json!({"pages": 3}));
    let result = || ToolResult::new(&made, ResultStatus::Ok, tree.clone());
    let asked = |result: ToolResult| {
        request([Message::user("go"), assistant([made.clone().into()]), results([result])])
            .with_tools(tools())
    };
    let label = UserPart::text("<document filename=\"a.pdf\"/>");
    let full = asked(routed(result(), [label, pdf("a.pdf").into(), png("b.png").into()]));
    let response = contents(&full)[2]["parts"][0]["functionResponse"].clone();
    assert_eq!(
        response["response"],
        json!({"output": {"pages": 3}, "attached": ["<document filename=\"a.pdf\"/>"]})
    );
    let types: Vec<_> =
        response["parts"].as_array().unwrap().iter().map(|part| &part["inlineData"]["mimeType"]).collect();
    assert_eq!(types, ["application/pdf", "image/png"]);
    let error = encode_for(&full, &GenerateCodec::new(OLD)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let mut unrouted = result();
    unrouted.documents = vec![pdf("a.pdf")];
    assert_eq!(encode(&asked(unrouted)).unwrap_err().kind(), ErrorKind::InvalidHistory);
}

// C25, C29
#[test]
fn documents_of_the_user() {
    let shown = |parts: [Option<UserPart>; 2]| request([Message::User(UserMessage::new(parts))]);
    let text = attache_core::Document::from_bytes(&b"a,b\n1,2"[..], "text/csv");
    let contents = contents(&shown([pdf("a.pdf").into(), text.into()]));
    assert_eq!(contents[0]["parts"][0]["inlineData"]["mimeType"], "application/pdf");
    assert_eq!(contents[0]["parts"][1], json!({"text": "a,b\n1,2"}));
    let word =
        attache_core::Document::from_bytes(&b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"[..], "application/msword")
            .with_file_name("a.doc");
    let error = encode(&shown([word.into(), None])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().contains("a.doc") && error.message().contains(MODEL), "{error}");
    let far = attache_core::Document::external("https://host/a.pdf").with_media_type("application/pdf");
    assert_eq!(encode(&shown([far.clone().into(), None])).unwrap_err().kind(), ErrorKind::Unsupported);
    let mut cleared = UserMessage::new([far.into()]);
    cleared.routed = Some(attache_core::message::Routed::new(cleared.parts.clone(), 1));
    assert_eq!(
        body(&request([Message::User(cleared)]))["contents"][0]["parts"][0],
        json!({"fileData": {"mimeType": "application/pdf", "fileUri": "https://host/a.pdf"}})
    );
}

// gemini.md 4: thoughts and parts of the provider go back to the model that made them, signed
#[test]
fn only_what_is_its_own_goes_back() {
    let opaque = |family: &str, model: &str| {
        let data = replay_data(family, model, &json!({"executableCode": {"code": "canary"}}));
        Some(AssistantPart::Opaque(OpaquePart::new("executableCode", data)))
    };
    let message = assistant([
        thinking("unsigned", None),
        thinking("signed", Some("czE=")),
        opaque("gemini", MODEL),
        opaque("anthropic", "claude"),
        opaque("gemini", "gemini-3-pro-preview"),
        signed_text("Answer.", "czI="),
    ]);
    let asked = request([Message::user("go"), message, Message::user("on")]);
    assert_eq!(
        contents(&asked)[1]["parts"],
        json!([{"text": "signed", "thought": true, "thoughtSignature": "czE="}, {"executableCode": {"code": "canary"}},
            {"text": "Answer.", "thoughtSignature": "czI="}])
    );
    for codec in
        [GenerateCodec::new("gemini-3.1-pro-preview"), GenerateCodec::vertex(MODEL).with_project("p", "")]
    {
        let body = body_for(&asked, &codec);
        assert_eq!(body["contents"][1]["parts"], json!([{"text": "Answer."}]));
    }
}

// gemini.md (b): open models
#[test]
fn models_without_instructions_read_them_first() {
    let asked = request([Message::system("Be kind."), Message::user("a")])
        .with_settings(ModelSettings::new().with_system("Be brief."));
    let body = body_for(&asked, &GenerateCodec::new("gemma-3-27b-it"));
    assert_eq!(body.get("systemInstruction"), None);
    assert_eq!(body["contents"][0]["parts"], json!([{"text": "<system>\nBe brief.\n</system>"}]));
    assert_eq!(body["contents"][1]["parts"][0], json!({"text": "<system>\nBe kind.\n</system>"}));
    let error = encode_for(&asked.with_tools(tools()), &GenerateCodec::new("gemma-3-27b-it")).unwrap_err();
    assert_eq!((error.kind(), error.param()), (ErrorKind::Unsupported, Some("tools")));
}

// gemini.md 1
#[test]
fn keys_stand_in_headers_and_nowhere_else() {
    let asked = request([Message::user("go")]);
    let header = |codec: &GenerateCodec| {
        let encoded = encode_for(&asked, codec).unwrap();
        assert!(!format!("{encoded:?}").contains("canary"));
        assert!(!encoded.parts.url.contains("canary"));
        let names: Vec<_> =
            encoded.parts.shown_headers().map(|(name, value)| format!("{name}={value}")).collect();
        (encoded.parts.url, names.join(" "))
    };
    let (url, headers) = header(&codec());
    assert!(url.ends_with("/v1beta/models/gemini-3-flash-preview:streamGenerateContent?alt=sse"), "{url}");
    assert_eq!(headers, "content-type=application/json x-goog-api-key=***");
    let (url, headers) = header(&GenerateCodec::vertex(MODEL).with_project("p", "europe-west4"));
    assert!(url.starts_with("https://europe-west4-aiplatform.googleapis.com/v1beta1/projects/p/"), "{url}");
    assert_eq!(headers, "content-type=application/json authorization=***");
    let own = asked.with_settings(ModelSettings::new().with_extra_header("Authorization", "Bearer mine"));
    let encoded = encode(&own).unwrap();
    assert!(encoded.parts.shown_headers().all(|(name, _)| name != "x-goog-api-key"));
}
