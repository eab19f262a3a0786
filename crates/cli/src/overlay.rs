//! The differences from the table of capabilities, in the form that `--capabilities` takes.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use attache_core::ModelCapabilities;
use attache_core::calendar::date_of;
use attache_models::Registry;
use toml::{Table, Value};

use crate::exit::Exit;
use crate::replace_file::is_same;

/// Says why a file that begins with `mark` may not be written: what somebody wrote by hand is not overwritten, nor what
/// is `known` from it.
pub(crate) fn may_write(file: &Path, mark: &str, known: Option<&Path>) -> Result<(), (Exit, String)> {
    if known.is_some_and(|known| is_same(known, file)) {
        // All that it says is known then, and it would be written without that.
        return Err((Exit::Usage, "it is the file of --capabilities; save to a different one".to_owned()));
    }
    match std::fs::read_to_string(file) {
        Ok(text) if text.starts_with(mark) || text.trim().is_empty() => Ok(()),
        Ok(_) => Err((Exit::Setup, "it already exists and is not a profile written by attache".to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err((Exit::Setup, error.to_string())),
    }
}

/// The cells of one row, by their dotted names, in order.
#[derive(Debug)]
pub(crate) struct Overlay {
    family: String,
    model: String,
    cells: Vec<(String, Value)>,
}

impl Overlay {
    /// True if nothing differs.
    pub(crate) fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// The cells by their dotted names.
    pub(crate) fn cells(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.cells.iter().map(|(name, value)| (name.as_str(), value))
    }
}

impl fmt::Display for Overlay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "[{}.models.{}]", key(&self.family), key(&self.model))?;
        self.cells.iter().try_for_each(|(name, value)| writeln!(f, "{name} = {value}"))
    }
}

fn key(text: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    // A string of JSON is one of TOML.
    if !text.is_empty() && text.chars().all(is_bare) {
        text.to_owned()
    } else {
        serde_json::Value::from(text).to_string()
    }
}

/// The least that makes `wanted` of what the registry's table says of a model, which is `now`.
///
/// It lies on top of the model's row, so it holds the differences alone.
pub(crate) fn overlay(
    registry: &Registry,
    name: &str,
    now: &ModelCapabilities,
    wanted: &ModelCapabilities,
) -> Result<Overlay, String> {
    let mut overlay = Overlay { family: now.family.clone(), model: now.model.clone(), cells: Vec::new() };
    if now == wanted {
        return Ok(overlay);
    }
    let wanted = cells(wanted)?;
    let holds = cells(&resolved(registry, name, &overlay)?)?;
    for (name, value) in
        wanted.iter().filter(|(name, _)| !FOLLOWING.iter().any(|place| name.starts_with(place)))
    {
        if !holds.get(name).is_some_and(|holds| same(holds, value)) {
            overlay.cells.push((name.to_owned(), edits(holds.get(name), value)));
        }
    }
    // Cells that follow from other places is settled after those, and as a whole.
    let holds = cells(&resolved(registry, name, &overlay)?)?;
    for place in FOLLOWING.iter().filter(|place| !holds.agree(&wanted, place)) {
        let whole = wanted.iter().filter(|(name, _)| name.starts_with(place));
        overlay.cells.extend(whole.map(|(name, value)| (name.to_owned(), value.clone())));
    }
    let holds = cells(&resolved(registry, name, &overlay)?)?;
    match holds.agree(&wanted, "") {
        true => Ok(overlay),
        false => Err("the findings cannot be written as a capability table".to_owned()),
    }
}

/// The places that take what other places take, unless they have cells of their own.
const FOLLOWING: [&str; 2] = ["beside_result.", "failed_result."];

pub(crate) fn resolved(
    registry: &Registry,
    name: &str,
    overlay: &Overlay,
) -> Result<ModelCapabilities, String> {
    let matrix = registry.matrix().merged_with(&overlay.to_string()).map_err(|error| error.to_string())?;
    registry.clone().with_matrix(matrix).capabilities(name).map_err(|error| error.to_string())
}

/// The cells of a row by dotted names.
fn cells(row: &ModelCapabilities) -> Result<Cells, String> {
    let table = Table::try_from(row).map_err(|error| error.to_string())?;
    let mut cells = Vec::new();
    for (name, value) in table {
        match value {
            // The subject of the row.
            _ if matches!(name.as_str(), "family" | "model" | "row") => {}
            Value::Table(place) => {
                cells.extend(place.into_iter().map(|(inner, value)| (format!("{name}.{inner}"), value)));
            }
            value => cells.push((name, value)),
        }
    }
    Ok(Cells(cells))
}

struct Cells(Vec<(String, Value)>);

impl Cells {
    fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    fn get(&self, name: &str) -> Option<&Value> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// True if the cells whose names begin so are the same.
    fn agree(&self, other: &Self, start: &str) -> bool {
        let held =
            |cells: &Self, name: &str, value: &Value| cells.get(name).is_some_and(|held| same(held, value));
        let all_in = |one: &Self, other: &Self| {
            one.iter()
                .filter(|(name, _)| name.starts_with(start))
                .all(|(name, value)| held(other, name, value))
        };
        all_in(self, other) && all_in(other, self)
    }
}

/// A list as what is added to and removed from what holds; anything else as it is.
fn edits(holds: Option<&Value>, wanted: &Value) -> Value {
    let (Some(holds), Some(list)) = (holds.and_then(words), words(wanted)) else { return wanted.clone() };
    let gone = holds.iter().filter(|word| !list.contains(word)).map(|word| format!("-{word}"));
    let new = list.iter().filter(|word| !holds.contains(word)).map(|word| format!("+{word}"));
    let edits: Vec<Value> = gone.chain(new).map(Value::from).collect();
    // The same words in another order.
    if edits.is_empty() || edits.len() > list.len() { wanted.clone() } else { Value::Array(edits) }
}

/// Lists are the same in any order.
fn same(one: &Value, other: &Value) -> bool {
    let set = |value| words(value).map(BTreeSet::from_iter);
    one == other || set(one).is_some_and(|one| Some(one) == set(other))
}

/// The words of a list.
fn words(value: &Value) -> Option<Vec<&str>> {
    value.as_array()?.iter().map(Value::as_str).collect()
}

/// The date in UTC.
pub(crate) fn date(time: SystemTime) -> String {
    let days = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() / 86_400);
    let (year, month, day) = date_of(i64::try_from(days).unwrap_or_default());
    format!("{year:04}-{month:02}-{day:02}")
}
