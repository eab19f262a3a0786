//! A file held against the schema, with its variables filled in.

use std::collections::BTreeMap;

use attache_core::near::near;
use attache_schema::Schema;
use serde::Deserialize;
use serde_json::Value;

use crate::problem::{Problem, meant};
use crate::schema::{Forms, forms_at, known_at, schema};
use crate::sections::Sections;
use crate::source::ConfigFile;
use crate::toml_places::below;
use crate::variables::{Lookup, filled};

/// Values that are shorter stand in texts by chance.
const LEAST_MASKED: usize = 4;

/// The sections of a file, with its variables filled in.
pub(crate) struct Checked {
    pub(crate) sections: Sections,
    /// The values of variables, each with the text that stands for it.
    pub(crate) masks: Masks,
    /// The servers and services that lack variables or files. They are left out of the sections.
    pub(crate) unset: Vec<Unset>,
}

/// A server or service that lacks a variable or a file.
pub(crate) struct Unset {
    /// Its section, such as `mcp`.
    pub(crate) section: &'static str,
    pub(crate) name: String,
    pub(crate) problems: Vec<Problem>,
}

/// The sections whose entries stand for themselves: one that lacks a variable costs the others nothing.
const OF_SERVERS: [&str; 3] = ["mcp", "a2a", "http"];

/// The values of variables, which no message shows.
#[derive(Clone, Default)]
pub(crate) struct Masks(Vec<(String, String)>);

impl Masks {
    pub(crate) fn add(&mut self, value: String, written: String) {
        if value.len() >= LEAST_MASKED && !self.0.iter().any(|(known, _)| *known == value) {
            self.0.push((value, written));
            // The longest first, since one may hold another.
            self.0.sort_by_key(|(value, _)| std::cmp::Reverse(value.len()));
        }
    }

    /// The text with variables in the place of their values.
    pub(crate) fn apply(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (value, written)| text.replace(value, written))
    }
}

/// Checks a file: its sections without those that are wrong, and every mistake that the schema tells and every variable
/// that is not there. Where servers alone lack some, it is no mistake.
pub(crate) fn checked(file: &ConfigFile, lookup: Lookup<'_>) -> (Option<Checked>, Vec<Problem>) {
    let mut filling = Filling {
        file,
        lookup,
        problems: Vec::new(),
        missing: Vec::new(),
        masks: Masks::default(),
        raw: BTreeMap::new(),
    };
    let mut value = file.located.value.clone();
    filling.fill(&mut value, "", "");
    let Filling { mut problems, missing, masks, raw, .. } = filling;
    let document = schema();
    let schema = match Schema::new(&document) {
        Ok(schema) => schema,
        Err(error) => return (None, vec![Problem::of_file(&file.path, error.to_string())]),
    };
    // A variable is a text, and may stand for a number or a switch.
    if !raw.is_empty() {
        let mut coerced = value.clone();
        let _ = schema.coerce(&mut coerced);
        adopt(&mut value, &coerced, "", &raw);
    }
    let names_problem =
        |path: &str| problems.iter().chain(&missing).any(|problem: &Problem| problem.path == path);
    let found: Vec<Problem> = schema
        .check(&value)
        .into_iter()
        .filter(|violation| !names_problem(&violation.path))
        .map(|violation| told(file, &document, &violation.path, &violation.problem, &raw))
        .collect();
    problems.extend(found);
    let (unset, others) = taken_out(&mut value, missing);
    problems.extend(others);
    for problem in &problems {
        without_wrong(&mut value, &problem.path);
    }
    match Sections::deserialize(value) {
        Ok(sections) => (Some(Checked { sections, masks, unset }), problems),
        Err(_) if !problems.is_empty() => (None, problems),
        Err(error) => (None, vec![Problem::of_file(&file.path, masks.apply(&error.to_string()))]),
    }
}

/// Takes out the section that a path leads into, or the one entry of it, so that the rest of the file can be looked at.
fn without_wrong(value: &mut Value, path: &str) {
    let Value::Object(sections) = value else { return };
    let rest = |name: &str| path.strip_prefix(name).filter(|rest| rest.is_empty() || rest.starts_with('.'));
    let names = sections.keys().filter(|name| rest(name).is_some());
    let Some(section) = names.max_by_key(|name| name.len()).cloned() else { return };
    let inside = rest(&section).and_then(|rest| rest.strip_prefix('.')).unwrap_or_default().to_owned();
    if let (true, Some(Value::Object(entries))) =
        (OF_SERVERS.contains(&&*section), sections.get_mut(&section))
    {
        let is_it = |name: &&String| {
            inside
                .strip_prefix(name.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        if let Some(name) = entries.keys().filter(is_it).max_by_key(|name| name.len()).cloned() {
            entries.shift_remove(&name);
            return;
        }
    }
    sections.shift_remove(&section);
}

/// Takes the servers and services out that lack something, and yields the problems of everything else beside them.
/// Nothing is said of those that are switched off.
fn taken_out(value: &mut Value, missing: Vec<Problem>) -> (Vec<Unset>, Vec<Problem>) {
    let (mut unset, mut others) = (Vec::<Unset>::new(), Vec::new());
    for problem in missing {
        let mut entries = OF_SERVERS.into_iter().flat_map(|section| {
            let entries = value.get(section).and_then(Value::as_object).into_iter().flatten();
            entries.map(move |(name, entry)| (section, name, entry))
        });
        let holds = |section: &str, name: &str| {
            let inside = problem.path.strip_prefix(section).and_then(|rest| rest.strip_prefix('.'));
            let behind = inside.and_then(|rest| rest.strip_prefix(name));
            behind.is_some_and(|behind| behind.starts_with('.'))
        };
        let Some((section, name, entry)) = entries.find(|(section, name, _)| holds(section, name)) else {
            others.push(problem);
            continue;
        };
        if entry.get("enabled") == Some(&Value::Bool(false)) {
            continue;
        }
        match unset.iter_mut().find(|known| known.section == section && known.name == *name) {
            Some(known) => known.problems.push(problem),
            None => unset.push(Unset { section, name: name.clone(), problems: vec![problem] }),
        }
    }
    for Unset { section, name, .. } in &unset {
        if let Some(Value::Object(entries)) = value.get_mut(*section) {
            entries.shift_remove(name);
        }
    }
    (unset, others)
}

/// A violation in words, without values that are secret.
fn told(
    file: &ConfigFile,
    schema: &Value,
    path: &str,
    problem: &str,
    raw: &BTreeMap<String, String>,
) -> Problem {
    if problem == "is not allowed" {
        let (around, name) = split(file, path);
        let known = known_at(schema, &around);
        let hint = meant(name, known.iter().map(String::as_str));
        return file.problem(path, "is not known", hint);
    }
    let shows = at(&file.located.value, path, "");
    let is_shown = !raw.contains_key(path) && !is_secret_path(path);
    if let Some(written) = shows.and_then(Value::as_str).filter(|_| is_shown) {
        let (mut steps, name) = split(file, path);
        steps.push(name);
        let Forms { words, tables } = forms_at(schema, &steps);
        if !words.is_empty() {
            let near = near(written, words.iter().copied()).into_iter().next();
            let forms = words.iter().map(|word| format!("{word:?}"));
            let forms: Vec<String> =
                forms.chain(tables.iter().map(|name| format!("a table of `{name}`"))).collect();
            let message = format!("must be {}, not {written:?}", forms.join(" or "));
            return file.problem(path, message, near.map(|near| format!("did you mean `{near}`?")));
        }
    }
    let stem = problem.split_once(", not ").map_or(problem, |(stem, _)| stem);
    let message = match (raw.get(path), shows) {
        (Some(written), _) => format!("{stem}, not what {written} holds"),
        (None, Some(Value::Object(_))) => format!("{stem}, not a table"),
        (None, Some(Value::Array(_))) => format!("{stem}, not a list"),
        (None, _) if is_secret_path(path) => stem.to_owned(),
        (None, _) => problem.to_owned(),
    };
    file.problem(path, message, None)
}

/// The steps to the place around a path, and the last name. Names may hold dots, so the file's own members decide.
fn split<'p>(file: &ConfigFile, path: &'p str) -> (Vec<&'p str>, &'p str) {
    let (mut steps, mut rest, mut value) = (Vec::new(), path, &file.located.value);
    loop {
        if let Value::Object(members) = value {
            let rest_ = rest.strip_prefix('.').unwrap_or(rest);
            let fits = |name: &&String| {
                rest_
                    .strip_prefix(name.as_str())
                    .is_some_and(|behind| behind.is_empty() || behind.starts_with(['.', '[']))
            };
            let Some(name) = members.keys().filter(fits).max_by_key(|name| name.len()) else { break };
            let (step, behind) = rest_.split_at(name.len());
            if behind.is_empty() {
                return (steps, step);
            }
            let Some(next) = members.get(name) else { break };
            steps.push(step);
            (rest, value) = (behind, next);
        } else if let (Value::Array(items), Some((at, behind))) = (value, rest.split_once(']')) {
            let Some(next) = at.get(1..).and_then(|at| at.parse::<usize>().ok()).and_then(|at| items.get(at))
            else {
                break;
            };
            steps.push("[]");
            (rest, value) = (behind, next);
        } else {
            break;
        }
    }
    (steps, rest.trim_start_matches('.'))
}

/// The value at a path.
fn at<'v>(value: &'v Value, path: &str, here: &str) -> Option<&'v Value> {
    if path == here {
        return Some(value);
    }
    match value {
        Value::Object(members) => {
            members.iter().find_map(|(name, inner)| at(inner, path, &below(here, name)))
        }
        Value::Array(items) => {
            items.iter().enumerate().find_map(|(nth, inner)| at(inner, path, &format!("{here}[{nth}]")))
        }
        _ => None,
    }
}

/// Takes over what a variable stands for.
fn adopt(value: &mut Value, coerced: &Value, path: &str, raw: &BTreeMap<String, String>) {
    match (value, coerced) {
        (Value::Object(members), Value::Object(others)) => {
            for (name, inner) in members.iter_mut() {
                if let Some(other) = others.get(name) {
                    adopt(inner, other, &below(path, name), raw);
                }
            }
        }
        (Value::Array(items), Value::Array(others)) => {
            for (at, (inner, other)) in items.iter_mut().zip(others).enumerate() {
                adopt(inner, other, &format!("{path}[{at}]"), raw);
            }
        }
        (value, other) if raw.contains_key(path) && (other.is_number() || other.is_boolean()) => {
            *value = other.clone();
        }
        _ => {}
    }
}

struct Filling<'f> {
    file: &'f ConfigFile,
    lookup: Lookup<'f>,
    problems: Vec<Problem>,
    /// Those of variables and files that are not there.
    missing: Vec<Problem>,
    masks: Masks,
    /// The texts that hold variables, as they are written, by their paths.
    raw: BTreeMap<String, String>,
}

impl Filling<'_> {
    fn fill(&mut self, value: &mut Value, path: &str, name: &str) {
        match value {
            Value::String(text) => match filled(text, &self.file.folder, self.lookup) {
                Ok(Some(filled)) => {
                    filled.values.into_iter().for_each(|(value, written)| self.masks.add(value, written));
                    self.raw.insert(path.to_owned(), std::mem::replace(text, filled.text));
                }
                Ok(None) if is_secret(path, name) && !text.is_empty() || holds_password(path, text) => {
                    let hint = match path.starts_with("providers.") && !path.contains(".headers.") {
                        true => "set the variable that contains it with key.variables = [\"NAME\"]",
                        false => "write \"${NAME}\" and set that variable, or \"${file:PATH}\"",
                    };
                    let problem = self.file.problem(
                        path,
                        "is a secret, but is written here in plain text",
                        Some(hint.to_owned()),
                    );
                    self.problems.push(problem);
                }
                Ok(None) => {}
                Err(unfilled) => {
                    let problem = self.file.problem(path, unfilled.message, Some(unfilled.hint));
                    if unfilled.is_missing { &mut self.missing } else { &mut self.problems }.push(problem);
                }
            },
            Value::Array(items) => {
                for (at, item) in items.iter_mut().enumerate() {
                    self.fill(item, &format!("{path}[{at}]"), name);
                }
            }
            Value::Object(members) => {
                for (name, value) in members.iter_mut() {
                    self.fill(value, &below(path, name), name);
                }
            }
            _ => {}
        }
    }
}

/// True for the address of a database with a password in it.
fn holds_password(path: &str, text: &str) -> bool {
    let authority = text.split_once("://").map(|(_, rest)| rest.split(['/', '?']).next().unwrap_or_default());
    let user = authority.and_then(|authority| authority.rsplit_once('@')).map(|(user, _)| user);
    let is_there = user
        .is_some_and(|user| user.split_once(':').is_some_and(|(_, password)| !password.is_empty()))
        || text.contains("password=");
    path == "stores.sessions" && is_there
}

/// True for the place of a secret: its value is not written into the file.
fn is_secret(path: &str, name: &str) -> bool {
    // The name of a server, which may be one of these words, and what stands in it.
    let of_server = ["mcp.", "http.", "a2a."].iter().find_map(|section| path.strip_prefix(section));
    // A key that is written where its rules belong, and headers.
    let of_provider = path.strip_prefix("providers.");
    path.starts_with("server.api_keys.")
        || of_provider.is_some_and(|path| {
            (path.contains(".headers.") || path.matches('.').count() <= 1) && is_secret_name(name)
        })
        || of_server.is_some_and(|path| {
            path.ends_with(".bearer")
                || path.contains(".credentials.")
                || (path.contains(".headers.") || path.contains(".env.")) && is_secret_name(name)
        })
}

fn is_secret_path(path: &str) -> bool {
    is_secret(path, path.rsplit('.').next().unwrap_or(path))
}

/// True for a name of headers and variables that hold secrets.
pub(crate) fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('-', "_");
    let of_header = ["authorization", "proxy_authorization", "cookie"];
    let ends = ["key", "token", "secret", "password", "passwd", "credentials"];
    of_header.contains(&name.as_str())
        || ends.iter().any(|end| {
            name == *end || name.strip_suffix(end).is_some_and(|head| head.ends_with('_') || head == "api")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_server_makes_no_secrets() {
        for (path, expected) in [
            ("mcp.credentials.command", false),
            ("http.credentials.base_url", false),
            ("mcp.headers.token", false),
            ("http.credentials.credentials.key", true),
            ("http.orders.credentials.key", true),
            ("mcp.credentials.bearer", true),
            ("mcp.env.env.API_KEY", true),
            ("providers.work.key", true),
            ("providers.work.api_key", true),
            ("providers.work.headers.Authorization", true),
            ("providers.work.headers.X-Team", false),
            ("providers.work.key.header", false),
            ("providers.work.header_variables.Authorization", false),
            ("providers.headers.base_url", false),
        ] {
            assert_eq!(is_secret_path(path), expected, "{path}");
        }
    }
}
