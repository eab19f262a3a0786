//! Content in telemetry, which is disabled by default.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use attache_core::{
    AssistantMessage, AssistantPart, ChatRequest, Completion, Document, Message, ToolCall, ToolResult,
    UserPart,
};
use serde_json::{Value, json};

/// The content that is exported if it is enabled with [`Telemetry::with_content`](crate::Telemetry::with_content):
/// messages, instructions, tool definitions, arguments and results. Documents are exported with name, media type and
/// id, never with their bytes. The context that tools receive in addition to their arguments is never exported.
///
/// ```
/// use attache_otel::{Content, ContentField, Telemetry};
///
/// let content = Content::new().with_redaction(|field, value| match field {
///     // Arguments may name people.
///     ContentField::ToolArguments => None,
///     _ => Some(value),
/// });
/// let telemetry = Telemetry::new().with_content(content);
/// # let _ = telemetry;
/// ```
#[derive(Clone, Default)]
#[must_use]
pub struct Content {
    redact: Option<Arc<Redact>>,
}

type Redact = dyn Fn(ContentField, Value) -> Option<Value> + Send + Sync;

/// A field of content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ContentField {
    /// The messages of a request.
    InputMessages,
    /// The reply.
    OutputMessages,
    /// The instructions of a request.
    SystemInstructions,
    /// The tools that a request offers.
    ToolDefinitions,
    /// The arguments of a call.
    ToolArguments,
    /// The result of a call.
    ToolResult,
}

impl Content {
    /// Exports all content.
    pub fn new() -> Self {
        Self::default()
    }

    /// Changes or removes each field before it is exported; a field for which `redact` panics is removed. The values
    /// have the form that the conventions define for the field; a large value can be stored elsewhere and replaced by
    /// its URL.
    pub fn with_redaction(
        mut self,
        redact: impl Fn(ContentField, Value) -> Option<Value> + Send + Sync + 'static,
    ) -> Self {
        self.redact = Some(Arc::new(redact));
        self
    }

    fn field(&self, field: ContentField, value: Value) -> Option<(ContentField, Value)> {
        let Some(redact) = &self.redact else { return Some((field, value)) };
        // Content that nobody could look at is not exported.
        let redacted = catch_unwind(AssertUnwindSafe(|| redact(field, value)));
        redacted.ok().flatten().map(|value| (field, value))
    }

    /// The fields of a request.
    pub(crate) fn request(&self, request: &ChatRequest) -> Vec<(ContentField, Value)> {
        let own = request.settings.system.iter().map(|text| text_part(text));
        let said = request.messages.iter().filter_map(|message| match &**message {
            Message::System(system) => Some(system.parts.iter().map(|part| text_part(part.text()))),
            _ => None,
        });
        let system: Vec<Value> = own.chain(said.flatten()).collect();
        let tools: Vec<Value> = request
            .tools
            .iter()
            .map(|(name, tool)| {
                json!({
                    "type": "function",
                    "name": name,
                    "description": tool.description(),
                    "parameters": tool.input_schema(),
                })
            })
            .collect();
        let messages: Vec<Value> = request.messages.iter().filter_map(|message| input(message)).collect();
        let fields = [
            (ContentField::SystemInstructions, system),
            (ContentField::InputMessages, messages),
            (ContentField::ToolDefinitions, tools),
        ];
        let fields = fields.into_iter().filter(|(_, items)| !items.is_empty());
        fields.filter_map(|(field, items)| self.field(field, Value::Array(items))).collect()
    }

    /// The fields of a reply.
    pub(crate) fn reply(&self, completion: &Completion) -> Vec<(ContentField, Value)> {
        let reason = match completion.finish_reason.as_str() {
            "tool_calls" => "tool_call",
            "refusal" => "content_filter",
            "pause" => "stop",
            reason => reason,
        };
        let mut message = reply(&completion.message);
        if let Some(members) = message.as_object_mut() {
            members.insert("finish_reason".to_owned(), reason.into());
        }
        self.field(ContentField::OutputMessages, json!([message])).into_iter().collect()
    }

    /// The arguments of a call.
    pub(crate) fn arguments(&self, call: &ToolCall) -> Option<(ContentField, Value)> {
        self.field(ContentField::ToolArguments, arguments(call))
    }

    /// The result of a call.
    pub(crate) fn result(&self, result: &ToolResult) -> Option<(ContentField, Value)> {
        self.field(ContentField::ToolResult, response(result))
    }
}

impl std::fmt::Debug for Content {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Content").field("is_redacted", &self.redact.is_some()).finish()
    }
}

fn text_part(text: &str) -> Value {
    json!({"type": "text", "content": text})
}

fn file(document: &Document) -> Value {
    let kind = document.media_type().essence().split('/').next();
    let modality = kind.filter(|kind| ["image", "audio", "video"].contains(kind)).unwrap_or("document");
    json!({
        "type": "file",
        "modality": modality,
        "mime_type": document.media_type().essence(),
        "file_id": document.id().as_str(),
        "file_name": document.file_name(),
    })
}

fn arguments(call: &ToolCall) -> Value {
    let raw = call.arguments.raw();
    serde_json::from_str(raw).unwrap_or_else(|_| raw.into())
}

fn response(result: &ToolResult) -> Value {
    serde_json::from_str(result.tree.json()).unwrap_or_else(|_| result.tree.model_text().into())
}

fn message(role: &str, parts: impl Iterator<Item = Value>) -> Value {
    json!({"role": role, "parts": parts.collect::<Value>()})
}

fn input(of: &Message) -> Option<Value> {
    Some(match of {
        Message::User(user) => {
            let part = |part: &UserPart| match part {
                UserPart::Text(text) => text_part(text.text()),
                UserPart::Document(document) => file(document),
                UserPart::Object(tree) => text_part(&tree.model_text()),
                _ => Value::Null,
            };
            message("user", user.parts.iter().map(part).filter(|part| !part.is_null()))
        }
        Message::Assistant(assistant) => reply(assistant),
        Message::ToolResults(results) => {
            let part = |result: &ToolResult| {
                json!({
                    "type": "tool_call_response",
                    "id": result.call_id.as_str(),
                    "response": response(result),
                })
            };
            message("tool", results.results.iter().map(part))
        }
        _ => return None,
    })
}

fn reply(of: &AssistantMessage) -> Value {
    let part = |part: &AssistantPart| match part {
        AssistantPart::Text(text) => Some(text_part(text.text())),
        AssistantPart::Reasoning(reasoning) => {
            Some(json!({"type": "reasoning", "content": reasoning.text()}))
        }
        AssistantPart::ToolCall(call) => Some(json!({
            "type": "tool_call",
            "id": call.id.as_str(),
            "name": call.name,
            "arguments": arguments(call),
        })),
        AssistantPart::Document(made) => Some(file(&made.document)),
        _ => None,
    };
    message("assistant", of.parts.iter().filter_map(part))
}
