//! The persisted form: golden file of schema version 1, round trips, and what is refused.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken expectation is a failed test"
)]

use attache_core::conversation::ConversationError;
use attache_core::message::{Metadata, OpaquePart, ReplayData, UserOrigin};
use attache_core::{
    Arguments, AssistantMessage, AssistantPart, Capture, ContentTree, Conversation, Document, DocumentId,
    Message, MessageId, ProviderCallId, ReasoningPart, ResultStatus, TextPart, ToolCall, ToolCallId,
    ToolDefinition, ToolResult, ToolResultsMessage, UserMessage, UserPart,
};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

fn replay(json: &str) -> ReplayData {
    ReplayData::new("anthropic", "claude-x", RawValue::from_string(json.to_owned()).unwrap())
}

fn id(id: &str) -> MessageId {
    MessageId::parse(id).unwrap()
}

fn document(id: &str, bytes: &'static [u8], name: &str) -> Document {
    Document::from_bytes(bytes, "").with_file_name(name).with_id(DocumentId::parse(id).unwrap())
}

/// One of everything.
fn everything() -> Conversation {
    let call = ToolCall::new("files.read", Arguments::new(r#"{"path":"a.pdf","n":1.0}"#))
        .with_id(ToolCallId::parse("ours-1").unwrap())
        .with_provider_id(ProviderCallId::parse("toolu_1"))
        .with_replay(replay(r#"{"caller":{"type":"direct"}}"#));
    let odd = ToolCall::new("files.read", Arguments::new(" {\"path\": "))
        .with_id(ToolCallId::parse("ours-2").unwrap());
    let cut =
        ToolCall::new("files.read", Arguments::truncated("{}")).with_id(ToolCallId::parse("ours-3").unwrap());
    let assistant = AssistantMessage::new([
        Some(AssistantPart::Reasoning(
            ReasoningPart::new("hm").with_replay(replay(r#"{"signature":"c2ln"}"#)),
        )),
        Some(AssistantPart::Reasoning(ReasoningPart::redacted().with_replay(replay(r#"{"data":"eA=="}"#)))),
        AssistantPart::text("Let me look."),
        TextPart::new("I will not.").map(|text| AssistantPart::Text(text.into_refusal())),
        Some(AssistantPart::Opaque(OpaquePart::new("server_tool_use", replay(r#"{"b": 1, "a":2}"#)))),
        call.clone().into(),
        odd.clone().into(),
        cut.clone().into(),
    ]);
    let pdf = document("11111111-0000-4000-8000-000000000001", b"%PDF-1.7 one", "a.pdf");
    let png = document("22222222-0000-4000-8000-000000000002", b"\x89PNG\r\n\x1a\n", "b.png");
    let tree = Capture::new().with_store_id("main").finish(&json!({"z": 1, "a": [null]})).unwrap();
    let mut with_documents = Capture::new().with_store_id("main");
    let value = with_documents.run_blocking(|| json!({"report": pdf, "charts": [png]}));
    let with_documents = with_documents.finish(&value).unwrap();
    let mut first = ToolResult::new(&call, ResultStatus::Ok, with_documents);
    first.withheld = vec![first.documents.remove(1).id().clone()];
    let results = ToolResultsMessage::new([
        first,
        ToolResult::new(&odd, ResultStatus::Error, tree),
        ToolResult::cancelled(&cut),
    ]);
    let mut synthetic =
        UserMessage::new([UserPart::text("Documents extracted from tool call results:"), pdf.into()]);
    synthetic.origin = UserOrigin::ToolCallDocuments;
    let event = UserMessage::event(Capture::new().finish(&json!({"disk": "full"})).unwrap());
    let user = UserMessage::new([
        UserPart::text("Read a.pdf"),
        Document::inline("note").with_id(DocumentId::parse("note").unwrap()).into(),
    ])
    .with_metadata(Metadata::new().with("timestamp", "2026-11-20T00:00:00Z"));
    Conversation::new(
        [
            Message::system("Be brief.").with_id(id("m1")),
            Message::User(user).with_id(id("m2")),
            Message::Assistant(assistant).with_id(id("m3")),
            Message::ToolResults(results).with_id(id("m4")),
            Message::User(synthetic).with_id(id("m5")),
            Message::User(event).with_id(id("m6")),
        ]
        .map(Message::shared),
    )
    .with_tools([ToolDefinition::new(
        "files.read",
        "Reads a file",
        json!({"type": "object", "properties": {"path": {"type": "string"}}}),
    )])
}

#[test]
fn golden_file_of_version_1() {
    let golden = include_str!("golden/conversation-v1.json");
    assert_eq!(
        everything().to_json().unwrap(),
        golden.trim_end(),
        "the persisted form of version 1 must not change"
    );
    let read = Conversation::from_json(golden).unwrap();
    let expected = everything();
    for (read, expected) in read.messages.iter().zip(&expected.messages) {
        assert_eq!(read, expected);
    }
    assert_eq!(read.tools, expected.tools);
    assert_eq!(read.to_json().unwrap(), golden.trim_end());
}

#[test]
fn documents_get_their_bytes_from_the_table() {
    let read = Conversation::from_json(include_str!("golden/conversation-v1.json")).unwrap();
    let Message::ToolResults(results) = &*read.messages[3] else { panic!() };
    assert_eq!(results.results[0].documents[0].bytes().unwrap(), &b"%PDF-1.7 one"[..]);
    assert_eq!(results.results[0].tree.documents()[1].bytes().unwrap(), &b"\x89PNG\r\n\x1a\n"[..]);
    let message: Message = serde_json::from_str(&serde_json::to_string(&*read.messages[3]).unwrap()).unwrap();
    let Message::ToolResults(results) = &message else { panic!() };
    assert!(results.results[0].documents[0].bytes().is_none(), "a message alone holds references");
    assert_eq!(results.results[0].documents[0].store_id(), Some("main"));
}

#[test]
fn replay_data_and_arguments_stay_byte_identical() {
    let read = Conversation::from_json(include_str!("golden/conversation-v1.json")).unwrap();
    let Message::Assistant(message) = &*read.messages[2] else { panic!() };
    let AssistantPart::Opaque(opaque) = &message.parts[4] else { panic!() };
    assert_eq!(opaque.replay.json().split_whitespace().collect::<String>(), r#"{"b":1,"a":2}"#);
    let raws: Vec<_> = message.tool_calls().map(|call| call.arguments.raw()).collect();
    assert_eq!(raws, [r#"{"path":"a.pdf","n":1.0}"#, " {\"path\": ", "{}"]);
    assert!(message.tool_calls().nth(2).unwrap().arguments.json().is_err(), "truncated stays truncated");
}

#[test]
fn short_forms_are_read() {
    let read = Conversation::from_json(
        r#"{"messages":[{"role":"system","content":"s"},{"role":"user","content":"u"},
            {"role":"assistant","content":[{"type":"toolCall","id":"c","name":"f","arguments":{"a": 1}}]},
            {"role":"toolResults","results":[{"callId":"c","name":"f","content":"text"}]}]}"#,
    )
    .unwrap();
    assert_eq!(read.messages.len(), 4);
    let Message::ToolResults(results) = &*read.messages[3] else { panic!() };
    assert_eq!(results.results[0].tree.model_text(), "text");
}

#[test]
fn what_cannot_be_read_is_refused() {
    let error = |json: &str| Conversation::from_json(json).unwrap_err();
    assert!(matches!(error(r#"{"schemaVersion":2,"messages":[]}"#), ConversationError::TooNew { found: 2 }));
    assert!(matches!(error("[]"), ConversationError::Malformed(_)));
    let unknown_part = r#"{"messages":[{"role":"user","content":[{"type":"hologram"}]}]}"#;
    let ConversationError::Malformed(source) = error(unknown_part) else { panic!() };
    assert_eq!(source.to_string(), "a user message cannot have a part of type \"hologram\"");
    assert!(matches!(error(r#"{"messages":[{"role":"wizard"}]}"#), ConversationError::Malformed(_)));
    let bad = r#"{"messages":[],"documents":[{"id":"d","data":"%"}]}"#;
    assert!(matches!(error(bad), ConversationError::BadData { .. }));
    let twice = r#"{"messages":[],"documents":[{"id":"d","data":""},{"id":"d","data":""}]}"#;
    assert!(matches!(error(twice), ConversationError::DuplicateDocument { .. }));
}

/// Why an import is refused, with the names it is refused for.
fn refusal(json: &str) -> String {
    match Conversation::from_json(json) {
        Err(ConversationError::Malformed(source)) => source.to_string(),
        other => panic!("{json} is read as {other:?}"),
    }
}

// Whoever reads a log has no bytes, and must know as well as its writer which documents differ.
#[test]
fn a_hash_that_is_known_is_stored() {
    let held = document("d", b"%PDF-1", "a.pdf");
    let message =
        |document: Document| serde_json::to_string(&Message::User(UserMessage::new([document.into()])));
    assert!(!message(held.clone()).unwrap().contains("sha256"), "it is asked for by those who need it");
    let hash = held.hash().unwrap();
    let json = message(held.without_bytes()).unwrap();
    let read: Message = serde_json::from_str(&json).unwrap();
    assert_eq!(read.documents()[0].hash(), Some(hash));
    assert_eq!(serde_json::to_string(&read).unwrap(), json);
    let (start, rest) = json.split_once(r#""sha256":""#).unwrap();
    for wrong in ["", "00", &"g".repeat(64), &"0".repeat(66)] {
        let json = format!(r#"{start}"sha256":"{wrong}{}"#, &rest[64..]);
        let error = serde_json::from_str::<Message>(&json).unwrap_err();
        assert!(error.to_string().contains("64 hexadecimal digits"), "{error}");
    }
    let inline =
        json.replace(r#""stored""#, r#""inline""#).replace(r#""metadata""#, r#""content":"x","metadata""#);
    let error = serde_json::from_str::<Message>(&inline).unwrap_err();
    assert!(error.to_string().contains("`sha256`"), "{error}");
}

// A part that is not understood is not left out in silence: a conversation of another program may say it elsewhere.
#[test]
fn unknown_members_are_refused_by_name() {
    let result = r#"{"role":"toolResults","results":[{"callId":"c","content":"x"}]"#;
    let part = |part: &str| format!(r#"{{"messages":[{{"role":"assistant","content":[{part}]}}]}}"#);
    let of_user = |part: &str| format!(r#"{{"messages":[{{"role":"user","content":[{part}]}}]}}"#);
    let message = |message: &str| format!(r#"{{"messages":[{message}]}}"#);
    let reference = |members: &str| {
        of_user(&format!(
            r#"{{"type":"document","document":{{"attache.document":"stored","documentId":"d"{members}}}}}"#
        ))
    };
    let cases = [
        // The same words in the members of other formats.
        (message(&format!(r#"{result},"content":"lost"}}"#)), "content"),
        (message(r#"{"role":"tool","tool_call_id":"c","content":"lost"}"#), "tool_call_id"),
        (message(r#"{"role":"tool","content":"lost"}"#), "content"),
        (message(r#"{"role":"assistant","content":"x","tool_calls":[]}"#), "tool_calls"),
        (message(r#"{"role":"user","content":"x","results":[{"callId":"c"}]}"#), "results"),
        (message(r#"{"role":"assistant","content":"x","origin":"event"}"#), "origin"),
        (message(r#"{"role":"user","content":"x","origin":"elsewhere"}"#), "elsewhere"),
        (message(r#"{"role":"user","content":"x","cache_control":{}}"#), "cache_control"),
        (part(r#"{"type":"text","text":"x","arguments":{}}"#), "arguments"),
        (part(r#"{"type":"toolCall","id":"c","name":"f","input":{}}"#), "input"),
        (part(r#"{"type":"toolCall","id":"c","name":"f","text":"x"}"#), "text"),
        (part(r#"{"type":"reasoning","text":"x","signature":"s"}"#), "signature"),
        (
            part(r#"{"type":"opaque","kind":"k","replay":{"family":"a","model":"b","data":1,"more":2}}"#),
            "more",
        ),
        (part(r#"{"type":"text"}"#), "text"),
        (of_user(r#"{"type":"image","source":{}}"#), "source"),
        (of_user(r#"{"type":"document","text":"x"}"#), "text"),
        (of_user(r#"{"type":"object","object":{},"document":null,"name":"n"}"#), "name"),
        (reference(r#","content":"lost""#), "content"),
        (reference(r#","bytes":"lost""#), "bytes"),
        (reference(r#","metadata":{"pages":3}"#), "pages"),
        (r#"{"messages":[],"documents":[{"id":"d","data":"","title":"t"}]}"#.to_owned(), "title"),
        (r#"{"messages":[],"tools":[{"name":"t","parameters":{}}]}"#.to_owned(), "parameters"),
        (r#"{"messages":[],"model":"m"}"#.to_owned(), "model"),
    ];
    for (json, member) in cases {
        let refusal = refusal(&json);
        assert!(refusal.contains(&format!("`{member}`")), "{json}: {refusal}");
    }
    // A member that a newer version added is no riddle.
    let newer = r#"{"schemaVersion":2,"messages":[{"role":"user","hologram":1}],"index":{}}"#;
    assert!(matches!(Conversation::from_json(newer), Err(ConversationError::TooNew { found: 2 })));
}

// A tool may run an agent of its own and store its conversation.
#[test]
fn what_is_stored_inside_a_tool_is_whole_and_no_result_of_the_tool() {
    let conversation = everything();
    let outside = conversation.to_json().unwrap();
    let mut capture = Capture::new().with_store_id("main");
    let inside = capture.run_blocking(|| conversation.to_json().unwrap());
    assert_eq!(inside, outside);
    assert!(capture.finish(&json!({})).unwrap().documents().is_empty());
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type")]
enum Row {
    Said { message: Message, count: u32 },
    Returned { result: ToolResult },
}

#[derive(Serialize, Deserialize)]
struct Stamped {
    at: u64,
    #[serde(flatten)]
    message: Message,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Either {
    Number(u64),
    Message(Message),
}

fn value(of: &impl Serialize) -> serde_json::Value {
    serde_json::to_value(of).unwrap()
}

// Rows of a database, log entries: serde has read the text before the message sees it, so white space is gone.
#[test]
fn messages_inside_tagged_untagged_and_flattened_types_read_back() {
    for message in &everything().messages {
        let row = Row::Said { message: (**message).clone(), count: 3 };
        let read: Row = serde_json::from_str(&serde_json::to_string(&row).unwrap()).unwrap();
        assert_eq!(value(&read), value(&row));
        let stamped = Stamped { at: 7, message: (**message).clone() };
        let read: Stamped = serde_json::from_str(&serde_json::to_string(&stamped).unwrap()).unwrap();
        assert_eq!(value(&read), value(&stamped));
        let either = Either::Message((**message).clone());
        let read: Either = serde_json::from_value(serde_json::to_value(&either).unwrap()).unwrap();
        assert_eq!(value(&read), value(&either));
        if let Message::ToolResults(results) = &**message {
            let row = Row::Returned { result: results.results[0].clone() };
            let read: Row = serde_json::from_str(&serde_json::to_string(&row).unwrap()).unwrap();
            assert_eq!(value(&read), value(&row));
        }
    }
}

#[test]
fn an_unknown_status_of_a_result_is_refused_by_name() {
    let of = |status: &str| {
        let result = format!(r#"{{"callId":"c","status":"{status}","content":"x"}}"#);
        format!(r#"{{"messages":[{{"role":"toolResults","results":[{result}]}}]}}"#)
    };
    assert_eq!(refusal(&of("deferred")), "unknown status of a tool result: `deferred`");
    for (status, expected) in
        [("ok", ResultStatus::Ok), ("error", ResultStatus::Error), ("cancelled", ResultStatus::Cancelled)]
    {
        let read = Conversation::from_json(&of(status)).unwrap();
        let Message::ToolResults(results) = &*read.messages[0] else { panic!() };
        assert_eq!(results.results[0].status, expected);
    }
}

fn said(documents: impl IntoIterator<Item = Document>) -> Conversation {
    let parts = documents.into_iter().map(Option::<UserPart>::from);
    Conversation::new([Message::User(UserMessage::new(parts)).shared()])
}

#[test]
fn an_export_says_which_bytes_it_does_not_hold() {
    let held = document("held", b"%PDF-1.7 one", "a.pdf");
    let elsewhere = Document::stored(DocumentId::parse("elsewhere").unwrap(), "main", "application/pdf");
    // A handle without bytes beside one that has them is no loss.
    let conversation =
        said([held.clone().without_bytes(), held, elsewhere, Document::external("https://x/a")]);
    let missing: Vec<_> = conversation.missing().map(|document| document.id().as_str()).collect();
    assert_eq!(missing, ["held", "elsewhere"]);
    let json = conversation.to_json().unwrap();
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    let table: Vec<_> = value["documents"].as_array().unwrap().iter().collect();
    assert_eq!(table.len(), 2);
    assert_eq!((&table[0]["id"], table[0].get("missing")), (&json!("held"), None));
    assert_eq!((&table[1]["id"], &table[1]["missing"]), (&json!("elsewhere"), &json!(true)));
    let read = Conversation::from_json(&json).unwrap();
    assert_eq!(read.documents().filter(|document| document.bytes().is_some()).count(), 2);
    for entry in [r#"{"id":"d"}"#, r#"{"id":"d","data":"","missing":true}"#] {
        let json = format!(r#"{{"messages":[],"documents":[{entry}]}}"#);
        assert!(matches!(Conversation::from_json(&json), Err(ConversationError::NoData { .. })));
    }
}

#[test]
fn an_export_holds_both_of_two_contents_of_one_id() {
    let (first, second) = (document("d", b"%PDF-1", "a.pdf"), document("d", b"%PDF-2", "a.pdf"));
    let call = ToolCall::new("f", Arguments::new("{}"));
    let result = |document: &Document| {
        let tree = Capture::new().finish(&[document]).unwrap();
        Message::ToolResults(ToolResultsMessage::new([ToolResult::new(&call, ResultStatus::Ok, tree)]))
            .shared()
    };
    let event = UserMessage::event(Capture::new().finish(&[&second]).unwrap());
    let mut conversation = said([first.clone(), second.clone(), first.clone()]);
    conversation.messages.extend([result(&second), result(&first), Message::User(event).shared()]);
    let read = Conversation::from_json(&conversation.to_json().unwrap()).unwrap();
    let bytes: Vec<_> = read.documents().map(|document| document.bytes().unwrap()).collect();
    let expected =
        [&first, &second, &first, &second, &first, &second].map(|document| document.bytes().unwrap());
    assert_eq!(bytes, expected);
    let Message::ToolResults(results) = &*read.messages[1] else { panic!() };
    assert!(results.results[0].tree.unresolved().is_empty());
    // Inside one tree nothing says which reference means which.
    let both = ContentTree::parse("1", vec![first, second]).unwrap();
    let conversation = Conversation::new([Message::User(UserMessage::event(both)).shared()]);
    assert!(matches!(conversation.to_json(), Err(ConversationError::DuplicateDocument { .. })));
}

#[test]
fn what_an_event_withholds_is_stored() {
    let mut capture = Capture::new();
    capture.run_blocking(|| serde_json::to_string(&document("d", b"%PDF-1", "a.pdf")).unwrap());
    let event = Message::User(UserMessage::event(capture.finish(&json!({"a": 1})).unwrap()));
    let read: Message = serde_json::from_str(&serde_json::to_string(&event).unwrap()).unwrap();
    let Message::User(user) = read else { panic!() };
    let UserPart::Object(tree) = &user.parts[0] else { panic!() };
    assert_eq!((tree.documents().len(), tree.shown().count()), (1, 0));
}

proptest! {
    #[test]
    fn texts_and_arguments_round_trip(text in ".{0,40}", arguments in ".{0,40}") {
        let call = ToolCall::new("t", Arguments::new(arguments));
        let message = AssistantMessage::new([AssistantPart::text(text), call.into()]);
        let message = Message::Assistant(message);
        let read: Message = serde_json::from_str(&serde_json::to_string(&message).unwrap()).unwrap();
        prop_assert_eq!(read, message);
    }
}

// The citations of a provider stand beside the parts, and an older file has none.
#[test]
fn citations_are_kept_with_their_message() {
    use attache_core::Citation;
    use attache_core::citation::{AnswerSpan, How, Place, Source, Span};
    let source = Source::Document { id: DocumentId::parse("d1").unwrap(), name: Some("lease.pdf".into()) };
    let citation = Citation::new(source, How::Fuzzy { edits: 2 })
        .with_place(Place::Cell { sheet: "Budget".into(), range: "B7".into() })
        .with_quote(Some("EUR 900"))
        .with_document_span(Span::new(12, 19))
        .with_answer_span(Span::new(0, 4).map(AnswerSpan::Claim))
        .with_ambiguous(true);
    let mut message = AssistantMessage::new([AssistantPart::text("900 a month")]);
    message.citations = vec![
        citation,
        Citation::new(Source::Url { url: "https://a.example".into(), title: None }, How::Native),
    ];
    let message = Message::Assistant(message).with_id(id("m1"));
    let json = serde_json::to_string(&message).unwrap();
    let expected = json!({
        "id": "m1", "role": "assistant", "content": [{"type": "text", "text": "900 a month"}],
        "citations": [
            {"source": {"document": {"id": "d1", "name": "lease.pdf"}}, "place": {"cell": {"sheet": "Budget", "range": "B7"}},
             "quote": "EUR 900", "inDocument": {"start": 12, "end": 19}, "inAnswer": {"claim": {"start": 0, "end": 4}},
             "how": {"fuzzy": {"edits": 2}}, "ambiguous": true},
            {"source": {"url": {"url": "https://a.example"}}, "how": "native"},
        ],
    });
    assert_eq!(serde_json::from_str::<serde_json::Value>(&json).unwrap(), expected);
    assert_eq!(serde_json::from_str::<Message>(&json).unwrap(), message);
    let foreign =
        r#"{"id":"m","role":"user","content":"x","citations":[{"source":"message","how":"native"}]}"#;
    assert!(serde_json::from_str::<Message>(foreign).is_err(), "only the model cites");
}
