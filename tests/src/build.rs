//! Messages and documents with fixed ids.

use attache_core::message::ReplayData;
use attache_core::{
    Arguments, AssistantMessage, AssistantPart, Capture, Document, DocumentId, Message, MessageId,
    ProviderCallId, ReasoningPart, ResultStatus, ToolCall, ToolCallId, ToolResult, ToolResultsMessage,
    UserMessage, UserPart,
};
use serde::Serialize;
use serde_json::value::RawValue;

fn expect<T>(value: Option<T>) -> T {
    match value {
        Some(value) => value,
        None => unreachable!("the scenarios hold no blank ids"),
    }
}

/// A document with a UUID made of one digit.
pub(crate) fn document(digit: u8, name: &str, bytes: &[u8]) -> Document {
    let id =
        format!("{0}{0}{0}{0}{0}{0}{0}{0}-0000-4000-8000-{0}{0}{0}{0}{0}{0}{0}{0}{0}{0}{0}{0}", digit % 10);
    Document::from_bytes(bytes.to_vec(), "").with_file_name(name).with_id(expect(DocumentId::parse(id)))
}

pub(crate) fn pdf(digit: u8, name: &str) -> Document {
    document(digit, name, format!("%PDF-1.4\n% {name}\n").as_bytes())
}

pub(crate) fn png(digit: u8, name: &str) -> Document {
    document(digit, name, b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0")
}

/// A call whose ids end in a number.
pub(crate) fn call(number: u32, name: &str, arguments: &str) -> ToolCall {
    ToolCall::new(name, Arguments::new(arguments))
        .with_id(expect(ToolCallId::parse(format!("ours_{number}"))))
        .with_provider_id(ProviderCallId::parse(format!("call_{number}")))
}

pub(crate) fn calls(calls: &[&ToolCall]) -> Message {
    Message::Assistant(AssistantMessage::new(calls.iter().map(|call| (*call).clone().into())))
}

pub(crate) fn assistant(parts: impl IntoIterator<Item = Option<AssistantPart>>) -> Message {
    Message::Assistant(AssistantMessage::new(parts))
}

/// A result that returns this value.
pub(crate) fn returned<T: Serialize>(call: &ToolCall, value: &T) -> ToolResult {
    result(call, ResultStatus::Ok, value)
}

pub(crate) fn result<T: Serialize>(call: &ToolCall, status: ResultStatus, value: &T) -> ToolResult {
    match Capture::new().with_store_id("memory").finish(value) {
        Ok(tree) => ToolResult::new(call, status, tree),
        Err(error) => ToolResult::error(call, &error.to_string()),
    }
}

pub(crate) fn results(results: impl IntoIterator<Item = ToolResult>) -> Message {
    Message::ToolResults(ToolResultsMessage::new(results))
}

pub(crate) fn user(parts: impl IntoIterator<Item = Option<UserPart>>) -> Message {
    Message::User(UserMessage::new(parts))
}

pub(crate) fn event<T: Serialize>(payload: &T) -> Message {
    match Capture::new().with_store_id("memory").finish(payload) {
        Ok(tree) => Message::User(UserMessage::event(tree)),
        Err(error) => Message::user(error.to_string()),
    }
}

/// Reasoning as the Messages API sends it.
pub(crate) fn thinking(text: &str, signature: &str) -> Option<AssistantPart> {
    let data = serde_json::json!({ "type": "thinking", "thinking": text, "signature": signature });
    let raw = RawValue::from_string(data.to_string()).ok()?;
    let replay = ReplayData::new("anthropic", "claude-sonnet-4-5", raw);
    Some(AssistantPart::Reasoning(ReasoningPart::new(text).with_replay(replay)))
}

/// Numbers the messages, so that ids are the same at each run.
pub(crate) fn numbered(messages: Vec<Message>) -> Vec<std::sync::Arc<Message>> {
    let number = |(at, message): (usize, Message)| {
        message.with_id(expect(MessageId::parse(format!("m{at}")))).shared()
    };
    messages.into_iter().enumerate().map(number).collect()
}
