//! Options as members of the request body.

use attache_core::{
    CachePolicy, Caching, ChatRequest, Degradation, ErrorKind, Message, ModelCapabilities, ModelSettings,
    ProviderError, ResponseFormat, StructuredOutput, ToolChoice, merge_members, wire_name,
};
use attache_transport::{Refusals, StrictForms};
use serde_json::{Map, Value, json};

use super::reasons::Reasons;
use crate::profile::{JsonObject, NamedTool, Profile, ToolsOff};
use crate::tools;

/// What a request asks for beside its messages.
#[derive(Debug)]
pub(super) struct Options {
    /// The members that follow the messages, in order.
    pub(super) members: Map<String, Value>,
    /// The tools that are offered.
    pub(super) offered: Offered,
    /// What the model is told because no member says it.
    pub(super) instruction: Option<String>,
    /// The member that marks a part up to which prompts are kept.
    pub(super) marker: Option<&'static str>,
    /// What is said in the strict subset.
    pub(super) forms: Option<StrictForms>,
    pub(super) degradations: Vec<Degradation>,
}

/// Which of a request's tools are offered.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Offered {
    All,
    None,
    /// The one of this name.
    One(String),
}

/// The member for the cache key, which is known only when what stands before the messages is.
pub(super) const CACHE_KEY: &str = "prompt_cache_key";

/// The markers of prompts that are kept for minutes and for an hour. (openai.md C.9)
const SHORT_MARKER: &str = r#","cache_control":{"type":"ephemeral"}"#;
const LONG_MARKER: &str = r#","cache_control":{"type":"ephemeral","ttl":"1h"}"#;

/// Turns options into members. `has_hosted` says that tools of the server's own are offered beside the request's. One that cannot be honoured is an error, or recorded where the caller allowed to
/// leave it out (invariant 12).
pub(super) fn options(
    profile: &Profile,
    capabilities: &ModelCapabilities,
    request: &ChatRequest,
    config: &ModelSettings,
    has_hosted: bool,
    forms: Option<StrictForms>,
) -> Result<Options, ProviderError> {
    let mut refusals = Refusals::new(&capabilities.model, config.unsupported);
    let unasked = Profile::covers(&profile.reasons_unasked, &capabilities.model);
    let reasons = Reasons::new(unasked, capabilities, config, &mut refusals)?;
    let dropped = request.tool_choice == ToolChoice::None && profile.tools_off == ToolsOff::Dropped;
    let mut writer = Writer {
        profile,
        capabilities,
        config,
        has_tools: (!request.tools.is_empty() || has_hosted) && !dropped,
        reasons,
        members: profile.extra_body.clone(),
        instruction: None,
        marker: None,
        strict_answer: false,
        refusals,
    };
    tools::may_loosen(
        capabilities,
        &request.tools,
        profile.tool_schemas,
        forms.as_ref(),
        &mut writer.refusals,
    )?;
    writer.tools_while_reasoning()?;
    writer.streaming(!request.streaming);
    writer.limits();
    writer.reasons.write(&profile.thinking, &mut writer.members);
    writer.sampling()?;
    writer.stopping()?;
    let offered = writer.tool_choice(request)?;
    writer.response_format()?;
    writer.caching(request)?;
    merge_members(&mut writer.members, &config.extra_body);
    writer.members.shift_remove("tools");
    let offered = if dropped { Offered::None } else { offered };
    let Writer { members, instruction, marker, strict_answer, refusals, .. } = writer;
    let forms = if strict_answer {
        Some(StrictForms::with_answer(forms, profile.tool_schemas.subset()))
    } else {
        forms
    };
    Ok(Options { members, offered, instruction, marker, forms, degradations: refusals.into_recorded() })
}

struct Writer<'a> {
    profile: &'a Profile,
    capabilities: &'a ModelCapabilities,
    config: &'a ModelSettings,
    has_tools: bool,
    reasons: Reasons,
    members: Map<String, Value>,
    instruction: Option<String>,
    marker: Option<&'static str>,
    strict_answer: bool,
    refusals: Refusals<'a>,
}

impl Writer<'_> {
    fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.members.insert(name.to_owned(), value.into());
    }

    fn is(&self, models: &[String]) -> bool {
        Profile::covers(models, &self.capabilities.model)
    }

    /// openai.md A.6, D 20
    fn tools_while_reasoning(&mut self) -> Result<(), ProviderError> {
        if self.reasons.surely() && self.has_tools && self.is(&self.profile.no_tools_while_reasoning) {
            let why =
                "this API does not combine it with tools; switch it off, or use the Responses API (openai/)";
            self.refusals.refuse("reasoning", why, "switched off")?;
            self.reasons.switch_off();
        }
        Ok(())
    }

    fn streaming(&mut self, whole: bool) {
        let profile = self.profile;
        let has_schema = matches!(self.config.response_format, Some(ResponseFormat::JsonSchema { .. }));
        let must = self.reasons.surely() && self.is(&profile.streamed_while_reasoning);
        let cannot = has_schema && self.is(&profile.schemas_whole);
        // The reply is the same either way, so nothing is lost.
        if must || !whole && !cannot {
            self.set("stream", true);
            if profile.stream_usage {
                self.set("stream_options", json!({"include_usage": true}));
            }
        }
    }

    fn limits(&mut self) {
        if let Some(tokens) = self.config.max_tokens {
            self.set(self.profile.max_tokens.as_str(), tokens);
        }
    }

    /// A model that takes no sampling options while it reasons takes them while it does not (openai.md A.6).
    fn sampling(&mut self) -> Result<(), ProviderError> {
        let (config, profile) = (self.config, self.profile);
        let why = if self.is(&profile.no_sampling) {
            Some("the model has a fixed one")
        } else if self.reasons.perhaps() && !self.capabilities.sampling {
            Some("it has none while the model reasons")
        } else {
            None
        };
        let penalties =
            why.or_else(|| self.is(&profile.no_penalties).then_some("the API or the model does not know it"));
        let numbers = [
            ("temperature", config.temperature, profile.temperature, why),
            ("top_p", config.top_p, profile.top_p, why),
            ("presence_penalty", config.presence_penalty, None, penalties),
            ("frequency_penalty", config.frequency_penalty, None, penalties),
        ];
        for (name, value, bounds, why) in numbers {
            let Some(value) = value else { continue };
            let value = Refusals::finite(name, value)?;
            if let Some(why) = why {
                self.refusals.refuse(name, why, "left out")?;
                continue;
            }
            let value = self.bounded(name, value, bounds)?;
            self.set(name, value);
        }
        if let Some(k) = config.top_k {
            let unknown = || self.is(&profile.no_top_k).then_some("the API does not know it");
            match why.or_else(unknown) {
                Some(why) => self.refusals.refuse("top_k", why, "left out")?,
                None => self.set("top_k", k),
            }
        }
        match config.seed {
            None => {}
            Some(_) if profile.seed.is_empty() => {
                self.refusals.refuse("seed", "the API does not know it", "left out")?
            }
            Some(seed) => self.set(&profile.seed, seed),
        }
        Ok(())
    }

    fn bounded(&mut self, name: &str, value: f64, bounds: Option<(f64, f64)>) -> Result<f64, ProviderError> {
        let Some((least, most)) = bounds.filter(|(least, most)| !(least..=most).contains(&&value)) else {
            return Ok(value);
        };
        let nearest = value.max(least).min(most);
        let why = format!("it lies between {least} and {most}");
        self.refusals.refuse(name, &why, &format!("{nearest} was taken"))?;
        Ok(nearest)
    }

    fn stopping(&mut self) -> Result<(), ProviderError> {
        if let Some(stop) = self.config.stop.as_ref().filter(|stop| !stop.is_empty()) {
            if self.is(&self.profile.no_stop) {
                self.refusals.refuse("stop", "the model does not know it", "left out")?;
            } else {
                self.set("stop", stop.as_slice());
            }
        }
        Ok(())
    }

    fn tool_choice(&mut self, request: &ChatRequest) -> Result<Offered, ProviderError> {
        let invalid = |text: String| {
            Err(ProviderError::new(ErrorKind::InvalidRequest, text).with_param("tool_choice".to_owned()))
        };
        if self.has_tools && !self.capabilities.tools {
            let text = format!("{} does not call tools", self.capabilities.model);
            return Err(ProviderError::new(ErrorKind::Unsupported, text).with_param("tools".to_owned()));
        }
        let mut offered = Offered::All;
        let choice = match &request.tool_choice {
            ToolChoice::Auto => None,
            ToolChoice::None => self.has_tools.then(|| Value::from("none")),
            ToolChoice::Required if !self.has_tools => {
                return invalid("a tool is required, but none is offered".to_owned());
            }
            ToolChoice::Required => Some(Value::from("required")),
            ToolChoice::Tool(name) if request.tools.get(name).is_none() => {
                return invalid(format!("the tool {name} is required, but not offered"));
            }
            ToolChoice::Tool(name) => Some(match self.profile.named_tool {
                NamedTool::Choice => {
                    json!({"type": "function", "function": {"name": request.tools.wire_name(name)}})
                }
                NamedTool::Alone => {
                    offered = Offered::One(name.clone());
                    Value::from("required")
                }
            }),
            _ => return invalid("this tool choice is unknown here".to_owned()),
        };
        let forces = matches!(request.tool_choice, ToolChoice::Required | ToolChoice::Tool(_));
        // openai.md D 2
        let thinks = self.reasons.surely() && self.is(&self.profile.no_forced_tools_while_reasoning);
        if forces && (thinks || !self.capabilities.forced_tools) {
            let why = match thinks {
                true => "no tool can be forced while the model reasons",
                false => "no tool can be forced",
            };
            self.refusals.refuse("tool_choice", why, "the model decides")?;
            offered = Offered::All;
        } else if let Some(choice) = choice {
            self.set("tool_choice", choice);
        }
        self.parallel()?;
        Ok(offered)
    }

    fn parallel(&mut self) -> Result<(), ProviderError> {
        let can = self.capabilities.parallel_tools;
        let by_default = (self.profile.parallel_on_request && can).then_some(true);
        let asked = self.config.parallel_tool_calls;
        let Some(parallel) = asked.or(by_default).filter(|_| self.has_tools) else { return Ok(()) };
        let known = !self.is(&self.profile.no_parallel_tool_calls);
        match (parallel, can) {
            // One call at a time is all that such a model does.
            (false, false) => {}
            (true, false) => {
                self.refusals.refuse("parallel_tool_calls", "it makes one call at a time", "left out")?
            }
            (_, true) if known => self.set("parallel_tool_calls", parallel),
            // Several calls are what comes anyway.
            (true, true) => {}
            (false, true) => {
                self.refusals.refuse("parallel_tool_calls", "it cannot be chosen", "left out")?
            }
        }
        Ok(())
    }

    fn response_format(&mut self) -> Result<(), ProviderError> {
        let profile = self.profile;
        let format = match &self.config.response_format {
            None | Some(ResponseFormat::Text) => return Ok(()),
            Some(format) => format,
        };
        let hindrance = if self.has_tools && self.is(&profile.no_json_beside_tools) {
            Some("it promises no form of answers beside tools")
        } else if self.reasons.surely() && self.is(&profile.no_json_while_reasoning) {
            Some("it promises no form of answers while the model reasons")
        } else {
            None
        };
        if let Some(why) = hindrance {
            return self.refusals.refuse("response_format", why, "left out");
        }
        let takes = self.capabilities.structured_output;
        let takes_object = takes != StructuredOutput::None;
        let takes_schema = match takes {
            StructuredOutput::JsonSchema => true,
            StructuredOutput::JsonSchemaAlone => !self.has_tools,
            _ => false,
        };
        let object = || match profile.json_object {
            JsonObject::Word => json!({"type": "json_object"}),
            JsonObject::Schema => {
                json!({"type": "json_schema", "json_schema": {"name": "object", "schema": {"type": "object"}}})
            }
        };
        let format = match format {
            ResponseFormat::JsonObject if takes_object => object(),
            ResponseFormat::JsonSchema { name, schema, strict } if takes_schema => {
                let fitted = tools::answer(schema, *strict, self.profile.tool_schemas, &mut self.refusals)?;
                self.strict_answer = fitted.is_some();
                let (schema, strict) = (fitted.unwrap_or(schema.value()), self.strict_answer);
                json!({"type": "json_schema", "json_schema": {"name": wire_name(name), "schema": schema, "strict": strict}})
            }
            // The instructions also say the word that servers demand beside a JSON object (openai.md A.4).
            ResponseFormat::JsonSchema { schema, .. } if takes_object => {
                let instead = "a JSON object of any form, and the schema stands in the instructions";
                self.refusals.refuse("response_format", "it takes no schema here", instead)?;
                self.instruction =
                    Some(format!("Answer with a JSON object that follows this JSON Schema:\n{schema}"));
                object()
            }
            _ => {
                return self.refusals.refuse("response_format", "it promises no form of answers", "left out");
            }
        };
        self.set("response_format", format);
        Ok(())
    }

    /// Automatic caching needs nothing but a stable prefix; a key brings requests with the same one together.
    fn caching(&mut self, request: &ChatRequest) -> Result<(), ProviderError> {
        if self.is(&self.profile.cache_markers) {
            // Where nothing is said, what will be repeated is kept: writing it costs a quarter more, once.
            let goes_on = self.has_tools
                || request.messages.iter().any(|message| matches!(&**message, Message::Assistant(_)));
            self.marker = match self.config.cache {
                Some(CachePolicy::Short) => Some(SHORT_MARKER),
                Some(CachePolicy::Long) => Some(LONG_MARKER),
                None if goes_on => Some(SHORT_MARKER),
                _ => None,
            };
            return Ok(());
        }
        let policy = match self.config.cache {
            None | Some(CachePolicy::Off) => return Ok(()),
            Some(policy) => policy,
        };
        if self.capabilities.caching != Caching::Automatic {
            return self.refusals.refuse(
                "cache",
                "it caches no prompts, or only by markers that this API has not",
                "left out",
            );
        }
        if self.profile.prompt_cache_key {
            self.set(CACHE_KEY, Value::Null);
        }
        if policy == CachePolicy::Long {
            if self.is(&self.profile.day_long_cache) {
                self.set("prompt_cache_retention", "24h");
            } else {
                self.refusals.refuse(
                    "cache",
                    "it chooses itself how long it keeps prompts",
                    "kept as long as it does",
                )?;
            }
        }
        Ok(())
    }
}
