//! The reason why a server cannot be reached: its name, its port, its certificate, or its protocol.

use std::time::Duration;

use attache_core::{ErrorKind, ProviderError};
use attache_transport::HttpClient;
use http::Uri;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;

use crate::output::short;

/// Tells in a sentence how far a request gets. `error` is the one that it met; `None` if its time ran out.
pub(super) async fn diagnose(url: &str, error: Option<&ProviderError>, limit: Duration) -> String {
    match (HttpClient::shared().proxy(url), error) {
        // An attempt from here goes straight, which says nothing of the way through a proxy.
        (Some(_), Some(error)) => short(error.message(), 300),
        (Some(proxy), None) => {
            format!("nothing was answered through the proxy {proxy} within {} s", limit.as_secs_f64())
        }
        (None, error) => straight(url, error, limit).await,
    }
}

/// Tells how far a request gets without a proxy: to the name, the port, TLS or HTTP.
pub(super) async fn straight(url: &str, error: Option<&ProviderError>, limit: Duration) -> String {
    let told = match error {
        Some(error) => short(error.message(), 300),
        None => format!("nothing was answered within {} s", limit.as_secs_f64()),
    };
    let Ok(uri) = url.parse::<Uri>() else { return told };
    let Some(host) = uri.host() else { return told };
    let is_https = uri.scheme_str() == Some("https");
    let port = uri.port_u16().unwrap_or(if is_https { 443 } else { 80 });
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let addresses = match timeout(limit, lookup_host((bare, port))).await {
        Ok(Ok(addresses)) => addresses.collect::<Vec<_>>(),
        Ok(Err(error)) => return format!("DNS: the name {host} cannot be resolved: {error}"),
        Err(_) => return format!("DNS: resolving the name {host} timed out"),
    };
    if addresses.is_empty() {
        return format!("DNS: the name {host} has no address");
    }
    match timeout(limit, TcpStream::connect(addresses.as_slice())).await {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => return format!("TCP: {host} does not accept connections on port {port}: {error}"),
        Err(_) => return format!("TCP: {host} does not answer on port {port}"),
    }
    let is_tls =
        is_https && error.is_some_and(|error| error.kind() == ErrorKind::Network && !error.is_retryable());
    match is_tls {
        true => format!("TLS: {told}"),
        false => format!("HTTP: connected, but {told}"),
    }
}
