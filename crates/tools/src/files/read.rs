//! Lines of files, by their numbers and by words in them.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use regex_lite::{Regex, RegexBuilder};
use serde::Serialize;

use super::error::{FileError, unreadable};
use super::folder::Folders;
use super::glob::Pattern;
use super::lines::Lines;
use super::listing::Listing;
use crate::local::Stop;

/// The maximum number of lines, and about the maximum number of bytes, of one answer.
const MAX_LINES: u64 = 2_000;
const MAX_BYTES: usize = 50_000;
/// The maximum number of bytes of a line that are shown, and that are searched.
const SHOWN: usize = 2_000;
const SEARCHED: usize = 64 << 10;
/// The maximum number of characters of a line that a search shows.
const FOUND: usize = 300;
/// The maximum number of lines that a search shows, and the maximum number of files that it looks into.
const MAX_FOUND: usize = 100;
const MAX_FILES: usize = 20_000;
/// The time after which a search says what it has found so far.
const LIMIT: Duration = Duration::from_secs(20);

/// Some lines of a file.
#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Part {
    pub(super) path: String,
    /// Each with its number before it.
    pub(super) lines: String,
    /// The line to go on with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) next_line: Option<u64>,
}

/// The lines in which something was found.
#[derive(Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Found {
    pub(super) matches: Vec<Match>,
    /// True if there are more, or some files were not looked into, because it is too much.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_cut: bool,
    /// Files that hold no text, such as PDFs and images.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) files_without_text: u64,
    /// Files that could not be read.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) unreadable_files: u64,
}

#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Match {
    pub(super) path: String,
    pub(super) line: u64,
    pub(super) text: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Folders {
    /// The lines of a text from one number to another.
    pub(super) fn lines(
        &self,
        path: &str,
        from: u64,
        to: Option<u64>,
        stop: &Stop,
    ) -> Result<Part, FileError> {
        let (shown, file, _) = self.open_file(path)?;
        let problem = |error| unreadable(path, &error);
        let mut lines =
            Lines::of(file, SHOWN).map_err(problem)?.ok_or_else(|| FileError::NoText(path.to_owned()))?;
        let to = to.unwrap_or(u64::MAX).min(from.saturating_add(MAX_LINES - 1));
        let mut part = Part { path: shown, lines: String::new(), next_line: None };
        let mut number = 0;
        while lines.advance(|| stop.is_set()).map_err(problem)? {
            number += 1;
            if number < from {
                continue;
            }
            if number > to || part.lines.len() > MAX_BYTES {
                part.next_line = Some(number);
                break;
            }
            let (text, left_out) = lines.text();
            _ = write!(part.lines, "{number}\t{text}");
            if left_out > 0 {
                _ = write!(part.lines, " [… {left_out} bytes left out …]");
            }
            part.lines.push('\n');
        }
        if part.lines.is_empty() {
            let problem = format!("it has {number} lines");
            return Err(FileError::Unreadable { path: path.to_owned(), problem });
        }
        Ok(part)
    }

    /// The lines in which a pattern of words is found, in a folder or a file.
    pub(super) fn search(
        &self,
        query: &Query,
        place: Option<&str>,
        pattern: Option<Pattern>,
        stop: &Stop,
    ) -> Result<Found, FileError> {
        let end = Instant::now() + LIMIT;
        let mut found = Found::default();
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
        found.is_cut = listing.omitted > 0;
        for file in &listing.files {
            if stop.is_set() || Instant::now() >= end {
                found.is_cut = true;
                break;
            }
            if !self.search_file(query, &file.path, &mut found, (stop, end)) {
                break;
            }
        }
        Ok(found)
    }

    /// False if nothing more is looked for.
    fn search_file(
        &self,
        query: &Query,
        path: &str,
        found: &mut Found,
        (stop, end): (&Stop, Instant),
    ) -> bool {
        let lines = match self.open_listed(path) {
            Ok((_, file, _)) => Lines::of(file, SEARCHED),
            Err(_) => {
                found.unreadable_files += 1;
                return true;
            }
        };
        let mut lines = match lines {
            Ok(Some(lines)) => lines,
            Ok(None) => {
                found.files_without_text += 1;
                return true;
            }
            Err(_) => {
                found.unreadable_files += 1;
                return true;
            }
        };
        let mut number = 0_u64;
        loop {
            match lines.advance(|| stop.is_set() || Instant::now() >= end) {
                Ok(true) => number += 1,
                Ok(false) => {
                    found.is_cut |= lines.is_over();
                    return !lines.is_over();
                }
                Err(_) => {
                    found.unreadable_files += 1;
                    return true;
                }
            }
            let (text, _) = lines.text();
            let Some(at) = query.find(&text) else { continue };
            if found.matches.len() >= MAX_FOUND {
                found.is_cut = true;
                return false;
            }
            found.matches.push(Match { path: path.to_owned(), line: number, text: around(&text, at) });
        }
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
        let query = Query::new("rent", false, false).unwrap();
        let mut found = Found::default();
        let over = (&Stop::default(), Instant::now());
        assert!(!folders.search_file(&query, "long.txt", &mut found, over));
        assert!(found.is_cut && found.matches.len() < 3, "{} lines", found.matches.len());
        let mut found = Found::default();
        let later = (&Stop::default(), Instant::now() + LIMIT);
        assert!(folders.search_file(&query, "long.txt", &mut found, later));
        assert_eq!((found.is_cut, found.matches.len()), (false, 50));
    }
}
