//! Recording.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use super::{Cassette, CassetteError, Interaction, RecordedBody, RecordedCall, RecordedResponse};
use crate::client::{Hook, HttpClient};
use crate::redact::{Redactor, shown_url};
use crate::request::RequestParts;

/// The headers that are kept; whatever else a request or an answer carries stays out of a recording.
const OF_REQUESTS: [&str; 4] = ["content-type", "accept", "anthropic-version", "anthropic-beta"];
const OF_ANSWERS: [&str; 4] = ["content-type", "retry-after", "retry-after-ms", "x-should-retry"];

/// Records what a model's provider is asked and what it answers, for a player of tests and for `attache replay`.
///
/// Secrets stay out: of headers only those are kept that describe content, the host and the values of the query are
/// left out, and the credentials of the request, words that look like a key, and the secrets that it is told of are
/// `***` in bodies, those of answers included. Prompts, answers and documents are kept as they are. So a secret stays
/// that stands in a document's base64, that a stream cuts into pieces, that is written with escapes, or in the query of
/// an address inside a body: read a recording before you share it. Uploads are recorded and cannot be replayed at
/// Gemini, whose answers name the next address in a header.
///
/// ```no_run
/// use attache_transport::cassette::Recorder;
///
/// # fn record() -> Result<(), Box<dyn std::error::Error>> {
/// let recorder = Recorder::new("anthropic");
/// let client = recorder.client();
/// // … a model asks over this client …
/// recorder.save("tests/cassettes/rent.json")?;
/// # let _ = client;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Recorder {
    tape: Tape,
}

#[derive(Clone, Debug)]
struct Tape(Arc<Mutex<Recorded>>);

#[derive(Debug)]
struct Recorded {
    api: String,
    told: Redactor,
    taken: Vec<Taken>,
}

struct Taken {
    request: RequestParts,
    status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
}

// Answers and their headers hold what nobody has scrubbed yet.
impl std::fmt::Debug for Taken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (status, bytes) = (self.status.as_u16(), self.body.len());
        f.debug_struct("Taken").field("status", &status).field("bytes", &bytes).finish_non_exhaustive()
    }
}

impl Recorder {
    /// Records what the API of that name says; the name is for readers.
    pub fn new(api: impl Into<String>) -> Self {
        let recorded = Recorded { api: api.into(), told: Redactor::new(), taken: Vec::new() };
        Self { tape: Tape(Arc::new(Mutex::new(recorded))) }
    }

    /// Keeps that text out too, such as the name of a project. It must have at least 6 bytes.
    #[must_use]
    pub fn with_secret(self, secret: &str) -> Self {
        let mut recorded = lock(&self.tape.0);
        recorded.told = std::mem::take(&mut recorded.told).with_secret(secret);
        drop(recorded);
        self
    }

    /// The client of the process, recorded.
    pub fn client(&self) -> HttpClient {
        self.over(&HttpClient::shared())
    }

    /// That client, recorded.
    pub fn over(&self, client: &HttpClient) -> HttpClient {
        client.with_hook(self.tape.clone())
    }

    /// All that was answered so far, as it is written.
    ///
    /// # Errors
    /// [`CassetteError::Invalid`] if a secret stands in a binary body, which would be no such body without it.
    pub fn cassette(&self) -> Result<Cassette, CassetteError> {
        let recorded = lock(&self.tape.0);
        let own: Vec<Redactor> = recorded.taken.iter().map(|taken| taken.request.redactor()).collect();
        let clean = |text: &str| redacted(text, own.iter().chain([&recorded.told]));
        let mut cassette = Cassette::new(&recorded.api);
        for (number, taken) in recorded.taken.iter().enumerate() {
            let body = |bytes: &[u8]| match std::str::from_utf8(bytes) {
                Ok(text) => Ok(RecordedBody::of(clean(text).into())),
                Err(_) => {
                    let text = String::from_utf8_lossy(bytes);
                    if clean(&text) == text {
                        return Ok(RecordedBody::of(Bytes::copy_from_slice(bytes)));
                    }
                    let problem = "a secret stands in a binary body";
                    Err(CassetteError::Invalid { interaction: number, problem })
                }
            };
            let mut call =
                RecordedCall::new(taken.request.method.as_str(), recorded_address(&taken.request, clean));
            let shown = taken.request.shown_headers();
            call.headers = kept(shown.filter(|(name, _)| OF_REQUESTS.contains(name)), clean);
            call.body = body(&taken.request.body.to_vec())?;
            let values =
                taken.headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap_or_default()));
            let headers = kept(values.filter(|(name, _)| OF_ANSWERS.contains(name)), clean);
            let response = RecordedResponse::new(taken.status.as_u16(), headers, body(&taken.body)?);
            cassette.interactions.push(Interaction::new(call, response));
        }
        Ok(cassette)
    }

    /// Writes it to a file, over one that is there. An answer that is still being read is written as far as it came.
    ///
    /// # Errors
    /// As for [`cassette`](Self::cassette), and when the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), CassetteError> {
        self.cassette()?.save(path)
    }
}

/// The address of a request as recordings have it: without scheme and host, which may tell whose account it is, and
/// without the values of its query.
pub fn recorded_address(request: &RequestParts, clean: impl Fn(&str) -> String) -> String {
    let url = shown_url(&request.url);
    let rest = url.split_once("://").map_or(&*url, |(_, rest)| rest);
    clean(rest.find('/').and_then(|at| rest.get(at..)).unwrap_or("/"))
}

/// A text without what any of the redactors removes.
pub fn redacted<'r>(text: &str, redactors: impl IntoIterator<Item = &'r Redactor>) -> String {
    redactors.into_iter().fold(text.to_owned(), |text, redactor| redactor.redact(&text).into_owned())
}

fn lock(recorded: &Mutex<Recorded>) -> MutexGuard<'_, Recorded> {
    recorded.lock().unwrap_or_else(PoisonError::into_inner)
}

fn kept<'h>(headers: impl Iterator<Item = (&'h str, &'h str)>, clean: impl Fn(&str) -> String) -> HeaderMap {
    let headers = headers.filter_map(|(name, value)| {
        Some((HeaderName::try_from(name).ok()?, HeaderValue::try_from(clean(value)).ok()?))
    });
    headers.collect()
}

impl Hook for Tape {
    fn answered(&self, request: &RequestParts, status: StatusCode, headers: &HeaderMap) -> usize {
        let mut recorded = lock(&self.0);
        let taken = Taken { request: request.clone(), status, headers: headers.clone(), body: Vec::new() };
        recorded.taken.push(taken);
        recorded.taken.len() - 1
    }

    fn read(&self, answer: usize, piece: &Bytes) {
        if let Some(taken) = lock(&self.0).taken.get_mut(answer) {
            taken.body.extend_from_slice(piece);
        }
    }
}
