//! Files in the result of a tool of a page, which has them as data URLs.

use attache_core::Document;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::parts::by_data;

/// A value in which each text that is a data URL of base64 is written as the document that it holds. Any other text stays
/// what it is.
pub(crate) struct WithFiles<'v>(pub(crate) &'v Value);

impl Serialize for WithFiles<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::String(text) => match file(text) {
                Some(document) => document.serialize(serializer),
                None => serializer.serialize_str(text),
            },
            Value::Array(items) => serializer.collect_seq(items.iter().map(WithFiles)),
            Value::Object(members) => {
                serializer.collect_map(members.iter().map(|(name, value)| (name, WithFiles(value))))
            }
            other => other.serialize(serializer),
        }
    }
}

/// The document of a data URL that names a media type; `None` for any other text.
pub(crate) fn file(text: &str) -> Option<Document> {
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
