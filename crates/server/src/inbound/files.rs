//! Files in the result of a tool of a page, which has them as data URLs.

use attache_core::{Capture, ContentTree, Document};
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::parts::by_data;
use crate::fault::Fault;

/// The result that a page gives: a text, a file as a data URL, or any JSON with such files. A reference to a document is
/// text: it says nothing about those that are there.
///
/// # Errors
/// If it has more bytes than that beside its files.
pub(crate) fn result(value: &Value, most: usize) -> Result<ContentTree, Fault> {
    Ok(match WithFiles::of(value, most)? {
        WithFiles::Null => ContentTree::text(""),
        WithFiles::Text(text) => ContentTree::text(text),
        value => {
            let captured = Capture::new().finish(&value);
            captured.map_err(|error| Fault::invalid(format!("the result cannot be taken: {error}")))?
        }
    })
}

/// A value in which each text that is a data URL of base64 is the document that it holds. Any other text stays what it is.
enum WithFiles<'v> {
    Null,
    Text(&'v str),
    File(Document),
    Array(Vec<Self>),
    Object(Vec<(&'v str, Self)>),
    Other(&'v Value),
}

impl<'v> WithFiles<'v> {
    /// Takes the files out of a value, each of which is read once.
    ///
    /// # Errors
    /// If what is left has more bytes than that.
    fn of(value: &'v Value, most: usize) -> Result<Self, Fault> {
        let mut left = most;
        Self::read(value, &mut left).ok_or_else(|| Fault::too_large(most))
    }

    /// `None` if more is there than is left, as JSON counts it.
    fn read(value: &'v Value, left: &mut usize) -> Option<Self> {
        let mut take = |bytes: usize| left.checked_sub(bytes).map(|rest| *left = rest);
        Some(match value {
            Value::Null => {
                take(4)?;
                Self::Null
            }
            Value::String(text) => match file(text) {
                Some(document) => Self::File(document),
                None => {
                    take(text.len())?;
                    Self::Text(text)
                }
            },
            Value::Array(items) => {
                take(items.len())?;
                Self::Array(items.iter().map(|item| Self::read(item, left)).collect::<Option<_>>()?)
            }
            Value::Object(members) => {
                let read = members.iter().map(|(name, value)| {
                    *left = left.checked_sub(name.len() + 1)?;
                    Some((name.as_str(), Self::read(value, left)?))
                });
                Self::Object(read.collect::<Option<_>>()?)
            }
            Value::Bool(_) | Value::Number(_) => {
                take(value.to_string().len())?;
                Self::Other(value)
            }
        })
    }
}

impl Serialize for WithFiles<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Text(text) => serializer.serialize_str(text),
            Self::File(document) => document.serialize(serializer),
            Self::Array(items) => serializer.collect_seq(items),
            Self::Object(members) => {
                serializer.collect_map(members.iter().map(|(name, value)| (name, value)))
            }
            Self::Other(value) => value.serialize(serializer),
        }
    }
}

/// The document of a data URL that names a media type; `None` for any other text.
fn file(text: &str) -> Option<Document> {
    let has_type = text.strip_prefix("data:").and_then(|rest| rest.split_once('/')).is_some();
    let document = has_type.then(|| by_data(text).ok())??;
    (document.size() != Some(0)).then_some(document)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_a_file_if_it_is_one_as_a_whole() {
        let found = file("data:image/png;base64,iVBORw0KGgo=").unwrap();
        assert_eq!((found.media_type().essence(), found.size()), ("image/png", Some(8)));
        let texts = [
            "",
            "data:",
            "data: of May/June, base64",
            "data:text/plain,hi",
            "data:image/png;base64,",
            "data:image/png;base64,%%",
            "see data:image/png;base64,iVBORw0KGgo=",
            "https://example.org/a.png",
        ];
        for text in texts {
            assert!(file(text).is_none(), "{text}");
        }
    }
}
