use proptest::prelude::*;
use serde_json::json;

use super::*;

fn read(value: &Value) -> Event {
    event(&value.to_string()).unwrap()
}

fn texts(parts: &[Part]) -> Vec<&str> {
    let mut texts = Vec::new();
    for part in parts {
        if let Content::Text(text) = &part.content {
            texts.push(&**text);
        }
    }
    texts
}

// Both versions of one stream, as servers of the official SDK write them.
#[test]
fn events_of_both_versions_are_the_same() {
    let pairs = [
        (
            json!({"kind": "task", "id": "t", "contextId": "c", "status": {"state": "submitted"}}),
            json!({"task": {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_SUBMITTED"}}}),
        ),
        (
            json!({"kind": "artifact-update", "taskId": "t", "contextId": "c", "append": true, "lastChunk": true,
                   "artifact": {"artifactId": "a", "parts": [{"kind": "file",
                       "file": {"bytes": "aGk=", "mimeType": "text/plain", "name": "a.txt"}}]}}),
            json!({"artifactUpdate": {"taskId": "t", "contextId": "c", "append": true, "lastChunk": true,
                   "artifact": {"artifactId": "a", "parts": [
                       {"raw": "aGk=", "mediaType": "text/plain", "filename": "a.txt"}]}}}),
        ),
        (
            json!({"kind": "message", "messageId": "m", "role": "agent", "parts": [
                {"kind": "text", "text": "hi"}, {"kind": "data", "data": {"rows": [1, 2]}},
                {"kind": "file", "file": {"uri": "https://h/x.pdf", "mimeType": "application/pdf"}}]}),
            json!({"message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [
                {"text": "hi"}, {"data": {"rows": [1.0, 2.0]}},
                {"url": "https://h/x.pdf", "mediaType": "application/pdf"}]}}),
        ),
    ];
    for (old, new) in pairs {
        assert_eq!(read(&old), read(&new), "{old}");
    }
    let last = read(&json!({"kind": "status-update", "taskId": "t", "contextId": "c", "final": true,
        "status": {"state": "input-required", "message": {"role": "agent", "parts": [{"kind": "text", "text": "?"}]}}}));
    let Event::Status { state: A2aState::InputRequired, is_last: true, said: Some(said), .. } = last else {
        panic!("{last:?}")
    };
    assert_eq!(texts(&said.parts), ["?"]);
}

#[test]
fn every_state_is_known_in_both_versions() {
    for (old, new) in [
        ("submitted", "TASK_STATE_SUBMITTED"),
        ("working", "TASK_STATE_WORKING"),
        ("input-required", "TASK_STATE_INPUT_REQUIRED"),
        ("auth-required", "TASK_STATE_AUTH_REQUIRED"),
        ("completed", "TASK_STATE_COMPLETED"),
        ("canceled", "TASK_STATE_CANCELED"),
        ("failed", "TASK_STATE_FAILED"),
        ("rejected", "TASK_STATE_REJECTED"),
    ] {
        assert_eq!(A2aState::parse(old), A2aState::parse(new));
        assert_eq!(A2aState::parse(new).as_str(), old);
    }
    assert_eq!(A2aState::parse("TASK_STATE_CANCELLED"), A2aState::Canceled);
    assert_eq!(A2aState::parse("dreaming"), A2aState::Unknown);
}

#[test]
fn files_in_data_addresses_are_bytes() {
    let parts = json!({"message": {"role": "ROLE_AGENT", "parts": [
        {"url": "data:image/png;base64,iVBORw0KGgo="}, {"url": "DATA:text/plain,a%20b"}, {"url": "data:image/png;base64,?"},
        {"raw": "no base64!"}, {"surprise": 1}, 7]}});
    let Event::Message(message) = read(&parts) else { panic!() };
    let [png, text, broken, no_bytes, surprise, number] = &*message.parts else { panic!("{message:?}") };
    assert_eq!(png.content, Content::Bytes(Bytes::from_static(b"\x89PNG\r\n\x1a\n")));
    assert_eq!(png.media_type.as_deref(), Some("image/png"));
    assert_eq!(text.content, Content::Bytes(Bytes::from_static(b"a b")));
    assert_eq!((&broken.content, &no_bytes.content), (&Content::Broken, &Content::Broken));
    assert!(matches!((&surprise.content, &number.content), (Content::Other(_), Content::Other(_))));
}

// C18
#[test]
fn unexpected_json_is_no_event_and_no_panic() {
    for odd in [
        "",
        "null",
        "[]",
        "7",
        "{}",
        "{\"kind\":\"task\"}",
        "{\"kind\":7}",
        "{\"task\":[]}",
        "{\"status\":1}",
        "{\"statusUpdate\":{}}",
        "{\"artifactUpdate\":{\"taskId\":\"t\"}}",
        "{\"kind\":\"task\",\"id\":1}",
        "{\"a\"",
    ] {
        assert_eq!(event(odd), None, "{odd}");
    }
    // Members of other types read as absent.
    let odd = json!({"task": {"id": "t", "contextId": 7, "status": {"state": [], "message": "late"},
        "artifacts": [1, null, {"parts": "x"}], "history": {"a": 1}}});
    let Event::Task(task) = read(&odd) else { panic!() };
    assert_eq!((task.state, task.artifacts.len(), task.history.len()), (A2aState::Unknown, 1, 0));
    assert_eq!(texts(&task.said.unwrap().parts), ["late"]);
}

/// A task whose history holds a task whose history holds a task, each with a file of its own.
fn nested(depth: usize, wraps: &[bool]) -> String {
    let mut json = String::from("[]");
    for level in (0..depth).rev() {
        let artifact = format!("{{\"artifactId\":\"a\",\"parts\":[{{\"text\":\"artifact {level}\"}}]}}");
        let message = format!(
            "{{\"messageId\":\"m\",\"role\":\"agent\",\"parts\":[{{\"text\":\"message {level}\"}}]}}"
        );
        let inner = format!(
            "{{\"id\":\"t\",\"status\":{{\"state\":\"completed\"}},\"artifacts\":[{artifact}],\"history\":{json}}}"
        );
        let wraps = wraps.get(level % wraps.len().max(1)).copied().unwrap_or_default();
        let inner = if wraps { format!("{{\"task\":{inner}}}") } else { inner };
        json = format!("[{inner},{message}]");
    }
    format!("{{\"id\":\"t\",\"status\":{{\"state\":\"completed\"}},\"history\":{json}}}")
}

fn order(past: &[Past]) -> Vec<String> {
    let parts = |past: &Past| match past {
        Past::Message(message) => texts(&message.parts).concat(),
        Past::Artifact(artifact) => texts(&artifact.parts).concat(),
    };
    past.iter().map(parts).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    // C17
    #[test]
    fn a_history_a_thousand_deep_is_read_depth_first(
        depth in 900_usize..1100,
        wraps in proptest::collection::vec(any::<bool>(), 1..8),
    ) {
        let json = nested(depth, &wraps);
        // On a small stack: nothing recurses.
        let read = std::thread::Builder::new().stack_size(256 << 10).spawn(move || event(&json)).unwrap();
        let Some(Event::Task(task)) = read.join().unwrap() else { panic!() };
        prop_assert!(!task.is_cut);
        let artifacts = (0..depth).map(|level| format!("artifact {level}"));
        let messages = (0..depth).rev().map(|level| format!("message {level}"));
        prop_assert_eq!(order(&task.history), artifacts.chain(messages).collect::<Vec<_>>());
    }

    #[test]
    fn any_json_is_read_without_a_panic(json in "[\\[\\]{}\":,a-e0-9 ]{0,200}") {
        let _ = event(&json);
        let _ = event(&format!("{{\"task\":{json}}}"));
    }
}

#[test]
fn a_history_without_an_end_is_cut() {
    let Some(Event::Task(task)) = event(&nested(DEEPEST + 10, &[false])) else { panic!() };
    assert!(task.is_cut);
}

#[test]
fn data_that_is_nested_too_deeply_stays_text() {
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let json = format!("{{\"message\":{{\"role\":\"agent\",\"parts\":[{{\"data\":{deep}}}]}}}}");
    let Some(Event::Message(message)) = event(&json) else { panic!() };
    assert_eq!(message.parts[0].content, Content::Deep(deep));
}
