//! The table of capabilities: bundled, and overridden by configuration.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use serde::Deserialize;
use toml::{Table, Value};

use crate::capability::{
    Caching, FileRules, ModelCapabilities, PlaceCapabilities, ReasoningReplay, StructuredOutput,
};
use crate::settings::Effort;

/// API family × model pattern → capabilities.
///
/// The bundled table is TOML: `[family]` holds a family's defaults, `[family.models."pattern"]` what differs for
/// models whose id matches (`*` stands for any run of characters); of several patterns the longest holds. A
/// configuration has the same form and wins cell by cell: all its patterns that match apply, the least specific first.
/// A list replaces a list, unless its entries start with `+` or `-`: then they are added to and removed from what would
/// hold without it.
///
/// ```
/// use attache_core::{Matrix, MediaType};
/// let pdf = MediaType::parse("application/pdf").unwrap();
/// let matrix = Matrix::bundled().merged_with("[openai-chat.models.'local-*']\nuser.media = ['-application/pdf']")?;
/// assert!(matrix.resolve("openai-chat", "gpt-4o").user.accepts(&pdf));
/// assert!(!matrix.resolve("openai-chat", "local-7b").user.accepts(&pdf));
/// # Ok::<(), attache_core::MatrixError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    families: BTreeMap<String, Section>,
}

/// A family's part of the table.
#[derive(Clone, Debug)]
enum Section {
    Read(Rows),
    /// Of the bundled table: read at its first use, since a program asks for few of many families.
    Bundled(&'static str, OnceLock<Rows>),
}

/// The rows of a family.
#[derive(Clone, Debug, Default, PartialEq)]
struct Rows {
    /// The family's defaults.
    own: Table,
    /// The differences of models: the bundled rows and each configuration's, the one that counts least first.
    layers: Vec<Layer>,
}

/// Patterns with what differs for the models that they match.
#[derive(Clone, Debug, PartialEq)]
struct Layer {
    models: Table,
    /// True if each row is written as one whole, so that the longest pattern alone applies.
    is_whole: bool,
}

impl Rows {
    /// # Errors
    /// Names the row that is none, below the family.
    fn new(value: Value, is_whole: bool) -> Result<Self, (Option<String>, &'static str)> {
        let Value::Table(mut own) = value else { return Err((None, "it is not a table")) };
        let models = match own.remove("models") {
            None => return Ok(Self { own, layers: Vec::new() }),
            Some(Value::Table(models)) => models,
            Some(_) => return Err((None, "models is not a table")),
        };
        match models.iter().find(|(_, row)| !row.is_table()) {
            Some((pattern, _)) => Err((Some(pattern.clone()), "it is not a table")),
            None => Ok(Self { own, layers: vec![Layer { models, is_whole }] }),
        }
    }

    fn add(&mut self, over: &Rows) {
        merge(&mut self.own, &over.own);
        self.layers.extend_from_slice(&over.layers);
    }

    fn patterns(&self) -> BTreeSet<&str> {
        self.layers.iter().flat_map(|layer| layer.models.keys().map(String::as_str)).collect()
    }

    /// The cells of a model, and its most specific pattern.
    fn of_model(&self, model: &str) -> Result<(Cells, Option<&str>), String> {
        // The exact id is the longest pattern that matches, but for stars that match nothing.
        let specific = |pattern: &str| (pattern == model, pattern.len());
        let mut row = self.own.clone();
        let mut best: Option<&str> = None;
        for layer in &self.layers {
            let mut matching: Vec<(&str, &Value)> = layer
                .models
                .iter()
                .map(|(pattern, row)| (pattern.as_str(), row))
                .filter(|(pattern, _)| glob(pattern, model))
                .collect();
            matching.sort_by_key(|(pattern, _)| specific(pattern));
            let first = if layer.is_whole { matching.len().saturating_sub(1) } else { 0 };
            for (pattern, over) in matching.into_iter().skip(first) {
                if let Value::Table(over) = over {
                    merge(&mut row, over);
                }
                best = best.filter(|best| specific(best) > specific(pattern)).or(Some(pattern));
            }
        }
        Ok((cells(row)?, best))
    }
}

fn cells(mut row: Table) -> Result<Cells, String> {
    settle(&mut row)?;
    Value::Table(row).try_into().map_err(|error: toml::de::Error| error.message().to_owned())
}

impl Section {
    fn rows(&self) -> &Rows {
        match self {
            Self::Read(rows) => rows,
            // A test reads all of them, so that no program has to at its start; a broken one would be an empty row.
            Self::Bundled(text, read) => read.get_or_init(|| {
                let table: Table = toml::from_str(text).unwrap_or_default();
                let value = table.into_iter().next().map(|(_, value)| value);
                value.and_then(|value| Rows::new(value, true).ok()).unwrap_or_default()
            }),
        }
    }
}

impl PartialEq for Section {
    fn eq(&self, other: &Self) -> bool {
        self.rows() == other.rows()
    }
}

/// Why text is no table of capabilities.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MatrixError {
    /// It is not TOML.
    #[error("the capability table is not valid TOML: {0}")]
    Syntax(String),
    /// A row has a cell that is unknown or of the wrong type.
    #[error("the capability row {row} is not valid: {problem}")]
    Row {
        /// `family` or `family/pattern`.
        row: String,
        /// The problem.
        problem: String,
    },
}

static BUNDLED: OnceLock<Matrix> = OnceLock::new();
const BUNDLED_TEXT: &str = concat!(
    include_str!("matrix/openai.toml"),
    "\n",
    include_str!("matrix/anthropic.toml"),
    "\n",
    include_str!("matrix/gemini.toml"),
    "\n",
    include_str!("matrix/bedrock.toml"),
    "\n",
    include_str!("matrix/servers.toml"),
    "\n",
    include_str!("matrix/offline.toml"),
);

impl Matrix {
    /// The table that comes with attache. Of each family it is read at the first use.
    pub fn bundled() -> &'static Self {
        BUNDLED.get_or_init(|| {
            let sections = sections(BUNDLED_TEXT);
            let families =
                sections.map(|(name, text)| (name.to_owned(), Section::Bundled(text, OnceLock::new())));
            Self { families: families.collect() }
        })
    }

    /// Reads a table.
    ///
    /// # Errors
    /// [`MatrixError`] names the row and what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, MatrixError> {
        Self { families: BTreeMap::new() }.merged_with(text)
    }

    /// This table with the cells of another on top.
    ///
    /// # Errors
    /// [`MatrixError`] names the row and what is wrong with it.
    pub fn merged_with(&self, text: &str) -> Result<Self, MatrixError> {
        self.read(text, false)
    }

    fn read(&self, text: &str, is_whole: bool) -> Result<Self, MatrixError> {
        let over: Table =
            toml::from_str(text).map_err(|error| MatrixError::Syntax(error.message().to_owned()))?;
        let mut matrix = self.clone();
        for (family, value) in over {
            let invalid = |pattern: Option<&str>, problem: String| {
                let row = pattern.map_or_else(|| family.clone(), |pattern| format!("{family}/{pattern}"));
                MatrixError::Row { row, problem }
            };
            let over = Rows::new(value, is_whole)
                .map_err(|(pattern, problem)| invalid(pattern.as_deref(), problem.to_owned()))?;
            let rows = matrix.add(&family, &over);
            cells(rows.own.clone()).map_err(|problem| invalid(None, problem))?;
            for (pattern, row) in over.layers.iter().flat_map(|layer| &layer.models) {
                let mut whole = rows.own.clone();
                if let Value::Table(row) = row {
                    merge(&mut whole, row);
                }
                cells(whole).map_err(|problem| invalid(Some(pattern), problem))?;
            }
        }
        Ok(matrix)
    }

    /// Puts the rows on top of those of the family, and yields all.
    fn add(&mut self, family: &str, over: &Rows) -> &Rows {
        let mut rows = self.families.get(family).map(|section| section.rows().clone()).unwrap_or_default();
        rows.add(over);
        let section =
            self.families.entry(family.to_owned()).or_insert_with(|| Section::Read(Rows::default()));
        *section = Section::Read(rows);
        section.rows()
    }

    /// This table with the cells of `over` on top: for a provider crate of your own, whose table lies below what the
    /// bundled one and a configuration say of the same models.
    ///
    /// ```
    /// use attache_core::Matrix;
    /// let own = Matrix::parse("[mine]\ncontext_window = 8000\nuser.media = ['text']")?;
    /// let configured = Matrix::bundled().merged_with("[mine]\nuser.media = ['+image/png']")?;
    /// let row = own.override_with(&configured).resolve("mine", "any");
    /// assert_eq!((row.context_window, row.user.media.len()), (Some(8000), 2));
    /// # Ok::<(), attache_core::MatrixError>(())
    /// ```
    #[must_use]
    pub fn override_with(&self, over: &Matrix) -> Self {
        let mut matrix = self.clone();
        for (family, section) in &over.families {
            if matrix.families.contains_key(family) {
                matrix.add(family, section.rows());
            } else {
                // Not read before anybody asks for it.
                matrix.families.insert(family.clone(), section.clone());
            }
        }
        matrix
    }

    /// The families in the table.
    pub fn families(&self) -> impl Iterator<Item = &str> {
        self.families.keys().map(String::as_str)
    }

    /// The patterns of a family, without its default row.
    pub fn patterns(&self, family: &str) -> Vec<&str> {
        self.families.get(family).map(|section| section.rows().patterns()).into_iter().flatten().collect()
    }

    /// Everything known of a model: the family's default, what the bundled row of the longest matching pattern says
    /// otherwise, then what each matching pattern of a configuration says; text only for an unknown family. Its
    /// [`row`](ModelCapabilities::row) is the most specific of these patterns.
    pub fn resolve(&self, family: &str, model: &str) -> ModelCapabilities {
        let mut capabilities = ModelCapabilities::text_only(family, model);
        let Some(section) = self.families.get(family) else { return capabilities };
        if let Ok((cells, best)) = section.rows().of_model(model) {
            cells.apply(&mut capabilities);
            capabilities.row = best.unwrap_or("default").to_owned();
        }
        capabilities
    }
}

/// The families of the bundled text, each with its rows, which stand together there.
fn sections(text: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let bytes = text.as_bytes();
    let begins =
        |at: &usize| bytes.get(*at) == Some(&b'[') && (*at == 0 || bytes.get(*at - 1) == Some(&b'\n'));
    let name = |at: usize| Some((at, text.get(at + 1..)?.split(['.', ']']).next()?));
    let mut heads: Vec<(usize, &str)> = (0..bytes.len()).filter(begins).filter_map(name).collect();
    heads.dedup_by_key(|(_, name)| *name);
    let ends: Vec<usize> = heads.iter().skip(1).map(|(at, _)| *at).chain([text.len()]).collect();
    heads.into_iter().zip(ends).filter_map(|((at, name), end)| Some((name, text.get(at..end)?)))
}

/// Maps are merged, lists edited by lists with signs, everything else replaced. Edits of edits are edits.
fn merge(into: &mut Table, over: &Table) {
    for (key, value) in over {
        match (into.get_mut(key), value) {
            (Some(Value::Table(into)), Value::Table(over)) => merge(into, over),
            (Some(Value::Array(into)), Value::Array(over)) if signed(over) => {
                if signed(into) {
                    into.retain(|known| !over.iter().any(|entry| name(known) == name(entry)));
                    into.extend_from_slice(over);
                } else {
                    edit(into, over);
                }
            }
            (Some(slot), value) => *slot = value.clone(),
            (None, value) => {
                into.insert(key.clone(), value.clone());
            }
        }
    }
}

/// Applies the edits that met no list to what holds without one: what user messages take for those beside results,
/// what results take for failed ones, text for places, nothing for other lists.
fn settle(row: &mut Table) -> Result<(), String> {
    let places = [
        ("user", None),
        ("tool_result", None),
        ("failed_result", Some("tool_result")),
        ("beside_result", Some("user")),
    ];
    for (place, like) in places {
        let like = like.and_then(|like| row.get(like)?.get("media")?.as_array().cloned());
        if let Some(Value::Array(list)) = row.get_mut(place).and_then(|place| place.get_mut("media")) {
            settle_on(list, like.unwrap_or_else(|| vec![Value::from("text")]))?;
        }
    }
    for (_, value) in row.iter_mut() {
        if let Value::Array(list) = value {
            settle_on(list, Vec::new())?;
        }
    }
    Ok(())
}

fn settle_on(list: &mut Vec<Value>, base: Vec<Value>) -> Result<(), String> {
    if signed(list) {
        let edits = std::mem::replace(list, base);
        edit(list, &edits);
    }
    match list.iter().filter(|entry| name(entry).is_some()).find_map(Value::as_str) {
        Some(entry) => Err(format!("a list has entries with and without a sign, such as {entry:?}")),
        None => Ok(()),
    }
}

/// The text that an entry with a sign adds or removes.
fn name(entry: &Value) -> Option<&str> {
    entry.as_str()?.strip_prefix(['+', '-'])
}

fn signed(list: &[Value]) -> bool {
    !list.is_empty() && list.iter().all(|entry| name(entry).is_some())
}

fn edit(into: &mut Vec<Value>, over: &[Value]) {
    for entry in over {
        let Some(name) = name(entry) else { continue };
        into.retain(|known| known.as_str() != Some(name));
        if entry.as_str().is_some_and(|entry| entry.starts_with('+')) {
            into.push(Value::from(name));
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Cells {
    user: Option<PlaceCapabilities>,
    tool_result: Option<PlaceCapabilities>,
    failed_result: Option<PlaceCapabilities>,
    beside_result: Option<PlaceCapabilities>,
    files: Option<FileRules>,
    context_window: Option<u64>,
    max_output_tokens: Option<u64>,
    tools: Option<bool>,
    parallel_tools: Option<bool>,
    forced_tools: Option<bool>,
    structured_output: Option<StructuredOutput>,
    caching: Option<Caching>,
    reasoning_replay: Option<ReasoningReplay>,
    reasoning: Option<Vec<String>>,
    efforts: Option<Vec<Effort>>,
    sampling: Option<bool>,
}

impl Cells {
    fn apply(self, to: &mut ModelCapabilities) {
        fn set<T>(cell: Option<T>, to: &mut T) {
            if let Some(value) = cell {
                *to = value;
            }
        }
        // What stands beside results is a user message, unless the row says otherwise; so is a failed result.
        if let Some(user) = &self.user {
            to.beside_result = user.clone();
        }
        if let Some(tool_result) = &self.tool_result {
            to.failed_result = tool_result.clone();
        }
        set(self.user, &mut to.user);
        set(self.tool_result, &mut to.tool_result);
        set(self.failed_result, &mut to.failed_result);
        set(self.beside_result, &mut to.beside_result);
        set(self.files, &mut to.files);
        set(self.context_window.map(Some), &mut to.context_window);
        set(self.max_output_tokens.map(Some), &mut to.max_output_tokens);
        set(self.tools, &mut to.tools);
        set(self.parallel_tools, &mut to.parallel_tools);
        set(self.forced_tools, &mut to.forced_tools);
        set(self.structured_output, &mut to.structured_output);
        set(self.caching, &mut to.caching);
        set(self.reasoning_replay, &mut to.reasoning_replay);
        set(self.reasoning, &mut to.reasoning);
        set(self.efforts, &mut to.efforts);
        set(self.sampling, &mut to.sampling);
    }
}

/// True if `pattern`, in which `*` stands for any run of characters, covers the whole of `text`.
fn glob(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(mut rest) = pieces.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let mut pieces = pieces.peekable();
    if pieces.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            return rest.ends_with(piece);
        }
        match rest.find(piece) {
            Some(at) => rest = rest.get(at + piece.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests;
