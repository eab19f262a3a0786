//! Runs that stop halfway, and go on.

use std::time::Duration;

use attache_agent::{
    Agent, Decision, EndReason, EventKind, NoArguments, SessionError, decide, deliver, tool_fn,
};
use attache_core::tool::Deferred;
use attache_core::{Approval, ErrorKind, Message, ToolError, ToolResult};
use attache_testkit::{FunctionModel, ScriptedModel, Turn};

use crate::kit::{Clock, Gate, questions, sessions, timed, until_called};
use crate::place::Place;

pub(crate) async fn a_crashed_run_goes_on_elsewhere_once_its_lease_is_over(place: Place) {
    let (gate, clock) = (Gate::default(), Clock::new());
    let here = timed(&place, gate.agent(), &clock).await.open("ann", Some("s")).await.unwrap();
    let mut run = here.run("go");
    until_called(&mut run).await;
    // The process is gone: it lets nothing go.
    std::mem::forget(run);
    let there = timed(&place, gate.agent(), &clock).await.get("ann", "s").await.unwrap();
    let busy = there.resume().outcome().await.unwrap_err();
    assert!(matches!(busy.session_error(), Some(SessionError::Busy { .. })));
    assert_eq!(there.undriven_for().await.unwrap(), None);
    clock.advance(Duration::from_secs(31));
    assert_eq!(there.undriven_for().await.unwrap(), Some(Duration::from_secs(1)));
    gate.open.notify_one();
    let outcome = there.resume().outcome().await.unwrap();
    assert_eq!((outcome.reason, outcome.text.as_str()), (EndReason::Answer, "done"));
    assert_eq!(questions(&there.history().await.unwrap()), ["go"]);
    assert_eq!(there.runs().await.unwrap().len(), 1);
}

fn after_results(first: impl Fn() -> Turn + Send + 'static) -> FunctionModel {
    let model = FunctionModel::new(move |request, _| match request.messages.last().map(|last| &**last) {
        Some(Message::ToolResults(_)) => Turn::text("done"),
        _ => first(),
    });
    model.unverified()
}

/// A model that calls at the first question, and answers the others.
fn after_question(first: impl Fn() -> Turn + Send + 'static) -> FunctionModel {
    let model = FunctionModel::new(move |request, _| match request.messages.len() {
        1 => first(),
        _ => Turn::text("done"),
    });
    model.unverified()
}

fn payer(patience: Duration) -> Agent {
    let pay = tool_fn("pay", "Pays.", |_: NoArguments| async { Ok::<_, ToolError>("paid") });
    let model = after_results(|| Turn::call("pay", "{}"));
    Agent::builder(model).tool(pay.with_approval(Approval::Always)).patience(patience).build().unwrap()
}

pub(crate) async fn a_decision_made_elsewhere_lets_the_run_go_on(place: Place) {
    let here = sessions(&place, payer(Duration::ZERO)).await.open("ann", Some("s")).await.unwrap();
    let pending = here.run("pay").outcome().await.unwrap();
    assert_eq!(pending.reason, EndReason::PendingApproval);
    let there = sessions(&place, payer(Duration::ZERO)).await.get("ann", "s").await.unwrap();
    // Another question would leave the approval behind.
    let refused = there.run("something else").outcome().await.unwrap_err();
    assert!(refused.decide_error().is_some(), "{refused:?}");
    let known = there.last().await.unwrap().unwrap();
    assert_eq!((known.approvals.len(), &known.approvals[0].id), (1, &pending.approvals[0].id));
    let journal = there.journal().await.unwrap().unwrap();
    decide(&*journal, &known.approvals[0].id, "bob", Decision::Approve).await.unwrap();
    let outcome = here.resume().outcome().await.unwrap();
    assert_eq!(outcome.reason, EndReason::Answer);
    assert_eq!(there.history().await.unwrap(), outcome.messages);
    // A journal for deciding drives nothing.
    let driven = payer(Duration::ZERO).resume(journal).outcome().await.unwrap_err();
    assert!(driven.journal_error().is_some());
}

pub(crate) async fn a_run_that_waits_hears_of_a_delivery_elsewhere(place: Place) {
    let patient = payer(Duration::from_secs(60));
    let here = sessions(&place, patient).await.open("ann", Some("s")).await.unwrap();
    let there = sessions(&place, payer(Duration::ZERO)).await.get("ann", "s").await.unwrap();
    let mut run = here.run("pay");
    loop {
        let event = run.next().await.unwrap();
        if matches!(event.kind, EventKind::ApprovalRequested(_)) {
            break;
        }
    }
    let decided = async {
        let journal = there.journal().await.unwrap().unwrap();
        let id = there.last().await.unwrap().unwrap().approvals[0].id.clone();
        decide(&*journal, &id, "bob", Decision::Approve).await.unwrap();
    };
    let (outcome, ()) = futures_util::future::join(run.outcome(), decided).await;
    assert_eq!(outcome.unwrap().reason, EndReason::Answer);
}

pub(crate) async fn a_result_delivered_elsewhere_lets_the_run_go_on(place: Place) {
    let agent = || {
        let render =
            tool_fn("render", "Renders.", |_: NoArguments| async { Ok::<_, ToolError>(Deferred::to("job")) });
        Agent::builder(after_results(|| Turn::call("render", "{}"))).tool(render).build().unwrap()
    };
    let here = sessions(&place, agent()).await.open("ann", Some("s")).await.unwrap();
    let pending = here.run("go").outcome().await.unwrap();
    assert_eq!((pending.reason, pending.deferred.len()), (EndReason::PendingExternal, 1));
    let there = sessions(&place, agent()).await.get("ann", "s").await.unwrap();
    let journal = there.journal().await.unwrap().unwrap();
    deliver(&*journal, ToolResult::ok(&pending.deferred[0].call, "rendered")).await.unwrap();
    let outcome = there.resume().outcome().await.unwrap();
    assert_eq!(outcome.reason, EndReason::Answer);
    assert!(format!("{:?}", outcome.messages).contains("rendered"));
    assert_eq!(here.history().await.unwrap(), outcome.messages);
}

pub(crate) async fn a_result_that_was_delivered_is_not_lost_to_the_next_run(place: Place) {
    let render =
        tool_fn("render", "Renders.", |_: NoArguments| async { Ok::<_, ToolError>(Deferred::to("job")) });
    let both = || Turn::call("render", "{}").and_call("render", "{}");
    let agent = Agent::builder(after_question(both)).tool(render).build().unwrap();
    let session = sessions(&place, agent).await.open("ann", Some("s")).await.unwrap();
    let pending = session.run("go").outcome().await.unwrap();
    assert_eq!(pending.deferred.len(), 2);
    let journal = session.journal().await.unwrap().unwrap();
    let [early, late] = [&pending.deferred[0].call, &pending.deferred[1].call];
    deliver(&*journal, ToolResult::ok(early, "rendered early")).await.unwrap();
    let next = session.run("something else").outcome().await.unwrap();
    assert!(format!("{:?}", next.messages).contains("rendered early"));
    let entries = journal.load().await.unwrap();
    let closed = attache_agent::Run::replay(&entries).unwrap().outcome();
    assert!(format!("{:?}", closed.messages).contains("rendered early"));
    // Whoever comes too late learns it.
    assert!(deliver(&*journal, ToolResult::ok(late, "rendered late")).await.is_err());
}

// R23, google/adk-python#4029
pub(crate) async fn a_failed_run_leaves_a_valid_log(place: Place) {
    let model = ScriptedModel::new([
        Turn::text("one"),
        Turn::empty().then_error(ErrorKind::InvalidRequest),
        Turn::text("three"),
    ]);
    let agent = Agent::builder(model.clone().unverified()).build().unwrap();
    let session = sessions(&place, agent).await.open("ann", Some("s")).await.unwrap();
    session.run("first").outcome().await.unwrap();
    let failed = session.run("second").outcome().await.unwrap_err();
    assert!(failed.provider_error().is_some());
    assert_eq!(questions(&session.history().await.unwrap()), ["first", "second"]);
    let open =
        &sessions(&place, Agent::builder(model.clone()).build().unwrap()).await.list("ann").await.unwrap()[0];
    assert_eq!(open.open_run.as_deref(), Some(&*failed.partial().run_id));
    let third = session.run("third").outcome().await.unwrap();
    assert_eq!(questions(&third.messages), ["first", "second", "third"]);
    assert_eq!(session.history().await.unwrap(), third.messages);
    assert!(session.runs().await.unwrap().iter().all(|run| run.ended.is_some()));
    // Nobody goes on with a run that was left behind.
    let journal = session.journal_of(&failed.partial().run_id);
    let entries = journal.load().await.unwrap();
    let run = attache_agent::Run::replay(&entries).unwrap();
    assert_eq!(run.outcome().reason, failed.partial().reason);
    let call = attache_core::ToolCall::new("none", attache_core::Arguments::new("{}"));
    assert!(deliver(&*journal, ToolResult::ok(&call, "late")).await.is_err());
}
