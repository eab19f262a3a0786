//! Schemas of a document as schemas that stand for themselves.

use std::cell::Cell;
use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::{Map, Value, json};

use super::names::{Names, shortened};
use super::reference::{at, is_marked, text};

/// Deeper schemas say no more.
const DEEPEST: usize = 40;

/// Deeper merges are left as they are written.
const DEEPEST_MERGE: usize = 8;

/// More merges for the schemas of one operation are left as they are written: each may be of many, which are of many.
const MOST_MERGES: usize = 2_000;

/// The side that writes the values that a schema describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Request,
    Response,
}

/// The keywords that are kept as they are.
const KEPT: [&str; 17] = [
    "type",
    "enum",
    "const",
    "default",
    "format",
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "uniqueItems",
    "title",
];

/// Schemas that are taken out of a document together, with what they refer to under `$defs`.
pub(super) struct Closure<'d> {
    document: &'d Value,
    direction: Direction,
    /// True if keywords beside a reference count, as they do since 3.1.
    counts_beside: bool,
    names: HashMap<String, String>,
    taken: Names,
    waiting: VecDeque<(String, String)>,
    /// The merges that are left.
    merges: Cell<usize>,
    /// The bytes that are left for definitions.
    room: usize,
}

impl<'d> Closure<'d> {
    /// Definitions beyond `room` bytes are left out: what refers to them takes any value.
    pub(super) fn new(document: &'d Value, direction: Direction, room: usize) -> Self {
        Self {
            document,
            direction,
            counts_beside: !text(document, "openapi")
                .is_some_and(|version| version.trim().starts_with("3.0")),
            names: HashMap::new(),
            taken: Names::default(),
            waiting: VecDeque::new(),
            merges: Cell::new(MOST_MERGES),
            room,
        }
    }

    /// A schema of the document, its references led to definitions.
    pub(super) fn take(&mut self, schema: &Value) -> Value {
        self.convert(schema, DEEPEST)
    }

    /// The definitions that the schemas refer to, the near ones first.
    pub(super) fn finish(mut self) -> Map<String, Value> {
        let mut defs = Map::new();
        while let Some((reference, name)) = self.waiting.pop_front() {
            let left_out = || json!({"description": "any value: its schema is too large to be shown"});
            let converted = match at(self.document, &reference) {
                Ok(schema) if self.room > 0 => {
                    let known = self.waiting.len();
                    let converted = self.convert(schema, DEEPEST);
                    let size = converted.to_string().len();
                    match self.room.checked_sub(size) {
                        Some(room) => {
                            self.room = room;
                            converted
                        }
                        None => {
                            // The definitions that it alone refers to are not needed then.
                            for (reference, _) in self.waiting.drain(known..) {
                                self.names.remove(&reference);
                            }
                            left_out()
                        }
                    }
                }
                Ok(_) => left_out(),
                Err(_) => json!({}),
            };
            defs.insert(name, converted);
        }
        defs
    }

    /// The members of an object with `allOf` in it merged, if it is plainly an object; for the parameters of a body.
    pub(super) fn object(&self, schema: &'d Value) -> Option<Map<String, Value>> {
        let merged = self.merged(schema.as_object()?, DEEPEST_MERGE)?;
        let is_plain = ["oneOf", "anyOf", "not", "if", "allOf", "patternProperties"]
            .iter()
            .all(|word| !merged.contains_key(*word));
        let is_object = merged.get("type").is_none_or(|kind| kind == "object");
        let has_members =
            merged.get("properties").and_then(Value::as_object).is_some_and(|members| !members.is_empty());
        let is_closed = !merged.get("additionalProperties").is_some_and(Value::is_object);
        (is_plain && is_object && has_members && is_closed).then_some(merged)
    }

    /// True for an object that has no members and takes none.
    pub(super) fn is_without_members(&self, schema: &Value) -> bool {
        let merged = schema.as_object().and_then(|schema| self.merged(schema, DEEPEST_MERGE));
        const WORDS: [&str; 5] = ["type", "title", "description", "properties", "additionalProperties"];
        merged.is_some_and(|merged| {
            let has_members = merged
                .get("properties")
                .and_then(Value::as_object)
                .is_some_and(|members| !members.is_empty());
            let takes_any =
                merged.get("additionalProperties").is_some_and(|others| *others != Value::Bool(false));
            let is_object = merged.get("type").is_some_and(|kind| kind == "object");
            is_object
                && !has_members
                && !takes_any
                && merged.keys().all(|word| WORDS.contains(&word.as_str()))
        })
    }

    fn convert(&mut self, schema: &Value, depth: usize) -> Value {
        let Value::Object(schema) = schema else {
            return if schema.is_boolean() { schema.clone() } else { json!({}) };
        };
        let Some(depth) = depth.checked_sub(1) else { return json!({}) };
        if let Some(Value::String(reference)) = schema.get("$ref") {
            let name = self.name_of(reference);
            let mut out = match self.beside(schema).map(|beside| self.convert(&Value::Object(beside), depth))
            {
                Some(Value::Object(beside)) => beside,
                _ => Map::new(),
            };
            out.insert("$ref".to_owned(), Value::String(format!("#/$defs/{name}")));
            return Value::Object(out);
        }
        let merged = schema.contains_key("allOf").then(|| self.merged(schema, DEEPEST_MERGE)).flatten();
        let schema = merged.as_ref().unwrap_or(schema);
        let mut out = Map::new();
        for word in KEPT {
            if let Some(value) = schema.get(word) {
                out.insert(word.to_owned(), value.clone());
            }
        }
        out.remove("title");
        if let Some(Value::String(text)) = schema.get("description").or_else(|| schema.get("title")) {
            out.insert("description".to_owned(), Value::String(shortened(text)));
        }
        exclusive(&mut out, "exclusiveMinimum", "minimum");
        exclusive(&mut out, "exclusiveMaximum", "maximum");
        self.members(schema, &mut out, depth);
        for word in
            ["items", "additionalProperties", "not", "propertyNames", "contains", "if", "then", "else"]
        {
            if let Some(inner) = schema.get(word) {
                out.insert(word.to_owned(), self.convert(inner, depth));
            }
        }
        for word in ["allOf", "anyOf", "oneOf", "prefixItems"] {
            if let Some(Value::Array(inner)) = schema.get(word) {
                let inner = inner.iter().map(|schema| self.convert(schema, depth)).collect();
                out.insert(word.to_owned(), Value::Array(inner));
            }
        }
        if let Some(Value::Object(patterns)) = schema.get("patternProperties") {
            let patterns =
                patterns.iter().map(|(key, schema)| (key.clone(), self.convert(schema, depth))).collect();
            out.insert("patternProperties".to_owned(), Value::Object(patterns));
        }
        if schema.get("nullable") == Some(&Value::Bool(true)) {
            return nullable(out);
        }
        Value::Object(out)
    }

    fn members(&mut self, schema: &Map<String, Value>, out: &mut Map<String, Value>, depth: usize) {
        let hidden = match self.direction {
            Direction::Request => "readOnly",
            Direction::Response => "writeOnly",
        };
        let mut gone = HashSet::new();
        if let Some(Value::Object(members)) = schema.get("properties") {
            let mut kept = Map::new();
            for (name, member) in members {
                match is_marked(self.document, member, hidden) {
                    true => {
                        gone.insert(name.as_str());
                    }
                    false => {
                        kept.insert(name.clone(), self.convert(member, depth));
                    }
                }
            }
            out.insert("properties".to_owned(), Value::Object(kept));
        }
        if let Some(Value::Array(required)) = schema.get("required") {
            let kept: Vec<Value> = required
                .iter()
                .filter(|name| name.as_str().is_some_and(|name| !gone.contains(name)))
                .cloned()
                .collect();
            if !kept.is_empty() {
                out.insert("required".to_owned(), Value::Array(kept));
            }
        }
    }

    fn name_of(&mut self, reference: &str) -> String {
        if let Some(name) = self.names.get(reference) {
            return name.clone();
        }
        let last = reference.rsplit('/').next().unwrap_or(reference);
        let legal: String = last
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' })
            .collect();
        let name = self.taken.free(if legal.is_empty() { "schema" } else { &legal });
        self.names.insert(reference.to_owned(), name.clone());
        self.waiting.push_back((reference.to_owned(), name.clone()));
        name
    }

    /// The keywords beside a reference, if they count.
    fn beside(&self, schema: &Map<String, Value>) -> Option<Map<String, Value>> {
        if !self.counts_beside || schema.len() < 2 {
            return None;
        }
        let mut beside = schema.clone();
        // The schema that it refers to has a title of its own, and says whether it may be null.
        for word in ["$ref", "title", "nullable"] {
            beside.remove(word);
        }
        Some(beside)
    }

    /// A schema and the members of its `allOf` as one, as they are written in the document; `None` if they cannot be.
    fn merged(&self, schema: &Map<String, Value>, depth: usize) -> Option<Map<String, Value>> {
        self.merges.set(self.merges.get().checked_sub(1)?);
        if schema.contains_key("$ref") {
            let Some(mut beside) = self.beside(schema) else {
                let reference = schema.get("$ref")?.as_str()?;
                let next = at(self.document, reference).ok()?.as_object()?;
                return self.merged(next, depth.checked_sub(usize::from(next.contains_key("$ref")))?);
            };
            let depth = depth.checked_sub(1)?;
            let mut whole =
                self.merged(at(self.document, schema.get("$ref")?.as_str()?).ok()?.as_object()?, depth)?;
            if beside.contains_key("allOf") {
                beside = self.merged(&beside, depth)?;
            }
            merge(&mut whole, beside)?;
            return Some(whole);
        }
        let Some(Value::Array(parts)) = schema.get("allOf") else { return Some(schema.clone()) };
        let depth = depth.checked_sub(1)?;
        let mut whole = Map::new();
        for part in parts {
            merge(&mut whole, self.merged(part.as_object()?, depth)?)?;
        }
        // A part closes its own members alone, which no object with those of the others could pass.
        if whole.get("additionalProperties") == Some(&Value::Bool(false)) && parts.len() > 1 {
            whole.remove("additionalProperties");
        }
        let mut own = schema.clone();
        own.remove("allOf");
        merge(&mut whole, own)?;
        Some(whole)
    }
}

/// Adds what a further schema demands; `None` if the two cannot be said in one.
fn merge(whole: &mut Map<String, Value>, part: Map<String, Value>) -> Option<()> {
    for (word, value) in part {
        match (word.as_str(), whole.get_mut(&word)) {
            (_, None) => {
                whole.insert(word, value);
            }
            ("properties", Some(Value::Object(known))) => {
                let Value::Object(members) = value else { return None };
                known.extend(members);
            }
            ("required", Some(Value::Array(known))) => {
                let Value::Array(names) = value else { return None };
                let new: Vec<Value> = {
                    let mut seen: HashSet<&str> = known.iter().filter_map(Value::as_str).collect();
                    names
                        .iter()
                        .filter(|name| name.as_str().is_some_and(|name| seen.insert(name)))
                        .cloned()
                        .collect()
                };
                known.extend(new);
            }
            ("additionalProperties", Some(known)) => {
                if *known == Value::Bool(false) || value == Value::Bool(false) {
                    whole.remove("additionalProperties");
                }
            }
            ("type" | "oneOf" | "anyOf" | "not" | "enum" | "const" | "items" | "if", Some(known)) => {
                if *known != value {
                    return None;
                }
            }
            (_, Some(known)) => *known = value,
        }
    }
    Some(())
}

/// OpenAPI 3.0 has a flag where JSON Schema has a number.
fn exclusive(schema: &mut Map<String, Value>, word: &str, bound: &str) {
    match schema.get(word) {
        Some(Value::Bool(true)) => {
            schema.remove(word);
            if let Some(value) = schema.remove(bound) {
                schema.insert(word.to_owned(), value);
            }
        }
        Some(Value::Bool(false)) => {
            schema.remove(word);
        }
        _ => {}
    }
}

/// OpenAPI 3.0 has a flag where JSON Schema has a type.
fn nullable(mut schema: Map<String, Value>) -> Value {
    if let Some(Value::Array(values)) = schema.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    match schema.get("type").cloned() {
        Some(Value::String(kind)) => {
            schema.insert("type".to_owned(), json!([kind, "null"]));
            Value::Object(schema)
        }
        Some(_) => Value::Object(schema),
        None if schema.is_empty() => Value::Object(schema),
        None => json!({"anyOf": [schema, {"type": "null"}]}),
    }
}

/// A schema without the patterns in it, which may be of another dialect.
pub(super) fn without_patterns(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            // A property may be called like the keyword.
            if members.get("pattern").is_some_and(Value::is_string) {
                members.remove("pattern");
            }
            members.remove("patternProperties");
            members.values_mut().for_each(without_patterns);
        }
        Value::Array(items) => items.iter_mut().for_each(without_patterns),
        _ => {}
    }
}
