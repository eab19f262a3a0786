//! The Files API of the Gemini API: documents that are uploaded once and named in requests (gemini.md 12). Vertex AI
//! has none.

use std::time::Duration;

use attache_core::{ErrorKind, ProviderError};
use attache_transport::{
    EncodedBody, FileAnswer, FileApi, FileAsk, FileStep, NewFile, RemoteFile, RequestParts, seconds_between,
};
use http::{HeaderName, Method, Uri};
use serde::Deserialize;
use serde_json::json;

use crate::codec::GenerateCodec;
use crate::error::{Result, malformed};
use crate::request::{authorized, wire_type};

/// How long the API keeps files, whatever it is asked for.
const LIFETIME: Duration = Duration::from_secs(48 * 3_600);
/// How long to wait before a file that is being processed is looked at again.
const PAUSE: Duration = Duration::from_secs(1);

/// The API's description of a file: alone, or as the member of an answer to an upload.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Resource {
    name: String,
    #[serde(default)]
    uri: String,
    #[serde(default)]
    state: String,
    #[serde(default)]
    create_time: String,
    #[serde(default)]
    expiration_time: String,
    error: Option<Problem>,
}

#[derive(Deserialize)]
struct Problem {
    #[serde(default)]
    message: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Answer {
    Uploaded { file: Resource },
    Looked(Resource),
}

impl FileApi for GenerateCodec {
    fn upload(&self, ask: FileAsk<'_>, file: &NewFile) -> Result<RequestParts> {
        let media_type = wire_type(&file.media_type);
        let body = json!({"file": {"displayName": file.name, "mimeType": media_type}});
        let parts = RequestParts::post_json(self.upload_url()?, body.to_string());
        let parts = authorized(self, ask.settings, parts, ask.key)?;
        Ok(parts
            .with_header(header("x-goog-upload-protocol"), "resumable")
            .with_header(header("x-goog-upload-command"), "start")
            .with_header(header("x-goog-upload-header-content-length"), file.content.len().to_string())
            .with_header(header("x-goog-upload-header-content-type"), media_type))
    }

    fn answered(&self, ask: FileAsk<'_>, file: &NewFile, answer: &FileAnswer) -> Result<FileStep> {
        if let Some(place) = answer.headers.get("x-goog-upload-url") {
            let place = place.to_str().map_err(|_| malformed("the address of the upload cannot be read"))?;
            // The address holds the right to upload, so no key goes there.
            let mut parts = RequestParts::get(self.at_home(place)?);
            parts.method = Method::POST;
            parts.body = EncodedBody::from(file.content.clone());
            let parts = parts
                .with_header(header("x-goog-upload-command"), "upload, finalize")
                .with_header(header("x-goog-upload-offset"), "0");
            return Ok(FileStep::Send(parts));
        }
        let resource = match serde_json::from_slice(&answer.body) {
            Ok(Answer::Uploaded { file } | Answer::Looked(file)) => file,
            Err(cause) => return Err(malformed("the answer is no file").with_source(cause)),
        };
        let Resource { name, uri, state, create_time, expiration_time, error } = resource;
        let seconds = seconds_between(&create_time, &expiration_time);
        let lifetime =
            seconds.map_or(LIFETIME, |seconds| Duration::from_secs(seconds.try_into().unwrap_or_default()));
        let kept = RemoteFile::new(name.as_str(), uri, Some(lifetime))?;
        match state.as_str() {
            "PROCESSING" => {
                let parts = RequestParts::get(self.url(&name)?);
                Ok(FileStep::Wait(PAUSE, authorized(self, ask.settings, parts, ask.key)?))
            }
            "FAILED" => {
                let why = error.map(|problem| problem.message).unwrap_or_default();
                let message = format!("the provider could not process the file: {why}");
                Err(ProviderError::new(
                    ErrorKind::InvalidRequest,
                    message.trim_end_matches([':', ' ']).to_owned(),
                ))
            }
            _ => Ok(FileStep::Kept(kept)),
        }
    }

    fn delete(&self, ask: FileAsk<'_>, id: &str) -> Result<RequestParts> {
        let mut parts = RequestParts::get(self.url(id)?);
        parts.method = Method::DELETE;
        authorized(self, ask.settings, parts, ask.key)
    }

    fn is_lost(&self, error: &ProviderError) -> bool {
        let kinds = [ErrorKind::NotFound, ErrorKind::Permission, ErrorKind::InvalidRequest];
        let message = error.message().to_ascii_lowercase();
        // Of a file that is gone the API does not tell whether it ever was, or is somebody else's.
        let words = ["not exist", "not found", "permission to access", "active state", "expired"];
        kinds.contains(&error.kind())
            && message.contains("file")
            && words.iter().any(|word| message.contains(word))
    }
}

impl GenerateCodec {
    /// An address that the API gave, at the host that requests go to: behind a proxy the API knows only its own, and a
    /// document goes nowhere else.
    fn at_home(&self, place: &str) -> Result<String> {
        let parsed: Uri = place.parse().map_err(|_| malformed("the address of the upload is none"))?;
        let own = self.upload_url()?;
        let end = own.find("://").map_or(0, |at| at + 3);
        let rest = own.get(end..).unwrap_or_default();
        let host = rest.split(['/', '?']).next().unwrap_or_default();
        let scheme = own.get(..end).unwrap_or_default();
        let path = parsed.path_and_query().map_or("/", |path| path.as_str());
        Ok(format!("{scheme}{host}{path}"))
    }
}

fn header(name: &'static str) -> HeaderName {
    HeaderName::from_static(name)
}
