//! The quirks of a server that speaks Responses, as data.

use serde::{Deserialize, Serialize};

use super::choices::{ItemIds, ReasoningItems};

/// The quirks of a server's Responses API: the table `responses` of a [`Profile`](crate::Profile). A member that is not
/// set is as at OpenAI.
///
/// ```
/// use attache_openai::{ItemIds, Profile};
/// let profile: Profile = toml::from_str(
///     "api = 'responses'\nbase_url = 'http://localhost:8000/v1'\n[responses]\nitem_ids = 'never'\nreasoning = 'as_received'",
/// )?;
/// assert_eq!(profile.responses.item_ids, ItemIds::Never);
/// # Ok::<(), toml::de::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ResponsesRules {
    /// True if instructions that are not part of the history stand in `instructions`; otherwise they are the first
    /// item.
    pub instructions: bool,
    /// True if the server keeps answers unless `store` is false, which is then sent. Servers that keep none may not
    /// know the member.
    pub stores: bool,
    /// True if `include` asks models that reason for their reasoning in encrypted form.
    pub encrypted_reasoning: bool,
    /// Which reasoning goes back.
    pub reasoning: ReasoningItems,
    /// Which items go back with the ids that they came with.
    pub item_ids: ItemIds,
    /// True if the calls of a turn stand behind its texts and reasoning, since the server takes a call with anything
    /// behind it for unanswered. (openai.md C.1, D 3)
    pub calls_last: bool,
    /// True if an item `custom_tool_call` asks for a tool to be run; otherwise the server has run it, and the item does
    /// not go back. (openai.md C.8)
    pub custom_calls: bool,
    /// True if a summary is asked for where reasoning is.
    pub summaries: bool,
    /// True if tools say that they are not strict, which OpenAI would try to make of them otherwise. (openai.md B.4)
    pub explicit_strict: bool,
    /// True if `text.format` is obeyed. (openai.md C.17)
    pub text_format: bool,
    /// The least limit on output, in tokens. (openai.md B.1)
    pub least_tokens: u32,
    /// The server counts the tokens of requests at `responses/input_tokens`.
    pub counts_tokens: bool,
}

impl Default for ResponsesRules {
    fn default() -> Self {
        Self {
            instructions: true,
            stores: true,
            encrypted_reasoning: true,
            reasoning: ReasoningItems::default(),
            item_ids: ItemIds::default(),
            calls_last: false,
            custom_calls: true,
            summaries: true,
            explicit_strict: true,
            text_format: true,
            least_tokens: 16,
            counts_tokens: false,
        }
    }
}
