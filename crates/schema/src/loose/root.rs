//! Schema roots for APIs that support fewer keywords at the root than below it.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use crate::strict::Refusal;

/// Branches inside branches that are put side by side.
const MAX_BRANCHES: usize = 8;

/// The references that are followed inside one another; tools are far below.
const MAX_DEPTH: usize = 32;

/// The values and bytes of texts that are looked at or written out: references may lead to more than anybody wrote.
const MAX_SIZE: usize = 1_000_000;

/// A schema without the keywords that an API does not support at the root; see [`plain_root`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PlainRoot {
    /// The schema.
    pub schema: Value,
    /// The root keywords that were removed or loosened.
    pub dropped: Vec<&'static str>,
}

/// Returns a schema whose root is an object without the keywords `refused`; `None` if that is already so. The
/// properties of `anyOf`, `oneOf` and `allOf` are combined, those that differ between branches as a choice; properties
/// that only some branches require are no longer required.
pub fn plain_root(schema: &Value, refused: &[&'static str]) -> Option<PlainRoot> {
    let given = schema.as_object()?;
    let mut dropped: Vec<&'static str> =
        refused.iter().copied().filter(|keyword| given.contains_key(*keyword)).collect();
    if given.get("type").and_then(Value::as_str) != Some("object") {
        dropped.push("type");
    }
    if dropped.is_empty() {
        return None;
    }
    let mut root = given.clone();
    let has_branches = COMBINATORS.iter().any(|keyword| dropped.contains(keyword));
    if has_branches {
        let mut side_by_side =
            SideBySide { root: schema, properties: Map::new(), required: Vec::new(), left: MAX_SIZE };
        side_by_side.add(given, true, 0);
        let SideBySide { properties, required, .. } = side_by_side;
        root.insert("properties".to_owned(), Value::Object(properties));
        if !required.is_empty() {
            root.insert("required".to_owned(), Value::Array(required));
        }
        for closed in ["additionalProperties", "unevaluatedProperties"] {
            if root.shift_remove(closed).is_some() {
                dropped.push(closed);
            }
        }
    }
    for keyword in &dropped {
        root.shift_remove(*keyword);
    }
    root.insert("type".to_owned(), json!("object"));
    Kept { original: schema, dropped: &dropped, names: HashMap::new(), count: 0, left: MAX_SIZE }
        .keep(&mut root);
    Some(PlainRoot { schema: Value::Object(root), dropped })
}

/// The schemas that references lead to and that the root has no more, as definitions.
struct Kept<'s> {
    original: &'s Value,
    dropped: &'s [&'static str],
    /// The names of the definitions, by pointer.
    names: HashMap<String, String>,
    count: usize,
    /// The values that may still be copied.
    left: usize,
}

impl<'s> Kept<'s> {
    fn keep(mut self, root: &mut Map<String, Value>) {
        let known = root.get("$defs").and_then(Value::as_object).cloned().unwrap_or_default();
        let (mut kept, mut waiting) = (Map::new(), Vec::new());
        for value in root.values_mut() {
            self.lead(value, &known, &mut waiting);
        }
        while let Some((name, target)) = waiting.pop() {
            let mut target = target.clone();
            self.lead(&mut target, &known, &mut waiting);
            kept.insert(name, target);
        }
        if !kept.is_empty()
            && let Value::Object(definitions) = root.entry("$defs").or_insert_with(|| json!({}))
        {
            definitions.extend(kept);
        }
    }

    /// Lets references lead to definitions where they led to what is dropped.
    fn lead(
        &mut self,
        value: &mut Value,
        known: &Map<String, Value>,
        waiting: &mut Vec<(String, &'s Value)>,
    ) {
        self.left = self.left.saturating_sub(1);
        match value {
            Value::Object(members) => {
                if let Some(Value::String(reference)) = members.get_mut("$ref")
                    && let Some(pointer) = reference.strip_prefix('#')
                    && self.dropped.iter().any(|keyword| pointer.split('/').nth(1) == Some(keyword))
                    && let Some(target) = self.original.pointer(pointer).filter(|_| self.left > 0)
                {
                    let name = self.names.entry(pointer.to_owned()).or_insert_with(|| {
                        self.count += 1;
                        while known.contains_key(&format!("kept_{}", self.count)) {
                            self.count += 1;
                        }
                        let name = format!("kept_{}", self.count);
                        waiting.push((name.clone(), target));
                        name
                    });
                    *reference = format!("#/$defs/{name}");
                }
                members.values_mut().for_each(|value| self.lead(value, known, waiting));
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.lead(item, known, waiting)),
            _ => {}
        }
    }
}

const COMBINATORS: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// The properties of a root and of all its branches.
struct SideBySide<'s> {
    root: &'s Value,
    properties: Map<String, Value>,
    required: Vec<Value>,
    /// The size that is left.
    left: usize,
}

impl<'s> SideBySide<'s> {
    /// Adds a schema and its branches; `holds` says whether it holds whatever branch is meant.
    fn add(&mut self, schema: &'s Map<String, Value>, holds: bool, depth: usize) {
        if depth > MAX_BRANCHES || self.left == 0 {
            return;
        }
        let properties = schema.get("properties").and_then(Value::as_object);
        // Each is held against the one of that name.
        self.left = self.left.saturating_sub(50 * (1 + properties.map_or(0, Map::len)));
        for (name, property) in properties.into_iter().flatten() {
            match self.properties.get_mut(name) {
                None => {
                    self.properties.insert(name.clone(), property.clone());
                }
                Some(known) => or(known, property),
            }
        }
        if holds {
            let names = schema.get("required").and_then(Value::as_array).into_iter().flatten();
            for name in names {
                if !self.required.contains(name) {
                    self.required.push(name.clone());
                }
            }
        }
        // A root may refer to where its properties stand.
        let target = schema.get("$ref").and_then(Value::as_str).filter(|_| depth > 0);
        let target = target.and_then(|reference| self.root.pointer(reference.strip_prefix('#')?));
        if let Some(Value::Object(target)) = target {
            self.add(target, holds, depth + 1);
        }
        for keyword in COMBINATORS {
            let branches = schema.get(keyword).and_then(Value::as_array).into_iter().flatten();
            for branch in branches.filter_map(Value::as_object) {
                self.add(branch, holds && keyword == "allOf", depth + 1);
            }
        }
    }
}

/// Allows what another branch allows.
fn or(known: &mut Value, other: &Value) {
    let choices = known.get("anyOf").and_then(Value::as_array);
    let is_known = *known == *other || choices.is_some_and(|choices| choices.contains(other));
    if is_known {
        return;
    }
    match known {
        // A choice that stands there by itself is one of ours, or reads the same.
        Value::Object(members) if members.len() == 1 && members.contains_key("anyOf") => {
            if let Some(Value::Array(choices)) = members.get_mut("anyOf") {
                choices.push(other.clone());
            }
        }
        known => *known = json!({"anyOf": [known.take(), other]}),
    }
}

/// Returns a schema with only `type`, `properties` and `required` at its root: definitions are inlined.
///
/// # Errors
/// The reference that is endless, leads outside the schema, or is too large to inline.
pub fn bare_root(schema: &Value) -> Result<Value, Refusal> {
    let mut root = Map::new();
    let mut left = MAX_SIZE;
    for (key, value) in schema.as_object().into_iter().flatten() {
        if matches!(key.as_str(), "type" | "properties" | "required") {
            root.insert(
                key.clone(),
                inlined(value, schema, 0, &mut left).map_err(|problem| Refusal::new("", problem))?,
            );
        }
    }
    root.insert("type".to_owned(), json!("object"));
    root.entry("properties").or_insert_with(|| json!({}));
    Ok(Value::Object(root))
}

fn inlined(node: &Value, root: &Value, depth: usize, left: &mut usize) -> Result<Value, String> {
    *left = left.saturating_sub(1 + node.as_str().map_or(0, str::len));
    match node {
        Value::Object(members) => {
            let mut whole = Map::new();
            let reference = members.get("$ref").and_then(Value::as_str);
            if let Some(reference) = reference {
                if depth > MAX_DEPTH {
                    return Err(format!("{reference} is recursive"));
                }
                if *left == 0 {
                    return Err(format!("{reference} leads to more than can be written out"));
                }
                let target = reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
                let target = target.ok_or_else(|| format!("{reference} is not in the schema"))?;
                if let Value::Object(target) = inlined(target, root, depth + 1, left)? {
                    whole = target;
                }
            }
            // A property may have that name.
            for (key, value) in members.iter().filter(|(key, _)| reference.is_none() || *key != "$ref") {
                whole.insert(key.clone(), inlined(value, root, depth, left)?);
            }
            Ok(Value::Object(whole))
        }
        Value::Array(items) => items.iter().map(|item| inlined(item, root, depth, left)).collect(),
        plain => Ok(plain.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BRANCHES: [&str; 3] = ["anyOf", "oneOf", "allOf"];

    // anthropic.md (a) 15
    #[test]
    fn branches_at_the_root_stand_side_by_side() {
        let schema = json!({"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"],
            "anyOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]},
                      {"properties": {"b": {"type": "string"}}, "required": ["b"]}],
            "allOf": [{"properties": {"c": {"type": "string"}}, "required": ["c"]}],
            "additionalProperties": false});
        let plain = plain_root(&schema, &BRANCHES).unwrap();
        assert_eq!(plain.dropped, ["anyOf", "allOf", "additionalProperties"]);
        assert_eq!(
            plain.schema,
            json!({"type": "object",
                "properties": {"id": {"type": "string"}, "c": {"type": "string"}, "a": {"type": "string"},
                    "b": {"type": "string"}},
                "required": ["id", "c"]})
        );
        assert_eq!(plain_root(&plain.schema, &BRANCHES), None);
    }

    #[test]
    fn what_differs_between_branches_is_a_choice() {
        let schema = json!({"type": "object",
            "oneOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"},
                {"properties": {"kind": {"const": "c"}}, "required": ["kind"]}],
            "$defs": {
                "a": {"properties": {"kind": {"const": "a"}, "x": {"type": "number"}}, "required": ["kind"]},
                "b": {"properties": {"kind": {"const": "b"}, "x": {"type": "number"}}, "required": ["kind"]}}});
        let plain = plain_root(&schema, &BRANCHES).unwrap();
        assert_eq!(
            plain.schema["properties"],
            json!({"kind": {"anyOf": [{"const": "a"}, {"const": "b"}, {"const": "c"}]}, "x": {"type": "number"}})
        );
        assert_eq!(
            plain.schema.get("required"),
            None,
            "what each branch alone requires is not required of all"
        );
        assert!(plain.schema.get("oneOf").is_none());
    }

    // As zod writes a schema that stands twice.
    #[test]
    fn references_into_branches_lead_to_definitions() {
        let schema = json!({"type": "object", "anyOf": [
            {"properties": {"a": {"type": "object", "properties": {"up": {"$ref": "#/anyOf/0/properties/a"}}}}},
            {"properties": {"b": {"$ref": "#/anyOf/0/properties/a"}, "c": {"$ref": "#/$defs/kept_1"}}}],
            "$defs": {"kept_1": {"type": "null"}}});
        let plain = plain_root(&schema, &BRANCHES).unwrap().schema;
        let a = json!({"type": "object", "properties": {"up": {"$ref": "#/$defs/kept_2"}}});
        assert_eq!(
            plain,
            json!({"type": "object",
                "properties": {"a": a, "b": {"$ref": "#/$defs/kept_2"}, "c": {"$ref": "#/$defs/kept_1"}},
                "$defs": {"kept_1": {"type": "null"}, "kept_2": a}})
        );
        assert!(crate::Schema::new(&plain).is_ok());
    }

    // openai.md A.4: the root
    #[test]
    fn other_keywords_are_left_out() {
        let schema = json!({"type": ["object", "null"], "properties": {}, "not": {"required": ["a"]}});
        let plain = plain_root(&schema, &["not", "enum"]).unwrap();
        assert_eq!(plain.schema, json!({"type": "object", "properties": {}}));
        assert_eq!(plain.dropped, ["not", "type"]);
        // A root that leads back to itself has an end.
        let endless = json!({"type": "object", "anyOf": [{"$ref": "#"}]});
        assert!(plain_root(&endless, &BRANCHES).is_some());
    }

    // A server of tools that is hostile: 20 references to the root would be 20^8 schemas, 30 definitions 2^30.
    #[test]
    fn references_that_multiply_have_an_end() {
        let back: Vec<Value> = (0..20).map(|_| json!({"$ref": "#"})).collect();
        assert!(plain_root(&json!({"type": "object", "anyOf": back}), &BRANCHES).is_some());
        let twice = |at: u32| {
            let next = json!({"$ref": format!("#/$defs/d{}", at + 1)});
            (format!("d{at}"), json!({"properties": {"a": next, "b": next}}))
        };
        let mut definitions: Map<String, Value> = (0..30).map(twice).collect();
        definitions.insert("d30".to_owned(), json!({"type": "string"}));
        let schema = json!({"properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": definitions});
        let problem = bare_root(&schema).unwrap_err().problem;
        assert!(problem.ends_with("leads to more than can be written out"), "{problem}");
        let long: Vec<String> =
            (0..1_000).map(|at| format!("a value of an enumeration, number {at}")).collect();
        let many = |to: &str| {
            let properties: Map<String, Value> =
                (0..140).map(|at| (format!("p{at}"), json!({"$ref": to}))).collect();
            json!({"properties": properties})
        };
        let schema = json!({"properties": {"a": {"$ref": "#/$defs/one"}},
            "$defs": {"one": many("#/$defs/two"), "two": many("#/$defs/long"), "long": {"enum": long}}});
        assert!(bare_root(&schema).is_err(), "20,000 copies of 40 kB");
        let named = json!({"type": "object", "properties": {"$ref": {"type": "string"}}});
        assert_eq!(bare_root(&named), Ok(named.clone()), "a property of that name stays");
    }

    // bedrock.md 11: Nova 1
    #[test]
    fn definitions_move_to_where_they_are_used() {
        let schema = json!({"type": "object", "description": "x", "additionalProperties": false,
            "properties": {"who": {"$ref": "#/$defs/person", "description": "The payer."}},
            "required": ["who"],
            "$defs": {"person": {"type": "object", "properties": {"home": {"$ref": "#/$defs/place"}}},
                      "place": {"type": "string"}}});
        assert_eq!(
            bare_root(&schema),
            Ok(json!({"type": "object",
                "properties": {"who": {"type": "object", "properties": {"home": {"type": "string"}},
                    "description": "The payer."}},
                "required": ["who"]}))
        );
        let endless = json!({"properties": {"a": {"$ref": "#/$defs/a"}},
            "$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}});
        assert_eq!(bare_root(&endless).unwrap_err().problem, "#/$defs/a is recursive");
        assert!(bare_root(&json!({"properties": {"a": {"$ref": "https://elsewhere/x"}}})).is_err());
    }
}
