//! Looks up hosts and lets through what may be reached.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::task::{Context, Poll};

use attache_core::BoxFuture;
use hyper_util::client::legacy::connect::dns::Name;
use tower_service::Service;

use super::public_addresses::{Reach, reach};

/// Looks up the addresses of a host.
type Lookup = Arc<dyn Fn(String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> + Send + Sync>;

/// Which addresses may be connected to, and how hosts are looked up. The addresses of a look-up are checked, and only
/// checked ones are connected to: there is no second look-up between the two.
///
/// Public addresses may be, and nothing that is loopback, private, link-local, shared, multicast, reserved or written in
/// IPv6 to look otherwise.
#[derive(Clone)]
pub struct AddressGuard {
    pub(crate) private: bool,
    lookup: Lookup,
}

/// A host is at no address that may be reached.
#[derive(Debug)]
pub(crate) struct NotPublic;

impl fmt::Display for NotPublic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it is at an address that is not public")
    }
}

impl std::error::Error for NotPublic {}

/// A host is not known.
#[derive(Debug)]
pub(crate) struct Unknown;

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("its host cannot be found")
    }
}

impl std::error::Error for Unknown {}

type BoxError = Box<dyn std::error::Error + Send + Sync>;

impl Default for AddressGuard {
    fn default() -> Self {
        Self::new()
    }
}

impl AddressGuard {
    /// Public addresses, found as the operating system finds them.
    pub fn new() -> Self {
        Self {
            private: false,
            lookup: Arc::new(|host| {
                Box::pin(async move {
                    let found = tokio::net::lookup_host((host, 0)).await?;
                    Ok(found.map(|address| address.ip()).collect())
                })
            }),
        }
    }

    /// Sets whether private addresses may be reached too (loopback, the ranges of RFC 1918, unique local ones, those
    /// behind carriers); `false` by default. Link-local addresses and the metadata services of clouds stay out of reach.
    #[must_use]
    pub fn with_private_addresses(mut self, allowed: bool) -> Self {
        self.private = allowed;
        self
    }

    /// Sets how hosts are looked up; as the operating system does by default. The addresses found are checked
    /// like that.
    #[must_use]
    pub fn with_lookup<L, F>(mut self, lookup: L) -> Self
    where
        L: Fn(String) -> F + Send + Sync + 'static,
        F: Future<Output = io::Result<Vec<IpAddr>>> + Send + 'static,
    {
        self.lookup = Arc::new(move |host| Box::pin(lookup(host)));
        self
    }

    /// True if the address may be connected to.
    pub(crate) fn permits(&self, address: IpAddr) -> bool {
        match reach(address) {
            Reach::Public => true,
            Reach::Private => self.private,
            Reach::Never => false,
        }
    }

    /// Refuses a host that is written as an address that may not be reached.
    pub(crate) fn check_literal(&self, host: &str) -> Result<(), NotPublic> {
        match literal(host) {
            Some(address) if !self.permits(address) => Err(NotPublic),
            _ => Ok(()),
        }
    }

    /// Refuses a host of which it is known here that it may not be reached. Somebody else will look it up again, and
    /// may know more or other addresses.
    pub(crate) async fn check_known(&self, host: &str) -> Result<(), NotPublic> {
        self.check_literal(host)?;
        match (self.lookup)(host.to_owned()).await {
            Ok(found) if literal(host).is_none() && !found.is_empty() => {
                found.into_iter().any(|address| self.permits(address)).then_some(()).ok_or(NotPublic)
            }
            _ => Ok(()),
        }
    }

    async fn addresses(self, host: String) -> Result<std::vec::IntoIter<SocketAddr>, BoxError> {
        let found = (self.lookup)(host).await.map_err(|_| Unknown)?;
        if found.is_empty() {
            return Err(Unknown.into());
        }
        let permitted = found.into_iter().filter(|address| self.permits(*address));
        // The port is set by whoever connects.
        let permitted: Vec<_> = permitted.map(|address| SocketAddr::new(address, 0)).collect();
        if permitted.is_empty() { Err(NotPublic.into()) } else { Ok(permitted.into_iter()) }
    }
}

/// The address that a host is written as.
pub(crate) fn literal(host: &str) -> Option<IpAddr> {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    bare.unwrap_or(host).parse().ok()
}

impl fmt::Debug for AddressGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AddressGuard").field("private", &self.private).finish_non_exhaustive()
    }
}

/// A guard as what connects asks it.
#[derive(Clone, Debug)]
pub(super) struct Resolver(pub(super) AddressGuard);

impl Service<Name> for Resolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        Box::pin(self.0.clone().addresses(name.as_str().to_owned()))
    }
}
