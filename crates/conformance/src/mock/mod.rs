//! A mock provider: an HTTP server that answers as scripted and judges requests as the real APIs do.

mod answer;
mod chat;
mod cohere;
mod compatible;
mod converse;
mod credentials;
mod delivery;
mod fault;
mod files;
pub(crate) mod gemini;
mod messages;
mod ollama;
mod record;
mod reply;
mod responses;
mod rules;
mod schema;
mod server;
mod shared;
mod wire;

#[cfg(test)]
mod tests;

use std::fmt;
use std::io;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub use self::chat::{validate_chat, validate_chat_with};
pub use self::cohere::validate_cohere;
pub use self::compatible::Server;
pub use self::converse::{event_frame, validate_converse, validate_converse_with};
pub use self::delivery::Writes;
pub use self::files::StoredFile;
pub use self::gemini::{validate_gemini, validate_gemini_with};
pub use self::messages::{validate_messages, validate_messages_with};
pub use self::ollama::validate_ollama;
pub use self::record::{RecordedRequest, ResponseState};
pub use self::reply::{Finish, Reply, ReplyUsage};
pub use self::responses::{validate_responses, validate_responses_with};
pub use self::rules::{Rules, Violation};

use self::shared::{Shared, lock};
use crate::documents::{SeenDocument, seen_documents};
use crate::paths::is_files_path;

/// A provider on `127.0.0.1` that speaks every [`Api`](crate::Api) over HTTP/1.1.
///
/// A request is judged first: one that breaks a rule is answered by the API's own error, recorded with its
/// [`Violation`], and leaves the script alone. Then the queue of replies is served, then the handler; without
/// either the answer is status 418. Gemini's `cachedContents` are the mock's own: they can be created, read,
/// prolonged, deleted and used, without a script, unless the mock has no rules. So are the files that OpenAI,
/// Anthropic and Gemini keep: they can be uploaded, read, deleted, expire, and be named by requests of the same key.
/// The server stops when this is dropped.
///
/// ```
/// use attache_conformance::{MockProvider, Reply};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let mock = MockProvider::start().await?;
/// mock.enqueue(Reply::new().text("Hi"));
/// // … a client talks to `mock.url()` …
/// assert!(mock.requests().is_empty());
/// # Ok(())
/// # }
/// ```
pub struct MockProvider {
    url: String,
    shared: Arc<Shared>,
    server: JoinHandle<()>,
}

impl MockProvider {
    /// Starts a provider with the strict [`Rules`], on a free port and the current tokio runtime.
    ///
    /// # Errors
    ///
    /// When no port can be bound.
    pub async fn start() -> io::Result<Self> {
        Self::start_with(Some(Rules::new())).await
    }

    /// Starts a provider with these rules; with `None` every request on every path is accepted.
    ///
    /// # Errors
    ///
    /// When no port can be bound.
    pub async fn start_with(rules: Option<Rules>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let shared = Arc::new(Shared {
            rules,
            queue: Mutex::default(),
            handler: Mutex::default(),
            caches: gemini::Caches::default(),
            files: files::Files::default(),
            file_replies: Mutex::default(),
            log: Arc::default(),
        });
        let server = tokio::spawn(server::accept(listener, Arc::clone(&shared)));
        Ok(Self { url, shared, server })
    }

    /// The server's URL without a path, such as `http://127.0.0.1:40123`. Any prefix may stand before an API's
    /// own path: a base URL of `{url}/v1` works for all.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Adds a reply to the queue.
    pub fn enqueue(&self, reply: Reply) {
        lock(&self.shared.queue).push_back(reply);
    }

    /// Sets what answers when the queue is empty. The handler must not call back into the mock's
    /// `respond_with`.
    pub fn respond_with(&self, handler: impl FnMut(&RecordedRequest) -> Reply + Send + 'static) {
        *lock(&self.shared.handler) = Some(Box::new(handler));
    }

    /// The number of queued replies that have not been served.
    pub fn pending_replies(&self) -> usize {
        lock(&self.shared.queue).len()
    }

    /// The requests so far, oldest first, the last 10,000 of them.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.shared.log.requests()
    }

    /// The broken rules so far, each with the number of its request.
    pub fn violations(&self) -> Vec<(usize, Violation)> {
        let requests = self.shared.log.requests();
        requests.into_iter().filter_map(|request| Some((request.index, request.violation?))).collect()
    }

    /// Waits until `count` requests have arrived in all; `false` when the time ran out before.
    pub async fn wait_for_requests(&self, count: usize, timeout: Duration) -> bool {
        self.shared.log.wait_for_requests(count, timeout).await
    }

    /// Waits until a client has closed its connection before its answer was complete, and returns that request;
    /// each one is returned once. `None` when the time ran out before.
    pub async fn wait_for_disconnect(&self, timeout: Duration) -> Option<RecordedRequest> {
        self.shared.log.wait_for_disconnect(timeout).await
    }

    /// The names of Gemini's `cachedContents` that are neither deleted nor expired, oldest first.
    pub fn cached_contents(&self) -> Vec<String> {
        self.shared.caches.names()
    }

    /// Lets all of Gemini's `cachedContents` expire now.
    pub fn expire_cached_contents(&self) {
        self.shared.caches.expire();
    }

    /// The files that are neither deleted nor expired, oldest first.
    pub fn files(&self) -> Vec<StoredFile> {
        self.shared.files.alive()
    }

    /// Lets all files expire now.
    pub fn expire_files(&self) {
        self.shared.files.expire();
    }

    /// Adds a reply that answers the next request about files in the mock's place, such as one that fails.
    pub fn enqueue_for_files(&self, reply: Reply) {
        lock(&self.shared.file_replies).push_back(reply);
    }

    /// The requests about files so far: uploads, looks, deletions.
    pub fn file_requests(&self) -> Vec<RecordedRequest> {
        self.requests().into_iter().filter(|request| is_files_path(request.uri.path())).collect()
    }

    /// The documents of a request as [`seen_documents`] finds them, with the content of files in the place of
    /// references to them.
    pub fn seen_documents(&self, request: &RecordedRequest) -> Vec<SeenDocument> {
        let Some(api) = request.api else { return Vec::new() };
        let mut documents = seen_documents(api, request.json());
        self.shared.files.resolve(api, &mut documents);
        documents
    }
}

impl Drop for MockProvider {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl fmt::Debug for MockProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MockProvider")
            .field("url", &self.url)
            .field("requests", &self.shared.log.received())
            .field("pending_replies", &self.pending_replies())
            .finish_non_exhaustive()
    }
}
