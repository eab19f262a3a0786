//! The document references in JSON text.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use serde::Deserialize;

use crate::document::reference::{reference_id, reference_marker};
use crate::id::DocumentId;
use crate::json::end_of_string;

/// The ids in the document references of compact JSON text, in source order. A reference counts once, even if its
/// object repeats the member that marks it.
///
/// A reference is an object with the member `attache.document` and a text as `documentId`; text inside strings is never
/// mistaken for one, since its quotes are escaped. The text is read in one pass; depth uses heap, not stack.
pub fn reference_ids(json: &str) -> impl Iterator<Item = DocumentId> {
    places(json).map(|place| place.id)
}

fn places(json: &str) -> impl Iterator<Item = Place> {
    // Nearly all texts have none, which a search says faster than a reader.
    let found = if json.contains(KEY) { Scan::over(json) } else { Vec::new() };
    found.into_iter().flatten()
}

/// The text with other ids in the references for which there is one.
pub(super) fn renamed(json: &str, ids: &HashMap<DocumentId, DocumentId>) -> String {
    let mut changes: Vec<(Range<usize>, String)> = Vec::new();
    for Place { id, text } in places(json) {
        let new = ids.get(&id).and_then(|new| serde_json::to_string(new).ok());
        changes.extend(new.map(|new| (text, new)));
    }
    // In source order of the ids, which is not that of the markers.
    changes.sort_by_key(|(text, _)| text.start);
    let mut renamed = String::with_capacity(json.len() + 16 * changes.len());
    let mut at = 0;
    for (text, new) in changes {
        renamed.push_str(json.get(at..text.start).unwrap_or_default());
        renamed.push_str(&new);
        at = text.end;
    }
    renamed.push_str(json.get(at..).unwrap_or_default());
    renamed
}

/// An id in a reference.
struct Place {
    id: DocumentId,
    /// The string that says it, with its quotes.
    text: Range<usize>,
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

/// The members of a reference as they stand in compact text, with their quotes.
const KEY: &str = concat!('"', reference_marker!(), '"');
const ID: &str = concat!('"', reference_id!(), '"');

/// An object or array that is open.
#[derive(Default)]
struct Open {
    /// The place of its id, once its marker was met.
    slot: Option<usize>,
    is_object: bool,
    /// True if the next string is a key.
    at_key: bool,
    /// True if the next value is the id.
    at_id: bool,
    id: Option<Place>,
    /// Two ids are none.
    ids: usize,
}

struct Scan {
    found: Vec<Option<Place>>,
    open: Vec<Open>,
}

impl Scan {
    fn over(json: &str) -> Vec<Option<Place>> {
        let mut scan = Self { found: Vec::new(), open: Vec::new() };
        let bytes = json.as_bytes();
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'"' => {
                    let end = end_of_string(bytes, at);
                    scan.string(json, at..end);
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

    fn string(&mut self, json: &str, range: Range<usize>) {
        let text = json.get(range.clone()).unwrap_or_default();
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
            open.id = serde_json::from_str(text).ok().map(|id| Place { id, text: range });
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
    fn references_are_renamed_and_nothing_else() {
        let id = |id: &str| DocumentId::parse(id).unwrap();
        let json = r#"{"x":"a","r":[{"attache.document":1,"t":{"documentId":"a"},"y":{"attache.document":1,"documentId":"a"},"documentId":"b"}]}"#;
        let new = HashMap::from([(id("a"), id("a\"2")), (id("b"), id("b2"))]);
        let expected = r#"{"x":"a","r":[{"attache.document":1,"t":{"documentId":"a"},"y":{"attache.document":1,"documentId":"a\"2"},"documentId":"b2"}]}"#;
        assert_eq!(renamed(json, &new), expected);
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
