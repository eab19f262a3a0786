//! Names, profiles and capabilities of models.

use std::collections::BTreeMap;

use attache_core::capability::{FileRules, Matrix, PlaceCapabilities};
use attache_core::near::near;
use attache_models::{Registry, Unresolved};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::config::Config;
use crate::mcp_servers::{is_address, plain};
use crate::problem::{Problem, Problems, meant};
use crate::read::Read;

/// The maximum number of mistakes in the models of a file that are told.
const MOST_TOLD: usize = 50;

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
        // A name may mean a part that is left out.
        let is_left_out = |provider: &str| {
            self.is_partial || self.files.iter().any(|read| read.sections.providers.contains_key(provider))
        };
        let all_providers =
            !self.is_partial && !problems.iter().any(|problem| problem.path.starts_with("providers."));
        // A name may stand for one that another file brings.
        for read in &self.files {
            for (name, model) in &read.sections.models {
                let Err(error) = registry.capabilities(name) else { continue };
                let is_known = model.split_once('/').is_some_and(|(provider, _)| is_left_out(provider));
                if !(is_known && matches!(error.reason, Unresolved::NoProvider(_))) {
                    let message = format!("= {model:?}: {error}");
                    problems.push(read.problem(&format!("models.{name}"), &message, None));
                }
            }
        }
        // A section of a server's own name gives it a family of that name.
        let families: Vec<&str> = registry.providers().flat_map(|(name, family)| [name, family]).collect();
        for nobodys in registry.families_of_nobody().filter(|_| all_providers) {
            let said = self.files.iter().find(|read| read.sections.capabilities.contains_key(nobodys));
            let Some(read) = said else { continue };
            let message = "applies to no model: no provider has this family";
            let hint = meant(nobodys, families.iter().copied());
            problems.push(read.problem(&format!("capabilities.{nobodys}"), message, hint));
        }
        if problems.is_empty() { Ok(registry) } else { Err(Problems::of(problems)) }
    }
}

/// The registry with what one file says; a member that is wrong is told and left out, so that the others are looked at
/// too.
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
    for (name, profile) in &sections.providers {
        problems.extend(
            address(profile)
                .map(|message| read.problem(&format!("providers.{name}.base_url"), &message, None)),
        );
    }
    for _ in 0..MOST_TOLD {
        let error = match with(&registry, &tables) {
            Ok(registry) => return registry,
            Err(error) => error,
        };
        let (path, message) = blamed(&error, &tables).unwrap_or_else(|| (Vec::new(), error.clone()));
        let is_blamed = |tables: &Value| with(&registry, tables).err().as_ref() == Some(&error);
        let (path, message, hint) = told(&registry, &tables, path, &message, &is_blamed);
        problems.push(read.problem(&path.join("."), &format!("is {message}"), hint));
        // The rest is looked at without it.
        if without(&mut tables, &path).is_none() {
            return registry;
        }
    }
    registry
}

fn with(registry: &Registry, tables: &Value) -> Result<Registry, String> {
    let text = toml::to_string(tables).map_err(|error| error.to_string())?;
    registry.clone().with_config(&text).map_err(|error| error.to_string())
}

/// The problem of a profile whose address is none. One that is empty, or that a variable may replace, is another's word.
fn address(profile: &Map<String, Value>) -> Option<String> {
    let url = profile.get("base_url")?.as_str()?;
    let is_fine = url.is_empty() || is_address(url) || profile.contains_key("base_url_variable");
    (!is_fine).then(|| format!("must begin with https:// or http://, not {:?}", plain(url)))
}

/// Takes out the member at a path.
fn without(tables: &mut Value, path: &[String]) -> Option<Value> {
    let (name, around) = path.split_last()?;
    let around = around.iter().try_fold(tables, |at, step| at.get_mut(step))?;
    around.as_object_mut()?.shift_remove(name)
}

/// The table that an error is about, and what it says of it.
fn blamed(error: &str, tables: &Value) -> Option<(Vec<String>, String)> {
    let entries = |section: &'static str| tables.get(section)?.as_object();
    let path = |steps: &[&str]| steps.iter().map(|step| (*step).to_owned()).collect::<Vec<_>>();
    let said = |rest: &str| Some(rest.strip_prefix(" is not valid: ")?.to_owned());
    if let Some(rest) = error.strip_prefix("the profile ") {
        let mut names = entries("providers")?.keys();
        return names
            .find_map(|name| Some((path(&["providers", name]), said(rest.strip_prefix(name.as_str())?)?)));
    }
    if let Some(rest) = error.strip_prefix("the capability row ") {
        return entries("capabilities")?.iter().find_map(|(family, rows)| {
            let rest = rest.strip_prefix(family.as_str())?;
            if let Some(message) = said(rest) {
                return Some((path(&["capabilities", family]), message));
            }
            let rest = rest.strip_prefix('/')?;
            let mut patterns = rows.get("models")?.as_object()?.keys();
            patterns.find_map(|pattern| {
                let message = said(rest.strip_prefix(pattern.as_str())?)?;
                Some((path(&["capabilities", family, "models", pattern]), message))
            })
        });
    }
    if error.contains("holds a slash") {
        let name = entries("models")?.keys().find(|name| name.contains('/'))?;
        return Some((path(&["models", name]), "wrong: an alias holds no slash".to_owned()));
    }
    (error.contains("uploads") || error.contains("is no size"))
        .then(|| (path(&["uploads"]), error.to_owned()))
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
    let numbers = ["u64", "u32", "usize"].iter().fold(plain + rest, |text, number| {
        text.replace(&format!("expected {number}"), "expected a whole number of at least 0")
    });
    numbers.replace("invalid type: ", "").replace("invalid value: ", "")
}

/// A mistake in a table: the path of the member that the message names, what is wrong with it, and what was perhaps meant.
fn told(
    registry: &Registry,
    tables: &Value,
    mut path: Vec<String>,
    message: &str,
    is_blamed: &dyn Fn(&Value) -> bool,
) -> (Vec<String>, String, Option<String>) {
    let message = &*without_texts(message);
    let table = path.iter().try_fold(tables, |at, step| at.get(step));
    let Some(members) = table.and_then(Value::as_object) else {
        return (path, format!("wrong: {message}"), None);
    };
    let mut quoted = message.split('`').skip(1).step_by(2);
    let first = quoted.next().unwrap_or_default();
    let is_of_rows = path.first().is_some_and(|section| section == "capabilities");
    if let Some(liked) =
        message.strip_prefix("it is like ").and_then(|rest| rest.strip_suffix(", which is not there"))
    {
        let family = path.get(1).cloned().unwrap_or_default();
        let known: Vec<&str> = match (is_of_rows, path.len()) {
            (false, _) => registry.providers().map(|(name, _)| name).collect(),
            (true, ..3) => registry.matrix().families().collect(),
            (true, _) => registry.matrix().patterns(&family),
        };
        let hint = near(liked, known).first().map(|near| format!("did you mean `{near}`?"));
        path.push("like".to_owned());
        return (path, format!("wrong: {message}"), hint);
    }
    if is_of_rows {
        if message.starts_with("unknown cell ") {
            let (place, hint) = unknown_cell(first);
            path.extend(place.split('.').map(str::to_owned));
            return (path, "not known".to_owned(), hint);
        }
        path.extend(first.split('.').filter(|step| !step.is_empty()).map(str::to_owned));
        let stem = message.split_once("`: ").map_or(message, |(_, stem)| stem);
        return (path, format!("wrong: {stem}"), None);
    }
    let expected: Vec<&str> = quoted.collect();
    // A message without a name is about the member without which it is not said.
    let member = find(members, first).or_else(|| {
        let is_it = |name: &&String| {
            let (mut others, path) = (tables.clone(), [path.clone(), vec![(*name).clone()]].concat());
            without(&mut others, &path).is_some() && !is_blamed(&others)
        };
        Some(vec![members.keys().filter(|name| *name != "like").find(is_it)?.clone()])
    });
    path.extend(member.into_iter().flatten());
    match message.split_once(", expected one of ") {
        Some((stem, _)) => (path, format!("wrong: {stem}"), meant(first, expected.iter().copied())),
        None => (path, format!("wrong: {message}"), None),
    }
}

/// The place of a cell that is not known, with the one that was perhaps meant.
fn unknown_cell(cell: &str) -> (&str, Option<String>) {
    let of_head = |head: &str| match head {
        "user" | "tool_result" | "failed_result" | "beside_result" => members_of::<PlaceCapabilities>(),
        "files" => members_of::<FileRules>(),
        _ => Vec::new(),
    };
    if let Some((head, name)) = cell.split_once('.')
        && let known @ [_, ..] = &*of_head(head)
    {
        return (cell, meant(name, known.iter().map(String::as_str)));
    }
    let head = cell.split('.').next().unwrap_or(cell);
    let row = serde_json::to_value(Matrix::bundled().resolve("anthropic", "")).unwrap_or_default();
    let of_row = row.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
    let known: Vec<&str> = of_row.filter(|name| !["family", "model", "row"].contains(name)).collect();
    if known.contains(&head) {
        return (head, Some("it is a table".to_owned()));
    }
    let known = known.into_iter();
    (head, meant(head, known.chain(["api", "like", "models", "tokenizer", "wire"])))
}

/// The members of a table that allows no others, as its own refusal lists them.
fn members_of<T: DeserializeOwned>() -> Vec<String> {
    let refusal = serde_json::from_value::<T>(json!({"": null})).err().map(|error| error.to_string());
    let quoted = refusal.iter().flat_map(|text| text.split('`').skip(1).step_by(2));
    quoted.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// The path of the member of that name, or with that value.
fn find(members: &Map<String, Value>, wanted: &str) -> Option<Vec<String>> {
    if wanted.is_empty() {
        return None;
    }
    members.iter().find_map(|(name, value)| {
        if name == wanted || value.as_str() == Some(wanted) {
            return Some(vec![name.clone()]);
        }
        Some([vec![name.clone()], find(value.as_object()?, wanted)?].concat())
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
