//! The files that are kept.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use tokio::time::Instant;

use crate::api::Api;
use crate::mock::record::RecordedRequest;

/// The maximum number of files that a mock keeps, ended ones included; the oldest ones leave first.
const MAX_FILES: usize = 1_000;

/// A file that a [`MockProvider`](crate::MockProvider) keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredFile {
    /// The API that keeps it: [`Api::Responses`] for both of OpenAI's.
    pub api: Api,
    /// The id by which it is deleted, and with Gemini named as the end of an address.
    pub id: String,
    /// The name that it was uploaded under.
    pub file_name: String,
    /// The media type that the upload stated.
    pub media_type: String,
    /// The purpose that the upload stated, which only OpenAI wants.
    pub purpose: Option<String>,
    /// The content.
    pub bytes: Bytes,
}

/// The files of a running mock.
#[derive(Default)]
pub(crate) struct Files {
    state: Mutex<State>,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) entries: Vec<Entry>,
    /// Uploads of Gemini that were begun.
    pub(super) begun: Vec<Begun>,
    /// The number of the next one.
    pub(super) next: u64,
}

pub(super) struct Entry {
    pub(super) file: StoredFile,
    /// The account that it belongs to.
    pub(super) account: String,
    pub(super) created: SystemTime,
    /// When it ends, as it is told and as it is measured.
    pub(super) ends: Option<(SystemTime, Instant)>,
    pub(super) is_deleted: bool,
    /// The number of looks after which it is ready.
    pub(super) looks: usize,
}

impl Entry {
    pub(super) fn is_alive(&self) -> bool {
        !self.is_deleted && self.ends.is_none_or(|(_, deadline)| deadline > Instant::now())
    }
}

/// An upload of Gemini that was begun.
pub(super) struct Begun {
    pub(super) id: String,
    pub(super) account: String,
    pub(super) name: String,
    pub(super) media_type: String,
    pub(super) size: usize,
}

impl Files {
    /// The files that are neither deleted nor expired, oldest first.
    pub(crate) fn alive(&self) -> Vec<StoredFile> {
        let state = self.lock();
        state.entries.iter().filter(|entry| entry.is_alive()).map(|entry| entry.file.clone()).collect()
    }

    /// Lets all of them expire now.
    pub(crate) fn expire(&self) {
        let now = (SystemTime::now(), Instant::now());
        for entry in &mut self.lock().entries {
            entry.ends = Some(now);
        }
    }

    /// Keeps a file; `make` gets the number that its id is made of.
    pub(super) fn keep(
        &self,
        account: String,
        lifetime: Option<Duration>,
        looks: usize,
        make: impl FnOnce(u64) -> StoredFile,
    ) -> usize {
        let mut state = self.lock();
        let number = state.next;
        state.next += 1;
        let created = SystemTime::now();
        let ends = lifetime.map(|lifetime| (created + lifetime, Instant::now() + lifetime));
        if state.entries.len() == MAX_FILES {
            state.entries.remove(0);
        }
        state.entries.push(Entry { file: make(number), account, created, ends, is_deleted: false, looks });
        state.entries.len() - 1
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The place of a file of that account that is there.
    pub(super) fn find(&self, api: Api, account: &str, id: &str) -> Option<usize> {
        self.entries.iter().position(|entry| {
            entry.file.api == api && entry.file.id == id && entry.account == account && entry.is_alive()
        })
    }
}

/// The account whose files a request sees: that of its key.
pub(super) fn account(request: &RecordedRequest) -> String {
    let header = |name| request.header(name);
    let google = request.query("key").unwrap_or_default();
    [header("authorization"), header("x-api-key"), header("api-key"), header("x-goog-api-key"), google]
        .concat()
}
