//! The facts that a reply tells beside its content: the container that its code ran in, and the stop sequence that it
//! met.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::wildcard_imports,
    reason = "helpers of tests are not recognised as tests"
)]

use crate::common::*;
use attache_core::{
    AssistantMessage, AssistantPart, FinishReason, Message, ModelSettings, TextPart, ToolResult,
};
use serde_json::{Value, json};

const CONTAINER: &str = r#"{"expires_at":"2026-01-01T00:00:00Z","id":"container_1"}"#;

/// The same reply streamed and whole, with a container and a stop sequence, of these blocks.
fn replies(blocks: &[Value], stop_reason: &str) -> [AssistantMessage; 2] {
    let end = json!({"stop_reason": stop_reason, "stop_sequence": "END",
        "container": serde_json::from_str::<Value>(CONTAINER).unwrap()});
    let mut events = vec![json!({"type": "message_start", "message": {"id": "m", "type": "message",
        "content": [], "container": null, "stop_sequence": null}})];
    for (at, block) in (0..).zip(blocks) {
        events.extend([start(at, block), stop(at)]);
    }
    events.extend([json!({"type": "message_delta", "delta": end}), json!({"type": "message_stop"})]);
    let mut whole = json!({"id": "m", "type": "message", "role": "assistant", "content": blocks});
    whole.as_object_mut().unwrap().extend(end.as_object().unwrap().clone());
    [sse(&events), whole.to_string().into_bytes()].map(|body| completion(&body).message)
}

fn code(pending: bool) -> Vec<Value> {
    let mut blocks = vec![
        json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "code_execution", "input": {}}),
        json!({"type": "code_execution_tool_result", "tool_use_id": "srvtoolu_1", "content": {}}),
        json!({"type": "text", "text": "so far"}),
    ];
    if pending {
        blocks.push(json!({"type": "tool_use", "id": "toolu_1", "name": "files_list", "input": {},
            "caller": {"type": "code_execution_20250825", "tool_id": "srvtoolu_1"}}));
    }
    blocks
}

// anthropic.md 2 (`container`) and 5 (`stop_sequence`)
#[test]
fn container_and_stop_sequence_are_kept() {
    for message in replies(&code(false), "stop_sequence") {
        assert_eq!(message.metadata.get("stopSequence"), Some(&json!("END")));
        let container = message.parts.iter().find_map(|part| match part {
            AssistantPart::Opaque(part) if part.kind == "container" => Some(part.replay.json().to_owned()),
            _ => None,
        });
        assert_eq!(container.as_deref(), Some(CONTAINER));
        assert_eq!(message.text(), "so far");
    }
    // A member that is not there is not kept.
    let plain = completion(&reply(&[start(0, &json!({"type": "text", "text": "a"})), stop(0)], "end_turn"));
    assert!(plain.message.metadata.is_empty() && plain.message.parts.len() == 1);
    assert_eq!(plain.finish_reason, FinishReason::Stop);
}

// anthropic.md 5
#[test]
fn what_stopped_a_reply_and_what_was_cleared_is_metadata() {
    let delta = json!({"stop_reason": "refusal", "stop_details": {"type": "refusal", "category": "bio",
        "explanation": "No.", "fallback_credit_token": null}});
    let management = json!({"applied_edits": [{"type": "clear_tool_uses_20250919", "cleared_tool_uses": 2}]});
    let stream = sse(&[
        json!({"type": "message_start", "message": {"content": [], "context_management": null}}),
        json!({"type": "message_delta", "delta": delta, "context_management": management}),
        json!({"type": "message_stop"}),
    ]);
    let mut whole = json!({"type": "message", "content": [], "context_management": management});
    whole.as_object_mut().unwrap().extend(delta.as_object().unwrap().clone());
    for body in [stream, whole.to_string().into_bytes()] {
        let message = completion(&body).message;
        assert_eq!(message.metadata.get("stopDetails"), Some(&json!({"category": "bio"})));
        assert_eq!(message.metadata.get("appliedEdits"), Some(&management["applied_edits"]));
        assert_eq!(message.refusal().as_deref(), Some("No."));
    }
    let none = json!({"type": "message", "content": [], "stop_details": {"type": "refusal", "category": null},
        "context_management": {"applied_edits": []}});
    assert!(completion(none.to_string().as_bytes()).message.metadata.is_empty());
}

// anthropic.md 5
#[test]
fn reports_that_the_caller_asked_for_are_metadata() {
    let diagnostics = json!({"cache_miss_reason": {"type": "tools_changed", "cache_missed_input_tokens": 7}});
    let (first, last) = (json!([{"type": "a"}]), json!([{"type": "a"}, {"type": "b"}]));
    let stream = |end: Value| {
        let message = json!({"content": [], "diagnostics": diagnostics, "input_transformations": first});
        let mut delta = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}});
        delta["input_transformations"] = end;
        sse(&[json!({"type": "message_start", "message": message}), delta, json!({"type": "message_stop"})])
    };
    let whole =
        json!({"type": "message", "content": [], "diagnostics": diagnostics, "input_transformations": last});
    for (body, changes) in [
        (stream(last.clone()), &last),
        (stream(Value::Null), &first),
        (stream(json!([])), &first),
        (whole.to_string().into_bytes(), &last),
    ] {
        let metadata = completion(&body).message.metadata;
        assert_eq!(metadata.get("diagnostics"), Some(&diagnostics));
        assert_eq!(metadata.get("inputTransformations"), Some(changes));
    }
    let none = json!({"type": "message", "content": [], "diagnostics": null, "input_transformations": []});
    assert!(completion(none.to_string().as_bytes()).message.metadata.is_empty());
}

// anthropic.md 5: the model never said it
#[test]
fn the_explanation_of_a_refusal_does_not_go_back() {
    for (content, said) in [(json!([]), None), (json!([{"type": "text", "text": "I "}]), Some("I "))] {
        let reply = json!({"type": "message", "content": content, "stop_reason": "refusal",
            "stop_details": {"type": "refusal", "category": "bio", "explanation": "Not this."}});
        let declined = completion(reply.to_string().as_bytes()).message;
        assert_eq!(declined.refusal().as_deref(), Some("Not this."));
        let kept: Message = serde_json::from_value(json!(Message::Assistant(declined))).unwrap();
        let sent = body(&request([Message::user("a"), kept, Message::user("b")]));
        let sent = sent["messages"].as_array().unwrap();
        match said {
            Some(said) => {
                assert_eq!(sent.len(), 3);
                assert_eq!(sent[1]["content"].as_array().unwrap().len(), 1);
                assert_eq!(sent[1]["content"][0]["text"], said);
            }
            None => assert_eq!((sent.len(), sent[0]["content"].as_array().unwrap().len()), (1, 2)),
        }
    }
    // Words of another model go back.
    let own = AssistantPart::Text(TextPart::new("I will not.").unwrap().into_refusal());
    let sent = body(&request([Message::user("a"), assistant([Some(own)]), Message::user("b")]));
    assert_eq!(sent["messages"][1]["content"][0]["text"], "I will not.");
}

// anthropic.md 2: on continuation only the id goes back
#[test]
fn a_turn_goes_on_in_its_container() {
    for message in replies(&code(true), "tool_use") {
        let asked = message.tool_calls().next().unwrap().clone();
        let answer = || results([ToolResult::ok(&asked, "x")]);
        let history = || [Message::user("a"), Message::Assistant(message.clone()), answer()];
        let sent = body(&request(history()).with_tools(tools()));
        assert_eq!(sent["container"], "container_1");
        assert_eq!(sent["messages"][1]["content"].as_array().unwrap().len(), 4, "it is no block");

        // The caller's own word wins; what it leaves open is filled in.
        let with = |container: Value| {
            let options = ModelSettings::new().with_extra_body("container", container);
            body(&request(history()).with_tools(tools()).with_settings(options))["container"].clone()
        };
        assert_eq!(with(json!("container_2")), "container_2");
        assert_eq!(with(json!({"skills": []})), json!({"id": "container_1", "skills": []}));

        // A new turn begins without one: it may be gone.
        let next = history().into_iter().chain([Message::assistant("done"), Message::user("b")]);
        assert_eq!(body(&request(next).with_tools(tools())).get("container"), None);
    }
    for message in replies(&code(false), "pause_turn") {
        let sent = body(&request([Message::user("a"), Message::Assistant(message)]));
        assert_eq!(sent["container"], "container_1");
    }
}

// A container says nothing about whether the turn may be continued.
#[test]
fn a_container_alone_is_no_pause() {
    for message in replies(&[json!({"type": "text", "text": "done"})], "end_turn") {
        let error = encode(&request([Message::user("a"), Message::Assistant(message)])).unwrap_err();
        assert!(error.message().starts_with("the conversation ends with the assistant"), "{error}");
    }
}
