//! The schema of `attache.toml`.

use attache_core::schemars::schema_for;
use serde_json::{Map, Value};

use crate::sections::Sections;

/// The JSON schema of `attache.toml`, for editors. It contains the sections that this program was built with.
pub fn schema() -> Value {
    let mut schema = schema_for!(Sections).to_value();
    without_null(&mut schema);
    without_examples(&mut schema);
    schema
}

/// Takes examples in Rust out of descriptions, which editors show to those who write a file.
fn without_examples(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(without_examples),
        Value::Object(members) => {
            members.values_mut().for_each(without_examples);
            if let Some(Value::String(text)) = members.get_mut("description")
                && let Some((words, _)) = text.split_once("```")
            {
                *text = words.trim_end().to_owned();
            }
        }
        _ => {}
    }
}

/// Takes `null` out of types and alternatives: TOML has none.
fn without_null(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(without_null),
        Value::Object(members) => {
            members.values_mut().for_each(without_null);
            if members.get("default").is_some_and(Value::is_null) {
                members.shift_remove("default");
            }
            if let Some(Value::Array(kinds)) = members.get_mut("type") {
                kinds.retain(|kind| kind != "null");
                if let [only] = kinds.as_slice() {
                    let only = only.clone();
                    members.insert("type".to_owned(), only);
                }
            }
            if let Some(Value::Array(forms)) = members.get_mut("anyOf") {
                forms.retain(|form| form.get("type").is_none_or(|kind| kind != "null"));
                if let [Value::Object(only)] = forms.as_mut_slice() {
                    let only = std::mem::take(only);
                    members.shift_remove("anyOf");
                    only.into_iter().for_each(|(name, value)| {
                        members.entry(name).or_insert(value);
                    });
                }
            }
        }
        _ => {}
    }
}

/// The members that the schema knows at a path, such as `mcp.files`; none where any name goes.
pub(crate) fn known_at(schema: &Value, path: &[&str]) -> Vec<String> {
    let known =
        schema_at(schema, path).and_then(|at| at.get("properties")).and_then(Value::as_object).map(Map::keys);
    known.into_iter().flatten().cloned().collect()
}

/// The forms of a value that is one of some words, or a table.
#[derive(Default)]
pub(crate) struct Forms<'s> {
    pub(crate) words: Vec<&'s str>,
    /// The member that each table must have.
    pub(crate) tables: Vec<&'s str>,
}

/// The forms of the value at a path; no words where any text goes.
pub(crate) fn forms_at<'s>(schema: &'s Value, path: &[&str]) -> Forms<'s> {
    let mut forms = Forms::default();
    let Some(at) = schema_at(schema, path) else { return forms };
    let branches = at.get("oneOf").and_then(Value::as_array).into_iter().flatten();
    for form in branches.chain([at]) {
        forms.words.extend(form.get("const").and_then(Value::as_str));
        let listed =
            |of: &str| form.get(of).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        forms.words.extend(listed("enum"));
        forms.tables.extend(listed("required"));
    }
    forms
}

fn schema_at<'s>(schema: &'s Value, path: &[&str]) -> Option<&'s Value> {
    path.iter().try_fold(resolved(schema, schema), |at, step| {
        let next = match step.strip_prefix('[') {
            Some(_) => at.get("items"),
            None => at
                .get("properties")
                .and_then(|known| known.get(step))
                .or_else(|| at.get("additionalProperties")),
        };
        next.map(|next| resolved(schema, next))
    })
}

fn resolved<'s>(root: &'s Value, schema: &'s Value) -> &'s Value {
    let target = schema.get("$ref").and_then(Value::as_str);
    let target = target.and_then(|name| root.pointer(name.strip_prefix('#')?));
    target.unwrap_or(schema)
}
