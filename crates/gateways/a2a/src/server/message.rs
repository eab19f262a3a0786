//! A caller's message: as the input of a run, and as the answer to what a run asks.

use attache_core::schema::Schema;
use attache_core::{Capture, Document, MediaKind, MediaType, ToolReturn, UserMessage, UserPart};
use serde_json::Value;

use super::error::Refusal;
use crate::wire::{Content, Message, Part};

/// True if parts of that type are taken: any text where plain text is, and bytes of no known type, which are looked at.
pub(super) fn is_taken(modes: &[String], said: &str) -> bool {
    // A word that is no type, or means bytes of any sort, says nothing.
    let said = MediaType::resolve(Some(said), None, None);
    let takes = |mode: &String| {
        // Profiles write types as people do: `Image/JPG`, `text/plain; charset=utf-8`.
        MediaType::parse(mode).is_some_and(|mode| {
            said.matches(mode.essence()) || said.kind() == MediaKind::Text && mode.essence() == "text/plain"
        })
    };
    said.essence() == MediaType::octet_stream().essence() || modes.iter().any(takes)
}

/// The documents of a message.
pub(super) fn documents(input: &UserMessage) -> impl Iterator<Item = &Document> {
    input.shown().iter().filter_map(|part| match part {
        UserPart::Document(document) => Some(document),
        _ => None,
    })
}

/// The answer to a question, as the result of the call that asks.
pub(super) struct Answer {
    value: Value,
    /// All else that was said.
    beside: Vec<Document>,
}

impl Answer {
    /// The first of the words and the data of a message that its schema takes; everything else goes beside it.
    pub(super) fn of(message: &Message, input: &UserMessage, schema: Option<&Value>) -> Self {
        let mut beside: Vec<Document> = documents(input).cloned().collect();
        let words = Some(words(message)).filter(|words| !words.trim().is_empty());
        let data = message.parts.iter().filter_map(|part| match &part.content {
            Content::Data(data) => Some(data.clone()),
            _ => None,
        });
        let mut said: Vec<Value> = words.map(Value::String).into_iter().chain(data).collect();
        let schema = schema.and_then(|schema| Schema::new(schema).ok());
        let fits = |value: &Value| schema.as_ref().is_none_or(|schema| schema.check(value).is_empty());
        // The run refuses an answer that does not fit.
        let first = said.iter().position(fits).unwrap_or_default();
        let value = match said.is_empty() {
            true => names(&beside).into(),
            false => said.remove(first),
        };
        beside.extend(said.into_iter().map(|value| match value {
            Value::String(text) => Document::inline(text),
            data => Document::inline(data.to_string()).with_media_type("application/json"),
        }));
        Self { value, beside }
    }

    /// True if it is a value alone.
    pub(super) fn is_bare(&self) -> bool {
        self.beside.is_empty()
    }

    pub(super) fn returned(self) -> ToolReturn<Value> {
        self.beside.into_iter().fold(ToolReturn::new(self.value), ToolReturn::with_document)
    }
}

/// The words of an answer that is files alone.
fn names(documents: &[Document]) -> String {
    let names = documents.iter().map(|document| document.file_name().unwrap_or("a document"));
    names.collect::<Vec<_>>().join(", ")
}

/// The words of a message, without its text files.
fn words(message: &Message) -> String {
    let texts =
        message.parts.iter().filter(|part| !part.is_text_file()).filter_map(|part| match &part.content {
            Content::Text(text) => Some(text.as_str()),
            _ => None,
        });
    texts.collect::<Vec<_>>().join("\n")
}

/// The decision in an answer about calls that wait for approval, and what else it says, if anything.
pub(super) fn decision(message: &Message) -> Option<(bool, Option<UserMessage>)> {
    let data = |part: &Part| match &part.content {
        Content::Data(data) => data.get("approved")?.as_bool(),
        _ => None,
    };
    let approves = message.parts.iter().find_map(data).or_else(|| yes_or_no(&words(message)))?;
    let says_more = |part: &&Part| match &part.content {
        Content::Text(text) if !part.is_text_file() => yes_or_no(text) != Some(approves),
        Content::Data(value) => {
            data(part) != Some(approves) || value.as_object().is_some_and(|members| members.len() > 1)
        }
        _ => true,
    };
    let parts = message.parts.iter().filter(says_more).cloned().collect();
    let more = input(&Message { parts, ..Message::default() }).ok();
    Some((approves, more))
}

fn yes_or_no(words: &str) -> Option<bool> {
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
            // The fetcher guards against private addresses.
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
