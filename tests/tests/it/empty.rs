//! Replies that say nothing, on each API and on compatible servers: an error, another try, or an empty answer, as the
//! agent's policy says (E14 to E16, E20).

use attache_agent::{Agent, EmptyReply, EndReason, EventKind, Outcome, RunError};
use attache_conformance::Reply;
use attache_core::{ModelSettings, Role};
use attache_tests::{Api, Party, texts_told};
use serde_json::Value;

/// The record of a run: its end, the reasoning that was streamed, the bodies of the requests.
struct Ran {
    end: Result<Outcome, RunError>,
    thoughts: String,
    said: String,
    bodies: Vec<Value>,
}

async fn run(party: Party, whole: bool, policy: EmptyReply, replies: &[Reply]) -> Ran {
    let mock = party.mock().await.unwrap();
    replies.iter().for_each(|reply| mock.enqueue(reply.clone()));
    let agent = Agent::builder(party.connected(&mock, ModelSettings::new()).unwrap())
        .empty_reply(policy)
        .streaming(!whole)
        .build()
        .unwrap();
    let mut run = agent.run("go");
    let (mut thoughts, mut said) = (String::new(), String::new());
    let outcome = loop {
        match run.next().await.unwrap().kind {
            EventKind::Thinking(text) => thoughts.push_str(&text),
            EventKind::Content(text) => said.push_str(&text),
            EventKind::Finished(result) => break result,
            _ => {}
        }
    };
    assert!(mock.violations().is_empty(), "{}: {:?}", party.name(), mock.violations());
    let bodies = mock.requests().iter().map(|request| request.json().clone()).collect();
    Ran { end: outcome.map(|outcome| *outcome), thoughts, said, bodies }
}

/// Replies of nothing, in each spelling.
fn nothing() -> [Reply; 3] {
    [Reply::new(), Reply::new().text_pieces([""]), Reply::new().text_pieces([" ", "\n\t"])]
}

/// A reply of reasoning alone.
fn thought(party: Party) -> Reply {
    match party.api {
        Api::Anthropic => Reply::new().signed_thinking("Let me think.", "c2lnbmF0dXJl"),
        _ => Reply::new().thinking("Let me think."),
    }
}

fn both_ways() -> impl Iterator<Item = (Party, bool)> {
    Party::all().into_iter().flat_map(|party| [(party, false), (party, true)])
}

// E14, E15: by default an error
#[tokio::test]
async fn nothing_is_an_error() {
    for (party, whole) in both_ways() {
        for reply in nothing() {
            let ran = run(party, whole, EmptyReply::default(), &[reply]).await;
            let error = ran.end.unwrap_err();
            assert_eq!(*error.reason(), EndReason::EmptyResponse, "{}", party.name());
            assert_eq!(error.partial().text, "", "{}", party.name());
            assert_eq!(error.partial().reasoning, "", "{}", party.name());
            // Nothing empty stays behind in the history, and nothing was shown.
            let roles: Vec<Role> = error.partial().messages.iter().map(|message| message.role()).collect();
            assert_eq!((roles, ran.said.as_str()), (vec![Role::User], ""), "{}", party.name());
            // It is not asked again behind the caller's back.
            assert_eq!(ran.bodies.len(), 1);
        }
    }
}

// E14: the model is asked again, so often
#[tokio::test]
async fn nothing_may_be_asked_about_again() {
    for (party, whole) in both_ways() {
        let [first, second, third] = nothing();
        let there = Reply::new().text("there");
        let ran = run(party, whole, EmptyReply::Nudge(2), &[first.clone(), third.clone(), there]).await;
        let outcome = ran.end.unwrap();
        assert_eq!((outcome.reason, outcome.text.as_str()), (EndReason::Answer, "there"), "{}", party.name());
        assert_eq!((ran.said.as_str(), ran.bodies.len()), ("there", 3), "{}", party.name());
        let told = texts_told(party.api, &ran.bodies[2]);
        assert_eq!(
            told.iter().filter(|(role, _)| *role == "assistant").count(),
            0,
            "{}: {told:?}",
            party.name()
        );
        let asked: String = told.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(asked.matches("empty").count(), 2, "{}: {asked}", party.name());

        let ran = run(party, whole, EmptyReply::Nudge(2), &[first, second, third]).await;
        assert_eq!(*ran.end.unwrap_err().reason(), EndReason::EmptyResponse, "{}", party.name());
        assert_eq!(ran.bodies.len(), 3);
    }
}

// E14: an empty answer, where the caller says so
#[tokio::test]
async fn nothing_may_be_an_answer() {
    for (party, whole) in both_ways() {
        for reply in nothing().into_iter().chain([thought(party)]) {
            let outcome = run(party, whole, EmptyReply::Accept, &[reply]).await.end.unwrap();
            let end = (outcome.reason, outcome.text.as_str(), outcome.messages.len());
            assert_eq!(end, (EndReason::Answer, "", 1), "{}", party.name());
        }
    }
}

// E16: reasoning alone is no answer; events and error have it
#[tokio::test]
async fn reasoning_alone_is_reported() {
    for (party, whole) in both_ways() {
        let ran = run(party, whole, EmptyReply::Error, &[thought(party)]).await;
        let context = format!("{} whole {whole}", party.name());
        let error = ran.end.unwrap_err();
        assert_eq!(*error.reason(), EndReason::EmptyResponse, "{context}");
        assert_eq!(ran.thoughts, "Let me think.", "{context}");
        assert_eq!(error.partial().reasoning, "Let me think.", "{context}");
        assert!(error.to_string().contains("reasoning"), "{context}: {error}");
        assert!(!error.to_string().contains("Let me think"), "{context}: {error}");
        assert_eq!((ran.said.as_str(), error.partial().text.as_str()), ("", ""), "{context}");

        // Asked again, its next reply counts.
        let replies = [thought(party), Reply::new().text("there")];
        let outcome = run(party, whole, EmptyReply::Nudge(1), &replies).await.end.unwrap();
        assert_eq!((outcome.text.as_str(), outcome.reasoning.as_str()), ("there", ""), "{context}");
    }
}
