//! Which tools a step may call.

use std::sync::Arc;

use attache_core::{Role, ToolCall, ToolChoice, ToolSet};

use crate::driver::Driver;
use crate::event::EventKind;
use crate::tools::{StepTools, StepView, TOOLS_OFF, ToolsError};

/// What a model reads that makes several calls although it was asked for one.
const ONE_CALL: &str = "not executed: one call at a time; make it again by itself if it is still needed";

impl Driver {
    /// The tools of a step, and whether the model must call one.
    pub(super) fn tools_of_step(
        &mut self,
        step: u32,
        landing: bool,
        events: &mut Vec<EventKind>,
    ) -> Result<(Arc<ToolSet>, ToolChoice), ToolsError> {
        let all = Arc::clone(&self.toolbox.set);
        // Tools stay in a request without their use: the conversation has calls of them.
        if landing {
            let choice = if self.run.has_finish_tools() { ToolChoice::Auto } else { ToolChoice::None };
            return Ok((all, choice));
        }
        let Some(decide) = &self.setup.handling.step else {
            // A choice that every step forces never ends.
            let choice = if step == 1 { self.setup.tool_choice.clone() } else { ToolChoice::Auto };
            return Ok((all, choice));
        };
        let StepTools { choice, only } = decide(StepView { number: step, history: self.run.history() });
        let Some(only) = only else { return Ok((all, choice)) };
        let kept = all.iter().map(|(_, definition)| definition).filter(|definition| {
            only.iter().any(|name| name == definition.name()) || self.finishes(definition.name())
        });
        let kept = ToolSet::new(kept.cloned())?.with_validation(true);
        if let Some(offers) = &mut self.offers
            && !offers.warned_of_subset
            && kept.len() < all.len()
        {
            offers.warned_of_subset = true;
            let message = "a step has a part of the tools, so that prompt caches miss".to_owned();
            events.push(EventKind::Warning { code: "tools_subset", message });
        }
        Ok((Arc::new(kept), choice))
    }

    /// The reason why a call of the last reply is not executed although there is such a tool.
    pub(super) fn barred(&self, call: &ToolCall) -> Option<&'static str> {
        match &self.setup.handling.step {
            Some(decide) => {
                // As the step was asked.
                let history = self.run.history();
                let reply = history.iter().rposition(|message| message.role() == Role::Assistant)?;
                let view = StepView { number: self.run.steps(), history: history.get(..reply)? };
                if let Some(why) = decide(view).bars(&call.name).filter(|_| !self.finishes(&call.name)) {
                    return Some(why);
                }
            }
            None if self.run.steps() == 1 && self.setup.tool_choice == ToolChoice::None => {
                return Some(TOOLS_OFF);
            }
            None => {}
        }
        (self.run.round_len() > 1 && !self.run.opens_round(&call.id) && self.takes_one_call())
            .then_some(ONE_CALL)
    }

    /// True if a tool ends the run with what it is given: a step may always call it.
    fn finishes(&self, name: &str) -> bool {
        self.toolbox.entries.get(name).is_some_and(|entry| entry.spec.metadata.finish)
    }

    fn takes_one_call(&self) -> bool {
        let asked = self.setup.settings.parallel_tool_calls;
        asked.or_else(|| self.setup.model.settings().parallel_tool_calls) == Some(false)
    }
}
