//! The rules that say which tools a step may call.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use attache_core::{Role, ToolCall, ToolChoice, ToolSet};

use crate::driver::Driver;
use crate::event::EventKind;
use crate::tools::{ONE_CALL, StepHook, StepTools, StepView, TOOLS_OFF, ToolsError};

impl Driver {
    /// The tools of a step, whether the model must call one, and which of them it may call, if not all.
    pub(super) fn tools_of_step(
        &mut self,
        step: u32,
        landing: bool,
        events: &mut Vec<EventKind>,
    ) -> Result<Offered, ToolsError> {
        let all = Arc::clone(&self.toolbox.set);
        // Tools stay in a request without their use: the conversation has calls of them.
        if landing {
            let choice = if self.run.has_finish_tools() { ToolChoice::Auto } else { ToolChoice::None };
            return Ok(Offered::all(all, choice));
        }
        let Some(decide) = &self.setup.handling.step else {
            // A choice that every step forces never ends.
            let choice =
                if self.run.is_first(step) { self.setup.tool_choice.clone() } else { ToolChoice::Auto };
            return Ok(Offered::all(all, choice));
        };
        let decided = decided(decide, StepView { number: step, history: self.run.history() });
        let StepTools { choice, only } = decided.unwrap_or_else(|| {
            let message =
                "the rule for the tools of a step failed unexpectedly; the step has none".to_owned();
            events.push(EventKind::Warning { code: "step_tools_failed", message });
            no_tools()
        });
        let Some(only) = only else { return Ok(Offered::all(all, choice)) };
        let is_kept = |name: &str| only.iter().any(|only| only == name) || self.finishes(name);
        if self.setup.model.capabilities().allowed_tools
            && let Some(offered) = Offered::among(&all, &choice, is_kept)
        {
            return Ok(offered);
        }
        let kept = all.subset(is_kept);
        if let Some(offers) = &mut self.offers
            && !offers.warned_of_subset
            && kept.len() < all.len()
        {
            offers.warned_of_subset = true;
            let message = "a step has a part of the tools, so that prompt caches miss".to_owned();
            events.push(EventKind::Warning { code: "tools_subset", message });
        }
        Ok(Offered::all(Arc::new(kept), choice))
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
        (self.run.is_further_call(&call.id) && self.setup.takes_one_call()).then_some(ONE_CALL)
    }

    /// True if a tool ends the run with what it is given, as the one that takes a typed answer: a step may always call
    /// it.
    fn finishes(&self, name: &str) -> bool {
        if self.run.output().is_some_and(|output| output.is_tool(name)) {
            return true;
        }
        self.toolbox.entries.get(name).is_some_and(|entry| entry.spec.metadata.finish)
    }
}

/// The tools of a request.
pub(super) struct Offered {
    pub(super) tools: Arc<ToolSet>,
    pub(super) choice: ToolChoice,
    /// Those that may be called, if not all.
    pub(super) allowed: Option<Arc<[String]>>,
}

impl Offered {
    fn all(tools: Arc<ToolSet>, choice: ToolChoice) -> Self {
        Self { tools, choice, allowed: None }
    }

    /// All tools, of which some may be called; `None` for a choice that no API is told this way.
    fn among(all: &Arc<ToolSet>, choice: &ToolChoice, is_kept: impl Fn(&str) -> bool) -> Option<Self> {
        let names = all.iter().map(|(_, definition)| definition.name());
        let kept: Arc<[String]> = names.filter(|name| is_kept(name)).map(str::to_owned).collect();
        let (choice, allowed) = match choice {
            _ if kept.len() == all.len() => (choice.clone(), None),
            ToolChoice::Auto if kept.is_empty() => (ToolChoice::None, None),
            ToolChoice::None => (ToolChoice::None, None),
            ToolChoice::Tool(name) if kept.contains(name) => (choice.clone(), None),
            ToolChoice::Auto | ToolChoice::Required if !kept.is_empty() => (choice.clone(), Some(kept)),
            _ => return None,
        };
        Some(Self { tools: Arc::clone(all), choice, allowed })
    }

    /// The number of tools that may be called.
    pub(super) fn len(&self) -> usize {
        self.allowed.as_ref().map_or(self.tools.len(), |allowed| allowed.len())
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
