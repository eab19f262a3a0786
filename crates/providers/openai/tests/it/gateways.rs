//! Words and members of servers that stand in front of other APIs (openai.md C.15, C.18, C.19).

#![cfg(test)]

use attache_core::{ChatRequest, Completion, ErrorKind, FinishReason, Message, ToolResult};
use attache_openai::{ChatCodec, Profiles, Replayed};
use serde_json::{Value, json};

use crate::common::{
    answers, compatible, delta, deltas_agree, encode, failure, replay_with, reply, sse, user, whole,
};

/// The completion of an answer with this word and text, whole and streamed, which are the same.
fn ended(word: &str, text: &str) -> Completion {
    let said = json!({"role": "assistant", "content": text});
    let whole = reply(&whole(said.clone(), word));
    let streamed = reply(&sse(&[delta(said, None), delta(json!({}), Some(word))]));
    assert_eq!(
        (&whole.finish_reason, whole.message.text()),
        (&streamed.finish_reason, streamed.message.text())
    );
    assert_eq!(whole.raw_finish_reason.as_deref(), Some(word));
    whole
}

/// Bodies of answers that have this word and nothing else.
fn bare(word: &str) -> [String; 3] {
    let choice = json!({"index": 0, "finish_reason": word});
    let chunk = json!({"id": "c1", "choices": [choice]});
    [chunk.to_string(), sse(&[chunk]), sse(&[delta(json!({}), Some(word))])]
}

// openai.md C.15, C.18
#[test]
fn words_for_the_end_that_have_more_to_say() {
    for (word, reason) in [
        ("content_filter: PROHIBITED_CONTENT", FinishReason::ContentFilter),
        ("content_filter:SAFETY", FinishReason::ContentFilter),
        ("function_call_filter: MALFORMED_FUNCTION_CALL", FinishReason::Error),
        ("function_call_filter: UNEXPECTED_TOOL_CALL", FinishReason::Error),
        ("abort", FinishReason::Error),
        ("repetition", FinishReason::Length),
        ("STOP", FinishReason::Stop),
        ("MAX_TOKENS", FinishReason::Length),
        ("SAFETY", FinishReason::ContentFilter),
        ("RECITATION", FinishReason::ContentFilter),
        ("PROHIBITED_CONTENT", FinishReason::ContentFilter),
        ("MALFORMED_FUNCTION_CALL", FinishReason::Error),
        ("OTHER", FinishReason::Error),
        ("stop: eos", FinishReason::Stop),
        ("Stop", FinishReason::Stop),
        ("new_word: x", FinishReason::Other("new_word: x".to_owned())),
    ] {
        let completion = ended(word, "half");
        assert_eq!(
            (completion.finish_reason, completion.message.text()),
            (reason, "half".to_owned()),
            "{word}"
        );
    }
    for word in ["content_filter: PROHIBITED_CONTENT", "SAFETY"] {
        for body in bare(word) {
            let completion = reply(&body);
            assert_eq!(completion.finish_reason, FinishReason::ContentFilter, "{body}");
            assert!(completion.message.parts.is_empty(), "{body}");
        }
    }
    for word in ["function_call_filter: MALFORMED_FUNCTION_CALL", "MALFORMED_FUNCTION_CALL"] {
        for body in bare(word) {
            let error = failure(&body);
            assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Malformed, true), "{body}");
            assert_eq!(error.code(), Some(word));
        }
    }
    for body in bare("abort") {
        assert_eq!(failure(&body).kind(), ErrorKind::Overloaded, "{body}");
    }
}

// openai.md C.18
#[test]
fn thoughts_of_google_stand_between_tags_and_do_not_go_back() {
    let google = || (**Profiles::bundled().get("gemini-chat").unwrap()).clone();
    let flag = json!({"google": {"thought": true}});
    let thought = |text: &str| delta(json!({"content": text, "extra_content": flag}), None);
    let streamed = sse(&[
        thought("<thought>**Calculating** step"),
        thought(" by step"),
        delta(json!({"content": "</thought>The answer is 391."}), None),
        delta(json!({}), Some("stop")),
    ]);
    let content = "<thought>**Calculating** step by step</thought>The answer is 391.";
    let said = whole(json!({"content": content, "extra_content": flag}), "stop");
    for body in [streamed, said] {
        let replay = replay_with(google(), &body);
        deltas_agree(&replay.chunks, &replay.completion);
        let message = replay.completion.message;
        assert_eq!(message.thinking(), "**Calculating** step by step");
        assert_eq!(message.text(), "The answer is 391.");
        let request = ChatRequest::new([user("17 * 23?"), Message::Assistant(message).shared(), user("So?")]);
        let body = encode(&ChatCodec::new(google(), "m"), &request).parts.body.to_vec();
        let sent = serde_json::from_slice::<Value>(&body).unwrap()["messages"][1].clone();
        assert_eq!((&sent["content"], &sent["extra_content"]), (&json!("The answer is 391."), &flag));
    }
    // Answers without a thought have the flag, too.
    let plain = whole(json!({"content": "It is noon.", "extra_content": flag}), "stop");
    let message = replay_with(google(), &plain).completion.message;
    assert_eq!((message.thinking().as_str(), message.text().as_str()), ("", "It is noon."));
}

/// The message of the assistant, as the request behind its calls sends it.
fn sent_again(completion: Completion, replayed: Replayed) -> Value {
    let message = completion.message;
    let results: Vec<_> = message.tool_calls().map(|call| ToolResult::ok(call, "12")).collect();
    let request = ChatRequest::new([user("Hi"), Message::Assistant(message).shared(), answers(results)]);
    let mut profile = compatible();
    profile.reasoning_replay = replayed;
    let codec = ChatCodec::new(profile, "m");
    let body = encode(&codec, &request).parts.body.to_vec();
    serde_json::from_slice::<Value>(&body).unwrap()["messages"][1].clone()
}

// openai.md C.19
#[test]
fn thinking_blocks_go_back_with_calls() {
    let block = |thinking: &str, signature: &str| json!([{"type": "thinking", "thinking": thinking, "signature": signature}]);
    let thinks =
        |text: &str| delta(json!({"reasoning_content": text, "thinking_blocks": block(text, "")}), None);
    let redacted = |data: &str| {
        delta(json!({"content": "", "thinking_blocks": [{"type": "redacted_thinking", "data": data}]}), None)
    };
    let call = json!([{"index": 0, "id": "toolu_1", "type": "function", "function": {"name": "clock", "arguments": "{}"}}]);
    let streamed = sse(&[
        thinks("I "),
        thinks("I think."),
        delta(json!({"reasoning_content": "", "thinking_blocks": block("", "c2ln")}), None),
        redacted("Emw1"),
        redacted("Emw2"),
        thinks("On"),
        delta(json!({"thinking_blocks": block("", "c2ln2")}), None),
        delta(json!({"content": "", "tool_calls": call}), None),
        delta(json!({}), Some("tool_calls")),
    ]);
    let blocks = json!([
        {"type": "thinking", "thinking": "I I think.", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "Emw1"},
        {"type": "redacted_thinking", "data": "Emw2"},
        {"type": "thinking", "thinking": "On", "signature": "c2ln2"},
    ]);
    let said = json!({"reasoning_content": "I I think.On", "thinking_blocks": blocks, "tool_calls": call});
    for body in [streamed, whole(said, "tool_calls")] {
        let completion = reply(&body);
        assert_eq!(completion.message.thinking(), "I I think.On");
        for replayed in [Replayed::Never, Replayed::WithCalls, Replayed::Always] {
            let sent = sent_again(completion.clone(), replayed);
            assert_eq!(sent["thinking_blocks"], blocks, "{sent}");
            assert_eq!(sent.get("reasoning_content"), None, "it would be said twice");
        }
    }
    // Without calls they go back where reasoning does.
    let plain = reply(&whole(json!({"content": "Hi", "thinking_blocks": block("a", "b")}), "stop"));
    assert_eq!(plain.message.thinking(), "a", "also where nothing mirrors them");
    assert_eq!(sent_again(plain.clone(), Replayed::Never).get("thinking_blocks"), None);
    assert_eq!(sent_again(plain, Replayed::Always)["thinking_blocks"], block("a", "b"));
    // Blocks of another provider may hold no text of their own, which is then read from its mirror.
    let mirrored = reply(&whole(
        json!({"reasoning_content": "a", "thinking_blocks": block("{\"text\": \"a\"}", "b"), "content": "Hi"}),
        "stop",
    ));
    assert_eq!(mirrored.message.thinking(), "a");
    let redacted = reply(&whole(
        json!({"content": "Hi", "thinking_blocks": [{"type": "redacted_thinking", "data": "E"}]}),
        "stop",
    ));
    assert_eq!(redacted.message.thinking(), "");
    assert_eq!(sent_again(redacted, Replayed::Always)["thinking_blocks"][0]["data"], "E");
}

// openai.md C.19
#[test]
fn fields_of_a_provider_go_back_with_their_call() {
    let fields = json!({"thought_signature": "c2ln"});
    let call = |beside: Value, inside: Value| {
        let mut call = json!({"index": 0, "id": "c1", "type": "function", "function": {"name": "clock", "arguments": "{}"}});
        call.as_object_mut().unwrap().extend(beside.as_object().unwrap().clone());
        call["function"].as_object_mut().unwrap().extend(inside.as_object().unwrap().clone());
        json!({"tool_calls": [call]})
    };
    let given = json!({"provider_specific_fields": fields});
    let google = json!({"google": {"thought_signature": "Zw=="}});
    for (said, extra) in [
        (call(given.clone(), json!({})), None),
        (call(json!({}), given.clone()), None),
        (call(given.clone(), given), None),
        (
            call(json!({"provider_specific_fields": fields, "extra_content": google}), json!({})),
            Some(&google),
        ),
    ] {
        let streamed = sse(&[delta(said.clone(), None), delta(json!({}), Some("tool_calls"))]);
        for body in [streamed, whole(said, "tool_calls")] {
            let sent = sent_again(reply(&body), Replayed::Never);
            let call = &sent["tool_calls"][0];
            assert_eq!(
                (&call["provider_specific_fields"], call.get("extra_content")),
                (&fields, extra),
                "{sent}"
            );
        }
    }
    for nothing in [json!(null), json!({})] {
        let said = call(json!({"provider_specific_fields": nothing, "extra_content": google}), json!({}));
        let sent = sent_again(reply(&whole(said, "tool_calls")), Replayed::Never);
        assert_eq!(sent["tool_calls"][0]["extra_content"], google);
        assert_eq!(sent["tool_calls"][0].get("provider_specific_fields"), None);
    }
}
