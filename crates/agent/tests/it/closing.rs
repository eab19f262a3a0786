//! Runs that another one of their session closes, in memory; the tests of `attache-stores` run more of them over each
//! store.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use attache_agent::{
    Agent, AgentRun, DecideError, Decision, Draft, EndReason, Entry, EntryKind, EventKind, HookContext,
    HookError, InputVerdict, JournalError, MemorySessions, NoArguments, Outcome, Run, RunError, RunHook,
    RunInput, Session, SessionStore as _, Sessions, Take, decide, deliver, say, tool_fn,
};
use attache_core::tool::Deferred;
use attache_core::{
    Approval, BoxFuture, ContentTree, Effect, ErrorKind, Message, ResultStatus, ToolError, ToolResult,
    UserPart,
};
use attache_testkit::{FunctionModel, Turn};
use futures_util::future::join;
use serde_json::json;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

/// Sessions that several processes share, and their clock.
#[derive(Clone, Default)]
struct Shared {
    store: Arc<MemorySessions>,
    ahead: Arc<AtomicU64>,
}

impl Shared {
    fn now(&self) -> Duration {
        Duration::from_secs(1_000_000 + self.ahead.load(Ordering::SeqCst))
    }

    async fn session(&self, agent: Agent) -> Session {
        let own = self.clone();
        let sessions = Sessions::new(agent, Arc::clone(&self.store) as _);
        let sessions = sessions.with_clock(move || SystemTime::UNIX_EPOCH + own.now());
        sessions.open("ann", Some("s")).await.unwrap()
    }

    /// The lease of whoever has it is over.
    fn advance(&self) {
        self.ahead.fetch_add(31, Ordering::SeqCst);
    }
}

/// Holds a run until it is let go: at its input, or before its model is asked.
#[derive(Clone, Default)]
struct Door {
    is_at_model: bool,
    reached: Arc<Notify>,
    open: Arc<Notify>,
}

impl Door {
    async fn pass(&self) {
        self.reached.notify_one();
        self.open.notified().await;
    }
}

impl RunHook for Door {
    fn on_input<'a>(
        &'a self,
        _input: &'a [Arc<Message>],
        _context: &'a HookContext<'_>,
    ) -> BoxFuture<'a, Result<InputVerdict, HookError>> {
        Box::pin(async {
            if !self.is_at_model {
                self.pass().await;
            }
            Ok(InputVerdict::Pass)
        })
    }

    fn before_model<'a>(
        &'a self,
        _draft: &'a mut Draft<'_>,
        _context: &'a HookContext<'_>,
    ) -> BoxFuture<'a, Result<(), HookError>> {
        Box::pin(async {
            if self.is_at_model {
                self.pass().await;
            }
            Ok(())
        })
    }
}

/// An agent whose first answer needs a tool of that effect, which waits for the gate.
fn gated(gate: &Arc<Notify>, effect: Effect) -> Agent {
    let gate = Arc::clone(gate);
    let tool = tool_fn("pass", "Passes the gate.", move |_: NoArguments| {
        let gate = Arc::clone(&gate);
        async move {
            gate.notified().await;
            Ok::<_, ToolError>("passed")
        }
    });
    let model = FunctionModel::new(|request, _| match request.messages.last().map(|last| &**last) {
        Some(Message::ToolResults(_)) => Turn::text("done"),
        _ => Turn::call("pass", "{}"),
    });
    let builder = Agent::builder(model.unverified()).tool(tool.with_effect(effect));
    builder.tool_timeout(Duration::from_secs(5)).build().unwrap()
}

/// An agent that fails behind results. It answers a question at once, or after a tool that takes a minute.
fn failing(is_slow: bool, door: Option<Door>) -> Agent {
    let pass = tool_fn("pass", "", |_: NoArguments| async { Ok::<_, ToolError>("again") });
    let wait = tool_fn("wait", "", |_: NoArguments| async {
        sleep(Duration::from_secs(60)).await;
        Ok::<_, ToolError>("waited")
    });
    let model = FunctionModel::new(move |request, _| {
        let asked = questions(&request.messages);
        match request.messages.last().map(|last| &**last) {
            Some(Message::ToolResults(_)) if asked.len() == 1 => {
                Turn::text("").then_error(ErrorKind::Overloaded)
            }
            Some(Message::User(_)) if is_slow && asked.last().is_some_and(|last| last == "two") => {
                Turn::call("wait", "{}")
            }
            _ => Turn::text("done"),
        }
    });
    let builder = Agent::builder(model.unverified()).tool(pass).tool(wait);
    match door {
        Some(door) => builder.hook(door).build().unwrap(),
        None => builder.build().unwrap(),
    }
}

/// An agent whose first answer begins a job and needs an approval for another call.
fn waiting(door: Option<Door>) -> Agent {
    let render = tool_fn("render", "", |_: NoArguments| async { Ok::<_, ToolError>(Deferred::to("job")) });
    let pay = tool_fn("pay", "", |_: NoArguments| async { Ok::<_, ToolError>("paid") });
    let model = FunctionModel::new(|request, _| match request.messages.len() {
        1 => Turn::call("render", "{}").and_call("pay", "{}"),
        _ => Turn::text("done"),
    });
    let builder = Agent::builder(model.unverified()).tool(render).tool(pay.with_approval(Approval::Always));
    match door {
        Some(door) => builder.hook(door).build().unwrap(),
        None => builder.build().unwrap(),
    }
}

/// The texts of the user messages.
fn questions(messages: &[Arc<Message>]) -> Vec<String> {
    let texts = messages.iter().filter_map(|message| match &**message {
        Message::User(user) => user.parts.iter().find_map(|part| match part {
            UserPart::Text(text) => Some(text.text().to_owned()),
            _ => None,
        }),
        _ => None,
    });
    texts.collect()
}

/// The results that the model was told.
fn results(messages: &[Arc<Message>]) -> Vec<String> {
    let results = messages.iter().filter_map(|message| match &**message {
        Message::ToolResults(results) => Some(&results.results),
        _ => None,
    });
    results.flatten().map(|result| result.tree.model_text().into_owned()).collect()
}

async fn until_called(run: &mut AgentRun) {
    while let Some(event) = run.next().await {
        if let EventKind::ToolStarted { .. } = event.kind {
            return;
        }
    }
    panic!("the run calls its tool");
}

async fn rest(mut run: AgentRun) -> Result<Box<Outcome>, RunError> {
    while let Some(event) = run.next().await {
        if let EventKind::Finished(result) = event.kind {
            return result;
        }
    }
    panic!("the run has no end")
}

/// A run whose call is taken for one of unknown outcome by another process, which fails then; its driver still has it.
async fn taken_over(shared: &Shared, gate: &Arc<Notify>) -> AgentRun {
    let mut first = shared.session(gated(gate, Effect::SideEffect)).await.run("one");
    until_called(&mut first).await;
    shared.advance();
    shared.session(failing(false, None)).await.resume().outcome().await.unwrap_err();
    first
}

#[tokio::test(start_paused = true)]
async fn a_receipt_that_comes_while_the_next_run_begins_is_told() {
    let (shared, gate) = (Shared::default(), Arc::default());
    let first = taken_over(&shared, &gate).await;
    told_while_the_next_run_begins(&shared, first, &gate).await;
}

// Its other driver has ended the run by then.
#[tokio::test(start_paused = true)]
async fn a_receipt_of_a_run_that_has_ended_is_told_while_the_next_one_begins() {
    let (shared, gate) = (Shared::default(), Arc::default());
    let first = taken_over(&shared, &gate).await;
    let resumed = shared.session(waiting(None)).await.resume().outcome().await.unwrap();
    assert_eq!(resumed.reason, EndReason::Answer);
    told_while_the_next_run_begins(&shared, first, &gate).await;
}

async fn told_while_the_next_run_begins(shared: &Shared, first: AgentRun, gate: &Notify) {
    let door = Door::default();
    let next = shared.session(failing(true, Some(door.clone()))).await;
    let receipt = async {
        // The next run has looked already at what there is for the first one.
        door.reached.notified().await;
        gate.notify_one();
        let mut first = pin!(rest(first));
        let early = timeout(Duration::from_secs(1), first.as_mut()).await;
        door.open.notify_one();
        match early {
            Ok(ended) => ended,
            Err(_) => first.await,
        }
    };
    let (second, stale) = join(next.run("two").outcome(), receipt).await;
    assert_eq!(*stale.unwrap_err().reason(), EndReason::Superseded);
    let asked = questions(&second.unwrap().messages);
    assert_eq!((asked.len(), &*asked[0], &*asked[1]), (3, "one", "two"));
    assert!(asked[2].contains("pass") && asked[2].ends_with("passed"), "{asked:?}");
}

/// The questions of a run of the session behind all others.
async fn heard_next(shared: &Shared) -> Vec<String> {
    let session = shared.session(failing(false, None)).await;
    let heard = questions(&session.run("three").outcome().await.unwrap().messages);
    let again = questions(&session.run("four").outcome().await.unwrap().messages);
    assert_eq!(again.len(), heard.len() + 1, "{again:?}");
    heard
}

// It begins and ends between two looks.
#[tokio::test(start_paused = true)]
async fn a_receipt_that_comes_while_a_short_run_begins_is_told_by_the_next_one() {
    let (shared, gate, door) = (Shared::default(), Arc::default(), Door::default());
    let first = taken_over(&shared, &gate).await;
    let next = shared.session(failing(false, Some(door.clone()))).await;
    let second = async {
        let second = next.run("two").outcome().await.unwrap();
        assert_eq!(questions(&second.messages), ["one", "two"]);
    };
    let receipt = async {
        door.reached.notified().await;
        gate.notify_one();
        let mut first = pin!(rest(first));
        // It is refused, and waits.
        assert!(timeout(Duration::from_millis(1), first.as_mut()).await.is_err());
        door.open.notify_one();
        first.await.unwrap_err();
    };
    join(second, receipt).await;
    let heard = heard_next(&shared).await;
    assert_eq!((heard.len(), &*heard[3]), (4, "three"), "{heard:?}");
    assert!(heard[2].ends_with("passed"), "{heard:?}");
}

#[tokio::test(start_paused = true)]
async fn a_receipt_that_comes_behind_the_end_is_told_by_the_next_run() {
    let (shared, gate) = (Shared::default(), Arc::default());
    let first = taken_over(&shared, &gate).await;
    let session = shared.session(failing(false, None)).await;
    assert_eq!(session.run("two").outcome().await.unwrap().reason, EndReason::Answer);
    gate.notify_one();
    rest(first).await.unwrap_err();
    let heard = heard_next(&shared).await;
    assert_eq!(heard.len(), 4, "{heard:?}");
    assert!(heard[2].ends_with("passed"), "{heard:?}");
}

// Longer than a decision would wait for it.
#[tokio::test(start_paused = true)]
async fn a_receipt_that_comes_behind_the_end_is_told_by_a_run_that_takes_long_to_begin() {
    let (shared, gate, door) = (Shared::default(), Arc::default(), Door::default());
    let first = taken_over(&shared, &gate).await;
    let session = shared.session(failing(false, None)).await;
    assert_eq!(session.run("two").outcome().await.unwrap().reason, EndReason::Answer);
    let next = shared.session(failing(false, Some(door.clone()))).await;
    let receipt = async {
        door.reached.notified().await;
        gate.notify_one();
        let _ = timeout(Duration::from_secs(15), rest(first)).await;
        door.open.notify_one();
        // The clock stands still while runs go on: whoever waits looks again.
        sleep(Duration::from_secs(1)).await;
    };
    let (third, ()) = join(next.run("three").outcome(), receipt).await;
    let mut heard = questions(&third.unwrap().messages);
    if heard.len() == 3 {
        heard = heard_next(&shared).await;
    }
    assert_eq!(heard.iter().filter(|heard| heard.ends_with("passed")).count(), 1, "{heard:?}");
}

#[tokio::test(start_paused = true)]
async fn a_receipt_whose_driver_is_dropped_while_the_next_run_begins_is_told() {
    let (shared, gate, door) = (Shared::default(), Arc::default(), Door::default());
    let first = taken_over(&shared, &gate).await;
    let next = shared.session(failing(true, Some(door.clone()))).await;
    let receipt = async {
        door.reached.notified().await;
        gate.notify_one();
        // It is refused, and waits.
        assert!(timeout(Duration::from_millis(1), rest(first)).await.is_err());
        door.open.notify_one();
    };
    let (second, ()) = join(next.run("two").outcome(), receipt).await;
    let heard = questions(&second.unwrap().messages);
    assert!(heard.len() == 3 && heard[2].ends_with("passed"), "{heard:?}");
}

#[tokio::test(start_paused = true)]
async fn a_decision_that_comes_while_a_run_that_leaves_it_begins_is_refused() {
    let (shared, door) = (Shared::default(), Door::default());
    let session = shared.session(waiting(None)).await;
    let pending = session.run("go").outcome().await.unwrap();
    let (id, journal) = (&pending.approvals[0].id, session.journal_of(&pending.run_id));
    let next = shared.session(waiting(Some(door.clone()))).await;
    let decided = async {
        door.reached.notified().await;
        let mut deciding = pin!(decide(&*journal, id, "ann", Decision::Approve));
        let early = timeout(Duration::from_secs(1), deciding.as_mut()).await;
        door.open.notify_one();
        match early {
            Ok(decided) => decided,
            Err(_) => deciding.await,
        }
    };
    let run = next.run(RunInput::from("else").with_leaves_approvals(true));
    let (second, decided) = join(run.outcome(), decided).await;
    assert_eq!(second.unwrap().reason, EndReason::Answer);
    assert!(matches!(decided, Err(DecideError::Closed { .. })), "{decided:?}");
}

#[tokio::test(start_paused = true)]
async fn the_next_run_is_told_of_calls_alone_whose_outcome_its_model_does_not_know() {
    let (shared, gate) = (Shared::default(), Arc::default());
    drop(taken_over(&shared, &gate).await);
    let session = shared.session(failing(true, None)).await;
    let first = session.runs().await.unwrap()[0].id.clone();
    let entries = session.behind(&first, 0).await.unwrap();
    let outcome = entries.iter().find_map(|entry| match &entry.kind {
        EntryKind::ToolOutcome(outcome) => Some(outcome.clone()),
        _ => None,
    });
    let outcome = outcome.unwrap();
    let receipt = |key: String, call: &str| {
        let mut outcome = outcome.clone();
        outcome.call_id = serde_json::from_value(json!(call)).unwrap();
        Entry::new(serde_json::from_value(json!(key)).unwrap(), EntryKind::Receipt(outcome))
    };
    let mut second = session.run("two");
    until_called(&mut second).await;
    let (journal, call) = (session.journal_of(&first), outcome.call_id.as_str());
    // The model of a run inside a tool is another one.
    let inside = receipt(format!("tool/{call}/run/0>receipt/{call}"), call);
    assert!(matches!(journal.deliver(inside).await, Err(JournalError::Fenced)));
    let known = receipt("receipt/other".to_owned(), "other");
    assert!(matches!(journal.deliver(known).await, Err(JournalError::Fenced)));
    journal.deliver(receipt(format!("receipt/{call}"), call)).await.unwrap();
    assert_eq!(questions(&rest(second).await.unwrap().messages).len(), 3, "it is told once");
}

#[tokio::test(start_paused = true)]
async fn a_driver_that_knows_no_more_tells_the_next_run_nothing() {
    let (shared, gate) = (Shared::default(), Arc::default());
    let mut first = shared.session(gated(&gate, Effect::SideEffect)).await.run("one");
    until_called(&mut first).await;
    shared.advance();
    let mut second = shared.session(failing(true, None)).await.run("two");
    until_called(&mut second).await;
    // Its time is up after 5 seconds.
    rest(first).await.unwrap_err();
    assert_eq!(questions(&rest(second).await.unwrap().messages), ["one", "two"]);
}

#[tokio::test(start_paused = true)]
async fn a_receipt_that_comes_behind_the_last_look_is_told_once_by_the_next_run() {
    let (shared, gate) = (Shared::default(), Arc::default());
    let door = Door { is_at_model: true, ..Door::default() };
    let mut first = shared.session(gated(&gate, Effect::SideEffect)).await.run("one");
    until_called(&mut first).await;
    shared.advance();
    let resumed = shared.session(failing(false, Some(door.clone()))).await.resume();
    let control = resumed.control();
    let receipt = async {
        door.reached.notified().await;
        gate.notify_one();
        rest(first).await.unwrap_err();
        control.cancel();
    };
    let (cancelled, ()) = join(rest(resumed), receipt).await;
    assert_eq!(cancelled.unwrap().reason, EndReason::Cancelled);
    let session = shared.session(failing(false, None)).await;
    let second = session.run("two").outcome().await.unwrap();
    let asked = questions(&second.messages);
    assert_eq!((asked.len(), &*asked[0], &*asked[2]), (3, "one", "two"));
    assert!(asked[1].contains("pass") && asked[1].ends_with("passed"), "{asked:?}");
    let third = session.run("three").outcome().await.unwrap();
    assert_eq!(questions(&third.messages).len(), 4, "{:?}", questions(&third.messages));
}

#[tokio::test]
async fn a_message_that_the_next_run_reads_is_not_unread() {
    let session = Shared::default().session(waiting(None)).await;
    let pending = session.run("go").outcome().await.unwrap();
    say(&*session.journal().await.unwrap().unwrap(), "By the way.").await.unwrap();
    let next = RunInput::from("else").with_leaves_approvals(true);
    let next = session.run(next).outcome().await.unwrap();
    assert_eq!(questions(&next.messages), ["go", "By the way.", "else"]);
    let closed = Run::replay(&session.behind(&pending.run_id, 0).await.unwrap()).unwrap().outcome();
    assert_eq!((closed.reason, closed.unread), (EndReason::Cancelled, Vec::new()));
}

#[tokio::test]
async fn a_result_that_came_beside_a_call_that_nobody_approved_is_told() {
    let session = Shared::default().session(waiting(None)).await;
    let pending = session.run("go").outcome().await.unwrap();
    let result =
        ToolResult::new(&pending.deferred[0].call, ResultStatus::Ok, ContentTree::value(&json!("rendered")));
    deliver(&*session.journal().await.unwrap().unwrap(), result).await.unwrap();
    let next = RunInput::from("else").with_leaves_approvals(true);
    let next = session.run(next).outcome().await.unwrap();
    let told = results(&next.messages);
    assert!(told[0] == "rendered" && told[1].starts_with("not executed"), "{told:?}");
    assert_eq!(session.history().await.unwrap(), next.messages);
}

#[tokio::test]
async fn a_result_of_a_tool_without_effects_that_its_driver_left_is_told() {
    let (shared, gate) = (Shared::default(), Arc::default());
    let here = shared.session(gated(&gate, Effect::Read)).await;
    let mut first = here.run("one");
    until_called(&mut first).await;
    // Another process takes the run over, and dies before it has written anything.
    shared.advance();
    let now = u64::try_from(shared.now().as_millis()).unwrap();
    let (holder, until) = ("another process", now + 30_000);
    let take = Take { session: here.id(), principal: "ann", run: None, holder, now, until };
    shared.store.take(take).await.unwrap();
    gate.notify_one();
    rest(first).await.unwrap_err();
    shared.advance();
    let second = shared.session(failing(false, None)).await.run("two").outcome().await.unwrap();
    assert_eq!(results(&second.messages), ["passed"]);
}
