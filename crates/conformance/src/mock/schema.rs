//! The subsets of JSON Schema that providers compile for strict tools and structured output.

use std::fmt;

use serde_json::{Map, Value};

/// The API whose subset is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// openai.md A.4.
    OpenAi,
    /// anthropic.md 6.
    Anthropic,
    /// Anthropic's with the limits of strings (bedrock.md 11).
    Bedrock,
}

const FORMATS: [&str; 9] =
    ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];

/// Keywords that OpenAI compiles; all others are refused.
const OPENAI_KEYWORDS: &[&str] = &[
    "$schema",
    "title",
    "type",
    "properties",
    "required",
    "additionalProperties",
    "enum",
    "const",
    "anyOf",
    "$defs",
    "definitions",
    "$ref",
    "description",
    "pattern",
    "format",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "items",
    "minItems",
    "maxItems",
];

/// Keywords that Anthropic refuses.
const ANTHROPIC_REFUSED: &[&str] = &[
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "maxItems",
    "oneOf",
];

const MAX_PROPERTIES: usize = 5000;
const MAX_ENUM_VALUES: usize = 1000;
const MAX_LEVELS: usize = 10;
/// A bound on our own recursion, far beyond what either provider compiles.
const MAX_DEPTH: usize = 100;

/// The fewest properties that the schemas of a request leave optional and that are known to be refused, as recorded from
/// the API. It counts the states of its grammar, which is not known; this many in one tool are too many.
const TOO_OPTIONAL: usize = 24;
/// Places of several types in the schemas of one request, as Anthropic documents it.
const MAX_UNIONS: usize = 16;

/// Checks that Anthropic compiles the strict schemas of one request together. `check_strict` bounds their depth.
///
/// # Errors
///
/// The message of the API.
pub(crate) fn check_together<'s>(schemas: impl IntoIterator<Item = &'s Value>) -> Result<(), String> {
    let (mut optional, mut unions) = (0, 0);
    for schema in schemas {
        optional += optional_properties(schema);
        unions += places_of_several_types(schema);
    }
    if optional < TOO_OPTIONAL && unions <= MAX_UNIONS {
        return Ok(());
    }
    let message = "Schema is too complex for compilation. Try reducing the number of tools or simplifying tool schemas.";
    Err(message.to_owned())
}

fn optional_properties(schema: &Value) -> usize {
    match schema {
        Value::Array(items) => items.iter().map(optional_properties).sum(),
        Value::Object(members) => {
            let required = members.get("required").and_then(Value::as_array);
            let is_required =
                |name: &String| required.is_some_and(|list| list.iter().any(|each| each == name));
            let own = members.get("properties").and_then(Value::as_object);
            let own = own.map_or(0, |own| own.keys().filter(|name| !is_required(name)).count());
            own + members.values().map(optional_properties).sum::<usize>()
        }
        _ => 0,
    }
}

fn places_of_several_types(schema: &Value) -> usize {
    match schema {
        Value::Array(items) => items.iter().map(places_of_several_types).sum(),
        Value::Object(members) => {
            let is_list = |keyword: &str| members.get(keyword).is_some_and(Value::is_array);
            usize::from(is_list("anyOf") || is_list("type"))
                + members.values().map(places_of_several_types).sum::<usize>()
        }
        _ => 0,
    }
}

/// Checks a strict schema against its provider's subset.
///
/// # Errors
///
/// The unsupported keyword and its place, in words.
pub(crate) fn check_strict(schema: &Value, dialect: Dialect) -> Result<(), String> {
    let Some(root) = schema.as_object() else { return Err("the schema must be an object".to_owned()) };
    if dialect == Dialect::OpenAi
        && (root.get("type").and_then(Value::as_str) != Some("object") || root.contains_key("anyOf"))
    {
        return Err("the root must be of type 'object' and not use 'anyOf'".to_owned());
    }
    let mut checker = Checker {
        root: schema,
        dialect,
        properties: 0,
        enum_values: 0,
        refs: Vec::new(),
        checked: Vec::new(),
    };
    checker.node(schema, &mut Vec::new(), 1)
}

/// Checks what every server that imitates OpenAI demands of a tool's schema.
///
/// # Errors
///
/// The problem, in words.
pub(crate) fn check_root(schema: &Map<String, Value>) -> Result<(), String> {
    if schema.get("type").and_then(Value::as_str) == Some("object") {
        return Ok(());
    }
    let got = schema.get("type").map_or_else(|| "\"None\"".to_owned(), Value::to_string);
    Err(format!("schema must be a JSON Schema of 'type: \"object\"', got 'type: {got}'."))
}

/// Checks what OpenAI demands of every tool's schema, strict or not.
///
/// # Errors
///
/// The problem and its place, in words.
pub(crate) fn check_function(schema: &Map<String, Value>) -> Result<(), String> {
    check_root(schema)?;
    if ["oneOf", "anyOf", "allOf", "enum", "not"].iter().any(|keyword| schema.contains_key(*keyword)) {
        return Err("schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level."
            .to_owned());
    }
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        if property
            .as_object()
            .is_some_and(|property| is_type(property, "array") && !property.contains_key("items"))
        {
            return Err(format!("In context=('properties', '{name}'), array schema missing items."));
        }
    }
    Ok(())
}

struct Checker<'v> {
    root: &'v Value,
    dialect: Dialect,
    properties: usize,
    enum_values: usize,
    /// The references being followed, to see recursion.
    refs: Vec<&'v str>,
    /// The references that have been followed to their end.
    checked: Vec<&'v str>,
}

/// The place in the schema: shared by all nodes, grown and shrunk on the way.
type At<'v> = Vec<&'v str>;

fn problem<T>(at: &At<'_>, what: impl fmt::Display) -> Result<T, String> {
    let place = if at.is_empty() { "the root".to_owned() } else { format!("'{}'", at.join(".")) };
    Err(format!("In {place}: {what}."))
}

impl<'v> Checker<'v> {
    fn node(&mut self, node: &'v Value, at: &mut At<'v>, level: usize) -> Result<(), String> {
        let Some(schema) = node.as_object() else { return problem(at, "a schema must be an object") };
        if at.len() > MAX_DEPTH || (self.dialect == Dialect::OpenAi && level > MAX_LEVELS) {
            return problem(at, "the schema is nested too deeply");
        }
        self.keywords(schema, at)?;
        if schema.contains_key("properties") || is_type(schema, "object") {
            self.object(schema, at, level)?;
        }
        if let Some(Value::Array(values)) = schema.get("enum") {
            self.enum_values += values.len();
            if self.dialect == Dialect::OpenAi && self.enum_values > MAX_ENUM_VALUES {
                return problem(at, format_args!("there are over {MAX_ENUM_VALUES} enum values"));
            }
        }
        for key in ["$defs", "definitions"] {
            for (name, child) in schema.get(key).and_then(Value::as_object).into_iter().flatten() {
                self.child(child, key, name, at, 1)?;
            }
        }
        for key in ["anyOf", "allOf"] {
            for child in schema.get(key).and_then(Value::as_array).into_iter().flatten() {
                self.child(child, key, "", at, level)?;
            }
        }
        match schema.get("items") {
            Some(items) => self.child(items, "items", "", at, level + 1)?,
            None if self.dialect == Dialect::OpenAi && is_type(schema, "array") => {
                return problem(at, "an array needs 'items'");
            }
            None => {}
        }
        match schema.get("$ref").and_then(Value::as_str) {
            Some(reference) => self.reference(reference, schema, at),
            None => Ok(()),
        }
    }

    fn child(
        &mut self,
        child: &'v Value,
        key: &'v str,
        name: &'v str,
        at: &mut At<'v>,
        level: usize,
    ) -> Result<(), String> {
        let before = at.len();
        at.push(key);
        if !name.is_empty() {
            at.push(name);
        }
        let checked = self.node(child, at, level);
        at.truncate(before);
        checked
    }

    fn keywords(&self, schema: &'v Map<String, Value>, at: &At<'v>) -> Result<(), String> {
        let refused = schema.keys().find(|key| match self.dialect {
            Dialect::OpenAi => !OPENAI_KEYWORDS.contains(&key.as_str()),
            Dialect::Anthropic => ANTHROPIC_REFUSED.contains(&key.as_str()),
            Dialect::Bedrock => {
                ANTHROPIC_REFUSED.contains(&key.as_str())
                    && !matches!(key.as_str(), "minLength" | "maxLength")
            }
        });
        if let Some(key) = refused {
            return problem(at, format_args!("'{key}' is not permitted"));
        }
        if let Some(format) = schema.get("format").and_then(Value::as_str)
            && !FORMATS.contains(&format)
            && !(format == "uri" && self.dialect != Dialect::OpenAi)
        {
            return problem(at, format_args!("format '{format}' is not supported"));
        }
        if let Some(pattern) = schema.get("pattern").and_then(Value::as_str)
            && self.dialect == Dialect::OpenAi
            && ["(?=", "(?!", "(?<=", "(?<!"].iter().any(|look| pattern.contains(look))
        {
            return problem(at, "look-around is not supported in 'pattern'");
        }
        if self.dialect != Dialect::OpenAi && schema.get("minItems").is_some_and(|min| min.as_u64() > Some(1))
        {
            return problem(at, "'minItems' values other than 0 or 1 are not supported");
        }
        Ok(())
    }

    fn object(
        &mut self,
        schema: &'v Map<String, Value>,
        at: &mut At<'v>,
        level: usize,
    ) -> Result<(), String> {
        if schema.get("additionalProperties") != Some(&Value::Bool(false)) {
            return problem(at, "'additionalProperties' is required to be supplied and to be false");
        }
        let required = schema.get("required").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        for (name, child) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            self.properties += 1;
            if self.dialect == Dialect::OpenAi {
                if self.properties > MAX_PROPERTIES {
                    return problem(at, format_args!("there are over {MAX_PROPERTIES} properties"));
                }
                if !required.iter().any(|entry| entry.as_str() == Some(name)) {
                    return problem(
                        at,
                        format_args!("'required' must include every property, '{name}' is missing"),
                    );
                }
            }
            self.child(child, "properties", name, at, level + 1)?;
        }
        Ok(())
    }

    fn reference(
        &mut self,
        reference: &'v str,
        schema: &Map<String, Value>,
        at: &mut At<'v>,
    ) -> Result<(), String> {
        if self.dialect == Dialect::OpenAi && schema.len() > 1 {
            return problem(at, "'$ref' cannot have keywords beside it");
        }
        let target = reference.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
        let Some(target) = target else {
            return problem(at, format_args!("reference '{reference}' cannot be resolved inside the schema"));
        };
        if self.refs.contains(&reference) {
            return match self.dialect {
                Dialect::OpenAi => Ok(()),
                Dialect::Anthropic | Dialect::Bedrock => {
                    problem(at, format_args!("recursive reference '{reference}'"))
                }
            };
        }
        // Definitions are checked where they stand, so following them only serves to see recursion.
        if self.dialect == Dialect::OpenAi || self.checked.contains(&reference) {
            return Ok(());
        }
        self.refs.push(reference);
        let checked = self.child(target, reference, "", at, 1);
        self.refs.pop();
        self.checked.push(reference);
        checked
    }
}

fn is_type(schema: &Map<String, Value>, name: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(kind)) => kind == name,
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind.as_str() == Some(name)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Dialect, check_strict};

    #[expect(clippy::needless_pass_by_value, reason = "a borrow would only add noise to the cases below")]
    fn object(properties: Value) -> Value {
        let required: Vec<Value> =
            properties.as_object().expect("an object").keys().map(|key| json!(key)).collect();
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
    }

    #[test]
    fn openai_takes_its_subset() {
        let mut good = object(json!({
            "when": {"type": "string", "format": "date"},
            "tags": {"type": "array", "items": {"type": ["string", "null"]}, "minItems": 2},
            "next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]},
            "leaf": {"$ref": "#/$defs/leaf"},
        }));
        good["$defs"] = json!({"leaf": object(json!({"x": {"type": "number", "minimum": 0}}))});
        assert_eq!(check_strict(&good, Dialect::OpenAi), Ok(()));

        let bad = [
            json!({"type": "string"}),
            json!({"type": "object", "properties": {}}),
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": [], "additionalProperties": false}),
            object(json!({"a": {"type": "string", "minLength": 1}})),
            object(json!({"a": {"type": "string", "format": "uri"}})),
            object(json!({"a": {"type": "string", "pattern": "(?=a)"}})),
            object(json!({"a": {"oneOf": [{"type": "string"}]}})),
            object(json!({"a": {"type": "array"}})),
            object(json!({"a": {"$ref": "#/$defs/none"}})),
            object(json!({"a": {"$ref": "#", "description": "d"}})),
            object(json!({"a": {"type": "string", "default": "A"}})),
            object(json!({"a": {"enum": vec![1; 1001]}})),
        ];
        for schema in bad {
            assert!(check_strict(&schema, Dialect::OpenAi).is_err(), "{schema}");
        }
    }

    #[test]
    fn openai_bounds_the_nesting() {
        let nested = |levels: usize| {
            (1..levels).fold(object(json!({"x": {"type": "null"}})), |inner, _| object(json!({"o": inner})))
        };
        assert_eq!(check_strict(&nested(9), Dialect::OpenAi), Ok(()));
        assert!(check_strict(&nested(10), Dialect::OpenAi).is_err());
    }

    #[test]
    fn anthropic_takes_its_subset() {
        let mut good = json!({
            "type": "object", "title": "T", "additionalProperties": false,
            "properties": {
                "site": {"type": "string", "format": "uri", "default": "x"},
                "leaf": {"$ref": "#/$defs/leaf"},
                "many": {"type": "array", "items": {"type": "string"}, "minItems": 1},
            },
        });
        good["$defs"] = json!({"leaf": {"type": "object", "additionalProperties": false, "properties": {}}});
        assert_eq!(check_strict(&good, Dialect::Anthropic), Ok(()));

        let bad = [
            json!({"type": "object", "properties": {}}),
            object(json!({"a": {"type": "integer", "minimum": 1}})),
            object(json!({"a": {"type": "string", "maxLength": 5}})),
            object(json!({"a": {"type": "array", "items": {}, "minItems": 2}})),
            object(json!({"a": {"type": "array", "items": {}, "maxItems": 2}})),
            object(json!({"a": {"oneOf": [{"type": "null"}]}})),
            object(json!({"a": {"type": "string", "format": "phone"}})),
            object(json!({"a": {"$ref": "#"}})),
            object(json!({"a": {"type": "object", "additionalProperties": {"type": "string"}}})),
        ];
        for schema in bad {
            assert!(check_strict(&schema, Dialect::Anthropic).is_err(), "{schema}");
        }
    }
}
