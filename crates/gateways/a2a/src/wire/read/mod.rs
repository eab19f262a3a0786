//! Reads what agents say, in either version, in place: nothing recurses, however deep they nest.

use attache_transport::percent_decoded;
use bytes::Bytes;
use serde_json::Value;

use crate::wire::json::{Json, Node, Values};
use crate::wire::{A2aState, Artifact, Content, Event, Message, Part, Past, Task};

/// Tasks inside histories of tasks are read to this depth.
const DEEPEST: usize = 4_000;
/// JSON data that is nested deeper is shown as text.
const DEEPEST_DATA: usize = 48;
/// The maximum number of parts, and the maximum number of messages of a history, that are read.
const MOST: usize = 10_000;

fn text_of(object: Node<'_>, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| object.get(name))?.text()
}

fn filled(object: Node<'_>, names: &[&str]) -> Option<String> {
    text_of(object, names).filter(|text| !text.is_empty())
}

fn object<'j>(outer: Node<'j>, names: &[&str]) -> Option<Node<'j>> {
    names.iter().find_map(|name| outer.get(name)?.object())
}

fn items<'j>(outer: Node<'j>, name: &str) -> Option<Values<'j>> {
    Some(outer.get(name)?.items())
}

fn flag(outer: Node<'_>, names: &[&str]) -> bool {
    names.iter().any(|name| outer.get(name).is_some_and(Node::is_true))
}

/// A task that stands for itself, as the answer to a look at it.
pub(crate) fn bare_task(text: &str) -> Option<Task> {
    let json = Json::read(text)?;
    let root = json.root().object()?;
    root.get("status")?;
    task(root)
}

#[cfg(feature = "server")]
/// A message that stands for itself, as it is sent.
pub(crate) fn bare_message(text: &str) -> Option<Message> {
    let json = Json::read(text)?;
    json.root().object().map(message)
}

/// An answer, or an event: of the kind that it says, that its one member says, or that its members look like.
pub(crate) fn event(raw: &str) -> Option<Event> {
    let json = Json::read(raw)?;
    let outer = json.root().object()?;
    for (names, kind) in [
        (&["task"][..], "task"),
        (&["message"][..], "message"),
        (&["statusUpdate", "status_update"][..], "status-update"),
        (&["artifactUpdate", "artifact_update"][..], "artifact-update"),
    ] {
        // An object that says its kind has members of these names for other reasons.
        if outer.get("kind").is_none()
            && outer.get("parts").is_none()
            && let Some(inner) = object(outer, names)
        {
            return of_kind(kind, inner);
        }
    }
    match text_of(outer, &["kind"]) {
        Some(kind) => of_kind(&kind, outer),
        None if outer.get("parts").is_some() => of_kind("message", outer),
        None if outer.get("status").is_some() => of_kind("task", outer),
        None => None,
    }
}

fn of_kind(kind: &str, members: Node<'_>) -> Option<Event> {
    match kind {
        "task" => task(members).map(Event::Task),
        "message" => Some(Event::Message(message(members))),
        "status-update" => {
            let (state, said) = status(members);
            let (task, context) = (filled(members, &["taskId", "task_id"])?, context(members));
            Some(Event::Status { task, context, state, said, is_last: flag(members, &["final"]) })
        }
        "artifact-update" => {
            let artifact = artifact(object(members, &["artifact"])?);
            let (task, context) = (filled(members, &["taskId", "task_id"])?, context(members));
            Some(Event::Artifact { task, context, artifact, appends: flag(members, &["append"]) })
        }
        _ => None,
    }
}

fn context(members: Node<'_>) -> Option<String> {
    filled(members, &["contextId", "context_id"])
}

fn status(members: Node<'_>) -> (A2aState, Option<Message>) {
    let Some(status) = object(members, &["status"]) else { return (A2aState::Unknown, None) };
    let state = text_of(status, &["state"]).map(|text| A2aState::parse(&text)).unwrap_or_default();
    // Some say it as a plain text.
    let plain = || text_of(status, &["message"]).map(|text| Message { is_agent: true, ..said(text) });
    (state, object(status, &["message"]).map(message).or_else(plain))
}

fn said(text: String) -> Message {
    let part = Part { content: Content::Text(text), name: None, media_type: None };
    Message { parts: vec![part], ..Message::default() }
}

fn message(members: Node<'_>) -> Message {
    let role = text_of(members, &["role"]).unwrap_or_default();
    Message {
        id: text_of(members, &["messageId", "message_id"]).unwrap_or_default(),
        context: context(members),
        task: filled(members, &["taskId", "task_id"]),
        is_agent: !matches!(&*role, "user" | "ROLE_USER"),
        parts: parts(members),
    }
}

fn artifact(members: Node<'_>) -> Artifact {
    Artifact {
        id: text_of(members, &["artifactId", "artifact_id"]).unwrap_or_default(),
        name: filled(members, &["name"]),
        description: filled(members, &["description"]),
        parts: parts(members),
    }
}

/// A task with its history.
fn task(members: Node<'_>) -> Option<Task> {
    let (state, said) = status(members);
    let artifacts = items(members, "artifacts").into_iter().flatten().take(MOST);
    let artifacts = artifacts.filter_map(|node| Some(artifact(node.object()?))).collect();
    let (history, is_cut) = history(members);
    let id = filled(members, &["id"])?;
    Some(Task { id, context: context(members), state, said, artifacts, history, is_cut, is_partial: false })
}

/// A history depth first: of a task inside it the artifacts, its words, and then its own history.
fn history(members: Node<'_>) -> (Vec<Past>, bool) {
    let mut past = Vec::new();
    let mut open: Vec<Values<'_>> = items(members, "history").into_iter().collect();
    while let Some(level) = open.last_mut() {
        let Some(node) = level.next() else {
            open.pop();
            continue;
        };
        if past.len() >= MOST || open.len() > DEEPEST {
            return (past, true);
        }
        let inside = object(node, &["task"]).unwrap_or(node);
        if inside.get("parts").is_some() {
            past.push(Past::Message(message(inside)));
        }
        let artifacts = items(inside, "artifacts").into_iter().flatten().take(MOST);
        past.extend(artifacts.filter_map(|node| Some(Past::Artifact(artifact(node.object()?)))));
        past.extend(status(inside).1.map(Past::Message));
        open.extend(items(inside, "history"));
    }
    (past, false)
}

fn parts(members: Node<'_>) -> Vec<Part> {
    items(members, "parts").into_iter().flatten().take(MOST).flat_map(part).collect()
}

/// The text of a part, its file or data, or both, as some write it; or the part as it came.
fn part(node: Node<'_>) -> impl Iterator<Item = Part> {
    let members = node.object();
    let text = members.and_then(|members| text_of(members, &["text"]));
    let held = members.and_then(held);
    let text = text.filter(|text| held.is_none() || !text.is_empty()).map(|text| {
        let place = members.filter(|_| held.is_none());
        let of = |names: &[&str]| filled(place?, names);
        Part { content: Content::Text(text), name: of(&NAMES), media_type: of(&TYPES) }
    });
    let is_other = text.is_none() && held.is_none();
    let other = is_other.then(|| Part {
        content: Content::Other(node.raw().to_owned()),
        name: None,
        media_type: None,
    });
    text.into_iter().chain(held).chain(other)
}

const NAMES: [&str; 3] = ["filename", "name", "fileName"];
const TYPES: [&str; 3] = ["mediaType", "mimeType", "media_type"];

/// The file or the data of a part.
fn held(members: Node<'_>) -> Option<Part> {
    // A file of version 0.3 is an object of its own.
    let place = object(members, &["file"]).unwrap_or(members);
    let (name, media_type) = (filled(place, &NAMES), filled(place, &TYPES));
    let content = if let Some(bytes) = text_of(place, &["raw", "bytes", "fileWithBytes"]) {
        attache_core::base64::decode(&bytes).map_or(Content::Broken, |bytes| Content::Bytes(bytes.into()))
    } else if let Some(url) = filled(place, &["url", "uri", "fileWithUri"]) {
        match data_url(&url) {
            Some((said, bytes)) => {
                let media_type = media_type.or(said);
                let content = bytes.map_or(Content::Broken, Content::Bytes);
                return Some(Part { content, name, media_type });
            }
            None => Content::Url(url),
        }
    } else {
        data_of(members.get("data")?.raw())
    };
    Some(Part { content, name, media_type })
}

fn data_of(raw: &str) -> Content {
    if depth(raw) > DEEPEST_DATA {
        return Content::Deep(raw.to_owned());
    }
    match serde_json::from_str::<Value>(raw) {
        Ok(mut value) => {
            whole_numbers(&mut value);
            Content::Data(value)
        }
        Err(_) => Content::Deep(raw.to_owned()),
    }
}

/// Protocol buffers know no integers in data, and write them as `1.0`.
fn whole_numbers(value: &mut Value) {
    match value {
        Value::Number(number) => {
            let float = number.as_f64().filter(|_| number.is_f64());
            if let Some(float) = float.filter(|float| float.fract() == 0.0 && float.abs() < 9e15) {
                // It is a whole number within the range.
                #[allow(clippy::cast_possible_truncation, reason = "the range is checked")]
                let whole = float as i64;
                *value = whole.into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(whole_numbers),
        Value::Object(members) => members.values_mut().for_each(whole_numbers),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// The depth to which JSON is nested.
fn depth(json: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0_usize);
    let (mut in_text, mut escaped) = (false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            _ if in_text => {}
            b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// The type and bytes of a `data:` address; no bytes if they are none. (RFC 2397)
fn data_url(url: &str) -> Option<(Option<String>, Option<Bytes>)> {
    let is_data = url.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("data:"));
    let rest = url.get(5..).filter(|_| is_data)?;
    let Some((head, data)) = rest.split_once(',') else { return Some((None, None)) };
    let (media_type, is_base64) = match head.strip_suffix(";base64") {
        Some(media_type) => (media_type, true),
        None => (head, false),
    };
    let data = percent_decoded(data);
    let bytes = if is_base64 { attache_core::base64::decode(&data) } else { Some(data) };
    Some((Some(media_type.to_owned()).filter(|text| !text.is_empty()), bytes.map(Bytes::from)))
}

#[cfg(test)]
mod tests;
