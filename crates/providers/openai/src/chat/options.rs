//! Options as members of the request body.

use attache_core::{
    CachePolicy, Caching, ChatRequest, Degradation, ErrorKind, ModelCapabilities, ProviderConfig,
    ProviderError, Reasoning, ReasoningReplay, ResponseFormat, StructuredOutput, ToolChoice, wire_name,
};
use attache_transport::Refusals;
use serde_json::{Map, Value, json};

use crate::profile::Profile;

/// The members of a request body that follow the messages, in order.
#[derive(Debug)]
pub(super) struct Options {
    pub(super) members: Map<String, Value>,
    pub(super) degradations: Vec<Degradation>,
}

/// Turns options into members. One that cannot be honoured is an error, or recorded where the caller allowed to
/// leave it out (design.md, invariant 12).
pub(super) fn options(
    profile: &Profile,
    capabilities: &ModelCapabilities,
    request: &ChatRequest,
    config: &ProviderConfig,
    cache_key: impl FnOnce() -> String,
) -> Result<Options, ProviderError> {
    let mut writer = Writer {
        profile,
        capabilities,
        config,
        has_tools: !request.tools.is_empty(),
        members: profile.extra_body.clone(),
        refusals: Refusals::new(&capabilities.model, config.unsupported),
    };
    writer.streaming(request.whole);
    writer.limits();
    let reasons = writer.reasoning()?;
    writer.sampling(reasons)?;
    writer.stopping()?;
    writer.tool_choice(request)?;
    writer.response_format()?;
    writer.caching(cache_key)?;
    writer.members.extend(config.extra_body.clone());
    Ok(Options { members: writer.members, degradations: writer.refusals.into_recorded() })
}

struct Writer<'a> {
    profile: &'a Profile,
    capabilities: &'a ModelCapabilities,
    config: &'a ProviderConfig,
    has_tools: bool,
    members: Map<String, Value>,
    refusals: Refusals<'a>,
}

impl Writer<'_> {
    fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.members.insert(name.to_owned(), value.into());
    }

    fn streaming(&mut self, whole: bool) {
        if !whole {
            self.set("stream", true);
            if self.profile.stream_usage {
                self.set("stream_options", json!({"include_usage": true}));
            }
        }
    }

    fn limits(&mut self) {
        if let Some(tokens) = self.config.max_tokens {
            self.set(self.profile.max_tokens.as_str(), tokens);
        }
    }

    /// Sets the effort. Yields whether the model reasons then, if it can at all.
    fn reasoning(&mut self) -> Result<bool, ProviderError> {
        let model = &self.capabilities.model;
        let knows = |word: &str| self.capabilities.reasoning.iter().any(|known| known == word);
        let (knows_off, knows_effort) = (knows("off"), knows("effort"));
        let unasked = Profile::covers(&self.profile.reasons_unasked, model);
        let mut effort = None;
        let mut off = false;
        match &self.config.reasoning {
            None => {}
            // A model that cannot reason has it off already.
            Some(Reasoning::Off)
                if self.capabilities.reasoning.is_empty()
                    && self.capabilities.reasoning_replay == ReasoningReplay::None => {}
            Some(Reasoning::Off) if knows_off => off = true,
            Some(Reasoning::Off) => {
                self.refusals.refuse("reasoning", "it cannot be switched off here", "it may reason")?
            }
            Some(Reasoning::Effort(asked)) if knows_effort => {
                effort = self.refusals.effort(*asked, &self.capabilities.efforts, "left out")?;
            }
            Some(Reasoning::Effort(_)) => {
                self.refusals.refuse("reasoning", "it knows no effort", "left out")?
            }
            Some(Reasoning::Budget(_)) => {
                self.refusals.refuse("reasoning", "it knows no token budget", "left out")?
            }
            Some(_) => {
                self.refusals.refuse("reasoning", "this way of reasoning is unknown here", "left out")?
            }
        }
        let reasons = !off && (effort.is_some() || unasked);
        if reasons && self.has_tools && Profile::covers(&self.profile.no_tools_while_reasoning, model) {
            // openai.md A.6, D 20
            let why =
                "this API does not combine it with tools; switch it off, or use the Responses API (openai/)";
            self.refusals.refuse("reasoning", why, "switched off")?;
            (effort, off) = (None, true);
        }
        if off {
            self.set("reasoning_effort", "none");
        } else if let Some(effort) = effort {
            self.set("reasoning_effort", effort.as_str());
        }
        Ok(!off && (effort.is_some() || unasked || !knows_off))
    }

    /// A model that takes no sampling options while it reasons takes them while it does not (openai.md A.6).
    fn sampling(&mut self, reasons: bool) -> Result<(), ProviderError> {
        let config = self.config;
        let refuses = reasons && !self.capabilities.sampling;
        let numbers = [
            ("temperature", config.temperature),
            ("top_p", config.top_p),
            ("presence_penalty", config.presence_penalty),
            ("frequency_penalty", config.frequency_penalty),
        ];
        for (name, value) in numbers {
            let Some(value) = value else { continue };
            let value = Refusals::finite(name, value)?;
            if refuses {
                self.refusals.refuse(name, "it has none while the model reasons", "left out")?;
            } else {
                self.set(name, value);
            }
        }
        if let Some(k) = config.top_k {
            if refuses || Profile::covers(&self.profile.no_top_k, &self.capabilities.model) {
                self.refusals.refuse("top_k", "the API does not know it", "left out")?;
            } else {
                self.set("top_k", k);
            }
        }
        if let Some(seed) = config.seed {
            self.set("seed", seed);
        }
        Ok(())
    }

    fn stopping(&mut self) -> Result<(), ProviderError> {
        if let Some(stop) = self.config.stop.as_ref().filter(|stop| !stop.is_empty()) {
            if Profile::covers(&self.profile.no_stop, &self.capabilities.model) {
                self.refusals.refuse("stop", "the model does not know it", "left out")?;
            } else {
                self.set("stop", stop.as_slice());
            }
        }
        Ok(())
    }

    fn tool_choice(&mut self, request: &ChatRequest) -> Result<(), ProviderError> {
        let invalid = |text: String| {
            Err(ProviderError::new(ErrorKind::InvalidRequest, text).with_param("tool_choice".to_owned()))
        };
        if self.has_tools && !self.capabilities.tools {
            let text = format!("{} does not call tools", self.capabilities.model);
            return Err(ProviderError::new(ErrorKind::Unsupported, text).with_param("tools".to_owned()));
        }
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
            ToolChoice::Tool(name) => {
                Some(json!({"type": "function", "function": {"name": request.tools.wire_name(name)}}))
            }
            _ => return invalid("this tool choice is unknown here".to_owned()),
        };
        let forces = matches!(request.tool_choice, ToolChoice::Required | ToolChoice::Tool(_));
        if forces && !self.capabilities.forced_tools {
            self.refusals.refuse("tool_choice", "no tool can be forced", "the model decides")?;
        } else if let Some(choice) = choice {
            self.set("tool_choice", choice);
        }
        let Some(parallel) = self.config.parallel_tool_calls.filter(|_| self.has_tools) else {
            return Ok(());
        };
        let known = !Profile::covers(&self.profile.no_parallel_tool_calls, &self.capabilities.model);
        match (parallel, self.capabilities.parallel_tools) {
            // One call at a time is all that such a model does.
            (false, false) => {}
            (true, false) => {
                self.refusals.refuse("parallel_tool_calls", "it makes one call at a time", "left out")?
            }
            (_, true) if known => self.set("parallel_tool_calls", parallel),
            (_, true) => self.refusals.refuse("parallel_tool_calls", "it cannot be chosen", "left out")?,
        }
        Ok(())
    }

    fn response_format(&mut self) -> Result<(), ProviderError> {
        let takes = self.capabilities.structured_output;
        let takes_object = takes != StructuredOutput::None;
        let takes_schema = match takes {
            StructuredOutput::JsonSchema => true,
            StructuredOutput::JsonSchemaAlone => !self.has_tools,
            _ => false,
        };
        let object = || json!({"type": "json_object"});
        let format = match &self.config.response_format {
            None | Some(ResponseFormat::Text) => return Ok(()),
            Some(ResponseFormat::JsonObject) if takes_object => object(),
            Some(ResponseFormat::JsonSchema { name, schema, strict }) if takes_schema => {
                json!({"type": "json_schema", "json_schema": {"name": wire_name(name), "schema": schema, "strict": strict}})
            }
            Some(ResponseFormat::JsonSchema { .. }) if takes_object => {
                self.refusals.refuse(
                    "response_format",
                    "it takes no schema here",
                    "a JSON object of any form",
                )?;
                object()
            }
            Some(_) => {
                return self.refusals.refuse("response_format", "it promises no form of answers", "left out");
            }
        };
        self.set("response_format", format);
        Ok(())
    }

    /// Automatic caching needs nothing but a stable prefix; a key brings requests with the same one together.
    fn caching(&mut self, cache_key: impl FnOnce() -> String) -> Result<(), ProviderError> {
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
            self.set("prompt_cache_key", cache_key());
        }
        if policy == CachePolicy::Long {
            if Profile::covers(&self.profile.day_long_cache, &self.capabilities.model) {
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
