//! Replies as the API may send them: what the SDK's types allow and nobody recorded.

use attache_core::message::ArgumentsError;
use attache_core::{AssistantPart, ErrorKind, FinishReason, StreamChunk};
use serde_json::{Value, json};

use crate::common::{decode, end, failure, opaque, piece, reply, sse};

fn citation(start: u64) -> Value {
    json!({"start": start, "end": start + 3, "text": "EUR", "content_index": 1, "type": "TEXT_CONTENT",
        "sources": [{"type": "tool", "id": "call_1:0", "tool_output": {"content": "EUR 12"}}]})
}

/// Everything that a reply can hold, streamed and whole.
fn rich() -> [String; 2] {
    let content = |index, kind, part: Value| piece(kind, index, &json!({"content": part}));
    let calls = |index, kind, call: Value| piece(kind, index, &json!({"tool_calls": call}));
    let function = |name: &str, arguments: &str| json!({"name": name, "arguments": arguments});
    let streamed = sse(&[
        json!({"type": "message-start", "id": "r1", "delta": {"message": {"role": "assistant", "content": [],
            "tool_plan": "", "tool_calls": [], "citations": []}}}),
        content(0, "content-start", json!({"type": "thinking", "thinking": ""})),
        content(0, "content-delta", json!({"thinking": "Let \"me\""})),
        content(0, "content-delta", json!({"thinking": " see"})),
        json!({"type": "content-end", "index": 0}),
        piece("tool-plan-delta", 0, &json!({"tool_plan": "I will "})),
        content(1, "content-start", json!({"type": "text", "text": ""})),
        content(1, "content-delta", json!({"text": " \n"})),
        content(1, "content-delta", json!({"text": "12 €"})),
        json!({"type": "content-end", "index": 1}),
        piece("citation-start", 0, &json!({"citations": citation(3)})),
        json!({"type": "citation-end", "index": 0}),
        piece("tool-plan-delta", 0, &json!({"tool_plan": "look."})),
        calls(
            0,
            "tool-call-start",
            json!({"id": "c1", "type": "function", "function": function("weather_now", "")}),
        ),
        calls(0, "tool-call-delta", json!({"function": {"arguments": "{\"city\":"}})),
        calls(0, "tool-call-delta", json!({"function": {"arguments": "\"Rome\"}"}})),
        json!({"type": "tool-call-end", "index": 0}),
        calls(1, "tool-call-start", json!({"id": "c2", "type": "function", "function": {"name": "clock"}})),
        piece("citation-start", 1, &json!({"citations": citation(9)})),
        json!({"type": "debug", "prompt": "<BOS>"}),
        json!({"type": "something-new", "delta": 7}),
        end("TOOL_CALL"),
    ]);
    let whole = json!({"id": "r1", "finish_reason": "TOOL_CALL", "usage": {"tokens": {"input_tokens": 3.0, "output_tokens": 2}},
        "message": {"role": "assistant", "tool_plan": "I will look.", "content": [
            {"type": "thinking", "thinking": "Let \"me\" see"}, {"type": "text", "text": " \n12 €"}],
            "tool_calls": [{"id": "c1", "type": "function", "function": function("weather_now", "{\"city\":\"Rome\"}")},
                {"id": "c2", "type": "function", "function": {"name": "clock", "arguments": null}}],
            "citations": [citation(3), citation(9)]}});
    [streamed, whole.to_string()]
}

// invariant 6
#[test]
fn streamed_or_whole_is_the_same() {
    for body in rich() {
        let done = reply(&body);
        assert_eq!(
            (done.message.text(), done.message.thinking()),
            (" \n12 €".into(), "Let \"me\" see".into())
        );
        assert_eq!(
            (&done.finish_reason, done.raw_finish_reason.as_deref()),
            (&FinishReason::ToolCalls, Some("TOOL_CALL"))
        );
        assert_eq!(done.response_id.as_deref(), Some("r1"));
        let citations = json!([citation(3), citation(9)]).to_string();
        assert_eq!(opaque(&done.message), [("tool_plan", "\"I will look.\""), ("citations", &*citations)]);
        let calls: Vec<_> =
            done.message.tool_calls().map(|call| (&*call.name, call.arguments.json().unwrap())).collect();
        assert_eq!(calls, [("weather_now", r#"{"city":"Rome"}"#), ("clock", "{}")]);
        assert_eq!((done.usage.input_tokens, done.usage.output_tokens), (Some(3), Some(2)));
        assert_eq!(done.usage.cached_tokens, None, "what is not reported is absent");
    }
}

// openai.md 0.4 1
#[test]
fn calls_of_a_neighbouring_form_are_read() {
    let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "weather_now", "arguments": {"city": "Rome"}}});
    let message = json!({"role": "assistant", "tool_calls": [call("c1"), call("c2")]});
    let whole = json!({"id": "r1", "finish_reason": "TOOL_CALL", "message": message}).to_string();
    let lists = sse(&[
        piece("tool-call-start", 0, &json!({"tool_calls": [call("c1")]})),
        json!({"type": "tool-call-end", "index": 0}),
        piece("tool-call-start", 1, &json!({"tool_calls": [call("c2")]})),
        end("TOOL_CALL"),
    ]);
    let list = sse(&[
        piece("tool-call-start", 0, &json!({"tool_calls": [call("c1"), call("c2")]})),
        end("TOOL_CALL"),
    ]);
    for body in [whole, lists, list] {
        let done = reply(&body);
        let calls: Vec<_> = done.message.tool_calls().map(|call| call.arguments.json().unwrap()).collect();
        assert_eq!(calls, [r#"{"city":"Rome"}"#; 2], "{body}");
    }
}

// cohere.md 6
#[test]
fn content_of_a_neighbouring_form_is_read() {
    let text = |text: &str| json!({"type": "text", "text": text});
    let whole = |content: Value| {
        json!({"id": "r1", "finish_reason": "COMPLETE", "message": {"role": "assistant", "content": content, "citations": citation(0)}}).to_string()
    };
    let delta = |content: Value| {
        sse(&[
            piece("content-delta", 0, &json!({"content": content})),
            piece("citation-start", 0, &json!({"citations": [citation(0)]})),
            end("COMPLETE"),
        ])
    };
    for content in [text("Hi"), json!([text("Hi")]), json!("Hi")] {
        for body in [whole(content.clone()), delta(content.clone())] {
            let done = reply(&body);
            assert_eq!(done.message.text(), "Hi", "{body}");
            assert_eq!(opaque(&done.message), [("citations", &*json!([citation(0)]).to_string())], "{body}");
        }
    }
}

// E17: what cannot be sent back is not shown either
#[test]
fn a_blank_text_is_none() {
    let text = |text: &str| piece("content-delta", 0, &json!({"content": {"text": text}}));
    let done = reply(&sse(&[text(" "), text("\n"), end("COMPLETE")]));
    assert!(done.message.parts.is_empty());
    assert_eq!(reply(&sse(&[text(" "), text("a"), text(" "), end("COMPLETE")])).message.text(), " a ");
}

#[test]
fn finish_reasons() {
    let ends = |reason: &str| {
        let text = piece("content-delta", 0, &json!({"content": {"text": "a"}}));
        let done = reply(&sse(&[text, end(reason)]));
        assert_eq!(done.raw_finish_reason.as_deref(), Some(reason));
        done.finish_reason
    };
    for (word, reason) in [
        ("COMPLETE", FinishReason::Stop),
        ("STOP_SEQUENCE", FinishReason::Stop),
        ("MAX_TOKENS", FinishReason::Length),
        ("ERROR_LIMIT", FinishReason::Length),
        ("TOOL_CALL", FinishReason::Stop),
        ("ERROR_TOXIC", FinishReason::ContentFilter),
        ("A_NEW_ONE", FinishReason::Other("A_NEW_ONE".to_owned())),
    ] {
        assert_eq!(ends(word), reason, "{word}");
    }
    let silent = json!({"id": "r", "message": {"content": [{"type": "text", "text": "a"}]}});
    let done = reply(&silent.to_string());
    assert_eq!((done.finish_reason, done.raw_finish_reason), (FinishReason::Stop, None));
}

// A reply whose end says that it failed is an error, with what had come.
#[test]
fn failures_while_generating() {
    let failed = |reason: &str, error: &str| json!({"type": "message-end", "delta": {"finish_reason": reason, "error": error}});
    let error = failure(&sse(&[failed("ERROR", "Internal failure.")]));
    assert_eq!(
        (error.kind(), error.is_retryable(), error.code()),
        (ErrorKind::Overloaded, true, Some("ERROR"))
    );
    assert_eq!(error.message(), "the provider gave up: Internal failure");
    assert_eq!(failure(&sse(&[failed("TIMEOUT", "")])).kind(), ErrorKind::Timeout);
    let whole = json!({"finish_reason": "TIMEOUT", "message": {"role": "assistant"}});
    assert_eq!(failure(&whole.to_string()).kind(), ErrorKind::Timeout);

    let text = piece("content-delta", 0, &json!({"content": {"text": "a"}}));
    let replay = decode(&sse(&[text, failed("ERROR", "broke off")]));
    let error = replay.error.unwrap();
    assert_eq!((error.message(), error.is_after_output()), ("the provider gave up: broke off", true));
    assert_eq!(replay.completion.message.text(), "a");
}

// A call that the limit cut is never executed (P24).
#[test]
fn a_cut_call_is_none() {
    let cut = |arguments: &str, reason: &str| {
        let call = json!({"id": "c1", "function": {"name": "clock", "arguments": arguments}});
        let done = reply(&sse(&[piece("tool-call-start", 0, &json!({"tool_calls": call})), end(reason)]));
        let call = done.message.tool_calls().next().unwrap().clone();
        call.arguments.json().map(str::to_owned).map_err(Clone::clone)
    };
    for arguments in ["", "{\"a\":", "{\"a\"}"] {
        assert_eq!(cut(arguments, "MAX_TOKENS"), Err(ArgumentsError::Truncated), "{arguments}");
    }
    assert_eq!(cut("{}", "MAX_TOKENS").as_deref(), Ok("{}"));
    assert_eq!(cut("", "TOOL_CALL").as_deref(), Ok("{}"), "no arguments");
}

#[test]
fn a_stream_without_its_end_was_cut() {
    let text = |piece_of: &str| piece("content-delta", 0, &json!({"content": {"text": piece_of}}));
    let replay = decode(&sse(&[text("Hel"), text("lo")]));
    let error = replay.error.unwrap();
    assert_eq!((error.kind(), error.is_after_output()), (ErrorKind::StreamCut, true));
    assert_eq!(replay.completion.message.text(), "Hello", "what had come is there");
    assert_eq!(replay.chunks, ["Hel", "lo"].map(|text| StreamChunk::Content(text.to_owned())));
}

#[test]
fn errors_inside_a_stream() {
    for (event, kind) in [
        ("event: error\ndata: {\"message\":\"m\"}\n\n", ErrorKind::Api),
        ("data: {\"message\":\"m\",\"id\":\"e1\"}\n\n", ErrorKind::Api),
        ("data: {\"type\":\"error\",\"message\":\"m\",\"code\":\"overloaded\"}\n\n", ErrorKind::Overloaded),
        ("data: {\"error\":{\"message\":\"m\",\"code\":429}}\n\n", ErrorKind::RateLimited),
    ] {
        let error = failure(event);
        assert_eq!((error.kind(), error.message()), (kind, "m"), "{event}");
        assert!(error.response_body().is_some_and(|body| body.starts_with('{')));
    }
    assert_eq!(failure("data: {\"message\":\"m\",\"id\":\"e1\"}\n\n").request_id(), Some("e1"));
    assert_eq!(failure("event: error\ndata: boom\n\n").message(), "boom");
    for torn in ["data: {\"type\":\n\n", "data: {\"type\":\"content-delta\",\"delta\":7}\n\n"] {
        assert_eq!(failure(torn).kind(), ErrorKind::Malformed, "{torn}");
    }
}

#[test]
fn bodies_that_are_no_reply() {
    let error = failure("{\"id\":\"e1\",\"message\":\"no\"}");
    assert_eq!((error.kind(), error.message(), error.request_id()), (ErrorKind::Api, "no", Some("e1")));
    for body in ["{}", "[]", "{\"generations\":[]}", "{\"message\":null}", "{\"message\":{\"content\":[7"] {
        assert_eq!(failure(body).kind(), ErrorKind::Malformed, "{body}");
    }
    assert!(reply("{\"message\":{\"content\":null}}").message.parts.is_empty());
    assert_eq!(reply("{\"message\":{\"content\":\"a text\"}}").message.text(), "a text");
}

// A kind of block that is newer than this crate is kept, however it comes, and nothing of it counts as text.
#[test]
fn unknown_blocks_are_kept() {
    let content = |kind, part: Value| piece(kind, 0, &json!({"content": part}));
    let streamed = sse(&[
        content("content-start", json!({"type": "audio", "text": "", "rate": 1})),
        content("content-delta", json!({"text": "Hel"})),
        content("content-delta", json!({"text": "lo", "rate": 2})),
        end("COMPLETE"),
    ]);
    let whole = json!({"message": {"content": [{"type": "audio", "text": "Hello", "rate": 2}]}});
    for body in [streamed, whole.to_string()] {
        let message = reply(&body).message;
        assert_eq!(opaque(&message), [("audio", r#"{"type":"audio","text":"Hello","rate":2}"#)]);
    }
}

#[test]
fn logprobs_are_kept_for_who_asked_for_them() {
    let item = |text: &str| json!({"text": text, "token_ids": [1], "logprobs": [-0.5]});
    let mut delta = piece("content-delta", 0, &json!({"content": {"text": "a"}}));
    delta["logprobs"] = item("a");
    let whole = json!({"message": {"content": [{"type": "text", "text": "a"}]}, "logprobs": [item("a")]});
    for body in [sse(&[delta, end("COMPLETE")]), whole.to_string()] {
        let done = reply(&body);
        assert_eq!(done.message.metadata.get("logprobs"), Some(&json!([item("a")])));
        assert!(matches!(&done.message.parts[..], [AssistantPart::Text(_)]));
    }
}

#[test]
fn replies_are_bounded() {
    let blocks: Vec<Value> =
        (0..1_001).map(|index| piece("content-delta", index, &json!({"content": {"text": "a"}}))).collect();
    assert_eq!(failure(&sse(&blocks)).kind(), ErrorKind::Malformed);
    let calls: Vec<Value> = (0..1_001).map(|_| json!({"id": "c", "function": {"name": "a"}})).collect();
    let whole = json!({"message": {"tool_calls": calls}});
    assert_eq!(failure(&whole.to_string()).kind(), ErrorKind::Malformed);
}
