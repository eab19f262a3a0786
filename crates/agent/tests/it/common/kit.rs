//! Conversations as the tests read them.

use std::sync::Arc;
use std::time::Duration;

use attache_agent::{AgentRun, Entry, Event, EventKind, MemoryJournal, Outcome, tool_fn};
use attache_core::message::UserOrigin;
use attache_core::{ChatRequest, Document, Effect, Message, Tool, ToolError, ToolResult};
use tokio::time::timeout;

use super::{Counter, Number};

/// The words with which a model learns that nobody knows whether an effect happened.
pub(crate) const UNKNOWN: &str = "this call was begun and its outcome is unknown: its effect may or may not have \
    happened; it was not repeated; verify before you try again";

/// A small PDF of that name.
pub(crate) fn pdf(name: &str) -> Document {
    Document::from_bytes(format!("%PDF-1.4\n% {name}\n"), "application/pdf").with_file_name(name)
}

/// A tool that returns its number and counts its calls.
pub(crate) fn counting(name: &'static str, effect: Effect, calls: &Counter) -> impl Tool + 'static {
    let calls = calls.clone();
    tool_fn(name, "", move |Number { n }: Number| {
        calls.add();
        async move { Ok::<_, ToolError>(n) }
    })
    .with_effect(effect)
}

/// One letter for each message: system, user, event, documents, calls, answer, results.
pub(crate) fn roles(messages: &[Arc<Message>]) -> String {
    let letter = |message: &Arc<Message>| match &**message {
        Message::System(_) => 's',
        Message::User(user) => match user.origin {
            UserOrigin::Author => 'u',
            UserOrigin::Event => 'e',
            _ => 'd',
        },
        Message::Assistant(reply) if reply.has_tool_calls() => 'c',
        Message::Assistant(_) => 'a',
        Message::ToolResults(_) => 'r',
        _ => '?',
    };
    messages.iter().map(letter).collect()
}

/// The results in the messages, in order.
pub(crate) fn results(messages: &[Arc<Message>]) -> Vec<ToolResult> {
    let of = |message: &Arc<Message>| match &**message {
        Message::ToolResults(results) => results.results.clone(),
        _ => Vec::new(),
    };
    messages.iter().flat_map(of).collect()
}

/// The texts of the results in the messages, in order.
pub(crate) fn told(messages: &[Arc<Message>]) -> Vec<String> {
    results(messages).iter().map(|result| result.tree.model_text().into_owned()).collect()
}

/// The ids of the messages of each request.
pub(crate) fn ids(requests: &[ChatRequest]) -> Vec<Vec<String>> {
    let of =
        |request: &ChatRequest| request.messages.iter().map(|message| message.id().to_string()).collect();
    requests.iter().map(of).collect()
}

/// The text of the messages from the user's side.
pub(crate) fn heard(messages: &[Arc<Message>]) -> Vec<String> {
    let text = |message: &Arc<Message>| match &**message {
        Message::User(user) => {
            Some(user.parts.iter().map(|part| format!("{part:?}")).collect::<Vec<_>>().concat())
        }
        _ => None,
    };
    messages.iter().filter_map(text).collect()
}

/// The events of a run until it waits for something that does not come. Under a paused clock nothing else does.
pub(crate) async fn until_it_waits(run: &mut AgentRun) -> Vec<Event> {
    let mut events = Vec::new();
    while let Ok(Some(event)) = timeout(Duration::from_millis(1), run.next()).await {
        events.push(event);
    }
    events
}

/// All events of a run.
pub(crate) async fn all(run: &mut AgentRun) -> Vec<Event> {
    let mut events = Vec::new();
    while let Some(event) = run.next().await {
        events.push(event);
    }
    events
}

/// The outcome that the last event tells.
pub(crate) fn end(events: &[Event]) -> Outcome {
    let last = events.last().map(|event| &event.kind);
    let outcome = last.and_then(EventKind::outcome);
    outcome.unwrap_or_else(|| panic!("the last event is {last:?}")).clone()
}

/// The warnings among the events.
pub(crate) fn warnings(events: &[Event]) -> Vec<&'static str> {
    let code = |event: &Event| match event.kind {
        EventKind::Warning { code, .. } => Some(code),
        _ => None,
    };
    events.iter().filter_map(code).collect()
}

/// The keys of a log.
pub(crate) fn keys(journal: &MemoryJournal) -> Vec<String> {
    journal.entries().iter().map(|entry| entry.key.to_string()).collect()
}

/// The entries before the one under a key.
pub(crate) fn before(entries: &[Entry], key: &str) -> Vec<Entry> {
    let cut: Vec<Entry> = entries.iter().take_while(|entry| entry.key.as_str() != key).cloned().collect();
    assert_ne!(cut.len(), entries.len(), "the log has an entry {key}");
    cut
}

/// A journal that holds these entries.
pub(crate) fn holding(entries: impl IntoIterator<Item = Entry>) -> Arc<MemoryJournal> {
    Arc::new(MemoryJournal::from_entries(entries))
}
