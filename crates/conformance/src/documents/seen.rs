//! A document as it stands in a request.

use crate::digest::sha256_hex;
use crate::media::decode_base64;

/// A document as it stands in a request body.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SeenDocument {
    /// Its place.
    pub place: SeenPlace,
    /// The wire id of the tool call it belongs to: of the tool result around it, or of the label before it.
    pub tool_call_id: Option<String>,
    /// The media type that the request states; empty where it states none.
    pub media_type: String,
    /// The file name or title that the request states; else the one of the label before it.
    pub file_name: Option<String>,
    /// The SHA-256 of the decoded bytes in hexadecimal; absent where the request only refers to them, or
    /// where they cannot be decoded.
    pub sha256: Option<String>,
    /// The number of decoded bytes.
    pub bytes_len: usize,
    /// The text of a document that is sent as text.
    pub text: Option<String>,
    /// The URL or file id of a document that is only referred to.
    pub reference: Option<String>,
}

/// The place of a document in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SeenPlace {
    /// In a user message.
    User,
    /// Inside a tool result.
    ToolResult,
}

impl SeenDocument {
    pub(super) fn new(place: SeenPlace, media_type: &str) -> Self {
        Self {
            place,
            tool_call_id: None,
            media_type: media_type.to_owned(),
            file_name: None,
            sha256: None,
            bytes_len: 0,
            text: None,
            reference: None,
        }
    }

    pub(super) fn with_base64(self, data: &str) -> Self {
        self.with_bytes(decode_base64(data))
    }

    pub(super) fn with_bytes(mut self, bytes: Option<Vec<u8>>) -> Self {
        if let Some(bytes) = bytes {
            self.sha256 = Some(sha256_hex(&bytes));
            self.bytes_len = bytes.len();
        }
        self
    }

    pub(super) fn with_text(mut self, text: String) -> Self {
        self.sha256 = Some(sha256_hex(text.as_bytes()));
        self.bytes_len = text.len();
        self.text = Some(text);
        self
    }

    pub(super) fn with_reference(mut self, reference: &str) -> Self {
        self.reference = Some(reference.to_owned());
        self
    }
}
