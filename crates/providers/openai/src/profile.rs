//! What a server does in its own way, as data.

use std::sync::Arc;

use serde::Deserialize;

use crate::profiles::Profiles;
use crate::responses::ResponsesRules;

/// The quirks of a server. Every field is a named behaviour that any server may have; no server's name is ever
/// tested. It can be read from configuration, where what is not set is as in [`Profile::compatible`]:
///
/// ```
/// use attache_openai::{MaxTokens, Profile};
/// let profile: Profile = toml::from_str(
///     "name = 'local'\nbase_url = 'http://localhost:8080/v1'\nkey = { required = false }\nmax_tokens = 'max_completion_tokens'",
/// )?;
/// assert_eq!(profile.max_tokens, MaxTokens::MaxCompletionTokens);
/// assert_eq!(profile.family, "compatible");
/// # Ok::<(), toml::de::Error>(())
/// ```
///
/// Lists of models hold ids, or beginnings of ids followed by `*`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Profile {
    /// The name before the slash of a model id. Also the tag of reasoning and signatures, which go back only to the
    /// profile that they came from.
    pub name: String,
    /// The API that the name stands for.
    pub api: Api,
    /// The family of the capability matrix: `openai-chat` or `compatible`.
    pub family: String,
    /// The URL to which `/chat/completions` or `/responses` is appended. A path and a query of its own are kept.
    pub base_url: String,
    /// The environment variable that replaces `base_url`; empty if none does.
    pub base_url_variable: String,
    /// How requests are authenticated.
    pub key: KeyRules,
    /// The role of instructions.
    pub system_role: SystemRole,
    /// Where instructions may stand.
    pub system_place: SystemPlace,
    /// The `content` of an assistant message that holds only calls.
    pub empty_content: EmptyContent,
    /// Whether several texts of a user message are joined by line feeds into one string; otherwise they are parts.
    pub joined_texts: bool,
    /// Whether a refusal goes back as a part of type `refusal`; otherwise as text.
    pub refusal_parts: bool,
    /// Which ids of tool calls are sent back as they came.
    pub call_ids: CallIds,
    /// Which reasoning goes back.
    pub reasoning_replay: Replayed,
    /// What `<think>` tags at the start of an answer are.
    pub think_tags: ThinkTags,
    /// Whether `stream_options` asks for the usage of a stream.
    pub stream_usage: bool,
    /// The name of the limit on output.
    pub max_tokens: MaxTokens,
    /// Whether `prompt_cache_key` is sent where caching is asked for.
    pub prompt_cache_key: bool,
    /// Models whose prompt cache can be kept for a day.
    pub day_long_cache: Vec<String>,
    /// Models that refuse `top_k`.
    pub no_top_k: Vec<String>,
    /// Models that refuse `stop`.
    pub no_stop: Vec<String>,
    /// Models that refuse `parallel_tool_calls`.
    pub no_parallel_tool_calls: Vec<String>,
    /// Models that reason unless they are told not to.
    pub reasons_unasked: Vec<String>,
    /// Models that refuse tools while they reason.
    pub no_tools_while_reasoning: Vec<String>,
    /// What the server does in its own way where it speaks Responses.
    pub responses: ResponsesRules,
    /// Members of every request body; those of a request's options win.
    pub extra_body: serde_json::Map<String, serde_json::Value>,
}

/// An API that a server speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Api {
    /// Chat Completions.
    #[default]
    Chat,
    /// Responses.
    Responses,
}

/// How requests are authenticated.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct KeyRules {
    /// Whether nothing works without a key.
    pub required: bool,
    /// The header that carries it.
    pub header: String,
    /// What stands before it in the header.
    pub prefix: String,
    /// The environment variables that may hold it, the preferred one first.
    pub variables: Vec<String>,
}

/// The role of instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SystemRole {
    /// `system`, which every server knows.
    #[default]
    System,
    /// `developer`.
    Developer,
}

/// Where instructions may stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SystemPlace {
    /// Anywhere, in several messages.
    #[default]
    Anywhere,
    /// In one message at the start. Those at the start are merged; a later one becomes a user message. (openai.md
    /// D 49, D 51)
    MergedFirst,
}

/// The `content` of an assistant message that holds only calls (openai.md D 62).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EmptyContent {
    /// `null`.
    #[default]
    Null,
    /// The empty string.
    Empty,
    /// The member is left out.
    Omitted,
}

/// Which ids of tool calls are sent back as they came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CallIds {
    /// All: a server may read its own ids (openai.md D 13).
    #[default]
    AsReceived,
    /// Those of at most 64 letters, digits, `_` and `-`; others are replaced, on call and result alike. (openai.md
    /// D 19)
    Plain,
}

/// Which reasoning goes back to the server that made it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Replayed {
    /// None.
    #[default]
    Never,
    /// That of turns that call tools.
    WithCalls,
    /// All.
    Always,
}

/// What `<think>` tags at the start of an answer are (openai.md D 64).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ThinkTags {
    /// Text like any other.
    #[default]
    Text,
    /// The limits of reasoning.
    AtStart,
    /// The same, and the opening tag is not sent.
    Opened,
}

/// The name of the limit on output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MaxTokens {
    /// `max_tokens`, which imitations know.
    #[default]
    MaxTokens,
    /// `max_completion_tokens`.
    MaxCompletionTokens,
}

impl MaxTokens {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::MaxTokens => "max_tokens",
            Self::MaxCompletionTokens => "max_completion_tokens",
        }
    }
}

impl Default for KeyRules {
    fn default() -> Self {
        Self {
            required: true,
            header: "authorization".to_owned(),
            prefix: "Bearer ".to_owned(),
            variables: Vec::new(),
        }
    }
}

impl Default for Profile {
    fn default() -> Self {
        Self {
            name: "compatible".to_owned(),
            api: Api::default(),
            family: "compatible".to_owned(),
            base_url: String::new(),
            base_url_variable: String::new(),
            key: KeyRules { required: false, ..KeyRules::default() },
            system_role: SystemRole::default(),
            system_place: SystemPlace::MergedFirst,
            empty_content: EmptyContent::default(),
            joined_texts: true,
            refusal_parts: false,
            call_ids: CallIds::default(),
            reasoning_replay: Replayed::WithCalls,
            think_tags: ThinkTags::default(),
            stream_usage: true,
            max_tokens: MaxTokens::default(),
            prompt_cache_key: false,
            day_long_cache: Vec::new(),
            no_top_k: Vec::new(),
            no_stop: Vec::new(),
            no_parallel_tool_calls: Vec::new(),
            reasons_unasked: Vec::new(),
            no_tools_while_reasoning: Vec::new(),
            responses: ResponsesRules::default(),
            extra_body: serde_json::Map::new(),
        }
    }
}

impl Profile {
    /// OpenAI's own Responses: `openai/<model>`. (openai.md B)
    pub fn openai() -> Arc<Self> {
        Self::named("openai")
    }

    /// OpenAI's own Chat Completions: `openai-chat/<model>`. (openai.md A)
    pub fn openai_chat() -> Arc<Self> {
        Self::named("openai-chat")
    }

    /// A bundled profile; under a name that is not there, a server of which nothing is known and which has no address.
    pub(crate) fn named(name: &str) -> Arc<Self> {
        Profiles::bundled().get(name).cloned().unwrap_or_else(|| Arc::new(Self::compatible(name, "")))
    }

    /// A server of which nothing is known but that it imitates Chat Completions: text only, instructions in one
    /// message at the start, no key demanded.
    pub fn compatible(name: impl Into<String>, base_url: impl Into<String>) -> Self {
        Self { name: name.into(), base_url: base_url.into(), ..Self::default() }
    }

    /// Whether `models` covers the model.
    pub(crate) fn covers(models: &[String], model: &str) -> bool {
        models.iter().any(|pattern| match pattern.strip_suffix('*') {
            Some(start) => model.starts_with(start),
            None => pattern == model,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{KeyRules, Profile};

    #[test]
    fn configuration_names_what_differs() {
        let profile: Profile = toml::from_str(
            "name = 'azure'\nfamily = 'openai-chat'\nbase_url = 'https://x/openai/deployments/d?api-version=1'\n\
             [key]\nheader = 'api-key'\nprefix = ''\nvariables = ['AZURE_OPENAI_API_KEY']\n[extra_body]\nuser = 'u'",
        )
        .unwrap();
        assert_eq!(profile.key.header, "api-key");
        assert!(profile.key.required, "key rules that are given demand a key");
        assert_eq!(profile.reasoning_replay, Profile::compatible("azure", "").reasoning_replay);
        assert!(toml::from_str::<Profile>("nam = 'x'").unwrap_err().to_string().contains("unknown field"));
        assert!(!Profile::default().key.required && KeyRules::default().required);
    }

    #[test]
    fn lists_of_models() {
        let list = ["gpt-5*".to_owned(), "o1".to_owned()];
        assert!(Profile::covers(&list, "gpt-5.5-mini") && Profile::covers(&list, "o1"));
        assert!(!Profile::covers(&list, "o1-mini") && !Profile::covers(&list, "gpt-4"));
        assert!(Profile::covers(&["*".to_owned()], "any"));
    }
}
