//! Replies of Responses as servers send them that leave things out.

#![cfg(test)]

use attache_core::{Completion, FinishReason, StreamChunk};
use attache_openai::ResponsesCodec;
use attache_transport::replay;
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use crate::common::{deltas_agree, sse};

/// The reply, whose deltas agree with it.
fn reply(events: &[Value]) -> Completion {
    let body = sse(events);
    let replayed = replay(&ResponsesCodec::from("m"), StatusCode::OK, &HeaderMap::new(), [body.as_bytes()]);
    assert!(replayed.error.is_none(), "{:?}", replayed.error);
    deltas_agree(&replayed.chunks, &replayed.completion);
    assert!(matches!(replayed.chunks.last(), Some(StreamChunk::Done(_))));
    replayed.completion
}

fn message(id: &str, text: &str) -> Value {
    json!({"type": "message", "id": id, "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}]})
}

fn call(id: &str, arguments: &str) -> Value {
    json!({"type": "function_call", "id": id, "call_id": "c_1", "name": "find", "arguments": arguments})
}

fn piece(id: &str, text: &str) -> Value {
    json!({"type": "response.output_text.delta", "item_id": id, "delta": text})
}

fn ended(output: &[Value]) -> Value {
    json!({"type": "response.completed", "response": {"id": "r", "status": "completed", "output": output}})
}

// openai.md B.3
#[test]
fn logprobs_are_kept_for_who_asked_for_them() {
    let token = |text: &str| json!({"token": text, "logprob": -0.5, "bytes": [97], "top_logprobs": []});
    let said = |id: &str, text: &str| {
        let mut said = message(id, text);
        said["content"][0]["logprobs"] = json!([token(text)]);
        said
    };
    let mut none = message("m_3", "c");
    none["content"][0]["logprobs"] = json!([]);
    let output = [said("m_1", "a"), said("m_2", "b"), none.clone()];
    let done = |item: &Value| json!({"type": "response.output_item.done", "item": item});
    let mut streamed: Vec<_> = output.iter().map(done).collect();
    streamed.push(ended(&output));
    for events in [streamed, vec![ended(&output)]] {
        let metadata = reply(&events).message.metadata;
        assert_eq!(metadata.get("logprobs"), Some(&json!([token("a"), token("b")])));
    }
    assert!(reply(&[ended(&[none])]).message.metadata.is_empty());
}

// openai.md B.3
#[test]
fn reports_about_an_answer_are_metadata() {
    let removed =
        json!([{"id": "rs_1", "type": "reasoning", "action": "removed", "reason": "model_mismatch"}]);
    let scores = json!({"model": "omni", "input": {"flagged": false}});
    let said = message("m_1", "Hi");
    let mut end = ended(std::slice::from_ref(&said));
    let response = &mut end["response"];
    response["moderation"] = scores.clone();
    response["prompt_cache_diagnostics"] = json!({"hit": false});
    response["access_programs"] = json!({"cyber": "granted"});
    // An earlier state may tell more than the last one.
    response["input_transformations"] = json!([]);
    let begun = json!({"type": "response.created",
        "response": {"id": "r", "status": "in_progress", "input_transformations": removed, "moderation": {"model": "x"}}});
    let streamed = reply(&[begun, end.clone()]);
    let mut whole = end["response"].clone();
    whole["input_transformations"] = removed.clone();
    let read = replay(&ResponsesCodec::from("m"), StatusCode::OK, &HeaderMap::new(), [whole.to_string()]);
    for completion in [streamed, read.completion] {
        let metadata = &completion.message.metadata;
        assert_eq!(metadata.get("inputTransformations"), Some(&removed));
        assert_eq!(metadata.get("moderation"), Some(&scores), "the last one counts");
        assert_eq!(metadata.get("promptCacheDiagnostics"), Some(&json!({"hit": false})));
        assert_eq!(metadata.get("accessPrograms"), Some(&json!({"cyber": "granted"})));
    }
    let mut nothing = ended(&[said]);
    for name in ["input_transformations", "moderation", "prompt_cache_diagnostics", "access_programs"] {
        nothing["response"][name] = Value::Null;
    }
    assert!(reply(&[nothing]).message.metadata.is_empty());
}

// openai.md C.16: items are told apart by their ids alone
#[test]
fn items_without_an_index_are_known_by_their_ids() {
    let (text, asked) = (message("m_1", "Hello"), call("f_1", r#"{"a":1}"#));
    let done = |item: &Value| json!({"type": "response.output_item.done", "item": item});
    let begun = |kind: &str, id: &str| {
        json!({"type": "response.output_item.added",
            "item": {"type": kind, "id": id, "call_id": "c_1", "name": "find", "arguments": ""}})
    };
    let arguments = |delta: &str| json!({"type": "response.function_call_arguments.delta", "item_id": "f_1", "delta": delta});
    let pieces = [
        begun("message", "m_1"),
        piece("m_1", "Hel"),
        piece("m_1", "lo"),
        begun("function_call", "f_1"),
        arguments(r#"{"a""#),
        arguments(":1}"),
    ];
    let output = [text.clone(), asked.clone()];
    let mut whole = pieces.to_vec();
    whole.extend([done(&text), done(&asked), ended(&output)]);
    let mut unfinished = pieces.to_vec();
    unfinished.push(ended(&output));
    for events in [whole, unfinished, vec![ended(&output)]] {
        let reply = reply(&events);
        assert_eq!((reply.message.text().as_str(), reply.message.parts.len()), ("Hello", 2), "{events:?}");
        let calls: Vec<_> = reply.message.tool_calls().map(|call| call.arguments.raw()).collect();
        assert_eq!((calls, reply.finish_reason), (vec![r#"{"a":1}"#], FinishReason::ToolCalls));
    }
}

// E15, P07: white space alone is no text, whatever stands before it
#[test]
fn items_of_white_space_are_not_handed_out() {
    let events = [
        piece("m_1", "a"),
        piece("m_2", " "),
        piece("m_2", "\n"),
        piece("m_3", " "),
        piece("m_3", "b"),
        ended(&[message("m_1", "a"), message("m_2", " \n"), message("m_3", " b")]),
    ];
    assert_eq!(reply(&events).message.text(), "a b");
}
