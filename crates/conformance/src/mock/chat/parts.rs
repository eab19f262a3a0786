//! Content parts: which role may carry which, and that media is what it says (openai.md A.2).

use serde_json::{Map, Value};

use super::problems::{Check, bad_value, invalid, missing, object, one_of, only, optional, string};
use crate::media::{decode_base64, parse_data_uri, sniff};
use crate::mock::compatible::Server;
use crate::mock::rules::{Path, Rules, Violation};

const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const BREAKPOINT: &str = "prompt_cache_breakpoint";

pub(super) fn check(part: &Value, role: &str, path: &Path<'_>, rules: &Rules) -> Check {
    let part = object(part, path)?;
    let kind = string(part, "type", path)?;
    let allowed: &[&str] = match role {
        "user" => &["text", "image_url", "input_audio", "file"],
        "assistant" => &["text", "refusal"],
        _ => &["text"],
    };
    if !allowed.contains(&kind) {
        return if rules.compatible_fields() {
            Ok(())
        } else {
            Err(bad_value(&path.key("type"), kind, allowed))
        };
    }
    if !rules.compatible_fields() {
        only(part, &["type", kind, BREAKPOINT], path)?;
    }
    if let Some(breakpoint) = optional(part, BREAKPOINT) {
        let path = path.key(BREAKPOINT);
        let breakpoint = object(breakpoint, &path)?;
        only(breakpoint, &["mode"], &path)?;
        one_of(
            breakpoint.get("mode").ok_or_else(|| missing(&path.key("mode")))?,
            &["explicit"],
            &path.key("mode"),
        )?;
    }
    let path = path.key(kind);
    // Mistral writes a URL where others write an object around one.
    if rules.compatible_fields() && kind != "file" && part.get(kind).is_some_and(Value::is_string) {
        return Ok(());
    }
    let spec = || object(part.get(kind).ok_or_else(|| missing(&path))?, &path);
    match kind {
        "image_url" => check_image(spec()?, &path),
        "file" => check_file(spec()?, &path, rules),
        "input_audio" => check_audio(spec()?, &path, rules),
        // Text and refusal: the member of that name is a string.
        _ => match part.get(kind) {
            Some(Value::String(_)) => Ok(()),
            Some(other) => Err(super::problems::wrong_type(&path, "a string", other)),
            None => Err(missing(&path)),
        },
    }
}

fn check_image(image: &Map<String, Value>, path: &Path<'_>) -> Check {
    only(image, &["url", "detail"], path)?;
    if let Some(detail) = optional(image, "detail") {
        one_of(detail, &["auto", "low", "high", "original"], &path.key("detail"))?;
    }
    check_image_url(string(image, "url", path)?, &path.key("url"))
}

/// An http(s) URL, or a data URI of an image that is what it says.
pub(crate) fn check_image_url(url: &str, path: &Path<'_>) -> Check {
    if url.starts_with("https://") || url.starts_with("http://") {
        return Ok(());
    }
    let Some(uri) = parse_data_uri(url) else {
        let message =
            "Invalid image URL: expected an http(s) URL or a data URI such as 'data:image/png;base64,...'.";
        return Err(invalid(path, "invalid_image_url", message));
    };
    let unsupported = || {
        let message = "You uploaded an unsupported image. Please make sure your image has of one the following formats: \
                       ['png', 'jpeg', 'gif', 'webp'].";
        invalid(path, "invalid_image_format", message)
    };
    if !IMAGES.contains(&uri.media_type) {
        return Err(unsupported());
    }
    let bytes = decode(uri.data, path)?;
    match sniff(&bytes) {
        Some(found) if found == uri.media_type => Ok(()),
        Some(found) if IMAGES.contains(&found) => {
            let message = format!(
                "Invalid image data: the data URI says '{}', the bytes are '{found}'.",
                uri.media_type
            );
            Err(invalid(path, "invalid_image_format", message))
        }
        _ => Err(unsupported()),
    }
}

fn check_file(file: &Map<String, Value>, path: &Path<'_>, rules: &Rules) -> Check {
    only(file, &["filename", "file_data", "file_id"], path)?;
    if optional(file, "file_id").is_some() {
        return string(file, "file_id", path).map(drop);
    }
    let data = string(file, "file_data", path)?;
    if string(file, "filename", path)?.trim().is_empty() {
        return Err(invalid(
            &path.key("filename"),
            "invalid_value",
            "Invalid 'filename': must not be empty.",
        ));
    }
    let path = path.key("file_data");
    // OpenRouter fetches files too. (openai.md C.9)
    if rules.server() == Some(Server::OpenRouter) && data.starts_with("https://") {
        return Ok(());
    }
    let Some(uri) = parse_data_uri(data) else {
        let message = format!(
            "Invalid '{}'. Expected a base64-encoded data URL with an application/pdf MIME type (e.g. \
             'data:application/pdf;base64,...').",
            path.bracketed()
        );
        return Err(invalid(&path, "invalid_value", message));
    };
    if uri.media_type != "application/pdf" {
        let message = format!(
            "Invalid file data: unsupported MIME type '{}'. Expected 'application/pdf'.",
            uri.media_type
        );
        return Err(invalid(&path, "unsupported_file", message));
    }
    match sniff(&decode(uri.data, &path)?) {
        Some("application/pdf") => Ok(()),
        _ => Err(invalid(&path, "invalid_value", "Invalid file data: the bytes are not a PDF.")),
    }
}

fn check_audio(audio: &Map<String, Value>, path: &Path<'_>, rules: &Rules) -> Check {
    only(audio, &["data", "format"], path)?;
    let format = audio.get("format").ok_or_else(|| missing(&path.key("format")))?;
    one_of(format, &["wav", "mp3"], &path.key("format"))?;
    let data = string(audio, "data", path)?;
    // DashScope wants a data URI or a URL.
    if rules.compatible_fields() && (parse_data_uri(data).is_some() || data.starts_with("https://")) {
        return Ok(());
    }
    decode(data, &path.key("data")).map(drop)
}

pub(crate) fn decode(data: &str, path: &Path<'_>) -> Result<Vec<u8>, Violation> {
    decode_base64(data).filter(|bytes| !bytes.is_empty()).ok_or_else(|| {
        let message = format!("Invalid '{}': the data is not valid base64.", path.bracketed());
        invalid(path, "invalid_base64", message)
    })
}

/// Only audio models listen: any other answers as the recorded one did.
pub(super) fn check_audio_model(request: &Map<String, Value>, messages: &[Value]) -> Check {
    let model = request.get("model").and_then(Value::as_str).unwrap_or_default();
    if model.contains("audio") || !model.starts_with("gpt-") {
        return Ok(());
    }
    for (index, message) in messages.iter().enumerate() {
        let parts = message.get("content").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        if parts.iter().any(|part| part.get("type").and_then(Value::as_str) == Some("input_audio")) {
            let path = Path::Root.key("messages");
            let path = path.index(index);
            let message = format!(
                "Invalid '{}'. Content blocks are expected to be either text or image_url type.",
                path.bracketed()
            );
            return Err(invalid(&path, "invalid_value", message));
        }
    }
    Ok(())
}
