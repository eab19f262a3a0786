//! Words and members of servers that stand in front of other APIs (openai.md C.15, C.18).

#![cfg(test)]

use attache_core::{Completion, ErrorKind, FinishReason};
use serde_json::json;

use crate::common::{delta, failure, reply, sse, whole};

/// The completion of an answer with this word and text, whole and streamed, which are the same.
fn ended(word: &str, text: &str) -> Completion {
    let said = json!({"role": "assistant", "content": text});
    let whole = reply(&whole(said.clone(), word));
    let streamed = reply(&sse(&[delta(said, None), delta(json!({}), Some(word))]));
    assert_eq!(
        (&whole.finish_reason, whole.message.text()),
        (&streamed.finish_reason, streamed.message.text())
    );
    assert_eq!(whole.raw_finish_reason.as_deref(), Some(word));
    whole
}

/// Bodies of answers that have this word and nothing else.
fn bare(word: &str) -> [String; 3] {
    let choice = json!({"index": 0, "finish_reason": word});
    let chunk = json!({"id": "c1", "choices": [choice]});
    [chunk.to_string(), sse(&[chunk]), sse(&[delta(json!({}), Some(word))])]
}

// openai.md C.15, C.18
#[test]
fn words_for_the_end_that_have_more_to_say() {
    for (word, reason) in [
        ("content_filter: PROHIBITED_CONTENT", FinishReason::ContentFilter),
        ("content_filter:SAFETY", FinishReason::ContentFilter),
        ("function_call_filter: MALFORMED_FUNCTION_CALL", FinishReason::Error),
        ("function_call_filter: UNEXPECTED_TOOL_CALL", FinishReason::Error),
        ("abort", FinishReason::Error),
        ("repetition", FinishReason::Length),
        ("STOP", FinishReason::Stop),
        ("MAX_TOKENS", FinishReason::Length),
        ("SAFETY", FinishReason::ContentFilter),
        ("RECITATION", FinishReason::ContentFilter),
        ("PROHIBITED_CONTENT", FinishReason::ContentFilter),
        ("MALFORMED_FUNCTION_CALL", FinishReason::Error),
        ("OTHER", FinishReason::Error),
        ("stop: eos", FinishReason::Stop),
        ("Stop", FinishReason::Stop),
        ("new_word: x", FinishReason::Other("new_word: x".to_owned())),
    ] {
        let completion = ended(word, "half");
        assert_eq!(
            (completion.finish_reason, completion.message.text()),
            (reason, "half".to_owned()),
            "{word}"
        );
    }
    for word in ["content_filter: PROHIBITED_CONTENT", "SAFETY"] {
        for body in bare(word) {
            let completion = reply(&body);
            assert_eq!(completion.finish_reason, FinishReason::ContentFilter, "{body}");
            assert!(completion.message.parts.is_empty(), "{body}");
        }
    }
    for word in ["function_call_filter: MALFORMED_FUNCTION_CALL", "MALFORMED_FUNCTION_CALL"] {
        for body in bare(word) {
            let error = failure(&body);
            assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Malformed, true), "{body}");
            assert_eq!(error.code(), Some(word));
        }
    }
    for body in bare("abort") {
        assert_eq!(failure(&body).kind(), ErrorKind::Overloaded, "{body}");
    }
}
