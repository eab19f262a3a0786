//! A model with scripted replies.

use attache_core::{ChatRequest, ChunkStream, LlmProvider};

use crate::double::{Double, methods, provider};
use crate::turn::Turn;

/// A model that replies from a script, in order, and records its requests. Clones share both.
///
/// When the last clone is dropped, it panics if there are unused turns, if there were too few, or if it called a tool
/// that the request did not offer; [`unverified`](Self::unverified) disables this.
///
/// ```
/// use attache_agent::{Agent, tool_fn};
/// use attache_testkit::{ScriptedModel, Turn};
/// use serde_json::json;
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let model = ScriptedModel::new([Turn::call("rent", json!({})), Turn::text("EUR 900 a month.")]);
/// let rent = tool_fn("rent", "The rent of the flat.", || Ok("EUR 900"));
/// let agent = Agent::builder(model.clone()).tool(rent).build()?;
/// let outcome = agent.run("What is the rent?").outcome().await?;
/// assert_eq!(outcome.text, "EUR 900 a month.");
/// model.asked().assert_called("rent");
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct ScriptedModel {
    double: Double,
}

impl ScriptedModel {
    /// Creates a model that gives these replies, then errors.
    pub fn new(turns: impl IntoIterator<Item = Turn>) -> Self {
        Self { double: Double::new("ScriptedModel", "scripted", turns.into_iter().collect()) }
    }

    methods!();

    /// Adds a reply to the end of the script.
    pub fn push(&self, turn: Turn) {
        self.double.script().push_back(turn);
    }

    /// The requests so far, in order.
    pub fn requests(&self) -> Vec<ChatRequest> {
        self.asked().requests().cloned().collect()
    }

    /// The number of unused replies of the script.
    pub fn turns_left(&self) -> usize {
        self.double.script().len()
    }
}

impl LlmProvider for ScriptedModel {
    provider!();

    fn stream(&self, request: ChatRequest) -> ChunkStream {
        self.double.stream(request, |shared, _, _| shared.next_turn())
    }
}
