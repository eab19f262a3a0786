//! The entries about a conversation that one agent hands over to another.

use std::sync::Arc;

use attache_core::Message;
use serde::{Deserialize, Serialize};

use crate::log::tools::{FamilyTools, ToolRule};
use crate::output::OutputSpec;

/// From here on another agent answers. The entry holds all that the run knows of it, so that it is asked the same
/// whoever drives the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct HandedOff {
    /// The name of the agent, as the one before it knows it.
    pub agent: String,
    /// The names on the way to it from the agent with which the run began; none for that one itself.
    pub path: Vec<String>,
    /// Its instructions, which stand in the place of those before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<Arc<Message>>,
    /// The conversation that it is given, apart from its instructions; all of it without this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<Vec<Arc<Message>>>,
    /// The tools that its families offer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) families: Vec<FamilyTools>,
    /// The value that the run is asked for, as this agent is asked for it.
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
    /// The hand-offs that it may make.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transfers: Vec<Transfer>,
}

/// The hand-offs of a run as it begins.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct Handoffs {
    /// The hand-offs that the first agent may make.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transfers: Vec<Transfer>,
    /// The agent that has the conversation from the start, if it is not the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

/// A tool that hands the conversation over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct Transfer {
    /// The tool.
    pub tool: String,
    /// The name of the agent to which it leads.
    pub agent: String,
    /// True if that is the agent from which the conversation came.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub back: bool,
}
