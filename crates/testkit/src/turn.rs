//! The replies of models that tests write.

use std::future::pending;

use async_stream::try_stream;
use attache_core::message::MadeDocument;
use attache_core::{
    Arguments, AssistantMessage, AssistantPart, ChunkStream, Citation, Completion, Document, ErrorKind,
    FinishReason, ProviderCallId, ProviderError, ReasoningPart, StreamChunk, ToolCall, Usage,
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

/// One reply of a model: its parts in order, then how it ends.
#[derive(Clone, Debug)]
pub struct Turn {
    parts: Vec<AssistantPart>,
    citations: Vec<Citation>,
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
        Self {
            parts: Vec::new(),
            citations: Vec::new(),
            finish: None,
            usage: Usage::new(10, 5),
            end: End::Done,
        }
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

    /// Adds a document that the model makes, such as an image.
    #[must_use]
    pub fn making(mut self, document: Document) -> Self {
        self.parts.push(AssistantPart::Document(MadeDocument::new(document)));
        self
    }

    /// Adds a passage that the provider says the reply rests on.
    #[must_use]
    pub fn citing(mut self, citation: Citation) -> Self {
        self.citations.push(citation);
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
                End::Error(kind) => Err(ProviderError::new(kind, "the script says so"))?,
                End::Done => {}
            }
            let mut message = AssistantMessage::new(self.parts.into_iter().map(Some));
            message.citations = self.citations;
            let finish = self.finish.unwrap_or(FinishReason::Stop).for_message(message.has_tool_calls());
            yield StreamChunk::Done(Box::new(Completion::new(message, finish, self.usage)));
        })
    }
}
