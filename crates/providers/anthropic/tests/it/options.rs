//! Options against models: honoured, refused before anything is sent, or degraded on record (invariant 12, P05).

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::wildcard_imports,
    reason = "helpers of tests are not recognised as tests"
)]

use crate::common::*;
use attache_anthropic::MessagesCodec;
use attache_core::capability::Matrix;
use attache_core::settings::{CachePolicy, Unsupported};
use attache_core::{
    Effort, ErrorKind, Message, ModelSettings, Reasoning, ResponseFormat, ToolChoice, Transcript,
};
use serde_json::{Value, json};

type Outcome = Result<(Value, Vec<String>), ErrorKind>;

/// The body and the degraded options, or why the request is refused.
fn try_with(model: &str, options: ModelSettings) -> Outcome {
    let request = request([Message::user("a")]).with_tools(tools()).with_settings(options);
    let codec = MessagesCodec::new(model);
    let encoded = encode_for(&request, &codec).map_err(|error| error.kind())?;
    let degraded = encoded.degradations.iter().map(|degradation| degradation.option.clone()).collect();
    Ok((body_for(&request, &codec), degraded))
}

fn lax(options: ModelSettings) -> ModelSettings {
    options.with_unsupported(Unsupported::Degrade)
}

#[test]
fn reasoning_by_model() {
    let of = |model: &str, reasoning: Reasoning| {
        let options = ModelSettings::new().with_reasoning(reasoning);
        let sent = |outcome: Outcome| {
            outcome.map(|(body, _)| (body["thinking"].clone(), body["output_config"].clone()))
        };
        (sent(try_with(model, options.clone())), sent(try_with(model, lax(options))).unwrap())
    };
    let refused = Err(ErrorKind::Unsupported);
    let (none, off) = (Value::Null, json!({"type": "disabled"}));
    let adaptive = json!({"type": "adaptive"});
    let shown = json!({"type": "adaptive", "display": "summarized"});
    let bound = json!({"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}});
    let budget = |tokens: u32| json!({"type": "enabled", "budget_tokens": tokens});
    let effort = |word: &str| json!({"effort": word});
    for (model, reasoning, strict, degraded) in [
        (
            "claude-3-5-haiku-latest",
            Reasoning::Off,
            Ok((none.clone(), none.clone())),
            (none.clone(), none.clone()),
        ),
        ("claude-3-5-haiku-latest", Reasoning::Budget(2048), refused.clone(), (none.clone(), none.clone())),
        ("claude-sonnet-4-5", Reasoning::Off, Ok((off.clone(), none.clone())), (off.clone(), none.clone())),
        (
            "claude-sonnet-4-5",
            Reasoning::Budget(2048),
            Ok((budget(2048), none.clone())),
            (budget(2048), none.clone()),
        ),
        ("claude-sonnet-4-5", Reasoning::Budget(5), refused.clone(), (budget(1024), none.clone())),
        (
            "claude-sonnet-4-5",
            Reasoning::Effort(Effort::High),
            refused.clone(),
            (budget(16_384), none.clone()),
        ),
        (
            "claude-opus-4-5",
            Reasoning::Effort(Effort::High),
            Ok((none.clone(), effort("high"))),
            (none.clone(), effort("high")),
        ),
        (
            "claude-opus-4-6",
            Reasoning::Effort(Effort::Low),
            Ok((adaptive.clone(), effort("low"))),
            (adaptive.clone(), effort("low")),
        ),
        ("claude-opus-4-6", Reasoning::Effort(Effort::Minimal), refused.clone(), (adaptive, effort("low"))),
        (
            "claude-opus-4-8",
            Reasoning::Effort(Effort::XHigh),
            Ok((shown.clone(), effort("xhigh"))),
            (shown.clone(), effort("xhigh")),
        ),
        ("claude-opus-4-8", Reasoning::Budget(2048), refused.clone(), (shown, none.clone())),
        ("claude-opus-5", Reasoning::Off, Ok((off.clone(), none.clone())), (off, none.clone())),
        ("claude-fable-5", Reasoning::Off, refused.clone(), (none.clone(), none.clone())),
        ("claude-opus-5-5", Reasoning::Off, refused.clone(), (bound.clone(), none.clone())),
        ("claude-sonnet-5-5", Reasoning::Off, refused, (bound, none)),
    ] {
        let name = format!("{model} {reasoning:?}");
        assert_eq!(of(model, reasoning), (strict, degraded), "{name}");
    }
}

// anthropic.md 8: a window, a summary or a new tool changes the messages behind which a model thought.
#[test]
fn thinking_that_no_longer_fits_is_left_out_and_no_error() {
    let sent = |codec: MessagesCodec, options: ModelSettings| {
        let request = request([Message::user("a")]).with_settings(options);
        let encoded = encode_for(&request, &codec).unwrap();
        let flags = encoded.parts.shown_headers().find(|(name, _)| *name == "anthropic-beta");
        let flags = flags.map(|(_, flags)| flags.to_owned());
        let body: Value = serde_json::from_slice(&encoded.parts.body.to_vec()).unwrap();
        (body.get("thinking").cloned().unwrap_or_default(), flags.unwrap_or_default())
    };
    let (flag, strict) = ("thinking-binding-controls-2026-08-01", ModelSettings::new);
    let dropping = json!({"prefix_mismatch_behavior": "drop_block"});
    for model in ["claude-fable-5-1", "claude-opus-5-5", "claude-sonnet-5-5-20261001"] {
        let (thinking, flags) = sent(MessagesCodec::new(model), strict());
        assert_eq!(thinking, json!({"type": "adaptive", "block_binding": dropping}), "{model}");
        assert_eq!(flags, flag, "{model}");
    }
    let effort = strict().with_reasoning(Reasoning::Effort(Effort::Low));
    let (thinking, flags) =
        sent(MessagesCodec::vertex("claude-opus-5-5").with_project("p", "global"), effort);
    assert_eq!(thinking, json!({"type": "adaptive", "display": "summarized", "block_binding": dropping}));
    assert_eq!(flags, flag);
    for model in ["claude-fable-5", "claude-mythos-5-1", "claude-opus-5", "claude-haiku-5-5", MODEL] {
        assert_eq!(sent(MessagesCodec::new(model), strict()), (Value::Null, String::new()), "{model}");
    }
    let named = MessagesCodec::new("claude-opus-5-5").with_base_url("https://api.anthropic.com/v1/");
    assert_eq!(sent(named, strict()).1, flag);
    // Another server may know neither, unless somebody says so.
    let gateway = || MessagesCodec::new("claude-opus-5-5").with_base_url("https://gateway.example/v1");
    assert_eq!(sent(gateway(), strict()), (Value::Null, String::new()));
    let (thinking, flags) = sent(gateway().with_beta(flag), strict());
    assert_eq!((&thinking["block_binding"], &*flags), (&dropping, flag));
}

#[test]
fn reply_limits() {
    let max = |model: &str, options: ModelSettings| try_with(model, options).unwrap().0["max_tokens"].clone();
    assert_eq!(max("claude-opus-4-6", ModelSettings::new()), json!(32_000));
    assert_eq!(max("claude-3-haiku-20240307", ModelSettings::new()), json!(4096));
    assert_eq!(max("claude-opus-4-6", ModelSettings::new().with_max_tokens(7)), json!(7));
    let budget = |tokens: u32| ModelSettings::new().with_reasoning(Reasoning::Budget(tokens));
    assert_eq!(max("claude-sonnet-4-5", budget(20_000)), json!(52_000));
    assert_eq!(max("claude-sonnet-4-5", budget(60_000)), json!(64_000));
    // A budget must stay below the limit that the caller sets.
    assert_eq!(
        try_with("claude-sonnet-4-5", budget(4000).with_max_tokens(3000)),
        Err(ErrorKind::Unsupported)
    );
    let (body, degraded) = try_with("claude-sonnet-4-5", lax(budget(4000).with_max_tokens(3000))).unwrap();
    assert_eq!((&body["thinking"]["budget_tokens"], degraded), (&json!(2999), vec!["reasoning".to_owned()]));
    let (body, _) = try_with("claude-sonnet-4-5", lax(budget(4000).with_max_tokens(500))).unwrap();
    assert_eq!(body.get("thinking"), None);
}

// Invariant 12: that nothing is known of a model's reasoning does not mean that it has none.
#[test]
fn off_is_honoured_or_refused() {
    let tried = |row: &str, options: ModelSettings| {
        let table = format!("[anthropic.models.'gateway-*']\nreasoning = []\n{row}");
        let matrix = Matrix::bundled().merged_with(&table).unwrap();
        let codec =
            MessagesCodec::new("gateway-1").with_capabilities(matrix.resolve("anthropic", "gateway-1"));
        let request = request([Message::user("a")]).with_settings(options);
        let encoded = encode_for(&request, &codec).map_err(|error| error.kind())?;
        let degraded = encoded.degradations.iter().map(|degradation| degradation.option.clone()).collect();
        Ok::<Vec<String>, ErrorKind>(degraded)
    };
    let off = || ModelSettings::new().with_reasoning(Reasoning::Off);
    assert_eq!(tried("reasoning_replay = 'none'", off()), Ok(vec![]), "it has none");
    for may_reason in ["", "reasoning_replay = 'optional'"] {
        assert_eq!(tried(may_reason, off()), Err(ErrorKind::Unsupported));
        assert_eq!(tried(may_reason, lax(off())), Ok(vec!["reasoning".to_owned()]));
    }
}

#[test]
fn a_budget_has_room_where_no_limit_is_known() {
    let mut capabilities = attache_core::ModelCapabilities::text_only("anthropic", "gateway-1");
    capabilities.reasoning = vec!["budget".to_owned()];
    let codec = MessagesCodec::new("gateway-1").with_capabilities(capabilities);
    // The rules of the mock know no model without a limit.
    let sent = |options: ModelSettings| {
        unchecked_body(&request([Message::user("a")]).with_settings(options), &codec).unwrap()
    };
    assert_eq!(sent(ModelSettings::new())["max_tokens"], 32_000);
    for budget in [2_048, 32_000, 40_000, u32::MAX - 1, u32::MAX] {
        let body = sent(ModelSettings::new().with_reasoning(Reasoning::Budget(budget)));
        assert_eq!(body["max_tokens"], 32_000 + u64::from(budget), "what may be written stands beside it");
        assert_eq!(body["thinking"]["budget_tokens"], budget);
    }
    let bounded = ModelSettings::new().with_reasoning(Reasoning::Budget(4_000)).with_max_tokens(5_000);
    assert_eq!(sent(bounded)["max_tokens"], 5_000);
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
        let sent = body.get(option).is_some();
        assert_eq!(sent, option == "temperature", "only that has a nearest value");
    }
    // A value that is no number has no place in JSON, and no nearest value.
    for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for options in
            [ModelSettings::new().with_temperature(number), ModelSettings::new().with_top_p(number)]
        {
            assert_eq!(try_with(MODEL, options.clone()), Err(ErrorKind::Configuration), "{options:?}");
            assert_eq!(try_with(MODEL, lax(options)), Err(ErrorKind::Configuration));
        }
    }
}

#[test]
fn structured_output_by_model_and_schema() {
    let format = |schema: Value, strict: bool| {
        ModelSettings::new().with_response_format(ResponseFormat::JsonSchema {
            name: "x".into(),
            schema: schema.into(),
            strict,
        })
    };
    let plain = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let (body, degraded) = try_with("claude-sonnet-4-5", format(plain.clone(), true)).unwrap();
    assert_eq!(body["output_config"]["format"]["schema"]["additionalProperties"], json!(false));
    assert_eq!(degraded, Vec::<String>::new());
    assert_eq!(try_with("claude-sonnet-4-0", format(plain, true)), Err(ErrorKind::Unsupported));

    let limited = json!({"type": "object", "properties": {"a": {"type": "string", "maxLength": 3}}});
    let (body, degraded) = try_with(MODEL, format(limited, true)).unwrap();
    assert_eq!(degraded, ["response_format"], "never in silence");
    let described = &body["output_config"]["format"]["schema"]["properties"]["a"]["description"];
    assert_eq!(described, &json!("maxLength: 3"));

    let open = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let (body, _) = try_with(MODEL, format(open, true)).unwrap();
    let pairs = &body["output_config"]["format"]["schema"]["properties"]["value"];
    assert_eq!(pairs["items"]["required"], json!(["key", "value"]));

    let endless = json!({"type": "object", "properties": {"next": {"$ref": "#"}}});
    assert_eq!(try_with(MODEL, format(endless.clone(), false)), Err(ErrorKind::Unsupported));
    assert_eq!(try_with(MODEL, lax(format(endless, false))).unwrap().0.get("output_config"), None);
}

#[test]
fn choices_by_model() {
    let tried = |model: &str, choice: ToolChoice, options: ModelSettings| {
        let request =
            request([Message::user("a")]).with_tools(tools()).with_tool_choice(choice).with_settings(options);
        let codec = MessagesCodec::new(model);
        encode_for(&request, &codec).map_err(|error| error.kind())?;
        Ok(body_for(&request, &codec).get("tool_choice").cloned())
    };
    let strict = ModelSettings::new;
    assert_eq!(tried(MODEL, ToolChoice::Required, strict()), Ok(Some(json!({"type": "any"}))));
    for model in ["claude-fable-5", "claude-opus-5-5", "claude-sonnet-5-5"] {
        assert_eq!(tried(model, ToolChoice::Required, strict()), Err(ErrorKind::Unsupported), "{model}");
        let lax = tried(model, ToolChoice::Required, lax(strict()));
        assert_eq!(lax, Ok(Some(json!({"type": "auto"}))), "{model}");
    }
    let budget = || strict().with_reasoning(Reasoning::Budget(2048));
    assert_eq!(tried(MODEL, ToolChoice::Required, budget()), Err(ErrorKind::Unsupported));
    let only_others =
        strict().with_extra_body("tools", json!([{"type": "web_search_20260318", "name": "web_search"}]));
    let request =
        request([Message::user("a")]).with_tool_choice(ToolChoice::Required).with_settings(only_others);
    assert_eq!(body(&request)["tool_choice"], json!({"type": "any"}));
    let effort = || strict().with_reasoning(Reasoning::Effort(Effort::Low));
    assert_eq!(tried(MODEL, ToolChoice::Required, effort()), Ok(Some(json!({"type": "any"}))));
    assert_eq!(tried(MODEL, ToolChoice::Tool("nobody".into()), strict()), Err(ErrorKind::Configuration));
}

// P27, P30
#[test]
fn caching_by_default_and_by_wish() {
    let marked =
        |request: &attache_core::ChatRequest| body(request).to_string().matches("cache_control").count();
    assert_eq!(marked(&request([Message::system("s"), Message::user("a")])), 0, "a single question");
    let talk = request([Message::user("a"), Message::assistant("b"), Message::user("c")]);
    assert_eq!(marked(&talk), 2);
    assert_eq!(marked(&request([Message::user("a")]).with_tools(tools())), 2);
    let off = ModelSettings::new().with_cache(CachePolicy::Off);
    assert_eq!(marked(&talk.with_settings(off)), 0);

    let without = Matrix::bundled().merged_with("[anthropic.models.'gateway-*']\ncaching = 'none'").unwrap();
    let codec = MessagesCodec::new("gateway-1").with_capabilities(without.resolve("anthropic", "gateway-1"));
    let wished = |options: ModelSettings| {
        encode_for(&request([Message::user("a")]).with_tools(tools()).with_settings(options), &codec)
    };
    assert_eq!(wished(ModelSettings::new()).unwrap().degradations.len(), 0);
    let short = || ModelSettings::new().with_cache(CachePolicy::Short);
    assert_eq!(wished(short()).unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(wished(lax(short())).unwrap().degradations[0].option, "cache");
}

#[test]
fn members_of_the_callers_own() {
    for (reserved, value) in [("messages", json!([])), ("system", json!("s")), ("tools", json!({}))] {
        let options = ModelSettings::new().with_extra_body(reserved, value);
        assert_eq!(try_with(MODEL, options), Err(ErrorKind::Configuration));
    }
    let options = ModelSettings::new()
        .with_reasoning(Reasoning::Effort(Effort::Low))
        .with_extra_body("thinking", json!({"display": "omitted"}))
        .with_extra_body("max_tokens", 9);
    let (body, _) = try_with(MODEL, options).unwrap();
    assert_eq!(
        (&body["thinking"], &body["max_tokens"]),
        (&json!({"type": "adaptive", "display": "omitted"}), &json!(9))
    );
}

#[test]
fn histories_that_cannot_be_sent() {
    for messages in [
        vec![],
        vec![Message::system("s")],
        vec![Message::user(" ")],
        vec![Message::assistant("b"), Message::user("a")],
    ] {
        assert_eq!(encode(&request(messages)).unwrap_err().kind(), ErrorKind::InvalidHistory);
    }
    let nameless = encode_for(&request([Message::user("a")]), &MessagesCodec::new(" ")).unwrap_err();
    assert_eq!(nameless.kind(), ErrorKind::Configuration);
}

/// The kept state survives a failure, another model and other tools.
#[test]
fn the_memo_follows_the_request() {
    let transcript = Transcript::new();
    let asked = call(1, "files.list", "{}");
    let messages = [
        Message::user("a"),
        assistant([thinking("t", "s"), asked.clone().into()]),
        results([attache_core::ToolResult::ok(&asked, "x")]),
    ]
    .map(Message::shared);
    let tools = std::sync::Arc::new(tools());
    let other = attache_core::ToolSet::new([
        attache_core::ToolDefinition::new("files_list", "", json!({})),
        attache_core::ToolDefinition::new("files.list", "", json!({})),
    ]);
    let other = std::sync::Arc::new(other.unwrap());
    for (model, tools, count) in [
        (MODEL, &tools, 3),
        (MODEL, &tools, 2),
        ("claude-opus-4-8", &tools, 3),
        (MODEL, &other, 3),
        (MODEL, &tools, 3),
    ] {
        let request = attache_core::ChatRequest::new(messages.iter().take(count).cloned())
            .with_tools(std::sync::Arc::clone(tools));
        let codec = MessagesCodec::new(model);
        let fresh = unchecked_body(&request, &codec).map_err(|error| error.kind());
        let kept = unchecked_body(&request.with_transcript(transcript.clone()), &codec)
            .map_err(|error| error.kind());
        assert_eq!(fresh, kept);
        assert_eq!(fresh.is_ok(), count == 3);
    }
}
