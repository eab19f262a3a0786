//! Files that providers keep, so that a request names a document instead of holding it.

mod form;
mod memo;
mod owner;
mod send;
mod time;
mod uploads;

use std::time::Duration;

use attache_core::{ModelSettings, ProviderError, Secret};
use bytes::Bytes;
use http::HeaderMap;

pub use self::form::NewFile;
pub(crate) use self::owner::Owner;
pub(crate) use self::send::{Prepared, Uploading};
pub use self::time::seconds_between;
pub use self::uploads::{UploadedFile, Uploads};
use crate::request::RequestParts;

/// The way in which an API keeps files, without I/O: the requests that upload and delete a document, and the meaning
/// of the answers.
///
/// A codec whose API has files implements it and hands it out as [`Codec::files`](crate::Codec::files); which documents
/// may be named where is told by the capabilities, [`PlaceCapabilities::references`](attache_core::capability::PlaceCapabilities).
///
/// [`HttpModel`](crate::HttpModel) does the rest: it uploads once what is large, puts the references into
/// [`ChatRequest::files`](attache_core::ChatRequest::files), where the codec finds them, and uploads again what has
/// expired or is lost.
pub trait FileApi: Send + Sync {
    /// The first request of an upload.
    ///
    /// # Errors
    /// The faults of address and headers.
    fn upload(&self, ask: FileAsk<'_>, file: &NewFile) -> Result<RequestParts, ProviderError>;

    /// The step after a request of an upload that succeeded.
    ///
    /// # Errors
    /// [`ErrorKind::Malformed`](attache_core::ErrorKind::Malformed) for an answer that is none of the API's, and
    /// whatever the provider reports of the file.
    fn answered(
        &self,
        ask: FileAsk<'_>,
        file: &NewFile,
        answer: &FileAnswer,
    ) -> Result<FileStep, ProviderError>;

    /// The request that deletes a file by its id.
    ///
    /// # Errors
    /// The faults of address and headers.
    fn delete(&self, ask: FileAsk<'_>, id: &str) -> Result<RequestParts, ProviderError>;

    /// True if the error of a request may mean that a file which it refers to is no longer there.
    fn is_lost(&self, error: &ProviderError) -> bool;
}

/// The parts that a request about files is made of.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct FileAsk<'a> {
    /// The options, of which headers count.
    pub settings: &'a ModelSettings,
    /// The key, for the codec to place.
    pub key: Option<&'a Secret>,
}

impl<'a> FileAsk<'a> {
    /// A request with these headers and key.
    pub fn new(settings: &'a ModelSettings, key: Option<&'a Secret>) -> Self {
        Self { settings, key }
    }
}

/// A successful answer about a file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FileAnswer {
    /// The headers.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Bytes,
}

impl FileAnswer {
    /// An answer.
    pub fn new(headers: HeaderMap, body: impl Into<Bytes>) -> Self {
        Self { headers, body: body.into() }
    }
}

/// The step after an answer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum FileStep {
    /// Another request.
    Send(RequestParts),
    /// Another request after a while, since the provider is not done with the file.
    Wait(Duration, RequestParts),
    /// The file may be referred to.
    Kept(RemoteFile),
}

/// A file at a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemoteFile {
    /// The id by which it is deleted.
    pub id: String,
    /// The name that stands in requests: the same id or an address.
    pub reference: String,
    /// The time for which it is kept from now on; until it is deleted if nothing is said.
    pub lifetime: Option<Duration>,
}

impl RemoteFile {
    /// A file. `id` and `reference` come from a server, and `id` becomes part of an address: one that could lead
    /// elsewhere is refused.
    ///
    /// # Errors
    /// [`ErrorKind::Malformed`](attache_core::ErrorKind::Malformed) for a blank reference and an id that is none.
    pub fn new(
        id: impl Into<String>,
        reference: impl Into<String>,
        lifetime: Option<Duration>,
    ) -> Result<Self, ProviderError> {
        let (id, reference) = (id.into(), reference.into());
        let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '/');
        if id.is_empty() || !id.chars().all(legal) || reference.trim().is_empty() {
            let message = "the provider gave the file no id that can be used";
            return Err(ProviderError::new(attache_core::ErrorKind::Malformed, message));
        }
        Ok(Self { id, reference, lifetime })
    }
}

#[cfg(test)]
mod tests;
