//! Options on each API: each reaches its member and nothing else, unset stays unset, and what an API does not know is an
//! error before anything is sent, or left out on record (P05, P28, P30, invariant 12).

mod held;

use std::sync::Arc;

use attache_conformance::{MockProvider, Reply};
use attache_core::capability::{ReasoningExcludes, ReasoningReplay};
use attache_core::settings::{CachePolicy, Unsupported};
use attache_core::{
    ChatRequest, Effort, ErrorKind, Message, ModelHandle, ModelSettings, Reasoning, ResponseFormat,
    ToolDefinition, ToolSet,
};
use attache_openai::{ChatCodec, Profiles};
use attache_tests::{APIS, Api, Party, texts_told};
use attache_transport::{Ask, Codec, HttpClient, RetryPolicy, Timeouts};
use serde_json::{Value, json};

/// The effect that an option should have on one API.
enum Expected {
    /// The member holds this.
    Member(&'static str, Value),
    /// The member is a text that begins so.
    Begins(&'static str, &'static str),
    /// The API does not know it.
    Unknown,
    /// It is what the API does anyway.
    AsItIs,
}

use self::held::{is_as_expected, is_left_out};
use Expected::{AsItIs, Begins, Member, Unknown};

fn schema() -> ResponseFormat {
    let schema = json!({"type": "object", "properties": {"total": {"type": "string"}}, "required": ["total"],
        "additionalProperties": false});
    ResponseFormat::JsonSchema { name: "Total".to_owned(), schema: schema.into(), strict: true }
}

/// Every option, by a name for messages, the field's name in [`ModelSettings`] and what it is set to.
fn options() -> Vec<(&'static str, &'static str, ModelSettings)> {
    let config = ModelSettings::new;
    vec![
        ("max_tokens", "max_tokens", config().with_max_tokens(4_000)),
        ("temperature", "temperature", config().with_temperature(0.5)),
        ("top_p", "top_p", config().with_top_p(0.75)),
        ("top_k", "top_k", config().with_top_k(7)),
        ("stop", "stop", config().with_stop(vec!["END".to_owned()])),
        ("seed", "seed", config().with_seed(11)),
        ("presence_penalty", "presence_penalty", config().with_presence_penalty(0.25)),
        ("frequency_penalty", "frequency_penalty", config().with_frequency_penalty(-0.25)),
        ("effort", "reasoning", config().with_reasoning(Reasoning::Effort(Effort::High))),
        ("budget", "reasoning", config().with_reasoning(Reasoning::Budget(2_048))),
        ("off", "reasoning", config().with_reasoning(Reasoning::Off)),
        ("one call", "parallel_tool_calls", config().with_parallel_tool_calls(false)),
        ("several calls", "parallel_tool_calls", config().with_parallel_tool_calls(true)),
        ("plain text", "response_format", config().with_response_format(ResponseFormat::Text)),
        ("json", "response_format", config().with_response_format(ResponseFormat::JsonObject)),
        ("schema", "response_format", config().with_response_format(schema())),
        ("uncached", "cache", config().with_cache(CachePolicy::Off)),
        ("cached", "cache", config().with_cache(CachePolicy::Short)),
        ("cached long", "cache", config().with_cache(CachePolicy::Long)),
        ("cited", "citations", config().with_citations(true)),
        ("extra member", "extra_body", config().with_extra_body("metadata", json!({"user_id": "u-1"}))),
    ]
}

/// The model that an option is tried on, and what it should do.
fn expected(api: Api, option: &str) -> (&'static str, Expected) {
    match api {
        Api::OpenAi => responses(option),
        Api::OpenAiChat => chat(option),
        Api::Anthropic => messages(option),
        Api::Gemini => gemini(option),
        Api::Bedrock => converse(option),
        Api::Cohere => cohere(option),
        Api::Ollama => ollama(option),
    }
}

fn responses(option: &str) -> (&'static str, Expected) {
    let reasons = matches!(option, "effort" | "budget" | "off" | "cached long");
    let expected = match option {
        "max_tokens" => Member("/max_output_tokens", json!(4_000)),
        "temperature" => Member("/temperature", json!(0.5)),
        "top_p" => Member("/top_p", json!(0.75)),
        "effort" => Member("/reasoning/effort", json!("high")),
        "off" => Member("/reasoning", json!({"effort": "none"})),
        "one call" => Member("/parallel_tool_calls", json!(false)),
        "several calls" => Member("/parallel_tool_calls", json!(true)),
        "json" => Member("/text", json!({"format": {"type": "json_object"}})),
        "schema" => Member("/text/format/type", json!("json_schema")),
        "cached" => Begins("/prompt_cache_key", "attache-"),
        "cached long" => Member("/prompt_cache_retention", json!("24h")),
        "extra member" => Member("/metadata", json!({"user_id": "u-1"})),
        "plain text" | "uncached" => AsItIs,
        _ => Unknown,
    };
    (if reasons { "gpt-5.1" } else { "gpt-4.1" }, expected)
}

fn chat(option: &str) -> (&'static str, Expected) {
    let reasons = matches!(option, "effort" | "budget" | "off" | "cached long");
    let expected = match option {
        "max_tokens" => Member("/max_completion_tokens", json!(4_000)),
        "temperature" => Member("/temperature", json!(0.5)),
        "top_p" => Member("/top_p", json!(0.75)),
        "stop" => Member("/stop", json!(["END"])),
        "seed" => Member("/seed", json!(11)),
        "presence_penalty" => Member("/presence_penalty", json!(0.25)),
        "frequency_penalty" => Member("/frequency_penalty", json!(-0.25)),
        "effort" => Member("/reasoning_effort", json!("high")),
        "off" => Member("/reasoning_effort", json!("none")),
        "one call" => Member("/parallel_tool_calls", json!(false)),
        "several calls" => Member("/parallel_tool_calls", json!(true)),
        "json" => Member("/response_format", json!({"type": "json_object"})),
        "schema" => Member("/response_format/type", json!("json_schema")),
        "cached" => Begins("/prompt_cache_key", "attache-"),
        "cached long" => Member("/prompt_cache_retention", json!("24h")),
        "extra member" => Member("/metadata", json!({"user_id": "u-1"})),
        "plain text" | "uncached" => AsItIs,
        _ => Unknown,
    };
    (if reasons { "gpt-5.1" } else { "gpt-4o" }, expected)
}

fn messages(option: &str) -> (&'static str, Expected) {
    let marker = |value: Value| Member("/messages/0/content/0/cache_control", value);
    let expected = match option {
        "max_tokens" => Member("/max_tokens", json!(4_000)),
        "temperature" => Member("/temperature", json!(0.5)),
        "top_p" => Member("/top_p", json!(0.75)),
        "top_k" => Member("/top_k", json!(7)),
        "stop" => Member("/stop_sequences", json!(["END"])),
        "effort" => Member("/output_config/effort", json!("high")),
        "budget" => Member("/thinking/budget_tokens", json!(2_048)),
        "off" => Member("/thinking", json!({"type": "disabled"})),
        "one call" => Member("/tool_choice/disable_parallel_tool_use", json!(true)),
        "schema" => Member("/output_config/format/type", json!("json_schema")),
        "cached" => marker(json!({"type": "ephemeral"})),
        "cached long" => marker(json!({"type": "ephemeral", "ttl": "1h"})),
        "extra member" => Member("/metadata", json!({"user_id": "u-1"})),
        "several calls" | "plain text" | "uncached" | "cited" => AsItIs,
        _ => Unknown,
    };
    (if option == "effort" { "claude-opus-4-6" } else { "claude-sonnet-4-5" }, expected)
}

fn gemini(option: &str) -> (&'static str, Expected) {
    let thinking = |value: Value| Member("/generationConfig/thinkingConfig", value);
    let expected = match option {
        "max_tokens" => Member("/generationConfig/maxOutputTokens", json!(4_000)),
        "temperature" => Member("/generationConfig/temperature", json!(0.5)),
        "top_p" => Member("/generationConfig/topP", json!(0.75)),
        "top_k" => Member("/generationConfig/topK", json!(7)),
        "stop" => Member("/generationConfig/stopSequences", json!(["END"])),
        "seed" => Member("/generationConfig/seed", json!(11)),
        "presence_penalty" => Member("/generationConfig/presencePenalty", json!(0.25)),
        "frequency_penalty" => Member("/generationConfig/frequencyPenalty", json!(-0.25)),
        "effort" => thinking(json!({"includeThoughts": true, "thinkingLevel": "high"})),
        "budget" => thinking(json!({"includeThoughts": true, "thinkingBudget": 2_048})),
        "off" => thinking(json!({"thinkingBudget": 0})),
        "json" => Member("/generationConfig/responseMimeType", json!("application/json")),
        "schema" => Member("/generationConfig/responseJsonSchema/type", json!("object")),
        "extra member" => Member("/labels", json!({"user_id": "u-1"})),
        // The conversation here is too short to be cached; see `caching.rs`.
        "several calls" | "plain text" | "uncached" | "cached" | "cached long" => AsItIs,
        _ => Unknown,
    };
    (if option == "effort" { "gemini-3-pro-preview" } else { "gemini-2.5-flash" }, expected)
}

fn converse(option: &str) -> (&'static str, Expected) {
    let expected = match option {
        "max_tokens" => Member("/inferenceConfig/maxTokens", json!(4_000)),
        "temperature" => Member("/inferenceConfig/temperature", json!(0.5)),
        "top_p" => Member("/inferenceConfig/topP", json!(0.75)),
        "top_k" => Member("/additionalModelRequestFields/top_k", json!(7)),
        "stop" => Member("/inferenceConfig/stopSequences", json!(["END"])),
        "effort" => Member("/additionalModelRequestFields/output_config/effort", json!("high")),
        "budget" => Member("/additionalModelRequestFields/thinking/budget_tokens", json!(2_048)),
        "off" => Member("/additionalModelRequestFields/thinking", json!({"type": "disabled"})),
        "one call" => {
            let own = json!({"type": "auto", "disable_parallel_tool_use": true});
            Member("/additionalModelRequestFields/tool_choice", own)
        }
        "schema" => Member("/outputConfig/textFormat/type", json!("json_schema")),
        "cached" => Member("/messages/0/content/1/cachePoint", json!({"type": "default"})),
        "cached long" => Member("/messages/0/content/1/cachePoint", json!({"type": "default", "ttl": "1h"})),
        "extra member" => Member("/requestMetadata", json!({"user_id": "u-1"})),
        "several calls" | "plain text" | "uncached" | "cited" => AsItIs,
        _ => Unknown,
    };
    let newer = "us.anthropic.claude-opus-4-6-v1";
    (if option == "effort" { newer } else { Api::Bedrock.model() }, expected)
}

fn cohere(option: &str) -> (&'static str, Expected) {
    let expected = match option {
        "max_tokens" => Member("/max_tokens", json!(4_000)),
        "temperature" => Member("/temperature", json!(0.5)),
        "top_p" => Member("/p", json!(0.75)),
        "top_k" => Member("/k", json!(7)),
        "stop" => Member("/stop_sequences", json!(["END"])),
        "seed" => Member("/seed", json!(11)),
        "presence_penalty" => Member("/presence_penalty", json!(0.25)),
        "budget" => Member("/thinking", json!({"type": "enabled", "token_budget": 2_048})),
        "off" => Member("/thinking", json!({"type": "disabled"})),
        "json" => Member("/response_format", json!({"type": "json_object"})),
        "schema" => Member("/response_format/json_schema/type", json!("object")),
        "extra member" => Member("/safety_mode", json!("STRICT")),
        // Prompts are cached by the provider.
        "several calls" | "plain text" | "uncached" | "cached" => AsItIs,
        // Penalties are 0 to 1, and there are no efforts.
        _ => Unknown,
    };
    ("command-a-reasoning-08-2025", expected)
}

fn ollama(option: &str) -> (&'static str, Expected) {
    let expected = match option {
        "max_tokens" => Member("/options/num_predict", json!(4_000)),
        "temperature" => Member("/options/temperature", json!(0.5)),
        "top_p" => Member("/options/top_p", json!(0.75)),
        "top_k" => Member("/options/top_k", json!(7)),
        "stop" => Member("/options/stop", json!(["END"])),
        "seed" => Member("/options/seed", json!(11)),
        "presence_penalty" => Member("/options/presence_penalty", json!(0.25)),
        "frequency_penalty" => Member("/options/frequency_penalty", json!(-0.25)),
        "effort" => Member("/think", json!("high")),
        "off" => Member("/think", json!(false)),
        "json" => Member("/format", json!("json")),
        "schema" => Member("/format/type", json!("object")),
        "extra member" => Member("/keep_alive", json!("5m")),
        // A prompt is kept as long as its model.
        "several calls" | "plain text" | "uncached" | "cached" => AsItIs,
        _ => Unknown,
    };
    (if option == "effort" { "gpt-oss:20b" } else { "qwen3:4b" }, expected)
}

fn tools() -> ToolSet {
    let names = ["find", "read"];
    let tool = |name| ToolDefinition::new(name, "Looks", json!({"type": "object", "properties": {}}));
    ToolSet::new(names.map(tool)).unwrap()
}

/// A request with options, and with tools where they are about tools.
fn request(field: &str, options: &ModelSettings) -> ChatRequest {
    let request =
        ChatRequest::new([Message::user("Answer in JSON.").shared()]).with_settings(options.clone());
    if field == "parallel_tool_calls" { request.with_tools(tools()) } else { request }
}

async fn model(api: Api, name: &str, config: ModelSettings) -> (MockProvider, ModelHandle) {
    let mock = MockProvider::start().await.unwrap();
    mock.respond_with(|_| Reply::new().text("{}"));
    let http = HttpClient::new(Timeouts::default());
    let model = api.reached_through(name, mock.url(), config, http, RetryPolicy::never()).unwrap();
    (mock, model)
}

// P05: the table of API × option
#[tokio::test]
async fn each_option_reaches_its_member_or_is_refused() {
    for api in APIS {
        for (option, field, set) in options() {
            let (name, expected) = expected(api, option);
            let context = format!("{} {name}: {option}", api.name());
            // Metadata that users attach to a request has another name on every API.
            let set = match (&expected, option) {
                (Member(pointer, value), "extra member") => {
                    ModelSettings::new().with_extra_body(&pointer[1..], value.clone())
                }
                _ => set,
            };
            let (mock, model) = model(api, name, ModelSettings::new()).await;
            model.complete(request(field, &ModelSettings::new())).await.unwrap();
            let plain = mock.requests()[0].json().clone();
            let done = model.complete(request(field, &set)).await;
            if let Unknown = expected {
                // Strict: an error before anything is sent.
                let error = done.unwrap_err();
                assert_eq!((error.kind(), error.param()), (ErrorKind::Unsupported, Some(field)), "{context}");
                assert_eq!(mock.requests().len(), 1, "{context}: nothing was sent");
                // Lenient: left out, on record, and the rest is as it was.
                let allowed = set.with_unsupported(Unsupported::Degrade);
                let done = model.complete(request(field, &allowed)).await.unwrap();
                let body = mock.requests()[1].json().clone();
                is_left_out(&context, field, &done.degradations, &plain, &body);
                assert!(mock.violations().is_empty(), "{context}: {:?}", mock.violations());
                continue;
            }
            let done = done.unwrap_or_else(|error| panic!("{context}: {error:?}"));
            assert!(done.degradations.is_empty(), "{context}: {:?}", done.degradations);
            assert!(mock.violations().is_empty(), "{context}: {:?}", mock.violations());
            let body = mock.requests()[1].json().clone();
            is_as_expected(&context, option, expected, &plain, &body);
        }
    }
}

// P05, P32: instructions of the options stand before those of the conversation
#[tokio::test]
async fn instructions_stand_first() {
    for party in Party::all() {
        let mock = party.mock().await.unwrap();
        mock.respond_with(|_| Reply::new().text("Hi"));
        let model = party.connected(&mock, ModelSettings::new().with_system("First.")).unwrap();
        let messages = [Message::system("Second."), Message::user("Hello")].map(Message::shared);
        model.complete(ChatRequest::new(messages.clone())).await.unwrap();
        let over = ModelSettings::new().with_system("Mine.");
        model.complete(ChatRequest::new(messages).with_settings(over)).await.unwrap();
        assert!(mock.violations().is_empty(), "{}: {:?}", party.name(), mock.violations());
        let requests = mock.requests();
        for (request, first) in requests.iter().zip(["First.", "Mine."]) {
            let told = texts_told(party.api, request.json());
            let roles: Vec<&str> = told.iter().map(|(role, _)| *role).collect();
            assert_eq!(roles.last(), Some(&"user"), "{}: {told:?}", party.name());
            assert!(
                roles[..roles.len() - 1].iter().all(|role| *role == "system"),
                "{}: {told:?}",
                party.name()
            );
            let system: Vec<&str> =
                told.iter().filter(|(role, _)| *role == "system").map(|(_, text)| text.as_str()).collect();
            let system = system.join(" ");
            let (one, two) = (system.find(first), system.find("Second."));
            assert!(one.is_some() && one < two, "{}: {system}", party.name());
        }
    }
}

// P32: each role by the rules of its API, instructions in the middle included
#[tokio::test]
async fn roles_are_placed_by_the_rules_of_each_api() {
    for party in Party::all() {
        let mock = party.mock().await.unwrap();
        mock.respond_with(|_| Reply::new().text("Hi"));
        let model = party.connected(&mock, ModelSettings::new()).unwrap();
        let talk = [
            Message::system("Rules one."),
            Message::user("Question one"),
            Message::user("and more"),
            Message::assistant("Answer one"),
            Message::system("Rules two."),
            Message::user("Question two"),
        ];
        model.complete(ChatRequest::new(talk.map(Message::shared))).await.unwrap();
        assert!(mock.violations().is_empty(), "{}: {:?}", party.name(), mock.violations());
        let told = texts_told(party.api, mock.requests()[0].json());
        let of = |role: &str| -> String {
            let texts = told.iter().filter(|(other, _)| *other == role).map(|(_, text)| text.as_str());
            texts.collect::<Vec<_>>().join(" ")
        };
        // Nothing is lost, nothing changes its side, and order is kept.
        assert_eq!(of("assistant"), "Answer one", "{}", party.name());
        let questions = of("user");
        let places = ["Question one", "and more", "Question two"].map(|text| questions.find(text));
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{}: {told:?}", party.name());
        let all = told.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join(" ");
        assert!(of("system").contains("Rules one."), "{}: {told:?}", party.name());
        assert_eq!(all.matches("Rules two.").count(), 1, "{}: {told:?}", party.name());
    }
}

// P05, S27: what a request sets wins over the model's options, field by field
#[tokio::test]
async fn options_of_the_request_win() {
    for api in APIS {
        let config = ModelSettings::new()
            .with_max_tokens(1_000)
            .with_temperature(0.5)
            .with_extra_header("x-team", "blue")
            .with_extra_header("x-task", "one");
        let (_, Member(tokens, _)) = expected(api, "max_tokens") else { panic!("{}", api.name()) };
        let (name, Member(temperature, _)) = expected(api, "temperature") else { panic!("{}", api.name()) };
        let (mock, model) = model(api, name, config).await;
        let over = ModelSettings::new().with_max_tokens(2_000).with_extra_header("X-Task", "two");
        model.complete(request("", &over)).await.unwrap();
        let sent = &mock.requests()[0];
        assert_eq!(sent.json().pointer(tokens), Some(&json!(2_000)), "{}", api.name());
        assert_eq!(sent.json().pointer(temperature), Some(&json!(0.5)), "{}", api.name());
        assert_eq!((sent.header("x-team"), sent.header("x-task")), ("blue", "two"), "{}", api.name());
        assert!(!format!("{model:?} {:?}", model.settings()).contains("blue"), "{}", api.name());
    }
}

/// A codec for each row of the table of models and for each profile of a compatible server.
fn every_model() -> Vec<(Api, Box<dyn Codec>)> {
    let mut all: Vec<(Api, Box<dyn Codec>)> = Vec::new();
    for api in APIS {
        let family = api.capabilities().family;
        for pattern in api.matrix().patterns(&family) {
            let inner = pattern.trim_matches('*').trim_end_matches(['-', '.']);
            let name = if pattern.starts_with('*') { format!("us.{inner}") } else { inner.replace('*', "x") };
            all.push((api, api.codec_of(&name)));
        }
    }
    for profile in Profiles::bundled().iter() {
        for model in ["some-model", "glm-4.7", "qwen3-32b", "deepseek-reasoner", "grok-3-mini", "kimi-k2.6"] {
            let mut codec = ChatCodec::new(Arc::clone(profile), model);
            codec.set_base_url("http://localhost/v1".to_owned());
            all.push((Api::OpenAiChat, Box::new(codec)));
        }
    }
    all
}

// Invariant 12, P05, P30: over all models, an option changes the request, or is refused, or is on record
#[test]
fn no_option_is_ignored_in_silence() {
    let (mut tried, mut silent) = (0, Vec::new());
    let models = every_model();
    for (api, codec) in &models {
        let capabilities = codec.capabilities();
        for (option, field, set) in options() {
            // Over Chat Completions some take none while they reason, which they always do. (openai.md A.6)
            let takes_tools = capabilities.tools
                && (capabilities.reasoning.iter().any(|way| way == "off")
                    || !capabilities.reasons_unasked
                    || !capabilities.reasoning_excludes(ReasoningExcludes::Tools));
            if option == "extra member" || field == "parallel_tool_calls" && !takes_tools {
                continue;
            }
            let encode = |set: &ModelSettings| {
                let encoded = codec.encode(Ask::new(&request(field, set), set, None))?;
                let body: Value = serde_json::from_slice(&encoded.parts.body.to_vec()).unwrap();
                Ok::<_, attache_core::ProviderError>((body, encoded.degradations))
            };
            // Such a model takes tools once it does not reason.
            let excluded = field == "parallel_tool_calls"
                && capabilities.reasons_unasked
                && capabilities.reasoning_excludes(ReasoningExcludes::Tools);
            let off = |settings: ModelSettings| match excluded {
                true => settings.with_reasoning(Reasoning::Off),
                false => settings,
            };
            let (base, set) = (off(ModelSettings::new()), off(set));
            // Some models need an option to be asked at all.
            let allowed = base.clone().with_unsupported(Unsupported::Degrade);
            let Ok((plain, left_out)) = encode(&base).or_else(|_| encode(&allowed)) else {
                silent.push(format!("{}: cannot be asked", codec.model_id()));
                continue;
            };
            tried += 1;
            let context = format!("{} {}: {option}", api.name(), codec.model_id());
            let (lenient, recorded) = match encode(&set.clone().with_unsupported(Unsupported::Degrade)) {
                Ok(encoded) => encoded,
                Err(error) => {
                    silent.push(format!("{context}: refused where it may be left out: {error}"));
                    continue;
                }
            };
            let recorded = recorded.len() > left_out.len();
            let as_it_is = match option {
                "plain text" | "uncached" => true,
                // These come anyway.
                "several calls" => capabilities.parallel_tools,
                "one call" => !capabilities.parallel_tools,
                "off" => {
                    capabilities.reasoning.is_empty()
                        && capabilities.reasoning_replay == ReasoningReplay::None
                }
                // It caches by itself, or by a request of its own.
                "cached" | "cached long" => {
                    matches!(capabilities.caching, attache_core::capability::Caching::Automatic)
                        || *api == Api::Gemini
                }
                // There is nothing to cite.
                "cited" => capabilities.cites(),
                _ => false,
            };
            match encode(&set) {
                Ok((strict, _)) if strict == plain && !as_it_is => silent.push(format!("{context}: ignored")),
                Ok((strict, _)) if strict != lenient && !recorded => {
                    silent.push(format!("{context}: changed without a record"));
                }
                Ok(_) => {}
                Err(error) if error.kind() != ErrorKind::Unsupported => {
                    silent.push(format!("{context}: {error:?}"));
                }
                Err(_) if !recorded => silent.push(format!("{context}: left out without a record")),
                Err(_) => {}
            }
        }
    }
    assert!(tried > 1_000, "{tried}");
    assert!(silent.is_empty(), "{} of {tried}:\n{}", silent.len(), silent.join("\n"));
}
