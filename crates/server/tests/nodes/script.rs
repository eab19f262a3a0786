//! The model of a node: its words are a function of the conversation, so that it says the same in each process.

use std::sync::Arc;
use std::time::Duration;

use attache_core::provider::ProviderState;
use attache_core::{
    Arguments, AssistantMessage, AssistantPart, ChatRequest, ChunkStream, Completion, FinishReason,
    LlmProvider, Message, ModelCapabilities, ModelSettings, StreamChunk, ToolCall, ToolCallId, Usage,
    UserPart,
};
use attache_testkit::ScriptedModel;
use futures_util::StreamExt as _;

/// The pieces of a step's text.
const PIECES: usize = 20;
/// The time between two of them.
const PACE: Duration = Duration::from_millis(4);

/// The text of a step.
pub(crate) fn text(tag: &str, step: usize) -> String {
    (0..PIECES).map(|piece| format!("{tag}.{step}.{piece} ")).collect()
}

/// The id of the call of a step.
pub(crate) fn call(tag: &str, step: usize) -> String {
    format!("{tag}-{step}")
}

/// A model that follows the plan in the last question: `tag: tool tool …`. In each step it says some words and calls the
/// next tool; behind the last one it answers.
pub(crate) struct Planned(ScriptedModel);

impl Planned {
    pub(crate) fn new() -> Self {
        Self(ScriptedModel::new([]).unverified())
    }
}

impl LlmProvider for Planned {
    fn model_id(&self) -> &str {
        "test/planned"
    }

    fn capabilities(&self) -> &ModelCapabilities {
        self.0.capabilities()
    }

    fn settings(&self) -> Arc<ModelSettings> {
        Arc::default()
    }

    fn set_settings(&self, _: ModelSettings) {}

    fn state(&self) -> ProviderState {
        self.0.state()
    }

    fn stream(&self, request: ChatRequest) -> ChunkStream {
        let is_question = |message: &Arc<Message>| match &**message {
            Message::User(user) => user.parts.iter().find_map(|part| match part {
                UserPart::Text(text) => text.text().contains(": ").then(|| text.text().to_owned()),
                _ => None,
            }),
            _ => None,
        };
        let messages = &request.messages;
        let asked = messages.iter().rposition(|message| is_question(message).is_some()).unwrap();
        let question = is_question(&messages[asked]).unwrap();
        let replies = messages[asked..].iter().filter(|message| matches!(&***message, Message::Assistant(_)));
        let step = replies.count();
        let (tag, plan) = question.split_once(": ").unwrap();
        let tool = plan.split_whitespace().nth(step);
        let said = text(tag, step);
        let pieces: Vec<_> =
            said.split_inclusive(' ').map(|piece| Ok(StreamChunk::Content(piece.to_owned()))).collect();
        let mut parts = vec![AssistantPart::text(said)];
        if let Some(tool) = tool {
            let id = ToolCallId::parse(call(tag, step)).unwrap();
            let call = ToolCall::new(tool, Arguments::new("{\"n\":1}")).with_id(id);
            parts.push(Some(AssistantPart::ToolCall(call)));
        }
        let reason = if tool.is_some() { FinishReason::ToolCalls } else { FinishReason::Stop };
        let message = AssistantMessage::new(parts);
        let done = Ok(StreamChunk::Done(Box::new(Completion::new(message, reason, Usage::new(1, 1)))));
        let paced = futures_util::stream::iter(pieces.into_iter().chain([done]));
        Box::pin(paced.then(|piece| async move {
            tokio::time::sleep(PACE).await;
            piece
        }))
    }
}
