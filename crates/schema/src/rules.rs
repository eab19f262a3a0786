//! A schema as it is read once: what each of its places asks of a value.

use serde_json::{Number, Value};

use super::pattern::Pattern;
use super::values::{Choices, bytes, glances, is_whole};

/// A schema inside the schema.
pub(crate) type Id = usize;

/// The demands of one place.
pub(crate) enum Node {
    /// `true`.
    Anything,
    /// `false`.
    Nothing,
    Rules(Box<Rules>),
}

/// A set of types of JSON values.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Kinds(u8);

impl Kinds {
    pub(crate) const NULL: Self = Self(1);
    pub(crate) const BOOLEAN: Self = Self(2);
    pub(crate) const INTEGER: Self = Self(4);
    pub(crate) const NUMBER: Self = Self(8);
    pub(crate) const STRING: Self = Self(16);
    pub(crate) const ARRAY: Self = Self(32);
    pub(crate) const OBJECT: Self = Self(64);

    /// Each type with its word in schemas and its words in messages.
    const ALL: [(Self, &'static str, &'static str); 7] = [
        (Self::NULL, "null", "null"),
        (Self::BOOLEAN, "boolean", "true or false"),
        (Self::INTEGER, "integer", "an integer"),
        (Self::NUMBER, "number", "a number"),
        (Self::STRING, "string", "a string"),
        (Self::ARRAY, "array", "an array"),
        (Self::OBJECT, "object", "an object"),
    ];

    /// The type that a schema names so.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, word, _)| *word == name).map(|(kind, _, _)| *kind)
    }

    pub(crate) fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// True if all of `other` are among them.
    pub(crate) fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// True if `value` is of one of them.
    pub(crate) fn holds(self, value: &Value) -> bool {
        match value {
            Value::Null => self.has(Self::NULL),
            Value::Bool(_) => self.has(Self::BOOLEAN),
            Value::Number(number) => self.has(Self::NUMBER) || (self.has(Self::INTEGER) && is_whole(number)),
            Value::String(_) => self.has(Self::STRING),
            Value::Array(_) => self.has(Self::ARRAY),
            Value::Object(_) => self.has(Self::OBJECT),
        }
    }

    /// True if they are integers, and no other numbers.
    pub(crate) fn is_integer(self) -> bool {
        self.has(Self::INTEGER) && !self.has(Self::NUMBER)
    }

    /// The types as the model reads them; `null` is what is left out.
    pub(crate) fn words(self) -> String {
        let named = Self::ALL.iter().filter(|(kind, _, _)| *kind != Self::NULL && self.has(*kind));
        let words: Vec<&str> = named.map(|(_, _, words)| *words).collect();
        match words.is_empty() {
            true if self.is_empty() => "a value of its schema".to_owned(),
            true => "null".to_owned(),
            false => words.join(" or "),
        }
    }
}

/// The keywords of one place.
#[derive(Default)]
pub(crate) struct Rules {
    /// The types, if they are named.
    pub(crate) kinds: Kinds,
    pub(crate) constant: Option<Value>,
    pub(crate) choices: Option<Choices>,
    pub(crate) reference: Option<Id>,
    pub(crate) all_of: Vec<Id>,
    pub(crate) any_of: Vec<Id>,
    pub(crate) one_of: Vec<Id>,
    pub(crate) not: Option<Id>,
    pub(crate) condition: Option<Condition>,
    pub(crate) numbers: Numbers,
    pub(crate) min_length: Option<u64>,
    pub(crate) max_length: Option<u64>,
    pub(crate) pattern: Option<Pattern>,
    pub(crate) object: Option<Box<ObjectRules>>,
    pub(crate) array: Option<Box<ArrayRules>>,
}

#[derive(Clone, Copy)]
pub(crate) struct Condition {
    pub(crate) when: Id,
    pub(crate) then: Option<Id>,
    pub(crate) otherwise: Option<Id>,
}

#[derive(Default)]
pub(crate) struct Numbers {
    pub(crate) minimum: Option<Number>,
    pub(crate) maximum: Option<Number>,
    pub(crate) above: Option<Number>,
    pub(crate) below: Option<Number>,
    pub(crate) multiple_of: Option<Number>,
}

#[derive(Default)]
pub(crate) struct ObjectRules {
    pub(crate) properties: Properties,
    /// The names that must be there, in order.
    pub(crate) required: Vec<String>,
    pub(crate) by_pattern: Vec<(Pattern, Id)>,
    pub(crate) additional: Option<Id>,
    pub(crate) names: Option<Id>,
    pub(crate) min: Option<u64>,
    pub(crate) max: Option<u64>,
    pub(crate) dependent_required: Vec<(String, Vec<String>)>,
    pub(crate) dependent_schemas: Vec<(String, Id)>,
    pub(crate) unevaluated: Option<Id>,
    /// The properties that have one value, by which the branches of a union are told apart.
    pub(crate) tags: Vec<(String, Value)>,
    /// The steps that asking for the names above costs.
    pub(crate) cost: u64,
}

impl ObjectRules {
    /// The steps that asking for the names of one place costs.
    pub(crate) fn cost_of_names(&self) -> u64 {
        let others = self.dependent_required.iter().flat_map(|(name, others)| others.iter().chain([name]));
        let schemas = self.dependent_schemas.iter().map(|(name, _)| name);
        let names = || self.required.iter().chain(others.clone()).chain(schemas.clone());
        glances(names().count()) + names().map(|name| bytes(name)).sum::<u64>()
    }
}

/// Schemas by the name of their property.
#[derive(Default)]
pub(crate) struct Properties(Vec<(Box<str>, Id)>);

impl Properties {
    pub(crate) fn new(mut named: Vec<(Box<str>, Id)>) -> Self {
        named.sort_by(|(a, _), (b, _)| a.cmp(b));
        Self(named)
    }

    pub(crate) fn get(&self, name: &str) -> Option<Id> {
        let at = self.0.binary_search_by(|(known, _)| (**known).cmp(name)).ok()?;
        self.0.get(at).map(|(_, id)| *id)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, Id)> {
        self.0.iter().map(|(name, id)| (&**name, *id))
    }
}

#[derive(Default)]
pub(crate) struct ArrayRules {
    pub(crate) prefix: Vec<Id>,
    pub(crate) items: Option<Id>,
    pub(crate) contains: Option<Contains>,
    pub(crate) min: Option<u64>,
    pub(crate) max: Option<u64>,
    pub(crate) unique: bool,
    pub(crate) unevaluated: Option<Id>,
}

pub(crate) struct Contains {
    pub(crate) schema: Id,
    pub(crate) min: u64,
    pub(crate) max: Option<u64>,
}

impl Rules {
    /// The schemas that are held against the same value as this one.
    pub(crate) fn in_place(&self) -> impl Iterator<Item = Id> {
        let condition = self.condition.iter().flat_map(|condition| {
            [Some(condition.when), condition.then, condition.otherwise].into_iter().flatten()
        });
        let dependent = self.object.iter().flat_map(|object| &object.dependent_schemas).map(|(_, id)| *id);
        let lists = self.all_of.iter().chain(&self.any_of).chain(&self.one_of).copied();
        lists.chain(self.reference).chain(self.not).chain(condition).chain(dependent)
    }

    /// The values that it names.
    pub(crate) fn named_values(&self) -> impl Iterator<Item = &Value> {
        let choices = self.choices.iter().flat_map(Choices::values);
        self.constant.iter().chain(choices)
    }

    /// The one value that it takes, if it names no other.
    pub(crate) fn only_value(&self) -> Option<&Value> {
        let mut values = self.named_values();
        values.next().filter(|_| values.next().is_none())
    }
}
