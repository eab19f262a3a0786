//! The end of a reply.

use attache_core::FinishReason;

/// The meaning of a `finishReason`. Unknown ones are kept in the provider's word.
pub(super) fn finish_reason(word: &str) -> FinishReason {
    match word {
        "STOP" => FinishReason::Stop,
        // The reply hit the limit of one request, and is not complete.
        "MAX_TOKENS" | "CONTINUATION" => FinishReason::Length,
        "SAFETY"
        | "RECITATION"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION"
        | "MODEL_ARMOR"
        | "ESCALATION"
        | "LANGUAGE" => FinishReason::ContentFilter,
        "OTHER" | "TOO_MANY_TOOL_CALLS" | "IMAGE_OTHER" | "NO_IMAGE" | "FINISH_REASON_UNSPECIFIED" => {
            FinishReason::Error
        }
        other => FinishReason::Other(other.to_owned()),
    }
}
