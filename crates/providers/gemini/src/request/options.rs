//! The options of a request as members of its body (gemini.md 2, 4, 6).

use attache_core::{
    Effort, ModelSettings, ProviderError, Reasoning, ReasoningReplay, ResponseFormat, StructuredOutput,
};
use attache_transport::{Codec as _, Refusals};
use serde_json::{Map, Value, json};

use super::Ask;
use super::schema::fit;
use crate::capabilities::knows;

/// The most stop sequences that the API takes.
const MAX_STOPS: usize = 5;

/// The member `generationConfig`, possibly empty.
pub(super) fn generation(
    ask: Ask<'_>,
    refusals: &mut Refusals<'_>,
) -> Result<Map<String, Value>, ProviderError> {
    let config = ask.config;
    let mut members = Map::new();
    if let Some(tokens) = config.max_tokens {
        members.insert("maxOutputTokens".to_owned(), json!(tokens));
    }
    sampling(ask, &mut members, refusals)?;
    stops(config, &mut members, refusals)?;
    if let Some(seed) = config.seed {
        match i32::try_from(seed) {
            Ok(seed) => {
                members.insert("seed".to_owned(), json!(seed));
            }
            Err(_) => refusals.refuse("seed", "it must be a number of 32 bits", "it was left out")?,
        }
    }
    for (option, name, value) in [
        ("presence_penalty", "presencePenalty", config.presence_penalty),
        ("frequency_penalty", "frequencyPenalty", config.frequency_penalty),
    ] {
        if let Some(value) = value {
            members.insert(name.to_owned(), json!(within(option, value, -2.0, 2.0, refusals)?));
        }
    }
    format(ask, &mut members, refusals)?;
    if let Some(thinking) = thinking(ask, refusals)? {
        members.insert("thinkingConfig".to_owned(), thinking);
    }
    Ok(members)
}

fn sampling(
    ask: Ask<'_>,
    members: &mut Map<String, Value>,
    refusals: &mut Refusals<'_>,
) -> Result<(), ProviderError> {
    let config = ask.config;
    if !ask.codec.capabilities().sampling {
        for (option, set) in [
            ("temperature", config.temperature.is_some()),
            ("top_p", config.top_p.is_some()),
            ("top_k", config.top_k.is_some()),
        ] {
            if set {
                refusals.refuse(option, "the model takes no sampling options", "it was left out")?;
            }
        }
        return Ok(());
    }
    if let Some(temperature) = config.temperature {
        let temperature = within("temperature", temperature, 0.0, 2.0, refusals)?;
        members.insert("temperature".to_owned(), json!(temperature));
    }
    if let Some(top_p) = config.top_p {
        members.insert("topP".to_owned(), json!(within("top_p", top_p, 0.0, 1.0, refusals)?));
    }
    if let Some(top_k) = config.top_k {
        members.insert("topK".to_owned(), json!(top_k));
    }
    Ok(())
}

/// The value, or the nearest that the API takes.
fn within(
    option: &str,
    value: f64,
    least: f64,
    most: f64,
    refusals: &mut Refusals<'_>,
) -> Result<f64, ProviderError> {
    let value = Refusals::finite(option, value)?;
    if !(least..=most).contains(&value) {
        let why = format!("it must lie between {least} and {most}");
        refusals.refuse(option, &why, "the nearest was taken")?;
    }
    Ok(value.clamp(least, most))
}

fn stops(
    config: &ModelSettings,
    members: &mut Map<String, Value>,
    refusals: &mut Refusals<'_>,
) -> Result<(), ProviderError> {
    let Some(stops) = &config.stop else { return Ok(()) };
    let filled: Vec<&str> = stops.iter().map(String::as_str).filter(|stop| !stop.is_empty()).collect();
    if filled.len() < stops.len() {
        refusals.refuse("stop", "a stop sequence must not be empty", "empty ones were left out")?;
    }
    if filled.len() > MAX_STOPS {
        let why = format!("there may be {MAX_STOPS} stop sequences");
        refusals.refuse("stop", &why, "the first were taken")?;
    }
    if !filled.is_empty() {
        let filled = filled.get(..MAX_STOPS).unwrap_or(&filled);
        members.insert("stopSequences".to_owned(), json!(filled));
    }
    Ok(())
}

fn thinking(ask: Ask<'_>, refusals: &mut Refusals<'_>) -> Result<Option<Value>, ProviderError> {
    let capabilities = ask.codec.capabilities();
    let takes_budget = knows(capabilities, "budget");
    let option = "reasoning";
    let refused = match &ask.config.reasoning {
        None => return Ok(None),
        // A model that cannot reason has it off already.
        Some(Reasoning::Off)
            if capabilities.reasoning.is_empty()
                && capabilities.reasoning_replay == ReasoningReplay::None =>
        {
            return Ok(None);
        }
        Some(Reasoning::Off) if knows(capabilities, "off") => {
            return Ok(Some(json!({"thinkingBudget": 0})));
        }
        Some(Reasoning::Off) => {
            // The least that there is may still think.
            return match capabilities.efforts.iter().min() {
                Some(least) => {
                    let instead = format!("the effort {} was taken", least.as_str());
                    refusals.refuse(option, "the model always reasons", &instead)?;
                    Ok(Some(json!({"thinkingLevel": least.as_str()})))
                }
                None => {
                    refusals.refuse(option, "it cannot be switched off here", "it may reason")?;
                    Ok(None)
                }
            };
        }
        Some(Reasoning::Effort(wanted)) if knows(capabilities, "effort") => {
            let effort = refusals.effort(*wanted, &capabilities.efforts, "it was left out")?;
            return Ok(effort.map(with_effort));
        }
        Some(Reasoning::Effort(wanted)) if takes_budget => {
            refusals.refuse(option, "the model knows no efforts", "a thinking budget was set")?;
            return Ok(Some(with_budget(budget_for(*wanted))));
        }
        Some(Reasoning::Budget(budget)) if takes_budget => {
            return Ok(Some(with_budget(fitting_budget(*budget, ask, refusals)?)));
        }
        Some(Reasoning::Budget(budget)) if knows(capabilities, "effort") => {
            let effort = effort_for(*budget);
            refusals.refuse(
                option,
                "the model takes an effort, not a budget",
                "the nearest effort was taken",
            )?;
            let effort = refusals.effort(effort, &capabilities.efforts, "it was left out")?;
            return Ok(effort.map(with_effort));
        }
        Some(Reasoning::Effort(_) | Reasoning::Budget(_)) => "the model does not reason",
        Some(_) => "this way of reasoning is not known here",
    };
    refusals.refuse(option, refused, "it was left out")?;
    Ok(None)
}

/// Who sets an effort wants to see the reasoning, of which the API shows a summary only when asked.
fn with_effort(effort: Effort) -> Value {
    json!({"includeThoughts": true, "thinkingLevel": effort.as_str()})
}

fn with_budget(budget: u32) -> Value {
    json!({"includeThoughts": budget > 0, "thinkingBudget": budget})
}

/// What stands for an effort where a model takes only a budget and the caller allows the nearest.
fn budget_for(effort: Effort) -> u32 {
    match effort {
        Effort::Minimal => 512,
        Effort::Low => 2_048,
        Effort::Medium => 8_192,
        _ => 24_576,
    }
}

/// The effort that spends about as much.
fn effort_for(budget: u32) -> Effort {
    match budget {
        0..=512 => Effort::Minimal,
        513..=4_096 => Effort::Low,
        4_097..=12_288 => Effort::Medium,
        _ => Effort::High,
    }
}

/// The budget within the bounds of the model (gemini.md 4).
fn fitting_budget(budget: u32, ask: Ask<'_>, refusals: &mut Refusals<'_>) -> Result<u32, ProviderError> {
    let model = ask.codec.model();
    let (least, most) = match () {
        () if model.contains("flash-lite") => (512, 24_576),
        () if model.contains("pro") => (128, 32_768),
        () => (1, 24_576),
    };
    if (least..=most).contains(&budget) || budget == 0 && knows(ask.codec.capabilities(), "off") {
        return Ok(budget);
    }
    let why = format!("the thinking budget of the model must lie between {least} and {most}");
    refusals.refuse("reasoning", &why, "the nearest was taken")?;
    Ok(budget.clamp(least, most))
}

fn format(
    ask: Ask<'_>,
    members: &mut Map<String, Value>,
    refusals: &mut Refusals<'_>,
) -> Result<(), ProviderError> {
    let option = "response_format";
    let left_out = "the answer has no set form";
    let form = match &ask.config.response_format {
        None | Some(ResponseFormat::Text) => return Ok(()),
        Some(form) => form,
    };
    let known = ask.codec.capabilities().structured_output;
    let has_tools = !ask.request.tools.is_empty() && ask.codec.capabilities().tools;
    // Before the third generation functions and JSON exclude each other.
    if has_tools && known == StructuredOutput::JsonSchemaAlone {
        return refusals.refuse(option, "the model cannot be held to a form beside tools", left_out);
    }
    match form {
        ResponseFormat::JsonObject if known != StructuredOutput::None => {
            members.insert("responseMimeType".to_owned(), json!("application/json"));
            Ok(())
        }
        ResponseFormat::JsonSchema { schema, .. }
            if matches!(known, StructuredOutput::JsonSchema | StructuredOutput::JsonSchemaAlone) =>
        {
            let fitted = fit(schema.value());
            if !fitted.described.is_empty() {
                let described: Vec<_> = fitted.described.iter().map(ToString::to_string).collect();
                let instead = "the model reads it in the description, and the answer is held to it here";
                refusals
                    .note(option, format!("the API does not enforce {}; {instead}", described.join(", ")));
            }
            members.insert("responseMimeType".to_owned(), json!("application/json"));
            members.insert("responseJsonSchema".to_owned(), fitted.schema);
            Ok(())
        }
        _ => refusals.refuse(option, "the model cannot be held to this form", left_out),
    }
}
