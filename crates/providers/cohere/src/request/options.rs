//! Options as members of the request body. One that cannot be honoured is refused, or left out where the caller
//! allows it, which is then recorded (invariant 12).

use attache_core::capability::StructuredOutput;
use attache_core::settings::CachePolicy;
use attache_core::{ModelCapabilities, ModelSettings, ProviderError, Reasoning, ResponseFormat};
use attache_transport::{Codec as _, Refusals, can_reason, forbid, knows, set_member};
use serde_json::{Map, Value, json};

use super::tools::{loosened, tool_choice};
use crate::codec::Ask;

/// The maximum number of stop sequences of a request (cohere.md 2).
const MAX_STOPS: usize = 5;
/// The maximum number of tokens to sample among (cohere.md 2).
const MAX_K: u32 = 500;

/// The members that follow the messages, in order.
pub(super) fn members(
    ask: Ask<'_>,
    refusals: &mut Refusals<'_>,
) -> Result<Map<String, Value>, ProviderError> {
    let Ask { request, settings, codec, .. } = ask;
    let has_tools = !request.tools.is_empty();
    let mut options =
        Options { capabilities: codec.capabilities(), settings, has_tools, members: Map::new() };
    if request.streaming {
        options.set("stream", true);
    }
    if has_tools && codec.strict_tools {
        options.set("strict_tools", true);
    }
    for (_, definition) in request.tools.iter() {
        loosened(codec, &request.tools, definition, refusals)?;
    }
    let choice = tool_choice(codec, request, settings, refusals)?;
    set_member(&mut options.members, "tool_choice", choice);
    options.reasoning(refusals)?;
    options.sampling(refusals)?;
    options.response_format(refusals)?;
    options.caching(refusals)?;
    // It cites what tools return, unasked.
    let cites = settings.citations.filter(|cites| *cites);
    refusals.keep("citations", cites, Some("the API cites no document of a user"))?;
    forbid(&settings.extra_body, &["model", "messages", "tools"])?;
    options.members.extend(settings.extra_body.clone());
    Ok(options.members)
}

struct Options<'a> {
    capabilities: &'a ModelCapabilities,
    settings: &'a ModelSettings,
    has_tools: bool,
    members: Map<String, Value>,
}

impl Options<'_> {
    fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.members.insert(name.to_owned(), value.into());
    }

    fn reasoning(&mut self, refusals: &mut Refusals<'_>) -> Result<(), ProviderError> {
        let option = "reasoning";
        match &self.settings.reasoning {
            None => {}
            // A model that cannot reason has it off already.
            Some(Reasoning::Off) if !can_reason(self.capabilities) => {}
            Some(Reasoning::Off) if knows(self.capabilities, "off") => {
                self.set("thinking", json!({"type": "disabled"}));
            }
            Some(Reasoning::Off) => {
                refusals.refuse(option, "it cannot be switched off here", "it may reason")?
            }
            Some(Reasoning::Budget(budget)) if knows(self.capabilities, "budget") => {
                if *budget == 0 {
                    refusals.refuse(option, "a budget is at least one token", "the nearest was taken")?;
                }
                self.set("thinking", json!({"type": "enabled", "token_budget": (*budget).max(1)}));
            }
            Some(Reasoning::Budget(_)) => refusals.leave_out(option, "the model knows no budget")?,
            Some(Reasoning::Effort(_)) => refusals.leave_out(option, "the model knows no efforts")?,
            Some(_) => refusals.leave_out(option, "this way of reasoning is unknown here")?,
        }
        Ok(())
    }

    fn sampling(&mut self, refusals: &mut Refusals<'_>) -> Result<(), ProviderError> {
        let settings = self.settings;
        set_member(&mut self.members, "max_tokens", settings.max_tokens);
        // The bounds are those of the reference (cohere.md 2).
        let numbers = [
            ("temperature", "temperature", settings.temperature, 0.0..=f64::INFINITY),
            ("top_p", "p", settings.top_p, 0.01..=0.99),
            ("frequency_penalty", "frequency_penalty", settings.frequency_penalty, 0.0..=1.0),
            ("presence_penalty", "presence_penalty", settings.presence_penalty, 0.0..=1.0),
        ];
        for (option, name, value, range) in numbers {
            set_member(&mut self.members, name, refusals.number(option, value, None, range)?);
        }
        if settings.top_k.is_some_and(|k| k > MAX_K) {
            refusals.refuse("top_k", &format!("the API takes at most {MAX_K}"), "the nearest was taken")?;
        }
        set_member(&mut self.members, "k", settings.top_k.map(|k| k.min(MAX_K)));
        set_member(&mut self.members, "seed", settings.seed);
        let stops = refusals.stops(settings, "empty", str::is_empty, MAX_STOPS)?;
        if !stops.is_empty() {
            self.set("stop_sequences", stops);
        }
        Ok(())
    }

    /// The API knows one form, a JSON object, which may have a schema.
    fn response_format(&mut self, refusals: &mut Refusals<'_>) -> Result<(), ProviderError> {
        let format = match &self.settings.response_format {
            None | Some(ResponseFormat::Text) => return Ok(()),
            Some(ResponseFormat::JsonObject) => json!({"type": "json_object"}),
            Some(ResponseFormat::JsonSchema { schema, .. }) => {
                json!({"type": "json_object", "json_schema": schema.value()})
            }
            Some(_) => return refusals.leave_out("response_format", "the API does not know it"),
        };
        let takes = match self.capabilities.structured_output {
            StructuredOutput::None => false,
            StructuredOutput::JsonSchema => true,
            StructuredOutput::JsonObject => format.get("json_schema").is_none() && !self.has_tools,
            _ => !self.has_tools,
        };
        if takes {
            self.set("response_format", format);
            return Ok(());
        }
        let why =
            if self.has_tools { "it does not go with tools" } else { "the model promises no such form" };
        refusals.leave_out("response_format", why)
    }

    /// Prompts are cached by the provider itself; a stable prefix is all it needs.
    fn caching(&mut self, refusals: &mut Refusals<'_>) -> Result<(), ProviderError> {
        match self.settings.cache {
            Some(CachePolicy::Long) => {
                let why = "the provider chooses itself how long it keeps prompts";
                refusals.refuse("cache", why, "kept as long as it does")
            }
            _ => Ok(()),
        }
    }
}
