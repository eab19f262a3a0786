//! Says a schema in the strict subset.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use super::form::{
    any, closed, describe, has_no_members, has_values, is_of_kind, kinds_of, not_null, nullable,
};
use super::merge::{Merge, is_annotation, resolve, too_large, weight};
use super::null::Nulls;
use super::restore::{Back, item_name};
use super::subset::{Refusal, Subset, Unsaid};
use crate::keywords::{escaped, range};
use crate::words::{beginning, cut};

/// Formats of texts that are enforced.
const FORMATS: [&str; 9] =
    ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];
/// Constraints that OpenAI enforces.
const BOUNDS: [&str; 7] =
    ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems"];
/// Keywords that are said by the form of what is made, or that closed objects fulfil.
const FORMED: [&str; 13] = [
    "type",
    "enum",
    "const",
    "properties",
    "required",
    "items",
    "prefixItems",
    "additionalItems",
    "nullable",
    "unevaluatedItems",
    "unevaluatedProperties",
    "anyOf",
    "oneOf",
];

/// Places inside each other, beyond which a schema is refused.
const MAX_DEPTH: usize = 64;
/// Steps of a place, its pointers apart.
const PLACE: usize = 50;
/// Characters of a keyword that a description says.
const MAX_HINT: usize = 500;

/// A strict schema with the way back.
pub(super) struct Fitted {
    pub(super) schema: Value,
    pub(super) back: Back,
    pub(super) definitions: HashMap<String, Back>,
    pub(super) unsaid: Vec<Unsaid>,
}

type Said = Result<(Map<String, Value>, Back), Refusal>;

/// The place of a schema in the original, and its place in the strict one.
#[derive(Clone, Copy)]
struct Place<'p> {
    at: &'p str,
    out: &'p str,
}

pub(super) fn fit(root: &Value, subset: Subset) -> Result<Fitted, Refusal> {
    let mut fit = Fit::new(root, subset);
    let (mut schema, mut back) = fit.node(root, Place { at: "", out: "" })?;
    if schema.get("type") != Some(&json!("object")) {
        // It is said again where it stands then, as that is where branches are looked for.
        fit = Fit::new(root, subset);
        let (inner, of_inner) = fit.node(root, Place { at: "", out: "/properties/value" })?;
        schema = closed(Map::from_iter([("value".to_owned(), Value::Object(inner))]), |_| true);
        back = Back::Wrapped(Box::new(of_inner));
    }
    let (mut said, mut definitions) = (Map::new(), HashMap::new());
    while let Some((pointer, name)) = fit.waiting.pop() {
        let target = root.pointer(&pointer).unwrap_or(&Value::Bool(true));
        let out = format!("/$defs/{}", escaped(&name));
        let (schema, back) = fit.node(target, Place { at: &pointer, out: &out })?;
        said.insert(name.clone(), Value::Object(schema));
        definitions.insert(name, back);
    }
    if !said.is_empty() {
        schema.insert("$defs".to_owned(), Value::Object(said));
    }
    Ok(Fitted { schema: Value::Object(schema), back, definitions, unsaid: fit.unsaid })
}

struct Fit<'s> {
    merge: Merge<'s>,
    subset: Subset,
    /// The names of definitions by the pointers of what they define.
    names: HashMap<String, String>,
    /// Those names, and how often each word was asked for.
    taken: HashSet<String>,
    words: HashMap<String, u32>,
    nulls: Nulls<'s>,
    waiting: Vec<(String, String)>,
    unsaid: Vec<Unsaid>,
    /// The places that are being said around this one.
    depth: usize,
}

impl<'s> Fit<'s> {
    fn new(root: &'s Value, subset: Subset) -> Self {
        Self {
            merge: Merge::new(root),
            subset,
            names: HashMap::new(),
            taken: HashSet::new(),
            words: HashMap::new(),
            nulls: Nulls::new(root),
            waiting: Vec::new(),
            unsaid: Vec::new(),
            depth: 0,
        }
    }

    fn node(&mut self, schema: &Value, place: Place<'_>) -> Said {
        // A schema that is merged with the one it refers to may hold itself.
        if self.depth == MAX_DEPTH {
            return Err(too_large());
        }
        self.merge.spend(PLACE + (place.at.len() + place.out.len()) / 16)?;
        self.depth += 1;
        let said = self.said(schema, place);
        self.depth -= 1;
        said
    }

    fn said(&mut self, schema: &Value, place: Place<'_>) -> Said {
        let members = match schema {
            Value::Bool(true) => return Ok(any(None)),
            Value::Object(members) => members,
            _ => return Err(Refusal::new(place.at, "it takes no value")),
        };
        let members = self.merge.alone(members, place.at)?;
        let description = members.get("description").and_then(Value::as_str);
        if let Some(reference) = members.get("$ref") {
            let name = self.definition(reference, place.at)?;
            let mut said =
                Map::from_iter([("$ref".to_owned(), json!(format!("#/$defs/{}", escaped(&name))))]);
            if let Some(description) = description {
                said = Map::from_iter([
                    ("anyOf".to_owned(), json!([said])),
                    ("description".to_owned(), description.into()),
                ]);
            }
            return Ok((said, Back::Definition(name)));
        }
        if let Some((keyword, branches)) =
            ["anyOf", "oneOf"].iter().find_map(|keyword| Some((*keyword, members.get(*keyword)?.as_array()?)))
        {
            return self.union(&members, keyword, branches, place);
        }
        let kinds = kinds_of(&members);
        if !kinds.is_empty() && !kinds.iter().any(|kind| has_values(kind, &members)) {
            return Err(Refusal::new(place.at, "it takes no value"));
        }
        let is_said = |kind: &&str| {
            // Each integer is a number, of which the same holds.
            let is_said_by_numbers = *kind == "integer" && kinds.contains(&"number");
            !is_said_by_numbers && has_values(kind, &members)
        };
        let kinds: Vec<&str> = kinds.iter().copied().filter(is_said).collect();
        let named: Vec<&str> = kinds.iter().copied().filter(|kind| *kind != "null").collect();
        match named.as_slice() {
            [] if kinds.is_empty() => {
                let (mut said, back) = any(description);
                let mut hints = Vec::new();
                for (keyword, value) in members.iter().filter(|(keyword, _)| !is_annotation(keyword)) {
                    self.unsaid.push(unsaid_at(place.at, keyword));
                    hints.push(hint(keyword, value));
                }
                describe(&mut said, &hints.join(", "));
                Ok((said, back))
            }
            [] => Ok((Map::from_iter([("type".to_owned(), json!("null"))]), Back::Same)),
            [kind] => {
                let (mut said, back) = self.of_kind(kind, &members, place)?;
                if kinds.contains(&"null") {
                    said = nullable(said);
                }
                Ok((said, back))
            }
            several => {
                self.merge.spend(weight(&members).saturating_mul(kinds.len()))?;
                let branches: Vec<Value> = several
                    .iter()
                    .chain(kinds.iter().filter(|kind| **kind == "null"))
                    .map(|kind| {
                        let mut branch = members.as_ref().clone();
                        branch.insert("type".to_owned(), json!(kind));
                        branch.shift_remove("description");
                        Value::Object(branch)
                    })
                    .collect();
                let mut base = Map::new();
                if let Some(description) = description {
                    base.insert("description".to_owned(), description.into());
                }
                self.union(&base, "anyOf", &branches, place)
            }
        }
    }

    /// The name of the definition that a reference means.
    fn definition(&mut self, reference: &Value, at: &str) -> Result<String, Refusal> {
        resolve(self.merge.root, reference, at)?;
        let pointer = reference.as_str().unwrap_or_default().trim_start_matches('#').to_owned();
        if let Some(name) = self.names.get(&pointer) {
            return Ok(name.clone());
        }
        let last = pointer.rsplit('/').next().unwrap_or_default();
        let word: String = last.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let word = if word.is_empty() { "root".to_owned() } else { word };
        let count = self.words.entry(word.clone()).or_default();
        let mut name = word.clone();
        *count += 1;
        while !self.taken.insert(name.clone()) {
            *count += 1;
            name = format!("{word}_{count}");
        }
        self.names.insert(pointer.clone(), name.clone());
        self.waiting.push((pointer, name.clone()));
        Ok(name)
    }

    fn union(
        &mut self,
        members: &Map<String, Value>,
        keyword: &str,
        branches: &[Value],
        place: Place<'_>,
    ) -> Said {
        // The keywords beside a union hold for each of its branches.
        let mut beside = members.clone();
        beside.shift_remove(keyword);
        beside.retain(|keyword, _| !is_annotation(keyword));
        let holds_more = beside.keys().any(|keyword| keyword != "type");
        let (mut said, mut backs) = (Vec::new(), Vec::new());
        for (at, branch) in branches.iter().enumerate() {
            let (at, out) = (format!("{}/{keyword}/{at}", place.at), format!("{}/anyOf/{at}", place.out));
            let mut whole = Cow::Borrowed(branch);
            if holds_more {
                self.merge.spend(weight(&beside))?;
                let mut all = beside.clone();
                let part = self.merge.inline(branch, &at)?;
                self.merge.add(&mut all, &part, &at)?;
                whole = Cow::Owned(Value::Object(all));
            }
            let (schema, back) = self.node(&whole, Place { at: &at, out: &out })?;
            said.push(Value::Object(schema));
            backs.push((out, back));
        }
        let mut all = Map::from_iter([("anyOf".to_owned(), Value::Array(said))]);
        if let Some(description) = members.get("description") {
            all.insert("description".to_owned(), description.clone());
        }
        Ok((all, Back::Union(backs)))
    }

    fn of_kind(&mut self, kind: &str, members: &Map<String, Value>, place: Place<'_>) -> Said {
        let (mut said, back) = match kind {
            "object" => self.object(members, place)?,
            "array" => self.array(members, place)?,
            _ => (Map::from_iter([("type".to_owned(), json!(kind))]), Back::Same),
        };
        let is_form_of_itself = said.get("type").and_then(Value::as_str) == Some(kind);
        // Values of other kinds stand in the branches of those; beside this type they could never be said.
        if let Some(choices) = members.get("enum").and_then(Value::as_array).filter(|_| is_form_of_itself) {
            let own = choices.iter().filter(|value| is_of_kind(kind, value)).cloned().collect();
            said.insert("enum".to_owned(), own);
        }
        if let Some(only) = members.get("const").filter(|_| is_form_of_itself) {
            said.insert("const".to_owned(), only.clone());
        }
        // Another form says nothing of the names, the values and the further items that are meant.
        let is_unformed = |keyword: &str, value: &Value| match keyword {
            _ if is_form_of_itself => false,
            "enum" | "const" => true,
            "required" => kind == "object" && value.as_array().is_some_and(|names| !names.is_empty()),
            "items" | "additionalItems" => {
                kind == "array" && !value.is_array() && *value != Value::Bool(false)
            }
            _ => false,
        };
        let mut hints = Vec::new();
        let range = members.get("format").and_then(Value::as_str).and_then(range);
        if let Some((least, most)) = range.filter(|_| kind == "integer") {
            // Bounds of 64 bits are no help to anybody.
            let least =
                (least > i64::MIN && !members.contains_key("minimum")).then_some(("minimum", json!(least)));
            let most = (most <= u64::from(u32::MAX) && !members.contains_key("maximum"))
                .then_some(("maximum", json!(most)));
            let mut is_unsaid = false;
            for (keyword, bound) in least.into_iter().chain(most) {
                if self.says(keyword, &bound) {
                    said.insert(keyword.to_owned(), bound);
                } else {
                    is_unsaid = true;
                    hints.push(format!("{keyword}: {bound}"));
                }
            }
            if is_unsaid {
                self.unsaid.push(unsaid_at(place.at, "format"));
            }
        }
        for (keyword, value) in members {
            match keyword.as_str() {
                keyword if FORMED.contains(&keyword) && !is_unformed(keyword, value) => {}
                "description" => {
                    said.insert(keyword.clone(), value.clone());
                }
                keyword if is_form_of_itself && self.says(keyword, value) => {
                    said.insert(keyword.to_owned(), value.clone());
                }
                // Formats of numbers are said by their bounds.
                "format" if kind != "string" => {}
                "default" if value.is_null() => {}
                "default" => hints.push(hint("default", value)),
                keyword if is_annotation(keyword) => {}
                // These two say of a map what they say of the list that it becomes.
                "additionalProperties" | "patternProperties" if said.get("type") == Some(&json!("array")) => {
                }
                "additionalProperties"
                    if value.is_boolean() || value.as_object().is_some_and(Map::is_empty) => {}
                // A tuple has the items that it has.
                "minItems" | "maxItems" if !is_form_of_itself => {}
                "minProperties" if !is_form_of_itself && self.says("minItems", value) => {
                    said.insert("minItems".to_owned(), value.clone());
                }
                "maxProperties" if !is_form_of_itself && self.says("maxItems", value) => {
                    said.insert("maxItems".to_owned(), value.clone());
                }
                keyword => {
                    self.unsaid.push(unsaid_at(place.at, keyword));
                    hints.push(hint(keyword, value));
                }
            }
        }
        describe(&mut said, &hints.join(", "));
        Ok((said, back))
    }

    /// True if the subset has a constraint with that value.
    fn says(&self, keyword: &str, value: &Value) -> bool {
        let format = |known: &str| value == known;
        match (self.subset, keyword) {
            (Subset::Azure, _) => false,
            (_, "format") if FORMATS.into_iter().any(format) => true,
            (Subset::Anthropic, "format") => format("uri"),
            (Subset::Anthropic, "minItems") => matches!(value.as_u64(), Some(0 | 1)),
            (Subset::OpenAi, "pattern") => !value.as_str().is_some_and(|pattern| pattern.contains("(?")),
            (Subset::OpenAi, keyword) => BOUNDS.contains(&keyword),
            (Subset::Anthropic, _) => false,
        }
    }

    fn object(&mut self, members: &Map<String, Value>, place: Place<'_>) -> Said {
        let Some(properties) =
            members.get("properties").and_then(Value::as_object).filter(|given| !given.is_empty())
        else {
            // A tool without parameters is written so, and the model would invent names for a list of pairs.
            if place.at.is_empty() && has_no_members(members) {
                return Ok((closed(Map::new(), |_| true), Back::Same));
            }
            return self.map(members, place);
        };
        let required = members.get("required").and_then(Value::as_array).into_iter().flatten();
        let required: Vec<&str> = required.filter_map(Value::as_str).collect();
        let names: HashSet<&str> = required.iter().copied().collect();
        let is_required = |name: &str| names.contains(name);
        let (mut said, mut backs) = (Map::new(), HashMap::new());
        for (name, property) in properties {
            let below = format!("/properties/{}", escaped(name));
            let (at, out) = (format!("{}{below}", place.at), format!("{}{below}", place.out));
            let (mut schema, back) = self.node(property, Place { at: &at, out: &out })?;
            let may_lack = !is_required(name);
            let takes_null = may_lack && self.nulls.takes(property);
            let null_is_absence = self.subset.requires_all() && may_lack && !takes_null;
            if null_is_absence {
                schema = nullable(schema);
            } else if takes_null && !self.subset.requires_all() {
                // Its absence says as much, and choices of types make the grammar large.
                not_null(&mut schema);
            }
            said.insert(name.clone(), Value::Object(schema));
            backs.insert(name.clone(), (back, null_is_absence));
        }
        for name in required {
            if !said.contains_key(name) {
                let (schema, back) = self.nameless(name, members, place)?;
                said.insert(name.to_owned(), Value::Object(schema));
                backs.insert(name.to_owned(), (back, false));
            }
        }
        let said = closed(said, |name| self.subset.requires_all() || is_required(name));
        Ok((said, Back::Object(backs)))
    }

    /// A member that must be there, and is no property.
    fn nameless(&mut self, name: &str, members: &Map<String, Value>, place: Place<'_>) -> Said {
        let (at, out) = (
            format!("{}/additionalProperties", place.at),
            format!("{}/properties/{}", place.out, escaped(name)),
        );
        let others = members.get("additionalProperties").or(members.get("unevaluatedProperties"));
        let schema = match others {
            // A pattern may be meant for its name.
            _ if members.contains_key("patternProperties") => &Value::Bool(true),
            Some(Value::Bool(false)) => {
                let name = cut(name, 80);
                return Err(Refusal::new(place.at, format!("it asks for {name}, and does not allow it")));
            }
            others => others.unwrap_or(&Value::Bool(true)),
        };
        self.node(schema, Place { at: &at, out: &out })
    }

    /// An object of any names, as a list of pairs.
    fn map(&mut self, members: &Map<String, Value>, place: Place<'_>) -> Said {
        let by_pattern = members.get("patternProperties").and_then(Value::as_object);
        let mut by_pattern = by_pattern.into_iter().flatten();
        let (mut key, mut below) = (json!({"type": "string"}), "/additionalProperties".to_owned());
        let value = match (by_pattern.next(), members.get("additionalProperties")) {
            (Some((pattern, value)), None | Some(Value::Bool(false))) => {
                match by_pattern.next() {
                    None if self.says("pattern", &json!(pattern)) => {
                        key = json!({"type": "string", "pattern": pattern});
                    }
                    Some((_, other)) if other != value => {
                        return Err(Refusal::new(
                            place.at,
                            "its members are told apart by the patterns of their names",
                        ));
                    }
                    _ => {}
                }
                below = format!("/patternProperties/{}", escaped(pattern));
                value
            }
            (Some(_), _) => {
                return Err(Refusal::new(
                    place.at,
                    "its members are told apart by the patterns of their names",
                ));
            }
            (None, Some(Value::Bool(false))) => return Ok((closed(Map::new(), |_| true), Back::Same)),
            (None, Some(value)) => value,
            (None, None) => &Value::Bool(true),
        };
        let (at, out) = (format!("{}{below}", place.at), format!("{}/items/properties/value", place.out));
        let (value, back) = self.node(value, Place { at: &at, out: &out })?;
        let pair = closed(
            Map::from_iter([("key".to_owned(), key), ("value".to_owned(), Value::Object(value))]),
            |_| true,
        );
        let said = json!({"type": "array", "items": pair});
        Ok((said.as_object().cloned().unwrap_or_default(), Back::Map(Box::new(back))))
    }

    fn array(&mut self, members: &Map<String, Value>, place: Place<'_>) -> Said {
        let older = members.get("items").filter(|items| items.is_array());
        let prefix = members.get("prefixItems").or(older).and_then(Value::as_array);
        let Some(prefix) = prefix.filter(|prefix| !prefix.is_empty()) else {
            let any = Value::Bool(true);
            let items = members.get("items").unwrap_or(&any);
            let (at, out) = (format!("{}/items", place.at), format!("{}/items", place.out));
            let (said, back) = self.node(items, Place { at: &at, out: &out })?;
            let said = Map::from_iter([
                ("type".to_owned(), json!("array")),
                ("items".to_owned(), Value::Object(said)),
            ]);
            return Ok((said, Back::List(Box::new(back))));
        };
        let (mut said, mut backs) = (Map::new(), Vec::new());
        let keyword = if older.is_some() { "items" } else { "prefixItems" };
        for (number, item) in prefix.iter().enumerate() {
            let name = item_name(number);
            let (at, out) =
                (format!("{}/{keyword}/{number}", place.at), format!("{}/properties/{name}", place.out));
            let (schema, back) = self.node(item, Place { at: &at, out: &out })?;
            said.insert(name, Value::Object(schema));
            backs.push(back);
        }
        Ok((closed(said, |_| true), Back::Tuple(backs)))
    }
}

/// A keyword as a description says it.
fn hint(keyword: &str, value: &Value) -> String {
    format!("{keyword}: {}", beginning(value, MAX_HINT))
}

fn unsaid_at(pointer: &str, keyword: &str) -> Unsaid {
    Unsaid { pointer: pointer.to_owned(), keyword: keyword.to_owned() }
}
