//! A thing that a server says as a whole beside its pieces completes them and adds nothing.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken expectation is a failed test"
)]

use attache_openai::{Profile, ThinkTags};
use serde_json::{Value, json};

use crate::common::answers::{self, added, begun, completed, message, text};
use crate::common::{calls, delta, deltas_agree, replay_with, reply, sse};

/// A chunk with the message so far beside its delta, as Perplexity sends it.
fn beside(mut chunk: Value, message: &Value) -> Value {
    chunk["choices"][0]["message"] = message.clone();
    chunk
}

// openai.md C.0
#[test]
fn the_message_so_far_beside_each_delta_is_read_once() {
    let so_far = |text: &str| json!({"role": "assistant", "content": text});
    let body = sse(&[
        beside(delta(json!({"role": "assistant", "content": "Rust "}), None), &so_far("Rust ")),
        beside(delta(json!({"content": "is "}), None), &so_far("Rust is ")),
        beside(delta(json!({"content": "safe."}), None), &so_far("Rust is safe.")),
        beside(delta(json!({"content": ""}), Some("stop")), &so_far("Rust is safe.")),
    ]);
    assert_eq!(reply(&body).message.text(), "Rust is safe.");
    // The message is ahead of its deltas, or alone.
    let body = sse(&[
        beside(delta(json!({"content": "Rust "}), None), &so_far("Rust is ")),
        beside(delta(json!({"content": ""}), Some("stop")), &so_far("Rust is safe.")),
    ]);
    assert_eq!(reply(&body).message.text(), "Rust is safe.");
    let body = sse(&[
        json!({"choices": [{"index": 0, "message": so_far("Rust is ")}]}),
        json!({"choices": [{"index": 0, "message": so_far("Rust is safe."), "finish_reason": "stop"}]}),
    ]);
    assert_eq!(reply(&body).message.text(), "Rust is safe.");
    // It says something else: what was handed out stays.
    let body = sse(&[beside(delta(json!({"content": "Rust"}), Some("stop")), &so_far("C, of course"))]);
    assert_eq!(reply(&body).message.text(), "Rust");
}

#[test]
fn reasoning_of_the_message_so_far_is_read_once() {
    let tagged = |text: &str| json!({"content": text});
    let mut profile = Profile::compatible("compatible", "http://localhost");
    profile.think_tags = ThinkTags::AtStart;
    let body = sse(&[
        beside(delta(tagged("<think>a"), None), &tagged("<think>a")),
        beside(delta(tagged(" b</think>\n\nHi"), None), &tagged("<think>a b</think>\n\nHi")),
        beside(delta(tagged(""), Some("stop")), &tagged("<think>a b</think>\n\nHi there")),
    ]);
    let replay = replay_with(profile, &body);
    deltas_agree(&replay.chunks, &replay.completion);
    let message = replay.completion.message;
    assert_eq!((message.thinking().as_str(), message.text().as_str()), ("a b", "Hi there"));

    let whole = json!({"reasoning_content": "a b", "content": "Hi"});
    let body = sse(&[
        beside(delta(json!({"reasoning_content": "a"}), None), &json!({"reasoning_content": "a"})),
        beside(delta(json!({"content": "Hi"}), Some("stop")), &whole),
    ]);
    let message = reply(&body).message;
    assert_eq!((message.thinking().as_str(), message.text().as_str()), ("a b", "Hi"));
}

#[test]
fn calls_of_the_message_so_far_are_made_once() {
    let call = |id: &str, index: Value, arguments: &str| json!({"id": id, "index": index, "type": "function", "function": {"name": "f", "arguments": arguments}});
    let pieces = |last: Value| {
        sse(&[
            delta(json!({"tool_calls": [call("c1", json!(0), "{\"a\":")]}), None),
            delta(json!({"tool_calls": [{"index": 0, "function": {"arguments": "1}"}}]}), None),
            delta(json!({"tool_calls": [call("c2", json!(1), "{\"a\":2}")]}), None),
            beside(delta(json!({}), Some("tool_calls")), &json!({"content": null, "tool_calls": last})),
        ])
    };
    let made = |last: Value| calls(&reply(&pieces(last)));
    let expected = made(json!([]));
    assert_eq!(expected.len(), 2);
    for wholes in [
        json!([call("c1", json!(0), "{\"a\":1}"), call("c2", json!(1), "{\"a\":2}")]),
        json!([call("c1", json!(1), "{\"a\":1}"), call("c2", json!(2), "{\"a\":2}")]),
        json!([call("c2", json!(0), "{\"a\":2}"), call("c1", json!(0), "{\"a\":1}")]),
        json!([call("x", json!(null), "{\"a\":1}"), call("y", json!(null), "{\"a\":2}")]),
        json!([call("", json!(null), "{\"a\":2}")]),
    ] {
        assert_eq!(made(wholes.clone()), expected, "{wholes}");
    }
    // One that nothing came of is a call all the same, and one that was cut is completed.
    let more = made(json!([call("c3", json!(0), "{}")]));
    assert_eq!(more.len(), 3);
    let body = sse(&[
        delta(json!({"tool_calls": [call("c1", json!(0), "{\"a\":")]}), None),
        beside(
            delta(json!({}), Some("tool_calls")),
            &json!({"tool_calls": [call("c1", json!(3), "{\"a\":1}")]}),
        ),
    ]);
    assert_eq!(calls(&reply(&body)), [("f".to_owned(), Some("c1".to_owned()), "{\"a\":1}".to_owned())]);
}

// openai.md B.6: as a gpt-oss model behind Bedrock's own endpoint sends it
#[test]
fn a_text_whose_part_has_another_number_in_the_item_is_read_once() {
    let part = |index: u64, delta: &str| {
        let mut event = text(0, "msg_1", delta);
        event["content_index"] = json!(index);
        event
    };
    let full = |index: Value, said: &str| json!({"type": "response.output_text.done", "output_index": 0, "item_id": "msg_1", "content_index": index, "text": said});
    let end = || [answers::done(0, &message("msg_1", "Hello")), completed(&[message("msg_1", "Hello")])];
    let pieces = [added(0, &begun("msg_1")), part(1, "Hel"), part(1, "lo")];
    for between in [
        vec![],
        vec![full(json!(1), "Hello")],
        vec![full(json!(0), "Hello")],
        vec![full(Value::Null, "Hello")],
    ] {
        let all: Vec<Value> = pieces.iter().cloned().chain(between.clone()).chain(end()).collect();
        assert_eq!(answers::reply(&all).message.text(), "Hello", "{between:?}");
    }
    // Two texts alike are two, where the item has two.
    let mut twice = message("msg_1", "Hello");
    let again = twice["content"][0].clone();
    twice["content"].as_array_mut().unwrap().push(again);
    let all = [added(0, &begun("msg_1")), part(1, "Hello"), answers::done(0, &twice), completed(&[twice])];
    assert_eq!(answers::reply(&all).message.text(), "HelloHello");
}
