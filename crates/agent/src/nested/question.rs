//! A tool asks people while it works: a run inside it, of one question. It waits, is kept and is resumed as other runs
//! inside tools are.

use std::sync::{Arc, LazyLock};

use attache_core::provider::ProviderState;
use attache_core::tool::{Deferred, People, ToolSpec, Unanswered};
use attache_core::{
    Arguments, AssistantMessage, AssistantPart, BoxFuture, ChatRequest, ChunkStream, Completion, Effect,
    FinishReason, LlmProvider, Message, ModelCapabilities, ModelSettings, ResultStatus, StreamChunk, Tool,
    ToolCall, ToolContext, ToolDefinition, ToolError, ToolOutput, Usage,
};
use serde_json::{Map, Value, json};

use crate::agent::Agent;
use crate::event::EventKind;
use crate::input::RunInput;
use crate::journal::Scope;
use crate::log::NestedAgent;
use crate::outcome::{EndReason, Outcome};
use crate::run::Waiting;

/// The name of the call that waits for the answer.
const NAME: &str = "question";

/// The people behind the run whose tool asks.
pub(crate) static PEOPLE: &dyn People = &Behind;

struct Behind;

impl People for Behind {
    fn ask(&self, question: Deferred) -> BoxFuture<'static, Result<Value, Unanswered>> {
        Box::pin(ask(question))
    }

    fn left_off(&self) -> Option<String> {
        Scope::current().and_then(|scope| scope.left_off())
    }
}

async fn ask(question: Deferred) -> Result<Value, Unanswered> {
    let scope = Scope::current().ok_or(Unanswered::Nobody)?;
    let around = scope.shared();
    let stays = question.handle.is_some() && !scope.is_volatile();
    if !stays && around.patience.is_zero() {
        return Err(Unanswered::Nobody);
    }
    let prompt = question.prompt.clone().unwrap_or_default();
    // The same words with another handle are another question, so its log is found by both.
    let handle = question.handle.clone().unwrap_or_default();
    let mut builder = Agent::builder(attache_core::ModelHandle::new(Questioner))
        .tools([Arc::new(Question::new(question)) as Arc<dyn Tool>])
        .system(handle)
        .patience(around.patience);
    // Nobody asks a model here, so there is nothing to look at.
    builder.inner.observers = Some(Arc::from([]));
    let agent = builder.build().map_err(|_| Unanswered::Nobody)?;
    let mut run = agent.run(RunInput::new([Message::user(prompt).shared()]));
    let _known = around.control.with_inside(run.control());
    let path: Arc<[NestedAgent]> = Arc::from([scope.way()]);
    let mut end = None;
    while let Some(event) = run.next().await {
        match &event.kind {
            EventKind::Finished(result) => end = result.clone().ok(),
            EventKind::CallDeferred(_) => around.tell(Box::new(EventKind::nested(&path, event))).await,
            _ => {}
        }
    }
    let outcome = end.ok_or(Unanswered::Nobody)?;
    match outcome.reason {
        EndReason::InputRequired | EndReason::PendingExternal if stays => {
            let Outcome { reason, pending, approvals, deferred, .. } = *outcome;
            scope.pause(Waiting { reason, calls: pending, approvals, deferred });
            Err(Unanswered::Later)
        }
        _ => answer(&outcome),
    }
}

/// The answer, once somebody has given one.
fn answer(outcome: &Outcome) -> Result<Value, Unanswered> {
    let results = outcome.messages.iter().rev().find_map(|message| match &**message {
        Message::ToolResults(results) => results.results.first(),
        _ => None,
    });
    match results {
        Some(result) if outcome.reason == EndReason::Answer => match result.status {
            ResultStatus::Ok => serde_json::from_str(result.tree.json()).map_err(|_| Unanswered::Nobody),
            _ => Err(Unanswered::Declined { why: result.tree.model_text().to_string() }),
        },
        _ => Err(Unanswered::Nobody),
    }
}

/// The tool whose result is the answer.
struct Question {
    spec: ToolSpec,
    question: Deferred,
}

impl Question {
    fn new(question: Deferred) -> Self {
        let definition = ToolDefinition::new(NAME, "Asks people", json!({"type": "object"}));
        Self { spec: ToolSpec::new(definition).with_effect(Effect::Read), question }
    }
}

impl Tool for Question {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run(&self, _: Map<String, Value>, _: ToolContext) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(std::future::ready(Ok(ToolOutput::deferred(self.question.clone()))))
    }
}

/// In the place of a model: it asks, and has nothing to say to the answer.
struct Questioner;

static CAPABILITIES: LazyLock<ModelCapabilities> =
    LazyLock::new(|| ModelCapabilities::text_only("attache", NAME));

impl LlmProvider for Questioner {
    fn model_id(&self) -> &str {
        "attache/question"
    }

    fn capabilities(&self) -> &ModelCapabilities {
        &CAPABILITIES
    }

    fn settings(&self) -> Arc<ModelSettings> {
        Arc::default()
    }

    fn set_settings(&self, _: ModelSettings) {}

    fn state(&self) -> ProviderState {
        ProviderState::default()
    }

    fn stream(&self, request: ChatRequest) -> ChunkStream {
        let is_answered =
            matches!(request.messages.last().map(|last| &**last), Some(Message::ToolResults(_)));
        let (part, reason) = match is_answered {
            true => (AssistantPart::text("answered"), FinishReason::Stop),
            false => {
                let call = ToolCall::new(NAME, Arguments::new("{}"));
                (Some(AssistantPart::ToolCall(call)), FinishReason::ToolCalls)
            }
        };
        let message = AssistantMessage::new([part]);
        let completion = Completion::new(message, reason, Usage::new(0, 0));
        let said = Ok(StreamChunk::Done(Box::new(completion)));
        Box::pin(futures_util::stream::once(std::future::ready(said)))
    }
}
