//! What the API bounds of a strict schema.

use serde_json::Value;

use super::Refusal;

const MAX_PROPERTIES: usize = 5_000;
const MAX_LEVELS: usize = 10;
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
}

/// Refuses a schema that is too large.
pub(super) fn check(schema: &Value) -> Result<(), Refusal> {
    let mut count = Count::default();
    count.node(schema, 0)?;
    let Count { properties, choices, chars } = count;
    let bounds = [
        (properties, MAX_PROPERTIES, "properties"),
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
        if level > MAX_LEVELS {
            return Err(Refusal::new("", format!("it is nested deeper than {MAX_LEVELS} levels")));
        }
        for (name, definition) in members.get("$defs").and_then(Value::as_object).into_iter().flatten() {
            self.chars += name.chars().count();
            self.node(definition, 0)?;
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
