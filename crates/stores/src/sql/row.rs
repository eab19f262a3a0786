//! Rows as what they stand for.

use std::ops::Range;
use std::sync::Arc;

use attache_agent::{Entry, JournalError};
use attache_core::{Message, StoreError, StoreErrorKind};
use serde::Serialize;

use super::error::SqlError;

/// A number as databases hold it.
pub(crate) fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The same as a place or a count.
pub(crate) fn place(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A number that a database holds.
pub(crate) fn number(int: i64) -> u64 {
    u64::try_from(int).unwrap_or_default()
}

/// A value as JSON.
pub(crate) fn json(value: &impl Serialize) -> Result<String, SqlError> {
    serde_json::to_string(value).map_err(|error| {
        let error =
            StoreError::new(StoreErrorKind::Corrupt, "an entry cannot be written as JSON").with_source(error);
        JournalError::from(error).into()
    })
}

/// An entry that was recorded at `at`, at that place of its log.
pub(crate) fn entry(body: &str, at: u64, place: impl std::fmt::Display) -> Result<Entry, SqlError> {
    let mut entry: Entry = serde_json::from_str(body)
        .map_err(|error| SqlError::Unreadable(format!("entry {place}: {error}")))?;
    entry.at = at;
    Ok(entry)
}

/// A message, at that place of its session.
pub(crate) fn message((place, body): (usize, &str)) -> Result<Arc<Message>, SqlError> {
    let read = serde_json::from_str::<Message>(body);
    read.map(Message::shared).map_err(|error| SqlError::Unreadable(format!("message {place}: {error}")))
}

/// Ranges of messages.
pub(crate) fn ranges(text: &str) -> Result<Vec<Range<u64>>, SqlError> {
    let pairs: Vec<(u64, u64)> = serde_json::from_str(text)
        .map_err(|error| SqlError::Unreadable(format!("the messages that a run began with: {error}")))?;
    Ok(pairs.into_iter().map(|(first, end)| first..end).collect())
}

/// Ranges of messages as text.
pub(crate) fn ranges_text(ranges: &[Range<u64>]) -> Result<String, SqlError> {
    json(&ranges.iter().map(|range| (range.start, range.end)).collect::<Vec<_>>())
}
