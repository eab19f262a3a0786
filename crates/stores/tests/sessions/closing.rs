//! Runs that another one of their session closes: what came for them while nobody drove them is not lost.

use std::time::Duration;

use attache_agent::{
    Agent, Decision, Delivery, EndReason, Entry, EntryKind, JournalError, Key, NoArguments, RunInput,
    SessionError, SubmitError, Take, decide, say, tool_fn,
};
use attache_core::tool::Deferred;
use attache_core::{Approval, ErrorKind, Message, ToolCallId, ToolError};
use attache_testkit::{FunctionModel, Turn};

use crate::kit::{Clock, Gate, questions, rest, timed, until_called};
use crate::place::Place;

/// An agent whose first answer needs a tool that it has in the place of the one of a [`Gate`], and fails behind it.
fn failing() -> Agent {
    let pass = tool_fn("pass", "Passes the gate.", |_: NoArguments| async { Ok::<_, ToolError>("again") });
    let model = FunctionModel::new(|request, _| match request.messages.last().map(|last| &**last) {
        Some(Message::User(_)) => Turn::text("done"),
        _ => Turn::text("").then_error(ErrorKind::Overloaded),
    });
    Agent::builder(model.unverified()).tool(pass).build().unwrap()
}

/// An agent whose first answer begins a job and needs an approval for another call, as it is asked for.
fn waiting() -> Agent {
    let render =
        tool_fn("render", "Renders.", |_: NoArguments| async { Ok::<_, ToolError>(Deferred::to("job")) });
    let pay = tool_fn("pay", "Pays.", |_: NoArguments| async { Ok::<_, ToolError>("paid") });
    let model = FunctionModel::new(|request, _| match request.messages.last().map(|last| &**last) {
        Some(Message::User(_)) if request.messages.len() == 1 => {
            match crate::kit::last_question(&request.messages) {
                question if question == "pay" => Turn::call("pay", "{}"),
                _ => Turn::call("render", "{}"),
            }
        }
        _ => Turn::text("done"),
    });
    let pay = pay.with_approval(Approval::Always);
    Agent::builder(model.unverified()).tool(render).tool(pay).build().unwrap()
}

pub(crate) async fn a_message_that_was_taken_is_read_by_the_next_run(place: Place) {
    let sessions = timed(&place, waiting(), &Clock::new()).await;
    let session = sessions.open("ann", Some("s")).await.unwrap();
    let pending = session.run("go").outcome().await.unwrap();
    assert_eq!(pending.reason, EndReason::PendingExternal);
    let journal = session.journal().await.unwrap().unwrap();
    for said in ["By the way.", "And another thing."] {
        say(&*journal, said).await.unwrap();
    }
    let next = session.run("something else").outcome().await.unwrap();
    assert_eq!(questions(&next.messages), ["go", "By the way.", "And another thing.", "something else"]);
    assert_eq!(questions(&session.history().await.unwrap()), questions(&next.messages));
    let late = say(&*journal, "Too late.").await.unwrap_err();
    assert!(matches!(late, SubmitError::ChatLoopClosed), "{late:?}");
    let last = session.run("and now?").outcome().await.unwrap();
    assert_eq!(questions(&last.messages).len(), 5, "each is there once");
}

// It would be told that it was taken, and nobody would read it.
pub(crate) async fn a_message_for_a_run_that_another_one_is_about_to_close_is_refused(place: Place) {
    let clock = Clock::new();
    let session = timed(&place, waiting(), &clock).await.open("ann", Some("s")).await.unwrap();
    session.run("go").outcome().await.unwrap();
    let journal = session.journal().await.unwrap().unwrap();
    let now = u64::try_from(clock.now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis()).unwrap();
    let (run, holder, until) = (Some("second"), "another process", now + 30_000);
    let take = Take { session: session.id(), principal: "ann", run, holder, now, until };
    place.store().await.take(take).await.unwrap();
    let refused = say(&*journal, "By the way.").await.unwrap_err();
    assert!(matches!(refused, SubmitError::Journal(JournalError::Fenced)), "{refused:?}");
    // That process is gone, and the run is still open.
    clock.advance(Duration::from_secs(31));
    say(&*journal, "By the way.").await.unwrap();
    let next = session.run("something else").outcome().await.unwrap();
    assert_eq!(questions(&next.messages), ["go", "By the way.", "something else"]);
}

pub(crate) async fn a_receipt_that_came_for_a_closed_run_is_told(place: Place) {
    let (gate, clock) = (Gate::default(), Clock::new());
    let here = timed(&place, gate.agent(), &clock).await.open("ann", Some("s")).await.unwrap();
    let there = timed(&place, failing(), &clock).await.open("ann", Some("s")).await.unwrap();
    let mut first = here.run("one");
    until_called(&mut first).await;
    // Another process takes the run over, tells its model that the outcome is unknown, and fails.
    clock.advance(Duration::from_secs(31));
    there.resume().outcome().await.unwrap_err();
    gate.open.notify_one();
    let stale = rest(first).await.unwrap_err();
    assert_eq!(*stale.reason(), EndReason::Superseded);
    let second = there.run("two").outcome().await.unwrap();
    let asked = questions(&second.messages);
    assert_eq!((asked.len(), &*asked[0], &*asked[2]), (3, "one", "two"));
    assert!(asked[1].contains("pass") && asked[1].ends_with("passed"), "{asked:?}");
    assert_eq!(questions(&there.history().await.unwrap()), asked);
}

pub(crate) async fn a_result_that_its_driver_left_is_told_by_the_next_run(place: Place) {
    let (gate, clock) = (Gate::default(), Clock::new());
    let here = timed(&place, gate.agent(), &clock).await.open("ann", Some("s")).await.unwrap();
    let there = timed(&place, failing(), &clock).await.open("ann", Some("s")).await.unwrap();
    let mut first = here.run("one");
    until_called(&mut first).await;
    // Another process takes the run over, and dies before it has written anything.
    clock.advance(Duration::from_secs(31));
    let now = u64::try_from(clock.now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis()).unwrap();
    let (holder, until) = ("another process", now + 30_000);
    let take = Take { session: here.id(), principal: "ann", run: None, holder, now, until };
    place.store().await.take(take).await.unwrap();
    gate.open.notify_one();
    rest(first).await.unwrap_err();
    clock.advance(Duration::from_secs(31));
    let second = there.run("two").outcome().await.unwrap();
    assert_eq!(questions(&second.messages), ["one", "two"]);
    let results = second.messages.iter().filter_map(|message| match &**message {
        Message::ToolResults(results) => Some(results.results[0].tree.model_text().into_owned()),
        _ => None,
    });
    assert_eq!(results.collect::<Vec<_>>(), ["passed"]);
    assert_eq!(there.history().await.unwrap(), second.messages);
}

pub(crate) async fn a_receipt_that_comes_while_the_next_run_is_under_way_is_told_there(place: Place) {
    let (gate, other, clock) = (Gate::default(), Gate::default(), Clock::new());
    let open = other.open.clone();
    let pass = tool_fn("pass", "Passes the gate.", move |_: NoArguments| {
        let open = open.clone();
        async move {
            open.notified().await;
            Ok::<_, ToolError>("again")
        }
    });
    let model = FunctionModel::new(|request, _| {
        let results = request.messages.iter().filter(|message| matches!(***message, Message::ToolResults(_)));
        if results.count() < 2 { Turn::call("pass", "{}") } else { Turn::text("done") }
    });
    let agent = Agent::builder(model.unverified()).tool(pass).build().unwrap();
    let here = timed(&place, gate.agent(), &clock).await.open("ann", Some("s")).await.unwrap();
    let there = timed(&place, agent, &clock).await.open("ann", Some("s")).await.unwrap();
    let mut first = here.run("one");
    until_called(&mut first).await;
    clock.advance(Duration::from_secs(31));
    let mut second = there.run("two");
    until_called(&mut second).await;
    gate.open.notify_one();
    rest(first).await.unwrap_err();
    other.open.notify_one();
    let asked = questions(&rest(second).await.unwrap().messages);
    assert_eq!((asked.len(), &*asked[0], &*asked[1]), (3, "one", "two"));
    assert!(asked[2].contains("pass") && asked[2].ends_with("passed"), "{asked:?}");
}

pub(crate) async fn nothing_is_left_for_a_run_that_has_ended(place: Place) {
    let session =
        timed(&place, crate::kit::agent(), &Clock::new()).await.open("ann", Some("s")).await.unwrap();
    let run = session.run("go").outcome().await.unwrap().run_id;
    let (store, key) = (place.store().await, Key::result(&ToolCallId::new()));
    let entry = Entry::new(key.clone(), EntryKind::Inbox(Vec::new()));
    let (principal, session, run, documents) = ("ann", session.id(), &*run, Vec::new());
    let delivery = Delivery { principal, session, run, entry, documents, alone_at: None, behind_end: false };
    assert!(matches!(store.deliver(delivery).await, Err(JournalError::Fenced)));
    let now = Some(std::time::UNIX_EPOCH);
    assert!(store.wait("ann", session, run, &key, now).await.unwrap().is_none());
}

pub(crate) async fn a_call_that_was_approved_is_not_left(place: Place) {
    let sessions = timed(&place, waiting(), &Clock::new()).await;
    let session = sessions.open("ann", Some("s")).await.unwrap();
    let pending = session.run("pay").outcome().await.unwrap();
    let journal = session.journal().await.unwrap().unwrap();
    let id = &pending.approvals[0].id;
    decide(&*journal, id, "ann", Decision::Approve).await.unwrap();
    let next = || RunInput::from("something else").with_leaves_approvals(true);
    let refused = session.run(next()).outcome().await.unwrap_err();
    match refused.session_error() {
        Some(SessionError::Approved { run, ids }) => {
            assert_eq!((run.as_str(), ids.as_slice()), (&*pending.run_id, std::slice::from_ref(id)));
        }
        other => panic!("{other:?}"),
    }
    let paid = session.resume().outcome().await.unwrap();
    assert_eq!(paid.reason, EndReason::Answer);
    assert!(format!("{:?}", paid.messages).contains("paid"));
    assert_eq!(session.run(next()).outcome().await.unwrap().reason, EndReason::Answer);
    // One that was denied is left, as is one that nobody has decided about.
    let other = sessions.open("ann", Some("t")).await.unwrap();
    let pending = other.run("pay").outcome().await.unwrap();
    let journal = other.journal().await.unwrap().unwrap();
    let no = Decision::Deny("no".to_owned());
    decide(&*journal, &pending.approvals[0].id, "ann", no).await.unwrap();
    assert_eq!(other.run(next()).outcome().await.unwrap().reason, EndReason::Answer);
}

pub(crate) async fn a_run_that_is_dropped_behind_one_that_waited_keeps_no_session(place: Place) {
    let (gate, clock) = (Gate::default(), Clock::new());
    let sessions = timed(&place, waiting(), &clock).await;
    let session = sessions.open("ann", Some("s")).await.unwrap();
    assert_eq!(session.run("go").outcome().await.unwrap().reason, EndReason::PendingExternal);
    let other = sessions.with_agent(gate.agent()).get("ann", "s").await.unwrap();
    let mut next = other.run("something else");
    until_called(&mut next).await;
    drop(next);
    clock.advance(Duration::from_secs(61 * 60));
    assert_eq!(sessions.cleanup().await.unwrap(), 1);
}
