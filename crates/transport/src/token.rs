//! Access tokens that end: fetched once for all who want one, and renewed before they end.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use attache_core::{BoxFuture, ErrorKind, ProviderError, Secret};
use http::header::AUTHORIZATION;
use tokio::sync::Semaphore;

use crate::auth::Authorizer;
use crate::request::RequestParts;

/// A token is not used when it ends so soon.
const MARGIN: Duration = Duration::from_secs(60);
/// The longest that a token is kept, whatever is said of it.
const LONGEST: Duration = Duration::from_secs(12 * 3_600);

/// An access token, and how long it is good for from when it was asked for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AccessToken {
    /// The token.
    pub secret: Secret,
    /// The time for which it is good.
    pub lifetime: Duration,
}

impl AccessToken {
    /// A token and its life.
    pub fn new(secret: impl Into<Secret>, lifetime: Duration) -> Self {
        Self { secret: secret.into(), lifetime }
    }
}

/// Where access tokens come from.
pub trait TokenSource: fmt::Debug + Send + Sync + 'static {
    /// A new token.
    ///
    /// # Errors
    /// [`ErrorKind::Authentication`] or [`ErrorKind::Network`] if there is none to be had.
    ///
    /// # Cancellation
    /// Dropping the future must leave the source usable.
    fn fetch(&self) -> BoxFuture<'_, Result<AccessToken, ProviderError>>;
}

/// The tokens of a source. However many requests want one, one is fetched at a time, and all of them get it.
///
/// It is an [`Authorizer`]: requests get the token as their `authorization: Bearer`. A token that a server refuses is
/// replaced once.
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
/// use attache_core::{BoxFuture, ProviderError};
/// use attache_transport::{AccessToken, Auth, Authorizer, TokenSource, Tokens};
///
/// #[derive(Debug)]
/// struct Vault;
/// impl TokenSource for Vault {
///     fn fetch(&self) -> BoxFuture<'_, Result<AccessToken, ProviderError>> {
///         Box::pin(async { Ok(AccessToken::new("from the vault", Duration::from_secs(3600))) })
///     }
/// }
/// let signer: Arc<dyn Authorizer> = Arc::new(Tokens::new(Vault));
/// let auth = Auth::from(signer);
/// ```
pub struct Tokens<S> {
    source: S,
    state: Mutex<State>,
    /// The permit of the one who fetches.
    fetching: Semaphore,
}

#[derive(Debug, Default)]
struct State {
    token: Option<Kept>,
    failure: Option<Failure>,
}

#[derive(Debug)]
struct Kept {
    secret: Secret,
    came: Instant,
    ends: Instant,
}

/// A fetch that failed, for those who waited for it.
#[derive(Debug)]
struct Failure {
    at: Instant,
    kind: ErrorKind,
    message: String,
    is_retryable: bool,
}

impl<S: TokenSource> Tokens<S> {
    /// The tokens of `source`. None is fetched yet.
    pub fn new(source: S) -> Self {
        Self { source, state: Mutex::default(), fetching: Semaphore::new(1) }
    }

    /// Where they come from.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// A token that is good for a while, fetched if none is there.
    ///
    /// # Errors
    /// As for [`TokenSource::fetch`].
    ///
    /// # Cancellation
    /// Dropping the future lets the next who waits fetch the token.
    pub async fn token(&self) -> Result<Secret, ProviderError> {
        if let Some(known) = self.known() {
            return Ok(known);
        }
        let asked = Instant::now();
        // It is never closed, so there is nothing to fail.
        let _fetching = self.fetching.acquire().await;
        if let Some(outcome) = self.known().map(Ok).or_else(|| self.since(asked)) {
            return outcome;
        }
        let asked = Instant::now();
        let outcome = self.source.fetch().await;
        let mut state = self.state();
        match outcome {
            Ok(AccessToken { secret, lifetime }) => {
                let ends = asked + lifetime.min(LONGEST);
                *state = State::default();
                state.token = Some(Kept { secret: secret.clone(), came: Instant::now(), ends });
                Ok(secret)
            }
            Err(error) => {
                let (kind, message) = (error.kind(), error.message().to_owned());
                let is_retryable = error.is_retryable();
                state.failure = Some(Failure { at: Instant::now(), kind, message, is_retryable });
                Err(error)
            }
        }
    }

    /// Forgets the token, which a server refused.
    pub fn forget(&self) {
        self.state().token = None;
    }

    fn known(&self) -> Option<Secret> {
        let state = self.state();
        let token = state.token.as_ref().filter(|token| token.ends > Instant::now() + MARGIN)?;
        Some(token.secret.clone())
    }

    /// The outcome of a fetch that ended after `asked`: one of one's own would bring the same.
    fn since(&self, asked: Instant) -> Option<Result<Secret, ProviderError>> {
        let state = self.state();
        if let Some(token) = state.token.as_ref().filter(|token| token.came >= asked) {
            return Some(Ok(token.secret.clone()));
        }
        let failure = state.failure.as_ref().filter(|failure| failure.at >= asked)?;
        let error = ProviderError::new(failure.kind, failure.message.as_str());
        Some(Err(error.with_retryable(failure.is_retryable)))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: TokenSource> Authorizer for Tokens<S> {
    fn authorize<'a>(&'a self, request: &'a mut RequestParts) -> BoxFuture<'a, Result<(), ProviderError>> {
        Box::pin(async move {
            let token = self.token().await?;
            *request = request.clone().with_secret_header(AUTHORIZATION, "Bearer ", &token);
            Ok(())
        })
    }

    fn refused(&self, request: &RequestParts, error: &ProviderError) -> bool {
        let is_stale = error.kind() == ErrorKind::Authentication;
        if is_stale {
            // A token that was fetched since is not the one that was refused.
            self.state().token.take_if(|token| request.holds_secret(&token.secret));
        }
        is_stale
    }
}

impl<S: fmt::Debug> fmt::Debug for Tokens<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens").field("source", &self.source).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Numbers its tokens, each of which takes a while; every third fetch fails.
    #[derive(Debug, Default)]
    struct Slow {
        fetched: AtomicUsize,
        lifetime: u64,
        fails: bool,
    }

    impl TokenSource for Slow {
        fn fetch(&self) -> BoxFuture<'_, Result<AccessToken, ProviderError>> {
            Box::pin(async {
                let number = self.fetched.fetch_add(1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(200)).await;
                if self.fails {
                    return Err(ProviderError::new(ErrorKind::Authentication, "no"));
                }
                Ok(AccessToken::new(format!("t{number}"), Duration::from_secs(self.lifetime)))
            })
        }
    }

    async fn together(tokens: &Arc<Tokens<Slow>>) -> Vec<Result<String, ErrorKind>> {
        let all = (0..50).map(|_| {
            let tokens = Arc::clone(tokens);
            tokio::spawn(async move { tokens.token().await })
        });
        let mut outcomes = Vec::new();
        for token in all.collect::<Vec<_>>() {
            let outcome = token.await.unwrap();
            outcomes.push(outcome.map(|token| token.expose().to_owned()).map_err(|error| error.kind()));
        }
        outcomes.dedup();
        outcomes
    }

    #[tokio::test(start_paused = true)]
    async fn one_token_is_fetched_for_all_who_want_one() {
        for lifetime in [3600, 10] {
            let tokens = Arc::new(Tokens::new(Slow { lifetime, ..Slow::default() }));
            assert_eq!(together(&tokens).await, [Ok("t0".to_owned())]);
            tokens.forget();
            assert_eq!(tokens.token().await.unwrap().expose(), "t1");
        }
        let failing = Arc::new(Tokens::new(Slow { fails: true, ..Slow::default() }));
        assert_eq!(together(&failing).await, [Err(ErrorKind::Authentication)]);
        assert_eq!(failing.source().fetched.load(Ordering::SeqCst), 1);
        assert!(failing.token().await.is_err());
        assert_eq!(failing.source().fetched.load(Ordering::SeqCst), 2, "later it may be otherwise");
    }

    #[tokio::test(start_paused = true)]
    async fn who_gives_up_leaves_the_fetching_to_another() {
        let tokens = Arc::new(Tokens::new(Slow { lifetime: 3600, ..Slow::default() }));
        let hasty = tokio::time::timeout(Duration::from_millis(100), tokens.token()).await;
        assert!(hasty.is_err());
        assert_eq!(tokens.token().await.unwrap().expose(), "t1");
    }

    #[tokio::test(start_paused = true)]
    async fn a_late_refusal_leaves_the_token_that_was_fetched_since() {
        let tokens = Tokens::new(Slow { lifetime: 3600, ..Slow::default() });
        let authorized = async || {
            let mut request = RequestParts::get("https://host");
            tokens.authorize(&mut request).await.unwrap();
            request
        };
        let refusal = ProviderError::new(ErrorKind::Authentication, "old");
        let (one, other) = (authorized().await, authorized().await);
        assert!(tokens.refused(&one, &refusal));
        authorized().await;
        assert!(tokens.refused(&other, &refusal), "the newer one is worth an attempt");
        authorized().await;
        assert_eq!(tokens.source().fetched.load(Ordering::SeqCst), 2);
    }
}
