//! Replies as servers, gateways and later versions of the API send them.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::wildcard_imports,
    reason = "helpers of tests are not recognised as tests"
)]

use crate::common::*;
use attache_core::message::ArgumentsError;
use attache_core::{AssistantPart, Completion, ErrorKind, FinishReason, ProviderError, StreamChunk, Usage};
use attache_transport::replay;
use http::{HeaderMap, HeaderValue, StatusCode};
use proptest::prelude::*;
use serde_json::{Value, json};

/// A reply with every kind of block.
fn rich() -> Vec<Value> {
    vec![
        start(0, &json!({"type": "thinking", "thinking": "", "signature": ""})),
        json!({"type": "ping"}),
        delta(0, &json!({"type": "thinking_delta", "thinking": "I \u{1f389} think"})),
        delta(0, &json!({"type": "signature_delta", "signature": "sig=="})),
        stop(0),
        start(1, &json!({"type": "redacted_thinking", "data": "EmwK"})),
        stop(1),
        start(2, &json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}})),
        delta(2, &json!({"type": "input_json_delta", "partial_json": ""})),
        delta(2, &json!({"type": "input_json_delta", "partial_json": "{\"query\": 1"})),
        delta(2, &json!({"type": "input_json_delta", "partial_json": ".0}"})),
        stop(2),
        start(
            3,
            &json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"x": 1}]}),
        ),
        stop(3),
        start(4, &json!({"type": "text", "text": "", "citations": []})),
        delta(
            4,
            &json!({"type": "citations_delta", "citation": {"type": "page_location", "start_page_number": 1}}),
        ),
        delta(4, &json!({"type": "text_delta", "text": "It says "})),
        delta(4, &json!({"type": "text_delta", "text": "\"12 \u{20ac}\"\n"})),
        stop(4),
        start(
            5,
            &json!({"type": "tool_use", "id": "toolu_1", "name": "files_read", "input": {}, "caller": {"type": "direct"}}),
        ),
        delta(5, &json!({"type": "input_json_delta", "partial_json": ""})),
        delta(5, &json!({"type": "input_json_delta", "partial_json": "{\"path\": \"a\\u00"})),
        delta(5, &json!({"type": "input_json_delta", "partial_json": "e9\"}"})),
        stop(5),
    ]
}

/// The same, as it comes whole.
fn rich_whole() -> Value {
    json!({"id": "msg_1", "type": "message", "role": "assistant", "model": MODEL, "content": [
        {"type": "thinking", "thinking": "I \u{1f389} think", "signature": "sig=="},
        {"type": "redacted_thinking", "data": "EmwK"},
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": 1.0}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"x": 1}]},
        {"type": "text", "text": "It says \"12 \u{20ac}\"\n", "citations": [{"type": "page_location", "start_page_number": 1}]},
        {"type": "tool_use", "id": "toolu_1", "name": "files_read", "input": {"path": "a\u{e9}"}, "caller": {"type": "direct"}},
    ], "stop_reason": "tool_use", "stop_sequence": null, "stop_details": null, "container": null,
    "usage": {"input_tokens": 9, "output_tokens": 5}})
}

/// A message without what differs at each decoding, and arguments as values.
fn comparable(completion: &Completion) -> String {
    let parts: Vec<String> = completion
        .message
        .parts
        .iter()
        .map(|part| match part {
            AssistantPart::ToolCall(call) => {
                let replay = call.replay.as_ref().map(|replay| replay.json());
                format!("{} {:?} {:?} {replay:?}", call.name, call.provider_id, call.arguments.object())
            }
            AssistantPart::Opaque(part) => {
                let block: Value = serde_json::from_str(part.replay.json()).unwrap();
                format!("{} {block}", part.kind)
            }
            part => format!("{part:?}"),
        })
        .collect();
    format!("{parts:#?} {:?} {:?}", completion.finish_reason, completion.usage)
}

fn decode_in(pieces: &[&[u8]]) -> Result<Vec<StreamChunk>, ProviderError> {
    let replay = replay_pieces(pieces);
    replay.error.map_or(Ok(replay.chunks), Err)
}

fn done(chunks: Vec<StreamChunk>) -> Completion {
    match chunks.into_iter().last() {
        Some(StreamChunk::Done(completion)) => *completion,
        other => panic!("{other:?}"),
    }
}

// Invariant 6, P09
#[test]
fn streamed_and_whole_are_one() {
    let streamed = completion(&reply(&rich(), "tool_use"));
    let whole = completion(rich_whole().to_string().as_bytes());
    assert_eq!(comparable(&streamed), comparable(&whole));
    let kinds: Vec<_> = streamed.message.parts.iter().map(std::mem::discriminant).collect();
    assert_eq!(kinds.len(), 6);
    assert_eq!(streamed.message.tool_calls().next().unwrap().name, "files.read");
    assert_eq!(streamed.usage.input_tokens, Some(9));
}

#[test]
fn server_input_stays_byte_for_byte() {
    let streamed = completion(&reply(&rich(), "tool_use"));
    let AssistantPart::Opaque(part) = &streamed.message.parts[2] else { panic!() };
    assert_eq!(
        part.replay.json(),
        r#"{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query": 1.0}}"#
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    // P07
    #[test]
    fn any_cut_reads_the_same(cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..40), crlf: bool) {
        let mut body = reply(&rich(), "tool_use");
        if crlf {
            body = String::from_utf8(body).unwrap().replace('\n', "\r\n").into_bytes();
        }
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(body.len())).collect();
        at.extend([0, body.len()]);
        at.sort_unstable();
        let pieces: Vec<&[u8]> = at.windows(2).map(|pair| &body[pair[0]..pair[1]]).collect();
        let chunks = decode_in(&pieces).unwrap();
        let text: String = chunks.iter().filter_map(|chunk| match chunk {
            StreamChunk::Content(text) => Some(text.as_str()),
            _ => None,
        }).collect();
        let completion = done(chunks);
        prop_assert_eq!(&text, &completion.message.text());
        prop_assert_eq!(comparable(&completion), comparable(&done(decode_in(&[&body]).unwrap())));
    }

    // Cut off anywhere, a stream is an error and never a success.
    #[test]
    fn every_prefix_is_cut(end in any::<prop::sample::Index>()) {
        let body = reply(&rich(), "tool_use");
        let stop = body.windows(18).position(|window| window == b"event: message_sto").unwrap();
        let error = decode_in(&[&body[..end.index(stop)]]).unwrap_err();
        prop_assert!(matches!(error.kind(), ErrorKind::StreamCut), "{error:?}");
    }

    // Bytes of any kind lead to a reply or an error.
    #[test]
    fn bytes_of_any_kind_end_in_a_reply_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = decode_in(&[&bytes]);
    }

    // Events of known kinds, twice, in another order, lost, and with members that are null, gone or of another type.
    #[test]
    fn mangled_events_end_once(edits in prop::collection::vec(edit(), 1..4), cut in any::<prop::sample::Index>()) {
        let mut events = whole_stream();
        edits.iter().for_each(|edit| apply(&mut events, edit));
        let body = sse(&events);
        let replay = replay_pieces([&body]);
        let ends = replay.chunks.iter().filter(|chunk| matches!(chunk, StreamChunk::Done(_))).count();
        prop_assert_eq!(ends + usize::from(replay.error.is_some()), 1, "{:?}", replay.error);
        let (before, after) = body.split_at(cut.index(body.len() + 1));
        let again = replay_pieces([before, after]);
        prop_assert_eq!(comparable(&again.completion), comparable(&replay.completion));
        prop_assert_eq!(again.error.map(|e| e.to_string()), replay.error.map(|e| e.to_string()));
    }
}

/// Every event of a rich reply, its frame included.
fn whole_stream() -> Vec<Value> {
    let body = String::from_utf8(reply(&rich(), "tool_use")).unwrap();
    let data = body.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|data| serde_json::from_str(data).unwrap()).collect()
}

/// A change to a list of events.
#[derive(Clone, Debug)]
enum Edit {
    Twice(prop::sample::Index),
    Swap(prop::sample::Index, prop::sample::Index),
    Lose(prop::sample::Index),
    /// A member of an event, and what takes its place.
    Member(prop::sample::Index, prop::sample::Index, Option<Value>),
}

fn edit() -> impl Strategy<Value = Edit> {
    let at = any::<prop::sample::Index>;
    let values =
        [Value::Null, json!(7), json!(-1), json!("x"), json!([]), json!({}), json!([{"type": "text"}])];
    let values = prop::option::of(prop::sample::select(values.to_vec()));
    prop_oneof![
        1 => at().prop_map(Edit::Twice),
        1 => (at(), at()).prop_map(|(one, other)| Edit::Swap(one, other)),
        1 => at().prop_map(Edit::Lose),
        5 => (at(), at(), values).prop_map(|(event, member, value)| Edit::Member(event, member, value)),
    ]
}

fn apply(events: &mut Vec<Value>, edit: &Edit) {
    match edit {
        Edit::Twice(at) => {
            let at = at.index(events.len());
            events.insert(at, events[at].clone());
        }
        Edit::Swap(one, other) => {
            let (one, other) = (one.index(events.len()), other.index(events.len()));
            events.swap(one, other);
        }
        Edit::Lose(at) => drop(events.remove(at.index(events.len()))),
        Edit::Member(event, member, value) => {
            let at = event.index(events.len());
            let mut places = Vec::new();
            pointers(&events[at], "", &mut places);
            let Some((parent, key)) = places.get(member.index(places.len().max(1))) else { return };
            let parent = events[at].pointer_mut(parent).unwrap().as_object_mut().unwrap();
            match value {
                Some(value) => parent.insert(key.clone(), value.clone()),
                None => parent.shift_remove(key),
            };
        }
    }
}

/// Every member of an event: where the object stands that holds it, and its name.
fn pointers(value: &Value, path: &str, found: &mut Vec<(String, String)>) {
    for (key, member) in value.as_object().into_iter().flatten() {
        found.push((path.to_owned(), key.clone()));
        pointers(member, &format!("{path}/{key}"), found);
    }
}

// The changes of the property above reach what reads events: half of the replies are still replies with parts.
#[test]
fn most_mangled_events_are_read() {
    use proptest::strategy::ValueTree as _;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let strategy = prop::collection::vec(edit(), 1..4);
    let read = (0..200).filter(|_| {
        let mut events = whole_stream();
        let edits = strategy.new_tree(&mut runner).unwrap().current();
        edits.iter().for_each(|edit| apply(&mut events, edit));
        !replay_pieces([sse(&events)]).completion.message.parts.is_empty()
    });
    let read = read.count();
    assert!(read > 100, "{read} of 200");
}

// A later version of the API may add these (anthropic.md 1).
#[test]
fn unknown_things_are_tolerated() {
    let mut events = vec![json!({"type": "weather", "delta": "sunny", "index": "north", "usage": 3})];
    for mut event in rich() {
        event["added"] = json!({"since": 2027});
        if let Some(block) = event.get_mut("content_block") {
            block["added"] = json!(true);
        }
        if let Some(delta) = event.get_mut("delta") {
            delta["added"] = json!([1]);
        }
        events.push(event);
        events.push(delta(0, &json!({"type": "mood_delta", "text": {"not": "text"}})));
    }
    events.push(start(6, &json!({"type": "hologram", "depth": 1, "text": {"a": 1}})));
    events.push(delta(6, &json!({"type": "hologram_delta", "frames": 3})));
    events.push(stop(6));
    let message = completion(&reply(&events, "bored"));
    assert_eq!(message.raw_finish_reason.as_deref(), Some("bored"));
    assert_eq!(message.finish_reason, FinishReason::ToolCalls, "calls decide");
    let AssistantPart::Opaque(block) = message.message.parts.last().unwrap() else { panic!() };
    assert_eq!(block.kind, "hologram");
    assert_eq!(message.message.text(), "It says \"12 \u{20ac}\"\n");
}

// P24, anthropic.md 5
#[test]
fn stop_reasons() {
    let text = [start(0, &json!({"type": "text", "text": "a"})), stop(0)];
    for (word, reason) in [
        ("end_turn", FinishReason::Stop),
        ("stop_sequence", FinishReason::Stop),
        ("max_tokens", FinishReason::Length),
        ("model_context_window_exceeded", FinishReason::Length),
        ("refusal", FinishReason::Refusal),
        ("pause_turn", FinishReason::Pause),
        ("compaction", FinishReason::Pause),
        ("tool_use", FinishReason::Stop),
        ("bored", FinishReason::Other("bored".into())),
    ] {
        let done = completion(&reply(&text, word));
        assert_eq!((done.finish_reason, done.raw_finish_reason.as_deref()), (reason, Some(word)));
        assert_eq!(done.message.text(), "a", "partial text stays");
    }
}

#[test]
fn a_refusal_says_why() {
    let body = json!({"type": "message", "content": [{"type": "text", "text": "I "}], "stop_reason": "refusal",
        "stop_details": {"type": "refusal", "category": "bio", "explanation": "Not this."}});
    let done = completion(body.to_string().as_bytes());
    assert_eq!((done.message.text().as_str(), done.message.refusal().as_deref()), ("I ", Some("Not this.")));
}

// anthropic.md 9: cumulative, overwritten, null keeps
#[test]
fn usage_is_overwritten() {
    let stream = sse(&[
        json!({"type": "message_start", "message": {"content": [], "usage": {"input_tokens": 10, "output_tokens": 3,
            "cache_read_input_tokens": 100, "cache_creation_input_tokens": null}}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 20,
            "input_tokens": null, "cache_creation_input_tokens": 5, "output_tokens_details": {"thinking_tokens": 7}}}),
        json!({"type": "message_stop"}),
    ]);
    let usage = completion(&stream).usage;
    let raw = usage.raw.clone().unwrap();
    let value = raw.value();
    assert_eq!((&value["input_tokens"], &value["output_tokens"]), (&json!(10), &json!(20)));
    let counts =
        Usage::new(115, 20).with_cached_tokens(100).with_cache_write_tokens(5).with_reasoning_tokens(7);
    assert_eq!(usage, counts.with_raw(raw));
}

#[test]
fn blocks_are_told_apart_by_index() {
    let call =
        |index: u64, id: &str| start(index, &json!({"type": "tool_use", "id": id, "name": "n", "input": {}}));
    let piece =
        |index: u64, text: &str| delta(index, &json!({"type": "input_json_delta", "partial_json": text}));
    // Interleaved, without stops, with a lost start.
    let stream = reply(
        &[
            call(0, "a"),
            call(1, "b"),
            piece(0, "{\"x\":"),
            piece(1, "{\"y\":"),
            piece(0, "1}"),
            piece(1, "2}"),
            delta(7, &json!({"type": "text_delta", "text": "late"})),
        ],
        "tool_use",
    );
    let message = completion(&stream).message;
    let arguments: Vec<_> = message.tool_calls().map(|call| call.arguments.raw().to_owned()).collect();
    assert_eq!((arguments, message.text()), (vec!["{\"x\":1}".into(), "{\"y\":2}".into()], "late".into()));
    let lost = decode(&reply(&[piece(3, "{}")], "tool_use")).unwrap_err();
    assert_eq!(lost.kind(), ErrorKind::Malformed);
}

#[test]
fn errors_under_status_200() {
    let body = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let error = decode(body.to_string().as_bytes()).unwrap_err();
    assert_eq!((error.kind(), error.is_after_output()), (ErrorKind::Overloaded, false));
    for body in [
        "[1]",
        "{\"type\":\"message\",\"content\":3}",
        "{}",
        "{\"type\":\"message\",\"content\":[{}]}",
        "{\"x\"",
    ] {
        assert_eq!(decode(body.as_bytes()).unwrap_err().kind(), ErrorKind::Malformed, "{body}");
    }
    let torn =
        decode(b"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\n\n").unwrap_err();
    assert_eq!(torn.kind(), ErrorKind::Malformed);
}

#[test]
fn a_message_of_the_most_meagre_kind() {
    let done =
        completion(br#"{"type":"message","content":null,"stop_reason":null,"usage":null,"model":null}"#);
    assert!(done.message.parts.is_empty());
    assert_eq!((done.raw_finish_reason, done.usage, done.model), (None, Usage::default(), None));
    let done = completion(br#"{"content":[{"type":"text","text":"a"}]}"#);
    assert_eq!((done.message.text().as_str(), done.finish_reason), ("a", FinishReason::Stop));
}

// anthropic.md 5: servers that imitate the API
#[test]
fn content_and_indexes_of_a_neighbouring_type_are_read() {
    let done = completion(br#"{"type":"message","content":"Hi","stop_reason":"end_turn"}"#);
    assert_eq!((done.message.text().as_str(), done.message.parts.len()), ("Hi", 1));
    let events = [
        json!({"type": "message_start", "message": {"id": "m", "content": "", "usage": {"input_tokens": 9}}}),
        json!({"type": "content_block_start", "index": "0", "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": "0", "delta": {"type": "text_delta", "text": "Hi"}}),
        json!({"type": "content_block_stop", "index": "0"}),
        json!({"type": "content_block_start", "index": "1", "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": "1", "delta": {"type": "text_delta", "text": " you"}}),
        json!({"type": "content_block_delta", "index": "0", "delta": {"type": "text_delta", "text": ","}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
        json!({"type": "message_stop"}),
    ];
    let done = completion(&sse(&events));
    assert_eq!((done.message.text().as_str(), done.message.parts.len()), ("Hi, you", 2));
    assert_eq!(done.usage.input_tokens, Some(9));
}

#[test]
fn blocks_are_bounded() {
    let endless = start(0, &json!({"type": "redacted_thinking", "data": "E"})).to_string();
    let events = format!("data: {endless}\n\n").repeat(10_001);
    assert_eq!(decode_in(&[events.as_bytes()]).unwrap_err().kind(), ErrorKind::Malformed);
}

#[test]
fn recorded_errors_keep_their_request_id() {
    let mut headers = HeaderMap::new();
    headers.insert("request-id", HeaderValue::from_static("req_7"));
    let error = replay(&codec(), StatusCode::OK, &headers, ["data: {}\n\n"]).error.unwrap();
    assert_eq!((error.kind(), error.request_id()), (ErrorKind::StreamCut, Some("req_7")));
    let page = replay(&codec(), StatusCode::BAD_GATEWAY, &headers, ["<html>Bad ", "gateway</html>"]);
    let error = page.error.unwrap();
    assert_eq!(
        (error.kind(), error.status(), error.request_id()),
        (ErrorKind::Overloaded, Some(502), Some("req_7"))
    );
    assert!(page.chunks.is_empty() && page.completion.message.parts.is_empty());
}

// Pieces that came before a failure are not lost.
#[test]
fn a_failed_reply_in_parts() {
    let mut events = rich();
    events.pop();
    events.push(json!({"type": "error", "error": {"type": "api_error", "message": "m"}}));
    let replay = replay_pieces([sse(&events)]);
    assert_eq!(replay.error.unwrap().kind(), ErrorKind::Overloaded);
    let message = replay.completion.message;
    assert_eq!(message.text(), "It says \"12 \u{20ac}\"\n");
    let call = message.tool_calls().next().unwrap();
    assert_eq!(call.arguments.json(), Err(&ArgumentsError::Truncated), "never executed");
}

/// An error inside a stream that began.
fn failing(event: &str) -> attache_transport::Replay {
    let began = json!({"type": "message_start", "message": {"id": "m", "type": "message", "content": []}});
    let told = start(0, &json!({"type": "text", "text": "Hel"}));
    let mut body = sse(&[began, told]);
    body.extend(event.as_bytes());
    replay_pieces([body])
}

// llama.cpp on /v1/messages; openai.md C: servers that imitate
#[test]
fn an_event_named_error_is_one_whatever_its_data_says() {
    for (data, kind, code, message) in [
        (
            r#"{"code":500,"message":"Failed to parse input","type":"server_error"}"#,
            ErrorKind::Overloaded,
            Some("500"),
            "Failed to parse input",
        ),
        (
            r#"{"error":{"code":400,"message":"too big","type":"exceed_context_size_error"}}"#,
            ErrorKind::InvalidRequest,
            Some("exceed_context_size_error"),
            "too big",
        ),
        (r#"{"error":"no slot"}"#, ErrorKind::Api, None, "no slot"),
        (r#"{"detail":"gone"}"#, ErrorKind::Api, None, "gone"),
        ("no JSON", ErrorKind::Api, None, "the provider reported an error without saying which"),
        (
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            ErrorKind::Overloaded,
            Some("overloaded_error"),
            "Overloaded",
        ),
    ] {
        let replay = failing(&format!("event: error\ndata: {data}\n\n"));
        let error = replay.error.unwrap_or_else(|| panic!("{data} was skipped"));
        assert_eq!((error.kind(), error.code(), error.message()), (kind, code, message), "{data}");
        assert_eq!(error.response_body(), Some(data));
        assert!(error.is_after_output());
        assert_eq!(replay.completion.message.text(), "Hel");
    }
}

// By its data alone it is one too, and so is a foreign one in the place of a reply.
#[test]
fn errors_under_a_success_status_carry_their_body() {
    let flat = r#"{"type":"error","message":"m","code":"rate_limit_exceeded"}"#;
    let error = failing(&format!("data: {flat}\n\n")).error.unwrap();
    assert_eq!((error.kind(), error.message()), (ErrorKind::RateLimited, "m"));
    assert_eq!(error.response_body(), Some(flat));
    for (body, kind) in [
        (flat, ErrorKind::RateLimited),
        (r#"{"error":{"message":"m","type":"server_error"}}"#, ErrorKind::Overloaded),
        (r#"{"x":1}"#, ErrorKind::Malformed),
    ] {
        let error = replay_pieces([body]).error.unwrap();
        assert_eq!((error.kind(), error.response_body()), (kind, Some(body)));
    }
}

// anthropic.md 9: what a compaction kept, verbatim in the next request
#[test]
fn a_compaction_keeps_both_of_its_members() {
    let block = json!({"type": "compaction", "content": "S", "encrypted_content": "E"});
    let pieces = |deltas: &[Value]| {
        let mut events = vec![start(0, &json!({"type": "compaction", "content": null}))];
        events.extend(deltas.iter().map(|piece| delta(0, piece)));
        events.extend([stop(0), start(1, &json!({"type": "text", "text": "Hi"})), stop(1)]);
        reply(&events, "end_turn")
    };
    let together = json!({"type": "compaction_delta", "content": "S", "encrypted_content": "E"});
    let apart = [
        json!({"type": "compaction_delta", "content": "S", "encrypted_content": null}),
        json!({"type": "compaction_delta", "content": null, "encrypted_content": "E"}),
    ];
    let whole = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": MODEL,
        "content": [block, {"type": "text", "text": "Hi"}], "stop_reason": "end_turn",
        "usage": {"input_tokens": 9, "output_tokens": 5}});
    let whole = completion(whole.to_string().as_bytes());
    for body in [pieces(&[together]), pieces(&apart)] {
        let streamed = completion(&body);
        assert_eq!(comparable(&streamed), comparable(&whole));
        let again = request([
            attache_core::Message::user("a"),
            attache_core::Message::Assistant(streamed.message),
            attache_core::Message::user("b"),
        ]);
        let sent = unchecked_body(&again, &codec()).unwrap();
        assert_eq!(sent["messages"][1]["content"][0], block);
    }
}
