//! Lines of files by words in them, also of files of which a converter makes text.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cap_std::fs::File;
use regex_lite::{Regex, RegexBuilder};
use serde::Serialize;

use super::error::FileError;
use super::folder::Folders;
use super::glob::Pattern;
use super::lines::{Lines, SEARCHED};
use super::listing::Listing;
use crate::local::Call;
use crate::read_document::Reading;

/// The maximum number of characters of a line that a search shows.
const FOUND: usize = 300;
/// The maximum number of lines that a search shows, and the maximum number of files that it looks into.
const MAX_FOUND: usize = 100;
const MAX_FILES: usize = 20_000;
/// The lines of a document between two looks whether the time is over.
const LINES: usize = 1_024;
/// The time after which a search begins no other file, and says what it has found so far.
const LIMIT: Duration = Duration::from_secs(20);

/// The lines in which something was found.
#[derive(Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Found {
    pub(super) matches: Vec<Match>,
    /// True if there are more, or some files were not looked into, because it is too much.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_cut: bool,
    /// Files that hold no text, such as images, or of which no converter makes one.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) files_without_text: u64,
    /// Documents with pages that hold no text, such as scans.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) files_partly_without_text: u64,
    /// Files that could not be read.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) unreadable_files: u64,
}

#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Match {
    pub(super) path: String,
    /// The number of the line, in a text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) line: Option<u64>,
    /// The page, sheet or slide, in a document that has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) at: Option<String>,
    pub(super) text: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// One search under way.
struct Search<'s> {
    query: &'s Query,
    call: &'s Call,
    end: Instant,
    found: Found,
}

impl Search<'_> {
    fn is_over(&self) -> bool {
        self.call.stop.is_set() || Instant::now() >= self.end
    }

    /// Looks for the words in a line. False if something is found beyond what is shown.
    fn look(&mut self, path: &str, line: Option<u64>, at: impl Fn() -> Option<String>, text: &str) -> bool {
        let Some(place) = self.query.find(text) else { return true };
        if self.found.matches.len() >= MAX_FOUND {
            self.found.is_cut = true;
            return false;
        }
        self.found.matches.push(Match { path: path.to_owned(), line, at: at(), text: around(text, place) });
        true
    }

    /// Looks through a text. False if nothing more is looked for.
    fn lines(&mut self, path: &str, mut lines: Lines<File>) -> bool {
        let mut number = 0_u64;
        loop {
            match lines.advance(|| self.is_over()) {
                Ok(true) => number += 1,
                Ok(false) => {
                    self.found.is_cut |= lines.is_over();
                    return !lines.is_over();
                }
                Err(_) => {
                    self.found.unreadable_files += 1;
                    return true;
                }
            }
            if !self.look(path, Some(number), || None, &lines.text().0) {
                return false;
            }
        }
    }

    /// Looks through the text of a document. False if nothing more is looked for.
    fn reading(&mut self, path: &str, reading: &Reading) -> bool {
        self.found.is_cut |= reading.unit_count() > reading.units_held();
        self.found.files_partly_without_text += u64::from(reading.is_partly_without_text());
        for number in 1..=reading.line_count() {
            if number.is_multiple_of(LINES) && self.is_over() {
                self.found.is_cut = true;
                return false;
            }
            let line = reading.line(number);
            let text = reading.piece(line.clone()).trim_end_matches(['\n', '\r']);
            let at = || Some(format!("{} {}", reading.unit_name(false)?, reading.unit_at(line.start)?));
            // The mark of a page is no part of it; that of a sheet may have its name.
            let is_mark = || at().is_some_and(|at| text.strip_prefix('[') == Some(&*(at + "]")));
            if text.starts_with('[') && is_mark() {
                continue;
            }
            if !self.look(path, None, at, text) {
                return false;
            }
        }
        true
    }
}

impl Folders {
    /// The lines in which a pattern of words is found, in a folder or a file.
    pub(super) fn search(
        &self,
        query: &Query,
        place: Option<&str>,
        pattern: Option<Pattern>,
        call: &Call,
    ) -> Result<Found, FileError> {
        let listing = match self.listed(place, Listing::of(pattern).with_most(MAX_FILES)) {
            Ok(listing) => listing,
            Err(error) => {
                let Some((path, file, size)) = place.and_then(|place| self.open_file(place).ok()) else {
                    return Err(error);
                };
                drop(file);
                let mut listing = Listing::default();
                listing.add(path, size);
                listing
            }
        };
        let found = Found { is_cut: listing.omitted > 0, ..Found::default() };
        let mut search = Search { query, call, end: Instant::now() + LIMIT, found };
        for file in &listing.files {
            if search.is_over() {
                search.found.is_cut = true;
                break;
            }
            if !self.search_file(&file.path, &mut search) {
                break;
            }
        }
        Ok(search.found)
    }

    /// The text that a converter makes of a file, if one does.
    fn text_of(&self, path: &str, call: &Call) -> Result<Option<Arc<Reading>>, FileError> {
        if self.texts.are_none() {
            return Ok(None);
        }
        let (_, file, size) = self.open_listed(path)?;
        let changed = file.metadata().and_then(|metadata| metadata.modified()).ok();
        let stamp = changed.map(|changed| (size, changed.into_std()));
        if let Some(known) = stamp.and_then(|stamp| self.texts.known(path, stamp)) {
            return Ok(known);
        }
        let bytes = self.read_whole(path, file, size)?;
        Ok(self.texts.make(path, bytes.into(), stamp, call))
    }

    /// False if nothing more is looked for.
    fn search_file(&self, path: &str, search: &mut Search<'_>) -> bool {
        let Ok((_, file, _)) = self.open_listed(path) else {
            search.found.unreadable_files += 1;
            return true;
        };
        // Mail and RTF are text as well, of which a converter makes a better one.
        let is_document = self.texts.convert_by_name(path);
        let mut made = Ok(None);
        if is_document {
            made = self.text_of(path, search.call);
            if let Ok(Some(reading)) = &made {
                return search.reading(path, reading);
            }
        }
        match Lines::of(file, SEARCHED) {
            Ok(Some(lines)) => return search.lines(path, lines),
            Ok(None) => {
                if !is_document {
                    made = self.text_of(path, search.call);
                }
                match made {
                    Ok(Some(reading)) => return search.reading(path, &reading),
                    Ok(None) => search.found.files_without_text += 1,
                    Err(_) => search.found.unreadable_files += 1,
                }
            }
            Err(_) => search.found.unreadable_files += 1,
        }
        true
    }
}

/// The words to look for.
pub(super) struct Query(Regex);

impl Query {
    /// Reads a query.
    ///
    /// # Errors
    /// A text for the model says where it is wrong.
    pub(super) fn new(text: &str, is_regex: bool, ignore_case: bool) -> Result<Self, String> {
        if text.is_empty() {
            return Err("`query` is empty".to_owned());
        }
        let escaped = if is_regex { text.to_owned() } else { regex_lite::escape(text) };
        let regex = RegexBuilder::new(&escaped).case_insensitive(ignore_case).size_limit(1 << 20).build();
        regex.map(Self).map_err(|error| format!("`query` is no regular expression: {error}"))
    }

    fn find(&self, text: &str) -> Option<usize> {
        self.0.find(text).map(|found| found.start())
    }
}

/// The part of a line around a place in it.
fn around(text: &str, at: usize) -> String {
    if text.chars().nth(FOUND).is_none() {
        return text.to_owned();
    }
    let before = text.get(..at).unwrap_or_default();
    let start = before.char_indices().rev().nth(FOUND / 3).map_or(0, |(start, _)| start);
    let rest = text.get(start..).unwrap_or_default();
    let end = rest.char_indices().nth(FOUND).map_or(rest.len(), |(end, _)| end);
    let (cut_before, cut_behind) =
        (if start > 0 { "…" } else { "" }, if end < rest.len() { "…" } else { "" });
    format!("{cut_before}{}{cut_behind}", rest.get(..end).unwrap_or(rest))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::FileFilter;

    // The time and whoever waits were looked at every 1,024 lines, and a line may take long.
    #[test]
    fn a_search_in_long_lines_ends_when_its_time_is_over() {
        let inbox = tempfile::tempdir().unwrap();
        let text = ("x".repeat(SEARCHED - 10) + "rent\n").repeat(50);
        fs::write(inbox.path().join("long.txt"), text).unwrap();
        let folders = Folders::open([inbox.path()], FileFilter::new()).unwrap();
        let (query, call) = (Query::new("rent", false, false).unwrap(), Call::default());
        let within = |end| Search { query: &query, call: &call, end, found: Found::default() };
        let mut over = within(Instant::now());
        assert!(!folders.search_file("long.txt", &mut over));
        assert!(over.found.is_cut && over.found.matches.len() < 3, "{} lines", over.found.matches.len());
        let mut later = within(Instant::now() + LIMIT);
        assert!(folders.search_file("long.txt", &mut later));
        assert_eq!((later.found.is_cut, later.found.matches.len()), (false, 50));
    }
}
