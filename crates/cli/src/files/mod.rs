//! The tools that let a model look into folders, and no further.

mod folder;
mod glob;
mod ignored;
mod listing;

use std::sync::Arc;

use attache_agent::{Tools, tool_fn};
use attache_core::schemars::{self, JsonSchema};
use attache_core::{Document, Effect, ToolError};
use serde::{Deserialize, Serialize};

pub(crate) use folder::{FileError, Folders};
pub(crate) use ignored::Chosen;
pub(crate) use listing::{Listing, MAX_LISTED};

/// The name of the tool that lists files.
pub(crate) const LIST: &str = "list_files";

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
pub(crate) fn tools(folders: &Arc<Folders>) -> Tools {
    let (folders, listed) = (Arc::clone(folders), Arc::clone(folders));
    let list = tool_fn(
        LIST,
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
