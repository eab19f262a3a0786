//! The tools that let a model look into folders, and no further.

mod folder;
mod listing;

use std::path::PathBuf;
use std::sync::Arc;

use attache_agent::{Tools, tool_fn};
use attache_core::schemars::{self, JsonSchema};
use attache_core::{Document, Effect, ToolError};
use serde::{Deserialize, Serialize};

pub(crate) use folder::{FileError, Folders};

#[derive(Deserialize, JsonSchema)]
struct ListFiles {
    /// A folder to list, as an earlier listing named it; everything if left out.
    folder: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct ReadFile {
    /// The path of a file, as a listing named it.
    path: String,
}

#[derive(Serialize)]
struct Read {
    path: String,
    document: Document,
}

/// The tools `list_files` and `read_file` over these folders.
pub(crate) fn tools(folders: Folders) -> Tools {
    let folders = Arc::new(folders);
    let listed = Arc::clone(&folders);
    let list = tool_fn(
        "list_files",
        "Lists the files in the user's folders: path, size in bytes, media type",
        move |arguments: ListFiles| {
            let folders = Arc::clone(&listed);
            async move { blocking(move || folders.list(arguments.folder.as_deref())).await }
        },
    )
    .with_effect(Effect::Read);
    let read = tool_fn(
        "read_file",
        "Reads one file and returns it as a document",
        move |ReadFile { path }: ReadFile| {
            let folders = Arc::clone(&folders);
            async move {
                let (path, bytes) = blocking(move || folders.read(&path)).await?;
                let name = path.rsplit('/').next().unwrap_or(&path).to_owned();
                Ok::<_, ToolError>(Read {
                    document: Document::from_bytes(bytes, "").with_file_name(name),
                    path,
                })
            }
        },
    )
    .with_effect(Effect::Read);
    Tools::new().with(list).with(read)
}

/// File systems block; what they say is meant for the model, since it names only paths that it was shown or asked for.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, FileError> + Send + 'static,
) -> Result<T, ToolError> {
    let done = tokio::task::spawn_blocking(work).await?;
    done.map_err(|error| ToolError::new(error.to_string()))
}

/// Opens what `--files` names.
pub(crate) fn open(paths: &[PathBuf], max_file_bytes: u64) -> Result<Folders, FileError> {
    Folders::open(paths, max_file_bytes)
}
