//! The options of a request as members of its body (gemini.md 2, 4, 6).

use attache_core::capability::StructuredOutput;
use attache_core::schema::loosen;
use attache_core::{Effort, ModelSettings, Reasoning, ResponseFormat};
use attache_transport::{Codec as _, Refusals, can_reason, knows, set_member};
use serde_json::{Map, Value, json};

use super::tools::DIALECT;
use crate::codec::Ask;
use crate::error::Result;

/// The maximum number of stop sequences that the API takes.
const MAX_STOPS: usize = 5;

/// The member `generationConfig`, possibly empty.
pub(super) fn generation(ask: Ask<'_>, refusals: &mut Refusals<'_>) -> Result<Map<String, Value>> {
    let settings = ask.settings;
    let mut members = Map::new();
    set_member(&mut members, "maxOutputTokens", settings.max_tokens);
    let none = (!ask.codec.capabilities().sampling).then_some("the model takes no sampling options");
    set_member(
        &mut members,
        "temperature",
        refusals.number("temperature", settings.temperature, none, 0.0..=2.0)?,
    );
    set_member(&mut members, "topP", refusals.number("top_p", settings.top_p, none, 0.0..=1.0)?);
    let cites = settings.citations.filter(|cites| *cites);
    refusals.keep("citations", cites, Some("the API cites no documents of a request"))?;
    set_member(&mut members, "topK", refusals.keep("top_k", settings.top_k, none)?);
    set_member(&mut members, "stopSequences", stops(settings, refusals)?);
    let fits = settings.seed.is_none_or(|seed| i32::try_from(seed).is_ok());
    let why = (!fits).then_some("it must be a number of 32 bits");
    set_member(&mut members, "seed", refusals.keep("seed", settings.seed, why)?);
    for (option, name, value) in [
        ("presence_penalty", "presencePenalty", settings.presence_penalty),
        ("frequency_penalty", "frequencyPenalty", settings.frequency_penalty),
    ] {
        set_member(&mut members, name, refusals.number(option, value, None, -2.0..=2.0)?);
    }
    format(ask, &mut members, refusals)?;
    set_member(&mut members, "thinkingConfig", thinking(ask, refusals)?);
    Ok(members)
}

fn stops<'c>(settings: &'c ModelSettings, refusals: &mut Refusals<'_>) -> Result<Option<Vec<&'c str>>> {
    let stops = refusals.stops(settings, "empty", str::is_empty, MAX_STOPS)?;
    Ok((!stops.is_empty()).then_some(stops))
}

fn thinking(ask: Ask<'_>, refusals: &mut Refusals<'_>) -> Result<Option<Value>> {
    let (capabilities, option) = (ask.codec.capabilities(), "reasoning");
    let knows = |way: &str| knows(capabilities, way);
    let refused = match &ask.settings.reasoning {
        None => return Ok(None),
        // A model that cannot reason has it off already.
        Some(Reasoning::Off) if !can_reason(capabilities) => return Ok(None),
        Some(Reasoning::Off) if knows("off") => return Ok(Some(json!({"thinkingBudget": 0}))),
        // The least that there is may still think.
        Some(Reasoning::Off) => {
            let least = capabilities.efforts.iter().min().map(|least| least.as_str());
            match least {
                Some(least) => {
                    let instead = format!("the effort {least} was taken");
                    refusals.refuse(option, "the model always reasons", &instead)?;
                }
                None => refusals.refuse(option, "it cannot be switched off here", "it may reason")?,
            }
            return Ok(least.map(|least| json!({"thinkingLevel": least})));
        }
        Some(Reasoning::Effort(wanted)) if knows("effort") => {
            let effort = refusals.effort(*wanted, &capabilities.efforts, "it was left out")?;
            return Ok(effort.map(with_effort));
        }
        Some(Reasoning::Effort(wanted)) if knows("budget") => {
            refusals.refuse(option, "the model knows no efforts", "a thinking budget was set")?;
            return Ok(Some(with_budget(budget_for(*wanted))));
        }
        Some(Reasoning::Budget(budget)) if knows("budget") => {
            return Ok(Some(with_budget(fitting_budget(*budget, ask, refusals)?)));
        }
        Some(Reasoning::Budget(budget)) if knows("effort") => {
            let why = "the model takes an effort, not a budget";
            refusals.refuse(option, why, "the nearest effort was taken")?;
            let effort = refusals.effort(effort_for(*budget), &capabilities.efforts, "it was left out")?;
            return Ok(effort.map(with_effort));
        }
        Some(Reasoning::Effort(_) | Reasoning::Budget(_)) => "the model does not reason",
        Some(_) => "this way of reasoning is not known here",
    };
    refusals.leave_out(option, refused)?;
    Ok(None)
}

/// A caller that sets an effort wants to see the reasoning, of which the API shows a summary only when asked.
fn with_effort(effort: Effort) -> Value {
    json!({"includeThoughts": true, "thinkingLevel": effort.as_str()})
}

fn with_budget(budget: u32) -> Value {
    json!({"includeThoughts": budget > 0, "thinkingBudget": budget})
}

/// The budget in the place of an effort, where a model takes only budgets and the caller allows the nearest.
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
fn fitting_budget(budget: u32, ask: Ask<'_>, refusals: &mut Refusals<'_>) -> Result<u32> {
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

fn format(ask: Ask<'_>, members: &mut Map<String, Value>, refusals: &mut Refusals<'_>) -> Result<()> {
    let option = "response_format";
    let left_out = "the answer has no set form";
    let form = match &ask.settings.response_format {
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
            let loosened = loosen(schema.value(), &DIALECT);
            if !loosened.unsaid.is_empty() {
                let unsaid: Vec<_> = loosened.unsaid.iter().map(ToString::to_string).collect();
                let instead = "the model reads it in the description, and the answer is held to it here";
                refusals.note(option, format!("the API does not enforce {}; {instead}", unsaid.join(", ")));
            }
            members.insert("responseMimeType".to_owned(), json!("application/json"));
            members.insert("responseJsonSchema".to_owned(), loosened.schema);
            Ok(())
        }
        _ => refusals.refuse(option, "the model cannot be held to this form", left_out),
    }
}
