use std::time::Duration;

use http::HeaderValue;

use super::*;

fn response(status: u16, headers: &[(&'static str, &'static str)], body: &str) -> ErrorResponse {
    let headers =
        headers.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)));
    ErrorResponse::new(StatusCode::from_u16(status).unwrap(), headers.collect(), body.as_bytes())
}

// P25: every class of openai.md 0.3, anthropic.md 11 and runtime.md 17, with the bodies that servers send.
#[test]
fn statuses_codes_and_messages_decide_kind_and_retry() {
    use ErrorKind as K;
    let openai = |kind: &str, code: &str| {
        format!(r#"{{"error":{{"message":"m","type":"{kind}","param":null,"code":"{code}"}}}}"#)
    };
    let anthropic = |kind: &str, message: &str| {
        format!(
            r#"{{"type":"error","error":{{"type":"{kind}","message":"{message}"}},"request_id":"req_1"}}"#
        )
    };
    let plain =
        r#"{"error":{"message":"m","type":"invalid_request_error","param":null,"code":null}}"#.to_owned();
    let rows: Vec<(u16, String, K, bool)> = vec![
        (400, plain.clone(), K::InvalidRequest, false),
        (400, openai("invalid_request_error", "context_length_exceeded"), K::ContextTooLong, false),
        (400, openai("invalid_request_error", "content_filter"), K::Refused, false),
        (400, openai("invalid_request_error", "unsupported_parameter"), K::Unsupported, false),
        (400, openai("invalid_request_error", "model_not_found"), K::NotFound, false),
        (
            400,
            anthropic("invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"),
            K::ContextTooLong,
            false,
        ),
        (401, openai("invalid_request_error", "invalid_api_key"), K::Authentication, false),
        (401, anthropic("authentication_error", "x"), K::Authentication, false),
        (402, String::new(), K::QuotaExceeded, false),
        (403, anthropic("permission_error", "x"), K::Permission, false),
        (404, plain, K::NotFound, false),
        (405, String::new(), K::InvalidRequest, false),
        (408, String::new(), K::Timeout, true),
        (409, anthropic("conflict_error", "x"), K::Overloaded, true),
        (413, openai("tokens", "rate_limit_exceeded"), K::InvalidRequest, false),
        (413, anthropic("request_too_large", "x"), K::InvalidRequest, false),
        (422, String::new(), K::InvalidRequest, false),
        (425, String::new(), K::Overloaded, true),
        (429, openai("tokens", "rate_limit_exceeded"), K::RateLimited, true),
        (429, openai("insufficient_quota", "insufficient_quota"), K::QuotaExceeded, false),
        (429, anthropic("rate_limit_error", "x"), K::RateLimited, true),
        (429, String::new(), K::RateLimited, true),
        (498, String::new(), K::Overloaded, true),
        (499, String::new(), K::Api, false),
        (500, openai("server_error", "x"), K::Overloaded, true),
        (500, anthropic("api_error", "x"), K::Overloaded, true),
        (501, String::new(), K::Unsupported, false),
        (502, String::new(), K::Overloaded, true),
        (503, String::new(), K::Overloaded, true),
        (504, anthropic("timeout_error", "x"), K::Timeout, true),
        (520, String::new(), K::Overloaded, true),
        (529, anthropic("overloaded_error", "Overloaded"), K::Overloaded, true),
        (302, String::new(), K::Configuration, false),
    ];
    for (status, body, kind, retry) in rows {
        let error = response(status, &[], &body).to_error();
        assert_eq!((error.kind(), error.is_retryable()), (kind, retry), "{status} {body}");
        assert_eq!(error.status(), Some(status));
    }
}

// anthropic.md 11: waiting will not help
#[test]
fn details_tell_a_spend_limit_from_a_rate_limit() {
    let body = r#"{"type":"error","error":{"type":"rate_limit_error","message":"m",
        "details":{"error_code":"enforced_spend_limit_reached"}}}"#;
    assert_eq!(response(429, &[], body).to_error().kind(), ErrorKind::QuotaExceeded);
}

// openai.md 0.3: the order in which a message is looked for
#[test]
fn messages_of_every_shape() {
    let message = |body: &str| response(400, &[], body).to_error().message().to_owned();
    for body in [
        r#"{"error":{"message":"it is wrong."},"message":"not this"}"#,
        r#"{"error":"it is wrong","message":"not this"}"#,
        r#"{"error":null,"message":"it is wrong","detail":"not this"}"#,
        r#"{"message":{"message":"it is wrong"}}"#,
        r#"{"object":"error","message":"it is wrong","code":40301}"#,
        r#"{"detail":"it is wrong"}"#,
        r#"{"base_resp":{"status_code":2013,"status_msg":"it is wrong"}}"#,
        r#"{"type":"response.failed","response":{"error":{"code":"x","message":"it is wrong"}}}"#,
        r#"[{"error":{"message":"it is wrong"}}]"#,
        "it is\n  wrong.",
    ] {
        assert_eq!(message(body), "it is wrong", "{body}");
    }
    let detail = r#"{"detail":[{"loc":["body","messages",0],"msg":"field required"},{"msg":"y"}]}"#;
    assert_eq!(message(detail), "body.messages.0: field required; y");
    assert_eq!(message(""), "the server answered with an error and no message");
    assert_eq!(message(r#"{"unknown":1}"#), r#"{"unknown":1}"#);
    assert_eq!(message(&"word ".repeat(1000)).chars().count(), MESSAGE_LIMIT + 1);
}

#[test]
fn web_pages_are_told_by_their_title() {
    let page = "<html><head><TITLE>\n502 Bad Gateway</title></head><body><h1>canary</h1></body></html>";
    let error = response(502, &[("content-type", "text/html")], page).to_error();
    assert_eq!(error.to_string(), "the server answered with a web page: 502 Bad Gateway (HTTP 502)");
    assert_eq!(response(502, &[], "<p>").to_error().message(), "the server answered with a web page");
}

#[test]
fn headers_and_fields_are_taken_over() {
    let headers = [("x-request-id", "req_h"), ("retry-after", "3"), ("x-should-retry", "false")];
    let body = r#"{"error":{"message":"m","type":"t","param":"temperature","code":7},"request_id":"req_b"}"#;
    let error = response(429, &headers, body).to_error();
    assert_eq!(error.request_id(), Some("req_h"));
    assert_eq!(error.retry_after(), Some(Duration::from_secs(3)));
    assert_eq!((error.code(), error.param()), (Some("7"), Some("temperature")));
    assert!(!error.is_retryable(), "the server's word counts first");
    assert_eq!(error.response_body(), Some(body));
    assert_eq!(response(400, &[], body).to_error().request_id(), Some("req_b"));
    assert!(response(400, &[("x-should-retry", "true")], "").to_error().is_retryable());
}

// openai.md D 38, D 39
#[test]
fn errors_inside_a_reply() {
    let parse = |json: &str| ErrorBody::parse(json.as_bytes());
    for none in [r#"{"error":null}"#, r#"{"error":""}"#, r#"{"choices":[]}"#, "[]", "7", "{"] {
        assert_eq!(parse(none), None, "{none}");
    }
    let kind = |json: &str| parse(json).unwrap().to_error().kind();
    assert_eq!(kind(r#"{"error":{"code":400,"message":"m"}}"#), ErrorKind::InvalidRequest);
    assert_eq!(kind(r#"{"error":{"code":"503","message":"m"}}"#), ErrorKind::Overloaded);
    assert_eq!(
        kind(r#"{"type":"error","error":{"type":"overloaded_error","message":"m"}}"#),
        ErrorKind::Overloaded
    );
    assert_eq!(
        kind(r#"{"error":{"type":"invalid_request_error","message":"m"}}"#),
        ErrorKind::InvalidRequest
    );
    assert_eq!(kind(r#"{"error":{"code":1213,"message":"m"}}"#), ErrorKind::Api);
}

// Invariant 11.
#[test]
fn bodies_are_bounded_and_scrubbed() {
    let body =
        format!(r#"{{"error":{{"message":"bad key sk-0123456789abcdefXYZ"}}}}{}"#, " ".repeat(100_000));
    let error = response(401, &[], &body).to_error();
    let kept = error.response_body().unwrap();
    assert!(kept.len() <= BODY_LIMIT && !kept.contains("sk-0123"), "{}", kept.len());
    assert_eq!(error.message(), "bad key ***");
    assert!(!format!("{:?}", response(401, &[], "canary")).contains("canary"));
}

// anthropic.md 11: only words tell of a full window, and not each word of one does
#[test]
fn full_windows_are_told_from_other_errors() {
    let kind = |message: &str| {
        let body = serde_json::json!({"error": {"message": message, "type": "invalid_request_error"}});
        response(400, &[], &body.to_string()).to_error().kind()
    };
    for full in [
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
        "prompt is too long: 205000 tokens > 200000 maximum",
        "input length and `max_tokens` exceed context limit: 199000 + 8000 > 200000",
        "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens.",
        "The prompt does not fit the context window",
        // Of xAI, Moonshot, LM Studio, Ollama, vLLM, llama.cpp, Together, Qwen.
        "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
        "Invalid request: Your request exceeded model token limit: 262144 (requested: 291351)",
        "The number of tokens to keep from the initial prompt is greater than the context length.",
        "Trying to keep the first 10136 tokens when context the overflows. However, the model is loaded with context length of only 7866 tokens, which is not enough.",
        "Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)",
        "Prompt exceeds max length",
        "prompt too long; exceeded max context length by 100918 tokens",
        "You passed 4097 input tokens. However, the model's context length is only 4096 tokens.",
        "the request exceeds the available context size, try increasing it",
        "The input (516368 tokens) is longer than the model's context length (131072 tokens).",
        "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 258048]",
    ] {
        assert_eq!(kind(full), ErrorKind::ContextTooLong, "{full}");
    }
    for other in [
        "max_tokens is too large: 100000. This model supports at most 16384 completion tokens",
        "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens",
        "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]",
        "Range of max_tokens should be [1, 8192]",
        // vLLM
        "'max_tokens' or 'max_completion_tokens' is too large: 32000. This model's maximum context length is 16384 tokens and your request has 100 input tokens (32000 > 16384 - 100). None",
        "Unsupported value: tool description must not mention context window sizes",
        "context window caching is not available in this region",
    ] {
        assert_eq!(kind(other), ErrorKind::InvalidRequest, "{other}");
    }
}

// openai.md 0.3: a limit that passes is told by code or status, whatever its words name
#[test]
fn a_limit_may_be_told_in_the_words_of_a_full_window() {
    let words = "Too many input tokens this minute";
    let body = |code: &str| serde_json::json!({"error": {"message": words, "code": code}}).to_string();
    let kind = |status: u16, code: &str| response(status, &[], &body(code)).to_error().kind();
    assert_eq!(kind(400, ""), ErrorKind::ContextTooLong);
    assert_eq!(kind(429, ""), ErrorKind::RateLimited);
    assert_eq!(kind(400, "rate_limit_exceeded"), ErrorKind::RateLimited);
    assert_eq!(kind(400, "insufficient_quota"), ErrorKind::QuotaExceeded);
    assert_eq!(kind(429, "context_length_exceeded"), ErrorKind::ContextTooLong, "its code says it");
    let inside = |code: &str| ErrorBody::parse(body(code).as_bytes()).unwrap().to_error().kind();
    assert_eq!((inside("429"), inside("400")), (ErrorKind::RateLimited, ErrorKind::ContextTooLong));
}

#[test]
fn encoded_bodies_are_no_text() {
    let error = response(429, &[("content-encoding", "gzip")], "\u{1f}\u{8b}garbage").to_error();
    assert_eq!((error.kind(), error.response_body()), (ErrorKind::RateLimited, None));
    assert!(error.message().contains("gzip") && !error.message().contains("garbage"), "{error}");
}
