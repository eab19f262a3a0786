//! Tiny documents that hold a number, made here: a reply that names the number proves that the document was read.

mod bits;
mod gif;
mod jpeg;
mod pdf;
mod picture;
mod png;
mod webp;

use std::hash::{BuildHasher, RandomState};

use attache_core::Document;

use self::picture::Picture;

/// The digits of codes. 0 and 1 are left out: they look like letters.
const DIGITS: &[u8; 8] = b"23456789";
/// The number of digits of a code. A reply that guesses would be right once in 262,144 times.
const LENGTH: usize = 6;

/// The kinds of documents that are probed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Png,
    Jpeg,
    WebP,
    Gif,
    Pdf,
}

impl Kind {
    /// In the order of probing: plain text first, since it shows whether the model repeats a number at all.
    pub(super) const ALL: [Self; 6] = [Self::Text, Self::Png, Self::Jpeg, Self::WebP, Self::Gif, Self::Pdf];

    /// The media type.
    pub(super) fn media_type(self) -> &'static str {
        match self {
            Self::Text => "text/plain",
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::WebP => "image/webp",
            Self::Gif => "image/gif",
            Self::Pdf => "application/pdf",
        }
    }

    /// Its word in a list of the capability table.
    pub(super) fn pattern(self) -> &'static str {
        match self {
            Self::Text => "text",
            other => other.media_type(),
        }
    }

    fn file_name(self) -> &'static str {
        match self {
            Self::Text => "note.txt",
            Self::Png => "picture.png",
            Self::Jpeg => "picture.jpg",
            Self::WebP => "picture.webp",
            Self::Gif => "picture.gif",
            Self::Pdf => "page.pdf",
        }
    }

    /// About how many tokens a model counts for it at most.
    pub(super) fn tokens(self) -> u64 {
        match self {
            Self::Text => 40,
            Self::Pdf => 3_000,
            _ => 1_600,
        }
    }

    /// A document of this kind that holds `code`.
    pub(super) fn document(self, code: &Code) -> Document {
        let code = code.as_str();
        let bytes = match self {
            Self::Text => {
                format!("Note of the caretaker\nThe number of the cellar door is {code}.\n").into_bytes()
            }
            Self::Pdf => pdf::encode(code),
            Self::Png => png::encode(&Picture::of(code)),
            Self::Jpeg => jpeg::encode(&Picture::of(code)),
            Self::WebP => webp::encode(&Picture::of(code)),
            Self::Gif => gif::encode(&Picture::of(code)),
        };
        Document::from_bytes(bytes, self.media_type()).with_file_name(self.file_name())
    }
}

/// A number that nobody can know without reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Code(String);

impl Code {
    /// A new one.
    pub(super) fn new() -> Self {
        // The keys of a hash map are random enough for what no model must guess.
        let mut random = RandomState::new().hash_one("code");
        let mut code = String::with_capacity(LENGTH);
        for _ in 0..LENGTH {
            let [low, ..] = random.to_le_bytes();
            code.push(DIGITS.get(usize::from(low % 8)).copied().map_or('2', char::from));
            random >>= 3;
        }
        Self(code)
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// True if a reply names it, with whatever stands between the digits: `482 913` and `482,913` count.
    pub(super) fn is_in(&self, reply: &str) -> bool {
        let digits: String = reply.chars().filter(char::is_ascii_digit).collect();
        digits.contains(&self.0)
    }
}

#[cfg(test)]
pub(super) mod tests;
