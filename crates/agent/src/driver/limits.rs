//! Says before a model call whether the run may make it, by its time and by what it may spend.

use std::sync::Arc;
use std::time::Duration;

use attache_core::{ErrorKind, ModelHandle, ModelUsage, ProviderError, Usage};

use crate::driver::Driver;
use crate::driver::interrupt::Interrupt;
use crate::driver::stop::{Fault, Stop};
use crate::event::EventKind;
use crate::journal::Scope;
use crate::log::{Ended, EntryKind, Key};
use crate::memory::text_tokens::tokens_of_length;
use crate::outcome::EndReason;
use crate::price::{Money, Prices};
use crate::run::Spent;
use crate::setup::Setup;
use crate::spending::Amount;

impl Driver {
    /// True if the next model call is asked for before it is made.
    pub(super) fn is_bounded(&self) -> bool {
        self.budget.is_some()
            || self.run.is_stuck()
            || self.run.is_timed()
            || !self.setup.hooks.is_empty()
            || self.scope.as_ref().is_some_and(|scope| scope.time().is_some())
    }

    /// Sets aside what the next model call may spend. Where it is not to be made as the run stands now, this yields what is
    /// to be told of that: the hooks were asked, the run is at a limit, which is recorded, or has come to its end.
    pub(super) async fn may_ask(
        &mut self,
        interrupt: &mut Interrupt,
        step: u32,
        landing: bool,
    ) -> Result<Option<Vec<EventKind>>, Stop> {
        if !self.setup.hooks.is_empty() && !self.run.is_hooked(step) {
            let warning = interrupt.attempt(Box::pin(self.hook_step(step))).await?;
            return Ok(Some(warning.into_iter().collect()));
        }
        let Some(reason) = self.refusal(interrupt.left(), landing) else { return Ok(None) };
        if landing {
            return interrupt.attempt(Box::pin(self.end(Ended::new(reason)))).await.map(Some);
        }
        let landing = self.record(Key::landing(step), EntryKind::Landing(reason));
        interrupt.attempt(Box::pin(landing)).await?;
        Ok(Some(Vec::new()))
    }

    fn refusal(&mut self, left: Option<Duration>, landing: bool) -> Option<EndReason> {
        if !landing && left.is_some_and(|left| left <= self.landing_room()) {
            return Some(EndReason::Deadline);
        }
        if !landing && self.run.is_stuck() {
            return Some(EndReason::NoProgress);
        }
        // Without an account nothing is to be counted.
        self.budget.as_ref()?;
        let input = self.tokens_ahead();
        // Without a bound nobody knows the longest reply, so that a run may pass its limit by one.
        let bound = self.setup.settings.max_tokens.or_else(|| self.setup.model.settings().max_tokens);
        let output = u64::from(bound.unwrap_or(0));
        let call = self.amount(input, output);
        let last = self.amount(input.saturating_add(output), output);
        let budget = self.budget.as_mut()?;
        // It may be left from a call that was not made.
        budget.held = None;
        if landing {
            match budget.account.reserve(call) {
                Ok(held) => budget.held = Some(held),
                // A run that has done something has its last answer. One whose first input alone is too much makes no call.
                Err(reason) if bound.is_some() || self.run.steps() == 0 => return Some(reason),
                Err(_) => {}
            }
            return None;
        }
        // The last answer has its room from the start.
        let all = match bound {
            Some(_) => Amount {
                input: call.input.saturating_add(last.input),
                output: call.output.saturating_add(last.output),
                cost: call.cost.plus(last.cost),
            },
            None => call,
        };
        match budget.account.reserve(all) {
            Ok(held) => budget.held = Some(held),
            Err(reason) => return Some(reason),
        }
        None
    }

    /// The most that a call may spend, whichever model answers it.
    fn amount(&self, input: u64, output: u64) -> Amount {
        let usage = Usage::new(input, output);
        let cost = |model| self.prices.as_ref()?.price(model, None)?.cost(&usage);
        let cost = that_may_answer(&self.setup.model).filter_map(cost).max().unwrap_or_default();
        Amount { input, output, cost }
    }

    /// About how many tokens the next request holds.
    fn tokens_ahead(&self) -> u64 {
        let ahead = self.run.tokens_ahead();
        if self.run.is_measured() {
            return ahead;
        }
        let chars = self.toolbox.set.iter().map(|(name, definition)| {
            let examples: usize = definition.examples().iter().map(|example| example.to_string().len()).sum();
            name.len()
                + definition.description().len()
                + definition.input_schema().to_string().len()
                + examples
        });
        ahead.saturating_add(tokens_of_length(chars.sum()))
    }

    /// The cost of a reply, where prices are configured and one is known.
    pub(super) fn cost_of(
        &self,
        answered: Option<&str>,
        usage: &Usage,
        parts: &[ModelUsage],
    ) -> Option<Money> {
        self.prices.as_ref()?.cost(self.setup.model.id(), answered, usage, parts)
    }

    /// True if a run around this one counts what it spends, whatever limits this one has.
    pub(super) fn counts_outside(&self) -> bool {
        self.scope.is_some() && self.budget.is_some()
    }

    /// Settles what a model call has spent.
    pub(super) fn settle(&mut self, usage: &Usage, cost: Option<Money>, guessed: u64) {
        if let Some(scope) = &self.scope {
            scope.shared().report(&Spent { usage: usage.clone(), cost, guessed });
        }
        if let Some(budget) = &mut self.budget {
            budget.held = None;
            budget.account.spend(Amount {
                input: usage.input_tokens.unwrap_or(0).saturating_add(guessed),
                output: usage.output_tokens.unwrap_or(0),
                cost: cost.unwrap_or_default(),
            });
        }
    }

    /// Spends what a request beside the model calls has cost, such as one for a summary. Its cost, where one is known.
    pub(super) fn spend_beside(
        &self,
        model: &str,
        answered: Option<&str>,
        usage: &Usage,
        parts: &[ModelUsage],
    ) -> Option<Money> {
        let cost = self.prices.as_ref().and_then(|prices| prices.cost(model, answered, usage, parts));
        if let Some(budget) = &self.budget {
            budget.account.spend(Amount {
                input: usage.input_tokens.unwrap_or(0),
                output: usage.output_tokens.unwrap_or(0),
                cost: cost.unwrap_or_default(),
            });
        }
        cost
    }

    /// Says once that a cost is unknown which somebody configured prices for.
    pub(super) fn warn_of_cost(&mut self, cost: Option<Money>) -> Option<EventKind> {
        if cost.is_some() || self.prices.is_none() || self.warned_of_cost {
            return None;
        }
        self.warned_of_cost = true;
        let message =
            "the cost of a step is unknown: its model has no price, or its provider counts no tokens";
        Some(EventKind::Warning { code: "cost_unknown", message: message.to_owned() })
    }
}

/// The model, and those that may answer in its place.
fn that_may_answer(model: &ModelHandle) -> impl Iterator<Item = &str> {
    std::iter::once(model.id()).chain(model.fallbacks())
}

/// A limit of cost is none for a model whose price nobody knows.
pub(super) fn check_priced(prices: Option<&Prices>, model: &ModelHandle) -> Result<(), Fault> {
    let is_known = |model: &str| {
        prices.is_some_and(|prices| prices.allows_unknown() || prices.price(model, None).is_some())
    };
    let Some(unknown) = that_may_answer(model).find(|model| !is_known(model)) else { return Ok(()) };
    let text = format!("the cost of the run is limited, and nobody configured a price of {unknown}");
    Err(ProviderError::new(ErrorKind::Configuration, text).into())
}

/// The prices that hold for an agent in a run: those of the run or its own, else those of the run around it. They are the
/// same for a run that is resumed.
pub(super) fn prices_of(setup: &Setup, scope: Option<&Scope>) -> Option<Arc<Prices>> {
    setup.prices.clone().or_else(|| scope?.shared().prices.clone())
}
