//! The log of a run in its file: what was read of it, and what is written.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::UNIX_EPOCH;

use attache_agent::{Entry, Fence, JournalError, Key};
use attache_core::{StoreError, StoreErrorKind, fresh};

use super::checksum;
use super::disk::{self, failed};
use super::line::{self, Batch, Line, MAX_LINE, Says, whole};

/// The contents of a log file that was read: the places of the entries, not the entries themselves. It follows the file
/// as it grows.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// Which file it is, where the system tells.
    file: Option<(u64, u64)>,
    /// Where the last batch that stands ends.
    end: u64,
    lines: u64,
    claim: u64,
    entries: usize,
    appended: HashMap<Key, Place>,
    delivered: HashMap<Key, Place>,
}

/// A line in the file, without its end.
#[derive(Clone, Copy, Debug)]
struct Place {
    start: u64,
    length: usize,
}

impl Log {
    /// Reads the entries of the whole file; none if there is no file.
    pub(super) fn load(&mut self, path: &Path) -> Result<Vec<Entry>, JournalError> {
        *self = Self::default();
        let mut entries = Vec::new();
        if let Some(file) = open(path)? {
            disk::lock(&file, path, true)?;
            self.follow(&file, path, |entry| entries.push(entry), drop)?;
        }
        Ok(entries)
    }

    /// Reads all entries of the whole file, those included that were left for a driver and that none has taken.
    pub(super) fn load_all(&mut self, path: &Path) -> Result<Vec<Entry>, JournalError> {
        *self = Self::default();
        let entries = RefCell::new(Vec::new());
        if let Some(file) = open(path)? {
            disk::lock(&file, path, true)?;
            let each = |entry| entries.borrow_mut().push(entry);
            self.follow(&file, path, each, each)?;
        }
        Ok(entries.into_inner())
    }

    /// Makes the caller the one writer of a log of `entries` entries.
    pub(super) fn claim(&mut self, path: &Path, entries: usize) -> Result<Fence, JournalError> {
        let file = open_or_make(path)?;
        disk::lock(&file, path, false)?;
        self.follow(&file, path, drop, drop)?;
        if self.entries != entries {
            return Err(JournalError::Moved { entries: self.entries });
        }
        let claim = self.claim + 1;
        self.write(&file, path, &Batch::claim(self.lines + 1, claim, now())?)?;
        self.claim = claim;
        Ok(Fence::new(claim))
    }

    /// Appends entries under new keys, and yields what stands under the keys of all.
    pub(super) fn append(
        &mut self,
        path: &Path,
        fence: Fence,
        entries: Vec<Entry>,
    ) -> Result<Vec<Entry>, JournalError> {
        let Some(file) = open_writable(path, false)? else {
            let message = format!("the log {} no longer exists", path.display());
            return Err(StoreError::new(StoreErrorKind::NotFound, message).into());
        };
        disk::lock(&file, path, false)?;
        self.follow(&file, path, drop, drop)?;
        if fence.number() != self.claim || self.claim == 0 {
            return Err(JournalError::Fenced);
        }
        let at = now();
        let (mut new, mut keys) = (Vec::new(), HashMap::new());
        let mut stand = Vec::with_capacity(entries.len());
        for mut entry in entries {
            if let Some(place) = self.appended.get(&entry.key) {
                stand.push(read_back(&file, path, *place)?);
                continue;
            }
            if let Some(first) = keys.get(&entry.key).and_then(|at: &usize| stand.get(*at)).cloned() {
                stand.push(first);
                continue;
            }
            if let Some(place) = self.delivered.get(&entry.key) {
                entry = read_back(&file, path, *place)?;
            }
            entry.at = at;
            keys.insert(entry.key.clone(), stand.len());
            new.push(entry.clone());
            stand.push(entry);
        }
        if !new.is_empty() {
            let places = self.write(&file, path, &Batch::entries(self.lines + 1, &new)?)?;
            for (entry, place) in new.into_iter().zip(places) {
                self.appended(entry.key, place);
            }
        }
        Ok(stand)
    }

    /// Leaves an entry for the driver, unless one stands under its key, and yields the one that stands.
    pub(super) fn deliver(&mut self, path: &Path, entry: Entry) -> Result<Entry, JournalError> {
        let file = open_or_make(path)?;
        disk::lock(&file, path, false)?;
        self.follow(&file, path, drop, drop)?;
        if let Some(place) = self.place(&entry.key) {
            return read_back(&file, path, place);
        }
        let places = self.write(&file, path, &Batch::delivered(self.lines + 1, &entry)?)?;
        self.delivered.extend(places.into_iter().map(|place| (entry.key.clone(), place)));
        Ok(entry)
    }

    /// The entry under `key`. While the file does not grow it costs one look at its length.
    pub(super) fn find(&mut self, path: &Path, key: &Key) -> Result<Option<Entry>, JournalError> {
        let Some(file) = open(path)? else {
            return Ok(None);
        };
        if !self.is_level_with(&metadata(&file, path)?) {
            disk::lock(&file, path, true)?;
            self.follow(&file, path, drop, drop)?;
        }
        self.place(key).map(|place| read_back(&file, path, place)).transpose()
    }

    fn place(&self, key: &Key) -> Option<Place> {
        self.appended.get(key).or_else(|| self.delivered.get(key)).copied()
    }

    fn appended(&mut self, key: Key, place: Place) {
        self.delivered.remove(&key);
        self.appended.insert(key, place);
        self.entries += 1;
    }

    fn is_level_with(&self, file: &Metadata) -> bool {
        self.file.is_some() && self.file == identity(file) && self.end == file.len()
    }

    /// Reads what was added to the file since, as far as it stands, and yields what was appended and what was delivered. The
    /// caller holds its lock.
    fn follow(
        &mut self,
        file: &File,
        path: &Path,
        mut appended: impl FnMut(Entry),
        mut delivered: impl FnMut(Entry),
    ) -> Result<(), JournalError> {
        let metadata = metadata(file, path)?;
        if self.file != identity(&metadata) {
            *self = Self { file: identity(&metadata), ..Self::default() };
        }
        if metadata.len() < self.end {
            let (lost, lines) = (self.end - metadata.len(), self.lines);
            return Err(unreadable(path, &format!("it lost {lost} bytes of its first {lines} lines")));
        }
        let mut reader = BufReader::new(file);
        reader.seek(SeekFrom::Start(self.end)).map_err(|error| failed("read", path, error))?;
        let mut batch: Vec<(Line, Place)> = Vec::new();
        let mut start = self.end;
        let mut text = Vec::new();
        loop {
            text.clear();
            let most = u64::try_from(MAX_LINE).unwrap_or(u64::MAX).saturating_add(2);
            let read = (&mut reader).take(most).read_until(b'\n', &mut text);
            read.map_err(|error| failed("read", path, error))?;
            let number = self.lines + u64::try_from(batch.len()).unwrap_or(u64::MAX) + 1;
            let Some(sealed) = whole(&text).map_err(|problem| unreadable_line(path, number, &problem))?
            else {
                // The tail that a crash cut off, or nothing.
                return Ok(());
            };
            let line =
                line::read(sealed).map_err(|error| unreadable_line(path, number, &error.to_string()))?;
            let expected = batch.last().map(|(line, _)| line.left.wrapping_sub(1));
            self.check(&line, number, expected).map_err(|problem| unreadable_line(path, number, &problem))?;
            let left = line.left;
            batch.push((line, Place { start, length: sealed.len() }));
            start += u64::try_from(text.len()).unwrap_or(u64::MAX);
            if left == 0 {
                for (line, place) in batch.drain(..) {
                    self.take(line, place, path, &mut appended, &mut delivered)?;
                }
                self.end = start;
            }
        }
    }

    /// Checks that a line may stand at the place of line `number`, with `left` lines of its batch to follow.
    fn check(&self, line: &Line, number: u64, left: Option<u64>) -> Result<(), String> {
        if line.number != number {
            return Err(format!("line {} is in its place", line.number));
        }
        if let Some(left) = left.filter(|left| *left != line.left) {
            return Err(format!("{} lines of its batch follow it, not {left}", line.left));
        }
        match line.says {
            Says::Claimed(claim) if claim <= self.claim => {
                Err(format!("claim {claim} comes after claim {}", self.claim))
            }
            _ => Ok(()),
        }
    }

    fn take(
        &mut self,
        line: Line,
        place: Place,
        path: &Path,
        appended: &mut impl FnMut(Entry),
        delivered: &mut impl FnMut(Entry),
    ) -> Result<(), JournalError> {
        self.lines = line.number;
        match line.says {
            Says::Claimed(claim) => self.claim = claim,
            Says::Appended(entry) => {
                if self.appended.contains_key(&entry.key) {
                    let problem = format!("the key {} is there already", entry.key);
                    return Err(unreadable_line(path, line.number, &problem));
                }
                self.appended(entry.key.clone(), place);
                appended(*entry);
            }
            Says::Delivered(entry) => {
                self.delivered.insert(entry.key.clone(), place);
                delivered(*entry);
            }
        }
        Ok(())
    }

    /// Writes a batch behind what stands, and has it on the disk before it yields the places of its lines. The caller
    /// holds the lock.
    fn write(&mut self, file: &File, path: &Path, batch: &Batch) -> Result<Vec<Place>, JournalError> {
        let written = write_at(file, self.end, &batch.text);
        if let Err(error) = written {
            // Nothing of it may stand. If this fails too, the next claim finds the batch whole, or cuts off its tail.
            let _ = file.set_len(self.end);
            return Err(failed("write", path, error).into());
        }
        if self.lines == 0 {
            // The file may be new.
            path.parent().map_or(Ok(()), disk::sync_folder)?;
        }
        let place = |(start, length): &(usize, usize)| Place {
            start: self.end + u64::try_from(*start).unwrap_or(u64::MAX),
            length: *length,
        };
        let places: Vec<Place> = batch.places.iter().map(place).collect();
        self.lines += u64::try_from(places.len()).unwrap_or(u64::MAX);
        self.end += u64::try_from(batch.text.len()).unwrap_or(u64::MAX);
        Ok(places)
    }
}

fn write_at(mut file: &File, end: u64, text: &[u8]) -> std::io::Result<()> {
    if file.metadata()?.len() > end {
        // The tail that a crash cut off.
        file.set_len(end)?;
    }
    file.seek(SeekFrom::Start(end))?;
    file.write_all(text)?;
    file.sync_data()
}

/// The entry of a line that was read before.
fn read_back(mut file: &File, path: &Path, place: Place) -> Result<Entry, JournalError> {
    let mut text = vec![0; place.length];
    file.seek(SeekFrom::Start(place.start))
        .and_then(|_| file.read_exact(&mut text))
        .map_err(|error| failed("read", path, error))?;
    let at = place.start;
    if !checksum::holds(&text) {
        return Err(unreadable(path, &format!("the line at byte {at} has a wrong checksum")));
    }
    match line::read(&text).map(|line| line.says) {
        Ok(Says::Appended(entry) | Says::Delivered(entry)) => Ok(*entry),
        Ok(Says::Claimed(_)) => Err(unreadable(path, &format!("the line at byte {at} is not an entry"))),
        Err(error) => Err(unreadable(path, &format!("the line at byte {at}: {error}"))),
    }
}

fn open(path: &Path) -> Result<Option<File>, StoreError> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed("open", path, error)),
    }
}

fn open_writable(path: &Path, make: bool) -> Result<Option<File>, StoreError> {
    match disk::private().create(make).truncate(false).open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if !make && error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed("open", path, error)),
    }
}

fn open_or_make(path: &Path) -> Result<File, StoreError> {
    let missing = || StoreError::new(StoreErrorKind::NotFound, format!("there is no {}", path.display()));
    open_writable(path, true)?.ok_or_else(missing)
}

fn metadata(file: &File, path: &Path) -> Result<Metadata, StoreError> {
    file.metadata().map_err(|error| failed("look at", path, error))
}

/// Which file it is, so that one which took the place of another is read anew.
#[cfg(unix)]
fn identity(file: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((file.dev(), file.ino()))
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> Option<(u64, u64)> {
    Some((0, 0))
}

fn unreadable(path: &Path, problem: &str) -> JournalError {
    JournalError::Unreadable { problem: format!("{}: {problem}", path.display()) }
}

fn unreadable_line(path: &Path, number: u64, problem: &str) -> JournalError {
    JournalError::Unreadable { problem: format!("{}, line {number}: {problem}", path.display()) }
}

/// The time as entries hold it: milliseconds since 1970.
fn now() -> u64 {
    let since = fresh::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
