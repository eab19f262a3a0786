//! The request's own fields and the model's (bedrock.md 2, 5).

use serde_json::{Value, json};

use super::{CLAUDE, CLAUDE_5, GPT, GPT_OSS, NOVA, NOVA_2, breaks, keeps, tool, validate_converse};

fn set(field: &str, value: Value) -> impl FnOnce(&mut Value) {
    move |body| body[field] = value
}

#[test]
fn the_model_id_is_judged_too() {
    let refused = |id: &str| validate_converse(id, &super::body()).expect_err("a bad id").message;
    assert_eq!(refused("a b"), "The provided model identifier is invalid.");
    assert!(refused("anthropic.claude-opus-5").contains("with on-demand throughput isn\u{2019}t supported"));
}

#[test]
fn foreign_fields_are_refused() {
    breaks(NOVA, "stream", "#: extraneous key [stream]", set("stream", json!(true)));
    breaks(NOVA, "modelId", "extraneous key [modelId]", set("modelId", json!(NOVA)));
}

#[test]
fn inference_settings_have_bounds() {
    let with = |config: Value| set("inferenceConfig", config);
    keeps(NOVA, with(json!({"maxTokens": 1, "temperature": 1, "topP": 0.0, "stopSequences": ["x"]})));
    keeps(NOVA, with(json!({})));
    for (key, value) in [
        ("maxTokens", json!(0)),
        ("maxTokens", json!(1.5)),
        ("temperature", json!(1.1)),
        ("topP", json!(-0.1)),
        ("topP", json!("1")),
        ("stopSequences", json!("x")),
    ] {
        breaks(NOVA, &format!("inferenceConfig.{key}"), "Member must", with(json!({key: value})));
    }
    breaks(NOVA, "inferenceConfig.stopSequences.0", "at least 1", with(json!({"stopSequences": [""]})));
    breaks(NOVA, "inferenceConfig.topK", "extraneous key [topK]", with(json!({"topK": 5})));
}

#[test]
fn claude_limits_sampling() {
    let both = || set("inferenceConfig", json!({"temperature": 0.5, "topP": 0.5}));
    breaks(CLAUDE, "", "cannot both be specified", both());
    let words = "The model returned the following errors: `temperature` is not supported for this model";
    breaks(CLAUDE_5, "", words, set("inferenceConfig", json!({"temperature": 0.5})));
}

#[test]
fn claudes_thinking_is_judged_as_its_own_api_does() {
    let with = |thinking: Value| set("additionalModelRequestFields", json!({"thinking": thinking}));
    let budget = || json!({"type": "enabled", "budget_tokens": 1024});
    keeps(CLAUDE, with(budget()));
    keeps(CLAUDE_5, with(json!({"type": "adaptive"})));
    breaks(
        CLAUDE_5,
        "thinking.type",
        "The model returned the following errors: thinking.type",
        with(budget()),
    );
    breaks(
        CLAUDE,
        "thinking.enabled.budget_tokens",
        "1024",
        with(json!({"type": "enabled", "budget_tokens": 9})),
    );
    breaks(CLAUDE, "", "must be greater than `thinking.budget_tokens`", |body| {
        with(budget())(body);
        body["inferenceConfig"] = json!({"maxTokens": 1024});
    });
    breaks(CLAUDE, "", "when tool_choice forces tool use", |body| {
        with(budget())(body);
        body["toolConfig"] = json!({"tools": [tool()], "toolChoice": {"any": {}}});
    });
}

#[test]
fn additional_fields_are_the_models_own() {
    let with = |fields: Value| set("additionalModelRequestFields", fields);
    keeps(CLAUDE, with(json!({"top_k": 50, "tool_choice": {"type": "auto"}})));
    let words = "Malformed input request: #: extraneous key [foo] is not permitted";
    let at = "additionalModelRequestFields";
    breaks(CLAUDE, &format!("{at}.foo"), words, with(json!({"foo": 1})));
    breaks(
        CLAUDE,
        &format!("{at}.context_management"),
        "extraneous",
        with(json!({"context_management": {}})),
    );
    keeps(
        CLAUDE,
        with(json!({"context_management": {}, "anthropic_beta": ["context-management-2025-06-27"]})),
    );
    keeps(NOVA, with(json!({"inferenceConfig": {"topK": 20}})));
    let reasoning = || json!({"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "low"}});
    keeps(NOVA_2, with(reasoning()));
    breaks(NOVA, &format!("{at}.reasoningConfig"), "extraneous", with(reasoning()));
    keeps(GPT_OSS, with(json!({"reasoning_effort": "low"})));
    keeps(GPT, with(json!({"reasoning": {"effort": "none"}})));
    let flat = format!("{at}.reasoning_effort");
    breaks(GPT, &flat, "Unknown parameter: 'reasoning_effort'.", with(json!({"reasoning_effort": "low"})));
    for (key, value) in [("temperature", json!(0.5)), ("stopSequences", json!(["END"]))] {
        let words = "This model doesn't support the";
        breaks(GPT, &format!("inferenceConfig.{key}"), words, |body| {
            body["inferenceConfig"] = json!({key: value})
        });
    }
    breaks(GPT_OSS, &flat, "[low, medium, high]", with(json!({"reasoning_effort": "none"})));
    breaks(
        "qwen.qwen3-32b-v1:0",
        &format!("{at}.reasoning_config"),
        "[low, high]",
        with(json!({"reasoning_config": "medium"})),
    );
    breaks(NOVA, at, "structure", with(json!([])));
}

#[test]
fn the_schema_of_an_answer_is_a_string() {
    let with = |schema: Value| {
        let definition = json!({"jsonSchema": {"schema": schema, "name": "out"}});
        set("outputConfig", json!({"textFormat": {"type": "json_schema", "structure": definition}}))
    };
    let good = json!({"type": "object", "properties": {}, "additionalProperties": false});
    keeps(CLAUDE, with(good.to_string().into()));
    keeps(GPT_OSS, with(good.to_string().into()));
    let at = "outputConfig.textFormat.structure.jsonSchema.schema";
    breaks(CLAUDE, at, "must be a string", with(good.clone()));
    breaks(CLAUDE, at, "not valid JSON", with("{".into()));
    breaks(CLAUDE, at, "additionalProperties", with(r#"{"type":"object","properties":{}}"#.into()));
    breaks(NOVA, "outputConfig.textFormat", "doesn't support", with(good.to_string().into()));
    let twice = |body: &mut Value| {
        with(good.to_string().into())(body);
        body["additionalModelRequestFields"] =
            json!({"output_config": {"format": {"type": "json_schema", "schema": good}}});
    };
    breaks(CLAUDE, "outputConfig.textFormat", "must not both be set", twice);
}

#[test]
fn effort_is_one_of_the_models_levels() {
    let with = |effort: &str| set("outputConfig", json!({"effort": effort}));
    keeps(CLAUDE_5, with("xhigh"));
    breaks(CLAUDE_5, "outputConfig.effort", "[low, medium, high, xhigh, max]", with("none"));
    breaks(CLAUDE, "", "does not support the effort parameter", with("low"));
    breaks(CLAUDE_5, "thinking.type", "not supported", |body| {
        with("max")(body);
        body["additionalModelRequestFields"] = json!({"thinking": {"type": "disabled"}});
    });
}

#[test]
fn small_fields_are_checked() {
    for (field, value, path) in [
        ("serviceTier", json!({"type": "fast"}), "serviceTier.type"),
        ("performanceConfig", json!({"latency": "low"}), "performanceConfig.latency"),
        ("guardrailConfig", json!({"guardrailIdentifier": "g"}), "guardrailConfig.guardrailVersion"),
        ("requestMetadata", json!({}), "requestMetadata"),
        ("requestMetadata", json!({"k": "x".repeat(257)}), "requestMetadata.k"),
        ("additionalModelResponseFieldPaths", json!(["stop"]), "additionalModelResponseFieldPaths.0"),
        ("system", json!("be brief"), "system"),
        ("system", json!([{"image": {}}]), "system.0.image"),
    ] {
        breaks(NOVA, path, "", set(field, value));
    }
    let system = || set("system", json!([{"text": "be brief"}]));
    breaks("mistral.mistral-7b-instruct-v0:2", "system", "doesn't support system messages", system());
}
