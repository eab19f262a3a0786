//! Structured results taken apart: texts with the file they belong to, data that can be quoted, and what listings
//! name.

use attache_core::tree::REFERENCE_MARKER;
use serde_json::{Map, Value};

use crate::passages;
use crate::pieces::{Form, Passage, Pieces, Table};
use crate::words::{head, name_stems};

/// Entries of lists that are looked at.
const MAX_ENTRIES: usize = 10_000;
/// Strings from this length on, and those of several lines, are texts and not values.
const TEXT_FROM: usize = 160;
/// The maximum number of bytes of a value in a quote.
const MAX_VALUE: usize = 400;

/// The maximum number of bytes of what stands above a quote for each object and key around it.
const MAX_ABOUT: usize = 1_000;

/// One thing that a result names: a file of a listing, a record.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Item {
    /// Its members; the key is empty for a bare string.
    pub(crate) fields: Vec<(String, Value)>,
}

impl Item {
    /// Its name: its path, else its name, else its id.
    pub(crate) fn name(&self) -> Option<&str> {
        let of = |is: fn(&str) -> bool| {
            self.fields
                .iter()
                .find(|(key, value)| is(key) && value.is_string())
                .and_then(|(_, value)| value.as_str())
        };
        of(|key| key.is_empty() || is_path_key(key)).or_else(|| of(is_name_key)).or_else(|| of(is_id_key))
    }

    /// Its media type or kind, if it says one.
    pub(crate) fn kind(&self) -> Option<&str> {
        let kind = |key: &str| {
            name_stems(key)
                .iter()
                .any(|stem| matches!(stem.as_str(), "type" | "kind" | "mediatyp" | "mimetyp" | "mime"))
        };
        self.fields.iter().find(|(key, _)| kind(key)).and_then(|(_, value)| value.as_str())
    }

    /// True if it is a folder of a listing.
    pub(crate) fn is_folder(&self) -> bool {
        let flagged = self.fields.iter().any(|(key, value)| {
            let stems = name_stems(key);
            *value == Value::Bool(true)
                && stems.iter().any(|stem| matches!(stem.as_str(), "directory" | "dir" | "folder"))
        });
        let kind = self.kind().unwrap_or_default().to_lowercase();
        flagged
            || matches!(kind.as_str(), "directory" | "dir" | "folder" | "inode/directory")
            || self.name().is_some_and(|name| name.ends_with('/'))
    }

    /// True if it only describes a file: its content is elsewhere.
    fn is_listing(&self) -> bool {
        let described = |key: &str| {
            key.is_empty()
                || is_path_key(key)
                || is_name_key(key)
                || name_stems(key).iter().any(|stem| FILE_WORDS.contains(&stem.as_str()))
        };
        self.name().is_some()
            && self.fields.iter().any(|(key, _)| key.is_empty() || is_path_key(key) || is_name_key(key))
            && self.fields.iter().all(|(key, _)| described(key))
    }
}

/// Stems of what listings say about files.
const FILE_WORDS: [&str; 19] = [
    "size",
    "byte",
    "type",
    "kind",
    "mime",
    "mediatyp",
    "mimetyp",
    "content",
    "modify",
    "modified",
    "create",
    "creat",
    "directory",
    "dir",
    "folder",
    "extension",
    "hash",
    "page",
    "readable",
];

/// The content of a structured result.
#[derive(Debug, Default)]
pub(crate) struct Data {
    /// Texts, with the path that stands beside them.
    pub(crate) texts: Vec<(Option<String>, String)>,
    /// Data that can be quoted.
    pub(crate) pieces: Pieces,
    /// The entries of lists of files, apart from data.
    pub(crate) listing: Pieces,
    /// The things that can be asked for.
    pub(crate) items: Vec<Item>,
    /// The path that the result itself names.
    pub(crate) path: Option<String>,
    /// True if it is the content of a file: all of it can be quoted, and nothing in it names another source.
    is_content: bool,
}

/// Takes the content of a file apart.
pub(crate) fn read_content(value: &Value) -> Pieces {
    let mut data = Data { is_content: true, ..Data::default() };
    data.walk(value, "");
    data.pieces
}

/// True if a result has lists, all of them empty, and beside them numbers and switches alone: a search in vain.
pub(crate) fn found_nothing(value: &Value) -> bool {
    let Value::Object(object) = value else { return false };
    let is_empty = |value: &Value| value.as_array().is_some_and(Vec::is_empty);
    let is_count = |value: &Value| value.is_number() || value.is_boolean() || value.is_null();
    object.values().any(is_empty) && object.values().all(|value| is_empty(value) || is_count(value))
}

/// Takes a result apart.
pub(crate) fn read(value: &Value) -> Data {
    let mut data = Data::default();
    if let Value::Object(object) = value {
        data.path = path_of(object).map(str::to_owned);
    }
    data.walk(value, "");
    data
}

impl Data {
    fn walk(&mut self, value: &Value, above: &str) {
        match value {
            Value::Array(entries) => self.entries(entries, above),
            Value::Object(object) => self.object(object, above),
            Value::String(text) => self.text(text, None, above),
            Value::Number(_) | Value::Bool(_) => self.pieces.passages.push(Passage {
                text: value.to_string(),
                heading: above.to_owned(),
                ..Passage::default()
            }),
            Value::Null => {}
        }
    }

    fn object(&mut self, object: &Map<String, Value>, above: &str) {
        if self.is_elsewhere(object) {
            return;
        }
        let item = Item { fields: scalars(object) };
        // Each member is quoted beside what the object is about.
        let heading = format!("{above} {}", about(object));
        if self.is_content || !item.is_listing() {
            for (key, value) in &item.fields {
                let value = shown(value);
                self.pieces.passages.push(Passage {
                    text: format!("{key}: {value}"),
                    heading: heading.trim().to_owned(),
                    form: Form::Pair { label: name_stems(key).join(" "), value },
                    page: None,
                });
            }
        }
        if !item.fields.is_empty() {
            self.items.push(item);
        }
        self.nested(object, above);
    }

    /// Reads the members of an object that are no scalars.
    fn nested(&mut self, object: &Map<String, Value>, above: &str) {
        let (about, path) = (about(object), path_of(object));
        for (key, value) in object {
            let key = name_stems(head(key, MAX_ABOUT)).join(" ");
            match value {
                Value::String(text) if is_text(text) => {
                    let above = format!("{above} {about} {key}");
                    self.text(text, path, above.trim());
                }
                Value::Array(_) | Value::Object(_) => self.walk(value, format!("{above} {key}").trim()),
                _ => {}
            }
        }
    }

    /// A text, and the path that stands beside it.
    fn text(&mut self, text: &str, path: Option<&str>, above: &str) {
        if !self.is_content {
            self.texts.push((path.map(str::to_owned), text.to_owned()));
            return;
        }
        let mut read = passages::read(text, "");
        let tables = self.pieces.tables.len();
        for passage in &mut read.passages {
            passage.heading = format!("{above} {}", passage.heading).trim().to_owned();
            if let Form::Row { table, .. } = &mut passage.form {
                *table += tables;
            }
        }
        self.pieces.passages.append(&mut read.passages);
        self.pieces.tables.append(&mut read.tables);
        self.pieces.cut = self.pieces.cut.take().or(read.cut);
    }

    /// True if an object only stands for a document, which comes by itself.
    fn is_elsewhere(&self, object: &Map<String, Value>) -> bool {
        !self.is_content && is_reference(object)
    }

    /// A list: of records, which are rows of a table, or of anything else.
    fn entries(&mut self, entries: &[Value], above: &str) {
        if entries.len() > MAX_ENTRIES {
            self.pieces.cut =
                Some(format!("only the first {MAX_ENTRIES} of {} entries were looked at", entries.len()));
        }
        let mut rows = Vec::new();
        for entry in entries.iter().take(MAX_ENTRIES) {
            match entry {
                Value::Object(object) if self.is_elsewhere(object) => {}
                Value::Object(object) => {
                    let item = Item { fields: scalars(object) };
                    if !item.fields.is_empty() {
                        rows.push(item);
                    }
                    self.nested(object, above);
                }
                Value::String(text) if !is_text(text) => {
                    rows.push(Item { fields: vec![(String::new(), entry.clone())] });
                }
                other => self.walk(other, above),
            }
        }
        let Some(first) = rows.first() else { return };
        let is_listing = !self.is_content && rows.iter().all(Item::is_listing);
        let pieces = if is_listing { &mut self.listing } else { &mut self.pieces };
        let columns: Vec<&str> = first.fields.iter().map(|(key, _)| key.as_str()).collect();
        let table = pieces.tables.len();
        pieces.tables.push(Table::new(&columns, &columns.join(", ")));
        for row in &rows {
            let cells: Vec<String> = columns
                .iter()
                .map(|column| row.fields.iter().find(|(key, _)| key == column).map(|(_, value)| shown(value)))
                .map(Option::unwrap_or_default)
                .collect();
            let members = row.fields.iter().map(|(key, value)| match key.as_str() {
                "" => shown(value),
                key => format!("{key}: {}", shown(value)),
            });
            pieces.passages.push(Passage {
                text: members.collect::<Vec<_>>().join(", "),
                heading: above.to_owned(),
                form: Form::Row { table, cells },
                page: None,
            });
        }
        self.items.append(&mut rows);
    }
}

/// Lines that look like names of files, one each; some servers mark what each of them is.
pub(crate) fn named_files(text: &str) -> Vec<Item> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let lines: Vec<String> = lines
        .map(|line| match (line.strip_prefix("[FILE] "), line.strip_prefix("[DIR] ")) {
            (Some(file), _) => file.trim_start().to_owned(),
            (_, Some(folder)) => format!("{}/", folder.trim()),
            _ => line.to_owned(),
        })
        .collect();
    let is_file = |line: &String| {
        let extension = line.rsplit_once('.').map(|(_, extension)| extension).unwrap_or_default();
        let named =
            (1..=5).contains(&extension.len()) && extension.bytes().all(|b| b.is_ascii_alphanumeric());
        line.len() <= 255 && (named || line.ends_with('/')) && !line.contains(": ")
    };
    if lines.is_empty() || lines.len() > MAX_ENTRIES || !lines.iter().all(is_file) {
        return Vec::new();
    }
    lines.into_iter().map(|line| Item { fields: vec![(String::new(), line.into())] }).collect()
}

fn scalars(object: &Map<String, Value>) -> Vec<(String, Value)> {
    let is_scalar = |value: &Value| match value {
        Value::String(text) => !is_text(text),
        Value::Number(_) | Value::Bool(_) => true,
        _ => false,
    };
    object
        .iter()
        .filter(|(_, value)| is_scalar(value))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// The subject of an object, which stands in its short texts.
fn about(object: &Map<String, Value>) -> String {
    let mut about = String::new();
    for text in object.values().filter_map(Value::as_str).filter(|text| !is_text(text)) {
        // It stands above every member, of which there may be many.
        if about.len() + text.len() > MAX_ABOUT {
            break;
        }
        about.push_str(text);
        about.push(' ');
    }
    about
}

fn is_text(text: &str) -> bool {
    text.len() >= TEXT_FROM || text.trim().contains('\n')
}

fn is_reference(object: &Map<String, Value>) -> bool {
    object.contains_key(REFERENCE_MARKER)
}

fn path_of(object: &Map<String, Value>) -> Option<&str> {
    object
        .iter()
        .find(|(key, value)| is_path_key(key) && value.is_string())
        .and_then(|(_, value)| value.as_str())
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => head(text, MAX_VALUE).to_owned(),
        other => other.to_string(),
    }
}

/// True if a name in code stands for where something is.
pub(crate) fn is_path_key(key: &str) -> bool {
    name_stems(key)
        .iter()
        .any(|stem| matches!(stem.as_str(), "path" | "file" | "filenam" | "uri" | "url" | "href"))
}

fn is_name_key(key: &str) -> bool {
    name_stems(key).iter().any(|stem| matches!(stem.as_str(), "name" | "title" | "subject"))
}

/// True if a name in code stands for an identity.
pub(crate) fn is_id_key(key: &str) -> bool {
    let ids = ["id", "key", "number", "no", "nr", "code", "ref", "referenc", "uuid"];
    name_stems(key).iter().any(|stem| ids.contains(&stem.as_str()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn listings_name_files() {
        let data = read(&json!([
            {"path": "a/invoice.pdf", "size": 3, "mediaType": "application/pdf"},
            {"path": "b", "type": "directory"},
        ]));
        let names: Vec<_> = data.items.iter().map(|item| item.name().unwrap()).collect();
        assert_eq!(names, ["a/invoice.pdf", "b"]);
        assert!(data.items[1].is_folder() && !data.items[0].is_folder());
        assert_eq!((data.pieces.passages.len(), data.listing.passages.len()), (0, 2));
        let wrapped = read(&json!({"files": ["x.pdf", "y.md"], "truncated": false}));
        assert_eq!(wrapped.items.iter().filter_map(Item::name).collect::<Vec<_>>(), ["x.pdf", "y.md"]);
        assert_eq!(named_files("a.pdf\n\nsub/b.csv\n").len(), 2);
        assert!(named_files("Dear all.\nHello").is_empty() && named_files("").is_empty());
    }

    #[test]
    fn records_can_be_quoted() {
        let data =
            read(&json!({"invoices": [{"number": "R-17", "total": 12.5}, {"number": "R-18", "total": 7}]}));
        assert_eq!(data.pieces.passages[0].text, "number: R-17, total: 12.5");
        assert_eq!(data.pieces.tables[0].columns, ["number", "total"]);
        assert_eq!(data.items[1].name(), Some("R-18"));
        let one = read(&json!({"city": "Oslo", "temperature": 12, "wind": {"speed": 3}}));
        let texts: Vec<_> = one.pieces.passages.iter().map(|passage| passage.text.as_str()).collect();
        assert_eq!(texts, ["city: Oslo", "temperature: 12", "speed: 3"]);
        assert_eq!(one.pieces.passages[1].heading, "Oslo");
    }

    #[test]
    fn marks_of_listings_are_no_part_of_a_name() {
        let found = named_files("[FILE] invoice 0417.pdf\n[DIR] contracts\nnotes.md\n");
        let names: Vec<_> = found.iter().filter_map(Item::name).collect();
        assert_eq!(names, ["invoice 0417.pdf", "contracts/", "notes.md"]);
        assert!(found[1].is_folder() && !found[0].is_folder());
    }

    #[test]
    fn texts_belong_to_their_path() {
        let data =
            read(&json!({"path": "a.md", "text": "# A\ntext", "document": {"attache.document": "stored"}}));
        assert_eq!(data.texts, [(Some("a.md".to_owned()), "# A\ntext".to_owned())]);
        assert_eq!((data.path.as_deref(), data.pieces.passages.len()), (Some("a.md"), 0));
        let found = read(&json!([{"file": "a.md", "match": "x\ny"}, {"file": "b.md", "match": "y\nz"}]));
        assert_eq!(found.texts[1].0.as_deref(), Some("b.md"));
    }
}
