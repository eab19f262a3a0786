//! The table of options for the APIs that no mock speaks: expectations by their descriptions (cohere.md 2 and 5,
//! openai.md C.13).

use attache_core::ModelSettings;
use attache_core::settings::Unsupported;
use attache_core::{Degradation, ErrorKind, ProviderError};
use attache_tests::AnyApi;
use attache_transport::Ask;
use serde_json::{Value, json};

use super::held::{is_as_expected, is_left_out};
use super::{Expected, options, request};
use Expected::{AsItIs, Member, Unknown};

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

// P05: the table of API × option
#[test]
fn each_option_reaches_its_member_or_is_refused_where_no_mock_is() {
    for api in [AnyApi::Cohere, AnyApi::Ollama] {
        for (option, field, set) in options() {
            let (name, expected) = match api {
                AnyApi::Cohere => cohere(option),
                _ => ollama(option),
            };
            let context = format!("{} {name}: {option}", api.name());
            let set = match (&expected, option) {
                (Member(pointer, value), "extra member") => {
                    ModelSettings::new().with_extra_body(&pointer[1..], value.clone())
                }
                _ => set,
            };
            let codec = api.codec_of(name);
            let encode = |set: &ModelSettings| -> Result<(Value, Vec<Degradation>), ProviderError> {
                let encoded = codec.encode(Ask::new(&request(field, set), set, None))?;
                let body: Value = serde_json::from_slice(&encoded.parts.body.to_vec()).unwrap();
                api.judge_of(name, &body).unwrap_or_else(|broken| panic!("{context}: {broken}"));
                Ok((body, encoded.degradations))
            };
            let (plain, _) = encode(&ModelSettings::new()).unwrap();
            if let Unknown = expected {
                let error = match encode(&set) {
                    Err(error) => error,
                    Ok((body, _)) => panic!("{context}: ignored in {body}"),
                };
                assert_eq!((error.kind(), error.param()), (ErrorKind::Unsupported, Some(field)), "{context}");
                let (body, recorded) = encode(&set.with_unsupported(Unsupported::Degrade)).unwrap();
                is_left_out(&context, field, &recorded, &plain, &body);
                continue;
            }
            let (body, recorded) = encode(&set).unwrap_or_else(|error| panic!("{context}: {error:?}"));
            assert!(recorded.is_empty(), "{context}: {recorded:?}");
            is_as_expected(&context, option, expected, &plain, &body);
        }
    }
}
