//! Corrects mere differences in notation.

use serde_json::{Map, Value};

use super::check::{Check, MAX_DEPTH, MAX_STEPS};
use super::rules::{ArrayRules, Condition, Id, Kinds, ObjectRules};
use super::schema::Schema;
use super::values::{as_integer, glances, is_written_whole, weight};
use super::violation::Violation;

/// The members of a document's reference object. An object with others is something else.
const REFERENCE: [&str; 6] = ["attache.document", "documentId", "storeId", "url", "content", "metadata"];

impl Schema {
    /// Corrects mere differences in notation and then returns the remaining problems of the value, like
    /// [`check`](Self::check).
    ///
    /// These are corrected: `"5"` for 5, `"true"` for true, JSON inside a string, one value for an array of one (except
    /// a text that is `null` or begins with `[`), the reference object of a document for its id, and `null` for an
    /// optional property. Whole numbers written as fractions, such as 5.0, become integers where the schema requires
    /// integers; an integer that does not fit into 64 bits is a violation. Otherwise a valid value is not changed.
    pub fn coerce(&self, value: &mut Value) -> Vec<Violation> {
        let mut check = Check::of_read(self, MAX_STEPS);
        let found = check.whole(value);
        if found.is_empty() && !check.has_fractions {
            return found;
        }
        let mut mend = Mend { schema: self, steps: MAX_STEPS, depth: 0 };
        mend.value(0, value);
        // Integers that are written otherwise are the same numbers.
        if found.is_empty() { found } else { Check::of_read(self, MAX_STEPS).whole(value) }
    }
}

/// Changes a value towards its schema. It judges nothing: where it stops, the check afterwards says what is wrong.
struct Mend<'s> {
    schema: &'s Schema,
    steps: u64,
    depth: u32,
}

impl<'s> Mend<'s> {
    /// Takes steps; `false` if there are none left.
    fn spend(&mut self, steps: u64) -> bool {
        let enough = self.steps >= steps;
        self.steps = self.steps.saturating_sub(steps);
        enough
    }

    fn value(&mut self, id: Id, value: &mut Value) {
        if !self.spend(1) || self.depth == MAX_DEPTH {
            return;
        }
        self.depth += 1;
        self.mend(id, value);
        self.depth -= 1;
    }

    fn mend(&mut self, id: Id, value: &mut Value) {
        let schema = self.schema;
        let Some(rules) = schema.rules(id) else { return };
        if !rules.kinds.is_empty() && !rules.kinds.holds(value) {
            // Texts are read as JSON, and other values copied.
            if !self.spend(weight(value)) {
                return;
            }
            let Some(mended) = written_otherwise(rules.kinds, value) else { return };
            *value = mended;
        }
        if rules.kinds.is_integer()
            && let Value::Number(number) = value
            && !is_written_whole(number)
            && let Some(integer) = as_integer(number)
        {
            *number = integer;
        }
        for part in rules.all_of.iter().copied().chain(rules.reference) {
            self.value(part, value);
        }
        let object = rules.object.as_deref().filter(|_| value.is_object());
        if !self.spend(object.map_or(0, |object| object.cost)) {
            return;
        }
        for (name, part) in object.iter().flat_map(|object| &object.dependent_schemas) {
            if value.get(name).is_some() {
                self.value(*part, value);
            }
        }
        if let Some(Condition { when, then, otherwise }) = rules.condition {
            let next = if self.problems(when, value) == 0 { then } else { otherwise };
            if let Some(next) = next {
                self.value(next, value);
            }
        }
        for branches in [&rules.any_of, &rules.one_of] {
            if !branches.is_empty() {
                self.union(branches, value);
            }
        }
        match value {
            Value::Object(object) => {
                if let Some(rules) = &rules.object {
                    self.object(rules, object);
                }
            }
            Value::Array(items) => {
                if let Some(rules) = &rules.array {
                    self.array(rules, items);
                }
            }
            _ => {}
        }
    }

    /// The number of problems of `value` by the schema `id`.
    fn problems(&mut self, id: Id, value: &Value) -> usize {
        let mut check = Check::of_read(self.schema, self.steps);
        let found = check.part(id, value);
        self.steps = check.steps;
        found.len()
    }

    /// A value that fits one branch keeps its form; otherwise the first branch counts that it can be mended for;
    /// otherwise the one that it then is nearest to. Branches with another tag are none.
    fn union(&mut self, branches: &'s [Id], value: &mut Value) {
        let possible = |branch: &&Id| {
            self.spend(self.schema.cost_of_tags(**branch)) && self.schema.other_tag(**branch, value).is_none()
        };
        let possible: Vec<Id> = branches.iter().filter(possible).copied().collect();
        if let Some(fitting) = possible.iter().find(|branch| self.problems(**branch, value) == 0) {
            self.value(*fitting, value);
            return;
        }
        let mut best: Option<(usize, Value)> = None;
        for branch in possible {
            if self.schema.kinds_of(branch) == Kinds::NULL {
                continue;
            }
            if !self.spend(1 + weight(value)) {
                return;
            }
            let mut tried = value.clone();
            self.value(branch, &mut tried);
            let problems = self.problems(branch, &tried);
            if best.as_ref().is_none_or(|(fewest, _)| problems < *fewest) {
                best = Some((problems, tried));
            }
            if problems == 0 {
                break;
            }
        }
        // Without steps nobody knows which one that is.
        if self.steps > 0
            && let Some((_, nearest)) = best
        {
            *value = nearest;
        }
    }

    fn object(&mut self, rules: &'s ObjectRules, object: &mut Map<String, Value>) {
        self.spend(glances(object.len()));
        object.retain(|name, value| {
            let property = rules.properties.get(name);
            // Models say `null` for what they leave out.
            if let Some(id) = property
                && value.is_null()
                && self.spend(rules.cost)
                && !rules.required.contains(name)
                && self.problems(id, value) > 0
                && self.steps > 0
            {
                return false;
            }
            let mut known = false;
            if let Some(id) = property {
                known = true;
                self.value(id, value);
            }
            for (pattern, id) in &rules.by_pattern {
                if !self.spend(pattern.cost(name)) {
                    return true;
                }
                let matches = pattern.matches(name);
                known |= matches != Some(false);
                if matches == Some(true) {
                    self.value(*id, value);
                }
            }
            if let Some(additional) = rules.additional.filter(|_| !known) {
                self.value(additional, value);
            }
            true
        });
    }

    fn array(&mut self, rules: &'s ArrayRules, items: &mut [Value]) {
        self.spend(glances(items.len()));
        for (at, item) in items.iter_mut().enumerate() {
            if let Some(id) = rules.prefix.get(at).copied().or(rules.items) {
                self.value(id, item);
            }
        }
    }
}

/// A value of one of these types, where `value` is only written differently.
fn written_otherwise(kinds: Kinds, value: &Value) -> Option<Value> {
    if let Value::String(text) = value
        && let Ok(parsed) = serde_json::from_str::<Value>(text.trim())
        && !parsed.is_null()
        && kinds.holds(&parsed)
    {
        return Some(parsed);
    }
    // A text that begins a list is a broken one.
    let is_another = |text: &str| text.trim_start().starts_with('[') || text.trim() == "null";
    if kinds.has(Kinds::ARRAY) && !value.is_null() && !value.as_str().is_some_and(is_another) {
        return Some(Value::Array(vec![value.clone()]));
    }
    // A model that is asked for an id may copy the whole reference that it read.
    let reference = value.as_object().filter(|_| kinds.has(Kinds::STRING))?;
    let is_reference = reference.keys().all(|name| REFERENCE.contains(&name.as_str()));
    reference.get("documentId").filter(|id| is_reference && id.is_string()).cloned()
}
