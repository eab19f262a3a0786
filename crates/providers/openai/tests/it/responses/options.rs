//! Options of Responses: each reaches its member, is refused before anything is sent, or is left out and recorded.

#![cfg(test)]

use attache_core::capability::Matrix;
use attache_core::settings::{CachePolicy, Unsupported};
use attache_core::{ChatRequest, Effort, ErrorKind, ModelSettings, Reasoning, ResponseFormat, ToolChoice};
use attache_openai::{OpenAi, Profiles, ResponsesCodec};
use serde_json::{Value, json};

use crate::common::items::{at, body, encode, gpt, profile, refused};
use crate::common::{shown, tools, user};

fn with(options: ModelSettings) -> ChatRequest {
    ChatRequest::new([user("Hi, JSON")]).with_settings(options).streaming(false)
}

fn effort(effort: Effort) -> ModelSettings {
    ModelSettings::new().with_reasoning(Reasoning::Effort(effort))
}

fn off() -> ModelSettings {
    ModelSettings::new().with_reasoning(Reasoning::Off)
}

fn schema() -> ResponseFormat {
    ResponseFormat::JsonSchema {
        name: "out put".to_owned(),
        schema: json!({"type": "object", "properties": {}, "required": [], "additionalProperties": false})
            .into(),
        strict: true,
    }
}

fn option(error: (ErrorKind, Option<String>)) -> String {
    assert_eq!(error.0, ErrorKind::Unsupported);
    error.1.unwrap()
}

// P05, P28
#[test]
fn every_option_reaches_its_member() {
    let options = effort(Effort::XHigh)
        .with_max_tokens(100)
        .with_parallel_tool_calls(false)
        .with_response_format(schema())
        .with_cache(CachePolicy::Long)
        .with_extra_body("truncation", "auto")
        .with_extra_body("include", json!([]))
        .with_extra_header("X-Client-Request-Id", "r1");
    let request = ChatRequest::new([user("Hi")])
        .with_tools(tools())
        .with_tool_choice(ToolChoice::Tool("weather.now".to_owned()))
        .with_settings(options);
    let encoded = encode(&gpt(), &request);
    let headers: Vec<_> = encoded.parts.shown_headers().collect();
    assert!(headers.contains(&("x-client-request-id", "***")), "{headers:?}");
    let mut body = body(&gpt(), &request);
    let key = body["prompt_cache_key"].take();
    assert!(key.as_str().unwrap().starts_with("attache-"));
    body.as_object_mut().unwrap().retain(|name, _| !matches!(name.as_str(), "tools" | "input"));
    insta::assert_snapshot!(shown(&body));
}

// openai.md A.6, B.7: only models that reason are asked for it
#[test]
fn d21_what_models_that_reason_take() {
    let of = |model: &str, options: ModelSettings| body(&at("openai", model), &with(options));
    let refuses = |model: &str, options: ModelSettings| option(refused(&at("openai", model), &with(options)));
    let warm = || ModelSettings::new().with_temperature(0.2);
    for model in ["gpt-4o", "gpt-4.1-mini", "gpt-3.5-turbo", "ft:gpt-4o-mini:me", "chatgpt-4o-latest"] {
        let plain = of(model, warm());
        assert_eq!(
            (plain.get("include"), &plain["temperature"], &plain["store"]),
            (None, &json!(0.2), &json!(false))
        );
        assert_eq!(of(model, off()).get("reasoning"), None, "it has none to switch off");
        assert_eq!(refuses(model, effort(Effort::Low)), "reasoning");
    }
    for model in [
        "o3",
        "o4-mini",
        "gpt-5",
        "gpt-5-mini-2025-08-07",
        "gpt-5.1-codex",
        "gpt-5.2-pro",
        "gpt-5.1-chat-latest",
    ] {
        let plain = of(model, ModelSettings::new());
        assert_eq!(plain["include"], json!(["reasoning.encrypted_content"]), "{model}");
        assert_eq!(plain.get("reasoning"), None, "nobody asked");
        assert_eq!(refuses(model, off()), "reasoning", "{model} always reasons");
        assert_eq!(refuses(model, warm()), "temperature");
    }
    // Nothing is assumed of a model that the table does not know.
    let unknown = of("gpt-7-of-the-future", effort(Effort::Low).with_temperature(1.0));
    assert_eq!((&unknown["temperature"], &unknown["reasoning"]["effort"]), (&json!(1.0), &json!("low")));
    for model in ["gpt-5.1", "gpt-5.2-2025-12-11", "gpt-5.4"] {
        assert_eq!(of(model, warm())["temperature"], 0.2, "{model} reasons only when asked");
        assert_eq!(of(model, off().with_top_p(0.5))["reasoning"], json!({"effort": "none"}));
        assert_eq!(refuses(model, effort(Effort::Low).with_temperature(1.0)), "temperature");
    }
    for model in ["gpt-5.5", "gpt-5.6"] {
        assert_eq!(refuses(model, warm()), "temperature", "{model} reasons unasked");
        assert_eq!(of(model, off().with_temperature(0.2))["temperature"], 0.2);
        assert_eq!(
            of(model, effort(Effort::High))["reasoning"],
            json!({"effort": "high", "summary": "auto"})
        );
    }
    assert_eq!(of("gpt-5", effort(Effort::Minimal))["reasoning"]["effort"], "minimal");
    for (model, unknown) in
        [("gpt-5.6", Effort::Minimal), ("gpt-5", Effort::XHigh), ("gpt-5-pro", Effort::Low)]
    {
        assert_eq!(refuses(model, effort(unknown)), "reasoning", "{model}");
    }
    assert_eq!(refuses("o3", ModelSettings::new().with_reasoning(Reasoning::Budget(9))), "reasoning");
}

// openai.md B.1
#[test]
fn options_unknown_to_the_api_are_refused() {
    let model = at("openai", "gpt-4o");
    let set = ModelSettings::new;
    for (name, options) in [
        ("stop", set().with_stop(vec!["x".to_owned()])),
        ("seed", set().with_seed(1)),
        ("top_k", set().with_top_k(5)),
        ("presence_penalty", set().with_presence_penalty(0.1)),
        ("frequency_penalty", set().with_frequency_penalty(0.1)),
        ("max_tokens", set().with_max_tokens(15)),
        ("cache", set().with_cache(CachePolicy::Long)),
    ] {
        assert_eq!(option(refused(&model, &with(options.clone()))), name);
        let encoded = encode(&model, &with(options.with_unsupported(Unsupported::Degrade)));
        assert_eq!(encoded.degradations[0].option, name);
    }
    let few = with(set().with_max_tokens(1).with_unsupported(Unsupported::Degrade));
    assert_eq!(body(&model, &few)["max_output_tokens"], 16);
    let mut small = profile("xai-responses");
    small.responses.least_tokens = 1;
    let encoded = encode(&ResponsesCodec::new(small, "grok-4.3"), &with(set().with_max_tokens(1)));
    assert!(String::from_utf8(encoded.parts.body.to_vec()).unwrap().ends_with("\"max_output_tokens\":1}"));
}

// openai.md A.6
#[test]
fn the_newest_models_by_what_they_know() {
    let left = |model: &str, options: ModelSettings| {
        let (codec, request) = (at("openai", model), with(options.with_unsupported(Unsupported::Degrade)));
        let degradations = encode(&codec, &request).degradations;
        let left: Vec<String> = degradations.into_iter().map(|left| left.option).collect();
        (body(&codec, &request)["reasoning"]["effort"].clone(), left)
    };
    let off = || ModelSettings::new().with_reasoning(Reasoning::Off);
    for model in ["gpt-5.6", "gpt-6-astra", "gpt-6.2-sol", "gpt-6-luna"] {
        assert_eq!(left(model, effort(Effort::Max)), (json!("max"), Vec::new()), "{model}");
    }
    for model in ["gpt-6-sol", "gpt-6-luna", "gpt-6.1-terra"] {
        assert_eq!(left(model, off()), (json!("none"), Vec::new()), "{model}");
        let sampled = left(model, off().with_temperature(0.5));
        assert_eq!(sampled, (json!("none"), vec!["temperature".to_owned()]), "{model}");
    }
    let astra = left("gpt-6-astra", off().with_temperature(0.5));
    assert_eq!(astra, (Value::Null, vec!["reasoning".to_owned(), "temperature".to_owned()]));
    assert_eq!(left("gpt-5.6", off().with_temperature(0.5)), (json!("none"), Vec::new()));
}

// invariant 12
#[test]
fn dropped_options_are_recorded_as_degradations() {
    let options =
        effort(Effort::Max).with_unsupported(Unsupported::Degrade).with_temperature(0.0).with_seed(1);
    let (request, gpt) = (with(options), at("openai", "gpt-5.5"));
    let left: Vec<_> =
        encode(&gpt, &request).degradations.iter().map(|degradation| degradation.option.clone()).collect();
    assert_eq!(left, ["reasoning", "temperature", "seed"]);
    assert_eq!(body(&gpt, &request)["reasoning"]["effort"], "xhigh", "the nearest that it knows");
}

#[test]
fn numbers_are_numbers() {
    for number in [f64::NAN, f64::INFINITY] {
        let set = |change: fn(ModelSettings, f64) -> ModelSettings| change(ModelSettings::new(), number);
        for (name, options) in [
            ("temperature", set(ModelSettings::with_temperature)),
            ("top_p", set(ModelSettings::with_top_p)),
            ("presence_penalty", set(ModelSettings::with_presence_penalty)),
            ("frequency_penalty", set(ModelSettings::with_frequency_penalty)),
        ] {
            let request = with(options.with_unsupported(Unsupported::Degrade));
            assert_eq!(refused(&gpt(), &request), (ErrorKind::Configuration, Some(name.to_owned())));
        }
    }
}

#[test]
fn choices_of_tools() {
    let request =
        |choice: ToolChoice| ChatRequest::new([user("Hi")]).with_tools(tools()).with_tool_choice(choice);
    assert_eq!(body(&gpt(), &request(ToolChoice::Auto)).get("tool_choice"), None);
    assert_eq!(body(&gpt(), &request(ToolChoice::None))["tool_choice"], "none");
    assert_eq!(body(&gpt(), &request(ToolChoice::Required))["tool_choice"], "required");
    assert_eq!(
        refused(&gpt(), &request(ToolChoice::Tool("unknown".to_owned()))).0,
        ErrorKind::InvalidRequest
    );
    // openai.md D 2
    let deepseek = at("deepseek-responses", "deepseek-v4-flash");
    assert_eq!(option(refused(&deepseek, &request(ToolChoice::Required))), "tool_choice");
    let bare = |choice| ChatRequest::new([user("Hi")]).with_tool_choice(choice);
    assert_eq!(refused(&gpt(), &bare(ToolChoice::Required)).0, ErrorKind::InvalidRequest);
    let parallel = bare(ToolChoice::None).with_settings(ModelSettings::new().with_parallel_tool_calls(true));
    let body_of = body(&gpt(), &parallel);
    assert!(body_of.get("tool_choice").is_none() && body_of.get("parallel_tool_calls").is_none());
    let one = request(ToolChoice::Auto).with_settings(ModelSettings::new().with_parallel_tool_calls(false));
    assert_eq!(body(&gpt(), &one)["parallel_tool_calls"], false);
    assert_eq!(body(&at("openai", "o1"), &one).get("parallel_tool_calls"), None, "it makes one at a time");
}

// openai.md B.5, C.17
#[test]
fn forms_of_answers() {
    let set = |format: ResponseFormat| with(ModelSettings::new().with_response_format(format));
    let openai = body(&gpt(), &set(schema()))["text"].clone();
    assert_eq!(
        (&openai["format"]["type"], &openai["format"]["name"]),
        (&json!("json_schema"), &json!("out_put"))
    );
    assert_eq!(body(&gpt(), &set(ResponseFormat::Text)).get("text"), None);
    let deepseek = at("deepseek-responses", "deepseek-v4-flash");
    assert_eq!(option(refused(&deepseek, &set(schema()))), "response_format");
    assert_eq!(body(&deepseek, &set(ResponseFormat::JsonObject))["text"]["format"]["type"], "json_object");
    let mut deaf = profile("openai");
    deaf.responses.text_format = false;
    assert_eq!(option(refused(&ResponsesCodec::new(deaf, "gpt-5.6"), &set(schema()))), "response_format");
}

#[test]
fn storing_responses_is_for_the_caller_to_say() {
    let openai = body(&gpt(), &with(ModelSettings::new().with_extra_body("store", true)));
    assert_eq!(openai["store"], true);
    let deepseek = body(&at("deepseek-responses", "deepseek-v4-flash"), &with(ModelSettings::new()));
    assert_eq!((deepseek.get("store"), deepseek.get("include")), (None, None), "it knows neither");
    let xai = body(&at("xai-responses", "grok-4-0709"), &with(ModelSettings::new()));
    assert_eq!(xai["include"], json!(["reasoning.encrypted_content"]));
}

#[test]
fn extra_members_come_last_and_replace_no_items() {
    let set = |name: &str, value: Value| with(ModelSettings::new().with_extra_body(name, value));
    assert_eq!(body(&gpt(), &set("model", json!("gpt-5.5")))["model"], "gpt-5.5");
    for (name, value) in [("input", json!([])), ("tools", json!({})), ("instructions", json!([]))] {
        assert_eq!(refused(&gpt(), &set(name, value)), (ErrorKind::Configuration, Some(name.to_owned())));
    }
    let mut profile = profile("openai");
    profile.extra_body.insert("service_tier".to_owned(), json!("flex"));
    let codec = ResponsesCodec::new(profile, "gpt-5.6");
    assert_eq!(body(&codec, &with(ModelSettings::new()))["service_tier"], "flex");
    assert_eq!(body(&codec, &set("service_tier", json!("auto")))["service_tier"], "auto");
}

#[test]
fn extra_members_are_merged_at_every_depth() {
    let format = ResponseFormat::JsonSchema {
        name: "x".to_owned(),
        schema: json!({"type": "object", "properties": {}, "additionalProperties": false}).into(),
        strict: true,
    };
    let options = ModelSettings::new()
        .with_response_format(format)
        .with_reasoning(Reasoning::Effort(Effort::High))
        .with_extra_body("text", json!({"verbosity": "low"}))
        .with_extra_body("reasoning", json!({"summary": "detailed"}));
    let request = ChatRequest::new([user("Hi")]).with_settings(options);
    let body = body(&gpt(), &request);
    assert_eq!((&body["text"]["verbosity"], &body["text"]["format"]["name"]), (&json!("low"), &json!("x")));
    assert_eq!(body["reasoning"], json!({"effort": "high", "summary": "detailed"}));
}

// openai.md B.1
#[test]
fn what_the_caller_wants_included_stands_behind_what_the_codec_needs() {
    let likely = "message.output_text.logprobs";
    let included = |asked: Value| {
        body(&gpt(), &with(ModelSettings::new().with_extra_body("include", asked)))["include"].clone()
    };
    let both = json!(["reasoning.encrypted_content", likely]);
    assert_eq!(included(json!([likely])), both);
    assert_eq!(included(json!([likely, "reasoning.encrypted_content"])), both);
    assert_eq!(included(json!([])), json!([]));
    let mut profile = profile("openai");
    profile.extra_body.insert("include".to_owned(), json!([likely]));
    let sources = "web_search_call.action.sources";
    let request = with(ModelSettings::new().with_extra_body("include", json!([sources])));
    let all = &body(&ResponsesCodec::new(profile, "gpt-5.6"), &request)["include"];
    assert_eq!(*all, json!(["reasoning.encrypted_content", likely, sources]));
}

// openai.md B.4
#[test]
fn hosted_tools_stand_behind_those_of_the_request() {
    let hosted = json!({"type": "web_search"});
    let options = ModelSettings::new().with_extra_body("tools", json!([hosted]));
    let request = ChatRequest::new([user("Hi")]).with_settings(options);
    let tools_of = |request: &ChatRequest| {
        let body: Value = serde_json::from_slice(&encode(&gpt(), request).parts.body.to_vec()).unwrap();
        body["tools"].as_array().unwrap().clone()
    };
    assert_eq!(tools_of(&request), std::slice::from_ref(&hosted));
    let both = tools_of(&request.with_tools(tools()));
    assert_eq!((both.len(), both.last()), (tools().len() + 1, Some(&hosted)));
}

#[test]
fn members_of_a_profile_may_differ_for_some_models() {
    use attache_transport::{Ask, Codec as _};
    let text = "[my]\nlike = 'openai'\nbase_url = 'http://h/v1'\nfamily = 'my'";
    let profiles = Profiles::bundled().merged_with(text).unwrap();
    let text = "[my]\nlike = 'openai-responses'\nwire.extra_body.a = 1\n\
        [my.models.'big*']\nwire.extra_body.service_tier = 'flex'\nwire.responses.stores = false\n\
        [my.models.broken]\nwire.extra_bodi.a = 1";
    let matrix = attache_core::capability::Matrix::bundled().merged_with(text).unwrap();
    let mut codec = ResponsesCodec::new(profiles.get("my").unwrap().clone(), "big-1");
    codec.set_matrix(&matrix);
    let mut broken = ResponsesCodec::new(profiles.get("my").unwrap().clone(), "broken");
    broken.set_matrix(&matrix);
    let request = ChatRequest::new([user("Hi")]);
    let error = broken.encode(Ask::new(&request, &request.settings, None)).unwrap_err().to_string();
    assert!(error.contains("row my/broken is not valid: wire: unknown field `extra_bodi`"), "{error}");
    let body: Value =
        serde_json::from_slice(&encode(&codec, &ChatRequest::new([user("Hi")])).parts.body.to_vec()).unwrap();
    assert_eq!((&body["service_tier"], body.get("store"), &body["a"]), (&json!("flex"), None, &json!(1)));
}

// openai.md 0.1
#[test]
fn tokens_are_counted_at_openai_alone() {
    use attache_transport::{Ask, Codec as _};
    let request = with(ModelSettings::new().with_system("Be brief.").with_max_tokens(99));
    let count = gpt().count(Ask::new(&request, &request.settings, None)).unwrap().unwrap();
    assert_eq!(count.parts.url, "https://api.openai.com/v1/responses/input_tokens");
    let body: Value = serde_json::from_slice(&count.parts.body.to_vec()).unwrap();
    let members: Vec<&str> = body.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(members, ["model", "instructions", "input"]);
    assert!(at("azure-responses", "gpt-5.6").count(Ask::new(&request, &request.settings, None)).is_none());
}

// openai.md B.4, D 2
#[test]
fn the_list_of_allowed_tools_stays_where_no_call_can_be_demanded() {
    let table = "[openai-responses.models.'gpt-4o']\nforced_tools = false";
    let matrix = Matrix::bundled().merged_with(table).unwrap();
    let model = OpenAi::new("gpt-4o", "k").unwrap().with_matrix(&matrix);
    let request = with(ModelSettings::new().with_unsupported(Unsupported::Degrade))
        .with_tools(tools())
        .with_tool_choice(ToolChoice::Required);
    let list = request.clone().with_allowed_tools(["weather.now"]);
    assert_eq!(encode(model.codec(), &list).degradations.len(), 1);
    let among = json!({"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "weather_now"}]});
    assert_eq!(body(model.codec(), &list)["tool_choice"], among);
    assert_eq!(body(model.codec(), &request).get("tool_choice"), None);
    assert_eq!(body(&gpt(), &list)["tool_choice"]["mode"], "required");
}
