//! Why a server cannot be reached: its name, its port, its certificate, or what it speaks.

use std::time::Duration;

use attache_core::{ErrorKind, ProviderError};
use http::Uri;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;

use crate::output::short;

/// The variables that send requests another way.
const PROXIES: [&str; 6] =
    ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];

/// How far one gets, told in a sentence. `error` is what a request met; `None` if its time ran out.
pub(super) async fn diagnose(url: &str, error: Option<&ProviderError>, limit: Duration) -> String {
    let told = step(url, error, limit).await;
    match PROXIES.iter().any(|name| std::env::var(name).is_ok_and(|value| !value.trim().is_empty())) {
        // What was tried here went straight.
        true => format!("{told} (the environment names a proxy, which may be the reason)"),
        false => told,
    }
}

async fn step(url: &str, error: Option<&ProviderError>, limit: Duration) -> String {
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
        Ok(Err(error)) => return format!("DNS: the name {host} leads nowhere: {error}"),
        Err(_) => return format!("DNS: the name {host} was not found in time"),
    };
    if addresses.is_empty() {
        return format!("DNS: the name {host} has no address");
    }
    match timeout(limit, TcpStream::connect(addresses.as_slice())).await {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => return format!("TCP: {host} takes no connection on port {port}: {error}"),
        Err(_) => return format!("TCP: {host} does not answer on port {port}"),
    }
    let is_tls =
        is_https && error.is_some_and(|error| error.kind() == ErrorKind::Network && !error.is_retryable());
    match is_tls {
        true => format!("TLS: {told}"),
        false => format!("HTTP: a connection stands, but {told}"),
    }
}
