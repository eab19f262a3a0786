//! Request settings common to all providers, and the policy for unsupported ones.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::json::merge_members;
use crate::secret::Secret;
use crate::structured::OutputSchema;

/// Defines if the model may or must call tools, or a certain tool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// The model must not call tools, although they are offered.
    None,
    /// The model must call at least one tool.
    Required,
    /// The model must call this tool, given by internal name.
    Tool(String),
}

/// Options of model calls. Every field is optional; unset fields are not sent.
///
/// If the model or API does not support an option that is set, the request fails with
/// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) before anything is sent. If
/// [`unsupported`](Self::unsupported) allows it, the option is left out instead, and this is recorded in
/// [`Completion::degradations`](crate::Completion::degradations).
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ModelSettings {
    /// Instructions that precede those in the messages.
    pub system: Option<String>,
    /// The maximum number of output tokens, including reasoning if the API counts it.
    pub max_tokens: Option<u32>,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// Nucleus sampling.
    pub top_p: Option<f64>,
    /// Sampling from the top `k` tokens.
    pub top_k: Option<u32>,
    /// Stop sequences.
    pub stop: Option<Vec<String>>,
    /// Seed for repeatable sampling.
    pub seed: Option<i64>,
    /// Penalty for tokens that have already occurred.
    pub presence_penalty: Option<f64>,
    /// Penalty for tokens in proportion to how often they have occurred.
    pub frequency_penalty: Option<f64>,
    /// The reasoning mode of the model.
    pub reasoning: Option<Reasoning>,
    /// True to allow several tool calls in one reply.
    pub parallel_tool_calls: Option<bool>,
    /// The format of the answer text.
    pub response_format: Option<ResponseFormat>,
    /// Prompt caching.
    pub cache: Option<CachePolicy>,
    /// True to require native citations of all documents in the request that the provider can cite.
    pub citations: Option<bool>,
    /// Members that are merged into the request body last, for options that have no field here.
    pub extra_body: Map<String, Value>,
    /// Headers added to the request.
    pub extra_headers: RequestHeaders,
    /// The handling of unsupported options.
    pub unsupported: Option<Unsupported>,
}

impl ModelSettings {
    /// Creates settings with no option set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns these options overridden by those that `over` sets. Extra members are merged recursively and headers are
    /// combined; for equal names `over` wins.
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
    /// Sets the maximum number of output tokens.
    with_max_tokens = max_tokens: u32;
    /// Sets the temperature.
    with_temperature = temperature: f64;
    /// Sets nucleus sampling.
    with_top_p = top_p: f64;
    /// Sets sampling from the top `k` tokens.
    with_top_k = top_k: u32;
    /// Sets the stop sequences.
    with_stop = stop: Vec<String>;
    /// Sets the seed.
    with_seed = seed: i64;
    /// Sets the presence penalty.
    with_presence_penalty = presence_penalty: f64;
    /// Sets the frequency penalty.
    with_frequency_penalty = frequency_penalty: f64;
    /// Sets the reasoning mode of the model.
    with_reasoning = reasoning: Reasoning;
    /// Allows or forbids several tool calls in one reply.
    with_parallel_tool_calls = parallel_tool_calls: bool;
    /// Sets the format of the answer text.
    with_response_format = response_format: ResponseFormat;
    /// Sets prompt caching.
    with_cache = cache: CachePolicy;
    /// Requires native citations of documents.
    with_citations = citations: bool;
    /// Sets the handling of unsupported options.
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

/// The reasoning effort of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Effort {
    /// The lowest effort of the API.
    Minimal,
    /// Low effort.
    Low,
    /// Medium effort.
    Medium,
    /// High effort.
    High,
    /// Very high effort.
    XHigh,
    /// The highest effort of the API.
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

/// The reasoning mode of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reasoning {
    /// No reasoning.
    Off,
    /// Adaptive reasoning with an effort.
    Effort(Effort),
    /// Reasoning with a budget in tokens, if the API supports one.
    Budget(u32),
}

/// The format of the answer text.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ResponseFormat {
    /// Plain text.
    Text,
    /// Any JSON object.
    JsonObject,
    /// JSON that conforms to a schema.
    JsonSchema {
        /// A name that consists of letters, digits, `_` and `-`.
        name: String,
        /// The JSON Schema; a `json!` value converts to it with `.into()`.
        schema: OutputSchema,
        /// True if the provider must enforce the schema. The provider gets the schema in the subset that it enforces,
        /// and the answer is converted back to this schema. In either case the answer is validated against the schema;
        /// see [`Completion::structured`](crate::Completion::structured).
        strict: bool,
    },
}

impl ResponseFormat {
    /// The schema of the answer, if there is one.
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
    /// Place no cache markers. (Automatic caching by the provider is not affected.)
    Off,
    /// Place markers so that the stable prefix is read from the cache; it is kept for the provider's short cache
    /// lifetime.
    Short,
    /// Place the same markers as [`Short`](Self::Short); the prefix is kept for the provider's long cache lifetime.
    Long,
}

/// The handling of options that the model or API does not support.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Unsupported {
    /// Fail before anything is sent.
    #[default]
    Error,
    /// Leave the option out or use the nearest supported value, and record it.
    Degrade,
}
