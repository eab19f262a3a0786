//! Files that requests name.

use serde_json::Value;

use super::store::{Files, account};
use super::{anthropic, gemini};
use crate::api::Api;
use crate::members::{member, text};
use crate::mock::record::RecordedRequest;
use crate::mock::rules::{Path, Rules, Violation};

/// A file that a request names, and what it takes it for.
struct Use<'b> {
    id: &'b str,
    kind: Kind,
    path: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Image,
    File,
    Any,
}

/// Checks the files of a request. `rules` hold the flags of its headers.
pub(super) fn check(
    files: &Files,
    api: Api,
    request: &RecordedRequest,
    rules: &Rules,
) -> Result<(), Violation> {
    let mut uses = Vec::new();
    collect(request.json(), api, &Path::Root, &mut uses);
    if uses.is_empty() {
        return Ok(());
    }
    if api == Api::Messages {
        anthropic::check_beta(rules)?;
    }
    let keeper = if api == Api::ChatCompletions { Api::Responses } else { api };
    let account = account(request);
    let state = files.lock();
    for Use { id, kind, path } in uses {
        let id = id_in(keeper, id).unwrap_or(id);
        let entry = state.find(keeper, &account, id).and_then(|at| state.entries.get(at));
        let Some(entry) = entry else {
            return Err(match api {
                Api::Messages => anthropic::missing(id),
                Api::Gemini => gemini::missing(id),
                // In which words is recorded nowhere.
                _ => Violation::new(404, "invalid_request_error", format!("The file '{id}' was not found."))
                    .with_path(path),
            });
        };
        if entry.looks > 0 {
            let short = id.rsplit('/').next().unwrap_or_default();
            let message = format!("The File {short} is not in an ACTIVE state and usage is not allowed.");
            return Err(Violation::new(400, "FAILED_PRECONDITION", message));
        }
        let media_type = entry.file.media_type.as_str();
        let fits = match kind {
            Kind::Any => true,
            Kind::Image => media_type.starts_with("image/"),
            Kind::File if api == Api::Messages => matches!(media_type, "application/pdf" | "text/plain"),
            Kind::File => !media_type.starts_with("image/"),
        };
        if !fits {
            let message = format!("{path}: a file of type {media_type} cannot stand there");
            return Err(Violation::invalid(message).with_path(path));
        }
    }
    Ok(())
}

/// The id of the file that a reference names; `None` for one that names no file of the API.
pub(super) fn id_in(api: Api, reference: &str) -> Option<&str> {
    if api != Api::Gemini {
        return Some(reference).filter(|reference| !reference.contains("://"));
    }
    let at = reference.find("/v1beta/files/").filter(|_| reference.contains("generativelanguage"))?;
    reference.get(at + "/v1beta/".len()..)
}

fn collect<'b>(value: &'b Value, api: Api, path: &Path<'_>, uses: &mut Vec<Use<'b>>) {
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                collect(item, api, &path.index(index), uses);
            }
        }
        Value::Object(object) => {
            let word = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
            let inner = |key: &str| {
                let id = object.get(key).and_then(|spec| spec.get("file_id")).and_then(Value::as_str);
                id.map(|id| (id, path.key(key).key("file_id").bracketed()))
            };
            let found = match (api, word("type")) {
                (Api::Messages, "image") => inner("source").map(|(id, path)| (id, Kind::Image, path)),
                (Api::Messages, "document") => inner("source").map(|(id, path)| (id, Kind::File, path)),
                (Api::ChatCompletions, "file") => inner("file").map(|(id, path)| (id, Kind::File, path)),
                (Api::Responses, kind @ ("input_image" | "input_file")) => {
                    let kind = if kind == "input_image" { Kind::Image } else { Kind::File };
                    let id = Some(word("file_id")).filter(|id| !id.is_empty());
                    id.map(|id| (id, kind, path.key("file_id").bracketed()))
                }
                (Api::Gemini, _) => {
                    let uri =
                        member(value, "file_data").map(|file| text(file, "file_uri")).unwrap_or_default();
                    id_in(api, uri).map(|id| (id, Kind::Any, String::new()))
                }
                _ => None,
            };
            if let Some((id, kind, path)) = found {
                uses.push(Use { id, kind, path });
                return;
            }
            for (key, value) in object {
                collect(value, api, &path.key(key), uses);
            }
        }
        _ => {}
    }
}
