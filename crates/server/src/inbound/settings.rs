//! The settings that a client sends with a request, as they are kept with what the user says.

use attache_core::{Effort, ModelSettings, Reasoning, ResponseFormat};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The settings that dialects know.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
struct Kept {
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stop: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    presence_penalty: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    frequency_penalty: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<KeptReasoning>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<KeptFormat>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
enum KeptReasoning {
    Off,
    Effort(Effort),
    Budget(u32),
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
enum KeptFormat {
    Text,
    JsonObject,
    JsonSchema { name: String, schema: Value, strict: bool },
}

/// The settings as they are kept.
pub(super) fn kept(settings: &ModelSettings) -> Option<Value> {
    let reasoning = match &settings.reasoning {
        Some(Reasoning::Off) => Some(KeptReasoning::Off),
        Some(Reasoning::Effort(effort)) => Some(KeptReasoning::Effort(*effort)),
        Some(Reasoning::Budget(tokens)) => Some(KeptReasoning::Budget(*tokens)),
        _ => None,
    };
    let response_format = match &settings.response_format {
        Some(ResponseFormat::Text) => Some(KeptFormat::Text),
        Some(ResponseFormat::JsonObject) => Some(KeptFormat::JsonObject),
        Some(ResponseFormat::JsonSchema { name, schema, strict }) => Some(KeptFormat::JsonSchema {
            name: name.clone(),
            schema: schema.value().clone(),
            strict: *strict,
        }),
        _ => None,
    };
    let kept = Kept {
        max_tokens: settings.max_tokens,
        temperature: settings.temperature,
        top_p: settings.top_p,
        stop: settings.stop.clone(),
        seed: settings.seed,
        presence_penalty: settings.presence_penalty,
        frequency_penalty: settings.frequency_penalty,
        parallel_tool_calls: settings.parallel_tool_calls,
        reasoning,
        response_format,
    };
    serde_json::to_value(kept).ok()
}

/// The settings again.
pub(super) fn of_kept(kept: &Value) -> Option<ModelSettings> {
    let kept = Kept::deserialize(kept).ok()?;
    let mut settings = ModelSettings::new();
    settings.max_tokens = kept.max_tokens;
    settings.temperature = kept.temperature;
    settings.top_p = kept.top_p;
    settings.stop = kept.stop;
    settings.seed = kept.seed;
    settings.presence_penalty = kept.presence_penalty;
    settings.frequency_penalty = kept.frequency_penalty;
    settings.parallel_tool_calls = kept.parallel_tool_calls;
    settings.reasoning = kept.reasoning.map(|reasoning| match reasoning {
        KeptReasoning::Off => Reasoning::Off,
        KeptReasoning::Effort(effort) => Reasoning::Effort(effort),
        KeptReasoning::Budget(tokens) => Reasoning::Budget(tokens),
    });
    settings.response_format = kept.response_format.map(|format| match format {
        KeptFormat::Text => ResponseFormat::Text,
        KeptFormat::JsonObject => ResponseFormat::JsonObject,
        KeptFormat::JsonSchema { name, schema, strict } => {
            ResponseFormat::JsonSchema { name, schema: schema.into(), strict }
        }
    });
    Some(settings)
}
