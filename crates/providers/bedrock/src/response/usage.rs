//! Token counts, normalised.

use attache_core::{RawUsage, Usage};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// The provider's counts as attache counts: its `inputTokens` leave out what was read from and written to the
/// cache, ours hold everything that the model read. `None` if `raw` is no object.
pub(super) fn normalised(raw: &RawValue) -> Option<Usage> {
    let counts: Map<String, Value> = serde_json::from_str(raw.get()).ok()?;
    let count = |names: [&str; 2]| names.iter().find_map(|name| counts.get(*name)?.as_u64());
    let cached = count(["cacheReadInputTokens", "cacheReadInputTokenCount"]);
    let written = count(["cacheWriteInputTokens", "cacheWriteInputTokenCount"]).or_else(|| details(&counts));
    let rest = count(["inputTokens", "inputTokenCount"]);
    let input =
        rest.map(|rest| rest.saturating_add(cached.unwrap_or(0)).saturating_add(written.unwrap_or(0)));
    let usage = Usage::new(input, count(["outputTokens", "outputTokenCount"]))
        .with_cached_tokens(cached)
        .with_cache_write_tokens(written);
    Some(usage.with_raw(RawUsage::from(raw)))
}

/// The tokens that were written to the cache, by how long it is kept.
fn details(counts: &Map<String, Value>) -> Option<u64> {
    let details = counts.get("cacheDetails")?.as_array()?.iter();
    let written = details.filter_map(|detail| detail.get("inputTokens")?.as_u64());
    written.reduce(u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use attache_core::Usage;
    use serde_json::value::RawValue;

    use super::normalised;

    fn of(raw: &str) -> Usage {
        let raw = RawValue::from_string(raw.to_owned()).unwrap();
        let mut usage = normalised(&raw).unwrap();
        assert_eq!(usage.raw.as_ref().unwrap().as_json(), raw.get());
        usage.raw = None;
        usage
    }

    // bedrock.md 4
    #[test]
    fn input_is_everything_that_was_read() {
        let raw = r#"{"inputTokens":13,"outputTokens":5,"totalTokens":1542,"cacheReadInputTokens":1504,
            "cacheWriteInputTokens":20,"cacheReadInputTokenCount":1504,"serverToolUsage":{}}"#;
        assert_eq!(of(raw), Usage::new(1537, 5).with_cached_tokens(1504).with_cache_write_tokens(20));
        let split = r#"{"inputTokens":1,"outputTokens":2,"cacheDetails":[{"ttl":"1h","inputTokens":4},{"ttl":"5m","inputTokens":5}]}"#;
        assert_eq!(of(split), Usage::new(10, 2).with_cache_write_tokens(9));
    }

    #[test]
    fn what_is_not_reported_is_absent() {
        assert_eq!(of("{}"), Usage::default());
        assert_eq!(of(r#"{"outputTokens":2,"inputTokens":null,"cacheDetails":[]}"#), Usage::new(None, 2));
        assert!(normalised(&RawValue::from_string("[]".to_owned()).unwrap()).is_none());
    }
}
