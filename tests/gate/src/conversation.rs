//! Conversations of a usual length and size, and runs over them.

use std::sync::Arc;

use attache_agent::{Agent, AgentRun, EventKind, MessageWindow, RunInput, tool_fn};
use attache_core::schemars::{self, JsonSchema};
use attache_core::{
    Arguments, AssistantMessage, Document, Effect, Message, ProviderCallId, Tool, ToolCall, ToolError,
    ToolResult, ToolResultsMessage, ToolSet, UserMessage, UserPart,
};
use serde::Deserialize;
use tokio::runtime::Runtime;

use crate::Instant;

#[derive(Deserialize, JsonSchema)]
struct Lookup {
    /// The record to look up
    query: String,
}

/// A result of a kibibyte.
fn record() -> String {
    "record: \"alpha\" = 17;\n".repeat(48)
}

pub(crate) fn lookup() -> impl Tool + 'static {
    tool_fn("lookup", "Looks a record up.", |Lookup { query }: Lookup| async move {
        Ok::<_, ToolError>(format!("{query}: {}", record()))
    })
    .with_effect(Effect::Read)
}

/// The tool of the conversations.
pub fn tools() -> Arc<ToolSet> {
    #[expect(clippy::unwrap_used, reason = "a set that cannot be made has nothing to measure")]
    Arc::new(ToolSet::new([lookup().spec().definition.clone()]).unwrap())
}

/// A conversation of that many messages: a question, then calls, each with its result.
pub fn history(messages: usize) -> Vec<Arc<Message>> {
    let answer = record();
    rounds(messages, |_, call| ToolResult::ok(call, &answer))
}

/// The same with three documents in the results of each two calls.
fn history_with_documents(messages: usize) -> Vec<Arc<Message>> {
    rounds(messages, |step, call| {
        let found: Vec<Document> = (0..1 + step % 2).map(|of| pdf(2 * step + of)).collect();
        #[expect(clippy::unwrap_used, reason = "a result that cannot be made has nothing to measure")]
        ToolResult::of(call, &found).unwrap()
    })
}

fn rounds(messages: usize, result: impl Fn(usize, &ToolCall) -> ToolResult) -> Vec<Arc<Message>> {
    let mut history = vec![Message::system("You are an agent.").shared(), Message::user("Go on.").shared()];
    for step in 0.. {
        if history.len() >= messages {
            break;
        }
        let call = ToolCall::new("lookup", Arguments::new(format!("{{\"query\":\"{step}\"}}")))
            .with_provider_id(ProviderCallId::parse(format!("call_{step}")));
        history.push(Message::Assistant(AssistantMessage::new([call.clone().into()])).shared());
        history.push(Message::ToolResults(ToolResultsMessage::new([result(step, &call)])).shared());
    }
    history
}

fn pdf(number: usize) -> Document {
    let bytes = format!("%PDF-1.4\n% document {number}\n").repeat(200);
    Document::from_bytes(bytes, "application/pdf").with_file_name(format!("{number}.pdf"))
}

/// A question about that many documents.
pub fn documents(count: usize) -> Vec<Arc<Message>> {
    let document = |number: usize| Some(UserPart::Document(pdf(number)));
    let parts = (0..count).map(document).chain([UserPart::text("Compare them.")]);
    vec![Message::User(UserMessage::new(parts)).shared()]
}

/// A run over a conversation, before the step that follows its first.
///
/// # Panics
/// If it ends before.
pub fn started(messages: usize) -> (Runtime, AgentRun) {
    begun(&agent(10), history(messages).into_iter().skip(1))
}

/// The same behind a question about a document, so that each step is routed.
///
/// # Panics
/// If it ends before.
pub fn started_about_document(messages: usize) -> (Runtime, AgentRun) {
    begun(&agent(10), documents(1).into_iter().chain(history(messages).into_iter().skip(2)))
}

/// The same where the model sees the newest forty messages, whose results have about thirty documents.
///
/// # Panics
/// If it ends before.
pub fn started_behind_window(messages: usize) -> (Runtime, AgentRun) {
    begun(&windowed(10, 40), history_with_documents(messages).into_iter().skip(1))
}

fn begun(agent: &Agent, history: impl Iterator<Item = Arc<Message>>) -> (Runtime, AgentRun) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    #[expect(clippy::unwrap_used, reason = "without a runtime there is nothing to measure")]
    let runtime = runtime.unwrap();
    let mut run = agent.run(RunInput::from("Look further.").with_history(history));
    runtime.block_on(step(&mut run));
    (runtime, run)
}

/// An agent with one tool whose model asks for that many calls.
pub fn agent(calls: usize) -> Agent {
    windowed(calls, 2_000)
}

fn windowed(calls: usize, window: usize) -> Agent {
    let builder = Agent::builder(Instant::new(calls)).system("You are an agent.").tool(lookup());
    #[expect(clippy::unwrap_used, reason = "an agent that cannot be built has nothing to measure")]
    builder.window(MessageWindow::new(window)).build().unwrap()
}

/// Polls a run through its next step: the request, the reply, the tool and its result.
///
/// # Panics
/// If the run ends before.
pub async fn step(run: &mut AgentRun) {
    loop {
        let event = run.next().await;
        match event.map(|event| event.kind) {
            Some(EventKind::ToolResultsReceived { .. }) => return,
            #[expect(clippy::panic, reason = "a run that ended has no step to measure")]
            Some(EventKind::Finished(_)) | None => panic!("the run ended"),
            Some(_) => {}
        }
    }
}
