//! Sessions that expire, and sessions that are cleared.

use std::sync::Arc;
use std::time::Duration;

use attache_agent::{
    Agent, Decision, EndReason, MemoryDocumentStore, NoArguments, OpenSession, SessionError, SessionId,
    SessionState, SessionStore as _, Sessions, Tools, decide, tool_fn,
};
use attache_core::tool::Deferred;
use attache_core::{Approval, Document, DocumentStore as _, Message, ToolDefinition, ToolError};
use attache_stores::PostgresStore;
use attache_testkit::{FunctionModel, Turn};
use futures_util::future::join;
use serde_json::json;
use sqlx::{Connection as _, PgConnection};

use crate::kit::{Clock, Gate, agent, last_question, rest, timed, until_called};
use crate::place::Place;

const MINUTE: Duration = Duration::from_secs(60);

// A43, A44, A45
pub(crate) async fn a_session_that_nobody_uses_expires(place: Place) {
    let clock = Clock::new();
    let sessions = timed(&place, agent(), &clock).await;
    for id in ["one", "two"] {
        sessions.open("ann", Some(id)).await.unwrap().run("secret").outcome().await.unwrap();
    }
    clock.advance(30 * MINUTE);
    sessions.open("ann", Some("three")).await.unwrap();
    clock.advance(31 * MINUTE);
    // One that has expired begins anew before anybody has cleaned up, and only for its principal.
    assert!(matches!(sessions.get("ann", "one").await, Err(SessionError::NotFound)));
    assert!(matches!(sessions.open("bob", Some("one")).await, Err(SessionError::NotFound)));
    let one = sessions.open("ann", Some("one")).await.unwrap();
    assert_eq!((one.state(), one.history().await.unwrap().len()), (SessionState::Expired, 0));
    assert_eq!(sessions.cleanup().await.unwrap(), 1, "the second one alone");
    assert_eq!(sessions.count("ann").await.unwrap(), 2);
    assert_eq!(sessions.cleanup().await.unwrap(), 0);
    assert_eq!(sessions.open("ann", Some("two")).await.unwrap().state(), SessionState::New);
    // More than are deleted at a time.
    for number in 0..230 {
        sessions.open("bob", Some(&format!("b{number}"))).await.unwrap();
    }
    clock.advance(61 * MINUTE);
    assert_eq!(sessions.cleanup().await.unwrap(), 233);
}

// A43
pub(crate) async fn any_access_keeps_a_session(place: Place) {
    let clock = Clock::new();
    let sessions = timed(&place, agent(), &clock).await;
    let session = sessions.open("ann", Some("s")).await.unwrap();
    for access in 0..4 {
        clock.advance(59 * MINUTE);
        match access {
            0 => drop(session.history().await.unwrap()),
            1 => drop(session.run("hello").outcome().await.unwrap()),
            2 => drop(session.runs().await.unwrap()),
            _ => drop(sessions.get("ann", "s").await.unwrap()),
        }
        assert_eq!(sessions.cleanup().await.unwrap(), 0);
    }
    clock.advance(61 * MINUTE);
    assert_eq!(sessions.cleanup().await.unwrap(), 1);
}

// A38
pub(crate) async fn a_look_at_a_session_does_not_move_it_in_the_list(place: Place) {
    let clock = Clock::new();
    let sessions = timed(&place, agent(), &clock).await;
    let listed = async |query: &str| {
        let listed = if query.is_empty() {
            sessions.list("ann").await.unwrap()
        } else {
            sessions.search("ann", query, 9).await.unwrap()
        };
        listed.into_iter().map(|info| info.id.to_string()).collect::<Vec<_>>()
    };
    for id in ["old", "new"] {
        sessions.open("ann", Some(id)).await.unwrap().run("hello").outcome().await.unwrap();
        clock.advance(MINUTE);
    }
    let old = sessions.get("ann", "old").await.unwrap();
    old.history().await.unwrap();
    assert_eq!(listed("").await, ["new", "old"]);
    assert_eq!(listed("hello").await, ["new", "old"]);
    let began = old.run("hello again").outcome().await.unwrap().run_id;
    assert_eq!(listed("").await, ["old", "new"]);
    assert_eq!(listed("hello").await, ["old", "new"]);
    clock.advance(MINUTE);
    let fork = sessions.get("ann", "new").await.unwrap().fork_empty().await.unwrap();
    let branch = old.fork(&began).await.unwrap();
    let mut first = listed("").await;
    let rest = first.split_off(2);
    assert!(first.contains(&fork.id().to_string()) && first.contains(&branch.id().to_string()), "{first:?}");
    assert_eq!(rest, ["old", "new"]);
}

/// An agent whose tool needs an approval.
fn payer() -> Agent {
    let pay = tool_fn("pay", "Pays.", |_: NoArguments| async { Ok::<_, ToolError>("paid") });
    let model = FunctionModel::new(|request, _| match request.messages.last().map(|last| &**last) {
        Some(Message::ToolResults(_)) => Turn::text("done"),
        _ => Turn::call("pay", "{}"),
    });
    Agent::builder(model.unverified()).tool(pay.with_approval(Approval::Always)).build().unwrap()
}

// A44
pub(crate) async fn cleanup_leaves_what_is_in_use_or_waited_for(place: Place) {
    let (gate, clock) = (Gate::default(), Clock::new());
    let running = timed(&place, gate.agent(), &clock).await.with_lease(1000 * MINUTE);
    let mut run = running.open("ann", Some("runs")).await.unwrap().run("go");
    until_called(&mut run).await;
    let waiting = timed(&place, payer(), &clock).await;
    let waits = waiting.open("ann", Some("waits")).await.unwrap();
    let pending = waits.run("pay").outcome().await.unwrap();
    assert_eq!(pending.reason, EndReason::PendingApproval);
    let decided = waiting.open("ann", Some("decided")).await.unwrap();
    let pending = decided.run("pay").outcome().await.unwrap();
    let journal = decided.journal().await.unwrap().unwrap();
    decide(&*journal, &pending.approvals[0].id, "ann", Decision::Approve).await.unwrap();
    assert_eq!(decided.resume().outcome().await.unwrap().reason, EndReason::Answer);
    let mut kept: Vec<_> = waiting.list("ann").await.unwrap();
    kept.sort_by(|one, other| one.id.as_str().cmp(other.id.as_str()));
    let kept: Vec<_> =
        kept.iter().map(|info| (info.id.as_str(), info.open_run.is_some(), info.kept_until > 0)).collect();
    assert_eq!(kept, [("decided", false, false), ("runs", true, false), ("waits", true, true)]);
    clock.advance(90 * MINUTE);
    assert_eq!(waiting.cleanup().await.unwrap(), 1, "nobody waits for the one that was decided");
    let ids: Vec<_> =
        waiting.list("ann").await.unwrap().into_iter().map(|info| info.id.to_string()).collect();
    assert_eq!(ids.len(), 2, "{ids:?}");
    gate.open.notify_one();
    rest(run).await.unwrap();
    // An approval is taken for a day.
    clock.advance(Duration::from_secs(25 * 60 * 60));
    assert_eq!(waiting.cleanup().await.unwrap(), 2);
}

// A44
pub(crate) async fn a_session_is_kept_for_the_answer_of_its_caller_beside_an_approval(place: Place) {
    let clock = Clock::new();
    let agent = |holds| {
        let pay = tool_fn("pay", "Pays.", |_: NoArguments| async { Ok::<_, ToolError>("paid") });
        let ask = ToolDefinition::new("ask", "Asks.", json!({"type": "object", "properties": {}}));
        let render = tool_fn("render", "Renders.", |_: NoArguments| async {
            Ok::<_, ToolError>(Deferred::to("job").with_lifetime(120 * MINUTE))
        });
        let model = FunctionModel::new(|request, _| match last_question(&request.messages).as_str() {
            "both" => Turn::call("ask", "{}").and_call("pay", "{}"),
            tool => Turn::call(tool, "{}"),
        });
        Agent::builder(model.unverified())
            .tool(pay.with_approval(Approval::Always))
            .tool(render)
            .tool_set(Tools::new().with_external(ask))
            .patience(Duration::ZERO)
            .answer_deadline(Duration::ZERO)
            .hold_all(holds)
            .build()
            .unwrap()
    };
    let (all, held) = (timed(&place, agent(false), &clock).await, timed(&place, agent(true), &clock).await);
    let waits = async |sessions: &Sessions, id: &str, question: &str| {
        let session = sessions.open("ann", Some(id)).await.unwrap();
        session.run(question).outcome().await.unwrap().reason
    };
    assert_eq!(waits(&all, "asks", "ask").await, EndReason::PendingExternal);
    assert_eq!(waits(&all, "both", "both").await, EndReason::PendingApproval);
    assert_eq!(waits(&all, "pays", "pay").await, EndReason::PendingApproval);
    assert_eq!(waits(&all, "renders", "render").await, EndReason::PendingExternal);
    assert_eq!(waits(&held, "holds", "both").await, EndReason::PendingApproval);
    clock.advance(90 * MINUTE);
    assert_eq!(all.cleanup().await.unwrap(), 0);
    clock.advance(60 * MINUTE);
    assert_eq!(all.cleanup().await.unwrap(), 1, "the one whose result did not come in time");
    clock.advance(Duration::from_secs(24 * 60 * 60));
    assert_eq!(all.cleanup().await.unwrap(), 2, "those that waited for an approval alone");
    let mut left: Vec<_> = all.list("ann").await.unwrap().iter().map(|info| info.id.to_string()).collect();
    left.sort();
    assert_eq!(left, ["asks", "both"]);
}

// A44
pub(crate) async fn a_refused_run_leaves_what_waits(place: Place) {
    let clock = Clock::new();
    let sessions = timed(&place, payer(), &clock).await;
    let session = sessions.open("ann", Some("s")).await.unwrap();
    let pending = session.run("pay").outcome().await.unwrap();
    let refused = session.run("something else").outcome().await.unwrap_err();
    assert!(refused.decide_error().is_some(), "{refused:?}");
    clock.advance(90 * MINUTE);
    assert_eq!(sessions.cleanup().await.unwrap(), 0);
    let journal = session.journal().await.unwrap().unwrap();
    decide(&*journal, &pending.approvals[0].id, "ann", Decision::Approve).await.unwrap();
    assert_eq!(session.resume().outcome().await.unwrap().reason, EndReason::Answer);
}

pub(crate) async fn a_session_that_begins_anew_deletes_its_documents(place: Place) {
    let (clock, documents) = (Clock::new(), Arc::new(MemoryDocumentStore::default()));
    let file = Document::from_bytes(&b"a file"[..], "text/plain");
    let id = file.id().clone();
    let fetch = tool_fn("fetch", "Fetches.", move |_: NoArguments| {
        let file = file.clone();
        async move { Ok::<_, ToolError>(file) }
    });
    let model = FunctionModel::new(|request, _| match request.messages.len() {
        1 => Turn::call("fetch", "{}"),
        _ => Turn::text("done"),
    });
    let agent = Agent::builder(model.unverified()).tool(fetch).store(Arc::clone(&documents) as _);
    let sessions =
        timed(&place, agent.build().unwrap(), &clock).await.with_documents(Arc::clone(&documents) as _);
    sessions.open("ann", Some("s")).await.unwrap().run("go").outcome().await.unwrap();
    documents.get(&id).await.unwrap();
    clock.advance(61 * MINUTE);
    assert_eq!(sessions.open("ann", Some("s")).await.unwrap().state(), SessionState::Expired);
    assert!(documents.get(&id).await.is_err());
}

// A46
pub(crate) async fn with_expiry_off_nothing_is_deleted(place: Place) {
    let clock = Clock::new();
    let sessions = timed(&place, agent(), &clock).await.with_expiry(None);
    sessions.open("ann", Some("s")).await.unwrap().run("hello").outcome().await.unwrap();
    clock.advance(1_000_000 * MINUTE);
    assert_eq!(sessions.cleanup().await.unwrap(), 0);
    assert_eq!(sessions.open("ann", Some("s")).await.unwrap().history().await.unwrap().len(), 2);
}

// A42
pub(crate) async fn cleared_sessions_are_gone_at_once(place: Place) {
    let clock = Clock::new();
    let (here, there) = (timed(&place, agent(), &clock).await, timed(&place, agent(), &clock).await);
    for (principal, id) in [("ann", "one"), ("ann", "two"), ("ann", "three"), ("bob", "four")] {
        here.open(principal, Some(id)).await.unwrap().run("secret").outcome().await.unwrap();
    }
    let held = there.get("ann", "one").await.unwrap();
    here.clear("ann", "one").await.unwrap();
    assert!(matches!(held.history().await, Err(SessionError::NotFound)));
    let refused = held.run("still there?").outcome().await.unwrap_err();
    assert!(matches!(refused.session_error(), Some(SessionError::NotFound)), "{refused:?}");
    assert_eq!((there.count("ann").await.unwrap(), there.list("ann").await.unwrap().len()), (2, 2));
    assert!(matches!(here.clear("ann", "one").await, Err(SessionError::NotFound)));
    assert_eq!(there.clear_all("ann").await.unwrap(), 2);
    assert_eq!((here.count("ann").await.unwrap(), here.count("bob").await.unwrap()), (0, 1));
    let anew = here.open("ann", Some("one")).await.unwrap();
    assert_eq!((anew.state(), anew.history().await.unwrap().len()), (SessionState::New, 0));
}

pub(crate) async fn clearing_cancels_the_run_and_deletes_the_documents(place: Place) {
    let (gate, clock) = (Gate::default(), Clock::new());
    let documents = Arc::new(MemoryDocumentStore::default());
    let fetcher = |shared: Document, own: Document| {
        let fetch = tool_fn("fetch", "Fetches documents.", move |_: NoArguments| {
            let both = vec![shared.clone(), own.clone()];
            async move { Ok::<_, ToolError>(both) }
        });
        let model = FunctionModel::new(|request, _| match request.messages.last().map(|last| &**last) {
            Some(Message::ToolResults(_) | Message::User(_)) if request.messages.len() > 1 => {
                Turn::text("done")
            }
            _ => Turn::call("fetch", "{}"),
        });
        Agent::builder(model.unverified()).tool(fetch).store(Arc::clone(&documents) as _).build().unwrap()
    };
    let [shared, ann, bob] =
        ["shared", "ann's", "bob's"].map(|text| Document::from_bytes(text.as_bytes().to_vec(), "text/plain"));
    let sessions = |agent| {
        let (clock, place, documents) = (clock.clone(), &place, Arc::clone(&documents));
        async move { timed(place, agent, &clock).await.with_documents(documents) }
    };
    let of_ann = sessions(fetcher(shared.clone(), ann.clone())).await;
    let of_bob = sessions(fetcher(shared.clone(), bob.clone())).await;
    of_ann.open("ann", Some("a")).await.unwrap().run("go").outcome().await.unwrap();
    of_bob.open("bob", Some("b")).await.unwrap().run("go").outcome().await.unwrap();
    for document in [&shared, &ann, &bob] {
        documents.get(document.id()).await.unwrap();
    }
    of_ann.clear("ann", "a").await.unwrap();
    assert!(documents.get(ann.id()).await.is_err());
    documents.get(shared.id()).await.unwrap();
    documents.get(bob.id()).await.unwrap();
    assert_eq!(of_bob.clear_all("bob").await.unwrap(), 1);
    assert!(documents.get(shared.id()).await.is_err() && documents.get(bob.id()).await.is_err());
    // A run under way.
    let sessions = timed(&place, gate.agent(), &clock).await;
    let mut run = sessions.open("ann", Some("r")).await.unwrap().run("go");
    until_called(&mut run).await;
    sessions.clear("ann", "r").await.unwrap();
    // It does not wait for the tool, which nobody lets go.
    let _ = rest(run).await;
    assert!(matches!(sessions.get("ann", "r").await, Err(SessionError::NotFound)), "it wrote nothing more");
}

/// Two that delete at once may each hold a session that the other one needs. PostgreSQL fails one of them.
#[tokio::test]
async fn two_that_delete_at_once_both_come_to_their_end() {
    let Place::Postgres(database) = Place::postgres() else { unreachable!() };
    let clock = Clock::new();
    // The other one has a longer timeout, so PostgreSQL fails the deletion of the store.
    let store =
        PostgresStore::connect(&format!("{}?options[deadlock_timeout]=5s", database.url)).await.unwrap();
    let turned = clock.clone();
    let sessions = Sessions::new(agent(), Arc::new(store)).with_clock(move || turned.now());
    let mut other = PgConnection::connect(&database.url).await.unwrap();
    sqlx::query("SET deadlock_timeout = '20s'").execute(&mut other).await.unwrap();
    let mut look = PgConnection::connect(&database.url).await.unwrap();
    for cleans in [false, true] {
        let fork = sessions.open("ann", Some("source")).await.unwrap().fork_empty().await.unwrap();
        clock.advance(61 * MINUTE);
        let mut deleting = other.begin().await.unwrap();
        let hold = "SELECT 1 FROM attache_session WHERE id = $1 FOR UPDATE";
        sqlx::query(hold).bind(fork.id().as_str()).execute(&mut *deleting).await.unwrap();
        let first = async {
            match cleans {
                true => sessions.cleanup().await.map(drop),
                false => sessions.clear("ann", "source").await,
            }
        };
        let second = async {
            let waits = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
            let waiting =
                async { while sqlx::query(waits).fetch_optional(&mut look).await.unwrap().is_none() {} };
            tokio::time::timeout(Duration::from_secs(30), waiting).await.unwrap();
            sqlx::query(hold).bind("source").execute(&mut *deleting).await.unwrap();
            deleting.rollback().await.unwrap();
        };
        let (first, ()) = join(first, second).await;
        first.unwrap();
        sessions.clear_all("ann").await.unwrap();
    }
}

/// A cleanup beside it notes the same documents. PostgreSQL fails one of them.
#[tokio::test]
async fn an_expired_session_is_opened_beside_a_deletion() {
    let Place::Postgres(database) = Place::postgres() else { unreachable!() };
    let url = format!("{}?options[deadlock_timeout]=5s", database.url);
    let store = PostgresStore::connect(&url).await.unwrap();
    let id = SessionId::parse("s").unwrap();
    let open =
        |now| OpenSession { id: &id, principal: "ann", make: true, now, expired_before: Some(now - 1) };
    store.open(open(1)).await.unwrap();
    let mut other = PgConnection::connect(&database.url).await.unwrap();
    sqlx::query("SET deadlock_timeout = '20s'").execute(&mut other).await.unwrap();
    let mut look = PgConnection::connect(&database.url).await.unwrap();
    sqlx::query("INSERT INTO attache_document (session, document) VALUES ('s', 'a'), ('s', 'b')")
        .execute(&mut other)
        .await
        .unwrap();
    let mut deleting = other.begin().await.unwrap();
    let note = "INSERT INTO attache_gone (document) VALUES ($1) ON CONFLICT DO NOTHING";
    sqlx::query(note).bind("b").execute(&mut *deleting).await.unwrap();
    let second = async {
        let waits =
            "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
        let waiting =
            async { while sqlx::query(waits).fetch_optional(&mut look).await.unwrap().is_none() {} };
        tokio::time::timeout(Duration::from_secs(30), waiting).await.unwrap();
        sqlx::query(note).bind("a").execute(&mut *deleting).await.unwrap();
        deleting.rollback().await.unwrap();
    };
    let (opened, ()) = join(store.open(open(9)), second).await;
    assert_eq!(opened.unwrap().state, SessionState::Expired);
}
