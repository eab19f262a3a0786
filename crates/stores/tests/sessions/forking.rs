//! Sessions that get another title, and sessions that go on from another one.

use std::sync::Arc;

use attache_agent::{ForkedFrom, SessionError};

use crate::kit::{Clock, Gate, agent, questions, sessions, timed, until_called};
use crate::place::Place;

pub(crate) async fn a_session_that_is_renamed_is_found_by_its_title(place: Place) {
    let (here, there) = (sessions(&place, agent()).await, sessions(&place, agent()).await);
    let session = here.open("ann", Some("s")).await.unwrap();
    session.run("A train to Rome.").outcome().await.unwrap();
    assert_eq!(here.search("ann", "rome", 5).await.unwrap()[0].title, "A train to Rome.");
    session.rename(&format!("  Holidays\n in\0 Italy {}", "é".repeat(100))).await.unwrap();
    let found = there.search("ann", "holid train", 5).await.unwrap();
    assert!(found[0].title.starts_with("Holidays in Italy é"), "{}", found[0].title);
    assert_eq!(found[0].title.chars().count(), 80);
    let holds = async |words: &str| !there.search("ann", words, 5).await.unwrap().is_empty();
    assert!(holds("rome").await, "it was said");
    session.rename("Summer").await.unwrap();
    assert!(holds("summer rome").await && !holds("holidays").await, "the old title is gone");
    session.rename(&found[0].title).await.unwrap();
    let empty = here.open("ann", Some("t")).await.unwrap();
    empty.rename("Taxes").await.unwrap();
    assert!(holds("taxes").await, "nothing was said yet");
    session.run("And back.").outcome().await.unwrap();
    assert_eq!(there.list("ann").await.unwrap()[0].title, found[0].title, "a question gives no other one");
    let id = session.id();
    assert!(!place.store().await.rename("bob", id, "mine").await.unwrap());
    here.clear("ann", "s").await.unwrap();
    assert!(matches!(session.rename("gone").await, Err(SessionError::NotFound)));
}

pub(crate) async fn a_fork_goes_on_from_its_run_and_leaves_the_session_alone(place: Place) {
    let (here, there) = (sessions(&place, agent()).await, sessions(&place, agent()).await);
    let session = here.open("ann", Some("s")).await.unwrap();
    for question in ["one", "two", "three"] {
        session.run(question).outcome().await.unwrap();
    }
    let whole = session.history().await.unwrap();
    let runs = session.runs().await.unwrap();
    let fork = session.fork(&runs[1].id).await.unwrap();
    assert_ne!(fork.id(), session.id());
    assert_eq!(fork.history().await.unwrap(), whole[..4], "up to the end of the second run");
    let empty = session.fork_empty().await.unwrap();
    assert!(empty.history().await.unwrap().is_empty() && empty.info().await.unwrap().title.is_empty());
    for (forked, questions) in [(&fork, 2), (&empty, 0)] {
        let from = ForkedFrom { session: session.id().clone(), questions };
        assert_eq!(
            there.list("ann").await.unwrap().iter().find(|info| info.id == *forked.id()).unwrap().forked_from,
            Some(from)
        );
    }
    assert_eq!(session.info().await.unwrap().forked_from, None);
    // A fork of one that is deleted comes from where that came.
    let between = session.fork(&runs[0].id).await.unwrap();
    between.run("another two").outcome().await.unwrap();
    let own = between.runs().await.unwrap().pop().unwrap();
    let further = between.fork(&own.id).await.unwrap();
    assert_eq!(further.info().await.unwrap().forked_from.map(|from| from.questions), Some(2));
    here.clear("ann", between.id().as_str()).await.unwrap();
    let from = ForkedFrom { session: session.id().clone(), questions: 1 };
    assert_eq!(further.info().await.unwrap().forked_from, Some(from));
    here.clear("ann", further.id().as_str()).await.unwrap();
    let outcome = fork.run("another three").outcome().await.unwrap();
    assert_eq!(questions(&outcome.messages), ["one", "two", "another three"]);
    assert_eq!(session.history().await.unwrap(), whole);
    session.run("four").outcome().await.unwrap();
    let again = there.get("ann", fork.id().as_str()).await.unwrap();
    assert_eq!(questions(&again.history().await.unwrap()), ["one", "two", "another three"]);
    assert_eq!(there.search("ann", "another", 5).await.unwrap().len(), 1);
    assert_eq!(there.search("ann", "two", 5).await.unwrap().len(), 2);
    here.clear("ann", "s").await.unwrap();
    assert_eq!(again.info().await.unwrap().forked_from, None, "it is gone");
    assert_eq!(questions(&again.run("four").outcome().await.unwrap().messages).len(), 4);
    assert!(matches!(again.fork("no such run").await, Err(SessionError::NotFound)));
    assert!(matches!(again.fork("a\0").await, Err(SessionError::Nul { .. })));
}

/// Two that went on with one run would each do what it does.
pub(crate) async fn a_run_that_has_not_ended_is_not_forked(place: Place) {
    let gate = Gate::default();
    let session = timed(&place, gate.agent(), &Clock::new()).await.open("ann", Some("s")).await.unwrap();
    let mut run = session.run("go");
    until_called(&mut run).await;
    let id = Arc::from(session.runs().await.unwrap()[0].id.as_str());
    let refused = session.fork(&id).await.unwrap_err();
    assert!(matches!(&refused, SessionError::Busy { run } if **run == *id), "{refused:?}");
    assert_eq!(place.store().await.count("ann").await.unwrap(), 1);
}
