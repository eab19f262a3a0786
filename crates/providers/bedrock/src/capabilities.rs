//! What follows from the capability row of a model, and from its name where the table has no cell for it.

use attache_core::{Matrix, ModelCapabilities};
use attache_transport::knows;

/// The API family: the key of the capability table, and the tag of replay data.
pub(crate) const FAMILY: &str = "bedrock-converse";

/// The name in front of models: `bedrock/<model>`.
pub(crate) const PROVIDER: &str = "bedrock";

/// The bundled capabilities of a model.
pub(crate) fn of(model: &str) -> ModelCapabilities {
    Matrix::bundled().resolve(FAMILY, model)
}

/// What the API asks of a family of models, beyond what the table has cells for (bedrock.md 3, 5, 6, 11).
#[derive(Debug)]
pub(crate) struct Family {
    /// What the ids of the family contain.
    names: &'static [&'static str],
    /// What may share the user's turn with tool results.
    pub(crate) beside_results: Beside,
    /// True if a conversation may begin with the assistant.
    pub(crate) leading_assistant: bool,
    /// Whether instructions have their own place.
    pub(crate) system: bool,
    /// Whether results may say that they failed.
    pub(crate) status: bool,
    /// Whether results read best as JSON objects.
    pub(crate) json_results: bool,
    /// The ids that calls may have.
    pub(crate) call_ids: CallIds,
    /// Whether one tool may be named that must be called, where calling can be forced at all.
    pub(crate) forced_by_name: bool,
    /// True if the model's own API stands behind, and takes its choice of tools.
    pub(crate) own_tool_choice: bool,
    /// True if tools may be followed by a cache point.
    pub(crate) cached_tools: bool,
    /// Where sampling among the best `k` is asked for, inside `additionalModelRequestFields`.
    pub(crate) top_k: &'static [&'static str],
    /// How reasoning is asked for, inside `additionalModelRequestFields`.
    pub(crate) reasoning: ReasoningFields,
    /// Which members a tool's schema may have at its root.
    pub(crate) tool_schema: ToolSchema,
}

/// What may share the user's turn with tool results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beside {
    Anything,
    TextAndImages,
    Nothing,
}

/// Which ids calls may have, of at most 64 characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallIds {
    /// `[a-zA-Z0-9_.:-]+`.
    Any,
    /// `[a-zA-Z0-9_-]+`.
    Plain,
    /// Nine letters and digits.
    Nine,
}

/// The request for reasoning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReasoningFields {
    /// `thinking` and `output_config.effort`, as in Anthropic's own API.
    Thinking,
    /// `reasoningConfig.maxReasoningEffort`.
    Config,
    /// A word under this name.
    Word(&'static str),
    None,
}

/// Which schemas of tools a family takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ToolSchema {
    Any,
    /// No `anyOf`, `oneOf` and `allOf` at the root.
    PlainRoot,
    /// Nothing but `type`, `properties` and `required` at the root.
    BareRoot,
}

const OTHER: Family = Family {
    names: &[],
    beside_results: Beside::Anything,
    leading_assistant: false,
    system: true,
    status: true,
    json_results: false,
    call_ids: CallIds::Any,
    forced_by_name: true,
    own_tool_choice: false,
    cached_tools: false,
    top_k: &[],
    reasoning: ReasoningFields::None,
    tool_schema: ToolSchema::Any,
};

const NOVA: Family = Family {
    names: &["amazon.nova"],
    top_k: &["inferenceConfig", "topK"],
    tool_schema: ToolSchema::BareRoot,
    ..OTHER
};

const MISTRAL: Family = Family {
    names: &["mistral."],
    beside_results: Beside::Nothing,
    json_results: true,
    call_ids: CallIds::Nine,
    forced_by_name: false,
    ..OTHER
};

/// The first one whose name fits counts.
static FAMILIES: [Family; 13] = [
    Family {
        names: &["anthropic."],
        beside_results: Beside::TextAndImages,
        leading_assistant: true,
        call_ids: CallIds::Plain,
        own_tool_choice: true,
        cached_tools: true,
        top_k: &["top_k"],
        reasoning: ReasoningFields::Thinking,
        tool_schema: ToolSchema::PlainRoot,
        ..OTHER
    },
    Family {
        names: &["amazon.nova-2"],
        reasoning: ReasoningFields::Config,
        tool_schema: ToolSchema::Any,
        ..NOVA
    },
    NOVA,
    Family { names: &["meta."], beside_results: Beside::Nothing, ..OTHER },
    Family { names: &["mistral.mistral-7b", "mistral.mixtral"], system: false, ..MISTRAL },
    MISTRAL,
    Family { names: &["writer."], beside_results: Beside::Nothing, status: false, ..OTHER },
    Family {
        names: &["qwen."],
        leading_assistant: true,
        reasoning: ReasoningFields::Word("reasoning_config"),
        ..OTHER
    },
    Family { names: &["zai."], leading_assistant: true, ..OTHER },
    Family { names: &["moonshot"], leading_assistant: true, ..OTHER },
    Family { names: &["openai.gpt-oss"], reasoning: ReasoningFields::Word("reasoning_effort"), ..OTHER },
    Family { names: &["cohere."], top_k: &["k"], ..OTHER },
    Family { names: &["amazon.titan"], system: false, ..OTHER },
];

impl Family {
    /// The family of a model, by its id, profile or ARN.
    pub(crate) fn of(capabilities: &ModelCapabilities) -> &'static Self {
        let model = without_region(&capabilities.model);
        let fits = |family: &&Self| family.names.iter().any(|name| model.starts_with(name));
        FAMILIES.iter().find(fits).unwrap_or(&OTHER)
    }

    /// A number for the rules, which messages are rendered by.
    pub(crate) fn number(&self) -> u64 {
        (0..)
            .zip(&FAMILIES)
            .find_map(|(at, family)| std::ptr::eq(family, self).then_some(at))
            .unwrap_or(u64::MAX)
    }
}

/// True if a conversation may end with an assistant message that the model continues: Claude, until the generation
/// that brought adaptive thinking.
pub(crate) fn takes_prefill(capabilities: &ModelCapabilities) -> bool {
    is_claude(capabilities) && !knows(capabilities, "adaptive")
}

/// Whether `temperature` and `top_p` may be sent together: with Claude, no longer since generation 4.
pub(crate) fn takes_temperature_with_top_p(capabilities: &ModelCapabilities) -> bool {
    !is_claude(capabilities) || capabilities.model.contains("claude-3")
}

/// Whether cache points may live for an hour: with Claude since 4.5.
pub(crate) fn takes_long_cache(capabilities: &ModelCapabilities) -> bool {
    const OLDER: [&str; 5] =
        ["claude-3", "claude-sonnet-4-2025", "claude-opus-4-2025", "claude-opus-4-1", "claude-instant"];
    is_claude(capabilities) && !OLDER.iter().any(|older| capabilities.model.contains(older))
}

fn is_claude(capabilities: &ModelCapabilities) -> bool {
    Family::of(capabilities).reasoning == ReasoningFields::Thinking
}

/// Whether two ids name the same model: a profile of any region does, since signatures are bound to the model.
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
    fn profiles_and_arns_name_a_family() {
        let of = |model: &str| Family::of(&of(model)).names;
        for (model, name) in [
            ("anthropic.claude-3-haiku-20240307-v1:0", "anthropic."),
            ("global.anthropic.claude-opus-5", "anthropic."),
            ("us-gov.amazon.nova-micro-v1:0", "amazon.nova"),
            ("us.amazon.nova-2-lite-v1:0", "amazon.nova-2"),
            ("us.mistral.pixtral-large-2502-v1:0", "mistral."),
            ("mistral.mixtral-8x7b-instruct-v0:1", "mistral.mistral-7b"),
            (
                "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.meta.llama4-scout-17b-instruct-v1:0",
                "meta.",
            ),
        ] {
            assert_eq!(of(model).first(), Some(&name), "{model}");
        }
        assert!(of("arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2").is_empty());
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
            ("us.anthropic.claude-newer-than-the-table", false, true, false),
            ("amazon.nova-pro-v1:0", false, false, true),
        ] {
            let row = of(model);
            assert_eq!(takes_prefill(&row), prefill, "{model}");
            assert_eq!(takes_long_cache(&row), long, "{model}");
            assert_eq!(takes_temperature_with_top_p(&row), both, "{model}");
        }
    }
}
