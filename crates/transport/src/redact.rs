//! Keeping secrets out of errors and logs.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;

use attache_core::{MediaKind, MediaType, ProviderError};
use bytes::Bytes;

/// The text in place of a secret.
pub(crate) const MASK: &str = "***";

/// Secrets of fewer bytes are left alone, since removing them would blot out ordinary words.
pub const SHORTEST_SECRET: usize = 6;

/// The first letters of keys and tokens of well-known services.
const KEY_PREFIXES: [&str; 22] = [
    "sk-",
    "sk_",
    "pk-",
    "rk-",
    "gsk_",
    "xai-",
    "hf_",
    "pplx-",
    "csk-",
    "nvapi-",
    "AIza",
    "ya29.",
    "AKIA",
    "ASIA",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "r8_",
    "eyJ",
];

/// A word must be this long to be taken for a key.
const SHORTEST_KEY: usize = 16;

/// Takes the secrets of one request, and whatever looks like a key, out of text.
#[derive(Clone, Default)]
pub struct Redactor {
    secrets: Vec<String>,
    /// True if words that only look like keys stay.
    given_only: bool,
}

impl Redactor {
    /// A redactor that knows key shapes only.
    pub fn new() -> Self {
        Self::default()
    }

    /// Also removes `secret` wherever it appears. Text shorter than 6 bytes is ignored, since it would blot out
    /// ordinary words.
    #[must_use]
    pub fn with_secret(mut self, secret: &str) -> Self {
        if secret.len() >= SHORTEST_SECRET {
            self.secrets.push(secret.to_owned());
            // A secret that contains another must go first, or its rest would stay.
            self.secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        }
        self
    }

    /// Leaves words alone that only look like keys. Use it for what is not only shown, but fetched, sent back or read as
    /// content: a signed address without its key leads nowhere.
    #[must_use]
    pub fn given_only(mut self) -> Self {
        self.given_only = true;
        self
    }

    /// `text` with `***` in place of secrets.
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut text = Cow::Borrowed(text);
        for secret in &self.secrets {
            if text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), MASK).into();
            }
        }
        match (!self.given_only).then(|| without_keys(&text)).flatten() {
            Some(clean) => clean.into(),
            None => text,
        }
    }

    /// `error` without secrets in anything that it shows.
    pub(crate) fn redact_error(&self, error: ProviderError) -> ProviderError {
        let clean = |text: Option<&str>| text.map(|text| self.redact(text).into_owned());
        let causes = causes(&error);
        let shown =
            [Some(error.message()), error.code(), error.param(), error.response_body(), Some(&*causes)];
        if shown.into_iter().flatten().all(|text| matches!(self.redact(text), Cow::Borrowed(_))) {
            return error;
        }
        let safe = ProviderError::new(error.kind(), self.redact(error.message()))
            .with_retry_after(error.retry_after())
            .with_status(error.status())
            .with_code(clean(error.code()))
            .with_param(clean(error.param()))
            .with_request_id(error.request_id().map(str::to_owned))
            .with_response(error.response().cloned().map(Box::new))
            .with_response_body(clean(error.response_body()))
            .with_retryable(error.is_transient());
        let safe = if error.is_after_output() { safe.after_output() } else { safe };
        if causes.is_empty() { safe } else { safe.with_source(Cause(self.redact(&causes).into_owned())) }
    }

    /// The bytes of a file, redacted if it is a text, by the type that is said of it and by its content. See [`redact_texts`].
    pub fn redact_file(&self, bytes: Bytes, said: &str) -> Bytes {
        match MediaType::resolve(Some(said), Some(&bytes), None).kind() {
            MediaKind::Text => redact_texts(bytes, |text| self.redact(text)),
            _ => bytes,
        }
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").finish_non_exhaustive()
    }
}

/// The bytes of a text, redacted wherever they can be read: as UTF-8, and where other bytes stand between, as in encodings
/// in which secrets read the same as in it (Windows-1252, Shift JIS); as UTF-16 of either order too.
pub fn redact_texts(bytes: Bytes, redact: impl for<'t> Fn(&'t str) -> Cow<'t, str>) -> Bytes {
    // Letters of a secret have a zero beside them in UTF-16.
    if bytes.contains(&0) {
        let little = redacted_utf16(&bytes, u16::from_le_bytes, u16::to_le_bytes, &redact);
        let clean = little.or_else(|| redacted_utf16(&bytes, u16::from_be_bytes, u16::to_be_bytes, &redact));
        if let Some(clean) = clean {
            return clean.into();
        }
    }
    let is_clean = |chunk: std::str::Utf8Chunk<'_>| matches!(redact(chunk.valid()), Cow::Borrowed(_));
    if bytes.utf8_chunks().all(is_clean) {
        return bytes;
    }
    let mut clean = Vec::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        clean.extend_from_slice(redact(chunk.valid()).as_bytes());
        clean.extend_from_slice(chunk.invalid());
    }
    clean.into()
}

/// A text of UTF-16, if it holds anything to redact.
fn redacted_utf16(
    bytes: &[u8],
    read: fn([u8; 2]) -> u16,
    write: fn(u16) -> [u8; 2],
    redact: &impl for<'t> Fn(&'t str) -> Cow<'t, str>,
) -> Option<Vec<u8>> {
    let (units, rest) = bytes.as_chunks::<2>();
    let (mut clean, mut found) = (Vec::new(), false);
    let mut end = |readable: &mut String, clean: &mut Vec<u8>| {
        let redacted = redact(readable);
        found |= matches!(redacted, Cow::Owned(_));
        clean.extend(redacted.encode_utf16().flat_map(write));
        readable.clear();
    };
    let mut readable = String::new();
    for letter in char::decode_utf16(units.iter().copied().map(read)) {
        match letter {
            Ok(letter) => readable.push(letter),
            Err(error) => {
                end(&mut readable, &mut clean);
                clean.extend(write(error.unpaired_surrogate()));
            }
        }
    }
    end(&mut readable, &mut clean);
    clean.extend_from_slice(rest);
    found.then_some(clean)
}

/// The causes of an error whose own words held a secret.
#[derive(Debug)]
struct Cause(String);

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl StdError for Cause {}

fn causes(error: &ProviderError) -> String {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    causes.map(|cause| format!("{cause} ({cause:?})")).collect::<Vec<_>>().join(": ")
}

/// `text` without words that look like keys, and without what follows `Bearer`; `None` if there is nothing to remove.
fn without_keys(text: &str) -> Option<String> {
    let in_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '*' | '+' | '/' | '~');
    let mut clean = String::new();
    let mut found = false;
    let mut rest = text;
    let mut after_bearer = false;
    while let Some(start) = rest.find(in_word) {
        let (gap, tail) = rest.split_at(start);
        // In JSON a letter behind a backslash belongs to no word.
        let escape = if gap.ends_with('\\') { escaped(tail) } else { 0 };
        let (escape, tail) = tail.split_at_checked(escape).unwrap_or(("", tail));
        let (word, tail) = tail.split_at(tail.find(|c| !in_word(c)).unwrap_or(tail.len()));
        clean.push_str(gap);
        clean.push_str(escape);
        // A key may be a step of a path, as in `…/sk-…`.
        let replaced = match word.split('/').any(is_key) {
            true => {
                let parts = word.split('/').map(|part| if is_key(part) { MASK } else { part });
                Some(parts.collect::<Vec<_>>().join("/"))
            }
            false if after_bearer && is_token(word) => Some(MASK.to_owned()),
            false => None,
        };
        found |= replaced.is_some();
        clean.push_str(replaced.as_deref().unwrap_or(word));
        after_bearer = word.eq_ignore_ascii_case("bearer");
        rest = tail;
    }
    clean.push_str(rest);
    found.then_some(clean)
}

/// The bytes that an escape of JSON takes behind its backslash, at the begin of a text.
fn escaped(text: &str) -> usize {
    match text.as_bytes() {
        [b'n' | b'r' | b't' | b'b' | b'f', ..] => 1,
        [b'u', hex @ ..] if hex.iter().take_while(|byte| byte.is_ascii_hexdigit()).count() >= 4 => 5,
        _ => 0,
    }
}

/// True if a word after `Bearer` is a token rather than prose.
fn is_token(word: &str) -> bool {
    word.len() >= SHORTEST_SECRET && word.contains(|c: char| c.is_ascii_digit())
}

fn is_key(word: &str) -> bool {
    word.len() >= SHORTEST_KEY
        && KEY_PREFIXES.iter().any(|prefix| word.starts_with(prefix))
        && word.contains(|c: char| c.is_ascii_digit() || c == '*')
        // A token of three parts; base64 of other JSON begins like it.
        && (!word.starts_with("eyJ") || word.matches('.').count() == 2)
}

/// `url` as it may be seen: without user name and password, the values of its query, and what has no name there, as
/// `***`, except those of `api-version`, `alt` and `beta`.
pub fn shown_url(url: &str) -> String {
    let (url, _fragment) = url.split_once('#').unwrap_or((url, ""));
    let (place, query) = match url.split_once('?') {
        Some((place, query)) => (place, Some(query)),
        None => (url, None),
    };
    let mut shown = match place.split_once("://") {
        Some((scheme, rest)) => {
            let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            let host = authority.rsplit('@').next().unwrap_or(authority);
            format!("{scheme}://{host}{path}")
        }
        None => place.to_owned(),
    };
    for (count, pair) in query.into_iter().flat_map(|query| query.split('&')).enumerate() {
        shown.push(if count == 0 { '?' } else { '&' });
        match hidden(pair) {
            Some(value) => {
                shown.push_str(pair.strip_suffix(value).unwrap_or_default());
                shown.push_str(MASK);
            }
            None => shown.push_str(pair),
        }
    }
    shown
}

/// The part of a parameter that is not shown: its value, or all of it where it has no name.
fn hidden(pair: &str) -> Option<&str> {
    let (name, value) = pair.split_once('=').unwrap_or((pair, pair));
    (!pair.is_empty() && !matches!(name, "api-version" | "alt" | "beta")).then_some(value)
}

/// The host and port of `url`.
pub(crate) fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    authority.rsplit('@').next().unwrap_or_default()
}

/// The parts of a URL that [`shown_url`] hides.
pub(crate) fn url_secrets(url: &str) -> Vec<&str> {
    let (url, _) = url.split_once('#').unwrap_or((url, ""));
    let (place, query) = url.split_once('?').unwrap_or((url, ""));
    let rest = place.split_once("://").map_or("", |(_, rest)| rest);
    let authority = rest.split('/').next().unwrap_or_default();
    let user = authority.rsplit_once('@').map(|(user, _)| user);
    let password = user.and_then(|user| user.split_once(':')).map(|(_, password)| password);
    user.into_iter().chain(password).chain(query.split('&').filter_map(hidden)).collect()
}

#[cfg(test)]
mod tests {
    use attache_core::ErrorKind;

    use super::*;

    #[test]
    fn texts_of_any_encoding_are_redacted() {
        let redactor = Redactor::new().with_secret("canary-1").given_only();
        let redacted =
            |bytes: &'static [u8]| redact_texts(Bytes::from_static(bytes), |text| redactor.redact(text));
        assert_eq!(redacted(b"caf\xe9 canary-1 \xfc")[..], b"caf\xe9 *** \xfc"[..]);
        assert_eq!(redacted("café canary-1".as_bytes())[..], *"café ***".as_bytes());
        assert_eq!(redacted(b"caf\xe9")[..], b"caf\xe9"[..]);
        // UTF-16 of Windows, and of others; an odd byte at the end and half a pair of surrogates stay.
        assert_eq!(
            redacted(b"\xff\xfe\xe9\0c\0a\0n\0a\0r\0y\0-\x001\0\0\xd8!\0")[..],
            b"\xff\xfe\xe9\0*\0*\0*\0\0\xd8!\0"[..]
        );
        assert_eq!(redacted(b"\0c\0a\0n\0a\0r\0y\0-\x001\0!x")[..], b"\0*\0*\0*\0!x"[..]);
    }

    #[test]
    fn known_secrets_and_key_shapes_go() {
        let redactor = Redactor::new().with_secret("canary").with_secret("canary-longer").with_secret("abc");
        let redact = |text| redactor.redact(text).into_owned();
        assert_eq!(redact("key canary-longer, canary!"), "key ***, ***!");
        assert_eq!(redact("abc stays"), "abc stays");
        assert_eq!(
            redact("Incorrect API key provided: sk-proj-***************a1b2. See"),
            "Incorrect API key provided: *** See"
        );
        assert_eq!(redact("{\"key\":\"AIzaSyD-0123456789abcdef\"}"), "{\"key\":\"***\"}");
        assert_eq!(redact("Authorization: Bearer abc123def"), "Authorization: Bearer ***");
        assert_eq!(redact("bearer of bad news"), "bearer of bad news");
        assert_eq!(redact("https://h/v1/sk-0123456789abcdef/x"), "https://h/v1/***/x");
    }

    #[test]
    fn what_only_looks_like_a_key_may_stay() {
        let redactor = Redactor::new().with_secret("canary").given_only();
        let signed = "https://h/x?X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20260101&by=";
        assert_eq!(redactor.redact(signed), signed);
        assert_eq!(redactor.redact(&format!("{signed}canary")), format!("{signed}***"));
    }

    #[test]
    fn ordinary_text_is_borrowed() {
        let redactor = Redactor::new().with_secret("canary");
        for (text, clean) in [
            (r#"{"a":"key:\nsk-proj-abc123def456ghi7"}"#, r#"{"a":"key:\n***"}"#),
            (r#"{"a":"\u00e9sk-proj-abc123def456ghi7"}"#, r#"{"a":"\u00e9***"}"#),
            ("sk-aaaaaaaaaaaaaaa1/sk-bbbbbbbbbbbbbbb2", "***/***"),
            (
                "data:application/json;base64,eyJhIjoxLCJiIjoyfQ",
                "data:application/json;base64,eyJhIjoxLCJiIjoyfQ",
            ),
        ] {
            assert_eq!(Redactor::new().redact(text), clean);
        }
        for text in ["sk-learn is a library", "the task-oriented sk- model", "*** é", "", "eyJ"] {
            assert!(matches!(redactor.redact(text), Cow::Borrowed(_)), "{text}");
        }
    }

    #[test]
    fn urls_lose_credentials() {
        assert_eq!(
            shown_url("https://user:pass@h:1/v1/x?api-version=2&key=canary&token&&beta#frag"),
            "https://h:1/v1/x?api-version=2&key=***&***&&beta"
        );
        assert_eq!(shown_url("http://localhost:1234"), "http://localhost:1234");
        assert_eq!(url_secrets("https://u:p@w@h/x?alt=sse&key=k&token&beta"), ["u:p@w", "p@w", "k", "token"]);
    }

    // Invariant 11.
    #[test]
    fn errors_keep_their_meaning_and_lose_secrets() {
        let redactor = Redactor::new().with_secret("canary");
        let error = ProviderError::new(ErrorKind::Api, "your canary is bad")
            .with_retryable(true)
            .with_status(418)
            .with_code("canary".to_owned())
            .with_response_body("a canary".to_owned())
            .with_source(std::io::Error::other("canary inside"));
        let safe = redactor.redact_error(error);
        let shown = format!("{safe} {safe:?} {} {:?}", safe.source().unwrap(), safe.response_body());
        assert!(!shown.contains("canary"), "{shown}");
        assert_eq!((safe.kind(), safe.is_retryable(), safe.status()), (ErrorKind::Api, true, Some(418)));
        // The word of the provider on another try stays, too.
        for passes in [true, false] {
            let after =
                ProviderError::new(ErrorKind::StreamCut, "canary").with_retryable(passes).after_output();
            let safe = redactor.redact_error(after);
            assert!(safe.is_after_output() && !safe.is_retryable());
            assert_eq!(safe.is_transient(), passes);
        }
    }
}
