//! Token counts, normalised.

use attache_core::{RawUsage, Usage};
use serde_json::{Map, Value};

/// The provider's counts as attache counts: its `input_tokens` leave out what was read from and written to the
/// cache, ours hold everything that the model read. A compaction at the provider is billed beside them. (What an advisor
/// read is another model's, with another price, and stands in the raw object alone.)
pub(super) fn normalised(raw: Map<String, Value>) -> Usage {
    let mut usage = counted(&raw);
    for iteration in raw.get("iterations").and_then(Value::as_array).into_iter().flatten() {
        if let Value::Object(iteration) = iteration
            && iteration.get("type").is_some_and(|kind| kind == "compaction")
        {
            usage.add(&counted(iteration));
        }
    }
    usage.with_raw((!raw.is_empty()).then(|| RawUsage::from(Value::Object(raw))))
}

/// The counts of a reply, or of one of its iterations.
fn counted(raw: &Map<String, Value>) -> Usage {
    let count = |object: &Map<String, Value>, name: &str| object.get(name).and_then(Value::as_u64);
    let nested = |object: &str, name: &str| count(raw.get(object)?.as_object()?, name);
    let cached = count(raw, "cache_read_input_tokens");
    let written = count(raw, "cache_creation_input_tokens").or_else(|| {
        let short = nested("cache_creation", "ephemeral_5m_input_tokens");
        let long = nested("cache_creation", "ephemeral_1h_input_tokens");
        short.or(long).map(|_| short.unwrap_or(0).saturating_add(long.unwrap_or(0)))
    });
    let input = count(raw, "input_tokens")
        .map(|rest| rest.saturating_add(cached.unwrap_or(0)).saturating_add(written.unwrap_or(0)));
    Usage::new(input, count(raw, "output_tokens"))
        .with_cached_tokens(cached)
        .with_cache_write_tokens(written)
        .with_reasoning_tokens(nested("output_tokens_details", "thinking_tokens"))
}

#[cfg(test)]
mod tests {
    use attache_core::Usage;
    use serde_json::{Value, json};

    use super::normalised;

    fn of(raw: &Value) -> Usage {
        let mut usage = normalised(raw.as_object().cloned().unwrap_or_default());
        usage.raw = None;
        usage
    }

    // anthropic.md 5
    #[test]
    fn input_is_everything_that_was_read() {
        let raw = json!({"input_tokens": 3, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20,
            "output_tokens": 7, "output_tokens_details": {"thinking_tokens": 5}});
        let expected =
            Usage::new(123, 7).with_cached_tokens(100).with_cache_write_tokens(20).with_reasoning_tokens(5);
        assert_eq!(of(&raw), expected);
    }

    #[test]
    fn a_compaction_at_the_provider_is_counted() {
        let raw = json!({"input_tokens": 183, "output_tokens": 56, "cache_read_input_tokens": 7, "iterations": [
            {"type": "compaction", "input_tokens": 99_195, "output_tokens": 99, "cache_creation_input_tokens": 3},
            {"type": "message", "input_tokens": 183, "output_tokens": 56, "cache_read_input_tokens": 7},
            {"type": "advisor_message", "input_tokens": 1_000, "output_tokens": 1_000}, 5]});
        let expected = Usage::new(183 + 7 + 99_195 + 3, 155).with_cached_tokens(7).with_cache_write_tokens(3);
        assert_eq!(of(&raw), expected);
    }

    #[test]
    fn what_is_not_reported_is_absent() {
        assert_eq!(of(&json!({})), Usage::default());
        assert_eq!(of(&json!({"output_tokens": 2, "cache_read_input_tokens": null})), Usage::new(None, 2));
        let split = json!({"input_tokens": 1, "cache_creation": {"ephemeral_1h_input_tokens": 4}});
        assert_eq!(of(&split), Usage::new(5, None).with_cache_write_tokens(4));
    }
}
