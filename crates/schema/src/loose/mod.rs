//! Looser schemas for APIs with limited JSON Schema support: unsupported keywords are moved into descriptions, or
//! removed from the root.

mod root;

use std::cmp::Ordering;

use serde_json::{Map, Number, Value, json};

use crate::keywords::escaped;
use crate::strict::Unsaid;
use crate::values::{is_whole, order};

pub use root::{PlainRoot, bare_root, plain_root};

/// Levels of nesting; what APIs take is far below.
const MAX_DEPTH: usize = 64;

/// The keywords that an API supports, in addition to those that contain schemas, references, `const` and `enum`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    keywords: &'static [&'static str],
    formats: &'static [&'static str],
}

impl Dialect {
    /// Creates a dialect with these keywords and these values of `format`.
    pub const fn new(keywords: &'static [&'static str], formats: &'static [&'static str]) -> Self {
        Self { keywords, formats }
    }
}

/// A schema converted to a dialect; see [`loosen`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Loosened {
    /// The schema.
    pub schema: Value,
    /// Constraints that are only in a description and so are not enforced.
    pub unsaid: Vec<Unsaid>,
}

/// Converts a schema to a dialect. A keyword without an equivalent is moved into the description of its place, so that
/// the model still reads it; `allOf` becomes one schema, `const` an `enum` of one value.
///
/// ```
/// use attache_schema::{Dialect, loosen};
/// use serde_json::json;
///
/// let dialect = Dialect::new(&["type", "minimum"], &["date"]);
/// let loosened = loosen(&json!({"type": "integer", "exclusiveMinimum": 0, "multipleOf": 5}), &dialect);
/// assert_eq!(loosened.schema, json!({"type": "integer", "minimum": 1, "description": "{\"multipleOf\":5}"}));
/// assert_eq!(loosened.unsaid[0].to_string(), "multipleOf at the root");
/// ```
pub fn loosen(schema: &Value, dialect: &Dialect) -> Loosened {
    let mut loosening = Loosening { dialect, unsaid: Vec::new() };
    let schema = loosening.node(schema, "", 0);
    Loosened { schema, unsaid: loosening.unsaid }
}

struct Loosening<'d> {
    dialect: &'d Dialect,
    unsaid: Vec<Unsaid>,
}

/// One schema while it is said.
#[derive(Default)]
struct Node {
    said: Map<String, Value>,
    /// The text that goes into the description.
    moved: Map<String, Value>,
    /// It is of whole numbers.
    is_integer: bool,
    /// `null` is allowed too.
    is_nullable: bool,
}

impl Loosening<'_> {
    fn node(&mut self, schema: &Value, at: &str, depth: usize) -> Value {
        let Value::Object(members) = schema else {
            // `true` takes anything, as `{}` does.
            if *schema == Value::Bool(false) {
                self.unsay(at, "false");
            }
            return json!({});
        };
        if depth > MAX_DEPTH {
            self.unsay(at, "nesting");
            return json!({});
        }
        let mut node =
            Node { is_integer: members.get("type").is_some_and(|kind| kind == "integer"), ..Node::default() };
        // Only then is all there that the parts of `allOf` are merged with.
        let (last, first): (Vec<_>, Vec<_>) = members.iter().partition(|(key, _)| *key == "allOf");
        for (key, value) in first.into_iter().chain(last) {
            self.member(&mut node, key, value, at, depth);
        }
        node.close()
    }

    fn member(&mut self, node: &mut Node, key: &str, value: &Value, at: &str, depth: usize) {
        let said = &mut node.said;
        let dialect = self.dialect;
        let knows = |keyword: &str| dialect.keywords.contains(&keyword);
        match (key, value) {
            ("properties" | "$defs" | "definitions", Value::Object(children)) => {
                let children = children.iter().map(|(name, child)| {
                    (name.clone(), self.node(child, &[at, "/", key, "/", &escaped(name)].concat(), depth + 1))
                });
                let children: Map<String, Value> = children.collect();
                let key = if key == "definitions" { "$defs" } else { key };
                match said.get_mut(key) {
                    Some(Value::Object(known)) => known.extend(children),
                    _ => {
                        said.insert(key.to_owned(), Value::Object(children));
                    }
                }
            }
            ("items", Value::Array(items)) | ("prefixItems", Value::Array(items)) => {
                said.insert("prefixItems".to_owned(), self.nodes(key, items, at, depth).collect());
            }
            ("anyOf" | "oneOf", Value::Array(branches)) => {
                said.insert(key.to_owned(), self.nodes(key, branches, at, depth).collect());
            }
            ("allOf", Value::Array(branches)) => {
                let branches: Vec<Value> = self.nodes(key, branches, at, depth).collect();
                let mut conflicts = Vec::new();
                for branch in branches {
                    let Value::Object(branch) = branch else { continue };
                    let conflict = merge(&mut node.said, branch);
                    if !conflict.is_empty() {
                        self.unsay(at, "allOf");
                        conflicts.push(Value::Object(conflict));
                    }
                }
                match conflicts.len() {
                    0 => {}
                    1 => node.describe("allOf", conflicts.swap_remove(0)),
                    _ => node.describe("allOf", conflicts.into()),
                }
            }
            ("additionalProperties", Value::Bool(_)) => {
                said.insert(key.to_owned(), value.clone());
            }
            ("items" | "additionalProperties", child) => {
                said.insert(key.to_owned(), self.node(child, &[at, "/", key].concat(), depth + 1));
            }
            ("$ref", Value::String(target)) => {
                let target = target.replacen("#/definitions/", "#/$defs/", 1);
                said.insert(key.to_owned(), Value::String(target));
            }
            ("const", Value::Null) => {
                said.insert("type".to_owned(), json!("null"));
            }
            ("const", value) => self.choices(node, key, std::slice::from_ref(value), at),
            ("enum", Value::Array(values)) => self.choices(node, key, values, at),
            ("format", Value::String(format)) if dialect.formats.contains(&format.as_str()) => {
                said.insert(key.to_owned(), value.clone());
            }
            ("exclusiveMinimum", Value::Number(bound))
                if node.is_integer && bound.is_i64() && knows("minimum") =>
            {
                let bound = bound.as_i64().unwrap_or_default().saturating_add(1);
                node.bound("minimum", &bound.into(), Ordering::Less);
            }
            ("exclusiveMaximum", Value::Number(bound))
                if node.is_integer && bound.is_i64() && knows("maximum") =>
            {
                let bound = bound.as_i64().unwrap_or_default().saturating_sub(1);
                node.bound("maximum", &bound.into(), Ordering::Greater);
            }
            ("minimum", Value::Number(bound)) if knows(key) => node.bound(key, bound, Ordering::Less),
            ("maximum", Value::Number(bound)) if knows(key) => node.bound(key, bound, Ordering::Greater),
            (known, _) if known == "description" || knows(known) => {
                said.insert(key.to_owned(), value.clone());
            }
            ("nullable", _) => node.is_nullable |= *value == Value::Bool(true),
            // About the schema, not about the value; a title confuses some models.
            ("$schema" | "$comment" | "title" | "deprecated" | "readOnly" | "writeOnly", _) => {}
            (extension, _) if extension.starts_with("x-") => {}
            // Hints.
            ("default" | "examples" | "example" | "format", _) => node.describe(key, value.clone()),
            _ => {
                self.unsay(at, key);
                node.describe(key, value.clone());
            }
        }
    }

    /// The schemas of a list under a keyword.
    fn nodes<'s>(
        &'s mut self,
        key: &'s str,
        schemas: &'s [Value],
        at: &'s str,
        depth: usize,
    ) -> impl Iterator<Item = Value> + 's {
        let schemas = schemas.iter().enumerate();
        schemas.map(move |(index, schema)| self.node(schema, &format!("{at}/{key}/{index}"), depth + 1))
    }

    fn unsay(&mut self, at: &str, keyword: &str) {
        self.unsaid.push(Unsaid { pointer: at.to_owned(), keyword: keyword.to_owned() });
    }

    /// The values that are allowed: strings and numbers.
    fn choices(&mut self, node: &mut Node, key: &str, values: &[Value], at: &str) {
        let plain: Vec<Value> =
            values.iter().filter(|value| value.is_string() || value.is_number()).cloned().collect();
        let has_null = values.contains(&Value::Null);
        if !plain.is_empty() && plain.len() + usize::from(has_null) == values.len() {
            let strings = plain.iter().all(Value::is_string);
            node.said.insert("enum".to_owned(), Value::Array(plain));
            if strings {
                node.said.entry("type").or_insert_with(|| json!("string"));
            }
            node.is_nullable |= has_null;
            return;
        }
        self.unsay(at, key);
        node.describe(
            key,
            if key == "const" { values.first().cloned().unwrap_or_default() } else { json!(values) },
        );
    }
}

impl Node {
    fn describe(&mut self, key: &str, value: Value) {
        self.moved.insert(key.to_owned(), value);
    }

    /// Says a bound, unless there is a stricter one: `looser` is how one that is looser compares to it.
    fn bound(&mut self, key: &str, bound: &Number, looser: Ordering) {
        match self.said.get(key) {
            Some(Value::Number(known)) if order(known, bound) != Some(looser) => {}
            _ => {
                self.said.insert(key.to_owned(), Value::Number(bound.clone()));
            }
        }
    }

    /// Adds `null` to the types.
    fn allow_null(&mut self) {
        match self.said.get_mut("type") {
            Some(Value::Array(kinds)) if !kinds.contains(&json!("null")) => kinds.push(json!("null")),
            Some(kind) if kind.is_string() && *kind != "null" => *kind = json!([kind, "null"]),
            _ => {}
        }
    }

    fn close(mut self) -> Value {
        if self.is_nullable {
            if let Some(Value::Array(values)) = self.said.get("enum")
                && !self.said.contains_key("type")
            {
                let kinds = kinds(values);
                self.said.insert("type".to_owned(), kinds);
            }
            self.allow_null();
        }
        let Self { mut said, moved, .. } = self;
        if !moved.is_empty() {
            let moved = Value::Object(moved).to_string();
            let text = match said.get("description").and_then(Value::as_str) {
                Some(text) if !text.trim().is_empty() => format!("{text}\n\n{moved}"),
                _ => moved,
            };
            said.insert("description".to_owned(), Value::String(text));
        }
        // Beside a reference nothing may stand but members with a dollar sign.
        if said.contains_key("$ref") && said.keys().any(|key| !key.starts_with('$')) {
            let target = said.shift_remove("$ref");
            let branches = said.entry("anyOf").or_insert_with(|| json!([]));
            match branches.as_array_mut() {
                Some(branches) if branches.is_empty() => branches.push(json!({"$ref": target})),
                _ => {
                    said.insert("$ref".to_owned(), target.unwrap_or_default());
                }
            }
        }
        Value::Object(said)
    }
}

/// The types of some texts and numbers.
fn kinds(values: &[Value]) -> Value {
    let numbers = || values.iter().filter_map(|value| value.as_number());
    let number = numbers().next().map(|_| if numbers().all(is_whole) { "integer" } else { "number" });
    let text = values.iter().any(Value::is_string).then_some("string");
    number.into_iter().chain(text).collect()
}

/// Adds the members of a schema that must hold too, and yields those that contradict what is there.
fn merge(said: &mut Map<String, Value>, branch: Map<String, Value>) -> Map<String, Value> {
    let mut conflict = Map::new();
    for (key, value) in branch {
        match (said.get_mut(&key), value) {
            (Some(known), value) if *known == value => {}
            (Some(Value::Object(known)), Value::Object(more)) if key == "properties" => {
                let rest = merge_properties(known, more);
                if !rest.is_empty() {
                    conflict.insert(key, Value::Object(rest));
                }
            }
            (Some(Value::Object(known)), Value::Object(more)) if key == "$defs" => {
                for (name, child) in more {
                    known.entry(name).or_insert(child);
                }
            }
            (Some(Value::Array(known)), Value::Array(more)) if key == "required" => {
                known.extend(more.into_iter().filter(|name| !known.contains(name)).collect::<Vec<_>>());
            }
            (Some(Value::String(known)), Value::String(more)) if key == "description" => {
                known.push_str("\n\n");
                known.push_str(&more);
            }
            (Some(_), value) => {
                conflict.insert(key, value);
            }
            (None, value) => {
                said.insert(key, value);
            }
        }
    }
    conflict
}

/// The same for properties by their names.
fn merge_properties(known: &mut Map<String, Value>, more: Map<String, Value>) -> Map<String, Value> {
    let mut conflict = Map::new();
    for (name, child) in more {
        match (known.get_mut(&name), child) {
            (None, child) => {
                known.insert(name, child);
            }
            (Some(known), child) if *known == child => {}
            // Beside a reference nothing may stand.
            (Some(Value::Object(known)), Value::Object(child))
                if !known.contains_key("$ref") && !child.contains_key("$ref") =>
            {
                let rest = merge(known, child);
                if !rest.is_empty() {
                    conflict.insert(name, Value::Object(rest));
                }
            }
            (Some(_), child) => {
                conflict.insert(name, child);
            }
        }
    }
    conflict
}

#[cfg(test)]
mod tests;
