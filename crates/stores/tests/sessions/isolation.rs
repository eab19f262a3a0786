//! Sessions see nothing of each other.

use std::sync::Arc;

use attache_agent::{Agent, MemoryDocumentStore, NoArguments, RunInput, SessionError, tool_fn};
use attache_core::{Document, DocumentId, DocumentStore as _, Effect, Message, ToolError};
use attache_testkit::{FunctionModel, ScriptedModel, Turn};
use futures_util::future::join_all;

use crate::kit::{agent, sessions};
use crate::place::Place;

/// The canaries in a conversation.
fn canaries(messages: &[Arc<Message>]) -> Vec<String> {
    let text = format!("{messages:?}");
    let found = text.match_indices("canary-").map(|(at, _)| text[at..].chars().take(10).collect());
    found.collect()
}

// A39
pub(crate) async fn a_hundred_sessions_at_once_see_nothing_of_each_other(place: Place) {
    // The model says what it saw: each word of it must be the session's own.
    let model = FunctionModel::new(|request, _| {
        let seen = canaries(&request.messages);
        assert!(seen.windows(2).all(|pair| pair[0] == pair[1]), "two sessions in one request: {seen:?}");
        Turn::text(&seen[0])
    });
    let agent = Agent::builder(model.clone().unverified()).build().unwrap();
    let sessions = sessions(&place, agent).await;
    let talks = (0..100).map(|number| {
        let sessions = sessions.clone();
        async move {
            let (principal, canary) = (format!("user-{}", number % 10), format!("canary-{number:03}"));
            let session = sessions.open(&principal, None).await.unwrap();
            for question in ["first", "second", "third"] {
                let outcome = session.run(format!("{question} {canary}")).outcome().await.unwrap();
                assert_eq!(outcome.text, canary);
            }
            let history = session.history().await.unwrap();
            assert_eq!(history.len(), 6);
            assert!(canaries(&history).iter().all(|seen| *seen == canary));
        }
    });
    join_all(talks).await;
    assert_eq!(model.asked().requests().count(), 300);
    for number in 0..10 {
        assert_eq!(sessions.count(&format!("user-{number}")).await.unwrap(), 10);
    }
}

/// A tool numbers what it brings by itself, and both sessions keep it in one store.
pub(crate) async fn a_document_of_an_id_that_another_session_has_is_the_sessions_own(place: Place) {
    let documents = Arc::new(MemoryDocumentStore::default());
    let elsewhere = async |of: &'static str, turns: Vec<Turn>| {
        let model = ScriptedModel::new(turns).with_capabilities_of("anthropic", "claude-opus-4-8");
        let fetch = tool_fn("fetch", "Fetches the invoice.", move |_: NoArguments| async move {
            let invoice = Document::from_bytes(format!("%PDF-1.4 of {of}"), "");
            Ok::<_, ToolError>(invoice.with_id(DocumentId::parse("invoice").unwrap()))
        });
        let agent = Agent::builder(model.clone()).tool(fetch.with_effect(Effect::Read));
        let agent = agent.store(Arc::clone(&documents) as _).build().unwrap();
        (sessions(&place, agent).await.open(of, Some(of)).await.unwrap(), model)
    };
    for of in ["ann", "bob"] {
        let (session, _) = elsewhere(of, vec![Turn::call("fetch", "{}"), Turn::text("here")]).await;
        session.run("My invoice?").outcome().await.unwrap();
    }
    for of in ["ann", "bob"] {
        let (session, model) = elsewhere(of, vec![Turn::text("paid")]).await;
        session.run("Is it paid?").outcome().await.unwrap();
        let requests = model.requests();
        let shown: Vec<_> = requests[0].messages.iter().flat_map(|message| message.documents()).collect();
        assert!(!shown.is_empty());
        for document in shown {
            let bytes = match document.bytes() {
                Some(bytes) => bytes,
                None => documents.get(document.id()).await.unwrap(),
            };
            assert_eq!(bytes, format!("%PDF-1.4 of {of}"));
        }
    }
}

// A40
pub(crate) async fn a_session_is_its_principals_alone(place: Place) {
    let sessions = sessions(&place, agent()).await;
    let ann = sessions.open("ann", Some("s")).await.unwrap();
    ann.run("secret").outcome().await.unwrap();
    let not_found = |result: Result<_, SessionError>| matches!(result, Err(SessionError::NotFound));
    assert!(not_found(sessions.open("bob", Some("s")).await.map(drop)));
    assert!(not_found(sessions.get("bob", "s").await.map(drop)));
    assert!(not_found(sessions.get("ann", "no such session").await.map(drop)));
    assert!(not_found(sessions.clear("bob", "s").await));
    assert_eq!(sessions.clear_all("bob").await.unwrap(), 0);
    assert!(sessions.list("bob").await.unwrap().is_empty());
    assert_eq!((sessions.count("bob").await.unwrap(), sessions.count("ann").await.unwrap()), (0, 1));
    assert_eq!(ann.history().await.unwrap().len(), 2);
    let (info, listed) = (ann.info().await.unwrap(), sessions.list("ann").await.unwrap());
    assert_eq!((listed, info.title.as_str(), info.runs), (vec![info.clone()], "secret", 1));
    assert!(matches!(sessions.open("ann", Some("a\nb")).await, Err(SessionError::InvalidId)));
    sessions.clear("ann", "s").await.unwrap();
    assert!(not_found(ann.info().await.map(drop)));
}

// A40
pub(crate) async fn a_handle_does_not_follow_its_id_to_another_principal(place: Place) {
    let sessions = sessions(&place, agent()).await;
    let ann = sessions.open("ann", Some("chat-1")).await.unwrap();
    let input = |text: &str| RunInput::from(text).with_run_id("r");
    ann.run(input("hers")).outcome().await.unwrap();
    let journal = ann.journal().await.unwrap().unwrap();
    assert!(!journal.load().await.unwrap().is_empty());
    sessions.clear("ann", "chat-1").await.unwrap();
    let bob = sessions.open("bob", Some("chat-1")).await.unwrap();
    let outcome = bob.run(input("his")).outcome().await.unwrap();
    for run in [ann.run("and?"), ann.resume()] {
        let refused = run.outcome().await.unwrap_err();
        assert!(matches!(refused.session_error(), Some(SessionError::NotFound)), "{refused:?}");
    }
    assert!(journal.load().await.unwrap().is_empty(), "a run of the same id is another one");
    assert_eq!(bob.history().await.unwrap(), outcome.messages);
}
