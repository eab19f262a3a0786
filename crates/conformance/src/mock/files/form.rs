//! Forms with a file in them (RFC 7578), read strictly.

use std::time::Duration;

use bytes::Bytes;

use crate::mock::record::RecordedRequest;

/// A form: its fields in order, and its file.
#[derive(Debug)]
pub(super) struct Form {
    pub(super) fields: Vec<(String, String)>,
    pub(super) file: Upload,
}

/// The file of a form.
#[derive(Debug)]
pub(super) struct Upload {
    pub(super) name: String,
    pub(super) media_type: String,
    pub(super) content: Bytes,
}

impl Form {
    /// Reads the body of a request.
    ///
    /// # Errors
    /// The problem with it.
    pub(super) fn read(request: &RecordedRequest) -> Result<Self, String> {
        let content_type = request.header("content-type");
        let (essence, parameters) = content_type.split_once(';').unwrap_or((content_type, ""));
        if !essence.trim().eq_ignore_ascii_case("multipart/form-data") {
            return Err(format!("expected multipart/form-data, got {content_type:?}"));
        }
        let boundary = parameters.trim().strip_prefix("boundary=").unwrap_or_default().trim_matches('"');
        if boundary.is_empty() || boundary.len() > 70 {
            return Err("the form has no boundary of 1 to 70 characters".to_owned());
        }
        let open = format!("--{boundary}\r\n");
        let body =
            request.body.strip_prefix(open.as_bytes()).ok_or("the form does not begin with its boundary")?;
        let (mut fields, mut file) = (Vec::new(), None);
        let mut rest = body;
        loop {
            let joint = format!("\r\n--{boundary}");
            let end = find(rest, joint.as_bytes()).ok_or("a part of the form has no end")?;
            let (part, after) =
                (rest.get(..end).unwrap_or_default(), rest.get(end + joint.len()..).unwrap_or_default());
            match Part::read(part)? {
                Part { name, file_name: Some(file_name), media_type, content } if name == "file" => {
                    let content = Bytes::copy_from_slice(content);
                    let media_type = media_type.ok_or("the file has no content type")?;
                    if file.replace(Upload { name: file_name, media_type, content }).is_some() {
                        return Err("the form has two files".to_owned());
                    }
                }
                Part { name, file_name: None, content, .. } => {
                    let text =
                        std::str::from_utf8(content).map_err(|_| format!("the field {name} is no text"))?;
                    fields.push((name, text.to_owned()));
                }
                Part { name, .. } => return Err(format!("the field {name} must be no file")),
            }
            match after {
                b"--\r\n" | b"--" => break,
                _ => rest = after.strip_prefix(b"\r\n").ok_or("a boundary has something behind it")?,
            }
        }
        Ok(Self { fields, file: file.ok_or("the form has no field \"file\"")? })
    }

    pub(super) fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// A lifetime in seconds inside bounds.
pub(super) fn seconds(text: &str, most: u64) -> Option<Duration> {
    let seconds: u64 = text.parse().ok()?;
    (3_600..=most).contains(&seconds).then(|| Duration::from_secs(seconds))
}

/// One part of a form.
struct Part<'b> {
    name: String,
    file_name: Option<String>,
    media_type: Option<String>,
    content: &'b [u8],
}

impl<'b> Part<'b> {
    fn read(part: &'b [u8]) -> Result<Self, String> {
        let end = find(part, b"\r\n\r\n").ok_or("a part of the form has no headers")?;
        let head =
            std::str::from_utf8(part.get(..end).unwrap_or_default()).map_err(|_| "headers are no text")?;
        let content = part.get(end + 4..).unwrap_or_default();
        let header = |wanted: &str| {
            let lines = head.split("\r\n").filter_map(|line| line.split_once(':'));
            lines.filter(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value.trim()).next()
        };
        let disposition = header("content-disposition").ok_or("a part of the form says not what it is")?;
        let parameters = disposition.strip_prefix("form-data;").ok_or("a part is no form-data")?;
        let parameter = |wanted: &str| {
            let start = format!(" {wanted}=\"");
            let (_, value) = parameters.split_once(start.as_str())?;
            let (value, _) = value.split_once('"')?;
            Some(value.replace("%22", "\"").replace("%0D", "\r").replace("%0A", "\n"))
        };
        Ok(Self {
            name: parameter("name").ok_or("a part of the form has no name")?,
            file_name: parameter("filename"),
            media_type: header("content-type").map(str::to_owned),
            content,
        })
    }
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    // The first byte of what is sought is rare enough.
    let first = *needle.first()?;
    let mut from = 0;
    loop {
        let at = from + haystack.get(from..)?.iter().position(|byte| *byte == first)?;
        if haystack.get(at..at + needle.len()) == Some(needle) {
            return Some(at);
        }
        from = at + 1;
    }
}
