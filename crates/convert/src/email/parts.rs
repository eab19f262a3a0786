//! The parts of an e-mail: headers and content, and how a multipart is divided.

use std::collections::BTreeMap;

use bytes::Bytes;
use memchr::memmem;

use super::flowed::Flowed;
use super::header::{Structured, name_and_value, unfolded};
use super::{transfer, words};

/// Longest head of a part.
const MAX_HEAD: usize = 256 << 10;

/// Headers of one part.
const MAX_HEADERS: usize = 1_000;

/// Longest header; a list of so many recipients is cut.
const MAX_HEADER: usize = 32 << 10;

/// A message or a part of one.
pub(super) struct Entity {
    /// Names and values, as they stand there.
    headers: Vec<(Bytes, Bytes)>,
    body: Bytes,
    media: String,
    parameters: BTreeMap<String, String>,
    attachment: bool,
    file_name: Option<String>,
}

impl Entity {
    /// Reads the head. Lines of it that are no headers are passed over.
    pub(super) fn parse(bytes: &Bytes) -> Self {
        Self::parse_as(bytes, "text/plain")
    }

    fn parse_as(bytes: &Bytes, default: &str) -> Self {
        // A line that mail programs of old put before a message in a file.
        let start = match memchr::memchr(b'\n', bytes) {
            Some(end) if bytes.starts_with(b"From ") => end + 1,
            _ => 0,
        };
        let (head, body) = divide(&bytes.slice(start.min(bytes.len())..));
        let headers = fields(&head)
            .into_iter()
            .filter_map(|field| name_and_value(cut(field)))
            .take(MAX_HEADERS)
            .map(|(name, value)| (head.slice_ref(name), head.slice_ref(value)))
            .collect();
        let mut entity = Self {
            headers,
            body,
            media: default.to_owned(),
            parameters: BTreeMap::new(),
            attachment: false,
            file_name: None,
        };
        if let Some(content_type) = entity.structured("Content-Type") {
            if content_type.first.contains('/') {
                entity.media = content_type.first;
            }
            entity.parameters = content_type.parameters;
        }
        let mut disposition = entity.structured("Content-Disposition").unwrap_or_default();
        let named = disposition.parameters.remove("filename");
        let named = named.or_else(|| entity.parameters.get("name").cloned());
        entity.file_name = named.map(|name| base_name(&name)).filter(|name| !name.is_empty());
        entity.attachment = disposition.first == "attachment" || entity.file_name.is_some();
        entity
    }

    fn raw(&self, name: &str) -> Option<&Bytes> {
        let mut named = self.headers.iter().filter(|(key, _)| key.eq_ignore_ascii_case(name.as_bytes()));
        named.next().map(|(_, value)| value)
    }

    fn structured(&self, name: &str) -> Option<Structured> {
        self.raw(name).map(|value| Structured::read(&unfolded(value)))
    }

    /// True if it has a header of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.raw(name).is_some()
    }

    /// The value of the first header of this name, decoded.
    pub(super) fn header(&self, name: &str) -> Option<String> {
        self.raw(name).map(|value| words::decode(&unfolded(value)))
    }

    /// Its media type in lower case, without parameters.
    pub(super) fn media(&self) -> &str {
        &self.media
    }

    pub(super) fn charset(&self) -> Option<String> {
        // Some programs take the quotes of another language.
        self.parameters.get("charset").map(|charset| charset.trim_matches('\'').to_owned())
    }

    /// The way to join the lines of its text, if they are to be joined.
    pub(super) fn flowed(&self) -> Option<Flowed> {
        let is = |name: &str, value: &str| {
            self.parameters.get(name).is_some_and(|said| said.trim().eq_ignore_ascii_case(value))
        };
        let is_flowed = self.media == "text/plain" && is("format", "flowed");
        is_flowed.then(|| Flowed { delete_space: is("delsp", "yes") })
    }

    pub(super) fn boundary(&self) -> &str {
        // None ends in a blank (RFC 2046, section 5.1.1).
        self.parameters.get("boundary").map_or("", |boundary| boundary.trim_end())
    }

    /// True if it is to be saved rather than read.
    pub(super) fn is_attachment(&self) -> bool {
        self.attachment
    }

    pub(super) fn file_name(&self) -> Option<String> {
        self.file_name.clone()
    }

    /// Its content with the transfer encoding undone.
    pub(super) fn content(&self) -> Bytes {
        let encoding = self.structured("Content-Transfer-Encoding").unwrap_or_default();
        match encoding.first.as_str() {
            "base64" => crate::base64::base64(&self.body),
            "quoted-printable" => transfer::quoted_printable(&self.body),
            _ => self.body.clone(),
        }
    }
}

/// The last piece of a path, as some programs send whole paths.
fn base_name(name: &str) -> String {
    let name = name.rsplit(['/', '\\']).next().unwrap_or_default();
    name.chars().filter(|c| !c.is_control()).take(200).collect::<String>().trim().to_owned()
}

/// The head of a part, and what is behind the blank line.
fn divide(bytes: &Bytes) -> (Bytes, Bytes) {
    let mut at = 0;
    while at < bytes.len().min(MAX_HEAD) {
        let rest = bytes.get(at..).unwrap_or_default();
        let end = memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
        let line = rest.get(..end).unwrap_or_default();
        if line.trim_ascii().is_empty() {
            return (bytes.slice(..at), bytes.slice(at + end..));
        }
        at += end;
    }
    let at = at.min(bytes.len());
    (bytes.slice(..at), bytes.slice(at..))
}

/// The headers of a head, each with the lines that continue it.
fn fields(head: &[u8]) -> Vec<&[u8]> {
    let mut fields = Vec::new();
    let (mut start, mut at) = (0, 0);
    while at < head.len() {
        let rest = head.get(at..).unwrap_or_default();
        let end = memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
        let continues = matches!(rest.first(), Some(b' ' | b'\t'));
        if !continues && at > start {
            fields.push(head.get(start..at).unwrap_or_default());
            start = at;
        }
        at += end;
    }
    if at > start {
        fields.push(head.get(start..at).unwrap_or_default());
    }
    fields.retain(|field| {
        memchr::memchr(b':', field.get(..field.len().min(200)).unwrap_or_default()).is_some()
    });
    fields
}

/// A header up to the limit, and to the end of a character in UTF-8.
fn cut(field: &[u8]) -> &[u8] {
    let continues = |at: &usize| field.get(*at).is_some_and(|byte| byte & 0xc0 == 0x80);
    let end = (MAX_HEADER - 3..=MAX_HEADER).rev().find(|at| !continues(at)).unwrap_or(MAX_HEADER);
    field.get(..end).unwrap_or(field)
}

/// The parts of a multipart, at most so many, and whether these are all. Of one that ends early the last part is
/// what there is.
pub(super) fn split_multipart(entity: &Entity, most: usize, digest: bool) -> (Vec<Entity>, bool) {
    let body = &entity.body;
    let delimiter = [b"--", entity.boundary().as_bytes()].concat();
    let default = if digest { "message/rfc822" } else { "text/plain" };
    let mut parts = Vec::new();
    let mut start = None;
    let mut add = |from: usize, to: usize| {
        let part = body.get(from..to).unwrap_or_default();
        // The line end before a delimiter is part of it.
        let part = part.strip_suffix(b"\n").unwrap_or(part);
        let part = part.strip_suffix(b"\r").unwrap_or(part);
        parts.push(Entity::parse_as(&body.slice(from..from + part.len()), default));
        parts.len() < most
    };
    for at in memmem::find_iter(body, &delimiter) {
        let at_line_start = at == 0 || body.get(at - 1) == Some(&b'\n');
        let behind = body.get(at + delimiter.len()..).unwrap_or_default();
        let last = behind.starts_with(b"--");
        let end = memchr::memchr(b'\n', behind).unwrap_or(behind.len());
        let rest = behind.get(if last { 2 } else { 0 }..end).unwrap_or_default();
        if !at_line_start || !last && !rest.trim_ascii().is_empty() {
            continue;
        }
        if let Some(from) = start.take()
            && !add(from, at.max(from))
        {
            return (parts, false);
        }
        if last {
            return (parts, true);
        }
        start = Some((at + delimiter.len() + end + 1).min(body.len()));
    }
    if let Some(from) = start {
        add(from, body.len());
    }
    (parts, true)
}
