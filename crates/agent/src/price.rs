//! The price of model calls.

use std::collections::BTreeMap;
use std::fmt;

use attache_core::{ModelUsage, Usage};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An amount of money in the currency of the [`Prices`], exact to a millionth of a millionth.
///
/// As JSON it is a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Money(u64);

/// The parts of a unit that are counted.
const PARTS: f64 = 1e12;

impl Money {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// That amount of units of the currency. An amount below nothing, or one that is no number, is nothing.
    pub fn new(units: f64) -> Self {
        // A float that does not fit becomes the nearest number that does.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a cast of a float saturates"
        )]
        Self((units * PARTS).round() as u64)
    }

    /// The units of the currency.
    pub fn units(self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "sixteen digits are enough for people")]
        let parts = self.0 as f64;
        parts / PARTS
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    pub(crate) fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl From<f64> for Money {
    fn from(units: f64) -> Self {
        Self::new(units)
    }
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.units(), f)
    }
}

impl Serialize for Money {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.units().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Money {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        f64::deserialize(deserializer).map(Self::new)
    }
}

/// The price of one model, for a million tokens of each kind.
///
/// Where a kind has no price of its own, it costs what the kind costs that it is a part of: cached input and input that
/// is written to the cache cost the input's price, reasoning the output's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub struct Price {
    /// Input that is in no cache.
    pub input: Money,
    /// Input that is read from the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<Money>,
    /// Input that is written to the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<Money>,
    /// Output.
    pub output: Money,
    /// Output that is reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Money>,
}

impl Price {
    /// The price of a million tokens of input, and of output.
    pub fn new(input: impl Into<Money>, output: impl Into<Money>) -> Self {
        Self { input: input.into(), output: output.into(), cached: None, cache_write: None, reasoning: None }
    }

    /// Sets the price of a million tokens that are read from the cache.
    #[must_use]
    pub fn with_cached(mut self, price: impl Into<Money>) -> Self {
        self.cached = Some(price.into());
        self
    }

    /// Sets the price of a million tokens that are written to the cache.
    #[must_use]
    pub fn with_cache_write(mut self, price: impl Into<Money>) -> Self {
        self.cache_write = Some(price.into());
        self
    }

    /// Sets the price of a million tokens of reasoning.
    #[must_use]
    pub fn with_reasoning(mut self, price: impl Into<Money>) -> Self {
        self.reasoning = Some(price.into());
        self
    }

    /// The cost of a call; unknown where the provider counted no input or no output.
    pub fn cost(&self, usage: &Usage) -> Option<Money> {
        let (input, output) = (usage.input_tokens?, usage.output_tokens?);
        let cached = usage.cached_tokens.unwrap_or(0).min(input);
        let written = usage.cache_write_tokens.unwrap_or(0).min(input - cached);
        let reasoning = usage.reasoning_tokens.unwrap_or(0).min(output);
        let parts = [
            (input - cached - written, self.input),
            (cached, self.cached.unwrap_or(self.input)),
            (written, self.cache_write.unwrap_or(self.input)),
            (output - reasoning, self.output),
            (reasoning, self.reasoning.unwrap_or(self.output)),
        ];
        let cost: u128 = parts.iter().map(|(tokens, price)| u128::from(*tokens) * u128::from(price.0)).sum();
        Some(Money(u64::try_from(cost.div_ceil(1_000_000)).unwrap_or(u64::MAX)))
    }
}

/// The prices of models, as somebody configured them: providers change them, and this library knows none.
///
/// ```
/// use attache_agent::{Price, Prices};
///
/// let prices = Prices::new("USD")
///     .with_model("openai/gpt-5", Price::new(1.25, 10.0).with_cached(0.125))
///     .with_model("openai/gpt-5-mini*", Price::new(0.25, 2.0))
///     .with_date("2026-11-01");
/// assert!(prices.price("openai/gpt-5-mini-2025-08-07", None).is_some());
/// assert!(prices.price("anthropic/claude-sonnet-4-5", None).is_none());
///
/// let read: Prices = serde_json::from_str(r#"{
///     "currency": "USD",
///     "as_of": "2026-11-01",
///     "models": {"openai/gpt-5": {"input": 1.25, "cached": 0.125, "output": 10}}
/// }"#)?;
/// assert_eq!(read.as_of_date(), Some("2026-11-01"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    currency: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    as_of: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    allow_unknown: bool,
    models: BTreeMap<String, Price>,
}

impl Prices {
    /// No prices yet, in that currency.
    pub fn new(currency: impl Into<String>) -> Self {
        Self { currency: currency.into(), as_of: None, allow_unknown: false, models: BTreeMap::new() }
    }

    /// Adds the price of `provider/model`; of all models whose names begin so, if it ends with `*`. The longest name
    /// that fits counts. The name of a model alone holds for each provider whose own price of it is not there.
    #[must_use]
    pub fn with_model(mut self, model: impl Into<String>, price: Price) -> Self {
        self.models.insert(model.into(), price);
        self
    }

    /// Says of which day the prices are.
    #[must_use]
    pub fn with_date(mut self, date: impl Into<String>) -> Self {
        self.as_of = Some(date.into());
        self
    }

    /// Lets runs with a limit of cost ask models without a price. Their calls count nothing against the limit, and
    /// [`Cost::unknown_steps`] says how many there were.
    #[must_use]
    pub fn with_unknown_allowed(mut self, allowed: bool) -> Self {
        self.allow_unknown = allowed;
        self
    }

    /// The currency.
    pub fn currency(&self) -> &str {
        &self.currency
    }

    /// The day of which the prices are.
    pub fn as_of_date(&self) -> Option<&str> {
        self.as_of.as_deref()
    }

    pub(crate) fn allows_unknown(&self) -> bool {
        self.allow_unknown
    }

    /// The price of the model that was asked, `provider/model`. Where another one `answered`, as providers name it, it
    /// is that one's.
    pub fn price(&self, asked: &str, answered: Option<&str>) -> Option<&Price> {
        let (provider, model) = asked.split_once('/').unwrap_or(("", asked));
        let Some(answered) = answered.filter(|answered| *answered != model) else {
            // A name with an owner in it, as of routers, is priced by whoever serves it.
            let bare = || if model.contains('/') { None } else { self.listed(model) };
            return self.listed(asked).or_else(bare);
        };
        let own = self.listed(&format!("{provider}/{answered}")).or_else(|| self.listed(answered));
        // Providers name the day of a model that was asked for without one.
        own.or_else(|| if answered.starts_with(model) { self.price(asked, None) } else { None })
    }

    /// The cost of a call of the model that was asked, of which others may have used `parts`: each is priced as the model
    /// that used it. Unknown if that of one is.
    pub(crate) fn cost(
        &self,
        asked: &str,
        answered: Option<&str>,
        usage: &Usage,
        parts: &[ModelUsage],
    ) -> Option<Money> {
        if parts.is_empty() {
            return self.price(asked, answered)?.cost(usage);
        }
        parts.iter().try_fold(Money::ZERO, |sum, part| {
            let price = self.price(&part.model, part.answered.as_deref())?;
            Some(sum.plus(price.cost(&part.usage)?))
        })
    }

    fn listed(&self, model: &str) -> Option<&Price> {
        let fits = |name: &str| name.strip_suffix('*').is_some_and(|start| model.starts_with(start));
        let pattern = || self.models.iter().filter(|(name, _)| fits(name)).max_by_key(|(name, _)| name.len());
        self.models.get(model).or_else(|| pattern().map(|(_, price)| price))
    }
}

/// The cost of a run, in the currency of its prices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cost {
    /// The cost of all steps whose price is known.
    pub known: Money,
    /// The steps whose cost nobody knows: their model has no price, or their provider counted no tokens.
    pub unknown_steps: u32,
}

impl Cost {
    /// True if no cost is unknown.
    pub fn is_complete(self) -> bool {
        self.unknown_steps == 0
    }

    /// Adds a step.
    pub(crate) fn add(&mut self, step: Option<Money>) {
        match step {
            Some(cost) => self.known = self.known.plus(cost),
            None => self.unknown_steps = self.unknown_steps.saturating_add(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_token_has_its_price() {
        let price = Price::new(2.0, 10.0).with_cached(0.5).with_cache_write(2.5).with_reasoning(20.0);
        let usage = Usage::new(1_000, 100)
            .with_cached_tokens(600)
            .with_cache_write_tokens(300)
            .with_reasoning_tokens(40);
        // 100 × 2 + 600 × 0.5 + 300 × 2.5 + 60 × 10 + 40 × 20 = 2,650 millionths.
        assert_eq!(price.cost(&usage), Some(Money::new(0.00265)));
        // A kind without a price costs what it is a part of: 1,000 × 2 + 100 × 10.
        assert_eq!(Price::new(2.0, 10.0).cost(&usage), Some(Money::new(0.003)));
    }

    // R27
    #[test]
    fn a_cost_that_nobody_knows_is_not_nothing() {
        let price = Price::new(2.0, 10.0);
        assert_eq!(price.cost(&Usage::new(None, 100)), None);
        assert_eq!(price.cost(&Usage::new(100, None)), None);
        let mut cost = Cost::default();
        cost.add(Some(Money::new(0.5)));
        cost.add(None);
        assert_eq!((cost.known, cost.unknown_steps, cost.is_complete()), (Money::new(0.5), 1, false));
    }

    #[test]
    fn the_model_that_answered_has_the_price() {
        let (big, small, other) = (Price::new(10.0, 30.0), Price::new(1.0, 3.0), Price::new(5.0, 5.0));
        let prices = Prices::new("EUR")
            .with_model("openai/gpt-5*", small.clone())
            .with_model("openai/gpt-5", big.clone())
            .with_model("anthropic/claude-sonnet-4-5", other.clone());
        assert_eq!(prices.price("openai/gpt-5", None), Some(&big));
        assert_eq!(prices.price("openai/gpt-5-mini", None), Some(&small));
        assert_eq!(
            prices.price("anthropic/claude-sonnet-4-5", Some("claude-sonnet-4-5-20250929")),
            Some(&other)
        );
        assert_eq!(prices.price("openai/gpt-4o", Some("gpt-5")), Some(&big));
        // A model that nobody priced answered in the place of one that somebody did.
        assert_eq!(prices.price("anthropic/claude-sonnet-4-5", Some("mystery")), None);
    }

    #[test]
    fn amounts_survive_json() {
        for text in ["0.0", "0.075", "1.25", "1000.5"] {
            let money: Money = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&money).unwrap(), text);
        }
        assert_eq!(Money::new(-1.0), Money::ZERO);
        assert_eq!(Money::new(f64::NAN), Money::ZERO);
        assert_eq!(Money::new(0.1).plus(Money::new(0.2)), Money::new(0.3));
    }
}
