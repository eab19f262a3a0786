//! Several schemas of one value as one.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::subset::Refusal;

/// References and lists that are merged into one place.
const MAX_HOPS: usize = 32;
/// Steps of one schema: a place costs some fifty.
const MAX_STEPS: usize = 2_000_000;
/// Steps of a schema that is merged, what it holds apart.
const PART: usize = 20;

/// Keywords that say nothing of values.
pub(super) const ANNOTATIONS: [&str; 14] = [
    "$schema",
    "$id",
    "$anchor",
    "$comment",
    "$defs",
    "definitions",
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "discriminator",
];

pub(super) fn is_annotation(keyword: &str) -> bool {
    ANNOTATIONS.contains(&keyword) || keyword.starts_with("x-")
}

/// Merges schemas, and counts what that costs: few references may lead to more than anybody wrote.
pub(super) struct Merge<'s> {
    pub(super) root: &'s Value,
    /// The steps that are left.
    left: usize,
}

impl<'s> Merge<'s> {
    pub(super) fn new(root: &'s Value) -> Self {
        Self { root, left: MAX_STEPS }
    }

    /// Takes steps.
    pub(super) fn spend(&mut self, steps: usize) -> Result<(), Refusal> {
        self.left = self.left.checked_sub(steps).ok_or_else(too_large)?;
        Ok(())
    }

    /// The members of a schema without `allOf`, and with `$ref` only where it stands alone.
    pub(super) fn alone<'m>(
        &mut self,
        members: &'m Map<String, Value>,
        at: &str,
    ) -> Result<Cow<'m, Map<String, Value>>, Refusal>
    where
        's: 'm,
    {
        self.merged(members, at, MAX_HOPS)
    }

    fn merged<'m>(
        &mut self,
        members: &'m Map<String, Value>,
        at: &str,
        hops: usize,
    ) -> Result<Cow<'m, Map<String, Value>>, Refusal>
    where
        's: 'm,
    {
        let Some(hops) = hops.checked_sub(1) else {
            return Err(Refusal::new(at, "it refers to itself without end"));
        };
        let parts = members.get("allOf").and_then(Value::as_array);
        let says = |keyword: &String| !is_annotation(keyword);
        let is_reference = members.contains_key("$ref");
        if parts.is_none() && (!is_reference || members.keys().filter(|keyword| says(keyword)).count() == 1) {
            return Ok(Cow::Borrowed(members));
        }
        self.spend(PART + weight(members))?;
        let mut all = members.clone();
        all.shift_remove("allOf");
        // One part alone is what it is, a reference too.
        if let Some([Value::Object(only)]) = parts.map(Vec::as_slice)
            && !all.keys().any(says)
        {
            let only = self.merged(only, at, hops)?;
            self.spend(weight(&only))?;
            for (keyword, value) in only.iter() {
                all.entry(keyword.clone()).or_insert_with(|| value.clone());
            }
            return Ok(Cow::Owned(all));
        }
        let reference = all.shift_remove("$ref");
        let root = self.root;
        let target = reference.iter().map(|target| resolve(root, target, at));
        for part in target.chain(parts.into_iter().flatten().map(Ok)) {
            match part? {
                Value::Bool(true) => {}
                part => {
                    let part = self.inlined(part, at, hops)?;
                    self.add(&mut all, &part, at)?;
                }
            }
        }
        Ok(Cow::Owned(all))
    }

    /// The members of a schema without references, or of what it refers to.
    pub(super) fn inline<'m>(
        &mut self,
        schema: &'m Value,
        at: &str,
    ) -> Result<Cow<'m, Map<String, Value>>, Refusal>
    where
        's: 'm,
    {
        self.inlined(schema, at, MAX_HOPS)
    }

    fn inlined<'m>(
        &mut self,
        mut schema: &'m Value,
        at: &str,
        mut hops: usize,
    ) -> Result<Cow<'m, Map<String, Value>>, Refusal>
    where
        's: 'm,
    {
        loop {
            let Value::Object(members) = schema else {
                return Err(Refusal::new(at, "it takes no value, or any"));
            };
            match members
                .get("$ref")
                .filter(|_| members.keys().filter(|keyword| !is_annotation(keyword)).count() == 1)
            {
                Some(target) => schema = resolve(self.root, target, at)?,
                None => return self.merged(members, at, hops),
            }
            let Some(left) = hops.checked_sub(1) else {
                return Err(Refusal::new(at, "it refers to itself without end"));
            };
            hops = left;
        }
    }

    /// Adds the keywords of another schema of the same value.
    pub(super) fn add(
        &mut self,
        all: &mut Map<String, Value>,
        part: &Map<String, Value>,
        at: &str,
    ) -> Result<(), Refusal> {
        self.spend(PART + weight(part))?;
        let clash = |keyword: &str| Refusal::new(at, format!("{keyword} is said twice of one value"));
        let is_union =
            |members: &Map<String, Value>| members.contains_key("anyOf") || members.contains_key("oneOf");
        if is_union(all) && is_union(part) {
            return Err(clash("anyOf"));
        }
        for (keyword, value) in part {
            match (keyword.as_str(), all.get_mut(keyword), value) {
                ("properties", Some(Value::Object(known)), Value::Object(more)) => {
                    for (name, property) in more {
                        if known.get(name).is_some_and(|known| known != property) {
                            return Err(clash(&format!("the property {name}")));
                        }
                        known.entry(name.clone()).or_insert_with(|| property.clone());
                    }
                }
                ("required", Some(Value::Array(known)), Value::Array(more)) => {
                    self.spend(known.len().saturating_mul(more.len()))?;
                    let new: Vec<Value> = more.iter().filter(|name| !known.contains(name)).cloned().collect();
                    known.extend(new);
                }
                // Objects are closed around all properties anyway.
                ("additionalProperties" | "unevaluatedProperties", Some(_), _) => {}
                (keyword, Some(_), _) if is_annotation(keyword) => {}
                (_, Some(known), value) if known == value => {}
                (keyword, Some(_), _) => return Err(clash(keyword)),
                (_, None, value) => {
                    all.insert(keyword.clone(), value.clone());
                }
            }
        }
        Ok(())
    }
}

/// The reason for which a schema is refused whose places cost too much.
pub(super) fn too_large() -> Refusal {
    Refusal::new("", "it is too large or nested too deep, or it holds itself")
}

/// The steps that a copy costs: one for each value, and one for each 16 bytes of text.
pub(super) fn weight(members: &Map<String, Value>) -> usize {
    members.iter().map(|(name, value)| 1 + name.len() / 16 + of_value(value)).sum()
}

fn of_value(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() / 16,
        Value::Array(items) => items.iter().map(|item| 1 + of_value(item)).sum(),
        Value::Object(members) => weight(members),
        _ => 0,
    }
}

/// The schema that a reference leads to.
pub(super) fn resolve<'s>(root: &'s Value, reference: &Value, at: &str) -> Result<&'s Value, Refusal> {
    let reference = reference.as_str().unwrap_or_default();
    let target = reference.strip_prefix('#').filter(|pointer| pointer.is_empty() || pointer.starts_with('/'));
    target.and_then(|pointer| root.pointer(pointer)).ok_or_else(|| {
        let shown = crate::words::cut(reference, 80);
        Refusal::new(at, format!("the reference {shown} is none that stands in the schema by its place"))
    })
}
