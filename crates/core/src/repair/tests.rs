use proptest::prelude::*;

use super::*;
use crate::message::{AssistantPart, Role, UserPart};
use crate::message::{Metadata, UserOrigin};
use crate::repair::numbered::{is_blank_content, is_empty};
use crate::{
    Arguments, AssistantMessage, ContentTree, Document, DocumentId, ReasoningPart, ResultStatus,
    SystemMessage, ToolCall, ToolCallId, ToolResult, ToolResultsMessage, UserMessage,
};

fn document(number: u8) -> Document {
    let id = DocumentId::parse(format!("document-{number}")).unwrap();
    Document::from_bytes(vec![number, 1], "application/pdf").with_id(id)
}

fn call(id: &str) -> ToolCall {
    ToolCall::new("tool", Arguments::new("{}")).with_id(ToolCallId::parse(id).unwrap())
}

fn with_document(id: &str, text: &str, number: Option<u8>) -> ToolResult {
    let json = serde_json::to_string(text).unwrap();
    let tree = ContentTree::parse(&json, number.map(document).into_iter().collect()).unwrap();
    ToolResult::new(&call(id), ResultStatus::Ok, tree)
}

fn asks(ids: &[&str]) -> Message {
    Message::Assistant(AssistantMessage::new(ids.iter().map(|id| call(id).into())))
}

fn results(results: impl IntoIterator<Item = ToolResult>) -> Message {
    Message::ToolResults(ToolResultsMessage::new(results))
}

fn user(origin: UserOrigin, text: &str, number: Option<u8>) -> Message {
    let mut message =
        UserMessage::new([UserPart::text(text), number.and_then(|number| document(number).into())]);
    message.origin = origin;
    if origin == UserOrigin::ToolCallDocuments {
        message.metadata = Metadata::new().with("toolCallDocuments", true);
    }
    Message::User(message)
}

/// Messages whose ids are their places.
fn listed(messages: impl IntoIterator<Item = Message>) -> Vec<Arc<Message>> {
    let number = |(at, message): (usize, Message)| {
        message.with_id(MessageId::parse(format!("m{at}")).unwrap()).shared()
    };
    messages.into_iter().enumerate().map(number).collect()
}

/// The messages as words, such as `u a(x) r(x) e`.
fn words(messages: &[Arc<Message>]) -> String {
    let word = |message: &Arc<Message>| match &**message {
        Message::System(_) => "s".to_owned(),
        Message::User(user) => match user.origin {
            UserOrigin::Author => "u",
            UserOrigin::Event => "e",
            UserOrigin::ToolCallDocuments => "d",
        }
        .to_owned(),
        Message::Assistant(assistant) => {
            let ids: Vec<_> = assistant.tool_calls().map(|call| call.id.as_str()).collect();
            if ids.is_empty() { "a".to_owned() } else { format!("a({})", ids.join(" ")) }
        }
        Message::ToolResults(results) => {
            let ids: Vec<_> = results.results.iter().map(|result| result.call_id.as_str()).collect();
            format!("r({})", ids.join(" "))
        }
    };
    messages.iter().map(word).collect::<Vec<_>>().join(" ")
}

fn author(text: &str) -> Message {
    user(UserOrigin::Author, text, None)
}

fn after(messages: impl IntoIterator<Item = Message>) -> (String, Vec<RepairKind>) {
    let repaired = repair(&listed(messages));
    (words(&repaired.messages), repaired.repairs.iter().map(|repair| repair.kind).collect())
}

// runtime.md 18, 32 #4; anthropic.md (a) 1; bedrock.md (a) 9; documents.md 9.2 D27
#[test]
fn calls_and_results_are_paired() {
    let one = |id: &str| with_document(id, "found", None);
    let missing = after([author("u"), asks(&["x", "y"]), results([one("y")])]);
    assert_eq!(missing, ("u a(x y) r(x y)".to_owned(), vec![RepairKind::MissingResult]));
    let orphan = after([author("u"), results([one("x")])]);
    assert_eq!(orphan, ("u e".to_owned(), vec![RepairKind::OrphanResult]));
    let late = after([author("u"), asks(&["x"]), author("v"), results([one("x")])]);
    assert_eq!(late, ("u a(x) r(x) u".to_owned(), vec![RepairKind::MisplacedResult]));
    let early = after([author("u"), results([one("x")]), asks(&["x"])]);
    assert_eq!(early, ("u a(x) r(x)".to_owned(), vec![RepairKind::MisplacedResult]));
    let split = after([author("u"), asks(&["x", "y"]), results([one("y")]), results([one("x")])]);
    assert_eq!(split, ("u a(x y) r(x y)".to_owned(), vec![RepairKind::MisplacedResult; 2]));
    let twice = after([author("u"), asks(&["x"]), results([one("x"), with_document("x", "other", None)])]);
    assert_eq!(twice, ("u a(x) r(x) e".to_owned(), vec![RepairKind::DuplicateResult]), "the first wins");
    let same = after([author("u"), asks(&["x"]), results([one("x"), one("x")])]);
    assert_eq!(same, ("u a(x) r(x)".to_owned(), vec![RepairKind::DuplicateResult]));
    // Ids that are used again in a later turn, each with its own result.
    let again = after([
        author("u"),
        asks(&["x"]),
        results([one("x")]),
        asks(&["x"]),
        results([with_document("x", "b", None)]),
    ]);
    assert_eq!(again, ("u a(x) r(x) a(x_2) r(x_2)".to_owned(), vec![RepairKind::DuplicateCall]));
    let alike = after([author("u"), asks(&["x", "x"]), results([one("x"), one("x")])]);
    assert_eq!(alike, ("u a(x x_2) r(x x_2)".to_owned(), vec![RepairKind::DuplicateCall]));
}

#[test]
fn documents_inside_documents_belong_to_the_results() {
    let outer = document(1);
    let deep = outer.id().inside(1).inside(199).inside(2).inside(1);
    let synthetic = |id: DocumentId| {
        let shown = Document::inline("deep").with_id(id);
        let mut message = UserMessage::new([UserPart::text("Documents"), shown.into()]);
        message.origin = UserOrigin::ToolCallDocuments;
        Message::User(message)
    };
    let history =
        |id| [author("u"), asks(&["x"]), results([with_document("x", "found", Some(1))]), synthetic(id)];
    assert_eq!(after(history(deep)), ("u a(x) r(x) d".to_owned(), Vec::new()));
    assert_eq!(after(history(document(2).id().inside(1))).1, [RepairKind::OrphanDocuments]);
    // A re-encoded or cut form has other bytes and is the same document.
    assert_eq!(after(history(outer.id().clone())).1, []);
}

#[test]
fn a_second_result_with_other_bytes_of_one_document_is_no_repetition() {
    let of = |bytes: &'static [u8]| {
        let document = Document::from_bytes(bytes, "text/plain").with_id(DocumentId::parse("d").unwrap());
        ToolResult::new(&call("x"), ResultStatus::Ok, ContentTree::parse("1", vec![document]).unwrap())
    };
    let twice = after([author("u"), asks(&["x"]), results([of(b"one"), of(b"two")])]);
    assert_eq!(twice, ("u a(x) r(x) e".to_owned(), vec![RepairKind::DuplicateResult]));
    let same = after([author("u"), asks(&["x"]), results([of(b"one"), of(b"one")])]);
    assert_eq!(same.0, "u a(x) r(x)");
}

#[test]
fn results_answer_the_nearest_open_call_of_their_id() {
    let one = || results([with_document("x", "found", None)]);
    // Two early ones take the calls behind them in order; the last answers the call that is left.
    let early = after([author("u"), one(), one(), asks(&["x", "x"]), asks(&["x"]), one()]);
    assert_eq!(early.0, "u a(x x_2) r(x x_2) a(x_3) r(x_3)");
    // Late ones answer the nearest message first, within it in order.
    let late = after([author("u"), asks(&["x"]), asks(&["x", "x"]), one(), one(), one(), one()]);
    assert_eq!(late.0, "u a(x) r(x) a(x_2 x_3) r(x_2 x_3)");
    assert_eq!(late.1.iter().filter(|kind| **kind == RepairKind::MissingResult).count(), 0);
}

#[test]
fn what_a_missing_result_says() {
    let repaired = repair(&listed([author("u"), asks(&["x"])]));
    let Message::ToolResults(results) = &*repaired.messages[2] else { panic!() };
    assert!(results.results[0].is_error());
    assert!(results.results[0].tree.model_text().starts_with("the outcome of this call is not known"));
    let detail = "message 1 (m1): its call x of tool has no result; one says so now";
    assert_eq!(repaired.repairs[0].to_string(), detail);
}

// Documents go with what they belong to; what a handler keeps from the model stays kept.
#[test]
fn documents_go_along() {
    let mut hidden = with_document("z", "secret", Some(9));
    (hidden.documents, hidden.withheld) = (Vec::new(), vec![document(9).id().clone()]);
    let repaired = repair(&listed([
        author("u"),
        results([with_document("x", "found", Some(1))]),
        user(UserOrigin::ToolCallDocuments, "d", Some(1)),
        asks(&["x"]),
        results([with_document("y", "lost", Some(2)), hidden]),
        user(UserOrigin::ToolCallDocuments, "d", Some(2)),
    ]));
    assert_eq!(words(&repaired.messages), "u a(x) r(x) d e e e");
    let of = |at: usize| -> Vec<&str> {
        repaired.messages[at].documents().iter().map(|document| document.id().as_str()).collect()
    };
    assert_eq!(
        (of(2), of(3), of(4), of(5), of(6)),
        (vec!["document-1"], vec!["document-1"], vec!["document-2"], vec![], vec!["document-2"])
    );
    assert!(repaired.messages[6].metadata().is_empty(), "it is no synthetic message any more");
}

// documents.md 9.2 D33: blanks; D15: the start
#[test]
fn blanks_and_beginnings() {
    let blank = Message::User(UserMessage::new([
        Some(UserPart::Object(ContentTree::text(" "))),
        UserPart::text("hi"),
    ]));
    assert_eq!(after([blank]), ("u".to_owned(), vec![RepairKind::BlankPart]));
    let silent =
        Message::Assistant(AssistantMessage::new([Some(AssistantPart::Reasoning(ReasoningPart::new(" ")))]));
    let kinds = vec![RepairKind::BlankPart, RepairKind::EmptyMessage];
    assert_eq!(after([author("u"), silent]), ("u".to_owned(), kinds));
    assert_eq!(after([author("u"), Message::user(" ")]), ("u".to_owned(), vec![RepairKind::EmptyMessage]));
    assert_eq!(after([Message::assistant("a")]), ("e a".to_owned(), vec![RepairKind::BeginsWithAssistant]));
    assert_eq!(
        after([author("u"), Message::assistant("a"), Message::system("s"), author("u")]),
        ("s u a u".to_owned(), vec![RepairKind::SystemNotFirst])
    );
    assert_eq!(after([Message::system("s"), author("u"), Message::system("s")]).1, [], "more may follow");
    // Several replies in a row are one turn that the provider continued.
    assert_eq!(after([author("u"), Message::assistant("a"), Message::assistant("b")]).1, []);
    let twins = [author("u").shared(), Message::assistant("a").shared()];
    let twins = [twins.clone(), twins].concat();
    let repaired = repair(&twins);
    assert_eq!(repaired.repairs.len(), 2);
    assert_eq!(repaired.messages[2].id(), &twins[0].id().derived("2"));
}

/// Anything at all, from few ids and documents.
fn soup() -> impl Strategy<Value = Vec<Arc<Message>>> {
    let id = || prop::sample::select(vec!["x", "y", "z"]);
    let number = || prop::option::weighted(0.6, 0_u8..5);
    let result = (id(), prop::sample::select(vec!["", "one", "two"]), number(), any::<bool>());
    let result = result.prop_map(|(id, text, number, withheld)| {
        let mut result = with_document(id, text, number);
        if withheld {
            result.withheld = result.documents.drain(..).map(|document| document.id().clone()).collect();
        }
        result
    });
    let origin =
        prop::sample::select(vec![UserOrigin::Author, UserOrigin::Event, UserOrigin::ToolCallDocuments]);
    let message = prop_oneof![
        1 => prop::sample::select(vec!["", "s"]).prop_map(|text| Message::System(SystemMessage::new(text))),
        4 => (origin, prop::sample::select(vec!["", "u"]), number()).prop_map(|(origin, text, number)| user(origin, text, number)),
        2 => prop::sample::select(vec!["", "a"]).prop_map(Message::assistant),
        4 => prop::collection::vec(id(), 1..4).prop_map(|ids| asks(&ids)),
        4 => prop::collection::vec(result, 0..4).prop_map(results),
    ];
    (prop::collection::vec(message, 0..14), 1_usize..20).prop_map(|(messages, ids)| {
        let number = |(at, message): (usize, Message)| {
            message.with_id(MessageId::parse(format!("m{}", at % ids)).unwrap()).shared()
        };
        messages.into_iter().enumerate().map(number).collect()
    })
}

/// A conversation as we write them.
fn proper() -> impl Strategy<Value = Vec<Arc<Message>>> {
    let turn = (1_usize..3, 0_usize..3, any::<bool>(), any::<bool>());
    (any::<bool>(), prop::collection::vec(turn, 0..5)).prop_map(|(system, turns)| {
        let mut messages = Vec::new();
        if system {
            messages.push(Message::system("s"));
        }
        let mut count = 0;
        for (calls, rounds, documents, event) in turns {
            messages.push(author("u"));
            for _ in 0..rounds {
                let ids: Vec<String> = (0..calls)
                    .map(|_| {
                        count += 1;
                        format!("c{count}")
                    })
                    .collect();
                messages.push(asks(&ids.iter().map(String::as_str).collect::<Vec<_>>()));
                messages.push(results(ids.iter().map(|id| with_document(id, "r", documents.then_some(1)))));
                if documents {
                    messages.push(user(UserOrigin::ToolCallDocuments, "d", Some(1)));
                }
                if event {
                    messages.push(user(UserOrigin::Event, "e", None));
                }
            }
            messages.push(Message::assistant("a"));
        }
        listed(messages)
    })
}

/// The documents of a conversation without those that each handler keeps from the model.
fn shown_documents(messages: &[Arc<Message>]) -> HashSet<String> {
    let of = |message: &Arc<Message>| -> Vec<String> {
        let Message::ToolResults(results) = &**message else {
            return message.documents().iter().map(|document| document.id().as_str().to_owned()).collect();
        };
        let shown = results.results.iter().flat_map(|result| {
            let documents = result.tree.documents().iter().chain(&result.documents);
            documents.filter(|document| !result.withheld.contains(document.id()))
        });
        shown.map(|document| document.id().as_str().to_owned()).collect()
    };
    messages.iter().flat_map(of).collect()
}

fn check(messages: &[Arc<Message>]) -> Result<(), TestCaseError> {
    let mut ids = HashSet::new();
    let mut calls = HashSet::new();
    for (at, message) in messages.iter().enumerate() {
        prop_assert!(ids.insert(message.id().clone()), "ids of messages differ");
        prop_assert!(!is_empty(message));
        let next = messages.get(at + 1).map(|next| &**next);
        match &**message {
            Message::Assistant(assistant) => {
                for call in assistant.tool_calls() {
                    prop_assert!(calls.insert(call.id.clone()), "ids of calls differ");
                }
                if assistant.has_tool_calls() {
                    let Some(Message::ToolResults(results)) = next else {
                        return Err(TestCaseError::fail("calls without results"));
                    };
                    let answered = results.results.iter().map(|result| &result.call_id);
                    prop_assert!(assistant.tool_calls().map(|call| &call.id).eq(answered));
                }
            }
            Message::ToolResults(_) => {
                let before = at.checked_sub(1).map(|before| &*messages[before]);
                prop_assert!(
                    matches!(before, Some(Message::Assistant(assistant)) if assistant.has_tool_calls())
                );
            }
            Message::User(user) => prop_assert!(!user.parts.iter().any(is_blank_content)),
            Message::System(_) => {}
        }
    }
    let roles: Vec<Role> = messages.iter().map(|message| message.role()).collect();
    if roles.contains(&Role::System) {
        prop_assert_eq!(roles[0], Role::System);
    }
    let first = roles.iter().find(|role| **role != Role::System);
    prop_assert!(first.is_none_or(|role| *role == Role::User));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    // invariants 1 and 3: whatever comes in, what goes out is in order, and no document is lost
    #[test]
    fn any_soup_becomes_a_conversation(soup in soup()) {
        let repaired = repair(&soup);
        check(&repaired.messages)?;
        let before = shown_documents(&soup);
        let after = shown_documents(&repaired.messages);
        prop_assert_eq!(after, before, "no document is lost, none that was withheld is shown");
        let again = repair(&repaired.messages);
        prop_assert_eq!(&again.repairs, &vec![], "{} is final", words(&repaired.messages));
        prop_assert!(again.messages.iter().zip(&repaired.messages).all(|(a, b)| Arc::ptr_eq(a, b)));
        let changed = soup.len() != repaired.messages.len()
            || soup.iter().zip(&repaired.messages).any(|(a, b)| !Arc::ptr_eq(a, b));
        prop_assert_eq!(changed, !repaired.repairs.is_empty(), "what is done is told");
    }

    #[test]
    fn what_is_in_order_stays_as_it_is(history in proper()) {
        let repaired = repair(&history);
        prop_assert_eq!(&repaired.repairs, &vec![], "{}", words(&history));
        prop_assert!(history.len() == repaired.messages.len());
        prop_assert!(history.iter().zip(&repaired.messages).all(|(a, b)| Arc::ptr_eq(a, b)));
    }
}
