//! `/files` of OpenAI.

use std::time::SystemTime;

use http::Method;
use serde_json::{Map, Value, json};

use super::form::{Form, seconds};
use super::store::{Entry, Files, StoredFile, account};
use crate::api::Api;
use crate::media::matches_type;
use crate::mock::answer::Rendered;
use crate::mock::chat;
use crate::mock::record::RecordedRequest;
use crate::mock::rules::{Rules, Violation};
use crate::paths::file_id;

const PURPOSES: [&str; 6] = ["assistants", "batch", "fine-tune", "vision", "user_data", "evals"];
/// 30 days.
const LONGEST: u64 = 2_592_000;

pub(super) fn answer(files: &Files, request: &RecordedRequest, rules: &Rules) -> Result<Rendered, Violation> {
    chat::check_headers(&request.headers, rules)?;
    let id = file_id(request.uri.path());
    if id.is_empty() {
        return match request.method {
            Method::POST => create(files, request, rules),
            Method::GET => {
                let account = account(request);
                let state = files.lock();
                let own = state.entries.iter().filter(|entry| {
                    entry.file.api == Api::Responses && entry.account == account && entry.is_alive()
                });
                let data: Vec<_> = own.map(describe).collect();
                Ok(Rendered::json(200, &json!({"object": "list", "data": data, "has_more": false})))
            }
            _ => Err(not_allowed(request)),
        };
    }
    let mut state = files.lock();
    let at = state.find(Api::Responses, &account(request), id).ok_or_else(|| missing(id))?;
    let Some(entry) = state.entries.get_mut(at) else { return Err(missing(id)) };
    match request.method {
        Method::GET => Ok(Rendered::json(200, &describe(entry))),
        Method::DELETE => {
            entry.is_deleted = true;
            Ok(Rendered::json(200, &json!({"id": id, "object": "file", "deleted": true})))
        }
        _ => Err(not_allowed(request)),
    }
}

fn create(files: &Files, request: &RecordedRequest, rules: &Rules) -> Result<Rendered, Violation> {
    let form = Form::read(request).map_err(Violation::invalid)?;
    let known = ["purpose", "expires_after[anchor]", "expires_after[seconds]"];
    if let Some((name, _)) = form.fields.iter().find(|(name, _)| !known.contains(&name.as_str())) {
        return Err(Violation::invalid(format!("Unknown parameter: '{name}'.")).with_path(name.clone()));
    }
    let purpose = form.field("purpose").unwrap_or_default().to_owned();
    if !PURPOSES.contains(&purpose.as_str()) {
        let message = format!("'{purpose}' is not one of {PURPOSES:?} - 'purpose'");
        return Err(Violation::invalid(message).with_path("purpose".to_owned()));
    }
    let lifetime = match (form.field("expires_after[anchor]"), form.field("expires_after[seconds]")) {
        (None, None) => None,
        (Some("created_at"), Some(text)) => match seconds(text, LONGEST) {
            Some(lifetime) => Some(lifetime),
            None => {
                let message =
                    format!("Invalid 'expires_after.seconds': expected 3600 to {LONGEST}, got {text}.");
                return Err(Violation::invalid(message).with_path("expires_after.seconds".to_owned()));
            }
        },
        _ => return Err(Violation::invalid("expires_after needs the anchor 'created_at' and seconds.")),
    };
    let upload = form.file;
    if upload.content.is_empty() {
        return Err(Violation::invalid("File is empty.").with_path("file".to_owned()));
    }
    if upload.name.trim().is_empty() || !matches_type(&upload.media_type, &upload.content) {
        return Err(Violation::invalid("Invalid file: its name or type is not that of its content."));
    }
    let lifetime = rules.file_lifetime().or(lifetime);
    let at = files.keep(account(request), lifetime, 0, |number| StoredFile {
        api: Api::Responses,
        id: format!("file-mock{number}"),
        file_name: upload.name,
        media_type: upload.media_type,
        purpose: Some(purpose),
        bytes: upload.content,
    });
    let state = files.lock();
    Ok(Rendered::json(200, &state.entries.get(at).map(describe).unwrap_or_default()))
}

fn describe(entry: &Entry) -> Value {
    let file = &entry.file;
    let mut body = Map::new();
    body.insert("id".to_owned(), Value::from(file.id.as_str()));
    body.insert("object".to_owned(), Value::from("file"));
    body.insert("bytes".to_owned(), Value::from(file.bytes.len()));
    body.insert("created_at".to_owned(), Value::from(unix(entry.created)));
    if let Some((ends, _)) = entry.ends {
        body.insert("expires_at".to_owned(), Value::from(unix(ends)));
    }
    body.insert("filename".to_owned(), Value::from(file.file_name.as_str()));
    body.insert("purpose".to_owned(), Value::from(file.purpose.as_deref()));
    body.insert("status".to_owned(), Value::from("processed"));
    Value::Object(body)
}

/// As the files' own address says it.
fn missing(id: &str) -> Violation {
    Violation::new(404, "invalid_request_error", format!("No such File object: {id}"))
        .with_path("id".to_owned())
}

fn not_allowed(request: &RecordedRequest) -> Violation {
    Violation::new(405, "invalid_request_error", format!("Not allowed to {} on files.", request.method))
}

fn unix(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}
