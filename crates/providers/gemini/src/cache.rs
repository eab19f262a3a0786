//! Prefixes that are kept at the provider as cached contents (gemini.md 10).

pub(crate) mod cut;
pub(crate) mod entries;
mod prefix;

use std::time::{Duration, Instant};

use attache_core::capability::Caching;
use attache_core::settings::{CachePolicy, Unsupported};
use attache_core::{BoxFuture, ChatRequest, ErrorKind, ModelSettings, ProviderError, ToolChoice};
use attache_transport::{EncodedBody, Network, Refusals, RequestParts, check_pairing};
use bytes::Bytes;
use http::Method;
use serde::Deserialize;

use self::cut::Held;
use self::entries::{Key, Step};
use crate::codec::{Ask, GenerateCodec};
use crate::error::{self, Result, malformed};
use crate::request::{Head, State, authorized};

/// How long prefixes are kept after they were asked for.
const SHORT: Duration = Duration::from_secs(300);
const LONG: Duration = Duration::from_secs(3_600);

/// The maximum number of bytes of an answer about a cached content.
const ANSWER_LIMIT: usize = 1 << 20;

/// The answer about a cached content.
#[derive(Deserialize)]
struct Resource {
    name: String,
}

/// [`Codec::prepare`](attache_transport::Codec::prepare): sees to it that the prefix of the request is kept, if the
/// caller asks for it and it is worth it. No failure here is one of the call, which is then sent whole.
pub(crate) fn prepare<'a>(ask: Ask<'a>, network: &'a Network) -> Option<BoxFuture<'a, Result<()>>> {
    if !wants_cache(ask.settings) || !can_cache(ask.codec) {
        return None;
    }
    let keeper = Keeper { ask, network };
    let plan = keeper.plan()?;
    Some(Box::pin(async move {
        if keeper.carry_out(plan).await == Outcome::Gone
            && let Some(plan) = keeper.plan()
        {
            keeper.carry_out(plan).await;
        }
        Ok(())
    }))
}

/// True if the caller asks for a cached content.
fn wants_cache(settings: &ModelSettings) -> bool {
    matches!(settings.cache, Some(CachePolicy::Short | CachePolicy::Long))
}

/// True if a prefix can be kept for the model.
fn can_cache(codec: &GenerateCodec) -> bool {
    codec.capabilities.caching == Caching::Resource && codec.platform.caches_path().is_some()
}

/// The name of the cached content that holds a prefix of the request, and what it leaves of the request.
pub(crate) fn find(
    state: &mut State,
    ask: Ask<'_>,
    head: &Head,
    refusals: &mut Refusals<'_>,
) -> Result<Option<Held>> {
    if !wants_cache(ask.settings) {
        return Ok(None);
    }
    if !can_cache(ask.codec) {
        let why = "nothing can be kept at the provider for this model";
        refusals.refuse("cache", why, "nothing is kept")?;
        return Ok(None);
    }
    let Some(found) = state.find_prefix(ask, head)? else { return Ok(None) };
    match ask.codec.caches.name_of(&found.key) {
        Ok(name) => Ok(name.map(|name| Held { name, rest: found.rest(ask) })),
        Err(why) => {
            refusals.note("cache", format!("the prefix could not be kept at the provider: {why}"));
            Ok(None)
        }
    }
}

impl GenerateCodec {
    /// Deletes what this codec and its clones keep at the provider, and says how much that was. A cache that is gone
    /// already is no error.
    ///
    /// # Errors
    /// The first failure; the others have been deleted nevertheless.
    ///
    /// # Cancellation
    /// A cache that was not deleted by then ends by itself, at the latest an hour after its last use.
    pub async fn delete_caches(&self, network: &Network) -> Result<usize, ProviderError> {
        let (request, settings) = (ChatRequest::default(), ModelSettings::new());
        let ask = attache_transport::Ask::new(&request, &settings, network.auth().key()).of(self);
        let keeper = Keeper { ask, network };
        let (mut deleted, mut failure) = (0, None);
        for name in self.caches.take_all() {
            match keeper.delete(&name).await {
                Ok(()) => deleted += 1,
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        failure.map_or(Ok(deleted), Err)
    }
}

/// The step before a request.
struct Plan<'a> {
    key: Key,
    step: Step<'a>,
    /// The request that has the prefix kept, if that is to be done.
    body: Vec<u8>,
}

/// The result of it.
#[derive(PartialEq, Eq)]
enum Outcome {
    Settled,
    /// The provider does not keep the cache that it was thought to keep.
    Gone,
}

/// Talks to the provider about what it keeps.
#[derive(Clone, Copy)]
struct Keeper<'a> {
    ask: Ask<'a>,
    network: &'a Network,
}

impl<'a> Keeper<'a> {
    fn ttl(&self) -> Duration {
        match self.ask.settings.cache {
            Some(CachePolicy::Long) => LONG,
            _ => SHORT,
        }
    }

    /// The step to take; nothing where the request will fail anyhow, which encoding it tells.
    fn plan(&self) -> Option<Plan<'a>> {
        State::with(self.ask, |state| self.plan_with(state)).ok().flatten()
    }

    fn plan_with(&self, state: &mut State) -> Result<Option<Plan<'a>>> {
        let ask = self.ask;
        check_pairing(&ask.request.messages)?;
        // An option that cannot be honoured is told when the request is encoded.
        let mut unheard = Refusals::new("", Some(Unsupported::Degrade));
        let head = state.head(ask, &mut unheard)?;
        let Some(found) = state.find_prefix(ask, &head)? else { return Ok(None) };
        // A run that lands without tools asks once more, and no more.
        let may_make = ask.request.tool_choice != ToolChoice::None;
        let step = ask.codec.caches.next_step(found.key, self.ttl(), may_make, Instant::now());
        let body = match step {
            Step::Make(_) => state.request_to_keep(ask, &head, &found, self.ttl().as_secs())?,
            _ => Vec::new(),
        };
        Ok(Some(Plan { key: found.key, step, body }))
    }

    async fn carry_out(&self, plan: Plan<'a>) -> Outcome {
        let Plan { key, step, body } = plan;
        let caches = &self.ask.codec.caches;
        match step {
            Step::Use | Step::Leave => Outcome::Settled,
            Step::Make(making) => {
                let made = self.make(body).await;
                tracing::debug!(error = made.as_ref().err().map(tracing::field::display), "prefix kept");
                making.settle(made, self.ttl(), Instant::now());
                Outcome::Settled
            }
            Step::Extend { name } => {
                let body = format!(r#"{{"ttl":"{}s"}}"#, self.ttl().as_secs());
                let sent =
                    self.request(Method::PATCH, &format!("{name}?updateMask=ttl"), body.into_bytes()).await;
                self.told(key, sent.map(|_| Some(self.ttl())))
            }
            Step::Look { name } => {
                let sent = self.request(Method::GET, &name, Vec::new()).await;
                self.told(key, sent.map(|_| None))
            }
            Step::Drop { name } => {
                caches.refuse(
                    key,
                    "the provider did not take it with the request",
                    self.ttl(),
                    Instant::now(),
                );
                // A cache that the provider keeps in vain is billed all the same; it ends by itself if this fails.
                let _ = self.delete(&name).await;
                Outcome::Settled
            }
        }
    }

    /// The provider's word on a cached content: it is there, with a new time to live if one was asked for; or it is
    /// gone. Any other failure says nothing about it.
    fn told(&self, key: Key, sent: Result<Option<Duration>>) -> Outcome {
        let caches = &self.ask.codec.caches;
        match sent {
            Ok(ttl) => {
                caches.confirm(&key, ttl, Instant::now());
                Outcome::Settled
            }
            Err(error) if is_gone(&error) => {
                caches.forget(&key);
                Outcome::Gone
            }
            Err(_) => Outcome::Settled,
        }
    }

    async fn make(&self, body: Vec<u8>) -> Result<String> {
        let path = self.ask.codec.platform.caches_path().unwrap_or_default();
        let answer = self.request(Method::POST, &path, body).await?;
        let Resource { name } = serde_json::from_slice(&answer)
            .map_err(|cause| malformed("the cached content has no name").with_source(cause))?;
        Ok(name)
    }

    async fn delete(&self, name: &str) -> Result<()> {
        match self.request(Method::DELETE, name, Vec::new()).await {
            Err(error) if !is_gone(&error) => Err(error),
            _ => Ok(()),
        }
    }

    async fn request(&self, method: Method, path: &str, body: Vec<u8>) -> Result<Bytes> {
        let url = self.ask.codec.url(path)?;
        let mut parts = match body.is_empty() {
            true => RequestParts::get(url),
            false => RequestParts::post_json(url, EncodedBody::from(body)),
        };
        parts.method = method;
        let parts = authorized(self.ask.codec, self.ask.settings, parts, self.ask.key)?;
        self.network.send(&parts, error::read).await?.bytes(ANSWER_LIMIT).await
    }
}

/// True if an error says that a cached content is no longer there. Of one that is not, the API does not tell whether it
/// ended or belongs to somebody else.
fn is_gone(error: &ProviderError) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Permission)
}

#[cfg(test)]
mod tests;
