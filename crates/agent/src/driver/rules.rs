//! The rules that say which tools a step may call.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use attache_core::{Role, ToolCall, ToolChoice, ToolSet};

use crate::driver::Driver;
use crate::event::EventKind;
use crate::tools::{StepHook, StepTools, StepView, TOOLS_OFF, ToolsError};

/// The words for a model that makes several calls although it was asked for one.
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
            let choice =
                if self.run.is_first(step) { self.setup.tool_choice.clone() } else { ToolChoice::Auto };
            return Ok((all, choice));
        };
        let decided = decided(decide, StepView { number: step, history: self.run.history() });
        let StepTools { choice, only } = decided.unwrap_or_else(|| {
            let message =
                "the rule for the tools of a step failed unexpectedly; the step has none".to_owned();
            events.push(EventKind::Warning { code: "step_tools_failed", message });
            no_tools()
        });
        let Some(only) = only else { return Ok((all, choice)) };
        let kept = all.iter().map(|(_, definition)| definition).filter(|definition| {
            only.iter().any(|name| name == definition.name()) || self.finishes(definition.name())
        });
        let kept = ToolSet::named_as(&all, kept.cloned())?.with_validation(true);
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
                let decided = decided(decide, view).unwrap_or_else(no_tools);
                if let Some(why) = decided.bars(&call.name).filter(|_| !self.finishes(&call.name)) {
                    return Some(why);
                }
            }
            None if self.run.is_first(self.run.steps()) && self.setup.tool_choice == ToolChoice::None => {
                return Some(TOOLS_OFF);
            }
            None => {}
        }
        (self.run.round_len() > 1 && !self.run.opens_round(&call.id) && self.takes_one_call())
            .then_some(ONE_CALL)
    }

    /// True if a tool ends the run with what it is given, as the one that takes a typed answer: a step may always call
    /// it.
    fn finishes(&self, name: &str) -> bool {
        if self.run.output().is_some_and(|output| output.is_tool(name)) {
            return true;
        }
        self.toolbox.entries.get(name).is_some_and(|entry| entry.spec.metadata.finish)
    }

    fn takes_one_call(&self) -> bool {
        let asked = self.setup.settings.parallel_tool_calls;
        asked.or_else(|| self.setup.model.settings().parallel_tool_calls) == Some(false)
    }
}

/// The decision of a rule; `None` if it panics.
fn decided(decide: &StepHook, view: StepView<'_>) -> Option<StepTools> {
    let decided = catch_unwind(AssertUnwindSafe(|| decide(view)));
    decided.inspect_err(|_| tracing::error!("the rule for the tools of a step panicked")).ok()
}

/// The tools of a step whose rule fails: it may have meant to bar any of them.
fn no_tools() -> StepTools {
    StepTools::all().with_choice(ToolChoice::None)
}
