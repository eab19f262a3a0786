//! Content parts of messages and of call outputs (openai.md B.2).

use serde_json::{Map, Value};

use crate::media::{parse_data_uri, sniff};
use crate::mock::chat::parts::{check_image_url, decode};
use crate::mock::chat::problems::{
    Check, bad_value, invalid, missing, object, one_of, only, optional, string, wrong_type,
};
use crate::mock::rules::{Path, Rules, Violation};

const BREAKPOINT: &str = "prompt_cache_breakpoint";

/// Checks the parts of a message of that role, or of the output of a call (`tool`).
pub(super) fn check(parts: &[Value], role: &str, path: &Path<'_>, rules: &Rules) -> Check {
    for (index, part) in parts.iter().enumerate() {
        let path = path.index(index);
        check_part(object(part, &path)?, role, &path, rules)?;
    }
    Ok(())
}

fn check_part(part: &Map<String, Value>, role: &str, path: &Path<'_>, rules: &Rules) -> Check {
    let kind = string(part, "type", path)?;
    let (allowed, known): (&[&str], &[&str]) = match role {
        "assistant" => {
            (&["output_text", "refusal"], &["type", "text", "annotations", "logprobs", BREAKPOINT])
        }
        "user" | "tool" => (&["input_text", "input_image", "input_file"], &["type", "text", BREAKPOINT]),
        _ => (&["input_text"], &["type", "text", BREAKPOINT]),
    };
    if !allowed.contains(&kind) {
        if rules.compatible_fields() {
            return Ok(());
        }
        return Err(bad_value(&path.key("type"), kind, allowed));
    }
    if let Some(breakpoint) = optional(part, BREAKPOINT) {
        check_breakpoint(breakpoint, &path.key(BREAKPOINT))?;
    }
    match kind {
        "input_image" => check_image(part, path),
        "input_file" => check_file(part, path),
        "refusal" => {
            only(part, &["type", "refusal"], path)?;
            string(part, "refusal", path).map(drop)
        }
        _ => {
            if !rules.compatible_fields() {
                only(part, known, path)?;
            }
            string(part, "text", path).map(drop)
        }
    }
}

fn check_breakpoint(breakpoint: &Value, path: &Path<'_>) -> Check {
    let breakpoint = object(breakpoint, path)?;
    only(breakpoint, &["mode", "ttl"], path)?;
    let mode = path.key("mode");
    one_of(breakpoint.get("mode").ok_or_else(|| missing(&mode))?, &["explicit"], &mode)?;
    match optional(breakpoint, "ttl") {
        Some(ttl) => one_of(ttl, &["30m", "12h"], &path.key("ttl")),
        None => Ok(()),
    }
}

fn check_image(part: &Map<String, Value>, path: &Path<'_>) -> Check {
    only(part, &["type", "image_url", "file_id", "detail", BREAKPOINT], path)?;
    if let Some(detail) = optional(part, "detail") {
        one_of(detail, &["auto", "low", "high", "original"], &path.key("detail"))?;
    }
    if exactly_one(part, &["image_url", "file_id"], path)? == "file_id" {
        return string(part, "file_id", path).map(drop);
    }
    let path = path.key("image_url");
    match part.get("image_url") {
        Some(Value::String(url)) => check_image_url(url, &path),
        Some(other) => Err(wrong_type(&path, "an image URL", other)),
        None => Err(missing(&path)),
    }
}

fn check_file(part: &Map<String, Value>, path: &Path<'_>) -> Check {
    only(part, &["type", "filename", "file_data", "file_url", "file_id", "detail", BREAKPOINT], path)?;
    if let Some(detail) = optional(part, "detail") {
        one_of(detail, &["auto", "low", "high"], &path.key("detail"))?;
    }
    let name = path.key("filename");
    match exactly_one(part, &["file_data", "file_url", "file_id"], path)? {
        "file_data" => {
            if string(part, "filename", path)?.trim().is_empty() {
                return Err(invalid(&name, "invalid_value", "Invalid 'filename': must not be empty."));
            }
            check_file_data(string(part, "file_data", path)?, &path.key("file_data"))
        }
        key => {
            // D 31
            if optional(part, "filename").is_some() {
                let message = format!(
                    "Mutually exclusive parameters: '{}' and '{}'. Ensure you are only providing one of them.",
                    name.bracketed(),
                    path.key(key).bracketed()
                );
                return Err(invalid(&name, "mutually_exclusive_parameters", message));
            }
            let value = string(part, key, path)?;
            if key == "file_id" {
                return Ok(());
            }
            if value.starts_with("https://") || value.starts_with("http://") {
                return check_name_in_url(value);
            }
            let message = format!("Invalid '{}': expected an http(s) URL.", path.key(key).bracketed());
            Err(invalid(&path.key(key), "invalid_value", message))
        }
    }
}

/// The API fetches a file before it judges it. If the address says that it is no document, as the recorded one of an
/// MP3 does, the answer is known.
fn check_name_in_url(url: &str) -> Check {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let extension =
        path.rsplit('/').next().and_then(|name| name.rsplit_once('.')).map(|(_, extension)| extension);
    let refused = ["mp3", "wav", "ogg", "flac", "m4a", "aac", "mp4", "mov", "webm", "avi", "mkv"];
    if !extension.is_some_and(|extension| refused.iter().any(|known| extension.eq_ignore_ascii_case(known))) {
        return Ok(());
    }
    let message = "The file type you uploaded is not supported. Please try again with a pdf";
    Err(invalid(&Path::Root.key("input"), "unsupported_file", message))
}

/// The one member out of the list that is there.
fn exactly_one<'k>(
    part: &Map<String, Value>,
    keys: &[&'k str],
    path: &Path<'_>,
) -> Result<&'k str, Violation> {
    let mut present = keys.iter().filter(|key| optional(part, key).is_some());
    let list = || keys.iter().map(|key| format!("'{key}'")).collect::<Vec<_>>().join(", ");
    match (present.next(), present.next()) {
        (Some(key), None) => Ok(key),
        (None, _) => {
            let message =
                format!("Missing required parameter: '{}' needs one of {}.", path.bracketed(), list());
            Err(invalid(path, "missing_required_parameter", message))
        }
        (Some(_), Some(_)) => {
            let message =
                format!("Mutually exclusive parameters. Ensure you are only providing one of: {}.", list());
            Err(invalid(path, "mutually_exclusive_parameters", message))
        }
    }
}

fn check_file_data(data: &str, path: &Path<'_>) -> Check {
    let expected = format!(
        "Invalid file data: '{}'. Expected a base64-encoded data URL with a valid file MIME type (e.g. \
         'data:text/plain;base64,SGVsbG8sIFdvcmxkIQ==')",
        path.bracketed()
    );
    let Some(uri) = parse_data_uri(data) else {
        return Err(invalid(
            path,
            "invalid_value",
            format!("{expected}, but got a value without the 'data:' prefix."),
        ));
    };
    if !is_file_type(uri.media_type) {
        let message = format!("{expected}, but got unsupported MIME type '{}'.", uri.media_type);
        return Err(invalid(path, "invalid_value", message));
    }
    let bytes = decode(uri.data, path)?;
    if uri.media_type == "application/pdf" && sniff(&bytes) != Some("application/pdf") {
        return Err(invalid(path, "invalid_value", "Invalid file data: the bytes are not a PDF."));
    }
    Ok(())
}

/// Documents and text; images go into image parts, audio and video nowhere.
fn is_file_type(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default();
    match essence.split_once('/') {
        Some(("text", _)) => true,
        Some(("application", subtype)) => {
            matches!(
                subtype,
                "pdf"
                    | "json"
                    | "xml"
                    | "yaml"
                    | "x-yaml"
                    | "toml"
                    | "rtf"
                    | "csv"
                    | "javascript"
                    | "msword"
                    | "x-sh"
            ) || subtype.starts_with("vnd.openxmlformats-officedocument")
                || subtype.starts_with("vnd.ms-")
                || subtype.starts_with("vnd.oasis.opendocument")
        }
        _ => false,
    }
}
