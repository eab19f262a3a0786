//! The entries of a run's log.

use std::sync::Arc;
use std::time::Duration;

use attache_core::citation::Checked;
use attache_core::{
    Approval, Degradation, Effect, FinishReason, Message, MessageId, ToolCallId, ToolDefinition, ToolResult,
    ToolSpec, Usage,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::limits::Limits;
use crate::log::Key;
use crate::log::approval::{Asked, Decided, Grant};
use crate::log::deferred::DeferredCall;
use crate::log::hooked::Hooked;
use crate::outcome::EndReason;
use crate::output::OutputSpec;
use crate::price::Money;

/// The version of the entries that this program writes. It reads this one and older ones.
pub const SCHEMA_VERSION: u32 = 1;

/// One entry of the log. The log is the truth; everything else is a projection of it.
///
/// As JSON it begins with `schemaVersion`. A newer version, and a member that this program does not know, is refused by
/// name: what it says may decide what the run does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct Entry {
    #[serde(rename = "schemaVersion")]
    version: Version,
    /// Where it belongs.
    pub key: Key,
    /// When it was recorded, in milliseconds since 1970; set by the journal.
    #[serde(default)]
    pub at: u64,
    /// The thing that happened.
    pub kind: EntryKind,
}

impl Entry {
    /// An entry that a journal has yet to stamp.
    pub fn new(key: Key, kind: EntryKind) -> Self {
        Self { version: Version, key, at: 0, kind }
    }

    /// True if it closes a call that nobody answered before its run ended.
    pub(crate) fn closes_call(&self) -> bool {
        matches!(&self.kind, EntryKind::ToolOutcome(outcome) if outcome.disposition == Disposition::Cancelled)
    }
}

/// The version of an entry: there is one so far.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Version;

impl Serialize for Version {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(SCHEMA_VERSION)
    }
}

impl<'de> Deserialize<'de> for Version {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u32::deserialize(deserializer)? {
            SCHEMA_VERSION => Ok(Self),
            version => Err(serde::de::Error::custom(format!(
                "the entry has schema version {version}, and this program reads up to {SCHEMA_VERSION}"
            ))),
        }
    }
}

/// The thing that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum EntryKind {
    /// The run began.
    Started(Started),
    /// The messages that were in the inbox when the run looked.
    Inbox(Vec<Arc<Message>>),
    /// The model replied.
    Reply(Reply),
    /// The run is at this limit: its next model call is the last one. Recorded where no entry before it says so.
    Landing(EndReason),
    /// A call waits until somebody approves it.
    Asked(Asked),
    /// An approval is settled.
    Decided(Decided),
    /// The result of a call comes later, from elsewhere.
    Deferred(DeferredCall),
    /// Hooks have decided at one point.
    Hooked(Hooked),
    /// A call with effects is about to run.
    Begun(Begun),
    /// A call has its result.
    ToolOutcome(ToolOutcome),
    /// A call of unknown outcome has its result after all.
    Receipt(ToolOutcome),
    /// The synthetic message that was sent behind tool results: audit, never an input to routing.
    Documents(SyntheticMessage),
    /// More tools are offered from the next model call on.
    Offered(Offered),
    /// The documents that were found inside others, as a message that no model reads.
    Found(Arc<Message>),
    /// The memory decided what the model is shown from now on.
    Compacted(Compacted),
    /// The run ended.
    Ended(Ended),
}

/// The beginning of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct Started {
    /// The run.
    pub run_id: String,
    /// The conversation so far and the new input, in order.
    pub messages: Vec<Arc<Message>>,
    /// Where the new input begins in `messages`.
    pub task: usize,
    /// The limits that hold for the run.
    pub limits: Limits,
    /// When the run's time is up, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<u64>,
    /// The tools that families offered when the run began: it offers them until it ends, whatever a server says later.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) families: Vec<FamilyTools>,
    /// The value that the run is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Box<OutputSpec>>,
    /// The tools whose calls the caller answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub external_tools: Vec<String>,
    /// The tools whose output is the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub direct_tools: Vec<String>,
    /// The tools that the run treats in a way of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<ToolRule>,
    /// Leave to call tools without asking that the run was given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grants: Vec<Grant>,
    /// The number of the model, settings, tools and principal that the run alone has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) options: Option<u64>,
    /// The number by which a run inside a tool finds its log again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) question: Option<u64>,
    /// Those of the runs that its tool had started until then and no log tells of: some may never write one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) beside: Vec<u64>,
    /// The mark by which an observer finds the run again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) mark: Option<Box<str>>,
}

/// The way in which a run treats one tool, where it is not the usual one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct ToolRule {
    /// The tool.
    pub name: String,
    /// The most calls of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_calls: Option<u32>,
    /// The most times in a row that a call of it may be corrected.
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

/// One reply of the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct Reply {
    /// The message.
    pub message: Arc<Message>,
    /// Why the model stopped.
    pub finish_reason: FinishReason,
    /// Why the model stopped, in the provider's word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_finish_reason: Option<String>,
    /// The tokens that it took.
    pub usage: Usage,
    /// Its cost, where prices are configured and one is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Money>,
    /// The model that answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Options that were left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub degradations: Vec<Degradation>,
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
        match tool.timeout_ms {
            Some(millis) => spec.with_timeout(Duration::from_millis(millis)),
            None => spec,
        }
    }
}

/// The intent to run a call with effects. A call that was begun and has no result is of unknown outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct Begun {
    /// The call.
    pub call_id: ToolCallId,
    /// The effect of its tool: whether the call may be repeated.
    pub effect: Effect,
}

impl Begun {
    pub(crate) fn new(call_id: ToolCallId, effect: Effect) -> Self {
        Self { call_id, effect }
    }
}

/// The result of one call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct ToolOutcome {
    /// The call.
    pub call_id: ToolCallId,
    /// Its result.
    pub result: ToolResult,
    /// How the result came about.
    pub disposition: Disposition,
}

/// How a result came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Disposition {
    /// The tool ran to its end, successfully or not.
    Executed,
    /// The tool was not run: its arguments did not fit, or a limit was reached.
    Refused,
    /// There is no tool of that name.
    NoSuchTool,
    /// The tool asked the model to correct the call.
    Retry,
    /// The tool was not run: a person or a policy denied it, or nobody approved it in time.
    Denied,
    /// A hook gave the result in the tool's place.
    Replaced,
    /// A hook ended the run in the place of the call.
    Tripped,
    /// The tool ran longer than allowed.
    TimedOut,
    /// The tool panicked.
    Panicked,
    /// The caller answered.
    Submitted,
    /// The tool's effect was begun, and nobody knows whether it happened: the run crashed, was cancelled or ended by
    /// another tool meanwhile. It was not run again.
    Unknown,
    /// The tool ended the run.
    Aborted,
    /// The run ended before the call began, or before the caller answered it.
    Cancelled,
    /// Something from outside interrupted the call before it began, or before the caller answered it.
    Interrupted,
}

/// A synthetic message as it was sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct SyntheticMessage {
    /// The tool results that it follows.
    pub anchor: MessageId,
    /// The message.
    pub message: Arc<Message>,
    /// The model's capabilities when it was made, as a number.
    pub fingerprint: u64,
    /// The decisions of routing behind it, as a number.
    pub stamp: u64,
}

/// A decision of the memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct Compacted {
    /// The message that stands in the history from now on and holds the [mark](crate::Mark); none if a summary failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<Arc<Message>>,
    /// The reason why the summary failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// The tokens of the request that was too long, by estimate; 0 where nobody counted them.
    #[serde(default)]
    pub tokens: u64,
    /// The tokens of the summary's requests.
    #[serde(default)]
    pub usage: Usage,
    /// Their cost, where prices are configured and one is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Money>,
    /// The model that was asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct Ended {
    /// Why.
    pub reason: EndReason,
    /// The model's text so far, where it was interrupted.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub interrupted_text: String,
    /// One line for people, where the reason alone does not say enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The messages in the inbox that the run did not read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<Arc<Message>>,
    /// The findings about the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked: Option<Box<Checked>>,
}

impl Ended {
    /// An end for this reason, with nothing to add.
    pub(crate) fn new(reason: EndReason) -> Self {
        Self { reason, interrupted_text: String::new(), detail: None, unread: Vec::new(), checked: None }
    }
}
