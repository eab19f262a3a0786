//! The members that the schema of an object names, wherever it names them.

use std::collections::{HashSet, VecDeque};

use serde_json::Value;

/// The maximum number of schemas that are looked through for one parameter, and the maximum number of names.
const MOST_SCHEMAS: usize = 256;
const MOST_NAMES: usize = 4_096;

/// The members that a schema names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Named {
    pub(crate) names: HashSet<String>,
    /// True if it says that there may be others.
    pub(crate) takes_others: bool,
}

/// The members that a schema names itself, in what it refers to, in its parts and in its choices. `at` finds what a
/// reference leads to.
pub(crate) fn named<'s>(schema: &'s Value, at: impl Fn(&str) -> Option<&'s Value>) -> Named {
    let mut named = Named::default();
    let mut waiting = VecDeque::from([schema]);
    let mut left = MOST_SCHEMAS;
    while let (Some(schema), Some(fewer)) = (waiting.pop_front(), left.checked_sub(1)) {
        left = fewer;
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            waiting.extend(at(reference));
        }
        if let Some(Value::Object(members)) = schema.get("properties") {
            let room = MOST_NAMES.saturating_sub(named.names.len());
            named.names.extend(members.keys().take(room).cloned());
        }
        named.takes_others |=
            schema.get("additionalProperties").is_some_and(|others| *others != Value::Bool(false));
        for word in ["allOf", "anyOf", "oneOf"] {
            if let Some(Value::Array(schemas)) = schema.get(word) {
                waiting.extend(schemas.iter().take(left));
            }
        }
        waiting.extend(["then", "else"].into_iter().filter_map(|word| schema.get(word)));
    }
    named
}
