//! Approvals about which nobody decides in time, in a session that goes on.

use std::sync::Arc;
use std::time::Duration;

use attache_agent::{
    Agent, Ask, DecideError, Decision, EndReason, MemorySessions, NoArguments, Proposal, Run, Sessions,
    Verdict, decide, tool_fn,
};
use attache_core::{ChatRequest, Message, ToolError};
use attache_testkit::{FunctionModel, Turn};
use serde_json::json;
use tokio::time::sleep;

/// The results that the model was told.
fn results(messages: &[Arc<Message>]) -> Vec<String> {
    let results = messages.iter().filter_map(|message| match &**message {
        Message::ToolResults(results) => Some(&results.results),
        _ => None,
    });
    results.flatten().map(|result| result.tree.model_text().into_owned()).collect()
}

/// An agent that asks for half a second before it pays: itself, or by another one inside a tool.
fn hurried(inside: bool) -> Agent {
    let asks = |_: &Proposal<'_>| Verdict::Ask(Ask::default().with_lifetime(Duration::from_millis(500)));
    let pay = tool_fn("pay", "", |_: NoArguments| async { Ok::<_, ToolError>("paid") });
    let model = |name: &'static str| {
        let turn = move |request: &ChatRequest, _| match request.messages.len() {
            1 => Turn::call(name, json!({"task": "Pay"})),
            _ => Turn::text("done"),
        };
        FunctionModel::new(turn).unverified()
    };
    let clerk = Agent::builder(model("pay")).tool(pay).approval_policy(asks).build().unwrap();
    match inside {
        true => Agent::builder(model("clerk")).tool(clerk.as_tool("clerk", "Pays")).build().unwrap(),
        false => clerk,
    }
}

#[tokio::test]
async fn an_approval_whose_time_is_up_refuses_no_run() {
    for (inside, approved, told) in [
        (false, false, "not executed: nobody decided in time"),
        (false, true, "not executed: its approval expired before it was run"),
        (true, false, "its outcome is unknown"),
    ] {
        let session =
            Sessions::new(hurried(inside), Arc::new(MemorySessions::new())).open("ann", None).await.unwrap();
        let pending = session.run("go").outcome().await.unwrap();
        let (id, journal) = (&pending.approvals[0].id, session.journal_of(&pending.run_id));
        let early = session.run("else").outcome().await.unwrap_err();
        assert!(matches!(early.decide_error(), Some(DecideError::Open { .. })), "{early:?}");
        if approved {
            decide(&*journal, id, "ann", Decision::Approve).await.unwrap();
        }
        sleep(Duration::from_millis(500)).await;
        let next = session.run("else").outcome().await.unwrap();
        let results = results(&next.messages);
        assert!(results.len() == 1 && results[0].contains(told), "{results:?}");
        assert_eq!((next.reason, &*next.text), (EndReason::Answer, "done"));
        // Its log tells the same.
        let closed = Run::replay(&session.behind(&pending.run_id, 0).await.unwrap()).unwrap().outcome();
        assert_eq!((closed.reason, closed.approvals.len()), (EndReason::Cancelled, 0));
        assert_eq!(self::results(&closed.messages), results);
    }
}
