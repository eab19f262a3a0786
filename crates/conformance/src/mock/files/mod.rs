//! The files that providers keep: uploaded, looked at, deleted, expired, and named in requests.

mod anthropic;
mod form;
mod gemini;
mod openai;
mod uses;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::HeaderMap;
use tokio::time::Instant;

use super::record::RecordedRequest;
use super::rules::{Rules, Violation};
use super::wire::Rendered;
use crate::api::Api;
use crate::documents::SeenDocument;
use crate::sha256_hex;

/// How many files a mock keeps, ended ones included; the oldest ones leave first.
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

/// Which API a request about files is for; `None` for other requests.
pub(crate) fn api_of(path: &str, headers: &HeaderMap) -> Option<Api> {
    if !is_files_path(path) {
        return None;
    }
    let has = |name: &str| headers.contains_key(name);
    let is_google = path.split('/').any(|segment| segment == "upload" || segment.starts_with("v1beta"));
    Some(if has("anthropic-version") {
        Api::Messages
    } else if is_google || has("x-goog-api-key") {
        Api::Gemini
    } else {
        Api::Responses
    })
}

/// True if a path is that of the files or of one of them.
pub(crate) fn is_files_path(path: &str) -> bool {
    let mut segments = path.trim_end_matches('/').rsplit('/');
    let (last, before) = (segments.next(), segments.next());
    last == Some("files") || before == Some("files")
}

/// The files of a running mock.
#[derive(Default)]
pub(crate) struct Files {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    entries: Vec<Entry>,
    /// Uploads of Gemini that were begun.
    begun: Vec<gemini::Begun>,
    /// The number of the next one.
    next: u64,
}

struct Entry {
    file: StoredFile,
    /// Whom it belongs to.
    account: String,
    created: SystemTime,
    /// When it ends, as it is told and as it is measured.
    ends: Option<(SystemTime, Instant)>,
    is_deleted: bool,
    /// How often it must be looked at until it is ready.
    looks: usize,
}

impl Entry {
    fn is_alive(&self) -> bool {
        !self.is_deleted && self.ends.is_none_or(|(_, deadline)| deadline > Instant::now())
    }
}

impl Files {
    /// Answers a request about files.
    pub(crate) fn answer(
        &self,
        api: Api,
        request: &RecordedRequest,
        rules: &Rules,
    ) -> Result<Rendered, Violation> {
        match api {
            Api::Messages => anthropic::answer(self, request, rules),
            Api::Gemini => gemini::answer(self, request, rules),
            _ => openai::answer(self, request, rules),
        }
    }

    /// Checks that the files which a request names are there and may stand where they do.
    pub(crate) fn check_use(
        &self,
        api: Api,
        request: &RecordedRequest,
        rules: &Rules,
    ) -> Result<(), Violation> {
        uses::check(self, api, request, rules)
    }

    /// What is neither deleted nor expired, oldest first.
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

    /// Puts the content of files, ended ones too, where documents only refer to them.
    pub(crate) fn resolve(&self, api: Api, documents: &mut [SeenDocument]) {
        let state = self.lock();
        for document in documents {
            let Some(reference) = document.reference.as_deref() else { continue };
            let id = uses::id_in(api, reference);
            let Some(entry) = id.and_then(|id| state.entries.iter().find(|entry| entry.file.id == id)) else {
                continue;
            };
            document.sha256 = Some(sha256_hex(&entry.file.bytes));
            document.bytes_len = entry.file.bytes.len();
            if document.media_type.is_empty() {
                document.media_type.clone_from(&entry.file.media_type);
            }
            document.file_name.get_or_insert_with(|| entry.file.file_name.clone());
        }
    }

    /// Keeps a file; `make` gets the number that its id is made of.
    fn keep(
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

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The place of a file of that account that is there.
    fn find(&self, api: Api, account: &str, id: &str) -> Option<usize> {
        self.entries.iter().position(|entry| {
            entry.file.api == api && entry.file.id == id && entry.account == account && entry.is_alive()
        })
    }
}

/// Whose files a request sees: those of its key.
fn account(request: &RecordedRequest) -> String {
    let header = |name| request.header(name);
    let google = super::gemini::query(request, "key").unwrap_or_default();
    [header("authorization"), header("x-api-key"), header("api-key"), header("x-goog-api-key"), google]
        .concat()
}

/// What stands behind the collection in a path; empty for the collection itself.
fn id_of(path: &str) -> &str {
    match path.trim_end_matches('/').rsplit_once('/') {
        Some((_, "files")) | None => "",
        Some((_, id)) => id,
    }
}

/// True if the bytes are what the upload says, as far as that can be told.
fn matches_type(media_type: &str, bytes: &[u8]) -> bool {
    let checked = ["image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"];
    !checked.contains(&media_type) || crate::media::sniff(bytes) == Some(media_type)
}

/// A lifetime in seconds inside bounds.
fn seconds(text: &str, most: u64) -> Option<Duration> {
    let seconds: u64 = text.parse().ok()?;
    (3_600..=most).contains(&seconds).then(|| Duration::from_secs(seconds))
}

fn unix(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}
