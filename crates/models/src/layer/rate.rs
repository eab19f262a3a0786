//! So many calls, and so many tokens, in a time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use attache_core::{ChatRequest, ChunkStream, ErrorKind, ModelHandle, ProviderError, StreamChunk, Usage};
use futures_util::StreamExt;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep};

use super::Layer;

/// How long a call waits for its turn, unless something else is set.
const LONGEST_WAIT: Duration = Duration::from_secs(120);

/// Starts so many calls in a time, spread evenly after a first burst, and optionally so many tokens: what a reply cost
/// is known when it ends, so a call that finds the tokens overdrawn waits until they have come back. Clones share the
/// limit.
#[derive(Clone, Debug)]
pub struct RateLimit {
    shared: Arc<Shared>,
    longest_wait: Duration,
}

#[derive(Debug)]
struct Shared {
    calls: Rate,
    tokens: Option<Rate>,
    level: Mutex<Level>,
    /// The permit of the call that is next, where calls wait.
    next: Semaphore,
}

/// So many in a time; as many may come at once.
#[derive(Clone, Copy, Debug)]
struct Rate {
    amount: f64,
    per: f64,
}

#[derive(Debug)]
struct Level {
    at: Option<Instant>,
    calls: f64,
    tokens: f64,
    /// The number of calls that wait for their turn.
    waiting: u32,
}

impl RateLimit {
    /// At most `calls` (at least one) are started in `per`. A call waits at most 120 s for its turn.
    pub fn new(calls: u32, per: Duration) -> Self {
        let calls = Rate::new(f64::from(calls.max(1)), per);
        Self { shared: Arc::new(Shared::new(calls, None)), longest_wait: LONGEST_WAIT }
    }

    /// At most about `tokens`, read and written, in `per`. Begins a limit of its own, apart from the clones so far.
    #[must_use]
    pub fn with_tokens(self, tokens: u32, per: Duration) -> Self {
        let tokens = Rate::new(f64::from(tokens.max(1)), per);
        Self { shared: Arc::new(Shared::new(self.shared.calls, Some(tokens))), ..self }
    }

    /// Sets how long a call waits for its turn. One whose turn would come later fails at once as
    /// [`ErrorKind::RateLimited`], with the wait as its `retry_after`.
    #[must_use]
    pub fn with_longest_wait(mut self, wait: Duration) -> Self {
        self.longest_wait = wait;
        self
    }
}

impl Rate {
    fn new(amount: f64, per: Duration) -> Self {
        Self { amount, per: per.as_secs_f64().max(0.001) }
    }

    /// The level after a time, never above the amount.
    fn refilled(self, level: f64, after: Duration) -> f64 {
        (level + self.amount * after.as_secs_f64() / self.per).min(self.amount)
    }

    /// How long until the level is `wanted`.
    fn until(self, level: f64, wanted: f64) -> Duration {
        let missing = (wanted - level).max(0.0);
        Duration::try_from_secs_f64(missing * self.per / self.amount).unwrap_or(Duration::MAX)
    }
}

impl Shared {
    fn new(calls: Rate, tokens: Option<Rate>) -> Self {
        let tokens_left = tokens.map_or(0.0, |tokens| tokens.amount);
        let level = Level { at: None, calls: calls.amount, tokens: tokens_left, waiting: 0 };
        Self { calls, tokens, level: Mutex::new(level), next: Semaphore::new(1) }
    }

    /// The levels at a time.
    fn level(&self, now: Instant) -> MutexGuard<'_, Level> {
        let mut level = self.level.lock().unwrap_or_else(PoisonError::into_inner);
        let passed = level.at.map_or(Duration::ZERO, |at| now.saturating_duration_since(at));
        level.at = Some(now);
        level.calls = self.calls.refilled(level.calls, passed);
        if let Some(tokens) = self.tokens {
            level.tokens = tokens.refilled(level.tokens, passed);
        }
        level
    }

    /// Takes a turn, where there is one, or else lets a call wait for its own, after the time in which tokens come back.
    ///
    /// # Errors
    /// The wait, if it is too long.
    fn turn(&self, now: Instant, longest: Duration) -> Result<Option<Duration>, Duration> {
        let mut level = self.level(now);
        let for_tokens = self.tokens.map_or(Duration::ZERO, |tokens| tokens.until(level.tokens, 0.0));
        let wait = self.calls.until(level.calls, 1.0 + f64::from(level.waiting)).max(for_tokens);
        if wait > longest {
            return Err(wait);
        }
        if wait.is_zero() {
            level.calls -= 1.0;
            return Ok(None);
        }
        level.waiting += 1;
        Ok(Some(for_tokens))
    }

    /// Waits for the turn of a call. One that is given up takes none, so that those behind it come sooner.
    async fn wait(&self, for_tokens: Duration) {
        let _waiting = Waiting(self);
        if !for_tokens.is_zero() {
            sleep(for_tokens).await;
        }
        // It is never closed, and fair.
        let _next = self.next.acquire().await;
        while let Some(wait) = self.take(Instant::now()) {
            sleep(wait).await;
        }
    }

    /// Takes the turn of the next call, or says how long until there is one.
    fn take(&self, now: Instant) -> Option<Duration> {
        let mut level = self.level(now);
        let wait = self.calls.until(level.calls, 1.0);
        if !wait.is_zero() {
            return Some(wait);
        }
        level.calls -= 1.0;
        None
    }

    fn spend(&self, usage: &Usage) {
        let (read, written) =
            (usage.input_tokens.unwrap_or_default(), usage.output_tokens.unwrap_or_default());
        let tokens = read.saturating_add(written);
        #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
        let tokens = tokens as f64;
        self.level.lock().unwrap_or_else(PoisonError::into_inner).tokens -= tokens;
    }
}

/// A call that waits, until it is dropped.
struct Waiting<'s>(&'s Shared);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.level.lock().unwrap_or_else(PoisonError::into_inner).waiting -= 1;
    }
}

impl Layer for RateLimit {
    fn stream(&self, inner: &ModelHandle, request: ChatRequest) -> ChunkStream {
        let (inner, limit) = (inner.clone(), self.clone());
        Box::pin(async_stream::stream! {
            match limit.shared.turn(Instant::now(), limit.longest_wait) {
                Ok(None) => {}
                Ok(Some(for_tokens)) => limit.shared.wait(for_tokens).await,
                Err(wait) => {
                    let text = format!("the rate limit of this program leaves no call within {} s", limit.longest_wait.as_secs());
                    yield Err(ProviderError::new(ErrorKind::RateLimited, text).with_retry_after(wait));
                    return;
                }
            }
            let mut stream = inner.stream(request);
            while let Some(chunk) = stream.next().await {
                match &chunk {
                    Ok(StreamChunk::Done(completion)) => limit.shared.spend(&completion.usage),
                    Ok(_) => {}
                    Err(error) => error.usage().into_iter().for_each(|usage| limit.shared.spend(usage)),
                }
                yield chunk;
            }
        })
    }
}
