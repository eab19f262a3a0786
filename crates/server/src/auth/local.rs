//! Requests from this machine, where no key is asked for.
//!
//! A page of a stranger, open in a browser on this machine, can reach the server too: by its address, or by a name of its
//! own that suddenly means this machine. Its requests are told by the name that they ask for and by their origin.

use std::net::IpAddr;

use http::{HeaderMap, Uri, header};

/// True if a request comes from a program on this machine or from a page that this server, or an allowed origin, served.
pub(crate) fn is_local(peer: Option<IpAddr>, uri: &Uri, headers: &HeaderMap, allowed: &[String]) -> bool {
    if !peer.is_some_and(|peer| peer.to_canonical().is_loopback()) {
        return false;
    }
    let host = host(uri, headers);
    // A request that names a place twice names it alike.
    let others = uri.authority().map(http::uri::Authority::as_str);
    if !host.is_some_and(is_this_machine) || !others.is_none_or(is_this_machine) {
        return false;
    }
    // No proxy stands between, so that the page's origin is the name that it asks for.
    is_of_own_page(host, headers, allowed) && is_of_own_origin(host, headers, allowed)
}

/// The name that a request asks for.
pub(crate) fn host<'r>(uri: &'r Uri, headers: &'r HeaderMap) -> Option<&'r str> {
    match headers.get(header::HOST) {
        Some(host) => host.to_str().ok(),
        None => uri.authority().map(http::uri::Authority::as_str),
    }
}

/// True if a request comes from no page of a stranger: from a page that this server, or an allowed origin, served, or from a
/// program that is no browser. `host` is the name that the request asks for.
pub(crate) fn is_of_own_page(host: Option<&str>, headers: &HeaderMap, allowed: &[String]) -> bool {
    if origin(headers).is_some_and(|origin| allowed.iter().any(|allowed| allowed == origin)) {
        return true;
    }
    // Behind a proxy the name may be another one than that which the browser asked for; the browser knows.
    match headers.get("sec-fetch-site").map(http::HeaderValue::as_bytes) {
        Some(site) => matches!(site, b"same-origin" | b"none"),
        None => is_of_own_origin(host, headers, allowed),
    }
}

/// True if the origin of a request, where it has one, is the name that it asks for, or an allowed one.
fn is_of_own_origin(host: Option<&str>, headers: &HeaderMap, allowed: &[String]) -> bool {
    origin(headers).is_none_or(|origin| {
        let own = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        own.is_some() && own == host || allowed.iter().any(|allowed| allowed == origin)
    })
}

/// The origin of a request; one that cannot be read is nobody's.
fn origin(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::ORIGIN).map(|origin| origin.to_str().unwrap_or_default())
}

/// True if a name with or without a port means this machine, and nothing else ever.
fn is_this_machine(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => name,
        _ => host,
    };
    ["localhost", "127.0.0.1", "[::1]"].iter().any(|own| name.eq_ignore_ascii_case(own))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    fn from_host(fields: &[(&'static str, &str)]) -> bool {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.insert(*name, value.parse().unwrap());
        }
        let allowed = ["https://app.example".to_owned()];
        is_local(Some(Ipv4Addr::LOCALHOST.into()), &Uri::from_static("/"), &headers, &allowed)
    }

    // https://developer.mozilla.org/docs/Web/HTTP/Headers/Sec-Fetch-Site; the DNS of a stranger may name this machine.
    #[test]
    fn pages_of_strangers_are_told_by_host_and_origin() {
        assert!(from_host(&[("host", "localhost:8080")]));
        assert!(from_host(&[("host", "[::1]:8080")]));
        assert!(from_host(&[("host", "127.0.0.1")]));
        assert!(from_host(&[("host", "localhost:1"), ("origin", "http://localhost:1")]));
        assert!(from_host(&[("host", "localhost:1"), ("origin", "https://app.example")]));
        let same = ("sec-fetch-site", "same-origin");
        assert!(from_host(&[("host", "localhost:1"), ("origin", "http://localhost:1"), same]));
        assert!(from_host(&[("host", "localhost:1"), same]));
        assert!(from_host(&[("host", "localhost:1"), ("sec-fetch-site", "none")]));
        let cross = ("sec-fetch-site", "cross-site");
        assert!(from_host(&[("host", "localhost:1"), ("origin", "https://app.example"), cross]));
        for fields in [
            vec![("host", "evil.example:8080")],
            vec![("host", "localhost.evil.example")],
            vec![("host", "localhost:1"), ("origin", "http://localhost:2")],
            vec![("host", "localhost:1"), ("origin", "http://evil.example")],
            vec![("host", "localhost:1"), ("origin", "null")],
            vec![("host", "localhost:1"), cross],
            vec![("host", "localhost:1"), ("sec-fetch-site", "same-site")],
            vec![("host", "localhost:1"), ("origin", "http://localhost:1"), cross],
            // A page of a stranger whose name means this machine is of the same origin as what it asks for.
            vec![("host", "localhost:1"), ("origin", "http://evil.example:1"), same],
            vec![],
        ] {
            assert!(!from_host(&fields), "{fields:?}");
        }
    }

    #[test]
    fn only_this_machine_is_local() {
        let mut headers = HeaderMap::new();
        headers.insert("host", "localhost".parse().unwrap());
        let is = |peer: Option<IpAddr>| is_local(peer, &Uri::from_static("/"), &headers, &[]);
        assert!(is(Some(Ipv6Addr::LOCALHOST.into())));
        assert!(is(Some(Ipv4Addr::LOCALHOST.to_ipv6_mapped().into())));
        assert!(!is(Some(Ipv4Addr::new(192, 168, 1, 2).into())));
        assert!(!is(None));
    }
}
