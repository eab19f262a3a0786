//! Sessions are found by what was said in them.

use std::time::Duration;

use attache_agent::{
    Agent, Append, Beginning, Entry, EventKind, HookContext, HookError, OpenSession, ReplyVerdict, RunHook,
    RunInput, SessionId, SessionStore, Sessions, Take,
};
use attache_core::words::WordQuery;
use attache_core::{AssistantMessage, BoxFuture, Document, Message, UserMessage, UserPart};
use attache_stores::PostgresStore;
use attache_testkit::{ScriptedModel, Turn};
use serde_json::json;
use sqlx::Connection as _;

use crate::kit::{Clock, agent, sessions, timed};
use crate::place::Place;

async fn found(sessions: &Sessions, query: &str) -> Vec<String> {
    let found = sessions.search("ann", query, 10).await.unwrap();
    found.into_iter().map(|info| info.id.to_string()).collect()
}

pub(crate) async fn a_session_is_found_by_all_that_was_said(place: Place) {
    let clock = Clock::new();
    let sessions = timed(&place, agent(), &clock).await;
    let say = async |id: &str, question: &str| {
        clock.advance(std::time::Duration::from_secs(1));
        sessions.open("ann", Some(id)).await.unwrap().run(question).outcome().await.unwrap();
    };
    say("rome", "A train to Rome, please.").await;
    say("oslo", "A flight to Oslo.").await;
    say("mail", "租赁合同从七月开始。").await;
    assert_eq!(found(&sessions, "train ROME").await, ["rome"]);
    assert_eq!(found(&sessions, "to").await, ["oslo", "rome"], "the latest first");
    assert_eq!(found(&sessions, "fli osl").await, ["oslo"], "beginnings of words");
    assert!(found(&sessions, "train oslo").await.is_empty(), "all words");
    assert_eq!(found(&sessions, "said rome").await, ["rome"], "also those of the answer");
    for query in ["合同", "同", "租", "始", "七 合同"] {
        assert_eq!(found(&sessions, query).await, ["mail"], "{query}");
    }
    assert!(found(&sessions, "书").await.is_empty());
    assert_eq!(sessions.search("ann", "to", 1).await.unwrap().len(), 1);
    for nothing in ["", " \0*\"", "rom'; DELETE FROM attache_session; --", "r_me", "%"] {
        assert!(found(&sessions, nothing).await.is_empty(), "{nothing}");
    }
    // A message after a search is found by the next one, also by that of another process.
    say("rome", "And back on Friday.").await;
    let there = timed(&place, agent(), &clock).await;
    assert_eq!(found(&there, "train friday").await, ["rome"]);
    assert_eq!(found(&sessions, "to").await, ["rome", "oslo"]);
    let plan = Document::from_bytes(&b"a plan"[..], "text/plain").with_file_name("Umbauplan.txt");
    let message = UserMessage::new([UserPart::text("Look at this."), Some(UserPart::Document(plan))]);
    let input = RunInput::new([Message::User(message).shared()]);
    there.open("ann", Some("house")).await.unwrap().run(input).outcome().await.unwrap();
    assert_eq!(found(&there, "umbauplan look").await, ["house"]);
    // Neither those of others nor those that are gone.
    assert!(sessions.search("bob", "rome", 10).await.unwrap().is_empty());
    sessions.clear("ann", "rome").await.unwrap();
    assert!(found(&there, "rome").await.is_empty());
    say("rome", "Something else.").await;
    assert!(found(&there, "train").await.is_empty(), "the words of a session go with it");
    assert_eq!(found(&there, "something").await, ["rome"]);
}

pub(crate) async fn a_session_is_found_by_an_answer_that_was_stopped(place: Place) {
    let model = ScriptedModel::new([Turn::text("The ferry leaves at").then_hang()]);
    let sessions = sessions(&place, Agent::builder(model).build().unwrap()).await;
    let mut run = sessions.open("ann", Some("boat")).await.unwrap().run("When?");
    while let Some(event) = run.next().await {
        if matches!(event.kind, EventKind::Content(text) if text.contains("leaves")) {
            run.control().cancel();
        }
    }
    assert_eq!(found(&sessions, "ferry leaves").await, ["boat"]);
}

/// A list that goes on behind a session goes by the bytes of ids.
pub(crate) async fn sessions_of_one_moment_are_listed_by_the_bytes_of_their_ids(place: Place) {
    let sessions = timed(&place, agent(), &Clock::new()).await;
    for id in ["b", "_", "A", "é", "a", "B", "Z1"] {
        sessions.open("ann", Some(id)).await.unwrap().rename("Lease").await.unwrap();
    }
    let listed = sessions.list("ann").await.unwrap();
    let listed: Vec<_> = listed.iter().map(|info| info.id.as_str()).collect();
    let by_bytes = ["A", "B", "Z1", "_", "a", "b", "é"];
    assert_eq!(listed, by_bytes);
    assert_eq!(found(&sessions, "lease").await, by_bytes);
}

/// More messages and entries than are read at a time.
pub(crate) async fn a_long_session_is_found_by_all_of_its_words(place: Place) {
    let (store, id) = (place.store().await, SessionId::parse("s").unwrap());
    let open = OpenSession { id: &id, principal: "ann", make: true, now: 1, expired_before: None };
    store.open(open).await.unwrap();
    let noted = |word: &str, number: u64| -> Entry {
        let messages = [Message::user(format!("{word}{number}"))];
        let entry =
            json!({"schemaVersion": 1, "key": format!("inbox/{number}"), "kind": {"inbox": messages}});
        serde_json::from_value(entry).unwrap()
    };
    for (run, words) in [("one", "first"), ("two", "second")] {
        let holder = format!("holder of {run}");
        let take =
            Take { session: &id, principal: "ann", run: Some(run), holder: &holder, now: 2, until: 100 };
        let fence = store.take(take).await.unwrap().fence;
        let first = if run == "one" { 0 } else { 300 };
        let messages = (0..300).map(|number| Message::user(format!("{words}message{number}")).shared());
        let begins = Beginning {
            name: "".into(),
            title: "title".to_owned(),
            first,
            messages: messages.collect(),
            ranges: std::iter::once(first..first + 300).collect(),
            closes: None,
        };
        let append = Append {
            session: id.clone(),
            run: run.into(),
            fence,
            number: 1,
            now: 3,
            until: 0,
            entries: (0..600).map(|number| noted(words, number)).collect(),
            begins: Some(Box::new(begins)),
            ends: true,
            documents: Vec::new(),
            kept_until: None,
        };
        store.append(&append).await.unwrap();
    }
    let said = ["title", "firstmessage299", "secondmessage299", "first599", "second0", "second599"];
    for word in said {
        let found = store.search("ann", &WordQuery::new(word), 5).await.unwrap();
        assert_eq!(found.len(), 1, "{word}");
    }
}

/// Blocks a reply that tells a secret, and has one that is a draft made again.
struct Guard;

impl RunHook for Guard {
    fn after_model<'a>(
        &'a self,
        reply: &'a AssistantMessage,
        _: &'a HookContext<'_>,
    ) -> BoxFuture<'a, Result<ReplyVerdict, HookError>> {
        let text = reply.text();
        let verdict = match () {
            () if text.contains("secret") => ReplyVerdict::Block("That is not told.".to_owned()),
            () if text.contains("draft") => ReplyVerdict::Retry("Write it out.".to_owned()),
            () => ReplyVerdict::Keep,
        };
        Box::pin(std::future::ready(Ok(verdict)))
    }
}

pub(crate) async fn a_session_is_not_found_by_replies_that_do_not_count(place: Place) {
    let inner = ScriptedModel::new([Turn::text("A kraken.")]).unverified();
    let inner = Agent::builder(inner).build().unwrap().as_tool("helper", "");
    let turns = [
        Turn::text("The secret is a walrus."),
        Turn::text("A draft of a porpoise."),
        Turn::text("A fine dolphin."),
        Turn::call("helper", json!({"task": "look"})),
        Turn::text("It was seen."),
        Turn::text("Welcome."),
        Turn::text("Welcome."),
        Turn::text("Welcome."),
    ];
    let model = ScriptedModel::new(turns).unverified();
    let agent = Agent::builder(model).tool(inner).hook(Guard).build().unwrap();
    let sessions = sessions(&place, agent).await;
    // By the entries of a run, and by the messages that they are once another one begins.
    for _ in 0..2 {
        for id in ["blocked", "again", "inside"] {
            sessions.open("ann", Some(id)).await.unwrap().run("Go on.").outcome().await.unwrap();
        }
        for gone in ["walrus", "porpoise", "draft", "kraken", "write"] {
            assert!(found(&sessions, gone).await.is_empty(), "{gone}");
        }
        assert_eq!(found(&sessions, "dolphin").await, ["again"]);
        assert_eq!(found(&sessions, "seen").await, ["inside"]);
    }
}

/// The words of a session are read in pieces, and no piece ends between a reply and its verdict.
pub(crate) async fn no_verdict_is_read_without_its_reply(place: Place) {
    let (store, id) = (place.store().await, SessionId::parse("s").unwrap());
    let open = OpenSession { id: &id, principal: "ann", make: true, now: 1, expired_before: None };
    store.open(open).await.unwrap();
    let entry = |key: String, kind: serde_json::Value| -> Entry {
        serde_json::from_value(json!({"schemaVersion": 1, "key": key, "kind": kind})).unwrap()
    };
    let reply = |word: &str, step: u64| {
        let reply = json!({"message": Message::assistant(word), "finishReason": "stop", "usage": {}});
        entry(format!("model/{step}"), json!({"reply": reply}))
    };
    for (run, first) in [("one", 1_u64), ("two", 0)] {
        let holder = format!("holder of {run}");
        let take =
            Take { session: &id, principal: "ann", run: Some(run), holder: &holder, now: 2, until: 100 };
        let fence = store.take(take).await.unwrap().fence;
        let mut entries: Vec<Entry> = (0..first).map(|step| reply("beginning", step)).collect();
        for step in 1..400 {
            entries.push(reply("walrus", step));
            entries.push(entry(format!("hook/reply/{step}"), json!({"hooked": {"retry": "Once more."}})));
        }
        entries.push(reply("dolphin", 400));
        let begins = Beginning {
            name: "".into(),
            title: "title".to_owned(),
            first: 0,
            messages: Vec::new(),
            ranges: Vec::new(),
            closes: None,
        };
        let append = Append {
            session: id.clone(),
            run: run.into(),
            fence,
            number: 1,
            now: 3,
            until: 0,
            entries,
            begins: Some(Box::new(begins)),
            ends: true,
            documents: Vec::new(),
            kept_until: None,
        };
        store.append(&append).await.unwrap();
    }
    for (word, expected) in [("dolphin", 1), ("beginning", 1), ("walrus", 0)] {
        let found = store.search("ann", &WordQuery::new(word), 5).await.unwrap();
        assert_eq!(found.len(), expected, "{word}");
    }
}

/// A session is not held while its words are read, and what changed meanwhile counts.
#[tokio::test]
async fn a_session_is_renamed_while_somebody_searches() {
    let place = Place::postgres();
    let Place::Postgres(database) = &place else { unreachable!() };
    let here = sessions(&place, agent()).await;
    let session = here.open("ann", Some("s")).await.unwrap();
    session.run("To Rome.").outcome().await.unwrap();
    let mut other = sqlx::PgConnection::connect(&database.url).await.unwrap();
    let mut holding = other.begin().await.unwrap();
    sqlx::query("LOCK TABLE attache_entry").execute(&mut *holding).await.unwrap();
    let store = PostgresStore::connect(&database.url).await.unwrap();
    let searching =
        tokio::spawn(
            async move { SessionStore::search(&store, "ann", &WordQuery::new("holidays"), 5).await },
        );
    let mut look = sqlx::PgConnection::connect(&database.url).await.unwrap();
    let waits =
        "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
    let waiting = async { while sqlx::query(waits).fetch_optional(&mut look).await.unwrap().is_none() {} };
    tokio::time::timeout(Duration::from_secs(30), waiting).await.unwrap();
    let renamed = tokio::time::timeout(Duration::from_secs(10), session.rename("Holidays")).await;
    renamed.expect("nobody holds the session").unwrap();
    holding.rollback().await.unwrap();
    assert_eq!(searching.await.unwrap().unwrap().len(), 1);
    assert_eq!(found(&here, "holidays rome").await, ["s"]);
}
