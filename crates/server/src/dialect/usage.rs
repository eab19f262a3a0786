//! Counts of tokens in OpenAI's shape.

use attache_core::Usage;

use crate::json::Object;

/// Writes the counts; `null` where nobody counted.
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
            Object::begin(out).with("cached_tokens", &usage.cached_tokens.unwrap_or(0)).end();
        })
        .by("completion_tokens_details", |out| {
            Object::begin(out).with("reasoning_tokens", &usage.reasoning_tokens.unwrap_or(0)).end();
        })
        .end();
}
