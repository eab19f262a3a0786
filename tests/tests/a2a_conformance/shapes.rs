//! The rules of the data model, on every answer. (A2A 1.0 sections 4.1 and 5.5 to 5.7)

use serde_json::Value;

use crate::kit::Held;

const STATES: [&str; 8] = [
    "TASK_STATE_SUBMITTED",
    "TASK_STATE_WORKING",
    "TASK_STATE_COMPLETED",
    "TASK_STATE_FAILED",
    "TASK_STATE_CANCELED",
    "TASK_STATE_INPUT_REQUIRED",
    "TASK_STATE_REJECTED",
    "TASK_STATE_AUTH_REQUIRED",
];

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    let text = value[name].as_str().unwrap_or_default();
    assert!(!text.is_empty(), "{name} is missing: {value}");
    text
}

fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value[name].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// A moment in UTC, as RFC 3339 has it.
fn is_timestamp(text: &str) -> bool {
    let pattern = "0000-00-00T00:00:00.000Z";
    text.len() == pattern.len()
        && text.bytes().zip(pattern.bytes()).all(|(byte, wanted)| match wanted {
            b'0' => byte.is_ascii_digit(),
            wanted => byte == wanted,
        })
}

pub(crate) fn task(held: &mut Held, task: &Value) {
    text(task, "id");
    status(held, &task["status"]);
    held.case("DM-TASK-001");
    for piece in list(task, "artifacts") {
        artifact(held, piece);
    }
    for piece in list(task, "history") {
        message(held, piece);
    }
    names(task);
    held.case("DM-SERIAL-001");
    held.case("DM-SERIAL-004");
    held.answers.push(("Task", task.clone()));
}

pub(crate) fn status(held: &mut Held, status: &Value) {
    assert!(STATES.contains(&text(status, "state")), "{status}");
    assert!(is_timestamp(text(status, "timestamp")), "{status}");
    for case in ["DM-STATUS-001", "DM-TASK-002", "DM-SERIAL-002", "DM-SERIAL-003"] {
        held.case(case);
    }
    if !status["message"].is_null() {
        message(held, &status["message"]);
    }
}

pub(crate) fn message(held: &mut Held, message: &Value) {
    text(message, "messageId");
    assert!(["ROLE_USER", "ROLE_AGENT"].contains(&text(message, "role")), "{message}");
    parts(held, message);
    held.case("DM-MSG-001");
    held.case("DM-MSG-002");
}

pub(crate) fn artifact(held: &mut Held, artifact: &Value) {
    text(artifact, "artifactId");
    parts(held, artifact);
    held.case("DM-ART-001");
}

fn parts(held: &mut Held, of: &Value) {
    assert!(!list(of, "parts").is_empty(), "{of}");
    for part in list(of, "parts") {
        let contents = ["text", "raw", "url", "data"].iter().filter(|name| part.get(**name).is_some());
        assert_eq!(contents.count(), 1, "{part}");
    }
    held.case("DM-PART-001");
}

/// No name has an underscore, apart from those in data.
fn names(value: &Value) {
    match value {
        Value::Object(members) => {
            for (name, value) in members.iter().filter(|(name, _)| *name != "data" && *name != "metadata") {
                assert!(!name.contains('_'), "{name}");
                names(value);
            }
        }
        Value::Array(items) => items.iter().for_each(names),
        _ => {}
    }
}
