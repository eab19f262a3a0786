//! Failures elsewhere with replies: the rows of gemini.md (a) about decoding.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::wildcard_imports,
    reason = "helpers of tests are not recognised as tests"
)]

use crate::common::*;
use attache_core::{AssistantPart, ErrorKind, FinishReason, StreamChunk, Usage};
use serde_json::json;

// gemini.md (a) 4
#[test]
fn a4_a_signature_that_stands_alone_is_kept_and_said_to_nobody() {
    let stream = sse(&[
        chunk(&json!([{"text": "Red."}]), None),
        chunk(&json!([{"text": "", "thoughtSignature": "c2ln"}]), Some("STOP")),
    ]);
    let chunks = decode(&stream).unwrap();
    let said: Vec<_> = chunks.iter().filter(|chunk| !matches!(chunk, StreamChunk::Done(_))).collect();
    assert_eq!(said, [&StreamChunk::Content("Red.".to_owned())]);
    let completion = completion(&stream);
    assert_eq!(shape(&completion), [r#"text "Red.""#, r#"text {"text":"","thoughtSignature":"c2ln"}"#]);
    assert_eq!(completion.message.thinking(), "");
    // And it goes back where it stood.
    let contents = contents(&request([
        attache_core::Message::user("colour?"),
        attache_core::Message::Assistant(completion.message),
        attache_core::Message::user("sure?"),
    ]));
    assert_eq!(contents[1]["parts"], json!([{"text": "Red."}, {"text": "", "thoughtSignature": "c2ln"}]));
}

// gemini.md (a) 5
#[test]
fn a5_a_call_that_cannot_be_read_is_a_retryable_error() {
    for reason in ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE"] {
        let candidate =
            json!({"finishReason": reason, "finishMessage": "print(default_api.read('canary'))", "index": 0});
        for body in [
            candidates(std::slice::from_ref(&candidate)).to_string().into_bytes(),
            sse(&[candidates(&[candidate])]),
        ] {
            let error = failure(&body);
            assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Malformed, true), "{reason}");
            assert_eq!(error.code(), Some(reason));
            assert!(!error.to_string().contains("canary"), "what the model wrote is not for logs: {error}");
        }
    }
    let late = sse(&[
        chunk(&json!([{"text": "I will"}]), None),
        candidates(&[json!({"finishReason": "MALFORMED_FUNCTION_CALL", "index": 0})]),
    ]);
    let replay = replay_pieces([late]);
    let error = replay.error.unwrap();
    assert!(!error.is_retryable(), "what was said cannot be said again");
    assert_eq!(replay.completion.message.text(), "I will");
}

// gemini.md 7, and a recording of Vertex AI: a tool that was never declared
#[test]
fn a5_an_unexpected_call_is_handed_to_nobody_who_could_run_it() {
    let reply = |name: &str| {
        candidates(&[json!({"content": {"parts": [{"functionCall": {"name": name, "args": {}}}]},
            "finishReason": "UNEXPECTED_TOOL_CALL"})])
    };
    let unknown = whole(&reply("list_files"));
    assert_eq!(
        shape(&unknown),
        ["call list_files {}"],
        "its result tells the model that there is no such tool"
    );
    assert_eq!(unknown.finish_reason, FinishReason::ToolCalls);
    assert_eq!(unknown.raw_finish_reason.as_deref(), Some("UNEXPECTED_TOOL_CALL"));
    assert_eq!(
        shape(&whole(&reply("files_read"))),
        ["call files.read none"],
        "a tool that was off does not run"
    );
}

// gemini.md 7
#[test]
fn reasons_that_may_not_come_again() {
    for reason in ["OTHER", "NO_IMAGE", "IMAGE_OTHER", "TOO_MANY_TOOL_CALLS", "FINISH_REASON_UNSPECIFIED"] {
        let error = failure(candidates(&[json!({"finishReason": reason})]).to_string().as_bytes());
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Api, true), "{reason}");
    }
    let said = whole(&chunk(&json!([{"text": "half"}]), Some("OTHER")));
    assert_eq!((said.finish_reason, said.message.text()), (FinishReason::Error, "half".to_owned()));
    let lost =
        failure(candidates(&[json!({"finishReason": "MISSING_THOUGHT_SIGNATURE"})]).to_string().as_bytes());
    assert_eq!((lost.kind(), lost.is_retryable()), (ErrorKind::InvalidHistory, false));
    let limited =
        failure(candidates(&[json!({"finishReason": "PUP_LIMITED_DISABLED"})]).to_string().as_bytes());
    assert_eq!(limited.kind(), ErrorKind::Permission);
    let new = whole(&chunk(&json!([{"text": "x"}]), Some("NEW_REASON")));
    assert_eq!(new.finish_reason, FinishReason::Other("NEW_REASON".to_owned()));
}

// gemini.md (a) 6, (a) 7
#[test]
fn a6_a7_nothing_at_all_is_an_empty_reply() {
    for candidate in [
        json!({"finishReason": "STOP"}),
        json!({"finishReason": "STOP", "content": {}}),
        json!({"finishReason": "STOP", "content": {"role": "model"}}),
        json!({"finishReason": "STOP", "content": {"parts": []}}),
        json!({"finishReason": "STOP", "content": {"parts": [{"text": ""}]}}),
        json!({"finishReason": "STOP", "content": {"parts": [null, {}]}, "index": null}),
        json!({"finishReason": "STOP", "content": null}),
    ] {
        for body in [
            candidates(std::slice::from_ref(&candidate)).to_string().into_bytes(),
            sse(&[candidates(std::slice::from_ref(&candidate))]),
        ] {
            let completion = completion(&body);
            assert!(completion.message.parts.is_empty(), "{candidate}");
            assert_eq!(completion.finish_reason, FinishReason::Stop);
        }
    }
    for reply in
        [json!({"candidates": [], "responseId": "r"}), json!({"usageMetadata": {"promptTokenCount": 3}})]
    {
        assert!(whole(&reply).message.parts.is_empty());
    }
    let bare =
        whole(&json!({"candidates": [{"content": {"parts": [{"text": "x"}]}, "finishReason": "STOP"}]}));
    assert_eq!((bare.message.text(), bare.usage), ("x".to_owned(), Usage::default()));
}

// gemini.md (a) 16
#[test]
fn a16_thoughts_are_no_answer() {
    let stream = sse(&[
        chunk(&json!([{"text": "Let me ", "thought": true}]), None),
        chunk(&json!([{"text": "see.", "thought": true}, {"text": "12"}]), None),
        chunk(&json!([{"text": " C", "thought": false}]), Some("STOP")),
    ]);
    let completion = completion(&stream);
    assert_eq!(shape(&completion), [r#"thought "Let me see.""#, r#"text "12 C""#]);
}

// gemini.md (a) 18
#[test]
fn a18_ids_that_are_missing_are_made_up() {
    let parts = json!([
        {"functionCall": {"name": "files_read", "args": {"path": "a"}}, "thoughtSignature": "c2ln"},
        {"functionCall": {"name": "files_read", "args": {"path": "b"}, "id": "null"}},
        {"functionCall": {"name": "files_read", "args": {"path": "c"}, "id": ""}},
        {"functionCall": {"name": "files_read", "id": "x1"}},
    ]);
    let completion = whole(&chunk(&parts, Some("STOP")));
    let calls: Vec<_> = completion.message.tool_calls().collect();
    let ids: std::collections::HashSet<_> = calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(ids.len(), 4);
    let theirs: Vec<_> = calls.iter().map(|call| call.provider_id.as_ref().map(|id| id.as_str())).collect();
    assert_eq!(theirs, [None, None, None, Some("x1")]);
    assert_eq!(calls[3].arguments.json().unwrap(), "{}");
    assert_eq!(completion.finish_reason, FinishReason::ToolCalls);
}

// gemini.md (a) 19
#[test]
fn a19_a_blocked_prompt_is_an_error_with_its_reason() {
    for body in [
        json!({"promptFeedback": {"blockReason": "SAFETY", "safetyRatings": []}}).to_string().into_bytes(),
        sse(&[json!({"promptFeedback": {"blockReason": "JAILBREAK", "blockReasonMessage": "Told to."}})]),
        sse(&[
            json!({"promptFeedback": {"blockReason": "SAFETY"}, "candidates": [{"content": {"role": "model"}, "index": 0}]}),
        ]),
        json!({"promptFeedback": {"blockReason": "NEW"}, "candidates": [{"finishReason": "STOP"}]})
            .to_string()
            .into_bytes(),
    ] {
        let error = failure(&body);
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Refused, false), "{error}");
        assert!(error.message().contains(error.code().unwrap()), "{error}");
    }
    let fine = json!({"promptFeedback": {"safetyRatings": []}, "candidates": [{"content": {"parts": [{"text": "x"}]},
        "finishReason": "STOP"}]});
    assert_eq!(whole(&fine).message.text(), "x");
}

// gemini.md (a) 20
#[test]
fn a20_reasoning_that_ate_all_tokens_says_so() {
    let completion =
        whole(&json!({"candidates": [{"content": {"role": "model"}, "finishReason": "MAX_TOKENS"}],
        "usageMetadata": {"promptTokenCount": 9, "thoughtsTokenCount": 64, "totalTokenCount": 73}}));
    assert_eq!(completion.finish_reason, FinishReason::Length);
    assert_eq!(completion.degradations.len(), 1);
    assert_eq!(completion.degradations[0].option, "max_tokens");
    let cut = whole(&chunk(&json!([{"text": "half"}]), Some("MAX_TOKENS")));
    assert!(cut.degradations.is_empty());
}

// gemini.md (a) 21
#[test]
fn a21_a_namespace_before_a_tools_name_is_taken_off() {
    for (written, read) in [
        ("default_api.files_read", "files.read"),
        ("default_api:files_list", "files.list"),
        ("files_read", "files.read"),
        ("default_api.unknown", "default_api.unknown"),
    ] {
        let body = chunk(&json!([{"functionCall": {"name": written, "args": {}}}]), Some("STOP")).to_string();
        let completion = completion(body.as_bytes());
        assert_eq!(completion.message.tool_calls().next().unwrap().name, read);
    }
}

// gemini.md 8, (a) 22
#[test]
fn a22_errors_inside_a_stream() {
    let error =
        json!({"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}});
    for body in [
        sse(std::slice::from_ref(&error)),
        json!([error]).to_string().into_bytes(),
        error.to_string().into_bytes(),
    ] {
        let error = failure(&body);
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Overloaded, true));
    }
    let named = replay_pieces(["event: error\ndata: upstream is down\n\n"]).error.unwrap();
    assert_eq!(named.response_body(), Some("upstream is down"), "{named}");
    let late = replay_pieces([sse(&[chunk(&json!([{"text": "Hi"}]), None), error])]);
    assert!(!late.error.unwrap().is_retryable());
    assert_eq!(late.completion.message.text(), "Hi");
}

// gemini.md 8: the API breaks a stream off with JSON that stands in no field
#[test]
fn a22_errors_without_a_field_are_read() {
    let error = |code: u16, status: &str| {
        json!({"error": {"code": code, "message": "No.", "status": status, "details": [
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"}]}})
    };
    let piece = sse(&[chunk(&json!([{"text": "Hi"}]), None)]);
    for (code, status, kind) in [
        (429, "RESOURCE_EXHAUSTED", ErrorKind::RateLimited),
        (403, "PERMISSION_DENIED", ErrorKind::Permission),
    ] {
        let error = error(code, status);
        for written in [
            format!("{error:#}"),
            format!("{:#}", json!([error])),
            error.to_string(),
            json!([error]).to_string(),
        ] {
            let late = replay_pieces([piece.clone(), format!("{written}\n").into_bytes()]);
            let error = late.error.unwrap();
            assert_eq!(error.kind(), kind, "{written}");
            assert_eq!(error.retry_after(), Some(std::time::Duration::from_secs(34)));
            assert_eq!(late.completion.message.text(), "Hi");
            // Behind the white space that some servers send at first.
            let early = replay_pieces([format!(": on\n\n{written}\n")]);
            assert_eq!(early.error.map(|error| error.kind()), Some(kind), "{written}");
        }
    }
}

// gemini.md (a) 24
#[test]
fn a24_the_model_that_answered_is_told() {
    let reply = json!({"candidates": [{"content": {"parts": [{"text": "x"}]}, "finishReason": "STOP"}],
        "modelVersion": "gemini-3.8-flash"});
    assert_eq!(whole(&reply).model.as_deref(), Some("gemini-3.8-flash"));
}

// gemini.md 8
#[test]
fn a_stream_without_its_end_was_cut() {
    let replay = replay_pieces([sse(&[chunk(&json!([{"text": "Hi"}]), None)])]);
    assert_eq!(replay.error.map(|error| error.kind()), Some(ErrorKind::StreamCut));
    assert_eq!(replay.completion.message.text(), "Hi");
}

// gemini.md 7
#[test]
fn filtered_calls_are_kept_and_not_run() {
    for reason in [
        "SAFETY",
        "RECITATION",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "IMAGE_SAFETY",
        "MODEL_ARMOR",
        "LANGUAGE",
        "ESCALATION",
    ] {
        let parts = json!([{"text": "half"}, {"functionCall": {"name": "files_read", "args": {}}}]);
        let completion = whole(&chunk(&parts, Some(reason)));
        assert_eq!(completion.finish_reason, FinishReason::ContentFilter, "{reason}");
        assert_eq!(shape(&completion), [r#"text "half""#, "call files.read none"]);
        let silent = whole(&candidates(&[json!({"finishReason": reason})]));
        assert_eq!(silent.finish_reason, FinishReason::ContentFilter, "{reason}");
    }
}

// gemini.md 7
#[test]
fn why_an_answer_was_filtered_is_metadata() {
    let ratings =
        |blocked: bool| json!([{"category": "HARM_CATEGORY_DANGEROUS_CONTENT", "blocked": blocked}]);
    let said = |finish: Option<&str>, blocked: bool| {
        json!({"content": {"parts": [{"text": "x"}]}, "finishReason": finish, "safetyRatings": ratings(blocked),
            "finishMessage": finish.map(|_| "Blocked: dangerous content")})
    };
    let stream = sse(&[candidates(&[said(None, false)]), candidates(&[said(Some("SAFETY"), true)])]);
    for completion in [whole(&candidates(&[said(Some("SAFETY"), true)])), completion(&stream)] {
        assert_eq!(completion.finish_reason, FinishReason::ContentFilter);
        let metadata = &completion.message.metadata;
        assert_eq!(metadata.get("finishMessage"), Some(&json!("Blocked: dangerous content")));
        assert_eq!(metadata.get("safetyRatings"), Some(&ratings(true)));
    }
    let mut last = said(Some("SAFETY"), true);
    last["safetyRatings"] = json!([]);
    let late = completion(&sse(&[candidates(&[said(None, true)]), candidates(&[last])]));
    assert_eq!(late.message.metadata.get("safetyRatings"), Some(&ratings(true)));
    assert!(whole(&candidates(&[said(Some("STOP"), false)])).message.metadata.is_empty());
    let bare = json!({"finishReason": "SAFETY", "safetyRatings": [], "content": {"parts": [{"text": "x"}]}});
    assert!(whole(&candidates(&[bare])).message.metadata.is_empty());
    let prompt = json!({"promptFeedback": {"blockReason": "SAFETY", "safetyRatings": ratings(true)}});
    let body = failure(prompt.to_string().as_bytes()).response_body().map(str::to_owned);
    assert!(body.unwrap().contains("HARM_CATEGORY_DANGEROUS_CONTENT"));
}

// gemini.md 4: signatures are never moved, and parts that carry them never joined
#[test]
fn signatures_stay_with_their_parts() {
    let stream = sse(&[
        chunk(&json!([{"text": "A", "thoughtSignature": "czE="}]), None),
        chunk(&json!([{"text": "B"}]), None),
        chunk(&json!([{"text": "C"}]), None),
        chunk(&json!([{"text": "D", "thoughtSignature": "czI="}, {"text": "\n"}]), Some("STOP")),
    ]);
    let completion = completion(&stream);
    assert_eq!(completion.message.text(), "ABCD\n");
    assert_eq!(
        shape(&completion),
        [
            r#"text "A" {"thoughtSignature":"czE="}"#,
            r#"text "BC""#,
            r#"text "D\n" {"text":"D","thoughtSignature":"czI="}"#,
        ]
    );
    let contents = contents(&request([
        attache_core::Message::user("go"),
        attache_core::Message::Assistant(completion.message),
        attache_core::Message::user("on"),
    ]));
    assert_eq!(
        contents[1]["parts"],
        json!([{"text": "A", "thoughtSignature": "czE="}, {"text": "BC"}, {"text": "D", "thoughtSignature": "czI="}])
    );
}

#[test]
fn parts_of_the_provider_are_kept_in_place() {
    let parts = json!([
        {"executableCode": {"language": "PYTHON", "code": "print(1)"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
        {"text": "See:"},
        {"inlineData": {"mimeType": "image/png", "data": "aQ=="}, "thoughtSignature": "c2ln"},
        {"thought": true, "somethingNew": {"a": 1.0}},
    ]);
    let reply = candidates(&[json!({"content": {"parts": parts}, "finishReason": "STOP",
        "groundingMetadata": {"webSearchQueries": ["x"]}, "citationMetadata": {}, "urlContextMetadata": {"urlMetadata": []}})]);
    let completion = whole(&reply);
    let kinds: Vec<_> = completion
        .message
        .parts
        .iter()
        .map(|part| match part {
            AssistantPart::Opaque(part) => part.kind.as_str(),
            AssistantPart::Document(_) => "document",
            _ => "text",
        })
        .collect();
    assert_eq!(
        kinds,
        [
            "executableCode",
            "codeExecutionResult",
            "text",
            "document",
            "somethingNew",
            "urlContextMetadata",
            "groundingMetadata"
        ]
    );
    // Parts go back, those that only the server knows too; metadata does not.
    let again = request([
        attache_core::Message::user("draw"),
        attache_core::Message::Assistant(completion.message),
        attache_core::Message::user("more"),
    ]);
    let body = unchecked_body(&again, &codec()).unwrap();
    assert_eq!(body["contents"][1]["parts"], parts);
}

#[test]
fn arguments_in_pieces_are_refused() {
    let parts = json!([{"functionCall": {"name": "files_read", "partialArgs": [{"jsonPath": "$.path",
        "stringValue": "a", "willContinue": true}], "willContinue": true}}]);
    let error = failure(&sse(&[chunk(&parts, None)]));
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}
