//! Answers of the Responses API (openai.md B.3, B.6), as its servers send them and as they may.

#![cfg(test)]

use attache_core::message::ArgumentsError;
use attache_core::{AssistantPart, ErrorKind, FinishReason, Usage};
use serde_json::{Value, json};

use crate::common::answers::{
    added, arguments, begun, call, completed, done, events, failure, message, parts, reasoning, replay,
    reply, response, shown, text,
};
use crate::common::deltas_agree;

/// One turn with everything in it, event by event.
fn turn() -> Vec<Value> {
    let at = |mut event: Value, index: u64, id: &str| {
        event["output_index"] = index.into();
        event["item_id"] = id.into();
        event
    };
    let summary = |kind: &str, index: u64, member: &str, text: &str| {
        let kind = format!("response.reasoning_summary_text.{kind}");
        at(json!({"type": kind, "summary_index": index, member: text}), 0, "rs_1")
    };
    let part = |kind: &str, text: &str| {
        let kind = format!("response.content_part.{kind}");
        let part = json!({"type": "output_text", "text": text});
        at(json!({"type": kind, "content_index": 0, "part": part}), 1, "msg_1")
    };
    let search = |status: &str| json!({"type": "web_search_call", "id": "ws_1", "status": status, "action": {"query": "q"}});
    let created =
        json!({"id": "resp_1", "model": "gpt-5.6", "status": "in_progress", "output": [], "usage": null});
    let paragraph = json!({"type": "response.reasoning_summary_part.added", "summary_index": 0, "part": {"type": "summary_text", "text": ""}});
    vec![
        json!({"type": "response.created", "response": created}),
        json!({"type": "response.in_progress", "response": {"id": "resp_1", "status": "in_progress"}}),
        added(0, &json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAA"})),
        at(paragraph, 0, "rs_1"),
        summary("delta", 0, "delta", "first "),
        summary("delta", 0, "delta", "thought"),
        summary("done", 0, "text", "first thought"),
        summary("delta", 1, "delta", "second"),
        summary("done", 1, "text", "second"),
        done(0, &reasoning("rs_1", &["first thought", "second"])),
        added(1, &begun("msg_1")),
        part("added", ""),
        text(1, "msg_1", "Hel"),
        text(1, "msg_1", "lo"),
        at(json!({"type": "response.output_text.done", "content_index": 0, "text": "Hello"}), 1, "msg_1"),
        part("done", "Hello"),
        done(1, &message("msg_1", "Hello")),
        added(2, &search("in_progress")),
        at(json!({"type": "response.web_search_call.searching"}), 2, "ws_1"),
        done(2, &search("completed")),
        added(3, &call("fc_1", "call_1", "f", "")),
        arguments(3, "fc_1", "{\"x\""),
        arguments(3, "fc_1", ":1}"),
        at(json!({"type": "response.function_call_arguments.done", "arguments": "{\"x\":1}"}), 3, "fc_1"),
        done(3, &call("fc_1", "call_1", "f", "{\"x\":1}")),
        completed(&[
            reasoning("rs_1", &["first thought", "second"]),
            message("msg_1", "Hello"),
            search("completed"),
            call("fc_1", "call_1", "f", "{\"x\":1}"),
        ]),
    ]
}

const PARTS: [&str; 5] = [
    "reasoning first thought",
    "reasoning second +",
    "text Hello",
    "opaque web_search_call",
    "call f call_1 {\"x\":1}",
];

#[test]
fn a_whole_turn() {
    let reply = reply(&turn());
    assert_eq!(parts(&reply), PARTS);
    assert_eq!(
        (reply.model.as_deref(), reply.response_id.as_deref()),
        (Some("gpt-5.6-2026"), Some("resp_1"))
    );
    assert_eq!(reply.finish_reason, FinishReason::ToolCalls);
    assert_eq!(reply.raw_finish_reason.as_deref(), Some("completed"));
    assert_eq!(reply.usage.with_raw(None), Usage::new(3, 2));
}

// openai.md B.7, D 30: what goes back is what came, from the event in which it is complete
#[test]
fn d30_what_goes_back_is_kept_as_it_came() {
    let reply = reply(&turn());
    let json = |part: &AssistantPart| match part {
        AssistantPart::Reasoning(part) => part.replay().map(|replay| replay.json().to_owned()),
        AssistantPart::Text(part) => part.replay().map(|replay| replay.json().to_owned()),
        AssistantPart::ToolCall(call) => call.replay.as_ref().map(|replay| replay.json().to_owned()),
        AssistantPart::Opaque(part) => Some(part.replay.json().to_owned()),
        _ => None,
    };
    let kept: Vec<_> = reply.message.parts.iter().map(json).collect();
    assert_eq!(kept[0], None);
    assert_eq!(kept[1], Some(reasoning("rs_1", &["first thought", "second"]).to_string()));
    let envelope = r#"{"type":"message","id":"msg_1","role":"assistant","status":"completed"}"#;
    assert_eq!(kept[2].as_deref(), Some(envelope));
    assert!(kept[3].as_ref().unwrap().contains("\"status\":\"completed\""));
    assert_eq!(kept[4], Some(call("fc_1", "call_1", "f", "{\"x\":1}").to_string()));
}

// invariant 6
#[test]
fn events_complete_each_other() {
    let whole = response("completed", turn().last().unwrap()["response"]["output"].as_array().unwrap());
    let replay = replay(&whole.to_string());
    deltas_agree(&replay.chunks, &replay.completion);
    assert_eq!(parts(&replay.completion), PARTS);
    let full = ["text.done", "part.done", "arguments.done"];
    for left_out in [
        &["delta"][..],
        &["added"],
        &full,
        &["output_item.done"],
        &["delta", "text.done", "part.done", "arguments.done"],
        &["delta", "added", "text.done", "part.done", "arguments.done"],
        &["added", "output_item.done"],
        &["delta", "added", "text.done", "part.done", "arguments.done", "output_item.done"],
        &["delta", "added", "output_item.done", "text.done", "arguments.done"],
    ] {
        let mut rest = turn();
        rest.retain(|event| {
            let kind = event["type"].as_str().unwrap();
            !left_out.iter().any(|end| kind.ends_with(end))
        });
        assert_eq!(parts(&reply(&rest)), PARTS, "without {left_out:?}");
    }
    // Items that came whole need no final output; some servers leave it empty.
    for last in [completed(&[]), json!({"type": "response.completed", "response": {"status": "completed"}})] {
        let mut events = turn();
        *events.last_mut().unwrap() = last;
        assert_eq!(parts(&reply(&events)), PARTS);
    }
}

/// Changes an event, whose number is given.
type Change = fn(usize, &mut Value);

fn each_id(event: &mut Value, change: &dyn Fn(&str) -> Value) {
    for pointer in ["/item_id", "/item/id"] {
        if let Some(id) = event.pointer_mut(pointer) {
            *id = change(id.as_str().unwrap());
        }
    }
}

fn no_index(_: usize, event: &mut Value) {
    event.as_object_mut().unwrap().remove("output_index");
}

fn other_ids(at: usize, event: &mut Value) {
    each_id(event, &move |_| json!(format!("x{at}")));
}

// openai.md B.6: servers number and name items in many ways
#[test]
fn items_are_told_apart_whatever_their_ids_and_indexes_say() {
    let changes: [(&str, &[Change]); 9] = [
        ("no index", &[no_index]),
        (
            "one index",
            &[|_, event| {
                if event.get("output_index").is_some() {
                    event["output_index"] = json!(0);
                }
            }],
        ),
        ("null index", &[|_, event| event["output_index"] = Value::Null]),
        (
            "indexes from one",
            &[|_, event| {
                if let Some(index) = event["output_index"].as_u64() {
                    event["output_index"] = json!(index + 1);
                }
            }],
        ),
        ("no ids", &[|_, event| each_id(event, &|_| Value::Null)]),
        ("one id", &[|_, event| each_id(event, &|_| json!("x"))]),
        ("an id for each event", &[other_ids]),
        ("neither", &[other_ids, no_index]),
        (
            "other ids at the end",
            &[|_, event| {
                let output = event.pointer_mut("/response/output").and_then(Value::as_array_mut);
                for item in output.into_iter().flatten() {
                    item["id"] = json!(format!("tmp_{}", item["id"].as_str().unwrap()));
                }
            }],
        ),
    ];
    for (name, changes) in changes {
        let mut list = turn();
        for change in changes {
            list.iter_mut().enumerate().for_each(|(at, event)| change(at, event));
        }
        assert_eq!(parts(&reply(&list)), PARTS, "{name}");
    }
}

#[test]
fn parallel_calls_may_alternate() {
    let (a, b) = (call("fc_1", "call_1", "f", "{\"x\":1}"), call("fc_2", "call_2", "g", "{\"y\":2}"));
    let begun = |item: &Value| {
        let mut item = item.clone();
        item["arguments"] = json!("");
        item
    };
    let expected = ["call f call_1 {\"x\":1}", "call g call_2 {\"y\":2}"];
    for (one, other) in [(json!(0), json!(1)), (json!(0), json!(0)), (Value::Null, Value::Null)] {
        let list = [
            added(one.clone(), &begun(&a)),
            added(other.clone(), &begun(&b)),
            arguments(one.clone(), "fc_1", "{\"x\""),
            arguments(other.clone(), "fc_2", "{\"y\""),
            arguments(one.clone(), "fc_1", ":1}"),
            arguments(other.clone(), "fc_2", ":2}"),
            done(other, &b),
            done(one, &a),
            completed(&[a.clone(), b.clone()]),
        ];
        assert_eq!(parts(&reply(&list)), expected);
    }
}

// openai.md B.6: the item that is complete wins over its pieces
#[test]
fn completed_items_win_over_deltas() {
    let list = [
        added(0, &begun("msg_1")),
        text(0, "msg_1", "Helo"),
        done(0, &message("msg_1", "Hello")),
        added(1, &call("fc_1", "call_early", "f", "")),
        arguments(1, "fc_1", "{\"x\": 1 }"),
        done(1, &call("fc_1", "call_late", "f", "{\"x\":1}")),
        completed(&[]),
    ];
    let replay = replay(&events(&list));
    assert_eq!(parts(&replay.completion), ["text Hello", "call f call_late {\"x\":1}"]);
    assert_eq!(shown(&replay), ["Helo"], "what was handed out stays");
}

#[test]
fn blank_text_is_neither_shown_nor_kept() {
    let list = [
        added(0, &begun("msg_1")),
        text(0, "msg_1", "\n"),
        text(0, "msg_1", " "),
        done(0, &message("msg_1", "\n ")),
        added(1, &begun("msg_2")),
        text(1, "msg_2", "\n"),
        text(1, "msg_2", "Hi"),
        done(1, &message("msg_2", "\nHi")),
        completed(&[]),
    ];
    let replay = replay(&events(&list));
    assert_eq!(
        (parts(&replay.completion), shown(&replay)),
        (vec!["text \nHi".to_owned()], vec!["\nHi".to_owned()])
    );
}

// openai.md C.1, C.9
#[test]
fn reasoning_as_text() {
    let thought = |member: &str, kind: &str, text: &str| {
        json!({"type": format!("response.reasoning_text.{kind}"), "output_index": 0, "item_id": "u",
            "content_index": 0, member: text})
    };
    let content = json!([{"type": "reasoning_text", "text": "hm"}]);
    let item = json!({"type": "reasoning", "id": "u", "summary": [], "content": content});
    let list = [
        added(0, &json!({"type": "reasoning", "id": "u", "summary": []})),
        thought("delta", "delta", "h"),
        thought("delta", "delta", "m"),
        thought("text", "done", "hm"),
        done(0, &item),
        done(1, &message("m", "Hi")),
        completed(&[item.clone(), message("m", "Hi")]),
    ];
    assert_eq!(parts(&reply(&list)), ["reasoning hm +", "text Hi"]);
    // Reasoning that says nothing and that nobody completed is none.
    let begun = added(0, &json!({"type": "reasoning", "id": "u"}));
    assert_eq!(parts(&reply(&[begun, done(1, &message("m", "Hi")), completed(&[])])), ["text Hi"]);
}

#[test]
fn refusals() {
    let refusal = |kind: &str, member: &str, text: &str| {
        json!({"type": format!("response.refusal.{kind}"), "output_index": 0, "item_id": "m", "content_index": 0,
            member: text})
    };
    let content = json!([{"type": "refusal", "refusal": "I cannot."}]);
    let item = json!({"type": "message", "id": "m", "role": "assistant", "content": content});
    let streamed = [
        added(0, &begun("m")),
        refusal("delta", "delta", "I "),
        refusal("delta", "delta", "cannot."),
        refusal("done", "refusal", "I cannot."),
        done(0, &item),
        completed(std::slice::from_ref(&item)),
    ];
    let alone = [streamed[3].clone(), completed(&[])];
    for list in [&streamed[..], &streamed[4..], &streamed[5..], &alone] {
        let reply = reply(list);
        assert_eq!(parts(&reply), ["refusal I cannot."]);
        assert_eq!(reply.finish_reason, FinishReason::Refusal);
    }
}

// openai.md F 4: citations stay with the message, and its texts stay one message
#[test]
fn citations_and_strange_parts_are_kept() {
    let strange = json!({"type": "output_hologram", "data": "h"});
    let cited = json!([{"type": "url_citation", "url": "u"}]);
    let item = |content: Value| json!({"type": "message", "id": "m", "role": "assistant", "phase": "final_answer", "content": content});
    let said = item(json!([{"type": "output_text", "text": "a", "annotations": cited, "logprobs": []},
        {"type": "output_text", "text": "b", "annotations": []}, strange]));
    let answer = reply(&[done(0, &said), completed(std::slice::from_ref(&said))]);
    assert_eq!(parts(&answer), ["text a", "text b"]);
    let kept = answer.message.parts.iter().map(|part| match part {
        AssistantPart::Text(text) => serde_json::from_str::<Value>(text.replay().unwrap().json()).unwrap(),
        other => panic!("unexpected {other:?}"),
    });
    let kept: Vec<_> = kept.collect();
    assert_eq!((&kept[0]["annotations"], kept[1].get("annotations")), (&cited, None));
    for shell in kept {
        assert_eq!((&shell["phase"], &shell["content"]), (&json!("final_answer"), &json!([strange])));
    }
    // Without a text the message is kept whole.
    let silent = item(json!([strange]));
    assert_eq!(parts(&reply(&[done(0, &silent), completed(&[])])), ["opaque message"]);
}

// openai.md A.3: calls of tools that nobody here offers
#[test]
fn calls_of_custom_tools_are_calls() {
    let item = |input: &str| json!({"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_1", "name": "sql", "input": input});
    let input = |kind: &str, member: &str, text: &str| {
        json!({"type": format!("response.custom_tool_call_input.{kind}"), "output_index": 0, "item_id": "ctc_1",
            member: text})
    };
    let list = [
        added(0, &item("")),
        input("delta", "delta", "SELECT"),
        input("delta", "delta", " 1"),
        input("done", "input", "SELECT 1"),
        done(0, &item("SELECT 1")),
        completed(&[item("SELECT 1")]),
    ];
    for list in [&list[..], &list[4..], &list[5..]] {
        let reply = reply(list);
        assert_eq!(parts(&reply), ["call sql call_1 SELECT 1"]);
        let call = reply.message.tool_calls().next().unwrap();
        assert!(matches!(call.arguments.json(), Err(ArgumentsError::Malformed(_))) && call.replay.is_none());
    }
}

// openai.md B.3
#[test]
fn how_answers_end() {
    let ends = |status: &str, reason: Value, output: &[Value]| {
        let kind = format!("response.{status}");
        let mut last = json!({"type": kind, "response": response(status, output)});
        last["response"]["incomplete_details"] = reason;
        let reply = reply(&[last]);
        (reply.finish_reason, reply.raw_finish_reason.unwrap())
    };
    let (says, calls) = ([message("m", "Hi")], [call("fc", "call_1", "f", "{}")]);
    let because = |reason: &str| json!({"reason": reason});
    let other = |word: &str| FinishReason::Other(word.to_owned());
    assert_eq!(ends("completed", Value::Null, &says).0, FinishReason::Stop);
    assert_eq!(ends("completed", Value::Null, &calls).0, FinishReason::ToolCalls);
    assert_eq!(ends("completed", Value::Null, &[]).0, FinishReason::Stop);
    let cut = ends("incomplete", because("max_output_tokens"), &says);
    assert_eq!(cut, (FinishReason::Length, "incomplete".to_owned()));
    assert_eq!(ends("incomplete", because("content_filter"), &says).0, FinishReason::ContentFilter);
    assert_eq!(ends("incomplete", because("max_messages"), &says).0, other("max_messages"));
    assert_eq!(ends("incomplete", because("a new one"), &says).0, other("a new one"));
    assert_eq!(ends("incomplete", Value::Null, &says).0, FinishReason::Length);
    assert_eq!(ends("incomplete", because("max_output_tokens"), &calls).0, FinishReason::Length);
    // The event says it where the object does not, or not yet.
    for status in [Value::Null, json!("in_progress")] {
        let mut last = json!({"type": "response.incomplete", "response": {"output": says, "status": status}});
        assert_eq!(reply(&[last.clone()]).finish_reason, FinishReason::Length);
        last["type"] = json!("response.completed");
        assert_eq!(reply(&[last]).raw_finish_reason.as_deref(), Some("completed"));
    }
}

// openai.md B.6, runtime.md 16.5
#[test]
fn a_call_that_is_cut_off_is_never_executed() {
    let mut item = call("fc_1", "call_1", "f", "{\"x\": \"ab");
    item["status"] = json!("incomplete");
    let mut last = response("incomplete", std::slice::from_ref(&item));
    last["incomplete_details"] = json!({"reason": "max_output_tokens"});
    let reply = reply(&[
        added(0, &call("fc_1", "call_1", "f", "")),
        arguments(0, "fc_1", "{\"x\": \"ab"),
        done(0, &item),
        json!({"type": "response.incomplete", "response": last}),
    ]);
    assert_eq!(reply.finish_reason, FinishReason::Length);
    let call = reply.message.tool_calls().next().unwrap();
    assert_eq!(call.arguments.json(), Err(&ArgumentsError::Truncated));
}

// openai.md 0.4 3
#[test]
fn a_stream_without_its_last_event_is_cut() {
    let mut list = turn();
    list.pop();
    for end in ["", "data: [DONE]\n\n"] {
        let replay = replay(&format!("{}{end}", events(&list)));
        assert_eq!(replay.error.map(|error| error.kind()), Some(ErrorKind::StreamCut));
        assert_eq!(parts(&replay.completion), PARTS, "what is complete is there");
    }
    assert_eq!(parts(&replay(&events(&list[..5])).completion), ["reasoning first "]);
    assert_eq!(failure(&[]).kind(), ErrorKind::StreamCut);
}

// openai.md B.3: background mode, which nobody here waits for
#[test]
fn answers_that_go_on_elsewhere() {
    for status in ["queued", "in_progress"] {
        let error = replay(&response(status, &[]).to_string()).error.unwrap();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.message().contains(status), "{error}");
    }
    let queued = json!({"type": "response.queued", "response": response("queued", &[])});
    assert_eq!(parts(&reply(&[queued, done(0, &message("m", "Hi")), completed(&[])])), ["text Hi"]);
}

#[test]
fn a_stream_without_an_answer_is_malformed() {
    for body in ["{}", "[]", "7", "{\"object\":\"list\",\"data\":[]}", "{\"choices\":[]}"] {
        let error = replay(body).error.unwrap();
        assert!(matches!(error.kind(), ErrorKind::Malformed | ErrorKind::StreamCut), "{body}: {error}");
    }
    let broken = replay("event: response.created\ndata: {\"type\":\n\n").error.unwrap();
    assert_eq!(broken.kind(), ErrorKind::Malformed);
    let oddities = [
        json!(7),
        json!("text"),
        json!([1]),
        json!({"type": 7}),
        json!({"type": "keepalive"}),
        json!({"type": "response.output_item.added"}),
        json!({"type": "response.output_item.done", "item": "x"}),
        json!({"type": "response.output_text.delta", "delta": {"a": 1}}),
        json!({"type": "response.steer.applied", "message": "m"}),
    ];
    let answer = [done(0, &message("m", "Hi")), completed(&[])];
    let list: Vec<_> = oddities.into_iter().chain(answer).collect();
    assert_eq!(parts(&reply(&list)), ["text Hi"]);
}
