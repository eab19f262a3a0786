//! The parts of an answer apart from its content, whichever API is spoken.

pub(crate) mod citations;
pub(crate) mod usage;

use std::borrow::Cow;

use attache_core::FinishReason;
use attache_core::message::Metadata;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::error::is_set;

/// The maximum number of tool calls of one generation.
pub(crate) const MAX_CALLS: usize = 1_000;

/// The member that says how likely tokens were, and the entry of the metadata that keeps it.
pub(crate) const LOGPROBS: &str = "logprobs";

/// Takes a report that the caller asked for, as it came, into the entry of that name. The last one that says something
/// counts.
pub(crate) fn reported(metadata: &mut Metadata, name: &str, report: Option<&RawValue>) {
    let report = report.filter(|raw| is_set(Some(raw)) && raw.get() != "[]");
    if let Some(report) = report.and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok()) {
        *metadata = std::mem::take(metadata).with(name, report);
    }
}

/// The meaning of a finish reason. Servers have words of their own (openai.md A.5, C.1, C.2, C.6, C.9, C.10, C.15, C.18,
/// D 60).
pub(crate) fn finish_reason(word: &str) -> FinishReason {
    match &*bare(word) {
        "stop" | "eos" | "end_turn" | "stop_sequence" => FinishReason::Stop,
        "length"
        | "model_length"
        | "max_tokens"
        | "model_context_window_exceeded"
        // It was stopped in the middle, since it went round in circles.
        | "repetition" => FinishReason::Length,
        "tool_calls" | "function_call" | "tool_use" => FinishReason::ToolCalls,
        "content_filter" | "sensitive" | "safety" | "recitation" | "blocklist" | "prohibited_content"
        | "spii" | "language" | "model_armor" | "image_safety" | "image_prohibited_content"
        | "image_recitation" => FinishReason::ContentFilter,
        "refusal" => FinishReason::Refusal,
        "error" | "network_error" | "insufficient_system_resource" | "abort" | "other" => FinishReason::Error,
        bare if is_unreadable(bare) => FinishReason::Error,
        _ => FinishReason::Other(word.to_owned()),
    }
}

/// True if a reply ended since the model wrote a call that cannot be read, which another try may mend.
pub(crate) fn ends_in_unreadable_call(word: &str) -> bool {
    is_unreadable(&bare(word))
}

fn is_unreadable(bare: &str) -> bool {
    matches!(
        bare,
        "function_call_filter" | "malformed_function_call" | "unexpected_tool_call" | "malformed_response"
    )
}

/// The word in small letters and without the details that some servers put behind it, as in `content_filter: SAFETY`.
fn bare(word: &str) -> Cow<'_, str> {
    let bare = word.split_once(':').map_or(word, |(bare, _)| bare.trim_ascii_end());
    match bare.bytes().any(|byte| byte.is_ascii_uppercase()) {
        true => Cow::Owned(bare.to_ascii_lowercase()),
        false => Cow::Borrowed(bare),
    }
}
