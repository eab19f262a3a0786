//! Replaying.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use attache_core::{ErrorKind, ProviderError};
use attache_transport::cassette::{
    Cassette, CassetteError, Interaction, RecordedBody, recorded_address, redacted,
};
use attache_transport::{Hook, HttpClient, Redactor, RequestParts};
use bytes::Bytes;
use http::Response;

use super::diff::differences;
use crate::double::lock;

/// Answers a model's requests from a recording only. No request of the model reaches the network; give the model a key,
/// since a model that fetches its credentials does so before it sends a request. Each request must match the recorded
/// one, in the recorded order: method, path, query parameter names and body. A different request fails, and when the
/// last handle is dropped, it panics with the differences and with recorded requests that were never made.
///
/// Requests contain ids, so record and replay with [`Fixed`](crate::Fixed).
///
/// ```
/// use attache_agent::Agent;
/// use attache_anthropic::Anthropic;
/// use attache_testkit::{Cassette, Player};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// # let cassette = Cassette::parse(r#"{"interactions": [{
/// #     "request": {"method": "POST", "uri": "/v1/messages", "body":
/// #         {"model": "claude-sonnet-4-5", "max_tokens": 32000, "stream": true, "messages":
/// #             [{"role": "user", "content": [{"type": "text", "text": "What is the rent?"}]}]}},
/// #     "response": {"status": 200, "headers": {"content-type": "application/json"}, "body":
/// #         {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "EUR 900."}],
/// #          "stop_reason": "end_turn", "usage": {"input_tokens": 9, "output_tokens": 4}}}}]}"#)?;
/// // In a test of your own: Player::load("tests/cassettes/rent.json")?
/// let player = Player::new(cassette);
/// let model = Anthropic::new("claude-sonnet-4-5", "no key")?.with_http(player.client());
/// let outcome = Agent::builder(model).build()?.run("What is the rent?").outcome().await?;
/// assert_eq!(outcome.text, "EUR 900.");
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct Player {
    tape: Tape,
}

#[derive(Clone, Debug)]
struct Tape(Arc<Recording>);

#[derive(Debug)]
struct Recording {
    interactions: Vec<Interaction>,
    settings: Mutex<Settings>,
    progress: Mutex<Progress>,
    verified: AtomicBool,
}

#[derive(Clone, Debug, Default)]
struct Settings {
    told: Redactor,
    ignored: Vec<String>,
    any_order: bool,
}

#[derive(Debug, Default)]
struct Progress {
    played: Vec<bool>,
    problems: Vec<String>,
}

impl Player {
    /// Plays a recording.
    pub fn new(cassette: Cassette) -> Self {
        let progress = Progress { played: vec![false; cassette.interactions.len()], problems: Vec::new() };
        Self {
            tape: Tape(Arc::new(Recording {
                interactions: cassette.interactions,
                settings: Mutex::default(),
                progress: Mutex::new(progress),
                verified: AtomicBool::new(true),
            })),
        }
    }

    /// Plays the recording in a file.
    ///
    /// # Errors
    /// If the file cannot be read or contains no recording.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, CassetteError> {
        Ok(Self::new(Cassette::load(path)?))
    }

    /// Ignores differences at or below these JSON pointers of bodies; a segment `*` matches any member or item. Strings
    /// that the recording cut are never compared.
    #[must_use]
    pub fn ignoring<S: Into<String>>(self, pointers: impl IntoIterator<Item = S>) -> Self {
        lock(&self.tape.0.settings).ignored.extend(pointers.into_iter().map(Into::into));
        self
    }

    /// Treats that text as equal to the `***` in the recording; see [`Recorder::with_secret`].
    ///
    /// [`Recorder::with_secret`]: crate::Recorder::with_secret
    #[must_use]
    pub fn with_secret(self, secret: &str) -> Self {
        let mut settings = lock(&self.tape.0.settings);
        settings.told = std::mem::take(&mut settings.told).with_secret(secret);
        drop(settings);
        self
    }

    /// Allows requests in any order, for runs that call several models at once. Equal requests are answered in the
    /// order of the recording.
    #[must_use]
    pub fn in_any_order(self) -> Self {
        lock(&self.tape.0.settings).any_order = true;
        self
    }

    /// Disables the panic when the last handle is dropped. Different requests still fail.
    #[must_use]
    pub fn unverified(self) -> Self {
        self.tape.0.verified.store(false, Ordering::Relaxed);
        self
    }

    /// The client to give to a model.
    pub fn client(&self) -> HttpClient {
        HttpClient::shared().with_hook(self.tape.clone())
    }
}

impl Hook for Tape {
    fn answer(&self, request: &RequestParts) -> Option<Result<Response<Bytes>, ProviderError>> {
        let answer = self.0.find(request).map(|at| self.0.interactions.get(at).map(response));
        Some(match answer {
            Ok(Some(Ok(response))) => Ok(response),
            Ok(_) => Err(refused("the recorded answer is no answer of HTTP".to_owned())),
            Err(problem) => Err(refused(problem)),
        })
    }
}

/// An error that no retry mends.
fn refused(problem: String) -> ProviderError {
    ProviderError::new(ErrorKind::Configuration, problem)
}

fn response(interaction: &Interaction) -> Result<Response<Bytes>, http::Error> {
    let mut response = Response::builder().status(interaction.response.status);
    if let Some(headers) = response.headers_mut() {
        headers.clone_from(&interaction.response.headers);
    }
    response.body(interaction.response.body.bytes())
}

impl Recording {
    /// The interaction that answers the request.
    fn find(&self, request: &RequestParts) -> Result<usize, String> {
        let settings = lock(&self.settings).clone();
        let redactors = [request.redactor(), settings.told];
        let clean = |text: &str| redacted(text, &redactors);
        let method = request.method.as_str();
        let place = recorded_address(request, clean);
        let body = request.body.to_vec();
        let body = match String::from_utf8(body) {
            Ok(text) => RecordedBody::of(clean(&text).into()),
            Err(error) => RecordedBody::of(error.into_bytes().into()),
        };
        let differs = |interaction: &Interaction| {
            let recorded = &interaction.request;
            let mut found = Vec::new();
            let (was, is) =
                (format!("{} {}", recorded.method, path(&recorded.uri)), format!("{method} {place}"));
            if was != is {
                found.push(format!("  recorded  {was}\n  now       {is}"));
            }
            let cut = recorded.elided.iter().map(|elided| elided.pointer.clone());
            let ignored: Vec<String> = settings.ignored.iter().cloned().chain(cut).collect();
            found.extend(differences(&recorded.body, &body, &ignored));
            found
        };
        let mut progress = lock(&self.progress);
        let left = progress.played.iter().enumerate().filter(|(_, played)| !**played).map(|(at, _)| at);
        let left: Vec<usize> = left.take(if settings.any_order { usize::MAX } else { 1 }).collect();
        let mut first = None;
        for at in left {
            let Some(interaction) = self.interactions.get(at) else { continue };
            let found = differs(interaction);
            if found.is_empty() {
                if let Some(played) = progress.played.get_mut(at) {
                    *played = true;
                }
                return Ok(at);
            }
            first.get_or_insert((at, found));
        }
        let problem = match first {
            Some((at, found)) => format!(
                "request {} of {} is not the recorded one:\n{}",
                at + 1,
                self.interactions.len(),
                found.join("\n")
            ),
            None => format!("the recording has no more answers, and {method} {place} asks for one"),
        };
        progress.problems.push(problem.clone());
        Err(problem)
    }
}

/// The path and query of an address that may have a host.
fn path(uri: &str) -> &str {
    match uri.split_once("://") {
        Some((_, rest)) => rest.find('/').and_then(|at| rest.get(at..)).unwrap_or("/"),
        None => uri,
    }
}

/// The last handle says what did not go as recorded.
impl Drop for Recording {
    fn drop(&mut self) {
        if std::thread::panicking() || !self.verified.load(Ordering::Relaxed) {
            return;
        }
        let progress = lock(&self.progress);
        let mut problems = progress.problems.clone();
        let left = progress.played.iter().filter(|played| !**played).count();
        if left > 0 && problems.is_empty() {
            problems
                .push(format!("{left} of {} recorded answers were never asked for", progress.played.len()));
        }
        assert!(
            problems.is_empty(),
            "the recording was not played as it is:\n{}\n(where that is meant: `.unverified()`)",
            problems.join("\n")
        );
    }
}
