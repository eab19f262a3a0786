//! A session takes one run at a time.

use std::time::Duration;

use attache_agent::{
    Append, Beginning, Busy, EndReason, Entry, EntryKind, JournalError, Key, OpenSession, SessionError,
    SessionId, Take,
};
use attache_core::{Message, ToolCallId};
use futures_util::future::join_all;

use crate::kit::{Clock, Gate, agent, questions, rest, sessions, timed, until_called};
use crate::place::Place;

// A41, R06, agentscope-ai/agentscope-runtime#402
pub(crate) async fn a_second_run_is_refused_with_the_id_of_the_first(place: Place) {
    let gate = Gate::default();
    let here = sessions(&place, gate.agent()).await.open("ann", Some("s")).await.unwrap();
    let there = sessions(&place, gate.agent()).await.open("ann", Some("s")).await.unwrap();
    let mut first = here.run("one");
    until_called(&mut first).await;
    let id = here.runs().await.unwrap()[0].id.clone();
    for session in [&here, &there] {
        for run in [session.run("two"), session.resume()] {
            let refused = run.outcome().await.unwrap_err();
            assert!(
                matches!(refused.session_error(), Some(SessionError::Busy { run }) if *run == id),
                "{refused:?}"
            );
        }
    }
    // Reads are free.
    assert_eq!(questions(&there.history().await.unwrap()), ["one"]);
    gate.open.notify_one();
    rest(first).await.unwrap();
    gate.open.notify_one();
    let second = there.run("three").outcome().await.unwrap();
    assert_eq!(questions(&second.messages), ["one", "three"]);
    // An id is for one run.
    let again = attache_agent::RunInput::from("four").with_run_id(id);
    let again = there.run(again).outcome().await.unwrap_err();
    assert!(matches!(again.session_error(), Some(SessionError::Journal(JournalError::Occupied))));
}

pub(crate) async fn runs_that_queue_come_one_after_the_other(place: Place) {
    let gate = Gate::default();
    let sessions = sessions(&place, gate.agent()).await.with_busy(Busy::Queue { depth: 2 });
    let session = sessions.open("ann", Some("s")).await.unwrap();
    let mut first = session.run("one");
    until_called(&mut first).await;
    let (mut second, mut third) =
        (Box::pin(session.run("two").outcome()), Box::pin(session.run("three").outcome()));
    assert!(futures_util::FutureExt::now_or_never(&mut second).is_none());
    assert!(futures_util::FutureExt::now_or_never(&mut third).is_none());
    let fourth = session.run("four").outcome().await.unwrap_err();
    assert!(matches!(fourth.session_error(), Some(SessionError::QueueFull { depth: 2 })));
    gate.open.notify_one();
    rest(first).await.unwrap();
    let open = async {
        loop {
            gate.open.notify_one();
            tokio::task::yield_now().await;
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let both = async { (second.await.unwrap(), third.await.unwrap()) };
    let (second, third) = match futures_util::future::select(Box::pin(both), Box::pin(open)).await {
        futures_util::future::Either::Left((both, _)) => both,
        futures_util::future::Either::Right(((), _)) => unreachable!(),
    };
    assert_eq!(questions(&second.messages), ["one", "two"]);
    assert_eq!(questions(&third.messages), ["one", "two", "three"]);
}

pub(crate) async fn a_dropped_run_frees_the_session_at_once(place: Place) {
    let gate = Gate::default();
    let session = sessions(&place, gate.agent()).await.open("ann", Some("s")).await.unwrap();
    let mut first = session.run("one");
    until_called(&mut first).await;
    drop(first);
    gate.open.notify_one();
    let second = session.run("two").outcome().await.unwrap();
    assert_eq!(questions(&second.messages), ["one", "two"]);
}

// A41, PT: whatever is started when, a run that was let in has seen all that came before it, whole.
pub(crate) async fn runs_that_race_never_interleave(place: Place) {
    let (here, there) = (sessions(&place, agent()).await, sessions(&place, agent()).await);
    let mut seed = 7_u64;
    for round in 0..6 {
        let id = format!("s{round}");
        let runs = (0..8).map(|number| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (sessions, wait) = (if seed >> 63 == 0 { &here } else { &there }, (seed >> 33) % 12);
            let id = &id;
            async move {
                let session = sessions.open("ann", Some(id)).await.unwrap();
                for _ in 0..wait {
                    tokio::task::yield_now().await;
                }
                let mut attempts = 0;
                loop {
                    attempts += 1;
                    match session.run(format!("q{number}")).outcome().await {
                        Ok(outcome) => return (outcome, attempts),
                        Err(error) => {
                            assert!(
                                matches!(error.session_error(), Some(SessionError::Busy { .. })),
                                "{error:?}"
                            );
                            tokio::time::sleep(Duration::from_millis(2)).await;
                        }
                    }
                }
            }
        });
        let mut outcomes = join_all(runs).await;
        outcomes.sort_by_key(|(outcome, _)| outcome.messages.len());
        for (at, (outcome, _)) in outcomes.iter().enumerate() {
            assert_eq!(outcome.messages.len(), 2 * (at + 1));
            let mut before: Vec<String> = outcomes[..=at]
                .iter()
                .map(|(outcome, _)| crate::kit::last_question(&outcome.messages))
                .collect();
            assert_eq!(questions(&outcome.messages), before);
            before.dedup();
            assert_eq!(before.len(), at + 1);
            // Each question has its own answer behind it.
            for pair in outcome.messages.chunks(2) {
                assert!(format!("{:?}", pair[1]).contains(&format!("You said: {}", questions(pair)[0])));
            }
        }
    }
}

pub(crate) async fn a_writer_that_lost_the_lease_is_refused(place: Place) {
    let (gate, clock) = (Gate::default(), Clock::new());
    let here = timed(&place, gate.agent(), &clock).await.open("ann", Some("s")).await.unwrap();
    let there = timed(&place, gate.agent(), &clock).await.open("ann", Some("s")).await.unwrap();
    let mut first = here.run("one");
    until_called(&mut first).await;
    // Its process stands still for longer than the lease.
    clock.advance(Duration::from_secs(31));
    gate.open.notify_one();
    let second = there.run("two").outcome().await.unwrap();
    assert_eq!(questions(&second.messages), ["one", "two"]);
    gate.open.notify_one();
    let stale = rest(first).await.unwrap_err();
    assert_eq!(*stale.reason(), EndReason::Superseded);
    assert_eq!(there.history().await.unwrap(), second.messages, "the stale writer wrote nothing");
}

pub(crate) async fn a_lease_that_was_let_go_stays_so(place: Place) {
    let (store, id) = (place.store().await, SessionId::parse("s").unwrap());
    let open = OpenSession { id: &id, principal: "ann", make: true, now: 1, expired_before: None };
    store.open(open).await.unwrap();
    let take =
        |run, holder| Take { session: &id, principal: "ann", run: Some(run), holder, now: 2, until: 100 };
    let fence = store.take(take("one", "first")).await.unwrap().fence;
    store.release(&id, fence, None).await.unwrap();
    // Both were under way by then.
    assert!(store.renew(&id, fence, 1000).await.unwrap());
    let late = Append {
        session: id.clone(),
        run: "one".into(),
        fence,
        number: 1,
        now: 3,
        until: 1000,
        entries: vec![Entry::new(Key::result(&ToolCallId::new()), EntryKind::Inbox(Vec::new()))],
        begins: None,
        ends: false,
        documents: Vec::new(),
        kept_until: None,
    };
    assert!(matches!(store.append(&late).await, Err(JournalError::Fenced)));
    store.take(take("two", "second")).await.unwrap();
}

pub(crate) async fn an_append_that_is_refused_changes_nothing(place: Place) {
    let (store, id) = (place.store().await, SessionId::parse("s").unwrap());
    let open = OpenSession { id: &id, principal: "ann", make: true, now: 1, expired_before: None };
    store.open(open).await.unwrap();
    let take = Take { session: &id, principal: "ann", run: Some("one"), holder: "first", now: 2, until: 100 };
    let fence = store.take(take).await.unwrap().fence;
    let append = |begins: Option<u64>| Append {
        session: id.clone(),
        run: "one".into(),
        fence,
        number: 1,
        now: 3,
        until: 1000,
        entries: vec![Entry::new(Key::result(&ToolCallId::new()), EntryKind::Inbox(Vec::new()))],
        begins: begins.map(|first| {
            let (name, title, messages) =
                ("".into(), "Hello.".to_owned(), vec![Message::user("Hello.").shared()]);
            Box::new(Beginning {
                name,
                title,
                first,
                messages,
                ranges: std::iter::once(0..1).collect(),
                closes: None,
            })
        }),
        ends: true,
        documents: Vec::new(),
        kept_until: Some(2000),
    };
    store.append(&append(None)).await.expect_err("the run has not begun");
    let refused = store.append(&append(Some(5))).await.unwrap_err();
    assert!(matches!(refused, JournalError::Moved { .. }), "{refused:?}");
    let info = store.info("ann", &id).await.unwrap().unwrap();
    assert_eq!((info.leased_until, info.runs, info.title.as_str()), (100, 0, ""));
    store.append(&append(Some(0))).await.expect("its number was not used");
}

/// An attempt of which nobody knows whether it got the lease says nothing about whoever had it.
pub(crate) async fn a_lease_that_was_given_up_is_free_here_also_behind_attempts_that_failed(place: Place) {
    let (store, id) = (place.store().await, SessionId::parse("s").unwrap());
    let open = OpenSession { id: &id, principal: "ann", make: true, now: 1, expired_before: None };
    store.open(open).await.unwrap();
    let take =
        |run, holder| Take { session: &id, principal: "ann", run: Some(run), holder, now: 2, until: 100 };
    store.take(take("one", "first")).await.unwrap();
    for given_up in ["first", "failed", "dropped"] {
        store.abandon(&id, given_up);
    }
    store.take(take("two", "second")).await.unwrap();
    let refused = store.take(take("three", "third")).await.unwrap_err();
    assert!(matches!(refused, SessionError::Busy { .. }), "{refused:?}");
    for given_up in ["second", "failed again"] {
        store.abandon(&id, given_up);
    }
    store.let_go(&id, false).await.unwrap();
    assert_eq!(store.info("ann", &id).await.unwrap().unwrap().leased_until, 0);
}

#[tokio::test]
async fn a_write_that_nobody_polls_keeps_nobody_out() {
    let store = Place::sqlite();
    let Place::Sqlite(folder) = &store else { unreachable!() };
    let path = folder.path().join("s.db");
    let store = attache_stores::SqliteStore::open(&path).await.unwrap();
    let ids = ["one", "two"].map(|id| SessionId::parse(id).unwrap());
    let open = |id| OpenSession { id, principal: "ann", make: true, now: 1, expired_before: None };
    let store: &dyn attache_agent::SessionStore = &store;
    let mut still = store.open(open(&ids[0]));
    // The thread that writes may be done in this moment already.
    let early = futures_util::FutureExt::now_or_never(&mut still);
    // Less than a writer waits for another one.
    let other = tokio::time::timeout(Duration::from_secs(4), store.open(open(&ids[1]))).await;
    other.expect("it does not wait for the first").unwrap();
    match early {
        Some(opened) => opened.unwrap(),
        None => still.await.unwrap(),
    };
    assert_eq!(store.count("ann").await.unwrap(), 2);
}

#[tokio::test]
async fn a_store_closes_after_somebody_waited() {
    let Place::Postgres(database) = Place::postgres() else { unreachable!() };
    let store = attache_stores::PostgresStore::connect(&database.url).await.unwrap();
    let id = SessionId::parse("s").unwrap();
    let key = Key::result(&ToolCallId::new());
    let waits: &dyn attache_agent::SessionStore = &store;
    // Long enough for the connection that listens.
    let until = std::time::SystemTime::now() + Duration::from_millis(500);
    let open = OpenSession { id: &id, principal: "ann", make: true, now: 1, expired_before: None };
    waits.open(open).await.unwrap();
    assert!(waits.wait("ann", &id, "r", &key, Some(until)).await.unwrap().is_none());
    let waiting = waits.wait("ann", &id, "r", &key, None);
    let (found, ()) = futures_util::future::join(waiting, async {
        tokio::task::yield_now().await;
        tokio::time::timeout(Duration::from_secs(10), store.close()).await.expect("it closes");
    })
    .await;
    assert!(found.is_err(), "a wait ends with its store");
}
