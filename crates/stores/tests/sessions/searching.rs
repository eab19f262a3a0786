//! Sessions are found by what was said in them.

use attache_agent::{RunInput, Sessions};
use attache_core::{Document, Message, UserMessage, UserPart};

use crate::kit::{Clock, agent, timed};
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
    assert_eq!(found(&sessions, "to").await, ["oslo", "rome"], "the one that was used last first");
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
