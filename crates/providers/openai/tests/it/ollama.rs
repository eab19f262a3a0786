//! Ollama's own API (openai.md C.13): requests, and answers that no recording holds.

#![cfg(test)]

use attache_core::settings::Unsupported;
use attache_core::{
    AssistantPart, ChatRequest, Document, Effort, ErrorKind, FinishReason, Message, ModelSettings, Reasoning,
    ResponseFormat, StreamChunk, ToolChoice, ToolResult, Transcript, UserMessage, UserPart,
};
use attache_openai::OllamaCodec;
use attache_transport::{Ask, Codec as _, Environment, Replay, replay};
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use crate::common;
use crate::common::{answers, asks, call, deltas_agree, tools, user};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

fn codec() -> OllamaCodec {
    OllamaCodec::new("qwen3:4b")
}

fn body(codec: &OllamaCodec, request: &ChatRequest) -> Value {
    let encoded = codec.encode(Ask::new(request, &request.settings, None)).unwrap();
    serde_json::from_slice(&encoded.parts.body.to_vec()).unwrap()
}

fn read(body: &str) -> Replay {
    let replay = replay(&codec(), StatusCode::OK, &HeaderMap::new(), [body]);
    if replay.error.is_none() {
        deltas_agree(&replay.chunks, &replay.completion);
    }
    replay
}

fn lines(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

// openai.md C.13, D 35
#[test]
fn d35_arguments_are_objects_and_results_name_their_tools() {
    let (rome, clock) = (call("weather.now", "call_1", "{\"city\": \"Rome\"}"), call("clock", "call_2", ""));
    let image = Document::from_bytes(PNG, "image/png").into();
    let text = Document::from_bytes(&b"a,b"[..], "text/csv").into();
    let request = ChatRequest::new([
        Message::system("Be brief.").shared(),
        Message::User(UserMessage::new([UserPart::text("See:"), image, text])).shared(),
        asks("Let me see.", &[&rome, &clock]),
        answers([ToolResult::error(&clock, "no time"), ToolResult::ok(&rome, "sunny")]),
    ])
    .with_tools(tools())
    .with_settings(ModelSettings::new().with_system("You are kind."));
    let codec = OllamaCodec::new("qwen3-vl:4b");
    insta::assert_snapshot!(common::shown(&body(&codec, &request)));
    let fresh = body(&codec, &request)["messages"].clone();
    let kept = request.with_transcript(Transcript::new());
    for _ in 0..2 {
        assert_eq!(body(&codec, &kept)["messages"], fresh, "what is kept is the same");
    }
}

// openai.md C.13
#[test]
fn logprobs_are_kept_for_who_asked_for_them() {
    let token = |text: &str| json!({"token": text, "logprob": -0.5, "bytes": [97]});
    let line = |text: &str, done: bool| json!({"message": {"content": text}, "done": done, "logprobs": [token(text)]});
    let read = read(&lines(&[line("a", false), line("b", false), json!({"done": true})]));
    let likely = json!([token("a"), token("b")]);
    assert_eq!(read.completion.message.metadata.get("logprobs"), Some(&likely));
    let whole = self::read(&line("a", true).to_string()).completion;
    assert_eq!(whole.message.metadata.get("logprobs"), Some(&json!([token("a")])));
}

#[test]
fn options_reach_their_members() {
    let options = ModelSettings::new()
        .with_max_tokens(9)
        .with_temperature(0.5)
        .with_top_k(3)
        .with_top_p(0.9)
        .with_seed(-1)
        .with_stop(vec!["END".to_owned()])
        .with_presence_penalty(0.1)
        .with_response_format(ResponseFormat::JsonSchema {
            name: "out".to_owned(),
            schema: json!({"type": "object"}).into(),
            strict: true,
        })
        .with_reasoning(Reasoning::Off)
        .with_extra_body("keep_alive", "5m")
        .with_extra_body("options", json!({"num_ctx": 8192}));
    let mut body = body(&codec(), &ChatRequest::new([user("Hi")]).with_settings(options));
    body.as_object_mut().unwrap().retain(|name, _| !matches!(name.as_str(), "model" | "messages"));
    assert_eq!(
        body,
        json!({
            "stream": true, "think": false, "format": {"type": "object"}, "keep_alive": "5m",
            "options": {"temperature": 0.5, "top_p": 0.9, "presence_penalty": 0.1, "top_k": 3, "seed": -1,
                "stop": ["END"], "num_predict": 9, "num_ctx": 8192},
        })
    );
}

#[test]
fn a_known_window_is_asked_for() {
    let mut capabilities = codec().capabilities().clone();
    capabilities.context_window = Some(32_768);
    let codec = codec().with_capabilities(capabilities);
    let whole = ChatRequest::new([user("Hi")]).streaming(false);
    assert_eq!(body(&codec, &whole)["options"], json!({"num_ctx": 32_768}));
    assert_eq!(body(&codec, &whole)["stream"], false, "left out it would stream");
}

#[test]
fn thinking_is_a_switch_or_an_effort() {
    let with = |reasoning| {
        ChatRequest::new([user("Hi")]).with_settings(ModelSettings::new().with_reasoning(reasoning))
    };
    let oss = OllamaCodec::new("gpt-oss:20b");
    assert_eq!(body(&oss, &with(Reasoning::Effort(Effort::Low)))["think"], "low");
    assert_eq!(body(&codec(), &with(Reasoning::Off))["think"], false);
    let high = with(Reasoning::Effort(Effort::High));
    let error = codec().encode(Ask::new(&high, &high.settings, None)).unwrap_err();
    assert_eq!((error.kind(), error.param()), (ErrorKind::Unsupported, Some("reasoning")));
    let lenient = high.settings.merged(&ModelSettings::new().with_unsupported(Unsupported::Degrade));
    let encoded = codec().encode(Ask::new(&high, &lenient, None)).unwrap();
    let body: Value = serde_json::from_slice(&encoded.parts.body.to_vec()).unwrap();
    assert_eq!((&body["think"], encoded.degradations.len()), (&json!(true), 1));
}

#[test]
fn no_tool_can_be_forced_and_none_is_offered_in_vain() {
    let with = |choice| ChatRequest::new([user("Hi")]).with_tools(tools()).with_tool_choice(choice);
    assert_eq!(body(&codec(), &with(ToolChoice::None)).get("tools"), None);
    for choice in [ToolChoice::Required, ToolChoice::Tool("clock".to_owned())] {
        let request = with(choice);
        let error = codec().encode(Ask::new(&request, &request.settings, None)).unwrap_err();
        assert_eq!((error.kind(), error.param()), (ErrorKind::Unsupported, Some("tool_choice")));
    }
    let absent = with(ToolChoice::Tool("absent".to_owned()));
    assert_eq!(
        codec().encode(Ask::new(&absent, &absent.settings, None)).unwrap_err().kind(),
        ErrorKind::InvalidRequest
    );
}

#[test]
fn documents_that_the_model_does_not_take_are_refused() {
    for (model, document) in [
        ("qwen3:4b", Document::from_bytes(PNG, "image/png")),
        ("llava", Document::from_bytes(&b"%PDF-1.7"[..], "application/pdf")),
        ("llava", Document::external("https://host/a.png")),
    ] {
        let request = ChatRequest::new([Message::User(UserMessage::new([document.into()])).shared()]);
        let error = OllamaCodec::new(model).encode(Ask::new(&request, &request.settings, None)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{model}");
    }
}

#[test]
fn the_server_is_where_its_variables_say() {
    for (variable, value, url) in [
        ("OLLAMA_HOST", "0.0.0.0", "http://0.0.0.0:11434/api/chat"),
        ("OLLAMA_HOST", "box:1", "http://box:1/api/chat"),
        ("OLLAMA_BASE_URL", "http://box:1/v1", "http://box:1/api/chat"),
        ("OLLAMA_HOST", "https://ollama.com", "https://ollama.com/api/chat"),
        ("OTHER", "x", "http://localhost:11434/api/chat"),
    ] {
        let mut codec = codec();
        let environment = Environment::new(move |name| (name == variable).then(|| value.to_owned()));
        assert!(codec.configure(&environment).unwrap().is_none());
        let request = ChatRequest::new([user("Hi")]);
        assert_eq!(codec.encode(Ask::new(&request, &request.settings, None)).unwrap().parts.url, url);
    }
    let key = Environment::new(|name| (name == "OLLAMA_API_KEY").then(|| "canary".to_owned()));
    let auth = codec().configure(&key).unwrap();
    let request = ChatRequest::new([user("Hi")]);
    let encoded = codec().encode(Ask::new(&request, &request.settings, auth.key())).unwrap();
    assert!(encoded.parts.shown_headers().any(|header| header == ("authorization", "***")));
    assert!(codec().check(&auth).is_ok() && OllamaCodec::new(" ").check(&auth).is_err());
}

#[test]
fn thinking_goes_back_where_it_came_from() {
    let reply = read(&lines(&[
        json!({"model": "qwen3:4b", "message": {"role": "assistant", "content": "", "thinking": "h"}, "done": false}),
        json!({"message": {"thinking": "m", "tool_calls": [{"function": {"name": "clock", "arguments": {}}}]}, "done": false}),
        json!({"message": {"content": ""}, "done": true, "done_reason": "stop", "eval_count": 3}),
    ]));
    let completion = reply.completion;
    assert_eq!(
        (completion.finish_reason.clone(), completion.message.thinking().as_str()),
        (FinishReason::ToolCalls, "hm")
    );
    assert_eq!((completion.usage.input_tokens, completion.usage.output_tokens), (None, Some(3)));
    let made = completion.message.tool_calls().next().unwrap().clone();
    let request = ChatRequest::new([
        user("Hi"),
        Message::Assistant(completion.message).shared(),
        answers([ToolResult::ok(&made, "12")]),
    ]);
    let messages = body(&codec(), &request)["messages"].clone();
    assert_eq!(
        messages[1],
        json!({"role": "assistant", "content": "", "thinking": "hm", "tool_calls": [{"function": {"name": "clock", "arguments": {}}}]})
    );
    assert_eq!(messages[2], json!({"role": "tool", "tool_name": "clock", "content": "12"}));
    let other = attache_openai::ChatCodec::new(common::compatible(), "m");
    assert!(!common::body(&other, &request).to_string().contains("hm"), "it is nobody else's");
}

// openai.md C.13: without ids, and with an index that does not count
#[test]
fn calls_without_ids_stay_apart() {
    let calls = [json!({"x": 1}), json!({"x": 2})];
    for index in [None, Some(0)] {
        let made = calls
            .iter()
            .map(|arguments| json!({"function": {"index": index, "name": "f", "arguments": arguments}}));
        let made: Vec<_> = made.collect();
        let whole = lines(&[json!({"message": {"tool_calls": made}, "done": true, "done_reason": "stop"})]);
        let apart = lines(&[
            json!({"message": {"tool_calls": [made[0]]}, "done": false}),
            json!({"message": {"tool_calls": [made[1]]}, "done": false}),
            json!({"message": {}, "done": true}),
        ]);
        for body in [whole, apart] {
            let made = common::calls(&read(&body).completion);
            let raw: Vec<_> = made.iter().map(|(_, id, raw)| (id.is_none(), raw.as_str())).collect();
            assert_eq!(raw, [(true, "{\"x\":1}"), (true, "{\"x\":2}")]);
        }
    }
    let text = lines(&[
        json!({"message": {"tool_calls": [{"function": {"name": "f", "arguments": "{\"x\":1}"}}, {"function": {"name": "g", "arguments": null}}]}, "done": true}),
    ]);
    let made = common::calls(&read(&text).completion);
    assert_eq!([made[0].2.as_str(), made[1].2.as_str()], ["{\"x\":1}", ""]);
}

#[test]
fn errors_of_all_places() {
    let cut = read(&lines(&[json!({"message": {"content": "a"}, "done": false})]));
    assert_eq!(cut.error.unwrap().kind(), ErrorKind::StreamCut);
    assert_eq!(cut.completion.message.text(), "a");
    let inside = read(&lines(&[
        json!({"message": {"content": "a"}, "done": false}),
        json!({"error": "model runner has unexpectedly stopped"}),
    ]));
    let error = inside.error.unwrap();
    // To the same failure before the first line the server answers with status 500.
    assert_eq!(
        (error.kind(), error.message(), error.status()),
        (ErrorKind::Overloaded, "model runner has unexpectedly stopped", None)
    );
    // A line that is torn is the cut of a stream, wherever it is torn.
    let line = lines(&[json!({"message": {"content": "a"}, "done": false})]);
    let torn = format!("{line}{{\"message\":{{\"content\":\"ü");
    for end in line.len()..=torn.len() {
        let read = replay(&codec(), StatusCode::OK, &HeaderMap::new(), [torn.as_bytes()[..end].to_vec()]);
        assert_eq!(read.error.unwrap().kind(), ErrorKind::StreamCut, "{end}");
        assert_eq!(read.completion.message.text(), "a", "{end}");
    }
    for body in ["{\"status\":\"ok\"}", "[]", "7\n", "{\"message\"\n", "<html></html>", "data: {}\n\n"] {
        assert_eq!(read(body).error.unwrap().kind(), ErrorKind::Malformed, "{body}");
    }
    assert_eq!(read("").error.unwrap().kind(), ErrorKind::StreamCut);
    let refused = |status: u16, message: &str| {
        let status = StatusCode::from_u16(status).unwrap();
        replay(&codec(), status, &HeaderMap::new(), [json!({"error": message}).to_string()])
            .error
            .unwrap()
            .kind()
    };
    assert_eq!(refused(404, "model 'x' not found"), ErrorKind::NotFound);
    assert_eq!(
        refused(400, "registry.ollama.ai/library/x:latest does not support tools"),
        ErrorKind::Unsupported
    );
    assert_eq!(refused(503, "server busy"), ErrorKind::Overloaded);
}

#[test]
fn calls_of_a_last_line_are_bounded_too() {
    let call = |name: String| json!({"function": {"name": name, "arguments": {}}});
    let line = |calls: &[Value], done: bool| json!({"message": {"role": "assistant", "content": "", "tool_calls": calls}, "done": done});
    let first = line(&[call("f".to_owned())], false);
    let last = |count: u32| line(&(0..count).map(|at| call(format!("g{at}"))).collect::<Vec<_>>(), true);
    let error = read(&lines(&[first.clone(), last(1_000)])).error.unwrap();
    assert_eq!(error.kind(), ErrorKind::Malformed);
    let reply = read(&lines(&[first, last(999)])).completion;
    assert_eq!(reply.message.tool_calls().count(), 1_000);
}

#[test]
fn an_object_over_several_lines_is_one_answer() {
    let answer = json!({"model": "m", "message": {"role": "assistant", "content": "Hi"}, "done": true, "done_reason": "length"});
    let pretty = format!("\u{feff}\n{}\n", serde_json::to_string_pretty(&answer).unwrap());
    for size in [1, 7, 1_000] {
        let read = replay(&codec(), StatusCode::OK, &HeaderMap::new(), pretty.as_bytes().chunks(size));
        assert!(read.error.is_none(), "{:?}", read.error);
        assert_eq!(
            (read.completion.message.text().as_str(), read.completion.finish_reason),
            ("Hi", FinishReason::Length)
        );
    }
    let blank = read(&lines(&[
        json!({"message": {"content": " \n"}, "done": false}),
        json!({"message": {"content": null, "thinking": 7, "tool_calls": {}}, "zz": [], "done": "no"}),
        json!({"message": null, "done": true, "done_reason": "load"}),
    ]));
    assert!(blank.completion.message.parts.iter().all(|part| matches!(part, AssistantPart::Reasoning(_))));
    assert_eq!(blank.completion.finish_reason, FinishReason::Other("load".to_owned()));
    assert!(
        !blank.chunks.iter().any(|chunk| matches!(chunk, StreamChunk::Content(_))),
        "blank text is not shown"
    );
}

// Invariant 12: a tool that the server does not enforce is not strict in silence
#[test]
fn a_strict_tool_needs_leave_or_someone_who_holds_calls_to_it() {
    let codec = codec();
    let tools =
        attache_core::ToolSet::new([attache_core::ToolDefinition::new("a", "", json!({})).with_strict(true)])
            .unwrap();
    let request = |tools: attache_core::ToolSet| ChatRequest::new([user("Hi")]).with_tools(tools);
    let options = ModelSettings::new();
    assert_eq!(codec.check_tools(&tools, &options).refused.len(), 1);
    let refused = codec.encode(Ask::new(&request(tools.clone()), &options, None)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unsupported);
    let held = tools.with_validation(true);
    assert_eq!(codec.check_tools(&held, &options).loosened[0].keyword, "strict");
    assert!(codec.encode(Ask::new(&request(held), &options, None)).unwrap().degradations.is_empty());
}
