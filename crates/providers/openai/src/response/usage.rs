//! Token counts, wherever a server puts them and however it counts.

use attache_core::{RawUsage, Usage};
use serde::Deserialize;

use attache_transport::lenient::{Count, Object};

/// The usage objects of Chat Completions and of Responses, with what servers add to them.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Wire {
    prompt_tokens: Count,
    completion_tokens: Count,
    total_tokens: Count,
    prompt_tokens_details: Object<InputDetails>,
    /// The same at Mistral. (openai.md C.6)
    prompt_token_details: Object<InputDetails>,
    completion_tokens_details: Object<OutputDetails>,
    input_tokens: Count,
    output_tokens: Count,
    input_tokens_details: Object<InputDetails>,
    output_tokens_details: Object<OutputDetails>,
    cached_tokens: Count,
    num_cached_tokens: Count,
    prompt_cache_hit_tokens: Count,
    prompt_cache_miss_tokens: Count,
    /// Claude's names, which gateways put beside the others' counts. (openai.md C.19)
    cache_read_input_tokens: Count,
    cache_creation_input_tokens: Count,
    reasoning_tokens: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct InputDetails {
    cached_tokens: Count,
    cache_write_tokens: Count,
    /// The same at LiteLLM and in Qwen's way. (openai.md C.5, C.19)
    cache_creation_tokens: Count,
    cache_creation_input_tokens: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OutputDetails {
    reasoning_tokens: Count,
}

/// Normalises a usage object: input with what came from the cache, output with reasoning.
///
/// Nearly all servers count so themselves. One kind does not count reasoning as output (openai.md C.8, D 57); its
/// total, which is the sum of all three, tells it apart. Another kind counts it in the total alone, which
/// `reasoning_in_total` says (openai.md C.18).
pub(crate) fn normalise(raw: RawUsage, reasoning_in_total: bool) -> Usage {
    let wire = serde_json::from_str::<Object<Wire>>(raw.as_json())
        .ok()
        .and_then(|object| object.0)
        .unwrap_or_default();
    let inner = wire.prompt_tokens_details.0.or(wire.input_tokens_details.0);
    let inner = inner.or(wire.prompt_token_details.0).unwrap_or_default();
    let outer = wire.completion_tokens_details.0.or(wire.output_tokens_details.0).unwrap_or_default();
    let created = inner.cache_creation_tokens.0.or(inner.cache_creation_input_tokens.0);
    let created = created.or(wire.cache_creation_input_tokens.0);
    let hit = wire.prompt_cache_hit_tokens.0;
    let cached = inner.cached_tokens.0.or(wire.cached_tokens.0).or(wire.num_cached_tokens.0).or(hit);
    let cached = cached.or(wire.cache_read_input_tokens.0);
    let split = || Some(hit?.saturating_add(wire.prompt_cache_miss_tokens.0?));
    let input = wire.prompt_tokens.0.or(wire.input_tokens.0).or_else(split);
    let written = wire.completion_tokens.0.or(wire.output_tokens.0);
    let hidden = || {
        let known = input?.saturating_add(written?);
        wire.total_tokens.0?.checked_sub(known).filter(|hidden| reasoning_in_total && *hidden > 0)
    };
    let reasoning = outer.reasoning_tokens.0.or(wire.reasoning_tokens.0).or_else(hidden);
    let output = written.map(|output| {
        let apart = reasoning.unwrap_or(0);
        let sum = input.unwrap_or(0).saturating_add(output).saturating_add(apart);
        if apart > 0 && wire.total_tokens.0 == Some(sum) { output.saturating_add(apart) } else { output }
    });
    Usage::new(input, output)
        .with_cached_tokens(cached)
        .with_cache_write_tokens(inner.cache_write_tokens.0.or(created))
        .with_reasoning_tokens(reasoning)
        .with_raw(raw)
}

#[cfg(test)]
mod tests {
    use attache_core::{RawUsage, Usage};

    fn normalise(json: &str, reasoning_in_total: bool) -> Usage {
        super::normalise(RawUsage::from_json(json).unwrap(), reasoning_in_total)
    }

    fn counts(json: &str) -> Usage {
        normalise(json, false).with_raw(None)
    }

    // openai.md A.5
    #[test]
    fn the_usual_form() {
        let json = r#"{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,
            "prompt_tokens_details":{"cached_tokens":4,"cache_write_tokens":2},"completion_tokens_details":{"reasoning_tokens":3}}"#;
        let expected =
            Usage::new(10, 5).with_cached_tokens(4).with_cache_write_tokens(2).with_reasoning_tokens(3);
        assert_eq!(counts(json), expected);
        assert!(normalise(json, false).raw.is_some());
    }

    // openai.md D 57
    #[test]
    fn d57_reasoning_that_is_not_counted_as_output_is_added() {
        let apart = r#"{"prompt_tokens":10,"completion_tokens":5,"total_tokens":35,"completion_tokens_details":{"reasoning_tokens":20}}"#;
        assert_eq!(counts(apart), Usage::new(10, 25).with_reasoning_tokens(20));
        let within = r#"{"prompt_tokens":10,"completion_tokens":25,"total_tokens":35,"completion_tokens_details":{"reasoning_tokens":20}}"#;
        assert_eq!(counts(within), Usage::new(10, 25).with_reasoning_tokens(20));
    }

    // openai.md C.18
    #[test]
    fn reasoning_that_only_the_total_counts() {
        let json = r#"{"prompt_tokens":10,"completion_tokens":5,"total_tokens":35}"#;
        assert_eq!(counts(json), Usage::new(10, 5), "elsewhere a total may count anything");
        assert_eq!(normalise(json, true).with_raw(None), Usage::new(10, 25).with_reasoning_tokens(20));
        let even = r#"{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}"#;
        assert_eq!(normalise(even, true).with_raw(None), Usage::new(10, 5));
    }

    // openai.md C.5, C.19
    #[test]
    fn writes_to_a_cache_have_several_names() {
        for name in ["cache_write_tokens", "cache_creation_tokens", "cache_creation_input_tokens"] {
            let json = format!(
                r#"{{"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":{{"cached_tokens":4,"{name}":2}}}}"#
            );
            let expected = Usage::new(10, 5).with_cached_tokens(4).with_cache_write_tokens(2);
            assert_eq!(counts(&json), expected, "{name}");
        }
        let all = r#"{"prompt_tokens":10,"prompt_tokens_details":{"cache_write_tokens":3,"cache_creation_tokens":2}}"#;
        assert_eq!(counts(all).cache_write_tokens, Some(3));
    }

    // openai.md D 58, C.1, C.4
    #[test]
    fn d58_counts_in_other_places() {
        assert_eq!(
            counts(r#"{"prompt_tokens":9,"completion_tokens":1,"cached_tokens":8}"#),
            Usage::new(9, 1).with_cached_tokens(8)
        );
        assert_eq!(
            counts(r#"{"prompt_cache_hit_tokens":3,"prompt_cache_miss_tokens":4,"completion_tokens":1}"#),
            Usage::new(7, 1).with_cached_tokens(3)
        );
        assert_eq!(
            counts(r#"{"prompt_tokens":9,"completion_tokens":1,"num_cached_tokens":0}"#),
            Usage::new(9, 1).with_cached_tokens(0)
        );
    }

    // openai.md C.6, C.19
    #[test]
    fn counts_of_gateways_have_claudes_names() {
        let beside = r#"{"prompt_tokens":9,"completion_tokens":1,"cache_read_input_tokens":5,"cache_creation_input_tokens":2}"#;
        let expected = Usage::new(9, 1).with_cached_tokens(5).with_cache_write_tokens(2);
        assert_eq!(counts(beside), expected);
        let both = r#"{"prompt_tokens":9,"completion_tokens":1,"cache_read_input_tokens":5,"cache_creation_input_tokens":2,
            "prompt_tokens_details":{"cached_tokens":4,"cache_write_tokens":3}}"#;
        assert_eq!(counts(both), Usage::new(9, 1).with_cached_tokens(4).with_cache_write_tokens(3));
        let singular =
            r#"{"prompt_tokens":9,"completion_tokens":1,"prompt_token_details":{"cached_tokens":4}}"#;
        assert_eq!(counts(singular), Usage::new(9, 1).with_cached_tokens(4));
    }

    #[test]
    fn what_is_not_reported_is_absent() {
        assert_eq!(counts("{}"), Usage::default());
        let nulls = r#"{"prompt_tokens":null,"completion_tokens":2,"prompt_tokens_details":null,"completion_tokens_details":{"reasoning_tokens":null}}"#;
        assert_eq!(counts(nulls), Usage::new(None, 2));
        assert_eq!(counts("7"), Usage::default());
    }
}
