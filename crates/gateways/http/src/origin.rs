//! Base URLs and the origins that credentials are bound to.

use std::fmt;

use http::Uri;

use crate::error::HttpToolsError;

/// Scheme, host and port: the place that credentials belong to.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Origin {
    secure: bool,
    host: String,
    port: u16,
}

impl Origin {
    /// The origin of an absolute `http` or `https` URL.
    pub(crate) fn of(url: &Uri) -> Option<Self> {
        let secure = match url.scheme_str()?.to_ascii_lowercase().as_str() {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        let host = url.host()?.trim_end_matches('.').to_ascii_lowercase();
        let port = url.port_u16().unwrap_or(if secure { 443 } else { 80 });
        (!host.is_empty()).then_some(Self { secure, host, port })
    }

    pub(crate) fn parse(url: &str) -> Option<Self> {
        Self::of(&url.parse().ok()?)
    }
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.secure { "https" } else { "http" };
        write!(f, "{scheme}://{}:{}", self.host, self.port)
    }
}

/// The URL that the paths of endpoints stand behind. It comes from configuration, and from nothing else.
#[derive(Clone, Debug)]
pub(crate) struct Base {
    /// Without a slash at its end.
    pub(crate) url: String,
    pub(crate) origin: Origin,
}

impl Base {
    pub(crate) fn parse(text: &str) -> Result<Self, HttpToolsError> {
        let no_base = |why: &str| HttpToolsError::new(format!("the base URL {why}"));
        let text = text.trim();
        if text.contains(['?', '#']) {
            return Err(no_base(
                "has a query or a fragment; parameters that never change are `with_fixed_query`",
            ));
        }
        let uri: Uri = text.parse().map_err(|_| no_base("is none"))?;
        let origin = Origin::of(&uri)
            .ok_or_else(|| no_base("must begin with http:// or https://, and name a host"))?;
        if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
            return Err(no_base("holds a user name; credentials are given apart"));
        }
        let has_dots = uri.path().split('/').any(|step| matches!(step, "." | ".."));
        if has_dots {
            return Err(no_base("has `.` or `..` in its path"));
        }
        Ok(Self { url: text.trim_end_matches('/').to_owned(), origin })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_scheme_host_and_port() {
        let origin = |url| Origin::parse(url).unwrap();
        assert_eq!(origin("https://Api.Example/a"), origin("https://api.example.:443/b"));
        for other in ["http://api.example", "https://api.example:8443", "https://a.api.example"] {
            assert_ne!(origin("https://api.example"), origin(other), "{other}");
        }
        assert!(Origin::parse("/a").is_none() && Origin::parse("ftp://h/").is_none());
    }

    #[test]
    fn base_urls_that_are_none_are_refused() {
        assert_eq!(Base::parse(" https://h/v1/ ").unwrap().url, "https://h/v1");
        for bad in ["", "/v1", "ftp://h", "https://u:p@h/", "https://h/?a=1", "https://h/a/../b", "https://"]
        {
            assert!(Base::parse(bad).is_err(), "{bad}");
        }
    }
}
