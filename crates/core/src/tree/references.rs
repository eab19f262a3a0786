//! The document references in JSON text.

use std::borrow::Cow;

use serde::Deserialize;

use crate::id::DocumentId;
use crate::json::end_of_string;

/// The ids in the document references of compact JSON text, in source order. A reference counts once, however often its
/// object has the member that makes it one.
///
/// A reference is an object with the member `attache.document` and a text as `documentId`; text inside strings is never
/// taken for one, since its quotes are escaped. The text is read once, from its begin to its end; depth costs heap, not
/// stack.
pub fn reference_ids(json: &str) -> impl Iterator<Item = DocumentId> {
    // Nearly all texts have none, which a search says faster than a reader.
    let found = if json.contains(KEY) { Scan::over(json) } else { Vec::new() };
    found.into_iter().flatten()
}

/// The same in a text that is one JSON string, whose content may be JSON: a tool may return what it wrote itself.
pub(crate) fn references_within(json: &str) -> Vec<DocumentId> {
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
    match serde_json::from_str(json) {
        Ok(Text(text))
            if text.contains(KEY) && serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok() =>
        {
            reference_ids(&crate::json::compact(&text).0).collect()
        }
        _ => Vec::new(),
    }
}

/// The key as it stands in compact text, with its quotes.
const KEY: &str = "\"attache.document\"";
const ID: &str = "\"documentId\"";

/// An object or array that is open.
#[derive(Default)]
struct Open {
    /// Where its id goes, once its marker was met.
    slot: Option<usize>,
    is_object: bool,
    /// Whether the next string is a key.
    at_key: bool,
    /// Whether the next value is the id.
    at_id: bool,
    id: Option<DocumentId>,
    /// Two ids are none.
    ids: usize,
}

struct Scan {
    found: Vec<Option<DocumentId>>,
    open: Vec<Open>,
}

impl Scan {
    fn over(json: &str) -> Vec<Option<DocumentId>> {
        let mut scan = Self { found: Vec::new(), open: Vec::new() };
        let bytes = json.as_bytes();
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'"' => {
                    let end = end_of_string(bytes, at);
                    scan.string(json.get(at..end).unwrap_or_default());
                    at = end;
                    continue;
                }
                b'{' => scan.open.push(Open { is_object: true, at_key: true, ..Open::default() }),
                b'[' => scan.open.push(Open::default()),
                b'}' | b']' => scan.close(),
                b',' => {
                    if let Some(open) = scan.open.last_mut() {
                        (open.at_key, open.at_id) = (open.is_object, false);
                    }
                }
                _ => {}
            }
            at += 1;
        }
        scan.found
    }

    fn string(&mut self, text: &str) {
        let Some(open) = self.open.last_mut() else { return };
        if open.at_key {
            open.at_key = false;
            open.at_id = text == ID;
            if text == KEY && open.slot.is_none() {
                open.slot = Some(self.found.len());
                self.found.push(None);
            }
        } else if open.at_id {
            open.at_id = false;
            open.ids += 1;
            open.id = serde_json::from_str(text).ok();
        }
    }

    fn close(&mut self) {
        let Some(Open { slot: Some(slot), id, ids: 1, .. }) = self.open.pop() else { return };
        if let Some(place) = self.found.get_mut(slot) {
            *place = id;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(json: &str) -> Vec<String> {
        reference_ids(json).map(|id| id.as_str().to_owned()).collect()
    }

    #[test]
    fn references_are_found_in_source_order_wherever_their_members_stand() {
        let json = r#"[{"attache.document":"stored","documentId":"a"},{"documentId":"b","x":[{"documentId":"no"}],
            "attache.document":1},{"t":{"attache.document":"stored","more":{"attache.document":0,"documentId":"d"},
            "documentId":"c"}},"{\"attache.document\":\"stored\",\"documentId\":\"quoted\"}"]"#;
        let compact = crate::json::compact(json).0;
        assert_eq!(ids(&compact), ["a", "b", "c", "d"]);
    }

    #[test]
    fn a_reference_without_one_id_is_none() {
        for json in [
            r#"{"attache.document":"stored"}"#,
            r#"{"attache.document":"stored","documentId":7}"#,
            r#"{"attache.document":"stored","documentId":" "}"#,
            r#"{"attache.document":"stored","documentId":["a"]}"#,
            r#"{"attache.document":"stored","documentId":"a","documentId":"b"}"#,
            r#"["attache.document",{"documentId":"a"}]"#,
            r#"{"x":"attache.document","documentId":"a"}"#,
        ] {
            assert_eq!(ids(json), Vec::<String>::new(), "{json}");
        }
    }

    #[test]
    fn a_string_that_is_json_holds_references() {
        let text = r#"{"attache.document": "stored", "documentId": "a"}"#;
        let json = serde_json::to_string(text).unwrap();
        assert_eq!(references_within(&json).len(), 1);
        let prose = serde_json::to_string(&format!("see {text}")).unwrap();
        assert_eq!(references_within(&prose).len(), 0);
    }
}
