//! Options as members of the request body. One that cannot be honoured is refused, or left out where the caller
//! allows it, which is then recorded (invariant 12).

use std::ops::RangeInclusive;

use attache_core::{
    CachePolicy, ChatRequest, ErrorKind, ModelCapabilities, ModelSettings, ProviderError, Reasoning,
    ReasoningReplay, ResponseFormat, StructuredOutput, ToolChoice,
};
use attache_transport::{Codec as _, Refusals};
use serde_json::{Map, Value, json};

use super::misused;
use crate::capabilities::knows;
use crate::codec::CohereCodec;

/// The most stop sequences of a request.
const MAX_STOPS: usize = 5;
/// The most tokens to sample among.
const MAX_K: u32 = 500;

/// The members that follow the messages, in order.
pub(super) fn members(
    codec: &CohereCodec,
    request: &ChatRequest,
    config: &ModelSettings,
    refusals: &mut Refusals<'_>,
) -> Result<Map<String, Value>, ProviderError> {
    let has_tools = !request.tools.is_empty();
    let mut options = Options { capabilities: codec.capabilities(), config, has_tools, members: Map::new() };
    if request.streaming {
        options.set("stream", true);
    }
    if has_tools && codec.strict_tools() {
        options.set("strict_tools", true);
    }
    for (_, definition) in request.tools.iter() {
        super::loosened(codec, &request.tools, definition, refusals)?;
    }
    options.tool_choice(request, refusals)?;
    options.reasoning(refusals)?;
    options.sampling(refusals)?;
    options.response_format(refusals)?;
    options.caching(refusals)?;
    for (name, value) in &config.extra_body {
        if matches!(name.as_str(), "model" | "messages" | "tools") {
            return Err(misused(name, format!("extra_body cannot replace {name}")));
        }
        options.set(name, value.clone());
    }
    Ok(options.members)
}

struct Options<'a> {
    capabilities: &'a ModelCapabilities,
    config: &'a ModelSettings,
    has_tools: bool,
    members: Map<String, Value>,
}

impl Options<'_> {
    fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.members.insert(name.to_owned(), value.into());
    }

    fn tool_choice(
        &mut self,
        request: &ChatRequest,
        refusals: &mut Refusals<'_>,
    ) -> Result<(), ProviderError> {
        if self.has_tools && !self.capabilities.tools {
            let text = format!("{} does not call tools", self.capabilities.model);
            return Err(ProviderError::new(ErrorKind::Unsupported, text).with_param("tools".to_owned()));
        }
        let invalid = |text: String| {
            Err(ProviderError::new(ErrorKind::InvalidRequest, text).with_param("tool_choice".to_owned()))
        };
        let choice = match &request.tool_choice {
            ToolChoice::Auto => None,
            ToolChoice::None => self.has_tools.then_some("NONE"),
            ToolChoice::Required if !self.has_tools => {
                return invalid("a tool is required, but none is offered".to_owned());
            }
            ToolChoice::Required => Some("REQUIRED"),
            ToolChoice::Tool(name) if request.tools.get(name).is_none() => {
                return invalid(format!("the tool {name} is required, but not offered"));
            }
            ToolChoice::Tool(_) => {
                // Of one tool it is the same.
                if request.tools.len() > 1 {
                    refusals.refuse(
                        "tool_choice",
                        "no single tool can be forced",
                        "any of them must be called",
                    )?;
                }
                Some("REQUIRED")
            }
            _ => return invalid("this tool choice is unknown here".to_owned()),
        };
        match choice {
            Some(_) if !self.capabilities.forced_tools => {
                refusals.refuse("tool_choice", "the model chooses tools by itself", "it decides")?;
            }
            Some(choice) => self.set("tool_choice", choice),
            None => {}
        }
        // Whether it makes several calls at a time is the model's own affair.
        let asked = self.config.parallel_tool_calls.filter(|_| self.has_tools);
        if asked.is_some_and(|parallel| parallel != self.capabilities.parallel_tools) {
            refusals.refuse("parallel_tool_calls", "it cannot be chosen", "left out")?;
        }
        Ok(())
    }

    fn reasoning(&mut self, refusals: &mut Refusals<'_>) -> Result<(), ProviderError> {
        let option = "reasoning";
        let reasons = !self.capabilities.reasoning.is_empty()
            || self.capabilities.reasoning_replay != ReasoningReplay::None;
        match &self.config.reasoning {
            None => {}
            // A model that cannot reason has it off already.
            Some(Reasoning::Off) if !reasons => {}
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
            Some(Reasoning::Budget(_)) => refusals.refuse(option, "the model knows no budget", "left out")?,
            Some(Reasoning::Effort(_)) => {
                refusals.refuse(option, "the model knows no efforts", "left out")?
            }
            Some(_) => refusals.refuse(option, "this way of reasoning is unknown here", "left out")?,
        }
        Ok(())
    }

    fn sampling(&mut self, refusals: &mut Refusals<'_>) -> Result<(), ProviderError> {
        let config = self.config;
        if let Some(tokens) = config.max_tokens {
            self.set("max_tokens", tokens);
        }
        let numbers = [
            ("temperature", "temperature", config.temperature, 0.0..=f64::INFINITY),
            ("top_p", "p", config.top_p, 0.01..=0.99),
            ("frequency_penalty", "frequency_penalty", config.frequency_penalty, 0.0..=1.0),
            ("presence_penalty", "presence_penalty", config.presence_penalty, 0.0..=1.0),
        ];
        for (option, name, value, range) in numbers {
            if let Some(value) = value {
                let value = within(option, Refusals::finite(option, value)?, range, refusals)?;
                self.set(name, value);
            }
        }
        if let Some(k) = config.top_k {
            if k > MAX_K {
                refusals.refuse(
                    "top_k",
                    &format!("the API takes at most {MAX_K}"),
                    "the nearest was taken",
                )?;
            }
            self.set("k", k.min(MAX_K));
        }
        if let Some(seed) = config.seed {
            self.set("seed", seed);
        }
        if let Some(stop) = config.stop.as_ref().filter(|stop| !stop.is_empty()) {
            if stop.len() > MAX_STOPS {
                let why = format!("the API takes at most {MAX_STOPS}");
                refusals.refuse("stop", &why, "the first ones were taken")?;
            }
            self.set("stop_sequences", stop.iter().take(MAX_STOPS).cloned().collect::<Vec<_>>());
        }
        Ok(())
    }

    /// The API knows one form, a JSON object, which may have a schema.
    fn response_format(&mut self, refusals: &mut Refusals<'_>) -> Result<(), ProviderError> {
        let format = match &self.config.response_format {
            None | Some(ResponseFormat::Text) => return Ok(()),
            Some(ResponseFormat::JsonObject) => json!({"type": "json_object"}),
            Some(ResponseFormat::JsonSchema { schema, .. }) => {
                json!({"type": "json_object", "json_schema": schema.value()})
            }
            Some(_) => return refusals.refuse("response_format", "the API does not know it", "left out"),
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
        refusals.refuse("response_format", why, "left out")
    }

    /// Prompts are cached by the provider itself; a stable prefix is all it needs.
    fn caching(&mut self, refusals: &mut Refusals<'_>) -> Result<(), ProviderError> {
        match self.config.cache {
            Some(CachePolicy::Long) => {
                let why = "the provider chooses itself how long it keeps prompts";
                refusals.refuse("cache", why, "kept as long as it does")
            }
            _ => Ok(()),
        }
    }
}

/// The value, or the nearest in `range` if the caller allows it.
fn within(
    option: &str,
    value: f64,
    range: RangeInclusive<f64>,
    refusals: &mut Refusals<'_>,
) -> Result<f64, ProviderError> {
    if !range.contains(&value) {
        let why = match range.end().is_finite() {
            true => format!("it must lie between {} and {}", range.start(), range.end()),
            false => format!("it must be at least {}", range.start()),
        };
        refusals.refuse(option, &why, "the nearest was taken")?;
    }
    Ok(value.clamp(*range.start(), *range.end()))
}
