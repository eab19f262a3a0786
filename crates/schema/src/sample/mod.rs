//! Deterministic sample values for a JSON Schema.

mod merge;
mod named;
mod scalar;

#[cfg(test)]
mod tests;

use std::cell::Cell;

use serde_json::{Map, Value, json};

use self::merge::merged;
use crate::Schema;

/// The number of references that are followed one inside the other, and of values that are tried.
const DEPTH: usize = 24;
const FUEL: usize = 10_000;

/// Returns a minimal value that fits `schema`: only what the schema requires. It is always the same for the same
/// schema.
///
/// # Errors
/// A short text with the reason why no value was found.
pub fn sample(schema: &Value) -> Result<Value, String> {
    made(schema, false)
}

/// Returns a realistic value that fits `schema`, for human readers: members such as `email`, `due_date` or `url` are
/// filled according to their names, and examples and defaults of the schema take precedence.
///
/// ```
/// use serde_json::json;
/// let schema = json!({"type": "object", "properties": {"email": {"type": "string"}}, "required": ["email"]});
/// assert_eq!(attache_schema::example(&schema), Ok(json!({"email": "ann@example.org"})));
/// ```
///
/// # Errors
/// A short text with the reason why no value was found.
pub fn example(schema: &Value) -> Result<Value, String> {
    made(schema, true).or_else(|_| made(schema, false))
}

fn made(schema: &Value, named: bool) -> Result<Value, String> {
    let compiled = Schema::new(schema).map_err(|error| error.to_string())?;
    let mut first = None;
    for nth in 0..4 {
        let maker = Maker { root: schema, named, fuel: Cell::new(FUEL) };
        let Some(value) = maker.value(schema, &Vec::new(), nth) else { continue };
        let violations = compiled.check(&value);
        match violations.first() {
            None => return Ok(value),
            Some(violation) => _ = first.get_or_insert_with(|| violation.to_string()),
        }
    }
    Err(first.unwrap_or_else(|| "nothing fits its schema".to_owned()))
}

struct Maker<'s> {
    root: &'s Value,
    /// True if members are filled by their names where that fits.
    named: bool,
    /// The number of values that may still be tried, since a schema may have no end.
    fuel: Cell<usize>,
}

/// The references that lead to a place: one that leads to itself ends lists and maps.
type Path = Vec<String>;

impl Maker<'_> {
    /// The `nth` value for `schema`: further ones differ where they can.
    fn value(&self, schema: &Value, path: &Path, nth: usize) -> Option<Value> {
        self.fuel.set(self.fuel.get().checked_sub(1)?);
        let object = match schema {
            Value::Bool(true) => return Some(scalar::text(&Map::new(), nth)),
            Value::Object(object) if path.len() < DEPTH => object,
            _ => return None,
        };
        if let Some(Value::String(reference)) = object.get("$ref") {
            let mut path = path.clone();
            path.push(reference.clone());
            let target = self.target(reference)?;
            return self.value(&merged(target, &without(object, "$ref")), &path, nth);
        }
        if let Some(Value::Array(all)) = object.get("allOf") {
            let whole = all.iter().fold(without(object, "allOf"), |whole, one| merged(&whole, one));
            // Two demands that are not one schema are left out here: the value is checked against both.
            let whole = whole.as_object().map_or_else(|| whole.clone(), |whole| without(whole, "allOf"));
            return self.value(&whole, path, nth);
        }
        for choice in ["anyOf", "oneOf"] {
            if let Some(Value::Array(branches)) = object.get(choice) {
                let rest = without(object, choice);
                // Branches that end come before those that lead back to where they are.
                let (ends, leads_back): (Vec<&Value>, Vec<&Value>) =
                    branches.iter().partition(|branch| !self.leads_back(branch, path));
                let branches = ends.into_iter().chain(leads_back);
                let values = branches.filter_map(|branch| self.value(&merged(&rest, branch), path, nth));
                return self.first_that_fits(schema, values);
            }
        }
        if let Some(condition) = object.get("if") {
            let rest = ["if", "then", "else"].iter().fold(schema.clone(), |rest, word| match &rest {
                Value::Object(object) => without(object, word),
                _ => rest,
            });
            let then = object.get("then").map(|then| merged(&merged(&rest, condition), then));
            let other = object.get("else").map(|other| merged(&rest, other));
            let schemas = [Some(rest), other, then];
            let values = schemas.iter().flatten().filter_map(|schema| self.value(schema, path, nth));
            return self.first_that_fits(schema, values);
        }
        if let Some(value) = object.get("const") {
            return Some(value.clone());
        }
        if let Some(Value::Array(values)) = object.get("enum") {
            let mut values = values.clone();
            let turn = nth % values.len().max(1);
            values.rotate_left(turn);
            return self.first_that_fits(schema, values.into_iter());
        }
        let types: Vec<&str> = match object.get("type") {
            Some(Value::String(one)) => vec![one],
            Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
            _ => vec![implied(object)],
        };
        let values = types.iter().filter_map(|kind| self.of_type(kind, object, path, nth));
        // A value that cannot be made, such as text of a pattern, may stand in the schema.
        let examples = object.get("examples").and_then(Value::as_array).into_iter().flatten();
        let given = object.get("default").into_iter().chain(examples).cloned();
        self.first_that_fits(schema, values.chain(given))
    }

    fn of_type(&self, kind: &str, schema: &Map<String, Value>, path: &Path, nth: usize) -> Option<Value> {
        Some(match kind {
            "null" => Value::Null,
            "boolean" => Value::Bool(nth.is_multiple_of(2)),
            "integer" => scalar::integer(schema, nth)?,
            "number" => scalar::number(schema, nth)?,
            "string" => scalar::text(schema, nth),
            "array" => Value::Array(self.array(schema, path, nth)?),
            "object" => Value::Object(self.object(schema, path, nth)?),
            _ => return None,
        })
    }

    fn array(&self, schema: &Map<String, Value>, path: &Path, nth: usize) -> Option<Vec<Value>> {
        // A tuple is `prefixItems` since 2020, and an array in `items` before.
        let (tuple, rest) = match (schema.get("prefixItems"), schema.get("items")) {
            (Some(Value::Array(tuple)), rest) => (tuple.as_slice(), rest),
            (_, Some(Value::Array(tuple))) => (tuple.as_slice(), schema.get("additionalItems")),
            (_, rest) => (&[][..], rest),
        };
        let size =
            |word: &str| schema.get(word).and_then(Value::as_u64).and_then(|size| usize::try_from(size).ok());
        let least = size("minItems").unwrap_or(0).max(tuple.len());
        let contains = schema.get("contains").filter(|_| size("minContains") != Some(0));
        // One item says more than none, except where it would hold such a list again.
        let open = rest.or(contains);
        let wanted = open
            .is_some_and(|item| tuple.is_empty() && item != &json!(false) && !self.leads_back(item, path));
        let count = least.max(usize::from(wanted)).max(size("minContains").unwrap_or(0)).min(1 << 10);
        let count = size("maxItems").map_or(count, |most| count.min(most));
        let any = Value::Bool(true);
        let is_unique = schema.get("uniqueItems") == Some(&any);
        let mut items: Vec<Value> = Vec::with_capacity(count);
        for at in 0..count {
            let item = match (tuple.get(at), contains) {
                (Some(item), _) => item.clone(),
                (None, Some(contained)) => merged(rest.unwrap_or(&any), contained),
                (None, None) => rest.unwrap_or(&any).clone(),
            };
            // Items that must differ are each another value of their schema.
            let shift = if is_unique { at } else { 0 };
            let mut values = (nth + shift..nth + shift + 4).filter_map(|nth| self.value(&item, path, nth));
            let value = values.find(|value| !is_unique || !items.contains(value))?;
            items.push(value);
        }
        Some(items)
    }

    fn object(&self, schema: &Map<String, Value>, path: &Path, nth: usize) -> Option<Map<String, Value>> {
        let none = Map::new();
        let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
        let patterns = schema.get("patternProperties").and_then(Value::as_object).unwrap_or(&none);
        let rest = schema.get("additionalProperties").or(schema.get("unevaluatedProperties"));
        let any = Value::Bool(true);
        let mut object = Map::new();
        let names = |word: &str| {
            schema.get(word).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
        };
        let mut required: Vec<&str> = names("required").collect();
        if let Some(Value::Object(dependents)) = schema.get("dependentRequired") {
            let mut at = 0;
            while let Some(name) = required.get(at) {
                let more = dependents.get(*name).and_then(Value::as_array).into_iter().flatten();
                let more: Vec<&str> =
                    more.filter_map(Value::as_str).filter(|more| !required.contains(more)).collect();
                required.extend(more);
                at += 1;
            }
        }
        let least =
            schema.get("minProperties").and_then(Value::as_u64).and_then(|least| usize::try_from(least).ok());
        let least = least.unwrap_or(0).min(1 << 10);
        let optional = properties.keys().map(String::as_str).filter(|name| !required.contains(name));
        let optional: Vec<&str> = optional.take(least.saturating_sub(required.len())).collect();
        for name in required.into_iter().chain(optional) {
            let property = properties.get(name).or(rest).unwrap_or(&any);
            let value = match self.by_name(name, property) {
                Some(value) => value,
                None => self.value(property, path, nth)?,
            };
            object.insert(name.to_owned(), value);
        }
        // A map is an object without properties of its own; one entry says more than none.
        let map = properties.is_empty().then(|| rest.filter(|rest| rest.is_object())).flatten();
        let wanted = map.is_some_and(|entry| !self.leads_back(entry, path));
        let most = schema.get("maxProperties").and_then(Value::as_u64).unwrap_or(u64::MAX);
        let least = least.max(usize::from(wanted && most > 0));
        let (key_schema, value_schema) = match (patterns.iter().next(), rest) {
            (_, Some(rest)) if *rest != json!(false) => (schema.get("propertyNames").cloned(), rest),
            (Some((pattern, value)), _) => (Some(json!({ "pattern": pattern })), value),
            (None, rest) => (schema.get("propertyNames").cloned(), rest.unwrap_or(&any)),
        };
        let key_schema = merged(&json!({ "type": "string" }), &key_schema.unwrap_or(Value::Bool(true)));
        for at in 0..least.saturating_sub(object.len()).saturating_mul(4) {
            if object.len() >= least {
                break;
            }
            let Some(Value::String(name)) = self.value(&key_schema, path, nth + at) else { continue };
            if !object.contains_key(&name) && !properties.contains_key(&name) {
                object.insert(name, self.value(value_schema, path, nth + at)?);
            }
        }
        Some(object)
    }

    /// The value that a member's name suggests, if it fits.
    fn by_name(&self, name: &str, property: &Value) -> Option<Value> {
        if !self.named {
            return None;
        }
        let examples = property.get("examples").and_then(Value::as_array).into_iter().flatten();
        let given = examples.chain(property.get("default")).filter(|given| !given.is_null());
        let mut suggested = given.cloned().chain(named::suggestions(name));
        match property.get("type") {
            // A type that anything fits says nothing of what is meant.
            None if property.get("$ref").is_none() && property.get("anyOf").is_none() => None,
            _ => suggested
                .find(|value| self.first_that_fits(property, std::iter::once(value.clone())).is_some()),
        }
    }

    /// True if a value of it leads to a reference that is being followed already.
    fn leads_back(&self, schema: &Value, path: &Path) -> bool {
        match schema {
            Value::Object(object) => {
                let own = object.get("$ref").and_then(Value::as_str);
                own.is_some_and(|own| path.iter().any(|followed| followed == own) || own == "#")
                    || ["anyOf", "oneOf", "allOf"].iter().any(|word| {
                        let branches = object.get(*word).and_then(Value::as_array);
                        branches.is_some_and(|all| {
                            !all.is_empty() && all.iter().all(|one| self.leads_back(one, path))
                        })
                    })
            }
            _ => false,
        }
    }

    /// The first of `values` that fits the schema; the first of all where the schema cannot be looked at alone.
    fn first_that_fits(&self, schema: &Value, mut values: impl Iterator<Item = Value>) -> Option<Value> {
        let definitions = ["$defs", "definitions"].iter().filter_map(|word| {
            self.root.get(word).map(|definitions| ((*word).to_owned(), definitions.clone()))
        });
        let mut alone: Map<String, Value> = definitions.collect();
        alone.insert("allOf".to_owned(), Value::Array(vec![schema.clone()]));
        match Schema::new(&Value::Object(alone)) {
            Ok(compiled) => values.find(|value| compiled.check(value).is_empty()),
            Err(_) => values.next(),
        }
    }

    fn target(&self, reference: &str) -> Option<&Value> {
        let pointer = reference.strip_prefix('#')?;
        let pointer = pointer.replace("%24", "$").replace("%3C", "<").replace("%3E", ">").replace("%20", " ");
        self.root.pointer(&pointer)
    }
}

/// The type of what a schema without one speaks of.
fn implied(schema: &Map<String, Value>) -> &'static str {
    let has = |words: &[&str]| words.iter().any(|word| schema.contains_key(*word));
    if has(&[
        "properties",
        "required",
        "additionalProperties",
        "minProperties",
        "patternProperties",
        "propertyNames",
    ]) {
        "object"
    } else if has(&["items", "prefixItems", "minItems", "contains", "uniqueItems"]) {
        "array"
    } else if has(&["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]) {
        "number"
    } else {
        "string"
    }
}

fn without(object: &Map<String, Value>, word: &str) -> Value {
    let mut rest = object.clone();
    rest.shift_remove(word);
    Value::Object(rest)
}
