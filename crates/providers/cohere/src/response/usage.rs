//! The token counts of a reply.

use attache_core::{RawUsage, Usage};
use serde_json::Value;

/// Token counts: `tokens` holds what was read, cached or not, and what was written, reasoning included. The
/// billed ones, `billed_units`, are kept in the raw object.
pub(super) fn normalised(json: &str) -> Usage {
    let value: Value = serde_json::from_str(json).unwrap_or_default();
    let count = |pointer: &str| {
        let value = value.pointer(pointer)?;
        // The API counts in floats.
        value.as_u64().or_else(|| value.to_string().strip_suffix(".0")?.parse().ok())
    };
    Usage::new(count("/tokens/input_tokens"), count("/tokens/output_tokens"))
        .with_cached_tokens(count("/cached_tokens"))
        .with_reasoning_tokens(count("/tokens/reasoning_tokens"))
        .with_raw(RawUsage::from_json(json))
}
