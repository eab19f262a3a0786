//! Scripted replies of models.

use std::future::pending;

use async_stream::try_stream;
use attache_core::message::MadeDocument;
use attache_core::{
    Arguments, AssistantMessage, AssistantPart, ChunkStream, Citation, Completion, Document, ErrorKind,
    FinishReason, ProviderCallId, ProviderError, ReasoningPart, StreamChunk, ToolCall, Usage,
};

/// The arguments of a scripted call: JSON or any other text, since models can write any text.
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

/// One reply of a model: its parts in order, and its end.
#[derive(Clone, Debug)]
pub struct Turn {
    parts: Vec<AssistantPart>,
    citations: Vec<Citation>,
    finish: Option<FinishReason>,
    /// `None` until the test says it.
    usage: Option<Usage>,
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
    /// Creates an empty reply.
    pub fn empty() -> Self {
        Self { parts: Vec::new(), citations: Vec::new(), finish: None, usage: None, end: End::Done }
    }

    /// Creates a reply with one text.
    pub fn text(text: &str) -> Self {
        Self::empty().and_text(text)
    }

    /// Creates a reply with one call with these JSON arguments. The provider's id is `call_` and a number, unique in
    /// the reply.
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

    /// Adds a document that the model generates, such as an image.
    #[must_use]
    pub fn making(mut self, document: Document) -> Self {
        self.parts.push(AssistantPart::Document(MadeDocument::new(document)));
        self
    }

    /// Adds a citation by the provider.
    #[must_use]
    pub fn citing(mut self, citation: Citation) -> Self {
        self.citations.push(citation);
        self
    }

    /// Sets the finish reason; by default it follows from the parts.
    #[must_use]
    pub fn finishing(mut self, reason: FinishReason) -> Self {
        self.finish = Some(reason);
        self
    }

    /// Sets the token usage; 10 input and 5 output tokens by default, and none for a reply that fails.
    #[must_use]
    pub fn costing(mut self, usage: Usage) -> Self {
        self.usage = Some(usage);
        self
    }

    /// Fails after the content so far.
    #[must_use]
    pub fn then_error(mut self, kind: ErrorKind) -> Self {
        self.end = End::Error(kind);
        self
    }

    /// Hangs after the content so far.
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

    /// The calls in it.
    pub(crate) fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            AssistantPart::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    /// Its content, in a few words.
    pub(crate) fn gist(&self) -> String {
        let parts = self.parts.iter().filter_map(|part| match part {
            AssistantPart::Text(text) => Some(format!("the text {:?}", text.text())),
            AssistantPart::ToolCall(call) => {
                Some(format!("the call {}({})", call.name, call.arguments.raw()))
            }
            AssistantPart::Reasoning(_) => Some("thinking".to_owned()),
            AssistantPart::Document(made) => Some(format!("a document of {}", made.document.media_type())),
            _ => None,
        });
        let parts: Vec<String> = parts.collect();
        if parts.is_empty() { "nothing".to_owned() } else { parts.join(", ") }
    }

    /// The chunks that say it.
    pub(crate) fn into_chunks(self) -> ChunkStream {
        Box::pin(try_stream! {
            let mut slot = 0;
            for part in &self.parts {
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
            match self.end {
                End::Cut => return,
                End::Hang => pending::<()>().await,
                End::Error(kind) => {
                    let error = ProviderError::new(kind, "the script says so");
                    Err(self.usage.iter().fold(error, |error, usage| error.with_usage(usage)))?;
                }
                End::Done => {}
            }
            let mut message = AssistantMessage::new(self.parts.into_iter().map(Some));
            message.citations = self.citations;
            let finish = self.finish.unwrap_or(FinishReason::Stop).for_message(message.has_tool_calls());
            yield StreamChunk::Done(Box::new(Completion::new(message, finish, self.usage.unwrap_or_else(|| Usage::new(10, 5)))));
        })
    }
}
