//! Replies as events of their protocol that no provider sends in this order, or with these members: duplicated, swapped,
//! lost, and with members that are null, gone or of another type. Each is well framed and valid JSON, so that it reaches
//! what reads events, and not only what reads bytes.

use attache_tests::recorded::Recorded;
use bytes::Bytes;
use serde_json::{Value, json};

use crate::changes::{Frame, frame, frames};

/// A reply, taken apart.
#[derive(Clone)]
enum Events {
    /// Frames of a binary event stream.
    Frames(Vec<Frame>),
    /// Server-sent events: what stands before the data, and the data.
    Sse(Vec<(String, String)>),
    /// A JSON text a line, or one alone.
    Lines(Vec<String>),
}

impl Events {
    fn of(body: &Bytes) -> Option<Self> {
        if let Some(frames) = frames(body) {
            return Some(Self::Frames(frames));
        }
        let text = std::str::from_utf8(body).ok()?.replace("\r\n", "\n");
        if !text.lines().any(|line| line.starts_with("data:")) {
            let lines = text.lines().map(str::to_owned);
            let is_json = |line: &String| serde_json::from_str::<Value>(line).is_ok();
            let lines: Vec<String> = lines.filter(|line| !line.trim().is_empty()).collect();
            return Some(Self::Lines(if lines.iter().all(is_json) { lines } else { vec![text] }));
        }
        let events = text.split("\n\n").filter(|event| event.contains("data:")).map(|event| {
            let (data, head): (Vec<&str>, Vec<&str>) =
                event.lines().partition(|line| line.starts_with("data:"));
            let data: Vec<&str> =
                data.iter().map(|line| line.trim_start_matches("data:").trim_start()).collect();
            (head.iter().map(|line| format!("{line}\n")).collect(), data.join("\n"))
        });
        Some(Self::Sse(events.collect()))
    }

    fn len(&self) -> usize {
        match self {
            Self::Frames(frames) => frames.len(),
            Self::Sse(events) => events.len(),
            Self::Lines(lines) => lines.len(),
        }
    }

    fn duplicate(&mut self, at: usize) {
        match self {
            Self::Frames(frames) => frames.insert(at, frames[at].clone()),
            Self::Sse(events) => events.insert(at, events[at].clone()),
            Self::Lines(lines) => lines.insert(at, lines[at].clone()),
        }
    }

    fn swap(&mut self, one: usize, other: usize) {
        match self {
            Self::Frames(frames) => frames.swap(one, other),
            Self::Sse(events) => events.swap(one, other),
            Self::Lines(lines) => lines.swap(one, other),
        }
    }

    fn lose(&mut self, at: usize) {
        match self {
            Self::Frames(frames) => drop(frames.remove(at)),
            Self::Sse(events) => drop(events.remove(at)),
            Self::Lines(lines) => drop(lines.remove(at)),
        }
    }

    fn json(&self, at: usize) -> Option<Value> {
        match self {
            Self::Frames(frames) => serde_json::from_slice(&frames[at].1).ok(),
            Self::Sse(events) => serde_json::from_str(&events[at].1).ok(),
            Self::Lines(lines) => serde_json::from_str(&lines[at]).ok(),
        }
    }

    fn set_json(&mut self, at: usize, json: &Value) {
        match self {
            Self::Frames(frames) => frames[at].1 = json.to_string().into_bytes(),
            Self::Sse(events) => events[at].1 = json.to_string(),
            Self::Lines(lines) => lines[at] = json.to_string(),
        }
    }

    fn bytes(&self) -> Bytes {
        match self {
            Self::Frames(frames) => {
                let frames = frames.iter().map(|(headers, payload)| frame(headers, payload));
                frames.collect::<Vec<_>>().concat().into()
            }
            Self::Sse(events) => {
                let events = events.iter().map(|(head, data)| format!("{head}data: {data}\n\n"));
                events.collect::<String>().into()
            }
            Self::Lines(lines) => lines.join("\n").into(),
        }
    }
}

/// Numbers that look random and are the same each time (xorshift64*).
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let high = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(high).unwrap() % limit.max(1)
    }
}

/// The reply with up to three changes, and what they are; `None` for a body of no events.
pub(crate) fn changed(recorded: &Recorded, seed: u64) -> Option<(Bytes, Vec<String>)> {
    let mut events = Events::of(&recorded.response.body.bytes())?;
    let name = recorded
        .name
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |sum: u64, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let mut dice = Dice((name ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)) | 1);
    let mut made = Vec::new();
    for _ in 0..=dice.below(3) {
        if events.len() == 0 {
            break;
        }
        let at = dice.below(events.len());
        match dice.below(7) {
            0 => {
                events.duplicate(at);
                made.push(format!("event {at} twice"));
            }
            1 => {
                let other = dice.below(events.len());
                events.swap(at, other);
                made.push(format!("events {at} and {other} swapped"));
            }
            2 => {
                events.lose(at);
                made.push(format!("event {at} lost"));
            }
            _ => {
                let Some(mut json) = events.json(at) else { continue };
                let mut places = Vec::new();
                pointers(&json, "", &mut places);
                if places.is_empty() {
                    continue;
                }
                let place = places.swap_remove(dice.below(places.len()));
                made.push(format!("event {at}: {place} {}", damage(&mut json, &place, dice.below(8))));
                events.set_json(at, &json);
            }
        }
    }
    Some((events.bytes(), made))
}

/// The reply with one more member in each event, whose name is written with an escape: nothing reads such an event in
/// place, all of it is deserialized.
pub(crate) fn deserialized(body: &Bytes) -> Option<Bytes> {
    let more = |json: &str| {
        let rest = json.trim_start().strip_prefix('{')?;
        let comma = if rest.trim_start().starts_with('}') { "" } else { "," };
        Some(format!(r#"{{"\u0078":0{comma}{rest}"#))
    };
    let mut events = Events::of(body)?;
    match &mut events {
        Events::Frames(frames) => {
            for (_, payload) in frames {
                if let Some(json) = std::str::from_utf8(payload).ok().and_then(more) {
                    *payload = json.into_bytes();
                }
            }
        }
        Events::Sse(events) => {
            for (_, data) in events {
                *data = more(data).unwrap_or_else(|| data.clone());
            }
        }
        Events::Lines(_) => return None,
    }
    Some(events.bytes())
}

/// Every member and item of a value, by its pointer.
fn pointers(value: &Value, path: &str, found: &mut Vec<String>) {
    let members: Vec<(String, &Value)> = match value {
        Value::Object(members) => members.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(at, item)| (at.to_string(), item)).collect(),
        _ => return,
    };
    for (key, value) in members {
        let path = format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
        found.push(path.clone());
        pointers(value, &path, found);
    }
}

fn damage(json: &mut Value, place: &str, how: usize) -> &'static str {
    let (parent, key) = place.rsplit_once('/').unwrap();
    let other = match how {
        0 | 1 => {
            match json.pointer_mut(parent).unwrap() {
                Value::Object(members) => drop(members.remove(&key.replace("~1", "/").replace("~0", "~"))),
                Value::Array(items) => drop(items.remove(key.parse().unwrap())),
                _ => {}
            }
            return "gone";
        }
        2 | 3 => Value::Null,
        4 => json!(7),
        5 => json!("x"),
        6 => json!([]),
        _ => json!({}),
    };
    *json.pointer_mut(place).unwrap() = other;
    ["", "", "null", "null", "a number", "a text", "a list", "an object"][how]
}
