//! Hand-offs of the conversation, folded in.

use attache_core::{ResultStatus, Role, ToolCall};

use crate::log::{Disposition, HandedOff, Handoffs, Key, OfferedTool, ToolOutcome, Transfer};
use crate::output::Output;
use crate::run::counters::CallLimit;
use crate::run::team::without_instructions;
use crate::run::{Phase, Run};

impl Run {
    /// The names on the way to the agent which has the conversation; none for the one with which the run began.
    pub(crate) fn path(&self) -> &[String] {
        self.team.as_ref().map_or(&[], |team| &team.path)
    }

    /// The agent which has the conversation, if it was handed over.
    pub fn agent(&self) -> Option<&str> {
        self.path().last().map(String::as_str)
    }

    /// True if calls of that tool hand the conversation over.
    pub(crate) fn is_transfer(&self, tool: &str) -> bool {
        self.team.as_ref().is_some_and(|team| team.is_transfer(tool))
    }

    /// The hand-off that is to be made before the model is asked again.
    pub(crate) fn handing_over(&self) -> Option<&Transfer> {
        self.team.as_ref()?.next.as_ref()
    }

    /// Where to record it.
    pub(crate) fn handoff_key(&self) -> Key {
        Key::handed_off(self.team.as_ref().map_or(0, |team| team.count))
    }

    /// True if a step is the first of the agent which has the conversation.
    pub(crate) fn is_first(&self, step: u32) -> bool {
        step == self.team.as_ref().map_or(0, |team| team.since).saturating_add(1)
    }

    /// The tools that the agent was offered since it has the conversation, by the times at which that happened.
    pub(crate) fn offered(&self) -> &[Vec<OfferedTool>] {
        let before = self.team.as_ref().map_or(0, |team| team.offered);
        self.offered.get(before..).unwrap_or_default()
    }

    /// How often tools were offered, also by agents before.
    pub(crate) fn offers(&self) -> usize {
        self.offered.len()
    }

    pub(super) fn begin_handoffs(&mut self, handoffs: &Handoffs) {
        let team = self.team.get_or_insert_default();
        team.transfers.clone_from(&handoffs.transfers);
        team.next = handoffs.agent.clone().map(|agent| Transfer { tool: String::new(), agent, back: false });
    }

    /// The limit of hand-offs that the call at `place` of the last reply passes: the first of a reply counts.
    pub(super) fn beyond_handoffs(&self, calls: &[ToolCall], place: usize) -> Option<CallLimit> {
        let team = self.team.as_ref()?;
        if !team.is_transfer(&calls.get(place)?.name) {
            return None;
        }
        if calls.iter().take(place).any(|call| team.is_transfer(&call.name)) {
            return Some(CallLimit::SecondHandoff);
        }
        let limit = self.limits.max_handoffs;
        (team.count >= limit).then_some(CallLimit::Handoffs(limit))
    }

    /// Notes the hand-off that a round of calls made.
    pub(super) fn note_transfer(&mut self, calls: &[ToolCall], outcomes: &[ToolOutcome]) {
        let Some(team) = &mut self.team else { return };
        let made = |(_, outcome): &(&ToolCall, &ToolOutcome)| {
            outcome.disposition == Disposition::Executed && outcome.result.status == ResultStatus::Ok
        };
        let mut made = calls.iter().zip(outcomes).filter(made);
        let next =
            made.find_map(|(call, _)| team.transfers.iter().find(|transfer| transfer.tool == call.name));
        if let Some(next) = next.cloned() {
            team.next = Some(next);
        }
    }

    /// Another agent has the conversation from now on.
    pub(super) fn hand_off(&mut self, handed: &HandedOff) -> Result<(), &'static str> {
        if !matches!(self.phase, Phase::Model { .. }) || self.handing_over().is_none() {
            return Err("nobody handed the conversation over");
        }
        let (step, offered) = (self.step, self.offered.len());
        let team = self.team.get_or_insert_default();
        team.next = None;
        team.path.clone_from(&handed.path);
        team.transfers.clone_from(&handed.transfers);
        team.count = team.count.saturating_add(1);
        (team.since, team.offered) = (step, offered);
        self.external.clone_from(&handed.external_tools);
        self.direct.clone_from(&handed.direct_tools);
        self.families.clone_from(&handed.families);
        self.tallies.rules.clone_from(&handed.rules);
        // Nobody has counted what the new agent reads.
        self.tallies.measured = None;
        self.read = None;
        if let Some(remembered) = &mut self.remembered {
            remembered.failed_at = None;
            // It is asked for once in a run, and what was counted is another conversation.
            remembered.counted = remembered.counted.map(|_| (0, None));
        }
        if let Some(spec) = &handed.output {
            match &mut self.output {
                Some(output) => output.spec = (**spec).clone(),
                None => self.output = Some(Box::new(Output::new((**spec).clone()))),
            }
        }
        self.give(handed);
        Ok(())
    }

    /// Puts the conversation in the place of the one before that the new agent is given.
    fn give(&mut self, handed: &HandedOff) {
        let before = std::mem::take(&mut self.history);
        let task = before.get(self.task).map(|message| message.id().clone());
        self.history.extend(handed.system.clone());
        match &handed.messages {
            Some(messages) => self.history.extend(messages.iter().cloned()),
            None => self.history.extend(without_instructions(&before).iter().cloned()),
        }
        let place = |id| self.history.iter().position(|message| *message.id() == id);
        let asked = || self.history.iter().rposition(|message| message.role() == Role::User);
        self.task = task.and_then(place).or_else(asked).unwrap_or(self.history.len());
        let now = self.history.len();
        for (at, _) in &mut self.found {
            *at = at.saturating_add(now).saturating_sub(before.len()).min(now);
        }
    }
}
