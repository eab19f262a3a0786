//! Fetching documents from addresses.

use std::fmt;

use bytes::Bytes;

use crate::future::BoxFuture;
use crate::media::MediaType;

/// Fetches what is at an `http` or `https` address.
///
/// Addresses of external documents come from authors and from tools, and with the latter from anywhere. An
/// implementation decides what may be reached, and bounds bytes and time; `attache-transport` has one that refuses
/// all that is not public. A failed fetch is never a failed run: the model reads a note instead.
pub trait Fetcher: Send + Sync {
    /// The content at `url`.
    ///
    /// # Errors
    /// [`FetchError`], whose text the model and the operator read.
    fn fetch<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<Fetched, FetchError>>;
}

/// The content at an address.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fetched {
    /// The content, without any transfer encoding.
    pub bytes: Bytes,
    /// The type that the server names, if it says anything that means something.
    pub media_type: Option<MediaType>,
    /// The file name that the server gives, or that the address ends with; a name only, no path.
    pub file_name: Option<String>,
}

impl Fetched {
    /// Content of which nothing else is known.
    pub fn new(bytes: impl Into<Bytes>) -> Self {
        Self { bytes: bytes.into(), media_type: None, file_name: None }
    }

    /// Says what it is.
    #[must_use]
    pub fn with_media_type(mut self, media_type: Option<MediaType>) -> Self {
        self.media_type = media_type;
        self
    }

    /// Names it; a blank name counts as none.
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

/// Why nothing was fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FetchErrorKind {
    /// The address, or one that it leads to, is none that may be fetched.
    Refused,
    /// There is nothing (any more).
    NotFound,
    /// Credentials are missing, or a signature has expired.
    Denied,
    /// It is larger than may be fetched.
    TooLarge,
    /// It took too long.
    Timeout,
    /// No connection stands, or the server cannot answer now.
    Unavailable,
    /// The answer is none that can be used.
    Malformed,
}

/// A failed fetch. The text is read by the model and by the operator: one line, lower case, no full stop, and nothing
/// of the address, which may hold a signature and which the model sees only by policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct FetchError {
    kind: FetchErrorKind,
    message: String,
}

impl FetchError {
    /// An error of `kind`.
    pub fn new(kind: FetchErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// The kind of problem.
    pub fn kind(&self) -> FetchErrorKind {
        self.kind
    }

    /// True if the same fetch may work later.
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
