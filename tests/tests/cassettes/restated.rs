//! Snapshots beside their pieces, put into recorded streams: with the indexes of the pieces, with others,
//! and without any. It completes the pieces and adds nothing.

use attache_tests::recorded::Recorded;
use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::changes::{Change, edited};

pub(crate) const RESTATED: [(&str, Change); 22] = [
    ("the message so far beside each delta", |recorded| chat(recorded, Beside::Each, same)),
    ("the message so far, calls counted from 1", |recorded| chat(recorded, Beside::Each, shifted)),
    ("the message so far, calls not counted", |recorded| chat(recorded, Beside::Each, missing)),
    ("the message so far, calls all counted 0", |recorded| chat(recorded, Beside::Each, repeated)),
    ("the message at the end", |recorded| chat(recorded, Beside::Last, same)),
    ("the message at the end, calls counted from 1", |recorded| chat(recorded, Beside::Last, shifted)),
    ("the message at the end, calls without ids", |recorded| chat(recorded, Beside::Last, unidentified)),
    ("the message alone behind the last delta", |recorded| chat(recorded, Beside::Behind, missing)),
    ("wholes of other parts", |recorded| wholes(recorded, |event| shift(event, &PARTS))),
    ("wholes of other items", |recorded| wholes(recorded, |event| shift(event, &ITEMS))),
    ("wholes of other items, without ids", |recorded| {
        wholes(recorded, |event| {
            shift(event, &ITEMS);
            remove(event, &["item_id"]);
        })
    }),
    ("wholes without indexes", |recorded| wholes(recorded, |event| remove(event, &INDEXES))),
    ("wholes without indexes and ids", |recorded| {
        wholes(recorded, |event| {
            remove(event, &INDEXES);
            remove(event, &["item_id"]);
        })
    }),
    ("wholes of the first part and item", |recorded| wholes(recorded, |event| zero(event, &INDEXES))),
    ("pieces of other parts", |recorded| pieces(recorded, |event| shift(event, &PARTS))),
    ("wholes twice", |recorded| {
        events(recorded, "openai-responses", |event| {
            let times = if is_whole(&event) { 2 } else { 1 };
            vec![event; times]
        })
    }),
    ("wholes twice, of other items", |recorded| {
        events(recorded, "openai-responses", |event| {
            let mut again = event.clone();
            shift(&mut again, &ITEMS);
            if is_whole(&event) { vec![event, again] } else { vec![event] }
        })
    }),
    ("only the whole answer at the end", |recorded| {
        events(recorded, "openai-responses", |event| if is_whole(&event) { vec![] } else { vec![event] })
    }),
    ("blocks whole at their end", anthropic),
    ("the message whole in its last line", ollama),
    ("the content whole at its end", cohere),
    ("candidates without indexes", unnumbered),
];

const PARTS: [&str; 2] = ["content_index", "summary_index"];
const ITEMS: [&str; 1] = ["output_index"];
const INDEXES: [&str; 3] = ["content_index", "summary_index", "output_index"];

fn shift(event: &mut Value, names: &[&str]) {
    for name in names {
        if let Some(index) = event.get_mut(*name).and_then(|value| Some((value.as_u64()?, value))) {
            *index.1 = json!(index.0 + 1);
        }
    }
}

fn remove(event: &mut Value, names: &[&str]) {
    if let Some(event) = event.as_object_mut() {
        event.retain(|name, _| !names.contains(&name.as_str()));
    }
}

fn zero(event: &mut Value, names: &[&str]) {
    for name in names {
        if let Some(index) = event.get_mut(*name) {
            *index = json!(0);
        }
    }
}

/// True if an event of a Responses stream says something as a whole.
fn is_whole(event: &Value) -> bool {
    let kind = event["type"].as_str().unwrap_or_default();
    kind.ends_with(".done") && kind != "response.done"
}

fn wholes(recorded: &Recorded, change: impl Fn(&mut Value)) -> Option<Bytes> {
    events(recorded, "openai-responses", |mut event| {
        if is_whole(&event) {
            change(&mut event);
        }
        vec![event]
    })
}

fn pieces(recorded: &Recorded, change: impl Fn(&mut Value)) -> Option<Bytes> {
    events(recorded, "openai-responses", |mut event| {
        if event["type"].as_str().is_some_and(|kind| kind.ends_with(".delta")) {
            change(&mut event);
        }
        vec![event]
    })
}

/// The stream with other events, each under the name that its data have; `None` for what is no stream of the protocol.
fn events(recorded: &Recorded, protocol: &str, mut change: impl FnMut(Value) -> Vec<Value>) -> Option<Bytes> {
    let body = recorded.response.body.bytes();
    let text = std::str::from_utf8(&body).ok().filter(|_| recorded.protocol == protocol)?;
    let mut data = text.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim).peekable();
    data.peek()?;
    let mut changed = String::new();
    for data in data {
        let Ok(event) = serde_json::from_str::<Value>(data) else {
            changed.push_str(&format!("data: {data}\n\n"));
            continue;
        };
        for event in change(event) {
            if let Some(name) = event["type"].as_str() {
                changed.push_str(&format!("event: {name}\n"));
            }
            changed.push_str(&format!("data: {event}\n\n"));
        }
    }
    Some(changed.into())
}

/// The place of the whole message of Chat Completions.
#[derive(Clone, Copy, PartialEq)]
enum Beside {
    /// Beside each delta.
    Each,
    /// Beside the delta that ends the choice.
    Last,
    /// In a chunk of its own behind it.
    Behind,
}

type Renumber = fn(usize, &mut Map<String, Value>);

fn same(_: usize, _: &mut Map<String, Value>) {}

fn shifted(at: usize, call: &mut Map<String, Value>) {
    call.insert("index".to_owned(), json!(at + 1));
}

fn missing(_: usize, call: &mut Map<String, Value>) {
    call.remove("index");
}

fn repeated(_: usize, call: &mut Map<String, Value>) {
    call.insert("index".to_owned(), json!(0));
}

fn unidentified(_: usize, call: &mut Map<String, Value>) {
    call.remove("index");
    call.remove("id");
}

fn chat(recorded: &Recorded, beside: Beside, renumber: Renumber) -> Option<Bytes> {
    let mut messages: Vec<(u64, Value)> = Vec::new();
    events(recorded, "openai-chat", |mut chunk| {
        let mut behind = Vec::new();
        for choice in chunk["choices"].as_array_mut().into_iter().flatten() {
            let index = choice["index"].as_u64().unwrap_or_default();
            if !messages.iter().any(|(known, _)| *known == index) {
                messages.push((index, json!({"role": "assistant"})));
            }
            let message = messages.iter_mut().find(|(known, _)| *known == index).map(|(_, message)| message);
            let (Some(message), Some(choice)) = (message, choice.as_object_mut()) else { continue };
            if let Some(delta) = choice.get("delta") {
                grow(message, delta);
            }
            let mut whole = message.clone();
            for (at, call) in whole["tool_calls"].as_array_mut().into_iter().flatten().enumerate() {
                if let Some(call) = call.as_object_mut() {
                    renumber(at, call);
                }
            }
            let ends = choice.get("finish_reason").is_some_and(Value::is_string);
            if beside == Beside::Each || beside == Beside::Last && ends {
                choice.insert("message".to_owned(), whole);
            } else if beside == Beside::Behind && ends {
                behind.push(json!({"choices": [{"index": index, "message": whole}]}));
            }
        }
        let mut chunks = vec![chunk];
        chunks.append(&mut behind);
        chunks
    })
}

/// Adds a delta to the message so far.
fn grow(message: &mut Value, delta: &Value) {
    for name in ["content", "refusal", "reasoning", "reasoning_content"] {
        match (&mut message[name], &delta[name]) {
            (Value::String(text), Value::String(more)) => text.push_str(more),
            (Value::Array(parts), Value::Array(more)) => parts.extend(more.iter().cloned()),
            (known, more) if known.is_null() => *known = more.clone(),
            _ => {}
        }
    }
    for (at, call) in delta["tool_calls"].as_array().into_iter().flatten().enumerate() {
        let calls = &mut message["tool_calls"];
        if calls.is_null() {
            *calls = json!([]);
        }
        let Some(calls) = calls.as_array_mut() else { continue };
        let index = call["index"].as_u64().unwrap_or(at as u64);
        let id = call["id"].as_str().filter(|id| !id.is_empty());
        let known = calls
            .iter_mut()
            .rfind(|known| known["index"] == json!(index) && (id.is_none() || known["id"].as_str() == id));
        match known {
            None => {
                calls.push(call.clone());
                calls.last_mut().into_iter().for_each(|call| call["index"] = json!(index));
            }
            Some(known) => {
                if let (Value::String(text), Some(more)) =
                    (&mut known["function"]["arguments"], call["function"]["arguments"].as_str())
                {
                    text.push_str(more);
                }
            }
        }
    }
}

/// Each block once more at its end, and the message with all of them at its own.
fn anthropic(recorded: &Recorded) -> Option<Bytes> {
    let mut blocks: Vec<Value> = Vec::new();
    events(recorded, "anthropic", |mut event| {
        match event["type"].as_str().unwrap_or_default() {
            "content_block_start" => blocks.push(event["content_block"].clone()),
            "content_block_delta" => {
                let Some(block) = blocks.last_mut() else { return vec![event] };
                for name in ["text", "thinking", "signature"] {
                    if let (Value::String(text), Some(more)) =
                        (&mut block[name], event["delta"][name].as_str())
                    {
                        text.push_str(more);
                    }
                }
            }
            "content_block_stop" => event["content_block"] = json!(blocks.last()),
            "message_stop" => event["message"] = json!({"role": "assistant", "content": blocks}),
            _ => {}
        }
        vec![event]
    })
}

/// The last line with all that the lines before it said.
fn ollama(recorded: &Recorded) -> Option<Bytes> {
    if recorded.protocol != "ollama" {
        return None;
    }
    let body = recorded.response.body.bytes();
    let lines: Vec<&str> = std::str::from_utf8(&body).ok()?.lines().filter(|line| !line.is_empty()).collect();
    let mut whole = json!({"role": "assistant"});
    let mut changed = String::new();
    for (at, line) in lines.iter().enumerate() {
        let mut line = serde_json::from_str::<Value>(line).ok()?;
        for name in ["content", "thinking"] {
            match (&mut whole[name], &line["message"][name]) {
                (Value::String(text), Value::String(more)) => text.push_str(more),
                (known, more) if known.is_null() => *known = more.clone(),
                _ => {}
            }
        }
        if let Some(calls) = line["message"]["tool_calls"].as_array() {
            let mut all = whole["tool_calls"].as_array().cloned().unwrap_or_default();
            all.extend(calls.iter().cloned());
            whole["tool_calls"] = json!(all);
        }
        if at > 0 && line["done"] == json!(true) {
            line["message"] = whole.clone();
        }
        changed.push_str(&format!("{line}\n"));
    }
    (lines.len() > 2).then(|| changed.into())
}

/// Each content once more at its end, and the message with all of them at its own.
fn cohere(recorded: &Recorded) -> Option<Bytes> {
    let mut text = String::new();
    events(recorded, "cohere", |mut event| {
        let piece = event["delta"]["message"]["content"]["text"].as_str().unwrap_or_default();
        text.push_str(piece);
        match event["type"].as_str().unwrap_or_default() {
            "content-end" => event["delta"] = json!({"message": {"content": {"type": "text", "text": text}}}),
            "message-end" => event["delta"]["message"] = json!({"content": [{"type": "text", "text": text}]}),
            _ => {}
        }
        vec![event]
    })
}

/// The stream from somewhere on, as it is read where it was cut before; `None` for what is no stream of Responses. The
/// first event stays, which names the response.
pub(crate) fn taken_up(recorded: &Recorded, from: usize) -> Option<Bytes> {
    let mut at = 0;
    events(recorded, "openai-responses", |event| {
        at += 1;
        let ends = matches!(event["type"].as_str(), Some("response.completed" | "response.incomplete"));
        if at > from || ends { vec![event] } else { vec![] }
    })
}

/// The candidates without their numbers.
fn unnumbered(recorded: &Recorded) -> Option<Bytes> {
    if recorded.protocol != "gemini" {
        return None;
    }
    edited(recorded, |json| {
        let mut chunk = serde_json::from_str::<Value>(json).ok()?;
        for candidate in chunk["candidates"].as_array_mut().into_iter().flatten() {
            remove(candidate, &["index"]);
        }
        Some(chunk.to_string())
    })
}
