//! The data of a reply goes back where it came from, and nowhere else.

#![cfg(test)]

use attache_core::{ChatRequest, Message, ToolResult};
use attache_openai::{ChatCodec, Profile, Replayed};
use serde_json::{Value, json};

use crate::common;
use crate::common::{answers, body, compatible, encode, openai, replay_with, shown, sse, user, whole};

// openai.md D 1, C.9, C.18: what came with reasoning goes back where it came from
#[test]
fn reasoning_goes_back_to_its_own_server() {
    let ask = json!([{"index": 0, "id": "call_1", "type": "function", "function": {"name": "clock", "arguments": "{}"},
        "extra_content": {"google": {"thought_signature": "s1"}}}]);
    let details = json!([{"type": "reasoning.text", "text": "hm", "signature": "s", "index": 0}]);
    for (name, message) in [
        ("reasoning_content", json!({"content": "", "reasoning_content": "hm", "tool_calls": ask})),
        ("reasoning", json!({"content": "Hi", "reasoning": "hm", "tool_calls": ask})),
        (
            "details",
            json!({"content": null, "reasoning": "hm", "reasoning_details": details, "tool_calls": ask}),
        ),
        ("extra", json!({"extra_content": {"google": {"thought": true}}, "tool_calls": ask})),
        (
            "parts",
            json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}], "signature": "s"},
            {"type": "text", "text": "Hi"}], "tool_calls": ask}),
        ),
    ] {
        let reply = replay_with(compatible(), &whole(message.clone(), "tool_calls")).completion.message;
        let call = reply.tool_calls().next().unwrap().clone();
        let request = ChatRequest::new([
            user("Hi"),
            Message::Assistant(reply).shared(),
            answers([ToolResult::ok(&call, "12")]),
        ]);
        let codec = |profile: Profile, model: &str| ChatCodec::new(profile, model);
        let sent = |codec: &ChatCodec| {
            let body: Value = serde_json::from_slice(&encode(codec, &request).parts.body.to_vec()).unwrap();
            body["messages"][1].clone()
        };
        insta::assert_snapshot!(name, shown(&sent(&codec(compatible(), "m"))));
        // OpenAI takes none of it.
        let elsewhere = body(&openai(), &request)["messages"][1].clone();
        let members: Vec<_> = elsewhere.as_object().unwrap().keys().cloned().collect();
        assert_eq!(members, ["role", "content", "tool_calls"]);
        assert!(
            !elsewhere.to_string().contains("hm") && !elsewhere.to_string().contains("google"),
            "{elsewhere}"
        );
        // Signatures belong to their model.
        let other_model = sent(&codec(compatible(), "n")).to_string();
        assert!(
            !other_model.contains("signature") && !other_model.contains("extra_content"),
            "{other_model}"
        );
        let mut never = compatible();
        never.reasoning_replay = Replayed::Never;
        assert!(!sent(&codec(never, "m")).to_string().contains("hm"));
    }
}

#[test]
fn reasoning_of_turns_without_calls_goes_back_only_where_all_does() {
    let reply = replay_with(
        compatible(),
        &sse(&[common::delta(json!({"reasoning": "hm", "content": "Hi"}), Some("stop"))]),
    );
    let request =
        ChatRequest::new([user("Hi"), Message::Assistant(reply.completion.message).shared(), user("So?")]);
    let mut profile = compatible();
    assert_eq!(body(&ChatCodec::new(profile.clone(), "m"), &request)["messages"][1].get("reasoning"), None);
    profile.reasoning_replay = Replayed::Always;
    assert_eq!(body(&ChatCodec::new(profile, "m"), &request)["messages"][1]["reasoning"], "hm");
}

#[test]
fn tags_go_back_as_they_stood() {
    let mut profile = compatible();
    profile.think_tags = attache_openai::ThinkTags::AtStart;
    profile.reasoning_replay = Replayed::Always;
    let text = "<think>\nhm\n</think>\n\nHi";
    let reply = replay_with(profile.clone(), &whole(json!({"content": text}), "stop")).completion.message;
    assert_eq!(reply.text(), "Hi");
    let request = ChatRequest::new([user("Hi"), Message::Assistant(reply).shared(), user("So?")]);
    assert_eq!(body(&ChatCodec::new(profile, "m"), &request)["messages"][1]["content"], text);
}

// Data beside the content of an answer is no part of a message that is sent.
#[test]
fn citations_pictures_and_sound_do_not_go_back() {
    let message = json!({"content": null, "annotations": [{"type": "url_citation"}], "images": [{"type": "image_url"}],
        "executed_tools": [{"index": 0, "type": "search"}],
        "audio": {"id": "audio_1", "transcript": "Hello"}});
    let reply = replay_with(compatible(), &whole(message, "stop")).completion.message;
    assert_eq!(reply.parts.len(), 5);
    let request = ChatRequest::new([user("Hi"), Message::Assistant(reply).shared(), user("So?")]);
    let sent = body(&ChatCodec::new(compatible(), "m"), &request)["messages"][1].clone();
    assert_eq!(sent, json!({"role": "assistant", "content": "Hello"}));
}
