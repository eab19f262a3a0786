//! Addresses of servers and of what belongs to them.

use http::Uri;

/// The origin of a web address, and its path without a slash at the end.
pub(crate) fn parts(url: &str) -> Option<(String, String)> {
    let uri: Uri = url.parse().ok()?;
    let scheme = uri.scheme_str().filter(|scheme| matches!(*scheme, "https" | "http"))?;
    let authority = uri.authority()?.as_str().rsplit('@').next()?.to_ascii_lowercase();
    let authority = match (scheme, authority.rsplit_once(':')) {
        ("https", Some((host, "443"))) | ("http", Some((host, "80"))) => host.to_owned(),
        _ => authority,
    };
    Some((format!("{scheme}://{authority}"), uri.path().trim_end_matches('/').to_owned()))
}

/// The address of a server as its tokens name it: without query, fragment and user.
pub(crate) fn resource(url: &str) -> Option<String> {
    parts(url).map(|(origin, path)| origin + &path)
}

/// True if tokens for `resource` are for the server at `url`: it is the same, or above it.
pub(crate) fn covers(resource: &str, url: &str) -> bool {
    let (Some((theirs, above)), Some((ours, path))) = (parts(resource), parts(url)) else { return false };
    let below = path.strip_prefix(&*above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    theirs == ours && below
}

/// True for an address of this machine.
pub(crate) fn is_local(url: &str) -> bool {
    let Some((origin, _)) = parts(url) else { return false };
    let host = origin.split("://").nth(1).unwrap_or_default();
    let host = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The place of metadata of a protected resource at its host.
const RESOURCE: &str = "/.well-known/oauth-protected-resource";

/// The places where metadata of a protected resource may be (RFC 9728).
pub(crate) fn of_resource(url: &str) -> Vec<String> {
    let Some((origin, path)) = parts(url) else { return Vec::new() };
    let mut places = vec![format!("{origin}{RESOURCE}{path}")];
    if !path.is_empty() {
        places.push(format!("{origin}{RESOURCE}"));
    }
    places
}

/// True for a place of such metadata that belongs to the host, and to no server below a path of it.
pub(crate) fn is_of_host(place: &str) -> bool {
    let Some((_, path)) = parts(place) else { return false };
    let rest = path.strip_prefix(RESOURCE);
    let leads_out = |step: &str| {
        let step = step.to_ascii_lowercase();
        step.contains("%2e") || step.contains("%2f") || step.contains("%5c") || matches!(&*step, "." | "..")
    };
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')) && !path.split('/').any(leads_out)
}

/// The places where metadata of an authorization server may be (RFC 8414 and OpenID Connect Discovery).
pub(crate) fn of_issuer(issuer: &str) -> Vec<String> {
    const OAUTH: &str = "/.well-known/oauth-authorization-server";
    const OPENID: &str = "/.well-known/openid-configuration";
    let Some((origin, path)) = parts(issuer) else { return Vec::new() };
    let mut places = vec![format!("{origin}{OAUTH}{path}"), format!("{origin}{OPENID}{path}")];
    if !path.is_empty() {
        places.push(format!("{origin}{path}{OPENID}"));
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_for_their_server_and_what_is_below_it() {
        for (resource, url, fits) in [
            ("https://a/mcp", "https://a/mcp", true),
            ("https://A:443/", "https://a/mcp?x=1", true),
            ("https://a/mcp/", "https://a/mcp/x", true),
            ("https://a/mc", "https://a/mcp", false),
            ("https://a/mcp", "https://a/", false),
            ("http://a/mcp", "https://a/mcp", false),
            ("https://a:8443/mcp", "https://a/mcp", false),
            ("https://a@b/mcp", "https://a/mcp", false),
        ] {
            assert_eq!(covers(resource, url), fits, "{resource} {url}");
        }
    }

    #[test]
    fn metadata_is_looked_for_where_the_standards_put_it() {
        assert_eq!(
            of_issuer("https://a/t/1"),
            [
                "https://a/.well-known/oauth-authorization-server/t/1",
                "https://a/.well-known/openid-configuration/t/1",
                "https://a/t/1/.well-known/openid-configuration",
            ]
        );
        assert_eq!(
            of_resource("https://a/mcp"),
            [
                "https://a/.well-known/oauth-protected-resource/mcp",
                "https://a/.well-known/oauth-protected-resource"
            ]
        );
        assert!(
            is_local("http://127.0.0.1:80/") && is_local("http://[::1]:1/x") && is_local("http://localhost/")
        );
        assert!(!is_local("http://localhost.example/") && !is_local("http://10.0.0.1/"));
    }
}
