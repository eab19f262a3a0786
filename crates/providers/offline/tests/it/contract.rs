//! The promises of the provider trait, and the choice of tools.

use std::sync::Arc;

use attache_core::{
    Arguments, AssistantMessage, Capture, ChatRequest, ContentTree, Document, ErrorKind, FinishReason,
    LlmProvider, Message, ModelHandle, ModelSettings, ResultStatus, StreamChunk, ToolCall, ToolChoice,
    ToolDefinition, ToolResult, ToolResultsMessage, ToolSet, UserMessage, UserPart,
};
use attache_offline::OfflineModel;
use futures_util::StreamExt;
use serde_json::{Value, json};

use crate::support::{after_result, complete, file_tools};

fn tool(name: &str, description: &str, schema: Value) -> ToolSet {
    ToolSet::new([ToolDefinition::new(name, description, schema)]).unwrap()
}

fn text(name: &str) -> Value {
    json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]})
}

fn asks(question: &str, tools: ToolSet) -> ChatRequest {
    ChatRequest::new([Message::user(question).shared()]).with_tools(tools)
}

async fn calls(request: ChatRequest) -> Vec<String> {
    let message = complete(request).await.message;
    message.tool_calls().map(|call| format!("{} {}", call.name, call.arguments.raw())).collect()
}

async fn error(request: ChatRequest) -> ErrorKind {
    ModelHandle::new(OfflineModel::new()).complete(request).await.unwrap_err().kind()
}

#[tokio::test]
async fn arguments_come_from_the_users_words() {
    for (question, tools, expected) in [
        (
            "What is the total of invoice R-17?",
            tool("get_invoice", "Gets an invoice", text("number")),
            r#"get_invoice {"number":"R-17"}"#,
        ),
        (
            "What is the weather in Oslo?",
            tool("weather", "The current weather of a city", text("city")),
            r#"weather {"city":"Oslo"}"#,
        ),
        (
            "Who signed the lease?",
            tool("search_documents", "Searches all documents", text("query")),
            r#"search_documents {"query":"signed lease"}"#,
        ),
        ("What does plan.md say?", tool("read", "Reads a file", text("path")), r#"read {"path":"plan.md"}"#),
        (
            "What is the sum of 3 and 4.5?",
            tool(
                "add",
                "Returns the sum of two numbers",
                json!({"properties": {"a": {"type": "number"}, "b": {"type": "number"}}, "required": ["a", "b"]}),
            ),
            r#"add {"a":3,"b":4.5}"#,
        ),
        (
            "Delete draft.md",
            tool("delete_file", "Deletes a file", text("path")),
            r#"delete_file {"path":"draft.md"}"#,
        ),
        (
            "Who is in the folder?",
            tool("list_directory", "Lists a directory", text("path")),
            r#"list_directory {"path":"."}"#,
        ),
    ] {
        assert_eq!(calls(asks(question, tools)).await, [expected], "{question}");
    }
}

#[tokio::test]
async fn an_unrelated_tool_is_not_called() {
    for (question, tools) in [
        ("Who signed the lease?", tool("weather", "The current weather of a city", text("city"))),
        ("What is in draft.md?", tool("delete_file", "Deletes a file", text("path"))),
        ("Is the mail sent?", tool("send_mail", "Sends a mail", text("text"))),
        ("Who signed the lease?", tool("now", "Gets the time", json!({}))),
        ("Which lease is old?", tool("rotate", "Rotates the lease", json!({}))),
        ("Which lease is old?", tool("lease", "The lease", json!({}))),
        ("Who signed the lease?", tool("read_file", "Reads a file", text("path"))),
    ] {
        assert_eq!(calls(asks(question, tools)).await, [""; 0], "{question}");
    }
}

// Arguments from earlier results, by matching schemas and not by names.
#[tokio::test]
async fn arguments_come_from_earlier_results() {
    let tools = || {
        let tools = [
            ToolDefinition::new("orders.find", "Finds orders", json!({"properties": {}})),
            ToolDefinition::new("orders.get", "Gets all records of an order", text("order_id")),
        ];
        ToolSet::new(tools).unwrap()
    };
    let found = json!([{"orderId": "O-1", "customer": "Ada"}, {"orderId": "O-2", "customer": "Bob"}]);
    let request = after_result("When was the order of Bob shipped?", "orders.find", "{}", &found, tools());
    assert_eq!(calls(request).await, [r#"orders.get {"order_id":"O-2"}"#]);
    let shipped = json!({"orderId": "O-2", "customer": "Bob", "shipped": "2026-03-04"});
    let request = after_result(
        "When was the order of Bob shipped?",
        "orders.get",
        r#"{"order_id":"O-2"}"#,
        &shipped,
        tools(),
    );
    let message = complete(request).await.message;
    assert_eq!(message.text(), "“shipped: 2026-03-04” (orders.get)");
}

#[tokio::test]
async fn results_of_tools_are_quoted() {
    let schema =
        json!({"properties": {"a": {"type": "number"}, "b": {"type": "number"}}, "required": ["a", "b"]});
    let tools = tool("add", "Returns the sum of two numbers", schema);
    let request =
        after_result("What is the sum of 3 and 4.5?", "add", r#"{"a":3,"b":4.5}"#, &json!(7.5), tools);
    assert_eq!(complete(request).await.message.text(), "“7.5” (add)");
    let grep = json!([{"path": "a.md", "line": 3, "text": "The lease was signed by Maria Keller."}]);
    let request =
        after_result("Who signed the lease?", "grep", r#"{"query":"lease"}"#, &grep, ToolSet::default());
    let said = complete(request).await.message.text();
    assert!(said.contains("signed by Maria Keller"), "{said}");
}

#[tokio::test]
async fn the_counts_of_a_search_in_vain_answer_nothing() {
    let schema = json!({"properties": {"query": {"type": "string"}}, "required": ["query"]});
    let tools = tool("search_files", "Finds lines that hold a text, in all files", schema);
    let found = json!({"matches": [], "filesWithoutText": 3});
    let question = "What is the total of the invoice?";
    let request = after_result(question, "search_files", r#"{"query":"total invoice"}"#, &found, tools);
    let said = complete(request.with_tool_choice(ToolChoice::None)).await.message.text();
    assert!(said.starts_with("I found nothing that answers") && !said.contains("filesWithoutText"), "{said}");
}

#[tokio::test]
async fn folders_are_opened_and_failures_are_told() {
    let listing = json!([{"path": "sub", "type": "directory"}, {"path": "a.txt", "type": "file"}]);
    let list = json!({"properties": {"path": {"type": "string"}}});
    let tools = || {
        let tools = [
            ToolDefinition::new("ls", "Lists a folder", list.clone()),
            ToolDefinition::new("cat", "Shows a file", text("path")),
        ];
        ToolSet::new(tools).unwrap()
    };
    let request = after_result("Who signed?", "ls", "{}", &listing, tools());
    assert_eq!(calls(request).await, [r#"ls {"path":"sub"}"#]);
    let call = ToolCall::new("cat", Arguments::new(r#"{"path":"a.txt"}"#));
    let request = ChatRequest::new([
        Message::user("Who signed?").shared(),
        Message::Assistant(AssistantMessage::new([call.clone().into()])).shared(),
        Message::ToolResults(ToolResultsMessage::new([ToolResult::error(&call, "permission denied")]))
            .shared(),
    ]);
    let said = complete(request.with_tools(tools()).with_tool_choice(ToolChoice::None)).await.message.text();
    assert!(said.contains("cat failed: permission denied"), "{said}");
}

#[tokio::test]
async fn tool_choices_are_honoured() {
    let question = "What is the total of the invoice?";
    assert_eq!(calls(asks(question, file_tools()).with_tool_choice(ToolChoice::None)).await, [""; 0]);
    assert_eq!(
        calls(asks(question, file_tools()).with_tool_choice(ToolChoice::Required)).await,
        ["list_files {}"]
    );
    let forced = |name: &str| ToolChoice::Tool(name.to_owned());
    let request = asks(question, file_tools()).with_tool_choice(forced("read_file"));
    assert_eq!(calls(request).await, [r#"read_file {"path":""}"#], "forced: with what the schema allows");
    assert_eq!(
        error(asks(question, file_tools()).with_tool_choice(forced("nothing"))).await,
        ErrorKind::InvalidRequest
    );
    assert_eq!(
        error(asks(question, ToolSet::default()).with_tool_choice(ToolChoice::Required)).await,
        ErrorKind::InvalidRequest
    );
    // A call that was made already is not made again, even where a call is demanded.
    let now = || tool("now", "Gets the time", json!({}));
    let again = after_result("When is it?", "now", "{}", &json!("12:00"), now())
        .with_tool_choice(ToolChoice::Required);
    assert_eq!(error(again).await, ErrorKind::Unsupported);
}

#[tokio::test]
async fn one_call_at_a_time_where_that_is_asked() {
    let listing = json!([{"path": "a.txt"}, {"path": "b.txt"}, {"path": "c.txt"}]);
    let request = || after_result("Who signed the lease?", "list_files", "{}", &listing, file_tools());
    assert_eq!(calls(request()).await.len(), 3);
    let options = ModelSettings::new().with_parallel_tool_calls(false);
    assert_eq!(calls(request().with_settings(options)).await.len(), 1);
}

fn mail() -> ChatRequest {
    let mail =
        "<document filename=\"mail.txt\" />\nThe caterer is booked for 11 June. The plants come on 28 April.";
    let message = UserMessage::new([UserPart::text(mail), UserPart::text("When is the caterer booked?")]);
    ChatRequest::new([Message::system("Answer in verse.").shared(), Message::User(message).shared()])
}

async fn chunks(model: &OfflineModel, request: ChatRequest) -> Vec<StreamChunk> {
    model.stream(request).map(Result::unwrap).collect().await
}

// The same request, the same reply, ids included.
#[tokio::test]
async fn it_is_deterministic() {
    let model = OfflineModel::new();
    let text = mail();
    assert_eq!(
        chunks(&model, text.clone()).await,
        chunks(&OfflineModel::new(), text.clone().streaming(false)).await
    );
    let listing = after_result(
        "Who signed?",
        "list_files",
        "{}",
        &json!([{"path": "a.txt"}, {"path": "b.txt"}]),
        file_tools(),
    );
    let first = chunks(&model, listing.clone()).await;
    assert_eq!(first, chunks(&model, listing.clone()).await);
    let mut other = listing.clone();
    let question = Arc::new((*other.messages[0]).clone());
    other.messages = vec![question];
    let ids = |chunks: &[StreamChunk]| match chunks.last() {
        Some(StreamChunk::Done(completion)) => {
            completion.message.tool_calls().map(|call| call.id.clone()).collect::<Vec<_>>()
        }
        _ => panic!("no end"),
    };
    let (ids, others) = (ids(&first), ids(&chunks(&model, other).await));
    assert!(ids[0] != ids[1] && !others.contains(&ids[0]), "{ids:?} {others:?}");
}

#[tokio::test]
async fn chunks_end_with_the_message_that_they_add_up_to() {
    let model = OfflineModel::named("anything");
    assert_eq!(model.model_id(), "offline/anything");
    let all = chunks(&model, mail()).await;
    let text: String = all
        .iter()
        .filter_map(|chunk| if let StreamChunk::Content(text) = chunk { Some(text.as_str()) } else { None })
        .collect();
    let Some(StreamChunk::Done(done)) = all.last() else { panic!("no end") };
    assert_eq!(text, "“The caterer is booked for 11 June.” (mail.txt)");
    assert_eq!(done.message.text(), text);
    assert_eq!((done.finish_reason.clone(), done.model.as_deref()), (FinishReason::Stop, Some("anything")));
    assert_eq!(done.usage.output_tokens, Some(8));
    assert_eq!(done.usage.input_tokens, Some(24), "every word it was given");
    let state = model.state();
    assert_eq!((state.requests, state.turns, state.failures), (1, 1, 0));
    drop(model.stream(mail()));
    assert_eq!(model.state().requests, 1, "nothing happens before the first poll");
}

#[tokio::test]
async fn limits_and_options() {
    let cut = complete(mail().with_settings(ModelSettings::new().with_max_tokens(3))).await;
    assert_eq!((cut.message.text().as_str(), cut.finish_reason), ("“The caterer is", FinishReason::Length));
    let stopped =
        complete(mail().with_settings(ModelSettings::new().with_stop(vec![" booked".into()]))).await;
    assert_eq!(
        (stopped.message.text().as_str(), stopped.finish_reason),
        ("“The caterer is", FinishReason::Stop)
    );
    assert_eq!(
        error(mail().with_settings(ModelSettings::new().with_temperature(1.0))).await,
        ErrorKind::Unsupported
    );
    let model = OfflineModel::new().with_settings(ModelSettings::new().with_max_tokens(1));
    assert_eq!(ModelHandle::new(model).complete(mail()).await.unwrap().message.text(), "“The");
}

// A document that no routing has looked at is refused, never passed over.
#[tokio::test]
async fn unrouted_documents_are_refused() {
    let pdf = Document::from_bytes(&b"%PDF-1.7"[..], "application/pdf");
    let user = Message::User(UserMessage::new([UserPart::text("What is it?"), pdf.clone().into()]));
    assert_eq!(error(ChatRequest::new([user.shared()])).await, ErrorKind::Unsupported);
    let call = ToolCall::new("read", Arguments::new("{}"));
    let tree = Capture::new().finish(&pdf).unwrap();
    let request = ChatRequest::new([
        Message::user("What is it?").shared(),
        Message::Assistant(AssistantMessage::new([call.clone().into()])).shared(),
        Message::ToolResults(ToolResultsMessage::new([ToolResult::new(&call, ResultStatus::Ok, tree)]))
            .shared(),
    ]);
    assert_eq!(error(request).await, ErrorKind::Unsupported);
    assert_eq!(error(ChatRequest::default()).await, ErrorKind::InvalidRequest);
    let event =
        Message::User(UserMessage::event(ContentTree::value(&json!({"question": "When is the party?"}))));
    assert!(
        complete(ChatRequest::new([event.shared()])).await.message.text().contains("nothing that answers")
    );
}

#[tokio::test]
async fn it_says_what_it_is() {
    let said = complete(ChatRequest::new([Message::user("Hello!").shared()])).await.message.text();
    assert!(said.starts_with("I am no language model"), "{said}");
}
