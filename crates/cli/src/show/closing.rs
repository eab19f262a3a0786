//! The line that ends a run: its end, its time, its tokens and their cost.

use std::time::Duration;

use attache_agent::{EndReason, Outcome};

use super::number::{counted, grouped};
use super::status::elapsed;

/// The end of a run for people. JSON and logs have its word.
fn words(reason: &EndReason) -> String {
    let words = match reason {
        EndReason::ReturnDirect | EndReason::FinishTool => "answer of a tool",
        EndReason::MaxSteps => "stopped at the limit of steps",
        EndReason::TokenLimit => "stopped at the limit of tokens",
        EndReason::CostLimit => "stopped at the limit of cost",
        EndReason::ToolCallLimit => "stopped at the limit of tool calls",
        EndReason::Deadline => "stopped at the limit of time",
        EndReason::NoProgress => "stopped without progress",
        EndReason::ToolRetriesExhausted => "stopped, since a tool kept failing",
        EndReason::PendingApproval => "waiting for an approval",
        EndReason::InputRequired => "waiting for your answer",
        EndReason::PendingExternal => "waiting for a result from elsewhere",
        EndReason::GuardrailTripped => "stopped by a guardrail",
        EndReason::ContentFilter => "stopped by the provider's filter",
        EndReason::Length => "cut off at the limit of the reply",
        EndReason::ToolAbort => "ended by a tool",
        other => return other.to_string().replace('_', " "),
    };
    words.to_owned()
}

/// The line, with the cost if there is a currency.
pub(crate) fn closing(outcome: &Outcome, time: Duration, currency: Option<&str>) -> String {
    let mut text = format!("· {} after {}", words(&outcome.reason), counted(outcome.steps.into(), "step"));
    text.push_str(&format!(", {}", elapsed(time)));
    if let (Some(input), Some(output)) = (outcome.usage.input_tokens, outcome.usage.output_tokens) {
        text.push_str(&format!(", {} tokens in, {} out", grouped(input), grouped(output)));
    }
    if let Some(currency) = currency {
        let known = outcome.cost.known.units();
        let about = if outcome.cost.is_complete() { "" } else { " at least" };
        text.push_str(&format!(",{about} {currency} {known:.4}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_told_in_words() {
        assert_eq!(words(&EndReason::PendingApproval), "waiting for an approval");
        assert_eq!(words(&EndReason::ToolCallLimit), "stopped at the limit of tool calls");
        assert_eq!(words(&EndReason::Answer), "answer");
        assert_eq!(words(&EndReason::ProviderError("rate_limit".to_owned())), "provider error (rate limit)");
    }
}
