//! The documents that are mentioned in logs.

use std::collections::HashSet;

#[cfg(feature = "file")]
use attache_agent::Entry;
#[cfg(any(feature = "file", feature = "sqlite", feature = "postgres"))]
use attache_core::tree::{REFERENCE_ID, REFERENCE_MARKER};
use attache_core::{BoxFuture, DocumentId, StoreError, StoreErrorKind};
#[cfg(any(feature = "file", feature = "sqlite", feature = "postgres"))]
use serde_json::Value;

/// The result of a collection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Collected {
    /// The number of removed ids.
    pub documents: u64,
    /// The number of removed contents.
    pub contents: u64,
    /// The bytes of the removed contents.
    pub bytes: u64,
    /// The bytes of the remaining contents.
    pub kept_bytes: u64,
}

/// A store of runs or sessions that can list the documents mentioned in its logs.
///
/// `collect` of a document store removes documents that none of them mentions, so a store without an implementation
/// loses its documents there. Implement it for your own store by searching its logs: in the JSON of an entry, a
/// document is an object with the member `attache.document`, and its `documentId` is the id.
pub trait References: Send + Sync {
    /// The ids of all documents mentioned in any log, including logs of active runs.
    ///
    /// # Errors
    /// [`StoreError`] if a log cannot be read, since its documents are then unknown.
    fn document_ids(&self) -> BoxFuture<'_, Result<HashSet<DocumentId>, StoreError>>;
}

/// Refuses a collection that is told of no place that mentions documents.
pub(crate) fn some(references: &[&dyn References]) -> Result<(), StoreError> {
    if references.is_empty() {
        let message = "a collection requires all stores that mention documents, but got none";
        return Err(StoreError::new(StoreErrorKind::Invalid, message));
    }
    Ok(())
}

/// The ids that a collection keeps: those that any log mentions, and those of the facts about them.
pub(crate) async fn mentioned(references: &[&dyn References]) -> Result<HashSet<DocumentId>, StoreError> {
    let mut mentioned = HashSet::new();
    for references in references {
        for id in references.document_ids().await? {
            mentioned.insert(id.facts());
            mentioned.insert(id);
        }
    }
    Ok(mentioned)
}

/// Adds the documents that an entry mentions.
#[cfg(feature = "file")]
pub(crate) fn add_of_entry(entry: &Entry, ids: &mut HashSet<DocumentId>) -> Result<(), StoreError> {
    let value = serde_json::to_value(entry).map_err(|error| {
        StoreError::new(StoreErrorKind::Corrupt, "an entry cannot be written").with_source(error)
    })?;
    add_of_json(value, ids);
    Ok(())
}

/// Adds the documents that are mentioned anywhere in a JSON value, in whatever kind of entry.
#[cfg(any(feature = "file", feature = "sqlite", feature = "postgres"))]
pub(crate) fn add_of_json(value: Value, ids: &mut HashSet<DocumentId>) {
    let mut values = vec![value];
    while let Some(value) = values.pop() {
        match value {
            Value::Array(items) => values.extend(items),
            Value::Object(members) => {
                if members.contains_key(REFERENCE_MARKER)
                    && let Some(id) = members.get(REFERENCE_ID).and_then(Value::as_str)
                {
                    ids.extend(DocumentId::parse(id));
                }
                values.extend(members.into_iter().map(|(_, value)| value));
            }
            _ => {}
        }
    }
}

#[cfg(feature = "file")]
mod files {
    use super::{BoxFuture, DocumentId, HashSet, References, StoreError, StoreErrorKind, add_of_entry};
    use crate::FileJournals;

    impl References for FileJournals {
        fn document_ids(&self) -> BoxFuture<'_, Result<HashSet<DocumentId>, StoreError>> {
            Box::pin(async move {
                let mut ids = HashSet::new();
                for run in self.ids()? {
                    let unreadable = |error| {
                        StoreError::new(
                            StoreErrorKind::Corrupt,
                            format!("the log of the run {run} cannot be read"),
                        )
                        .with_source(error)
                    };
                    for entry in self.journal(&run)?.load_all().await.map_err(unreadable)? {
                        add_of_entry(&entry, &mut ids)?;
                    }
                }
                Ok(ids)
            })
        }
    }
}
