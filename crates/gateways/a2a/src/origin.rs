//! Scheme, host and port: the place that credentials belong to.

use http::Uri;

/// The origin of an absolute `http` or `https` address.
pub(crate) fn origin(url: &str) -> Option<String> {
    let uri: Uri = url.trim().parse().ok()?;
    let (scheme, default) = match uri.scheme_str()?.to_ascii_lowercase().as_str() {
        "https" => ("https", 443),
        "http" => ("http", 80),
        _ => return None,
    };
    let host = uri.host()?.trim_end_matches('.').to_ascii_lowercase();
    let port = uri.port_u16().unwrap_or(default);
    (!host.is_empty()).then(|| format!("{scheme}://{host}:{port}"))
}

/// True if an address holds a user name, which nobody but the program may say.
pub(crate) fn has_user(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().is_some_and(|authority| authority.contains('@'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_scheme_host_and_port() {
        assert_eq!(origin("HTTPS://Api.Example./a"), origin("https://api.example:443/b?c"));
        for other in ["http://api.example", "https://api.example:8443", "https://a.api.example"] {
            assert_ne!(origin("https://api.example"), origin(other), "{other}");
        }
        assert!(origin("/a").is_none() && origin("file:///a").is_none() && origin("ftp://h/").is_none());
        assert!(has_user("https://u@h/") && !has_user("https://h/@a"));
    }
}
