//! Options are honoured, refused, or recorded as degraded; never ignored.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::wildcard_imports,
    reason = "helpers of tests are not recognised as tests"
)]

use crate::common::*;
use attache_core::settings::{CachePolicy, Unsupported};
use attache_core::{
    Effort, ErrorKind, Message, ModelSettings, Reasoning, ResponseFormat, ToolChoice, ToolDefinition, ToolSet,
};
use serde_json::{Value, json};

type Outcome = Result<(Value, Vec<String>), ErrorKind>;

/// The body and the degraded options, or why the request is refused.
fn try_with(model: &str, options: ModelSettings) -> Outcome {
    let request = request([Message::user("a")]).with_settings(options);
    let codec = of(model);
    let encoded = encode_for(&request, &codec).map_err(|error| error.kind())?;
    let degraded = encoded.degradations.iter().map(|degradation| degradation.option.clone()).collect();
    Ok((body_for(&request, &codec), degraded))
}

fn lax(options: ModelSettings) -> ModelSettings {
    options.with_unsupported(Unsupported::Degrade)
}

const SONNET_4_5: &str = "us.anthropic.claude-sonnet-4-5-20250929-v1:0";
const OPUS_4_5: &str = "us.anthropic.claude-opus-4-5-20251101-v1:0";
const OPUS_4_8: &str = "us.anthropic.claude-opus-4-8";
const OPUS_5: &str = "us.anthropic.claude-opus-5";
const FABLE: &str = "us.anthropic.claude-fable-5";

// bedrock.md 2, 5
#[test]
fn reasoning_by_model() {
    let of = |model: &str, reasoning: Reasoning| {
        let options = ModelSettings::new().with_reasoning(reasoning);
        let sent = |outcome: Outcome| outcome.map(|(body, _)| body["additionalModelRequestFields"].clone());
        (sent(try_with(model, options.clone())), sent(try_with(model, lax(options))).unwrap())
    };
    let refused = || Err(ErrorKind::Unsupported);
    let none = Value::Null;
    let off = json!({"thinking": {"type": "disabled"}});
    let budget = |tokens: u32| json!({"thinking": {"type": "enabled", "budget_tokens": tokens}});
    let adaptive =
        |effort: &str| json!({"output_config": {"effort": effort}, "thinking": {"type": "adaptive"}});
    let shown = json!({"type": "adaptive", "display": "summarized"});
    let nova = |effort: &str| json!({"reasoningConfig": {"type": "enabled", "maxReasoningEffort": effort}});
    let exact = |value: Value| (Ok(value.clone()), value);
    let high = Reasoning::Effort(Effort::High);
    for (model, reasoning, expected) in [
        ("us.anthropic.claude-3-haiku-20240307-v1:0", Reasoning::Off, exact(none.clone())),
        ("us.anthropic.claude-3-haiku-20240307-v1:0", Reasoning::Budget(2048), (refused(), none.clone())),
        (SONNET_4_5, Reasoning::Off, exact(off.clone())),
        (SONNET_4_5, Reasoning::Budget(2048), exact(budget(2048))),
        (SONNET_4_5, Reasoning::Budget(5), (refused(), budget(1024))),
        (SONNET_4_5, high.clone(), (refused(), budget(16_384))),
        (OPUS_4_5, high.clone(), exact(json!({"output_config": {"effort": "high"}}))),
        (MODEL, Reasoning::Effort(Effort::Low), exact(adaptive("low"))),
        (MODEL, Reasoning::Effort(Effort::Minimal), (refused(), adaptive("low"))),
        (OPUS_4_8, Reasoning::Budget(2048), (refused(), json!({"thinking": shown}))),
        (OPUS_5, Reasoning::Off, exact(off)),
        (FABLE, Reasoning::Off, (refused(), none.clone())),
        (NOVA_2, high.clone(), exact(nova("high"))),
        (NOVA_2, Reasoning::Effort(Effort::Max), (refused(), nova("high"))),
        (NOVA_2, Reasoning::Off, exact(json!({"reasoningConfig": {"type": "disabled"}}))),
        (NOVA_2, Reasoning::Budget(9), (refused(), none.clone())),
        (NOVA, high, (refused(), none.clone())),
        (NOVA, Reasoning::Off, exact(none.clone())),
        (GPT_OSS, Reasoning::Effort(Effort::Medium), exact(json!({"reasoning_effort": "medium"}))),
        (GPT_OSS, Reasoning::Off, (refused(), none.clone())),
        (GPT_5_6, Reasoning::Effort(Effort::Max), exact(json!({"reasoning": {"effort": "max"}}))),
        (GPT_5_6, Reasoning::Off, exact(json!({"reasoning": {"effort": "none"}}))),
        ("global.openai.gpt-6-astra", Reasoning::Off, (refused(), none.clone())),
        (QWEN, Reasoning::Effort(Effort::Medium), (refused(), json!({"reasoning_config": "low"}))),
        ("us.deepseek.r1-v1:0", Reasoning::Off, (refused(), none.clone())),
        ("vendor.unknown-model", Reasoning::Off, (refused(), none.clone())),
        (LLAMA, Reasoning::Off, exact(none)),
    ] {
        let name = format!("{model} {reasoning:?}");
        assert_eq!(of(model, reasoning), expected, "{name}");
    }
}

#[test]
fn budgets_have_bounds() {
    let budget = |tokens: u32| ModelSettings::new().with_reasoning(Reasoning::Budget(tokens));
    assert_eq!(try_with(SONNET_4_5, budget(4000).with_max_tokens(3000)), Err(ErrorKind::Unsupported));
    let (body, degraded) = try_with(SONNET_4_5, lax(budget(4000).with_max_tokens(3000))).unwrap();
    let sent = &body["additionalModelRequestFields"]["thinking"]["budget_tokens"];
    assert_eq!((sent, degraded), (&json!(2999), vec!["reasoning".to_owned()]));
    let (body, _) = try_with(SONNET_4_5, lax(budget(4000).with_max_tokens(500))).unwrap();
    assert_eq!(body.get("additionalModelRequestFields"), None);
    // A loop that began without thinking goes on without.
    let read = call(1, "files.read", "{}");
    let open = with_tools([
        Message::user("a"),
        assistant([read.clone().into()]),
        results([attache_core::ToolResult::ok(&read, "x")]),
    ]);
    assert!(encode(&open.clone().with_settings(budget(2048))).is_err());
    assert!(encode(&open.with_settings(lax(budget(2048)))).is_ok());
}

// P05, bedrock.md 2
#[test]
fn sampling_by_model() {
    let options =
        || ModelSettings::new().with_max_tokens(9).with_temperature(0.5).with_stop(vec!["END".into()]);
    for model in [SONNET_4_5, NOVA, LLAMA, MISTRAL, GPT_OSS] {
        let (body, degraded) = try_with(model, options()).unwrap();
        let sent = json!({"maxTokens": 9, "temperature": 0.5, "stopSequences": ["END"]});
        assert_eq!((&body["inferenceConfig"], degraded.len()), (&sent, 0), "{model}");
    }
    assert_eq!(try_with(OPUS_5, options()), Err(ErrorKind::Unsupported));
    // "This model doesn't support the stopSequences field." (bedrock.md 11)
    assert_eq!(
        try_with(GPT_5_6, ModelSettings::new().with_stop(vec!["END".into()])),
        Err(ErrorKind::Unsupported)
    );
    let (body, degraded) = try_with(GPT_5_6, lax(options())).unwrap();
    assert_eq!((&body["inferenceConfig"], degraded.len()), (&json!({"maxTokens": 9}), 2));
    let both = || ModelSettings::new().with_temperature(0.5).with_top_p(0.5);
    assert_eq!(try_with(SONNET_4_5, both()), Err(ErrorKind::Unsupported));
    assert_eq!(try_with(SONNET_4_5, lax(both())).unwrap().1, ["top_p"]);
    assert_eq!(
        try_with(NOVA, both()).unwrap().0["inferenceConfig"],
        json!({"temperature": 0.5, "topP": 0.5})
    );
    let thinks = || ModelSettings::new().with_reasoning(Reasoning::Budget(2048));
    assert_eq!(try_with(SONNET_4_5, thinks().with_temperature(0.5)), Err(ErrorKind::Unsupported));
    assert!(try_with(SONNET_4_5, thinks().with_temperature(1.0)).is_ok());
    assert_eq!(try_with(SONNET_4_5, thinks().with_top_k(5)), Err(ErrorKind::Unsupported));
    let top_k = |model: &str| {
        let sent = try_with(model, ModelSettings::new().with_top_k(5));
        sent.map(|(body, _)| body["additionalModelRequestFields"].clone())
    };
    assert_eq!(top_k(SONNET_4_5), Ok(json!({"top_k": 5})));
    assert_eq!(top_k(NOVA), Ok(json!({"inferenceConfig": {"topK": 5}})));
    assert_eq!(top_k("cohere.command-r-v1:0"), Ok(json!({"k": 5})));
    assert_eq!(top_k(LLAMA), Err(ErrorKind::Unsupported));
}

#[test]
fn options_unknown_to_the_api_are_refused_or_degraded() {
    for (options, option) in [
        (ModelSettings::new().with_seed(1), "seed"),
        (ModelSettings::new().with_presence_penalty(0.5), "presence_penalty"),
        (ModelSettings::new().with_frequency_penalty(0.5), "frequency_penalty"),
        (ModelSettings::new().with_temperature(1.5), "temperature"),
        (ModelSettings::new().with_stop(vec![" ".into()]), "stop"),
        (ModelSettings::new().with_response_format(ResponseFormat::JsonObject), "response_format"),
    ] {
        assert_eq!(try_with(MODEL, options.clone()), Err(ErrorKind::Unsupported), "{option}");
        let (body, degraded) = try_with(MODEL, lax(options)).unwrap();
        assert_eq!(degraded, [option]);
        let sent = body.get("inferenceConfig").cloned();
        assert_eq!(sent, (option == "temperature").then(|| json!({"temperature": 1.0})));
    }
    for number in [f64::NAN, f64::INFINITY] {
        for options in
            [ModelSettings::new().with_temperature(number), ModelSettings::new().with_top_p(number)]
        {
            assert_eq!(try_with(MODEL, lax(options)), Err(ErrorKind::Configuration));
        }
    }
}

// bedrock.md 2, 11
#[test]
fn structured_output_by_model_and_schema() {
    let format = |schema: Value, strict: bool| {
        let name = "x".to_owned();
        ModelSettings::new().with_response_format(ResponseFormat::JsonSchema {
            name,
            schema: schema.into(),
            strict,
        })
    };
    let plain = json!({"type": "object", "properties": {"a": {"type": "string", "maxLength": 3}}});
    for model in [SONNET_4_5, OPUS_5, GPT_OSS, QWEN] {
        let (body, degraded) = try_with(model, format(plain.clone(), true)).unwrap();
        let sent = &body["outputConfig"]["textFormat"]["structure"]["jsonSchema"];
        assert_eq!((&sent["name"], degraded.len()), (&json!("x"), 1), "{model}: never in silence");
        let schema: Value = serde_json::from_str(sent["schema"].as_str().unwrap()).unwrap();
        assert_eq!(schema["additionalProperties"], json!(false));
    }
    for model in ["us.anthropic.claude-sonnet-4-20250514-v1:0", NOVA, LLAMA] {
        assert_eq!(try_with(model, format(plain.clone(), true)), Err(ErrorKind::Unsupported), "{model}");
    }
    let endless = json!({"type": "object", "properties": {"next": {"$ref": "#"}}});
    assert_eq!(try_with(MODEL, format(endless.clone(), false)), Err(ErrorKind::Unsupported));
    assert_eq!(try_with(MODEL, lax(format(endless, false))).unwrap().0.get("outputConfig"), None);
}

// bedrock.md 3, 11
#[test]
fn choices_by_model() {
    let tried = |model: &str, choice: ToolChoice, options: ModelSettings| {
        let request = with_tools([Message::user("a")]).with_tool_choice(choice).with_settings(options);
        let codec = of(model);
        encode_for(&request, &codec).map_err(|error| error.kind())?;
        Ok(body_for(&request, &codec)["toolConfig"].get("toolChoice").cloned())
    };
    let strict = ModelSettings::new;
    let read = || ToolChoice::Tool("files.read".into());
    for model in [MODEL, NOVA, NOVA_2, "moonshot.kimi-k2-thinking", "zai.glm-4.7"] {
        assert_eq!(tried(model, ToolChoice::Auto, strict()), Ok(None), "{model}");
        assert_eq!(tried(model, ToolChoice::Required, strict()), Ok(Some(json!({"any": {}}))), "{model}");
        let named = json!({"tool": {"name": "files_read"}});
        assert_eq!(tried(model, read(), strict()), Ok(Some(named)), "{model}");
    }
    for model in [LLAMA, GPT_OSS, QWEN, WRITER, FABLE, "us.anthropic.claude-opus-5-5"] {
        assert_eq!(tried(model, ToolChoice::Required, strict()), Err(ErrorKind::Unsupported), "{model}");
        assert_eq!(tried(model, ToolChoice::Required, lax(strict())), Ok(None), "{model}");
    }
    assert_eq!(tried(MISTRAL, ToolChoice::Required, strict()), Ok(Some(json!({"any": {}}))));
    assert_eq!(tried(MISTRAL, read(), strict()), Err(ErrorKind::Unsupported));
    let only = ToolSet::new([ToolDefinition::new("one", "", json!({}))]).unwrap();
    let request =
        request([Message::user("a")]).with_tools(only).with_tool_choice(ToolChoice::Tool("one".into()));
    assert_eq!(body_for(&request, &of(MISTRAL))["toolConfig"]["toolChoice"], json!({"any": {}}));

    let budget = || strict().with_reasoning(Reasoning::Budget(2048));
    assert_eq!(tried(MODEL, ToolChoice::Required, budget()), Err(ErrorKind::Unsupported));
    assert_eq!(tried(MODEL, ToolChoice::Tool("nobody".into()), strict()), Err(ErrorKind::Configuration));
    let forced = self::request([Message::user("a")]).with_tool_choice(ToolChoice::Required);
    assert_eq!(encode(&forced).unwrap_err().kind(), ErrorKind::Configuration);
    let single = strict().with_parallel_tool_calls(false);
    assert_eq!(tried(NOVA, ToolChoice::Auto, single.clone()), Err(ErrorKind::Unsupported));
    assert_eq!(tried(LLAMA, ToolChoice::Auto, single), Ok(None), "it makes one call at a time anyway");
}

// P27, P30
#[test]
fn caching_by_default_and_by_wish() {
    let marked =
        |request: &attache_core::ChatRequest| body(request).to_string().matches("cachePoint").count();
    assert_eq!(marked(&request([Message::system("s"), Message::user("a")])), 0, "a single question");
    let talk = request([Message::user("a"), Message::assistant("b"), Message::user("c")]);
    assert_eq!(marked(&talk), 2);
    assert_eq!(marked(&with_tools([Message::user("a")])), 2);
    assert_eq!(marked(&talk.with_settings(ModelSettings::new().with_cache(CachePolicy::Off))), 0);
    // The caller's own among the tools counts.
    let own = json!({"tools": [{"cachePoint": {"type": "default"}}]});
    let options = ModelSettings::new().with_system("s").with_extra_body("toolConfig", own);
    let read = call(1, "files.read", "{}");
    let result = attache_core::ToolResult::ok(&read, "x");
    let round = with_tools([Message::user("a"), assistant([read.into()]), results([result])]);
    assert_eq!(marked(&round.with_settings(options)), 4);
    // And an hour may not stand behind the five minutes of it.
    let long = |ttl: &str| {
        let own = json!({"tools": [{"cachePoint": {"type": "default", "ttl": ttl}}]});
        let options = ModelSettings::new().with_cache(CachePolicy::Long);
        with_tools([Message::user("a")]).with_settings(options.with_extra_body("toolConfig", own))
    };
    assert_eq!(marked(&long("1h")), 2);
    let mut request = long("5m");
    assert_eq!(encode(&request).unwrap_err().kind(), ErrorKind::Unsupported);
    request.settings.unsupported = Some(Unsupported::Degrade);
    assert_eq!(encode(&request).unwrap().degradations[0].option, "cache");
    assert!(!body(&request).to_string().contains("1h"));
    let short = || ModelSettings::new().with_cache(CachePolicy::Short);
    assert_eq!(try_with(LLAMA, short()), Err(ErrorKind::Unsupported));
    assert_eq!(try_with(LLAMA, lax(short())).unwrap().1, ["cache"]);
}

#[test]
fn members_of_the_callers_own() {
    for (reserved, value) in [
        ("messages", json!([])),
        ("system", json!([])),
        ("toolConfig", json!([])),
        ("toolConfig", json!({"tools": {}})),
        ("additionalModelRequestFields", json!("x")),
    ] {
        let options = ModelSettings::new().with_extra_body(reserved, value);
        assert_eq!(try_with(MODEL, options), Err(ErrorKind::Configuration), "{reserved}");
    }
    let options = ModelSettings::new()
        .with_reasoning(Reasoning::Effort(Effort::Low))
        .with_extra_body(
            "additionalModelRequestFields",
            json!({"thinking": {"display": "omitted"}, "top_k": 3}),
        )
        .with_extra_body("requestMetadata", json!({"team": "a"}));
    let (body, _) = try_with(MODEL, options).unwrap();
    let sent = json!({"output_config": {"effort": "low"}, "thinking": {"type": "adaptive", "display": "omitted"},
        "top_k": 3});
    assert_eq!(body["additionalModelRequestFields"], sent);
    assert_eq!(body["requestMetadata"], json!({"team": "a"}));
}
