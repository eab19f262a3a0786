//! Validates a value against a schema.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use serde_json::{Map, Number, Value};

use super::path::Path;
use super::rules::{ArrayRules, Contains, Id, Node, Numbers, ObjectRules, Rules};
use super::schema::Schema;
use super::values::{
    as_integer, bytes, glances, is_multiple, is_written_whole, of_items, order, repeated, same, weight,
};
use super::violation::Violation;
use super::words::{MAX_PROBLEMS, listed, shown};

/// Steps before a value counts as too large to be checked.
pub(crate) const MAX_STEPS: u64 = 1_000_000;
/// Schemas entered inside each other.
pub(crate) const MAX_DEPTH: u32 = 256;

impl Schema {
    /// Returns the problems of `value`, at most ten; none if it is valid.
    pub fn check(&self, value: &Value) -> Vec<Violation> {
        Check::new(self, MAX_STEPS).whole(value)
    }
}

/// The members or items of a value that some keyword has looked at.
#[derive(Clone, Default)]
pub(crate) struct Seen {
    names: BTreeSet<String>,
    items: BTreeSet<usize>,
}

pub(crate) type Found = Vec<Violation>;

/// The verdict of one schema on a value, apart from all else.
pub(crate) struct Judged {
    pub(crate) found: Found,
    pub(crate) seen: Seen,
}

impl Judged {
    pub(crate) fn fits(&self) -> bool {
        self.found.is_empty()
    }
}

/// One value held against one schema.
pub(crate) struct Check<'s> {
    pub(crate) schema: &'s Schema,
    /// The steps that are left.
    pub(crate) steps: u64,
    depth: u32,
    spent: bool,
    /// True if integers are read by programs, so that they are of 64 bits.
    is_read: bool,
    /// True if an integer is written as a fraction.
    pub(crate) has_fractions: bool,
    /// Branches entered inside each other.
    branches: u32,
    /// The verdicts of branches on objects and arrays, by their addresses: a union inside a union asks again.
    judged: HashMap<(Id, usize), Rc<Judged>>,
}

impl<'s> Check<'s> {
    pub(crate) fn new(schema: &'s Schema, steps: u64) -> Self {
        Self {
            schema,
            steps,
            depth: 0,
            spent: false,
            is_read: false,
            has_fractions: false,
            branches: 0,
            judged: HashMap::new(),
        }
    }

    /// The same for a value that programs will read.
    pub(crate) fn of_read(schema: &'s Schema, steps: u64) -> Self {
        Self { is_read: true, ..Self::new(schema, steps) }
    }

    /// The problems of the whole value.
    pub(crate) fn whole(&mut self, value: &Value) -> Found {
        let found = self.part(0, value);
        if self.spent {
            // The part that was left out might not fit.
            return vec![Violation::new("", "is too large or nested too deep to be checked")];
        }
        found
    }

    /// The problems of a part of it by the schema `id`; at least one, if steps are spent.
    pub(crate) fn part(&mut self, id: Id, value: &Value) -> Found {
        let mut found = Vec::new();
        self.node(id, value, &Path::Root, &mut found);
        if self.spent && found.is_empty() {
            self.report(&mut found, &Path::Root, || "is too large to be checked".to_owned());
        }
        found
    }

    /// Takes steps; `false` if there are none left.
    pub(crate) fn spend(&mut self, steps: u64) -> bool {
        self.spent |= self.steps < steps;
        self.steps = self.steps.saturating_sub(steps);
        !self.spent
    }

    /// Adds a problem, if there is room for one.
    pub(crate) fn report(&mut self, found: &mut Found, path: &Path<'_>, problem: impl FnOnce() -> String) {
        if found.len() < MAX_PROBLEMS {
            let violation = Violation::new(path.text(), problem());
            self.spend(bytes(&violation.path) + bytes(&violation.problem));
            found.push(violation);
        }
    }

    /// Adds problems of another verdict, as many as there is room for.
    pub(crate) fn extend(&mut self, found: &mut Found, more: &[Violation]) {
        for violation in more.iter().take(MAX_PROBLEMS.saturating_sub(found.len())) {
            self.spend(bytes(&violation.path) + bytes(&violation.problem));
            found.push(violation.clone());
        }
    }

    /// Adds what others have looked at.
    pub(crate) fn add(&mut self, seen: &mut Seen, other: Seen) {
        if self.schema.tracks {
            let names: u64 = other.names.iter().map(|name| 2 + bytes(name)).sum();
            self.spend(names + glances(other.items.len()));
            seen.names.extend(other.names);
            seen.items.extend(other.items);
        }
    }

    /// Notes that a member was looked at; `false` if it was before.
    fn see(&mut self, seen: &mut Seen, name: &str) -> bool {
        self.spend(2 + bytes(name));
        seen.names.insert(name.to_owned())
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
            Some(Node::Nothing) => self.report(found, path, || "is not allowed".to_owned()),
            Some(Node::Rules(rules)) => self.rules(rules, value, path, found, &mut seen),
            Some(Node::Anything) | None => {}
        }
        self.depth -= 1;
        seen
    }

    /// The problems of `value` by the schema `id`, apart from all else.
    pub(crate) fn apart(&mut self, id: Id, value: &Value, path: &Path<'_>) -> Rc<Judged> {
        let key = (id, std::ptr::from_ref(value).addr());
        let is_asked_again = self.branches > 0 && (value.is_object() || value.is_array());
        if is_asked_again && let Some(judged) = self.judged.get(&key) {
            return Rc::clone(judged);
        }
        let mut found = Vec::new();
        self.branches += 1;
        let seen = self.node(id, value, path, &mut found);
        self.branches -= 1;
        let judged = Rc::new(Judged { found, seen });
        if is_asked_again {
            self.judged.insert(key, Rc::clone(&judged));
        }
        judged
    }

    fn rules(
        &mut self,
        rules: &'s Rules,
        value: &Value,
        path: &Path<'_>,
        found: &mut Found,
        seen: &mut Seen,
    ) {
        if !rules.kinds.is_empty() && !rules.kinds.holds(value) {
            self.report(found, path, || format!("must be {}, not {}", rules.kinds.words(), shown(value)));
            return;
        }
        self.constants(rules, value, path, found);
        match value {
            Value::Number(number) => {
                if self.is_read && rules.kinds.is_integer() && !is_written_whole(number) {
                    self.has_fractions = true;
                    if as_integer(number).is_none() {
                        self.report(found, path, || {
                            format!("must be an integer of at most 64 bits, not {number}")
                        });
                        return;
                    }
                }
                self.numbers(&rules.numbers, number, path, found);
            }
            Value::String(text) => self.text(rules, (value, text), path, found),
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
        let dependent =
            rules.object.iter().filter(|_| value.is_object()).flat_map(|object| &object.dependent_schemas);
        let dependent = dependent.filter(|(name, _)| value.get(name).is_some()).map(|(_, id)| *id);
        for part in rules.all_of.iter().copied().chain(rules.reference).chain(dependent) {
            let inner = self.node(part, value, path, found);
            self.add(seen, inner);
        }
        if !rules.any_of.is_empty() {
            self.any_of(&rules.any_of, value, path, found, seen);
        }
        if !rules.one_of.is_empty() {
            self.one_of(&rules.one_of, value, path, found, seen);
        }
        if let Some(not) = rules.not
            && self.apart(not, value, path).fits()
            && !self.spent
        {
            self.report(found, path, || format!("must not be {}, by the schema's \"not\"", shown(value)));
        }
        if let Some(condition) = &rules.condition {
            let judged = self.apart(condition.when, value, path);
            let next = if judged.fits() {
                self.add(seen, judged.seen.clone());
                condition.then
            } else {
                condition.otherwise
            };
            if let Some(next) = next {
                let inner = self.node(next, value, path, found);
                self.add(seen, inner);
            }
        }
        // Only now are the members known that all others have looked at.
        self.unevaluated(rules, value, path, found, seen);
    }

    fn constants(&mut self, rules: &Rules, value: &Value, path: &Path<'_>, found: &mut Found) {
        if rules.constant.is_none() && rules.choices.is_none() || !self.spend(weight(value)) {
            return;
        }
        if let Some(constant) = rules.constant.as_ref().filter(|constant| !same(constant, value)) {
            self.report(found, path, || format!("must be {}, not {}", shown(constant), shown(value)));
        }
        if let Some(choices) = rules.choices.as_ref().filter(|choices| !choices.has(value)) {
            let names = || listed(choices.values().iter());
            self.report(found, path, || format!("must be one of {}, not {}", names(), shown(value)));
        }
    }

    fn text(&mut self, rules: &Rules, (value, text): (&Value, &str), path: &Path<'_>, found: &mut Found) {
        if (rules.min_length.is_some() || rules.max_length.is_some()) && self.spend(bytes(text) / 16) {
            self.length(
                (rules.min_length, rules.max_length),
                text.chars().count(),
                "characters",
                path,
                found,
            );
        }
        if let Some(pattern) = &rules.pattern
            && self.spend(pattern.cost(text))
            && pattern.matches(text) == Some(false)
        {
            self.report(found, path, || {
                format!("must match the pattern {}, not {}", pattern.text(), shown(value))
            });
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
        if !self.spend(rules.cost + glances(object.len())) {
            return;
        }
        for name in &rules.required {
            if !object.contains_key(name) {
                let (schema, property) = (self.schema, rules.properties.get(name));
                self.report(found, &Path::Key(path, name), || {
                    format!("is missing{}", schema.expected(property))
                });
            }
        }
        self.length((rules.min, rules.max), object.len(), "properties", path, found);
        for (name, value) in object {
            let inner = Path::Key(path, name);
            let mut known = false;
            self.spend(bytes(name));
            if let Some(id) = rules.properties.get(name) {
                known = true;
                self.node(id, value, &inner, found);
            }
            for (pattern, id) in &rules.by_pattern {
                if !self.spend(pattern.cost(name)) {
                    return;
                }
                let matches = pattern.matches(name);
                // A pattern that cannot be matched might be meant for this name.
                known |= matches != Some(false);
                if matches == Some(true) {
                    self.node(*id, value, &inner, found);
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
                self.see(seen, name);
            }
            if self.spent {
                return;
            }
        }
        let asking = rules.dependent_required.iter().filter(|(name, _)| object.contains_key(name));
        for (name, others) in asking {
            for other in others.iter().filter(|other| !object.contains_key(*other)) {
                self.report(found, &Path::Key(path, other), || format!("is missing, as `{name}` is there"));
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
        if !self.spend(glances(items.len())) {
            return;
        }
        self.length((rules.min, rules.max), items.len(), "items", path, found);
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
        if rules.unique && self.spend(of_items(items)) {
            for at in repeated(items) {
                self.report(found, &Path::Index(path, at), || {
                    "is there before, and each item may stand once".to_owned()
                });
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
            if self.apart(contains.schema, item, path).fits() {
                matching += 1;
                if self.schema.tracks {
                    seen.items.insert(at);
                }
            }
        }
        if matching < contains.min {
            self.report(found, path, || {
                format!("must hold at least {} items of the form that is asked for", contains.min)
            });
        }
        if let Some(most) = contains.max.filter(|most| matching > *most) {
            self.report(found, path, || {
                format!("must hold at most {most} items of the form that is asked for")
            });
        }
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
                    if self.see(seen, name) {
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

    fn length(
        &mut self,
        limits: (Option<u64>, Option<u64>),
        length: usize,
        unit: &str,
        path: &Path<'_>,
        found: &mut Found,
    ) {
        let (least, most) = limits;
        if let Some(least) = least.filter(|least| count(length) < *least) {
            self.report(found, path, || format!("must have at least {least} {unit}, not {length}"));
        }
        if let Some(most) = most.filter(|most| count(length) > *most) {
            self.report(found, path, || format!("must have at most {most} {unit}, not {length}"));
        }
    }

    fn numbers(&mut self, rules: &Numbers, number: &Number, path: &Path<'_>, found: &mut Found) {
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
                self.report(found, path, || format!("must be {words} {bound}, not {number}"));
            }
        }
        if let Some(step) = rules.multiple_of.as_ref().filter(|step| !is_multiple(number, step)) {
            self.report(found, path, || format!("must be a multiple of {step}, not {number}"));
        }
    }
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

impl Schema {
    /// The types that a missing property should have, in brackets.
    fn expected(&self, id: Option<Id>) -> String {
        let kinds = id.and_then(|id| self.rules(id)).map(|rules| rules.kinds).unwrap_or_default();
        if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.words()) }
    }
}
