//! Why no answer came.

use std::error::Error as StdError;
use std::io;

use attache_core::{ErrorKind, ProviderError};

use super::guard::NotPublic;
use crate::redact::host_of;

/// Why no answer came.
pub(crate) enum Unanswered {
    /// A time limit passed, or the answer is none that may be taken.
    Failed(ProviderError),
    /// No connection stood, or it broke.
    Broken(Broken),
}

/// No connection stood, or it broke. The causes say nothing of the request but its host.
#[derive(Debug)]
pub(crate) struct Broken {
    error: Box<dyn StdError + Send + Sync>,
    /// True if no connection stood.
    pub(crate) is_connect: bool,
    /// True if whoever connects says that it took too long.
    pub(crate) is_slow: bool,
}

impl Broken {
    pub(super) fn new(error: impl StdError + Send + Sync + 'static, is_connect: bool) -> Self {
        let mut this = Self { error: Box::new(error), is_connect, is_slow: false };
        this.is_slow = this.any(|cause| {
            cause.downcast_ref().is_some_and(|io: &io::Error| io.kind() == io::ErrorKind::TimedOut)
        });
        this
    }

    /// True if any cause is such.
    pub(crate) fn any(&self, is: impl Fn(&(dyn StdError + 'static)) -> bool) -> bool {
        self.causes().any(is)
    }

    /// True if TLS itself refused.
    pub(crate) fn is_tls(&self) -> bool {
        self.any(is_tls)
    }

    fn causes(&self) -> impl Iterator<Item = &(dyn StdError + 'static)> {
        let first: &(dyn StdError + 'static) = &*self.error;
        std::iter::successors(Some(first), |cause| (*cause).source())
    }

    /// The failure before an answer came from `url`, on the way through `proxy`.
    pub(super) fn to_error(&self, url: &str, proxy: Option<String>) -> ProviderError {
        let host = host_of(url);
        let way = proxy.map(|proxy| format!(" through the proxy {proxy}")).unwrap_or_default();
        let root = self.causes().last().map(ToString::to_string).unwrap_or_default();
        if self.any(|cause| cause.is::<NotPublic>()) {
            let message = format!("{host} may not be reached: {NotPublic}");
            return ProviderError::new(ErrorKind::Permission, message);
        }
        let kind = if self.any(|cause| cause.is::<WrongProxy>()) {
            ErrorKind::Configuration
        } else if self.is_slow {
            ErrorKind::Timeout
        } else {
            ErrorKind::Network
        };
        if self.is_connect {
            // A certificate that is not trusted will not be trusted in a second.
            ProviderError::new(kind, format!("cannot connect to {host}{way}: {root}"))
                .with_retryable(self.is_tls().then_some(false))
        } else if self.is_slow {
            ProviderError::new(kind, format!("{host} did not answer{way} in time: {root}"))
        } else {
            let message = format!("{host} broke the connection{way} before it answered: {root}");
            ProviderError::new(kind, message)
        }
    }
}

/// A proxy that will not be of use before it is set up otherwise, and why.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct WrongProxy(pub(super) &'static str);

/// True if TLS itself refused, which I/O errors hide inside them.
fn is_tls(error: &(dyn StdError + 'static)) -> bool {
    let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    error.is::<rustls::Error>() || inner.is_some_and(|inner| is_tls(inner))
}
