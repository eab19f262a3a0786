//! Fetching documents from addresses.

use std::fmt;

use bytes::Bytes;

use crate::future::BoxFuture;
use crate::media::MediaType;

/// Fetches documents from `http` or `https` URLs.
///
/// URLs of external documents come from authors and from tools, and those of tools may come from anywhere. An
/// implementation decides which addresses are allowed and limits bytes and time; the one in `attache-transport` refuses
/// all addresses that are not public. A failed fetch never fails a run: the model reads a note instead.
pub trait Fetcher: Send + Sync {
    /// Fetches the content at `url`.
    ///
    /// # Errors
    /// [`FetchError`], with a message for the model and the operator.
    fn fetch<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<Fetched, FetchError>>;
}

/// The content fetched from a URL.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fetched {
    /// The content, without any transfer encoding.
    pub bytes: Bytes,
    /// The media type sent by the server, if it is meaningful.
    pub media_type: Option<MediaType>,
    /// The file name sent by the server, or the last part of the URL; only a name, without a path.
    pub file_name: Option<String>,
}

impl Fetched {
    /// Creates content without further information.
    pub fn new(bytes: impl Into<Bytes>) -> Self {
        Self { bytes: bytes.into(), media_type: None, file_name: None }
    }

    /// Sets the media type.
    #[must_use]
    pub fn with_media_type(mut self, media_type: Option<MediaType>) -> Self {
        self.media_type = media_type;
        self
    }

    /// Sets the file name; a blank name is ignored.
    #[must_use]
    pub fn with_file_name(mut self, name: Option<String>) -> Self {
        self.file_name = name.filter(|name| !name.trim().is_empty());
        self
    }
}

impl fmt::Debug for Fetched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetched")
            .field("bytes", &self.bytes.len())
            .field("media_type", &self.media_type)
            .field("file_name", &self.file_name)
            .finish()
    }
}

/// The kind of a fetch error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FetchErrorKind {
    /// The URL, or one that it redirects to, is not allowed.
    Refused,
    /// There is nothing at the URL (any more).
    NotFound,
    /// Credentials are missing, or a signature has expired.
    Denied,
    /// The content exceeds the size limit.
    TooLarge,
    /// The fetch timed out.
    Timeout,
    /// There is no connection, or the server is unavailable.
    Unavailable,
    /// The response is not usable.
    Malformed,
}

/// A failed fetch. Its message is read by the model and by the operator: one line, lower case, no full stop, and
/// without the URL, which may contain a signature and which the model sees only if the policy allows it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct FetchError {
    kind: FetchErrorKind,
    message: String,
}

impl FetchError {
    /// Creates an error of `kind`.
    pub fn new(kind: FetchErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// The kind of problem.
    pub fn kind(&self) -> FetchErrorKind {
        self.kind
    }

    /// True if the same fetch may succeed later.
    pub fn is_retryable(&self) -> bool {
        matches!(self.kind, FetchErrorKind::Timeout | FetchErrorKind::Unavailable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_no_content() {
        let fetched = Fetched::new("canary".to_owned()).with_file_name(Some("  ".to_owned()));
        assert_eq!(fetched.file_name, None);
        assert!(!format!("{fetched:?}").contains("canary"));
    }
}
