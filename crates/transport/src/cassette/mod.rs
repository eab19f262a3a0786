//! Recorded traffic: the file format of recordings, cutting their bodies into chunks, comparing their requests.
//!
//! A recording is a JSON file:
//!
//! ```json
//! {"source": "", "licence": "", "api": "anthropic", "interactions": [
//!     {"request": {"method": "POST", "uri": "/v1/messages", "headers": {"accept": "*/*"}, "body": {"model": "…"}},
//!      "response": {"status": 200, "headers": {"content-type": "text/event-stream"}, "body_text": "event: …"}}]}
//! ```
//!
//! A body is JSON (`body`), text as it went over the wire (`body_text`), or binary (`body_base64`). `elided` names
//! strings of a request that were cut.

mod chunk;
mod diff;
mod recorder;
mod write;

#[cfg(test)]
mod tests;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

pub use self::chunk::chunked;
pub use self::diff::{Difference, json_differences};
pub use self::recorder::{Recorder, recorded_address, redacted};

/// The largest recording that is read, 64 MiB.
const MAX_FILE: u64 = 64 << 20;

/// A recording: requests and responses as they went over the wire.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Cassette {
    /// Where it was recorded: repository, path and commit.
    pub source: String,
    /// The licence of the source.
    pub licence: String,
    /// The name of the API, such as `openai-chat`.
    pub api: String,
    /// Requests and responses in order.
    pub interactions: Vec<Interaction>,
    /// The number of other interactions of the same recording that were left out.
    pub dropped_interactions: u64,
}

/// A request and its response.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Interaction {
    /// The request of the client.
    pub request: RecordedCall,
    /// The answer of the provider.
    pub response: RecordedResponse,
}

/// A recorded request.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RecordedCall {
    /// The HTTP method.
    pub method: String,
    /// The URI; without a host where it was not recorded.
    pub uri: String,
    /// The headers that were kept.
    pub headers: HeaderMap,
    /// The body.
    pub body: RecordedBody,
    /// Strings of the body that were cut.
    pub elided: Vec<Elided>,
}

/// A recorded response.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RecordedResponse {
    /// The HTTP status.
    pub status: u16,
    /// The headers that were kept.
    pub headers: HeaderMap,
    /// The body.
    pub body: RecordedBody,
}

/// A recorded body.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecordedBody {
    /// JSON, as its text stands in the recording.
    Json(Bytes),
    /// Text as recorded, such as an event stream; may be empty.
    Text(Bytes),
    /// Binary, such as an AWS event stream.
    Binary(Bytes),
    /// Nothing was recorded.
    None,
}

impl RecordedBody {
    /// The bytes, whatever they are.
    pub fn bytes(&self) -> Bytes {
        match self {
            RecordedBody::Json(bytes) | RecordedBody::Text(bytes) | RecordedBody::Binary(bytes) => {
                bytes.clone()
            }
            RecordedBody::None => Bytes::new(),
        }
    }

    /// The body as JSON, where it is that.
    pub fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.bytes()).ok()
    }
}

impl fmt::Debug for RecordedBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self {
            RecordedBody::Json(_) => "Json",
            RecordedBody::Text(_) => "Text",
            RecordedBody::Binary(_) => "Binary",
            RecordedBody::None => "None",
        };
        write!(f, "{kind}({} bytes)", self.bytes().len())
    }
}

/// A string that was cut to its first 256 characters.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[non_exhaustive]
pub struct Elided {
    /// Its JSON pointer.
    pub pointer: String,
    /// The number of its characters.
    pub chars: u64,
    /// The SHA-256 of all of it, in hexadecimal.
    pub sha256: String,
}

/// Why a recording or an index cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CassetteError {
    /// The file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The file cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The file is over 64 MiB.
    #[error("{} is over 64 MiB", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// It is not JSON of this format.
    #[error("not a recording")]
    Parse(#[from] serde_json::Error),
    /// A part of it contradicts the format.
    #[error("interaction {interaction}: {problem}")]
    Invalid {
        /// The interaction's number, from 0.
        interaction: usize,
        /// The fault.
        problem: &'static str,
    },
}

impl Cassette {
    /// Reads a recording.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, is over 64 MiB, or does not hold the format.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, CassetteError> {
        Self::parse(&read(path.as_ref())?)
    }

    /// Parses a recording.
    ///
    /// # Errors
    ///
    /// When the text does not hold the format.
    pub fn parse(text: &str) -> Result<Self, CassetteError> {
        let file: File<'_> = serde_json::from_str(text)?;
        let interactions = file.interactions.into_iter().enumerate();
        let interactions = interactions.map(|(number, raw)| {
            raw.convert().map_err(|problem| CassetteError::Invalid { interaction: number, problem })
        });
        Ok(Self {
            source: file.source,
            licence: file.licence,
            api: file.api,
            interactions: interactions.collect::<Result<_, _>>()?,
            dropped_interactions: file.dropped_interactions,
        })
    }
}

fn read(path: &Path) -> Result<String, CassetteError> {
    let failed = |source| CassetteError::Read { path: path.to_owned(), source };
    if fs::metadata(path).map_err(failed)?.len() > MAX_FILE {
        return Err(CassetteError::TooLarge { path: path.to_owned() });
    }
    fs::read_to_string(path).map_err(failed)
}

#[derive(Deserialize)]
struct File<'a> {
    #[serde(default)]
    source: String,
    #[serde(default)]
    licence: String,
    #[serde(default)]
    api: String,
    #[serde(borrow)]
    interactions: Vec<RawInteraction<'a>>,
    #[serde(default)]
    dropped_interactions: u64,
}

#[derive(Deserialize)]
struct RawInteraction<'a> {
    #[serde(borrow)]
    request: RawRequest<'a>,
    response: RawResponse<'a>,
}

#[derive(Deserialize)]
struct RawRequest<'a> {
    method: String,
    uri: String,
    #[serde(default)]
    headers: serde_json::Map<String, Value>,
    #[serde(borrow)]
    body: Option<&'a RawValue>,
    body_text: Option<String>,
    body_base64: Option<String>,
    #[serde(default)]
    elided: Vec<Elided>,
}

#[derive(Deserialize)]
struct RawResponse<'a> {
    status: u16,
    #[serde(default)]
    headers: serde_json::Map<String, Value>,
    #[serde(borrow)]
    body: Option<&'a RawValue>,
    body_text: Option<String>,
    body_base64: Option<String>,
}

impl RawInteraction<'_> {
    fn convert(self) -> Result<Interaction, &'static str> {
        let (request, response) = (self.request, self.response);
        Ok(Interaction {
            request: RecordedCall {
                method: request.method,
                uri: request.uri,
                headers: headers(&request.headers)?,
                body: body(request.body, request.body_text, request.body_base64)?,
                elided: request.elided,
            },
            response: RecordedResponse {
                status: response.status,
                headers: headers(&response.headers)?,
                body: body(response.body, response.body_text, response.body_base64)?,
            },
        })
    }
}

fn body(
    json: Option<&RawValue>,
    text: Option<String>,
    base64: Option<String>,
) -> Result<RecordedBody, &'static str> {
    match (json, text, base64) {
        (Some(json), None, None) => Ok(RecordedBody::Json(Bytes::copy_from_slice(json.get().as_bytes()))),
        (None, Some(text), None) => Ok(RecordedBody::Text(text.into())),
        (None, None, Some(data)) => match attache_core::base64::decode_whole(&data) {
            Some(bytes) => Ok(RecordedBody::Binary(bytes.into())),
            None => Err("`body_base64` is not base64"),
        },
        (None, None, None) => Ok(RecordedBody::None),
        _ => Err("there is more than one body"),
    }
}

fn headers(map: &serde_json::Map<String, Value>) -> Result<HeaderMap, &'static str> {
    let mut headers = HeaderMap::with_capacity(map.len());
    for (name, value) in map {
        let name = HeaderName::try_from(name).map_err(|_| "a header name is invalid")?;
        let value = value.as_str().ok_or("a header value is not a string")?;
        headers.append(name, HeaderValue::try_from(value).map_err(|_| "a header value is invalid")?);
    }
    Ok(headers)
}
