//! The files of OpenAI and of servers that imitate it: documents that are uploaded once and named in requests.

use std::time::Duration;

use attache_core::{ErrorKind, MediaKind, ProviderError};
use attache_transport::{FileAnswer, FileApi, FileAsk, FileStep, NewFile, RemoteFile, RequestParts};
use http::Method;
use serde::Deserialize;

use crate::error::{self, Result};
use crate::server::Server;

/// The shortest and the longest time that a file is kept for, unless it is kept until it is deleted.
const LIFETIMES: (u64, u64) = (3_600, 30 * 24 * 3_600);

/// The server's description of a file. The times are seconds since 1970.
#[derive(Deserialize)]
struct FileObject {
    id: String,
    created_at: Option<u64>,
    expires_at: Option<u64>,
}

impl FileApi for Server {
    fn upload(&self, ask: FileAsk<'_>, file: &NewFile) -> Result<RequestParts> {
        let parts = self.envelope("files", ask.settings, ask.key)?;
        let purpose = match file.media_type.kind() {
            MediaKind::Image => "vision",
            _ => "user_data",
        };
        let lifetime = file.lifetime.map(|time| time.as_secs().clamp(LIFETIMES.0, LIFETIMES.1).to_string());
        let mut fields = vec![("purpose", purpose)];
        if let Some(seconds) = &lifetime {
            fields.extend([("expires_after[anchor]", "created_at"), ("expires_after[seconds]", seconds)]);
        }
        Ok(file.in_form(parts, &fields))
    }

    fn answered(&self, _: FileAsk<'_>, _: &NewFile, answer: &FileAnswer) -> Result<FileStep> {
        if error::is_error(&answer.body) {
            return Err(error::reported(&answer.body));
        }
        let Ok(FileObject { id, created_at, expires_at }) = serde_json::from_slice(&answer.body) else {
            return Err(error::no_answer(&answer.body));
        };
        let seconds = created_at.zip(expires_at).map(|(start, end)| end.saturating_sub(start));
        Ok(FileStep::Kept(RemoteFile::new(id.as_str(), id.as_str(), seconds.map(Duration::from_secs))?))
    }

    fn delete(&self, ask: FileAsk<'_>, id: &str) -> Result<RequestParts> {
        let mut parts = self.envelope(&format!("files/{id}"), ask.settings, ask.key)?;
        parts.method = Method::DELETE;
        Ok(parts)
    }

    fn is_lost(&self, error: &ProviderError) -> bool {
        is_lost(error)
    }
}

/// Servers say it in words of their own, and some name only the member.
fn is_lost(error: &ProviderError) -> bool {
    let kinds =
        [ErrorKind::NotFound, ErrorKind::InvalidRequest, ErrorKind::InvalidHistory, ErrorKind::Permission];
    let message = error.message().to_ascii_lowercase();
    let words = ["not found", "no such", "not exist", "expired", "deleted", "no longer", "access"];
    kinds.contains(&error.kind())
        && (message.contains("file") && words.iter().any(|word| message.contains(word))
            || error.param().is_some_and(|param| param.contains("file_id")))
}
