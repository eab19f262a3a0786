//! Documents that the user attaches to a question.

use std::io::Read;
use std::path::Path;

use attache_core::Document;

use crate::model_by_name::SetupError;

/// The name for what is piped in without being named; no file of the user's is called so.
pub(super) const PIPED: &str = "\0piped";

/// The documents, in the order in which they were named.
#[derive(Debug, Default)]
pub(crate) struct Attachments {
    documents: Vec<Document>,
    has_addresses: bool,
}

impl Attachments {
    /// Reads files and stdin. Addresses are kept as they are: whoever runs the agent has them fetched.
    pub(crate) async fn read(names: &[String], max_bytes: u64) -> Result<Self, SetupError> {
        let names = names.to_vec();
        let read = tokio::task::spawn_blocking(move || Self::blocking(&names, max_bytes));
        read.await.map_err(|error| SetupError::new(error.to_string()))?
    }

    fn blocking(names: &[String], max_bytes: u64) -> Result<Self, SetupError> {
        let mut attachments = Self::default();
        for name in names {
            if is_address(name) {
                attachments.has_addresses = true;
                attachments.documents.push(Document::external(name.as_str()));
            } else if name == "-" || name == PIPED {
                let bytes = bounded(std::io::stdin().lock(), "stdin", max_bytes)?;
                if !bytes.is_empty() {
                    attachments.documents.push(Document::from_bytes(bytes, "").with_file_name("stdin"));
                } else if name == "-" {
                    return Err(SetupError::new("stdin is empty"));
                }
            } else {
                attachments.documents.push(file(Path::new(name), max_bytes)?);
            }
        }
        Ok(attachments)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    pub(crate) fn documents(&self) -> impl Iterator<Item = &Document> {
        self.documents.iter()
    }

    /// True if something is to be fetched.
    pub(crate) fn has_addresses(&self) -> bool {
        self.has_addresses
    }
}

/// True if it is the address of a document.
pub(crate) fn is_address(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.starts_with("http://") || name.starts_with("https://")
}

/// A file as a document.
pub(crate) fn file(path: &Path, max_bytes: u64) -> Result<Document, SetupError> {
    let shown = path.display();
    let wrong = |problem: &dyn std::fmt::Display| SetupError::new(format!("{shown}: {problem}"));
    let found = std::fs::metadata(path).map_err(|error| wrong(&error))?;
    if found.is_dir() {
        return Err(wrong(
            &"a folder cannot be attached; name it behind the question, so that the model may look at it",
        ));
    }
    if !found.is_file() {
        return Err(wrong(&"it is no regular file"));
    }
    let opened = std::fs::File::open(path).map_err(|error| wrong(&error))?;
    let bytes = bounded(opened, &shown.to_string(), max_bytes)?;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(Document::from_bytes(bytes, "").with_file_name(name))
}

/// The question that stdin holds.
pub(super) async fn question_from_stdin(max_bytes: u64) -> Result<String, SetupError> {
    let read = tokio::task::spawn_blocking(move || bounded(std::io::stdin().lock(), "stdin", max_bytes));
    let bytes = read.await.map_err(|error| SetupError::new(error.to_string()))??;
    let text = String::from_utf8(bytes).map_err(|_| SetupError::new("stdin is not UTF-8 text"))?;
    match text.trim() {
        "" => Err(SetupError::new("stdin contains no question")),
        text => Ok(text.to_owned()),
    }
}

fn bounded(from: impl Read, name: &str, max_bytes: u64) -> Result<Vec<u8>, SetupError> {
    let mut bytes = Vec::new();
    let read = from.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|error| SetupError::new(format!("{name}: {error}")))?;
    if u64::try_from(bytes.len()).is_ok_and(|size| size > max_bytes) {
        return Err(SetupError::new(format!(
            "{name} has more than the {max_bytes} bytes of --max-file-bytes"
        )));
    }
    Ok(bytes)
}

/// True if something is piped into the command: a pipe or a file, and no terminal or device. A socket is none, since
/// nobody may ever close it.
#[cfg(unix)]
pub(crate) fn piped_in() -> bool {
    use std::os::fd::AsFd;
    use std::os::unix::fs::FileTypeExt;
    let handle = std::io::stdin().as_fd().try_clone_to_owned().map(std::fs::File::from);
    let kind = handle.and_then(|file| file.metadata()).map(|found| found.file_type());
    kind.is_ok_and(|kind| kind.is_fifo() || kind.is_file())
}

/// True if something is piped into the command.
#[cfg(not(unix))]
pub(crate) fn piped_in() -> bool {
    !std::io::IsTerminal::is_terminal(&std::io::stdin())
}
