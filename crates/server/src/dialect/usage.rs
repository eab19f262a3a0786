//! Counts of tokens, as each API writes them.

use attache_core::Usage;

use crate::json::Object;

/// The counts of a part, by those of all and of what came before it.
pub(crate) fn behind(all: &Usage, before: &Usage) -> Usage {
    let less = |all: Option<u64>, before: Option<u64>| all.map(|all| all.saturating_sub(before.unwrap_or(0)));
    Usage::new(less(all.input_tokens, before.input_tokens), less(all.output_tokens, before.output_tokens))
        .with_cached_tokens(less(all.cached_tokens, before.cached_tokens))
        .with_cache_write_tokens(less(all.cache_write_tokens, before.cache_write_tokens))
        .with_reasoning_tokens(less(all.reasoning_tokens, before.reasoning_tokens))
}

/// Writes the counts in the shape of Chat Completions; `null` where nobody counted.
pub(crate) fn write(usage: &Usage, out: &mut Vec<u8>) {
    let (Some(input), Some(output)) = (usage.input_tokens, usage.output_tokens) else {
        out.extend_from_slice(b"null");
        return;
    };
    Object::begin(out)
        .with("prompt_tokens", &input)
        .with("completion_tokens", &output)
        .with("total_tokens", &input.saturating_add(output))
        .by("prompt_tokens_details", |out| {
            Object::begin(out)
                .with("cached_tokens", &usage.cached_tokens.unwrap_or(0))
                .with("cache_write_tokens", &usage.cache_write_tokens.unwrap_or(0))
                .end();
        })
        .by("completion_tokens_details", |out| {
            Object::begin(out).with("reasoning_tokens", &usage.reasoning_tokens.unwrap_or(0)).end();
        })
        .end();
}

/// Writes the counts in the shape of Responses; `null` where nobody counted.
pub(crate) fn responses(usage: &Usage, out: &mut Vec<u8>) {
    let (Some(input), Some(output)) = (usage.input_tokens, usage.output_tokens) else {
        out.extend_from_slice(b"null");
        return;
    };
    Object::begin(out)
        .with("input_tokens", &input)
        .by("input_tokens_details", |out| {
            Object::begin(out)
                .with("cached_tokens", &usage.cached_tokens.unwrap_or(0))
                .with("cache_write_tokens", &usage.cache_write_tokens.unwrap_or(0))
                .end();
        })
        .with("output_tokens", &output)
        .by("output_tokens_details", |out| {
            Object::begin(out).with("reasoning_tokens", &usage.reasoning_tokens.unwrap_or(0)).end();
        })
        .with("total_tokens", &input.saturating_add(output))
        .end();
}

/// Writes the counts that are known, in camel case.
pub(crate) fn plain(usage: &Usage, out: &mut Vec<u8>) {
    let total =
        usage.input_tokens.zip(usage.output_tokens).map(|(input, output)| input.saturating_add(output));
    Object::begin(out)
        .maybe("inputTokens", usage.input_tokens.as_ref())
        .maybe("outputTokens", usage.output_tokens.as_ref())
        .maybe("totalTokens", total.as_ref())
        .maybe("reasoningTokens", usage.reasoning_tokens.as_ref())
        .maybe("cachedInputTokens", usage.cached_tokens.as_ref())
        .maybe("cacheWriteInputTokens", usage.cache_write_tokens.as_ref())
        .end();
}

/// Writes the counts in the shape of Messages, where what a cache read or wrote is no part of the input. Counts that nobody
/// made are 0: the API has no word for them.
pub(crate) fn messages(usage: &Usage, out: &mut Vec<u8>) {
    let (read, written) = (usage.cached_tokens.unwrap_or(0), usage.cache_write_tokens.unwrap_or(0));
    let input = usage.input_tokens.unwrap_or(0).saturating_sub(read).saturating_sub(written);
    Object::begin(out)
        .with("input_tokens", &input)
        .with("cache_creation_input_tokens", &written)
        .with("cache_read_input_tokens", &read)
        .with("output_tokens", &usage.output_tokens.unwrap_or(0))
        .end();
}
