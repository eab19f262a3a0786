//! One file as read, before variable substitution.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use attache_core::hash::hex;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::problem::{Problem, Problems};
use crate::toml_places::{Located, line_of};
use crate::variables::{Lookup, filled, place};

/// The maximum number of bytes of a configuration, or of a file that it names.
const LARGEST: u64 = 16 << 20;
/// The maximum number of bytes of all files that it names.
const MOST_NAMED: u64 = 64 << 20;

/// A configuration file, read with the files that it names but not yet applied.
///
/// It is read only once: [`fingerprint`](Self::fingerprint) covers the same bytes that
/// [`Config::of`](crate::Config::of) uses.
pub struct ConfigFile {
    pub(crate) path: PathBuf,
    pub(crate) folder: PathBuf,
    text: String,
    pub(crate) located: Located,
    /// By the path of the value that names it.
    named: BTreeMap<String, Named>,
}

/// A file that the configuration names.
pub(crate) struct Named {
    pub(crate) place: PathBuf,
    pub(crate) text: Result<String, String>,
}

impl ConfigFile {
    /// Reads a file and those that it imports.
    ///
    /// # Errors
    /// All problems found, if the file cannot be read or is not TOML.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, Problems> {
        let path = path.as_ref();
        let text =
            bounded(path, LARGEST).map_err(|problem| Problems::of(vec![Problem::of_file(path, problem)]))?;
        Self::parse(path, text)
    }

    /// Uses the text as the content of the file.
    ///
    /// # Errors
    /// All problems found, if the text is not TOML.
    pub fn parse(path: impl Into<PathBuf>, text: impl Into<String>) -> Result<Self, Problems> {
        let (path, text) = (path.into(), text.into());
        let located = Located::parse(&text).map_err(|found| {
            let of = |(at, message): (Option<usize>, String)| Problem {
                line: at.map(|at| line_of(&text, at)),
                ..Problem::of_file(&path, message)
            };
            Problems::of(found.into_iter().map(of).collect())
        })?;
        let folder = path.parent().map(Path::to_owned).unwrap_or_default();
        let mut file = Self { path, folder, text, located, named: BTreeMap::new() };
        file.named = file.read_named(&|name| std::env::var(name).ok());
        Ok(file)
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The files that it imports.
    pub fn imported(&self) -> impl Iterator<Item = &Path> {
        self.named.values().map(|named| named.place.as_path())
    }

    /// A hash of the file's path and content, and of the content of every imported file: it changes when any of them
    /// changes. A link counts with its own path, since paths in the file are relative to that.
    pub fn fingerprint(&self) -> String {
        let mut hash = Sha256::new();
        let mut add = |bytes: &[u8]| {
            hash.update(u64::try_from(bytes.len()).unwrap_or(u64::MAX).to_be_bytes());
            hash.update(bytes);
        };
        let whole = whole(&self.path);
        add(whole.as_os_str().as_encoded_bytes());
        add(self.text.as_bytes());
        for named in self.named.values() {
            // It is the same file whichever way leads to the folder.
            let below = named.place.strip_prefix(&self.folder).ok();
            let place = below.zip(whole.parent()).map(|(below, folder)| folder.join(below));
            add(place.as_ref().unwrap_or(&named.place).as_os_str().as_encoded_bytes());
            match &named.text {
                Ok(text) => add(text.as_bytes()),
                Err(_) => add(b"\0unreadable"),
            }
        }
        hex(&hash.finalize())
    }

    pub(crate) fn named(&self, path: &str) -> Option<&Named> {
        self.named.get(path)
    }

    /// A mistake at a path of this file.
    pub(crate) fn problem(&self, path: &str, message: impl Into<String>, hint: Option<String>) -> Problem {
        let line = self.located.start(path).map(|at| line_of(&self.text, at));
        Problem { file: self.path.clone(), line, path: path.to_owned(), message: message.into(), hint }
    }

    fn read_named(&self, lookup: Lookup<'_>) -> BTreeMap<String, Named> {
        let value = &self.located.value;
        let imports = value.pointer("/mcp/import").and_then(Value::as_array).into_iter().flatten();
        let imports = imports.enumerate().map(|(at, written)| (format!("mcp.import[{at}]"), written));
        let services = value.get("http").and_then(Value::as_object).into_iter().flatten();
        let documents = services
            .filter_map(|(name, service)| Some((format!("http.{name}.openapi"), service.get("openapi")?)));
        let mut left = MOST_NAMED;
        let named = imports.chain(documents).filter_map(|(path, written)| {
            let written = written.as_str()?;
            let written = match filled(written, &self.folder, lookup) {
                Ok(Some(filled)) => filled.text,
                Ok(None) => written.to_owned(),
                // It is told where all variables are filled in.
                Err(_) => return None,
            };
            let place = place(&written, &self.folder, lookup);
            let text = bounded(&place, left.min(LARGEST));
            left -= text.as_ref().map_or(0, |text| u64::try_from(text.len()).unwrap_or(left)).min(left);
            Some((path, Named { place, text }))
        });
        named.collect()
    }
}

impl std::fmt::Debug for ConfigFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConfigFile").field("path", &self.path).finish_non_exhaustive()
    }
}

/// The place of a file, whichever way leads to its folder. A link has its own.
pub(crate) fn whole(path: &Path) -> PathBuf {
    let folder = path.parent().unwrap_or(Path::new(""));
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let folder = std::fs::canonicalize(here).unwrap_or_else(|_| folder.to_owned());
    path.file_name().map_or_else(|| path.to_owned(), |name| folder.join(name))
}

/// The text of a file of at most that many bytes.
fn bounded(path: &Path, most: u64) -> Result<String, String> {
    let found = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if !found.is_file() {
        return Err("it is no regular file".to_owned());
    }
    let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    let mut text = String::new();
    file.take(most.saturating_add(1)).read_to_string(&mut text).map_err(|error| error.to_string())?;
    if u64::try_from(text.len()).is_ok_and(|size| size > most) {
        return Err(format!("it has more than the {most} bytes that are read"));
    }
    Ok(text)
}
