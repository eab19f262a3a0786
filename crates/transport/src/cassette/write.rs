//! Writing recordings.

use std::fs;
use std::path::Path;

use bytes::Bytes;
use http::HeaderMap;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::{Cassette, CassetteError, Interaction, RecordedBody, RecordedCall, RecordedResponse};

impl Cassette {
    /// A recording of that API without interactions.
    pub fn new(api: impl Into<String>) -> Self {
        Self {
            source: String::new(),
            licence: String::new(),
            api: api.into(),
            interactions: Vec::new(),
            dropped_interactions: 0,
        }
    }

    /// Writes the recording to a file, over one that is there. Folders on the way to it are made.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), CassetteError> {
        let path = path.as_ref();
        let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
        folder
            .and_then(|()| fs::write(path, self.to_json()))
            .map_err(|source| CassetteError::Write { path: path.to_owned(), source })
    }

    /// The recording as its file has it: a line for each interaction's part, JSON bodies as they were sent.
    pub fn to_json(&self) -> String {
        let head = json!({ "source": self.source, "licence": self.licence, "api": self.api });
        let mut out = head.to_string();
        out.pop();
        if self.dropped_interactions > 0 {
            out.push_str(&format!(",\"dropped_interactions\":{}", self.dropped_interactions));
        }
        out.push_str(",\n\"interactions\":[");
        for (number, Interaction { request, response }) in self.interactions.iter().enumerate() {
            let mut call = Map::new();
            call.insert("method".to_owned(), request.method.clone().into());
            call.insert("uri".to_owned(), request.uri.clone().into());
            call.insert("headers".to_owned(), headers(&request.headers));
            if !request.elided.is_empty() {
                let elided = request.elided.iter().map(|elided| {
                    json!({ "pointer": elided.pointer, "chars": elided.chars, "sha256": elided.sha256 })
                });
                call.insert("elided".to_owned(), elided.collect());
            }
            let mut answer = Map::new();
            answer.insert("status".to_owned(), response.status.into());
            answer.insert("headers".to_owned(), headers(&response.headers));
            out.push_str(if number == 0 { "\n" } else { ",\n" });
            out.push_str("{\"request\":");
            object(&mut out, call, &request.body);
            out.push_str(",\n \"response\":");
            object(&mut out, answer, &response.body);
            out.push('}');
        }
        out.push_str("]}\n");
        out
    }
}

impl Interaction {
    /// A request and its response.
    pub fn new(request: RecordedCall, response: RecordedResponse) -> Self {
        Self { request, response }
    }
}

impl RecordedCall {
    /// A request without headers and body.
    pub fn new(method: impl Into<String>, uri: impl Into<String>) -> Self {
        Self {
            method: method.into(),
            uri: uri.into(),
            headers: HeaderMap::new(),
            body: RecordedBody::None,
            elided: Vec::new(),
        }
    }
}

impl RecordedResponse {
    /// A response.
    pub fn new(status: u16, headers: HeaderMap, body: RecordedBody) -> Self {
        Self { status, headers, body }
    }
}

impl RecordedBody {
    /// These bytes as one JSON value, other text, or binary.
    pub fn of(bytes: Bytes) -> Self {
        let Ok(text) = std::str::from_utf8(&bytes) else { return Self::Binary(bytes) };
        let is_json = serde_json::from_str::<&RawValue>(text).is_ok();
        if is_json { Self::Json(bytes) } else { Self::Text(bytes) }
    }
}

/// Headers of one name are one, their values joined as HTTP has it.
fn headers(headers: &HeaderMap) -> Value {
    let values = |name| {
        let values = headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes()));
        Value::String(values.collect::<Vec<_>>().join(", "))
    };
    headers.keys().map(|name| (name.as_str().to_owned(), values(name))).collect::<Map<_, _>>().into()
}

/// The members of `object` and the body, whose JSON is written as it is.
fn object(out: &mut String, mut object: Map<String, Value>, body: &RecordedBody) {
    let text = |bytes: &Bytes| Value::String(String::from_utf8_lossy(bytes).into_owned());
    let json = match body {
        RecordedBody::Json(json) => Some(String::from_utf8_lossy(json)),
        RecordedBody::Text(bytes) => {
            object.insert("body_text".to_owned(), text(bytes));
            None
        }
        RecordedBody::Binary(bytes) => {
            let data = attache_core::base64::encode(bytes);
            object.insert("body_base64".to_owned(), data.into());
            None
        }
        RecordedBody::None => None,
    };
    out.push_str(&Value::Object(object).to_string());
    if let Some(json) = json {
        out.pop();
        out.push_str(",\"body\":");
        out.push_str(json.trim());
        out.push('}');
    }
}
