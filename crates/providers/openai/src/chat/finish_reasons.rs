//! The parts of answers apart from their content: their endings, and errors in the place of an answer.

use attache_core::{FinishReason, ProviderError};
use attache_transport::ErrorBody;

use super::wire::Chunk;
use crate::error::{self, is_set};

/// The meaning of a finish reason. Servers have words of their own (openai.md A.5, C.1, C.2, C.6, C.9, C.10, D 60).
pub(crate) fn finish_reason(word: &str) -> FinishReason {
    match word {
        "stop" | "eos" | "end_turn" | "stop_sequence" => FinishReason::Stop,
        "length" | "model_length" | "max_tokens" | "model_context_window_exceeded" => FinishReason::Length,
        "tool_calls" | "function_call" | "tool_use" => FinishReason::ToolCalls,
        "content_filter" | "sensitive" => FinishReason::ContentFilter,
        "refusal" => FinishReason::Refusal,
        "error" | "network_error" | "insufficient_system_resource" => FinishReason::Error,
        other => FinishReason::Other(other.to_owned()),
    }
}

/// The error that stands in an answer under a success status (openai.md D 38, D 39, D 50).
pub(super) fn error_in(chunk: &Chunk<'_>, json: &[u8]) -> Option<ProviderError> {
    let choices = || chunk.choices.0.iter().filter_map(|choice| choice.0.as_ref()?.error);
    let groq = chunk.x_groq.0.as_ref().and_then(|groq| groq.error);
    let inner = || choices().chain(groq).find(|raw| is_set(Some(*raw)));
    if is_set(chunk.error) {
        return Some(error::reported(json));
    }
    if let Some(raw) = inner() {
        return Some(error::reported(format!("{{\"error\":{}}}", raw.get()).as_bytes()));
    }
    if chunk.base_resp.is_some() && error::base_resp(json).is_some() {
        return Some(error::reported(json));
    }
    // Flat error objects hold nothing of an answer.
    let holds_nothing = chunk.choices.0.is_empty() && chunk.usage.is_none();
    (holds_nothing
        && chunk.base_resp.is_none()
        && ErrorBody::parse(json).is_some_and(|body| body.message.is_some()))
    .then(|| error::reported(json))
}
