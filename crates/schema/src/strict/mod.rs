//! Schemas in the strict subsets that APIs enforce, and the conversion of replies back to the original form.
//!
//! Sources: OpenAI, "Structured outputs", supported schemas; Anthropic, "Structured outputs", JSON Schema limitations.

mod fit;
mod form;
mod limits;
mod merge;
mod null;
mod restore;
mod subset;

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::check::{Check, MAX_STEPS};
use crate::compile::compile_indexed;
use crate::error::SchemaError;
use crate::rules::Id;
use crate::schema::Schema;
use crate::violation::Violation;

pub use subset::{Refusal, Subset, Unsaid};

use restore::{Back, item_name};

/// A schema converted to a strict subset; see [`strict`].
#[derive(Debug)]
pub struct Strict {
    schema: Value,
    unsaid: Vec<Unsaid>,
    back: Back,
    definitions: HashMap<String, Back>,
    keeps_form: bool,
    optional: usize,
    unions: usize,
    /// The strict schema, by which the branch of a union is found that a reply took.
    compiled: Schema,
    branches: HashMap<String, Id>,
    original: Schema,
}

/// Converts a schema to a strict subset: objects are closed, and only keywords of the subset are used.
///
/// A map becomes a list of objects with `key` and `value`, a tuple becomes an object with `item_1`, `item_2` and so on,
/// and a place that accepts any value becomes a JSON text. A root that is not an object is wrapped in an object with
/// the property `value`. [`Strict::restore`] reverses all of this.
///
/// ```
/// use attache_schema::{Subset, strict};
/// use serde_json::json;
///
/// let prices = json!({"type": "object", "properties": {
///     "prices": {"type": "object", "additionalProperties": {"type": "number"}},
///     "note": {"type": "string"},
/// }, "required": ["prices"]});
/// let strict = strict(&prices, Subset::OpenAi)?;
/// assert_eq!(strict.schema()["required"], json!(["prices", "note"]));
/// let reply = json!({"prices": [{"key": "EUR", "value": 3.5}], "note": null});
/// assert_eq!(strict.restore(reply).unwrap(), json!({"prices": {"EUR": 3.5}}));
/// # Ok::<(), attache_schema::Refusal>(())
/// ```
///
/// # Errors
/// [`Refusal`] with the part that the subset cannot express: references beside keywords that cannot be merged, objects
/// of several descriptions, places that accept no value, and schemas beyond the limits of the API (at OpenAI 5,000
/// properties, 10 levels, 1,000 values of enums, 120,000 characters of names and values; at Azure 100 properties and 5
/// levels; at Anthropic 20 properties that may be left out, 16 places of several types, and no recursion).
pub fn strict(schema: &Value, subset: Subset) -> Result<Strict, Refusal> {
    let unreadable = |error: SchemaError| Refusal { pointer: error.pointer, problem: error.problem };
    let original = Schema::new(schema).map_err(unreadable)?;
    let fitted = fit::fit(schema, subset)?;
    limits::check(&fitted.schema, subset, &fitted.definitions)?;
    let (compiled, branches) = compile_indexed(&fitted.schema).map_err(unreadable)?;
    let keeps_form = fitted.back.keeps_form() && fitted.definitions.values().all(Back::keeps_form);
    let (optional, unions) = (limits::optional(&fitted.schema), limits::unions(&fitted.schema));
    Ok(Strict {
        schema: fitted.schema,
        unsaid: fitted.unsaid,
        back: fitted.back,
        definitions: fitted.definitions,
        keeps_form,
        optional,
        unions,
        compiled,
        branches,
        original,
    })
}

impl Strict {
    /// The strict schema, to be sent with `"strict": true`.
    pub fn schema(&self) -> &Value {
        &self.schema
    }

    /// The keywords of the original that it does not express.
    pub fn unsaid(&self) -> &[Unsaid] {
        &self.unsaid
    }

    /// True if replies already have the form of the original schema.
    pub fn keeps_form(&self) -> bool {
        self.keeps_form
    }

    /// Converts a reply to the form of the original schema without validating it. A value that does not match the
    /// strict schema is not changed.
    ///
    /// # Errors
    /// The parts that cannot be converted: duplicate names in a map.
    pub fn original_form(&self, reply: Value) -> Result<Value, Vec<Violation>> {
        let mut way = Way { strict: self, steps: MAX_STEPS, violations: Vec::new() };
        let value = way.back(&self.back, reply);
        if way.violations.is_empty() { Ok(value) } else { Err(way.violations) }
    }

    /// Converts a reply to the form of the original schema and validates it.
    ///
    /// # Errors
    /// The violations of the original schema.
    pub fn restore(&self, reply: Value) -> Result<Value, Vec<Violation>> {
        let mut value = self.original_form(reply)?;
        let violations = self.original.coerce(&mut value);
        if violations.is_empty() { Ok(value) } else { Err(violations) }
    }
}

impl Subset {
    /// The limits of [`Self::takes_together`], as text.
    pub const TOGETHER: &str =
        "in all its schemas 20 properties that may be left out and 16 places of several types";

    /// True if the API accepts these schemas in one request.
    pub fn takes_together(self, schemas: &[&Strict]) -> bool {
        self != Self::Anthropic
            || schemas.iter().map(|schema| schema.optional).sum::<usize>() <= limits::MAX_OPTIONAL
                && schemas.iter().map(|schema| schema.unions).sum::<usize>() <= limits::MAX_UNIONS
    }
}

/// One reply on its way back.
struct Way<'s> {
    strict: &'s Strict,
    steps: u64,
    violations: Vec<Violation>,
}

impl<'s> Way<'s> {
    /// A value that does not look like what is asked for stays as it is, for the original schema to judge.
    fn back(&mut self, back: &'s Back, value: Value) -> Value {
        match (back, value) {
            (Back::Object(properties), Value::Object(members)) => {
                let kept = members.into_iter().filter_map(|(name, value)| match properties.get(&name) {
                    Some((_, true)) if value.is_null() => None,
                    Some((back, _)) => {
                        let value = self.back(back, value);
                        Some((name, value))
                    }
                    None => Some((name, value)),
                });
                Value::Object(kept.collect())
            }
            (Back::List(item), Value::Array(items)) => {
                items.into_iter().map(|value| self.back(item, value)).collect()
            }
            (Back::Map(item), Value::Array(pairs)) => self.map(item, pairs),
            (Back::Tuple(items), Value::Object(mut members)) => {
                let named = items.iter().enumerate().map_while(|(at, item)| {
                    let value = members.remove(&item_name(at))?;
                    Some(self.back(item, value))
                });
                named.collect()
            }
            (Back::Json, Value::String(text)) => match serde_json::from_str(&text) {
                Ok(value) => value,
                Err(_) => Value::String(text),
            },
            (Back::Union(branches), value) => {
                let taken = branches.iter().find(|(pointer, _)| self.takes(pointer, &value));
                match taken {
                    Some((_, back)) => self.back(back, value),
                    None => value,
                }
            }
            (Back::Definition(name), value) => match self.strict.definitions.get(name) {
                Some(back) => self.back(back, value),
                None => value,
            },
            (Back::Wrapped(back), Value::Object(mut members)) => match members.remove("value") {
                Some(value) => self.back(back, value),
                None => Value::Object(members),
            },
            (_, value) => value,
        }
    }

    fn map(&mut self, item: &'s Back, pairs: Vec<Value>) -> Value {
        let mut map = Map::new();
        for pair in pairs {
            let (Some(Value::String(key)), Some(value)) =
                (pair.get("key").cloned(), pair.get("value").cloned())
            else {
                self.violations.push(Violation::new("", "holds an entry of a map without `key` or `value`"));
                continue;
            };
            let value = self.back(item, value);
            if map.insert(key.clone(), value).is_some() {
                self.violations.push(Violation::new(key, "stands twice in a map"));
            }
        }
        Value::Object(map)
    }

    fn takes(&mut self, pointer: &str, value: &Value) -> bool {
        let Some(id) = self.strict.branches.get(pointer) else { return false };
        let mut check = Check::new(&self.strict.compiled, self.steps);
        let found = check.part(*id, value);
        self.steps = check.steps;
        found.is_empty()
    }
}
