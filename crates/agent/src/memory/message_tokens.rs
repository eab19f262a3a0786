//! The number of tokens that a message has, whole and cleared.

use std::sync::Arc;

use attache_core::{
    AssistantPart, ContentTree, Document, Message, ModelCapabilities, ToolResult, ToolResultsMessage,
    ToolSet, UserPart,
};
use attache_documents::estimated_tokens;

use crate::memory::past::Past;
use crate::memory::text_tokens::{EstimatedTokens, TokenCounter};

/// Results up to that many characters are not worth clearing.
pub(super) const SHORT_RESULT: usize = 400;

/// Tokens that each message has beside its texts, and each call and result.
const PER_MESSAGE: u64 = 4;
const PER_CALL: u64 = 8;
/// The label of a document.
const PER_DOCUMENT: u64 = 30;
/// The note in the place of a result.
const PER_NOTE: u64 = 45;

/// The tokens of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Tokens {
    pub(super) full: u64,
    /// With its results cleared, and without reasoning that no provider wants back.
    pub(super) slim: u64,
}

/// Counts a message as the model is shown it.
pub(super) fn tokens(message: &Message, counter: &dyn TokenCounter, past: &Past<'_>) -> Tokens {
    let both = |tokens: u64| Tokens { full: tokens + PER_MESSAGE, slim: tokens + PER_MESSAGE };
    let text = |text: &str| counter.count_for(text, past.capabilities);
    match message {
        Message::System(system) => both(system.parts.iter().map(|part| text(part.text())).sum()),
        Message::User(_) if message.is_tool_call_documents() => Tokens::default(),
        Message::User(user) => both(user.parts.iter().map(|part| of_part(part, counter, past)).sum()),
        Message::Assistant(reply) => {
            let mut counted = both(0);
            for part in &reply.parts {
                let tokens = match part {
                    AssistantPart::Text(part) => text(part.text()),
                    AssistantPart::Reasoning(part) => text(part.text()),
                    AssistantPart::ToolCall(call) => text(&call.name) + text(call.arguments.raw()) + PER_CALL,
                    AssistantPart::Document(made) => of_document(&made.document, past),
                    _ => 0,
                };
                counted.full += tokens;
                counted.slim += if is_spare(part) { 0 } else { tokens };
            }
            counted
        }
        Message::ToolResults(results) => {
            let mut counted = both(0);
            for result in &results.results {
                let json = result.tree.json();
                let shown = match json.char_indices().nth(past.result_chars) {
                    Some((end, _)) => json.get(..end).unwrap_or(json),
                    None => json,
                };
                let documents: u64 =
                    result.documents.iter().map(|document| of_document(document, past)).sum();
                let tokens = text(shown) + documents + PER_CALL;
                counted.full += tokens;
                counted.slim += if is_long(result) { PER_NOTE.min(tokens) } else { tokens };
            }
            counted
        }
        _ => Tokens::default(),
    }
}

/// Estimates a request as the model is shown it.
pub(crate) fn of_request(
    messages: &[Arc<Message>],
    tools: &Arc<ToolSet>,
    capabilities: &ModelCapabilities,
    result_chars: usize,
) -> u64 {
    let past = Past {
        history: messages,
        task: 0,
        tools,
        capabilities,
        result_chars,
        reader: None,
        read_tokens: None,
        counted: None,
        failed_at: None,
        is_full: false,
    };
    let shown = messages.iter().map(|message| tokens(message, &EstimatedTokens, &past).full);
    shown.sum::<u64>() + of_tools(&past, &EstimatedTokens)
}

/// Counts the definitions of tools.
pub(super) fn of_tools(past: &Past<'_>, counter: &dyn TokenCounter) -> u64 {
    let text = |text: &str| counter.count_for(text, past.capabilities);
    past.tools.iter().fold(0, |sum, (_, tool)| {
        let schema = tool.input_schema().to_string();
        // Each API is told of them in its own way.
        let examples: u64 = tool.examples().iter().map(|example| text(&example.to_string())).sum();
        sum + text(tool.name()) + text(tool.description()) + text(&schema) + examples + PER_CALL
    })
}

fn of_part(part: &UserPart, counter: &dyn TokenCounter, past: &Past<'_>) -> u64 {
    match part {
        UserPart::Text(text) => counter.count_for(text.text(), past.capabilities),
        UserPart::Object(tree) => {
            let documents: u64 = tree.shown().map(|document| of_document(document, past)).sum();
            counter.count_for(tree.json(), past.capabilities) + documents
        }
        UserPart::Document(document) => of_document(document, past),
        _ => 0,
    }
}

fn of_document(document: &Document, past: &Past<'_>) -> u64 {
    estimated_tokens(document, &past.capabilities.files) + PER_DOCUMENT
}

/// True for reasoning that no provider wants back.
fn is_spare(part: &AssistantPart) -> bool {
    matches!(part, AssistantPart::Reasoning(reasoning) if reasoning.replay().is_none())
}

/// True if a result is worth clearing.
fn is_long(result: &ToolResult) -> bool {
    !result.documents.is_empty() || result.tree.json().len() > SHORT_RESULT
}

/// The message without long results, and without reasoning that no provider wants back. A message that stays as it is
/// stays the same pointer; `None` if nothing of it is left.
pub(super) fn slim(message: &Arc<Message>, reader: Option<&str>) -> Option<Arc<Message>> {
    match &**message {
        Message::User(_) if message.is_tool_call_documents() => None,
        Message::ToolResults(results) if results.results.iter().any(is_long) => {
            let short = results.results.iter().map(|result| match is_long(result) {
                true => cleared(result, reader),
                false => result.clone(),
            });
            let mut short = ToolResultsMessage::with_id(results.id.derived("cleared"), short);
            short.metadata.clone_from(&results.metadata);
            Some(Message::ToolResults(short).shared())
        }
        Message::Assistant(reply) if reply.parts.iter().any(is_spare) => {
            let mut reply = reply.clone();
            reply.parts.retain(|part| !is_spare(part));
            reply.id = reply.id.derived("cleared");
            (!reply.parts.is_empty()).then(|| Message::Assistant(reply).shared())
        }
        _ => Some(Arc::clone(message)),
    }
}

/// The result with a note in the place of its text, which says how to get it back.
fn cleared(result: &ToolResult, reader: Option<&str>) -> ToolResult {
    let text = result.tree.model_text();
    let chars = text.chars().count();
    let mut note = format!("[This old result of {chars} characters is not shown any more");
    let documents: Vec<String> = result.documents.iter().map(named).collect();
    match reader {
        Some(tool) if chars > SHORT_RESULT => {
            note.push_str(&format!("; {tool} reads it as document {}", kept_id(result)));
        }
        _ => {}
    }
    if !documents.is_empty() {
        note.push_str(&format!("; its documents: {}", documents.join(", ")));
    }
    note.push_str(".]");
    let mut short = result.clone();
    short.tree = ContentTree::text(&note);
    (short.documents, short.withheld) = (Vec::new(), Vec::new());
    short
}

/// A document as lists name it.
pub(super) fn named(document: &Document) -> String {
    let name: String =
        document.file_name().unwrap_or_default().chars().filter(|c| !c.is_control()).take(80).collect();
    let kind = document.media_type().essence();
    match name.is_empty() {
        true => format!("{} ({kind})", document.id()),
        false => format!("{} ({name}, {kind})", document.id()),
    }
}

/// The id of the document that a tool reads the whole result as.
pub(crate) fn kept_id(result: &ToolResult) -> String {
    format!("result-{}", result.call_id)
}
