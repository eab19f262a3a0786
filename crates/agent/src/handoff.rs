//! Agents that hand the conversation over to others.

use std::sync::Arc;

use attache_core::tool::ToolMetadata;
use attache_core::{Effect, Message, Tool, ToolError};

use crate::agent::{Agent, AgentBuilder};
use crate::log::Transfer;
use crate::setup::{Colleague, HistoryFilter};
use crate::tools::{NoArguments, tool_fn};

/// An agent to which another one may hand the conversation over; see [`Agent::as_handoff`].
#[must_use]
pub struct Handoff {
    agent: Agent,
    name: String,
    description: String,
    history: Option<HistoryFilter>,
    back: Option<(String, String)>,
    metadata: Vec<Change>,
}

type Change = Box<dyn FnOnce(&mut ToolMetadata) + Send + Sync>;

impl Agent {
    /// This agent as one to which another hands the conversation over. The model of the other one is offered the tool
    /// `transfer_to_` with the name behind it, and reads the description; once it has called the tool and the other
    /// calls of the reply have their results, this agent's model, settings, instructions, tools and memory answer, over
    /// the same conversation. [`Outcome::agent`](crate::Outcome::agent) names the agent that answered last.
    ///
    /// It stays one run, in the name of the same principal, with one log and the limits, deadline, prices, hooks and
    /// document store that it began with; approvals, values for tools and the value that was asked for hold through it.
    /// The agent's own hooks are asked after those of the run, its input guards apart, and its own approval policy
    /// stands in for the one before.
    ///
    /// ```
    /// use attache_agent::Agent;
    /// # use attache_testkit::{ScriptedModel, Turn};
    /// # use serde_json::json;
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// # let thorough = ScriptedModel::new([Turn::text("It is in your mailbox.")]);
    /// # let quick = ScriptedModel::new([Turn::call("transfer_to_billing", json!({}))]);
    /// let billing = Agent::builder(thorough).system("You answer questions about invoices.").build()?;
    /// let triage = Agent::builder(quick)
    ///     .system("You find out who can help.")
    ///     .handoff(billing.as_handoff("billing", "Questions about invoices and payments"))
    ///     .build()?;
    /// let outcome = triage.run("Where is my invoice?").outcome().await?;
    /// assert_eq!((&*outcome.text, outcome.agent.as_deref()), ("It is in your mailbox.", Some("billing")));
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn as_handoff(&self, name: impl Into<String>, description: impl Into<String>) -> Handoff {
        Handoff {
            agent: self.clone(),
            name: name.into(),
            description: description.into(),
            history: None,
            back: None,
            metadata: Vec::new(),
        }
    }
}

impl Handoff {
    /// Gives the agent the messages that `choose` makes of the conversation, the instructions before it apart. By
    /// default it is given all of it.
    ///
    /// They are recorded, and are the run's conversation from then on: what is left out is in the log alone. A call
    /// without its result is mended as in [`repair`](attache_core::repair::repair). If `choose` panics, the run fails and can be
    /// resumed.
    ///
    /// ```
    /// # use attache_agent::Agent;
    /// # use attache_core::{Message, Role};
    /// # fn example(billing: Agent) -> attache_agent::Handoff {
    /// // Nothing but what people said.
    /// billing.as_handoff("billing", "Questions about invoices").with_history(|messages| {
    ///     messages.iter().filter(|message| message.role() == Role::User).cloned().collect()
    /// })
    /// # }
    /// ```
    pub fn with_history(
        mut self,
        choose: impl Fn(&[Arc<Message>]) -> Vec<Arc<Message>> + Send + Sync + 'static,
    ) -> Self {
        self.history = Some(Arc::new(choose));
        self
    }

    /// Lets the agent hand the conversation back to the one from which it came, under that name and for what the
    /// description says. [`Limits::max_handoffs`](crate::Limits::max_handoffs) bounds how often it goes to and fro.
    pub fn with_return(mut self, name: impl Into<String>, description: impl Into<String>) -> Self {
        self.back = Some((name.into(), description.into()));
        self
    }

    /// Changes the metadata of the tool that hands over, such as whether somebody has to approve it.
    pub fn with_metadata(mut self, change: impl FnOnce(&mut ToolMetadata) + Send + Sync + 'static) -> Self {
        self.metadata.push(Box::new(change));
        self
    }
}

impl AgentBuilder {
    /// Lets the agent hand the conversation over; see [`Agent::as_handoff`].
    pub fn handoff(mut self, handoff: Handoff) -> Self {
        let Handoff { agent, name, description, history, back, metadata } = handoff;
        let transfer = named(&name, false);
        let change = |own: &mut ToolMetadata| metadata.into_iter().for_each(|change| change(own));
        self = self.tool(tool(&transfer, &description).with_metadata(change));
        let mut setup = Arc::clone(agent.setup());
        let back = back.map(|(name, description)| {
            let transfer = named(&name, true);
            let returns = tool(&transfer, &description);
            let own = Arc::make_mut(&mut setup);
            own.tools = own.tools.clone().with(returns);
            own.listed = Arc::default();
            transfer
        });
        self.inner.handoffs.push(Colleague { transfer, setup, history, back });
        self
    }
}

fn named(agent: &str, back: bool) -> Transfer {
    Transfer { tool: format!("transfer_to_{agent}"), agent: agent.to_owned(), back }
}

/// The tool of a hand-off. Its result is all that it does: the run goes on with the other agent.
fn tool(transfer: &Transfer, description: &str) -> impl Tool + 'static {
    let agent = &transfer.agent;
    let said = format!("The conversation was handed over to {agent}, who answers from now on.");
    let about = format!("Hands the conversation over to {agent}, who answers from then on: {description}");
    let body = move |_: NoArguments| {
        let said = said.clone();
        async move { Ok::<_, ToolError>(said) }
    };
    tool_fn(transfer.tool.as_str(), about, body)
        .with_spec(|spec| spec.with_effect(Effect::Idempotent).with_always_visible(true))
}

impl std::fmt::Debug for Handoff {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Handoff").field(&self.name).finish()
    }
}
