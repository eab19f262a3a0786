//! Replies on the wire (bedrock.md 4, 5, 7), decoded by a reader of its own.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use attache_transport::cassette::Cassette;
use bytes::Bytes;
use http::{HeaderMap, Method};
use serde_json::{Value, json};

use super::NOVA;
use crate::mock::record::RecordedRequest;
use crate::mock::wire::render;
use crate::testing::Request;
use crate::{CassetteIndex, Finish, MockProvider, Reply, ReplyUsage, Writes, event_frame};

fn request(operation: &str, body: &Value) -> RecordedRequest {
    let uri = format!("/model/m.x/{operation}").parse().expect("a path");
    RecordedRequest::new(Method::POST, uri, HeaderMap::new(), body.to_string().into())
}

fn whole(reply: &Reply) -> Value {
    let rendered = render(reply, &request("converse", &json!({}))).expect("a reply that fits");
    assert_eq!(rendered.content_type, "application/json");
    serde_json::from_slice(&rendered.events[0]).expect("JSON")
}

fn content(reply: &Reply) -> Value {
    whole(reply)["output"]["message"]["content"].clone()
}

/// A frame's headers and its payload.
struct Frame {
    headers: Vec<(String, String)>,
    payload: Vec<u8>,
}

impl Frame {
    fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(own, _)| own == name).map_or("", |(_, value)| value)
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.payload).expect("JSON")
    }
}

/// Takes a body apart into its complete frames, with both checksums verified, and what is left of it.
fn frames(mut body: &[u8]) -> (Vec<Frame>, &[u8]) {
    fn be32(bytes: &[u8]) -> usize {
        u32::from_be_bytes(bytes[..4].try_into().expect("four bytes")).try_into().expect("fits")
    }
    let mut frames = Vec::new();
    while body.len() >= 16 && body.len() >= be32(body) {
        let (frame, rest) = body.split_at(be32(body));
        let (content, sum) = frame.split_at(frame.len() - 4);
        assert_eq!(checksum(&frame[..8]), be32(&frame[8..]), "the prelude's checksum");
        assert_eq!(checksum(content), be32(sum), "the frame's checksum");
        let (mut head, payload) = content[12..].split_at(be32(&frame[4..]));
        let mut headers = Vec::new();
        let mut take = |count: usize| {
            let (taken, rest) = head.split_at(count);
            head = rest;
            taken.to_vec()
        };
        let total = be32(&frame[4..]);
        let mut read = 0;
        while read < total {
            let name_len = usize::from(take(1)[0]);
            let name = String::from_utf8(take(name_len)).expect("text");
            assert_eq!(take(1), [7], "a string");
            let value_len = take(2).iter().fold(0, |sum, byte| sum * 256 + usize::from(*byte));
            let value = String::from_utf8(take(value_len)).expect("text");
            read += 4 + name_len + value_len;
            headers.push((name, value));
        }
        frames.push(Frame { headers, payload: payload.to_vec() });
        body = rest;
    }
    (frames, body)
}

/// CRC-32 bit by bit, independent of the encoder's.
fn checksum(bytes: &[u8]) -> usize {
    let mut sum = u32::MAX;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = if sum & 1 == 1 { (sum >> 1) ^ 0xedb8_8320 } else { sum >> 1 };
        }
    }
    usize::try_from(!sum).expect("fits")
}

/// The events of a stream: their types, and their payloads without the padding, which each must have.
fn stream(reply: &Reply) -> Vec<(String, Value)> {
    let rendered = render(reply, &request("converse-stream", &json!({}))).expect("a reply that fits");
    assert_eq!(rendered.content_type, "application/vnd.amazon.eventstream");
    let body = rendered.events.concat();
    let (frames, rest) = frames(&body);
    assert!(rest.is_empty());
    let events = frames.iter().map(|frame| {
        assert_eq!(frame.header(":message-type"), "event");
        assert_eq!(frame.header(":content-type"), "application/json");
        let mut payload = frame.json();
        let padding = payload.as_object_mut().and_then(|payload| payload.remove("p"));
        assert!(padding.is_some_and(|padding| padding.is_string()));
        (frame.header(":event-type").to_owned(), payload)
    });
    events.collect()
}

fn kinds(events: &[(String, Value)]) -> Vec<&str> {
    events.iter().map(|(kind, _)| kind.as_str()).collect()
}

#[test]
fn a_frame_is_laid_out_as_described() {
    // Lengths, checksum of both, the header, the payload, checksum of all.
    let frame = event_frame(&[(":a", "bc")], b"{}");
    assert_eq!(frame[..8], [0, 0, 0, 26, 0, 0, 0, 8]);
    assert_eq!(frame[12..22], b"\x02:a\x07\x00\x02bc{}"[..]);
    let (frames, rest) = frames(&frame);
    assert_eq!(
        (frames[0].header(":a"), frames[0].payload.as_slice(), rest.len()),
        ("bc", b"{}".as_slice(), 0)
    );
    // The empty frame of the format's description.
    let empty = [0, 0, 0, 0x10, 0, 0, 0, 0, 0x05, 0xc2, 0x48, 0xeb, 0x7d, 0x98, 0xc8, 0xff];
    assert_eq!(event_frame(&[], b""), Bytes::copy_from_slice(&empty));
}

#[test]
fn a_whole_answer_has_the_recorded_shape() {
    let reply = Reply::new()
        .signed_thinking("hm", "sig")
        .redacted_thinking("blob")
        .text("Hi there")
        .call("tooluse_1", "add", json!({"a": 1}))
        .usage(ReplyUsage::new(100, 9).with_cached(60).with_cache_write(30));
    let body = whole(&reply);
    assert_eq!(body["output"]["message"]["role"], "assistant");
    assert_eq!(
        content(&reply),
        json!([
            {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "sig"}}},
            {"reasoningContent": {"redactedContent": "blob"}},
            {"text": "Hi there"},
            {"toolUse": {"toolUseId": "tooluse_1", "name": "add", "input": {"a": 1}, "type": "tool_use"}},
        ])
    );
    assert_eq!(body["stopReason"], "tool_use");
    let usage = &body["usage"];
    assert_eq!((&usage["inputTokens"], &usage["outputTokens"]), (&json!(10), &json!(9)));
    assert_eq!((&usage["cacheReadInputTokens"], &usage["cacheWriteInputTokens"]), (&json!(60), &json!(30)));
    assert_eq!(usage["totalTokens"], 109);
    assert!(whole(&Reply::new().without_usage()).get("usage").is_none());
}

#[test]
fn a_stream_has_the_recorded_order() {
    let events = stream(&Reply::new().text("Hi there").call_pieces("t", "add", ["{\"a\":", "1}"]));
    assert_eq!(
        kinds(&events),
        [
            "messageStart",
            "contentBlockDelta",
            "contentBlockDelta",
            "contentBlockStop",
            "contentBlockStart",
            "contentBlockDelta",
            "contentBlockDelta",
            "contentBlockStop",
            "messageStop",
            "metadata",
        ]
    );
    assert_eq!(events[0].1, json!({"role": "assistant"}));
    assert_eq!(events[1].1, json!({"contentBlockIndex": 0, "delta": {"text": "Hi "}}));
    let start = json!({"toolUse": {"toolUseId": "t", "name": "add", "type": "tool_use"}});
    assert_eq!(events[4].1, json!({"contentBlockIndex": 1, "start": start}));
    assert_eq!(events[5].1, json!({"contentBlockIndex": 1, "delta": {"toolUse": {"input": "{\"a\":"}}}));
    assert_eq!(events[7].1, json!({"contentBlockIndex": 1}));
    assert_eq!(events[8].1, json!({"stopReason": "tool_use"}));
    assert_eq!(events[9].1["usage"]["outputTokens"], 5);
}

// E04, bedrock.md (a) 10, 11
#[test]
fn blank_text_before_a_call_stays_a_block() {
    let reply = Reply::new().text("").call("t", "add", json!({}));
    assert_eq!(content(&reply)[0], json!({"text": ""}));
    let events = stream(&reply);
    assert_eq!(events[1].1["delta"], json!({"text": ""}));
    assert_eq!(events[3].1["start"]["toolUse"]["name"], "add");
    assert_eq!(content(&Reply::new()), json!([]));
}

// E05, E06, E07, E08: what client libraries make several generations of is one list of blocks here.
#[test]
fn generations_are_blocks_of_one_message() {
    let reply = Reply::new().text("x").text("").call("a", "add", json!({})).next_choice().text("y").call(
        "b",
        "add",
        json!({}),
    );
    let blocks = content(&reply);
    let kinds: Vec<_> = blocks
        .as_array()
        .expect("an array")
        .iter()
        .map(|block| block["text"].as_str().or(block["toolUse"]["toolUseId"].as_str()).expect("a block"))
        .collect();
    assert_eq!(kinds, ["x", "", "a", "y", "b"]);
    assert_eq!(whole(&reply)["stopReason"], "tool_use");
    let events = stream(&reply);
    let last = events.iter().filter_map(|(_, payload)| payload["contentBlockIndex"].as_u64()).max();
    assert_eq!(last, Some(4));
    assert_eq!(kinds.len(), 5);
}

// bedrock.md 5: flat in a stream, nested in a message.
#[test]
fn reasoning_is_streamed_flat() {
    let events = stream(&Reply::new().signed_thinking("hm", "sig").redacted_thinking("blob").thinking("so"));
    let deltas: Vec<_> =
        events.iter().filter_map(|(_, payload)| payload.get("delta")?.get("reasoningContent")).collect();
    assert_eq!(
        deltas,
        [
            &json!({"text": "hm"}),
            &json!({"signature": "sig"}),
            &json!({"redactedContent": "blob"}),
            &json!({"text": "so"})
        ]
    );
    assert!(!kinds(&events).contains(&"contentBlockStart"));
    let unsigned = content(&Reply::new().thinking("so"));
    assert_eq!(unsigned, json!([{"reasoningContent": {"reasoningText": {"text": "so"}}}]));
}

#[test]
fn blocks_of_server_tools_are_streamed_with_a_start() {
    let call =
        json!({"toolUse": {"toolUseId": "s", "name": "n", "type": "server_tool_use", "input": {"q": 1}}});
    let found = json!({"toolResult": {"toolUseId": "s", "type": "n_result", "status": "success", "content": [{"json": {}}]}});
    let cited = json!({"citationsContent": {"content": [{"text": "a"}], "citations": [{"title": "D"}]}});
    let reply = Reply::new().block(call.clone()).block(found.clone()).block(cited.clone());
    assert_eq!(content(&reply), json!([call, found, cited]));
    let events = stream(&reply);
    assert_eq!(
        events[1].1["start"]["toolUse"],
        json!({"toolUseId": "s", "name": "n", "type": "server_tool_use"})
    );
    assert_eq!(events[2].1["delta"]["toolUse"]["input"], "{\"q\":1}");
    assert_eq!(events[4].1["start"]["toolResult"]["type"], "n_result");
    assert_eq!(events[5].1["delta"]["toolResult"], json!([{"json": {}}]));
    assert_eq!(
        (&events[7].1["delta"], &events[8].1["delta"]),
        (&json!({"text": "a"}), &json!({"citation": {"title": "D"}}))
    );
    let foreign = Reply::new().block(json!({"x": 1}));
    assert!(render(&foreign, &request("converse-stream", &json!({}))).is_err());
}

#[test]
fn finish_words_are_the_apis_own() {
    for (finish, word) in [
        (Finish::Stop, "end_turn"),
        (Finish::Length, "max_tokens"),
        (Finish::ToolCalls, "tool_use"),
        (Finish::ContentFilter, "content_filtered"),
        (Finish::Refusal, "content_filtered"),
        (Finish::StopSequence("END".to_owned()), "stop_sequence"),
        (Finish::from("malformed_tool_use"), "malformed_tool_use"),
    ] {
        assert_eq!(whole(&Reply::new().finish(finish))["stopReason"], word);
    }
    assert_eq!(whole(&Reply::new().refusal("no"))["stopReason"], "content_filtered");
    let stopped = Reply::new().finish(Finish::StopSequence("END".to_owned()));
    assert!(whole(&stopped).get("additionalModelResponseFields").is_none());
    let asking = request("converse", &json!({"additionalModelResponseFieldPaths": ["/stop_sequence"]}));
    let rendered = render(&stopped, &asking).expect("a reply that fits");
    let body: Value = serde_json::from_slice(&rendered.events[0]).expect("JSON");
    assert_eq!(body["additionalModelResponseFields"], json!({"stop_sequence": "END"}));
    assert!(render(&Reply::new().finish(Finish::Pause), &asking).is_err());
}

#[test]
fn malformed_arguments_come_as_text() {
    let broken = Reply::new().call_pieces("t", "add", ["{\"a\":"]);
    assert_eq!(content(&broken)[0]["toolUse"]["input"], "{\"a\":");
    assert_eq!(content(&Reply::new().call_pieces("t", "add", [""]))[0]["toolUse"]["input"], "");
}

async fn streamed(mock: &MockProvider, reply: Reply) -> crate::testing::Answer {
    mock.enqueue(reply);
    let body = super::body();
    Request::converse_stream(mock.url(), NOVA, &body).send().await.expect("an answer")
}

// bedrock.md 7
#[tokio::test]
async fn exceptions_and_errors_end_a_stream() {
    let mock = MockProvider::start().await.expect("a free port");
    let answer =
        streamed(&mock, Reply::new().text("Hi there").error_event(2, "throttlingException", "slow")).await;
    assert_eq!(answer.status, 200);
    let body = answer.body();
    let (frames, _) = frames(&body);
    assert_eq!(frames.len(), 3);
    assert_eq!(frames[2].header(":message-type"), "exception");
    assert_eq!(frames[2].header(":exception-type"), "throttlingException");
    assert_eq!(frames[2].json(), json!({"message": "slow"}));

    let kind = "modelStreamErrorException";
    let body = streamed(&mock, Reply::new().error_event(0, kind, "boom")).await.body();
    assert_eq!(self::frames(&body).0[0].json()["originalStatusCode"], 500);

    let body = streamed(&mock, Reply::new().text("Hi").error_frame(1, "InternalError", "boom")).await.body();
    let (frames, _) = self::frames(&body);
    let last = frames.last().expect("a frame");
    assert_eq!((last.header(":message-type"), last.header(":error-code")), ("error", "InternalError"));
    assert_eq!((frames.len(), last.header(":error-message"), last.payload.len()), (2, "boom", 0));
}

#[tokio::test]
async fn faults_cut_frames_wherever_they_are() {
    let mock = MockProvider::start().await.expect("a free port");
    let whole = streamed(&mock, Reply::new().text("Hi there")).await.body();
    for writes in [Writes::Every(3), Writes::Seeded(5), Writes::At(vec![5, 20]), Writes::Whole] {
        let answer = streamed(&mock, Reply::new().text("Hi there").writes(writes)).await;
        assert_eq!(answer.body(), whole);
    }
    let cut = streamed(&mock, Reply::new().text("Hi there").end_after(whole.len() - 5)).await;
    assert!(!cut.broken);
    let body = cut.body();
    let (complete, rest) = frames(&body);
    assert_eq!((complete.len(), rest.is_empty()), (5, false));
    let reset = streamed(&mock, Reply::new().text("Hi there").reset_after(40)).await;
    assert!(reset.broken);
    let delayed =
        streamed(&mock, Reply::new().text("Hi there").delay_between(Duration::from_millis(1))).await;
    assert_eq!(delayed.body(), whole);
}

#[tokio::test]
async fn ends_and_counts_can_be_left_out_and_frames_put_in() {
    let mock = MockProvider::start().await.expect("a free port");
    let kinds = |body: &[u8]| {
        let (frames, _) = frames(body);
        frames.iter().map(|frame| frame.header(":event-type").to_owned()).collect::<Vec<_>>()
    };
    let body = streamed(&mock, Reply::new().without_terminator()).await.body();
    assert_eq!(kinds(&body), ["messageStart"]);
    let body = streamed(&mock, Reply::new().without_usage()).await.body();
    assert_eq!(kinds(&body), ["messageStart", "messageStop"]);
    let unknown = event_frame(&[(":message-type", "event"), (":event-type", "future")], b"{}");
    let body = streamed(&mock, Reply::new().insert_event(1, unknown)).await.body();
    assert_eq!(kinds(&body), ["messageStart", "future", "messageStop", "metadata"]);
    let answer = streamed(&mock, Reply::new().text("x").ignoring_stream()).await;
    assert_eq!(answer.header("content-type"), "application/json");
}

/// The paths of all members, with a `*` for each list.
fn members(value: &Value, at: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                let at = format!("{at}/{key}");
                // Objects that a model or a tool writes may have any members.
                if !matches!(key.as_str(), "input" | "json" | "additionalModelResponseFields") {
                    members(value, &at, found);
                }
                found.insert(at);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| members(item, &format!("{at}/*"), found)),
        _ => {}
    }
}

/// The members of a body, whole or in frames.
fn members_of(body: &[u8], found: &mut BTreeSet<String>) {
    match serde_json::from_slice(body) {
        Ok(whole) => members(&whole, "", found),
        Err(_) => {
            for frame in frames(body).0 {
                members(&frame.json(), frame.header(":event-type"), found);
            }
        }
    }
}

// The mock renders no member that real answers lack.
#[test]
fn rendered_answers_have_the_members_of_recorded_ones() {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/cassettes"));
    let index = CassetteIndex::load(folder.join("index.json")).expect("the index is readable");
    let mut recorded = BTreeSet::new();
    for file in index.with_protocol("bedrock-converse") {
        let cassette = Cassette::load(folder.join(&file.file)).expect("a readable recording");
        for interaction in cassette.interactions.iter().filter(|each| each.request.uri.contains("/model/")) {
            members_of(&interaction.response.body.bytes(), &mut recorded);
        }
    }
    let reply = Reply::new().signed_thinking("hm", "sig").redacted_thinking("blob").text("Hi there").call(
        "a",
        "add",
        json!({"a": 1}),
    );
    let mut rendered = BTreeSet::new();
    for operation in ["converse", "converse-stream"] {
        let events = render(&reply, &request(operation, &json!({}))).expect("a reply that fits").events;
        members_of(&events.concat(), &mut rendered);
    }
    let new: Vec<_> = rendered.difference(&recorded).collect();
    // The recordings have signatures in whole answers and redacted reasoning in streams only: bedrock.md 5, 7.
    let unseen = [
        "/output/message/content/*/reasoningContent/redactedContent",
        "contentBlockDelta/delta/reasoningContent/signature",
    ];
    assert_eq!(new, unseen);
    assert!(rendered.len() > 40, "{rendered:?}");
}
