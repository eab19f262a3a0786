//! The options of a request as members of its body (anthropic.md 2, 8).

use attache_core::{ModelCapabilities, ModelSettings};
use attache_transport::claude::{answer_schema, refuse_unknown, sampling, stops, thinking};
use attache_transport::{ANY, Codec as _, Refusals, set_member};
use serde_json::{Map, Value, json};

use super::history::began_with_thinking;
use crate::codec::Ask;
use crate::error::Result;

/// The tokens that may be written where the caller sets no limit, thinking budget apart. The API demands a number; this
/// one is out of the way of long files, and leaves a 200k window to the conversation.
const DEFAULT_MAX_TOKENS: u32 = 32_000;

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
pub(super) fn read(ask: Ask<'_>, refusals: &mut Refusals<'_>) -> Result<Options> {
    let (settings, capabilities) = (ask.settings, ask.codec.capabilities());
    let always = ("it cannot be switched off here", "it may reason");
    let thinking = thinking(settings, capabilities, always, || began_with_thinking(ask), refusals)?;

    let mut members = Map::new();
    set_member(&mut members, "model", Some(ask.codec.model()));
    set_member(&mut members, "max_tokens", Some(max_tokens(settings, capabilities, thinking.budget)));
    set_member(&mut members, "stream", (ask.request.streaming).then_some(true));
    let outdated = (*ask.codec.version >= *WITHOUT_SAMPLING)
        .then_some("this version of the API takes no sampling options");
    let sampling = sampling(settings, capabilities, thinking.is_on(), (outdated, None), ANY, refusals)?;
    set_member(&mut members, "temperature", sampling.temperature);
    set_member(&mut members, "top_p", sampling.top_p);
    set_member(&mut members, "top_k", sampling.top_k);
    set_member(&mut members, "stop_sequences", stops(settings, refusals)?);
    refuse_unknown(settings, refusals)?;
    let manual_thinking = thinking.budget.is_some();
    let mut member = thinking.member;
    if ask.codec.drops_outdated_thinking() {
        let thinking = member.get_or_insert_with(|| json!({"type": "adaptive"}));
        thinking["block_binding"] = json!({"prefix_mismatch_behavior": "drop_block"});
    }
    set_member(&mut members, "thinking", member);
    let schema = answer_schema(settings, capabilities, refusals)?;
    let mut output = Map::new();
    set_member(&mut output, "effort", thinking.effort.map(|effort| effort.as_str()));
    set_member(
        &mut output,
        "format",
        schema.map(|(_, schema)| json!({"type": "json_schema", "schema": schema})),
    );
    set_member(&mut members, "output_config", (!output.is_empty()).then_some(output));
    Ok(Options { members, manual_thinking, structured: schema.is_some() })
}

fn max_tokens(settings: &ModelSettings, capabilities: &ModelCapabilities, budget: Option<u32>) -> u64 {
    let wanted = u64::from(DEFAULT_MAX_TOKENS) + u64::from(budget.unwrap_or(0));
    let within = |most: u64| most.min(wanted);
    settings.max_tokens.map_or_else(|| capabilities.max_output_tokens.map_or(wanted, within), u64::from)
}
