//! The keys of an issuer, as long as they are known.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use attache_core::fetcher::Fetcher;
use bytes::Bytes;
use serde::Deserialize;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

use super::algorithm::JwtAlgorithm;
use super::keys::{self, Key};
use super::refusal::Refusal;

/// The time for which keys are taken as they are.
const FRESH: Duration = Duration::from_secs(60 * 60);
/// The time for which they are taken while the issuer does not answer.
const STALE: Duration = Duration::from_secs(24 * 60 * 60);
/// The pause between two questions, whoever asks for what.
const PAUSE: Duration = Duration::from_secs(10);
/// The pause after an issuer did not answer, while its keys are known: a request waits for each question.
const LONG_PAUSE: Duration = Duration::from_secs(60);
/// The longest that a question takes, each of its documents counted alone.
const TIME: Duration = Duration::from_secs(5);
/// The maximum number of bytes of a document.
const MOST: usize = 256 << 10;

/// The place of the keys.
pub(super) enum Place {
    /// The issuer's own document names it (OpenID Connect Discovery 1.0, 4).
    Discovered {
        issuer: String,
    },
    At(String),
}

pub(super) struct Source {
    place: Place,
    fetcher: Arc<dyn Fetcher>,
    known: Mutex<Known>,
    /// One asks for all.
    asking: Semaphore,
}

#[derive(Default)]
struct Known {
    keys: Option<Keys>,
    /// The time before which nobody asks again.
    not_before: Option<Instant>,
}

#[derive(Clone)]
struct Keys {
    all: Arc<[Arc<Key>]>,
    since: Instant,
}

impl Keys {
    fn fitting(&self, id: Option<&str>, algorithm: JwtAlgorithm) -> Vec<Arc<Key>> {
        self.all.iter().filter(|key| key.fits(id, algorithm)).cloned().collect()
    }
}

impl Source {
    pub(super) fn new(place: Place, fetcher: Arc<dyn Fetcher>) -> Self {
        Self { place, fetcher, known: Mutex::default(), asking: Semaphore::new(1) }
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The keys that may have signed a token. There is none if the issuer has none.
    pub(super) async fn keys_for(
        &self,
        id: Option<&str>,
        algorithm: JwtAlgorithm,
    ) -> Result<Vec<Arc<Key>>, Refusal> {
        let now = Instant::now();
        let held = self.lock().keys.clone();
        let since = held.as_ref().map(|keys| keys.since);
        let known = held.filter(|keys| now.duration_since(keys.since) < STALE);
        let fitting = known.as_ref().map(|keys| keys.fitting(id, algorithm)).unwrap_or_default();
        let is_fresh = known.as_ref().is_some_and(|keys| now.duration_since(keys.since) < FRESH);
        if !fitting.is_empty() && is_fresh {
            return Ok(fitting);
        }
        // With keys that are good for now, one request waits for new ones and the others do not.
        if !fitting.is_empty() && self.asking.available_permits() == 0 {
            return Ok(fitting);
        }
        self.ask(since).await;
        let now = Instant::now();
        let known = self.lock().keys.clone().filter(|keys| now.duration_since(keys.since) < STALE);
        known.map(|keys| keys.fitting(id, algorithm)).ok_or(Refusal::Unavailable)
    }

    /// Asks for the keys, unless somebody did since the time of those that are known, or a moment ago.
    async fn ask(&self, seen: Option<Instant>) {
        // Nobody closes the semaphore.
        let Ok(_permit) = self.asking.acquire().await else { return };
        {
            let mut known = self.lock();
            let is_newer = known.keys.as_ref().map(|keys| keys.since) != seen;
            let now = Instant::now();
            if is_newer || known.not_before.is_some_and(|then| now < then) {
                return;
            }
            // A request may be cancelled, and may be one of many that are sent only to have the issuer asked.
            if known.keys.is_some() {
                known.not_before = Some(now + PAUSE);
            }
        }
        let asked = self.fetched().await;
        let now = Instant::now();
        let mut known = self.lock();
        match asked {
            Ok(all) => {
                tracing::debug!(keys = all.len(), "the keys of the issuer of tokens are known");
                known.keys = Some(Keys { all: all.into(), since: now });
                known.not_before = Some(now + PAUSE);
            }
            Err(problem) => {
                tracing::warn!(problem, "the keys of the issuer of tokens cannot be had");
                known.not_before = Some(now + if known.keys.is_some() { LONG_PAUSE } else { PAUSE });
            }
        }
    }

    async fn fetched(&self) -> Result<Vec<Arc<Key>>, String> {
        #[derive(Deserialize)]
        struct Configuration {
            issuer: String,
            jwks_uri: String,
        }
        let url = match &self.place {
            Place::At(url) => url.clone(),
            Place::Discovered { issuer } => {
                let url = format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'));
                let document = self.document(&url).await?;
                let found: Configuration = serde_json::from_slice(&document)
                    .map_err(|_| "the configuration of the issuer is none of OpenID Connect".to_owned())?;
                if found.issuer != *issuer {
                    return Err("the configuration is of another issuer".to_owned());
                }
                if issuer.starts_with("https:") && !found.jwks_uri.starts_with("https:") {
                    return Err("the keys of the issuer are not at an address of https".to_owned());
                }
                found.jwks_uri
            }
        };
        let document = self.document(&url).await?;
        keys::read(&document).map_err(|_| "the document is no set of keys".to_owned())
    }

    async fn document(&self, url: &str) -> Result<Bytes, String> {
        let fetched = timeout(TIME, self.fetcher.fetch(url)).await;
        let fetched = fetched.map_err(|_| "the issuer does not answer in time".to_owned())?;
        let bytes = fetched.map_err(|error| error.to_string())?.bytes;
        match bytes.len() <= MOST {
            true => Ok(bytes),
            false => Err(format!("the document has more than {MOST} bytes")),
        }
    }
}
