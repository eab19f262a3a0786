//! The Files API: documents that are uploaded once and named in requests.

use std::time::Duration;

use attache_core::{ErrorKind, ProviderError};
use attache_transport::{
    EncodedBody, FileAnswer, FileApi, FileAsk, FileStep, NewFile, RemoteFile, RequestParts, seconds_between,
};
use http::Method;
use serde::Deserialize;

use crate::codec::{FILES_BETA, MessagesCodec};
use crate::error::{self, Result};
use crate::request::addressed;

/// The shortest and the longest time that a file is kept for.
const LIFETIMES: (u64, u64) = (3_600, 90 * 24 * 3_600);

/// The API's description of a file.
#[derive(Deserialize)]
struct Metadata {
    id: String,
    #[serde(default)]
    created_at: String,
    expires_at: Option<String>,
}

impl FileApi for MessagesCodec {
    fn upload(&self, ask: FileAsk<'_>, file: &NewFile) -> Result<RequestParts> {
        let parts = RequestParts::post_json(self.url_of("files")?, EncodedBody::default());
        let parts = addressed(self, parts, ask.settings, ask.key, Some(FILES_BETA))?;
        let lifetime = file.lifetime.map(|time| time.as_secs().clamp(LIFETIMES.0, LIFETIMES.1).to_string());
        let fields: Vec<_> =
            lifetime.as_deref().map(|seconds| ("expires_in_seconds", seconds)).into_iter().collect();
        Ok(file.in_form(parts, &fields))
    }

    fn answered(&self, _: FileAsk<'_>, _: &NewFile, answer: &FileAnswer) -> Result<FileStep> {
        let Ok(Metadata { id, created_at, expires_at }) = serde_json::from_slice(&answer.body) else {
            return Err(error::of_foreign_shape(&answer.body));
        };
        let seconds = expires_at.and_then(|end| seconds_between(&created_at, &end));
        let lifetime = seconds.map(|seconds| Duration::from_secs(seconds.try_into().unwrap_or_default()));
        Ok(FileStep::Kept(RemoteFile::new(id.as_str(), id.as_str(), lifetime)?))
    }

    fn delete(&self, ask: FileAsk<'_>, id: &str) -> Result<RequestParts> {
        let mut parts = RequestParts::get(self.url_of(&format!("files/{id}"))?);
        parts.method = Method::DELETE;
        addressed(self, parts, ask.settings, ask.key, Some(FILES_BETA))
    }

    fn is_lost(&self, error: &ProviderError) -> bool {
        if error.code() == Some("file_expired") {
            return true;
        }
        let message = error.message().to_ascii_lowercase();
        // Models are not found either.
        matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidRequest)
            && message.contains("file")
            && ["not found", "expired", "deleted", "does not exist"].iter().any(|word| message.contains(word))
    }
}
