//! Addresses that an agent or its caller names.

use attache_transport::{Origin, percent_decoded};
use http::Uri;

/// True if an address holds a user name, which nobody but the program may say.
pub(crate) fn has_user(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().is_some_and(|authority| authority.contains('@'))
}

/// True for an address at the place of an agent or below: of the same origin, and on no way out of its path.
pub(crate) fn is_below(agent: &str, url: &str) -> bool {
    let path = |url: &str| url.trim().parse::<Uri>().ok().map(|uri| uri.path().to_owned());
    let (Some(own), Some(path)) = (path(agent), path(url)) else { return false };
    // The card stands at the agent's place or below.
    let own = match own.rsplit_once("/.well-known/") {
        Some((place, _)) => place,
        None if own.ends_with(".json") => own.rsplit_once('/').map_or("", |(place, _)| place),
        None => own.trim_end_matches('/'),
    };
    let leads_out = |step: &str| {
        let step = percent_decoded(step);
        matches!(&*step, b"." | b"..") || step.iter().any(|byte| matches!(byte, b'/' | b'\\'))
    };
    Origin::parse(agent).is_some_and(|agent| Origin::parse(url) == Some(agent))
        && path.strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        && !path.split('/').any(leads_out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_stand_before_the_host() {
        assert!(has_user("https://u@h/") && !has_user("https://h/@a"));
    }

    #[test]
    fn files_of_an_agent_stand_at_its_place_or_below() {
        for (agent, url, is_there) in [
            ("https://a", "https://a/files/x.pdf", true),
            ("https://a/.well-known/agent-card.json", "https://A:443/files/x.pdf", true),
            ("https://a/leases", "https://a/leases/x.pdf?page=2", true),
            ("https://a/leases/", "https://a/leases", true),
            ("https://a/leases/card.json", "https://a/leases/x.pdf", true),
            ("https://a/leases", "https://a/x.pdf", false),
            ("https://a/leases", "https://a/leases-of-others/x.pdf", false),
            ("https://a/leases", "https://a/leases/../x.pdf", false),
            ("https://a/leases", "https://a/leases/%2E%2e/x.pdf", false),
            ("https://a/leases", "https://a/leases/..%2fx.pdf", false),
            ("https://a/leases", "https://a/leases/..%5Cx.pdf", false),
            ("https://a/leases", "http://a/leases/x.pdf", false),
            ("https://a/leases", "https://a:8443/leases/x.pdf", false),
            ("https://a/leases", "https://b/leases/x.pdf", false),
        ] {
            assert_eq!(is_below(agent, url), is_there, "{agent} {url}");
        }
    }
}
