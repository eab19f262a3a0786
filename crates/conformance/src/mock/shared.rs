//! The state that the server's tasks and its owner share.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::files::Files;
use super::gemini::Caches;
use super::record::{Log, RecordedRequest};
use super::reply::Reply;
use super::rules::Rules;
use crate::paths::is_files_path;

type Handler = Box<dyn FnMut(&RecordedRequest) -> Reply + Send>;

/// The script, the state and the log of a running mock.
pub(super) struct Shared {
    /// `None` accepts every request.
    pub(super) rules: Option<Rules>,
    pub(super) queue: Mutex<VecDeque<Reply>>,
    pub(super) handler: Mutex<Option<Handler>>,
    pub(super) caches: Caches,
    pub(super) files: Files,
    /// The replies to the next requests about files.
    pub(super) file_replies: Mutex<VecDeque<Reply>>,
    pub(super) log: Arc<Log>,
}

impl Shared {
    /// The reply that is to answer a request about files in the mock's place.
    pub(super) fn next_file_reply(&self, request: &RecordedRequest) -> Option<Reply> {
        is_files_path(request.uri.path()).then(|| lock(&self.file_replies).pop_front()).flatten()
    }

    pub(super) fn next_reply(&self, request: &RecordedRequest) -> Option<Reply> {
        let queued = lock(&self.queue).pop_front();
        queued.or_else(|| lock(&self.handler).as_mut().map(|handler| handler(request)))
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
