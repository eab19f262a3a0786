//! A schema as it is read once: what each of its places asks of a value.

use std::collections::HashMap;

use serde_json::{Number, Value};

use super::pattern::Pattern;

/// A schema inside the schema.
pub(super) type Id = usize;

/// What a place asks for.
pub(super) enum Node {
    /// `true`.
    Anything,
    /// `false`.
    Nothing,
    Rules(Box<Rules>),
}

/// The keywords of one place.
#[derive(Default)]
pub(super) struct Rules {
    /// The types, if they are named.
    pub(super) types: Vec<&'static str>,
    pub(super) constant: Option<Value>,
    pub(super) choices: Option<Vec<Value>>,
    pub(super) reference: Option<Id>,
    pub(super) all_of: Vec<Id>,
    pub(super) any_of: Vec<Id>,
    pub(super) one_of: Vec<Id>,
    pub(super) not: Option<Id>,
    pub(super) condition: Option<Condition>,
    pub(super) numbers: Numbers,
    pub(super) min_length: Option<u64>,
    pub(super) max_length: Option<u64>,
    pub(super) pattern: Option<Pattern>,
    pub(super) object: Option<Box<ObjectRules>>,
    pub(super) array: Option<Box<ArrayRules>>,
}

pub(super) struct Condition {
    pub(super) when: Id,
    pub(super) then: Option<Id>,
    pub(super) otherwise: Option<Id>,
}

#[derive(Default)]
pub(super) struct Numbers {
    pub(super) minimum: Option<Number>,
    pub(super) maximum: Option<Number>,
    pub(super) above: Option<Number>,
    pub(super) below: Option<Number>,
    pub(super) multiple_of: Option<Number>,
}

#[derive(Default)]
pub(super) struct ObjectRules {
    pub(super) properties: HashMap<String, Id>,
    /// The names that must be there, in order.
    pub(super) required: Vec<String>,
    pub(super) by_pattern: Vec<(Pattern, Id)>,
    pub(super) additional: Option<Id>,
    pub(super) names: Option<Id>,
    pub(super) min: Option<u64>,
    pub(super) max: Option<u64>,
    pub(super) dependent_required: Vec<(String, Vec<String>)>,
    pub(super) dependent_schemas: Vec<(String, Id)>,
    pub(super) unevaluated: Option<Id>,
}

#[derive(Default)]
pub(super) struct ArrayRules {
    pub(super) prefix: Vec<Id>,
    pub(super) items: Option<Id>,
    pub(super) contains: Option<Contains>,
    pub(super) min: Option<u64>,
    pub(super) max: Option<u64>,
    pub(super) unique: bool,
    pub(super) unevaluated: Option<Id>,
}

pub(super) struct Contains {
    pub(super) schema: Id,
    pub(super) min: u64,
    pub(super) max: Option<u64>,
}

impl Rules {
    /// The schemas that are held against the same value as this one.
    pub(super) fn in_place(&self) -> impl Iterator<Item = Id> {
        let condition = self.condition.iter().flat_map(|condition| {
            [Some(condition.when), condition.then, condition.otherwise].into_iter().flatten()
        });
        let dependent = self.object.iter().flat_map(|object| &object.dependent_schemas).map(|(_, id)| *id);
        let lists = self.all_of.iter().chain(&self.any_of).chain(&self.one_of).copied();
        lists.chain(self.reference).chain(self.not).chain(condition).chain(dependent)
    }
}
