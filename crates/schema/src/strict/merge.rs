//! Several schemas of one value as one.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::subset::Refusal;

/// References and lists that are merged into one place.
const MAX_HOPS: usize = 32;

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
    ANNOTATIONS.contains(&keyword)
}

/// The members of a schema without `allOf`, and with `$ref` only where it stands alone.
pub(super) fn alone<'s>(
    root: &'s Value,
    members: &'s Map<String, Value>,
    at: &str,
) -> Result<Cow<'s, Map<String, Value>>, Refusal> {
    merged(root, members, at, MAX_HOPS)
}

fn merged<'s>(
    root: &'s Value,
    members: &'s Map<String, Value>,
    at: &str,
    hops: usize,
) -> Result<Cow<'s, Map<String, Value>>, Refusal> {
    let Some(hops) = hops.checked_sub(1) else {
        return Err(Refusal::new(at, "it refers to itself without end"));
    };
    let parts = members.get("allOf").and_then(Value::as_array);
    let says = |keyword: &String| !is_annotation(keyword);
    let is_reference = members.contains_key("$ref");
    if parts.is_none() && (!is_reference || members.keys().filter(|keyword| says(keyword)).count() == 1) {
        return Ok(Cow::Borrowed(members));
    }
    let mut all = members.clone();
    all.shift_remove("allOf");
    // One part alone is what it is, a reference too.
    if let Some([Value::Object(only)]) = parts.map(Vec::as_slice)
        && !all.keys().any(says)
    {
        for (keyword, value) in merged(root, only, at, hops)?.iter() {
            all.entry(keyword.clone()).or_insert_with(|| value.clone());
        }
        return Ok(Cow::Owned(all));
    }
    let reference = all.shift_remove("$ref");
    let target = reference.iter().map(|target| resolve(root, target, at));
    for part in target.chain(parts.into_iter().flatten().map(Ok)) {
        match part? {
            Value::Bool(true) => {}
            part => {
                let part = inlined(root, part, at, hops)?;
                add(&mut all, &part, at)?;
            }
        }
    }
    Ok(Cow::Owned(all))
}

/// The members of a schema without references, or of what it refers to.
pub(super) fn inline<'s>(
    root: &'s Value,
    schema: &'s Value,
    at: &str,
) -> Result<Cow<'s, Map<String, Value>>, Refusal> {
    inlined(root, schema, at, MAX_HOPS)
}

fn inlined<'s>(
    root: &'s Value,
    mut schema: &'s Value,
    at: &str,
    mut hops: usize,
) -> Result<Cow<'s, Map<String, Value>>, Refusal> {
    loop {
        let Value::Object(members) = schema else {
            return Err(Refusal::new(at, "it takes no value, or any"));
        };
        match members
            .get("$ref")
            .filter(|_| members.keys().filter(|keyword| !is_annotation(keyword)).count() == 1)
        {
            Some(target) => schema = resolve(root, target, at)?,
            None => return merged(root, members, at, hops),
        }
        let Some(left) = hops.checked_sub(1) else {
            return Err(Refusal::new(at, "it refers to itself without end"));
        };
        hops = left;
    }
}

/// Adds the keywords of another schema of the same value.
pub(super) fn add(all: &mut Map<String, Value>, part: &Map<String, Value>, at: &str) -> Result<(), Refusal> {
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

/// The schema that a reference leads to.
pub(super) fn resolve<'s>(root: &'s Value, reference: &Value, at: &str) -> Result<&'s Value, Refusal> {
    let reference = reference.as_str().unwrap_or_default();
    let target = reference.strip_prefix('#').filter(|pointer| pointer.is_empty() || pointer.starts_with('/'));
    target.and_then(|pointer| root.pointer(pointer)).ok_or_else(|| {
        let shown = crate::words::cut(reference, 80);
        Refusal::new(at, format!("the reference {shown} is none that stands in the schema by its place"))
    })
}
