//! `/v1/files` of Anthropic.

use http::Method;
use serde_json::{Value, json};

use super::form::{Form, seconds};
use super::store::{Entry, Files, StoredFile, account};
use crate::api::Api;
use crate::media::matches_type;
use crate::mock::answer::Rendered;
use crate::mock::gemini::timestamp;
use crate::mock::messages;
use crate::mock::record::RecordedRequest;
use crate::mock::rules::{Rules, Violation};
use crate::paths::file_id;

/// 90 days.
const LONGEST: u64 = 7_776_000;

pub(super) fn answer(files: &Files, request: &RecordedRequest, rules: &Rules) -> Result<Rendered, Violation> {
    let headers = messages::check_headers(&request.headers, rules)?;
    check_beta(&headers)?;
    let id = file_id(request.uri.path());
    if id.is_empty() {
        return match request.method {
            Method::POST => create(files, request, rules),
            Method::GET => {
                let account = account(request);
                let state = files.lock();
                let own = state.entries.iter().filter(|entry| {
                    entry.file.api == Api::Messages && entry.account == account && entry.is_alive()
                });
                let data: Vec<_> = own.map(describe).collect();
                Ok(Rendered::json(200, &json!({"data": data, "has_more": false, "next_page": null})))
            }
            _ => Err(not_allowed(request)),
        };
    }
    let mut state = files.lock();
    let at = state.find(Api::Messages, &account(request), id).ok_or_else(|| missing(id))?;
    let Some(entry) = state.entries.get_mut(at) else { return Err(missing(id)) };
    match request.method {
        Method::GET => Ok(Rendered::json(200, &describe(entry))),
        Method::DELETE => {
            entry.is_deleted = true;
            Ok(Rendered::json(200, &json!({"id": id, "type": "file_deleted"})))
        }
        _ => Err(not_allowed(request)),
    }
}

/// The newest SDK sends no flag any more; what is older demands it, so here it is demanded.
pub(super) fn check_beta(headers: &Rules) -> Result<(), Violation> {
    if headers.has_beta("files-api-") {
        return Ok(());
    }
    Err(Violation::invalid("anthropic-beta: files need the flag `files-api-2025-04-14`"))
}

fn create(files: &Files, request: &RecordedRequest, rules: &Rules) -> Result<Rendered, Violation> {
    let form = Form::read(request).map_err(Violation::invalid)?;
    if let Some((name, _)) = form.fields.iter().find(|(name, _)| name != "expires_in_seconds") {
        return Err(
            Violation::invalid(format!("{name}: Extra inputs are not permitted")).with_path(name.clone())
        );
    }
    let lifetime = match form.field("expires_in_seconds") {
        None => None,
        Some(text) => match seconds(text, LONGEST) {
            Some(lifetime) => Some(lifetime),
            None => {
                let message = format!("expires_in_seconds: expected 3600 to {LONGEST}, got {text}");
                return Err(Violation::invalid(message).with_path("expires_in_seconds".to_owned()));
            }
        },
    };
    let upload = form.file;
    let forbidden = |c: char| (c as u32) < 32 || r#"<>:"|?*\/"#.contains(c);
    if upload.name.is_empty() || upload.name.chars().count() > 255 || upload.name.chars().any(forbidden) {
        return Err(Violation::invalid("file: Invalid filename"));
    }
    if upload.content.is_empty() {
        return Err(Violation::invalid("file: File is empty"));
    }
    if !matches_type(&upload.media_type, &upload.content) {
        return Err(Violation::invalid("file: the content is not what its type says"));
    }
    let lifetime = rules.file_lifetime().or(lifetime);
    let at = files.keep(account(request), lifetime, 0, |number| StoredFile {
        api: Api::Messages,
        id: format!("file_011Mock{number}"),
        file_name: upload.name,
        media_type: upload.media_type,
        purpose: None,
        bytes: upload.content,
    });
    let state = files.lock();
    Ok(Rendered::json(200, &state.entries.get(at).map(describe).unwrap_or_default()))
}

fn describe(entry: &Entry) -> Value {
    let file = &entry.file;
    json!({
        "type": "file",
        "id": file.id,
        "filename": file.file_name,
        "mime_type": file.media_type,
        "size_bytes": file.bytes.len(),
        "created_at": timestamp::format(entry.created),
        "expires_at": entry.ends.map(|(ends, _)| timestamp::format(ends)),
        "downloadable": false,
    })
}

pub(super) fn missing(id: &str) -> Violation {
    Violation::new(404, "not_found_error", format!("File not found: {id}"))
}

fn not_allowed(request: &RecordedRequest) -> Violation {
    Violation::new(405, "invalid_request_error", format!("method {} is not allowed", request.method))
}
