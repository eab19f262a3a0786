//! The request's own fields (anthropic.md 2, 8).

use serde_json::{Value, json};

use super::{Rules, breaks, breaks_with, judged, keeps};
use crate::validate_messages;

fn set(key: &'static str, value: Value) -> impl FnOnce(&mut Value) {
    move |body| body[key] = value
}

#[test]
fn model_messages_and_max_tokens_are_required() {
    keeps(|_| {});
    for key in ["model", "messages", "max_tokens"] {
        breaks(key, "Field required", |body| {
            body.as_object_mut().expect("an object").remove(key);
        });
    }
    breaks("messages", "between 1 and", set("messages", json!([])));
    breaks("max_tokens", "valid integer", set("max_tokens", json!("100")));
    breaks("max_tokens", "maximum allowed", set("max_tokens", json!(200_000)));
    assert!(validate_messages(&json!("x")).is_err());
}

#[test]
fn unknown_fields_are_rejected_at_every_level() {
    let words = "Extra inputs are not permitted";
    keeps(set("metadata", json!({"user_id": "u"})));
    breaks("n", words, set("n", json!(1)));
    breaks("metadata.name", words, set("metadata", json!({"name": "u"})));
    breaks("messages.0.name", words, |body| body["messages"][0]["name"] = json!("u"));
    breaks("messages.0.content.0.text.extra", words, |body| {
        body["messages"][0]["content"] = json!([{"type": "text", "text": "x", "extra": 1}]);
    });
    let beta = Rules::new().with_anthropic_betas(["compact-2026-01-12"]);
    breaks("context_management", words, set("context_management", json!({})));
    assert_eq!(judged(&beta, set("context_management", json!({}))), Ok(()));
}

#[test]
fn no_tokens_at_all_only_fill_the_cache() {
    keeps(set("max_tokens", json!(0)));
    breaks("max_tokens", "`stream`", |body| {
        body["max_tokens"] = json!(0);
        body["stream"] = json!(true);
    });
}

#[test]
fn stop_sequences_have_something_to_see() {
    keeps(set("stop_sequences", json!(["END"])));
    breaks("stop_sequences", "non-whitespace", set("stop_sequences", json!([" \n"])));
    breaks("stop_sequences.0", "valid string", set("stop_sequences", json!([1])));
}

#[test]
fn closed_lists_and_types_are_checked() {
    keeps(set("service_tier", json!("standard_only")));
    breaks("service_tier", "'auto'", set("service_tier", json!("gold")));
    breaks("speed", "'fast'", set("speed", json!("slow")));
    breaks("stream", "boolean", set("stream", json!(1)));
}

// anthropic.md (a) 22
#[test]
fn late_models_take_no_sampling_parameters() {
    let with = |model: &'static str, key: &'static str, value: Value| {
        move |body: &mut Value| {
            body["model"] = json!(model);
            body[key] = value;
        }
    };
    keeps(with("claude-sonnet-4-5", "temperature", json!(0.3)));
    keeps(with("claude-opus-4-6", "top_k", json!(5)));
    for model in ["claude-opus-4-7", "claude-sonnet-5", "claude-fable-5"] {
        breaks("", "`temperature` is not supported", with(model, "temperature", json!(0.3)));
        breaks("", "`top_k` is not supported", with(model, "top_k", json!(5)));
    }
    breaks("temperature", "0 to 1", with("claude-sonnet-4-5", "temperature", json!(1.1)));
    breaks("top_k", "integer", with("claude-sonnet-4-5", "top_k", json!(-1)));
    breaks("", "cannot both be specified", |body| {
        body["model"] = json!("claude-sonnet-4-5");
        body["temperature"] = json!(0.5);
        body["top_p"] = json!(0.5);
    });
}

// anthropic.md 1, (a) 23
#[test]
fn the_late_version_knows_no_sampling_parameters() {
    let rules = Rules::new().with_anthropic_version("2026-10-21");
    breaks_with(&rules, "temperature", "Extra inputs", set("temperature", json!(1)));
    assert_eq!(judged(&rules, |_| {}), Ok(()));
}

// anthropic.md (a) 27
#[test]
fn effort_levels_depend_on_the_model() {
    let with = |model: &'static str, effort: &'static str| {
        move |body: &mut Value| {
            body["model"] = json!(model);
            body["output_config"] = json!({"effort": effort});
        }
    };
    keeps(with("claude-opus-4-5", "high"));
    keeps(with("claude-opus-4-6", "max"));
    keeps(with("claude-sonnet-5", "xhigh"));
    keeps(with("mock-model", "max"));
    breaks("", "does not support the effort", with("claude-sonnet-4-5", "low"));
    breaks(
        "",
        "effort level 'xhigh'. Supported levels: low, medium, high, max",
        with("claude-opus-4-6", "xhigh"),
    );
    breaks("output_config.effort", "'xhigh'", with("mock-model", "huge"));
}

#[test]
fn an_output_format_is_a_strict_schema() {
    let with = |format: Value| set("output_config", json!({"format": format}));
    let schema = json!({"type": "object", "properties": {}, "additionalProperties": false});
    keeps(with(json!({"type": "json_schema", "schema": schema})));
    breaks("output_config.format.schema", "Field required", with(json!({"type": "json_schema"})));
    breaks("output_config.format.type", "'json_schema'", with(json!({"type": "json_object"})));
    breaks(
        "output_config.format.schema",
        "'additionalProperties'",
        with(json!({"type": "json_schema", "schema": {"type": "object"}})),
    );
    breaks("output_config.task_budget", "Extra inputs", set("output_config", json!({"task_budget": {}})));
}

// anthropic.md (a) 9
#[test]
fn the_system_prompt_is_no_blank_text() {
    keeps(set("system", json!("be brief")));
    keeps(set("system", json!([{"type": "text", "text": "be brief"}])));
    breaks("system", "must be non-empty", set("system", json!("")));
    breaks("system", "non-whitespace", set("system", json!([{"type": "text", "text": " "}])));
    breaks("system.0.text", "must be non-empty", set("system", json!([{"type": "text", "text": ""}])));
    breaks("system.0", "'image' is not allowed", set("system", json!([{"type": "image"}])));
}
