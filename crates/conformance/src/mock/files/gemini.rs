//! `files` of the Gemini API, uploaded by the resumable protocol (gemini.md 12).

use std::time::Duration;

use http::{HeaderName, HeaderValue, Method};
use serde_json::{Value, json};

use super::store::{Begun, Entry, Files, StoredFile, account};
use crate::api::Api;
use crate::media::matches_type;
use crate::mock::answer::Rendered;
use crate::mock::gemini::{self, timestamp};
use crate::mock::record::RecordedRequest;
use crate::mock::rules::{Rules, Violation};
use crate::paths::file_id;

/// The lifetime of all files.
const LIFETIME: Duration = Duration::from_secs(48 * 3_600);
/// The maximum number of uploads that are begun and not ended.
const MAX_BEGUN: usize = 100;
const HOME: &str = "https://generativelanguage.googleapis.com";

pub(super) fn answer(files: &Files, request: &RecordedRequest, rules: &Rules) -> Result<Rendered, Violation> {
    let path = request.uri.path();
    if path.split('/').any(|segment| segment == "upload") {
        return match (&request.method, request.header("x-goog-upload-command")) {
            (&Method::POST, "start") => begin(files, request, rules),
            (&Method::POST, "upload, finalize") => finish(files, request, rules),
            (_, command) => Err(invalid(format!("upload command {command:?} is not known"))),
        };
    }
    gemini::check_headers(request, rules)?;
    let id = file_id(path);
    if id.is_empty() {
        return Err(Violation::new(404, "NOT_FOUND", "files are uploaded at another address"));
    }
    let id = format!("files/{id}");
    let mut state = files.lock();
    let at = state.find(Api::Gemini, &account(request), &id).ok_or_else(|| missing(&id))?;
    let Some(entry) = state.entries.get_mut(at) else { return Err(missing(&id)) };
    match request.method {
        Method::GET => {
            entry.looks = entry.looks.saturating_sub(1);
            Ok(Rendered::json(200, &describe(entry)))
        }
        Method::DELETE => {
            entry.is_deleted = true;
            Ok(Rendered::json(200, &json!({})))
        }
        _ => Err(Violation::new(404, "NOT_FOUND", format!("method {} does not exist", request.method))),
    }
}

/// The first half: what is to come is described, and answered by the address that it goes to.
fn begin(files: &Files, request: &RecordedRequest, rules: &Rules) -> Result<Rendered, Violation> {
    gemini::check_headers(request, rules)?;
    request.check_content_type()?;
    if request.header("x-goog-upload-protocol") != "resumable" {
        return Err(invalid("the upload protocol must be resumable"));
    }
    let size = request.header("x-goog-upload-header-content-length").parse().ok().filter(|size| *size > 0);
    let size = size.ok_or_else(|| invalid("the upload has no length"))?;
    let media_type = request.header("x-goog-upload-header-content-type").to_owned();
    let file = request.json().get("file").and_then(Value::as_object);
    let file = file.ok_or_else(|| invalid("the upload does not describe its file"))?;
    let known = ["name", "displayName", "mimeType", "sizeBytes"];
    if let Some(key) = file.keys().find(|key| !known.contains(&key.as_str())) {
        return Err(invalid(format!("Invalid JSON payload received. Unknown name \"{key}\" at 'file'")));
    }
    let text = |key: &str| file.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    if media_type.is_empty() || file.contains_key("mimeType") && text("mimeType") != media_type {
        return Err(invalid("the upload has no media type, or two"));
    }
    if text("displayName").chars().count() > 512 {
        return Err(invalid("display_name must be at most 512 characters long"));
    }
    let mut state = files.lock();
    let id = format!("mock-upload-{}", state.next);
    state.next += 1;
    if state.begun.len() == MAX_BEGUN {
        state.begun.remove(0);
    }
    let (account, name) = (account(request), text("displayName"));
    state.begun.push(Begun { id: id.clone(), account, name, media_type, size });
    // The API knows no address but its own, whatever stands between.
    let place = format!("{HOME}{}?upload_id={id}&upload_protocol=resumable", request.uri.path());
    let mut answer = Rendered::json(200, &json!({}));
    for (name, value) in [("x-goog-upload-url", place.as_str()), ("x-goog-upload-status", "active")] {
        if let Ok(value) = HeaderValue::from_str(value) {
            answer.headers.push((HeaderName::from_static(name), value));
        }
    }
    Ok(answer)
}

/// The second half: the content.
fn finish(files: &Files, request: &RecordedRequest, rules: &Rules) -> Result<Rendered, Violation> {
    let id = request.query("upload_id").unwrap_or_default();
    let begun = {
        let mut state = files.lock();
        let at = state.begun.iter().position(|begun| begun.id == id);
        at.map(|at| state.begun.remove(at))
    };
    let begun = begun.ok_or_else(|| Violation::new(404, "NOT_FOUND", "there is no such upload"))?;
    // The address is the right; a key has nothing to do here.
    if !account(request).is_empty() {
        return Err(invalid("the content of an upload comes without a key"));
    }
    if request.header("x-goog-upload-offset") != "0" || request.body.len() != begun.size {
        return Err(invalid("the content is not as long as the upload said"));
    }
    if !matches_type(&begun.media_type, &request.body) {
        return Err(invalid("the content is not what the upload said"));
    }
    let lifetime = Some(rules.file_lifetime().unwrap_or(LIFETIME));
    let at = files.keep(begun.account, lifetime, rules.file_processing(), |number| StoredFile {
        api: Api::Gemini,
        id: format!("files/mock{number}"),
        file_name: begun.name,
        media_type: begun.media_type,
        purpose: None,
        bytes: request.body.clone(),
    });
    let state = files.lock();
    let file = state.entries.get(at).map(describe).unwrap_or_default();
    let mut answer = Rendered::json(200, &json!({"file": file}));
    let name = HeaderName::from_static("x-goog-upload-status");
    answer.headers.push((name, HeaderValue::from_static("final")));
    Ok(answer)
}

fn describe(entry: &Entry) -> Value {
    let file = &entry.file;
    let mut body = json!({
        "name": file.id,
        "displayName": file.file_name,
        "mimeType": file.media_type,
        "sizeBytes": file.bytes.len().to_string(),
        "createTime": timestamp::format(entry.created),
        "updateTime": timestamp::format(entry.created),
        "uri": format!("{HOME}/v1beta/{}", file.id),
        "state": if entry.looks > 0 { "PROCESSING" } else { "ACTIVE" },
        "source": "UPLOADED",
    });
    if let (Some((ends, _)), Some(body)) = (entry.ends, body.as_object_mut()) {
        body.insert("expirationTime".to_owned(), Value::from(timestamp::format(ends)));
    }
    body
}

/// The API's answer about a file that is not there, or belongs to somebody else.
pub(super) fn missing(id: &str) -> Violation {
    let id = id.rsplit('/').next().unwrap_or_default();
    let message = format!("You do not have permission to access the File {id} or it may not exist.");
    Violation::new(403, "PERMISSION_DENIED", message)
}

fn invalid(message: impl Into<String>) -> Violation {
    Violation::new(400, "INVALID_ARGUMENT", message)
}
