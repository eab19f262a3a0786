//! Lines of files, by their numbers.

use std::fmt::Write as _;

use serde::Serialize;

use super::error::{FileError, unreadable};
use super::folder::Folders;
use super::lines::Lines;
use crate::local::Stop;

/// The maximum number of lines, and about the maximum number of bytes, of one answer.
const MAX_LINES: u64 = 2_000;
const MAX_BYTES: usize = 50_000;
/// The maximum number of bytes of a line that are shown.
const SHOWN: usize = 2_000;

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
}
