//! The line that ends a run: its end, its time, its tokens and their cost.

use std::time::Duration;

use attache_agent::Outcome;

use super::number::{counted, grouped};
use super::status::elapsed;

/// The line, with the cost if there is a currency.
pub(crate) fn closing(outcome: &Outcome, time: Duration, currency: Option<&str>) -> String {
    let mut text = format!("· {} after {}", outcome.reason, counted(outcome.steps.into(), "step"));
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
