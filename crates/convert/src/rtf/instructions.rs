//! The instructions of a field, which are no text of the document, but may hold some.

use crate::code_pages::Charset;
use crate::eq::MAX_CODE;

#[derive(Default)]
pub(super) struct Instructions {
    text: String,
    /// Bytes behind the text, which are not decoded yet.
    bytes: Vec<u8>,
}

impl Instructions {
    pub(super) fn byte(&mut self, byte: u8) {
        if self.bytes.len() < MAX_CODE {
            self.bytes.push(byte);
        }
    }

    /// A character that is in Unicode already.
    pub(super) fn push(&mut self, text: &str, charset: Charset) {
        self.decode(charset);
        if self.text.len() < MAX_CODE {
            self.text.push_str(text);
        }
    }

    /// Decodes the bytes that wait, before another charset holds.
    pub(super) fn decode(&mut self, charset: Charset) {
        let bytes = std::mem::take(&mut self.bytes);
        if self.text.len() < MAX_CODE {
            self.text.push_str(&charset.decode(&bytes));
        }
    }

    pub(super) fn finish(mut self, charset: Charset) -> String {
        self.decode(charset);
        self.text
    }
}
