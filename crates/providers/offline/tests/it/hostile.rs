//! Nothing that stands in a request makes it panic, run for long, or call what it must not.

use std::sync::Arc;
use std::time::Instant;

use attache_core::{
    Arguments, AssistantMessage, AssistantPart, ChatRequest, ContentTree, Message, ModelHandle, ResultStatus,
    ToolCall, ToolChoice, ToolDefinition, ToolResult, ToolResultsMessage, ToolSet, UserMessage, UserPart,
};
use attache_offline::OfflineModel;
use futures_util::FutureExt;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::file_tools;

fn any_text() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "What is the total",
        " of the invoice",
        "?",
        " and when",
        " is it due",
        "\n",
        " | ",
        "| a | b |\n|---|---|\n",
        "EUR 1,2.3",
        "1.1 | ",
        "2026-03-11",
        "PO-1182",
        "[page 2]",
        "\"",
        ",",
        ";",
        "<document filename=\"a\" />",
        "[begin document ",
        "[end document ",
        "é\u{301}ß",
        "\u{202e}",
        "files",
        "summarise",
        "  \t ",
        "# ",
        "- ",
        "Total due",
        "{",
        "[",
        "“",
        "0",
        "\0",
        "ſ",
    ]);
    prop_oneof![prop::collection::vec(pieces, 0..24).prop_map(|pieces| pieces.concat()), any::<String>()]
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any_text().prop_map(Value::from),
    ];
    let name = prop::sample::select(vec![
        "type",
        "properties",
        "required",
        "path",
        "file",
        "query",
        "items",
        "enum",
        "anyOf",
        "$ref",
        "const",
        "default",
        "text",
        "id",
        "object",
        "string",
        "#/properties/path",
        "name",
        "size",
    ]);
    leaf.prop_recursive(4, 40, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((name.clone(), inner), 0..5).prop_map(|members| members
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect()),
        ]
    })
}

fn any_message() -> impl Strategy<Value = Message> {
    prop_oneof![
        any_text().prop_map(Message::user),
        any_text().prop_map(Message::system),
        prop::collection::vec(any_text(), 0..4)
            .prop_map(|texts| Message::User(UserMessage::new(texts.into_iter().map(UserPart::text)))),
        any_json().prop_map(|value| Message::User(UserMessage::event(ContentTree::value(&value)))),
        (any_text(), any_json(), any_json(), any::<bool>(), 0..3_usize).prop_map(
            |(said, arguments, result, ok, kind)| {
                let call = ToolCall::new(
                    ["list_files", "read_file", "x"][kind],
                    Arguments::new(arguments.to_string()),
                );
                let status = if ok { ResultStatus::Ok } else { ResultStatus::Error };
                let mut results =
                    ToolResultsMessage::new([ToolResult::new(&call, status, ContentTree::value(&result))]);
                if said.len() % 3 == 0 {
                    return Message::Assistant(AssistantMessage::new([
                        AssistantPart::text(said),
                        call.into(),
                    ]));
                }
                results.results.push(ToolResult::ok(&ToolCall::new("x", Arguments::new("")), &said));
                Message::ToolResults(results)
            }
        ),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn it_answers_or_says_why_not(
        messages in prop::collection::vec(any_message(), 0..8),
        schemas in prop::collection::vec((any_text(), any_text(), any_json()), 0..4),
        choice in prop::sample::select(vec![ToolChoice::Auto, ToolChoice::None, ToolChoice::Required, ToolChoice::Tool("read_file".into())]),
    ) {
        let offered = schemas.into_iter().map(|(name, about, schema)| ToolDefinition::new(name, about, schema));
        let tools = ToolSet::new(offered).unwrap_or_else(|_| file_tools());
        let request = ChatRequest::new(messages.into_iter().map(Message::shared)).with_tools(tools).with_tool_choice(choice.clone());
        let made: Vec<String> = request.messages.iter().filter_map(|message| match &**message {
            Message::Assistant(message) => message.tool_calls().next().map(|call| format!("{} {}", call.name, call.arguments.raw())),
            _ => None,
        }).collect();
        let model = ModelHandle::new(OfflineModel::new());
        let reply = model.complete(request.clone()).now_or_never().expect("it never waits");
        if let Ok(completion) = &reply {
            let again = model.complete(request).now_or_never().unwrap().unwrap();
            prop_assert_eq!(completion, &again);
            let calls: Vec<_> = completion.message.tool_calls().collect();
            prop_assert!(!completion.message.parts.is_empty());
            prop_assert!(calls.is_empty() || completion.message.text().is_empty());
            prop_assert!(choice != ToolChoice::None || calls.is_empty());
            prop_assert!(choice != ToolChoice::Required || !calls.is_empty());
            for call in calls {
                prop_assert!(call.arguments.object().is_ok());
                let said = format!("{} {}", call.name, call.arguments.raw());
                prop_assert!(!made.contains(&said));
            }
        }
    }
}

#[test]
fn large_material_is_bounded() {
    let line =
        "The quick supplier delivers 12 chairs and invoices EUR 1,250.00 on 3 May 2026 to the customer.\n";
    let mut messages = vec![Message::user("What is the total of the invoice, and when is it due?").shared()];
    for at in 0..40 {
        let call =
            ToolCall::new("read_file", Arguments::new(json!({"path": format!("{at}.txt")}).to_string()));
        let result = ToolResult::ok(&call, &line.repeat(2_700));
        messages.push(Message::Assistant(AssistantMessage::new([call.into()])).shared());
        messages.push(Message::ToolResults(ToolResultsMessage::new([result])).shared());
    }
    let request = ChatRequest::new(messages).with_tools(Arc::new(file_tools()));
    let started = Instant::now();
    let reply = ModelHandle::new(OfflineModel::new()).complete(request).now_or_never().unwrap().unwrap();
    assert!(reply.message.text().contains("EUR 1,250.00"), "{}", reply.message.text());
    // A debug build on a slow machine; optimised it is a fraction of a second.
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
}

#[test]
fn one_line_of_a_megabyte_is_bounded() {
    for text in [
        "x".repeat(1 << 20),
        "a b ".repeat(1 << 18),
        "1,".repeat(1 << 19),
        "[".repeat(1 << 20),
        "| ".repeat(1 << 19),
    ] {
        let call = ToolCall::new("read_file", Arguments::new(r#"{"path":"a.csv"}"#));
        let messages = [
            Message::user("What is the total of a?").shared(),
            Message::Assistant(AssistantMessage::new([call.clone().into()])).shared(),
            Message::ToolResults(ToolResultsMessage::new([ToolResult::ok(&call, &text)])).shared(),
        ];
        let started = Instant::now();
        let reply = ModelHandle::new(OfflineModel::new())
            .complete(ChatRequest::new(messages))
            .now_or_never()
            .unwrap()
            .unwrap();
        assert!(reply.message.text().len() < 10_000);
        assert!(started.elapsed().as_secs() < 30, "{:?}", started.elapsed());
    }
}

// Silence about what was not looked at would be a wrong answer.
#[test]
fn data_beyond_the_limit_is_said_to_be_left_out() {
    let mut messages = vec![Message::user("Who painted the ceiling?").shared()];
    let mut say = |tool: &str, result: &str| {
        let call = ToolCall::new(tool, Arguments::new("{}"));
        let result = ToolResult::ok(&call, result);
        messages.push(Message::Assistant(AssistantMessage::new([call.into()])).shared());
        messages.push(Message::ToolResults(ToolResultsMessage::new([result])).shared());
    };
    say("read_notes", &"x".repeat(8 << 20));
    say("get_ceiling", r#"{"ceiling": "vault", "painted by": "A. Moss"}"#);
    let reply = ModelHandle::new(OfflineModel::new())
        .complete(ChatRequest::new(messages))
        .now_or_never()
        .unwrap()
        .unwrap();
    let said = reply.message.text();
    assert!(said.contains("Not shown to me: get_ceiling (there was more text than I look at)"), "{said}");
}

#[test]
fn an_object_of_a_megabyte_is_bounded() {
    let members =
        |value: &str| (0..8_000).map(|at| format!("\"k{at}\":\"{value}\"")).collect::<Vec<_>>().join(",");
    let long = "of many words ".repeat(12);
    for text in [
        format!("{{{}}}", members("some short words of a value")),
        format!("{{{},{}}}", members("short"), members(&long)),
        format!("{{\"{}\":{{{}}}}}", "k".repeat(1 << 20), members("short")),
    ] {
        let call = ToolCall::new("read_file", Arguments::new(r#"{"path":"a.json"}"#));
        let messages = [
            Message::user("What is the total of a?").shared(),
            Message::Assistant(AssistantMessage::new([call.clone().into()])).shared(),
            Message::ToolResults(ToolResultsMessage::new([ToolResult::ok(&call, &text)])).shared(),
        ];
        let reply = ModelHandle::new(OfflineModel::new())
            .complete(ChatRequest::new(messages))
            .now_or_never()
            .unwrap()
            .unwrap();
        assert!(reply.message.text().len() < 10_000);
    }
}
