//! Holds what a run spends and calls against its limits.

use attache_core::{ResultStatus, ToolCall, ToolResult};

use crate::log::{Disposition, ToolOutcome};
use crate::outcome::EndReason;
use crate::run::counters::{CallLimit, Spent};
use crate::run::loop_detection::{Verdict, hint};
use crate::run::{Phase, Run};

/// The way in which a run goes on after a round.
pub(super) struct Verdicts {
    repeats: Verdict,
    /// The call that repeats itself: the last one that counts.
    repeated: usize,
    stop: Option<EndReason>,
    /// The calls of tools that the model shall leave alone.
    hopeless: Vec<usize>,
    /// The calls that failed again, and how often by now.
    failing: Vec<(usize, usize)>,
}

impl Verdicts {
    /// Tells the model in the results what is wrong, and says which limit is reached.
    pub(super) fn told(self, calls: &[ToolCall], results: &mut [ToolResult]) -> Option<EndReason> {
        if let (Some(call), Some(result)) = (calls.get(self.repeated), results.last_mut()) {
            self.repeats.told(call, result);
        }
        // The call that the nudge names was told of.
        let named = (self.repeats == Verdict::Nudge).then_some(self.repeated);
        for (place, times) in self.failing.iter().filter(|(place, _)| Some(*place) != named) {
            if let Some(result) = results.get_mut(*place) {
                let text = format!(
                    "This call has failed {times} times with these arguments. Try something else, or answer with what you have."
                );
                hint(result, &text);
            }
        }
        for place in self.hopeless {
            if let Some(result) = results.get_mut(place) {
                hint(result, "Do not call this tool again.");
            }
        }
        self.stop
    }
}

impl Run {
    /// The limit that the run has reached.
    pub(super) fn limit_reached(&self) -> Option<EndReason> {
        let limits = &self.limits;
        let made = u32::try_from(self.calls.len()).unwrap_or(u32::MAX);
        if self.step.saturating_add(1) >= limits.max_steps {
            Some(EndReason::MaxSteps)
        } else if limits.limit_tokens() && self.tokens_left() == 0 {
            Some(EndReason::TokenLimit)
        } else if limits.max_cost.is_some_and(|limit| self.cost.known >= limit) {
            Some(EndReason::CostLimit)
        } else if made >= limits.max_tool_calls && made > 0 {
            Some(EndReason::ToolCallLimit)
        } else {
            None
        }
    }

    /// The fewest tokens that a limit leaves.
    fn tokens_left(&self) -> u64 {
        let (limits, input) = (&self.limits, self.usage.input_tokens.unwrap_or(0));
        let output = self.usage.output_tokens.unwrap_or(0);
        let spent = input.saturating_add(output).saturating_add(self.guessed);
        let pairs = [
            (limits.max_tokens, spent),
            (limits.max_input_tokens, input),
            (limits.max_output_tokens, output),
        ];
        let left = |(limit, spent): (Option<u64>, u64)| limit.map(|limit| limit.saturating_sub(spent));
        pairs.into_iter().filter_map(left).min().unwrap_or(u64::MAX)
    }

    /// The words with which the model learns that it is asked for the last time.
    pub(super) fn landing_notice(&self, reason: &EndReason) -> String {
        let why = match reason {
            EndReason::TokenLimit => "The token limit of this run is reached.",
            EndReason::CostLimit => "The cost limit of this run is reached.",
            EndReason::Deadline => "The time of this run is almost up.",
            EndReason::ToolCallLimit => "The limit of tool calls of this run is reached.",
            EndReason::NoProgress => "The same call was repeated without progress.",
            EndReason::ToolRetriesExhausted => "Calls that cannot be made were made again and again.",
            _ => "This is the last step of this run.",
        };
        let rules = self.tallies.rules.iter().filter(|rule| rule.finish).map(|rule| rule.name.as_str());
        let left: Vec<&str> = rules.chain(self.output().and_then(|output| output.tool())).collect();
        match left.is_empty() {
            true => format!("{why} Tools are off now: answer with what you have, and say what is missing."),
            false => format!(
                "{why} Tools are off now but for {}: use what you have, and say what is missing.",
                left.join(" and ")
            ),
        }
    }

    /// True if a tool that ends runs is offered, which stays available at a limit.
    pub(crate) fn has_finish_tools(&self) -> bool {
        self.tallies.rules.iter().any(|rule| rule.finish)
    }

    /// True in the last step that a limit leaves, and in the round of its calls.
    pub(crate) fn is_landing(&self) -> bool {
        match &self.phase {
            Phase::Model { landing } => landing.is_some(),
            Phase::Calls(_) => self.tallies.landed.is_some(),
            _ => false,
        }
    }

    /// True if a reply at a limit calls a tool that ends runs.
    pub(super) fn may_finish(&self, calls: &[ToolCall]) -> bool {
        calls.iter().any(|call| self.tallies.finishes(&call.name))
    }

    /// The limit that the call at `place` of the last reply passes.
    pub(super) fn beyond_limit(&self, calls: &[ToolCall], place: usize) -> Option<CallLimit> {
        let name = &calls.get(place)?.name;
        if self.tallies.landed.is_some() {
            return (!self.tallies.finishes(name)).then_some(CallLimit::Landing);
        }
        let limits = &self.limits;
        let before = self.calls.len().saturating_sub(calls.len());
        let passes = |made: usize, limit: u32| made >= usize::try_from(limit).unwrap_or(usize::MAX);
        if passes(before.saturating_add(place), limits.max_tool_calls) {
            return Some(CallLimit::Run(limits.max_tool_calls));
        }
        if passes(place, limits.max_calls_per_reply) {
            return Some(CallLimit::Reply(limits.max_calls_per_reply));
        }
        if let Some(limit) = self.beyond_handoffs(calls, place) {
            return Some(limit);
        }
        let limit =
            self.tallies.rule(name).and_then(|rule| rule.max_calls).unwrap_or(limits.max_calls_per_tool);
        let made = self.tallies.tools.iter().find(|tally| tally.name == *name)?.calls;
        let behind = || calls.iter().skip(place).filter(|call| call.name == *name).count();
        let is_beyond = made > limit
            && passes(usize::try_from(made).unwrap_or(usize::MAX).saturating_sub(behind()), limit);
        is_beyond.then_some(CallLimit::Tool(limit))
    }

    /// Holds the results of a round against the limits.
    pub(super) fn observe(&mut self, calls: &[ToolCall], outcomes: &[ToolOutcome]) -> Verdicts {
        let (begun, rules, external) = (&self.begun, &self.tallies.rules, &self.external);
        let polls = |call: &ToolCall| rules.iter().any(|rule| rule.poll && rule.name == call.name);
        let repeated = calls.iter().rposition(|call| !polls(call)).unwrap_or(calls.len());
        let round = calls.iter().zip(outcomes).filter(|(call, _)| !polls(call));
        let repeats = self
            .repeats
            .observe(round.map(|(call, outcome)| (call, &outcome.result, begun.contains_key(&call.id))));
        let mut failing = Vec::new();
        for (place, (call, outcome)) in calls.iter().zip(outcomes).enumerate() {
            if was_made(outcome) && !polls(call) {
                // Nobody here knows what a tool of the caller does.
                let has_effect = begun.contains_key(&call.id) || external.contains(&call.name);
                let times = self.repeats.fails(call, &outcome.result, has_effect);
                failing.extend(times.map(|times| (place, times)));
            }
        }
        let mut stop = (repeats == Verdict::Stop).then_some(EndReason::NoProgress);
        let is_unknown = |outcome: &ToolOutcome| outcome.disposition == Disposition::NoSuchTool;
        if outcomes.iter().all(is_unknown) {
            self.tallies.unknown_rounds += 1;
            if self.tallies.unknown_rounds >= self.limits.max_unknown_rounds {
                stop = Some(EndReason::ToolRetriesExhausted);
            }
        } else {
            self.tallies.unknown_rounds = 0;
        }
        let mut hopeless = Vec::new();
        for (place, (call, outcome)) in calls.iter().zip(outcomes).enumerate() {
            let corrected = match outcome.disposition {
                Disposition::Retry => true,
                Disposition::Refused => self.beyond_limit(calls, place).is_none(),
                _ => false,
            };
            let is_done = outcome.result.status == ResultStatus::Ok;
            if !corrected && !is_done {
                continue;
            }
            let own = self.tallies.rule(&call.name).and_then(|rule| rule.max_retries);
            let limit = own.unwrap_or(self.limits.max_tool_retries);
            let Some(tally) = self.tallies.tally(&call.name) else { continue };
            tally.retries = if is_done { 0 } else { tally.retries.saturating_add(1) };
            if tally.retries > limit {
                hopeless.push(place);
            }
        }
        if self.limits.go_on_without_tool {
            return Verdicts { repeats, repeated, stop, hopeless, failing };
        }
        if !hopeless.is_empty() {
            stop = Some(EndReason::ToolRetriesExhausted);
        }
        Verdicts { repeats, repeated, stop, hopeless: Vec::new(), failing }
    }

    /// True if one call fails again and again. Its driver records that the run is to land: logs of older programs go on.
    pub(crate) fn is_stuck(&self) -> bool {
        self.repeats.is_stuck()
    }

    /// The output of the tools that end the run, if one of them came to its end.
    pub(super) fn finished(&self, calls: &[ToolCall], results: &[ToolResult]) -> Option<String> {
        if self.tallies.rules.is_empty() {
            return None;
        }
        let done = |(call, result): &(&ToolCall, &ToolResult)| {
            self.tallies.finishes(&call.name) && result.status == ResultStatus::Ok
        };
        let texts: Vec<_> =
            calls.iter().zip(results).filter(done).map(|(_, result)| result.tree.model_text()).collect();
        (!texts.is_empty()).then(|| texts.join("\n"))
    }

    /// Adds what a run inside a tool spent.
    pub(crate) fn spend_inside(&mut self, spent: &Spent) {
        self.usage.add(&spent.usage);
        self.cost.add(spent.cost);
        self.guessed = self.guessed.saturating_add(spent.guessed);
    }

    /// About how many tokens the model reads next: as the provider last counted, and four characters a token for what
    /// came since.
    pub(crate) fn tokens_ahead(&self) -> u64 {
        let (counted, from) = self.tallies.measured.unwrap_or((0, 0));
        counted.saturating_add(self.guess_from(from))
    }

    /// True if the provider has counted the conversation.
    pub(crate) fn is_measured(&self) -> bool {
        self.tallies.measured.is_some()
    }

    pub(crate) fn cost(&self) -> crate::price::Cost {
        self.cost
    }

    /// Tokens of steps whose provider reported none.
    pub(crate) fn guessed(&self) -> u64 {
        self.guessed
    }
}

/// True if somebody did what the call asks for, or tried to.
fn was_made(outcome: &ToolOutcome) -> bool {
    matches!(
        outcome.disposition,
        Disposition::Executed
            | Disposition::Retry
            | Disposition::Submitted
            | Disposition::TimedOut
            | Disposition::Panicked
    )
}

#[cfg(test)]
mod tests {
    use attache_core::{Arguments, Capture, Document};

    use super::*;

    #[test]
    fn a_hint_takes_no_reference_of_a_document_away_that_is_withheld() {
        let document = Document::inline("a contract");
        let tree = Capture::new().finish(&[&document]).unwrap();
        let call = ToolCall::new("look", Arguments::new("{}"));
        let mut result = ToolResult::new(&call, ResultStatus::Error, tree.clone());
        result.withheld = vec![document.id().clone()];
        result.documents.clear();
        let verdicts =
            Verdicts { repeats: Verdict::Fine, repeated: 0, stop: None, hopeless: vec![0], failing: vec![] };
        verdicts.told(&[call], std::slice::from_mut(&mut result));
        assert_eq!(result.tree, tree);
        result.withheld.clear();
        hint(&mut result, "Do not call this tool again.");
        assert!(result.tree.model_text().ends_with("[Do not call this tool again.]"));
    }
}
