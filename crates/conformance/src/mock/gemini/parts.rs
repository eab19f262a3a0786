//! Contents and parts: one data field each, media that is what it says (gemini.md 3, 12).

use serde_json::Value;

use super::context::Context;
use super::fields::PART_DATA;
use super::proto::{Check, Platform, invalid};
use crate::media::{decode_any_base64, sniff};
use crate::members::{list, member, text};
use crate::mock::rules::{Path, Violation};

const MEDIA_TYPES: &[&str] = &[
    "image/png",
    "image/jpeg",
    "image/webp",
    "image/heic",
    "image/heif",
    "application/pdf",
    "text/plain",
    "text/html",
    "text/css",
    "text/javascript",
    "application/x-javascript",
    "text/x-typescript",
    "application/x-typescript",
    "text/csv",
    "text/markdown",
    "text/md",
    "text/x-python",
    "application/x-python-code",
    "application/json",
    "text/xml",
    "application/rtf",
    "text/rtf",
    "audio/wav",
    "audio/x-wav",
    "audio/mp3",
    "audio/mpeg",
    "audio/aiff",
    "audio/aac",
    "audio/ogg",
    "audio/flac",
    "audio/m4a",
    "audio/mp4",
    "audio/opus",
    "audio/webm",
    "video/mp4",
    "video/mpeg",
    "video/mov",
    "video/quicktime",
    "video/avi",
    "video/x-flv",
    "video/mpg",
    "video/webm",
    "video/wmv",
    "video/3gpp",
];

/// The addresses at which the developer API keeps files, or finds them by itself.
const OWN_FILES: [&str; 2] = ["https://generativelanguage.googleapis.com/", "https://www.youtube.com/"];

/// The media types that a function response may hold beside its object.
const RESPONSE_MEDIA_TYPES: &[&str] =
    &["image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain"];

/// Checks contents one by one; what they are to each other is the history's matter.
pub(super) struct Checker<'a> {
    /// The message the contents stand in, as errors name it.
    name: &'a str,
    context: &'a Context<'a>,
}

impl<'a> Checker<'a> {
    pub(super) fn new(name: &'a str, context: &'a Context<'a>) -> Self {
        Self { name, context }
    }

    /// The system instruction: text parts, whatever its role.
    pub(super) fn system(&self, content: &Value, path: &Path<'_>) -> Check {
        let parts = list(content, "parts");
        if parts.is_empty() {
            return Err(self.field(path, "parts", "contents.parts must not be empty."));
        }
        for (index, part) in parts.iter().enumerate() {
            if member(part, "text").and_then(Value::as_str).is_none() {
                let path = path.key("parts");
                return Err(invalid(&path.index(index), "system_instruction parts must be text."));
            }
        }
        Ok(())
    }

    pub(super) fn content(&self, content: &Value, path: &Path<'_>) -> Check {
        let role = member(content, "role").and_then(Value::as_str);
        let known = match role {
            Some(role) => matches!(role, "user" | "model"),
            None => self.context.platform == Platform::Developer,
        };
        if !known {
            return Err(invalid(&path.key("role"), "Please use a valid role: user, model."));
        }
        let parts = list(content, "parts");
        if parts.is_empty() {
            return Err(self.field(path, "parts", "contents.parts must not be empty."));
        }
        let path_of_parts = path.key("parts");
        for (index, part) in parts.iter().enumerate() {
            self.part(part, &path_of_parts.index(index))?;
        }
        if parts.iter().all(is_blank) {
            let message = "Unable to submit request because it must include at least one parts field, which describes the \
                           prompt input.";
            return Err(invalid(&path_of_parts, message));
        }
        Ok(())
    }

    fn part(&self, part: &Value, path: &Path<'_>) -> Check {
        let mut present = PART_DATA.iter().filter(|name| member(part, name).is_some());
        let Some(kind) = present.next() else {
            let what = "required oneof field 'data' must have one initialized field";
            return Err(self.field(path, "data", what));
        };
        if let Some(second) = present.next() {
            let message = format!(
                "Invalid value at '{}' (oneof), oneof field 'data' is already set. Cannot set '{second}'",
                path.bracketed()
            );
            return Err(invalid(path, message));
        }
        let Some(data) = member(part, kind) else { return Ok(()) };
        let path_of_data = path.key(kind);
        match *kind {
            "inline_data" => self.blob(data, &path_of_data, MEDIA_TYPES),
            "file_data" => self.file(data, &path_of_data, MEDIA_TYPES),
            "function_call" => self.named(data, &path_of_data),
            "function_response" => self.response(data, &path_of_data),
            _ => Ok(()),
        }
    }

    fn named(&self, data: &Value, path: &Path<'_>) -> Check {
        if text(data, "name").is_empty() {
            return Err(self.field(path, "name", "Name cannot be empty."));
        }
        Ok(())
    }

    fn response(&self, response: &Value, path: &Path<'_>) -> Check {
        self.named(response, path)?;
        if member(response, "response").is_none() {
            return Err(self.field(path, "response", "response must be specified."));
        }
        let parts = list(response, "parts");
        let path = path.key("parts");
        if !parts.is_empty() && self.context.is_old() {
            let message =
                format!("Multimodal function responses are not supported for model {}.", self.context.id);
            return Err(invalid(&path, message));
        }
        for (index, part) in parts.iter().enumerate() {
            let path = path.index(index);
            match (member(part, "inline_data"), member(part, "file_data")) {
                (Some(blob), None) => self.blob(blob, &path.key("inline_data"), RESPONSE_MEDIA_TYPES)?,
                (None, Some(file)) => self.file(file, &path.key("file_data"), RESPONSE_MEDIA_TYPES)?,
                _ => {
                    let what = "required oneof field 'data' must have one initialized field";
                    return Err(self.field(&path, "data", what));
                }
            }
        }
        Ok(())
    }

    fn blob(&self, blob: &Value, path: &Path<'_>, known: &[&str]) -> Check {
        let media_type = text(blob, "mime_type");
        self.media_type(media_type, path, known)?;
        let bytes = decode_any_base64(text(blob, "data")).unwrap_or_default();
        let found = sniff(&bytes);
        let path = path.key("data");
        if bytes.is_empty() {
            return Err(invalid(&path, "Unable to process input: the data is empty."));
        }
        // Among images the bytes count, not the stated type.
        if matches!(media_type, "image/png" | "image/jpeg" | "image/webp")
            && !found.is_some_and(|found| found.starts_with("image/"))
        {
            return Err(invalid(
                &path,
                "Unable to process input image. Please retry or report in the forum.",
            ));
        }
        if media_type == "application/pdf" && found != Some("application/pdf") {
            return Err(invalid(&path, "The document has no pages."));
        }
        Ok(())
    }

    fn file(&self, file: &Value, path: &Path<'_>, known: &[&str]) -> Check {
        let uri = text(file, "file_uri");
        let fits = match self.context.platform {
            Platform::Vertex => ["gs://", "https://", "http://"].iter().any(|scheme| uri.starts_with(scheme)),
            // It keeps files itself; models before 2.5 read no others.
            Platform::Developer => {
                let old = ["gemini-1", "gemini-2.0"].iter().any(|model| self.context.id.starts_with(model));
                uri.starts_with("https://") && (!old || OWN_FILES.iter().any(|place| uri.starts_with(place)))
            }
        };
        if !fits {
            return Err(invalid(&path.key("file_uri"), format!("Unsupported file URI type: {uri}")));
        }
        match member(file, "mime_type").and_then(Value::as_str) {
            Some(media_type) => self.media_type(media_type, path, known),
            // The developer API knows it from the upload, Vertex does not.
            None if self.context.platform == Platform::Developer => Ok(()),
            None => Err(self.field(path, "mime_type", "mime_type must be specified.")),
        }
    }

    fn media_type(&self, media_type: &str, path: &Path<'_>, known: &[&str]) -> Check {
        if known.contains(&media_type) {
            return Ok(());
        }
        if media_type.is_empty() {
            return Err(self.field(path, "mime_type", "mime_type must be specified."));
        }
        Err(invalid(&path.key("mime_type"), format!("Unsupported MIME type: {media_type}")))
    }

    /// An error about a member, in the words of the field checker.
    fn field(&self, path: &Path<'_>, key: &str, what: &str) -> Violation {
        let path = path.key(key);
        invalid(&path, format!("* {}.{}: {what}\n", self.name, path.bracketed()))
    }
}

/// True if a part is blank text and nothing else that counts; a signature does.
fn is_blank(part: &Value) -> bool {
    member(part, "text").and_then(Value::as_str).is_some_and(|text| text.trim().is_empty())
        && text(part, "thought_signature").is_empty()
}
