//! Results that come from outside: for whose sessions, and beside other runs.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use attache_agent::{
    Agent, Append, DecideError, Decision, Delivery, EndReason, Entry, EntryKind, JournalError, Key,
    NoArguments, RunInput, SessionStore, SubmitError, Take, decide, deliver, say, tool_fn,
};
use attache_core::tool::Deferred;
use attache_core::{Message, StoreErrorKind, ToolCallId, ToolError, ToolResult};
use attache_testkit::{FunctionModel, Turn};
use sqlx::Connection as _;

use crate::kit::{Clock, Gate, rest, timed, until_called};
use crate::place::Place;

/// An agent whose first answer begins a job.
fn renderer() -> Agent {
    let render =
        tool_fn("render", "Renders.", |_: NoArguments| async { Ok::<_, ToolError>(Deferred::to("job")) });
    let model = FunctionModel::new(|request, _| match request.messages.len() {
        1 => Turn::call("render", "{}"),
        _ => Turn::text("done"),
    });
    Agent::builder(model.unverified()).tool(render).build().unwrap()
}

fn millis(time: SystemTime) -> u64 {
    u64::try_from(time.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

fn is_not_found<T>(result: Result<T, JournalError>) -> bool {
    matches!(result, Err(JournalError::Store(error)) if error.kind() == StoreErrorKind::NotFound)
}

pub(crate) async fn a_delivery_and_a_wait_are_their_principals_alone(place: Place) {
    let sessions = timed(&place, renderer(), &Clock::new()).await;
    let session = sessions.open("ann", Some("s")).await.unwrap();
    let run = session.run("go").outcome().await.unwrap().run_id;
    let (store, id, key) = (place.store().await, session.id(), Key::result(&ToolCallId::new()));
    let deliver = |principal| {
        let entry = Entry::new(key.clone(), EntryKind::Inbox(Vec::new()));
        let (session, run) = (id, run.as_ref());
        store.deliver(Delivery {
            principal,
            session,
            run,
            entry,
            documents: Vec::new(),
            alone_at: None,
            behind_end: false,
        })
    };
    assert!(is_not_found(deliver("bob").await));
    assert!(is_not_found(store.wait("bob", id, &run, &key, None).await), "it does not wait for ever");
    deliver("ann").await.unwrap();
    assert!(is_not_found(store.wait("bob", id, &run, &key, None).await));
    assert!(store.wait("ann", id, &run, &key, None).await.unwrap().is_some());
    let none = store.wait("ann", id, "another run", &key, Some(SystemTime::UNIX_EPOCH)).await.unwrap();
    assert!(none.is_none());
}

// A run that begins looks at the results of the one before, and closes it. A result that came in between would stand in a
// log that nobody reads.
pub(crate) async fn a_result_that_comes_while_another_run_begins_is_not_lost(place: Place) {
    let clock = Clock::new();
    let sessions = timed(&place, renderer(), &clock).await;
    let session = sessions.open("ann", Some("s")).await.unwrap();
    let pending = session.run("go").outcome().await.unwrap();
    assert_eq!(pending.reason, EndReason::PendingExternal);
    let call = pending.deferred[0].call.clone();
    let journal = session.journal().await.unwrap().unwrap();
    let result = || ToolResult::ok(&call, "rendered");
    let store: Arc<dyn SessionStore> = place.store().await;
    let now = millis(clock.now());
    let (holder, until) = ("another process", now + 30_000);
    let take = Take { session: session.id(), principal: "ann", run: Some("second"), holder, now, until };
    store.take(take).await.unwrap();
    let early = deliver(&*journal, result()).await.unwrap_err();
    assert!(matches!(&early, SubmitError::NotYet { id } if *id == call.id), "{early:?}");
    // The process that was about to begin died: the result comes again, and is told by whichever run is next.
    clock.advance(Duration::from_secs(31));
    deliver(&*journal, result()).await.unwrap();
    let next = session.run("something else").outcome().await.unwrap();
    assert_eq!(format!("{:?}", next.messages).matches("rendered").count(), 1);
    let late = deliver(&*journal, result()).await.unwrap_err();
    assert!(matches!(late, SubmitError::ChatLoopClosed), "{late:?}");
}

// A driver that is told of nothing asks for nothing, so that a step is one round trip less.
pub(crate) async fn an_append_says_whether_something_was_delivered_before_it(place: Place) {
    let gate = Gate::default();
    let session = timed(&place, gate.agent(), &Clock::new()).await.open("ann", Some("s")).await.unwrap();
    let mut run = session.run(RunInput::from("go").with_run_id("r"));
    until_called(&mut run).await;
    drop(run);
    let (store, id) = (place.store().await, session.id());
    // Long after the lease of the run.
    let (now, until) = (u64::MAX >> 2, u64::MAX >> 1);
    let take = Take { session: id, principal: "ann", run: None, holder: "here", now, until };
    let fence = store.take(take).await.unwrap().fence;
    let note = || Entry::new(Key::result(&ToolCallId::new()), EntryKind::Inbox(Vec::new()));
    let append = async |number, entry| {
        let append = Append {
            session: id.clone(),
            run: "r".into(),
            fence,
            number,
            now,
            until,
            entries: vec![entry],
            begins: None,
            ends: false,
            documents: Vec::new(),
            kept_until: None,
        };
        store.append(&append).await.unwrap()
    };
    let delivered = note();
    assert!(!append(1, note()).await.has_deliveries);
    let (principal, entry, documents) = ("ann", delivered.clone(), Vec::new());
    let delivery =
        Delivery { principal, session: id, run: "r", entry, documents, alone_at: None, behind_end: false };
    store.deliver(delivery).await.unwrap();
    assert!(append(2, note()).await.has_deliveries);
    append(3, delivered).await;
    assert!(!append(4, note()).await.has_deliveries, "it stands in the log");
}

// The next run goes on from there, and looks at nothing else.
pub(crate) async fn a_word_behind_the_end_is_left_at_the_last_run_alone(place: Place) {
    let gate = Gate::default();
    let session = timed(&place, gate.agent(), &Clock::new()).await.open("ann", Some("s")).await.unwrap();
    gate.open.notify_one();
    rest(session.run(RunInput::from("one").with_run_id("1"))).await.unwrap();
    let (store, id) = (place.store().await, session.id());
    let leave = async |run: &str, word: &str, behind_end, alone_at| {
        let key = serde_json::from_value(serde_json::json!(format!("late/{word}"))).unwrap();
        let entry = Entry::new(key, EntryKind::Inbox(vec![Message::user(word).shared()]));
        let (principal, documents) = ("ann", Vec::new());
        store.deliver(Delivery { principal, session: id, run, entry, documents, alone_at, behind_end }).await
    };
    let is_refused = |left| matches!(left, Err(JournalError::Fenced));
    assert!(is_refused(leave("1", "usual", false, None).await));
    leave("1", "first", true, None).await.unwrap();
    assert_eq!(store.load("ann", id, None).await.unwrap().unwrap().late.len(), 1);
    let (now, until) = (u64::MAX >> 2, u64::MAX >> 1);
    let take = Take { session: id, principal: "ann", run: Some("2"), holder: "here", now, until };
    let fence = store.take(take).await.unwrap().fence;
    assert!(is_refused(leave("1", "beside", true, Some(now)).await), "another run begins, and has looked");
    store.release(id, fence, None).await.unwrap();
    gate.open.notify_one();
    let heard = rest(session.run(RunInput::from("two").with_run_id("2"))).await.unwrap().messages;
    let of = |word: &str| format!("{heard:?}").matches(word).count();
    assert_eq!((of("first"), of("usual"), of("beside")), (1, 0, 0), "{heard:?}");
    assert!(is_refused(leave("1", "second", true, None).await), "nobody looks there any more");
    gate.open.notify_one();
    let heard = rest(session.run("three")).await.unwrap().messages;
    assert_eq!(format!("{heard:?}").matches("first").count(), 1, "it is told once");
}

/// A conversation may have many megabytes.
#[tokio::test]
async fn nobody_who_delivers_reads_the_conversation() {
    let place = Place::sqlite();
    let Place::Sqlite(folder) = &place else { unreachable!() };
    let session = timed(&place, renderer(), &Clock::new()).await.open("ann", Some("s")).await.unwrap();
    let pending = session.run("go").outcome().await.unwrap();
    let journal = session.journal().await.unwrap().unwrap();
    let path = format!("sqlite://{}", folder.path().join("s.db").display());
    let mut connection = sqlx::SqliteConnection::connect(&path).await.unwrap();
    let torn = "UPDATE attache_message SET body = 'torn'";
    assert!(sqlx::query(torn).execute(&mut connection).await.unwrap().rows_affected() > 0);
    assert!(journal.load().await.is_err());
    say(&*journal, "By the way.").await.unwrap();
    let unknown = decide(&*journal, "no approval", "ann", Decision::Approve).await.unwrap_err();
    assert!(matches!(unknown, DecideError::Unknown { .. }), "{unknown:?}");
    deliver(&*journal, ToolResult::ok(&pending.deferred[0].call, "rendered")).await.unwrap();
}
