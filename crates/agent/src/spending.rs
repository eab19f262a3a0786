//! The tokens and the money that a run may spend, together with the runs inside its tools.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::limits::Limits;
use crate::outcome::EndReason;
use crate::price::Money;

/// An amount that is spent, or may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Amount {
    pub(crate) input: u64,
    pub(crate) output: u64,
    pub(crate) cost: Money,
}

impl Amount {
    fn plus(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cost: self.cost.plus(other.cost),
        }
    }

    fn minus(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_sub(other.input),
            output: self.output.saturating_sub(other.output),
            cost: self.cost.minus(other.cost),
        }
    }
}

/// Says before each model call whether it may be made. A run inside a tool draws from the account around it, too.
#[derive(Debug, Default)]
pub(crate) struct Account {
    limits: Limits,
    state: Mutex<State>,
    around: Option<Arc<Account>>,
}

#[derive(Debug, Default)]
struct State {
    spent: Amount,
    reserved: Amount,
}

impl Account {
    /// An account with these limits, of which that much is spent; the account `around` knows of it.
    pub(crate) fn new(limits: &Limits, spent: Amount, around: Option<Arc<Account>>) -> Arc<Self> {
        let state = Mutex::new(State { spent, reserved: Amount::default() });
        Arc::new(Self { limits: limits.clone(), state, around })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets an amount aside until it is settled or dropped.
    ///
    /// # Errors
    /// The limit that it would pass.
    pub(crate) fn reserve(self: &Arc<Self>, amount: Amount) -> Result<Reservation, EndReason> {
        let mut held = Reservation { accounts: Vec::new(), amount };
        let mut next = Some(self);
        while let Some(account) = next {
            account.set_aside(amount)?;
            held.accounts.push(Arc::clone(account));
            next = account.around.as_ref();
        }
        Ok(held)
    }

    fn set_aside(&self, amount: Amount) -> Result<(), EndReason> {
        let mut state = self.lock();
        let then = state.spent.plus(state.reserved).plus(amount);
        let limits = &self.limits;
        let passes = |limit: Option<u64>, spent: u64| limit.is_some_and(|limit| spent > limit);
        if passes(limits.max_tokens, then.input.saturating_add(then.output))
            || passes(limits.max_input_tokens, then.input)
            || passes(limits.max_output_tokens, then.output)
        {
            return Err(EndReason::TokenLimit);
        }
        if limits.max_cost.is_some_and(|limit| then.cost > limit) {
            return Err(EndReason::CostLimit);
        }
        state.reserved = state.reserved.plus(amount);
        Ok(())
    }

    /// True if it, or one around it, limits cost.
    pub(crate) fn limits_cost(&self) -> bool {
        self.limits.max_cost.is_some() || self.around.as_ref().is_some_and(|around| around.limits_cost())
    }

    /// Spends an amount that nobody reserved.
    pub(crate) fn spend(self: &Arc<Self>, amount: Amount) {
        let mut next = Some(self);
        while let Some(account) = next {
            let mut state = account.lock();
            state.spent = state.spent.plus(amount);
            drop(state);
            next = account.around.as_ref();
        }
    }
}

/// An amount that is set aside for one model call, in an account and in those around it.
#[derive(Debug)]
pub(crate) struct Reservation {
    accounts: Vec<Arc<Account>>,
    amount: Amount,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        for account in &self.accounts {
            let mut state = account.lock();
            state.reserved = state.reserved.minus(self.amount);
        }
    }
}

/// The account of a run whose spending is limited, and what is set aside for its next model call.
#[derive(Debug)]
pub(crate) struct Budget {
    pub(crate) account: Arc<Account>,
    pub(crate) held: Option<Reservation>,
}

impl Budget {
    pub(crate) fn new(account: Arc<Account>) -> Self {
        Self { account, held: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(input: u64, output: u64) -> Amount {
        Amount { input, output, cost: Money::ZERO }
    }

    fn limited(tokens: u64, around: Option<Arc<Account>>) -> Arc<Account> {
        let limits = Limits { max_tokens: Some(tokens), ..Limits::default() };
        Account::new(&limits, Amount::default(), around)
    }

    #[test]
    fn what_is_reserved_is_not_there_for_others() {
        let account = limited(100, None);
        let held = account.reserve(tokens(40, 20)).unwrap();
        assert_eq!(account.reserve(tokens(41, 0)).unwrap_err(), EndReason::TokenLimit);
        let rest = account.reserve(tokens(40, 0)).unwrap();
        drop((held, rest));
        account.spend(tokens(30, 0));
        assert!(account.reserve(tokens(70, 0)).is_ok());
        assert!(account.reserve(tokens(71, 0)).is_err());
    }

    #[test]
    fn an_account_inside_draws_from_the_one_around() {
        let around = limited(100, None);
        let (one, other) = (limited(80, Some(Arc::clone(&around))), limited(80, Some(Arc::clone(&around))));
        let held = one.reserve(tokens(60, 0)).unwrap();
        // It is refused around, and the account inside holds nothing back.
        assert!(other.reserve(tokens(60, 0)).is_err());
        one.spend(tokens(50, 0));
        drop(held);
        assert!(other.reserve(tokens(51, 0)).is_err());
        assert!(other.reserve(tokens(50, 0)).is_ok());
        assert!(one.reserve(tokens(31, 0)).is_err(), "its own limit holds as well");
    }

    #[test]
    fn money_is_a_limit_of_its_own() {
        let limits = Limits { max_cost: Some(Money::new(0.5)), ..Limits::default() };
        let account = Account::new(&limits, Amount { cost: Money::new(0.4), ..Amount::default() }, None);
        let cost = |units: f64| Amount { cost: Money::new(units), ..tokens(1_000_000, 0) };
        assert_eq!(account.reserve(cost(0.1001)).unwrap_err(), EndReason::CostLimit);
        assert!(account.reserve(cost(0.1)).is_ok());
    }
}
