//! How reasoning is asked for.

use attache_core::capability::ReasoningExcludes;
use attache_core::{Effort, ModelCapabilities, ModelSettings, Reasoning};
use attache_transport::{Refusals, budget_for, can_reason, knows};
use serde_json::{Map, Value};

use crate::error::Result;
use crate::profile::Thinking;

const OPTION: &str = "reasoning";

/// The fate of the option.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Asked {
    /// Nothing is said of it.
    Nothing,
    Off,
    On,
    Effort(Effort),
    Budget(u32),
}

/// How a model will reason.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reasons<'a> {
    asked: Asked,
    capabilities: &'a ModelCapabilities,
}

impl<'a> Reasons<'a> {
    /// The reasoning that a request asks for, as far as the model can do it.
    pub(crate) fn new(
        capabilities: &'a ModelCapabilities,
        settings: &ModelSettings,
        refusals: &mut Refusals<'_>,
    ) -> Result<Self> {
        let knows = |way: &str| knows(capabilities, way);
        let asked = match &settings.reasoning {
            None => Asked::Nothing,
            // A model that cannot reason has it off already.
            Some(Reasoning::Off) if !can_reason(capabilities) => Asked::Nothing,
            Some(Reasoning::Off) if knows("off") => Asked::Off,
            Some(Reasoning::Off) => {
                refusals.refuse(OPTION, "it cannot be switched off here", "it may reason")?;
                Asked::Nothing
            }
            Some(Reasoning::Effort(effort)) if knows("effort") => {
                let effort = refusals.effort(*effort, &capabilities.efforts, "left out")?;
                effort.map_or(Asked::Nothing, Asked::Effort)
            }
            Some(Reasoning::Effort(effort)) if knows("budget") => {
                let budget = budget_for(*effort);
                let instead = format!("a budget of {budget} tokens was set");
                refusals.refuse(OPTION, "it takes a token budget and no effort", &instead)?;
                Asked::Budget(budget)
            }
            Some(Reasoning::Effort(_)) => unmeasured("effort", knows("adaptive"), refusals)?,
            Some(Reasoning::Budget(budget)) if knows("budget") => Asked::Budget(*budget),
            Some(Reasoning::Budget(budget)) if knows("effort") && !capabilities.efforts.is_empty() => {
                let mut nearest =
                    Refusals::new(&capabilities.model, Some(attache_core::settings::Unsupported::Degrade));
                let effort = nearest.effort(effort_for(*budget), &capabilities.efforts, "")?;
                let instead = format!("the effort {} was taken", effort.map_or("none", Effort::as_str));
                refusals.refuse(OPTION, "it knows no token budget", &instead)?;
                effort.map_or(Asked::Nothing, Asked::Effort)
            }
            Some(Reasoning::Budget(_)) => unmeasured("token budget", knows("adaptive"), refusals)?,
            Some(_) => {
                refusals.leave_out(OPTION, "this way of reasoning is unknown here")?;
                Asked::Nothing
            }
        };
        Ok(Self { asked, capabilities })
    }

    /// True if it is known that the model reasons.
    pub(super) fn surely(&self) -> bool {
        match self.asked {
            Asked::Nothing => self.capabilities.reasons_unasked,
            Asked::Off => false,
            Asked::On | Asked::Effort(_) | Asked::Budget(_) => true,
        }
    }

    /// True if the model reasons, if it can at all: what cannot be switched off is on.
    pub(crate) fn perhaps(&self) -> bool {
        self.asked != Asked::Off && (self.surely() || !knows(self.capabilities, "off"))
    }

    /// True if the model reasons, and does not do this while it does.
    pub(super) fn exclude(&self, what: ReasoningExcludes) -> bool {
        self.surely() && self.capabilities.reasoning_excludes(what)
    }

    /// Switches it off.
    pub(super) fn switch_off(&mut self) {
        self.asked = Asked::Off;
    }

    /// Writes the members that ask for it.
    pub(crate) fn write(&self, thinking: &Thinking, body: &mut Map<String, Value>) {
        match self.asked {
            Asked::Nothing => {}
            Asked::Off => thinking.write_off(body),
            Asked::On => thinking.write_on(body),
            Asked::Effort(effort) => thinking.write_effort(effort, body),
            Asked::Budget(tokens) => thinking.write_budget(tokens, body),
        }
    }
}

/// For a model that knows no measure of reasoning.
fn unmeasured(measure: &str, can_be_on: bool, refusals: &mut Refusals<'_>) -> Result<Asked> {
    let instead = if can_be_on { "it was switched on" } else { "left out" };
    refusals.refuse(OPTION, &format!("it knows no {measure}"), instead)?;
    Ok(if can_be_on { Asked::On } else { Asked::Nothing })
}

/// The effort that stands for a budget where a model takes only efforts.
fn effort_for(budget: u32) -> Effort {
    match budget {
        0..=2_048 => Effort::Low,
        2_049..=8_192 => Effort::Medium,
        8_193..=16_384 => Effort::High,
        _ => Effort::Max,
    }
}
