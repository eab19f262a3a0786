//! Breakages of other clients (openai.md D): each row that concerns what we read, by its number.

#![cfg(test)]

use attache_core::message::ArgumentsError;
use attache_core::{AssistantPart, ErrorKind, FinishReason};
use attache_openai::{Profile, ThinkTags};
use serde_json::{Value, json};

use crate::common::{calls, compatible, delta, failure, replay, replay_with, reply, sse, whole};

fn call(
    index: impl Into<Value>,
    id: impl Into<Value>,
    name: impl Into<Value>,
    arguments: impl Into<Value>,
) -> Value {
    let (index, id, name, arguments) = (index.into(), id.into(), name.into(), arguments.into());
    json!({"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

/// A stream of deltas with these lists of tool call fragments.
fn fragments(deltas: &[Value], finish: &str) -> String {
    let mut chunks: Vec<_> = deltas.iter().map(|list| delta(json!({"tool_calls": list}), None)).collect();
    chunks.push(delta(json!({}), Some(finish)));
    sse(&chunks)
}

fn named(name: &str, id: Option<&str>, arguments: &str) -> (String, Option<String>, String) {
    (name.to_owned(), id.map(str::to_owned), arguments.to_owned())
}

#[test]
fn d04_null_content_beside_calls_is_no_text() {
    let message = json!({"role": "assistant", "content": null, "tool_calls": [call(0, "a", "f", "{}")]});
    let reply = reply(&whole(message, "tool_calls"));
    assert_eq!((reply.message.parts.len(), reply.message.text().as_str()), (1, ""));
}

#[test]
fn d05_d06_later_blanks_do_not_erase_id_and_name() {
    let body = fragments(
        &[
            json!([call(0, "a", "f", "{\"x\"")]),
            json!([call(0, "", "", ":1")]),
            json!([call(0, Value::Null, Value::Null, "}")]),
        ],
        "tool_calls",
    );
    assert_eq!(calls(&reply(&body)), [named("f", Some("a"), "{\"x\":1}")]);
}

#[test]
fn d07_parallel_calls_that_all_have_index_0() {
    let one_chunk = fragments(&[json!([call(0, "a", "f", "{}"), call(0, "b", "g", "{\"x\":1}")])], "stop");
    let several =
        fragments(&[json!([call(0, "a", "f", "{}")]), json!([call(0, "b", "g", "{\"x\":1}")])], "stop");
    let nameless = fragments(
        &[json!([call(0, "", "f", "{}")]), json!([call(0, Value::Null, "g", "{\"x\":1}")])],
        "stop",
    );
    let expected = [named("f", Some("a"), "{}"), named("g", Some("b"), "{\"x\":1}")];
    assert_eq!(calls(&reply(&one_chunk)), expected);
    assert_eq!(calls(&reply(&several)), expected);
    assert_eq!(calls(&reply(&nameless)), [named("f", None, "{}"), named("g", None, "{\"x\":1}")]);
}

#[test]
fn d08_d09_a_missing_index_is_not_0() {
    let body = fragments(
        &[
            json!([{"id": "a", "function": {"name": "f", "arguments": "{\"x\""}}]),
            json!([{"function": {"arguments": ":1}"}}]),
            json!([{"id": "b", "function": {"name": "g", "arguments": "{}"}}]),
        ],
        "tool_calls",
    );
    assert_eq!(calls(&reply(&body)), [named("f", Some("a"), "{\"x\":1}"), named("g", Some("b"), "{}")]);
}

#[test]
fn d10_arguments_before_the_name() {
    let body = fragments(
        &[
            json!([{"index": 0, "function": {"arguments": "{\"x\":"}}]),
            json!([{"index": 0, "id": "a", "function": {"name": "f", "arguments": "1}"}}]),
        ],
        "tool_calls",
    );
    assert_eq!(calls(&reply(&body)), [named("f", Some("a"), "{\"x\":1}")]);
}

#[test]
fn d11_a_blank_id_is_none_and_ours_is_there() {
    let reply = reply(&whole(json!({"tool_calls": [call(0, "", "f", "{}")]}), "tool_calls"));
    let made = reply.message.tool_calls().next().unwrap();
    assert!(made.provider_id.is_none() && !made.id.as_str().is_empty());
}

#[test]
fn d12_a_repeated_id_still_gets_an_id_of_ours() {
    let body = whole(json!({"tool_calls": [call(0, "f:0", "f", "{}")]}), "tool_calls");
    let (first, second) = (reply(&body), reply(&body));
    let id = |reply: &attache_core::Completion| reply.message.tool_calls().next().unwrap().id.clone();
    assert_ne!(id(&first), id(&second));
    assert_eq!(calls(&first), calls(&second), "the wire's id is kept");
}

#[test]
fn d68_later_pieces_under_another_index_or_id_are_of_the_call_that_waits() {
    let begun = || json!([call(0, "a", "f", "")]);
    let piece = |index: u64, id: Value, arguments: &str| json!([call(index, id, Value::Null, arguments)]);
    for rest in [
        [piece(1, Value::Null, "{\"x\":"), piece(2, Value::Null, "1}")],
        [piece(0, json!("b"), "{\"x\":"), piece(0, json!("c"), "1}")],
        [piece(3, json!("a"), "{\"x\":"), piece(3, json!(""), "1}")],
    ] {
        let [one, other] = rest;
        let body = fragments(&[begun(), one, other], "tool_calls");
        assert_eq!(calls(&reply(&body)), [named("f", Some("a"), "{\"x\":1}")], "{body}");
    }
}

#[test]
fn d70_pieces_of_several_calls_without_an_index_go_by_their_places() {
    let begun = |ids: [Value; 2]| {
        let [a, b] = ids;
        json!([{"id": a, "function": {"name": "f", "arguments": ""}}, {"id": b, "function": {"name": "g", "arguments": ""}}])
    };
    let pieces =
        |f: &str, g: &str| json!([{"function": {"arguments": f}}, {"id": "", "function": {"arguments": g}}]);
    for ids in [[Some("a"), Some("b")], [None, None]] {
        let lists = [begun(ids.map(|id| json!(id))), pieces("{\"x\":", "{\"y\""), pieces("1}", ":2}")];
        let reply = reply(&fragments(&lists, "tool_calls"));
        let expected = [named("f", ids[0], "{\"x\":1}"), named("g", ids[1], "{\"y\":2}")];
        assert_eq!(calls(&reply), expected);
    }
    // There is nothing that two pieces could go on with.
    let one = fragments(&[json!([call(0, "a", "f", "{\"x\"")]), pieces(":1", "}")], "tool_calls");
    assert_eq!(calls(&reply(&one)), [named("f", Some("a"), "{\"x\":1}")]);
}

#[test]
fn d18_text_in_the_chunk_that_finishes_counts() {
    let reply =
        reply(&sse(&[delta(json!({"content": "a"}), None), delta(json!({"content": "b"}), Some("stop"))]));
    assert_eq!(reply.message.text(), "ab");
}

#[test]
fn d32_no_arguments_are_an_empty_object() {
    for none in [json!(""), json!(null), json!(" "), json!("null"), json!({})] {
        let reply = reply(&whole(json!({"tool_calls": [call(0, "a", "f", none.clone())]}), "tool_calls"));
        let call = reply.message.tool_calls().next().unwrap();
        assert_eq!(call.arguments.json(), Ok("{}"), "{none}");
    }
    let absent = json!({"tool_calls": [{"id": "a", "function": {"name": "f"}}]});
    assert_eq!(
        reply(&whole(absent, "tool_calls")).message.tool_calls().next().unwrap().arguments.json(),
        Ok("{}")
    );
}

#[test]
fn d33_arguments_in_a_string_in_a_string() {
    let reply = reply(&whole(json!({"tool_calls": [call(0, "a", "f", "\"{\\\"x\\\":1}\"")]}), "tool_calls"));
    assert_eq!(reply.message.tool_calls().next().unwrap().arguments.json(), Ok("{\"x\":1}"));
}

#[test]
fn arguments_as_an_object_are_taken_whole() {
    let reply = reply(&whole(json!({"tool_calls": [call(0, "a", "f", json!({"x": [1]}))]}), "tool_calls"));
    assert_eq!(calls(&reply), [named("f", Some("a"), "{\"x\":[1]}")]);
}

#[test]
fn d36_calls_decide_whatever_the_finish_reason() {
    for word in ["stop", "tool_calls", "eos", "brand_new", ""] {
        let reply = reply(&whole(json!({"tool_calls": [call(0, "a", "f", "{}")]}), word));
        assert_eq!(reply.finish_reason, FinishReason::ToolCalls, "{word}");
    }
    let cut = reply(&whole(json!({"tool_calls": [call(0, "a", "f", "{")]}), "length"));
    assert_eq!(cut.finish_reason, FinishReason::Length);
}

#[test]
fn d37_a_tool_calls_ending_without_calls_is_a_stop() {
    for none in [
        json!({"content": "Hi"}),
        json!({"content": "Hi", "tool_calls": []}),
        json!({"content": "Hi", "tool_calls": null}),
    ] {
        let reply = reply(&whole(none, "tool_calls"));
        assert_eq!(
            (reply.finish_reason, reply.raw_finish_reason.as_deref()),
            (FinishReason::Stop, Some("tool_calls"))
        );
    }
}

#[test]
fn d40_an_end_without_a_finish_is_no_success() {
    let torn = format!("data: {}\n\n", delta(json!({"content": "Hel"}), None));
    let replay = replay(&torn);
    assert_eq!(replay.error.unwrap().kind(), ErrorKind::StreamCut);
    assert_eq!(replay.completion.message.text(), "Hel", "what came is kept");
    assert_eq!(failure("").kind(), ErrorKind::StreamCut);
}

#[test]
fn d41_data_without_a_space() {
    let body = format!("data:{}\n\ndata:[DONE]\n\n", delta(json!({"content": "Hi"}), Some("stop")));
    assert_eq!(reply(&body).message.text(), "Hi");
}

#[test]
fn d42_a_finish_reason_suffices_at_the_end() {
    let body = format!("data: {}\n\n", delta(json!({"content": "Hi"}), Some("stop")));
    assert_eq!(reply(&body).message.text(), "Hi");
    let no_blank_line = body.trim_end();
    assert_eq!(reply(no_blank_line).message.text(), "Hi");
}

#[test]
fn d43_chunks_without_choices_or_delta() {
    let body = sse(&[
        json!({"choices": [], "id": "", "model": "", "prompt_filter_results": [{"prompt_index": 0}]}),
        delta(json!({"content": "Hi"}), None),
        json!({"choices": [{"index": 0, "content_filter_results": {}, "finish_reason": null}]}),
        json!({"choices": [{"index": 0, "delta": null, "finish_reason": "stop"}]}),
    ]);
    let reply = reply(&body);
    assert_eq!((reply.message.text().as_str(), reply.response_id.as_deref()), ("Hi", Some("c1")));
}

#[test]
fn d44_usage_after_the_finish() {
    let usage = json!({"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4});
    let body = sse(&[delta(json!({"content": "Hi"}), Some("stop")), json!({"choices": [], "usage": usage})]);
    assert_eq!(reply(&body).usage.input_tokens, Some(3));
}

#[test]
fn d46_reasoning_in_tags_and_in_a_member_is_read_once() {
    let mut profile = compatible();
    profile.think_tags = ThinkTags::AtStart;
    let pieces = [("<think>", ""), ("a", "a"), ("b</think>", "b"), ("\n\nHi", "")];
    let chunks: Vec<_> = pieces
        .iter()
        .map(|(content, reasoning)| delta(json!({"content": content, "reasoning_content": reasoning}), None))
        .collect();
    let replay = replay_with(profile, &sse(&chunks));
    assert_eq!(
        (replay.completion.message.thinking().as_str(), replay.completion.message.text().as_str()),
        ("ab", "Hi")
    );
}

#[test]
fn d48_blank_roles_and_null_deltas() {
    let body = sse(&[
        delta(json!({"role": "", "content": "Hi"}), None),
        json!({"choices": [{"index": 0, "delta": null, "finish_reason": "stop"}]}),
        json!({"object": "chat.completion", "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}]}),
    ]);
    assert_eq!(reply(&body).message.text(), "Hi", "the whole message at the end is no news");
}

#[test]
fn d58_d59_usage_in_the_choice_and_beside() {
    let usage = json!({"prompt_tokens": 3, "completion_tokens": 1});
    let choice =
        sse(&[json!({"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop", "usage": usage}]})]);
    let groq = sse(&[
        json!({"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}], "x_groq": {"id": "r", "usage": usage}}),
    ]);
    // Cumulative counts on every chunk: the last ones hold.
    let every = sse(&[
        json!({"choices": [{"delta": {"content": "Hi"}}], "usage": {"prompt_tokens": 3, "completion_tokens": 0}}),
        json!({"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": usage}),
    ]);
    for body in [choice, groq, every] {
        let usage = reply(&body).usage;
        assert_eq!((usage.input_tokens, usage.output_tokens), (Some(3), Some(1)), "{body}");
    }
}

#[test]
fn d60_finish_reasons_are_open() {
    for (word, reason) in [
        ("sensitive", FinishReason::ContentFilter),
        ("model_length", FinishReason::Length),
        ("model_context_window_exceeded", FinishReason::Length),
        ("eos", FinishReason::Stop),
        ("brand_new", FinishReason::Other("brand_new".to_owned())),
    ] {
        let reply = reply(&whole(json!({"content": "Hi"}), word));
        assert_eq!((reply.finish_reason, reply.raw_finish_reason.as_deref()), (reason, Some(word)));
    }
    let failed = failure(&sse(&[delta(json!({}), Some("insufficient_system_resource"))]));
    assert_eq!((failed.kind(), failed.is_retryable()), (ErrorKind::Overloaded, true));
    let halfway = reply(&sse(&[delta(json!({"content": "Hi"}), Some("network_error"))]));
    assert_eq!((halfway.finish_reason, halfway.message.text().as_str()), (FinishReason::Error, "Hi"));
}

#[test]
fn d64_tags_are_text_unless_the_profile_says_otherwise() {
    let body = whole(json!({"content": "<think>a</think>\n\nHi"}), "stop");
    assert_eq!(reply(&body).message.text(), "<think>a</think>\n\nHi");
    for tags in [ThinkTags::AtStart, ThinkTags::Opened] {
        let mut profile = compatible();
        profile.think_tags = tags;
        let message = replay_with(profile, &body).completion.message;
        assert_eq!((message.thinking().as_str(), message.text().as_str()), ("a", "Hi"));
    }
}

#[test]
fn d66_odd_envelopes_are_ignored() {
    let body = json!({"object": 7, "created": "yesterday", "service_tier": ["x"], "system_fingerprint": null, "choices": [{"index": "0",
        "message": {"role": 1, "content": "Hi", "tool_calls": {}, "refusal": false, "reasoning": {}, "audio": null}, "finish_reason": 1}], "usage": []});
    let reply = reply(&body.to_string());
    assert_eq!(reply.message.text(), "Hi");
}

// C.6: content lists with thinking
#[test]
fn content_lists_keep_their_order() {
    let thinking = json!({"type": "thinking", "thinking": [{"type": "text", "text": "a"}], "signature": "s"});
    let list =
        json!([thinking, {"type": "text", "text": "Hi"}, {"type": "reference", "reference_ids": [1]}, "!"]);
    let message = reply(&whole(json!({"content": list}), "stop")).message;
    assert_eq!((message.thinking().as_str(), message.text().as_str()), ("a", "Hi!"));
    assert!(
        matches!(&message.parts[0], AssistantPart::Reasoning(part) if part.replay().unwrap().json().contains("\"signature\":\"s\""))
    );
    assert!(matches!(&message.parts[2], AssistantPart::Opaque(part) if part.kind == "reference"));
    let streamed = sse(&[
        delta(json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "a"}]}]}), None),
        delta(json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "b"}]}]}), None),
        delta(json!({"content": "Hi"}), Some("stop")),
    ]);
    let message = reply(&streamed).message;
    assert_eq!((message.parts.len(), message.thinking().as_str(), message.text().as_str()), (2, "ab", "Hi"));
}

// P24: a truncated call is never executed
#[test]
fn a_call_cut_by_the_token_limit_is_not_run() {
    let cut = |arguments: &str, finish: &str| {
        let body =
            fragments(&[json!([call(0, "a", "f", "{}")]), json!([call(1, "b", "g", arguments)])], finish);
        let reply = reply(&body);
        let states: Vec<_> = reply
            .message
            .tool_calls()
            .map(|call| call.arguments.json().map(str::to_owned).map_err(Clone::clone))
            .collect();
        states
    };
    let (whole, torn) = (Ok("{}".to_owned()), Err(ArgumentsError::Truncated));
    for finish in ["length", "content_filter"] {
        assert_eq!(cut("", finish), [whole.clone(), torn.clone()], "blank may be the start of something");
        assert_eq!(cut("{\"x\":", finish), [whole.clone(), torn.clone()]);
        assert_eq!(cut("{}", finish), [whole.clone(), whole.clone()]);
    }
    assert_eq!(cut("", "tool_calls"), [whole.clone(), whole.clone()]);
    assert_eq!(cut("{\"x\":", "tool_calls"), [whole, torn], "a server may not admit it");
}

// openai.md A.3, A.5: old and free-text forms
#[test]
fn function_calls_of_other_kinds_are_calls() {
    let old = sse(&[
        delta(json!({"function_call": {"name": "f", "arguments": "{\"x\""}}), None),
        delta(json!({"function_call": {"arguments": ":1}"}}), Some("function_call")),
    ]);
    assert_eq!(calls(&reply(&old)), [named("f", None, "{\"x\":1}")]);
    let custom = whole(
        json!({"tool_calls": [{"id": "a", "type": "custom", "custom": {"name": "f", "input": "free text"}}]}),
        "tool_calls",
    );
    assert_eq!(calls(&reply(&custom)), [named("f", Some("a"), "free text")]);
}

#[test]
fn empty_fragments_are_no_calls() {
    let body = fragments(
        &[json!([{}]), json!([{"index": 0, "function": {"arguments": ""}}]), json!([null])],
        "stop",
    );
    assert_eq!(calls(&reply(&body)), []);
}

#[test]
fn json_where_a_stream_was_asked_for_and_the_reverse() {
    assert_eq!(reply(&format!("\n\n  {}", whole(json!({"content": "Hi"}), "stop"))).message.text(), "Hi");
    let commented = format!(": keep-alive\n\n{}", sse(&[delta(json!({"content": "Hi"}), Some("stop"))]));
    assert_eq!(reply(&commented).message.text(), "Hi");
    assert_eq!(
        reply(&format!("\u{feff}{}", sse(&[delta(json!({"content": "Hi"}), Some("stop"))]))).message.text(),
        "Hi"
    );
}

#[test]
fn scalars_between_the_chunks_say_nothing() {
    let body =
        format!("data: \"ping\"\n\ndata: 1\n\n{}", sse(&[delta(json!({"content": "Hi"}), Some("stop"))]));
    assert_eq!(reply(&body).message.text(), "Hi");
}

// Compatible servers need no profile to be understood; OpenAI's own reads the same.
#[test]
fn the_profile_of_openai_reads_alike() {
    let body = whole(json!({"content": "Hi", "reasoning_content": "a"}), "stop");
    let message = replay_with((*Profile::openai_chat()).clone(), &body).completion.message;
    assert_eq!((message.thinking().as_str(), message.text().as_str()), ("a", "Hi"));
}

// openai.md C.1: what keeps a connection alive while the answer is made
#[test]
fn blank_lines_and_comments_before_an_answer() {
    let whole = format!("\n\n \r\n\n{}", whole(json!({"content": "Hi"}), "stop"));
    assert_eq!(reply(&whole).message.text(), "Hi");
    let streamed = sse(&[delta(json!({"content": "Hi"}), Some("stop"))]);
    assert_eq!(reply(&format!(": keep-alive\n\n: OPENROUTER PROCESSING\n\n{streamed}")).message.text(), "Hi");
}

// openai.md C.3: the whole message once more at the end of a stream
#[test]
fn a_message_repeated_at_the_end_is_read_once() {
    let last = json!({"object": "chat.completion", "choices": [{"index": 0, "message": {"content": "Hi"}, "finish_reason": "stop"}]});
    assert_eq!(reply(&sse(&[delta(json!({"content": "Hi"}), None), last])).message.text(), "Hi");
}
