//! Reported breakages of other clients that a reply causes, by their numbers in anthropic.md (a). That a cache was
//! not used shows in the usage, which is reported as it comes (21).

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::wildcard_imports,
    reason = "helpers of tests are not recognised as tests"
)]

use crate::common::*;
use attache_core::message::ArgumentsError;
use attache_core::{AssistantPart, ErrorKind, FinishReason, Message, StreamChunk, ToolResult};
use serde_json::{Value, json};

fn blocks(body: &Value, message: usize) -> &Vec<Value> {
    body["messages"][message]["content"].as_array().unwrap()
}

#[test]
fn a05_thinking_is_not_touched() {
    let text = "  \u{2028}tabs\tand \"quotes\" \\ and a trailing newline\n";
    let signature = "EqQB+/=\u{e9}";
    let stream = reply(
        &[
            start(0, &json!({"type": "thinking", "thinking": "", "signature": ""})),
            delta(0, &json!({"type": "thinking_delta", "thinking": text})),
            delta(0, &json!({"type": "signature_delta", "signature": signature})),
            stop(0),
            start(1, &json!({"type": "redacted_thinking", "data": "EmwK"})),
            stop(1),
            start(2, &json!({"type": "tool_use", "id": "toolu_1", "name": "files_list", "input": {}})),
            stop(2),
        ],
        "tool_use",
    );
    let said = completion(&stream).message;
    let asked = said.tool_calls().next().unwrap().clone();
    let body = body(&request([
        Message::user("a"),
        Message::Assistant(said),
        results([ToolResult::ok(&asked, "x")]),
    ]));
    assert_eq!(
        &blocks(&body, 1)[..2],
        [
            json!({"type": "thinking", "thinking": text, "signature": signature}),
            json!({"type": "redacted_thinking", "data": "EmwK"})
        ]
    );
}

#[test]
fn a07_signatures_replace_and_a08_empty_ones_are_none() {
    let stream = |signatures: &[Value]| {
        let mut events = vec![start(0, &json!({"type": "thinking", "thinking": "t", "signature": null}))];
        events.extend(
            signatures
                .iter()
                .map(|signature| delta(0, &json!({"type": "signature_delta", "signature": signature}))),
        );
        events.push(stop(0));
        completion(&reply(&events, "end_turn")).message
    };
    let signature = |signatures: &[Value]| match &stream(signatures).parts[0] {
        AssistantPart::Reasoning(part) => part.replay().map(|replay| replay.json().to_owned()),
        other => panic!("{other:?}"),
    };
    assert_eq!(signature(&[json!("old"), json!("new")]).as_deref(), Some(r#"{"signature":"new"}"#));
    for nothing in [vec![], vec![json!("")], vec![json!(null)], vec![json!("  ")]] {
        assert_eq!(signature(&nothing), None);
    }
}

#[test]
fn a10_blank_text_of_the_model_joins_its_neighbour() {
    let stream = reply(
        &[
            start(0, &json!({"type": "text", "text": ""})),
            delta(0, &json!({"type": "text_delta", "text": "\n\n"})),
            stop(0),
            start(1, &json!({"type": "tool_use", "id": "toolu_1", "name": "files_list", "input": {}})),
            stop(1),
            start(2, &json!({"type": "text", "text": "Here"})),
            stop(2),
            start(3, &json!({"type": "text", "text": " "})),
            stop(3),
        ],
        "tool_use",
    );
    let chunks = decode(&stream).unwrap();
    let streamed: String = chunks
        .iter()
        .filter_map(|chunk| match chunk {
            StreamChunk::Content(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    let message = completion(&stream).message;
    assert_eq!((message.text().as_str(), streamed.as_str()), ("\n\nHere ", "\n\nHere "), "P07");
    assert_eq!(message.parts.len(), 2);

    let only_blank =
        completion(&reply(&[start(0, &json!({"type": "text", "text": "\n"})), stop(0)], "end_turn"));
    assert!(only_blank.message.parts.is_empty(), "E15: the loop decides what to do about it");
}

#[test]
fn a12_errors_and_cuts_inside_a_stream() {
    let overloaded = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let text = [
        start(0, &json!({"type": "text", "text": ""})),
        delta(0, &json!({"type": "text_delta", "text": "a"})),
    ];
    let early = decode(&sse(&[json!({"type": "ping"}), overloaded.clone()])).unwrap_err();
    assert_eq!((early.kind(), early.is_retryable()), (ErrorKind::Overloaded, true));
    let late = decode(&sse(&[text[0].clone(), text[1].clone(), overloaded])).unwrap_err();
    assert_eq!(
        (late.kind(), late.is_retryable(), late.is_after_output()),
        (ErrorKind::Overloaded, false, true)
    );
    let cut = decode(&sse(&text)).unwrap_err();
    assert_eq!((cut.kind(), cut.is_after_output()), (ErrorKind::StreamCut, true));
    assert!(decode(b"").unwrap_err().is_retryable());
}

#[test]
fn a13_no_pieces_are_no_arguments() {
    for pieces in [vec![], vec![""], vec!["", ""]] {
        let mut events =
            vec![start(0, &json!({"type": "tool_use", "id": "t", "name": "files_list", "input": {}}))];
        events.extend(
            pieces.iter().map(|piece| delta(0, &json!({"type": "input_json_delta", "partial_json": piece}))),
        );
        events.push(stop(0));
        let message = completion(&reply(&events, "tool_use")).message;
        assert_eq!(message.tool_calls().next().unwrap().arguments.json(), Ok("{}"));
    }
    // A start that holds the whole input counts where nothing follows.
    let whole = [start(0, &json!({"type": "tool_use", "id": "t", "name": "n", "input": {"a": 1}})), stop(0)];
    let message = completion(&reply(&whole, "tool_use")).message;
    assert_eq!(message.tool_calls().next().unwrap().arguments.json(), Ok(r#"{"a":1}"#));
}

#[test]
fn a14_a_cut_call_is_never_executed() {
    for (piece, reason) in
        [("{\"path\": \"a", "max_tokens"), ("{}", "max_tokens"), ("{}", "model_context_window_exceeded")]
    {
        let stream = reply(
            &[
                start(0, &json!({"type": "tool_use", "id": "t1", "name": "files_list", "input": {}})),
                delta(0, &json!({"type": "input_json_delta", "partial_json": "{}"})),
                stop(0),
                start(1, &json!({"type": "tool_use", "id": "t2", "name": "files_read", "input": {}})),
                delta(1, &json!({"type": "input_json_delta", "partial_json": piece})),
                stop(1),
            ],
            reason,
        );
        let done = completion(&stream);
        let calls: Vec<_> =
            done.message.tool_calls().map(|call| call.arguments.json().cloned_error()).collect();
        assert_eq!(calls, [Ok("{}"), Err(ArgumentsError::Truncated)]);
        assert_eq!(done.finish_reason, FinishReason::Length);
    }
}

// anthropic.md 5: the limit may be reached right behind a call
#[test]
fn a_streamed_call_that_is_whole_is_kept_at_the_limit() {
    let begun = start(0, &json!({"type": "tool_use", "id": "t", "name": "files_read", "input": {}}));
    let piece = |json: &str| delta(0, &json!({"type": "input_json_delta", "partial_json": json}));
    let read = |body: &[u8]| {
        let done = completion(body);
        assert_eq!(done.finish_reason, FinishReason::Length);
        done.message.tool_calls().next().unwrap().arguments.json().cloned_error().map(str::to_owned)
    };
    let whole = reply(&[begun.clone(), piece(r#"{"path":"#), piece(r#" "a"}"#), stop(0)], "max_tokens");
    assert_eq!(read(&whole).as_deref(), Ok(r#"{"path": "a"}"#));
    let cut = reply(&[begun, piece(r#"{"path": "a""#), stop(0)], "max_tokens");
    assert_eq!(read(&cut), Err(ArgumentsError::Truncated));
    // Where no pieces came, the input may be what was left of one.
    let given = json!({"type": "tool_use", "id": "t", "name": "files_read", "input": {"path": "a"}});
    assert_eq!(read(&reply(&[start(0, &given), stop(0)], "max_tokens")), Err(ArgumentsError::Truncated));
}

trait ClonedError<'a> {
    fn cloned_error(self) -> Result<&'a str, ArgumentsError>;
}

impl<'a> ClonedError<'a> for Result<&'a str, &'a ArgumentsError> {
    fn cloned_error(self) -> Result<&'a str, ArgumentsError> {
        self.map_err(Clone::clone)
    }
}

#[test]
fn a24_events_without_a_type_are_skipped() {
    let mut stream =
        sse(&[json!({"amazon-bedrock-invocationMetrics": {"inputTokenCount": 1}, "delta": "odd"})]);
    stream.extend(reply(&[start(0, &json!({"type": "text", "text": "a"})), stop(0)], "end_turn"));
    assert_eq!(completion(&stream).message.text(), "a");
}

#[test]
fn a26_results_stand_alone_and_an_empty_end_is_reported() {
    let asked = call(1, "files.list", "{}");
    let body = body(&request([
        Message::user("a"),
        assistant([asked.clone().into()]),
        results([ToolResult::ok(&asked, "x")]),
    ]));
    assert_eq!(blocks(&body, 2).len(), 1);
    let empty = completion(&reply(&[], "end_turn"));
    assert!(empty.message.parts.is_empty());
    assert_eq!((empty.finish_reason, empty.usage.output_tokens), (FinishReason::Stop, Some(5)));
}

// anthropic.md 9: servers in front of the API break a stream off with JSON that stands in no field, or in one of its own
#[test]
fn errors_outside_of_the_data_of_a_stream_are_read() {
    let error = json!({"type": "overloaded_error", "message": "No."});
    let said = reply(&[start(0, &json!({"type": "text", "text": "Hi"}))], "end_turn");
    let said = String::from_utf8(said).unwrap().split("event: message_delta").next().unwrap().to_owned();
    for written in [
        format!("{:#}\n", json!({"type": "error", "error": error})),
        format!("{:#}\n", json!({"error": error})),
        format!("error: {}\n\n", json!({"error": error})),
        format!("data: {}\n\n", json!({"error": error})),
    ] {
        let replay = replay_pieces([said.clone(), written.clone()]);
        let error = replay.error.unwrap_or_else(|| panic!("{written} was skipped"));
        assert_eq!((error.kind(), error.message()), (ErrorKind::Overloaded, "No."), "{written}");
        assert_eq!(replay.completion.message.text(), "Hi");
    }
    let metrics = format!("{said}data: {}\n\n", json!({"error": null, "message": "so far so good"}));
    assert_eq!(replay_pieces([metrics]).error.map(|error| error.kind()), Some(ErrorKind::StreamCut));
}

// anthropic.md 5: a model that declines in the midst of its turn hands over to another one.
#[test]
fn a33_calls_of_a_model_that_declined_never_run() {
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "files_list", "input": {}});
    let to = |model: &str| json!({"type": "fallback", "from": {"model": MODEL}, "to": {"model": model}, "trigger": null});
    let text = json!({"type": "text", "text": "Else."});
    let begun = delta(0, &json!({"type": "input_json_delta", "partial_json": ""}));
    let stream = |last: Value, reason| {
        let mut events = vec![start(0, &call("t1")), begun.clone(), stop(0)];
        for (index, block) in [(1, to("model-b")), (2, to("model-c")), (3, last)] {
            events.extend([start(index, &block), stop(index)]);
        }
        reply(&events, reason)
    };
    let whole = |last: Value, reason| {
        let content = json!([call("t1"), to("model-b"), to("model-c"), last]);
        let body = json!({"type": "message", "model": "model-c", "content": content, "stop_reason": reason,
            "usage": {"input_tokens": 9, "output_tokens": 5}});
        body.to_string().into_bytes()
    };
    for body in [stream(text.clone(), "end_turn"), whole(text, "end_turn")] {
        let done = completion(&body);
        assert_eq!((done.finish_reason, done.model.as_deref()), (FinishReason::Stop, Some("model-c")));
        assert!(!done.message.has_tool_calls());
        assert_eq!((done.message.text().as_str(), done.message.parts.len()), ("Else.", 3));
    }
    // Those of the model that goes on do.
    for body in [stream(call("t2"), "tool_use"), whole(call("t2"), "tool_use")] {
        let done = completion(&body);
        let ids: Vec<_> =
            done.message.tool_calls().map(|call| call.provider_id.as_ref().unwrap().as_str()).collect();
        assert_eq!((ids, done.finish_reason), (vec!["t2"], FinishReason::ToolCalls));
    }
}
