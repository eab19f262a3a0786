//! The headers and cookies of whoever runs the agent, and what may be passed on of them.

use std::fmt;

use attache_core::Secret;
use http::header::{COOKIE, HeaderMap, HeaderName};

use crate::error::HttpToolsError;

/// The headers and cookies of the request that a run answers, for tools to pass on.
///
/// Put it into the run's context. Nothing of it is sent on by itself: a tool passes on what its own list names, to its own
/// origin, and the model never sees any of it. It is no part of what is stored of a run, so a run that is resumed gets it
/// again from whoever resumes it.
///
/// ```
/// use attache_core::ToolContext;
/// use attache_http_tools::CallerHeaders;
/// use http::HeaderMap;
///
/// # let request_headers = HeaderMap::new();
/// let context = ToolContext::new().with(CallerHeaders::of(&request_headers));
/// # let _ = context;
/// ```
#[derive(Clone, Default)]
pub struct CallerHeaders {
    headers: Vec<(HeaderName, Secret)>,
    cookies: Vec<(String, Secret)>,
}

impl CallerHeaders {
    /// No headers.
    pub fn new() -> Self {
        Self::default()
    }

    /// The headers and cookies of a request. Values that are no text are left out.
    pub fn of(headers: &HeaderMap) -> Self {
        let mut caller = Self::new();
        for name in headers.keys() {
            let values: Vec<&str> =
                headers.get_all(name).iter().filter_map(|value| value.to_str().ok()).collect();
            if *name == COOKIE {
                let pairs = values.iter().flat_map(|value| value.split(';'));
                for (name, value) in pairs.filter_map(|pair| pair.trim().split_once('=')) {
                    caller = caller.with_cookie(name, value);
                }
            } else if !values.is_empty() {
                caller = caller.with_header(name.clone(), values.join(", "));
            }
        }
        caller
    }

    /// Adds a header, replacing one of the same name.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: impl Into<Secret>) -> Self {
        self.headers.retain(|(known, _)| *known != name);
        self.headers.push((name, value.into()));
        self
    }

    /// Adds a cookie, replacing one of the same name.
    #[must_use]
    pub fn with_cookie(mut self, name: impl Into<String>, value: impl Into<Secret>) -> Self {
        let name = name.into();
        self.cookies.retain(|(known, _)| *known != name);
        self.cookies.push((name, value.into()));
        self
    }

    pub(crate) fn header(&self, name: &HeaderName) -> Option<&Secret> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    pub(crate) fn cookie(&self, name: &str) -> Option<&Secret> {
        self.cookies.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }
}

/// Names, and no values.
impl fmt::Debug for CallerHeaders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<_> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        let cookies: Vec<_> = self.cookies.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("CallerHeaders").field("headers", &headers).field("cookies", &cookies).finish()
    }
}

/// The part of a caller's headers that is passed on: nothing until something is named.
#[derive(Clone, Debug, Default)]
pub(crate) struct Forwarded {
    pub(crate) headers: Vec<HeaderName>,
    pub(crate) cookies: Vec<String>,
}

impl Forwarded {
    pub(crate) fn add_header(&mut self, name: &str) -> Result<(), HttpToolsError> {
        let name = header_name(name)?;
        if is_of_the_connection(&name) {
            let message = format!("the header {name} belongs to a connection and is never passed on");
            return Err(HttpToolsError::new(message));
        }
        if name == COOKIE {
            return Err(HttpToolsError::new("cookies are passed on by their names, not as a whole"));
        }
        if !self.headers.contains(&name) {
            self.headers.push(name);
        }
        Ok(())
    }

    pub(crate) fn add_cookie(&mut self, name: String) -> Result<(), HttpToolsError> {
        check_cookie_name(&name)?;
        if !self.cookies.contains(&name) {
            self.cookies.push(name);
        }
        Ok(())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.headers.is_empty() && self.cookies.is_empty()
    }
}

pub(crate) fn header_name(name: &str) -> Result<HeaderName, HttpToolsError> {
    HeaderName::try_from(name).map_err(|_| HttpToolsError::new(format!("{name:?} is no header name")))
}

pub(crate) fn check_cookie_name(name: &str) -> Result<(), HttpToolsError> {
    match HeaderName::try_from(name) {
        // A cookie's name is a token, as a header's is.
        Ok(_) => Ok(()),
        Err(_) => Err(HttpToolsError::new(format!("{name:?} is no name of a cookie"))),
    }
}

/// True for a cookie's value that ends where it is written to end.
pub(crate) fn is_cookie_value(value: &str) -> bool {
    value.bytes().all(|byte| matches!(byte, b'!'..=b'~') && !b";,\\".contains(&byte))
}

/// True for headers that say something of a connection, a body or a way, and nothing of a caller.
pub(crate) fn is_of_the_connection(name: &HeaderName) -> bool {
    const NEVER: [&str; 17] = [
        "accept-encoding",
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "expect",
        "forwarded",
        "host",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "via",
        "range",
        "http2-settings",
        "max-forwards",
    ];
    let name = name.as_str();
    NEVER.contains(&name) || name.starts_with("proxy-") || name.starts_with("x-forwarded-")
}

#[cfg(test)]
mod tests {
    use http::header::{AUTHORIZATION, HOST};
    use http::{HeaderValue, header};

    use super::*;

    // A22: rules of what is never copied
    #[test]
    fn headers_of_a_connection_cannot_be_allowed() {
        let mut forwarded = Forwarded::default();
        for never in [
            "Host",
            "Content-Length",
            "Transfer-Encoding",
            "Connection",
            "TE",
            "Upgrade",
            "Proxy-Authorization",
            "Cookie",
            "Accept-Encoding",
            "X-Forwarded-For",
            "X-Forwarded-Host",
            "Forwarded",
            "a b",
            "",
        ] {
            assert!(forwarded.add_header(never).is_err(), "{never}");
        }
        forwarded.add_header("Authorization").unwrap();
        forwarded.add_header("authorization").unwrap();
        assert_eq!(forwarded.headers, [AUTHORIZATION]);
        assert!(forwarded.add_cookie("a=b".to_owned()).is_err());
    }

    #[test]
    fn a_request_s_headers_are_read_by_name() {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, HeaderValue::from_static("Bearer canary"));
        headers.insert(HOST, HeaderValue::from_static("evil.example"));
        headers.append(header::COOKIE, HeaderValue::from_static("session=canary-1; theme=dark"));
        headers.append(header::COOKIE, HeaderValue::from_static("b==x="));
        let caller = CallerHeaders::of(&headers);
        assert_eq!(caller.header(&AUTHORIZATION).unwrap().expose(), "Bearer canary");
        let cookie = |name| caller.cookie(name).map(Secret::expose);
        assert_eq!(
            (cookie("session"), cookie("theme"), cookie("b")),
            (Some("canary-1"), Some("dark"), Some("=x="))
        );
        assert!(!format!("{caller:?}").contains("canary"), "{caller:?}");
    }
}
