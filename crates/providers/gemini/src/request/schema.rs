//! Schemas that the API takes: the keywords of its subset, everything else moved into descriptions (gemini.md 5).

use std::fmt;

use serde_json::{Map, Value, json};

/// Levels of nesting; what the API takes is far below.
const MAX_DEPTH: usize = 64;

/// A schema inside the subset.
#[derive(Debug, PartialEq)]
pub(super) struct Fitted {
    pub(super) schema: Value,
    /// Constraints that the model reads in a description instead of being held to them.
    pub(super) described: Vec<Described>,
}

/// A constraint that the API is not told.
#[derive(Debug, PartialEq)]
pub(super) struct Described {
    pub(super) keyword: String,
    /// The place as people read it.
    path: String,
    /// The schema that has the keyword.
    pub(super) pointer: String,
}

impl fmt::Display for Described {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.path.is_empty() { "the root" } else { &self.path };
        write!(f, "{} at {place}", self.keyword)
    }
}

/// Where a schema stands.
#[derive(Clone, Debug, Default)]
struct At {
    path: String,
    pointer: String,
}

impl At {
    /// The schema under a keyword, with what people call it, if that differs from its parent.
    fn below(&self, keyword: &str, index: Option<&str>, name: Option<&str>) -> Self {
        let longer = keyword.len() + index.map_or(0, str::len) + 2;
        let mut at =
            Self { path: self.path.clone(), pointer: String::with_capacity(self.pointer.len() + longer) };
        at.pointer.push_str(&self.pointer);
        for part in [Some(keyword), index].into_iter().flatten() {
            at.pointer.push('/');
            for c in part.chars() {
                match c {
                    '~' => at.pointer.push_str("~0"),
                    '/' => at.pointer.push_str("~1"),
                    c => at.pointer.push(c),
                }
            }
        }
        if let Some(name) = name {
            if !at.path.is_empty() {
                at.path.push('.');
            }
            at.path.push_str(name);
        }
        at
    }

    fn described(&self, keyword: &str) -> Described {
        Described { keyword: keyword.to_owned(), path: self.path.clone(), pointer: self.pointer.clone() }
    }
}

/// Brings a schema into the subset. A keyword that has no equivalent there moves into the description of its place, so
/// that the model still reads it.
pub(super) fn fit(schema: &Value) -> Fitted {
    let mut fitting = Fitting { described: Vec::new() };
    let schema = fitting.node(schema, &At::default(), 0);
    Fitted { schema, described: fitting.described }
}

struct Fitting {
    described: Vec<Described>,
}

/// One schema while it is fitted.
#[derive(Default)]
struct Node {
    fitted: Map<String, Value>,
    /// The text that goes into the description.
    moved: Map<String, Value>,
    /// It is of whole numbers.
    is_integer: bool,
    /// `null` is allowed too.
    is_nullable: bool,
}

impl Fitting {
    fn node(&mut self, schema: &Value, at: &At, depth: usize) -> Value {
        let Value::Object(members) = schema else {
            // `true` takes anything, as `{}` does.
            if *schema == Value::Bool(false) {
                self.described.push(at.described("false"));
            }
            return json!({});
        };
        if depth > MAX_DEPTH {
            self.described.push(at.described("nesting"));
            return json!({});
        }
        let mut node =
            Node { is_integer: members.get("type").is_some_and(|kind| kind == "integer"), ..Node::default() };
        for (key, value) in members {
            self.member(&mut node, key, value, at, depth);
        }
        node.close()
    }

    fn member(&mut self, node: &mut Node, key: &str, value: &Value, at: &At, depth: usize) {
        let fitted = &mut node.fitted;
        match (key, value) {
            ("properties" | "$defs" | "definitions", Value::Object(children)) => {
                let children = children.iter().map(|(name, child)| {
                    (name.clone(), self.node(child, &at.below(key, Some(name), Some(name)), depth + 1))
                });
                let children: Map<String, Value> = children.collect();
                let key = if key == "definitions" { "$defs" } else { key };
                match fitted.get_mut(key) {
                    Some(Value::Object(known)) => known.extend(children),
                    _ => {
                        fitted.insert(key.to_owned(), Value::Object(children));
                    }
                }
            }
            ("items", Value::Array(items)) | ("prefixItems", Value::Array(items)) => {
                let items = items.iter().enumerate().map(|(index, item)| {
                    self.node(item, &at.below(key, Some(&index.to_string()), Some("items")), depth + 1)
                });
                fitted.insert("prefixItems".to_owned(), items.collect());
            }
            ("items", item) => {
                fitted
                    .insert(key.to_owned(), self.node(item, &at.below(key, None, Some("items")), depth + 1));
            }
            ("anyOf" | "oneOf", Value::Array(branches)) => {
                let branches = branches.iter().enumerate().map(|(index, branch)| {
                    self.node(branch, &at.below(key, Some(&index.to_string()), None), depth + 1)
                });
                fitted.insert(key.to_owned(), branches.collect());
            }
            ("allOf", Value::Array(branches)) => {
                for (index, branch) in branches.iter().enumerate() {
                    let branch = self.node(branch, &at.below(key, Some(&index.to_string()), None), depth + 1);
                    if let Err(conflict) = node.merge(branch) {
                        self.described.push(at.described("allOf"));
                        node.describe("allOf", conflict);
                    }
                }
            }
            ("additionalProperties", Value::Bool(_)) => {
                fitted.insert(key.to_owned(), value.clone());
            }
            ("additionalProperties", child) => {
                fitted.insert(key.to_owned(), self.node(child, &at.below(key, None, Some("*")), depth + 1));
            }
            ("$ref", Value::String(target)) => {
                let target = target.replacen("#/definitions/", "#/$defs/", 1);
                fitted.insert(key.to_owned(), Value::String(target));
            }
            ("const", Value::Null) => {
                fitted.insert("type".to_owned(), json!("null"));
            }
            ("const", value) => self.choices(node, key, std::slice::from_ref(value), at),
            ("enum", Value::Array(values)) => self.choices(node, key, values, at),
            ("format", Value::String(format)) if FORMATS.contains(&format.as_str()) => {
                fitted.insert(key.to_owned(), value.clone());
            }
            ("exclusiveMinimum", Value::Number(bound)) if node.is_integer && bound.as_i64().is_some() => {
                let bound = bound.as_i64().unwrap_or_default().saturating_add(1);
                fitted.entry("minimum").or_insert(json!(bound));
            }
            ("exclusiveMaximum", Value::Number(bound)) if node.is_integer && bound.as_i64().is_some() => {
                let bound = bound.as_i64().unwrap_or_default().saturating_sub(1);
                fitted.entry("maximum").or_insert(json!(bound));
            }
            (
                "type" | "description" | "required" | "minItems" | "maxItems" | "minimum" | "maximum" | "$id"
                | "$anchor" | "propertyOrdering",
                _,
            ) => {
                fitted.insert(key.to_owned(), value.clone());
            }
            ("nullable", _) => node.is_nullable |= *value == Value::Bool(true),
            // About the schema, not about the value; a title confuses some models.
            ("$schema" | "$comment" | "title" | "deprecated" | "readOnly" | "writeOnly", _) => {}
            (extension, _) if extension.starts_with("x-") => {}
            // Hints.
            ("default" | "examples" | "example" | "format", _) => node.describe(key, value.clone()),
            _ => {
                self.described.push(at.described(key));
                node.describe(key, value.clone());
            }
        }
    }

    /// The values that are allowed: strings and numbers.
    fn choices(&mut self, node: &mut Node, key: &str, values: &[Value], at: &At) {
        let plain: Vec<Value> =
            values.iter().filter(|value| value.is_string() || value.is_number()).cloned().collect();
        let has_null = values.contains(&Value::Null);
        if !plain.is_empty() && plain.len() + usize::from(has_null) == values.len() {
            let strings = plain.iter().all(Value::is_string);
            node.fitted.insert("enum".to_owned(), Value::Array(plain));
            if strings {
                node.fitted.entry("type").or_insert_with(|| json!("string"));
            }
            node.is_nullable |= has_null;
            return;
        }
        self.described.push(at.described(key));
        node.describe(
            key,
            if key == "const" { values.first().cloned().unwrap_or_default() } else { json!(values) },
        );
    }
}

/// String and number formats that the API knows.
const FORMATS: [&str; 7] = ["date-time", "date", "time", "int32", "int64", "float", "double"];

impl Node {
    fn describe(&mut self, key: &str, value: Value) {
        self.moved.insert(key.to_owned(), value);
    }

    /// Adds `null` to the types.
    fn allow_null(&mut self) {
        match self.fitted.get_mut("type") {
            Some(Value::Array(kinds)) if !kinds.contains(&json!("null")) => kinds.push(json!("null")),
            Some(kind) if kind.is_string() && *kind != "null" => *kind = json!([kind, "null"]),
            _ => {}
        }
    }

    /// Takes the members of a schema that must hold too.
    ///
    /// # Errors
    /// The members that contradict what is there.
    fn merge(&mut self, branch: Value) -> Result<(), Value> {
        let Value::Object(branch) = branch else { return Ok(()) };
        let mut conflict = Map::new();
        for (key, value) in branch {
            match (self.fitted.get_mut(&key), value) {
                (Some(known), value) if *known == value => {}
                (Some(Value::Object(known)), Value::Object(more))
                    if key == "properties" || key == "$defs" =>
                {
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
                    self.fitted.insert(key, value);
                }
            }
        }
        if conflict.is_empty() { Ok(()) } else { Err(Value::Object(conflict)) }
    }

    fn close(mut self) -> Value {
        if self.is_nullable {
            self.allow_null();
        }
        let Self { mut fitted, moved, .. } = self;
        if !moved.is_empty() {
            let moved = Value::Object(moved).to_string();
            let text = match fitted.get("description").and_then(Value::as_str) {
                Some(text) if !text.trim().is_empty() => format!("{text}\n\n{moved}"),
                _ => moved,
            };
            fitted.insert("description".to_owned(), Value::String(text));
        }
        // Beside a reference nothing may stand but members with a dollar sign.
        if fitted.contains_key("$ref") && fitted.keys().any(|key| !key.starts_with('$')) {
            let target = fitted.shift_remove("$ref");
            let branches = fitted.entry("anyOf").or_insert_with(|| json!([]));
            match branches.as_array_mut() {
                Some(branches) if branches.is_empty() => branches.push(json!({"$ref": target})),
                _ => {
                    fitted.insert("$ref".to_owned(), target.unwrap_or_default());
                }
            }
        }
        Value::Object(fitted)
    }
}

#[cfg(test)]
mod tests;
