//! HTTP requests as codecs make them.

use std::borrow::Cow;
use std::fmt;

use attache_core::settings::RequestHeaders;
use attache_core::{ErrorKind, ProviderError, Secret};
use http::header::{ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE};
use http::uri::{Authority, Uri};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request};

use crate::body::EncodedBody;
use crate::redact::{MASK, Redactor, SHORTEST_SECRET, shown_url, url_secrets};

/// One HTTP request, ready to be sent or shown. Its `Debug` shows no body, no secret header and no secret of the
/// URL.
#[derive(Clone)]
#[non_exhaustive]
pub struct RequestParts {
    /// The method.
    pub method: Method,
    /// The absolute URL, `http` or `https`. It may carry credentials, so show it through
    /// [`shown_url`](crate::shown_url). A user name and password become an `authorization` header.
    pub url: String,
    /// The body.
    pub body: EncodedBody,
    /// True if the answer comes in one piece, once all of it is made: its beginning then has as long as all of it
    /// ([`Timeouts::total`](crate::Timeouts::total)), since another attempt would be made and paid for anew.
    pub whole: bool,
    /// True if a model answers it, as an [`Exchange`](crate::Exchange) says; an upload, a token or a count is another
    /// request beside it.
    pub asks_model: bool,
    headers: Vec<(HeaderName, HeaderText)>,
}

#[derive(Clone)]
enum HeaderText {
    Plain(Cow<'static, str>),
    Secret { prefix: String, secret: Secret },
}

impl RequestParts {
    /// A POST of JSON: sets `content-type`.
    pub fn post_json(url: impl Into<String>, body: impl Into<EncodedBody>) -> Self {
        let mut parts = Self::get(url);
        parts.set(CONTENT_TYPE, HeaderText::Plain(Cow::Borrowed("application/json")));
        (parts.method, parts.body) = (Method::POST, body.into());
        parts
    }

    /// A GET.
    pub fn get(url: impl Into<String>) -> Self {
        Self {
            method: Method::GET,
            url: url.into(),
            body: EncodedBody::default(),
            whole: false,
            asks_model: false,
            headers: Vec::new(),
        }
    }

    /// Sets a header, replacing one of the same name.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: impl Into<String>) -> Self {
        self.set(name, HeaderText::Plain(Cow::Owned(value.into())));
        self
    }

    /// Takes a header away.
    #[must_use]
    pub fn without_header(mut self, name: &HeaderName) -> Self {
        self.headers.retain(|(known, _)| known != name);
        self
    }

    /// Sets a header whose value nobody may see, replacing one of the same name. `prefix` is the part that is no
    /// secret, such as `"Bearer "`.
    #[must_use]
    pub fn with_secret_header(mut self, name: HeaderName, prefix: &str, secret: &Secret) -> Self {
        self.set(name, HeaderText::Secret { prefix: prefix.to_owned(), secret: secret.clone() });
        self
    }

    /// Sets the headers of the request's options, replacing those of the same name.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] for what is no header name.
    pub fn with_extra_headers(mut self, headers: &RequestHeaders) -> Result<Self, ProviderError> {
        for (name, secret) in headers.iter() {
            let Ok(name) = HeaderName::try_from(name) else {
                let message = format!("{name:?} is no header name");
                return Err(ProviderError::new(ErrorKind::Configuration, message));
            };
            self = self.with_secret_header(name, "", secret);
        }
        Ok(self)
    }

    /// The URL without its secrets, as [`shown_url`](crate::shown_url) shows it.
    pub fn shown_url(&self) -> String {
        shown_url(&self.url)
    }

    /// Names and values in order, secret ones as `***`.
    pub fn shown_headers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.headers.iter().map(|(name, value)| match value {
            HeaderText::Plain(text) => (name.as_str(), &**text),
            HeaderText::Secret { .. } => (name.as_str(), MASK),
        })
    }

    /// True if a secret header holds `secret`.
    pub fn holds_secret(&self, secret: &Secret) -> bool {
        self.headers.iter().any(|(_, value)| match value {
            HeaderText::Secret { secret: sent, .. } => sent.expose().contains(secret.expose()),
            HeaderText::Plain(_) => false,
        })
    }

    /// The redaction of this request's secrets.
    pub fn redactor(&self) -> Redactor {
        let headers = self.headers.iter().filter_map(|(_, value)| match value {
            HeaderText::Secret { secret, .. } => Some(secret.expose()),
            HeaderText::Plain(_) => None,
        });
        let redactor = headers.chain(url_secrets(&self.url)).fold(Redactor::new(), Redactor::with_secret);
        // Credentials of the URL are sent decoded and as base64.
        let Ok((_, Some(user))) = target(&self.url) else { return redactor };
        let user = percent_decoded(&user);
        let redactor = redactor.with_secret(&attache_core::base64::encode(&user));
        let user = String::from_utf8_lossy(&user);
        match user.split_once(':') {
            Some((_, password)) => redactor.with_secret(&user).with_secret(password),
            None => redactor.with_secret(&user),
        }
    }

    /// True if its address has credentials, which are sent as a header.
    pub(crate) fn has_credentials(&self) -> bool {
        matches!(target(&self.url), Ok((_, Some(_))))
    }

    /// Masks headers of an answer that repeat a secret of this request. Most are too short to.
    pub(crate) fn mask_secrets(&self, answer: &mut HeaderMap) {
        // Nearly no address has a secret, which stands before an `@` or behind a `?`.
        let may_hold = memchr::memchr2(b'@', b'?', self.url.as_bytes()).is_some();
        let in_address = (may_hold && !url_secrets(&self.url).is_empty()).then(|| self.redactor());
        for value in answer.values_mut() {
            let is_of_address = |redactor: &Redactor| {
                matches!(redactor.redact(value.to_str().unwrap_or_default()), Cow::Owned(_))
            };
            if in_address.as_ref().is_some_and(is_of_address) {
                *value = HeaderValue::from_static(MASK);
                continue;
            }
            let repeats = self.headers.iter().any(|(_, header)| match header {
                HeaderText::Secret { secret, .. } => {
                    let secret = secret.expose().as_bytes();
                    secret.len() >= SHORTEST_SECRET
                        && value.len() >= secret.len()
                        && memchr::memmem::find(value.as_bytes(), secret).is_some()
                }
                HeaderText::Plain(_) => false,
            });
            if repeats {
                *value = HeaderValue::from_static(MASK);
            }
        }
    }

    fn set(&mut self, name: HeaderName, value: HeaderText) {
        match self.headers.iter_mut().find(|(known, _)| *known == name) {
            Some((_, old)) => *old = value,
            None => self.headers.push((name, value)),
        }
    }

    /// The request with its secrets in it, for whoever sends it.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] for a URL or a header that cannot be sent.
    pub fn to_http(&self) -> Result<Request<EncodedBody>, ProviderError> {
        let (uri, user) = target(&self.url)?;
        let mut request = Request::new(self.body.clone());
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = uri;
        let headers = request.headers_mut();
        // A request that says nothing of encodings lets a server or a proxy choose one (RFC 9110 12.5.3).
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        if let Some(user) = user {
            let credentials = attache_core::base64::encode(percent_decoded(&user));
            headers.insert(AUTHORIZATION, header_value(&AUTHORIZATION, "Basic ", &credentials, true)?);
        }
        for (name, value) in &self.headers {
            let value = match value {
                HeaderText::Plain(Cow::Borrowed(ours)) => HeaderValue::from_static(ours),
                HeaderText::Plain(text) => header_value(name, "", text, false)?,
                HeaderText::Secret { prefix, secret } => header_value(name, prefix, secret.expose(), true)?,
            };
            headers.insert(name, value);
        }
        Ok(request)
    }
}

impl fmt::Debug for RequestParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestParts")
            .field("method", &self.method)
            .field("url", &shown_url(&self.url))
            .field("headers", &self.shown_headers().collect::<Vec<_>>())
            .field("body", &format_args!("{} bytes", self.body.len()))
            .finish()
    }
}

/// A header value; a secret one shows nowhere, not even in the tables of HTTP/2.
fn header_value(
    name: &HeaderName,
    prefix: &str,
    text: &str,
    secret: bool,
) -> Result<HeaderValue, ProviderError> {
    let mut value = HeaderValue::try_from([prefix, text].concat()).map_err(|_| {
        let message = format!("the value of header {name} has characters that cannot be sent");
        ProviderError::new(ErrorKind::Configuration, message)
    })?;
    value.set_sensitive(secret);
    Ok(value)
}

/// The URL without its user name and password, and these.
fn target(url: &str) -> Result<(Uri, Option<String>), ProviderError> {
    let uri: Uri = url.trim().parse().map_err(|_| no_url(url))?;
    let is_http = matches!(uri.scheme_str(), Some("http" | "https"));
    let authority = uri.authority().filter(|_| is_http).ok_or_else(|| no_url(url))?.as_str();
    let (user, host) =
        authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host));
    if host.is_empty() || host.starts_with(':') {
        return Err(no_url(url));
    }
    let Some(user) = user else { return Ok((uri, None)) };
    let (user, host) = (user.to_owned(), Authority::try_from(host).map_err(|_| no_url(url))?);
    let mut parts = uri.into_parts();
    parts.authority = Some(host);
    Ok((Uri::from_parts(parts).map_err(|_| no_url(url))?, Some(user)))
}

/// Refuses a text that is plainly no `http` or `https` URL. It is parsed when it is sent, once.
fn check_base(url: &str) -> Result<(), ProviderError> {
    let behind = |scheme: &str| {
        let (own, rest) = url.split_at_checked(scheme.len())?;
        own.eq_ignore_ascii_case(scheme).then_some(rest.as_bytes())
    };
    let rest = behind("https://").or_else(|| behind("http://")).ok_or_else(|| no_url(url))?;
    let authority = rest.split(|byte| matches!(byte, b'/' | b'?' | b'#')).next().unwrap_or_default();
    let host = authority.rsplit(|byte| *byte == b'@').next().unwrap_or_default();
    let has_host = !host.is_empty() && !host.starts_with(b":");
    let is_written = url.bytes().all(|byte| byte.is_ascii_graphic());
    if has_host && is_written { Ok(()) } else { Err(no_url(url)) }
}

fn no_url(url: &str) -> ProviderError {
    let message = format!("{} is no http or https URL", shown_url(url));
    ProviderError::new(ErrorKind::Configuration, message)
}

/// A text as part of a path, a query or a form: everything but letters, digits and `-._~` as `%` and two digits.
pub fn percent_encoded(text: &[u8]) -> String {
    percent_encoded_but(text, |byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte))
}

/// The same, with the bytes that `stay` as they are, all of which must be ASCII.
pub(crate) fn percent_encoded_but(text: &[u8], stays: impl Fn(u8) -> bool) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text {
        match stays(*byte) {
            true => encoded.push(char::from(*byte)),
            false => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

/// The bytes of a text in which some stand as `%` and two digits.
pub fn percent_decoded(text: &str) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let hex = tail.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.filter(|_| *first == b'%').and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                decoded.push(byte);
                rest = tail.get(2..).unwrap_or_default();
            }
            None => {
                decoded.push(*first);
                rest = tail;
            }
        }
    }
    decoded
}

/// `base` and `path` joined as text: a path prefix and a query of the base are kept (gateways, Azure), slashes are
/// not doubled, nothing is assumed about versions. (openai.md 0.1)
///
/// ```
/// # use attache_transport::join_url;
/// assert_eq!(
///     join_url("https://host/openai/v1/?api-version=1", "/chat/completions")?,
///     "https://host/openai/v1/chat/completions?api-version=1",
/// );
/// # Ok::<(), attache_core::ProviderError>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Configuration`] if `base` is no `http` or `https` URL.
pub fn join_url(base: &str, path: &str) -> Result<String, ProviderError> {
    let base = base.trim();
    check_base(base)?;
    let (base, _fragment) = base.split_once('#').unwrap_or((base, ""));
    let (place, base_query) = base.split_once('?').unwrap_or((base, ""));
    let (path, path_query) = path.split_once('?').unwrap_or((path, ""));
    let mut url = [place.trim_end_matches('/'), "/", path.trim_start_matches('/')].concat();
    let queries = [base_query, path_query].into_iter().filter(|query| !query.is_empty());
    for (count, query) in queries.enumerate() {
        url.push(if count == 0 { '?' } else { '&' });
        url.push_str(query);
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    // openai.md 0.1
    #[test]
    fn base_urls_keep_prefix_and_query() {
        let join = |base, path| join_url(base, path).unwrap();
        assert_eq!(
            join("https://api.openai.com/v1", "chat/completions"),
            "https://api.openai.com/v1/chat/completions"
        );
        assert_eq!(join("http://localhost:11434", "/v1/models"), "http://localhost:11434/v1/models");
        assert_eq!(join("https://x/api/paas/v4/", "/a"), "https://x/api/paas/v4/a");
        assert_eq!(
            join("https://x/v?api-version=1&key=k#f", "/a?alt=sse"),
            "https://x/v/a?api-version=1&key=k&alt=sse"
        );
        for bad in [
            "",
            "api.openai.com/v1",
            "ftp://x",
            "/v1",
            "http://",
            "https:///v1",
            "http://a b",
            "http://:1",
            "http://u@/",
        ] {
            assert_eq!(join_url(bad, "/x").unwrap_err().kind(), ErrorKind::Configuration, "{bad}");
        }
    }

    // Invariant 11.
    #[test]
    fn secrets_are_sent_and_never_shown() {
        let secret = Secret::new("canary-key");
        let request =
            RequestParts::post_json("https://u:canary-p%40ss@h/x?key=canary-q", "canary-body".to_owned())
                .with_secret_header(AUTHORIZATION, "Bearer ", &secret)
                .with_header(HeaderName::from_static("x-a"), "1");
        assert!(!format!("{request:?}").contains("canary"), "{request:?}");
        assert!(request.shown_headers().any(|pair| pair == ("authorization", "***")));

        let sent = request.to_http().unwrap();
        assert_eq!(sent.headers()[AUTHORIZATION], "Bearer canary-key");
        assert!(sent.headers()[AUTHORIZATION].is_sensitive());
        assert_eq!(sent.uri(), "https://h/x?key=canary-q");

        let echo = "canary-key canary-q u:canary-p%40ss canary-p@ss Basic dTpjYW5hcnktcEBzcw==";
        assert_eq!(request.redactor().redact(echo), "*** *** *** *** Basic ***");
    }

    #[test]
    fn credentials_of_the_url_become_a_header() {
        let request = RequestParts::get("http://us%65r:p%40ss@h/").to_http().unwrap();
        assert_eq!(request.headers()[AUTHORIZATION], "Basic dXNlcjpwQHNz");
        assert_eq!(request.uri(), "http://h/");
        assert_eq!(request.headers()["accept-encoding"], "identity");
        let asking = RequestParts::get("http://h/").with_header(ACCEPT_ENCODING, "gzip").to_http().unwrap();
        assert_eq!(asking.headers()["accept-encoding"], "gzip", "the word of the request counts");
    }

    #[test]
    fn what_cannot_be_sent_is_a_configuration_error_without_the_secret() {
        let request =
            RequestParts::get("http://h").with_secret_header(AUTHORIZATION, "", &Secret::new("cana\nry"));
        let error = request.to_http().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration);
        assert!(!format!("{error:?}").contains("cana"));
        let error = RequestParts::get("nonsense://canary:secret@h").to_http().unwrap_err();
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}
