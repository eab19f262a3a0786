//! Each option reaches its member of the wire, or is refused (P05, invariant 12).

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::wildcard_imports,
    reason = "helpers of tests are not recognised as tests"
)]

use crate::common;
use crate::common::*;
use attache_core::settings::Unsupported;
use attache_core::{
    ChatRequest, Effort, ErrorKind, Message, ModelSettings, Reasoning, ResponseFormat, ToolChoice,
};
use attache_gemini::GenerateCodec;
use attache_transport::Codec as _;
use serde_json::{Value, json};

fn with(settings: ModelSettings) -> ChatRequest {
    request([Message::user("go")]).with_settings(settings)
}

fn generation(settings: ModelSettings) -> Value {
    body(&with(settings))["generationConfig"].clone()
}

/// The request to a model of that name, strictly and with leave.
fn thinking_of(model: &str, reasoning: Reasoning) -> (Result<Value, ErrorKind>, Value) {
    let settings = ModelSettings::new().with_reasoning(reasoning);
    let codec = GenerateCodec::new(model);
    let member = |settings: ModelSettings| {
        encode_for(&with(settings.clone()), &codec)
            .map(|_| body_for(&with(settings), &codec)["generationConfig"]["thinkingConfig"].clone())
    };
    let strict = member(settings.clone()).map_err(|error| error.kind());
    (strict, member(settings.with_unsupported(Unsupported::Degrade)).unwrap())
}

#[test]
fn sampling_and_limits() {
    let settings = ModelSettings::new()
        .with_max_tokens(100)
        .with_temperature(0.5)
        .with_top_p(0.9)
        .with_top_k(40)
        .with_stop(vec!["END".to_owned(), " ".to_owned()])
        .with_seed(7)
        .with_presence_penalty(0.5)
        .with_frequency_penalty(-0.5);
    assert_eq!(
        generation(settings),
        json!({"maxOutputTokens": 100, "temperature": 0.5, "topP": 0.9, "topK": 40, "stopSequences": ["END", " "],
            "seed": 7, "presencePenalty": 0.5, "frequencyPenalty": -0.5})
    );
}

#[test]
fn options_out_of_bounds_are_refused_or_clamped() {
    let stops: Vec<String> = (0..7).map(|number| number.to_string()).collect();
    for (settings, option, name, nearest) in [
        (ModelSettings::new().with_temperature(3.0), "temperature", "temperature", json!(2.0)),
        (ModelSettings::new().with_top_p(1.5), "top_p", "topP", json!(1.0)),
        (
            ModelSettings::new().with_presence_penalty(-3.0),
            "presence_penalty",
            "presencePenalty",
            json!(-2.0),
        ),
        (ModelSettings::new().with_stop(stops), "stop", "stopSequences", json!(["0", "1", "2", "3", "4"])),
        (ModelSettings::new().with_seed(1 << 40), "seed", "seed", Value::Null),
    ] {
        let error = encode(&with(settings.clone())).unwrap_err();
        assert_eq!((error.kind(), error.param()), (ErrorKind::Unsupported, Some(option)));
        let lenient = with(settings.with_unsupported(Unsupported::Degrade));
        assert_eq!(body(&lenient)["generationConfig"][name], nearest, "{option}");
        let recorded = encode(&lenient).unwrap().degradations;
        assert_eq!(recorded.iter().map(|note| note.option.as_str()).collect::<Vec<_>>(), [option]);
    }
    let error = encode(&with(ModelSettings::new().with_temperature(f64::NAN))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
}

// gemini.md 4
#[test]
fn reasoning_by_family() {
    let effort = |level: &str| json!({"includeThoughts": true, "thinkingLevel": level});
    let budget = |budget: u32| json!({"includeThoughts": true, "thinkingBudget": budget});
    let unsupported = Err(ErrorKind::Unsupported);
    for (model, reasoning, strict, lenient) in [
        (
            "gemini-3-flash-preview",
            Reasoning::Effort(Effort::Minimal),
            Ok(effort("minimal")),
            effort("minimal"),
        ),
        ("gemini-3.8-flash", Reasoning::Effort(Effort::Minimal), unsupported.clone(), effort("low")),
        ("gemini-3-pro-preview", Reasoning::Effort(Effort::Medium), unsupported.clone(), effort("low")),
        ("gemini-3.1-pro-preview", Reasoning::Effort(Effort::Medium), Ok(effort("medium")), effort("medium")),
        ("gemini-3-flash-preview", Reasoning::Effort(Effort::Max), unsupported.clone(), effort("high")),
        ("gemini-3-flash-preview", Reasoning::Budget(8_192), unsupported.clone(), effort("medium")),
        ("gemini-3-flash-preview", Reasoning::Off, unsupported.clone(), json!({"thinkingLevel": "minimal"})),
        ("gemini-2.5-flash", Reasoning::Budget(1_000), Ok(budget(1_000)), budget(1_000)),
        ("gemini-2.5-flash", Reasoning::Off, Ok(json!({"thinkingBudget": 0})), json!({"thinkingBudget": 0})),
        ("gemini-2.5-flash", Reasoning::Effort(Effort::Low), unsupported.clone(), budget(2_048)),
        ("gemini-2.5-flash-lite", Reasoning::Budget(100), unsupported.clone(), budget(512)),
        ("gemini-2.5-pro", Reasoning::Budget(100_000), unsupported.clone(), budget(32_768)),
        ("gemini-2.5-pro", Reasoning::Off, unsupported.clone(), Value::Null),
        ("gemini-2.0-flash", Reasoning::Off, Ok(Value::Null), Value::Null),
        ("gemini-2.5-flash-image", Reasoning::Off, unsupported.clone(), Value::Null),
        ("gemini-2.0-flash", Reasoning::Effort(Effort::Low), unsupported, Value::Null),
        ("gemini-9-flash", Reasoning::Effort(Effort::High), Ok(effort("high")), effort("high")),
    ] {
        assert_eq!(thinking_of(model, reasoning.clone()), (strict, lenient), "{model} {reasoning:?}");
    }
}

// gemini.md 6
#[test]
fn forms_of_answers() {
    assert_eq!(
        generation(ModelSettings::new().with_response_format(ResponseFormat::JsonObject)),
        json!({"responseMimeType": "application/json"})
    );
    let form = |schema: Value, strict: bool| ResponseFormat::JsonSchema {
        name: "n".to_owned(),
        schema: schema.into(),
        strict,
    };
    let schema = json!({"title": "City", "type": "object", "properties": {"name": {"type": "string"}}});
    assert_eq!(
        generation(ModelSettings::new().with_response_format(form(schema, true))),
        json!({"responseMimeType": "application/json",
            "responseJsonSchema": {"type": "object", "properties": {"name": {"type": "string"}}}})
    );
    let tight = json!({"type": "object", "properties": {"name": {"type": "string", "pattern": "^[A-Z]"}}});
    for strict in [true, false] {
        let options = ModelSettings::new().with_response_format(form(tight.clone(), strict));
        let noted = encode(&with(options)).unwrap().degradations;
        assert!(
            noted[0].note.starts_with("the API does not enforce pattern at /properties/name"),
            "{noted:?}"
        );
    }
    assert_eq!(
        body(&with(ModelSettings::new().with_response_format(ResponseFormat::Text))).get("generationConfig"),
        None
    );
}

// gemini.md 5
#[test]
fn choices_of_tools() {
    let choose = |choice: ToolChoice| {
        body(&request([Message::user("go")]).with_tools(tools()).with_tool_choice(choice))
    };
    assert_eq!(choose(ToolChoice::Auto).get("toolConfig"), None);
    assert_eq!(choose(ToolChoice::None)["toolConfig"], json!({"functionCallingConfig": {"mode": "NONE"}}));
    assert_eq!(
        choose(ToolChoice::None)["tools"],
        choose(ToolChoice::Auto)["tools"],
        "tools stay where they are"
    );
    assert_eq!(choose(ToolChoice::Required)["toolConfig"], json!({"functionCallingConfig": {"mode": "ANY"}}));
    assert_eq!(
        choose(ToolChoice::Tool("files.read".to_owned()))["toolConfig"],
        json!({"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["files_read"]}})
    );
    let unknown =
        request([Message::user("go")]).with_tools(tools()).with_tool_choice(ToolChoice::Tool("x".to_owned()));
    assert_eq!(encode(&unknown).unwrap_err().kind(), ErrorKind::Configuration);
    let none = request([Message::user("go")]).with_tool_choice(ToolChoice::Required);
    assert_eq!(encode(&none).unwrap_err().kind(), ErrorKind::Configuration);
    let single = request([Message::user("go")])
        .with_tools(tools())
        .with_settings(ModelSettings::new().with_parallel_tool_calls(false));
    assert_eq!(encode(&single).unwrap_err().param(), Some("parallel_tool_calls"));
    let painter = request([Message::user("go")]).with_tools(tools());
    let error = encode_for(&painter, &GenerateCodec::new("gemini-2.5-flash-image")).unwrap_err();
    assert_eq!((error.kind(), error.param()), (ErrorKind::Unsupported, Some("tools")));
}

// gemini.md 5: the provider's own tools, and what has no option
#[test]
fn members_of_the_callers_own() {
    let settings = ModelSettings::new()
        .with_temperature(1.0)
        .with_extra_body("tools", json!([{"googleSearch": {}}]))
        .with_extra_body(
            "generationConfig",
            json!({"thinkingConfig": {"includeThoughts": true}, "candidateCount": 1}),
        )
        .with_extra_body(
            "safetySettings",
            json!([{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "OFF"}]),
        )
        .with_extra_body("toolConfig", json!({"includeServerSideToolInvocations": true}))
        .with_reasoning(Reasoning::Effort(Effort::Low));
    let asked = with(settings).with_tools(tools()).with_tool_choice(ToolChoice::Required);
    let body = body(&asked);
    assert_eq!(body["tools"].as_array().unwrap().len(), 2);
    assert_eq!(body["tools"][1], json!({"googleSearch": {}}));
    assert_eq!(
        body["generationConfig"],
        json!({"temperature": 1.0, "thinkingConfig": {"includeThoughts": true, "thinkingLevel": "low"}, "candidateCount": 1})
    );
    assert_eq!(body["safetySettings"][0]["threshold"], "OFF");
    assert_eq!(
        body["toolConfig"],
        json!({"functionCallingConfig": {"mode": "ANY"}, "includeServerSideToolInvocations": true})
    );
    // gemini.md (a) 5, (a) 21
    let validated = json!({"functionCallingConfig": {"mode": "VALIDATED"}});
    let held = with(ModelSettings::new().with_extra_body("toolConfig", validated.clone()));
    assert_eq!(common::body(&held.with_tools(tools()))["toolConfig"], validated);
    for (key, value) in [("contents", json!([])), ("systemInstruction", json!({})), ("tools", json!({}))] {
        let error = encode(&with(ModelSettings::new().with_extra_body(key, value))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration, "{key}");
    }
    let streamed = json!({"functionCallingConfig": {"streamFunctionCallArguments": true}});
    let error = encode(&with(ModelSettings::new().with_extra_body("toolConfig", streamed))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

// P32
#[test]
fn instructions_have_their_place() {
    let asked = request([Message::system("Be kind."), Message::system("Be wise."), Message::user("go")])
        .with_settings(ModelSettings::new().with_system("Be brief."));
    assert_eq!(
        body(&asked)["systemInstruction"],
        json!({"parts": [{"text": "Be brief."}, {"text": "Be kind."}, {"text": "Be wise."}]})
    );
    assert_eq!(contents(&asked), json!([{"role": "user", "parts": [{"text": "go"}]}]));
}

// gemini.md 5
#[test]
fn the_list_of_allowed_tools_stays_where_no_call_can_be_demanded() {
    let mut capabilities = codec().capabilities().clone();
    capabilities.forced_tools = false;
    let weak = codec().with_capabilities(capabilities);
    let request = with(ModelSettings::new().with_unsupported(Unsupported::Degrade)).with_tools(tools());
    for choice in [ToolChoice::Required, ToolChoice::Tool("files.read".to_owned())] {
        let request = request.clone().with_tool_choice(choice);
        let list = request.clone().with_allowed_tools(["files.read"]);
        assert_eq!(encode_for(&list, &weak).unwrap().degradations.len(), 1);
        assert_eq!(
            body_for(&list, &weak)["toolConfig"],
            json!({"functionCallingConfig": {"mode": "VALIDATED", "allowedFunctionNames": ["files_read"]}})
        );
        assert_eq!(body_for(&request, &weak).get("toolConfig"), None);
    }
}
