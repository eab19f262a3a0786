//! Tools that Mistral runs itself: the answer is several messages (openai.md C.6).

#![cfg(test)]

use attache_core::{AssistantPart, ChatRequest, Completion, FinishReason, Message, Usage};
use attache_openai::ChatCodec;
use serde_json::{Value, json};

use crate::common::{calls, compatible, deltas_agree, encode, replay, reply, sse, user};

fn call(id: &str, name: &str, metadata: &Value) -> Value {
    json!({"id": id, "index": 0, "function": {"name": name, "arguments": "{\"a\":1}"}, "metadata": metadata})
}

fn result(id: &str, content: &Value) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": content})
}

fn whole(messages: &[Value], finish: &str) -> String {
    json!({"id": "a", "model": "m", "usage": {"prompt_tokens": 7, "completion_tokens": 3},
        "choices": [{"index": 0, "messages": messages, "finish_reason": finish}]})
    .to_string()
}

/// A chunk of the message with this number.
fn chunk(index: u64, mut delta: Value, finish: Option<&str>) -> Value {
    delta["index"] = json!(index);
    let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
    json!({"id": format!("part-{}", index / 2), "model": "m", "choices": [choice]})
}

/// The messages of the server's tools that are kept.
fn kept(completion: &Completion) -> Value {
    let kept = completion.message.parts.iter().filter_map(|part| match part {
        AssistantPart::Opaque(part) if part.kind == "messages" => {
            serde_json::from_str(part.replay.json()).ok()
        }
        _ => None,
    });
    Value::from_iter::<Vec<Value>>(kept.collect())
}

fn image() -> Value {
    json!({"tool_type": "image"})
}

#[test]
fn a_call_that_the_server_ran_is_none_for_the_client() {
    let asks = json!({"role": "assistant", "content": "", "tool_calls": [call("abc", "draw", &image())]});
    let says = json!({"role": "assistant", "content": "Your image."});
    let drawn = result("abc", &json!("{\"image\":\"x\"}"));
    let mut last = chunk(2, json!({"content": " image."}), Some("stop"));
    last["usage"] = json!({"prompt_tokens": 20, "completion_tokens": 4});
    let mut first = chunk(0, asks.clone(), Some("tool_calls"));
    first["usage"] = json!({"prompt_tokens": 10, "completion_tokens": 5});
    let streamed = sse(&[
        first,
        chunk(1, result("abc", &json!("{\"image\":")), None),
        // Without a role it goes on with its message.
        chunk(1, json!({"content": "\"x\"}"}), None),
        chunk(2, json!({"role": "assistant", "content": "Your"}), None),
        last,
    ]);
    let whole = reply(&whole(&[asks, drawn.clone(), says], "stop"));
    let streamed = reply(&streamed);
    assert_eq!(whole.usage.clone().with_raw(None), Usage::new(7, 3));
    assert_eq!(streamed.usage, Usage::new(30, 9), "each part counts for itself");
    let function = json!({"name": "draw", "arguments": "{\"a\":1}"});
    let ran = json!([{"role": "assistant", "tool_calls": [{"id": "abc", "function": function, "metadata": image()}]}, drawn]);
    for completion in [whole, streamed] {
        assert_eq!((completion.message.text().as_str(), calls(&completion)), ("Your image.", vec![]));
        assert_eq!((&completion.finish_reason, kept(&completion)), (&FinishReason::Stop, json!([ran])));
        let request =
            ChatRequest::new([user("Draw"), Message::Assistant(completion.message).shared(), user("Bluer")]);
        let body = encode(&ChatCodec::new(compatible(), "m"), &request).parts.body.to_vec();
        let sent = serde_json::from_slice::<Value>(&body).unwrap()["messages"][1].clone();
        assert_eq!(sent, json!({"role": "assistant", "content": "Your image."}));
    }
}

#[test]
fn a_call_is_the_clients_without_a_result_and_without_metadata() {
    let searched = call("one", "search", &Value::Null);
    let mut bare = call("two", "clock", &Value::Null);
    bare.as_object_mut().unwrap().remove("metadata");
    let messages = [
        json!({"role": "assistant", "content": "I look.", "tool_calls": [searched]}),
        result("one", &json!([{"type": "text", "text": "rain"}])),
        json!({"role": "assistant", "content": "And the time.", "tool_calls": [bare],}),
    ];
    let chunks = (0..).zip(&messages).map(|(index, message)| chunk(index, message.clone(), None));
    let last = chunk(2, json!({}), Some("tool_calls"));
    let streamed = sse(&chunks.chain([last]).collect::<Vec<_>>());
    for body in [whole(&messages, "tool_calls"), streamed] {
        let replay = replay(&body);
        assert!(replay.error.is_none(), "{:?}", replay.error);
        let completion = replay.completion;
        assert_eq!(
            calls(&completion),
            [("clock".to_owned(), Some("two".to_owned()), "{\"a\":1}".to_owned())]
        );
        let texts = completion.message.parts.iter().filter_map(|part| match part {
            AssistantPart::Text(text) => Some(text.text()),
            _ => None,
        });
        assert_eq!(texts.collect::<Vec<_>>(), ["I look.", "And the time."], "{body}");
        let ran = &kept(&completion)[0];
        assert_eq!((&ran[0]["tool_calls"][0]["id"], &ran[1]), (&json!("one"), &messages[1]));
        assert_eq!(completion.finish_reason, FinishReason::ToolCalls);
    }
}

// The pieces of a call have its name in the first alone; the data of a message tell of its calls, too.
#[test]
fn pieces_of_a_call_of_the_server_are_put_together() {
    let piece = |call: Value| json!({"tool_calls": [call]});
    let mut first =
        piece(json!({"index": 0, "id": "abc", "function": {"name": "draw", "arguments": "{\"a\""}}));
    first["metadata"] = image();
    let streamed = sse(&[
        chunk(0, first, None),
        chunk(0, piece(json!({"index": 0, "function": {"arguments": ":1}"}})), None),
        chunk(1, result("abc", &Value::Null), None),
        chunk(2, json!({"content": "Done."}), Some("stop")),
    ]);
    let replay = replay(&streamed);
    deltas_agree(&replay.chunks, &replay.completion);
    assert_eq!((replay.completion.message.text().as_str(), calls(&replay.completion)), ("Done.", vec![]));
    let ran = &kept(&replay.completion)[0];
    assert_eq!(ran[0]["tool_calls"][0]["function"]["arguments"], "{\"a\":1}");
    assert_eq!(ran[0]["tool_calls"][0]["metadata"], image());
}
