//! Helpers of the tests.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use attache_agent::{Entry, EntryKind, Fence, Journal, JournalError, Key};
use attache_core::{Message, UserMessage, UserPart};
use attache_stores::FileJournal;
use serde_json::json;

pub(crate) fn key(text: &str) -> Key {
    serde_json::from_value(json!(text)).unwrap()
}

/// An entry under a key, with a text that tells it from others.
pub(crate) fn entry(at: &str, text: &str) -> Entry {
    // No text is blank.
    let message = UserMessage::new([UserPart::text(format!("={text}"))]);
    Entry::new(key(at), EntryKind::Inbox(vec![Arc::new(Message::User(message))]))
}

/// The key and the text of an entry.
pub(crate) fn told(entry: &Entry) -> (String, String) {
    let EntryKind::Inbox(messages) = &entry.kind else { panic!("{entry:?}") };
    let Message::User(message) = &*messages[0] else { panic!("{entry:?}") };
    let UserPart::Text(text) = &message.parts[0] else { panic!("{entry:?}") };
    (entry.key.to_string(), text.text().strip_prefix('=').unwrap().to_owned())
}

pub(crate) fn all_told(entries: &[Entry]) -> Vec<(String, String)> {
    entries.iter().map(told).collect()
}

pub(crate) fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())).collect()
}

pub(crate) fn open(path: &Path) -> FileJournal {
    FileJournal::open(path).unwrap()
}

/// Loads and claims a log, as a driver does.
pub(crate) async fn claimed(path: &Path) -> (FileJournal, Fence) {
    let journal = open(path);
    let entries = journal.load().await.unwrap();
    let fence = journal.claim(entries.len()).await.unwrap();
    (journal, fence)
}

pub(crate) fn problem(result: Result<impl std::fmt::Debug, JournalError>) -> String {
    match result {
        Err(JournalError::Unreadable { problem }) => problem,
        other => panic!("{other:?}"),
    }
}

/// A runtime for tests that are no futures themselves, such as properties.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

const ROLE: &str = "ATTACHE_STORES_ROLE";

/// The task of this process in the place of the test that it was started for, if it was started by one.
pub(crate) fn role() -> Option<String> {
    std::env::var(ROLE).ok()
}

/// Another process, which runs `test` with this role.
pub(crate) fn process(test: &str, role: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(ROLE, role);
    command
}
