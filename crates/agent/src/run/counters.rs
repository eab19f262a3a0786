//! The counts that the limits of a run are held against.

use std::fmt;

use attache_core::{ToolCall, Usage};

use crate::log::{Compacted, Reply, ToolRule};
use crate::outcome::EndReason;
use crate::price::Money;

/// A limit of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallLimit {
    /// The calls of the run.
    Run(u32),
    /// The calls of one tool.
    Tool(u32),
    /// The calls of one reply.
    Reply(u32),
    /// The run is at a limit, and only tools that end it are left.
    Landing,
    /// The hand-offs of the run.
    Handoffs(u32),
    /// One hand-off for each reply.
    SecondHandoff,
}

impl fmt::Display for CallLimit {
    /// The words that the model reads instead of a result.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run(limit) => {
                write!(f, "not executed: the limit of {limit} tool calls in this run is reached")
            }
            Self::Tool(limit) => {
                write!(f, "not executed: the limit of {limit} calls of this tool in this run is reached")
            }
            Self::Reply(limit) => {
                write!(
                    f,
                    "not executed: at most {limit} calls are made at once; make the others in your next reply"
                )
            }
            Self::Landing => f.write_str("not executed: tools are off"),
            Self::Handoffs(limit) => {
                write!(
                    f,
                    "not executed: this conversation was handed over {limit} times, and is not handed over again"
                )
            }
            Self::SecondHandoff => f.write_str(
                "not executed: a conversation is handed over to one agent at a time, and this reply names another before",
            ),
        }
    }
}

/// The counts that limits are held against.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Tallies {
    pub(super) rules: Vec<ToolRule>,
    pub(super) tools: Vec<Tally>,
    /// The rounds in a row that called nothing but tools that do not exist.
    pub(super) unknown_rounds: u32,
    /// The tokens of the conversation as the provider last counted them, and how long the history was.
    pub(super) measured: Option<(u64, usize)>,
    /// The limit at which the model was asked that called these tools.
    pub(super) landed: Option<EndReason>,
}

/// The calls of one tool.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tally {
    pub(super) name: String,
    pub(super) calls: u32,
    /// Calls in a row that the model has to correct.
    pub(super) retries: u32,
}

/// The spending of one reply.
#[derive(Clone, Debug)]
pub(crate) struct Spent {
    pub(crate) usage: Usage,
    pub(crate) cost: Option<Money>,
    /// Tokens that no provider reported.
    pub(crate) guessed: u64,
}

impl Spent {
    pub(crate) fn of(reply: &Reply) -> Self {
        Self { usage: reply.usage.clone(), cost: reply.cost, guessed: reply.guessed }
    }

    /// The spending of a decision of the memory that asked a model.
    pub(crate) fn beside(compacted: &Compacted) -> Option<Self> {
        let (usage, cost) = (&compacted.usage, compacted.cost);
        compacted.model.as_ref().map(|_| Self { usage: usage.clone(), cost, guessed: 0 })
    }
}

impl Tallies {
    pub(super) fn rule(&self, tool: &str) -> Option<&ToolRule> {
        self.rules.iter().find(|rule| rule.name == tool)
    }

    pub(super) fn finishes(&self, tool: &str) -> bool {
        self.rule(tool).is_some_and(|rule| rule.finish)
    }

    pub(super) fn tally(&mut self, tool: &str) -> Option<&mut Tally> {
        self.tools.iter_mut().find(|tally| tally.name == tool)
    }

    /// Counts the calls of a reply.
    pub(super) fn count(&mut self, calls: &[ToolCall], landed: Option<EndReason>) {
        self.landed = landed;
        for call in calls {
            match self.tally(&call.name) {
                Some(tally) => tally.calls = tally.calls.saturating_add(1),
                None => self.tools.push(Tally { name: call.name.clone(), calls: 1, retries: 0 }),
            }
        }
    }

    /// Takes the calls of a reply off again, which are not made.
    pub(super) fn uncount(&mut self, calls: &[ToolCall]) {
        for call in calls {
            if let Some(tally) = self.tally(&call.name) {
                tally.calls = tally.calls.saturating_sub(1);
            }
        }
    }

    /// Notes how long the provider says that the conversation is.
    pub(super) fn measure(&mut self, usage: &Usage, history: usize) {
        let read = usage.input_tokens.map(|input| input.saturating_add(usage.output_tokens.unwrap_or(0)));
        self.measured = read.map(|tokens| (tokens, history));
    }
}
