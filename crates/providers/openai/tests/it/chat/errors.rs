//! Errors: as responses, in the place of an answer, and in streams (openai.md 0.3, C and D).

#![cfg(test)]

use attache_core::ErrorKind;
use attache_openai::{ChatCodec, OllamaCodec};
use attache_transport::Codec;
use serde_json::{Value, json};

use crate::common::{delta, failure, refused, reply, sse};

#[test]
fn d38_an_error_object_under_status_200() {
    for (body, message) in [
        (json!({"error": {"message": "no", "code": 502}}).to_string(), "no"),
        (json!({"error": "no"}).to_string(), "no"),
        (json!({"code": "x", "error": "no"}).to_string(), "no"),
        (
            json!({"object": "error", "message": "no", "type": "BadRequestError", "code": 400}).to_string(),
            "no",
        ),
        (json!({"id": "c", "choices": [{"error": {"message": "no", "code": 502}}]}).to_string(), "no"),
        (sse(&[json!({"error": {"message": "no"}})]), "no"),
        (
            sse(&[delta(json!({"content": "a"}), None), json!({"error": {"message": "no"}, "choices": []})]),
            "no",
        ),
        ("event: error\ndata: {\"message\":\"no\"}\n\n".to_owned(), "no"),
        ("event: error\ndata: no\n\n".to_owned(), "no"),
        (sse(&[json!({"detail": "no"})]), "no"),
        (sse(&[json!({"x_groq": {"error": "no"}, "choices": []})]), "no"),
    ] {
        assert_eq!(failure(&body).message(), message, "{body}");
    }
    for nothing in [json!(null), json!("")] {
        let reply =
            reply(&json!({"error": nothing, "choices": [{"message": {"content": "Hi"}}]}).to_string());
        assert_eq!(reply.message.text(), "Hi");
    }
}

#[test]
fn d39_a_code_in_a_stream_reads_like_a_status() {
    let kind = |code: Value| {
        let error = failure(&sse(&[
            json!({"choices": [{"delta": {"content": ""}, "finish_reason": "error"}], "error": {"message": "m", "code": code}}),
        ]));
        (error.kind(), error.is_retryable())
    };
    assert_eq!(kind(json!(400)), (ErrorKind::InvalidRequest, false));
    assert_eq!(kind(json!("401")), (ErrorKind::Authentication, false));
    assert_eq!(kind(json!(402)), (ErrorKind::QuotaExceeded, false));
    assert_eq!(kind(json!(429)), (ErrorKind::RateLimited, true));
    assert_eq!(kind(json!(502)), (ErrorKind::Overloaded, true));
}

#[test]
fn d50_a_business_code_under_status_200() {
    let kind = |code: u64| {
        failure(&json!({"choices": null, "base_resp": {"status_code": code, "status_msg": "m"}}).to_string())
            .kind()
    };
    assert_eq!(
        [1002, 1004, 1008, 1013, 1026, 2013].map(kind),
        [
            ErrorKind::RateLimited,
            ErrorKind::Authentication,
            ErrorKind::QuotaExceeded,
            ErrorKind::Overloaded,
            ErrorKind::Refused,
            ErrorKind::InvalidRequest
        ]
    );
    let full = json!({"base_resp": {"status_code": 2013, "status_msg": "invalid params, context window exceeds limit"}});
    assert_eq!(
        failure(&full.to_string()).kind(),
        ErrorKind::ContextTooLong,
        "the words say more than the code"
    );
    assert_eq!(refused(400, &full).kind(), ErrorKind::ContextTooLong);
    let fine = json!({"choices": [{"message": {"content": "Hi"}}], "base_resp": {"status_code": 0, "status_msg": ""}});
    assert_eq!(reply(&fine.to_string()).message.text(), "Hi");
}

#[test]
fn d55_a_call_that_the_server_refused_may_be_tried_again() {
    let body = json!({"error": {"message": "m", "type": "invalid_request_error", "code": "tool_use_failed", "failed_generation": "{}"}});
    let whole = refused(400, &body);
    let streamed = failure(&format!("event: error\ndata: {body}\n\n"));
    for error in [whole, streamed] {
        assert_eq!(
            (error.kind(), error.is_retryable(), error.code()),
            (ErrorKind::InvalidRequest, true, Some("tool_use_failed"))
        );
        assert!(
            error.response_body().unwrap().contains("failed_generation"),
            "the agent can show it to the model"
        );
    }
}

#[test]
fn an_error_in_the_place_of_a_list_of_models_is_told() {
    let codecs: [Box<dyn Codec>; 2] =
        [Box::new(ChatCodec::from("gpt-4o")), Box::new(OllamaCodec::from("qwen3"))];
    for codec in codecs {
        let listed = |body: &str| codec.models().unwrap().listed(body.as_bytes()).unwrap_err();
        let error = listed(r#"{"error":{"message":"no such key","code":"invalid_api_key"}}"#);
        assert_eq!((error.kind(), error.message()), (ErrorKind::Authentication, "no such key"));
        assert_eq!(listed("7").kind(), ErrorKind::Malformed);
    }
}

#[test]
fn a_body_that_is_no_answer_is_malformed() {
    for body in ["{\"status\":\"ok\"}", "[]", "{\"choices\":", "data: {\"choices\"\n\n"] {
        assert_eq!(failure(body).kind(), ErrorKind::Malformed, "{body}");
    }
    let call =
        |at: u32| json!({"index": at, "id": format!("c{at}"), "function": {"name": "f", "arguments": "{}"}});
    let calls: Vec<_> = (0..1_002).map(call).collect();
    let endless = sse(&[delta(json!({"tool_calls": calls}), Some("stop"))]);
    assert_eq!(failure(&endless).kind(), ErrorKind::Malformed);
    // Members beside the text are bounded, and spoil no answer.
    for member in ["annotations", "images", "executed_tools", "reasoning_details", "thinking_blocks"] {
        let with = |count: usize| {
            let items: Vec<_> = (0..count).map(|at| json!({"index": at, "text": "a"})).collect();
            let done = reply(&sse(&[delta(json!({"content": "Hi", member: items}), Some("stop"))]));
            let text = done.message.text();
            let json = serde_json::to_string(&attache_core::Message::Assistant(done.message)).unwrap();
            (text, json.matches("index").count())
        };
        assert_eq!(with(10_001), ("Hi".to_owned(), 10_000), "{member}");
        assert_eq!(with(9_999), ("Hi".to_owned(), 9_999), "{member}");
    }
    let many = json!({"choices": (0..200).map(|at| json!({"index": at, "message": {"content": "x"}})).collect::<Vec<_>>()});
    assert_eq!(failure(&many.to_string()).kind(), ErrorKind::Malformed);
}

// openai.md 0.3
#[test]
fn error_responses() {
    let error = |code: &str| json!({"error": {"message": "m", "type": "t", "param": "p", "code": code}});
    for (status, code, kind, retryable) in [
        (400, "context_length_exceeded", ErrorKind::ContextTooLong, false),
        (400, "content_filter", ErrorKind::Refused, false),
        (400, "invalid_value", ErrorKind::InvalidRequest, false),
        (401, "invalid_api_key", ErrorKind::Authentication, false),
        (402, "x", ErrorKind::QuotaExceeded, false),
        (403, "unsupported_country_region_territory", ErrorKind::Permission, false),
        (404, "model_not_found", ErrorKind::NotFound, false),
        (429, "rate_limit_exceeded", ErrorKind::RateLimited, true),
        (429, "insufficient_quota", ErrorKind::QuotaExceeded, false),
        (500, "server_error", ErrorKind::Overloaded, true),
        (503, "x", ErrorKind::Overloaded, true),
        (529, "x", ErrorKind::Overloaded, true),
    ] {
        let error = refused(status, &error(code));
        assert_eq!(
            (error.kind(), error.is_retryable(), error.status()),
            (kind, retryable, Some(status)),
            "{status} {code}"
        );
        assert_eq!((error.message(), error.code(), error.param()), ("m", Some(code), Some("p")));
    }
}

// openai.md C.2, C.6, C.8, C.16, D 1, D 15
#[test]
fn errors_in_the_words_of_some_servers() {
    let numbered = |code: &str| refused(400, &json!({"error": {"code": code, "message": "m"}})).kind();
    assert_eq!(
        ["1113", "1211", "1214", "1261", "1301", "1302"].map(numbered),
        [
            ErrorKind::QuotaExceeded,
            ErrorKind::NotFound,
            ErrorKind::InvalidRequest,
            ErrorKind::ContextTooLong,
            ErrorKind::Refused,
            ErrorKind::RateLimited
        ]
    );
    // The numbers of one server are not those of another, and not what the status says.
    let mistral = json!({"object": "error", "message": "Service unavailable.", "type": "internal_server_error", "param": null, "code": "1000"});
    let error = refused(500, &mistral);
    assert_eq!(
        (error.kind(), error.is_retryable(), error.code()),
        (ErrorKind::Overloaded, true, Some("1000"))
    );
    let wrapped = json!({"error": {"message": "m", "type": "invalid_request_error", "code": "1000"}});
    assert_eq!(refused(400, &wrapped).kind(), ErrorKind::InvalidRequest);
    let server = refused(503, &json!({"error": {"code": "1001", "message": "m"}}));
    assert_eq!((server.kind(), server.is_retryable()), (ErrorKind::Overloaded, true));
    let flat = refused(400, &json!({"code": "invalid-argument", "error": "Incorrect API key provided"}));
    assert_eq!(flat.kind(), ErrorKind::Authentication);
    let message = "This model's maximum prompt length is 131072 but the request contains 537812 tokens.";
    let full = refused(400, &json!({"code": "invalid-argument", "error": message}));
    assert_eq!(full.kind(), ErrorKind::ContextTooLong);
    let template = refused(
        500,
        &json!({"error": {"code": 500, "type": "server_error", "message": "Jinja Exception: roles must alternate"}}),
    );
    assert_eq!((template.kind(), template.is_retryable()), (ErrorKind::InvalidRequest, false));
    for message in [
        "The `reasoning_content` in the thinking mode must be passed back to the API.",
        "Not the same number of function calls and responses",
        "the message at position 3 with role 'assistant' must not be empty",
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.",
    ] {
        assert_eq!(
            refused(400, &json!({"error": {"message": message}})).kind(),
            ErrorKind::InvalidHistory,
            "{message}"
        );
    }
    let listed = refused(
        422,
        &json!({"detail": [{"loc": ["body", "stream_options"], "msg": "extra fields not permitted", "type": "x"}]}),
    );
    assert_eq!(listed.kind(), ErrorKind::InvalidRequest);
    assert!(listed.message().contains("extra fields"), "{listed}");
}

// openai.md C.1, C.4, C.7, C.9, C.10, C.11, C.12, C.13, C.15, C.16, C.17
#[test]
fn error_bodies_of_servers() {
    for (status, body, kind, retryable) in [
        (
            402,
            json!({"error": {"message": "Insufficient Balance", "type": "unknown_error", "code": "invalid_request_error"}}),
            ErrorKind::QuotaExceeded,
            false,
        ),
        (
            429,
            json!({"error": {"message": "m", "type": "exceeded_current_quota_error"}}),
            ErrorKind::QuotaExceeded,
            false,
        ),
        (
            429,
            json!({"error": {"message": "m", "type": "engine_overloaded_error"}}),
            ErrorKind::Overloaded,
            true,
        ),
        (
            413,
            json!({"error": {"message": "m", "type": "tokens", "code": "rate_limit_exceeded"}}),
            ErrorKind::InvalidRequest,
            false,
        ),
        (498, json!({"error": {"message": "m"}}), ErrorKind::Overloaded, true),
        (
            403,
            json!({"error": {"message": "m", "code": 403, "metadata": {"reasons": []}}}),
            ErrorKind::Permission,
            false,
        ),
        (502, json!({"error": {"message": "m", "code": 502}}), ErrorKind::Overloaded, true),
        (
            422,
            json!({"error": {"message": "m", "type": "invalid_request_error", "param": null, "code": null}}),
            ErrorKind::InvalidRequest,
            false,
        ),
        (
            400,
            json!({"error": {"code": "content_filter", "message": "m", "status": 400, "innererror": {"code": "ResponsibleAIPolicyViolation"}}}),
            ErrorKind::Refused,
            false,
        ),
        (404, json!({"error": {"code": "DeploymentNotFound", "message": "m"}}), ErrorKind::NotFound, false),
        (
            413,
            json!({"error": {"code": "tokens_limit_reached", "message": "m", "details": "m"}}),
            ErrorKind::ContextTooLong,
            false,
        ),
        (
            404,
            json!({"error": {"message": "model 'm' not found", "type": "api_error", "param": null, "code": null}}),
            ErrorKind::NotFound,
            false,
        ),
        (
            400,
            json!({"object": "error", "message": "m", "type": "BadRequestError", "code": 400}),
            ErrorKind::InvalidRequest,
            false,
        ),
        (
            503,
            json!({"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}),
            ErrorKind::Overloaded,
            true,
        ),
        (
            400,
            json!({"error": {"code": 400, "message": "m", "type": "exceed_context_size_error", "n_prompt_tokens": 9, "n_ctx": 8}}),
            ErrorKind::ContextTooLong,
            false,
        ),
        (
            400,
            json!({"error": "'response_format.type' must be 'json_schema' or 'text'"}),
            ErrorKind::InvalidRequest,
            false,
        ),
    ] {
        let error = refused(status, &body);
        assert_eq!((error.kind(), error.is_retryable()), (kind, retryable), "{status} {body}");
    }
}

// openai.md C.9
#[test]
fn a_router_has_a_word_of_its_own_for_its_errors() {
    let full = "This model's maximum context length is 8192 tokens";
    for (code, word, said, kind) in [
        (400, "context_length_exceeded", "Provider returned error", ErrorKind::ContextTooLong),
        (400, "invalid_prompt", "m", ErrorKind::InvalidRequest),
        (400, "invalid_request", full, ErrorKind::ContextTooLong),
        (400, "max_tokens_exceeded", full, ErrorKind::InvalidRequest),
        (400, "image_too_large", "m", ErrorKind::InvalidRequest),
        (400, "unmapped", "m", ErrorKind::InvalidRequest),
        (402, "payment_required", "m", ErrorKind::QuotaExceeded),
        (403, "content_policy_violation", "m", ErrorKind::Refused),
        (403, "refusal", "m", ErrorKind::Refused),
        (403, "permission_denied", "m", ErrorKind::Permission),
        (500, "authentication", "m", ErrorKind::Authentication),
        (500, "server", "m", ErrorKind::Overloaded),
        (502, "provider_unavailable", "m", ErrorKind::Overloaded),
        (529, "provider_overloaded", "m", ErrorKind::Overloaded),
    ] {
        let body = json!({"error": {"message": said, "code": code, "metadata": {"error_type": word}}});
        let streamed = failure(&sse(&[delta(json!({"content": ""}), None), body.clone()]));
        for told in [refused(code, &body), streamed] {
            let is_retryable = kind == ErrorKind::Overloaded;
            assert_eq!((told.kind(), told.is_retryable()), (kind, is_retryable), "{body}");
            assert_eq!((told.message(), told.code()), (said, Some(code.to_string().as_str())));
        }
    }
}

// openai.md C.9
#[test]
fn errors_of_the_server_behind_a_router() {
    let error = |code: u16, raw: Value| {
        let metadata = json!({"raw": raw, "provider_name": "Nvidia", "is_byok": false});
        json!({"error": {"message": "Provider returned error", "code": code, "metadata": metadata}})
    };
    let inner = |message: &str, code: Value| json!({"error": {"message": message, "type": "invalid_request_error", "param": "input", "code": code}});
    let full = "This model's maximum context length is 262144 tokens. However, you requested 300000 tokens.";
    let answer = "max_tokens is too large: 300000. This model's maximum context length is 262144 tokens";
    let busy = "z-ai/glm-5.3 is temporarily rate-limited upstream";
    for (code, raw, kind, said) in [
        (400, json!(inner(full, json!(400)).to_string()), ErrorKind::ContextTooLong, full),
        (400, inner(full, Value::Null), ErrorKind::ContextTooLong, full),
        (400, json!([inner(full, Value::Null)]), ErrorKind::ContextTooLong, full),
        (400, json!(format!("{full}\n")), ErrorKind::ContextTooLong, full),
        (400, inner("no", json!("context_length_exceeded")), ErrorKind::ContextTooLong, "no"),
        (400, inner(answer, Value::Null), ErrorKind::InvalidRequest, answer),
        (400, json!(inner("no JSON", json!("7")).to_string()), ErrorKind::InvalidRequest, "no JSON"),
        (403, inner("used up", json!("insufficient_quota")), ErrorKind::QuotaExceeded, "used up"),
        (429, json!(busy), ErrorKind::RateLimited, busy),
        (429, json!(format!("{busy}: {full}")), ErrorKind::RateLimited, busy),
        (502, json!("<html>"), ErrorKind::Overloaded, "<html>"),
        (502, Value::Null, ErrorKind::Overloaded, ""),
        (502, json!({"error": {"code": 7}}), ErrorKind::Overloaded, ""),
    ] {
        let body = error(code, raw);
        let streamed = failure(&sse(&[delta(json!({"content": "a"}), None), body.clone()]));
        for told in [refused(code, &body), streamed] {
            assert_eq!((told.kind(), told.code()), (kind, Some(code.to_string().as_str())), "{body}");
            let said = said.trim_end_matches('.');
            let separator = if said.is_empty() { "" } else { ": " };
            let start = format!("Provider returned error{separator}{said}");
            assert!(told.message().starts_with(&start), "{} for {body}", told.message());
        }
    }
    let nested = error(400, json!(error(400, json!(error(400, json!("deep"))))));
    assert!(refused(400, &nested).message().ends_with(": deep"));
    let long = refused(400, &error(400, json!("long ".repeat(100_000))));
    assert!(long.message().len() < 600, "{}", long.message().len());
}

// openai.md 0.3: more than may be sent in a minute
#[test]
fn requests_that_are_larger_than_the_limit_of_a_minute_are_too_long() {
    let message = "Request too large for gpt-4o in organization org on tokens per min (TPM): Limit 30000, Requested 41000. The input or output tokens must be reduced.";
    let error = refused(
        429,
        &json!({"error": {"message": message, "type": "tokens", "code": "rate_limit_exceeded"}}),
    );
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::ContextTooLong, false));
    let message = "Rate limit reached for gpt-4o in organization org on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000.";
    let error = refused(
        429,
        &json!({"error": {"message": message, "type": "tokens", "code": "rate_limit_exceeded"}}),
    );
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::RateLimited, true));
}

// openai.md C.16: llama.cpp until late in 2025; Google's endpoint breaks off as its own API does
#[test]
fn errors_outside_of_the_data_of_a_stream_are_read() {
    let said = format!("data: {}\n\n", delta(json!({"content": "a"}), None));
    let full = json!({"code": 400, "type": "invalid_request_error",
        "message": "the request exceeds the available context size. try increasing the context size"});
    let error = failure(&format!("{said}error: {full}\n\ndata: [DONE]\n\n"));
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::ContextTooLong, false));
    let first = failure(&format!("error: {full}\n\ndata: [DONE]\n\n"));
    assert_eq!(first.kind(), ErrorKind::ContextTooLong);
    let limited = json!([{"error": {"code": 429, "message": "no", "status": "RESOURCE_EXHAUSTED"}}]);
    for written in [format!("{limited:#}"), format!("{:#}", limited[0]), limited[0].to_string()] {
        let error = failure(&format!("{said}{written}\n"));
        assert_eq!((error.kind(), error.message()), (ErrorKind::RateLimited, "no"), "{written}");
    }
}
