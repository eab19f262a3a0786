//! About how many tokens content costs. Providers count in ways of their own and change them; these are estimates for
//! budgets and reports, from above rather than from below.

use attache_core::capability::FileRules;
use attache_core::{Document, MediaKind};

use crate::content::content_bytes;
use crate::content::pixels;

/// The tokens of a page where the model's row does not say.
const PAGE: u64 = 2_000;

/// The pixels of a token where the model's row does not say.
const PIXELS: u64 = 750;

/// The least and the most that an image costs: larger ones are scaled by the provider before they are read.
const IMAGE: (u64, u64) = (85, 5_000);

/// A page of a PDF about whose pages nobody said anything has about so many bytes.
const PAGE_BYTES: u64 = 100_000;

/// Seconds of sound cost about 32 tokens, of video about 300; compressed they take about so many bytes a token.
const AUDIO_BYTES: u64 = 500;
const VIDEO_BYTES: u64 = 1_000;

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

/// The cost of a document that stands there natively.
pub(crate) fn of_document(document: &Document, pages: Option<u64>, rules: &FileRules) -> Estimate {
    let bytes = content_bytes(document).unwrap_or_default();
    let size = bytes.len() as u64;
    let guess = |tokens| Estimate { tokens, is_guess: true };
    match document.media_type().kind() {
        MediaKind::Image => {
            // Nobody has seen the header of an image at an address.
            let known = pixels(bytes);
            let (width, height) = known.unwrap_or((1_024, 1_024));
            let per_token = rules.pixels_per_token.unwrap_or(PIXELS).max(1);
            let tokens = width.saturating_mul(height).div_ceil(per_token).clamp(IMAGE.0, IMAGE.1);
            Estimate { tokens, is_guess: known.is_none() }
        }
        MediaKind::Pdf => {
            let page = rules.page_tokens.unwrap_or(PAGE);
            match pages {
                Some(pages) => Estimate { tokens: pages.saturating_mul(page), is_guess: false },
                None => guess((1 + size / PAGE_BYTES).saturating_mul(page)),
            }
        }
        MediaKind::Audio => guess(size.div_ceil(AUDIO_BYTES)),
        MediaKind::Video => guess(size.div_ceil(VIDEO_BYTES)),
        _ => guess(size.div_ceil(4)),
    }
}

#[cfg(test)]
mod tests {
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
}
