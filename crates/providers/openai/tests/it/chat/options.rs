//! Options: each reaches its member, is refused before anything is sent, or is left out and recorded.

#![cfg(test)]

use attache_conformance::validate_chat;
use attache_core::capability::Matrix;
use attache_core::settings::{CachePolicy, Unsupported};
use attache_core::{
    ChatRequest, Effort, ErrorKind, ModelSettings, Reasoning, ResponseFormat, ToolChoice, ToolResult,
};
use attache_openai::{ChatCodec, OpenAiChat, Profile, Profiles};
use attache_transport::{Ask, Codec as _};
use serde_json::{Value, json};

use crate::common::{answers, asks, body, call, encode, openai, shown, tools, user};

// P05, P28
#[test]
fn every_option_reaches_its_member() {
    let options = ModelSettings::new()
        .with_max_tokens(100)
        .with_temperature(0.5)
        .with_top_p(0.9)
        .with_stop(vec!["END".to_owned()])
        .with_seed(-7)
        .with_presence_penalty(0.1)
        .with_frequency_penalty(-0.1)
        .with_parallel_tool_calls(false)
        .with_response_format(ResponseFormat::JsonSchema {
            name: "out put".to_owned(),
            schema:
                json!({"type": "object", "properties": {}, "required": [], "additionalProperties": false})
                    .into(),
            strict: true,
        })
        .with_cache(CachePolicy::Short)
        .with_extra_body("verbosity", "low")
        .with_extra_body("seed", 8)
        .with_extra_header("X-Client-Request-Id", "r1");
    let request = ChatRequest::new([user("Hi")])
        .with_tools(tools())
        .with_tool_choice(ToolChoice::Tool("weather.now".to_owned()))
        .with_settings(options);
    let encoded = encode(&openai(), &request);
    let headers: Vec<_> = encoded.parts.shown_headers().collect();
    assert!(headers.contains(&("x-client-request-id", "***")), "{headers:?}");
    let mut body = body(&openai(), &request);
    let key = body["prompt_cache_key"].take();
    assert!(key.as_str().unwrap().starts_with("attache-"));
    body.as_object_mut().unwrap().retain(|name, _| !matches!(name.as_str(), "tools" | "messages"));
    insta::assert_snapshot!(shown(&body));
}

// One key for the prefix that all conversations of an agent share. A user with more of them than one key is good for
// divides them by keys of their own.
#[test]
fn a_cache_key_of_the_callers_own_holds() {
    let cached = ModelSettings::new().with_cache(CachePolicy::Short);
    let key = |text: &str, options: ModelSettings| {
        body(&openai(), &ChatRequest::new([user(text)]).with_settings(options))["prompt_cache_key"].clone()
    };
    assert_eq!(key("one", cached.clone()), key("another", cached.clone()));
    assert_eq!(key("one", cached.with_extra_body("prompt_cache_key", "tenant-7")), json!("tenant-7"));
}

#[test]
fn options_of_reasoning_models() {
    let codec = |model: &str| ChatCodec::new(Profile::openai_chat(), model);
    let with =
        |options: ModelSettings| ChatRequest::new([user("Hi")]).with_settings(options).streaming(false);
    let effort =
        |effort| with(ModelSettings::new().with_reasoning(Reasoning::Effort(effort)).with_max_tokens(9));
    let body_of = |model: &str, request: &ChatRequest| body(&codec(model), request);
    assert_eq!(body_of("o3", &effort(Effort::Low))["reasoning_effort"], "low");
    assert_eq!(body_of("o3", &effort(Effort::Low))["max_completion_tokens"], 9);
    let off = with(ModelSettings::new().with_reasoning(Reasoning::Off).with_temperature(0.0));
    let silent = body_of("gpt-5.1", &off);
    assert_eq!((&silent["reasoning_effort"], &silent["temperature"]), (&json!("none"), &json!(0.0)));
    let unasked = with(ModelSettings::new().with_temperature(0.0));
    assert_eq!(body_of("gpt-5.1", &unasked)["temperature"], 0.0, "it reasons only when asked");
    assert_eq!(body_of("gpt-4o", &off).get("reasoning_effort"), None, "it has none to switch off");
    let refused = |model: &str, request: &ChatRequest| {
        let error = codec(model).encode(Ask::new(request, &request.settings, None)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        error.param().unwrap().to_owned()
    };
    assert_eq!(refused("o3", &off), "reasoning");
    let unknown = ChatCodec::new(Profile::compatible("c", "http://localhost/v1"), "qwen3");
    let error = unknown.encode(Ask::new(&off, &off.settings, None)).unwrap_err();
    assert_eq!(error.param(), Some("reasoning"), "whether it reasons is not known");
    assert_eq!(refused("gpt-4o", &effort(Effort::Low)), "reasoning");
    assert_eq!(refused("gpt-5-mini", &effort(Effort::Max)), "reasoning");
    assert_eq!(
        refused("gpt-4o", &with(ModelSettings::new().with_reasoning(Reasoning::Budget(1)))),
        "reasoning"
    );
    assert_eq!(refused("gpt-5.5", &unasked), "temperature");
    assert_eq!(refused("gpt-5", &with(ModelSettings::new().with_temperature(0.0))), "temperature");
    assert_eq!(refused("gpt-4o", &with(ModelSettings::new().with_top_k(5))), "top_k");
    assert_eq!(refused("o3", &with(ModelSettings::new().with_stop(vec!["x".to_owned()]))), "stop");
    let long = with(ModelSettings::new().with_cache(CachePolicy::Long));
    assert_eq!(refused("gpt-4o", &long), "cache");
    assert_eq!(body_of("gpt-5", &long)["prompt_cache_retention"], "24h");
}

// openai.md D 20
#[test]
fn d20_tools_beside_reasoning_are_refused_before_anything_is_sent() {
    let codec = ChatCodec::new(Profile::openai_chat(), "gpt-5.5");
    let request = ChatRequest::new([user("Hi")]).with_tools(tools()).streaming(false);
    let error = codec.encode(Ask::new(&request, &request.settings, None)).unwrap_err();
    assert_eq!((error.kind(), error.param()), (ErrorKind::Unsupported, Some("reasoning")));
    let allowed = ModelSettings::new().with_unsupported(Unsupported::Degrade);
    let encoded = codec.encode(Ask::new(&request, &allowed, None)).unwrap();
    assert_eq!(encoded.degradations.len(), 1);
    let body: Value = serde_json::from_slice(&encoded.parts.body.to_vec()).unwrap();
    assert_eq!(body["reasoning_effort"], "none");
    validate_chat(&body).unwrap();
    let off = request.with_settings(ModelSettings::new().with_reasoning(Reasoning::Off));
    assert_eq!(self::body(&codec, &off)["reasoning_effort"], "none");
}

// openai.md A.6, D 20: where it cannot be switched off, nothing can be left out for tools
#[test]
fn d20_tools_beside_reasoning_that_is_always_on_need_the_other_api() {
    let codec = |model: &str| ChatCodec::new(Profile::openai_chat(), model);
    let request = ChatRequest::new([user("Hi")]).with_tools(tools()).streaming(false);
    let settings = || ModelSettings::new().with_unsupported(Unsupported::Degrade);
    for settings in [ModelSettings::new(), settings(), settings().with_reasoning(Reasoning::Off)] {
        let error = codec("gpt-6-astra").encode(Ask::new(&request, &settings, None)).unwrap_err();
        assert_eq!((error.kind(), error.param()), (ErrorKind::Unsupported, Some("tools")));
        assert!(error.to_string().contains("Responses"), "{error}");
    }
    let sol = request.with_settings(settings().with_reasoning(Reasoning::Effort(Effort::Max)));
    assert_eq!(body(&codec("gpt-6-sol"), &sol)["reasoning_effort"], "none");
    let set = settings().with_reasoning(Reasoning::Effort(Effort::Max)).with_stop(vec!["x".to_owned()]);
    let bare = ChatRequest::new([user("Hi")]).with_settings(set.with_temperature(0.5)).streaming(false);
    let body = body(&codec("gpt-6-astra"), &bare);
    assert_eq!(
        (&body["reasoning_effort"], body.get("stop"), body.get("temperature")),
        (&json!("xhigh"), None, None)
    );
}

// invariant 12
#[test]
fn dropped_options_are_recorded_as_degradations() {
    let options = ModelSettings::new()
        .with_unsupported(Unsupported::Degrade)
        .with_temperature(0.0)
        .with_top_k(5)
        .with_reasoning(Reasoning::Effort(Effort::Max));
    let codec = ChatCodec::new(Profile::openai_chat(), "gpt-5");
    let request = ChatRequest::new([user("Hi")]).with_settings(options).streaming(false);
    let encoded = encode(&codec, &request);
    let options: Vec<_> =
        encoded.degradations.iter().map(|degradation| degradation.option.as_str()).collect();
    assert_eq!(options, ["reasoning", "temperature", "top_k"]);
    assert_eq!(body(&codec, &request)["reasoning_effort"], "high", "the nearest that it knows");
}

// A value that is no number has no place in JSON, and is refused by its name.
#[test]
fn numbers_are_numbers() {
    for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let set = |change: fn(ModelSettings, f64) -> ModelSettings| change(ModelSettings::new(), number);
        let cases = [
            ("temperature", set(ModelSettings::with_temperature)),
            ("top_p", set(ModelSettings::with_top_p)),
            ("presence_penalty", set(ModelSettings::with_presence_penalty)),
            ("frequency_penalty", set(ModelSettings::with_frequency_penalty)),
        ];
        for (name, options) in cases {
            let options = options.with_unsupported(Unsupported::Degrade);
            let request = ChatRequest::new([user("Hi")]).with_settings(options);
            let error = openai().encode(Ask::new(&request, &request.settings, None)).unwrap_err();
            assert_eq!((error.kind(), error.param()), (ErrorKind::Configuration, Some(name)));
        }
    }
}

#[test]
fn choices_of_tools() {
    let request =
        |choice: ToolChoice| ChatRequest::new([user("Hi")]).with_tools(tools()).with_tool_choice(choice);
    assert_eq!(body(&openai(), &request(ToolChoice::Auto)).get("tool_choice"), None);
    assert_eq!(body(&openai(), &request(ToolChoice::None))["tool_choice"], "none");
    assert_eq!(body(&openai(), &request(ToolChoice::Required))["tool_choice"], "required");
    let fail = |request: ChatRequest| {
        openai().encode(Ask::new(&request, &request.settings, None)).unwrap_err().kind()
    };
    assert_eq!(fail(request(ToolChoice::Tool("unknown".to_owned()))), ErrorKind::InvalidRequest);
    let bare = |choice| ChatRequest::new([user("Hi")]).with_tool_choice(choice);
    assert_eq!(fail(bare(ToolChoice::Required)), ErrorKind::InvalidRequest);
    let parallel = bare(ToolChoice::None).with_settings(ModelSettings::new().with_parallel_tool_calls(true));
    let body = body(&openai(), &parallel);
    assert!(
        body.get("tool_choice").is_none() && body.get("parallel_tool_calls").is_none(),
        "only beside tools"
    );
}

#[test]
fn extra_members_come_last_and_replace_no_messages() {
    let with = |name: &str, value: Value| {
        ChatRequest::new([user("Hi")])
            .with_settings(ModelSettings::new().with_extra_body(name, value))
            .streaming(false)
    };
    assert_eq!(body(&openai(), &with("model", json!("gpt-4.1")))["model"], "gpt-4.1");
    for (name, value) in [("messages", json!([])), ("tools", json!({}))] {
        let request = with(name, value);
        let error = openai().encode(Ask::new(&request, &request.settings, None)).unwrap_err();
        assert_eq!((error.kind(), error.param()), (ErrorKind::Configuration, Some(name)));
    }
}

#[test]
fn extra_members_are_merged_at_every_depth() {
    let of = |profile: &str, model: &str, options: ModelSettings| {
        let codec = ChatCodec::new(Profiles::bundled().get(profile).unwrap().clone(), model);
        let request = ChatRequest::new([user("Hi")]).with_settings(options).streaming(false);
        serde_json::from_slice::<Value>(&encode(&codec, &request).parts.body.to_vec()).unwrap()
    };
    let high = ModelSettings::new().with_reasoning(Reasoning::Effort(Effort::High));
    let hidden =
        of("openrouter", "openai/gpt-5", high.with_extra_body("reasoning", json!({"exclude": true})));
    assert_eq!(hidden["reasoning"], json!({"effort": "high", "exclude": true}));
    let off = ModelSettings::new().with_reasoning(Reasoning::Off);
    let kept = of("zai", "glm-4.7", off.with_extra_body("thinking", json!({"clear_thinking": true})));
    assert_eq!(kept["thinking"], json!({"type": "disabled", "clear_thinking": true}));
    // Those of a model and those of a request too.
    let model = ModelSettings::new().with_extra_body("a", json!({"b": {"c": 1, "d": [1]}}));
    let request = ModelSettings::new().with_extra_body("a", json!({"b": {"d": [2], "e": 3}}));
    assert_eq!(of("groq", "m", model.merged(&request))["a"], json!({"b": {"c": 1, "d": [2], "e": 3}}));
}

#[test]
fn hosted_tools_stand_behind_those_of_the_request() {
    let hosted = json!({"type": "web_search"});
    let options = ModelSettings::new().with_extra_body("tools", json!([hosted]));
    let alone = ChatRequest::new([user("Hi")]).with_settings(options).streaming(false);
    let body_of = |request: &ChatRequest| {
        serde_json::from_slice::<Value>(&encode(&openai(), request).parts.body.to_vec()).unwrap()
    };
    assert_eq!(body_of(&alone)["tools"], json!([hosted]));
    let transcript = attache_core::Transcript::new();
    let mut beside = alone.with_tools(tools()).with_tool_choice(ToolChoice::Required);
    beside.transcript = Some(transcript);
    let both = body_of(&beside);
    let listed = both["tools"].as_array().unwrap();
    assert_eq!(
        (listed.len(), listed.last(), &both["tool_choice"]),
        (tools().len() + 1, Some(&hosted), &json!("required"))
    );
    // The kept head holds no tool that is no longer asked for.
    let without = body_of(&beside.with_settings(ModelSettings::new()));
    assert_eq!(without["tools"].as_array().unwrap().len(), tools().len());
}

// openai.md A.6
#[test]
fn reasoning_models_take_no_stop_sequence() {
    let codec = ChatCodec::new(Profile::openai_chat(), "gpt-5");
    let request =
        ChatRequest::new([user("Hi")]).with_settings(ModelSettings::new().with_stop(vec!["x".to_owned()]));
    let error = codec.encode(Ask::new(&request, &request.settings, None)).unwrap_err();
    assert_eq!((error.kind(), error.param()), (ErrorKind::Unsupported, Some("stop")));
}

// openai.md C.9
#[test]
fn claude_at_openrouter_gets_cache_markers() {
    let codec = |model: &str| ChatCodec::new(Profiles::bundled().get("openrouter").unwrap().clone(), model);
    let body_of = |model: &str, request: &ChatRequest| {
        serde_json::from_slice::<Value>(&encode(&codec(model), request).parts.body.to_vec()).unwrap()
    };
    let mark = json!({"type": "ephemeral"});
    let short = ModelSettings::new().with_system("Be brief.").with_cache(CachePolicy::Short);
    let call = call("f", "c1", "{}");
    let mut request = ChatRequest::new([user("Hi")]).with_settings(short.clone()).with_tools(tools());
    request.transcript = Some(attache_core::Transcript::new());
    let first = body_of("anthropic/claude-sonnet-4.5", &request);
    let text = |text: &str| json!([{"type": "text", "text": text, "cache_control": mark}]);
    assert_eq!(first["messages"][0]["content"], text("Be brief."));
    assert_eq!(first["messages"][1]["content"], text("Hi"));
    // The next request marks its own end and reads what the one before wrote.
    request.messages.push(asks("", &[&call]));
    request.messages.push(answers([ToolResult::ok(&call, "done")]));
    let second = body_of("anthropic/claude-sonnet-4.5", &request);
    assert_eq!(second["messages"][1]["content"], text("Hi"));
    assert_eq!(second["messages"][3]["content"], text("done"));
    let unsaid = request.clone().with_settings(ModelSettings::new());
    assert!(
        body_of("anthropic/claude-sonnet-4.5", &unsaid).to_string().contains("cache_control"),
        "it goes on"
    );
    let long = request.clone().with_settings(short.with_cache(CachePolicy::Long));
    assert_eq!(
        body_of("anthropic/claude-sonnet-4.5", &long)["messages"][3]["content"][0]["cache_control"]["ttl"],
        "1h"
    );
    let off = request.clone().with_settings(ModelSettings::new().with_cache(CachePolicy::Off));
    assert!(!body_of("anthropic/claude-sonnet-4.5", &off).to_string().contains("cache_control"));
    let other = request.with_settings(ModelSettings::new());
    assert!(!body_of("openai/gpt-5", &other).to_string().contains("cache_control"));
}

// openai.md A.3, D 2
#[test]
fn the_list_of_allowed_tools_stays_where_no_call_can_be_demanded() {
    let table = "[openai-chat.models.'gpt-4o']\nforced_tools = false";
    let matrix = Matrix::bundled().merged_with(table).unwrap();
    let model = OpenAiChat::new("gpt-4o", "k").unwrap().with_matrix(&matrix);
    let degrading = || {
        ChatRequest::new([user("Hi")])
            .with_tools(tools())
            .with_settings(ModelSettings::new().with_unsupported(Unsupported::Degrade))
    };
    let among = json!({"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [
        {"type": "function", "function": {"name": "weather_now"}}]}});
    for choice in [ToolChoice::Required, ToolChoice::Tool("weather.now".to_owned())] {
        let request = degrading().with_tool_choice(choice);
        let list = request.clone().with_allowed_tools(["weather.now"]);
        assert_eq!(encode(model.codec(), &list).degradations.len(), 1);
        assert_eq!(body(model.codec(), &list)["tool_choice"], among);
        assert_eq!(body(model.codec(), &request).get("tool_choice"), None);
    }
    let demanded = degrading().with_tool_choice(ToolChoice::Required).with_allowed_tools(["weather.now"]);
    assert_eq!(body(&openai(), &demanded)["tool_choice"]["allowed_tools"]["mode"], "required");
}

// openai.md A.1
#[test]
fn stop_sequences_are_as_many_as_the_server_takes() {
    let with = |count: usize, policy: Unsupported| {
        let stops = (0..count).map(|at| format!("s{at}")).chain([" ".to_owned()]).collect();
        ChatRequest::new([user("Hi")])
            .with_settings(ModelSettings::new().with_stop(stops).with_unsupported(policy))
    };
    let stop = |codec: &ChatCodec, request: &ChatRequest| body(codec, request)["stop"].clone();
    assert_eq!(stop(&openai(), &with(3, Unsupported::Error)), json!(["s0", "s1", "s2", " "]));
    let five = with(4, Unsupported::Error);
    let error = openai().encode(Ask::new(&five, &five.settings, None)).unwrap_err();
    assert_eq!((error.kind(), error.param()), (ErrorKind::Unsupported, Some("stop")));
    let some = with(4, Unsupported::Degrade);
    assert_eq!(stop(&openai(), &some), json!(["s0", "s1", "s2", "s3"]));
    assert_eq!(encode(&openai(), &some).degradations.len(), 1);
    let other = ChatCodec::new(Profile::compatible("compatible", "http://h/v1"), "m");
    let sent: Value = serde_json::from_slice(&encode(&other, &five).parts.body.to_vec()).unwrap();
    assert_eq!(sent["stop"].as_array().unwrap().len(), 5, "nothing is known of its limit");
    // One that says nothing is no stop sequence.
    let empty = |policy: Unsupported| {
        let settings = ModelSettings::new().with_stop(vec![String::new()]).with_unsupported(policy);
        ChatRequest::new([user("Hi")]).with_settings(settings)
    };
    let refused = empty(Unsupported::Error);
    let error = other.encode(Ask::new(&refused, &refused.settings, None)).unwrap_err();
    assert_eq!((error.kind(), error.param()), (ErrorKind::Unsupported, Some("stop")));
    assert_eq!(body(&other, &empty(Unsupported::Degrade)).get("stop"), None);
}
