//! The options of a request as members of its body (bedrock.md 2, 5).

use attache_core::Reasoning;
use attache_transport::claude::{answer_schema, refuse_unknown, sampling, stops, thinking};
use attache_transport::{Codec as _, Refusals, knows, set_member};
use serde_json::{Map, Value, json};

use super::history::began_with_thinking;
use crate::capabilities::ReasoningFields;
use crate::codec::Ask;
use crate::error::Result;

/// Options as body members, and what other parts of the request must know of them.
#[derive(Debug, Default)]
pub(super) struct Options {
    pub(super) members: Map<String, Value>,
    /// The members that go to the model without the API looking at them.
    pub(super) additional: Map<String, Value>,
    /// Thinking is on with a budget, which forbids forced tools and prefills.
    pub(super) manual_thinking: bool,
    /// The answer must follow a schema, which forbids prefills.
    pub(super) structured: bool,
}

/// Reads the options.
pub(super) fn read(ask: Ask<'_>, refusals: &mut Refusals<'_>) -> Result<Options> {
    let settings = ask.settings;
    let mut options = Options::default();
    let thinks = reasoning(ask, &mut options, refusals)?;
    let mut inference = Map::new();
    set_member(&mut inference, "maxTokens", settings.max_tokens);
    let (capabilities, family) = (ask.codec.capabilities(), ask.codec.family());
    let no_top_k = family.top_k.is_empty().then_some("the model has no such option");
    let thinks = thinks && family.is_claude();
    let sampling = sampling(settings, capabilities, thinks, (None, no_top_k), 0.0..=1.0, refusals)?;
    set_member(&mut inference, "temperature", sampling.temperature);
    set_member(&mut inference, "topP", sampling.top_p);
    match (sampling.top_k, family.top_k.as_slice()) {
        (Some(top_k), [outer, inner, ..]) => {
            set_member(&mut options.additional, outer, Some(json!({ inner.as_str(): top_k })));
        }
        (top_k, [name]) => set_member(&mut options.additional, name, top_k),
        _ => {}
    }
    let stop = settings.stop.as_ref().filter(|stop| !stop.is_empty());
    let why = (!capabilities.stop).then_some("the model does not know it");
    if refusals.keep("stop", stop, why)?.is_some() {
        set_member(&mut inference, "stopSequences", stops(settings, refusals)?);
    }
    set_member(&mut options.members, "inferenceConfig", (!inference.is_empty()).then_some(inference));
    refuse_unknown(settings, refusals)?;
    // The schema stands in it as a string.
    if let Some((name, schema)) = answer_schema(settings, capabilities, refusals)? {
        options.structured = true;
        let mut definition = Map::from_iter([("schema".to_owned(), json!(schema.to_string()))]);
        set_member(&mut definition, "name", (!name.trim().is_empty()).then_some(name));
        let format = json!({"type": "json_schema", "structure": {"jsonSchema": definition}});
        set_member(&mut options.members, "outputConfig", Some(json!({"textFormat": format})));
    }
    Ok(options)
}

/// Says how the model reasons; returns whether it does by what is said.
fn reasoning(ask: Ask<'_>, options: &mut Options, refusals: &mut Refusals<'_>) -> Result<bool> {
    let (capabilities, option) = (ask.codec.capabilities(), "reasoning");
    let Some(wanted) = &ask.settings.reasoning else { return Ok(false) };
    let fields = &ask.codec.family().reasoning;
    let always = ("the model always reasons", "it was left on");
    if capabilities.reasoning.is_empty() {
        // Where the model cannot reason there is nothing to switch off. Of one that no row is about nobody knows.
        let known = !matches!(capabilities.row.as_str(), "default" | "unknown");
        if *wanted != Reasoning::Off || !known {
            refusals.leave_out(option, "how the model reasons cannot be set")?;
        }
        return Ok(false);
    }
    match (fields, wanted) {
        // Claude's, as its own API has it.
        (ReasoningFields::Thinking, _) => {
            let began = || began_with_thinking(ask);
            let thinking = thinking(ask.settings, capabilities, always, began, refusals)?;
            let thinks = thinking.is_on();
            options.manual_thinking = thinking.budget.is_some();
            let effort = thinking.effort.map(|effort| json!({"effort": effort.as_str()}));
            set_member(&mut options.additional, "output_config", effort);
            set_member(&mut options.additional, "thinking", thinking.member);
            return Ok(thinks);
        }
        (_, Reasoning::Off) if !knows(capabilities, "off") => refusals.refuse(option, always.0, always.1)?,
        (ReasoningFields::Config, Reasoning::Off) => {
            set_member(&mut options.additional, "reasoningConfig", Some(json!({"type": "disabled"})));
        }
        (ReasoningFields::Effort, Reasoning::Off) => {
            set_member(&mut options.additional, option, Some(json!({"effort": "none"})));
        }
        (_, Reasoning::Effort(wanted)) => {
            let effort = refusals.effort(*wanted, &capabilities.efforts, "it was left out")?;
            let Some(effort) = effort.map(|effort| effort.as_str()) else { return Ok(false) };
            match fields {
                ReasoningFields::Config => {
                    let value = json!({"type": "enabled", "maxReasoningEffort": effort});
                    set_member(&mut options.additional, "reasoningConfig", Some(value));
                }
                ReasoningFields::Effort => {
                    set_member(&mut options.additional, option, Some(json!({"effort": effort})));
                }
                ReasoningFields::Word(name) => set_member(&mut options.additional, name, Some(effort)),
                _ => return Ok(false),
            }
            return Ok(true);
        }
        _ => refusals.leave_out(option, "the model takes no budget")?,
    }
    Ok(false)
}
