//! Token estimates of content. Providers count in their own, changing ways; these are estimates for budgets and
//! reports, rather too high than too low.

use attache_core::capability::FileRules;
use attache_core::{Document, MediaKind};

use crate::content::{content_bytes, pixels};
use crate::options::MAX_TEXT_BYTES;

/// The tokens of a page where the model's row does not say.
const PAGE: u64 = 2_000;

/// The pixels of a token where the model's row does not say.
const PIXELS: u64 = 750;

/// The minimum and maximum cost of an image: larger ones are scaled by the provider before they are read.
const IMAGE: (u64, u64) = (85, 5_000);

/// A page of a PDF about whose pages nobody said anything has about so many bytes.
const PAGE_BYTES: u64 = 100_000;

/// Seconds of sound cost about 32 tokens, of video about 300; compressed they take about so many bytes a token.
const AUDIO_BYTES: u64 = 500;
const VIDEO_BYTES: u64 = 1_000;

/// A file of another kind is shown as the text in it, of which a token takes about so many of its bytes.
const FILE_BYTES: u64 = 20;

/// The maximum cost of a document before its bytes are looked at: its size may be a claim.
const MOST: u64 = 200_000;

/// Tokens, and whether they rest on more than the size of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Estimate {
    pub(crate) tokens: u64,
    pub(crate) is_guess: bool,
}

/// The cost of a text: about a token for four characters of ASCII, and one for each other character.
pub(crate) fn of_text(text: &str) -> u64 {
    let ascii = text.bytes().filter(u8::is_ascii).count() as u64;
    let other = text.bytes().filter(|byte| !byte.is_ascii() && (byte & 0xc0) == 0xc0).count() as u64;
    ascii.div_ceil(4) + other
}

/// The pages of a PDF that so many tokens pay for, at least one.
pub(crate) fn pages(tokens: u64, rules: &FileRules) -> u64 {
    (tokens / rules.page_tokens.unwrap_or(PAGE).max(1)).max(1)
}

/// The images of pages that so many tokens pay for, at least one.
pub(crate) fn images(tokens: u64) -> u64 {
    (tokens / IMAGE.1).max(1)
}

/// Estimates the tokens of a document for a model with these rules, by its type and size, at most 200,000: for
/// estimates before the document is loaded. Text and other kinds of files count as the text that is shown of them by
/// default. The bytes are not read, so the estimate is the same for handles with and without bytes.
pub fn estimated_tokens(document: &Document, rules: &FileRules) -> u64 {
    let size = document.size().unwrap_or_default();
    let text = size.min(MAX_TEXT_BYTES as u64).div_ceil(4);
    let tokens = match document.media_type().kind() {
        MediaKind::Text => text,
        MediaKind::Image | MediaKind::Pdf | MediaKind::Audio | MediaKind::Video => {
            whole(document, size, rules)
        }
        _ => text.min(size.div_ceil(FILE_BYTES)),
    };
    tokens.min(MOST)
}

/// The cost of a document that stands there natively, by its pages or the header of its image where they are known.
pub(crate) fn of_document(document: &Document, pages: Option<u64>, rules: &FileRules) -> Estimate {
    let known = match document.media_type().kind() {
        MediaKind::Image => content_bytes(document).and_then(pixels).map(|size| of_image(size, rules)),
        MediaKind::Pdf => pages.map(|pages| of_pages(pages, rules)),
        _ => None,
    };
    let guess = || whole(document, document.size().unwrap_or_default(), rules);
    Estimate { tokens: known.unwrap_or_else(guess), is_guess: known.is_none() }
}

/// The cost of all of a document of that size.
fn whole(document: &Document, size: u64, rules: &FileRules) -> u64 {
    match document.media_type().kind() {
        MediaKind::Image => of_image((1_024, 1_024), rules),
        MediaKind::Pdf => of_pages((1 + size / PAGE_BYTES).min(rules.max_pages.unwrap_or(u64::MAX)), rules),
        MediaKind::Audio => size.div_ceil(AUDIO_BYTES),
        MediaKind::Video => size.div_ceil(VIDEO_BYTES),
        _ => size.div_ceil(4),
    }
}

fn of_image((width, height): (u64, u64), rules: &FileRules) -> u64 {
    let per_token = rules.pixels_per_token.unwrap_or(PIXELS).max(1);
    width.saturating_mul(height).div_ceil(per_token).clamp(IMAGE.0, IMAGE.1)
}

fn of_pages(pages: u64, rules: &FileRules) -> u64 {
    pages.saturating_mul(rules.page_tokens.unwrap_or(PAGE))
}

#[cfg(test)]
mod tests {
    use attache_core::DocumentId;

    use super::*;

    #[test]
    fn texts_by_their_characters() {
        assert_eq!(of_text(""), 0);
        assert_eq!(of_text("twelve chars"), 3);
        assert_eq!(of_text("日本語"), 3);
        assert_eq!(of_text("größe"), 1 + 2);
    }

    #[test]
    fn documents_by_what_is_known() {
        let rules = FileRules::default();
        let pdf =
            Document::from_bytes(vec![b'x'; 250_000], "application/pdf").with_media_type("application/pdf");
        assert_eq!(of_document(&pdf, Some(7), &rules), Estimate { tokens: 14_000, is_guess: false });
        assert_eq!(of_document(&pdf, None, &rules), Estimate { tokens: 6_000, is_guess: true });
        let header = [
            &b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..],
            &1_500_u32.to_be_bytes(),
            &1_000_u32.to_be_bytes(),
            &[8, 2, 0, 0, 0],
        ]
        .concat();
        let png = Document::from_bytes(header, "image/png");
        assert_eq!(of_document(&png, None, &rules), Estimate { tokens: 2_000, is_guess: false });
        assert!(of_document(&Document::external("https://x/a.png"), None, &rules).is_guess);
    }

    #[test]
    fn documents_by_their_type_and_size() {
        let stored = |media: &str, size| {
            Document::stored(DocumentId::parse("d-1").unwrap(), "main", media).with_size(size)
        };
        let unsaid = FileRules::default();
        let mut said = FileRules::default();
        (said.page_tokens, said.pixels_per_token, said.max_pages) = (Some(560), Some(1_024), Some(100));
        for (media, size, by_default, by_row) in [
            ("text/plain", 400, 100, 100),
            // Longer text is cut by default.
            ("text/plain", 10 << 20, 65_536, 65_536),
            ("image/png", 3_000_000, 1_399, 1_024),
            ("application/pdf", 250_000, 3 * 2_000, 3 * 560),
            ("application/pdf", 9_950_000, 100 * 2_000, 100 * 560),
            ("application/pdf", u64::MAX, 200_000, 100 * 560),
            ("audio/mpeg", u64::MAX, 200_000, 200_000),
            ("audio/mpeg", 5_000, 10, 10),
            ("video/mp4", 5_000, 5, 5),
            ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", 20_000, 1_000, 1_000),
        ] {
            let document = stored(media, size);
            assert_eq!(estimated_tokens(&document, &unsaid), by_default, "{media} {size}");
            assert_eq!(estimated_tokens(&document, &said), by_row, "{media} {size}");
        }
        let held =
            Document::from_bytes(vec![0; 250_000], "application/pdf").with_media_type("application/pdf");
        assert_eq!(estimated_tokens(&held, &said), 3 * 560, "a handle that holds the bytes costs the same");
    }
}
