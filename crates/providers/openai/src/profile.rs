//! What a server does in its own way, as data.

mod address;
mod thinking;
mod words;

use std::collections::BTreeMap;
use std::sync::Arc;

use attache_core::merge_members;
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub(crate) use address::{from_environment, missing};
pub use thinking::Thinking;
pub use words::{
    Api, AudioForm, CallIds, EmptyContent, FileForm, JsonObject, KeyRules, MaxTokens, NamedTool, Replayed,
    SystemPlace, SystemRole, ThinkTags, ToolSchemas, ToolsOff,
};

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
/// Lists of models hold ids, in which `*` stands for any run of characters. What differs between the models of a
/// server and is no such list stands in [`models`](Self::models).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Profile {
    /// The name before the slash of a model id. Also the tag of reasoning and signatures, which go back only to the
    /// profile that they came from.
    pub name: String,
    /// The API that the name stands for.
    pub api: Api,
    /// The family of the capability matrix, often of the same name; `compatible` for a server of which nothing is
    /// known.
    pub family: String,
    /// The URL to which `/chat/completions` or `/responses` is appended. A path and a query of its own are kept.
    pub base_url: String,
    /// The environment variable that replaces `base_url`; empty if none does.
    pub base_url_variable: String,
    /// URLs made of environment variables, such as `{HOST}/v1`; `{model}` is the model's id. The first whose variables
    /// are all set replaces `base_url`, unless `base_url_variable` does. Scheme and port that a variable leaves out are
    /// those of `base_url`, and an end that it brings already is not doubled. (openai.md C.11, C.13)
    pub addresses: Vec<String>,
    /// How requests are authenticated.
    pub key: KeyRules,
    /// Headers of every request; those of a request's options win.
    pub headers: BTreeMap<String, String>,
    /// Headers that variables hold, if they are set: by the header's name, the variable's; a blank one is
    /// none. (openai.md 0.1)
    pub header_variables: BTreeMap<String, String>,
    /// The role of instructions.
    pub system_role: SystemRole,
    /// Where instructions may stand.
    pub system_place: SystemPlace,
    /// Whether neighbouring messages of one role are joined, since a chat template wants roles to take turns. Calls
    /// and results are no turns. (openai.md D 52)
    pub alternating: bool,
    /// What an assistant message says that is put between results and a message of the user, where that may not follow
    /// directly; empty if it may. (openai.md C.6, D 17)
    pub bridge: String,
    /// The `content` of an assistant message that holds only calls.
    pub empty_content: EmptyContent,
    /// Whether several texts of a user message are joined by line feeds into one string; otherwise they are parts.
    pub joined_texts: bool,
    /// True if a refusal goes back as a part of type `refusal`; otherwise as text.
    pub refusal_parts: bool,
    /// Whether `image_url` is the URL itself; otherwise an object that holds it. (openai.md C.6)
    pub plain_image_urls: bool,
    /// How sound stands in a message.
    pub audio: AudioForm,
    /// How a PDF or another file stands in a message.
    pub files: FileForm,
    /// Which ids of tool calls are sent back as they came.
    pub call_ids: CallIds,
    /// Which reasoning goes back.
    pub reasoning_replay: Replayed,
    /// Models that want `reasoning_content` on every message with calls: an empty one where none was kept. (openai.md
    /// C.1, D 1)
    pub empty_reasoning: Vec<String>,
    /// What `<think>` tags at the start of an answer are.
    pub think_tags: ThinkTags,
    /// How reasoning is switched.
    pub thinking: Thinking,
    /// Models that reason unless they are told not to.
    pub reasons_unasked: Vec<String>,
    /// Models that refuse tools while they reason.
    pub no_tools_while_reasoning: Vec<String>,
    /// Models that refuse to be forced to call a tool while they reason. (openai.md C.1, C.5, D 2)
    pub no_forced_tools_while_reasoning: Vec<String>,
    /// Models that promise no JSON while they reason. (openai.md C.5)
    pub no_json_while_reasoning: Vec<String>,
    /// Models that answer only in a stream while they reason: an answer in one piece is asked for as a stream, and
    /// comes out the same. (openai.md C.5, D 56)
    pub streamed_while_reasoning: Vec<String>,
    /// Models that do not stream answers of a schema: these are asked for in one piece, and come out the same.
    /// (openai.md C.7)
    pub schemas_whole: Vec<String>,
    /// Models that promise no JSON beside tools. (openai.md C.7, D 54)
    pub no_json_beside_tools: Vec<String>,
    /// How JSON of any form is asked for.
    pub json_object: JsonObject,
    /// Whether `stream_options` asks for the usage of a stream.
    pub stream_usage: bool,
    /// Whether tokens of the total that are counted neither as input nor as output are reasoning, which is output.
    /// (openai.md C.18)
    pub reasoning_in_total: bool,
    /// The name of the limit on output.
    pub max_tokens: MaxTokens,
    /// The name of the seed; empty if there is none. (openai.md C.6)
    pub seed: String,
    /// The bounds of the temperature, both included. (openai.md C.2, C.3)
    pub temperature: Option<(f64, f64)>,
    /// The bounds of `top_p`, both included. (openai.md C.2)
    pub top_p: Option<(f64, f64)>,
    /// Models that take no sampling options whether they reason or not. (openai.md C.4)
    pub no_sampling: Vec<String>,
    /// Models that refuse `top_k`.
    pub no_top_k: Vec<String>,
    /// Models that refuse `presence_penalty` and `frequency_penalty`. (openai.md C.2, C.8)
    pub no_penalties: Vec<String>,
    /// Models that refuse `stop`.
    pub no_stop: Vec<String>,
    /// Models that refuse `parallel_tool_calls`.
    pub no_parallel_tool_calls: Vec<String>,
    /// Whether several calls come in one reply only if `parallel_tool_calls` asks for them, which it then does unless
    /// the request says otherwise. (openai.md C.5, C.16)
    pub parallel_on_request: bool,
    /// Which schemas of tools are taken. (openai.md A.3)
    pub tool_schemas: ToolSchemas,
    /// How tools are withheld where none may be called.
    pub tools_off: ToolsOff,
    /// How one tool is forced.
    pub named_tool: NamedTool,
    /// Whether `prompt_cache_key` is sent where caching is asked for.
    pub prompt_cache_key: bool,
    /// Models that keep prompts where a part of a message has `cache_control`. Their messages are lists of parts.
    /// (openai.md C.9)
    pub cache_markers: Vec<String>,
    /// Models whose prompt cache can be kept for a day.
    pub day_long_cache: Vec<String>,
    /// What the server does in its own way where it speaks Responses.
    pub responses: ResponsesRules,
    /// Members of every request body; those of a request's options win.
    pub extra_body: Map<String, Value>,
    /// Members of this table that differ for some models, by pattern. All patterns that cover a model count, the
    /// shortest first and the model's own name last. Tables are merged, everything else replaced.
    #[serde(deserialize_with = "checked")]
    pub models: BTreeMap<String, Map<String, Value>>,
}

impl Default for Profile {
    fn default() -> Self {
        Self {
            name: "compatible".to_owned(),
            api: Api::default(),
            family: "compatible".to_owned(),
            base_url: String::new(),
            base_url_variable: String::new(),
            addresses: Vec::new(),
            key: KeyRules { required: false, ..KeyRules::default() },
            headers: BTreeMap::new(),
            header_variables: BTreeMap::new(),
            system_role: SystemRole::default(),
            system_place: SystemPlace::MergedFirst,
            alternating: false,
            bridge: String::new(),
            empty_content: EmptyContent::default(),
            joined_texts: true,
            refusal_parts: false,
            plain_image_urls: false,
            audio: AudioForm::default(),
            files: FileForm::default(),
            call_ids: CallIds::default(),
            reasoning_replay: Replayed::WithCalls,
            empty_reasoning: Vec::new(),
            think_tags: ThinkTags::default(),
            thinking: Thinking::default(),
            reasons_unasked: Vec::new(),
            no_tools_while_reasoning: Vec::new(),
            no_forced_tools_while_reasoning: Vec::new(),
            no_json_while_reasoning: Vec::new(),
            streamed_while_reasoning: Vec::new(),
            schemas_whole: Vec::new(),
            no_json_beside_tools: Vec::new(),
            json_object: JsonObject::default(),
            stream_usage: true,
            reasoning_in_total: false,
            max_tokens: MaxTokens::default(),
            seed: "seed".to_owned(),
            temperature: None,
            top_p: None,
            no_sampling: Vec::new(),
            no_top_k: Vec::new(),
            no_penalties: Vec::new(),
            no_stop: Vec::new(),
            no_parallel_tool_calls: Vec::new(),
            parallel_on_request: false,
            tool_schemas: ToolSchemas::default(),
            tools_off: ToolsOff::default(),
            named_tool: NamedTool::default(),
            prompt_cache_key: false,
            cache_markers: Vec::new(),
            day_long_cache: Vec::new(),
            responses: ResponsesRules::default(),
            extra_body: Map::new(),
            models: BTreeMap::new(),
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
        Profiles::bundled_alone(name).unwrap_or_else(|| Arc::new(Self::compatible(name, "")))
    }

    /// A server of which nothing is known but that it imitates Chat Completions: text only, instructions in one
    /// message at the start, no key demanded.
    pub fn compatible(name: impl Into<String>, base_url: impl Into<String>) -> Self {
        Self { name: name.into(), base_url: base_url.into(), ..Self::default() }
    }

    /// Whether `models` covers the model.
    pub(crate) fn covers(models: &[String], model: &str) -> bool {
        models.iter().any(|pattern| matches(pattern, model))
    }

    /// The profile as it is for one model.
    pub(crate) fn for_model(self: &Arc<Self>, model: &str) -> Arc<Self> {
        let mut covering: Vec<_> =
            self.models.iter().filter(|(pattern, _)| matches(pattern, model)).collect();
        if covering.is_empty() {
            return Arc::clone(self);
        }
        covering.sort_by_key(|(pattern, _)| (*pattern == model, pattern.len()));
        // What does not fit was refused when the profile was read.
        let whole = serde_json::to_value(&**self).and_then(|mut whole| {
            for (_, over) in covering {
                if let Value::Object(whole) = &mut whole {
                    merge_members(whole, over);
                }
            }
            Self::deserialize(whole)
        });
        whole.map_or_else(|_| Arc::clone(self), Arc::new)
    }
}

/// Reads what differs for some models, and refuses what is no profile.
fn checked<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, Map<String, Value>>, D::Error> {
    let models = BTreeMap::<String, Map<String, Value>>::deserialize(deserializer)?;
    for (pattern, over) in &models {
        let wrong =
            |problem: &dyn std::fmt::Display| D::Error::custom(format!("models.{pattern}: {problem}"));
        if let Some(name) = ["name", "models"].iter().find(|name| over.contains_key(**name)) {
            return Err(wrong(&format_args!("{name} is the same for all models")));
        }
        Profile::deserialize(Value::Object(over.clone())).map_err(|error| wrong(&error))?;
    }
    Ok(models)
}

/// Whether `pattern`, in which `*` stands for any run of characters, covers the whole of `text`.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((start, mut pattern)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(start) else { return false };
    while let Some((piece, rest)) = pattern.split_once('*') {
        let Some(at) = text.find(piece) else { return false };
        text = text.get(at + piece.len()..).unwrap_or_default();
        pattern = rest;
    }
    text.ends_with(pattern)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let list = ["gpt-5*".to_owned(), "o1".to_owned(), "*/qwen*-vl".to_owned()];
        for model in ["gpt-5.5-mini", "o1", "x/qwen3-vl", "/qwen-vl"] {
            assert!(Profile::covers(&list, model), "{model}");
        }
        for model in ["o1-mini", "gpt-4", "qwen3-vl", "x/qwen3-vl-2", "x/qwen-v", ""] {
            assert!(!Profile::covers(&list, model), "{model}");
        }
        assert!(Profile::covers(&["*".to_owned()], "any") && Profile::covers(&["a*".to_owned()], "a"));
        assert!(!Profile::covers(&["a*a".to_owned()], "a"));
    }

    // A78
    #[test]
    fn what_differs_for_some_models() {
        let text = "base_url = 'http://a'\nthinking.effort = 'effort'\n[models.'big*']\nreasoning_replay = 'always'\n\
                    thinking.budget = 'budget'\n[models.'big-x*']\nmax_tokens = 'max_completion_tokens'";
        let mut profile: Profile = toml::from_str(text).unwrap();
        profile.name = "changed".to_owned();
        let profile = Arc::new(profile);
        let big = profile.for_model("big-1");
        assert_eq!((big.name.as_str(), big.base_url.as_str()), ("changed", "http://a"));
        assert_eq!(big.reasoning_replay, Replayed::Always);
        assert_eq!((big.thinking.effort.as_str(), big.thinking.budget.as_str()), ("effort", "budget"));
        let longest = profile.for_model("big-x");
        assert_eq!(longest.max_tokens, MaxTokens::MaxCompletionTokens);
        assert_eq!(longest.reasoning_replay, Replayed::Always, "every pattern counts");
        assert!(Arc::ptr_eq(&profile, &profile.for_model("small")));
        let problem = |text: &str| toml::from_str::<Profile>(text).unwrap_err().to_string();
        assert!(problem("[models.'a*']\nmax_tokns = 1").contains("models.a*: unknown field `max_tokns`"));
        assert!(problem("[models.'a*']\nname = 'b'").contains("models.a*: name is the same for all models"));
        assert!(problem("[models.'a*']\nthinking.effrt = 'b'").contains("models.a*: unknown field `effrt`"));
    }
}
