//! The changes of profiles in requests (openai.md C, D): each quirk by itself, on a server of which nothing else is
//! known.

#![cfg(test)]

use std::sync::Arc;

use attache_core::capability::Matrix;
use attache_core::message::Routed;
use attache_core::settings::Unsupported;
use attache_core::{
    AssistantMessage, AssistantPart, ChatRequest, Document, Effort, ErrorKind, Message, ModelSettings,
    Reasoning, ResponseFormat, ToolChoice, ToolResult, UserMessage, UserPart,
};
use attache_openai::{
    AudioForm, CallIds, ChatCodec, FileForm, JsonObject, NamedTool, Profile, Replayed, ToolsOff,
};
use attache_transport::{Ask, Codec as _, EncodedRequest};
use serde_json::{Value, json};

use crate::common;
use crate::common::{answers, asks, call, compatible, tools, user};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

/// A model that can do everything, behind a server with these quirks.
fn codec(quirks: impl FnOnce(&mut Profile)) -> ChatCodec {
    codec_of("", quirks)
}

/// A model whose row has these cells, behind a server without quirks.
fn model(cells: &str) -> ChatCodec {
    codec_of(cells, |_| ())
}

fn codec_of(cells: &str, quirks: impl FnOnce(&mut Profile)) -> ChatCodec {
    let matrix = Matrix::parse(
        "[all]\nuser.media = ['text', 'image/png', 'application/pdf', 'audio/wav', 'audio/mpeg', 'video/mp4']\n\
         tool_result.media = ['text']\nparallel_tools = true\nstructured_output = 'json_schema'\n\
         reasoning = ['effort', 'budget', 'off']\nefforts = ['low', 'medium', 'high']\nfiles.urls = true",
    )
    .unwrap();
    let matrix = matrix.merged_with(&format!("[all.models.m]\n{cells}")).unwrap();
    let mut profile = compatible();
    profile.family = "all".to_owned();
    quirks(&mut profile);
    ChatCodec::new(profile, "m").with_capabilities(matrix.resolve("all", "m"))
}

fn try_encode(
    codec: &ChatCodec,
    request: &ChatRequest,
) -> Result<EncodedRequest, attache_core::ProviderError> {
    codec.encode(Ask::new(request, &request.settings, None))
}

fn body(codec: &ChatCodec, request: &ChatRequest) -> Value {
    serde_json::from_slice(&try_encode(codec, request).unwrap().parts.body.to_vec()).unwrap()
}

/// The options that were left out, and the body without them.
fn degraded(codec: &ChatCodec, request: &ChatRequest) -> (Vec<String>, Value) {
    let settings = request.settings.merged(&ModelSettings::new().with_unsupported(Unsupported::Degrade));
    let encoded = codec.encode(Ask::new(request, &settings, None)).unwrap();
    let options = encoded.degradations.iter().map(|degradation| degradation.option.clone()).collect();
    (options, serde_json::from_slice(&encoded.parts.body.to_vec()).unwrap())
}

fn refused(codec: &ChatCodec, request: &ChatRequest) -> String {
    let error = try_encode(codec, request).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    error.param().unwrap_or_default().to_owned()
}

fn with(options: ModelSettings) -> ChatRequest {
    ChatRequest::new([user("Hi")]).with_settings(options).streaming(false)
}

fn reasoning(reasoning: Reasoning) -> ModelSettings {
    ModelSettings::new().with_reasoning(reasoning)
}

fn schema() -> ResponseFormat {
    let schema = json!({"type": "object", "properties": {}, "required": [], "additionalProperties": false});
    ResponseFormat::JsonSchema { name: "out".to_owned(), schema: schema.into(), strict: true }
}

// openai.md C.1, C.4
#[test]
fn d01_turns_with_calls_carry_reasoning_even_if_none_was_kept() {
    let ask = call("clock", "call_1", "{}");
    let request = ChatRequest::new([
        user("Hi"),
        asks("", &[&ask]),
        answers([ToolResult::ok(&ask, "12")]),
        asks("It is 12.", &[]),
    ]);
    let messages = body(&codec(|profile| profile.empty_reasoning = true), &request)["messages"].clone();
    assert_eq!(messages[1]["reasoning_content"], "");
    assert_eq!(messages[3].get("reasoning_content"), None, "turns without calls need none");
    assert_eq!(body(&codec(|_| ()), &request)["messages"][1].get("reasoning_content"), None);
    let kept = common::whole(
        json!({"reasoning_content": "hm", "tool_calls": [{"id": "a", "function": {"name": "clock", "arguments": "{}"}}]}),
        "tool_calls",
    );
    let kept = common::replay(&kept).completion.message;
    let result = ToolResult::ok(kept.tool_calls().next().unwrap(), "12");
    let request = ChatRequest::new([Message::Assistant(kept).shared(), answers([result])]);
    let sent = body(&codec(|profile| profile.empty_reasoning = true), &request)["messages"][0].to_string();
    assert_eq!(sent.matches("reasoning_content").count(), 1, "{sent}");
    assert!(sent.contains("\"hm\""));
}

// openai.md C.1, C.5
#[test]
fn d02_nothing_is_forced_while_the_model_reasons() {
    let codec = model("reasoning_excludes = ['forced_tools']\nreasons_unasked = true");
    for choice in [ToolChoice::Required, ToolChoice::Tool("clock".to_owned())] {
        let request = ChatRequest::new([user("Hi")]).with_tools(tools()).with_tool_choice(choice);
        assert_eq!(refused(&codec, &request), "tool_choice");
        let (left_out, body) = degraded(&codec, &request);
        assert_eq!((left_out, body.get("tool_choice")), (vec!["tool_choice".to_owned()], None));
        let off = request.with_settings(reasoning(Reasoning::Off));
        assert!(self::body(&codec, &off).get("tool_choice").is_some());
    }
}

// openai.md C.6
#[test]
fn d14_ids_have_nine_characters_on_calls_and_results() {
    let (own, foreign) = (call("clock", "j0n95wytd", "{}"), call("clock", "toolu_01Abc", "{}"));
    let request = ChatRequest::new([
        asks("", &[&own, &foreign]),
        answers([ToolResult::ok(&own, "1"), ToolResult::ok(&foreign, "2")]),
    ]);
    let messages = body(&codec(|profile| profile.call_ids = CallIds::Nine), &request)["messages"].clone();
    assert_eq!(messages[0]["tool_calls"][0]["id"], "j0n95wytd");
    let id = &messages[0]["tool_calls"][1]["id"];
    assert!(id.as_str().is_some_and(|id| id.len() == 9));
    assert_eq!((&messages[2]["tool_call_id"], &messages[2]["content"]), (id, &json!("2")));
}

// openai.md A.2, C.6, C.8
#[test]
fn d15_results_are_as_many_as_calls_and_in_their_order() {
    let (a, b) = (call("clock", "a", "{}"), call("clock", "b", "{}"));
    let request =
        ChatRequest::new([asks("", &[&a, &b]), answers([ToolResult::ok(&b, "2"), ToolResult::ok(&a, "1")])]);
    let messages = body(&codec(|_| ()), &request)["messages"].clone();
    assert_eq!([&messages[1]["tool_call_id"], &messages[2]["tool_call_id"]], ["a", "b"]);
    let missing = ChatRequest::new([asks("", &[&a, &b]), answers([ToolResult::ok(&a, "1")])]);
    let error = try_encode(&codec(|_| ()), &missing).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidHistory);
}

// openai.md C.6
#[test]
fn d16_the_usage_of_streams_is_asked_for_only_where_that_is_known() {
    let request = ChatRequest::new([user("Hi")]);
    let asked = body(&codec(|_| ()), &request);
    assert_eq!(asked["stream_options"], json!({"include_usage": true}));
    let silent = body(&codec(|profile| profile.stream_usage = false), &request);
    assert_eq!((silent.get("stream_options"), &silent["stream"]), (None, &json!(true)));
}

// openai.md C.6
#[test]
fn d17_the_user_does_not_follow_results_directly() {
    let ask = call("clock", "a", "{}");
    let round = || [asks("", &[&ask]), answers([ToolResult::ok(&ask, "12")])];
    let bridged = codec(|profile| profile.bridge = "OK".to_owned());
    let roles = |messages: Vec<Arc<Message>>| {
        let body = body(&bridged, &ChatRequest::new(messages));
        let roles = body["messages"].as_array().unwrap().iter().map(|message| {
            format!(
                "{}:{}",
                message["role"].as_str().unwrap(),
                message["content"].as_str().unwrap_or_default()
            )
        });
        roles.collect::<Vec<_>>()
    };
    let [first, second] = round();
    assert_eq!(
        roles(vec![first, second, user(" "), user("And?"), user("Now?")]),
        ["assistant:", "tool:12", "assistant:OK", "user:And?", "user:Now?"]
    );
    let [first, second] = round();
    assert_eq!(
        roles(vec![user("Hi"), first, second, asks("It is 12.", &[]), user("Fine")]),
        ["user:Hi", "assistant:", "tool:12", "assistant:It is 12.", "user:Fine"]
    );
    // Instructions in the words of the user count as the user's.
    let [first, second] = round();
    assert_eq!(
        roles(vec![first, second, Message::system("Stop.").shared()]),
        ["assistant:", "tool:12", "assistant:OK", "user:Stop."]
    );
}

// openai.md A.6
#[test]
fn d21_the_limit_and_the_seed_have_the_servers_names() {
    let request = with(ModelSettings::new().with_max_tokens(9).with_seed(3));
    let usual = body(&codec(|_| ()), &request);
    assert_eq!((&usual["max_tokens"], &usual["seed"]), (&json!(9), &json!(3)));
    let other = codec(|profile| {
        profile.max_tokens = attache_openai::MaxTokens::MaxCompletionTokens;
        profile.seed = "random_seed".to_owned();
    });
    let renamed = body(&other, &request);
    assert_eq!((&renamed["max_completion_tokens"], &renamed["random_seed"]), (&json!(9), &json!(3)));
    assert!(renamed.get("max_tokens").is_none() && renamed.get("seed").is_none(), "never both");
    assert_eq!(refused(&codec(|profile| profile.seed = String::new()), &request), "seed");
}

// openai.md C.15
#[test]
fn d34_arguments_are_strings_in_the_history() {
    let ask = call("clock", "a", r#"{"zone": "UTC"}"#);
    let request = ChatRequest::new([asks("", &[&ask]), answers([ToolResult::ok(&ask, "12")])]);
    let arguments = &body(&codec(|_| ()), &request)["messages"][0]["tool_calls"][0]["function"]["arguments"];
    assert_eq!(arguments, r#"{"zone": "UTC"}"#);
}

// openai.md C.15, C.16
#[test]
fn d52_neighbours_of_one_role_are_joined() {
    let turns = codec(|profile| profile.alternating = true);
    let messages =
        |messages: Vec<Arc<Message>>| body(&turns, &ChatRequest::new(messages))["messages"].clone();
    let ask = call("clock", "a", "{}");
    let joined = messages(vec![
        Message::system("Be brief.").shared(),
        user("one"),
        user(" "),
        Message::system("two").shared(),
        user("three"),
        asks("a", &[]),
        asks("", &[]),
        asks("b", &[&ask]),
        answers([ToolResult::ok(&ask, "12")]),
        user("four"),
        user("five"),
    ]);
    let expected = json!([
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "one\n\ntwo\n\nthree"},
        {"role": "assistant", "content": "a\n\nb", "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "clock", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "a", "content": "12"},
        {"role": "user", "content": "four\n\nfive"},
    ]);
    assert_eq!(joined, expected);
    let text = Document::from_bytes(&b"a,b"[..], "text/csv").into();
    let text = Message::User(UserMessage::new([UserPart::text("Read:"), text])).shared();
    assert_eq!(messages(vec![text])[0]["content"], "Read:\na,b", "templates want strings");
    let image = Message::User(UserMessage::new([Document::from_bytes(PNG, "image/png").into()])).shared();
    let parts = messages(vec![user("Look:"), image]);
    assert_eq!(parts[0]["content"][0], json!({"type": "text", "text": "Look:"}));
    assert_eq!(parts[0]["content"][1]["type"], "image_url");
    assert_eq!(parts.as_array().unwrap().len(), 1);
}

// openai.md C.17
#[test]
fn d53_a_json_object_as_the_schema_of_an_object() {
    let request = with(ModelSettings::new().with_response_format(ResponseFormat::JsonObject));
    assert_eq!(body(&codec(|_| ()), &request)["response_format"], json!({"type": "json_object"}));
    let schema = body(&codec(|profile| profile.json_object = JsonObject::Schema), &request);
    assert_eq!(
        schema["response_format"],
        json!({"type": "json_schema", "json_schema": {"name": "object", "schema": {"type": "object"}}})
    );
}

// openai.md C.5, C.7
#[test]
fn d54_json_is_refused_beside_tools_or_reasoning() {
    let beside_tools = model("json_beside_tools = false");
    let reasoning = model("reasoning_excludes = ['json']\nreasons_unasked = true");
    for format in [ResponseFormat::JsonObject, schema()] {
        let options = ModelSettings::new().with_response_format(format);
        let with_tools = with(options.clone()).with_tools(tools());
        assert_eq!(refused(&beside_tools, &with_tools), "response_format");
        let (left_out, body) = degraded(&beside_tools, &with_tools);
        assert_eq!((left_out.len(), body.get("response_format")), (1, None));
        assert!(self::body(&beside_tools, &with(options.clone())).get("response_format").is_some());
        assert_eq!(refused(&reasoning, &with(options.clone())), "response_format");
        let off = with(options.with_reasoning(Reasoning::Off));
        assert!(self::body(&reasoning, &off).get("response_format").is_some());
    }
}

// openai.md A.4, C.1, C.2: the word JSON must stand in the messages
#[test]
fn a_schema_that_no_member_takes_stands_in_the_instructions() {
    let codec = ChatCodec::new(compatible(), "m");
    let request = ChatRequest::new([Message::system("Be brief.").shared(), user("Hi")])
        .with_settings(ModelSettings::new().with_response_format(schema()));
    assert_eq!(refused(&codec, &request), "response_format");
    let (_, body) = degraded(&codec, &request);
    assert_eq!(body["response_format"], json!({"type": "json_object"}));
    let system = body["messages"][0]["content"].as_str().unwrap();
    assert!(system.starts_with("Be brief.\n\nAnswer with a JSON object that follows this JSON Schema:\n{"));
}

// openai.md C.5
#[test]
fn d56_what_only_streams_while_it_reasons_is_streamed() {
    let codec = model("reasoning_excludes = ['whole_answers']");
    let effort = with(reasoning(Reasoning::Effort(Effort::High)));
    assert_eq!(body(&codec, &effort)["stream"], true);
    assert_eq!(body(&codec, &with(reasoning(Reasoning::Off))).get("stream"), None);
    assert_eq!(body(&codec, &with(ModelSettings::new())).get("stream"), None);
}

// openai.md C.7
#[test]
fn models_that_do_not_stream_structured_output_are_asked_for_it_whole() {
    let codec = codec(|profile| profile.schemas_whole = true);
    let mut request = with(ModelSettings::new().with_response_format(schema()));
    request.streaming = true;
    let asked = body(&codec, &request);
    assert!(asked.get("stream").is_none() && asked.get("stream_options").is_none());
    request.settings.response_format = Some(ResponseFormat::JsonObject);
    assert_eq!(body(&codec, &request)["stream"], true);
}

// openai.md C.6, C.9, D 61
#[test]
fn d61_details_go_back_unmodified_and_in_order() {
    let details = json!([
        {"type": "reasoning.summary", "summary": "s", "id": "rs_1", "format": "openai-responses-v1", "index": 0},
        {"type": "reasoning.encrypted", "data": "gAAA", "id": "call_1", "format": "google-gemini-v1", "index": 1, "odd": [1]},
    ]);
    let calls = json!([{"id": "call_1", "function": {"name": "clock", "arguments": "{}"}}]);
    let reply = common::whole(
        json!({"reasoning": "s", "reasoning_details": details, "tool_calls": calls}),
        "tool_calls",
    );
    let reply = common::replay(&reply).completion.message;
    let result = ToolResult::ok(reply.tool_calls().next().unwrap(), "12");
    let request = ChatRequest::new([Message::Assistant(reply).shared(), answers([result])]);
    let sent = body(&codec(|profile| profile.reasoning_replay = Replayed::Always), &request);
    assert_eq!(sent["messages"][0]["reasoning_details"], details);
    assert_eq!(sent["messages"][0].get("reasoning"), None, "it would be said twice");
}

// openai.md C.16, C.17
#[test]
fn a_server_without_names_in_its_choice_is_offered_that_tool_alone() {
    let request =
        |choice: ToolChoice| ChatRequest::new([user("Hi")]).with_tools(tools()).with_tool_choice(choice);
    let alone = codec(|profile| profile.named_tool = NamedTool::Alone);
    let forced = body(&alone, &request(ToolChoice::Tool("clock".to_owned())));
    assert_eq!(forced["tool_choice"], "required");
    let offered: Vec<_> =
        forced["tools"].as_array().unwrap().iter().map(|tool| &tool["function"]["name"]).collect();
    assert_eq!(offered, ["clock"]);
    assert_eq!(body(&alone, &request(ToolChoice::Required))["tools"].as_array().unwrap().len(), 2);
}

// openai.md C.2, C.6
#[test]
fn tools_that_may_not_be_called_are_withheld() {
    let request = ChatRequest::new([user("Hi")]).with_tools(tools()).with_tool_choice(ToolChoice::None);
    let chosen = body(&codec(|_| ()), &request);
    assert_eq!((&chosen["tool_choice"], chosen.get("tools").is_some()), (&json!("none"), true));
    let options = ModelSettings::new().with_parallel_tool_calls(true);
    let dropped = codec(|profile| profile.tools_off = ToolsOff::Dropped);
    let silent = body(&dropped, &request.with_settings(options));
    for member in ["tools", "tool_choice", "parallel_tool_calls"] {
        assert_eq!(silent.get(member), None, "{member} goes with tools");
    }
}

// openai.md C.5, C.16
#[test]
fn several_calls_are_asked_for_where_one_is_usual() {
    let request = |options| ChatRequest::new([user("Hi")]).with_tools(tools()).with_settings(options);
    let codec = codec(|profile| profile.parallel_on_request = true);
    assert_eq!(body(&codec, &request(ModelSettings::new()))["parallel_tool_calls"], true);
    let one = ModelSettings::new().with_parallel_tool_calls(false);
    assert_eq!(body(&codec, &request(one))["parallel_tool_calls"], false);
    assert_eq!(body(&codec, &ChatRequest::new([user("Hi")])).get("parallel_tool_calls"), None);
    let refusing = model("parallel_choice = false");
    let asked = |parallel| request(ModelSettings::new().with_parallel_tool_calls(parallel));
    assert_eq!(refused(&refusing, &asked(false)), "parallel_tool_calls");
    assert_eq!(body(&refusing, &asked(true)).get("parallel_tool_calls"), None, "several come anyway");
}

// openai.md C.2, C.3, C.4, C.8
#[test]
fn sampling_has_bounds_or_is_fixed() {
    let bounded = codec(|profile| {
        profile.temperature = Some((0.01, 1.0));
        profile.top_p = Some((0.01, 1.0));
    });
    let zero = with(ModelSettings::new().with_temperature(0.0).with_top_p(0.5));
    assert_eq!(refused(&bounded, &zero), "temperature");
    let (left_out, body) = degraded(&bounded, &zero);
    assert_eq!(left_out, ["temperature"]);
    assert_eq!((&body["temperature"], &body["top_p"]), (&json!(0.01), &json!(0.5)));
    let fixed = model("sampling = false\nsampling_without_reasoning = false");
    let off = with(reasoning(Reasoning::Off).with_temperature(0.5).with_top_p(0.5).with_top_k(1));
    let (left_out, body) = degraded(&fixed, &off);
    assert_eq!(left_out, ["temperature", "top_p", "top_k"]);
    assert!(body.get("temperature").is_none());
    let penalties = with(ModelSettings::new().with_presence_penalty(0.1).with_frequency_penalty(0.1));
    let (left_out, _) = degraded(&model("penalties = false"), &penalties);
    assert_eq!(left_out, ["presence_penalty", "frequency_penalty"]);
}

// openai.md C.5, C.9: efforts and budgets stand for each other only with leave
#[test]
fn measures_of_reasoning() {
    let quirks = |profile: &mut Profile| {
        profile.thinking = serde_json::from_value(json!({
            "on": {"enable_thinking": true}, "off": {"enable_thinking": false},
            "effort": "reasoning.effort", "budget": "thinking_budget"
        }))
        .unwrap();
    };
    let knowing = |words: &[&str]| {
        let codec = codec(quirks);
        let mut capabilities = codec.capabilities().clone();
        capabilities.reasoning = words.iter().map(|word| (*word).to_owned()).collect();
        codec.with_capabilities(capabilities)
    };
    let asked = |codec: &ChatCodec, how: Reasoning| {
        let mut body = body(codec, &with(reasoning(how)));
        body.as_object_mut().unwrap().retain(|name, _| !matches!(name.as_str(), "model" | "messages"));
        body
    };
    let both = knowing(&["effort", "budget", "off"]);
    assert_eq!(
        asked(&both, Reasoning::Effort(Effort::Low)),
        json!({"enable_thinking": true, "reasoning": {"effort": "low"}})
    );
    assert_eq!(asked(&both, Reasoning::Budget(9)), json!({"enable_thinking": true, "thinking_budget": 9}));
    assert_eq!(asked(&both, Reasoning::Off), json!({"enable_thinking": false}));
    let effort = with(reasoning(Reasoning::Effort(Effort::High)));
    let budget = with(reasoning(Reasoning::Budget(4_000)));
    for (words, request, member, value) in [
        (&["budget"][..], &effort, "thinking_budget", json!(16_384)),
        (&["effort"][..], &budget, "reasoning", json!({"effort": "medium"})),
        (&["adaptive"][..], &effort, "enable_thinking", json!(true)),
        (&["adaptive"][..], &budget, "enable_thinking", json!(true)),
    ] {
        let codec = knowing(words);
        assert_eq!(refused(&codec, request), "reasoning");
        let (left_out, body) = degraded(&codec, request);
        assert_eq!((left_out.as_slice(), &body[member]), (&["reasoning".to_owned()][..], &value));
    }
}

// openai.md A.2, C.2, C.3, C.4: neither names nor strict tools are ever sent
#[test]
fn members_that_servers_refuse_are_not_sent() {
    let ask = call("clock", "a", "{}");
    let request = ChatRequest::new([user("Hi"), asks("", &[&ask]), answers([ToolResult::ok(&ask, "12")])])
        .with_tools(tools());
    let body = body(&codec(|_| ()), &request);
    for message in body["messages"].as_array().unwrap() {
        assert_eq!(message.get("name"), None);
    }
    for tool in body["tools"].as_array().unwrap() {
        assert_eq!(tool["function"].get("strict"), None);
    }
}

// openai.md A.2, C.2, C.5, C.6
#[test]
fn documents_in_the_forms_of_servers() {
    let parts = [
        Document::from_bytes(PNG, "image/png").into(),
        Document::from_bytes(&b"%PDF-1.7"[..], "application/pdf").with_file_name("a.pdf").into(),
        Document::from_bytes(&b"RIFF\0\0\0\0WAVE"[..], "audio/wav").into(),
        Document::from_bytes(&b"\0\0\0\x18ftypmp42"[..], "video/mp4").into(),
        Document::external("https://host/b.png").into(),
        Document::external("https://host/b.pdf").with_file_name("b.pdf").into(),
    ];
    let mut message = UserMessage::new(parts);
    let alone = ChatRequest::new([Message::User(message.clone()).shared()]);
    let refused = codec(|_| ()).encode(Ask::new(&alone, &alone.settings, None)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unsupported, "nobody has cleared the addresses");
    message.routed = Some(Routed::new(message.parts.clone(), 1));
    let request = ChatRequest::new([Message::User(message).shared()]).streaming(false);
    let shown = |codec: &ChatCodec| body(codec, &request)["messages"][0]["content"].clone();
    let usual = shown(&codec(|_| ()));
    let data = |media: &str, bytes: &[u8]| format!("data:{media};base64,{}", base64(bytes));
    let pdf = data("application/pdf", b"%PDF-1.7");
    assert_eq!(
        usual,
        json!([
            {"type": "image_url", "image_url": {"url": data("image/png", PNG)}},
            {"type": "file", "file": {"filename": "a.pdf", "file_data": pdf}},
            {"type": "input_audio", "input_audio": {"data": base64(b"RIFF\0\0\0\0WAVE"), "format": "wav"}},
            {"type": "video_url", "video_url": {"url": data("video/mp4", b"\0\0\0\x18ftypmp42")}},
            {"type": "image_url", "image_url": {"url": "https://host/b.png"}},
            {"type": "file", "file": {"filename": "b.pdf", "file_data": "https://host/b.pdf"}},
        ])
    );
    let other = shown(&codec(|profile| {
        profile.plain_image_urls = true;
        profile.files = FileForm::DocumentUrl;
        profile.audio = AudioForm::Bare;
    }));
    assert_eq!(other[0], json!({"type": "image_url", "image_url": data("image/png", PNG)}));
    assert_eq!(other[1], json!({"type": "document_url", "document_name": "a.pdf", "document_url": pdf}));
    assert_eq!(other[2], json!({"type": "input_audio", "input_audio": base64(b"RIFF\0\0\0\0WAVE")}));
    assert_eq!(other[4]["image_url"], "https://host/b.png");
    assert_eq!(other[5]["document_url"], "https://host/b.pdf");
    let uri = shown(&codec(|profile| profile.audio = AudioForm::DataUri));
    assert_eq!(uri[2]["input_audio"]["data"], json!(data("audio/wav", b"RIFF\0\0\0\0WAVE")));
}

fn base64(bytes: &[u8]) -> String {
    attache_core::base64::encode(bytes)
}

// openai.md C.11: headers, and models that differ
#[test]
fn headers_and_overrides_of_models() {
    let profile: Profile = serde_json::from_value(json!({
        "base_url": "http://h/v1", "headers": {"x-title": "attache"}
    }))
    .unwrap();
    let rows =
        "[compatible.models.'big*']\nwire = { max_tokens = 'max_completion_tokens', extra_body.tier = 'x' }";
    let matrix = Matrix::bundled().merged_with(rows).unwrap();
    let request = with(ModelSettings::new().with_max_tokens(5));
    let sent = |model: &str| {
        let mut codec = ChatCodec::new(profile.clone(), model);
        codec.set_matrix(&matrix);
        // An address that is set later leaves the row as it is.
        codec.set_base_url("http://other/v1".to_owned());
        body(&codec, &request)
    };
    let row = |model: &str| matrix.resolve("compatible", model);
    let given = ChatCodec::new(profile.clone(), "small").with_capabilities(row("big-1"));
    assert_eq!(body(&given, &request)["tier"], "x", "capabilities bring their own members");
    assert_eq!(
        body(&given.with_capabilities(row("small")), &request).get("tier"),
        None,
        "and take them along"
    );
    assert_eq!((&sent("small")["max_tokens"], sent("small").get("tier")), (&json!(5), None));
    assert_eq!((&sent("big-1")["max_completion_tokens"], &sent("big-1")["tier"]), (&json!(5), &json!("x")));
    let encoded = try_encode(&ChatCodec::new(profile, "a/b:c"), &request).unwrap();
    assert!(encoded.parts.shown_headers().any(|header| header == ("x-title", "***")));
    let named: Value = serde_json::from_slice(&encoded.parts.body.to_vec()).unwrap();
    assert_eq!(named["model"], "a/b:c", "names with slashes pass through");
}

// invariant 4: what was joined or put between stays where it was
#[test]
fn quirks_of_order_keep_the_prefix() {
    let ask = call("clock", "a", "{}");
    let history = [
        user("one"),
        asks("", &[&ask]),
        answers([ToolResult::ok(&ask, "12")]),
        user("two"),
        Message::Assistant(AssistantMessage::new([AssistantPart::text("three")])).shared(),
        user("four"),
    ];
    for codec in
        [codec(|profile| profile.bridge = "OK".to_owned()), codec(|profile| profile.alternating = true)]
    {
        let transcript = attache_core::Transcript::new();
        let mut last = String::new();
        for end in [1, 3, 4, 5, 6] {
            let request = ChatRequest::new(history[..end].to_vec()).with_transcript(transcript.clone());
            let body = String::from_utf8(try_encode(&codec, &request).unwrap().parts.body.to_vec()).unwrap();
            let fresh = ChatRequest::new(history[..end].to_vec());
            assert_eq!(body.as_bytes(), try_encode(&codec, &fresh).unwrap().parts.body.to_vec());
            let messages = body.split("],\"stream\"").next().unwrap().to_owned();
            assert!(messages.starts_with(&last), "{messages} after {last}");
            last = messages;
        }
    }
}
