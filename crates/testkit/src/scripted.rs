//! A model that says what a test tells it to.

use std::collections::VecDeque;
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_stream::try_stream;
use attache_core::{
    Arguments, AssistantMessage, AssistantPart, ChatRequest, ChunkStream, Completion, ErrorKind,
    FinishReason, LlmProvider, Matrix, ModelCapabilities, ModelSettings, ProviderCallId, ProviderError,
    ProviderState, ReasoningPart, StateCell, StreamChunk, ToolCall, Usage,
};

/// The arguments of a scripted call: JSON, or any text, since models write any text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptedArguments(String);

impl From<&str> for ScriptedArguments {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl From<String> for ScriptedArguments {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<serde_json::Value> for ScriptedArguments {
    fn from(json: serde_json::Value) -> Self {
        Self(json.to_string())
    }
}

/// One reply of a [`ScriptedModel`].
#[derive(Clone, Debug)]
pub struct Turn {
    parts: Vec<AssistantPart>,
    finish: Option<FinishReason>,
    usage: Usage,
    end: End,
}

#[derive(Clone, Debug)]
enum End {
    Done,
    Error(ErrorKind),
    Hang,
    Cut,
}

impl Turn {
    /// A reply without anything.
    pub fn empty() -> Self {
        Self { parts: Vec::new(), finish: None, usage: Usage::new(10, 5), end: End::Done }
    }

    /// A reply of one text.
    pub fn text(text: &str) -> Self {
        Self::empty().and_text(text)
    }

    /// A reply of one call with these JSON arguments. The provider's id is `call_` and a number, unique in the reply.
    pub fn call(name: &str, arguments: impl Into<ScriptedArguments>) -> Self {
        Self::empty().and_call(name, arguments)
    }

    /// Adds a text.
    #[must_use]
    pub fn and_text(mut self, text: &str) -> Self {
        self.parts.extend(AssistantPart::text(text));
        self
    }

    /// Adds readable reasoning.
    #[must_use]
    pub fn and_thinking(mut self, text: &str) -> Self {
        self.parts.push(AssistantPart::Reasoning(ReasoningPart::new(text)));
        self
    }

    /// Adds a call.
    #[must_use]
    pub fn and_call(mut self, name: &str, arguments: impl Into<ScriptedArguments>) -> Self {
        let id = format!("call_{}", self.parts.len());
        let call = ToolCall::new(name, Arguments::new(arguments.into().0))
            .with_provider_id(ProviderCallId::parse(id));
        self.parts.push(AssistantPart::ToolCall(call));
        self
    }

    /// Sets why the reply ends; by default the parts decide.
    #[must_use]
    pub fn finishing(mut self, reason: FinishReason) -> Self {
        self.finish = Some(reason);
        self
    }

    /// Sets what it cost; 10 in and 5 out by default.
    #[must_use]
    pub fn costing(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }

    /// Fails after what was said so far.
    #[must_use]
    pub fn then_error(mut self, kind: ErrorKind) -> Self {
        self.end = End::Error(kind);
        self
    }

    /// Says nothing more, for ever.
    #[must_use]
    pub fn then_hang(mut self) -> Self {
        self.end = End::Hang;
        self
    }

    /// Ends the stream without its last chunk.
    #[must_use]
    pub fn then_cut(mut self) -> Self {
        self.end = End::Cut;
        self
    }
}

/// A model that replies from a script, in order, and keeps the requests it got. Clones share both.
#[derive(Clone, Debug)]
pub struct ScriptedModel {
    id: String,
    capabilities: Arc<ModelCapabilities>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    turns: Mutex<VecDeque<Turn>>,
    requests: Mutex<Vec<ChatRequest>>,
    state: StateCell,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ScriptedModel {
    /// A model that gives these replies, then errors. It takes text only.
    pub fn new(turns: impl IntoIterator<Item = Turn>) -> Self {
        let shared = Shared { turns: Mutex::new(turns.into_iter().collect()), ..Shared::default() };
        Self {
            id: "scripted/model".to_owned(),
            capabilities: Arc::new(ModelCapabilities::text_only("scripted", "model")),
            shared: Arc::new(shared),
        }
    }

    /// Gives it the capabilities that the bundled matrix has for a model, such as `anthropic` and
    /// `claude-sonnet-4-5`.
    #[must_use]
    pub fn with_capabilities_of(mut self, family: &str, model: &str) -> Self {
        self.capabilities = Arc::new(Matrix::bundled().resolve(family, model));
        self
    }

    /// Adds a reply to the end of the script.
    pub fn push(&self, turn: Turn) {
        lock(&self.shared.turns).push_back(turn);
    }

    /// The requests so far, in order.
    pub fn requests(&self) -> Vec<ChatRequest> {
        lock(&self.shared.requests).clone()
    }

    /// How many replies of the script are left.
    pub fn turns_left(&self) -> usize {
        lock(&self.shared.turns).len()
    }
}

impl LlmProvider for ScriptedModel {
    fn model_id(&self) -> &str {
        &self.id
    }

    fn capabilities(&self) -> &ModelCapabilities {
        &self.capabilities
    }

    fn settings(&self) -> Arc<ModelSettings> {
        self.shared.state.settings()
    }

    fn set_settings(&self, config: ModelSettings) {
        self.shared.state.set_settings(config);
    }

    fn state(&self) -> ProviderState {
        self.shared.state.state()
    }

    fn stream(&self, request: ChatRequest) -> ChunkStream {
        let shared = Arc::clone(&self.shared);
        Box::pin(try_stream! {
            shared.state.started();
            lock(&shared.requests).push(request);
            let turn = lock(&shared.turns).pop_front();
            let Some(turn) = turn else {
                Err(ProviderError::new(ErrorKind::InvalidRequest, "the script is at its end"))?;
                return;
            };
            let mut slot = 0;
            for part in &turn.parts {
                match part {
                    AssistantPart::Text(text) => {
                        // Two pieces, so that consumers must join them.
                        let half = text.text().chars().count() / 2;
                        let head: String = text.text().chars().take(half).collect();
                        let tail: String = text.text().chars().skip(half).collect();
                        for piece in [head, tail] {
                            if !piece.is_empty() {
                                yield StreamChunk::Content(piece);
                            }
                        }
                    }
                    AssistantPart::Reasoning(reasoning) => yield StreamChunk::Thinking(reasoning.text().to_owned()),
                    AssistantPart::ToolCall(call) => {
                        yield StreamChunk::ToolCallDelta {
                            slot,
                            id: call.id.clone(),
                            provider_id: call.provider_id.clone(),
                            name: Some(call.name.clone()),
                            arguments_delta: call.arguments.raw().to_owned(),
                        };
                        slot += 1;
                    }
                    _ => {}
                }
            }
            match turn.end {
                End::Cut => return,
                End::Hang => pending::<()>().await,
                End::Error(kind) => {
                    let error = ProviderError::new(kind, "the script says so");
                    shared.state.finished(Err(&error));
                    Err(error)?;
                }
                End::Done => {}
            }
            let message = AssistantMessage::new(turn.parts.into_iter().map(Some));
            let finish = turn.finish.unwrap_or(FinishReason::Stop).for_message(message.has_tool_calls());
            shared.state.finished(Ok(&turn.usage));
            yield StreamChunk::Done(Box::new(Completion::new(message, finish, turn.usage)));
        })
    }
}
