//! Conversations and models for the tests, the same at each run.

use std::sync::Arc;

use attache_core::capability::Matrix;
use attache_core::{
    Arguments, AssistantMessage, AssistantPart, Capture, ContentTree, Document, DocumentId, DocumentSource,
    Message, MessageId, ModelCapabilities, ProviderCallId, ProviderError, ResultStatus, ToolCall, ToolCallId,
    ToolResult, ToolResultsMessage, ToolSet, UserMessage, UserPart,
};
use attache_documents::{DocumentDecision, Materials, RouteOptions, Routing, route};

pub(crate) const PDF: &[u8] = b"%PDF-1.7 portable";
pub(crate) const PNG: &[u8] = b"\x89PNG\r\n\x1a\n pixels";

pub(crate) fn id(text: &str) -> DocumentId {
    DocumentId::parse(text).unwrap()
}

/// A document in memory; its id starts with its name.
pub(crate) fn doc(name: &str, bytes: &[u8], media_type: &str) -> Document {
    let known = id(&format!("{}-4f6a-8b1d", name.split('.').next().unwrap()));
    Document::from_bytes(bytes.to_vec(), media_type).with_id(known).with_file_name(name)
}

pub(crate) fn pdf(name: &str) -> Document {
    doc(name, PDF, "application/pdf")
}

pub(crate) fn png(name: &str) -> Document {
    doc(name, PNG, "image/png")
}

pub(crate) fn csv(name: &str) -> Document {
    doc(name, b"a,b\n1,2\n", "text/csv")
}

pub(crate) fn zip(name: &str) -> Document {
    doc(name, b"PK\x03\x04 packed", "application/zip")
}

pub(crate) fn tree(documents: &[Document]) -> ContentTree {
    Capture::new().with_store_id("main").finish(&documents).unwrap()
}

pub(crate) fn model(family: &str) -> ModelCapabilities {
    let model = match family {
        "openai-chat" => "gpt-4o",
        "anthropic" => "claude-opus-4-8",
        "bedrock-converse" => "eu.anthropic.claude-sonnet-4",
        _ => "any",
    };
    Matrix::bundled().resolve(family, model)
}

pub(crate) fn media(list: &[&str]) -> Vec<String> {
    list.iter().map(|media| (*media).to_owned()).collect()
}

/// A conversation under construction, with ids that count up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chat {
    pub(crate) messages: Vec<Arc<Message>>,
    calls: usize,
}

impl Chat {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn of(messages: Vec<Arc<Message>>) -> Self {
        Self { messages, ..Self::default() }
    }

    pub(crate) fn push(mut self, message: Message) -> Self {
        let id = MessageId::parse(format!("m{}", self.messages.len())).unwrap();
        self.messages.push(message.with_id(id).shared());
        self
    }

    pub(crate) fn user(self, text: &str) -> Self {
        self.push(Message::user(text))
    }

    pub(crate) fn author(self, text: &str, documents: &[Document]) -> Self {
        let documents = documents.iter().cloned().map(UserPart::Document).map(Some);
        self.push(Message::User(UserMessage::new([UserPart::text(text)].into_iter().chain(documents))))
    }

    pub(crate) fn event(self, payload: ContentTree) -> Self {
        self.push(Message::User(UserMessage::event(payload)))
    }

    pub(crate) fn reply(self, text: &str) -> Self {
        self.push(Message::assistant(text))
    }

    /// Calls of tools, and their results.
    pub(crate) fn calls(self, outputs: &[(&str, ContentTree)]) -> Self {
        self.calls_with(outputs, |_, _| {})
    }

    pub(crate) fn calls_with(
        mut self,
        outputs: &[(&str, ContentTree)],
        change: impl Fn(usize, &mut ToolResult),
    ) -> Self {
        let mut calls = Vec::new();
        let mut results = Vec::new();
        for (at, (tool, output)) in outputs.iter().enumerate() {
            self.calls += 1;
            let call = ToolCall::new(*tool, Arguments::new("{}"))
                .with_id(ToolCallId::parse(format!("ours_{}", self.calls)).unwrap())
                .with_provider_id(ProviderCallId::parse(format!("call_{}", self.calls)));
            let mut result = ToolResult::new(&call, ResultStatus::Ok, output.clone());
            change(at, &mut result);
            results.push(result);
            calls.push(Some(AssistantPart::ToolCall(call)));
        }
        self.push(Message::Assistant(AssistantMessage::new(calls)))
            .push(Message::ToolResults(ToolResultsMessage::new(results)))
    }

    /// One call that returned these documents.
    pub(crate) fn tool(self, documents: &[Document]) -> Self {
        self.calls(&[("find", tree(documents))])
    }

    pub(crate) fn route(&self, family: &str) -> Routing {
        self.routed(&model(family), &Materials::new(), &RouteOptions::new()).unwrap()
    }

    pub(crate) fn routed(
        &self,
        model: &ModelCapabilities,
        materials: &Materials,
        options: &RouteOptions,
    ) -> Result<Routing, ProviderError> {
        route(&self.messages, model, &ToolSet::default(), materials, options)
    }
}

/// DocumentOutcome and reason of each decision, one a line.
pub(crate) fn outcomes(routing: &Routing) -> Vec<&'static str> {
    routing.report.decisions.iter().map(|decision| decision.outcome.as_str()).collect()
}

pub(crate) fn only(routing: &Routing) -> &DocumentDecision {
    let [decision] = &*routing.report.decisions else { panic!("{:?}", routing.report) };
    decision
}

/// The content of a message as a list: texts as they are, documents as `[media type, name]`, marked if it is an address
/// that stands there.
pub(crate) fn shown(message: &Message) -> Vec<String> {
    let content: Vec<&UserPart> = match message {
        Message::User(user) => user.shown().iter().collect(),
        Message::ToolResults(results) => results.results.iter().flat_map(ToolResult::attached).collect(),
        _ => Vec::new(),
    };
    let show = |content: &UserPart| match content {
        UserPart::Text(text) => text.text().to_owned(),
        UserPart::Document(document) => {
            let (media, name) = (document.media_type(), document.file_name().unwrap_or("?"));
            if matches!(document.source(), DocumentSource::External { .. }) {
                return format!("({media} {name} at its address)");
            }
            assert!(document.bytes().is_some(), "what else is routed natively is in memory");
            format!("({media} {name})")
        }
        other => panic!("routing emits texts and documents only, not {other:?}"),
    };
    content.into_iter().map(show).collect()
}

/// Everything that routing shows, message by message.
pub(crate) fn transcript(messages: &[Arc<Message>]) -> String {
    let mut out = String::new();
    for message in messages {
        let role = if message.is_tool_call_documents() {
            "user (toolCallDocuments)".to_owned()
        } else {
            format!("{:?}", message.role()).to_lowercase()
        };
        out.push_str(&format!("{role}\n"));
        match &**message {
            Message::ToolResults(results) => {
                for result in &results.results {
                    out.push_str(&format!("  = {} {}\n", result.call_id, result.tree.model_text()));
                    let content = result.attached().to_vec();
                    let mut alone = UserMessage::new([]);
                    alone.parts = content;
                    list(&mut out, &shown(&Message::User(alone)));
                }
            }
            Message::Assistant(assistant) => {
                for call in assistant.tool_calls() {
                    out.push_str(&format!("  > {} {}\n", call.id, call.name));
                }
            }
            _ => list(&mut out, &shown(message)),
        }
    }
    out
}

fn list(out: &mut String, parts: &[String]) {
    for part in parts {
        out.push_str(&format!("  - {}\n", part.replace('\n', "\n    ")));
    }
}
