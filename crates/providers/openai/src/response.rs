//! The parts of an answer apart from its content, whichever API is spoken.

pub(crate) mod citations;
pub(crate) mod usage;

use attache_core::FinishReason;

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
