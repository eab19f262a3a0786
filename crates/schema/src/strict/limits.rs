//! The bounds of the APIs on strict schemas.

use std::collections::HashMap;

use serde_json::Value;

use super::restore::Back;
use super::subset::{Refusal, Subset};

const MAX_CHOICES: usize = 1_000;
const MAX_CHARS: usize = 120_000;
/// Values of one enum of texts beyond which their length is bounded.
const LONG_ENUM: usize = 250;
const MAX_LONG_ENUM_CHARS: usize = 15_000;

#[derive(Default)]
struct Count {
    properties: usize,
    choices: usize,
    chars: usize,
    most_levels: usize,
}

/// Properties that may be left out, and places that take one of several types, in all schemas of one request at
/// Anthropic: its grammar has a state for each choice of them. The API documents 24 and 16, and was recorded to refuse
/// 24 properties. (Anthropic, "Structured outputs", complexity limits)
pub(super) const MAX_OPTIONAL: usize = 20;
pub(super) const MAX_UNIONS: usize = 16;

/// Refuses a schema that is too large, and one that holds itself where the subset has no such thing.
pub(super) fn check(
    schema: &Value,
    subset: Subset,
    definitions: &HashMap<String, Back>,
) -> Result<(), Refusal> {
    match subset {
        Subset::OpenAi => sizes(schema, 5_000, 10),
        Subset::Azure => sizes(schema, 100, 5),
        Subset::Anthropic => {
            if let Some(name) = recursive(definitions) {
                return Err(Refusal::new("", format!("{name} holds itself, and the API takes no recursion")));
            }
            let bounds = [
                (optional(schema), MAX_OPTIONAL, "of its properties may be left out"),
                (unions(schema), MAX_UNIONS, "of its places take several types"),
            ];
            match bounds.iter().find(|(held, most, _)| held > most) {
                Some((held, most, unit)) => Err(Refusal::new("", format!("{held} {unit}, more than {most}"))),
                None => Ok(()),
            }
        }
    }
}

/// A definition that leads back to itself.
fn recursive(definitions: &HashMap<String, Back>) -> Option<&str> {
    // Each that was entered, with `true` while one that it leads to is looked at.
    let mut open: HashMap<&str, bool> = HashMap::new();
    for start in definitions.keys() {
        let mut path = vec![(start.as_str(), false)];
        while let Some((name, left)) = path.pop() {
            if left {
                open.insert(name, false);
                continue;
            }
            match open.get(name) {
                Some(true) => return Some(name),
                Some(false) => continue,
                None => open.insert(name, true),
            };
            path.push((name, true));
            let mut waiting: Vec<&Back> = definitions.get(name).into_iter().collect();
            while let Some(back) = waiting.pop() {
                match back {
                    Back::Same | Back::Json => {}
                    Back::Object(properties) => waiting.extend(properties.values().map(|(back, _)| back)),
                    Back::List(inner) | Back::Map(inner) | Back::Wrapped(inner) => waiting.push(inner),
                    Back::Tuple(items) => waiting.extend(items),
                    Back::Union(branches) => waiting.extend(branches.iter().map(|(_, back)| back)),
                    Back::Definition(target) => path.push((target, false)),
                }
            }
        }
    }
    None
}

/// The number of properties of all objects that need not be there.
pub(super) fn optional(schema: &Value) -> usize {
    match schema {
        Value::Object(members) => {
            let list = |keyword: &str| members.get(keyword).and_then(Value::as_array).map_or(0, Vec::len);
            let own = match members.get("properties") {
                // A schema with `type` is no list of properties that is called so.
                Some(Value::Object(all)) if members.contains_key("type") => {
                    all.len().saturating_sub(list("required"))
                }
                _ => 0,
            };
            own + members.values().map(optional).sum::<usize>()
        }
        Value::Array(list) => list.iter().map(optional).sum(),
        _ => 0,
    }
}

/// The number of places that take one of several types.
pub(super) fn unions(schema: &Value) -> usize {
    match schema {
        Value::Object(members) => {
            let is_union = members.get("anyOf").is_some_and(Value::is_array)
                || members.get("type").is_some_and(Value::is_array);
            usize::from(is_union) + members.values().map(unions).sum::<usize>()
        }
        Value::Array(list) => list.iter().map(unions).sum(),
        _ => 0,
    }
}

fn sizes(schema: &Value, most_properties: usize, most_levels: usize) -> Result<(), Refusal> {
    let mut count = Count { most_levels, ..Count::default() };
    count.node(schema, 1)?;
    let Count { properties, choices, chars, .. } = count;
    let bounds = [
        (properties, most_properties, "properties"),
        (choices, MAX_CHOICES, "values of enums"),
        (chars, MAX_CHARS, "characters of names and values"),
    ];
    match bounds.iter().find(|(held, most, _)| held > most) {
        Some((held, most, unit)) => Err(Refusal::new("", format!("it has {held} {unit}, more than {most}"))),
        None => Ok(()),
    }
}

impl Count {
    fn node(&mut self, schema: &Value, level: usize) -> Result<(), Refusal> {
        let Value::Object(members) = schema else { return Ok(()) };
        if level > self.most_levels {
            return Err(Refusal::new("", format!("it is nested deeper than {} levels", self.most_levels)));
        }
        for (name, definition) in members.get("$defs").and_then(Value::as_object).into_iter().flatten() {
            self.chars += name.chars().count();
            self.node(definition, 1)?;
        }
        for (name, property) in members.get("properties").and_then(Value::as_object).into_iter().flatten() {
            self.properties += 1;
            self.chars += name.chars().count();
            self.node(property, level + 1)?;
        }
        for branch in members.get("anyOf").and_then(Value::as_array).into_iter().flatten() {
            self.node(branch, level)?;
        }
        if let Some(items) = members.get("items") {
            self.node(items, level + 1)?;
        }
        let length = |value: &Value| value.as_str().map_or(0, |text| text.chars().count());
        self.chars += members.get("const").map_or(0, length);
        if let Some(choices) = members.get("enum").and_then(Value::as_array) {
            let chars: usize = choices.iter().map(length).sum();
            if choices.len() > LONG_ENUM && chars > MAX_LONG_ENUM_CHARS {
                let problem = format!(
                    "an enum of {} values has {chars} characters, more than {MAX_LONG_ENUM_CHARS}",
                    choices.len()
                );
                return Err(Refusal::new("", problem));
            }
            self.choices += choices.len();
            self.chars += chars;
        }
        Ok(())
    }
}
