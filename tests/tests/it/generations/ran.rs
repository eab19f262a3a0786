//! One agent on scripted replies, and what came of it.

use std::sync::{Arc, Mutex};

use attache_agent::{Agent, Event, EventKind, Outcome, tool_fn};
use attache_conformance::{MockProvider, Reply};
use attache_core::schemars::{self, JsonSchema};
use attache_core::{AssistantMessage, AssistantPart, Message, ModelSettings, Role, Tool, ToolError};
use attache_tests::Party;
use serde_json::Value;

#[derive(serde::Deserialize, JsonSchema)]
pub(crate) struct Query {
    pub(crate) query: String,
}

pub(crate) type Calls = Arc<Mutex<Vec<String>>>;

pub(crate) fn counted(name: &'static str, calls: &Calls) -> impl Tool + use<> {
    let calls = Arc::clone(calls);
    tool_fn(name, "Looks something up", move |Query { query }: Query| {
        calls.lock().unwrap().push(format!("{name} {query}"));
        async move { Ok::<_, ToolError>(format!("{name} of {query}")) }
    })
}

/// The record of a run.
pub(crate) struct Ran {
    pub(crate) outcome: Outcome,
    pub(crate) events: Vec<Event>,
    /// The bodies of the requests.
    pub(crate) bodies: Vec<Value>,
    /// The calls that were executed, in order of their names.
    pub(crate) executed: Vec<String>,
}

impl Ran {
    pub(crate) fn replies(&self) -> Vec<&AssistantMessage> {
        let replies = self.outcome.messages.iter().filter_map(|message| match &**message {
            Message::Assistant(message) => Some(message),
            _ => None,
        });
        replies.collect()
    }

    /// The reply at that place.
    pub(crate) fn shape(&self, at: usize) -> Vec<String> {
        shape(self.replies()[at])
    }

    pub(crate) fn roles(&self) -> Vec<Role> {
        self.outcome.messages.iter().map(|message| message.role()).collect()
    }

    pub(crate) fn streamed_text(&self) -> String {
        let texts = self.events.iter().filter_map(|event| match &event.kind {
            EventKind::Content(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }
}

/// Parts by kind and content. Neighbouring texts read as one.
pub(crate) fn shape(message: &AssistantMessage) -> Vec<String> {
    let mut shapes: Vec<String> = Vec::new();
    for part in shapes_of(message) {
        match (part.strip_prefix("text "), shapes.last_mut()) {
            (Some(text), Some(last)) if last.starts_with("text ") => last.push_str(text),
            _ => shapes.push(part),
        }
    }
    shapes
}

fn shapes_of(message: &AssistantMessage) -> Vec<String> {
    let parts = message.parts.iter().map(|part| match part {
        AssistantPart::Text(part) => format!("text {}", part.text()),
        AssistantPart::Reasoning(part) => format!("thought {}", part.text()),
        AssistantPart::ToolCall(call) => format!("call {} {}", call.name, call.arguments.json().unwrap()),
        AssistantPart::Opaque(part) => format!("opaque {}", part.kind),
        other => panic!("{other:?}"),
    });
    parts.collect()
}

/// Runs the one agent on scripted replies; the last request is answered with `done`.
pub(crate) async fn run(party: Party, whole: bool, replies: impl IntoIterator<Item = Reply>) -> Ran {
    let mock = party.mock().await.unwrap();
    run_at(party, &mock, whole, replies).await
}

pub(crate) async fn run_at(
    party: Party,
    mock: &MockProvider,
    whole: bool,
    replies: impl IntoIterator<Item = Reply>,
) -> Ran {
    for reply in replies {
        mock.enqueue(reply);
    }
    mock.enqueue(Reply::new().text("done"));
    let calls = Calls::default();
    let agent = Agent::builder(party.connected(mock, ModelSettings::new()).unwrap())
        .tool(counted("find", &calls))
        .tool(counted("read", &calls))
        .streaming(!whole)
        .build()
        .unwrap();
    let mut run = agent.run("go");
    let mut events = Vec::new();
    while let Some(event) = run.next().await {
        events.push(event);
    }
    let Some(EventKind::Finished(result)) = events.last().map(|event| event.kind.clone()) else {
        panic!("{}: no end", party.name());
    };
    assert!(mock.violations().is_empty(), "{}: {:?}", party.name(), mock.violations());
    let bodies = mock.requests().iter().map(|request| request.json().clone()).collect();
    let mut executed = std::mem::take(&mut *calls.lock().unwrap());
    executed.sort();
    Ran { outcome: *result.unwrap(), events, bodies, executed }
}
