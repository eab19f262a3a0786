//! Token counts of a model call.

use std::fmt;
use std::sync::Arc;

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// The token counts of one or more model calls, with the same definition for every provider.
///
/// `input_tokens` counts everything the model read, including cache reads and writes; `output_tokens` counts everything
/// it wrote, including reasoning; the other three are parts of these. A count that the provider did not report is
/// `None`, never zero.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Usage {
    /// All tokens that the model read.
    pub input_tokens: Option<u64>,
    /// All tokens that the model wrote.
    pub output_tokens: Option<u64>,
    /// The part of the input that was read from the provider's prompt cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<u64>,
    /// The part of the input that was written to the provider's prompt cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_tokens: Option<u64>,
    /// The part of the output that was reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
    /// The provider's own usage object, as sent. Absent in sums.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<RawUsage>,
}

/// The part of a call's tokens that one of several models used.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ModelUsage {
    /// The model that was asked, `provider/model`.
    pub model: String,
    /// The model that answered, as the provider names it. `None` if none answered, or the provider did not name it.
    pub answered: Option<String>,
    /// The tokens.
    pub usage: Usage,
}

impl ModelUsage {
    /// Creates the part of a model, `provider/model`.
    pub fn new(model: impl Into<String>, usage: Usage) -> Self {
        Self { model: model.into(), answered: None, usage }
    }

    /// Sets the model that answered, as the provider names it.
    #[must_use]
    pub fn with_answered(mut self, model: impl Into<Option<String>>) -> Self {
        self.answered = model.into();
        self
    }
}

/// A provider's own usage object, kept as JSON text and parsed only on demand.
///
/// Two objects are equal if their JSON values are equal.
#[derive(Clone)]
pub struct RawUsage(Arc<str>);

impl RawUsage {
    /// Stores `json` unchanged; returns `None` if it is not a single JSON value.
    ///
    /// ```
    /// use attache_core::RawUsage;
    ///
    /// let raw = RawUsage::from_json(r#"{"prompt_tokens": 12, "cost": 0.5}"#).expect("valid JSON");
    /// assert_eq!(raw.value()["cost"], 0.5);
    /// assert!(RawUsage::from_json("{").is_none());
    /// ```
    pub fn from_json(json: &str) -> Option<Self> {
        serde_json::from_str::<IgnoredAny>(json).ok().map(|_| Self(json.into()))
    }

    /// The JSON text.
    pub fn as_json(&self) -> &str {
        &self.0
    }

    /// The value.
    pub fn value(&self) -> Value {
        serde_json::from_str(&self.0).unwrap_or_default()
    }
}

impl From<&RawValue> for RawUsage {
    fn from(json: &RawValue) -> Self {
        Self(json.get().into())
    }
}

impl From<Value> for RawUsage {
    fn from(value: Value) -> Self {
        Self(value.to_string().into())
    }
}

impl PartialEq for RawUsage {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0 || self.value() == other.value()
    }
}

impl fmt::Debug for RawUsage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for RawUsage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RawUsage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self::from)
    }
}

impl Usage {
    /// Creates a usage with the two main counts.
    pub fn new(input_tokens: impl Into<Option<u64>>, output_tokens: impl Into<Option<u64>>) -> Self {
        Self { input_tokens: input_tokens.into(), output_tokens: output_tokens.into(), ..Self::default() }
    }

    /// Sets the part of the input that came from the cache.
    #[must_use]
    pub fn with_cached_tokens(mut self, tokens: impl Into<Option<u64>>) -> Self {
        self.cached_tokens = tokens.into();
        self
    }

    /// Sets the part of the input that was written to the cache.
    #[must_use]
    pub fn with_cache_write_tokens(mut self, tokens: impl Into<Option<u64>>) -> Self {
        self.cache_write_tokens = tokens.into();
        self
    }

    /// Sets the part of the output that was reasoning.
    #[must_use]
    pub fn with_reasoning_tokens(mut self, tokens: impl Into<Option<u64>>) -> Self {
        self.reasoning_tokens = tokens.into();
        self
    }

    /// Keeps the provider's own object.
    #[must_use]
    pub fn with_raw(mut self, raw: impl Into<Option<RawUsage>>) -> Self {
        self.raw = raw.into();
        self
    }

    /// The counts of an attempt that failed: input or output that its provider did not report, because it ended before,
    /// counts as 0.
    #[must_use]
    pub fn with_unreported_as_zero(mut self) -> Self {
        self.input_tokens.get_or_insert(0);
        self.output_tokens.get_or_insert(0);
        self
    }

    /// Adds the counts of another call. A count that neither of them reported stays `None`; `raw` is dropped.
    pub fn add(&mut self, other: &Usage) {
        fn sum(a: &mut Option<u64>, b: Option<u64>) {
            if let Some(b) = b {
                *a = Some(a.unwrap_or(0).saturating_add(b));
            }
        }
        sum(&mut self.input_tokens, other.input_tokens);
        sum(&mut self.output_tokens, other.output_tokens);
        sum(&mut self.cached_tokens, other.cached_tokens);
        sum(&mut self.cache_write_tokens, other.cache_write_tokens);
        sum(&mut self.reasoning_tokens, other.reasoning_tokens);
        self.raw = None;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{RawUsage, Usage};

    #[test]
    fn the_raw_object_survives_being_stored() {
        let usage = Usage::new(1, 2).with_raw(RawUsage::from_json(r#"{ "b": 1.50, "a": null }"#));
        let stored = serde_json::to_string(&usage).unwrap();
        assert_eq!(stored, r#"{"input_tokens":1,"output_tokens":2,"raw":{"b":1.5,"a":null}}"#);
        assert_eq!(serde_json::from_str::<Usage>(&stored).unwrap(), usage);
        assert_ne!(RawUsage::from(json!({"b": 1})), RawUsage::from(json!({"b": 2})));
    }

    #[test]
    fn unknown_is_not_zero() {
        let mut total = Usage::default();
        total.add(&Usage::new(None, 3));
        total.add(&Usage::new(None, 4).with_cached_tokens(2));
        assert_eq!(total, Usage::new(None, 7).with_cached_tokens(2));
    }
}
