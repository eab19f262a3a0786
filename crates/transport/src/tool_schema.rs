//! Schemas of tools where an API takes less than JSON Schema at their roots, and what codecs say of tools beforehand.

use std::borrow::Cow;

use attache_core::tool::{SchemaLoosening, SchemaRefusal, SchemaReport};
use attache_core::{ProviderError, ToolDefinition, ToolSet};
use serde_json::{Map, Value, json};

use crate::refused_options::Refusals;

/// Branches inside branches that are put side by side.
const MAX_DEPTH: usize = 8;

/// Asks `compile`, which encodes too, about each of the tools: what it loosens, or why it cannot be offered. With more
/// than `most` tools none can be offered.
pub fn check_tools<'t>(
    tools: &'t ToolSet,
    most: Option<usize>,
    mut compile: impl FnMut(&'t ToolDefinition) -> Result<Vec<SchemaLoosening>, ProviderError>,
) -> SchemaReport {
    let mut check = SchemaReport::new();
    for (_, definition) in tools.iter() {
        match compile(definition) {
            Ok(loosened) => check.loosened.extend(loosened),
            Err(error) => {
                check.refused.push(SchemaRefusal::new(definition.name().to_owned(), error.message()))
            }
        }
    }
    if let Some(most) = most.filter(|most| tools.len() > *most) {
        let why = format!("the API takes at most {most} tools, and there are {}", tools.len());
        check.refused.push(SchemaRefusal::new(None, why));
    }
    check
}

/// A tool's description with its examples, for APIs that have no member for them. Those of another form would mislead,
/// which `shown` says.
pub fn described(definition: &ToolDefinition, shown: bool) -> String {
    let mut description = definition.description().trim().to_owned();
    for (at, example) in definition.examples().iter().filter(|_| shown).enumerate() {
        description.push_str(if at == 0 { "\n\nExamples of arguments:\n" } else { "\n" });
        description.push_str(&example.to_string());
    }
    description.drain(..description.len() - description.trim_start().len());
    description
}

/// A schema whose root has lost what an API does not take there.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PlainRoot {
    /// The schema.
    pub schema: Value,
    /// The keywords that the root no longer has, or has in a looser form.
    pub dropped: Vec<&'static str>,
}

impl PlainRoot {
    /// The loosened keyword, as a report says it of a tool.
    pub fn loosened(&self, tool: &str) -> Vec<SchemaLoosening> {
        let why = |keyword: &str| match keyword {
            "anyOf" | "oneOf" | "allOf" => {
                "the API takes no branches at the root; they were put side by side"
            }
            "additionalProperties" | "unevaluatedProperties" => {
                "it would forbid what only some branches know, now that they stand side by side"
            }
            "type" => "the API takes nothing but an object at the root",
            _ => "the API takes no such keyword at the root; it was left out",
        };
        self.dropped.iter().map(|keyword| SchemaLoosening::new(tool, "", *keyword, why(keyword))).collect()
    }
}

/// A tool's schema without the keywords `refused` and without another type than an object at its root; `None` if it
/// has none of them. The properties of `anyOf`, `oneOf` and `allOf` stand side by side, those that differ between
/// branches as a choice; what only some branches require is no longer required.
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
        let mut side_by_side = SideBySide { root: schema, properties: Map::new(), required: Vec::new() };
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
    Some(PlainRoot { schema: Value::Object(root), dropped })
}

/// A tool's schema without the keywords `refused` at its root, and what it lost. A loss needs leave, unless calls
/// are held to it here, as `validated` says.
///
/// # Errors
/// [`ErrorKind::Unsupported`](attache_core::ErrorKind::Unsupported) without leave.
pub fn plain_tool<'s>(
    definition: &'s ToolDefinition,
    refused: &[&'static str],
    validated: bool,
    refusals: &mut Refusals<'_>,
) -> Result<(Cow<'s, Value>, Vec<SchemaLoosening>), ProviderError> {
    let given = definition.input_schema();
    let Some(plain) = plain_root(given, refused) else {
        return Ok((Cow::Borrowed(given), Vec::new()));
    };
    if !validated {
        let what = match plain.dropped.first().copied().unwrap_or_default() {
            "type" => "is not of an object".to_owned(),
            what => format!("has {what} at its root"),
        };
        let why = format!("the schema of the tool {} {what}", definition.name());
        refusals.refuse("tools", &why, "its branches were put side by side")?;
    }
    let loosened = plain.loosened(definition.name());
    Ok((Cow::Owned(plain.schema), loosened))
}

const COMBINATORS: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// The properties of a root and of all its branches.
struct SideBySide<'s> {
    root: &'s Value,
    properties: Map<String, Value>,
    required: Vec<Value>,
}

impl<'s> SideBySide<'s> {
    /// Adds a schema and its branches; `holds` says whether it holds whatever branch is meant.
    fn add(&mut self, schema: &'s Map<String, Value>, holds: bool, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        let properties = schema.get("properties").and_then(Value::as_object);
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
        assert_eq!(plain.loosened("t").len(), 3);
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

    #[test]
    fn tools_are_asked_about_one_by_one() {
        let tools = ["a", "b"].map(|name| ToolDefinition::new(name, "", json!({})));
        let tools = ToolSet::new(tools).unwrap();
        let check = check_tools(&tools, Some(1), |tool| match tool.name() {
            "a" => Ok(vec![SchemaLoosening::new("a", "", "anyOf", "why")]),
            _ => Err(ProviderError::new(attache_core::ErrorKind::Unsupported, "it cannot")),
        });
        assert_eq!(check.loosened[0].to_string(), "tool `a`: anyOf at the root: why");
        let refused: Vec<_> = check.refused.iter().map(ToString::to_string).collect();
        assert_eq!(refused, ["tool `b`: it cannot", "the API takes at most 1 tools, and there are 2"]);
    }
}
