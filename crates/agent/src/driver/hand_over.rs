//! Hands the conversation over to another agent.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use attache_core::message::Metadata;
use attache_core::repair::repair;
use attache_core::{ErrorKind, Message, ProviderError, SystemMessage, Transcript};

use crate::driver::Driver;
use crate::driver::library::Library;
use crate::driver::limits::{check_priced, prices_of};
use crate::driver::offer_state::Offers;
use crate::driver::open::{ToolFacts, values};
use crate::driver::stop::Fault;
use crate::driver::team::unknown;
use crate::event::EventKind;
use crate::log::{EntryKind, HandedOff};
use crate::memory::mark::without_marks;
use crate::memory::marks::Marks;
use crate::run::{AGENT, without_instructions};
use crate::setup::{HistoryFilter, Setup};
use crate::store_documents::keep_of_messages;
use crate::tools::Toolbox;

impl Driver {
    /// True if a tool hands the conversation over and the log does not know it, as where the agent has the hand-off since
    /// the run began: nobody would be handed the conversation.
    pub(super) fn is_unknown_transfer(&self, tool: &str) -> bool {
        let Some(team) = &self.team else { return false };
        !self.run.is_transfer(tool) && team.is_transfer(self.run.path(), tool)
    }

    /// Records that another agent has the conversation, and goes on as that one.
    pub(super) async fn hand_over(&mut self) -> Result<Vec<EventKind>, Fault> {
        let Some(transfer) = self.run.handing_over().cloned() else { return Ok(Vec::new()) };
        let team = self.team.as_ref().ok_or_else(|| unknown(&transfer.agent))?;
        let path = team.way(self.run.path(), &transfer)?;
        let mut setup = team.in_charge(&path)?;
        let transfers = team.transfers(&path)?;
        // An agent that goes on with the conversation, or gets it back, has all of its history.
        let is_new = !transfer.back && !transfer.tool.is_empty();
        let choose = if is_new { team.history(&path)? } else { None };
        if self.is_cost_limited() {
            let prices = prices_of(&setup, self.scope.as_deref());
            check_priced(prices.as_deref(), &setup.model)?;
        }
        let output = self.run.output().map(|output| {
            output.spec.clone().resettled(&setup.model, &setup.settings, !setup.tools.is_empty())
        });
        if let Some(spec) = &output {
            setup = Arc::new(setup.shaped(spec)?);
        }
        let (toolbox, warnings) = setup.toolbox().await?;
        let facts = ToolFacts::of(&toolbox, output.as_ref());
        let messages = self.given(&setup, choose.as_ref())?;
        let mut events: Vec<EventKind> =
            warnings.into_iter().map(|(code, message)| EventKind::Warning { code, message }).collect();
        if let Some(messages) = &messages {
            let kept = keep_of_messages(&*setup.store, messages).await;
            events.extend(self.unless_kept(kept)?);
        }
        let from = self.run.agent().map(str::to_owned);
        let system = setup.system.as_deref().map(|text| instructions(text, &transfer.agent));
        let handed = HandedOff {
            agent: transfer.agent.clone(),
            path,
            system,
            messages,
            families: toolbox.families.clone(),
            output: output.map(Box::new),
            external_tools: facts.external,
            direct_tools: facts.direct,
            rules: facts.rules,
            transfers,
        };
        self.record(self.run.handoff_key(), EntryKind::HandedOff(Box::new(handed))).await?;
        self.go_on_as(setup, toolbox);
        events.push(EventKind::HandedOff { from, agent: transfer.agent });
        Ok(events)
    }

    /// The conversation that the agent is given, unless it is given all of it.
    fn given(
        &self,
        setup: &Setup,
        choose: Option<&HistoryFilter>,
    ) -> Result<Option<Vec<Arc<Message>>>, Fault> {
        let all = without_instructions(self.run.history());
        let mut messages = match choose {
            Some(choose) => {
                let chosen = catch_unwind(AssertUnwindSafe(|| choose(all))).map_err(|_| {
                    let text = "the choice of the messages for the next agent panicked";
                    ProviderError::new(ErrorKind::Configuration, text)
                })?;
                repair(&chosen).messages
            }
            None => all.to_vec(),
        };
        // Without a memory, nobody knows what they stand for.
        if setup.memory.is_none() {
            without_marks(&mut messages);
        }
        Ok((choose.is_some() || messages.len() < all.len()).then_some(messages))
    }

    /// Everything that a driver makes of the log, for the agent that has the conversation now.
    fn go_on_as(&mut self, setup: Arc<Setup>, toolbox: Arc<Toolbox>) {
        if let Some(team) = &self.team {
            self.extensions = values(&setup, &team.values, self.run.limits());
        }
        self.prices = prices_of(&setup, self.scope.as_deref());
        // Runs inside the tools of this agent have its prices.
        self.absorb();
        (self.around, self.inside) = (None, None);
        self.library = Library::new(&setup);
        self.marks = Marks::default();
        self.transcript = Transcript::new();
        self.offers = Offers::of(&setup);
        self.toolbox = toolbox;
        self.setup = setup;
    }
}

/// Instructions that a later run takes out again: they are those of this agent.
fn instructions(text: &str, agent: &str) -> Arc<Message> {
    let mut system = SystemMessage::new(text);
    system.metadata = Metadata::new().with(AGENT, agent);
    Message::System(system).shared()
}
