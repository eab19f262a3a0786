//! Scheme, host and port: the place that credentials belong to.

use std::fmt;

use http::Uri;

/// The origin of an `http` or `https` address (RFC 6454). Two addresses of one origin are of one server: the port of the
/// scheme, capitals of scheme and host, and a dot behind the host tell nothing apart.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Origin {
    is_secure: bool,
    host: String,
    port: u16,
}

impl Origin {
    /// The origin of an absolute address; `None` for one of another scheme or without a host.
    pub fn of(url: &Uri) -> Option<Self> {
        let is_secure = match url.scheme_str()? {
            https if https.eq_ignore_ascii_case("https") => true,
            http if http.eq_ignore_ascii_case("http") => false,
            _ => return None,
        };
        let host = url.host()?.trim_end_matches('.').to_ascii_lowercase();
        let port = url.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
        (!host.is_empty()).then_some(Self { is_secure, host, port })
    }

    /// The origin of an address that is a text, with white space around it or not.
    pub fn parse(url: &str) -> Option<Self> {
        Self::of(&url.trim().parse().ok()?)
    }

    /// True if it is asked over TLS.
    pub fn is_secure(&self) -> bool {
        self.is_secure
    }
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_secure { "https" } else { "http" };
        write!(f, "{scheme}://{}:{}", self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_scheme_host_and_port() {
        let origin = |url| Origin::parse(url).unwrap();
        assert_eq!(origin("HTTPS://Api.Example./a"), origin(" https://api.example:443/b?c"));
        for other in ["http://api.example", "https://api.example:8443", "https://a.api.example"] {
            assert_ne!(origin("https://api.example"), origin(other), "{other}");
        }
        for none in ["/a", "file:///a", "ftp://h/", "https://"] {
            assert!(Origin::parse(none).is_none(), "{none}");
        }
        assert!(origin("https://a").is_secure() && !origin("http://a").is_secure());
        assert_eq!(format!("{:?}", origin("https://Api.Example/a?key=secret")), "https://api.example:443");
    }
}
