//! A reply as Responses streams it (openai.md B.6).

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::render::{Answer, Growth, Item, output_text};
use crate::mock::answer::named_event;
use crate::mock::record::RecordedRequest;
use crate::mock::reply::Reply;

pub(crate) fn render_stream(
    reply: &Reply,
    request: &RecordedRequest,
    terminated: bool,
) -> Result<Vec<Bytes>, String> {
    let answer = Answer::new(reply, request)?;
    let options = request.json().get("stream_options");
    let padding = options.and_then(|options| options.get("include_obfuscation")?.as_bool()).unwrap_or(true);
    let mut events = Events { events: Vec::new(), padding };
    for kind in ["response.created", "response.in_progress"] {
        events.push(kind, json!({"response": answer.started()}));
    }
    for (index, item) in answer.items.iter().enumerate() {
        Slot { events: &mut events, index, item }.send();
    }
    if terminated {
        let kind = format!("response.{}", answer.ending.status);
        events.push(&kind, json!({"response": answer.ended()}));
    }
    Ok(events.events)
}

struct Events {
    events: Vec<Bytes>,
    padding: bool,
}

impl Events {
    fn push(&mut self, kind: &str, members: Value) {
        let mut event = Map::new();
        event.insert("type".to_owned(), Value::from(kind));
        if let Value::Object(members) = members {
            event.extend(members);
        }
        if self.padding && kind.ends_with(".delta") {
            event.insert("obfuscation".to_owned(), Value::from("x".repeat(7 + self.events.len() % 5)));
        }
        event.insert("sequence_number".to_owned(), Value::from(self.events.len()));
        self.events.push(named_event(kind, &Value::Object(event)));
    }
}

/// The events of one output item.
struct Slot<'a> {
    events: &'a mut Events,
    index: usize,
    item: &'a Item,
}

impl Slot<'_> {
    fn send(mut self) {
        let opened = self.opened();
        self.events.push("response.output_item.added", json!({"item": opened, "output_index": self.index}));
        match &self.item.growth {
            Growth::None => {}
            Growth::Text(pieces) => {
                self.content(pieces, "response.output_text", "text", output_text, &json!({"logprobs": []}));
            }
            Growth::Refusal(pieces) => {
                let part = |text: &str| json!({"type": "refusal", "refusal": text});
                self.content(pieces, "response.refusal", "refusal", part, &json!({}));
            }
            Growth::Reasoning(pieces) => {
                let part = |text: &str| json!({"type": "reasoning_text", "text": text});
                self.content(pieces, "response.reasoning_text", "text", part, &json!({}));
            }
            Growth::Arguments(pieces) => {
                let kind = "response.function_call_arguments";
                for piece in pieces {
                    self.push(&format!("{kind}.delta"), &json!({"delta": piece}), &json!({}));
                }
                self.push(&format!("{kind}.done"), &json!({"arguments": pieces.concat()}), &json!({}));
            }
            Growth::Summary(paragraphs) => {
                for (index, text) in paragraphs.iter().enumerate() {
                    self.paragraph(index, text);
                }
            }
        }
        let done = json!({"item": self.item.done, "output_index": self.index});
        self.events.push("response.output_item.done", done);
    }

    /// The item before it has grown; a blob is not whole yet.
    fn opened(&self) -> Value {
        let mut item = self.item.done.clone();
        let Some(members) = item.as_object_mut().filter(|_| !matches!(self.item.growth, Growth::None)) else {
            return item;
        };
        for (key, value) in members.iter_mut() {
            match key.as_str() {
                "status" => *value = Value::from("in_progress"),
                "content" | "summary" => *value = json!([]),
                "arguments" => *value = Value::from(""),
                "encrypted_content" => {
                    let whole = value.as_str().unwrap_or_default();
                    let half: String = whole.chars().take(whole.chars().count() / 2).collect();
                    *value = Value::from(half);
                }
                _ => {}
            }
        }
        item
    }

    fn push(&mut self, kind: &str, members: &Value, more: &Value) {
        let mut event = Map::new();
        for members in [members, more] {
            event.extend(
                members.as_object().into_iter().flatten().map(|(key, value)| (key.clone(), value.clone())),
            );
        }
        event.insert("item_id".to_owned(), self.item.done.get("id").cloned().unwrap_or_default());
        event.insert("output_index".to_owned(), Value::from(self.index));
        self.events.push(kind, Value::Object(event));
    }

    /// A content part that grows by deltas; `done` is the member that holds all of it at the end.
    fn content(
        &mut self,
        pieces: &[String],
        kind: &str,
        done: &str,
        part: impl Fn(&str) -> Value,
        more: &Value,
    ) {
        let whole = pieces.concat();
        self.push("response.content_part.added", &json!({"content_index": 0, "part": part("")}), &json!({}));
        for piece in pieces {
            self.push(&format!("{kind}.delta"), &json!({"content_index": 0, "delta": piece}), more);
        }
        let mut text = Map::new();
        text.insert("content_index".to_owned(), Value::from(0));
        text.insert(done.to_owned(), Value::from(whole.as_str()));
        self.push(&format!("{kind}.done"), &Value::Object(text), more);
        self.push(
            "response.content_part.done",
            &json!({"content_index": 0, "part": part(&whole)}),
            &json!({}),
        );
    }

    fn paragraph(&mut self, index: usize, text: &str) {
        let kind = "response.reasoning_summary";
        let at = json!({"summary_index": index});
        let part = |text: &str| json!({"part": {"type": "summary_text", "text": text}});
        self.push(&format!("{kind}_part.added"), &part(""), &at);
        for piece in text.split_inclusive(char::is_whitespace) {
            self.push(&format!("{kind}_text.delta"), &json!({"delta": piece}), &at);
        }
        self.push(&format!("{kind}_text.done"), &json!({"text": text}), &at);
        self.push(&format!("{kind}_part.done"), &part(text), &at);
    }
}
