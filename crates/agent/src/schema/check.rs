//! Holds a value against a schema.

use std::collections::HashSet;
use std::fmt::Write as _;

use serde_json::{Map, Number, Value};

use super::rules::{ArrayRules, Contains, Id, Node, Numbers, ObjectRules, Rules};
use super::words::{MAX_PROBLEMS, shown, type_words};
use super::{Schema, Violation};

/// Steps before a value counts as too large to be checked.
const MAX_STEPS: u64 = 1_000_000;
/// Schemas entered inside each other.
const MAX_DEPTH: u32 = 256;
/// Allowed values that are named.
const MAX_CHOICES: usize = 20;

pub(super) fn violations(schema: &Schema, value: &Value) -> Vec<Violation> {
    let mut check = Check { schema, steps: MAX_STEPS, depth: 0, spent: false };
    let mut found = Vec::new();
    check.node(0, value, &Path::Root, &mut found);
    if check.spent {
        // What was left out might not fit.
        let problem = "is too large or nested too deep to be checked".to_owned();
        return vec![Violation { path: String::new(), problem }];
    }
    found
}

/// Where a value stands inside the value.
enum Path<'p> {
    Root,
    Key(&'p Path<'p>, &'p str),
    Index(&'p Path<'p>, usize),
}

impl Path<'_> {
    fn text(&self) -> String {
        let mut text = String::new();
        self.write(&mut text);
        text
    }

    fn write(&self, out: &mut String) {
        match self {
            Self::Root => {}
            Self::Key(outer, name) => {
                outer.write(out);
                if !out.is_empty() {
                    out.push('.');
                }
                out.push_str(name);
            }
            Self::Index(outer, at) => {
                outer.write(out);
                let _ = write!(out, "[{at}]");
            }
        }
    }
}

/// What of an object or array some keyword has looked at.
#[derive(Default)]
struct Seen {
    names: HashSet<String>,
    items: HashSet<usize>,
}

impl Seen {
    fn add(&mut self, other: Seen) {
        self.names.extend(other.names);
        self.items.extend(other.items);
    }
}

type Found = Vec<Violation>;

struct Check<'s> {
    schema: &'s Schema,
    steps: u64,
    depth: u32,
    spent: bool,
}

impl<'s> Check<'s> {
    /// Takes steps; `false` if there are none left.
    fn spend(&mut self, steps: u64) -> bool {
        self.spent |= self.steps < steps;
        self.steps = self.steps.saturating_sub(steps);
        !self.spent
    }

    /// Adds what is wrong with `value` by the schema `id`, and yields what its keywords have looked at.
    fn node(&mut self, id: Id, value: &Value, path: &Path<'_>, found: &mut Found) -> Seen {
        let mut seen = Seen::default();
        if !self.spend(1) {
            return seen;
        }
        if self.depth == MAX_DEPTH {
            self.spent = true;
            return seen;
        }
        self.depth += 1;
        let schema = self.schema;
        match schema.nodes.get(id) {
            Some(Node::Nothing) => report(found, path, "is not allowed"),
            Some(Node::Rules(rules)) => self.rules(rules, value, path, found, &mut seen),
            Some(Node::Anything) | None => {}
        }
        self.depth -= 1;
        seen
    }

    /// What is wrong with `value` by the schema `id`, apart from all else.
    fn apart(&mut self, id: Id, value: &Value, path: &Path<'_>) -> (Found, Seen) {
        let mut found = Vec::new();
        let seen = self.node(id, value, path, &mut found);
        (found, seen)
    }

    fn rules(
        &mut self,
        rules: &'s Rules,
        value: &Value,
        path: &Path<'_>,
        found: &mut Found,
        seen: &mut Seen,
    ) {
        if !rules.types.is_empty() && !rules.types.iter().any(|name| is_of(name, value)) {
            let words = type_words(rules.types.iter().copied());
            report(found, path, &format!("must be {words}, not {}", shown(value)));
            return;
        }
        self.constants(rules, value, path, found);
        match value {
            Value::Number(number) => numbers(&rules.numbers, number, path, found),
            Value::String(text) => self.text(rules, text, path, found),
            Value::Object(object) => {
                if let Some(rules) = &rules.object {
                    self.object(rules, object, path, found, seen);
                }
            }
            Value::Array(items) => {
                if let Some(rules) = &rules.array {
                    self.array(rules, items, path, found, seen);
                }
            }
            _ => {}
        }
        let dependent = rules.object.iter().flat_map(|object| &object.dependent_schemas);
        let dependent = dependent.filter(|(name, _)| value.get(name).is_some()).map(|(_, id)| *id);
        for part in rules.all_of.iter().copied().chain(rules.reference).chain(dependent) {
            seen.add(self.node(part, value, path, found));
        }
        if !rules.any_of.is_empty() {
            self.any_of(&rules.any_of, value, path, found, seen);
        }
        if !rules.one_of.is_empty() {
            self.one_of(&rules.one_of, value, path, found, seen);
        }
        if let Some(not) = rules.not
            && self.apart(not, value, path).0.is_empty()
            && !self.spent
        {
            report(found, path, &format!("must not be {}, by the schema's \"not\"", shown(value)));
        }
        if let Some(condition) = &rules.condition {
            let (against, saw) = self.apart(condition.when, value, path);
            let next = if against.is_empty() {
                seen.add(saw);
                condition.then
            } else {
                condition.otherwise
            };
            if let Some(next) = next {
                seen.add(self.node(next, value, path, found));
            }
        }
        // What all others have looked at is known only now.
        self.unevaluated(rules, value, path, found, seen);
    }

    fn constants(&mut self, rules: &Rules, value: &Value, path: &Path<'_>, found: &mut Found) {
        if let Some(constant) = rules.constant.as_ref().filter(|constant| !same(constant, value)) {
            report(found, path, &format!("must be {}, not {}", shown(constant), shown(value)));
        }
        let Some(choices) = &rules.choices else { return };
        if self.spend(count(choices.len())) && !choices.iter().any(|choice| same(choice, value)) {
            let names: Vec<_> = choices.iter().take(MAX_CHOICES).map(shown).collect();
            report(found, path, &format!("must be one of {}, not {}", names.join(", "), shown(value)));
        }
    }

    fn text(&mut self, rules: &Rules, text: &str, path: &Path<'_>, found: &mut Found) {
        if rules.min_length.is_some() || rules.max_length.is_some() {
            length((rules.min_length, rules.max_length), text.chars().count(), "characters", path, found);
        }
        if let Some(pattern) = &rules.pattern
            && self.spend(pattern.cost(text))
            && pattern.matches(text) == Some(false)
        {
            let value = shown(&Value::from(text));
            report(found, path, &format!("must match the pattern {}, not {value}", pattern.text()));
        }
    }

    fn object(
        &mut self,
        rules: &'s ObjectRules,
        object: &Map<String, Value>,
        path: &Path<'_>,
        found: &mut Found,
        seen: &mut Seen,
    ) {
        for name in &rules.required {
            if !object.contains_key(name) {
                let expected = self.expected(rules.properties.get(name).copied());
                report(found, &Path::Key(path, name), &format!("is missing{expected}"));
            }
        }
        length((rules.min, rules.max), object.len(), "properties", path, found);
        for (name, value) in object {
            let inner = Path::Key(path, name);
            let mut known = false;
            if let Some(id) = rules.properties.get(name) {
                known = true;
                self.node(*id, value, &inner, found);
            }
            for (pattern, id) in &rules.by_pattern {
                // A pattern that cannot be matched might be meant for this name.
                if self.spend(pattern.cost(name)) && pattern.matches(name) != Some(false) {
                    known = true;
                    if pattern.matches(name) == Some(true) {
                        self.node(*id, value, &inner, found);
                    }
                }
            }
            if let Some(additional) = rules.additional.filter(|_| !known) {
                known = true;
                self.node(additional, value, &inner, found);
            }
            if let Some(names) = rules.names {
                self.node(names, &Value::from(name.as_str()), &inner, found);
            }
            if known && self.schema.tracks {
                seen.names.insert(name.clone());
            }
            if self.spent {
                return;
            }
        }
        for (name, others) in &rules.dependent_required {
            for other in
                others.iter().filter(|other| object.contains_key(name) && !object.contains_key(*other))
            {
                report(found, &Path::Key(path, other), &format!("is missing, as `{name}` is there"));
            }
        }
    }

    fn array(
        &mut self,
        rules: &'s ArrayRules,
        items: &[Value],
        path: &Path<'_>,
        found: &mut Found,
        seen: &mut Seen,
    ) {
        length((rules.min, rules.max), items.len(), "items", path, found);
        for (at, item) in items.iter().enumerate() {
            if let Some(id) = rules.prefix.get(at).copied().or(rules.items) {
                self.node(id, item, &Path::Index(path, at), found);
                if self.schema.tracks {
                    seen.items.insert(at);
                }
            }
            if self.spent {
                return;
            }
        }
        if let Some(contains) = &rules.contains {
            self.contains(contains, items, path, found, seen);
        }
        if rules.unique {
            for (at, item) in items.iter().enumerate() {
                if !self.spend(count(at)) {
                    return;
                }
                if items.iter().take(at).any(|before| same(before, item)) {
                    report(found, &Path::Index(path, at), "is there before, and each item may stand once");
                }
            }
        }
    }

    fn contains(
        &mut self,
        contains: &'s Contains,
        items: &[Value],
        path: &Path<'_>,
        found: &mut Found,
        seen: &mut Seen,
    ) {
        let mut matching = 0;
        for (at, item) in items.iter().enumerate() {
            if self.apart(contains.schema, item, path).0.is_empty() {
                matching += 1;
                seen.items.insert(at);
            }
        }
        if matching < contains.min {
            report(
                found,
                path,
                &format!("must hold at least {} items of the form that is asked for", contains.min),
            );
        }
        if let Some(most) = contains.max.filter(|most| matching > *most) {
            report(found, path, &format!("must hold at most {most} items of the form that is asked for"));
        }
    }

    fn any_of(
        &mut self,
        branches: &[Id],
        value: &Value,
        path: &Path<'_>,
        found: &mut Found,
        seen: &mut Seen,
    ) {
        let (mut failures, mut fits) = (Vec::new(), false);
        for branch in branches {
            let (against, saw) = self.apart(*branch, value, path);
            if against.is_empty() {
                fits = true;
                seen.add(saw);
                if !self.schema.tracks {
                    return;
                }
            }
            failures.push((*branch, against));
        }
        if !fits {
            self.none_fits(failures, value, path, found);
        }
    }

    fn one_of(
        &mut self,
        branches: &[Id],
        value: &Value,
        path: &Path<'_>,
        found: &mut Found,
        seen: &mut Seen,
    ) {
        let (mut failures, mut fitting) = (Vec::new(), 0_usize);
        for branch in branches {
            let (against, saw) = self.apart(*branch, value, path);
            if against.is_empty() {
                fitting += 1;
                seen.add(saw);
            }
            failures.push((*branch, against));
        }
        match fitting {
            0 => self.none_fits(failures, value, path, found),
            1 => {}
            _ => report(
                found,
                path,
                &format!("fits {fitting} of the forms that are allowed, and must fit one alone"),
            ),
        }
    }

    /// Says what is wrong by the branch that the value is nearest to.
    fn none_fits(&self, failures: Vec<(Id, Found)>, value: &Value, path: &Path<'_>, found: &mut Found) {
        let words: Vec<String> =
            failures.iter().flat_map(|(id, _)| self.constants_of(*id)).map(shown).collect();
        if words.len() >= failures.len() {
            let words: Vec<_> = words.into_iter().take(MAX_CHOICES).collect();
            report(found, path, &format!("must be one of {}, not {}", words.join(", "), shown(value)));
            return;
        }
        // A branch of another type is not meant.
        let meant = failures.into_iter().filter(|(id, against)| {
            let types = self.rules_of(*id).map(|rules| rules.types.as_slice()).unwrap_or_default();
            !against.is_empty() && (types.is_empty() || types.iter().any(|name| is_of(name, value)))
        });
        let mut meant: Vec<Found> = meant.map(|(_, against)| against).collect();
        let depth = |found: &Found| found.iter().map(|one| one.path.len()).max().unwrap_or(0);
        meant.sort_by_key(|against| (against.len(), std::cmp::Reverse(depth(against))));
        let only = meant.len() == 1;
        let Some(nearest) = meant.into_iter().next() else {
            report(found, path, "fits none of the forms that are allowed");
            return;
        };
        if only {
            extend(found, nearest);
            return;
        }
        let hint = nearest.first().map(|hint| format!(" (nearest: {hint})")).unwrap_or_default();
        report(found, path, &format!("fits none of the forms that are allowed{hint}"));
    }

    fn unevaluated(
        &mut self,
        rules: &'s Rules,
        value: &Value,
        path: &Path<'_>,
        found: &mut Found,
        seen: &mut Seen,
    ) {
        match value {
            Value::Object(object) => {
                let Some(id) = rules.object.as_ref().and_then(|rules| rules.unevaluated) else { return };
                for (name, value) in object {
                    if seen.names.insert(name.clone()) {
                        self.node(id, value, &Path::Key(path, name), found);
                    }
                }
            }
            Value::Array(items) => {
                let Some(id) = rules.array.as_ref().and_then(|rules| rules.unevaluated) else { return };
                for (at, value) in items.iter().enumerate() {
                    if seen.items.insert(at) {
                        self.node(id, value, &Path::Index(path, at), found);
                    }
                }
            }
            _ => {}
        }
    }

    fn rules_of(&self, id: Id) -> Option<&'s Rules> {
        match self.schema.nodes.get(id) {
            Some(Node::Rules(rules)) => Some(rules),
            _ => None,
        }
    }

    /// The values that a branch names.
    fn constants_of(&self, id: Id) -> impl Iterator<Item = &'s Value> + use<'s> {
        let rules = self.rules_of(id);
        let choices = rules.and_then(|rules| rules.choices.as_ref()).into_iter().flatten();
        rules.and_then(|rules| rules.constant.as_ref()).into_iter().chain(choices)
    }

    /// What a missing property should be, in brackets.
    fn expected(&self, id: Option<Id>) -> String {
        let types =
            id.and_then(|id| self.rules_of(id)).map(|rules| rules.types.as_slice()).unwrap_or_default();
        if types.is_empty() { String::new() } else { format!(" ({})", type_words(types.iter().copied())) }
    }
}

fn report(found: &mut Found, path: &Path<'_>, problem: &str) {
    if found.len() < MAX_PROBLEMS {
        found.push(Violation { path: path.text(), problem: problem.to_owned() });
    }
}

fn extend(found: &mut Found, more: Found) {
    let room = MAX_PROBLEMS.saturating_sub(found.len());
    found.extend(more.into_iter().take(room));
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

fn length(limits: (Option<u64>, Option<u64>), length: usize, unit: &str, path: &Path<'_>, found: &mut Found) {
    let (least, most) = limits;
    if let Some(least) = least.filter(|least| count(length) < *least) {
        report(found, path, &format!("must have at least {least} {unit}, not {length}"));
    }
    if let Some(most) = most.filter(|most| count(length) > *most) {
        report(found, path, &format!("must have at most {most} {unit}, not {length}"));
    }
}

fn numbers(rules: &Numbers, number: &Number, path: &Path<'_>, found: &mut Found) {
    use std::cmp::Ordering::{Greater, Less};
    type Bound<'r> = (&'r Option<Number>, &'static [std::cmp::Ordering], &'static str);
    let bounds: [Bound<'_>; 4] = [
        (&rules.minimum, &[Less], "at least"),
        (&rules.maximum, &[Greater], "at most"),
        (&rules.above, &[Less, std::cmp::Ordering::Equal], "more than"),
        (&rules.below, &[Greater, std::cmp::Ordering::Equal], "less than"),
    ];
    for (bound, outside, words) in bounds {
        if let Some(bound) = bound
            && order(number, bound).is_some_and(|order| outside.contains(&order))
        {
            report(found, path, &format!("must be {words} {bound}, not {number}"));
        }
    }
    if let Some(step) = rules.multiple_of.as_ref().filter(|step| !is_multiple(number, step)) {
        report(found, path, &format!("must be a multiple of {step}, not {number}"));
    }
}

/// A whole number that is written as one.
fn whole(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

fn order(a: &Number, b: &Number) -> Option<std::cmp::Ordering> {
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
}

fn is_multiple(number: &Number, step: &Number) -> bool {
    if let (Some(number), Some(step)) = (whole(number), whole(step)) {
        return step == 0 || number % step == 0;
    }
    let (Some(number), Some(step)) = (number.as_f64(), step.as_f64()) else { return true };
    let quotient = number / step;
    // Decimal fractions are none in binary: 0.3 is a multiple of 0.1.
    !quotient.is_finite() || (quotient - quotient.round()).abs() <= 1e-9 * quotient.abs().max(1.0)
}

/// Whether two values are the same in JSON, where 1 and 1.0 are one number and members have no order.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => order(a, b) == Some(std::cmp::Ordering::Equal),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| same(a, b)))
        }
        (a, b) => a == b,
    }
}

fn is_of(name: &str, value: &Value) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => match value {
            Value::Number(number) => {
                whole(number).is_some() || number.as_f64().is_some_and(|number| number.fract() == 0.0)
            }
            _ => false,
        },
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => true,
    }
}
