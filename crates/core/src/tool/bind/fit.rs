//! Fits arguments to a JSON Schema: mends what is only written differently, and says what does not fit and where.
//!
//! It looks at the keywords that schemas of Rust types are made of. What it does not know it lets pass; serde has
//! the last word.

use serde_json::{Map, Number, Value};

/// Steps before it stops looking; serde then decides alone. Unions of recursive types could otherwise cost more
/// than the arguments are long.
const MAX_STEPS: u32 = 100_000;
/// References followed and levels entered before it lets the rest pass.
const MAX_DEPTH: u32 = 400;
/// Problems that are named; more would not help.
const MAX_PROBLEMS: usize = 10;
/// Characters of an offending value that are shown.
const MAX_SHOWN: usize = 60;

/// Fits `arguments` to `schema` and yields what does not fit, one phrase for each path.
pub(super) fn fit(schema: &Value, arguments: &mut Map<String, Value>, strict: bool) -> Vec<String> {
    let definitions = schema.get("$defs").and_then(Value::as_object);
    let mut root = Value::Object(std::mem::take(arguments));
    let mut fit = Fit { definitions, lenient: !strict, steps: MAX_STEPS, depth: 0, problems: Vec::new() };
    fit.value(schema, &mut root, "");
    if let Value::Object(object) = root {
        *arguments = object;
    }
    fit.problems
}

/// One problem as a phrase.
pub(super) fn problem(path: &str, what: &str) -> String {
    if path.is_empty() { what.to_owned() } else { format!("`{path}` {what}") }
}

struct Fit<'s> {
    definitions: Option<&'s Map<String, Value>>,
    lenient: bool,
    steps: u32,
    depth: u32,
    problems: Vec<String>,
}

impl<'s> Fit<'s> {
    fn value(&mut self, schema: &'s Value, value: &mut Value, path: &str) {
        if self.steps == 0 || self.depth == MAX_DEPTH {
            return;
        }
        self.steps -= 1;
        self.depth += 1;
        self.checked(schema, value, path);
        self.depth -= 1;
    }

    fn checked(&mut self, schema: &'s Value, value: &mut Value, path: &str) {
        let Value::Object(schema) = schema else {
            if *schema == Value::Bool(false) {
                self.report(path, "is not allowed");
            }
            return;
        };
        if let Some(target) =
            schema.get("$ref").and_then(Value::as_str).and_then(|name| self.definition(name))
        {
            self.value(target, value, path);
        }
        for part in list(schema, "allOf") {
            self.value(part, value, path);
        }
        for union in ["anyOf", "oneOf"] {
            if let branches @ [_, ..] = list(schema, union) {
                self.union(branches, value, path);
            }
        }
        if !self.fits_type(schema, value) {
            if self.lenient
                && let Some(mended) = mended(schema, value)
            {
                *value = mended;
            } else {
                let expected = expectation(schema);
                self.report(path, &format!("must be {expected}, not {}", shown(value)));
                return;
            }
        }
        self.constants(schema, value, path);
        match value {
            Value::Object(object) => self.object(schema, object, path),
            Value::Array(items) => self.array(schema, items, path),
            Value::Number(number) => self.number(schema, number, path),
            Value::String(text) => self.length(schema, text.chars().count(), "Length", "characters", path),
            _ => {}
        }
    }

    fn definition(&self, reference: &str) -> Option<&'s Value> {
        self.definitions?.get(reference.strip_prefix("#/$defs/")?)
    }

    fn report(&mut self, path: &str, what: &str) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(problem(path, what));
        }
    }

    /// What fits one branch as it is stays so; otherwise the first branch that it can be mended for counts;
    /// otherwise the branch with the fewest problems says what is wrong. Branches with another tag are none.
    fn union(&mut self, branches: &'s [Value], value: &mut Value, path: &str) {
        let mut tags = Vec::new();
        let possible: Vec<_> =
            branches.iter().filter(|branch| is_possible(branch, value, &mut tags)).collect();
        let mut best: Option<Vec<String>> = None;
        for lenient in [false, true] {
            if lenient && !self.lenient {
                break;
            }
            for branch in &possible {
                let mut tried = value.clone();
                let mut attempt = Fit { lenient, problems: Vec::new(), ..*self };
                attempt.value(branch, &mut tried, path);
                self.steps = attempt.steps;
                if attempt.problems.is_empty() {
                    *value = tried;
                    return;
                }
                let fewer = best.as_ref().is_none_or(|best| attempt.problems.len() < best.len());
                if fewer && !is_null_schema(branch) {
                    best = Some(attempt.problems);
                }
            }
        }
        let words: Vec<_> = branches.iter().flat_map(constants).map(shown).collect();
        let problems = best.unwrap_or_default();
        if words.len() >= branches.len() {
            self.report(path, &format!("must be one of {}, not {}", words.join(", "), shown(value)));
        } else if possible.iter().filter(|branch| !is_null_schema(branch)).count() == 1 {
            let room = MAX_PROBLEMS.saturating_sub(self.problems.len());
            self.problems.extend(problems.into_iter().take(room));
        } else if let ([], Some((tag, _))) = (&*possible, tags.first()) {
            let words: Vec<_> = tags.iter().map(|(_, word)| shown(word)).collect();
            self.report(&join(path, tag), &format!("must be one of {}", words.join(", ")));
        } else {
            let hint = problems.first().map(|hint| format!(" (nearest: {hint})")).unwrap_or_default();
            self.report(path, &format!("fits none of the forms that are allowed{hint}"));
        }
    }

    fn fits_type(&self, schema: &Map<String, Value>, value: &Value) -> bool {
        let mut types = types(schema).peekable();
        types.peek().is_none() || types.any(|name| is_of(name, value))
    }

    fn constants(&mut self, schema: &Map<String, Value>, value: &Value, path: &str) {
        if let Some(constant) = schema.get("const").filter(|constant| *constant != value) {
            self.report(path, &format!("must be {}, not {}", shown(constant), shown(value)));
        }
        let allowed = list(schema, "enum");
        if !allowed.is_empty() && !allowed.contains(value) {
            let names: Vec<_> = allowed.iter().take(20).map(shown).collect();
            self.report(path, &format!("must be one of {}, not {}", names.join(", "), shown(value)));
        }
    }

    fn object(&mut self, schema: &'s Map<String, Value>, object: &mut Map<String, Value>, path: &str) {
        let properties = schema.get("properties").and_then(Value::as_object);
        let required: Vec<_> = list(schema, "required").iter().filter_map(Value::as_str).collect();
        for (name, property) in properties.into_iter().flatten() {
            let inner = join(path, name);
            let Some(value) = object.get_mut(name) else {
                if required.contains(&name.as_str()) {
                    self.report(&inner, &format!("is missing ({})", expectation_of(property)));
                }
                continue;
            };
            let before = self.problems.len();
            let was_null = value.is_null();
            self.value(property, value, &inner);
            // Models say `null` for what they leave out.
            if self.lenient && was_null && self.problems.len() > before && !required.contains(&name.as_str())
            {
                self.problems.truncate(before);
                object.remove(name);
            }
        }
        let Some(additional) = schema.get("additionalProperties") else { return };
        for (name, value) in object.iter_mut() {
            if !properties.is_some_and(|properties| properties.contains_key(name)) {
                self.value(additional, value, &join(path, name));
            }
        }
    }

    fn array(&mut self, schema: &'s Map<String, Value>, items: &mut [Value], path: &str) {
        self.length(schema, items.len(), "Items", "items", path);
        let prefix = list(schema, "prefixItems");
        let rest = schema.get("items");
        for (at, item) in items.iter_mut().enumerate() {
            if let Some(schema) = prefix.get(at).or(rest) {
                self.value(schema, item, &format!("{path}[{at}]"));
            }
        }
    }

    fn number(&mut self, schema: &Map<String, Value>, number: &Number, path: &str) {
        let Some(value) = number.as_f64() else { return };
        let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
        type Bound = (&'static str, fn(f64, f64) -> bool, &'static str);
        let bounds: [Bound; 4] = [
            ("minimum", |value, bound| value < bound, "at least"),
            ("maximum", |value, bound| value > bound, "at most"),
            ("exclusiveMinimum", |value, bound| value <= bound, "more than"),
            ("exclusiveMaximum", |value, bound| value >= bound, "less than"),
        ];
        for (name, is_outside, words) in bounds {
            if let Some(bound) = bound(name).filter(|bound| is_outside(value, *bound)) {
                self.report(path, &format!("must be {words} {bound}, not {number}"));
            }
        }
    }

    fn length(&mut self, schema: &Map<String, Value>, length: usize, of: &str, unit: &str, path: &str) {
        let limit = |name: &str| {
            let limit = schema.get(&format!("{name}{of}"))?.as_u64()?;
            usize::try_from(limit).ok()
        };
        if let Some(least) = limit("min").filter(|least| length < *least) {
            self.report(path, &format!("must have at least {least} {unit}, not {length}"));
        }
        if let Some(most) = limit("max").filter(|most| length > *most) {
            self.report(path, &format!("must have at most {most} {unit}, not {length}"));
        }
    }
}

/// The value in the form that the schema asks for, if it is only written differently.
fn mended(schema: &Map<String, Value>, value: &Value) -> Option<Value> {
    types(schema).find_map(|name| {
        let parsed =
            || value.as_str().map(str::trim).and_then(|text| serde_json::from_str::<Value>(text).ok());
        match name {
            "integer" => match value {
                Value::Number(number) => whole(number),
                _ => parsed().filter(|value| is_of("integer", value)),
            },
            "number" | "boolean" | "object" => parsed().filter(|value| is_of(name, value)),
            "array" => parsed()
                .filter(Value::is_array)
                .or_else(|| (!value.is_null()).then(|| Value::Array(vec![value.clone()]))),
            // A model that is asked for an id may copy the whole reference that it read.
            "string" => value.get("documentId").filter(|id| id.is_string()).cloned(),
            _ => None,
        }
    })
}

/// `5.0` as 5.
fn whole(number: &Number) -> Option<Value> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let value = number.as_f64().filter(|value| value.fract() == 0.0 && value.abs() <= EXACT)?;
    serde_json::from_str(&format!("{value:.0}")).ok()
}

fn types(schema: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let one = schema.get("type").and_then(Value::as_str);
    one.into_iter().chain(list(schema, "type").iter().filter_map(Value::as_str))
}

fn list<'s>(schema: &'s Map<String, Value>, keyword: &str) -> &'s [Value] {
    schema.get(keyword).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn is_of(name: &str, value: &Value) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => true,
    }
}

/// Whether a branch of a union has no tag, a property of one constant, that `value` has otherwise. Tags that
/// differ are added to `tags`.
fn is_possible<'s>(branch: &'s Value, value: &Value, tags: &mut Vec<(&'s str, &'s Value)>) -> bool {
    let properties = branch.get("properties").and_then(Value::as_object);
    let differs = properties.into_iter().flatten().find_map(|(name, property)| {
        let constant = property.get("const")?;
        (value.get(name)? != constant).then_some((name.as_str(), constant))
    });
    tags.extend(differs);
    differs.is_none()
}

/// The values that a branch of a union names.
fn constants(branch: &Value) -> impl Iterator<Item = &Value> {
    let listed = branch.get("enum").and_then(Value::as_array).into_iter().flatten();
    branch.get("const").into_iter().chain(listed)
}

fn is_null_schema(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str) == Some("null")
}

fn expectation_of(schema: &Value) -> String {
    schema.as_object().map_or_else(|| "any value".to_owned(), expectation)
}

fn expectation(schema: &Map<String, Value>) -> String {
    let words: Vec<_> = types(schema)
        .filter(|name| *name != "null")
        .map(|name| match name {
            "integer" => "an integer",
            "array" => "an array",
            "object" => "an object",
            "boolean" => "true or false",
            "number" => "a number",
            "string" => "a string",
            other => other,
        })
        .collect();
    if words.is_empty() { "a value of its schema".to_owned() } else { words.join(" or ") }
}

/// A value as JSON, cut when it is long.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}
