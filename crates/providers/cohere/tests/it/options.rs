//! Options: each reaches its member, is refused before anything is sent, or is left out and recorded.

use attache_cohere::CohereCodec;
use attache_core::capability::Matrix;
use attache_core::settings::{CachePolicy, Unsupported};
use attache_core::{
    ChatRequest, Effort, ErrorKind, ModelSettings, Reasoning, ResponseFormat, ToolChoice, ToolDefinition,
    ToolSet,
};
use attache_transport::{Ask, Codec as _};
use serde_json::{Value, json};

use crate::common::{MODEL, body, codec, encode, shown, tools, user};

const OLD: &str = "command-r-plus-08-2024";
const PLAIN: &str = "command-a-03-2025";

fn lax(options: ModelSettings) -> ModelSettings {
    options.with_unsupported(Unsupported::Degrade)
}

/// The members that are sent for an option: strictly, or why none; and where the caller is lenient.
fn tried(model: &str, request: &ChatRequest, member: &str) -> (Result<Value, (ErrorKind, String)>, Value) {
    let codec = CohereCodec::new(model);
    let of = |encoded: attache_transport::EncodedRequest| {
        let body: Value = serde_json::from_slice(&encoded.parts.body.to_vec()).unwrap();
        (body.get(member).cloned().unwrap_or_default(), encoded.degradations)
    };
    let strict = codec.encode(Ask::new(request, &request.settings, None));
    let refused = strict.as_ref().err().map(|error| error.param().unwrap_or_default().to_owned());
    let degraded = codec.encode(Ask::new(request, &lax(request.settings.clone()), None)).map(of);
    let strict =
        strict.map_err(|error| (error.kind(), error.param().unwrap_or_default().to_owned())).map(|encoded| {
            let (value, degradations) = of(encoded);
            assert_eq!(degradations, []);
            value
        });
    let lenient = degraded.map_or(Value::Null, |(value, degradations)| {
        // A strict refusal is a lenient record.
        let recorded: Vec<_> = degradations.iter().map(|degradation| degradation.option.as_str()).collect();
        assert_eq!(recorded, refused.iter().map(String::as_str).collect::<Vec<_>>());
        value
    });
    (strict, lenient)
}

// P05
#[test]
fn every_option_reaches_its_member() {
    let options = ModelSettings::new()
        .with_max_tokens(100)
        .with_temperature(0.5)
        .with_top_p(0.9)
        .with_top_k(40)
        .with_stop(vec!["END".to_owned()])
        .with_seed(7)
        .with_presence_penalty(0.1)
        .with_frequency_penalty(0.2)
        .with_reasoning(Reasoning::Budget(500))
        .with_parallel_tool_calls(true)
        .with_cache(CachePolicy::Short)
        .with_extra_body("logprobs", true)
        .with_extra_body("safety_mode", "STRICT")
        .with_extra_body("seed", 8);
    let request = ChatRequest::new([user("Hi")])
        .with_tools(tools())
        .with_tool_choice(ToolChoice::Required)
        .with_settings(options);
    assert!(encode(&codec(), &request).degradations.is_empty());
    let mut body = body(&codec().with_strict_tools(true), &request);
    body.as_object_mut().unwrap().retain(|name, _| !matches!(name.as_str(), "tools" | "messages"));
    insta::assert_snapshot!(shown(&body));
}

#[test]
fn reasoning_by_model() {
    let table = |model: &str, reasoning: Reasoning| {
        let request =
            ChatRequest::new([user("Hi")]).with_settings(ModelSettings::new().with_reasoning(reasoning));
        tried(model, &request, "thinking")
    };
    let refused = || Err((ErrorKind::Unsupported, "reasoning".to_owned()));
    let (none, off) = (Value::Null, json!({"type": "disabled"}));
    let budget = |tokens: u32| json!({"type": "enabled", "token_budget": tokens});
    assert_eq!(table(MODEL, Reasoning::Budget(500)), (Ok(budget(500)), budget(500)));
    assert_eq!(table(MODEL, Reasoning::Budget(0)), (refused(), budget(1)));
    assert_eq!(table(MODEL, Reasoning::Off), (Ok(off.clone()), off));
    assert_eq!(table(MODEL, Reasoning::Effort(Effort::Low)), (refused(), none.clone()));
    assert_eq!(table(PLAIN, Reasoning::Off), (Ok(none.clone()), none.clone()), "it has none to switch off");
    assert_eq!(table(PLAIN, Reasoning::Budget(500)), (refused(), none));
    let mut unknown = codec();
    unknown.set_matrix(&Matrix::parse("[cohere]\nreasoning = []").unwrap());
    let options = ModelSettings::new().with_reasoning(Reasoning::Off);
    let error = unknown.encode(Ask::new(&ChatRequest::new([user("Hi")]), &options, None)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "how it is switched off is not known");
}

#[test]
fn choices_of_tools() {
    let table = |model: &str, choice: ToolChoice| {
        tried(
            model,
            &ChatRequest::new([user("Hi")]).with_tools(tools()).with_tool_choice(choice),
            "tool_choice",
        )
    };
    let refused = || Err((ErrorKind::Unsupported, "tool_choice".to_owned()));
    assert_eq!(table(PLAIN, ToolChoice::Auto), (Ok(Value::Null), Value::Null));
    assert_eq!(table(PLAIN, ToolChoice::None), (Ok(json!("NONE")), json!("NONE")));
    assert_eq!(table(PLAIN, ToolChoice::Required), (Ok(json!("REQUIRED")), json!("REQUIRED")));
    assert_eq!(table(PLAIN, ToolChoice::Tool("clock".into())), (refused(), json!("REQUIRED")));
    assert_eq!(table(OLD, ToolChoice::Required), (refused(), Value::Null));
    let invalid = Err((ErrorKind::InvalidRequest, "tool_choice".to_owned()));
    assert_eq!(table(PLAIN, ToolChoice::Tool("nobody".into())).0, invalid);

    let only = ToolSet::new([ToolDefinition::new("clock", "", json!({}))]).unwrap();
    let request = ChatRequest::new([user("Hi")]).with_tool_choice(ToolChoice::Tool("clock".into()));
    assert_eq!(tried(PLAIN, &request.with_tools(only), "tool_choice").0, Ok(json!("REQUIRED")));
    let bare = ChatRequest::new([user("Hi")]).with_tool_choice(ToolChoice::Required);
    assert_eq!(tried(PLAIN, &bare, "tool_choice").0, invalid);
    let seeing = ChatRequest::new([user("Hi")]).with_tools(tools());
    let (strict, _) = tried("command-a-vision-07-2025", &seeing, "tools");
    assert_eq!(strict, Err((ErrorKind::Unsupported, "tools".to_owned())));
}

#[test]
fn the_form_of_the_answer() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let asked = |format: ResponseFormat| {
        ChatRequest::new([user("Hi")]).with_settings(ModelSettings::new().with_response_format(format))
    };
    let follows =
        || ResponseFormat::JsonSchema { name: "x".into(), schema: schema.clone().into(), strict: true };
    let sent = |request: &ChatRequest| tried(PLAIN, request, "response_format");
    let held = json!({"type": "json_object", "json_schema": schema});
    assert_eq!(sent(&asked(follows())), (Ok(held.clone()), held));
    assert_eq!(sent(&asked(ResponseFormat::JsonObject)).0, Ok(json!({"type": "json_object"})));
    assert_eq!(sent(&asked(ResponseFormat::Text)).0, Ok(Value::Null));
    let refused = Err((ErrorKind::Unsupported, "response_format".to_owned()));
    assert_eq!(sent(&asked(follows()).with_tools(tools())), (refused, Value::Null), "not beside tools");
}

#[test]
fn ranges_and_other_limits() {
    let of = |options: ModelSettings, member: &str| {
        tried(PLAIN, &ChatRequest::new([user("Hi")]).with_tools(tools()).with_settings(options), member)
    };
    let refused = |option: &str| Err((ErrorKind::Unsupported, option.to_owned()));
    let options = ModelSettings::new;
    assert_eq!(of(options().with_top_p(1.0), "p"), (refused("top_p"), json!(0.99)));
    assert_eq!(of(options().with_top_k(501), "k"), (refused("top_k"), json!(500)));
    assert_eq!(of(options().with_temperature(-0.1), "temperature"), (refused("temperature"), json!(0.0)));
    assert_eq!(
        of(options().with_presence_penalty(1.5), "presence_penalty"),
        (refused("presence_penalty"), json!(1.0))
    );
    let six = || options().with_stop(["a", "b", "c", "d", "e", "f"].map(str::to_owned).to_vec());
    assert_eq!(of(six(), "stop_sequences"), (refused("stop"), json!(["a", "b", "c", "d", "e"])));
    let empty = options().with_stop(vec!["a".to_owned(), String::new()]);
    assert_eq!(of(empty, "stop_sequences"), (refused("stop"), json!(["a"])));
    let one_at_a_time = options().with_parallel_tool_calls(false);
    assert_eq!(of(one_at_a_time, "parallel_tool_calls"), (refused("parallel_tool_calls"), Value::Null));
    assert_eq!(of(options().with_cache(CachePolicy::Long), "cache"), (refused("cache"), Value::Null));
    assert_eq!(of(options().with_cache(CachePolicy::Off), "cache").0, Ok(Value::Null));
    for number in [f64::NAN, f64::INFINITY] {
        let (strict, _) = of(options().with_temperature(number), "temperature");
        assert_eq!(strict, Err((ErrorKind::Configuration, "temperature".to_owned())));
    }
    for reserved in ["model", "messages", "tools"] {
        let (strict, _) = of(options().with_extra_body(reserved, json!([])), reserved);
        assert_eq!(strict, Err((ErrorKind::Configuration, reserved.to_owned())));
    }
}

// Invariant 12: a tool that the server does not enforce is not strict in silence
#[test]
fn a_strict_tool_needs_leave_or_someone_who_holds_calls_to_it() {
    let codec = CohereCodec::new(MODEL);
    let tools =
        ToolSet::new([attache_core::ToolDefinition::new("a", "", json!({})).with_strict(true)]).unwrap();
    let request = |tools: ToolSet| ChatRequest::new([user("Hi")]).with_tools(tools);
    let options = ModelSettings::new();
    assert_eq!(codec.check_tools(&tools, &options).refused.len(), 1);
    let refused = codec.encode(Ask::new(&request(tools.clone()), &options, None)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unsupported);
    let held = tools.clone().with_validation(true);
    assert_eq!(codec.check_tools(&held, &options).loosened[0].keyword, "strict");
    assert!(codec.encode(Ask::new(&request(held), &options, None)).unwrap().degradations.is_empty());
    // It enforces all schemas or none.
    let all = codec.with_strict_tools(true);
    assert!(all.check_tools(&tools, &options).refused.is_empty());
    let encoded = all.encode(Ask::new(&request(tools), &options, None)).unwrap();
    let body: Value = serde_json::from_slice(&encoded.parts.body.to_vec()).unwrap();
    assert_eq!(body["strict_tools"], json!(true));
}
