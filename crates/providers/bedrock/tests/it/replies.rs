//! Replies: blocks become parts, whole or streamed, and nothing that is unknown breaks anything.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::wildcard_imports,
    reason = "helpers of tests are not recognised as tests"
)]

use std::sync::Arc;

use crate::common::*;
use attache_conformance::event_frame;
use attache_core::{AssistantPart, ErrorKind, FinishReason, Message, StreamChunk, ToolSet};
use attache_transport::cassette::chunked;
use attache_transport::{ChunkSink, Codec as _};
use bytes::Bytes;
use serde_json::{Value, json};

fn text(text: &str) -> Value {
    json!({"text": text})
}

fn input(json: &str) -> Value {
    json!({"toolUse": {"input": json}})
}

fn tool(id: &str, name: &str) -> Value {
    json!({"toolUse": {"toolUseId": id, "name": name}})
}

/// The parts in a form that shows their kinds and order.
fn shape(parts: &[AssistantPart]) -> Vec<String> {
    let shape = |part: &AssistantPart| match part {
        AssistantPart::Text(text) => format!("text {}", text.text()),
        AssistantPart::Reasoning(part) => format!(
            "thinking {}{}{}",
            part.text(),
            if part.is_redacted() { "hidden" } else { "" },
            part.replay().map(|replay| format!(" {}", replay.json())).unwrap_or_default()
        ),
        AssistantPart::ToolCall(call) => format!("call {} {}", call.name, call.arguments.raw()),
        AssistantPart::Opaque(part) => format!("{} {}", part.kind, part.replay.json()),
        _ => "?".to_owned(),
    };
    parts.iter().map(shape).collect()
}

// Invariant 6, bedrock.md 4 and 7
#[test]
fn streamed_or_whole_is_the_same() {
    let streamed = reply(
        &[
            delta(0, &json!({"reasoningContent": {"text": "Hm"}})),
            delta(0, &json!({"reasoningContent": {"text": "m."}})),
            delta(0, &json!({"reasoningContent": {"signature": "sig"}})),
            stop(0),
            delta(1, &json!({"reasoningContent": {"redactedContent": "c2VjcmV0"}})),
            stop(1),
            delta(2, &text("Let me \"look\".")),
            stop(2),
            start(3, &tool("t1", "files_read")),
            delta(3, &input("{\"path\":")),
            delta(3, &input("\"a\"}")),
            stop(3),
            start(
                4,
                &json!({"toolUse": {"toolUseId": "s1", "name": "nova_grounding", "type": "server_tool_use"}}),
            ),
            delta(4, &input("{\"q\":1.50}")),
            stop(4),
            start(5, &json!({"toolResult": {"toolUseId": "s1", "status": "success", "type": "x_result"}})),
            delta(5, &json!({"toolResult": [{"json": {"a": 1}}]})),
            delta(5, &json!({"toolResult": [{"text": "b"}]})),
            stop(5),
        ],
        "tool_use",
    );
    let blocks = json!([
        {"reasoningContent": {"reasoningText": {"text": "Hmm.", "signature": "sig"}}},
        {"reasoningContent": {"redactedContent": "c2VjcmV0"}},
        {"text": "Let me \"look\"."},
        {"toolUse": {"toolUseId": "t1", "name": "files_read", "input": {"path": "a"}}},
        {"toolUse": {"toolUseId": "s1", "name": "nova_grounding", "type": "server_tool_use", "input": {"q": 1.50}}},
        {"toolResult": {"toolUseId": "s1", "status": "success", "type": "x_result",
            "content": [{"json": {"a": 1}}, {"text": "b"}]}}
    ]);
    let (streamed, whole) = (completion(&streamed), completion(&whole(&blocks, "tool_use")));
    assert_eq!(
        shape(&streamed.message.parts),
        [
            "thinking Hmm. {\"signature\":\"sig\"}",
            "thinking hidden {\"redactedContent\":\"c2VjcmV0\"}",
            "text Let me \"look\".",
            "call files_read {\"path\":\"a\"}",
            "server_tool_use {\"toolUse\":{\"toolUseId\":\"s1\",\"name\":\"nova_grounding\",\"type\":\"server_tool_use\",\"input\":{\"q\":1.50}}}",
            "toolResult {\"toolResult\":{\"toolUseId\":\"s1\",\"status\":\"success\",\"type\":\"x_result\",\"content\":[{\"json\":{\"a\":1}},{\"text\":\"b\"}]}}",
        ]
    );
    // A value tree writes 1.5 where the stream said 1.50.
    let whole_shape: Vec<String> =
        shape(&whole.message.parts).iter().map(|part| part.replace("1.5}", "1.50}")).collect();
    assert_eq!(shape(&streamed.message.parts), whole_shape);
    assert_eq!((streamed.finish_reason, &streamed.usage), (FinishReason::ToolCalls, &whole.usage));
    assert_eq!(streamed.raw_finish_reason, whole.raw_finish_reason);
    assert_eq!(streamed.usage.input_tokens, Some(9));
}

// bedrock.md 3: both members are demanded where the blocks go back.
#[test]
fn blocks_of_server_tools_without_pieces_are_complete() {
    let call = json!({"toolUse": {"toolUseId": "s1", "name": "x", "type": "server_tool_use"}});
    let result = json!({"toolResult": {"toolUseId": "s1", "type": "x_result"}});
    let body = reply(&[start(0, &call), stop(0), start(1, &result), stop(1)], "end_turn");
    let expected = [
        r#"server_tool_use {"toolUse":{"toolUseId":"s1","name":"x","type":"server_tool_use","input":{}}}"#,
        r#"toolResult {"toolResult":{"toolUseId":"s1","type":"x_result","content":[]}}"#,
    ];
    assert_eq!(shape(&completion(&body).message.parts), expected);
}

// bedrock.md 2
#[test]
fn what_the_caller_asked_to_be_told_is_metadata() {
    let fields = json!({"stop_sequence": "END", "other": 1});
    let beside = json!({"trace": {"guardrail": {"actionReason": "No."}}, "serviceTier": {"type": "flex"},
        "performanceConfig": {"latency": "standard"}});
    let usage = json!({"inputTokens": 9, "outputTokens": 5});
    let mut last = beside.clone();
    last["usage"] = usage;
    let stopped = json!({"stopReason": "stop_sequence", "additionalModelResponseFields": fields});
    let streamed = [delta(0, &text("a")), event("messageStop", &stopped), event("metadata", &last)].concat();
    let mut whole = json!({"output": {"message": {"content": [text("a")]}}});
    for (name, value) in [&stopped, &last].into_iter().flat_map(|part| part.as_object().unwrap()) {
        whole[name] = value.clone();
    }
    let mut expected = json!({"stopSequence": "END", "additionalModelResponseFields": {"other": 1}});
    expected.as_object_mut().unwrap().extend(beside.as_object().unwrap().clone());
    for body in [streamed, whole.to_string().into_bytes()] {
        let done = completion(&body);
        assert_eq!(json!(done.message.metadata.entries()), expected);
        assert_eq!((done.usage.input_tokens, done.message.text()), (Some(9), "a".to_owned()));
    }
    let plain = json!({"stop_sequence": null});
    let plain =
        [event("messageStop", &json!({"stopReason": "end_turn", "additionalModelResponseFields": plain}))];
    assert!(
        completion(&[plain.concat(), metadata()].concat()).message.metadata.get("stopSequence").is_none()
    );
}

#[test]
fn tools_have_their_own_names_again() {
    let body = reply(&[start(0, &tool("t1", "files_read")), stop(0)], "tool_use");
    let mut decoder = codec().decoder(Arc::new(tools()), Vec::new());
    let mut out = ChunkSink::new();
    decoder.push(&body, &mut out).unwrap();
    let done = std::iter::from_fn(|| out.pop()).last();
    let Some(StreamChunk::Done(done)) = done else { panic!("{done:?}") };
    assert_eq!(done.message.tool_calls().next().unwrap().name, "files.read");
    assert!(ToolSet::default().is_empty());
}

// Pieces that may come some day, or from other models, break nothing.
#[test]
fn unknown_things_are_passed_over() {
    let later = event_frame(&[(":message-type", "event"), (":event-type", "futureEvent")], b"no json");
    let strange = event_frame(&[(":message-type", "hint"), ("x", "y")], b"");
    let body = reply(
        &[
            later.to_vec(),
            strange.to_vec(),
            start(0, &json!({"hologram": {"depth": 3}})),
            delta(0, &json!({"hologram": {"voxels": "…"}})),
            stop(0),
            delta(7, &json!({"text": "a", "mood": {"glad": true}})),
            delta(7, &json!({"mood": 1})),
            delta(7, &json!({})),
            delta(7, &json!({"text": null, "toolUse": null, "reasoningContent": null})),
            event("contentBlockDelta", &json!({"contentBlockIndex": null, "delta": {"text": "b"}})),
            event("contentBlockDelta", &json!({"contentBlockIndex": 7})),
            event("contentBlockStart", &json!({"contentBlockIndex": 9, "start": {}})),
            event("contentBlockStart", &json!({"contentBlockIndex": 9, "start": null})),
            event("contentBlockStop", &json!({})),
        ],
        "a_new_reason",
    );
    let done = completion(&body);
    assert_eq!(shape(&done.message.parts), ["hologram {\"hologram\":{\"depth\":3}}", "text ab"]);
    assert_eq!(done.finish_reason, FinishReason::Other("a_new_reason".into()));
    let blocks = json!([{"hologram": {"depth": 3}}, {}, {"text": null}, {"text": "a", "x": 1}]);
    let done = completion(&whole(&blocks, "a_new_reason"));
    assert_eq!(shape(&done.message.parts), ["hologram {\"hologram\":{\"depth\":3}}", "text a"]);
}

#[test]
fn sparse_replies() {
    for body in [
        json!({"output": {"message": {"content": null}}}),
        json!({"output": {"message": null}, "stopReason": null, "usage": null}),
        json!({"output": {}}),
    ] {
        let done = completion(body.to_string().as_bytes());
        assert!(done.message.parts.is_empty() && done.usage.raw.is_none(), "{body}");
        assert_eq!((done.finish_reason, done.raw_finish_reason), (FinishReason::Stop, None));
    }
    // bedrock.md 7: a stream may lack its metadata
    let done = completion(&[delta(0, &text("a")), message_stop("end_turn")].concat());
    assert_eq!((done.message.text().as_str(), done.usage.input_tokens), ("a", None));
}

// bedrock.md 4
#[test]
fn sound_is_a_document() {
    for (format, media_type) in
        [("mp3", "audio/mpeg"), ("wav", "audio/wav"), ("m4a", "audio/mp4"), ("flac", "audio/flac")]
    {
        let sound = json!({"audio": {"format": format, "source": {"bytes": "AAECAw=="}}});
        let message = completion(&whole(&json!([{"text": "Hear:"}, sound]), "end_turn")).message;
        let documents: Vec<_> = message.documents().collect();
        assert_eq!((message.parts.len(), documents.len()), (2, 1), "{format}");
        assert_eq!(documents[0].media_type().essence(), media_type);
        assert_eq!(documents[0].bytes().unwrap(), &b"\0\x01\x02\x03"[..]);
        let messages = [Message::user("Sing"), Message::Assistant(message), Message::user("Louder")];
        let sent = self::body(&request(messages))["messages"][1]["content"].clone();
        let note =
            format!("[You made a document of type {media_type} here. It cannot be shown in this place.]");
        assert_eq!(sent, json!([{"text": "Hear:"}, {"text": note}]));
    }
}

#[test]
fn images_come_in_pieces() {
    let body = reply(
        &[
            start(0, &json!({"image": {"format": "png"}})),
            delta(0, &json!({"image": {"source": {"bytes": "iVBORw=="}}})),
            delta(0, &json!({"image": {"source": {"bytes": "DQo="}}})),
            stop(0),
        ],
        "end_turn",
    );
    let image = json!({"image": {"format": "png", "source": {"bytes": "iVBORw0K"}}});
    for body in [body, whole(&json!([image]), "end_turn")] {
        let message = completion(&body).message;
        let documents: Vec<_> = message.documents().collect();
        assert_eq!((message.parts.len(), documents.len()), (1, 1));
        assert_eq!(documents[0].media_type().essence(), "image/png");
        assert_eq!(documents[0].bytes().unwrap(), &b"\x89PNG\r\n"[..]);
        // The assistant's side takes no images: the model is told that it made one.
        let messages = [Message::user("Draw"), Message::Assistant(message), Message::user("Bluer")];
        let sent = self::body(&request(messages))["messages"][1]["content"].clone();
        let note = "[You made a document of type image/png here. It cannot be shown in this place.]";
        assert_eq!(sent, json!([{"text": note}]));
    }
    // Half an image is none; one that came to its end is, whatever breaks behind it.
    let begun = [
        start(0, &json!({"image": {"format": "png"}})),
        delta(0, &json!({"image": {"source": {"bytes": "iVBORw=="}}})),
    ];
    for (pieces, count) in [(begun.concat(), 0), ([begun.concat(), stop(0)].concat(), 1)] {
        let message =
            replay_pieces([[event("messageStart", &json!({"role": "assistant"})), pieces].concat()])
                .completion
                .message;
        assert_eq!((message.parts.len(), message.documents().count()), (1, count));
    }
    let address = json!({"image": {"format": "png", "source": {"s3Location": {"uri": "s3://b/k"}}}});
    let message = completion(&whole(&json!([address]), "end_turn")).message;
    assert_eq!(shape(&message.parts), [format!("image {address}")], "only an address of one");
    let error = json!({"error": {"message": "The image was blocked."}});
    let failed = reply(
        &[
            start(0, &json!({"image": {"format": "png"}})),
            delta(0, &json!({"image": {"source": {"bytes": "iVBORw=="}}})),
            delta(0, &json!({"image": error})),
            stop(0),
        ],
        "end_turn",
    );
    let message = completion(&failed).message;
    assert_eq!(message.documents().count(), 0, "it could not be made");
    let AssistantPart::Opaque(part) = &message.parts[0] else { panic!("{message:?}") };
    let kept: Value = serde_json::from_str(part.replay.json()).unwrap();
    assert_eq!(kept["image"]["error"], error["error"]);
    let hidden = reply(
        &[
            delta(0, &json!({"reasoningContent": {"redactedContent": "YQ=="}})),
            delta(0, &json!({"reasoningContent": {"redactedContent": "Yg=="}})),
        ],
        "end_turn",
    );
    assert_eq!(shape(&completion(&hidden).message.parts), ["thinking hidden {\"redactedContent\":\"YWI=\"}"]);
}

// P24
#[test]
fn ends() {
    for (word, reason) in [
        ("end_turn", FinishReason::Stop),
        ("stop_sequence", FinishReason::Stop),
        ("max_tokens", FinishReason::Length),
        ("model_context_window_exceeded", FinishReason::Length),
        ("guardrail_intervened", FinishReason::ContentFilter),
        ("content_filtered", FinishReason::ContentFilter),
        ("refusal", FinishReason::Refusal),
        ("tool_use", FinishReason::Stop),
    ] {
        for body in [reply(&[delta(0, &text("Sorry"))], word), whole(&json!([{"text": "Sorry"}]), word)] {
            let done = completion(&body);
            assert_eq!((&done.finish_reason, done.message.text().as_str()), (&reason, "Sorry"), "{word}");
            assert_eq!(done.raw_finish_reason.as_deref(), Some(word));
        }
    }
    // A call that the reply ended in is never executed, one before it is.
    for word in ["max_tokens", "guardrail_intervened"] {
        let blocks = [
            start(0, &tool("t1", "a")),
            delta(0, &input("{}")),
            start(1, &tool("t2", "b")),
            delta(1, &input("{\"x\":")),
        ];
        let done = completion(&reply(&blocks, word));
        let valid: Vec<bool> = done.message.tool_calls().map(|call| call.arguments.json().is_ok()).collect();
        assert_eq!(valid, [true, false], "{word}");
        let whole = [start(0, &tool("t1", "a")), delta(0, &input("{\"x\":1}")), stop(0)];
        let done = completion(&reply(&whole, word));
        let is_kept = done.message.tool_calls().all(|call| call.arguments.json().is_ok());
        assert_eq!(is_kept, word == "max_tokens", "{word}: a call that is whole is kept at the limit alone");
    }
}

// bedrock.md 4: `malformed_*`
#[test]
fn garbled_model_output_is_an_error() {
    for word in ["malformed_tool_use", "malformed_model_output"] {
        for body in [reply(&[delta(0, &text("{"))], word), whole(&json!([{"text": "{"}]), word)] {
            let replay = replay_pieces([body]);
            let error = replay.error.unwrap();
            assert_eq!((error.kind(), error.code()), (ErrorKind::Malformed, Some(word)));
            // Its result and its cost are known.
            assert_eq!(replay.completion.message.text(), "{");
            assert_eq!(replay.completion.usage.output_tokens, Some(5));
        }
    }
}

// bedrock.md 7: framing
#[test]
fn cuts_and_garbage() {
    let body = reply(&[delta(0, &text("Hello")), stop(0)], "end_turn");
    let last = metadata().len();
    for end in 0..body.len() {
        let replay = replay_pieces([&body[..end]]);
        if end == body.len() - last {
            // Only its cost is missing.
            assert!(replay.error.is_none(), "{end}");
            continue;
        }
        let error = replay.error.unwrap();
        assert_eq!(error.kind(), ErrorKind::StreamCut, "{end}");
        assert!("Hello".starts_with(&replay.completion.message.text()));
    }
    for seed in 0..20 {
        let done = replay_pieces(chunked(&Bytes::from(body.clone()), seed));
        assert_eq!(done.completion.message.text(), "Hello");
    }
    let mut broken = body;
    broken[200] ^= 1;
    assert_eq!(decode(&broken).unwrap_err().kind(), ErrorKind::Malformed);
    for (body, kind) in [
        (&b"<html><title>504</title></html>"[..], ErrorKind::Malformed),
        (b"{\"output\":", ErrorKind::Malformed),
        (b"[]", ErrorKind::Malformed),
        (b"plain words", ErrorKind::Malformed),
        (b"{\"hello\":1}", ErrorKind::Malformed),
        (b"", ErrorKind::StreamCut),
        (b"  \n", ErrorKind::StreamCut),
    ] {
        assert_eq!(decode(body).unwrap_err().kind(), kind, "{}", String::from_utf8_lossy(body));
    }
    let bad = event("contentBlockDelta", &json!({"contentBlockIndex": 0, "delta": {"text": 5}}));
    assert_eq!(decode(&bad).unwrap_err().kind(), ErrorKind::Malformed);
    let lost = reply(&[delta(3, &input("{}"))], "tool_use");
    assert_eq!(decode(&lost).unwrap_err().kind(), ErrorKind::Malformed);
}

// Nothing that comes after the end is looked at.
#[test]
fn the_end_is_the_end() {
    let body = [reply(&[delta(0, &text("a"))], "end_turn"), delta(0, &text("late"))].concat();
    assert_eq!(completion(&body).message.text(), "a");
    let many: Vec<Vec<u8>> = (0..10_001).map(|index| delta(index, &text("a"))).collect();
    assert_eq!(decode(&reply(&many, "end_turn")).unwrap_err().kind(), ErrorKind::Malformed);
}
