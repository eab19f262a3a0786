//! The loop for callers who run the tools: P11 to P24.

use std::time::Duration;

use attache_agent::{ChatLoop, ChatLoopHandle, EndReason, LoopEvent, SubmitError, chat_loop};
use attache_core::{ErrorKind, FinishReason, Message, Role, ToolCall, ToolDefinition, ToolResult, Usage};
use attache_testkit::{ScriptedModel, Turn};
use serde_json::json;

fn tools() -> Vec<ToolDefinition> {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    vec![ToolDefinition::new("add", "Adds", schema.clone()), ToolDefinition::new("mul", "Multiplies", schema)]
}

fn start(model: &ScriptedModel) -> ChatLoopHandle {
    chat_loop(model.clone(), [Message::user("go").shared()], tools()).unwrap()
}

async fn until_calls(chat: &mut ChatLoopHandle) -> Vec<ToolCall> {
    while let Some(event) = chat.next().await {
        if let LoopEvent::ToolCallsRequested { calls, .. } = event.unwrap() {
            return calls;
        }
    }
    panic!("no calls came");
}

fn two_calls() -> Turn {
    Turn::text("let me").and_call("add", json!({"n": 1})).and_call("mul", json!({"n": 2}))
}

#[tokio::test]
async fn events_out_results_in() {
    let model = ScriptedModel::new([two_calls(), Turn::text("done")]);
    let mut chat = start(&model);
    let mut words = Vec::new();
    while let Some(event) = chat.next().await {
        words.push(match event.unwrap() {
            LoopEvent::Content(text) => format!("content {text}"),
            LoopEvent::ToolCallDelta { name, .. } => format!("delta {}", name.unwrap()),
            LoopEvent::ToolCallsRequested { calls, content } => {
                assert!(chat.is_active());
                chat.submit_tool_results(calls.iter().map(|call| ToolResult::ok(call, "ok"))).await.unwrap();
                format!("requested {} beside {content}", calls.len())
            }
            LoopEvent::ToolResultsReceived { count } => format!("received {count}"),
            LoopEvent::Done(end) => {
                // P22: the sum of all replies, and all calls
                assert_eq!(
                    (end.usage, end.calls.len(), end.finish_reason),
                    (Usage::new(20, 10), 2, FinishReason::Stop)
                );
                // P19: the content of the first reply is not repeated
                format!("done {}", end.content)
            }
            other => format!("{other:?}"),
        });
    }
    assert_eq!(
        words,
        [
            "content let",
            "content  me",
            "delta add",
            "delta mul",
            "requested 2 beside let me",
            "received 2",
            "content do",
            "content ne",
            "done done",
        ]
    );
    // P12, P16
    assert!(chat.next().await.is_none() && chat.next().await.is_none() && !chat.is_active());
    // P20
    let roles: Vec<Role> = model.requests()[1].messages.iter().map(|message| message.role()).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::ToolResults]);
}

// P13, P14
#[tokio::test]
async fn submissions_are_checked_and_may_come_in_pieces() {
    let model = ScriptedModel::new([two_calls(), Turn::text("done")]);
    let mut chat = start(&model);
    assert!(matches!(chat.submit_tool_results([]).await, Err(SubmitError::NotAwaiting)));
    let calls = until_calls(&mut chat).await;
    let foreign = ToolCall::new("add", calls[0].arguments.clone());
    let submit = |results: Vec<ToolResult>| chat.submit_tool_results(results);
    assert!(matches!(
        submit(vec![ToolResult::ok(&foreign, "x")]).await,
        Err(SubmitError::UnknownCall { .. })
    ));
    let twice = vec![ToolResult::ok(&calls[1], "b"), ToolResult::ok(&calls[1], "b")];
    assert!(matches!(submit(twice).await, Err(SubmitError::DuplicateResult { .. })));
    // Later calls may be answered first.
    submit(vec![ToolResult::error(&calls[1], "b failed")]).await.unwrap();
    assert!(matches!(
        submit(vec![ToolResult::ok(&calls[1], "b")]).await,
        Err(SubmitError::DuplicateResult { .. })
    ));
    let with_unknown = vec![ToolResult::ok(&calls[0], "a"), ToolResult::ok(&foreign, "x")];
    assert!(matches!(submit(with_unknown).await, Err(SubmitError::UnknownCall { .. })), "all or none");
    assert_eq!(chat.awaiting().len(), 1);
    submit(vec![ToolResult::ok(&calls[0], "a")]).await.unwrap();
    while let Some(event) = chat.next().await {
        event.unwrap();
    }
    let Message::ToolResults(results) = &*model.requests()[1].messages[2] else { panic!() };
    let order: Vec<_> = results
        .results
        .iter()
        .map(|result| (result.tree.model_text().into_owned(), result.is_error()))
        .collect();
    assert_eq!(order, [("a".to_owned(), false), ("b failed".to_owned(), true)]);
    // P15
    let late = chat.submit_tool_results([ToolResult::ok(&calls[0], "late")]).await;
    assert!(matches!(late, Err(SubmitError::ChatLoopClosed)));
}

// P18
#[tokio::test(start_paused = true)]
async fn a_caller_who_never_answers() {
    let model = ScriptedModel::new([two_calls()]);
    let mut chat = ChatLoop::new(model)
        .with_tools(tools())
        .with_answer_deadline(Duration::from_secs(60))
        .start([Message::user("go").shared()])
        .unwrap();
    let mut end = None;
    while let Some(event) = chat.next().await {
        if let LoopEvent::Done(done) = event.unwrap() {
            end = Some(done);
        }
    }
    let end = end.unwrap();
    assert_eq!((end.reason, end.content.as_str()), (EndReason::PendingExternal, ""), "it was told before");
    assert!(!chat.is_active());
}

// P17
#[tokio::test]
async fn cancelling_ends_it() {
    let model = ScriptedModel::new([two_calls()]);
    let mut chat = start(&model);
    until_calls(&mut chat).await;
    chat.cancel();
    let Some(Ok(LoopEvent::Done(end))) = chat.next().await else { panic!("a cancelled loop tells its end") };
    assert_eq!((end.reason, end.content.as_str()), (EndReason::Cancelled, ""), "it was told before");
    assert_eq!(end.messages.last().unwrap().role(), Role::ToolResults, "the history is valid to go on from");
    // P16: nothing is active right behind the end.
    assert!(!chat.is_active());
    assert!(chat.next().await.is_none());
}

// P19: nor is that of an earlier reply
#[tokio::test]
async fn an_end_has_the_text_of_the_last_reply_alone() {
    let filtered = Turn::empty().finishing(FinishReason::ContentFilter);
    let mut chat = start(&ScriptedModel::new([two_calls(), filtered]).unverified());
    let calls = until_calls(&mut chat).await;
    chat.submit_tool_results(calls.iter().map(|call| ToolResult::ok(call, "ok"))).await.unwrap();
    let mut end = None;
    while let Some(event) = chat.next().await {
        if let LoopEvent::Done(done) = event.unwrap() {
            end = Some(done);
        }
    }
    let end = end.unwrap();
    assert_eq!((end.reason, end.content.as_str()), (EndReason::ContentFilter, ""));
    // One that ends before a reply says of no model that it stopped.
    let mut chat = start(&ScriptedModel::new([]));
    chat.cancel();
    let Some(Ok(LoopEvent::Done(end))) = chat.next().await else { panic!("a cancelled loop tells its end") };
    assert_eq!(end.finish_reason, FinishReason::Other(String::new()));
}

// P24
#[tokio::test]
async fn length_is_an_end_and_not_an_error() {
    let model = ScriptedModel::new([Turn::text("half a").finishing(FinishReason::Length)]);
    let mut chat = start(&model);
    let mut end = None;
    while let Some(event) = chat.next().await {
        if let LoopEvent::Done(done) = event.unwrap() {
            end = Some(done);
        }
    }
    let end = end.unwrap();
    assert_eq!(
        (end.content.as_str(), end.finish_reason, end.reason),
        ("half a", FinishReason::Length, EndReason::Length)
    );
}

// Calls of a cut reply are never executed, so a caller must not be asked to.
#[tokio::test]
async fn calls_that_are_closed_are_not_requested() {
    let cut = Turn::call("weather", json!({"city": "Oslo"})).finishing(FinishReason::Length);
    let model = ScriptedModel::new([cut, Turn::text("done")]).unverified();
    let mut chat = start(&model);
    let mut requested = 0;
    while let Some(event) = chat.next().await {
        requested += usize::from(matches!(event.unwrap(), LoopEvent::ToolCallsRequested { .. }));
    }
    assert_eq!((requested, model.requests().len()), (0, 2));
}

#[tokio::test]
async fn an_error_comes_once() {
    let model = ScriptedModel::new([Turn::text("a").then_error(ErrorKind::Network)]);
    let mut chat = start(&model);
    let mut errors = 0;
    while let Some(event) = chat.next().await {
        if let Err(error) = event {
            assert_eq!(error.provider_error().unwrap().kind(), ErrorKind::Network);
            errors += 1;
        }
    }
    assert_eq!(errors, 1);
}
