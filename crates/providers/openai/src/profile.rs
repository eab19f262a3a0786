//! The quirks of a server, as data.

mod choices;
mod named;
mod responses;
mod thinking;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use attache_core::json::merge_members;
use attache_transport::shown_url;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use choices::{
    Api, AudioForm, CallIds, EmptyContent, FileForm, ItemIds, JsonObject, KeyRules, MaxTokens, NamedTool,
    ReasoningItems, Replayed, SystemPlace, SystemRole, ThinkTags, ToolSchemas, ToolsOff,
};
pub use named::{ProfileError, Profiles};
pub use responses::ResponsesRules;
pub use thinking::Thinking;

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
/// It names no models: their differences are rows of the capability matrix ([`Matrix`](attache_core::capability::Matrix)), whose
/// cells below `wire` are members of this table.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
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
    /// Headers of every request; those of a request's options win. Their values are secrets wherever a request is shown.
    pub headers: BTreeMap<String, String>,
    /// Headers that variables hold, if they are set: by the header's name, the variable's; a blank one is
    /// none. (openai.md 0.1)
    pub header_variables: BTreeMap<String, String>,
    /// The role of instructions.
    pub system_role: SystemRole,
    /// Where instructions may stand.
    pub system_place: SystemPlace,
    /// True if neighbouring messages of one role are joined, since a chat template wants roles to take turns. Calls
    /// and results are no turns. (openai.md D 52)
    pub alternating: bool,
    /// The text of an assistant message that is put between results and a message of the user, where that may not
    /// follow directly; empty if it may. (openai.md C.6, D 17)
    pub bridge: String,
    /// The `content` of an assistant message that holds only calls.
    pub empty_content: EmptyContent,
    /// True if several texts of a user message are joined by line feeds into one string; otherwise they are parts.
    pub joined_texts: bool,
    /// True if a refusal goes back as a part of type `refusal`; otherwise as text.
    pub refusal_parts: bool,
    /// True if `image_url` is the URL itself; otherwise an object that holds it. (openai.md C.6)
    pub plain_image_urls: bool,
    /// The form of sound in a message.
    pub audio: AudioForm,
    /// The form of a PDF or another file in a message.
    pub files: FileForm,
    /// Which ids of tool calls are sent back as they came.
    pub call_ids: CallIds,
    /// Which reasoning goes back.
    pub reasoning_replay: Replayed,
    /// True if messages with calls have `reasoning_content`: an empty one where none was kept. (openai.md C.1, D 1)
    pub empty_reasoning: bool,
    /// The meaning of `<think>` and `<thought>` tags at the start of an answer.
    pub think_tags: ThinkTags,
    /// How reasoning is switched.
    pub thinking: Thinking,
    /// True if answers of a schema are not streamed: these are asked for in one piece, and come out the same.
    /// (openai.md C.7)
    pub schemas_whole: bool,
    /// The way to ask for JSON of any form.
    pub json_object: JsonObject,
    /// True if `stream_options` asks for the usage of a stream.
    pub stream_usage: bool,
    /// True if tokens of the total that are counted neither as input nor as output are reasoning, which is output.
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
    /// The maximum number of stop sequences. (openai.md A.1)
    pub max_stops: Option<usize>,
    /// True if the server takes `top_k`.
    pub top_k: bool,
    /// True if several calls come in one reply only if `parallel_tool_calls` asks for them, which it then does unless
    /// the request says otherwise. (openai.md C.5, C.16)
    pub parallel_on_request: bool,
    /// Which schemas of tools are taken. (openai.md A.3)
    pub tool_schemas: ToolSchemas,
    /// The way to withhold tools where none may be called.
    pub tools_off: ToolsOff,
    /// The way to force one tool.
    pub named_tool: NamedTool,
    /// True if `prompt_cache_key` is sent where caching is asked for.
    pub prompt_cache_key: bool,
    /// The quirks of the server where it speaks Responses.
    pub responses: ResponsesRules,
    /// Members of every request body; those of a request's options win.
    pub extra_body: Map<String, Value>,
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
            empty_reasoning: false,
            think_tags: ThinkTags::default(),
            thinking: Thinking::default(),
            schemas_whole: false,
            json_object: JsonObject::default(),
            stream_usage: true,
            reasoning_in_total: false,
            max_tokens: MaxTokens::default(),
            seed: "seed".to_owned(),
            temperature: None,
            top_p: None,
            max_stops: None,
            top_k: true,
            parallel_on_request: false,
            tool_schemas: ToolSchemas::default(),
            tools_off: ToolsOff::default(),
            named_tool: NamedTool::default(),
            prompt_cache_key: false,
            responses: ResponsesRules::default(),
            extra_body: Map::new(),
        }
    }
}

/// Values of headers and the credentials of an address are nobody's to read.
impl fmt::Debug for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Profile")
            .field("name", &self.name)
            .field("api", &self.api)
            .field("family", &self.family)
            .field("base_url", &shown_url(&self.base_url))
            .field("headers", &self.headers.keys())
            .finish_non_exhaustive()
    }
}

impl Profile {
    /// A server of which nothing is known but that it imitates Chat Completions: text only, instructions in one
    /// message at the start, no key demanded.
    pub fn compatible(name: impl Into<String>, base_url: impl Into<String>) -> Self {
        Self { name: name.into(), base_url: base_url.into(), ..Self::default() }
    }

    /// The profile as it is for a model with these cells of its own, and the error if they are none.
    pub(crate) fn with_wire(self: &Arc<Self>, wire: &Map<String, Value>) -> Result<Arc<Self>, String> {
        if wire.is_empty() {
            return Ok(Arc::clone(self));
        }
        let mut whole = match serde_json::to_value(&**self) {
            Ok(Value::Object(whole)) => whole,
            _ => Map::new(),
        };
        if let Some(name) =
            ["name", "api", "family", "base_url"].iter().find(|name| wire.contains_key(**name))
        {
            return Err(format!("wire: {name} is the same for all models"));
        }
        merge_members(&mut whole, wire);
        match Self::deserialize(Value::Object(whole)) {
            Ok(profile) => Ok(Arc::new(profile)),
            Err(error) => Err(format!("wire: {error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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

    // A78
    #[test]
    fn rows_of_the_matrix_say_what_differs_for_a_model() {
        let text = "base_url = 'http://a'\nthinking.effort = 'effort'";
        let mut profile: Profile = toml::from_str(text).unwrap();
        profile.name = "changed".to_owned();
        let profile = Arc::new(profile);
        let wire = |value: Value| profile.with_wire(value.as_object().unwrap());
        let big = wire(json!({"reasoning_replay": "always", "thinking": {"budget": "budget"}})).unwrap();
        assert_eq!((big.name.as_str(), big.base_url.as_str()), ("changed", "http://a"));
        assert_eq!(big.reasoning_replay, Replayed::Always);
        assert_eq!((big.thinking.effort.as_str(), big.thinking.budget.as_str()), ("effort", "budget"));
        assert!(Arc::ptr_eq(&profile, &wire(json!({})).unwrap()));
        for (wrong, member) in [
            (json!({"max_tokns": 1}), "max_tokns"),
            (json!({"thinking": {"effrt": "b"}}), "effrt"),
            (json!({"name": "b"}), "name"),
        ] {
            assert!(wire(wrong).unwrap_err().contains(member), "{member}");
        }
    }

    #[test]
    fn wire_cells_of_the_bundled_table_are_members() {
        for profile in self::named::Profiles::bundled().iter() {
            let matrix = attache_core::capability::Matrix::bundled();
            for pattern in matrix.patterns(&profile.family) {
                let row = matrix.resolve(&profile.family, &pattern.replace('*', ""));
                profile.with_wire(&row.wire).unwrap();
            }
        }
    }
}
