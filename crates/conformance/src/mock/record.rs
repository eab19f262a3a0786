//! The memory that the mock has of every request.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderMap, Method, Uri};
use serde_json::Value;
use tokio::sync::Notify;

use super::answer::JSON;
use super::rules::Violation;
use crate::api::Api;
use crate::paths;

/// The maximum number of requests that a mock keeps; the oldest ones leave first.
const MAX_RECORDS: usize = 10_000;

/// A request as it arrived, and what became of its answer.
#[derive(Clone)]
#[non_exhaustive]
pub struct RecordedRequest {
    /// The request's number, counted from 0 in order of arrival.
    pub index: usize,
    /// The API its path belongs to, if any.
    pub api: Option<Api>,
    /// The HTTP method.
    pub method: Method,
    /// Path and query.
    pub uri: Uri,
    /// The headers; key headers are marked sensitive, so that `Debug` hides their values.
    pub headers: HeaderMap,
    /// The body's bytes.
    pub body: Bytes,
    /// The body as JSON, or `None` when it is not JSON.
    pub json: Option<Arc<Value>>,
    /// When its body had been read.
    pub arrived: Instant,
    /// The rule it broke, if any.
    pub violation: Option<Violation>,
    /// The progress of the answer.
    pub response: ResponseState,
}

/// The progress of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResponseState {
    /// It is being prepared or sent.
    Pending,
    /// All of it was handed to the connection.
    Sent,
    /// The client closed the connection before the answer was complete.
    ClientClosed {
        /// When the mock noticed.
        at: Instant,
    },
    /// The mock broke the connection, as the script said.
    Broken,
}

impl RecordedRequest {
    pub(crate) fn new(method: Method, uri: Uri, mut headers: HeaderMap, body: Bytes) -> Self {
        for name in ["authorization", "x-api-key", "api-key", "x-goog-api-key", "x-amz-security-token"] {
            if let Some(value) = headers.get_mut(name) {
                value.set_sensitive(true);
            }
        }
        Self {
            index: 0,
            api: Api::from_path(uri.path()).or_else(|| Api::from_files(uri.path(), &headers)),
            json: serde_json::from_slice(&body).ok().map(Arc::new),
            method,
            uri,
            headers,
            body,
            arrived: Instant::now(),
            violation: None,
            response: ResponseState::Pending,
        }
    }

    /// A header's value as text; empty when it is absent or no text.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// The body as JSON, `null` when it is not JSON.
    pub fn json(&self) -> &Value {
        self.json.as_deref().unwrap_or(&Value::Null)
    }

    /// True if the request asks for a stream: in its body, with Gemini and Converse in its path.
    pub fn wants_stream(&self) -> bool {
        match self.api {
            Some(Api::Gemini | Api::Converse) => paths::wants_stream(self.uri.path()),
            _ => self.json().get("stream") == Some(&Value::Bool(true)),
        }
    }

    /// A member of the query, not decoded.
    pub(crate) fn query(&self, name: &str) -> Option<&str> {
        let pairs = self.uri.query()?.split('&');
        pairs.filter_map(|pair| pair.split_once('=')).find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    /// Checks that the body is stated to be JSON.
    pub(crate) fn check_content_type(&self) -> Result<(), Violation> {
        let value = self.header("content-type");
        let essence = value.split(';').next().unwrap_or_default().trim();
        if essence.eq_ignore_ascii_case(JSON) {
            Ok(())
        } else {
            Err(Violation::invalid(format!("content-type: expected `application/json`, got `{value}`")))
        }
    }
}

impl fmt::Debug for RecordedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordedRequest")
            .field("index", &self.index)
            .field("method", &self.method)
            .field("path", &self.uri.path())
            .field("headers", &self.headers)
            .field("body_bytes", &self.body.len())
            .field("violation", &self.violation)
            .field("response", &self.response)
            .finish_non_exhaustive()
    }
}

/// The record of a running mock.
#[derive(Default)]
pub(crate) struct Log {
    state: Mutex<LogState>,
    changed: Notify,
}

#[derive(Default)]
struct LogState {
    requests: VecDeque<RecordedRequest>,
    /// The index the next request gets.
    next: usize,
    /// Disconnected requests that nobody has waited for yet, in order.
    disconnects: VecDeque<RecordedRequest>,
}

impl Log {
    /// Files a request under the next number.
    pub(crate) fn push(&self, mut request: RecordedRequest) -> RecordedRequest {
        let mut state = self.lock();
        request.index = state.next;
        state.next += 1;
        if state.requests.len() == MAX_RECORDS {
            state.requests.pop_front();
        }
        state.requests.push_back(request.clone());
        drop(state);
        self.changed.notify_waiters();
        request
    }

    pub(crate) fn set_violation(&self, index: usize, violation: Violation) {
        if let Some(request) = self.lock().get_mut(index) {
            request.violation = Some(violation);
        }
    }

    pub(crate) fn set_response(&self, index: usize, response: ResponseState) {
        let mut state = self.lock();
        if let Some(request) = state.get_mut(index) {
            request.response = response;
            if matches!(response, ResponseState::ClientClosed { .. }) {
                let request = request.clone();
                state.disconnects.push_back(request);
                state.disconnects.truncate(MAX_RECORDS);
            }
        }
        drop(state);
        self.changed.notify_waiters();
    }

    pub(crate) fn requests(&self) -> Vec<RecordedRequest> {
        self.lock().requests.iter().cloned().collect()
    }

    pub(crate) fn received(&self) -> usize {
        self.lock().next
    }

    /// Waits until that many requests have arrived.
    pub(crate) async fn wait_for_requests(&self, count: usize, timeout: Duration) -> bool {
        self.wait(timeout, |state| (state.next >= count).then_some(())).await.is_some()
    }

    /// Waits for a disconnect that no earlier call returned.
    pub(crate) async fn wait_for_disconnect(&self, timeout: Duration) -> Option<RecordedRequest> {
        self.wait(timeout, |state| state.disconnects.pop_front()).await
    }

    async fn wait<T>(
        &self,
        timeout: Duration,
        mut look: impl FnMut(&mut LogState) -> Option<T>,
    ) -> Option<T> {
        let looking = async {
            loop {
                let mut changed = std::pin::pin!(self.changed.notified());
                // Registered before the look, so that no change can slip between look and wait.
                changed.as_mut().enable();
                if let Some(found) = look(&mut self.lock()) {
                    return found;
                }
                changed.await;
            }
        };
        tokio::time::timeout(timeout, looking).await.ok()
    }

    fn lock(&self) -> MutexGuard<'_, LogState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LogState {
    fn get_mut(&mut self, index: usize) -> Option<&mut RecordedRequest> {
        let first = self.next.checked_sub(self.requests.len())?;
        self.requests.get_mut(index.checked_sub(first)?)
    }
}

/// Follows one answer: dropped before it was told how the answer ended, it records that the client left.
pub(crate) struct Tracker {
    log: Arc<Log>,
    index: usize,
    settled: bool,
}

impl Tracker {
    pub(crate) fn new(log: Arc<Log>, index: usize) -> Self {
        Self { log, index, settled: false }
    }

    pub(crate) fn settle(&mut self, response: ResponseState) {
        self.settled = true;
        self.log.set_response(self.index, response);
    }
}

impl Drop for Tracker {
    fn drop(&mut self) {
        if !self.settled {
            self.log.set_response(self.index, ResponseState::ClientClosed { at: Instant::now() });
        }
    }
}
