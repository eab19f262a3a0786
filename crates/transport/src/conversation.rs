//! A conversation from request to request: what is kept of it, what stands before and behind its messages.

use std::sync::Arc;

use attache_core::{AssistantMessage, ChatRequest, Message, ModelSettings, ProviderError, TextPart, ToolSet};
use serde_json::{Map, Value};

use crate::encoded_log::{ItemWriter, is_same_message};
use crate::error::configuration;
use crate::json::write_json;

/// Makes a request with what is kept of its conversation under `key`, if that fits, and keeps it again.
///
/// # Errors
/// The errors of `make`; the state is kept all the same.
pub fn with_kept<S: Send + Sync + 'static, T>(
    request: &ChatRequest,
    key: &str,
    fits: impl FnOnce(&S) -> bool,
    new: impl FnOnce() -> S,
    make: impl FnOnce(&mut S) -> Result<T, ProviderError>,
) -> Result<T, ProviderError> {
    let kept = request.transcript.as_ref().and_then(|transcript| transcript.take::<S>(key));
    let mut state = kept.filter(fits).unwrap_or_else(new);
    let made = make(&mut state);
    if let Some(transcript) = &request.transcript {
        transcript.put(key, state);
    }
    made
}

/// True if both are the same: at once where they share memory, else by comparison.
pub fn is_same<T: PartialEq>(a: &Arc<T>, b: &Arc<T>) -> bool {
    Arc::ptr_eq(a, b) || a == b
}

/// True if both sets give every tool the same name on the wire.
pub fn same_names(a: &Arc<ToolSet>, b: &Arc<ToolSet>) -> bool {
    let agree = |names: &ToolSet, other: &ToolSet| {
        names.iter().all(|(wire, definition)| other.wire_name(definition.name()) == wire)
    };
    Arc::ptr_eq(a, b) || agree(a, b) && agree(b, a)
}

/// The number of messages, from the first on, that were seen before.
pub fn count_seen(messages: &[Arc<Message>], seen: &[Arc<Message>]) -> usize {
    messages.iter().zip(seen).take_while(|(a, b)| is_same_message(a, b)).count()
}

/// The number of messages of instructions before everything else.
pub fn count_leading(messages: &[Arc<Message>]) -> usize {
    messages.iter().take_while(|message| matches!(&***message, Message::System(_))).count()
}

/// The message whose calls the results at `at` answer, and its index.
pub fn asked(messages: &[Arc<Message>], at: usize) -> Option<(usize, &AssistantMessage)> {
    let before = at.checked_sub(1)?;
    match &**messages.get(before)? {
        Message::Assistant(assistant) => Some((before, assistant)),
        _ => None,
    }
}

/// A number that tells where results stand, for APIs in which they repeat what the message before them says. It is one for
/// as long as that message is held, as an [`EncodedLog`](crate::EncodedLog) holds all that it has rendered.
#[inline]
pub fn behind(messages: &[Arc<Message>], at: usize) -> u64 {
    let before = at.checked_sub(1).and_then(|at| messages.get(at));
    // The place of the id in memory, which all states of a message share: it is looked at for each result of each request.
    before.map_or(0, |before| before.id().as_str().as_ptr().addr() as u64)
}

/// The instructions of the options, unless they are blank.
pub fn own_system(settings: &ModelSettings) -> Option<&str> {
    settings.system.as_deref().filter(|text| !text.trim().is_empty())
}

/// The texts of the instructions: those of the options, and those of the first `leading` messages.
pub fn system_texts<'a>(
    settings: &'a ModelSettings,
    messages: &'a [Arc<Message>],
    leading: usize,
) -> impl Iterator<Item = &'a str> {
    let parts = messages.iter().take(leading).filter_map(|message| match &**message {
        Message::System(message) => Some(message.parts.iter().map(TextPart::text)),
        _ => None,
    });
    own_system(settings).into_iter().chain(parts.flatten())
}

/// The same as blocks, each behind `open` as a string and before `}`, joined by commas.
pub fn system_blocks(
    settings: &ModelSettings,
    messages: &[Arc<Message>],
    leading: usize,
    open: &str,
) -> String {
    let mut blocks = String::new();
    for text in system_texts(settings, messages, leading) {
        blocks.reserve(open.len() + text.len() + 16);
        if !blocks.is_empty() {
            blocks.push(',');
        }
        blocks.push_str(open);
        // A string always serialises.
        blocks.push_str(&serde_json::to_string(text).unwrap_or_default());
        blocks.push('}');
    }
    blocks
}

/// Writes members that stand behind a list, up to the end of the body.
///
/// # Errors
/// [`ErrorKind::Configuration`](attache_core::ErrorKind::Configuration) for what cannot be written as JSON.
pub fn tail(members: &Map<String, Value>) -> Result<String, ProviderError> {
    if members.is_empty() {
        return Ok("]}".to_owned());
    }
    let mut tail = String::new();
    write_json(members, &mut tail)?;
    // The brace that opens the object gives way to what ends the list.
    tail.replace_range(..1, "],");
    Ok(tail)
}

/// The beginning of a body that goes on with a member: `{"model":…,`.
///
/// # Errors
/// [`ErrorKind::Configuration`](attache_core::ErrorKind::Configuration) for what cannot be written as JSON.
pub fn head(members: &Map<String, Value>) -> Result<String, ProviderError> {
    let mut head = serde_json::to_string(members)
        .map_err(|cause| configuration("the options cannot be written as JSON").with_source(cause))?;
    head.pop();
    if !members.is_empty() {
        head.push(',');
    }
    Ok(head)
}

/// Refuses members of the caller's own that would take the place of what comes from the conversation.
///
/// # Errors
/// [`ErrorKind::Configuration`](attache_core::ErrorKind::Configuration) names the first.
pub fn forbid(members: &Map<String, Value>, names: &[&str]) -> Result<(), ProviderError> {
    match names.iter().find(|name| members.contains_key(**name)) {
        None => Ok(()),
        Some(name) => {
            let error = configuration(format!("extra_body cannot replace {name}"));
            Err(error.with_param((*name).to_owned()))
        }
    }
}

/// The tools of the provider's own among members of the caller's.
///
/// # Errors
/// [`ErrorKind::Configuration`](attache_core::ErrorKind::Configuration) for what is no list.
pub fn extra_tools(extra: &Map<String, Value>) -> Result<&[Value], ProviderError> {
    match extra.get("tools") {
        None => Ok(&[]),
        Some(Value::Array(tools)) => Ok(tools),
        Some(_) => {
            let text = "the tools of extra_body must be a list";
            Err(configuration(text).with_param("tools".to_owned()))
        }
    }
}

/// Writes a comma, unless the item begins.
pub fn comma(item: &mut ItemWriter<'_>) {
    if !item.is_empty() {
        item.raw(",");
    }
}

/// Writes a comma but for the first time.
pub fn separate(first: &mut bool, item: &mut ItemWriter<'_>) {
    if !std::mem::take(first) {
        item.raw(",");
    }
}

/// Writes texts as one JSON string.
pub fn joined<T: AsRef<str>>(texts: impl IntoIterator<Item = T>, separator: &str, item: &mut ItemWriter<'_>) {
    item.raw("\"");
    for (at, text) in texts.into_iter().enumerate() {
        if at > 0 {
            item.escaped(separator);
        }
        item.escaped(text.as_ref());
    }
    item.raw("\"");
}
