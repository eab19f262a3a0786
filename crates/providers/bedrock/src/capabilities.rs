//! The consequences of a model's capability row.

use attache_core::ModelCapabilities;
use attache_core::capability::Matrix;
use attache_core::hash::StableHash;
use attache_transport::knows;
use serde::Deserialize;
use serde_json::{Value, json};

/// The API family: the key of the capability table, and the tag of replay data.
pub(crate) const FAMILY: &str = "bedrock-converse";

/// The name in front of models: `bedrock/<model>`.
pub(crate) const PROVIDER: &str = "bedrock";

/// The bundled capabilities of a model.
pub(crate) fn of(model: &str) -> ModelCapabilities {
    Matrix::bundled().resolve(FAMILY, model)
}

/// The rules of a family of models, beyond the cells that the table has for all APIs: the cells below `wire`
/// (bedrock.md 3, 5, 6, 11).
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Family {
    /// The content that may share the user's turn with tool results.
    pub(crate) beside_results: Beside,
    /// True if a conversation may begin with the assistant.
    pub(crate) leading_assistant: bool,
    /// True if results may say that they failed.
    pub(crate) status: bool,
    /// True if results read best as JSON objects.
    pub(crate) json_results: bool,
    /// The ids that calls may have.
    pub(crate) call_ids: CallIds,
    /// True if one tool may be named that must be called, where calling can be forced at all.
    pub(crate) forced_by_name: bool,
    /// True if the model's own API stands behind, and takes its choice of tools.
    pub(crate) own_tool_choice: bool,
    /// True if tools may be followed by a cache point.
    pub(crate) cached_tools: bool,
    /// True if the API counts tokens for it.
    pub(crate) counts_tokens: bool,
    /// The path to sampling among the best `k`, inside `additionalModelRequestFields`.
    pub(crate) top_k: Vec<String>,
    /// The request for reasoning, inside `additionalModelRequestFields`.
    pub(crate) reasoning: ReasoningFields,
    /// The members that a tool's schema may have at its root.
    pub(crate) tool_schema: ToolSchema,
    /// A number for the rules, which messages are rendered by.
    #[serde(skip)]
    pub(crate) number: u64,
}

impl Default for Family {
    fn default() -> Self {
        Self {
            beside_results: Beside::Anything,
            leading_assistant: false,
            status: true,
            json_results: false,
            call_ids: CallIds::Any,
            forced_by_name: true,
            own_tool_choice: false,
            cached_tools: false,
            counts_tokens: false,
            top_k: Vec::new(),
            reasoning: ReasoningFields::None,
            tool_schema: ToolSchema::Any,
            number: 0,
        }
    }
}

/// The content that may share the user's turn with tool results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Beside {
    Anything,
    TextAndImages,
    Nothing,
}

/// The ids that calls may have, of at most 64 characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CallIds {
    /// `[a-zA-Z0-9_.:-]+`.
    Any,
    /// `[a-zA-Z0-9_-]+`.
    Plain,
    /// Nine letters and digits.
    Nine,
}

/// The request for reasoning.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ReasoningFields {
    /// `thinking` and `output_config.effort`, as in Anthropic's own API.
    Thinking,
    /// `reasoningConfig.maxReasoningEffort`.
    Config,
    /// `reasoning.effort`, as in OpenAI's Responses API.
    Effort,
    /// A word under this name.
    Word(String),
    None,
}

/// The schemas of tools that a family takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToolSchema {
    Any,
    /// No `anyOf`, `oneOf` and `allOf` at the root.
    PlainRoot,
    /// Nothing but `type`, `properties` and `required` at the root.
    BareRoot,
}

impl Family {
    /// The family of a model.
    ///
    /// # Errors
    /// Names the row whose cells below `wire` are none.
    pub(crate) fn of(capabilities: &ModelCapabilities) -> Result<Self, String> {
        if capabilities.wire.is_empty() {
            return Ok(Self::default());
        }
        let family = Self::deserialize(Value::Object(capabilities.wire.clone()));
        let mut family = family.map_err(|error| {
            format!("the capability row {FAMILY}/{} is not valid: wire: {error}", capabilities.row)
        })?;
        family.number = StableHash::new().text(&json!(capabilities.wire).to_string()).finish();
        Ok(family)
    }

    /// True if Claude stands behind.
    pub(crate) fn is_claude(&self) -> bool {
        self.reasoning == ReasoningFields::Thinking
    }
}

/// True if a conversation may end with an assistant message that the model continues: Claude, until the generation
/// that brought adaptive thinking.
pub(crate) fn takes_prefill(family: &Family, capabilities: &ModelCapabilities) -> bool {
    family.is_claude() && !knows(capabilities, "adaptive")
}

/// True if two ids name the same model: a profile of any region does, since signatures are bound to the model.
pub(crate) fn is_same_model(a: &str, b: &str) -> bool {
    without_region(a) == without_region(b)
}

/// The id of a model without the region of its profile and without the head of an ARN.
fn without_region(model: &str) -> &str {
    const REGIONS: [&str; 8] = ["us.", "eu.", "apac.", "jp.", "au.", "ca.", "global.", "us-gov."];
    let name = model.rsplit_once('/').map_or(model, |(_, name)| name);
    REGIONS.iter().find_map(|region| name.strip_prefix(region)).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wire_cells_of_the_bundled_table_are_rules() {
        for pattern in Matrix::bundled().patterns(FAMILY) {
            Family::of(&of(&pattern.replace('*', ""))).unwrap();
        }
        let over = Matrix::bundled().merged_with("[bedrock-converse.models.x]\nwire.statis = true").unwrap();
        let error = Family::of(&over.resolve(FAMILY, "x")).unwrap_err();
        assert!(error.starts_with("the capability row bedrock-converse/x is not valid: wire: unknown field"));
    }

    // bedrock.md 11
    #[test]
    fn profiles_and_arns_name_a_family() {
        let family = |model: &str| {
            let family = Family::of(&of(model)).unwrap();
            (family.call_ids, family.tool_schema, family.beside_results, family.top_k.len(), of(model).system)
        };
        for (models, expected) in [
            (
                &["anthropic.claude-3-haiku-20240307-v1:0", "global.anthropic.claude-opus-5"][..],
                (CallIds::Plain, ToolSchema::PlainRoot, Beside::TextAndImages, 1, true),
            ),
            (
                &["us-gov.amazon.nova-micro-v1:0", "amazon.nova-pro-v1:0"],
                (CallIds::Any, ToolSchema::BareRoot, Beside::Anything, 2, true),
            ),
            (&["us.amazon.nova-2-lite-v1:0"], (CallIds::Any, ToolSchema::Any, Beside::Anything, 2, true)),
            (
                &["us.mistral.pixtral-large-2502-v1:0"],
                (CallIds::Nine, ToolSchema::Any, Beside::Nothing, 0, true),
            ),
            (
                &["mistral.mixtral-8x7b-instruct-v0:1"],
                (CallIds::Nine, ToolSchema::Any, Beside::Nothing, 0, false),
            ),
            (
                &[
                    "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.meta.llama4-scout-17b-instruct-v1:0",
                ],
                (CallIds::Any, ToolSchema::Any, Beside::Nothing, 0, true),
            ),
            (
                &[
                    "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2",
                    "qwen.qwen3-32b",
                ],
                (CallIds::Any, ToolSchema::Any, Beside::Anything, 0, true),
            ),
        ] {
            for model in models {
                assert_eq!(family(model), expected, "{model}");
            }
        }
    }

    #[test]
    fn spellings_of_one_model() {
        let id = "anthropic.claude-sonnet-4-5-20250929-v1:0";
        let arn = format!("arn:aws:bedrock:us-east-1:1:inference-profile/us.{id}");
        assert!(is_same_model(id, &format!("eu.{id}")) && is_same_model(id, &arn));
        assert!(!is_same_model(id, "anthropic.claude-sonnet-4-6"));
    }

    // bedrock.md 2, 6
    #[test]
    fn generations() {
        for (model, prefill, long, both) in [
            ("us.anthropic.claude-3-7-sonnet-20250219-v1:0", true, false, true),
            ("us.anthropic.claude-sonnet-4-20250514-v1:0", true, false, false),
            ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", true, true, false),
            ("us.anthropic.claude-opus-4-6-v1", false, true, false),
            ("us.anthropic.claude-newer-than-the-table", false, true, true),
            ("amazon.nova-pro-v1:0", false, false, true),
        ] {
            let row = of(model);
            assert_eq!(takes_prefill(&Family::of(&row).unwrap(), &row), prefill, "{model}");
            assert_eq!((row.long_cache, row.temperature_with_top_p), (long, both), "{model}");
        }
    }
}
