//! The capability table: bundled, with overrides from the configuration.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

#[cfg(feature = "toml")]
use serde_json::Map;
use serde_json::Value;

use super::bundled;
use super::cells::Draft;
use crate::capability::ModelCapabilities;

/// API family × model pattern → capabilities.
///
/// The bundled table is TOML: `[family]` contains a family's defaults, `[family.models."pattern"]` the differences of
/// models whose id matches (`*` matches any run of characters); if several patterns match, the longest applies. A
/// configuration has the same form and overrides cell by cell: all its matching patterns apply, the least specific
/// first. A list replaces a list, unless its entries start with `+` or `-`: then they are added to or removed from the
/// list that would apply otherwise.
///
/// `like = "pattern"` bases a row on another row of the family, `like = "family"` bases a family on another family with
/// its rows. A row then contains only the differences.
///
/// ```
/// use attache_core::MediaType;
/// use attache_core::capability::Matrix;
/// let pdf = MediaType::parse("application/pdf").unwrap();
/// let matrix = Matrix::bundled().merged_with(
///     "[openai-chat.models.'local-*']\nlike = 'gpt-4*'\nuser.media = ['-application/pdf']",
/// )?;
/// assert!(matrix.resolve("openai-chat", "gpt-4o").user.accepts(&pdf));
/// assert!(!matrix.resolve("openai-chat", "local-7b").user.accepts(&pdf));
/// assert!(matrix.resolve("openai-chat", "local-7b").sampling);
/// # Ok::<(), attache_core::capability::MatrixError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    /// The one that counts least first.
    layers: Vec<Layer>,
}

#[derive(Clone, Debug, PartialEq)]
enum Layer {
    Bundled,
    #[cfg_attr(not(feature = "toml"), allow(dead_code, reason = "only a configuration makes one"))]
    Read(Arc<BTreeMap<String, Section>>),
}

/// A family's part of a configuration.
#[derive(Debug, Default, PartialEq)]
struct Section {
    own: Row,
    rows: BTreeMap<String, Row>,
}

/// Cells by their dotted names, and the name of the row or family that they are the differences from.
#[derive(Debug, Default, PartialEq)]
struct Row {
    like: Option<String>,
    cells: Vec<(String, Value)>,
}

/// A family's part of a layer, as it is looked at.
struct Part<'m> {
    own: Body<'m>,
    rows: Vec<(&'m str, Body<'m>)>,
    /// True if each row is written as one whole, so that the longest pattern alone applies.
    is_whole: bool,
}

#[derive(Clone, Copy)]
enum Body<'m> {
    Text(&'static str),
    Row(&'m Row),
}

/// The longest chain of rows or families that are like each other.
const MAX_CHAIN: usize = 8;

/// The reason why a text is not a valid capability table.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MatrixError {
    /// The text is not TOML.
    #[error("the capability table is not valid TOML: {0}")]
    Syntax(String),
    /// A row has an unknown cell or a cell of the wrong type.
    #[error("the capability row {row} is not valid: {problem}")]
    Row {
        /// `family` or `family/pattern`.
        row: String,
        /// The problem.
        problem: String,
    },
}

impl Matrix {
    /// The table that is bundled with attache.
    pub fn bundled() -> &'static Self {
        static BUNDLED: std::sync::LazyLock<Matrix> =
            std::sync::LazyLock::new(|| Matrix { layers: vec![Layer::Bundled] });
        &BUNDLED
    }

    /// Reads a table. Requires the feature `toml`, like [`merged_with`](Self::merged_with).
    ///
    /// # Errors
    /// [`MatrixError`] with the row and its problem.
    #[cfg(feature = "toml")]
    pub fn parse(text: &str) -> Result<Self, MatrixError> {
        Self { layers: Vec::new() }.merged_with(text)
    }

    /// Returns this table overridden with the cells of another.
    ///
    /// # Errors
    /// [`MatrixError`] with the row and its problem.
    #[cfg(feature = "toml")]
    pub fn merged_with(&self, text: &str) -> Result<Self, MatrixError> {
        let over: Map<String, Value> =
            toml::from_str(text).map_err(|error| MatrixError::Syntax(error.message().to_owned()))?;
        let mut sections = BTreeMap::new();
        for (family, value) in over {
            let section = Section::read(value).map_err(|(pattern, problem)| {
                let row = pattern.map_or_else(|| family.clone(), |pattern| format!("{family}/{pattern}"));
                MatrixError::Row { row, problem }
            })?;
            sections.insert(family, section);
        }
        let mut matrix = self.clone();
        matrix.layers.push(Layer::Read(Arc::new(sections)));
        matrix.check_likes()?;
        Ok(matrix)
    }

    /// Returns this table overridden with the cells of `over`. It is for your own provider crate, whose table ranks
    /// below the bundled one and a configuration for the same models.
    ///
    /// ```
    /// use attache_core::capability::Matrix;
    /// let own = Matrix::parse("[mine]\ncontext_window = 8000\nuser.media = ['text']")?;
    /// let configured = Matrix::bundled().merged_with("[mine]\nuser.media = ['+image/png']")?;
    /// let row = own.override_with(&configured).resolve("mine", "any");
    /// assert_eq!((row.context_window, row.user.media.len()), (Some(8000), 2));
    /// # Ok::<(), attache_core::capability::MatrixError>(())
    /// ```
    #[must_use]
    pub fn override_with(&self, over: &Matrix) -> Self {
        Self { layers: self.layers.iter().chain(&over.layers).cloned().collect() }
    }

    /// The families in the table, in order.
    pub fn families(&self) -> impl Iterator<Item = &str> {
        let of = |layer| match layer {
            &Layer::Bundled => bundled::FILES.iter().flat_map(|file| file.families).copied().collect(),
            Layer::Read(sections) => sections.keys().map(String::as_str).collect::<Vec<&str>>(),
        };
        self.layers.iter().flat_map(of).collect::<BTreeSet<_>>().into_iter()
    }

    /// The families that a family is based on, directly or indirectly, in all layers.
    pub fn likes<'m>(&'m self, family: &'m str) -> impl Iterator<Item = &'m str> {
        self.layers.iter().filter_map(move |layer| layer.part(family)).filter_map(|part| part.own.like())
    }

    /// The patterns of a family, in order, without its default row.
    pub fn patterns(&self, family: &str) -> Vec<&str> {
        let parts = self.parts(family);
        let patterns = parts.iter().flat_map(|part| part.rows.iter().map(|(pattern, _)| *pattern));
        patterns.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Everything known about a model: the family's defaults, overridden by the bundled row of the longest matching
    /// pattern, then by each matching pattern of a configuration; text only for an unknown family.
    /// [`row`](ModelCapabilities::row) is the most specific of these patterns.
    pub fn resolve(&self, family: &str, model: &str) -> ModelCapabilities {
        let parts = self.parts(family);
        if parts.is_empty() {
            return ModelCapabilities::text_only(family, model);
        }
        let mut draft = Draft::new(family, model);
        for part in &parts {
            part.own.write(&mut draft);
        }
        let mut best: Option<&str> = None;
        for (at, part) in parts.iter().enumerate() {
            for (pattern, body) in part.of_model(model) {
                write_row(&mut draft, &parts, (at, pattern, body), 0);
                let known = best.filter(|best| specific(best, model) > specific(pattern, model));
                best = known.or(Some(pattern));
            }
        }
        draft.finish(best.unwrap_or("default"))
    }

    /// The parts of a family in all layers, and before each those of the family that it is like.
    fn parts(&self, family: &str) -> Vec<Part<'_>> {
        let mut parts = Vec::new();
        self.collect(family, self.layers.len(), &mut parts, 0);
        parts
    }

    /// Collects the parts of a family in the lowest layers. Yields false for a chain of likes that goes on too long.
    fn collect<'m>(&'m self, family: &str, layers: usize, parts: &mut Vec<Part<'m>>, depth: usize) -> bool {
        if depth > MAX_CHAIN {
            return false;
        }
        let mut ends = true;
        for (at, layer) in self.layers.iter().enumerate().take(layers) {
            let Some(part) = layer.part(family) else { continue };
            // A configuration of a family is none of those that are like it below.
            if let Some(like) = part.own.like().filter(|_| ends) {
                ends = self.collect(like, at + 1, parts, depth + 1);
            }
            parts.push(part);
        }
        ends
    }

    /// Checks that the last layer is like what is there.
    #[cfg(feature = "toml")]
    fn check_likes(&self) -> Result<(), MatrixError> {
        let Some(Layer::Read(sections)) = self.layers.last() else { return Ok(()) };
        let missing = |row: String, like: &str| MatrixError::Row {
            row,
            problem: format!("it is like {like}, which is not there"),
        };
        for (family, section) in sections.iter() {
            if let Some(like) = section.own.like.as_deref() {
                let mut parts = Vec::new();
                let ends = self.collect(like, self.layers.len(), &mut parts, 0);
                if parts.is_empty() {
                    return Err(missing(family.clone(), like));
                }
                if !ends {
                    let problem = format!("it is like {like}, which comes back to it or goes on too long");
                    return Err(MatrixError::Row { row: family.clone(), problem });
                }
            }
            let parts = self.parts(family);
            for (pattern, row) in &section.rows {
                let Some(like) = row.like.as_deref() else { continue };
                let is_there = parts
                    .iter()
                    .flat_map(|part| &part.rows)
                    .any(|(pattern, body)| *pattern == like && !body.is(row));
                if !is_there {
                    return Err(missing(format!("{family}/{pattern}"), like));
                }
            }
        }
        Ok(())
    }
}

/// Writes a row, and before it those that it is like: the rows for that name of the parts below, then the row of that
/// name beside it.
fn write_row(
    draft: &mut Draft,
    parts: &[Part<'_>],
    (at, pattern, body): (usize, &str, Body<'_>),
    depth: usize,
) {
    if let Some(like) = body.like().filter(|_| depth < MAX_CHAIN) {
        for (below, part) in parts.iter().enumerate().take(at) {
            for (name, base) in part.of_model(like) {
                write_row(draft, parts, (below, name, base), depth + 1);
            }
        }
        let mut beside = parts.get(at).into_iter().flat_map(|part| &part.rows);
        if let Some((name, base)) = beside.find(|(name, _)| *name == like && *name != pattern) {
            write_row(draft, parts, (at, name, *base), depth + 1);
        }
    }
    body.write(draft);
}

/// The exact id is the longest pattern that matches, but for stars that match nothing.
fn specific(pattern: &str, model: &str) -> (bool, usize) {
    (pattern == model, pattern.len())
}

impl<'m> Part<'m> {
    /// The rows that apply to a model, the least specific first.
    fn of_model(&self, model: &str) -> impl Iterator<Item = (&'m str, Body<'m>)> + use<'m> {
        let rows = self.rows.iter().copied();
        let mut matching: Vec<_> = rows.filter(|(pattern, _)| glob(pattern, model)).collect();
        matching.sort_by_key(|(pattern, _)| specific(pattern, model));
        let first = if self.is_whole { matching.len().saturating_sub(1) } else { 0 };
        matching.into_iter().skip(first)
    }
}

impl Layer {
    fn part(&self, family: &str) -> Option<Part<'_>> {
        match self {
            Self::Read(sections) => {
                let section = sections.get(family)?;
                let rows = section.rows.iter().map(|(pattern, row)| (pattern.as_str(), Body::Row(row)));
                Some(Part { own: Body::Row(&section.own), rows: rows.collect(), is_whole: false })
            }
            Self::Bundled => {
                let bodies = bundled::bodies(family)?;
                let (mut own, mut rows) = (Body::Text(""), Vec::with_capacity(bodies.len()));
                for (pattern, text) in bodies {
                    match pattern {
                        Some(pattern) => rows.push((pattern, Body::Text(text))),
                        None => own = Body::Text(text),
                    }
                }
                Some(Part { own, rows, is_whole: true })
            }
        }
    }
}

impl<'m> Body<'m> {
    fn like(self) -> Option<&'m str> {
        match self {
            Self::Text(text) => bundled::like(text),
            Self::Row(row) => row.like.as_deref(),
        }
    }

    #[cfg(feature = "toml")]
    fn is(self, other: &Row) -> bool {
        matches!(self, Self::Row(row) if std::ptr::eq(row, other))
    }

    /// Writes the cells. They were checked when they were read, those of the bundled table by a test.
    fn write(self, draft: &mut Draft) {
        match self {
            Self::Text(text) => {
                for (name, value) in bundled::cells(text) {
                    let _checked = draft.set(name, value);
                }
            }
            Self::Row(row) => {
                for (name, value) in &row.cells {
                    let _checked = draft.set(name, value.clone());
                }
            }
        }
    }
}

#[cfg(feature = "toml")]
impl Section {
    /// # Errors
    /// The pattern of the row that is none, if it is not the family's own, and the problem.
    fn read(value: Value) -> Result<Self, (Option<String>, String)> {
        let Value::Object(mut own) = value else { return Err((None, "it is not a table".to_owned())) };
        let mut rows = BTreeMap::new();
        match own.remove("models") {
            None => {}
            Some(Value::Object(models)) => {
                for (pattern, row) in models {
                    let Value::Object(row) = row else {
                        return Err((Some(pattern), "it is not a table".to_owned()));
                    };
                    let row = Row::read(&row).map_err(|problem| (Some(pattern.clone()), problem))?;
                    rows.insert(pattern, row);
                }
            }
            Some(_) => return Err((None, "models is not a table".to_owned())),
        }
        Ok(Self { own: Row::read(&own).map_err(|problem| (None, problem))?, rows })
    }
}

#[cfg(feature = "toml")]
impl Row {
    fn read(table: &Map<String, Value>) -> Result<Self, String> {
        let mut row = Self::default();
        row.take("", table)?;
        // A cell is checked without the others.
        let mut draft = Draft::new("", "");
        row.cells.iter().try_for_each(|(name, value)| draft.set(name, value.clone()))?;
        Ok(row)
    }

    /// Takes the cells of a table below a path.
    fn take(&mut self, path: &str, table: &Map<String, Value>) -> Result<(), String> {
        for (name, value) in table {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            match value {
                Value::Object(inner) => self.take(&path, inner)?,
                Value::String(like) if path == "like" => self.like = Some(like.clone()),
                // Remarks for readers.
                Value::String(_) if path == "source" || path == "checked" => {}
                value => self.cells.push((path, value.clone())),
            }
        }
        Ok(())
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
