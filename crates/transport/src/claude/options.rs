//! Options of Claude as the members of a request name them.

use std::ops::RangeInclusive;

use attache_core::capability::StructuredOutput;
use attache_core::schema::Subset;
use attache_core::{Effort, ModelCapabilities, ModelSettings, ProviderError, Reasoning, ResponseFormat};
use serde_json::{Value, json};

use super::hides_thinking;
use crate::options::{budget_for, can_reason, knows};
use crate::refused_options::Refusals;
use crate::strict::strict_answer;

/// The least thinking budget that Claude takes.
const MIN_BUDGET: u32 = 1024;

/// The request for reasoning.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Thinking {
    /// The member `thinking`.
    pub member: Option<Value>,
    /// The member `effort` of `output_config`.
    pub effort: Option<Effort>,
    /// The thinking budget in tokens. One forbids forced tools and prefills.
    pub budget: Option<u32>,
}

impl Thinking {
    /// True if the model thinks by what is said.
    pub fn is_on(&self) -> bool {
        self.member.as_ref().is_some_and(|member| member["type"] != "disabled")
    }
}

/// Reads how reasoning is asked for. `always` says why it cannot be switched off, and what comes of that; `began` is
/// [`loop_began_with_thinking`](super::loop_began_with_thinking).
///
/// # Errors
/// [`ErrorKind::Unsupported`](attache_core::ErrorKind::Unsupported) for what the model does not know, unless the
/// caller allows it.
pub fn thinking(
    settings: &ModelSettings,
    capabilities: &ModelCapabilities,
    always: (&str, &str),
    began: impl FnOnce() -> bool,
    refusals: &mut Refusals<'_>,
) -> Result<Thinking, ProviderError> {
    let option = "reasoning";
    let knows = |way: &str| knows(capabilities, way);
    let mut thinking = Thinking::default();
    match &settings.reasoning {
        None => {}
        // A model that cannot reason has it off already.
        Some(Reasoning::Off) if !can_reason(capabilities) => {}
        Some(Reasoning::Off) if knows("off") => thinking.member = Some(json!({"type": "disabled"})),
        Some(Reasoning::Off) => refusals.refuse(option, always.0, always.1)?,
        Some(Reasoning::Effort(wanted)) => {
            let only_budgets = capabilities.efforts.is_empty() && knows("budget");
            let instead = if only_budgets { "a thinking budget was set" } else { "it was left out" };
            thinking.effort = refusals.effort(*wanted, &capabilities.efforts, instead)?;
            if knows("adaptive") {
                thinking.member = Some(adaptive(capabilities));
            } else if only_budgets {
                thinking.budget = Some(budget_for(*wanted));
            }
        }
        Some(Reasoning::Budget(budget)) if knows("budget") => thinking.budget = Some(*budget),
        Some(Reasoning::Budget(_)) if knows("adaptive") => {
            let why = "the model decides itself how much it reasons";
            refusals.refuse(option, why, "it reasons as it sees fit")?;
            thinking.member = Some(adaptive(capabilities));
        }
        Some(Reasoning::Budget(_)) => refusals.leave_out(option, "the model does not reason")?,
        Some(_) => refusals.leave_out(option, "this way of reasoning is not known here")?,
    }
    if let Some(budget) = thinking.budget {
        thinking.budget = if began() {
            fitting_budget(budget, settings, capabilities, refusals)?
        } else {
            let why =
                "the open tool calls came without thinking, so that it cannot be switched on before they end";
            refusals.refuse(option, why, "it is off for this request")?;
            None
        };
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

/// The budget within its bounds; none if thinking cannot be on here.
fn fitting_budget(
    budget: u32,
    settings: &ModelSettings,
    capabilities: &ModelCapabilities,
    refusals: &mut Refusals<'_>,
) -> Result<Option<u32>, ProviderError> {
    let most = settings.max_tokens.map_or(capabilities.max_output_tokens.unwrap_or(u64::MAX), u64::from);
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

/// The numbers by which a model chooses its words.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Sampling {
    /// The temperature.
    pub temperature: Option<f64>,
    /// The mass of the words among which it chooses.
    pub top_p: Option<f64>,
    /// The number of the words among which it chooses.
    pub top_k: Option<u32>,
}

/// Reads how the model samples, which it does in its own way while it `thinks`. Beside what is known of the model,
/// `none` says why it takes no such option, and `no_top_k` why not that one. `top_p` are the bounds of that.
///
/// # Errors
/// [`ErrorKind::Unsupported`](attache_core::ErrorKind::Unsupported) for what the model does not take, unless the
/// caller allows it.
pub fn sampling(
    settings: &ModelSettings,
    capabilities: &ModelCapabilities,
    thinks: bool,
    (none, no_top_k): (Option<&str>, Option<&str>),
    top_p: RangeInclusive<f64>,
    refusals: &mut Refusals<'_>,
) -> Result<Sampling, ProviderError> {
    let none = (!capabilities.sampling).then_some("the model takes no sampling options").or(none);
    let cold = thinks && settings.temperature.is_some_and(|wanted| (wanted - 1.0).abs() > f64::EPSILON);
    let why = none.or(cold.then_some("it must be 1 while the model thinks"));
    let temperature = refusals.number("temperature", settings.temperature, why, 0.0..=1.0)?;
    let either = temperature.is_some() && !capabilities.temperature_with_top_p;
    let why = none.or(either.then_some("the model takes either temperature or top_p"));
    let top_p = refusals.number("top_p", settings.top_p, why, top_p)?;
    let why = none.or(thinks.then_some("it does not go with thinking")).or(no_top_k);
    let top_k = refusals.keep("top_k", settings.top_k, why)?;
    Ok(Sampling { temperature, top_p, top_k })
}

/// The stop sequences that may be sent, if there are any.
///
/// # Errors
/// [`ErrorKind::Unsupported`](attache_core::ErrorKind::Unsupported) for blank ones, unless the caller allows it.
pub fn stops<'c>(
    settings: &'c ModelSettings,
    refusals: &mut Refusals<'_>,
) -> Result<Option<Vec<&'c str>>, ProviderError> {
    let stops = refusals.stops(settings, "blank", |stop| stop.trim().is_empty(), usize::MAX)?;
    Ok((!stops.is_empty()).then_some(stops))
}

/// True if the documents of a request are to be cited: all of them, since the APIs take no request with some.
///
/// # Errors
/// [`ErrorKind::Unsupported`](attache_core::ErrorKind::Unsupported) for a model that cites none, and beside a schema for
/// the answer, unless the caller allows it.
pub fn cites(
    settings: &ModelSettings,
    capabilities: &ModelCapabilities,
    refusals: &mut Refusals<'_>,
) -> Result<bool, ProviderError> {
    if settings.citations != Some(true) {
        return Ok(false);
    }
    let why = if !capabilities.cites() {
        "the model cites no documents"
    } else if settings.response_format.as_ref().is_some_and(|format| format.schema().is_some()) {
        "the API takes no citations beside a schema for the answer"
    } else {
        return Ok(true);
    };
    refusals.refuse("citations", why, "it cites none")?;
    Ok(false)
}

/// Refuses the options that these APIs do not have.
///
/// # Errors
/// [`ErrorKind::Unsupported`](attache_core::ErrorKind::Unsupported) for any, unless the caller allows it.
pub fn refuse_unknown(settings: &ModelSettings, refusals: &mut Refusals<'_>) -> Result<(), ProviderError> {
    let why = Some("the API has no such option");
    refusals.keep("seed", settings.seed, why)?;
    refusals.keep("presence_penalty", settings.presence_penalty, why)?;
    refusals.keep("frequency_penalty", settings.frequency_penalty, why)?;
    Ok(())
}

/// Name and schema of an answer that the model is to be held to.
///
/// # Errors
/// [`ErrorKind::Unsupported`](attache_core::ErrorKind::Unsupported) for another form, and for a model that cannot be
/// held to a schema, unless the caller allows it.
pub fn answer_schema<'c>(
    settings: &'c ModelSettings,
    capabilities: &ModelCapabilities,
    refusals: &mut Refusals<'_>,
) -> Result<Option<(&'c str, &'c Value)>, ProviderError> {
    let (option, left_out) = ("response_format", "the answer has no set form");
    let (name, schema) = match &settings.response_format {
        None | Some(ResponseFormat::Text) => return Ok(None),
        Some(ResponseFormat::JsonSchema { name, schema, .. }) => (name, schema),
        Some(_) => {
            refusals.refuse(option, "the API knows no JSON without a schema", left_out)?;
            return Ok(None);
        }
    };
    if capabilities.structured_output != StructuredOutput::JsonSchema {
        refusals.refuse(option, "the model cannot be held to a schema", left_out)?;
        return Ok(None);
    }
    let schema = strict_answer(schema, Subset::Anthropic, left_out, refusals)?;
    Ok(schema.map(|schema| (name.as_str(), schema)))
}
