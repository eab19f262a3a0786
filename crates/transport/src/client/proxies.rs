//! The proxies that the environment names, and the hosts that are reached without them.

use std::net::IpAddr;

use http::Uri;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};

/// Which proxy a request goes through.
#[derive(Debug)]
pub(super) struct Proxies {
    /// `None` where there are none.
    matcher: Option<Matcher>,
}

impl Proxies {
    /// Every request goes straight.
    pub(super) fn none() -> Self {
        Self { matcher: None }
    }

    /// The proxies of the environment, read with curl's rules: `http_proxy`, `https_proxy` and `all_proxy` name
    /// proxies, `no_proxy` lists the hosts that are reached without: `*`, addresses, networks such as `10.0.0.0/8`,
    /// and names, which stand for the hosts below them too. Capitals do as well.
    pub(super) fn from_environment(variable: impl Fn(&str) -> Option<String>) -> Self {
        let first = |names: [&str; 2]| {
            let set = names.into_iter().filter_map(&variable).find(|value| !value.trim().is_empty());
            set.unwrap_or_default()
        };
        // In CGI the header `Proxy` of any request sets `HTTP_PROXY`.
        let is_cgi = variable("REQUEST_METHOD").is_some();
        let http = if is_cgi { String::new() } else { first(["http_proxy", "HTTP_PROXY"]) };
        let exceptions = first(["no_proxy", "NO_PROXY"]);
        let exceptions: Vec<&str> = exceptions
            .split(|c: char| c == ',' || c.is_whitespace())
            .map(|entry| entry.strip_prefix('*').filter(|rest| rest.starts_with('.')).unwrap_or(entry))
            .collect();
        let (https, all) = (first(["https_proxy", "HTTPS_PROXY"]), first(["all_proxy", "ALL_PROXY"]));
        if http.is_empty() && https.is_empty() && all.is_empty() {
            return Self::none();
        }
        let matcher = Matcher::builder().http(http).https(https).all(all).no(exceptions.join(",")).build();
        Self { matcher: Some(matcher) }
    }

    /// The proxy for a request. This machine is reached without one: no proxy elsewhere can.
    pub(super) fn of(&self, target: &Uri) -> Option<Intercept> {
        let matcher = self.matcher.as_ref()?;
        if is_loopback(target.host()?) { None } else { matcher.intercept(target) }
    }
}

#[cfg(test)]
impl From<Matcher> for Proxies {
    fn from(matcher: Matcher) -> Self {
        Self { matcher: Some(matcher) }
    }
}

/// True if a host of a URL is the machine itself (RFC 6761, section 6.3).
fn is_loopback(host: &str) -> bool {
    let host = host.trim_end_matches('.');
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    match bare.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => {
            let name = host.to_ascii_lowercase();
            name == "localhost" || name.ends_with(".localhost")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where a request goes by an environment.
    fn way(environment: &[(&str, &str)], url: &str) -> Option<String> {
        let read = |name: &str| {
            let found = environment.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let url = url.parse().unwrap();
        Proxies::from_environment(read).of(&url).map(|proxy| proxy.uri().to_string())
    }

    #[test]
    fn proxies_are_chosen_by_scheme() {
        let environment =
            [("http_proxy", "http://one:1"), ("HTTPS_PROXY", "two:2"), ("all_proxy", "http://three:3")];
        assert_eq!(way(&environment, "http://a.test/").as_deref(), Some("http://one:1/"));
        assert_eq!(way(&environment, "https://a.test/").as_deref(), Some("http://two:2/"));
        assert_eq!(way(&environment[2..], "https://a.test/").as_deref(), Some("http://three:3/"));
        assert_eq!(way(&[], "https://a.test/"), None);
        // An empty variable hides none that is set.
        let empty = [("http_proxy", ""), ("HTTP_PROXY", "http://one:1")];
        assert_eq!(way(&empty, "http://a.test/").as_deref(), Some("http://one:1/"));
    }

    #[test]
    fn a_proxy_of_a_cgi_request_is_not_trusted() {
        let environment = [("REQUEST_METHOD", "GET"), ("HTTP_PROXY", "http://evil:1")];
        assert_eq!(way(&environment, "http://a.test/"), None);
    }

    #[test]
    fn no_proxy_is_honoured_by_curls_rules() {
        let all = |exceptions| [("ALL_PROXY", "http://p:1"), ("NO_PROXY", exceptions)];
        let listed = "a.test, .b.test *.c.test,10.0.0.0/8,192.168.1.7,fd00::/8";
        for (url, straight) in [
            ("https://a.test/", true),
            ("https://A.test:8443/", true),
            ("https://x.a.test/", true),
            ("https://xa.test/", false),
            ("https://x.b.test/", true),
            ("https://x.c.test/", true),
            ("https://xc.test/", false),
            ("http://10.1.2.3/", true),
            ("http://11.1.2.3/", false),
            ("http://192.168.1.7:8080/", true),
            ("http://192.168.1.8/", false),
            ("http://[fd00::1]/", true),
        ] {
            assert_eq!(way(&all(listed), url).is_none(), straight, "{url}");
        }
        assert_eq!(way(&all("*"), "https://a.test/"), None);
        let lower = [("all_proxy", "http://p:1"), ("no_proxy", "a.test")];
        assert_eq!(way(&lower, "https://a.test/"), None);
    }

    #[test]
    fn loopback_goes_past_every_proxy() {
        let environment = [("http_proxy", "http://p:1"), ("https_proxy", "http://p:1")];
        for host in ["localhost", "LocalHost", "localhost.", "x.localhost", "127.0.0.1", "127.9.8.7", "[::1]"]
        {
            assert_eq!(way(&environment, &format!("http://{host}:11434/v1")), None, "{host}");
            assert_eq!(way(&environment, &format!("https://{host}/")), None, "{host}");
        }
        assert_eq!(way(&environment, "http://[::ffff:127.0.0.1]/"), None);
        for host in ["localhost.test", "notlocalhost", "128.0.0.1", "[::2]", "0.0.0.0", "127.0.0.1.test"] {
            assert!(way(&environment, &format!("http://{host}/")).is_some(), "{host}");
        }
    }
}
