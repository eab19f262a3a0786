//! The changes that providers may make to a reply any day without changing its meaning.

use attache_conformance::event_frame;
use attache_tests::recorded::Recorded;
use bytes::Bytes;
use serde_json::{Map, Value, json};

/// A change, by name. `None` where it does not apply.
pub(crate) type Change = fn(&Recorded) -> Option<Bytes>;

pub(crate) const CHANGES: [(&str, Change); 6] = [
    ("unknown members", |recorded| each_object(recorded, add)),
    ("idle members null", |recorded| each_object(recorded, null)),
    ("idle members gone", |recorded| each_object(recorded, drop)),
    ("idle words unknown", |recorded| each_object(recorded, reword)),
    ("unknown events", unknown_events),
    ("other spacing", respaced),
];

/// Members that say nothing of what is compared.
const IDLE: [&str; 24] = [
    "object",
    "created",
    "created_at",
    "createTime",
    "system_fingerprint",
    "service_tier",
    "serviceTier",
    "logprobs",
    "avgLogprobs",
    "role",
    "obfuscation",
    "x_groq",
    "safetyRatings",
    "sequence_number",
    "metrics",
    "metadata",
    "trafficType",
    "tool_choice",
    "truncation",
    "temperature",
    "top_p",
    "stop_sequence",
    "inference_geo",
    "p",
];

fn add(object: &mut Map<String, Value>) {
    for (name, value) in
        [("zz_object", json!({"a": [1, null]})), ("zz_null", Value::Null), ("zz_text", json!("ü\n"))]
    {
        object.insert(name.to_owned(), value);
    }
}

fn null(object: &mut Map<String, Value>) {
    for (name, value) in object.iter_mut() {
        if IDLE.contains(&name.as_str()) {
            *value = Value::Null;
        }
    }
}

fn drop(object: &mut Map<String, Value>) {
    object.retain(|name, value| !value.is_null() && !IDLE.contains(&name.as_str()));
}

/// Words of closed sets, one day extended.
fn reword(object: &mut Map<String, Value>) {
    for (name, value) in object.iter_mut() {
        if IDLE.contains(&name.as_str()) && value.is_string() {
            *value = json!("zz_new_word");
        }
    }
}

/// The body with every object of the protocol's own changed; what the model or a tool wrote stays.
fn each_object(recorded: &Recorded, change: fn(&mut Map<String, Value>)) -> Option<Bytes> {
    fn visit(value: &mut Value, change: fn(&mut Map<String, Value>)) {
        match value {
            Value::Object(object) => {
                for (name, member) in object.iter_mut() {
                    // Arguments of calls are the model's.
                    if !matches!(name.as_str(), "arguments" | "args" | "input" | "partialArgs") {
                        visit(member, change);
                    }
                }
                change(object);
            }
            Value::Array(list) => list.iter_mut().for_each(|item| visit(item, change)),
            _ => {}
        }
    }
    edited(recorded, |json| {
        let mut value = serde_json::from_str::<Value>(json).ok()?;
        visit(&mut value, change);
        Some(value.to_string())
    })
}

/// The same with every JSON text of the body edited.
pub(crate) fn edited(recorded: &Recorded, edit: impl Fn(&str) -> Option<String>) -> Option<Bytes> {
    let body = recorded.response.body.bytes();
    if let Some(frames) = frames(&body) {
        let frames = frames.into_iter().map(|(headers, payload)| {
            let payload = edit(std::str::from_utf8(&payload).ok()?).unwrap_or_default();
            Some(frame(&headers, payload.as_bytes()))
        });
        return frames.collect::<Option<Vec<Bytes>>>().map(|frames| frames.concat().into());
    }
    let text = std::str::from_utf8(&body).ok()?;
    if let Some(whole) = edit(text) {
        return Some(whole.into());
    }
    let lines = text.split('\n').map(|line| {
        let (start, rest) = match line.strip_prefix("data:") {
            Some(rest) => ("data: ", rest),
            None => ("", line),
        };
        edit(rest).map_or_else(|| line.to_owned(), |json| format!("{start}{json}"))
    });
    Some(lines.collect::<Vec<_>>().join("\n").into())
}

/// Events of kinds that nobody knows between those of a stream.
fn unknown_events(recorded: &Recorded) -> Option<Bytes> {
    let body = recorded.response.body.bytes();
    if let Some(frames) = frames(&body) {
        let unknown = [(":message-type", "event"), (":event-type", "zzEvent")];
        let unknown = event_frame(&unknown, br#"{"zz":{"text":"never shown"}}"#);
        let frames =
            frames.into_iter().flat_map(|(headers, payload)| [unknown.clone(), frame(&headers, &payload)]);
        return Some(frames.collect::<Vec<_>>().concat().into());
    }
    let text = std::str::from_utf8(&body).ok()?;
    if !text.lines().any(|line| line.starts_with("data:")) {
        return None;
    }
    let unknown = match recorded.protocol.as_str() {
        "openai-chat" => "data: {\"object\":\"zz.event\",\"zz\":{\"text\":\"never shown\"}}\n\n",
        "gemini" => "data: {\"zzEvent\":{\"text\":\"never shown\"}}\r\n\r\n",
        _ => {
            "event: zz.event\ndata: {\"type\":\"zz.event\",\"text\":\"never shown\",\"delta\":{\"zz\":1}}\n\n"
        }
    };
    let crlf = text.replace("\r\n", "\n");
    let events = crlf.split_inclusive("\n\n").map(|event| format!(": a comment\n\n{unknown}{event}"));
    Some(events.collect::<String>().into())
}

/// The same events framed in another way.
fn respaced(recorded: &Recorded) -> Option<Bytes> {
    let body = recorded.response.body.bytes();
    let text = std::str::from_utf8(&body).ok()?;
    if !text.lines().any(|line| line.starts_with("data:")) {
        return None;
    }
    let lines = text.lines().map(|line| format!("{}\r\n", line.replacen(": ", ":", 1)));
    Some(format!("\u{feff}{}", lines.collect::<String>()).into())
}

pub(crate) type Frame = (Vec<(String, String)>, Vec<u8>);

/// The frames of a binary event stream; `None` for a body that is none.
pub(crate) fn frames(body: &[u8]) -> Option<Vec<Frame>> {
    let number = |bytes: &[u8]| u32::from_be_bytes(bytes.try_into().ok()?).try_into().ok();
    let mut frames = Vec::new();
    let mut rest = body;
    while !rest.is_empty() {
        let total: usize = number(rest.get(..4)?)?;
        let headers_len: usize = number(rest.get(4..8)?)?;
        let message = rest.get(..total)?;
        let mut headers = Vec::new();
        let mut header = message.get(12..12 + headers_len)?;
        while !header.is_empty() {
            let name_len = usize::from(*header.first()?);
            let name = std::str::from_utf8(header.get(1..1 + name_len)?).ok()?;
            let value_at = name_len + 4;
            let length = header.get(name_len + 2..value_at)?;
            let length = usize::from(u16::from_be_bytes(length.try_into().ok()?));
            let value = std::str::from_utf8(header.get(value_at..value_at + length)?).ok()?;
            headers.push((name.to_owned(), value.to_owned()));
            header = header.get(value_at + length..)?;
        }
        frames.push((headers, message.get(12 + headers_len..total - 4)?.to_vec()));
        rest = rest.get(total..)?;
    }
    (!frames.is_empty()).then_some(frames)
}

/// A frame of these headers.
pub(crate) fn frame(headers: &[(String, String)], payload: &[u8]) -> Bytes {
    let headers: Vec<(&str, &str)> =
        headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    event_frame(&headers, payload)
}
