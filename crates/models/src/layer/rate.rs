//! So many calls, and so many tokens, in a time.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use attache_core::{ChatRequest, ChunkStream, ErrorKind, ModelHandle, ProviderError, StreamChunk};
use futures_util::StreamExt;
use tokio::time::Instant;

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
}

impl RateLimit {
    /// At most `calls` (at least one) are started in `per`. A call waits at most 120 s for its turn.
    pub fn new(calls: u32, per: Duration) -> Self {
        let calls = Rate::new(f64::from(calls.max(1)), per);
        let level = Level { at: None, calls: calls.amount, tokens: 0.0 };
        Self {
            shared: Arc::new(Shared { calls, tokens: None, level: Mutex::new(level) }),
            longest_wait: LONGEST_WAIT,
        }
    }

    /// At most about `tokens`, read and written, in `per`. Begins a limit of its own, apart from the clones so far.
    #[must_use]
    pub fn with_tokens(self, tokens: u32, per: Duration) -> Self {
        let tokens = Rate::new(f64::from(tokens.max(1)), per);
        let calls = self.shared.calls;
        let level = Level { at: None, calls: calls.amount, tokens: tokens.amount };
        let shared = Shared { calls, tokens: Some(tokens), level: Mutex::new(level) };
        Self { shared: Arc::new(shared), ..self }
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
    /// Takes a turn: how long to wait for it, if that is not too long.
    fn turn(&self, now: Instant, longest: Duration) -> Result<Duration, Duration> {
        let mut level = self.level.lock().unwrap_or_else(PoisonError::into_inner);
        let passed = level.at.map_or(Duration::ZERO, |at| now.saturating_duration_since(at));
        level.at = Some(now);
        level.calls = self.calls.refilled(level.calls, passed);
        let mut wait = self.calls.until(level.calls, 1.0);
        if let Some(tokens) = self.tokens {
            level.tokens = tokens.refilled(level.tokens, passed);
            wait = wait.max(tokens.until(level.tokens, 0.0));
        }
        if wait > longest {
            return Err(wait);
        }
        level.calls -= 1.0;
        Ok(wait)
    }

    fn spend(&self, tokens: u64) {
        #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
        let tokens = tokens as f64;
        self.level.lock().unwrap_or_else(PoisonError::into_inner).tokens -= tokens;
    }
}

impl Layer for RateLimit {
    fn stream(&self, inner: &ModelHandle, request: ChatRequest) -> ChunkStream {
        let (inner, limit) = (inner.clone(), self.clone());
        Box::pin(async_stream::stream! {
            match limit.shared.turn(Instant::now(), limit.longest_wait) {
                Ok(wait) if wait.is_zero() => {}
                Ok(wait) => tokio::time::sleep(wait).await,
                Err(wait) => {
                    let text = format!("the rate limit of this program leaves no call within {} s", limit.longest_wait.as_secs());
                    yield Err(ProviderError::new(ErrorKind::RateLimited, text).with_retry_after(wait));
                    return;
                }
            }
            let mut stream = inner.stream(request);
            while let Some(chunk) = stream.next().await {
                if let Ok(StreamChunk::Done(completion)) = &chunk {
                    let usage = &completion.usage;
                    let tokens = usage.input_tokens.unwrap_or_default().saturating_add(usage.output_tokens.unwrap_or_default());
                    limit.shared.spend(tokens);
                }
                yield chunk;
            }
        })
    }
}
