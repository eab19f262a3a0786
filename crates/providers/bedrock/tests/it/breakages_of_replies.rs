//! Breakages that others reported, on the side of replies and errors: each row of bedrock.md (a) that concerns us.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::wildcard_imports,
    reason = "helpers of tests are not recognised as tests"
)]

use crate::common::*;
use attache_core::citation::{AnswerSpan, Citation, Source};
use attache_core::{AssistantPart, ErrorKind, FinishReason, StreamChunk};
use attache_transport::replay as replay_response;
use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::json;

/// Kind, code, whether to ask again.
fn failed(status: u16, kind: Option<&'static str>, body: &str) -> (ErrorKind, Option<String>, bool) {
    let error = error(status, kind, body);
    assert_eq!(error.status(), Some(status));
    (error.kind(), error.code().map(str::to_owned), error.is_retryable())
}

fn error(status: u16, kind: Option<&'static str>, body: &str) -> attache_core::ProviderError {
    let mut headers = HeaderMap::new();
    if let Some(kind) = kind {
        headers.insert("x-amzn-errortype", HeaderValue::from_static(kind));
    }
    headers.insert("x-amzn-requestid", HeaderValue::from_static("req-1"));
    let status = StatusCode::from_u16(status).unwrap();
    let replay = replay_response(&codec(), status, &headers, [body]);
    replay.error.unwrap()
}

// E04, bedrock.md (a) 10, 27
#[test]
fn blank_text_beside_calls_is_no_part() {
    let call = json!({"toolUse": {"toolUseId": "t", "name": "a", "input": {}}});
    for blank in ["", " ", "\n\n"] {
        let streamed = reply(
            &[
                delta(0, &json!({"text": blank})),
                stop(0),
                start(1, &json!({"toolUse": {"toolUseId": "t", "name": "a"}})),
                delta(1, &json!({"toolUse": {"input": ""}})),
                stop(1),
            ],
            "tool_use",
        );
        for body in [streamed, whole(&json!([{"text": blank}, call]), "tool_use")] {
            let done = completion(&body);
            assert!(matches!(done.message.parts.as_slice(), [AssistantPart::ToolCall(_)]), "{done:?}");
            assert_eq!(done.finish_reason, FinishReason::ToolCalls);
        }
    }
}

// E05–E10, bedrock.md 4 and (a) 11
#[test]
fn all_blocks_make_one_message() {
    let call = |id: &str| json!({"toolUse": {"toolUseId": id, "name": id, "input": {"n": 1}}});
    let blocks = json!([{"text": ""}, {"text": "x"}, call("a"), {"text": " \n"}, {"text": "y"}, call("b")]);
    let done = completion(&whole(&blocks, "tool_use"));
    let kinds: Vec<String> = done
        .message
        .parts
        .iter()
        .map(|part| match part {
            AssistantPart::Text(text) => text.text().to_owned(),
            AssistantPart::ToolCall(call) => format!("call {}", call.name),
            other => format!("{other:?}"),
        })
        .collect();
    assert_eq!(kinds, ["x", "call a", " \ny", "call b"]);
    assert_eq!(done.message.tool_calls().count(), 2);
    assert_eq!(done.usage.output_tokens, Some(5), "counted once, not per block");
}

// E11, E14, E15: what that means is the caller's policy.
#[test]
fn texts_alone_are_an_answer_and_nothing_is_nothing() {
    let done = completion(&whole(&json!([{"text": " "}, {"text": "first"}, {"text": "second"}]), "end_turn"));
    assert_eq!(done.message.text(), " firstsecond");
    for blocks in [json!([]), json!([{"text": ""}]), json!([{"text": "\n"}])] {
        let done = completion(&whole(&blocks, "end_turn"));
        assert!(done.message.parts.is_empty());
        assert_eq!(done.finish_reason, FinishReason::Stop);
    }
}

// bedrock.md 4: Llama and gpt-oss say end_turn with calls in the message.
#[test]
fn calls_decide_and_not_the_reason() {
    let body = reply(
        &[
            start(0, &json!({"toolUse": {"toolUseId": "t", "name": "a"}})),
            delta(0, &json!({"toolUse": {"input": "{}"}})),
        ],
        "end_turn",
    );
    let done = completion(&body);
    assert_eq!(
        (done.finish_reason, done.raw_finish_reason.as_deref()),
        (FinishReason::ToolCalls, Some("end_turn"))
    );
}

// bedrock.md (a) 14, 16: nested in messages, flat in streams; a signature without text counts.
#[test]
fn signatures_are_kept() {
    let streamed = reply(
        &[
            delta(0, &json!({"reasoningContent": {"signature": "s"}})),
            stop(0),
            delta(1, &json!({"text": "a"})),
        ],
        "end_turn",
    );
    let blocks =
        json!([{"reasoningContent": {"reasoningText": {"text": "", "signature": "s"}}}, {"text": "a"}]);
    for body in [streamed, whole(&blocks, "end_turn")] {
        let done = completion(&body);
        let AssistantPart::Reasoning(reasoning) = &done.message.parts[0] else { panic!("{done:?}") };
        assert_eq!((reasoning.text(), reasoning.replay().unwrap().json()), ("", r#"{"signature":"s"}"#));
        assert_eq!(reasoning.replay().unwrap().model(), MODEL);
    }
}

// bedrock.md 5, (a) 13: an empty text block, then reasoning without a signature, then text.
#[test]
fn reasoning_without_signature_has_nothing_to_go_back() {
    let body = reply(
        &[
            delta(0, &json!({"text": ""})),
            stop(0),
            delta(1, &json!({"reasoningContent": {"text": "Hm."}})),
            stop(1),
            delta(2, &json!({"text": "Hi"})),
        ],
        "end_turn",
    );
    let done = completion(&body);
    let [AssistantPart::Reasoning(reasoning), AssistantPart::Text(text)] = done.message.parts.as_slice()
    else {
        panic!("{done:?}")
    };
    assert_eq!((reasoning.text(), reasoning.replay(), text.text()), ("Hm.", None, "Hi"));
}

// bedrock.md (a) 20
#[test]
fn the_cost_comes_behind_the_end() {
    let chunks = decode(&reply(&[delta(0, &json!({"text": "a"}))], "end_turn")).unwrap();
    let [StreamChunk::Content(_), StreamChunk::Done(done)] = chunks.as_slice() else { panic!("{chunks:?}") };
    assert_eq!((done.usage.input_tokens, done.usage.output_tokens), (Some(9), Some(5)));
}

// bedrock.md (a) 21: several events in one piece, and one event that yields several chunks
#[test]
fn no_event_is_lost() {
    let both =
        json!({"text": "a", "toolUse": {"input": "{}"}, "reasoningContent": {"text": "t", "signature": "s"}});
    let body =
        reply(&[start(0, &json!({"toolUse": {"toolUseId": "t", "name": "f"}})), delta(0, &both)], "tool_use");
    let done = completion(&body);
    assert_eq!((done.message.text(), done.message.thinking()), ("a".to_owned(), "t".to_owned()));
    assert_eq!(done.message.tool_calls().next().unwrap().arguments.raw(), "{}");
}

// bedrock.md (a) 24
#[test]
fn inputs_that_are_no_objects() {
    for (input, expected) in [
        (json!({"a": 1}), Ok("{\"a\":1}")),
        (json!("{\"a\":1}"), Ok("{\"a\":1}")),
        (json!(""), Ok("{}")),
        (json!(null), Ok("{}")),
        (json!([1]), Err(())),
    ] {
        let block = json!([{"toolUse": {"toolUseId": "t", "name": "a", "input": input}}]);
        let done = completion(&whole(&block, "tool_use"));
        let arguments = &done.message.tool_calls().next().unwrap().arguments;
        assert_eq!(arguments.json().map_err(|_| ()), expected, "{input}");
        // Some stream the object itself, not a string of it.
        let streamed = reply(
            &[
                start(0, &json!({"toolUse": {"toolUseId": "t", "name": "a"}})),
                delta(0, &json!({"toolUse": {"input": input}})),
            ],
            "tool_use",
        );
        let done = completion(&streamed);
        let arguments = &done.message.tool_calls().next().unwrap().arguments;
        assert_eq!(arguments.json().map_err(|_| ()), expected, "{input}");
    }
    let missing = completion(&whole(&json!([{"toolUse": {"name": "a"}}]), "tool_use"));
    let call = missing.message.tool_calls().next().unwrap();
    assert_eq!((call.arguments.json(), &call.provider_id), (Ok("{}"), &None));
}

// bedrock.md (a) 27
#[test]
fn cited_answers_are_text_with_their_citations() {
    let citation =
        json!({"title": "D", "location": {"documentPage": {"documentIndex": 0, "start": 1, "end": 2}}});
    let blocks = json!([{"citationsContent": {"content": [{"text": "An "}, {"text": "answer"}], "citations": [citation]}}]);
    let streamed = reply(
        &[delta(0, &json!({"text": "An answer"})), delta(0, &json!({"citation": citation})), stop(0)],
        "end_turn",
    );
    for body in [whole(&blocks, "end_turn"), streamed] {
        let done = completion(&body);
        let AssistantPart::Text(text) = &done.message.parts[0] else { panic!("{done:?}") };
        assert_eq!(text.text(), "An answer");
        let kept: serde_json::Value = serde_json::from_str(text.replay().unwrap().json()).unwrap();
        assert_eq!(kept, json!({"citations": [citation]}));
    }
}

// bedrock.md 4: web grounding sends its sources in blocks of their own, without a text, behind the text that they hold for.
#[test]
fn citations_without_a_text_are_those_of_the_text_before() {
    let source = |url: &str| json!({"location": {"web": {"url": url, "domain": "d"}}});
    let block = |url: &str| json!({"citationsContent": {"citations": [source(url)]}});
    let cited = |index, url: &str| delta(index, &json!({"citation": source(url)}));
    let text = |index, text: &str| delta(index, &json!({"text": text}));
    let expected = |cited: &[(&str, &str)]| {
        cited.iter().map(|(url, said)| ((*url).to_owned(), (*said).to_owned())).collect::<Vec<_>>()
    };
    for (blocks, events, cited) in [
        (
            json!([{"text": "It is 4."}, block("a"), block("b"), {"text": "\n\nAnd old."}, block("c"), {"text": "!"}]),
            vec![
                text(2, "It is 4."),
                stop(2),
                cited(3, "a"),
                cited(3, "b"),
                stop(3),
                text(4, "\n\nAnd old."),
                stop(4),
                cited(5, "c"),
                stop(5),
                text(6, "!"),
                stop(6),
            ],
            expected(&[("a", "It is 4."), ("b", "It is 4."), ("c", "\n\nAnd old.")]),
        ),
        (
            json!([block("a"), {"text": "\n"}, {"text": "It is 4."}]),
            vec![cited(0, "a"), stop(0), text(1, "\n"), stop(1), text(2, "It is 4."), stop(2)],
            expected(&[("a", "\nIt is 4.")]),
        ),
    ] {
        for body in [whole(&blocks, "end_turn"), reply(&events, "end_turn")] {
            let chunks = decode(&body).unwrap();
            let done = completion(&body);
            let told: Vec<Citation> = chunks
                .into_iter()
                .filter_map(|chunk| match chunk {
                    StreamChunk::Citation(citation) => Some(*citation),
                    _ => None,
                })
                .collect();
            assert_eq!(told, done.message.citations);
            let answer = done.message.text();
            let found: Vec<_> = told
                .iter()
                .map(|citation| match (&citation.source, citation.in_answer) {
                    (Source::Url { url, .. }, Some(AnswerSpan::Claim(span))) => {
                        (url.clone(), span.of(&answer).unwrap().to_owned())
                    }
                    other => panic!("{other:?}"),
                })
                .collect();
            assert_eq!(found, cited);
        }
    }
}

// P25, bedrock.md 8
#[test]
fn the_table_of_errors() {
    let body = r#"{"message":"m"}"#;
    for (status, kind, expected, again) in [
        (400, "ValidationException:http://internal.amazon.com/coral/", ErrorKind::InvalidRequest, false),
        (400, "ServiceQuotaExceededException", ErrorKind::QuotaExceeded, false),
        (403, "AccessDeniedException", ErrorKind::Permission, false),
        (403, "UnrecognizedClientException", ErrorKind::Authentication, false),
        (403, "InvalidSignatureException", ErrorKind::Authentication, false),
        (403, "ExpiredTokenException", ErrorKind::Authentication, false),
        (404, "ResourceNotFoundException", ErrorKind::NotFound, false),
        (408, "ModelTimeoutException", ErrorKind::Timeout, true),
        (424, "ModelErrorException", ErrorKind::Overloaded, true),
        (429, "ThrottlingException", ErrorKind::RateLimited, true),
        (429, "ModelNotReadyException", ErrorKind::Overloaded, true),
        (500, "InternalServerException", ErrorKind::Overloaded, true),
        (503, "ServiceUnavailableException", ErrorKind::Overloaded, true),
    ] {
        let code = kind.split(':').next().unwrap();
        assert_eq!(failed(status, Some(kind), body), (expected, Some(code.to_owned()), again), "{kind}");
    }
    // Without the header: by the body, then by the status.
    let typed = r#"{"__type":"com.amazon.coral.service#ExpiredTokenException","Message":"m"}"#;
    assert_eq!(failed(403, None, typed).0, ErrorKind::Authentication);
    assert_eq!(failed(403, None, body), (ErrorKind::Permission, None, false));
    assert_eq!(failed(503, None, "upstream"), (ErrorKind::Overloaded, None, true));
    assert_eq!(failed(502, Some("BrandNewException"), "<html>").0, ErrorKind::Overloaded);
    assert_eq!(error(429, Some("ThrottlingException"), body).request_id(), Some("req-1"));
}

#[test]
fn wording_refines_the_kind() {
    for (message, kind) in [
        ("Input is too long for requested model.", ErrorKind::ContextTooLong),
        (
            "The model returned the following errors: prompt is too long: 210000 tokens > 200000 maximum",
            ErrorKind::ContextTooLong,
        ),
        (
            "The model returned the following errors: Input Tokens Exceeded: Number of input tokens exceeds maximum length. Please update the input to try again.",
            ErrorKind::ContextTooLong,
        ),
        (
            "The maximum tokens you requested exceeds the model limit of 8192. Try again with a maximum tokens value that is lower than 8192.",
            ErrorKind::InvalidRequest,
        ),
        ("The provided model identifier is invalid.", ErrorKind::NotFound),
        (
            "The text field in the ContentBlock object at messages.1.content.0 is blank.",
            ErrorKind::InvalidHistory,
        ),
        (
            "Expected toolResult blocks at messages.2.content for the following Ids: t",
            ErrorKind::InvalidHistory,
        ),
        (
            "The toolConfig field must be defined when using toolUse and toolResult content blocks.",
            ErrorKind::InvalidHistory,
        ),
        ("User messages cannot contain reasoning content. Please remove it", ErrorKind::InvalidHistory),
        ("You can't include more than 5 documents in a request.", ErrorKind::InvalidHistory),
        ("This model doesn't support the status field.", ErrorKind::Unsupported),
        ("Malformed input request: #: extraneous key [x] is not permitted", ErrorKind::InvalidRequest),
    ] {
        let body = json!({"message": message}).to_string();
        assert_eq!(failed(400, Some("ValidationException"), &body).0, kind, "{message}");
        assert_eq!(failed(400, None, &body).0, kind, "{message}");
    }
    let blank =
        json!({"message": "The text field in the ContentBlock object at messages.1.content.0 is blank."});
    assert_eq!(error(400, None, &blank.to_string()).param(), Some("messages.1.content.0"));
    let daily = json!({"message": "Too many tokens per day, please wait before trying again."}).to_string();
    assert!(!failed(429, Some("ThrottlingException"), &daily).2);
}

// bedrock.md (a) 19
#[test]
fn a_bare_id_is_explained() {
    let message = "Invocation of model ID deepseek.r1-v1:0 with on-demand throughput isn\u{2019}t supported. Retry your \
                   request with the ID or ARN of an inference profile that contains this model.";
    let error = error(400, Some("ValidationException"), &json!({"message": message}).to_string());
    assert_eq!(error.kind(), ErrorKind::InvalidRequest);
    assert!(error.message().contains("us., eu. or global."), "{error}");
}

// bedrock.md 7, 8: exceptions come as frames, before or after output.
#[test]
fn exceptions_inside_a_stream() {
    for (kind, expected, again) in [
        ("throttlingException", ErrorKind::RateLimited, true),
        ("modelStreamErrorException", ErrorKind::Overloaded, true),
        ("internalServerException", ErrorKind::Overloaded, true),
        ("serviceUnavailableException", ErrorKind::Overloaded, true),
        ("validationException", ErrorKind::InvalidRequest, false),
        ("brandNewException", ErrorKind::Api, false),
    ] {
        let frame = exception(kind, &json!({"message": "m", "originalStatusCode": 529, "p": "abc"}));
        let error = decode(&frame).unwrap_err();
        assert_eq!((error.kind(), error.is_retryable(), error.code()), (expected, again, Some(kind)));
        assert_eq!(error.message(), "m");
        let after = replay_pieces([[delta(0, &json!({"text": "a"})), frame].concat()]);
        assert_eq!(after.completion.message.text(), "a");
        let error = after.error.unwrap();
        assert!(!error.is_retryable() && error.is_after_output());
    }
    let full = "The model returned the following errors: Input Tokens Exceeded: Number of input tokens exceeds maximum length.";
    let full = decode(&exception("validationException", &json!({"message": full}))).unwrap_err();
    assert_eq!(full.kind(), ErrorKind::ContextTooLong);
    let original =
        exception("modelStreamErrorException", &json!({"message": "", "originalMessage": "overloaded"}));
    assert_eq!(decode(&original).unwrap_err().message(), "overloaded");
    let headers =
        [(":message-type", "error"), (":error-code", "InternalFailure"), (":error-message", "oops")];
    let error = decode(&attache_conformance::event_frame(&headers, b"")).unwrap_err();
    assert_eq!(
        (error.kind(), error.code(), error.message()),
        (ErrorKind::Overloaded, Some("InternalFailure"), "oops")
    );
    let bare = attache_conformance::event_frame(&[(":message-type", "exception")], b"");
    assert_eq!(decode(&bare).unwrap_err().kind(), ErrorKind::Api);
}

// The reply to a stream call may be JSON: an error, or a whole reply.
#[test]
fn json_under_200() {
    let error = decode(br#"{"message":"Too many requests","__type":"ThrottlingException"}"#).unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::RateLimited, Some("ThrottlingException")));
    assert_eq!(
        decode(br#"{"error":{"message":"no such route","code":404}}"#).unwrap_err().kind(),
        ErrorKind::NotFound
    );
    assert_eq!(completion(&whole(&json!([{"text": "a"}]), "end_turn")).message.text(), "a");
}

// bedrock.md 8: no operation has the address
#[test]
fn an_address_without_an_operation_is_told_as_that() {
    let nested =
        r#"{"Output":{"__type":"com.amazon.coral.service#UnknownOperationException"},"Version":"1.0"}"#;
    let read = [
        decode(nested.as_bytes()).unwrap_err(),
        error(404, None, nested),
        error(404, Some("UnknownOperationException"), "<UnknownOperationException/>"),
    ];
    for error in read {
        assert_eq!((error.kind(), error.code()), (ErrorKind::NotFound, Some("UnknownOperationException")));
        assert!(error.message().contains("check the base URL"), "{error}");
        assert!(error.response_body().unwrap().contains("UnknownOperation"), "{error:?}");
        assert!(!error.is_retryable());
    }
    let others = [r#"{"Output":"x","Version":"1.0"}"#, r#"{"Output":{"__type":null}}"#, r#"{"Output":null}"#];
    for other in others {
        let error = decode(other.as_bytes()).unwrap_err();
        assert_eq!(error.message(), "the reply is not a message of the API", "{other}");
        assert_eq!(error.response_body(), Some(other));
    }
}
