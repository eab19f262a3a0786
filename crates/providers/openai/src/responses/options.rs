//! Options as members of the request body (openai.md B.1, B.4, B.5).

use attache_core::{
    CachePolicy, Caching, ChatRequest, Degradation, ErrorKind, ModelCapabilities, ModelSettings,
    ProviderError, Reasoning, ReasoningReplay, ResponseFormat, StructuredOutput, ToolChoice, merge_members,
    wire_name,
};
use attache_transport::{Refusals, StrictForms};
use serde_json::{Map, Value, json};

use super::rules::ResponsesRules;
use crate::profile::Profile;
use crate::tools;

/// The members of a request body that follow the items, in order.
#[derive(Debug)]
pub(super) struct Options {
    pub(super) members: Map<String, Value>,
    /// The schema of the answer is said in the strict subset.
    pub(super) strict_answer: bool,
    pub(super) degradations: Vec<Degradation>,
}

/// Turns options into members. `has_hosted` says that tools of the server's own are offered beside the request's. One that cannot be honoured is an error, or recorded where the caller allowed to
/// leave it out (invariant 12).
pub(super) fn options(
    profile: &Profile,
    capabilities: &ModelCapabilities,
    request: &ChatRequest,
    config: &ModelSettings,
    has_hosted: bool,
    forms: Option<&StrictForms>,
    cache_key: impl FnOnce() -> String,
) -> Result<Options, ProviderError> {
    let mut writer = Writer {
        profile,
        rules: &profile.responses,
        capabilities,
        config,
        has_tools: !request.tools.is_empty() || has_hosted,
        members: Map::new(),
        strict_answer: false,
        refusals: Refusals::new(&capabilities.model, config.unsupported),
    };
    tools::may_loosen(capabilities, &request.tools, profile.tool_schemas, forms, &mut writer.refusals)?;
    writer.state();
    if request.streaming {
        writer.set("stream", true);
    }
    writer.limits()?;
    let reasons = writer.reasoning()?;
    writer.sampling(reasons)?;
    writer.unknown()?;
    writer.tool_choice(request)?;
    writer.format()?;
    writer.caching(cache_key)?;
    merge_members(&mut writer.members, &profile.extra_body);
    merge_members(&mut writer.members, &config.extra_body);
    writer.members.shift_remove("tools");
    let Writer { members, strict_answer, refusals, .. } = writer;
    Ok(Options { members, strict_answer, degradations: refusals.into_recorded() })
}

/// Whether answers are kept at the server, as only members from outside can say.
pub(super) fn is_stored(profile: &Profile, config: &ModelSettings) -> bool {
    let said = config.extra_body.get("store").or_else(|| profile.extra_body.get("store"));
    profile.responses.stores && said == Some(&Value::Bool(true))
}

struct Writer<'a> {
    profile: &'a Profile,
    rules: &'a ResponsesRules,
    capabilities: &'a ModelCapabilities,
    config: &'a ModelSettings,
    has_tools: bool,
    members: Map<String, Value>,
    strict_answer: bool,
    refusals: Refusals<'a>,
}

impl Writer<'_> {
    fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.members.insert(name.to_owned(), value.into());
    }

    fn covers(&self, models: &[String]) -> bool {
        Profile::covers(models, &self.capabilities.model)
    }

    /// Whether the model can reason. Others refuse every member that has to do with it.
    fn can_reason(&self) -> bool {
        !self.capabilities.reasoning.is_empty() || self.capabilities.reasoning_replay != ReasoningReplay::None
    }

    /// Nothing is kept at the server, so reasoning comes to us, encrypted, and goes back (openai.md B.7, D 24).
    fn state(&mut self) {
        if self.rules.stores {
            self.set("store", false);
        }
        if self.rules.encrypted_reasoning && self.can_reason() {
            self.set("include", json!(["reasoning.encrypted_content"]));
        }
    }

    fn limits(&mut self) -> Result<(), ProviderError> {
        let Some(tokens) = self.config.max_tokens else { return Ok(()) };
        let least = self.rules.least_tokens;
        if tokens < least {
            let why = format!("the API knows no limit below {least}");
            self.refusals.refuse("max_tokens", &why, &format!("{least} was taken"))?;
        }
        self.set("max_output_tokens", tokens.max(least));
        Ok(())
    }

    /// Sets effort and summary. Yields whether the model reasons then.
    fn reasoning(&mut self) -> Result<bool, ProviderError> {
        let knows = |word: &str| self.capabilities.reasoning.iter().any(|known| known == word);
        let (knows_off, knows_effort) = (knows("off"), knows("effort"));
        let mut effort = None;
        match &self.config.reasoning {
            None => {}
            // A model that cannot reason has it off already.
            Some(Reasoning::Off) if !self.can_reason() => {}
            Some(Reasoning::Off) if knows_off => {
                self.set("reasoning", json!({"effort": "none"}));
                return Ok(false);
            }
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
        if let Some(effort) = effort {
            // Summaries are for organisations that OpenAI has verified, so only who asks for reasoning asks for them.
            let reasoning = if self.rules.summaries {
                json!({"effort": effort.as_str(), "summary": "auto"})
            } else {
                json!({"effort": effort.as_str()})
            };
            self.set("reasoning", reasoning);
        }
        let on_request = knows_off && self.covers(&self.rules.reasons_on_request);
        Ok(self.can_reason() && (effort.is_some() || !on_request))
    }

    /// A model that takes no sampling options while it reasons takes them while it does not (openai.md A.6, D 21).
    fn sampling(&mut self, reasons: bool) -> Result<(), ProviderError> {
        let refuses = reasons && !self.capabilities.sampling;
        for (name, value) in [("temperature", self.config.temperature), ("top_p", self.config.top_p)] {
            let Some(value) = value else { continue };
            let value = Refusals::finite(name, value)?;
            if refuses {
                self.refusals.refuse(name, "it has none while the model reasons", "left out")?;
            } else {
                self.set(name, value);
            }
        }
        Ok(())
    }

    /// What only Chat Completions has.
    fn unknown(&mut self) -> Result<(), ProviderError> {
        let config = self.config;
        for (name, value) in
            [("presence_penalty", config.presence_penalty), ("frequency_penalty", config.frequency_penalty)]
        {
            if let Some(value) = value {
                Refusals::finite(name, value)?;
            }
        }
        for (name, asked) in [
            ("presence_penalty", config.presence_penalty.is_some()),
            ("frequency_penalty", config.frequency_penalty.is_some()),
            ("top_k", config.top_k.is_some()),
            ("seed", config.seed.is_some()),
            ("stop", config.stop.as_ref().is_some_and(|stop| !stop.is_empty())),
        ] {
            if asked {
                self.refusals.refuse(name, "the API does not know it", "left out")?;
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
                Some(json!({"type": "function", "name": request.tools.wire_name(name)}))
            }
            _ => return invalid("this tool choice is unknown here".to_owned()),
        };
        let forces = matches!(request.tool_choice, ToolChoice::Required | ToolChoice::Tool(_));
        if forces && !self.capabilities.forced_tools {
            // openai.md D 2
            self.refusals.refuse("tool_choice", "no tool can be forced", "the model decides")?;
        } else if let Some(choice) = choice {
            self.set("tool_choice", choice);
        }
        let Some(parallel) = self.config.parallel_tool_calls.filter(|_| self.has_tools) else {
            return Ok(());
        };
        let known = !self.covers(&self.profile.no_parallel_tool_calls);
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

    fn format(&mut self) -> Result<(), ProviderError> {
        let takes = match self.capabilities.structured_output {
            _ if !self.rules.text_format => StructuredOutput::None,
            StructuredOutput::JsonSchemaAlone if self.has_tools => StructuredOutput::JsonObject,
            StructuredOutput::JsonSchemaAlone => StructuredOutput::JsonSchema,
            takes => takes,
        };
        let takes_object = takes != StructuredOutput::None;
        let format = match &self.config.response_format {
            None | Some(ResponseFormat::Text) => return Ok(()),
            Some(ResponseFormat::JsonObject) if takes_object => json!({"type": "json_object"}),
            Some(ResponseFormat::JsonSchema { name, schema, strict })
                if takes == StructuredOutput::JsonSchema =>
            {
                let fitted = tools::answer(schema, *strict, self.profile.tool_schemas, &mut self.refusals)?;
                self.strict_answer = fitted.is_some();
                let (schema, strict) = (fitted.unwrap_or(schema.value()), self.strict_answer);
                json!({"type": "json_schema", "name": wire_name(name), "schema": schema, "strict": strict})
            }
            Some(ResponseFormat::JsonSchema { .. }) if takes_object => {
                self.refusals.refuse(
                    "response_format",
                    "it takes no schema here",
                    "a JSON object of any form",
                )?;
                json!({"type": "json_object"})
            }
            Some(_) => {
                return self.refusals.refuse("response_format", "it promises no form of answers", "left out");
            }
        };
        self.set("text", json!({"format": format}));
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
            if self.covers(&self.profile.day_long_cache) {
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
