//! Arguments of a call: from the user's words, from what earlier results name, from the schema itself.

use std::cell::Cell;

use attache_core::ToolDefinition;
use serde_json::{Map, Number, Value};

use crate::question::Question;
use crate::structured_results::{Item, is_id_key, is_path_key};
use crate::values::Decimal;
use crate::words::{name_stems, stem, stems};

/// Levels of nested schemas that are filled.
const MAX_DEPTH: u32 = 6;

/// The values that a user's words offer for arguments, each in the order in which it was said.
#[derive(Debug, Default)]
pub(crate) struct Offered {
    quoted: Vec<String>,
    files: Vec<String>,
    urls: Vec<String>,
    ids: Vec<String>,
    names: Vec<String>,
    numbers: Vec<String>,
    dates: Vec<String>,
    /// The words to search for, the most promising first.
    queries: Vec<String>,
    text: String,
    stems: Vec<String>,
}

impl Offered {
    pub(crate) fn of(question: &Question) -> Self {
        let text = question.text.as_str();
        let mut offered = Self {
            quoted: quoted(text),
            dates: question.days.iter().filter_map(|day| day.iso()).collect(),
            names: names(text),
            queries: queries(question),
            text: text.to_owned(),
            stems: question.stems(),
            ..Self::default()
        };
        for chunk in text.split_whitespace() {
            let chunk = chunk.trim_matches(|c: char| {
                matches!(c, ',' | '?' | '!' | ';' | ':' | '"' | '\'' | '(' | ')' | '“' | '”' | '`')
            });
            let chunk = chunk.trim_end_matches('.');
            if chunk.starts_with("http://") || chunk.starts_with("https://") {
                offered.urls.push(chunk.to_owned());
            } else if is_file_name(chunk) {
                offered.files.push(chunk.to_owned());
            } else if Decimal::parse(chunk).is_some() {
                offered.numbers.push(chunk.to_owned());
                offered.ids.push(chunk.to_owned());
            } else if chunk.bytes().any(|b| b.is_ascii_digit())
                && !offered.dates.iter().any(|date| date == chunk)
            {
                offered.ids.push(chunk.to_owned());
            }
        }
        offered
    }
}

/// A word with an extension, or a path.
fn is_file_name(chunk: &str) -> bool {
    let name = chunk.rsplit('/').next().unwrap_or(chunk);
    let Some((stem, extension)) = name.rsplit_once('.') else { return false };
    let plausible = (2..=5).contains(&extension.len())
        && extension.bytes().all(|b| b.is_ascii_alphanumeric())
        && extension.bytes().any(|b| b.is_ascii_alphabetic());
    plausible && !stem.is_empty()
}

fn quoted(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (open, close) in [('"', '"'), ('“', '”'), ('„', '“'), ('`', '`'), ('«', '»')] {
        let mut rest = text;
        while let Some((inside, after)) = rest.split_once(open).and_then(|(_, after)| after.split_once(close))
        {
            if !inside.trim().is_empty() {
                found.push(inside.trim().to_owned());
            }
            rest = after;
        }
    }
    found
}

/// Capitalised words in a row that do not open a sentence.
fn names(text: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let (mut run, mut opens) = (Vec::new(), true);
    for token in text.split_whitespace() {
        let word = token.trim_matches(|c: char| !c.is_alphanumeric());
        let is_name =
            word.chars().next().is_some_and(char::is_uppercase) && word.chars().count() > 1 && !opens;
        if is_name {
            run.push(word);
        }
        if !is_name || token.ends_with([',', '.', '?', '!', ';', ':']) {
            names.extend((!run.is_empty()).then(|| run.join(" ")));
            run.clear();
        }
        opens = token.ends_with(['.', '?', '!', ':']);
    }
    names.extend((!run.is_empty()).then(|| run.join(" ")));
    names
}

/// All content words, then the longest of them one by one.
fn queries(question: &Question) -> Vec<String> {
    let mut queries = vec![question.content.join(" ")];
    let mut single: Vec<&String> = question.content.iter().collect();
    single.sort_by_key(|word| std::cmp::Reverse(word.chars().count()));
    queries.extend(single.into_iter().take(3).cloned());
    queries.retain(|query| !query.is_empty());
    queries.dedup();
    queries
}

/// The degree to which arguments may be made up.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resolve {
    /// Every required argument must come from somewhere.
    Honest,
    /// The caller wants this call: what is not known is filled with what the schema allows.
    Forced,
}

/// Fills the arguments of a tool. `attempt` counts the calls made with the same tool for the same purpose.
pub(crate) fn fill(
    tool: &ToolDefinition,
    offered: &Offered,
    item: Option<&Item>,
    resolve: Resolve,
    attempt: usize,
) -> Option<Map<String, Value>> {
    let numbers = Cell::new(offered.numbers.as_slice());
    let fill =
        Fill { root: tool.input_schema(), lists: lists(tool), offered, item, resolve, attempt, numbers };
    fill.object(tool.input_schema(), 0)
}

/// True if a tool lists something.
pub(crate) fn lists(tool: &ToolDefinition) -> bool {
    let says = |text: &str| {
        name_stems(text)
            .iter()
            .take(3)
            .any(|stem| matches!(stem.as_str(), "list" | "brows" | "dir" | "directory" | "ls"))
    };
    says(tool.name()) || says(tool.description())
}

struct Fill<'a> {
    root: &'a Value,
    lists: bool,
    offered: &'a Offered,
    item: Option<&'a Item>,
    resolve: Resolve,
    attempt: usize,
    /// The numbers that this call has not taken yet.
    numbers: Cell<&'a [String]>,
}

impl Fill<'_> {
    fn object(&self, schema: &Value, depth: u32) -> Option<Map<String, Value>> {
        let mut filled = Map::new();
        let required: Vec<&str> = required(schema).collect();
        for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let property = self.resolved(property);
            if required.contains(&name.as_str()) {
                filled.insert(name.clone(), self.value(name, property, depth)?);
            } else if let Some(value) = self.optional(name, property) {
                filled.insert(name.clone(), value);
            }
        }
        // A required property without a schema of its own.
        let unknown = required.iter().find(|name| !filled.contains_key(**name));
        if let Some(name) = unknown {
            filled.insert((*name).to_owned(), self.value(name, &Value::Bool(true), depth)?);
        }
        Some(filled)
    }

    /// The schema itself, behind references and unions with `null`.
    fn resolved<'s>(&'s self, schema: &'s Value) -> &'s Value {
        let mut schema = schema;
        for _ in 0..8 {
            let target = schema
                .get("$ref")
                .and_then(Value::as_str)
                .and_then(|name| self.root.pointer(name.trim_start_matches('#')));
            let branch = ["anyOf", "oneOf"].iter().find_map(|union| {
                let branches = schema.get(*union)?.as_array()?;
                let mut real = branches
                    .iter()
                    .filter(|branch| branch.get("type").and_then(Value::as_str) != Some("null"));
                match (real.next(), real.next()) {
                    (Some(one), None) => Some(one),
                    _ => None,
                }
            });
            match target.or(branch) {
                Some(next) => schema = next,
                None => break,
            }
        }
        schema
    }

    /// An optional argument is given only where the item or the user names it plainly.
    fn optional(&self, name: &str, schema: &Value) -> Option<Value> {
        if let Some(item) = self.item
            && is_path_key(name)
        {
            return field(item, name);
        }
        self.choice(schema)
    }

    fn value(&self, name: &str, schema: &Value, depth: u32) -> Option<Value> {
        if depth > MAX_DEPTH {
            return None;
        }
        if let Some(value) = self.item.and_then(|item| field(item, name)).filter(|value| is_of(schema, value))
        {
            return Some(value);
        }
        if let Some(constant) = schema.get("const") {
            return Some(constant.clone());
        }
        if !words_of(schema).is_empty() {
            return self
                .choice(schema)
                .or_else(|| default(schema))
                .or_else(|| self.forced(|| words_of(schema).first().map(|word| (*word).clone())));
        }
        let found = match type_of(schema) {
            "object" => self.object(schema, depth + 1).map(Value::Object),
            "array" => {
                let items = schema.get("items").map_or(&Value::Bool(true), |items| self.resolved(items));
                self.value(name, items, depth + 1).map(|value| Value::Array(vec![value]))
            }
            "integer" => self.number(|number| !number.contains(['.', ','])),
            "number" => self.number(|_| true),
            "boolean" | "null" => None,
            _ => self.text(name, schema).map(Value::from),
        };
        found.or_else(|| default(schema)).or_else(|| self.forced(|| Some(plain(schema))))
    }

    fn forced(&self, value: impl FnOnce() -> Option<Value>) -> Option<Value> {
        if self.resolve == Resolve::Forced { value() } else { None }
    }

    /// The one of a schema's values that the user names.
    fn choice(&self, schema: &Value) -> Option<Value> {
        words_of(schema)
            .into_iter()
            .find(|word| {
                let mut parts = word.as_str().map(name_stems).unwrap_or_default().into_iter().peekable();
                parts.peek().is_some() && parts.all(|part| self.offered.stems.contains(&part))
            })
            .cloned()
    }

    /// The next number that fits: a call takes them in the order in which they were said.
    fn number(&self, fits: impl Fn(&String) -> bool) -> Option<Value> {
        let left = self.numbers.get();
        let at = left.iter().position(fits)?;
        let number = left.get(at)?;
        self.numbers.set(left.get(at + 1..).unwrap_or_default());
        number.replace(',', "").parse::<Number>().ok().map(Value::Number)
    }

    /// A text for a parameter, by what its name and description say it is.
    fn text(&self, name: &str, schema: &Value) -> Option<String> {
        let described = schema.get("description").and_then(Value::as_str).unwrap_or_default();
        let own = name_stems(name);
        let is = |words: &[&str]| own.iter().any(|stem| words.contains(&stem.as_str()));
        let first = |list: &[String]| list.first().cloned();
        let offered = self.offered;
        if is(&["query", "queri", "search", "keyword", "term", "pattern", "q"]) {
            return first(&offered.quoted)
                .filter(|_| self.attempt == 0)
                .or_else(|| offered.queries.get(self.attempt).cloned());
        }
        if is(&["question", "prompt", "instruction", "message", "request"]) {
            return Some(offered.text.clone()).filter(|text| !text.is_empty() && self.attempt == 0);
        }
        if is(&["url", "uri", "href", "link"]) && !offered.urls.is_empty() {
            return first(&offered.urls);
        }
        if is_path_key(name) || is(&["document", "folder", "directory", "dir"]) {
            // If nothing is known, a listing starts at the root.
            let root = || self.lists.then(|| ".".to_owned());
            return first(&offered.files).filter(|_| !self.lists).or_else(root);
        }
        let format = schema.get("format").and_then(Value::as_str).unwrap_or_default();
        if format.starts_with("date") || is(&["date", "day", "from", "since", "until", "month"]) {
            return first(&offered.dates);
        }
        if is_id_key(name) {
            return first(&offered.ids);
        }
        // "city Oslo": what follows the parameter's own name; else what is quoted or named.
        let named = own.iter().find_map(|stem| after(&offered.text, stem));
        let about_names =
            stems(described).chain(own.iter().cloned()).any(|stem| NAMED.contains(&stem.as_str()));
        named
            .or_else(|| first(&offered.quoted))
            .or_else(|| first(&offered.names).filter(|_| about_names || self.attempt == 0))
    }
}

/// Stems of what has a name of its own.
const NAMED: [&str; 12] = [
    "name", "city", "place", "location", "country", "person", "customer", "company", "supplier", "user",
    "author", "title",
];

/// The word that follows a word of that stem, if it is capitalised or holds a digit.
fn after(text: &str, wanted: &str) -> Option<String> {
    let mut tokens = text.split_whitespace();
    tokens.find(|token| stem(token.trim_matches(|c: char| !c.is_alphanumeric())) == wanted)?;
    let next = tokens.next()?.trim_matches(|c: char| !c.is_alphanumeric());
    let is_name =
        next.chars().next().is_some_and(char::is_uppercase) || next.bytes().any(|b| b.is_ascii_digit());
    is_name.then(|| next.to_owned())
}

/// The member of an item that a parameter asks for.
pub(crate) fn field(item: &Item, parameter: &str) -> Option<Value> {
    let wanted = name_stems(parameter);
    let of = |fits: &dyn Fn(&str) -> bool| {
        item.fields.iter().find(|(key, _)| fits(key)).map(|(_, value)| value.clone())
    };
    let same = |key: &str| name_stems(key) == wanted;
    let paths = |key: &str| is_path_key(parameter) && is_path_key(key);
    let within = |key: &str| {
        let stems = name_stems(key);
        let covers = |a: &[String], b: &[String]| !a.is_empty() && a.iter().all(|stem| b.contains(stem));
        is_id_key(parameter) && is_id_key(key) && (covers(&stems, &wanted) || covers(&wanted, &stems))
    };
    // A bare string of a list is whatever the list is of.
    let bare = |key: &str| {
        key.is_empty()
            && (is_path_key(parameter)
                || is_id_key(parameter)
                || wanted.iter().any(|stem| stem == "name" || stem == "document"))
    };
    // A file is often listed by its name alone.
    let named = |key: &str| is_path_key(parameter) && name_stems(key) == ["name"];
    of(&same).or_else(|| of(&paths)).or_else(|| of(&within)).or_else(|| of(&bare)).or_else(|| of(&named))
}

/// The names of the members that an object must have.
pub(crate) fn required(schema: &Value) -> impl Iterator<Item = &str> {
    schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// The values that a schema lists.
fn words_of(schema: &Value) -> Vec<&Value> {
    let listed = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
    let unions = ["oneOf", "anyOf"].into_iter().filter_map(|union| schema.get(union)?.as_array()).flatten();
    listed.chain(unions.filter_map(|branch| branch.get("const"))).collect()
}

fn default(schema: &Value) -> Option<Value> {
    schema.get("default").or_else(|| schema.get("examples")?.get(0)).cloned()
}

fn type_of(schema: &Value) -> &str {
    match schema.get("type") {
        Some(Value::String(name)) => name,
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).find(|name| *name != "null").unwrap_or("string")
        }
        _ if schema.get("properties").is_some() => "object",
        _ => "string",
    }
}

fn is_of(schema: &Value, value: &Value) -> bool {
    match type_of(schema) {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        _ => false,
    }
}

/// The plainest value that a schema allows.
fn plain(schema: &Value) -> Value {
    match type_of(schema) {
        "object" => Value::Object(Map::new()),
        "array" => Value::Array(Vec::new()),
        "integer" | "number" => schema.get("minimum").cloned().unwrap_or_else(|| 0.into()),
        "boolean" => Value::Bool(false),
        "null" => Value::Null,
        _ => Value::from(""),
    }
}

#[cfg(test)]
mod tests;
