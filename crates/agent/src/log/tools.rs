//! The tools of a run, as its log tells them.

use std::time::Duration;

use attache_core::tool::ToolSpec;
use attache_core::{Approval, Effect, ToolDefinition};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The way in which a run treats one tool, where it is not the usual one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct ToolRule {
    /// The tool.
    pub name: String,
    /// The maximum number of calls of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_calls: Option<u32>,
    /// The maximum number of times in a row that a call of it may be corrected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_retries: Option<u32>,
    /// True if equal results of it are no lack of progress.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub poll: bool,
    /// True if its success ends the run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub finish: bool,
}

impl ToolRule {
    /// The rule for a tool, unless it is treated as usual.
    pub(crate) fn of(spec: &ToolSpec) -> Option<Self> {
        let metadata = &spec.metadata;
        let rule = Self {
            name: spec.definition.name().to_owned(),
            max_calls: metadata.max_calls,
            max_retries: metadata.max_retries,
            poll: metadata.poll,
            finish: metadata.finish,
        };
        let is_usual = Self { name: rule.name.clone(), ..Self::default() } == rule;
        (!is_usual).then_some(rule)
    }
}

/// The tools of one family, as it listed them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct FamilyTools {
    /// The family's name.
    pub(crate) family: String,
    /// Its tools.
    pub(crate) tools: Vec<ListedTool>,
}

/// Tools that are offered behind the others from the next model call on, until the run ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct Offered {
    pub(crate) tools: Vec<OfferedTool>,
}

impl Offered {
    /// The names of the tools, in the order in which they are offered.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|offered| offered.tool.name.as_str())
    }
}

/// A tool that is offered during a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct OfferedTool {
    /// The family that it belongs to, if it was not known when the run began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) family: Option<String>,
    pub(crate) tool: ListedTool,
}

/// One tool of a family.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ListedTool {
    name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    description: String,
    input_schema: Value,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    examples: Vec<Value>,
    effect: Effect,
    #[serde(default, skip_serializing_if = "is_never")]
    approval: Approval,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    return_direct: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timeout_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    sequential: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    produces: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    strict: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output_schema: Option<Value>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    always_visible: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    origin: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_calls: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_retries: Option<u32>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    poll: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    finish: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    nests: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    asks: bool,
}

fn is_never(approval: &Approval) -> bool {
    *approval == Approval::Never
}

impl ListedTool {
    /// The internal name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

impl From<&ToolSpec> for ListedTool {
    fn from(spec: &ToolSpec) -> Self {
        let (definition, metadata) = (&spec.definition, &spec.metadata);
        let millis = |timeout: Duration| u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
        Self {
            name: definition.name().to_owned(),
            description: definition.description().to_owned(),
            input_schema: definition.input_schema().clone(),
            examples: definition.examples().to_vec(),
            effect: metadata.effect,
            approval: metadata.approval,
            return_direct: metadata.return_direct,
            timeout_ms: metadata.timeout.map(millis),
            sequential: metadata.sequential,
            produces: metadata.produces.clone(),
            strict: definition.is_strict(),
            output_schema: definition.output_schema().cloned(),
            always_visible: metadata.always_visible,
            tags: metadata.tags.clone(),
            origin: metadata.origin.clone(),
            max_calls: metadata.max_calls,
            max_retries: metadata.max_retries,
            poll: metadata.poll,
            finish: metadata.finish,
            nests: metadata.nests,
            asks: metadata.asks,
        }
    }
}

impl From<&ListedTool> for ToolSpec {
    fn from(tool: &ListedTool) -> Self {
        let definition =
            ToolDefinition::new(tool.name.as_str(), tool.description.as_str(), tool.input_schema.clone())
                .with_examples(tool.examples.iter().cloned())
                .with_strict(tool.strict);
        let definition = match &tool.output_schema {
            Some(schema) => definition.with_output_schema(schema.clone()),
            None => definition,
        };
        let mut spec = Self::new(definition)
            .with_effect(tool.effect)
            .with_approval(tool.approval)
            .with_return_direct(tool.return_direct)
            .with_sequential(tool.sequential)
            .with_produces(&tool.produces)
            .with_always_visible(tool.always_visible)
            .with_tags(&tool.tags)
            .with_origin(tool.origin.as_str())
            .with_poll(tool.poll)
            .with_finish(tool.finish);
        spec.metadata.max_calls = tool.max_calls;
        spec.metadata.max_retries = tool.max_retries;
        spec.metadata.nests = tool.nests;
        spec.metadata.asks = tool.asks;
        match tool.timeout_ms {
            Some(millis) => spec.with_timeout(Duration::from_millis(millis)),
            None => spec,
        }
    }
}
