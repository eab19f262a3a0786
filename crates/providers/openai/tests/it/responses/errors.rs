//! Errors of the Responses API: as responses, in the place of an answer, and in streams (openai.md 0.3, B.3, D).

#![cfg(test)]

use attache_core::ErrorKind;
use serde_json::{Value, json};

use crate::common::answers::{
    completed, done, events, failure, message, parts, refused, replay, reply, response, text,
};

fn failed(error: Value) -> Value {
    let mut response = response("failed", &[]);
    response["error"] = error;
    json!({"type": "response.failed", "response": response})
}

#[test]
fn d28_the_message_of_an_error_is_found_wherever_it_stands() {
    let of = |list: &[Value]| {
        let error = failure(list);
        (error.message().to_owned(), error.code().map(str::to_owned))
    };
    let (flat, code) =
        (json!({"code": "server_error", "message": "no", "param": null}), Some("server_error".to_owned()));
    let mut named = flat.clone();
    named["type"] = json!("error");
    for event in [
        named,
        json!({"type": "error", "sequence_number": 3, "error": flat}),
        json!({"type": "error", "response": {"error": flat}}),
        json!({"error": flat}),
        json!({"type": "response.error", "error": flat}),
        failed(flat),
    ] {
        assert_eq!(of(std::slice::from_ref(&event)), ("no".to_owned(), code.clone()), "{event}");
    }
    // Without an envelope, as some imitations of the API send it.
    let vllm = json!({"object": "error", "message": "no", "type": "BadRequestError", "code": 400});
    assert_eq!(failure(&[vllm]).kind(), ErrorKind::InvalidRequest);
    for empty in [
        json!({"type": "error"}),
        json!({"type": "error", "message": ""}),
        failed(json!({})),
        failed(Value::Null),
    ] {
        assert!(!failure(std::slice::from_ref(&empty)).message().is_empty(), "{empty}");
    }
    assert_eq!(replay("event: error\ndata: gone\n\n").error.unwrap().message(), "gone");
    // Frames that alone are called an error, and errors that are none.
    assert_eq!(replay("event: error\ndata: {\"message\":\"no\"}\n\n").error.unwrap().message(), "no");
    let none = json!({"type": "response.in_progress", "error": null, "response": {"error": null}});
    assert_eq!(parts(&reply(&[none, done(0, &message("m", "Hi")), completed(&[])])), ["text Hi"]);
}

// openai.md B.3
#[test]
fn codes_of_failed_responses() {
    let kind = |code: &str| {
        let error = failure(&[failed(json!({"code": code, "message": "m"}))]);
        assert_eq!(error.code(), Some(code));
        (error.kind(), error.is_retryable())
    };
    assert_eq!(kind("server_error"), (ErrorKind::Overloaded, true));
    assert_eq!(kind("rate_limit_exceeded"), (ErrorKind::RateLimited, true));
    assert_eq!(kind("insufficient_quota"), (ErrorKind::QuotaExceeded, false));
    assert_eq!(kind("vector_store_timeout"), (ErrorKind::Timeout, true));
    assert_eq!(kind("context_length_exceeded"), (ErrorKind::ContextTooLong, false));
    assert_eq!(kind("data_residency_mismatch"), (ErrorKind::Permission, false));
    for code in [
        "invalid_prompt",
        "bio_policy",
        "cyber_policy",
        "misalignment_policy_violation",
        "image_content_policy_violation",
        "content_filter",
    ] {
        assert_eq!(kind(code), (ErrorKind::Refused, false), "{code}");
    }
    for code in [
        "invalid_image",
        "invalid_base64_image",
        "image_too_large",
        "empty_image_file",
        "failed_to_download_image",
        "unsupported_image_media_type",
    ] {
        assert_eq!(kind(code), (ErrorKind::InvalidRequest, false), "{code}");
    }
    for code in ["previous_response_not_found", "invalid_encrypted_content"] {
        assert_eq!(kind(code), (ErrorKind::InvalidHistory, false), "{code}");
    }
    assert_eq!(kind("a_new_one"), (ErrorKind::Api, false));
}

// openai.md C.9: the code is the same for many errors, the word of the router is not
#[test]
fn a_router_has_a_word_of_its_own_for_failed_responses() {
    let told = |code: &str, word: &str| {
        let mut event = failed(json!({"code": code, "message": "m"}));
        event["response"]["error_type"] = json!(word);
        let streamed = failure(std::slice::from_ref(&event));
        let whole = refused(200, &event["response"]);
        for error in [&streamed, &whole] {
            assert_eq!((error.code(), error.message()), (Some(code), "m"));
        }
        assert_eq!(streamed.kind(), whole.kind());
        (whole.kind(), whole.is_retryable())
    };
    for (code, word, kind, retryable) in [
        ("invalid_prompt", "context_length_exceeded", ErrorKind::ContextTooLong, false),
        ("invalid_prompt", "invalid_request", ErrorKind::InvalidRequest, false),
        ("invalid_prompt", "max_tokens_exceeded", ErrorKind::InvalidRequest, false),
        ("image_content_policy_violation", "content_policy_violation", ErrorKind::Refused, false),
        ("server_error", "authentication", ErrorKind::Authentication, false),
        ("server_error", "payment_required", ErrorKind::QuotaExceeded, false),
        ("server_error", "refusal", ErrorKind::Refused, false),
        ("server_error", "provider_overloaded", ErrorKind::Overloaded, true),
        ("server_error", "timeout", ErrorKind::Timeout, true),
        ("server_error", "unmapped", ErrorKind::Overloaded, true),
        ("rate_limit_exceeded", "rate_limit_exceeded", ErrorKind::RateLimited, true),
    ] {
        assert_eq!(told(code, word), (kind, retryable), "{code} {word}");
    }
}

#[test]
fn d29_an_overload_in_a_stream_may_be_tried_again_before_any_output() {
    let overload = failed(json!({"code": "server_error", "message": "The server had an error."}));
    let early = failure(std::slice::from_ref(&overload));
    assert!(early.is_retryable() && early.kind() == ErrorKind::Overloaded);
    let late = replay(&events(&[text(0, "m", "Hi"), overload]));
    assert_eq!(parts(&late.completion), ["text Hi"], "what had come is there");
    assert!(!late.error.unwrap().is_retryable());
}

#[test]
fn failed_and_cancelled_answers_keep_what_they_have() {
    for (status, kind) in [("failed", ErrorKind::Api), ("cancelled", ErrorKind::Cancelled)] {
        let whole = response(status, &[message("m", "Hi")]);
        let last = json!({"type": format!("response.{status}"), "response": whole});
        // The kind of the event does not say it everywhere.
        let other = json!({"type": "response.completed", "response": whole});
        for body in [whole.to_string(), events(&[last]), events(&[other])] {
            let replay = replay(&body);
            assert_eq!(
                (replay.error.unwrap().kind(), parts(&replay.completion)),
                (kind, vec!["text Hi".to_owned()])
            );
        }
    }
}

// openai.md 0.4 5
#[test]
fn errors_under_status_200() {
    for body in [
        json!({"error": {"message": "no", "code": "server_error"}}),
        json!({"error": "no"}),
        json!({"message": "no"}),
        json!({"detail": "no"}),
        json!({"status": null, "output": [], "error": {"message": "no"}}),
        json!({"status": "failed", "output": [], "error": {"message": "no"}}),
    ] {
        assert_eq!(refused(200, &body).message(), "no", "{body}");
    }
    let mut fine = response("completed", &[message("m", "Hi")]);
    for none in [json!(null), json!(""), json!({})] {
        fine["error"] = none;
        assert!(replay(&fine.to_string()).error.is_none());
    }
}

// openai.md B.7: what OpenAI says of a history that breaks its rules
#[test]
fn d22_to_d24_histories_that_the_api_refuses() {
    for text in [
        "No tool output found for function call call_1.",
        "No tool call found for function call output with call_id call_1.",
        "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
        "Item 'msg_1' of type 'message' was provided without its required 'reasoning' item: 'rs_1'.",
        "Duplicate item found with id rs_1. Remove duplicate items from your input and try again.",
        "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.",
    ] {
        let body = json!({"error": {"message": text, "type": "invalid_request_error", "param": "input", "code": null}});
        for status in [400, 404] {
            let error = refused(status, &body);
            assert_eq!((error.kind(), error.status()), (ErrorKind::InvalidHistory, Some(status)), "{text}");
        }
    }
    let body = json!({"error": {"message": "The requested model 'm' does not exist.", "type": "invalid_request_error",
        "param": "model", "code": "model_not_found"}});
    assert_eq!(refused(400, &body).kind(), ErrorKind::NotFound);
}
