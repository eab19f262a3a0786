//! Settings of a request that every provider takes, and the policy for those that it cannot honour.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::json::merge_members;
use crate::secret::Secret;
use crate::structured::OutputSchema;

/// The tools that the model must call, or may.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// No tool, although tools are offered.
    None,
    /// At least one tool.
    Required,
    /// This tool, by internal name.
    Tool(String),
}

/// Options of model calls. Every field is optional; what is not set is not sent.
///
/// A model or API that cannot honour an option that was set answers with [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) before
/// anything is sent, unless [`unsupported`](Self::unsupported) allows to leave it out, which is then recorded in
/// [`Completion::degradations`](crate::Completion::degradations).
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ModelSettings {
    /// Instructions that stand before those in the messages.
    pub system: Option<String>,
    /// The most tokens to write, reasoning included where the API counts it so.
    pub max_tokens: Option<u32>,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// Nucleus sampling.
    pub top_p: Option<f64>,
    /// Sampling among the best `k`.
    pub top_k: Option<u32>,
    /// Texts that end the reply.
    pub stop: Option<Vec<String>>,
    /// Seed for repeatable sampling.
    pub seed: Option<i64>,
    /// Penalty for tokens that occurred.
    pub presence_penalty: Option<f64>,
    /// Penalty for tokens by how often they occurred.
    pub frequency_penalty: Option<f64>,
    /// The way in which the model reasons.
    pub reasoning: Option<Reasoning>,
    /// True if several calls may come in one reply.
    pub parallel_tool_calls: Option<bool>,
    /// The form of the answer text.
    pub response_format: Option<ResponseFormat>,
    /// Prompt caching.
    pub cache: Option<CachePolicy>,
    /// True if the provider must cite the documents of the request: all of them where it can cite them.
    pub citations: Option<bool>,
    /// Members merged into the request body last, for what has no option here.
    pub extra_body: Map<String, Value>,
    /// Headers added to the request.
    pub extra_headers: RequestHeaders,
    /// The treatment of options that cannot be honoured.
    pub unsupported: Option<Unsupported>,
}

impl ModelSettings {
    /// No option set.
    pub fn new() -> Self {
        Self::default()
    }

    /// These options where `over` sets none. Extra members are merged at every depth and headers united, `over`
    /// winning by name.
    #[must_use]
    pub fn merged(&self, over: &ModelSettings) -> Self {
        let mut extra_body = self.extra_body.clone();
        merge_members(&mut extra_body, &over.extra_body);
        let mut extra_headers = self.extra_headers.clone();
        extra_headers.0.retain(|(name, _)| !over.extra_headers.0.iter().any(|(other, _)| other == name));
        extra_headers.0.extend(over.extra_headers.0.iter().cloned());
        Self {
            system: over.system.clone().or_else(|| self.system.clone()),
            max_tokens: over.max_tokens.or(self.max_tokens),
            temperature: over.temperature.or(self.temperature),
            top_p: over.top_p.or(self.top_p),
            top_k: over.top_k.or(self.top_k),
            stop: over.stop.clone().or_else(|| self.stop.clone()),
            seed: over.seed.or(self.seed),
            presence_penalty: over.presence_penalty.or(self.presence_penalty),
            frequency_penalty: over.frequency_penalty.or(self.frequency_penalty),
            reasoning: over.reasoning.clone().or_else(|| self.reasoning.clone()),
            parallel_tool_calls: over.parallel_tool_calls.or(self.parallel_tool_calls),
            response_format: over.response_format.clone().or_else(|| self.response_format.clone()),
            cache: over.cache.or(self.cache),
            citations: over.citations.or(self.citations),
            extra_body,
            extra_headers,
            unsupported: over.unsupported.or(self.unsupported),
        }
    }
}

macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident = $field:ident: $type:ty;)*) => {
        impl ModelSettings {
            $($(#[$doc])* #[must_use]
            pub fn $name(mut self, value: $type) -> Self {
                self.$field = Some(value.into());
                self
            })*
        }
    };
}

setters! {
    /// Sets the instructions.
    with_system = system: impl Into<String>;
    /// Sets the most tokens to write.
    with_max_tokens = max_tokens: u32;
    /// Sets the temperature.
    with_temperature = temperature: f64;
    /// Sets nucleus sampling.
    with_top_p = top_p: f64;
    /// Sets sampling among the best `k`.
    with_top_k = top_k: u32;
    /// Sets the texts that end the reply.
    with_stop = stop: Vec<String>;
    /// Sets the seed.
    with_seed = seed: i64;
    /// Sets the presence penalty.
    with_presence_penalty = presence_penalty: f64;
    /// Sets the frequency penalty.
    with_frequency_penalty = frequency_penalty: f64;
    /// Sets how the model reasons.
    with_reasoning = reasoning: Reasoning;
    /// Allows or forbids several calls in one reply.
    with_parallel_tool_calls = parallel_tool_calls: bool;
    /// Sets the form of the answer text.
    with_response_format = response_format: ResponseFormat;
    /// Sets prompt caching.
    with_cache = cache: CachePolicy;
    /// Has the provider cite documents.
    with_citations = citations: bool;
    /// Says what to do about options that cannot be honoured.
    with_unsupported = unsupported: Unsupported;
}

impl ModelSettings {
    /// Adds a member to the request body.
    #[must_use]
    pub fn with_extra_body(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.extra_body.insert(key.into(), value.into());
        self
    }

    /// Adds a header to the request. Its value is treated as a secret.
    #[must_use]
    pub fn with_extra_header(mut self, name: &str, value: impl Into<Secret>) -> Self {
        self.extra_headers.0.push((name.to_ascii_lowercase(), value.into()));
        self
    }
}

/// Header names in lower case with their values, which are treated as secrets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestHeaders(Vec<(String, Secret)>);

impl RequestHeaders {
    /// Names and values in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Secret)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }
}

/// The effort with which a model reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Effort {
    /// As little as the API knows.
    Minimal,
    /// Little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
    /// More.
    XHigh,
    /// As much as the API knows.
    Max,
}

impl Effort {
    /// The word that the APIs use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::XHigh => "xhigh",
            Self::Max => "max",
        }
    }
}

/// The way in which the model reasons.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reasoning {
    /// Not at all.
    Off,
    /// As the model sees fit, with an effort.
    Effort(Effort),
    /// With a budget in tokens, where the API takes one.
    Budget(u32),
}

/// The form of the answer text.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ResponseFormat {
    /// Plain text.
    Text,
    /// Any JSON object.
    JsonObject,
    /// JSON that follows a schema.
    JsonSchema {
        /// A name of letters, digits, `_` and `-`.
        name: String,
        /// The JSON Schema, such as a `json!` value `.into()` it.
        schema: OutputSchema,
        /// True if the provider must enforce it. It gets the schema in the subset that it enforces, and the answer comes
        /// back as this schema has it. Either way the answer is held against the schema; see
        /// [`Completion::structured`](crate::Completion::structured).
        strict: bool,
    },
}

impl ResponseFormat {
    /// The schema that answers are held to, if there is one.
    pub fn schema(&self) -> Option<&OutputSchema> {
        match self {
            Self::JsonSchema { schema, .. } => Some(schema),
            Self::Text | Self::JsonObject => None,
        }
    }
}

/// Prompt caching.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CachePolicy {
    /// Place no markers. (What a provider caches by itself, it caches.)
    Off,
    /// Place markers so that the stable prefix is read from the cache; kept for the provider's short time.
    Short,
    /// Place the markers of [`Short`](Self::Short); the prefix is kept for the provider's long time.
    Long,
}

/// The treatment of options that the model or API cannot honour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Unsupported {
    /// Fail before anything is sent.
    #[default]
    Error,
    /// Leave the option out, or take the nearest, and record it.
    Degrade,
}
