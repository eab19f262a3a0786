//! Sessions of an agent, in memory; the tests of `attache-stores` run them over each store.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use attache_agent::{Agent, EndReason, MemorySessions, Sessions};
use attache_testkit::{ScriptedModel, Turn};

fn sessions(turns: impl IntoIterator<Item = Turn>, store: MemorySessions) -> Sessions {
    let agent = Agent::builder(ScriptedModel::new(turns).unverified()).build().unwrap();
    Sessions::new(agent, Arc::new(store))
}

// A44
#[tokio::test(start_paused = true)]
async fn expired_sessions_are_deleted_every_ten_minutes() {
    let began = tokio::time::Instant::now();
    let clock = move || SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000) + began.elapsed();
    let sessions = sessions([], MemorySessions::new()).with_clock(clock);
    sessions.open("ann", Some("s")).await.unwrap();
    let watched = async {
        let mut minutes = 0;
        while sessions.count("ann").await.unwrap() > 0 {
            tokio::time::sleep(Duration::from_secs(60)).await;
            minutes += 1;
        }
        minutes
    };
    let (watched, cleaning) = (std::pin::pin!(watched), std::pin::pin!(sessions.keep_clean()));
    let minutes = futures_util::future::select(watched, cleaning).await;
    let futures_util::future::Either::Left((minutes, _)) = minutes else { panic!("it never ends") };
    // It expires after 60 minutes, and the next look is the seventh.
    assert!((70..=71).contains(&minutes), "{minutes}");
}

#[tokio::test]
async fn beyond_the_most_sessions_the_one_goes_that_was_used_longest_ago() {
    let now = Arc::new(AtomicU64::new(1_000_000));
    let clock = Arc::clone(&now);
    let clock = move || SystemTime::UNIX_EPOCH + Duration::from_secs(clock.fetch_add(1, Ordering::Relaxed));
    let sessions = sessions([], MemorySessions::new().with_max_sessions(2)).with_clock(clock);
    for id in ["one", "two", "one", "three"] {
        sessions.open("ann", Some(id)).await.unwrap();
    }
    let ids: Vec<_> = sessions.list("ann").await.unwrap().iter().map(|info| info.id.to_string()).collect();
    assert_eq!(ids, ["three", "one"]);
}

#[tokio::test]
async fn a_run_that_waits_for_its_turn_can_be_cancelled() {
    let turns = [Turn::empty().then_hang()];
    let sessions = sessions(turns, MemorySessions::new()).with_busy(attache_agent::Busy::Queue { depth: 1 });
    let session = sessions.open("ann", None).await.unwrap();
    let mut first = session.run("one");
    first.next().await.unwrap();
    let second = session.run("two");
    let control = second.control();
    let mut second = Box::pin(second.outcome());
    assert!(futures_util::FutureExt::now_or_never(&mut second).is_none());
    control.cancel();
    assert_eq!(second.await.unwrap().reason, EndReason::Cancelled);
}

#[tokio::test]
async fn a_run_that_is_dropped_frees_its_session_while_somebody_holds_its_control() {
    let sessions = sessions([Turn::text("Two.")], MemorySessions::new());
    let session = sessions.open("ann", None).await.unwrap();
    let mut first = session.run("one");
    first.next().await.unwrap();
    let control = first.control();
    drop(first);
    assert_eq!(session.run("two").outcome().await.unwrap().text, "Two.");
    assert!(!control.is_active());
}
