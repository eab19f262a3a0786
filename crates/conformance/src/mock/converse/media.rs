//! Images, documents and recordings: formats, sources, sizes, names (bedrock.md 3, 10).

use serde_json::{Map, Value};

use super::blocks::{Checker, Place, check_texts};
use super::family::Medium;
use super::problems::{
    Check, constraint, filled, list, member, missing, object, of_model, one_of, only, optional_filled,
    optional_one_of, refused, string, union, unsupported,
};
use crate::media::{decode_base64, dimensions, sniff};
use crate::mock::rules::{Path, Violation};

const IMAGES: &[&str] = &["png", "jpeg", "gif", "webp"];
const DOCUMENTS: &[&str] = &["pdf", "csv", "doc", "docx", "xls", "xlsx", "html", "txt", "md"];
const VIDEOS: &[&str] = &["mkv", "mov", "mp4", "webm", "flv", "mpeg", "mpg", "wmv", "three_gp"];
const AUDIO: &[&str] = &[
    "mp3", "opus", "wav", "aac", "flac", "mp4", "ogg", "mkv", "mka", "x-aac", "m4a", "mpeg", "mpga", "pcm",
    "webm",
];
/// The documents that Nova takes inside a tool result.
const NOVA_RESULTS: &[&str] = &["csv", "txt"];

const MAX_IMAGES: usize = 20;
const MAX_DOCUMENTS: usize = 5;
/// 3.75 MB.
const MAX_IMAGE: usize = 3_932_160;
const MAX_SIDE: u32 = 8000;
/// 4.5 MB; of Claude and Nova, PDFs may be larger.
const MAX_DOCUMENT: usize = 4_718_592;
/// 25 MB.
const MAX_VIDEO: usize = 26_214_400;
const MAX_NAME: usize = 200;

/// The place of the bytes.
enum Source<'v> {
    Bytes(Vec<u8>),
    Text(&'v str),
    Content(&'v [Value]),
    Elsewhere,
}

impl<'a> Checker<'a> {
    pub(super) fn image(&mut self, image: &Map<String, Value>, place: Place, path: &Path<'_>) -> Check {
        only(image, &["format", "source"], path)?;
        self.check_place(Medium::Image, place, path)?;
        let format = one_of(string(image, "format", path)?, IMAGES, &path.key("format"))?;
        self.images += 1;
        if self.images > MAX_IMAGES {
            let message = format!("too many images in a message: {} > {MAX_IMAGES}", self.images);
            return Err(refused(path, message));
        }
        let source = self.source(image, &["bytes", "s3Location"], path)?;
        let Source::Bytes(bytes) = source else { return Ok(()) };
        if bytes.len() > MAX_IMAGE {
            let what = format_args!("image exceeds 3.75 MB: {} bytes > {MAX_IMAGE} bytes", bytes.len());
            return Err(of_model(path, what));
        }
        if sniff(&bytes).and_then(|found| found.strip_prefix("image/")) != Some(format) {
            return Err(of_model(path, format_args!("Could not process image: the bytes are no {format}")));
        }
        if dimensions(&bytes).is_some_and(|(width, height)| width.max(height) > MAX_SIDE) {
            let what = format_args!("image dimensions exceed max allowed size: {MAX_SIDE} pixels");
            return Err(of_model(path, what));
        }
        Ok(())
    }

    pub(super) fn document(&mut self, document: &Map<String, Value>, place: Place, path: &Path<'_>) -> Check {
        only(document, &["format", "name", "source", "context", "citations"], path)?;
        self.check_place(Medium::Document, place, path)?;
        let format = optional_one_of(document, "format", DOCUMENTS, path)?;
        self.check_name(string(document, "name", path)?, &path.key("name"))?;
        optional_filled(document, "context", path)?;
        if self.citations(document, path)? && place == Place::Result {
            // boto/boto3#4648
            return Err(refused(
                &path.key("citations"),
                "Citations are not supported in tool result documents.",
            ));
        }
        let family = self.context.family;
        if place == Place::Result
            && family.is_nova()
            && !format.is_some_and(|own| NOVA_RESULTS.contains(&own))
        {
            let message = "Malformed input request: a document in a tool result must be csv or txt for this model, \
                           please reformat your input and try again.";
            return Err(refused(path, message));
        }
        self.documents += 1;
        if self.documents > MAX_DOCUMENTS {
            let message = format!("You can't include more than {MAX_DOCUMENTS} documents in a request.");
            return Err(refused(path, message));
        }
        match self.source(document, &["bytes", "s3Location", "text", "content"], path)? {
            Source::Bytes(bytes) => {
                let is_pdf = format == Some("pdf");
                if is_pdf && sniff(&bytes) != Some("application/pdf") {
                    return Err(of_model(path, "The PDF specified was not valid."));
                }
                let unlimited = is_pdf && (family.is_nova() || family.is_claude());
                if bytes.len() > MAX_DOCUMENT && !unlimited {
                    let what =
                        format_args!("document exceeds 4.5 MB: {} bytes > {MAX_DOCUMENT} bytes", bytes.len());
                    return Err(of_model(path, what));
                }
                Ok(())
            }
            Source::Content(content) => check_texts(content, &path.key("source").key("content")),
            Source::Text(text) if text.trim().is_empty() => {
                Err(constraint(&path.key("source").key("text"), "Member must not be blank"))
            }
            Source::Text(_) | Source::Elsewhere => Ok(()),
        }
    }

    /// A video or an audio recording.
    pub(super) fn recording(
        &mut self,
        kind: &str,
        recording: &Map<String, Value>,
        place: Place,
        path: &Path<'_>,
    ) -> Check {
        only(recording, &["format", "source"], path)?;
        let (medium, formats) =
            if kind == "video" { (Medium::Video, VIDEOS) } else { (Medium::Audio, AUDIO) };
        self.check_place(medium, place, path)?;
        one_of(string(recording, "format", path)?, formats, &path.key("format"))?;
        match self.source(recording, &["bytes", "s3Location"], path)? {
            Source::Bytes(bytes) if bytes.len() > MAX_VIDEO => Err(of_model(
                path,
                format_args!("{kind} exceeds 25 MB: {} bytes > {MAX_VIDEO} bytes", bytes.len()),
            )),
            _ => Ok(()),
        }
    }

    fn check_place(&self, medium: Medium, place: Place, path: &Path<'_>) -> Check {
        let family = self.context.family;
        let taken = match place {
            Place::User => family.user_takes(medium),
            Place::Result => family.result_takes(medium),
            Place::Assistant | Place::System => false,
        };
        if taken { Ok(()) } else { Err(unsupported(path)) }
    }

    fn source<'v>(
        &self,
        holder: &'v Map<String, Value>,
        kinds: &[&str],
        path: &Path<'_>,
    ) -> Result<Source<'v>, Violation> {
        let path = path.key("source");
        let source = holder.get("source").ok_or_else(|| missing(&path))?;
        let (kind, value) = union(source, kinds, &path)?;
        let at = path.key(kind);
        match (kind, value) {
            ("bytes", Value::String(data)) => match decode_base64(data) {
                Some(bytes) if !bytes.is_empty() => Ok(Source::Bytes(bytes)),
                _ => Err(constraint(&at, "Member must be a blob in base64, at least 1 byte")),
            },
            ("text", Value::String(text)) => Ok(Source::Text(text)),
            ("content", content) => list(content, &at).map(Source::Content),
            // The service hands such a document on to Claude without a source.
            ("s3Location", _) if self.context.family.is_claude() && holder.contains_key("name") => {
                Err(of_model(&path.key("type"), "Field required"))
            }
            ("s3Location", location) => self.check_s3(object(location, &at)?, &at),
            _ => Err(constraint(&at, "Member must be a string")),
        }
    }

    fn check_s3<'v>(&self, location: &Map<String, Value>, path: &Path<'_>) -> Result<Source<'v>, Violation> {
        if !self.context.family.takes_s3() {
            let message = "This model doesn't support the s3Uri field. Remove s3Uri and try again.";
            return Err(refused(path, message));
        }
        only(location, &["uri", "bucketOwner"], path)?;
        if !filled(location, "uri", path)?.starts_with("s3://") {
            return Err(constraint(&path.key("uri"), "Member must begin with s3://"));
        }
        if member(location, "bucketOwner").is_some() {
            let owner = string(location, "bucketOwner", path)?;
            if owner.len() != 12 || !owner.bytes().all(|byte| byte.is_ascii_digit()) {
                let what = "Member must satisfy regular expression pattern: [0-9]{12}";
                return Err(constraint(&path.key("bucketOwner"), what));
            }
        }
        Ok(Source::Elsewhere)
    }

    /// A document's name: neutral characters, single spaces, unique.
    fn check_name(&mut self, name: &str, path: &Path<'_>) -> Check {
        if !(1..=MAX_NAME).contains(&name.len()) {
            return Err(constraint(path, format_args!("Member must have length between 1 and {MAX_NAME}")));
        }
        let known = |byte: u8| byte.is_ascii_alphanumeric() || b" -()[]_".contains(&byte);
        if !name.bytes().all(known) || name.contains("  ") {
            let message = "The document file name can only contain alphanumeric characters, whitespace characters, \
                           hyphens, parentheses, and square brackets. The name can't contain more than one consecutive \
                           whitespace character.";
            return Err(refused(path, message));
        }
        if !self.names.insert(name.to_owned()) {
            return Err(refused(path, format!("Invalid conversation: duplicate document names: {name}")));
        }
        Ok(())
    }
}
