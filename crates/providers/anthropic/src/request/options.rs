//! The options of a request as members of its body (anthropic.md 2, 8).

use attache_core::schema::Subset;
use attache_core::{
    Effort, ErrorKind, ModelCapabilities, ModelSettings, ProviderError, Reasoning, ReasoningReplay,
    ResponseFormat, StructuredOutput,
};
use attache_transport::{Codec as _, Refusals, strict_answer};
use serde_json::{Map, Value, json};

use super::Ask;
use super::history::loop_began_with_thinking;
use crate::capabilities::{hides_thinking, knows, takes_temperature_with_top_p};

/// What may be written where the caller sets no limit, thinking budget apart. The API demands a number; this one
/// is out of the way of long files, and leaves a 200k window to the conversation.
const DEFAULT_MAX_TOKENS: u32 = 32_000;

/// The least thinking budget that the API takes.
const MIN_BUDGET: u32 = 1024;

/// The first version without sampling options.
const WITHOUT_SAMPLING: &str = "2026-10-21";

/// Options as body members, and what other parts of the request must know of them.
#[derive(Debug, Default)]
pub(super) struct Options {
    pub(super) members: Map<String, Value>,
    /// Thinking is on with a budget, which forbids forced tools and prefills.
    pub(super) manual_thinking: bool,
    /// The answer must follow a schema, which forbids prefills.
    pub(super) structured: bool,
}

/// Reads the options.
pub(super) fn read(ask: Ask<'_>, refusals: &mut Refusals<'_>) -> Result<Options, ProviderError> {
    let (config, capabilities) = (ask.config, ask.codec.capabilities());
    let mut options = Options::default();
    let thinking = thinking(ask, refusals)?;
    options.manual_thinking = thinking.budget.is_some();

    let members = &mut options.members;
    members.insert("model".to_owned(), json!(ask.codec.model()));
    members.insert("max_tokens".to_owned(), json!(max_tokens(config, capabilities, thinking.budget)));
    if ask.request.streaming {
        members.insert("stream".to_owned(), json!(true));
    }
    let thinks_now = thinking.member.as_ref().is_some_and(|member| member["type"] != "disabled");
    sampling(ask, thinks_now, members, refusals)?;
    stops(config, members, refusals)?;
    for (option, set) in [
        ("seed", config.seed.is_some()),
        ("presence_penalty", config.presence_penalty.is_some()),
        ("frequency_penalty", config.frequency_penalty.is_some()),
    ] {
        if set {
            refusals.refuse(option, "the API has no such option", "it was left out")?;
        }
    }
    if let Some(value) = thinking.member {
        members.insert("thinking".to_owned(), value);
    }
    let format = format(config, capabilities, refusals)?;
    options.structured = format.is_some();
    let mut output = Map::new();
    if let Some(effort) = thinking.effort {
        output.insert("effort".to_owned(), json!(effort.as_str()));
    }
    if let Some(format) = format {
        output.insert("format".to_owned(), format);
    }
    if !output.is_empty() {
        options.members.insert("output_config".to_owned(), Value::Object(output));
    }
    Ok(options)
}

fn max_tokens(config: &ModelSettings, capabilities: &ModelCapabilities, budget: Option<u32>) -> u64 {
    let wanted = u64::from(DEFAULT_MAX_TOKENS) + u64::from(budget.unwrap_or(0));
    let within = |most: u64| most.min(wanted);
    config.max_tokens.map_or_else(|| capabilities.max_output_tokens.map_or(wanted, within), u64::from)
}

fn sampling(
    ask: Ask<'_>,
    thinks: bool,
    members: &mut Map<String, Value>,
    refusals: &mut Refusals<'_>,
) -> Result<(), ProviderError> {
    let (config, capabilities) = (ask.config, ask.codec.capabilities());
    let none = if !capabilities.sampling {
        Some("the model takes no sampling options")
    } else if ask.codec.version() >= WITHOUT_SAMPLING {
        Some("this version of the API takes no sampling options")
    } else {
        None
    };
    let left_out = "it was left out";
    if let Some(temperature) = config.temperature {
        if let Some(why) = none {
            refusals.refuse("temperature", why, left_out)?;
        } else if thinks && (temperature - 1.0).abs() > f64::EPSILON {
            refusals.refuse("temperature", "it must be 1 while the model thinks", left_out)?;
        } else if (0.0..=1.0).contains(&temperature) {
            members.insert("temperature".to_owned(), json!(temperature));
        } else if temperature.is_finite() {
            refusals.refuse("temperature", "it must lie between 0 and 1", "the nearest was taken")?;
            members.insert("temperature".to_owned(), json!(temperature.clamp(0.0, 1.0)));
        } else {
            return Err(ProviderError::new(ErrorKind::Configuration, "the temperature is not a number"));
        }
    }
    if let Some(top_p) = config.top_p {
        if let Some(why) = none {
            refusals.refuse("top_p", why, left_out)?;
        } else if members.contains_key("temperature") && !takes_temperature_with_top_p(capabilities) {
            refusals.refuse("top_p", "the model takes either temperature or top_p", left_out)?;
        } else if !top_p.is_finite() {
            return Err(ProviderError::new(ErrorKind::Configuration, "top_p is not a number"));
        } else {
            members.insert("top_p".to_owned(), json!(top_p));
        }
    }
    if let Some(top_k) = config.top_k {
        if let Some(why) = none {
            refusals.refuse("top_k", why, left_out)?;
        } else if thinks {
            refusals.refuse("top_k", "it does not go with thinking", left_out)?;
        } else {
            members.insert("top_k".to_owned(), json!(top_k));
        }
    }
    Ok(())
}

fn stops(
    config: &ModelSettings,
    members: &mut Map<String, Value>,
    refusals: &mut Refusals<'_>,
) -> Result<(), ProviderError> {
    let Some(stops) = &config.stop else { return Ok(()) };
    let filled: Vec<&str> = stops.iter().map(String::as_str).filter(|stop| !stop.trim().is_empty()).collect();
    if filled.len() < stops.len() {
        refusals.refuse("stop", "a stop sequence must not be blank", "blank ones were left out")?;
    }
    if !filled.is_empty() {
        members.insert("stop_sequences".to_owned(), json!(filled));
    }
    Ok(())
}

/// How reasoning is asked for.
#[derive(Debug, Default)]
struct Thinking {
    member: Option<Value>,
    effort: Option<Effort>,
    budget: Option<u32>,
}

fn thinking(ask: Ask<'_>, refusals: &mut Refusals<'_>) -> Result<Thinking, ProviderError> {
    let (config, capabilities) = (ask.config, ask.codec.capabilities());
    let option = "reasoning";
    let mut thinking = Thinking::default();
    match &config.reasoning {
        None => {}
        // A model that cannot reason has it off already.
        Some(Reasoning::Off)
            if capabilities.reasoning.is_empty()
                && capabilities.reasoning_replay == ReasoningReplay::None => {}
        Some(Reasoning::Off) if knows(capabilities, "off") => {
            thinking.member = Some(json!({"type": "disabled"}));
        }
        Some(Reasoning::Off) => refusals.refuse(option, "it cannot be switched off here", "it may reason")?,
        Some(Reasoning::Effort(wanted)) => {
            let effort = known_effort(*wanted, capabilities, refusals)?;
            if knows(capabilities, "adaptive") {
                thinking.member = Some(adaptive(capabilities));
            } else if effort.is_none() && knows(capabilities, "budget") {
                thinking.budget = Some(budget_for(*wanted));
            }
            thinking.effort = effort;
        }
        Some(Reasoning::Budget(budget)) if knows(capabilities, "budget") => thinking.budget = Some(*budget),
        Some(Reasoning::Budget(_)) if knows(capabilities, "adaptive") => {
            let why = "the model decides itself how much it reasons";
            refusals.refuse(option, why, "it reasons as it sees fit")?;
            thinking.member = Some(adaptive(capabilities));
        }
        Some(Reasoning::Budget(_)) => {
            refusals.refuse(option, "the model does not reason", "it was left out")?
        }
        Some(_) => refusals.refuse(option, "this way of reasoning is not known here", "it was left out")?,
    }
    if let Some(budget) = thinking.budget {
        thinking.budget = fitting_budget(budget, ask, refusals)?;
        thinking.member = thinking.budget.map(|budget| json!({"type": "enabled", "budget_tokens": budget}));
    }
    Ok(thinking)
}

/// Models that hide their thinking unless asked are asked for a summary: who sets an effort wants to see it.
fn adaptive(capabilities: &ModelCapabilities) -> Value {
    match hides_thinking(capabilities) {
        true => json!({"type": "adaptive", "display": "summarized"}),
        false => json!({"type": "adaptive"}),
    }
}

/// The effort to send: the one that is wanted, or the nearest that the model knows.
fn known_effort(
    wanted: Effort,
    capabilities: &ModelCapabilities,
    refusals: &mut Refusals<'_>,
) -> Result<Option<Effort>, ProviderError> {
    let known = &capabilities.efforts;
    if known.contains(&wanted) {
        return Ok(Some(wanted));
    }
    let below = known.iter().filter(|effort| **effort < wanted).max();
    let nearest = below.or_else(|| known.iter().min()).copied();
    let instead = match nearest {
        Some(nearest) => format!("{} was taken", nearest.as_str()),
        None if knows(capabilities, "budget") => "a thinking budget was set".to_owned(),
        None => "it was left out".to_owned(),
    };
    let names: Vec<&str> = known.iter().map(|effort| effort.as_str()).collect();
    let why = match names.as_slice() {
        [] => "the model knows no efforts".to_owned(),
        names => format!("the model knows the efforts {}, not {}", names.join(", "), wanted.as_str()),
    };
    refusals.refuse("reasoning", &why, &instead)?;
    Ok(nearest)
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

fn format(
    config: &ModelSettings,
    capabilities: &ModelCapabilities,
    refusals: &mut Refusals<'_>,
) -> Result<Option<Value>, ProviderError> {
    let option = "response_format";
    let left_out = "the answer has no set form";
    match &config.response_format {
        None | Some(ResponseFormat::Text) => Ok(None),
        Some(ResponseFormat::JsonSchema { schema, .. }) => {
            if capabilities.structured_output != StructuredOutput::JsonSchema {
                refusals.refuse(option, "the model cannot be held to a schema", left_out)?;
                return Ok(None);
            }
            let schema = strict_answer(schema, Subset::Anthropic, left_out, refusals)?;
            Ok(schema.map(|schema| json!({"type": "json_schema", "schema": schema})))
        }
        Some(_) => {
            refusals.refuse(option, "the API knows no JSON without a schema", left_out)?;
            Ok(None)
        }
    }
}
