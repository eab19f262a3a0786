//! The options of a request as members of its body (bedrock.md 2, 5).

use attache_core::schema::Subset;
use attache_core::{
    Effort, ModelCapabilities, ModelSettings, ProviderError, Reasoning, ResponseFormat, StructuredOutput,
};
use attache_transport::{Codec as _, Refusals, strict_answer};
use serde_json::{Map, Value, json};

use super::Ask;
use super::history::loop_began_with_thinking;
use crate::capabilities::{ReasoningFields, hides_thinking, knows, takes_temperature_with_top_p};

/// The least thinking budget that Claude takes.
const MIN_BUDGET: u32 = 1024;

/// Options as body members, and what other parts of the request must know of them.
#[derive(Debug, Default)]
pub(super) struct Options {
    pub(super) members: Map<String, Value>,
    /// What goes to the model without the API looking at it.
    pub(super) additional: Map<String, Value>,
    /// Thinking is on with a budget, which forbids forced tools and prefills.
    pub(super) manual_thinking: bool,
    /// The answer must follow a schema, which forbids prefills.
    pub(super) structured: bool,
}

/// Reads the options.
pub(super) fn read(ask: Ask<'_>, refusals: &mut Refusals<'_>) -> Result<Options, ProviderError> {
    let config = ask.config;
    let mut options = Options::default();
    let thinks = reasoning(ask, &mut options, refusals)?;
    let mut inference = Map::new();
    if let Some(tokens) = config.max_tokens {
        inference.insert("maxTokens".to_owned(), json!(tokens));
    }
    sampling(ask, thinks, &mut inference, &mut options.additional, refusals)?;
    stops(config, &mut inference, refusals)?;
    if !inference.is_empty() {
        options.members.insert("inferenceConfig".to_owned(), Value::Object(inference));
    }
    for (option, set) in [
        ("seed", config.seed.is_some()),
        ("presence_penalty", config.presence_penalty.is_some()),
        ("frequency_penalty", config.frequency_penalty.is_some()),
    ] {
        if set {
            refusals.refuse(option, "the API has no such option", "it was left out")?;
        }
    }
    if let Some(format) = format(config, ask.codec.capabilities(), refusals)? {
        options.structured = true;
        options.members.insert("outputConfig".to_owned(), json!({"textFormat": format}));
    }
    Ok(options)
}

fn sampling(
    ask: Ask<'_>,
    thinks: bool,
    inference: &mut Map<String, Value>,
    additional: &mut Map<String, Value>,
    refusals: &mut Refusals<'_>,
) -> Result<(), ProviderError> {
    let (config, capabilities, family) = (ask.config, ask.codec.capabilities(), ask.codec.family());
    let thinks = thinks && family.reasoning == ReasoningFields::Thinking;
    let none = (!capabilities.sampling).then_some("the model takes no sampling options");
    let left_out = "it was left out";
    for (option, member, value) in
        [("temperature", "temperature", config.temperature), ("top_p", "topP", config.top_p)]
    {
        let Some(value) = value else { continue };
        let value = Refusals::finite(option, value)?;
        if let Some(why) = none {
            refusals.refuse(option, why, left_out)?;
        } else if option == "temperature" && thinks && (value - 1.0).abs() > f64::EPSILON {
            refusals.refuse(option, "it must be 1 while the model thinks", left_out)?;
        } else if option == "top_p"
            && inference.contains_key("temperature")
            && !takes_temperature_with_top_p(capabilities)
        {
            refusals.refuse(option, "the model takes either temperature or top_p", left_out)?;
        } else {
            if !(0.0..=1.0).contains(&value) {
                refusals.refuse(option, "it must lie between 0 and 1", "the nearest was taken")?;
            }
            inference.insert(member.to_owned(), json!(value.clamp(0.0, 1.0)));
        }
    }
    if let Some(top_k) = config.top_k {
        if let Some(why) = none {
            refusals.refuse("top_k", why, left_out)?;
        } else if thinks {
            refusals.refuse("top_k", "it does not go with thinking", left_out)?;
        } else {
            match family.top_k {
                [] => refusals.refuse("top_k", "the model has no such option", left_out)?,
                [name] => {
                    additional.insert((*name).to_owned(), json!(top_k));
                }
                [outer, inner, ..] => {
                    additional.insert((*outer).to_owned(), json!({ (*inner): top_k }));
                }
            }
        }
    }
    Ok(())
}

fn stops(
    config: &ModelSettings,
    inference: &mut Map<String, Value>,
    refusals: &mut Refusals<'_>,
) -> Result<(), ProviderError> {
    let Some(stops) = &config.stop else { return Ok(()) };
    let filled: Vec<&str> = stops.iter().map(String::as_str).filter(|stop| !stop.trim().is_empty()).collect();
    if filled.len() < stops.len() {
        refusals.refuse("stop", "a stop sequence must not be blank", "blank ones were left out")?;
    }
    if !filled.is_empty() {
        inference.insert("stopSequences".to_owned(), json!(filled));
    }
    Ok(())
}

/// Says how the model reasons; returns whether it does by what is said.
fn reasoning(
    ask: Ask<'_>,
    options: &mut Options,
    refusals: &mut Refusals<'_>,
) -> Result<bool, ProviderError> {
    let (capabilities, option) = (ask.codec.capabilities(), "reasoning");
    let Some(wanted) = &ask.config.reasoning else { return Ok(false) };
    let fields = ask.codec.family().reasoning;
    if capabilities.reasoning.is_empty() {
        // Where the model cannot reason there is nothing to switch off. Of one that no row is about nobody knows.
        let known = !matches!(capabilities.row.as_str(), "default" | "unknown");
        if *wanted != Reasoning::Off || !known {
            refusals.refuse(option, "how the model reasons cannot be set", "it was left out")?;
        }
        return Ok(false);
    }
    match (fields, wanted) {
        (ReasoningFields::Thinking, wanted) => return thinking(ask, wanted, options, refusals),
        (_, Reasoning::Off) if !knows(capabilities, "off") => {
            refusals.refuse(option, "the model always reasons", "it was left on")?;
        }
        (ReasoningFields::Config, Reasoning::Off) => {
            options.additional.insert("reasoningConfig".to_owned(), json!({"type": "disabled"}));
        }
        (_, Reasoning::Effort(wanted)) => {
            let effort = refusals.effort(*wanted, &capabilities.efforts, "it was left out")?;
            match (fields, effort) {
                (ReasoningFields::Config, Some(effort)) => {
                    let value = json!({"type": "enabled", "maxReasoningEffort": effort.as_str()});
                    options.additional.insert("reasoningConfig".to_owned(), value);
                }
                (ReasoningFields::Word(name), Some(effort)) => {
                    options.additional.insert(name.to_owned(), json!(effort.as_str()));
                }
                _ => return Ok(false),
            }
            return Ok(true);
        }
        _ => refusals.refuse(option, "the model takes no budget", "it was left out")?,
    }
    Ok(false)
}

/// Claude's thinking, as its own API has it.
fn thinking(
    ask: Ask<'_>,
    wanted: &Reasoning,
    options: &mut Options,
    refusals: &mut Refusals<'_>,
) -> Result<bool, ProviderError> {
    let (capabilities, option) = (ask.codec.capabilities(), "reasoning");
    let mut budget = None;
    let mut member = None;
    match wanted {
        Reasoning::Off if knows(capabilities, "off") => member = Some(json!({"type": "disabled"})),
        Reasoning::Off => refusals.refuse(option, "the model always reasons", "it was left on")?,
        Reasoning::Effort(wanted) => {
            let only_budgets = capabilities.efforts.is_empty() && knows(capabilities, "budget");
            let instead = if only_budgets { "a thinking budget was set" } else { "it was left out" };
            let effort = refusals.effort(*wanted, &capabilities.efforts, instead)?;
            if knows(capabilities, "adaptive") {
                member = Some(adaptive(capabilities));
            } else if only_budgets {
                budget = Some(budget_for(*wanted));
            }
            if let Some(effort) = effort {
                options.additional.insert("output_config".to_owned(), json!({"effort": effort.as_str()}));
            }
        }
        Reasoning::Budget(wanted) if knows(capabilities, "budget") => budget = Some(*wanted),
        Reasoning::Budget(_) => {
            let why = "the model decides itself how much it reasons";
            refusals.refuse(option, why, "it reasons as it sees fit")?;
            member = Some(adaptive(capabilities));
        }
        _ => refusals.refuse(option, "this way of reasoning is not known here", "it was left out")?,
    }
    if let Some(wanted) = budget {
        let fitting = fitting_budget(wanted, ask, refusals)?;
        options.manual_thinking = fitting.is_some();
        member = fitting.map(|budget| json!({"type": "enabled", "budget_tokens": budget}));
    }
    let thinks = member.as_ref().is_some_and(|member| member["type"] != "disabled");
    options.additional.extend(member.map(|member| ("thinking".to_owned(), member)));
    Ok(thinks)
}

/// Models that hide their thinking unless asked are asked for a summary: who sets an effort wants to see it.
fn adaptive(capabilities: &ModelCapabilities) -> Value {
    match hides_thinking(capabilities) {
        true => json!({"type": "adaptive", "display": "summarized"}),
        false => json!({"type": "adaptive"}),
    }
}

/// What stands for an effort where a model takes only a budget and the caller allows the nearest.
fn budget_for(effort: Effort) -> u32 {
    match effort {
        Effort::Minimal | Effort::Low => 2_048,
        Effort::Medium => 8_192,
        Effort::High => 16_384,
        _ => 32_000,
    }
}

/// The budget within its bounds; none if thinking cannot be on here.
fn fitting_budget(
    budget: u32,
    ask: Ask<'_>,
    refusals: &mut Refusals<'_>,
) -> Result<Option<u32>, ProviderError> {
    let (config, capabilities) = (ask.config, ask.codec.capabilities());
    if !loop_began_with_thinking(&ask.request.messages, ask.codec) {
        let why =
            "the open tool calls came without thinking, so that it cannot be switched on before they end";
        refusals.refuse("reasoning", why, "it is off for this request")?;
        return Ok(None);
    }
    let most = config.max_tokens.map_or(capabilities.max_output_tokens.unwrap_or(u64::MAX), u64::from);
    let most = u32::try_from(most.saturating_sub(1)).unwrap_or(u32::MAX);
    if (MIN_BUDGET..=most).contains(&budget) {
        return Ok(Some(budget));
    }
    let why = format!("a thinking budget must lie between {MIN_BUDGET} and max_tokens");
    if most < MIN_BUDGET {
        refusals.refuse("reasoning", &why, "it is off for this request")?;
        return Ok(None);
    }
    refusals.refuse("reasoning", &why, "the nearest was taken")?;
    Ok(Some(budget.clamp(MIN_BUDGET, most)))
}

/// The member `outputConfig.textFormat`. The schema stands in it as a string.
fn format(
    config: &ModelSettings,
    capabilities: &ModelCapabilities,
    refusals: &mut Refusals<'_>,
) -> Result<Option<Value>, ProviderError> {
    let (option, left_out) = ("response_format", "the answer has no set form");
    match &config.response_format {
        None | Some(ResponseFormat::Text) => Ok(None),
        Some(ResponseFormat::JsonSchema { name, schema, .. }) => {
            if capabilities.structured_output != StructuredOutput::JsonSchema {
                refusals.refuse(option, "the model cannot be held to a schema", left_out)?;
                return Ok(None);
            }
            let Some(schema) = strict_answer(schema, Subset::Anthropic, left_out, refusals)? else {
                return Ok(None);
            };
            let mut definition = Map::from_iter([("schema".to_owned(), json!(schema.to_string()))]);
            if !name.trim().is_empty() {
                definition.insert("name".to_owned(), json!(name));
            }
            Ok(Some(json!({"type": "json_schema", "structure": {"jsonSchema": definition}})))
        }
        Some(_) => {
            refusals.refuse(option, "the API knows no JSON without a schema", left_out)?;
            Ok(None)
        }
    }
}
