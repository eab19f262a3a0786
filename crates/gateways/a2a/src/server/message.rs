//! A caller's message: as the input of a run, and as the answer to what a run asks.

use attache_core::{Capture, Document, MediaKind, MediaType, UserMessage, UserPart};
use serde::Serialize;
use serde_json::Value;

use super::error::Refusal;
use crate::wire::{Content, Message, Part};

/// True if parts of that type are taken: any text where plain text is, and bytes of no known type, which are looked at.
pub(super) fn is_taken(modes: &[String], said: &str) -> bool {
    // A word that is no type, or means bytes of any sort, says nothing.
    let said = MediaType::resolve(Some(said), None, None);
    let takes = |mode: &String| {
        // Profiles write types as people do: `Image/JPG`, `text/plain; charset=utf-8`.
        let mode = MediaType::resolve(Some(mode), None, None);
        said.matches(mode.essence()) || said.kind() == MediaKind::Text && mode.essence() == "text/plain"
    };
    said.essence() == MediaType::octet_stream().essence() || modes.iter().any(takes)
}

/// The text of a message.
pub(super) fn words(message: &Message) -> String {
    texts(message, |_| true)
}

fn texts(message: &Message, is_taken: impl Fn(&Part) -> bool) -> String {
    let texts = message.parts.iter().filter(|part| is_taken(part)).filter_map(|part| match &part.content {
        Content::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// True for a message with files that are no texts, which have no place among its words.
pub(super) fn has_files(message: &Message) -> bool {
    message.parts.iter().any(|part| matches!(part.content, Content::Bytes(_) | Content::Url(_)))
}

/// An answer with files, as the model reads it.
#[derive(Serialize)]
pub(super) struct Filed {
    #[serde(skip_serializing_if = "Value::is_null")]
    answer: Value,
    documents: Vec<Document>,
}

impl Filed {
    /// A message with its documents; `None` if it has none.
    pub(super) fn of(message: &Message, input: &UserMessage) -> Option<Self> {
        let documents = input.shown().iter().filter_map(|part| match part {
            UserPart::Document(document) => Some(document.clone()),
            _ => None,
        });
        let documents: Vec<Document> = documents.collect();
        let words = texts(message, |part| !part.is_text_file());
        let answer = match answer(message, &words) {
            Value::String(text) if text.trim().is_empty() => Value::Null,
            answer => answer,
        };
        (!documents.is_empty()).then_some(Self { answer, documents })
    }
}

fn data(message: &Message) -> Option<&Value> {
    message.parts.iter().find_map(|part| match &part.content {
        Content::Data(data) => Some(data),
        _ => None,
    })
}

/// The answer to a question: text, or data where there is no text.
pub(super) fn answer(message: &Message, words: &str) -> Value {
    match data(message).filter(|_| words.trim().is_empty()) {
        Some(data) => data.clone(),
        None => words.to_owned().into(),
    }
}

/// The decision in an answer about calls that wait for approval.
pub(super) fn approves(message: &Message, words: &str) -> Option<bool> {
    if let Some(approved) = data(message).and_then(|data| data.get("approved")?.as_bool()) {
        return Some(approved);
    }
    match words.trim().trim_end_matches('.').to_ascii_lowercase().as_str() {
        "yes" | "y" | "approve" | "approved" | "ok" => Some(true),
        "no" | "n" | "deny" | "denied" => Some(false),
        _ => None,
    }
}

/// A message as the input of a run.
pub(super) fn input(message: &Message) -> Result<UserMessage, Refusal> {
    let mut parts: Vec<Option<UserPart>> = Vec::new();
    for part in &message.parts {
        let name = part.name.clone().filter(|name| !name.trim().is_empty());
        let named = |document: Document| match &name {
            Some(name) => document.with_file_name(name.clone()),
            None => document,
        };
        parts.push(match &part.content {
            Content::Text(text) if part.is_text_file() => {
                let said = part.media_type.as_deref().unwrap_or("text/plain");
                Some(UserPart::Document(named(Document::from_bytes(text.clone(), said))))
            }
            Content::Text(text) => UserPart::text(text.clone()),
            Content::Bytes(bytes) => {
                let said = part.media_type.as_deref().unwrap_or_default();
                Some(UserPart::Document(named(Document::from_bytes(bytes.clone(), said))))
            }
            // Whoever fetches it has guards.
            Content::Url(url) if url.starts_with("https://") || url.starts_with("http://") => {
                let document = Document::external(url.clone());
                Some(UserPart::Document(named(match &part.media_type {
                    Some(said) => document.with_media_type(said),
                    None => document,
                })))
            }
            Content::Data(data) => {
                let tree = Capture::new().finish(data);
                Some(UserPart::Object(tree.map_err(|_| Refusal::InvalidParams("the data is too large"))?))
            }
            Content::Url(_) | Content::Deep(_) | Content::Broken | Content::Other(_) => {
                return Err(Refusal::InvalidParams("a part of the message cannot be read"));
            }
        });
    }
    if parts.iter().all(Option::is_none) {
        return Err(Refusal::InvalidParams("the message has no content"));
    }
    Ok(UserMessage::new(parts))
}

#[cfg(test)]
mod tests {
    use super::is_taken;

    #[test]
    fn parts_are_taken_by_what_the_card_names() {
        let takes = |mode: &str, said: &str| is_taken(&[mode.to_owned()], said);
        assert!(takes("Image/JPG", "image/jpeg") && takes("image/*", "image/heic"));
        assert!(takes("text/plain; charset=utf-8", "text/markdown") && takes("*/*", "chemical/x-pdb"));
        for unknown in ["application/octet-stream", "binary/octet-stream", "no type"] {
            assert!(takes("image/png", unknown), "{unknown}");
        }
        assert!(!takes("image/png", "image/gif") && !takes("text/plain", "application/pdf"));
    }
}
