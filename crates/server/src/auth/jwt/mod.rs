//! Tokens of an OpenID Connect provider, or of whoever else signs JSON Web Tokens (RFC 7519).

mod algorithm;
mod claims;
mod keys;
mod refusal;
mod source;
mod token;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use attache_core::fetcher::Fetcher;
use attache_core::fresh;

pub use self::algorithm::JwtAlgorithm;
use self::claims::Expected;
use self::keys::Key;
pub(crate) use self::refusal::Refusal;
use self::source::{Place, Source};
use self::token::Token;
use super::principal::Principal;

/// Tokens of an issuer, by which a server knows who asks: [`Server::jwt`](crate::Server::jwt).
///
/// A token counts if a key of the issuer signed it, and its `iss`, `aud`, `exp` and `nbf` say that it is for this server
/// and for now. Keys are asked for through a [`Fetcher`], at the first token; a guarded one cannot be sent to addresses
/// inside. They are kept for an hour. A token that names a key which nobody knows has them asked for again, once in ten
/// seconds at most, and while the issuer does not answer the known ones are good for a day. Without keys requests are
/// answered with 503, and not as if the token were wrong.
///
/// ```
/// # use std::sync::Arc;
/// use attache_server::Jwt;
/// # use attache_core::BoxFuture;
/// # use attache_core::fetcher::{FetchError, Fetched, Fetcher};
/// # struct Guarded;
/// # impl Fetcher for Guarded {
/// #     fn fetch<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Fetched, FetchError>> {
/// #         Box::pin(async { Ok(Fetched::new("{}")) })
/// #     }
/// # }
///
/// let fetcher = Arc::new(Guarded);
/// let jwt = Jwt::oidc("https://login.example.org", "https://agents.example.org", fetcher)
///     .with_principal_claim("email")
///     .with_scopes("scope", "agents:");
/// # let _ = jwt;
/// ```
pub struct Jwt {
    expected: Expected,
    algorithms: Vec<JwtAlgorithm>,
    source: Source,
}

impl Jwt {
    /// Tokens of an OpenID Connect provider, for an audience. The keys are where the document
    /// `ISSUER/.well-known/openid-configuration` says.
    pub fn oidc(issuer: impl Into<String>, audience: impl Into<String>, fetcher: Arc<dyn Fetcher>) -> Self {
        let issuer = issuer.into();
        Self::new(issuer.clone(), audience.into(), Source::new(Place::Discovered { issuer }, fetcher))
    }

    /// Tokens of an issuer whose set of keys (RFC 7517) is at `url`.
    pub fn jwks(
        issuer: impl Into<String>,
        audience: impl Into<String>,
        url: impl Into<String>,
        fetcher: Arc<dyn Fetcher>,
    ) -> Self {
        Self::new(issuer.into(), audience.into(), Source::new(Place::At(url.into()), fetcher))
    }

    fn new(issuer: String, audience: String, source: Source) -> Self {
        let expected = Expected {
            issuer,
            audiences: vec![audience],
            principal: "sub".to_owned(),
            scopes: None,
            skew: Duration::from_secs(60),
        };
        Self { expected, algorithms: JwtAlgorithm::ALL.to_vec(), source }
    }

    /// Takes tokens for another audience too.
    #[must_use]
    pub fn with_audience(mut self, audience: impl Into<String>) -> Self {
        self.expected.audiences.push(audience.into());
        self
    }

    /// Sets the claim that names the principal; `sub` by default. One inside another is written as a JSON Pointer, such as
    /// `/act/sub`. An `email` counts unless the token says that nobody verified it; it should be one that users cannot
    /// choose.
    #[must_use]
    pub fn with_principal_claim(mut self, claim: impl Into<String>) -> Self {
        self.expected.principal = claim.into();
        self
    }

    /// Sets the claim that says what a principal may do: a text of words or an array of texts, in which the names of
    /// [scopes](crate::Scope) behind `prefix` count. A token without the claim may do nothing. By default every token may do
    /// everything.
    #[must_use]
    pub fn with_scopes(mut self, claim: impl Into<String>, prefix: impl Into<String>) -> Self {
        self.expected.scopes = Some((claim.into(), prefix.into()));
        self
    }

    /// Sets how far the clocks of issuer and server may be apart; 60 s by default.
    #[must_use]
    pub fn with_skew(mut self, skew: Duration) -> Self {
        self.expected.skew = skew;
        self
    }

    /// Takes tokens that are signed in these ways alone. By default all are taken; a key of the issuer says which one it
    /// is for.
    #[must_use]
    pub fn with_algorithms(mut self, algorithms: impl IntoIterator<Item = JwtAlgorithm>) -> Self {
        self.algorithms = algorithms.into_iter().collect();
        self
    }

    /// The principal of a token.
    pub(crate) async fn principal(&self, token: &str) -> Result<Principal, Refusal> {
        let token = Token::read(token)?;
        let algorithm = token.algorithm.filter(|algorithm| self.algorithms.contains(algorithm));
        let algorithm = algorithm.ok_or(Refusal::Algorithm)?;
        let keys = self.source.keys_for(token.key_id.as_deref(), algorithm).await?;
        if keys.is_empty() {
            return Err(Refusal::UnknownKey);
        }
        if !keys.iter().any(|key: &Arc<Key>| key.verifies(algorithm, token.signed, &token.signature)) {
            return Err(Refusal::Signature);
        }
        let now = fresh::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        self.expected.check(&token.claims()?, now)
    }
}

/// True if a text looks like a token, and not like a key.
pub(crate) fn is_token(text: &str) -> bool {
    text.bytes().filter(|byte| *byte == b'.').count() == 2
}

impl fmt::Debug for Jwt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Jwt").field("expected", &self.expected).finish_non_exhaustive()
    }
}
