//! Keys, and where they come from.

use std::fmt;
use std::time::{Duration, SystemTime};

use attache_core::{BoxFuture, Secret};

use crate::error::Result;

/// An access key of AWS, with the token of a session where it belongs to one. Its `Debug` shows nothing of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credentials {
    access_key_id: Secret,
    secret_access_key: Secret,
    session_token: Option<Secret>,
    expires: Option<SystemTime>,
}

impl Credentials {
    /// An access key that does not expire.
    pub fn new(access_key_id: impl Into<Secret>, secret_access_key: impl Into<Secret>) -> Self {
        Self {
            access_key_id: access_key_id.into(),
            secret_access_key: secret_access_key.into(),
            session_token: None,
            expires: None,
        }
    }

    /// Adds the token of the session that the key belongs to.
    #[must_use]
    pub fn with_session_token(mut self, token: impl Into<Secret>) -> Self {
        self.session_token = Some(token.into()).filter(|token| !token.is_empty());
        self
    }

    /// Says when the key ends.
    #[must_use]
    pub fn with_expiry(mut self, expires: SystemTime) -> Self {
        self.expires = Some(expires);
        self
    }

    pub(crate) fn access_key_id(&self) -> &Secret {
        &self.access_key_id
    }

    pub(crate) fn secret_access_key(&self) -> &Secret {
        &self.secret_access_key
    }

    pub(crate) fn session_token(&self) -> Option<&Secret> {
        self.session_token.as_ref()
    }

    pub(crate) fn ends_within(&self, lead: Duration) -> bool {
        self.expires.is_some_and(|expires| expires <= SystemTime::now() + lead)
    }
}

/// Where credentials come from.
pub trait CredentialSource: fmt::Debug + Send + Sync + 'static {
    /// Fetches them. They are kept until shortly before they expire, or until the API refuses them.
    ///
    /// # Errors
    /// [`ErrorKind::Authentication`](attache_core::ErrorKind::Authentication),
    /// [`ErrorKind::Configuration`](attache_core::ErrorKind::Configuration) or
    /// [`ErrorKind::Network`](attache_core::ErrorKind::Network) if there are none to be had.
    ///
    /// # Cancellation
    /// Dropping the future must leave the source usable.
    fn fetch(&self) -> BoxFuture<'_, Result<Credentials>>;

    /// True if fetching again may yield others.
    fn may_change(&self) -> bool {
        true
    }
}

impl CredentialSource for Credentials {
    fn fetch(&self) -> BoxFuture<'_, Result<Credentials>> {
        Box::pin(std::future::ready(Ok(self.clone())))
    }

    fn may_change(&self) -> bool {
        false
    }
}
