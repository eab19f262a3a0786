//! Names, profiles and capabilities of models.

use std::collections::BTreeMap;

use attache_models::Registry;
use serde_json::{Map, Value, json};

use crate::config::Config;
use crate::problem::{Problem, Problems, meant};
use crate::read::Read;
use crate::toml_places::below;

impl Config {
    /// Adds the configuration of models to the registry.
    ///
    /// # Errors
    /// All problems: invalid profiles, capability rows, and names without a model.
    pub fn registry(&self, registry: Registry) -> Result<Registry, Problems> {
        let (mut registry, mut problems) = (registry, Vec::new());
        for read in &self.files {
            registry = added(registry, read, &mut problems);
        }
        // A name may stand for one that another file brings.
        for read in &self.files {
            for (name, model) in &read.sections.models {
                if let Err(error) = registry.capabilities(name) {
                    let message = format!("= {model:?}: {error}");
                    problems.push(read.problem(&format!("models.{name}"), &message, None));
                }
            }
        }
        let families: Vec<&str> = registry.providers().map(|(_, family)| family).collect();
        for nobodys in registry.families_of_nobody() {
            let said = self.files.iter().find(|read| read.sections.capabilities.contains_key(nobodys));
            let Some(read) = said else { continue };
            let message = "applies to no model: no provider has this family";
            let hint = meant(nobodys, families.iter().copied());
            problems.push(read.problem(&format!("capabilities.{nobodys}"), message, hint));
        }
        if problems.is_empty() { Ok(registry) } else { Err(Problems::of(problems)) }
    }
}

/// The registry with what one file says; a profile or row that is wrong is told and left out, so that the others are
/// looked at too.
fn added(registry: Registry, read: &Read, problems: &mut Vec<Problem>) -> Registry {
    let sections = &read.sections;
    let mut tables = json!({
        "models": sections.models,
        "providers": sections.providers,
        "capabilities": sections.capabilities,
    });
    if let (Some(uploads), Value::Object(tables)) = (&sections.uploads, &mut tables) {
        tables.insert("uploads".to_owned(), serde_json::to_value(uploads).unwrap_or_default());
    }
    let at_most = sections.providers.len() + sections.capabilities.len() + sections.models.len() + 1;
    for _ in 0..=at_most {
        let text = match toml::to_string(&tables) {
            Ok(text) => text,
            Err(error) => {
                problems.push(read.problem("", &error.to_string(), None));
                return registry;
            }
        };
        let error = match registry.clone().with_config(&text) {
            Ok(registry) => return registry,
            Err(error) => error.to_string(),
        };
        let place = blamed(&error, sections.providers.keys(), sections.capabilities.keys(), &tables);
        let (path, message) = place.unwrap_or_else(|| (Vec::new(), error.clone()));
        problems.push(told(read, &path, &message));
        // The rest is looked at without it.
        let taken = match path.as_slice() {
            [section, name] => tables
                .get_mut(section)
                .and_then(Value::as_object_mut)
                .and_then(|table| table.shift_remove(name)),
            [section] => tables.as_object_mut().and_then(|tables| tables.shift_remove(section)),
            _ => None,
        };
        if taken.is_none() {
            return registry;
        }
    }
    registry
}

/// The table that an error is about, and what it says of it.
fn blamed<'n>(
    error: &str,
    mut providers: impl Iterator<Item = &'n String>,
    mut families: impl Iterator<Item = &'n String>,
    tables: &Value,
) -> Option<(Vec<String>, String)> {
    let has = |section: &str, name: &str| tables.get(section).and_then(|table| table.get(name)).is_some();
    let of = |head: &str, name: &str| {
        let behind = error.strip_prefix(head)?.strip_prefix(name)?;
        Some(behind.trim_start_matches(" is not valid: ").to_owned())
            .filter(|_| behind.starts_with([' ', '/']))
    };
    let provider =
        providers.find_map(|name| Some((name, of("the profile ", name).filter(|_| has("providers", name))?)));
    if let Some((name, message)) = provider {
        return Some((vec!["providers".to_owned(), name.clone()], message));
    }
    let family = families.find_map(|name| {
        Some((name, of("the capability row ", name).filter(|_| has("capabilities", name))?))
    });
    if let Some((name, message)) = family {
        return Some((vec!["capabilities".to_owned(), name.clone()], message));
    }
    (error.contains("uploads") || error.contains("is no size"))
        .then(|| (vec!["uploads".to_owned()], error.to_owned()))
}

/// A message without the texts that serde found in the wrong place: any of them may be a key.
fn without_texts(message: &str) -> String {
    const TEXT: &str = "string \"";
    let (mut plain, mut rest) = (String::new(), message);
    while let Some((before, text)) = rest.split_once(TEXT) {
        plain.push_str(before);
        plain.push_str("a text");
        // It is written as Rust writes texts. One that is cut has no end.
        let mut is_escaped = false;
        let end = text.find(|c| {
            let is_end = c == '"' && !is_escaped;
            is_escaped = c == '\\' && !is_escaped;
            is_end
        });
        rest = end.and_then(|end| text.get(end + 1..)).unwrap_or_default();
    }
    plain + rest
}

/// A mistake in a table: at the member that the message names, with the one that was perhaps meant.
fn told(read: &Read, path: &[String], message: &str) -> Problem {
    let message = &*without_texts(message);
    let table = path.join(".");
    let mut quoted = message.split('`').skip(1).step_by(2);
    let first = quoted.next().unwrap_or_default();
    let expected: Vec<&str> = quoted.collect();
    let members = read.file.located.value.pointer(&format!("/{}", path.join("/"))).and_then(Value::as_object);
    let place = members.and_then(|members| find(members, first, &table)).unwrap_or(table);
    match message.split_once(", expected one of ") {
        Some((stem, _)) => {
            let hint = meant(first, expected.iter().copied());
            read.problem(&place, &format!("is wrong: {stem}"), hint)
        }
        None => read.problem(&place, &format!("is wrong: {message}"), None),
    }
}

/// The path of the member of that name, or with that value.
fn find(members: &Map<String, Value>, wanted: &str, path: &str) -> Option<String> {
    if wanted.is_empty() {
        return None;
    }
    members.iter().find_map(|(name, value)| {
        let inner = below(path, name);
        if name == wanted || value.as_str() == Some(wanted) {
            return Some(inner);
        }
        find(value.as_object()?, wanted, &inner)
    })
}

/// The names of models that the configuration gives, the last file's first.
impl Config {
    /// The model aliases, with their models.
    pub fn model_names(&self) -> BTreeMap<&str, &str> {
        let named = self.files.iter().flat_map(|read| &read.sections.models);
        named.map(|(name, model)| (name.as_str(), model.as_str())).collect()
    }
}
