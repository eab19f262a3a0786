//! A document store in a folder.

use std::fmt;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use attache_core::hash::hex;
use attache_core::{BoxFuture, Document, DocumentId, DocumentStore, StoreError, StoreErrorKind};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::disk::{self, failed, is_read_only, renew};
use super::{checksum, name};

pub(super) const SUFFIX: &str = ".doc";
pub(super) const NEW_SUFFIX: &str = ".new";
const LOCK: &str = ".lock";

/// The version of the files that this program writes.
const FORMAT: u32 = 1;

/// The longest first line of a file, with its end; it holds the id.
const MAX_HEADER: usize = 16 << 10;

/// The default limit of a store: 64 GiB.
const MAX_BYTES: u64 = 64 << 30;

/// The default time that a document may take from the store to the log that mentions it.
const GRACE: Duration = Duration::from_secs(24 * 60 * 60);

/// Stores the bytes of documents in a folder, one file per document.
///
/// ```no_run
/// # use std::sync::Arc;
/// # use attache_stores::FileDocumentStore;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let documents = Arc::new(FileDocumentStore::open("documents")?);
/// # Ok(()) }
/// ```
///
/// When `put` returns, the whole document is on the disk. A file consists of one line of JSON (id, length, SHA-256, and
/// a checksum of the line) followed by the bytes; `get` verifies them, and a mismatch is an error of the kind
/// [`Corrupt`](StoreErrorKind::Corrupt). Media type and name are not stored: references contain them.
///
/// A document is identified by id and content: different bytes under an existing id are an error of the kind
/// [`Conflict`](StoreErrorKind::Conflict). An id may come from an untrusted source: it cannot lead to a file outside
/// the folder or to that of another document.
///
/// Several processes may share a folder. Files are read and written on tokio's blocking threads; if the future of a
/// call is dropped, the call still completes there.
pub struct FileDocumentStore {
    id: String,
    folder: Arc<Folder>,
    pub(super) grace: Duration,
}

pub(super) struct Folder {
    pub(super) path: PathBuf,
    max_bytes: u64,
    /// The bytes of all files, once they were counted.
    used: Mutex<Option<u64>>,
}

/// The file of a document, read up to its content.
pub(super) struct Found {
    pub(super) header: Header,
    /// The bytes that are there behind the first line.
    length: u64,
    pub(super) reader: BufReader<File>,
}

/// The first line of a file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Header {
    #[serde(rename = "crc", skip_serializing)]
    _crc: serde::de::IgnoredAny,
    format: u32,
    id: String,
    bytes: u64,
    pub(super) sha256: String,
}

impl FileDocumentStore {
    /// Opens the store in a folder, which is created if it is missing, with the store id `files`.
    ///
    /// # Errors
    /// [`StoreError`] if the folder cannot be created.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = disk::absolute(folder.as_ref())?;
        disk::make_folder(&path)?;
        let folder = Arc::new(Folder { path, max_bytes: MAX_BYTES, used: Mutex::default() });
        Ok(Self { id: "files".to_owned(), folder, grace: GRACE })
    }

    /// Sets the id that references contain as `storeId`.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = id.into();
        self
    }

    /// Sets the maximum total size of all files in bytes, including their first lines; 64 GiB by default. A document
    /// beyond it is an error of the kind [`TooLarge`](StoreErrorKind::TooLarge).
    ///
    /// The files are counted before the first document is put; after that, this store counts only its own changes.
    #[must_use]
    pub fn with_max_bytes(mut self, max_bytes: u64) -> Self {
        let path = self.folder.path.clone();
        self.folder = Arc::new(Folder { path, max_bytes, used: Mutex::default() });
        self
    }

    /// Sets the minimum age of a document before [`collect`](Self::collect) may remove it; 24 hours by default. It must
    /// cover the time from `put` until a log mentions the document.
    #[must_use]
    pub fn with_grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    pub(super) async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Folder) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let folder = Arc::clone(&self.folder);
        disk::off_the_workers(move || work(&folder)).await?
    }
}

impl fmt::Debug for FileDocumentStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (id, folder) = (&self.id, &self.folder);
        f.debug_struct("FileDocumentStore")
            .field("id", id)
            .field("folder", &folder.path)
            .field("max_bytes", &folder.max_bytes)
            .finish_non_exhaustive()
    }
}

impl DocumentStore for FileDocumentStore {
    fn id(&self) -> &str {
        &self.id
    }

    fn put<'a>(&'a self, document: &'a Document) -> BoxFuture<'a, Result<(), StoreError>> {
        let document = document.clone();
        Box::pin(self.with(move |folder| folder.put(&document)))
    }

    fn get<'a>(&'a self, id: &'a DocumentId) -> BoxFuture<'a, Result<Bytes, StoreError>> {
        let id = id.clone();
        Box::pin(self.with(move |folder| folder.get(&id)))
    }

    fn renew<'a>(&'a self, id: &'a DocumentId) -> BoxFuture<'a, Result<(), StoreError>> {
        let (id, young) = (id.clone(), self.grace / 2);
        Box::pin(self.with(move |folder| folder.renew(&id, young)))
    }

    fn delete<'a>(&'a self, id: &'a DocumentId) -> BoxFuture<'a, Result<(), StoreError>> {
        let id = id.clone();
        Box::pin(self.with(move |folder| folder.delete(&id)))
    }
}

impl Folder {
    pub(super) fn path_of(&self, id: &DocumentId) -> PathBuf {
        self.path.join(name::of_id(id.as_str()) + SUFFIX)
    }

    fn put(&self, document: &Document) -> Result<(), StoreError> {
        let id = document.id();
        let (Some(bytes), Some(hash)) = (document.bytes(), document.hash()) else {
            let message = format!("the bytes of document {id} are not in memory");
            return Err(StoreError::new(StoreErrorKind::NotFound, message));
        };
        let sha256 = hex(&hash);
        let path = self.path_of(id);
        if self.holds(&path, id, &sha256, &bytes)? {
            match self.renew_in_turn(&path, id, &sha256) {
                Ok(true) => return Ok(()),
                // It was removed meanwhile.
                Ok(false) => {}
                // It cannot be written anew from here either. Somebody to whom the folder is open may remove it.
                Err(error) if is_read_only(&error) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let header = header(id, length, &sha256)?;
        let size = length.saturating_add(u64::try_from(header.len()).unwrap_or(u64::MAX));
        self.reserve(size)?;
        let put = self.publish(&header, &bytes, |turn| {
            if self.holds(&path, id, &sha256, &bytes)? {
                return renew(&path, self.now(turn)?).map(|()| None);
            }
            Ok(Some(path.clone()))
        });
        if !matches!(put, Ok(true)) {
            self.release(size);
        }
        put.map(drop)
    }

    /// Writes a new file, has it on the disk, and gives it the name that `name` says once it is its turn; `false` if it
    /// says none.
    fn publish(
        &self,
        header: &[u8],
        bytes: &[u8],
        name: impl FnOnce(&File) -> Result<Option<PathBuf>, StoreError>,
    ) -> Result<bool, StoreError> {
        let (new, mut file) = self.make_new()?;
        let published = file
            .write_all(header)
            .and_then(|()| file.write_all(bytes))
            .and_then(|()| file.sync_all())
            .map_err(|error| failed("write", &new, error))
            .and_then(|()| {
                let turn = self.lock()?;
                let Some(path) = name(&turn)? else {
                    return Ok(false);
                };
                fs::rename(&new, &path).map_err(|error| failed("write", &path, error))?;
                disk::sync_folder(&self.path)?;
                Ok(true)
            });
        if !matches!(published, Ok(true)) {
            let _ = fs::remove_file(&new);
        }
        published
    }

    /// Makes a new file, whose lock says that it is in use.
    fn make_new(&self) -> Result<(PathBuf, File), StoreError> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let _turn = self.lock()?;
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let new = self.path.join(format!("{}-{number}{NEW_SUFFIX}", process::id()));
            match disk::private().create_new(true).open(&new) {
                Ok(file) => {
                    disk::lock(&file, &new, false)?;
                    return Ok((new, file));
                }
                // A process of the same number on another machine, or one that is gone.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed("write", &new, error)),
            }
        }
    }

    /// True if the file at `path` has this document as it is. One that was damaged since may be replaced; another
    /// document in its place is an error.
    fn holds(&self, path: &Path, id: &DocumentId, sha256: &str, bytes: &Bytes) -> Result<bool, StoreError> {
        let Some(mut found) = open(path, id)? else {
            return Ok(false);
        };
        if found.header.sha256 == sha256 {
            return is_equal(&mut found.reader, bytes).map_err(|error| failed("read", path, error));
        }
        // If its bytes are damaged, nobody knows which document it is.
        self.get(id)?;
        let message = format!("document {id} is in the store with different bytes");
        Err(StoreError::new(StoreErrorKind::Conflict, message))
    }

    fn get(&self, id: &DocumentId) -> Result<Bytes, StoreError> {
        let path = self.path_of(id);
        let Some(mut found) = open(&path, id)? else {
            return Err(StoreError::new(StoreErrorKind::NotFound, format!("there is no document {id}")));
        };
        let length = usize::try_from(found.length).ok().filter(|_| found.length == found.header.bytes);
        let mut bytes = vec![0; length.ok_or_else(|| corrupt(id, "its length differs"))?];
        found.reader.read_exact(&mut bytes).map_err(|error| failed("read", &path, error))?;
        if hex(&Sha256::digest(&bytes)) != found.header.sha256 {
            return Err(corrupt(id, "its SHA-256 differs"));
        }
        Ok(Bytes::from(bytes))
    }

    fn delete(&self, id: &DocumentId) -> Result<(), StoreError> {
        match self.remove(&self.path_of(id), None)? {
            Some(_) => disk::sync_folder(&self.path),
            None => Ok(()),
        }
    }

    /// Removes a file, and yields its size; `None` if it is not there, or not the one that was `written` then.
    pub(super) fn remove(&self, path: &Path, written: Option<SystemTime>) -> Result<Option<u64>, StoreError> {
        // A count made meanwhile would leave this one out already, and it would then be subtracted once more. The lock on the
        // count is taken before the turn, as there.
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let _turn = self.lock()?;
        // A folder of the network tells the time of a file anew to whoever opens it.
        let known = if written.is_some() {
            File::open(path).and_then(|file| file.metadata())
        } else {
            fs::metadata(path)
        };
        let removed = known.and_then(|file| {
            let is_meant = written.is_none_or(|written| file.modified().is_ok_and(|time| time == written));
            if is_meant { fs::remove_file(path).map(|()| Some(file.len())) } else { Ok(None) }
        });
        match removed {
            Ok(removed) => {
                *used = used.map(|used| used.saturating_sub(removed.unwrap_or(0)));
                Ok(removed)
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed("delete", path, error)),
        }
    }

    /// Waits for the turn to change names in the folder, which ends when the file is closed.
    pub(super) fn lock(&self) -> Result<File, StoreError> {
        let path = self.path.join(LOCK);
        let file = disk::private().create(true).truncate(false).open(&path);
        let file = file.map_err(|error| failed("open", &path, error))?;
        disk::lock(&file, &path, false)?;
        Ok(file)
    }

    fn reserve(&self, size: u64) -> Result<(), StoreError> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let counted = match *used {
            Some(used) => used,
            None => self.count()?,
        };
        let sum = counted.saturating_add(size);
        *used = Some(if sum > self.max_bytes { counted } else { sum });
        if sum > self.max_bytes {
            let message = format!("the document store is full ({} bytes)", self.max_bytes);
            return Err(StoreError::new(StoreErrorKind::TooLarge, message));
        }
        Ok(())
    }

    fn release(&self, size: u64) {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        *used = used.map(|used| used.saturating_sub(size));
    }

    /// The bytes of all documents. Unfinished files of a crash are removed.
    fn count(&self) -> Result<u64, StoreError> {
        let failed = |error| failed("list", &self.path, error);
        let _turn = self.lock()?;
        let mut sum = 0_u64;
        for file in fs::read_dir(&self.path).map_err(failed)? {
            let file = file.map_err(failed)?;
            let name = file.file_name();
            let name = name.to_str().unwrap_or_default();
            if name.ends_with(SUFFIX) {
                sum = sum.saturating_add(file.metadata().map_or(0, |file| file.len()));
            } else if name.ends_with(NEW_SUFFIX) {
                remove_if_abandoned(&file.path());
            }
        }
        Ok(sum)
    }
}

/// True if the rest of the file is these bytes.
fn is_equal(reader: &mut impl BufRead, mut bytes: &[u8]) -> std::io::Result<bool> {
    loop {
        let piece = reader.fill_buf()?;
        if piece.is_empty() {
            return Ok(bytes.is_empty());
        }
        let length = piece.len();
        let Some(rest) = bytes.strip_prefix(piece) else {
            return Ok(false);
        };
        bytes = rest;
        reader.consume(length);
    }
}

/// The id in the first line of a file; `None` if it cannot be read.
pub(super) fn id_in(path: &Path) -> Option<DocumentId> {
    let mut line = Vec::new();
    let most = u64::try_from(MAX_HEADER).unwrap_or(u64::MAX);
    BufReader::new(File::open(path).ok()?).take(most).read_until(b'\n', &mut line).ok()?;
    let sealed = line.strip_suffix(b"\n").filter(|line| checksum::holds(line))?;
    let header: Header = serde_json::from_slice(sealed).ok()?;
    DocumentId::parse(header.id).filter(|_| header.format == FORMAT)
}

/// Removes a new file whose writer is gone, and with it its lock.
pub(super) fn remove_if_abandoned(path: &Path) {
    if let Ok(file) = File::open(path)
        && file.try_lock().is_ok()
    {
        let _ = fs::remove_file(path);
    }
}

fn header(id: &DocumentId, bytes: u64, sha256: &str) -> Result<Vec<u8>, StoreError> {
    let header = Header {
        _crc: serde::de::IgnoredAny,
        format: FORMAT,
        id: id.as_str().to_owned(),
        bytes,
        sha256: sha256.to_owned(),
    };
    let json = serde_json::to_string(&header).map_err(|error| {
        StoreError::new(StoreErrorKind::Corrupt, "an id cannot be written").with_source(error)
    })?;
    let mut text = Vec::with_capacity(json.len() + 32);
    let start = checksum::begin(&mut text);
    text.extend_from_slice(json.strip_prefix('{').unwrap_or_default().as_bytes());
    checksum::finish(&mut text, start);
    if text.len() > MAX_HEADER {
        return Err(StoreError::new(StoreErrorKind::TooLarge, "the id of a document is too long"));
    }
    Ok(text)
}

/// Opens the file of a document behind its first line; `None` if there is none.
pub(super) fn open(path: &Path, id: &DocumentId) -> Result<Option<Found>, StoreError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed("open", path, error)),
    };
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    let most = u64::try_from(MAX_HEADER).unwrap_or(u64::MAX);
    (&mut reader).take(most).read_until(b'\n', &mut line).map_err(|error| failed("read", path, error))?;
    let Some(sealed) = line.strip_suffix(b"\n").filter(|line| checksum::holds(line)) else {
        return Err(corrupt(id, "its first line is damaged"));
    };
    let header: Header = serde_json::from_slice(sealed)
        .map_err(|error| corrupt(id, &format!("its first line is invalid: {error}")))?;
    if header.format != FORMAT {
        let problem = format!("it has format {}, but this program reads {FORMAT}", header.format);
        return Err(corrupt(id, &problem));
    }
    if header.id != id.as_str() {
        return Err(corrupt(id, "it is the file of another document"));
    }
    let length = reader.get_ref().metadata().map_err(|error| failed("look at", path, error))?.len();
    let length = length.saturating_sub(u64::try_from(line.len()).unwrap_or(u64::MAX));
    Ok(Some(Found { header, length, reader }))
}

fn corrupt(id: &DocumentId, problem: &str) -> StoreError {
    StoreError::new(StoreErrorKind::Corrupt, format!("the file of document {id} cannot be read: {problem}"))
}
