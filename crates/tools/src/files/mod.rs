//! Files in folders that a user opens, for a model to list, read, search and, if the user allows it, change.

mod diff;
mod error;
mod folder;
mod glob;
mod ignored;
mod lines;
mod listing;
mod read;
mod search;
mod special;
mod texts;
mod write;

use std::sync::Arc;

use attache_core::tool::ToolSpec;
use attache_core::{Approval, Document, Effect, Tool, ToolError};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::local::{Local, spec, wrong};
pub use error::FileError;
pub use folder::Folders;
use glob::Pattern;
pub use ignored::FileFilter;
pub use listing::{Listed, Listing, NotListed};
use search::Query;
use write::{Change, Edit, Write};

#[derive(Deserialize)]
struct List {
    folder: Option<String>,
    pattern: Option<String>,
}

#[derive(Deserialize)]
struct Read {
    path: String,
    from_line: Option<u64>,
    to_line: Option<u64>,
}

#[derive(Deserialize)]
struct Search {
    query: String,
    #[serde(default)]
    is_regex: bool,
    #[serde(default)]
    ignore_case: bool,
    path: Option<String>,
    pattern: Option<String>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Shown {
    Whole { path: String, document: Document },
    Part(read::Part),
}

#[derive(Serialize)]
struct Changed {
    path: String,
    diff: String,
}

/// Creates the tools `list_files`, `read_file` and `search_files` for these folders.
///
/// A file is read as a document, which is shown to the model like any other: a PDF or an image natively if the model
/// accepts it, otherwise as text. Lines of text files of any length can be read by number, in UTF-8, UTF-16 or
/// windows-1252. A search looks into texts, and with [`Folders::with_converter`] into PDFs and office files; it reports how
/// many files contain no text.
pub fn file_tools(folders: impl Into<Arc<Folders>>) -> Vec<Arc<dyn Tool>> {
    reading(folders.into())
}

const SEARCHES_TEXTS: &str = "Finds the lines of texts in which something stands, with path and number. It does not look \
    into PDFs, images and office files; read those";
const SEARCHES_DOCUMENTS: &str = "Finds the lines in which something stands, of texts with path and number, of PDFs and \
    office files with path and page, sheet or slide. It does not look into images and scans; read those";

// Neither this nor the next is generic, so that the tools are compiled here, and once: see ADR 0053.
fn reading(folders: Arc<Folders>) -> Vec<Arc<dyn Tool>> {
    let (listed, searched) = (Arc::clone(&folders), Arc::clone(&folders));
    let pattern = "Only files whose path fits, such as *.pdf or reports/**/*.md";
    let list = spec(
        "list_files",
        "Lists the files in the user's folders: path, size in bytes, media type",
        &json!({
            "folder": {"type": "string", "description": "A folder to list, as an earlier listing named it; everything if left out"},
            "pattern": {"type": "string", "description": pattern},
        }),
        &[],
    );
    let read = spec(
        "read_file",
        "Reads one file and returns it as a document, or some lines of a text, each with its number",
        &json!({
            "path": {"type": "string", "description": "The path of a file, as a listing named it"},
            "from_line": {"type": "integer", "minimum": 1, "description": "The first line to read, of a text"},
            "to_line": {"type": "integer", "minimum": 1, "description": "The last line to read, of a text"},
        }),
        &["path"],
    );
    let search = spec(
        "search_files",
        if folders.texts.are_none() { SEARCHES_TEXTS } else { SEARCHES_DOCUMENTS },
        &json!({
            "query": {"type": "string", "description": "The words to look for, exactly as they stand in one line"},
            "is_regex": {"type": "boolean", "description": "True if `query` is a regular expression"},
            "ignore_case": {"type": "boolean", "description": "True if capital and small letters are the same"},
            "path": {"type": "string", "description": "The folder or file to look into; everything if left out"},
            "pattern": {"type": "string", "description": pattern},
        }),
        &["query"],
    );
    vec![
        Local::tool(list.with_effect(Effect::Read), move |asked: List, _| {
            let pattern = read_pattern(asked.pattern)?;
            listed.list_those(asked.folder.as_deref(), pattern).map_err(told)
        }),
        Local::tool(read.with_effect(Effect::Read), move |asked: Read, call| {
            if asked.from_line.is_some() || asked.to_line.is_some() {
                let from = asked.from_line.unwrap_or(1).max(1);
                return folders
                    .lines(&asked.path, from, asked.to_line, &call.stop)
                    .map(Shown::Part)
                    .map_err(told);
            }
            let (path, bytes) = folders.read(&asked.path).map_err(told)?;
            let name = path.rsplit('/').next().unwrap_or(&path).to_owned();
            Ok(Shown::Whole { document: Document::from_bytes(bytes, "").with_file_name(name), path })
        }),
        Local::tool(search.with_effect(Effect::Read), move |asked: Search, call| {
            let query = Query::new(&asked.query, asked.is_regex, asked.ignore_case).map_err(wrong)?;
            let pattern = read_pattern(asked.pattern)?;
            searched.search(&query, asked.path.as_deref(), pattern, call).map_err(told)
        }),
    ]
}

/// Creates the tools `write_file` and `edit_file` for these folders. Each call requires approval.
///
/// A file is changed atomically: a new file with the same permissions is written beside it and replaces it. A file that
/// was changed by somebody else in the meantime is not replaced. Files excluded by the filter cannot be written.
///
/// [`Folders::preview`] shows what an approval is about.
pub fn write_tools(folders: impl Into<Arc<Folders>>) -> Vec<Arc<dyn Tool>> {
    writing(folders.into())
}

fn writing(folders: Arc<Folders>) -> Vec<Arc<dyn Tool>> {
    let edited = Arc::clone(&folders);
    let path = json!({"type": "string", "description": "The path of the file, below a folder that is there"});
    let write = spec(
        "write_file",
        "Writes a text file: a new one, or at the end of one, or in place of one",
        &json!({
            "path": path,
            "content": {"type": "string", "description": "The text"},
            "mode": {"type": "string", "enum": ["create", "append", "overwrite"], "description": "`create` by default: the file must not be there"},
        }),
        &["path", "content"],
    );
    let edit = spec(
        "edit_file",
        "Replaces a text in a file by another",
        &json!({
            "path": path,
            "old": {"type": "string", "description": "The text as it stands in the file, exactly, with enough around it that it occurs once"},
            "new": {"type": "string", "description": "The text in its place"},
            "all": {"type": "boolean", "description": "True if each place where it occurs is meant"},
        }),
        &["path", "old", "new"],
    );
    let changes = |spec: ToolSpec| spec.with_approval(Approval::Always).with_sequential(true);
    vec![
        Local::tool(changes(write), move |asked: Write, _| {
            folders.change(|| folders.plan_write(&asked)).map(|done| changed(&done)).map_err(told)
        }),
        Local::tool(changes(edit), move |asked: Edit, _| {
            edited.change(|| edited.plan_edit(&asked)).map(|done| changed(&done)).map_err(told)
        }),
    ]
}

impl Folders {
    /// Returns the lines that a call of one of the [`write_tools`] would change, for the person who approves it; `None`
    /// for another tool. For a call that would fail, it returns the reason. It reads the file.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use attache_agent::{Ask, Proposal, Verdict};
    /// use attache_tools::Folders;
    ///
    /// # fn example(builder: attache_agent::AgentBuilder, folders: Arc<Folders>) {
    /// let builder = builder.approval_policy(move |call: &Proposal<'_>| {
    ///     match folders.preview(call.tool.definition.name(), call.arguments) {
    ///         Some(lines) => Verdict::Ask(Ask::because(lines)),
    ///         None => Verdict::Run,
    ///     }
    /// });
    /// # let _ = builder; }
    /// ```
    pub fn preview(&self, tool: &str, arguments: &Map<String, Value>) -> Option<String> {
        let arguments = Value::Object(arguments.clone());
        let change = match tool {
            "write_file" => serde_json::from_value(arguments).map(|asked| self.plan_write(&asked)),
            "edit_file" => serde_json::from_value(arguments).map(|asked| self.plan_edit(&asked)),
            _ => return None,
        };
        Some(match change {
            Ok(Ok(change)) => format!("{}\n{}", change.path, change.diff()),
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
        })
    }
}

fn read_pattern(text: Option<String>) -> Result<Option<Pattern>, ToolError> {
    let read =
        |text: String| Pattern::of_files(&text).ok_or_else(|| wrong(FileError::Pattern(text).to_string()));
    text.filter(|text| !text.trim().is_empty()).map(read).transpose()
}

fn changed(change: &Change) -> Changed {
    Changed { path: change.path.clone(), diff: change.diff() }
}

/// The texts name only paths that the model was shown or asked for.
#[expect(clippy::needless_pass_by_value, reason = "errors are mapped by it")]
fn told(error: FileError) -> ToolError {
    ToolError::new(error.to_string())
}
