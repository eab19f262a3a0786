//! Documents as files that are uploaded: names that every API takes, and forms with a file in them (RFC 7578).

use std::fmt::Write as _;
use std::time::Duration;

use attache_core::hash::hex;
use attache_core::{Document, MediaType};
use bytes::Bytes;
use http::header::CONTENT_TYPE;

use crate::body::Frames;
use crate::request::RequestParts;

/// The maximum number of bytes of a name.
const LONGEST_NAME: usize = 200;

/// The name under which a document is uploaded.
fn name_of(document: &Document) -> String {
    let forbidden = |c: char| c.is_control() || r#"<>:"|?*\/"#.contains(c);
    let own = document.file_name().map(str::trim).unwrap_or_default();
    let mut name: String = own.chars().map(|c| if forbidden(c) { '_' } else { c }).collect();
    if name.chars().all(|c| matches!(c, '.' | '_' | ' ')) {
        "document".clone_into(&mut name);
    }
    // Some APIs tell the type of a file by its name alone.
    let media = document.media_type();
    let fits = MediaType::from_file_name(&name).is_some_and(|named| named.essence() == media.essence());
    let suffix = match media.extension().filter(|_| !fits) {
        Some(extension) => format!(".{extension}"),
        None => String::new(),
    };
    if name.len() + suffix.len() <= LONGEST_NAME {
        return name + &suffix;
    }
    let end = match (suffix.is_empty(), name.rsplit_once('.')) {
        (true, Some((_, extension))) if extension.len() < 20 => format!(".{extension}"),
        _ => suffix,
    };
    let mut cut = LONGEST_NAME - end.len();
    while !name.is_char_boundary(cut) {
        cut -= 1;
    }
    name.truncate(cut);
    name + &end
}

/// Makes the request one of a form. The content is shared, not copied.
fn fill(file: &NewFile, mut parts: RequestParts, fields: &[(&str, &str)]) -> RequestParts {
    // No content holds its own hash, so this line is none of the content's. It has at most 70 characters.
    let boundary = format!("attache-{}", hex(file.hash.iter().take(24)));
    let mut head = String::new();
    for (name, value) in fields {
        let _ = write!(
            head,
            "--{boundary}\r\nContent-Disposition: form-data; name=\"{}\"\r\n\r\n{value}\r\n",
            quoted(name)
        );
    }
    let _ = write!(
        head,
        "--{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{}\"\r\nContent-Type: {}\r\n\r\n",
        quoted(&file.name),
        file.media_type.essence(),
    );
    let mut frames = Frames::default();
    frames.copy(head.as_bytes());
    frames.share(file.content.clone());
    frames.copy(format!("\r\n--{boundary}--\r\n").as_bytes());
    parts.body = frames.into_body();
    parts.with_header(CONTENT_TYPE, format!("multipart/form-data; boundary={boundary}"))
}

/// A name inside quotes, escaped as browsers do it.
fn quoted(text: &str) -> String {
    text.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}

/// A document that is to be uploaded.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NewFile {
    /// The name: never blank, at most 200 bytes, without what file systems and APIs forbid, and with an extension
    /// that fits the media type where one is known.
    pub name: String,
    /// The media type.
    pub media_type: MediaType,
    /// The content.
    pub content: Bytes,
    /// The time for which it is to be kept; until it is deleted if nothing is said. An API takes the nearest that it
    /// knows.
    pub lifetime: Option<Duration>,
    /// Of the content.
    hash: [u8; 32],
}

impl NewFile {
    /// The file that a document becomes; `None` if its bytes are not in memory.
    pub fn of(document: &Document, lifetime: Option<Duration>) -> Option<Self> {
        Some(Self {
            name: name_of(document),
            media_type: document.media_type().clone(),
            content: document.bytes()?,
            lifetime,
            hash: document.hash()?,
        })
    }

    /// `parts` with these fields and, behind them as the field `file`, the content, in `multipart/form-data`.
    #[must_use]
    pub fn in_form(&self, parts: RequestParts, fields: &[(&str, &str)]) -> RequestParts {
        fill(self, parts, fields)
    }
}
