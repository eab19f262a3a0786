//! Serving a recording over HTTP.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use attache_transport::cassette::{Cassette, Difference, Interaction, RecordedBody, json_differences};

use crate::mock::{MockProvider, RecordedRequest, Reply, Writes};

/// Options for serving a recording.
#[derive(Clone, Debug, Default)]
pub struct PlayerOptions {
    writes: Writes,
    ignored: Option<Vec<String>>,
}

impl PlayerOptions {
    /// One write a body, requests not compared.
    pub fn new() -> Self {
        Self { writes: Writes::Whole, ignored: None }
    }

    /// Chooses the network writes. A recorded stream is one block of bytes here:
    /// [`Writes::PerEvent`] is the same as [`Writes::Whole`].
    #[must_use]
    pub fn with_writes(mut self, writes: Writes) -> Self {
        self.writes = writes;
        self
    }

    /// Compares the JSON of each request with the recorded one, except at and below these pointers, in which a
    /// segment `*` stands for any member or item. Strings that the recording cut are not compared.
    #[must_use]
    pub fn with_compared_requests<S: Into<String>>(mut self, ignored: impl IntoIterator<Item = S>) -> Self {
        self.ignored = Some(ignored.into_iter().map(Into::into).collect());
        self
    }
}

/// A request that is not the recorded one.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RequestMismatch {
    /// The interaction's number, from 0.
    pub interaction: usize,
    /// The places at which the bodies differ.
    pub differences: Vec<Difference>,
}

/// A server that answers the n-th request with a recording's n-th response.
///
/// It accepts every request on every path; past the end of the recording it answers with status 418.
#[derive(Debug)]
pub struct CassettePlayer {
    mock: MockProvider,
    mismatches: Arc<Mutex<Vec<RequestMismatch>>>,
}

impl CassettePlayer {
    /// Starts serving a recording on a free port of `127.0.0.1`, on the current tokio runtime.
    ///
    /// # Errors
    ///
    /// When no port can be bound.
    pub async fn start(cassette: Cassette, options: PlayerOptions) -> io::Result<Self> {
        let mock = MockProvider::start_with(None).await?;
        let mismatches = Arc::new(Mutex::new(Vec::new()));
        let found = Arc::clone(&mismatches);
        mock.respond_with(move |request| {
            let Some(interaction) = cassette.interactions.get(request.index) else {
                return Reply::error(418, "the recording has no more interactions");
            };
            if let Some(ignored) = &options.ignored {
                let differences = compare(interaction, request, ignored);
                if !differences.is_empty() {
                    let mismatch = RequestMismatch { interaction: request.index, differences };
                    found.lock().unwrap_or_else(PoisonError::into_inner).push(mismatch);
                }
            }
            reply(interaction, options.writes.clone())
        });
        Ok(Self { mock, mismatches })
    }

    /// The server's URL without a path.
    pub fn url(&self) -> &str {
        self.mock.url()
    }

    /// The requests so far.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.mock.requests()
    }

    /// The number of requests that have arrived.
    pub fn served(&self) -> usize {
        self.mock.received()
    }

    /// The requests that differ from the recorded ones, where they are compared.
    pub fn mismatches(&self) -> Vec<RequestMismatch> {
        self.mismatches.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn compare(interaction: &Interaction, request: &RecordedRequest, ignored: &[String]) -> Vec<Difference> {
    let elided = interaction.request.elided.iter().map(|elided| elided.pointer.clone());
    let ignored: Vec<String> = ignored.iter().cloned().chain(elided).collect();
    let expected = interaction.request.body.json().unwrap_or_default();
    json_differences(&expected, request.json(), &ignored)
}

fn reply(interaction: &Interaction, writes: Writes) -> Reply {
    let response = &interaction.response;
    let content_type = match &response.body {
        RecordedBody::Json(_) => "application/json",
        RecordedBody::Binary(_) => "application/octet-stream",
        _ => "text/plain",
    };
    let mut reply = Reply::raw(response.status, content_type, response.body.bytes()).writes(writes);
    for (name, value) in &response.headers {
        reply = reply.header(name.clone(), value.clone());
    }
    reply
}
