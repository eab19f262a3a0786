//! The table of capabilities: bundled, and overridden by configuration.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;
use toml::{Table, Value};

use crate::capability::{
    Caching, FileRules, ModelCapabilities, PlaceCapabilities, ReasoningReplay, StructuredOutput,
};
use crate::provider::Effort;

/// API family × model pattern → capabilities.
///
/// The bundled table is TOML: `[family]` holds a family's defaults, `[family.models."pattern"]` what differs for
/// models whose id matches (`*` stands for any run of characters). A configuration has the same form and wins cell
/// by cell. A list replaces a list, unless its entries start with `+` or `-`: then they are added to and removed from
/// what would hold without it.
///
/// ```
/// use attache_core::{Matrix, MediaType};
/// let pdf = MediaType::parse("application/pdf").unwrap();
/// let matrix = Matrix::bundled().overlaid("[openai-chat.models.'local-*']\nuser.media = ['-application/pdf']")?;
/// assert!(matrix.resolve("openai-chat", "gpt-4o").user.accepts(&pdf));
/// assert!(!matrix.resolve("openai-chat", "local-7b").user.accepts(&pdf));
/// # Ok::<(), attache_core::MatrixError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    families: BTreeMap<String, Section>,
}

/// What the table says of a family.
#[derive(Clone, Debug)]
enum Section {
    Read(Value),
    /// Of the bundled table: read at its first use, since a program asks for few of many families.
    Bundled(&'static str, OnceLock<Value>),
}

impl Section {
    fn value(&self) -> &Value {
        match self {
            Self::Read(value) => value,
            // A test reads all of them, so that no program has to at its start; a broken one would be an empty row.
            Self::Bundled(text, read) => read.get_or_init(|| {
                let table: Table = toml::from_str(text).unwrap_or_default();
                table.into_iter().next().map_or_else(|| Value::Table(Table::new()), |(_, value)| value)
            }),
        }
    }
}

impl PartialEq for Section {
    fn eq(&self, other: &Self) -> bool {
        self.value() == other.value()
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
        /// What is wrong.
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
        Self { families: BTreeMap::new() }.overlaid(text)
    }

    /// This table with the cells of another on top.
    ///
    /// # Errors
    /// [`MatrixError`] names the row and what is wrong with it.
    pub fn overlaid(&self, text: &str) -> Result<Self, MatrixError> {
        let over: Table =
            toml::from_str(text).map_err(|error| MatrixError::Syntax(error.message().to_owned()))?;
        let matrix = self.merged(&over);
        for family in over.keys() {
            let invalid = |row: String, problem: String| MatrixError::Row { row, problem };
            let Some(Value::Table(row)) = matrix.families.get(family).map(Section::value) else {
                return Err(invalid(family.clone(), "it is not a table".to_owned()));
            };
            matrix.cells(family, None).map_err(|problem| invalid(family.clone(), problem))?;
            let Some(models) = row.get("models") else { continue };
            let models = models
                .as_table()
                .ok_or_else(|| invalid(family.clone(), "models is not a table".to_owned()))?;
            for pattern in models.keys() {
                let name = || format!("{family}/{pattern}");
                matrix.cells(family, Some(pattern)).map_err(|problem| invalid(name(), problem))?;
            }
        }
        Ok(matrix)
    }

    /// This table with the cells of `over` on top: for a provider crate of your own, whose table lies below what the
    /// bundled one and a configuration say of the same models.
    ///
    /// ```
    /// use attache_core::Matrix;
    /// let own = Matrix::parse("[mine]\ncontext_window = 8000\nuser.media = ['text']")?;
    /// let configured = Matrix::bundled().overlaid("[mine]\nuser.media = ['+image/png']")?;
    /// let row = own.with_overlay(&configured).resolve("mine", "any");
    /// assert_eq!((row.context_window, row.user.media.len()), (Some(8000), 2));
    /// # Ok::<(), attache_core::MatrixError>(())
    /// ```
    #[must_use]
    pub fn with_overlay(&self, over: &Matrix) -> Self {
        let over = over.families.iter().map(|(family, section)| (family.clone(), section.value().clone()));
        self.merged(&over.collect())
    }

    fn merged(&self, over: &Table) -> Self {
        let mut families = self.families.clone();
        for (family, value) in over {
            let mut merged = Table::new();
            if let Some(section) = families.get(family) {
                merged.insert(family.clone(), section.value().clone());
            }
            merge(&mut merged, &Table::from_iter([(family.clone(), value.clone())]));
            families.extend(merged.into_iter().map(|(family, value)| (family, Section::Read(value))));
        }
        Self { families }
    }

    fn family(&self, family: &str) -> Option<&Table> {
        self.families.get(family)?.value().as_table()
    }

    /// The families in the table.
    pub fn families(&self) -> impl Iterator<Item = &str> {
        self.families.keys().map(String::as_str)
    }

    /// The patterns of a family, without its default row.
    pub fn patterns(&self, family: &str) -> Vec<&str> {
        let models = self.family(family).and_then(|row| row.get("models")).and_then(Value::as_table);
        models.map(|models| models.keys().map(String::as_str).collect()).unwrap_or_default()
    }

    /// What is known of a model: its exact row, else that of the longest matching pattern, else the family's
    /// default; text only for an unknown family.
    pub fn resolve(&self, family: &str, model: &str) -> ModelCapabilities {
        let mut capabilities = ModelCapabilities::text_only(family, model);
        if !self.families.contains_key(family) {
            return capabilities;
        }
        let patterns = self.patterns(family).into_iter().filter(|pattern| glob(pattern, model));
        // The exact id is the longest pattern that matches, but for stars that match nothing.
        let best = patterns.max_by_key(|pattern| (*pattern == model, pattern.len()));
        if let Ok(cells) = self.cells(family, best) {
            cells.apply(&mut capabilities);
            capabilities.row = best.unwrap_or("default").to_owned();
        }
        capabilities
    }

    fn cells(&self, family: &str, pattern: Option<&str>) -> Result<Cells, String> {
        let whole = self.family(family);
        let own = whole.into_iter().flatten().filter(|(key, _)| *key != "models");
        let mut row: Table = own.map(|(key, value)| (key.clone(), value.clone())).collect();
        let models = whole.and_then(|row| row.get("models"));
        if let Some(pattern) = pattern
            && let Some(Value::Table(over)) = models.and_then(|models| models.get(pattern))
        {
            merge(&mut row, over);
        }
        settle(&mut row)?;
        Value::Table(row).try_into().map_err(|error: toml::de::Error| error.message().to_owned())
    }
}

/// The families of the bundled text, each with its rows, which stand together there.
fn sections(text: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let name = |line: &'static str| line.strip_prefix('[')?.split(['.', ']']).next();
    let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1));
    let mut heads: Vec<(usize, &str)> =
        starts.filter_map(|at| Some((at, name(text.get(at..)?.lines().next()?)?))).collect();
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

/// What an entry with a sign adds or removes.
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

/// Whether `pattern`, in which `*` stands for any run of characters, covers the whole of `text`.
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
mod tests {
    use super::*;
    use crate::media::MediaType;

    fn media(text: &str) -> MediaType {
        MediaType::parse(text).unwrap()
    }

    #[test]
    fn the_bundled_table_is_valid() {
        let matrix = Matrix::parse(BUNDLED_TEXT).unwrap();
        assert_eq!(&matrix, Matrix::bundled());
        let families: Vec<_> = matrix.families().collect();
        for family in [
            "openai-chat",
            "openai-responses",
            "anthropic",
            "gemini",
            "bedrock-converse",
            "compatible",
            "offline",
        ] {
            assert!(families.contains(&family), "{family}");
        }
    }

    // C26, documents.md 8.8 #113
    #[test]
    fn what_each_api_takes() {
        let matrix = Matrix::bundled();
        let (pdf, png, csv) = (media("application/pdf"), media("image/png"), media("text/csv"));
        let chat = matrix.resolve("openai-chat", "gpt-4o");
        assert!(chat.user.accepts(&pdf) && chat.user.accepts(&png) && chat.tool_result.accepts(&csv));
        assert!(!chat.tool_result.accepts(&pdf) && !chat.tool_result.accepts(&png));
        for family in ["openai-responses", "anthropic"] {
            let row = matrix.resolve(family, "some-new-model");
            assert!(row.tool_result.accepts(&pdf) && row.tool_result.accepts(&png), "{family}");
            assert_eq!(row.row, "default");
        }
        let failed = matrix.resolve("anthropic", "claude-opus-4-8").failed_result;
        assert!(failed.accepts(&csv) && !failed.accepts(&png));
        for family in ["offline", "compatible", "nobody"] {
            let row = matrix.resolve(family, "x");
            assert!(row.user.accepts(&csv) && !row.user.accepts(&pdf) && !row.user.accepts(&png), "{family}");
        }
        assert_eq!(matrix.resolve("nobody", "x").row, "unknown");
        // D7, D8: unknown is not PDF, and not every image is one that a model takes
        let claude = matrix.resolve("anthropic", "claude-opus-4-8");
        for other in ["application/zip", "image/bmp", "image/tiff", "application/octet-stream"] {
            assert!(!claude.user.accepts(&media(other)), "{other}");
        }
        assert!(claude.user.accepts(&media("image/svg+xml")), "SVG is text");
    }

    // documents.md 8.8 #105
    #[test]
    fn exact_beats_longest_beats_default() {
        let table = "[f]\ncontext_window = 1\n[f.models.'a*']\ncontext_window = 2\n[f.models.'a-b*']\ncontext_window = 3\n\
                     [f.models.'a-b-c']\ncontext_window = 4\n[f.models.'a-b-*******']\ncontext_window = 5";
        let matrix = Matrix::parse(table).unwrap();
        let window = |model: &str| matrix.resolve("f", model).context_window.unwrap();
        assert_eq!(
            [window("x"), window("a"), window("a-bx"), window("a-b-c"), window("a-b-d")],
            [1, 2, 3, 4, 5]
        );
    }

    // A configuration may lie on a configuration, and a cell may have no list of its own yet.
    #[test]
    fn edits_of_lists_add_up() {
        let user = |matrix: &Matrix, family: &str, model: &str| matrix.resolve(family, model).user.media;
        let family = Matrix::parse("[f]\nuser.media = ['text', 'image/png']\nreasoning = ['off']").unwrap();
        let once = family.overlaid("[f.models.'m*']\nuser.media = ['+audio/wav', '-image/png']").unwrap();
        let twice = once
            .overlaid("[f.models.'m*']\nuser.media = ['+image/png', '-audio/wav', '+video/mp4']")
            .unwrap();
        assert_eq!(user(&once, "f", "m1"), ["text", "audio/wav"]);
        assert_eq!(user(&twice, "f", "m1"), ["text", "image/png", "video/mp4"]);
        assert_eq!(user(&twice, "f", "other"), ["text", "image/png"]);
        // The family's own list may change below.
        let wider = twice.overlaid("[f]\nuser.media = ['+application/pdf']").unwrap();
        assert_eq!(user(&wider, "f", "m1"), ["text", "application/pdf", "image/png", "video/mp4"]);
        let replaced = twice.overlaid("[f.models.'m*']\nuser.media = ['text']").unwrap();
        assert_eq!(user(&replaced, "f", "m1"), ["text"]);

        // Where no list stands, the edit is one of what holds without it.
        let fresh = Matrix::parse("[g]\nuser.media = ['+image/png']\nreasoning = ['+effort']").unwrap();
        let fresh =
            fresh.overlaid("[g]\nuser.media = ['+image/gif', '-text']\nreasoning = ['+off']").unwrap();
        let row = fresh.resolve("g", "any");
        assert_eq!(
            (row.user.media, row.reasoning),
            (vec!["image/png".into(), "image/gif".into()], vec!["effort".to_owned(), "off".to_owned()])
        );
        let places = "[f]\ntool_result.media = ['text']\nbeside_result.media = ['-image/png']\nfailed_result.media = ['+image/gif']";
        let row = family.overlaid(places).unwrap().resolve("f", "any");
        assert_eq!(
            (row.beside_result.media, row.failed_result.media),
            (vec!["text".to_owned()], vec!["text".to_owned(), "image/gif".to_owned()])
        );

        let mixed = family.overlaid("[f.models.'m']\nuser.media = ['+image/gif', 'text']").unwrap_err();
        assert_eq!(
            mixed.to_string(),
            "the capability row f/m is not valid: a list has entries with and without a sign, such as \"+image/gif\""
        );
    }

    // documents.md 9.2 D25: every cell can be set, for every family, and a new family is one
    #[test]
    fn any_cell_of_any_family_can_be_set() {
        let cells = "user = { media = ['image/png'], max_bytes = 1, max_pages = 2, max_pixels = 3, max_count = 4 }\n\
                     files = { max_request_bytes = 5, max_pages = 6, many_images = 7, upload = true, page_tokens = 8 }\n\
                     context_window = 9\ntools = false\nstructured_output = 'json_object'\ncaching = 'explicit'\n\
                     reasoning_replay = 'optional'\nsampling = false";
        let families: Vec<&str> = Matrix::bundled().families().chain(["a-server-of-ours"]).collect();
        for family in families {
            let row = Matrix::bundled().overlaid(&format!("[{family}.models.mine]\n{cells}")).unwrap();
            let row = row.resolve(family, "mine");
            assert_eq!(
                (row.user.max_bytes, row.user.max_pages, row.user.max_pixels),
                (Some(1), Some(2), Some(3))
            );
            assert_eq!((row.files.max_request_bytes, row.files.max_pages), (Some(5), Some(6)), "{family}");
            assert_eq!((row.context_window, row.tools, row.caching), (Some(9), false, Caching::Explicit));
        }
    }

    #[test]
    fn globs() {
        for (pattern, text) in
            [("a", "a"), ("a*", "a"), ("*a", "ba"), ("a*c*e", "abcde"), ("*", ""), ("a*b*b", "abb")]
        {
            assert!(glob(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [("a", "ab"), ("a*c", "ab"), ("", "a"), ("a*b*b", "ab")] {
            assert!(!glob(pattern, text), "{pattern} {text}");
        }
    }

    // documents.md 8.8 #108, #109, #110; 9.2 D32
    #[test]
    fn overlays() {
        let matrix = Matrix::bundled();
        let over = matrix
            .overlaid("[anthropic.models.'claude-x*']\nuser.media = ['text']\n[mine]\ncaching = 'automatic'")
            .unwrap();
        let row = over.resolve("anthropic", "claude-x1");
        assert!(!row.user.accepts(&media("image/png")) && row.tool_result.accepts(&media("image/png")));
        assert_eq!(over.resolve("mine", "any").caching, Caching::Automatic);
        let edited = matrix
            .overlaid("[openai-chat.models.'gpt-4o']\nuser.media = ['+audio/wav', '-image/gif']")
            .unwrap();
        let row = edited.resolve("openai-chat", "gpt-4o");
        assert!(row.user.accepts(&media("audio/wav")) && row.user.accepts(&media("application/pdf")));
        assert!(!row.user.accepts(&media("image/gif")));
        let error = matrix.overlaid("[anthropic.models.'c*']\nuser.medai = []").unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("the capability row anthropic/c* is not valid: unknown field `medai`"),
            "{error}"
        );
        assert!(matches!(matrix.overlaid("="), Err(MatrixError::Syntax(_))));
    }
}
