//! Replies and the requests after them: texts, calls, blanks and several generations, for each API and
//! for compatible servers, streamed or whole, by one agent (E20).

mod ran;

use attache_agent::{Agent, EndReason, EventKind, tool_fn};
use attache_conformance::{Reply, ReplyUsage};
use attache_core::settings::Unsupported;
use attache_core::{
    Arguments, AssistantMessage, AssistantPart, ChatRequest, FinishReason, Message, ModelSettings,
    ReasoningPart, Role, TextPart, Tool, ToolCall, ToolDefinition, ToolError, ToolResult, ToolResultsMessage,
    ToolSet,
};
use attache_tests::{APIS, Api, Party, Said, texts_told, told};
use proptest::prelude::*;
use serde_json::{Value, json};

use ran::{Query, Ran, run};

/// Calls have ids that every server takes.
const FIRST: &str = "call00001";
const SECOND: &str = "call00002";

fn find(id: &str) -> (String, Value) {
    (id.to_owned(), json!({"query": "a"}))
}

fn both_ways() -> impl Iterator<Item = (Party, bool)> {
    Party::all().into_iter().flat_map(|party| [(party, false), (party, true)])
}

// E01, E09, E20
#[tokio::test]
async fn plain_text_is_one_part_and_ends_the_run() {
    for (party, whole) in both_ways() {
        let ran = run(party, whole, [Reply::new().text("Hello")]).await;
        assert_eq!(ran.shape(0), ["text Hello"], "{}", party.name());
        assert_eq!((ran.outcome.reason.clone(), ran.outcome.text.as_str()), (EndReason::Answer, "Hello"));
        assert_eq!(ran.roles(), [Role::User, Role::Assistant], "{}", party.name());
        assert_eq!(ran.streamed_text(), "Hello");
        assert!(ran.executed.is_empty() && ran.outcome.calls.is_empty());
        assert!(ran.events.iter().any(|event| matches!(
            &event.kind,
            EventKind::StepFinished { finish_reason: FinishReason::Stop, .. }
        )));
    }
}

/// An answer of Chat Completions in its own words.
fn chat_reply(whole: bool, message: &Value, finish: &str) -> Reply {
    let envelope =
        |choice: Value| json!({"id": "c", "object": "o", "created": 1, "model": "m", "choices": [choice]});
    if whole {
        let mut message = message.clone();
        message["role"] = json!("assistant");
        return Reply::json(200, &envelope(json!({"index": 0, "message": message, "finish_reason": finish})));
    }
    let mut delta = message.clone();
    for (at, call) in delta["tool_calls"].as_array_mut().into_iter().flatten().enumerate() {
        call["index"] = json!(at);
    }
    if message.get("tool_calls").is_none() {
        delta.as_object_mut().unwrap().remove("tool_calls");
    }
    let chunks = [
        envelope(json!({"index": 0, "delta": delta, "finish_reason": null})),
        envelope(json!({"index": 0, "delta": {}, "finish_reason": finish})),
    ];
    Reply::events(chunks.iter().map(ToString::to_string).chain(["[DONE]".to_owned()]))
}

fn speaks_chat(party: Party) -> bool {
    party.api == Api::OpenAiChat
}

// E01: no calls, whether they are absent, null or none
#[tokio::test]
async fn absent_null_and_no_calls_are_the_same() {
    let spellings = [
        json!({"content": "Hello"}),
        json!({"content": "Hello", "tool_calls": null}),
        json!({"content": "Hello", "tool_calls": []}),
    ];
    for (party, whole) in both_ways().filter(|(party, _)| speaks_chat(*party)) {
        for spelling in &spellings {
            let ran = run(party, whole, [chat_reply(whole, spelling, "stop")]).await;
            assert_eq!(ran.shape(0), ["text Hello"], "{} {spelling}", party.name());
            assert_eq!((ran.outcome.reason.clone(), ran.bodies.len()), (EndReason::Answer, 1));
        }
    }
}

// E02, E03, E09, E18, E20: the order of the parts, and what goes back
#[tokio::test]
async fn text_and_calls_of_one_reply_go_back_as_they_came() {
    for (party, whole) in both_ways() {
        let reply = Reply::new().text("I look.").call(FIRST, "find", json!({"query": "a"})).call(
            SECOND,
            "read",
            json!({"query": "b"}),
        );
        let ran = run(party, whole, [reply]).await;
        let name = party.name();
        let parts = ["text I look.", r#"call find {"query":"a"}"#, r#"call read {"query":"b"}"#];
        assert_eq!(ran.shape(0), parts, "{name}");
        assert_eq!(ran.executed, ["find a", "read b"], "{name}: each tool runs once");
        assert_eq!(ran.roles(), [Role::User, Role::Assistant, Role::ToolResults, Role::Assistant], "{name}");

        assert_eq!(ran.bodies.len(), 2);
        let said = told(party.api, &ran.bodies[1]);
        let from = said.iter().position(|(_, said)| *said == Said::Text("assistant", "I look.".into()));
        let behind: Vec<&Said> = said[from.unwrap()..].iter().map(|(_, said)| said).collect();
        let call = |id: &str, name: &str, query: &str| {
            Said::Call(id.to_owned(), name.to_owned(), json!({ "query": query }))
        };
        assert_eq!(behind[1], &call(FIRST, "find", "a"), "{name}");
        assert_eq!(behind[2], &call(SECOND, "read", "b"), "{name}");
        let result = |said: &Said| match said {
            Said::Result(id, content) => (id.clone(), content.to_string()),
            other => panic!("{name}: {other:?}"),
        };
        let (first, second) = (result(behind[3]), result(behind[4]));
        assert_eq!((first.0.as_str(), second.0.as_str()), (FIRST, SECOND), "{name}");
        assert!(first.1.contains("find of a") && second.1.contains("read of b"), "{name}");

        // E18: one turn of the user with all results first, or one message for each.
        let places: Vec<usize> = said[from.unwrap()..].iter().map(|(at, _)| *at).collect();
        match party.api {
            Api::Anthropic | Api::Gemini | Api::Bedrock => {
                assert_eq!(
                    places[..5],
                    [2, 2, 2, 3, 3],
                    "{name}: one message for the calls, one for the results"
                );
            }
            Api::OpenAiChat | Api::Cohere | Api::Ollama => {
                assert!(
                    places[0] == places[1] && places[1] == places[2],
                    "{name}: one message for the calls"
                );
                assert_eq!(places[3..5], [places[2] + 1, places[2] + 2], "{name}: a message for each result");
            }
            Api::OpenAi => assert_eq!(places[..5], [2, 3, 4, 5, 6], "{name}: an item for each"),
        }
    }
}

// E04, E12, E13, E17: nothing beside the calls, in each spelling of nothing
#[tokio::test]
async fn blank_text_beside_calls_is_no_part_and_does_not_go_back() {
    for (party, whole) in both_ways() {
        let (id, arguments) = find(FIRST);
        let reply = |reply: Reply| reply.call(id.clone(), "find", arguments.clone());
        let mut replies = vec![
            reply(Reply::new()),
            reply(Reply::new().text_pieces([""])),
            reply(Reply::new().text_pieces([" ", "\n"])),
        ];
        if speaks_chat(party) {
            let calls = json!([{"id": FIRST, "type": "function",
                "function": {"name": "find", "arguments": r#"{"query":"a"}"#}}]);
            for message in [
                json!({"content": null, "tool_calls": calls}),
                json!({"tool_calls": calls}),
                json!({"content": "", "tool_calls": calls}),
            ] {
                replies.push(chat_reply(whole, &message, "tool_calls"));
            }
        }
        for reply in replies {
            let ran = run(party, whole, [reply]).await;
            let name = party.name();
            assert_eq!(ran.shape(0), [r#"call find {"query":"a"}"#], "{name}");
            assert_eq!(ran.executed, ["find a"], "{name}");
            assert_eq!(ran.streamed_text(), "done", "{name}");
            let mut texts = texts_told(party.api, &ran.bodies[1]);
            // Some servers want the member, with nothing in it.
            texts.retain(|(role, text)| !(party.is_compatible() && *role == "assistant" && text.is_empty()));
            assert!(texts.iter().all(|(role, _)| *role != "assistant"), "{name}: {texts:?}");
            assert!(texts.iter().all(|(_, text)| !text.trim().is_empty()), "{name}: {texts:?}");
            assert!(!ran.bodies[1].to_string().contains(r#""null""#), "{name}");
        }
    }
}

/// The APIs whose replies can be of several generations, and the servers compatible with them.
fn with_choices() -> impl Iterator<Item = (Party, bool)> {
    both_ways().filter(|(party, _)| party.api.has_choices())
}

// E05 to E09: with a call in any generation all of them are one message
#[tokio::test]
async fn generations_with_calls_are_one_message() {
    let call =
        |reply: Reply, id: &str, name: &str, query: &str| reply.call(id, name, json!({ "query": query }));
    let first = || call(Reply::new(), FIRST, "find", "a");
    let cases: Vec<(Reply, &[&str], &[&str])> = vec![
        // E05: the first is empty
        (
            call(Reply::new().text_pieces([""]).next_choice(), FIRST, "find", "a"),
            &[r#"call find {"query":"a"}"#],
            &["find a"],
        ),
        // E06: calls of all
        (
            call(call(first().next_choice(), SECOND, "read", "b").next_choice(), "call00003", "find", "c"),
            &[r#"call find {"query":"a"}"#, r#"call read {"query":"b"}"#, r#"call find {"query":"c"}"#],
            &["find a", "find c", "read b"],
        ),
        // E07: texts that say something are joined by a line feed
        (
            call(
                Reply::new().text("x").next_choice().text_pieces([" \n"]).next_choice().text("y"),
                FIRST,
                "find",
                "a",
            ),
            &["text x\ny", r#"call find {"query":"a"}"#],
            &["find a"],
        ),
        // E08: a text in one, a call in another
        (
            call(Reply::new().text("x").next_choice(), FIRST, "find", "a"),
            &["text x", r#"call find {"query":"a"}"#],
            &["find a"],
        ),
    ];
    for (party, whole) in with_choices() {
        for (at, (reply, parts, executed)) in cases.iter().enumerate() {
            let ran = run(party, whole, [reply.clone()]).await;
            let context = format!("{} whole {whole} case {at}", party.name());
            assert_eq!(ran.shape(0), *parts, "{context}");
            assert_eq!(ran.executed, *executed, "{context}");
            // E09
            let roles = [Role::User, Role::Assistant, Role::ToolResults, Role::Assistant];
            assert_eq!(ran.roles(), roles, "{context}");
            let text = ran.replies()[0].text();
            assert_eq!(
                ran.streamed_text(),
                format!("{text}done"),
                "{context}: what was shown is what is kept"
            );
            let texts = texts_told(party.api, &ran.bodies[1]);
            let back: String = texts
                .iter()
                .filter(|(role, _)| *role == "assistant")
                .map(|(_, text)| text.as_str())
                .collect();
            assert_eq!(back, text, "{context}");
        }
    }
}

fn completed(ran: &Ran) -> (FinishReason, attache_core::Usage) {
    let ends = ran.events.iter().filter_map(|event| match &event.kind {
        EventKind::StepFinished { finish_reason, usage, .. } => Some((finish_reason.clone(), usage.clone())),
        _ => None,
    });
    ends.into_iter().next().unwrap()
}

// E10: the later reason, usage once, reasoning of all
#[tokio::test]
async fn parts_keep_their_generation() {
    for (party, whole) in with_choices() {
        let reply = Reply::new()
            .thinking("hm")
            .text("x")
            .finish("stop")
            .next_choice()
            .thinking("so")
            .call(FIRST, "find", json!({"query": "a"}))
            .usage(ReplyUsage::new(70, 20).with_cached(30).with_reasoning(4));
        let ran = run(party, whole, [reply]).await;
        let (reason, usage) = completed(&ran);
        let context = format!("{} whole {whole}", party.name());
        assert_eq!(reason, FinishReason::ToolCalls, "{context}");
        let counts = (usage.input_tokens, usage.output_tokens, usage.cached_tokens);
        // Some servers are not asked for counts in a stream, and the mock gives none unasked.
        if counts != (None, None, None) || whole || !party.is_compatible() {
            assert_eq!(counts, (Some(70), Some(20), Some(30)), "{context}: once, not for each generation");
        }
        assert_eq!(ran.replies()[0].thinking().replace('\n', ""), "hmso", "{context}");
        assert_eq!(ran.replies()[0].tool_calls().count(), 1);
    }
}

// E10: signatures of all generations go back
#[tokio::test]
async fn signatures_of_generations_go_back() {
    for whole in [false, true] {
        let reply = Reply::new()
            .text("x")
            .part_signature("c2lnbmF0dXJlLW9uZQ==")
            .next_choice()
            .call("c_1", "find", json!({"query": "a"}))
            .part_signature("c2lnbmF0dXJlLXR3bw==");
        let ran = run(Api::Gemini.into(), whole, [reply]).await;
        let body = ran.bodies[1].to_string();
        assert!(body.contains("c2lnbmF0dXJlLW9uZQ==") && body.contains("c2lnbmF0dXJlLXR3bw=="), "{body}");
    }
}

// E11: without calls the first that says something
#[tokio::test]
async fn generations_without_calls_are_alternatives() {
    for (party, whole) in with_choices() {
        let reply = Reply::new().text_pieces([" "]).next_choice().text("Red").next_choice().text("Blue");
        let ran = run(party, whole, [reply]).await;
        assert_eq!(ran.shape(0), ["text Red"], "{}", party.name());
        assert_eq!(
            (ran.outcome.text.as_str(), ran.streamed_text().as_str()),
            ("Red", "Red"),
            "{}",
            party.name()
        );
        assert_eq!(ran.roles(), [Role::User, Role::Assistant]);
    }
}

// E17: a signed empty part is kept for its own API and says nothing to others
#[tokio::test]
async fn a_signed_empty_part_is_no_text() {
    let reply = Reply::new()
        .call("c_1", "find", json!({"query": "a"}))
        .part_signature("c2lnbmF0dXJlLW9uZQ==")
        .text_pieces([""])
        .part_signature("c2lnbmF0dXJlLXR3bw==");
    let ran = run(Api::Gemini.into(), false, [reply]).await;
    let message = ran.replies()[0];
    assert!(message.parts.iter().all(|part| !matches!(part, AssistantPart::Text(_))), "{message:?}");
    assert!(ran.bodies[1].to_string().contains("c2lnbmF0dXJlLXR3bw=="));
    for api in APIS {
        let history = [
            Message::user("go").shared(),
            Message::Assistant(message.clone()).shared(),
            ran.outcome.messages[2].clone(),
        ];
        let body = encoded(api, ChatRequest::new(history));
        api.judge(&body).unwrap();
        assert_eq!(texts_told(api, &body), [("user", "go".to_owned())], "{}", api.name());
    }
}

fn encoded(api: Api, request: ChatRequest) -> Value {
    let tools = ["find", "read"].map(|name| ToolDefinition::new(name, "Looks", json!({"type": "object"})));
    let request = request.with_tools(ToolSet::new(tools).unwrap());
    let config = ModelSettings::new().with_unsupported(Unsupported::Degrade);
    let encoded = api.codec().encode(attache_transport::Ask::new(&request, &config, None)).unwrap();
    serde_json::from_slice(&encoded.parts.body.to_vec()).unwrap()
}

#[derive(Clone, Debug)]
enum Part {
    Text(String),
    Refusal(String),
    Thought(String),
    Call(String),
}

fn parts() -> impl Strategy<Value = Vec<Part>> {
    let text = "[ \n\t\u{a0}\u{200b}a-c]{0,3}";
    let part = prop_oneof![
        text.prop_map(Part::Text),
        text.prop_map(Part::Refusal),
        text.prop_map(Part::Thought),
        text.prop_map(Part::Call),
    ];
    prop::collection::vec(part, 0..5)
}

/// A turn of such parts, its calls with their results.
fn turn(parts: &[Part]) -> Vec<Message> {
    let message = AssistantMessage::new(parts.iter().map(|part| match part {
        Part::Text(text) => AssistantPart::text(text),
        Part::Refusal(text) => TextPart::new(text).map(|text| AssistantPart::Text(text.into_refusal())),
        Part::Thought(text) => Some(AssistantPart::Reasoning(ReasoningPart::new(text))),
        Part::Call(query) => {
            let arguments = json!({ "query": query }).to_string();
            ToolCall::new("find", Arguments::new(arguments)).into()
        }
    }));
    let results: Vec<_> = message.tool_calls().map(|call| ToolResult::error(call, "nothing found")).collect();
    let mut turn = vec![Message::Assistant(message)];
    if !results.is_empty() {
        turn.push(Message::ToolResults(ToolResultsMessage::new(results)));
    }
    turn
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(96) })]

    // E17: whatever a message is made of, no writer writes an empty text, and the API takes what it writes
    #[test]
    fn no_writer_writes_an_empty_text(first in parts(), second in parts()) {
        for api in APIS {
            let mut history = vec![Message::user("go")];
            history.extend(turn(&first));
            history.push(Message::user("on"));
            history.extend(turn(&second));
            history.push(Message::user("and?"));
            let body = encoded(api, ChatRequest::new(history.into_iter().map(Message::shared)));
            for (role, text) in texts_told(api, &body) {
                prop_assert!(!text.trim().is_empty(), "{}: {role} {text:?} in {body}", api.name());
            }
            if let Err(violation) = api.judge(&body) {
                prop_assert!(false, "{}: {violation} at {} in {body:#}", api.name(), violation.path);
            }
        }
    }
}

#[derive(serde::Serialize)]
#[serde(untagged)]
enum Output {
    Number(i64),
    List(Vec<i64>),
    Text(&'static str),
    Object(std::collections::BTreeMap<&'static str, i64>),
    Nothing(()),
}

fn returning(output: fn() -> Output) -> impl Tool + 'static {
    tool_fn("find", "Looks something up", move |_: Query| Ok::<_, ToolError>(output()))
}

// E19: an object for who wants one, and the plain text for everybody else
#[tokio::test]
async fn results_are_wrapped_for_who_wants_objects() {
    type Made = fn() -> Output;
    let outputs: [(Made, Value, &str); 5] = [
        (|| Output::Number(3), json!(3), "3"),
        (|| Output::List(vec![1, 2]), json!([1, 2]), "[1,2]"),
        (|| Output::Text("plain"), json!("plain"), "plain"),
        (|| Output::Object([("a", 1)].into()), json!({"a": 1}), r#"{"a":1}"#),
        (|| Output::Nothing(()), Value::Null, ""),
    ];
    for party in Party::all() {
        for (output, value, text) in &outputs {
            let mock = party.mock().await.unwrap();
            mock.enqueue(Reply::new().call(FIRST, "find", json!({"query": "a"})));
            mock.enqueue(Reply::new().text("done"));
            let agent = Agent::builder(party.connected(&mock, ModelSettings::new()).unwrap())
                .tool(returning(*output))
                .build()
                .unwrap();
            agent.run("go").outcome().await.unwrap();
            assert!(mock.violations().is_empty(), "{}: {:?}", party.name(), mock.violations());
            let body = mock.requests()[1].json().clone();
            let said = told(party.api, &body);
            let Some(Said::Result(_, content)) =
                said.into_iter().map(|(_, said)| said).find(|said| matches!(said, Said::Result(..)))
            else {
                panic!("{}: no result", party.name());
            };
            let context = format!("{} {value}: {content}", party.name());
            if party.api == Api::Gemini {
                let object = content.as_object().unwrap_or_else(|| panic!("{context}"));
                match value {
                    Value::Object(_) => assert_eq!(content, *value, "{context}"),
                    Value::Null => assert_eq!(object.len(), 1, "{context}"),
                    _ => assert_eq!(object.values().collect::<Vec<_>>(), [value], "{context}"),
                }
                continue;
            }
            let written = match &content {
                Value::String(text) => text.clone(),
                Value::Array(blocks) => {
                    assert_eq!(blocks.len(), 1, "{context}");
                    blocks[0]["text"].as_str().unwrap_or_else(|| panic!("{context}")).to_owned()
                }
                other => panic!("{context}: {other}"),
            };
            match value {
                Value::Null => assert!(!written.trim().is_empty() && !written.starts_with('{'), "{context}"),
                _ => assert_eq!(written, *text, "{context}"),
            }
        }
    }
}
