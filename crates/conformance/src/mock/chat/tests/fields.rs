//! The request's own fields (openai.md A.1, A.4, A.6).

use serde_json::{Value, json};

use super::{breaks, keeps};
use crate::validate_chat;

#[test]
fn model_and_messages_are_required() {
    keeps(|_| {});
    let violation =
        validate_chat(&json!({"messages": [{"role": "user", "content": "hi"}]})).expect_err("no model");
    assert_eq!(violation.code, Some("missing_required_parameter"));
    breaks("messages", "Missing required parameter", |body| {
        body.as_object_mut().expect("an object").remove("messages");
    });
    breaks("messages", "empty array", |body| body["messages"] = json!([]));
    breaks("messages", "expected an array", |body| body["messages"] = json!("hi"));
    breaks("model", "non-empty string", |body| body["model"] = json!(""));
    assert!(validate_chat(&json!([])).is_err());
}

#[test]
fn unknown_fields_are_rejected() {
    keeps(|body| body["store"] = json!(false));
    breaks("foo", "Unknown parameter: 'foo'", |body| body["foo"] = Value::Null);
    breaks("messages[0].foo", "Unknown parameter", |body| body["messages"][0]["foo"] = json!(1));
}

#[test]
fn stream_options_need_a_stream() {
    keeps(|body| {
        body["stream"] = json!(true);
        body["stream_options"] = json!({"include_usage": true, "include_obfuscation": false});
    });
    breaks("stream_options", "only allowed when 'stream'", |body| {
        body["stream_options"] = json!({"include_usage": true});
    });
    breaks("stream", "a boolean", |body| body["stream"] = json!("true"));
}

#[test]
fn only_one_token_limit_may_be_sent() {
    keeps(|body| body["max_tokens"] = json!(1));
    keeps(|body| body["max_completion_tokens"] = json!(1));
    breaks("max_tokens", "at the same time", |body| {
        body["max_tokens"] = json!(1);
        body["max_completion_tokens"] = json!(1);
    });
    breaks("max_completion_tokens", "below minimum", |body| body["max_completion_tokens"] = json!(0));
    breaks("max_tokens", "integer", |body| body["max_tokens"] = json!(1.5));
}

#[test]
fn numbers_have_ranges() {
    keeps(|body| {
        body["temperature"] = json!(2);
        body["top_p"] = json!(0);
        body["presence_penalty"] = json!(-2);
        body["frequency_penalty"] = json!(2.0);
        body["seed"] = json!(-1);
    });
    breaks("temperature", "above maximum", |body| body["temperature"] = json!(2.1));
    breaks("top_p", "below minimum", |body| body["top_p"] = json!(-0.1));
    breaks("presence_penalty", "decimal", |body| body["presence_penalty"] = json!("1"));
    breaks("n", "above maximum", |body| body["n"] = json!(129));
    breaks("seed", "integer", |body| body["seed"] = json!(0.5));
}

#[test]
fn at_most_four_stops() {
    keeps(|body| body["stop"] = json!("end"));
    keeps(|body| body["stop"] = json!(["a", "b", "c", "d"]));
    breaks("stop", "too long", |body| body["stop"] = json!(["a", "b", "c", "d", "e"]));
    breaks("stop", "empty array", |body| body["stop"] = json!([]));
    breaks("stop", "array of strings", |body| body["stop"] = json!([1]));
}

#[test]
fn metadata_and_identifiers_are_bounded() {
    keeps(|body| {
        body["metadata"] = json!({"k": "v"});
        body["safety_identifier"] = json!("u".repeat(128));
    });
    breaks("safety_identifier", "string too long", |body| body["safety_identifier"] = json!("u".repeat(129)));
    breaks("metadata.k", "string too long", |body| body["metadata"] = json!({"k": "v".repeat(513)}));
    breaks("metadata.k", "a string", |body| body["metadata"] = json!({"k": 1}));
    breaks("metadata", "too many", |body| {
        body["metadata"] = (0..17).map(|key| (key.to_string(), json!("v"))).collect();
    });
}

#[test]
fn closed_lists_are_closed() {
    keeps(|body| body["verbosity"] = json!("low"));
    breaks("verbosity", "Invalid value: 'loud'", |body| body["verbosity"] = json!("loud"));
    breaks("service_tier", "Invalid value", |body| body["service_tier"] = json!("gold"));
}

#[test]
fn reasoning_models_take_no_sampling() {
    for model in ["o3", "gpt-5-mini", "gpt-5.5"] {
        keeps(|body| {
            body["model"] = json!(model);
            body["temperature"] = json!(1);
            body["max_completion_tokens"] = json!(9);
        });
        breaks("temperature", "Unsupported value", |body| {
            body["model"] = json!(model);
            body["temperature"] = json!(0.2);
        });
        breaks("max_tokens", "Use 'max_completion_tokens'", |body| {
            body["model"] = json!(model);
            body["max_tokens"] = json!(9);
        });
    }
    breaks("logprobs", "not supported with this model", |body| {
        body["model"] = json!("o3");
        body["logprobs"] = json!(true);
    });
    // Sampling is free while the effort is `none`.
    keeps(|body| {
        body["model"] = json!("gpt-5.1");
        body["top_p"] = json!(0.5);
    });
    breaks("top_p", "Unsupported value", |body| {
        body["model"] = json!("gpt-5.1");
        body["reasoning_effort"] = json!("low");
        body["top_p"] = json!(0.5);
    });
    breaks("stop", "not supported with this model", |body| {
        body["model"] = json!("o3");
        body["stop"] = json!("x");
    });
}

#[test]
fn efforts_depend_on_the_model() {
    let with = |model: &'static str, effort: &'static str| {
        move |body: &mut Value| {
            body["model"] = json!(model);
            body["reasoning_effort"] = json!(effort);
        }
    };
    keeps(with("gpt-5", "minimal"));
    keeps(with("gpt-5.6", "none"));
    keeps(with("unknown", "none"));
    breaks("reasoning_effort", "Unsupported parameter", with("gpt-4o", "low"));
    breaks("reasoning_effort", "Invalid value: 'none'", with("o3", "none"));
    breaks("reasoning_effort", "Invalid value: 'minimal'", with("gpt-5.6", "minimal"));
    breaks("reasoning_effort", "Invalid value: 'huge'", with("unknown", "huge"));
}

// openai.md D 20
#[test]
fn late_models_refuse_tools_while_they_reason() {
    let with = |model: &'static str, effort: Value| {
        move |body: &mut Value| {
            body["model"] = json!(model);
            body["reasoning_effort"] = effort;
            body["tools"] = json!([{"type": "function", "function": {"name": "f"}}]);
        }
    };
    keeps(with("gpt-5.5", json!("none")));
    keeps(with("gpt-5.4", Value::Null));
    keeps(with("gpt-5.1", json!("high")));
    breaks("reasoning_effort", "/v1/responses", with("gpt-5.5", Value::Null));
    breaks("reasoning_effort", "/v1/responses", with("gpt-5.4", json!("low")));
    breaks("reasoning_effort", "/v1/responses", with("gpt-5.2", json!("low")));
}

#[test]
fn response_formats_are_checked() {
    let with = |format: Value| move |body: &mut Value| body["response_format"] = format;
    let schema = json!({"type": "object", "properties": {}, "required": [], "additionalProperties": false});
    keeps(with(json!({"type": "text"})));
    keeps(with(
        json!({"type": "json_schema", "json_schema": {"name": "Out", "schema": schema, "strict": true}}),
    ));
    keeps(with(json!({"type": "json_schema", "json_schema": {"name": "Out", "schema": {"type": "string"}}})));
    keeps(|body| {
        body["messages"][0]["content"] = json!([{"type": "text", "text": "answer in JSON"}]);
        body["response_format"] = json!({"type": "json_object"});
    });
    breaks("messages", "the word 'json'", with(json!({"type": "json_object"})));
    breaks("response_format.type", "Invalid value: 'xml'", with(json!({"type": "xml"})));
    breaks("response_format.foreign", "Unknown", with(json!({"type": "json_object", "foreign": 1})));
    breaks("response_format.json_schema", "Missing", with(json!({"type": "json_schema"})));
    breaks(
        "response_format.json_schema.name",
        "match pattern",
        with(json!({"type": "json_schema", "json_schema": {"name": "a b", "schema": {}}})),
    );
    breaks(
        "response_format.json_schema.schema",
        "additionalProperties",
        with(
            json!({"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object"}, "strict": true}}),
        ),
    );
}
