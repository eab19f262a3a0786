//! Addresses that may be asked for, and where they lead.

use attache_core::fetcher::{FetchError, FetchErrorKind};
use http::Uri;

use crate::client::literal;
use crate::request::percent_encoded_but;

/// Longer ones are no addresses of documents.
const LONGEST: usize = 16 << 10;

/// A checked `http` or `https` address without credentials and fragment. It has no `Debug`: its path and query are
/// nobody's business.
#[derive(Clone)]
pub(super) struct Target {
    uri: Uri,
    secure: bool,
}

impl Target {
    /// Reads an absolute address.
    pub(super) fn parse(url: &str) -> Result<Self, FetchError> {
        Self::checked(&encoded(url.trim().as_bytes()))
    }

    /// Where a redirect of this address leads.
    pub(super) fn redirected(&self, location: &[u8]) -> Result<Self, FetchError> {
        let target = Self::checked(&self.resolve(&encoded(location.trim_ascii())))?;
        if self.secure && !target.secure {
            return Err(refused("its address leads from https to http"));
        }
        Ok(target)
    }

    fn checked(url: &str) -> Result<Self, FetchError> {
        if url.len() > LONGEST {
            return Err(refused("its address is too long"));
        }
        let url = url.split('#').next().unwrap_or_default();
        let Some(scheme) = scheme(url) else { return Err(refused("its address is not valid")) };
        let secure = scheme.eq_ignore_ascii_case("https");
        if !secure && !scheme.eq_ignore_ascii_case("http") {
            return Err(refused("only http and https addresses are fetched"));
        }
        let uri: Uri = url.parse().map_err(|_| refused("its address is not valid"))?;
        let authority = uri.authority().ok_or_else(|| refused("its address is not valid"))?;
        if authority.as_str().contains('@') {
            return Err(refused("its address holds a user name or password"));
        }
        let host = authority.host();
        let is_name =
            !host.is_empty() && host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
        if !is_name && literal(host).is_none() {
            return Err(refused("its address names a host that is not valid"));
        }
        // `http` forgives a port that is none.
        if authority.as_str().len() > host.len() && authority.port_u16().is_none() {
            return Err(refused("its address is not valid"));
        }
        Ok(Self { uri, secure })
    }

    pub(super) fn uri(&self) -> &Uri {
        &self.uri
    }

    /// The host in lower case, without the dot that may end a name.
    pub(super) fn host(&self) -> String {
        let host = self.uri.host().unwrap_or_default().to_ascii_lowercase();
        host.strip_suffix('.').map(str::to_owned).unwrap_or(host)
    }

    pub(super) fn port(&self) -> u16 {
        self.uri.port_u16().unwrap_or(if self.secure { 443 } else { 80 })
    }

    /// The last step of the path, percent-encoded.
    pub(super) fn last_step(&self) -> &str {
        self.uri.path().rsplit('/').next().unwrap_or_default()
    }

    /// A reference in full. (RFC 3986 section 5.2)
    fn resolve(&self, reference: &str) -> String {
        if scheme(reference).is_some() {
            return reference.to_owned();
        }
        let scheme = if self.secure { "https" } else { "http" };
        if reference.starts_with("//") {
            return format!("{scheme}:{reference}");
        }
        let authority = self.uri.authority().map_or("", |authority| authority.as_str());
        let reference = reference.split('#').next().unwrap_or_default();
        let (path, query) = match reference.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (reference, None),
        };
        let (path, query) = match path {
            "" => (self.uri.path().to_owned(), query.or(self.uri.query())),
            path if path.starts_with('/') => (without_dots(path), query),
            path => {
                let folder = self.uri.path().rsplit_once('/').map_or("", |(folder, _)| folder);
                (without_dots(&format!("{folder}/{path}")), query)
            }
        };
        match query {
            Some(query) => format!("{scheme}://{authority}{path}?{query}"),
            None => format!("{scheme}://{authority}{path}"),
        }
    }
}

/// Where a redirect leads that answers a request to `url`, in full.
///
/// # Errors
/// [`FetchErrorKind::Refused`] if one of the two is no `http` or `https` address without credentials, or if it leads from
/// `https` to `http`.
pub fn redirected(url: &str, location: &[u8]) -> Result<String, FetchError> {
    Ok(Target::parse(url)?.redirected(location)?.uri().to_string())
}

/// The text before the first colon, if it is a scheme.
fn scheme(url: &str) -> Option<&str> {
    let (scheme, _) = url.split_once(':')?;
    let starts = scheme.starts_with(|c: char| c.is_ascii_alphabetic());
    let is_scheme = starts && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
    is_scheme.then_some(scheme)
}

/// An absolute path without its `.` and `..`.
fn without_dots(path: &str) -> String {
    let mut steps: Vec<&str> = Vec::new();
    let ends_in_folder = path.ends_with("/.") || path.ends_with("/..");
    for step in path.split('/').skip(1) {
        match step {
            "." => {}
            ".." => {
                steps.pop();
            }
            step => steps.push(step),
        }
    }
    if ends_in_folder {
        steps.push("");
    }
    format!("/{}", steps.join("/"))
}

/// An address as it may stand in a request: what has to be percent-encoded is.
fn encoded(url: &[u8]) -> String {
    percent_encoded_but(url, |byte| matches!(byte, b'!'..=b'~') && !b"\"<>\\^`{|}".contains(&byte))
}

fn refused(message: &str) -> FetchError {
    FetchError::new(FetchErrorKind::Refused, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Result<String, String> {
        Target::parse(text).map(|target| target.uri().to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn addresses_are_read_or_refused() {
        assert_eq!(
            url(" https://Host.Example/a b/ü?x=\"1\"#part ").unwrap(),
            "https://Host.Example/a%20b/%C3%BC?x=%221%22"
        );
        assert_eq!(url("HTTP://host").unwrap(), "http://host/");
        assert_eq!(url("http://[2606:4700::1111]:8080/x").unwrap(), "http://[2606:4700::1111]:8080/x");
        for (text, why) in [
            ("file:///etc/passwd", "only http and https"),
            ("ftp://host/a", "only http and https"),
            ("data:text/plain,hi", "only http and https"),
            ("gopher://host", "only http and https"),
            ("host/a.pdf", "not valid"),
            ("//host/a.pdf", "not valid"),
            ("", "not valid"),
            ("http://", "not valid"),
            ("http:///a", "not valid"),
            ("https:a", "not valid"),
            ("http://host:99999/", "not valid"),
            ("http://host:/", "not valid"),
            ("http://user@host/", "user name"),
            ("http://user:canary@host/", "user name"),
            ("http://host\\@other/", "user name"),
            ("http://häuser.example/", "not valid"),
            ("http://ho st/", "not valid"),
            ("http://[fe80::1%25eth0]/", "not valid"),
        ] {
            let error = url(text).unwrap_err();
            assert!(error.contains(why) && !error.contains("canary"), "{text}: {error}");
        }
        assert!(url(&format!("http://host/{}", "a".repeat(20_000))).unwrap_err().contains("too long"));
    }

    #[test]
    fn hosts_are_compared_in_one_form() {
        let target = Target::parse("https://Files.Example.:8443/a").unwrap();
        assert_eq!((target.host().as_str(), target.port()), ("files.example", 8443));
        assert_eq!(Target::parse("http://h/").unwrap().port(), 80);
    }

    // The examples of RFC 3986 section 5.4, as far as they are http.
    #[test]
    fn redirects_are_resolved() {
        let base = Target::parse("http://a/b/c/d;p?q").unwrap();
        for (reference, whole) in [
            ("g", "http://a/b/c/g"),
            ("./g", "http://a/b/c/g"),
            ("g/", "http://a/b/c/g/"),
            ("/g", "http://a/g"),
            ("//g", "http://g/"),
            ("?y", "http://a/b/c/d;p?y"),
            ("g?y", "http://a/b/c/g?y"),
            ("#s", "http://a/b/c/d;p?q"),
            ("", "http://a/b/c/d;p?q"),
            (".", "http://a/b/c/"),
            ("..", "http://a/b/"),
            ("../g", "http://a/b/g"),
            ("../../../g", "http://a/g"),
            ("/./g", "http://a/g"),
            ("/../g", "http://a/g"),
            ("g;x=1/../y", "http://a/b/c/y"),
            ("g?y/../x", "http://a/b/c/g?y/../x"),
            ("https://other/x#y", "https://other/x"),
        ] {
            let target = base.redirected(reference.as_bytes()).ok().unwrap();
            assert_eq!(target.uri().to_string(), whole, "{reference}");
        }
        for reference in ["javascript:alert(1)", "file:///etc/passwd", "http://u:p@h/"] {
            assert!(base.redirected(reference.as_bytes()).is_err(), "{reference}");
        }
        let secure = Target::parse("https://a/").unwrap();
        assert!(secure.redirected(b"/b").is_ok() && secure.redirected(b"//c").is_ok());
        let error = secure.redirected(b"http://a/").err().unwrap();
        assert!(error.to_string().contains("from https to http"), "{error}");
    }
}
