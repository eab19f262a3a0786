//! The forms into which converters brought documents.

use attache_core::converter::{MediaLimits, Transcoded};
use attache_core::{Document, MediaKind, MediaType};

use crate::content::pixels;
use crate::materials::page_count::Pages;
use crate::text::tame;

/// The knowledge about a document and a form.
#[derive(Clone, Debug)]
pub(crate) enum Transcoding {
    /// It is in that form.
    AsIs { pages: Option<u64> },
    /// This is in that form.
    Adapted(Adapted),
    /// It cannot be brought there, or not be sent at all.
    Failed(String),
    /// There is nobody who could say.
    Unknown,
}

impl Transcoding {
    /// The answer of a converter about `document` and `form`.
    pub(crate) fn of(document: &Document, form: &MediaLimits, fitted: Transcoded) -> Self {
        let Some((bytes, media_type)) = fitted.content else { return Self::AsIs { pages: fitted.pages } };
        if bytes.is_empty() {
            return Self::Failed("the converter made nothing of it".to_owned());
        }
        let (is_image, is_pdf) = (media_type.kind() == MediaKind::Image, media_type.kind() == MediaKind::Pdf);
        let side = pixels(&bytes).filter(|_| is_image).map(|(width, height)| width.max(height));
        // The pages in it count before those that are said to be.
        let counted = is_pdf.then(|| Pages::of(&bytes).number()).flatten();
        let exceeds =
            |size: Option<u64>, most: Option<u64>| size.zip(most).is_some_and(|(size, most)| size > most);
        // A converter is no more trusted with the model's limits than the document's author.
        if !form.allows(&media_type)
            || exceeds(Some(bytes.len() as u64), form.max_bytes)
            || exceeds(side, form.max_pixels)
            || exceeds(counted, form.max_pages)
        {
            return Self::Failed("the converter could not bring it into a form that fits".to_owned());
        }
        let renamed = document.file_name().map(|name| renamed(name, document.media_type(), &media_type));
        let mut made = document.clone().with_media_type(&media_type.to_string()).with_bytes(bytes);
        if let Some(name) = renamed {
            made = made.with_file_name(name);
        }
        let note = fitted.note.as_deref().map_or_else(|| "in another encoding".to_owned(), tame);
        let (pages, held) = (fitted.pages, fitted.pages_held);
        let part_of = held.and_then(|held| pages.filter(|pages| held < *pages));
        Self::Adapted(Adapted { document: made, note, pages: held.or(counted).or(pages), part_of })
    }
}

/// The file name with the extension of the new type: some APIs believe the name.
pub(super) fn renamed(name: &str, from: &MediaType, to: &MediaType) -> String {
    let Some(extension) = to.extension().filter(|_| from.essence() != to.essence()) else {
        return name.to_owned();
    };
    let stem = match name.rsplit_once('.') {
        Some((stem, old)) if !stem.is_empty() && old.len() <= 5 => stem,
        _ => name,
    };
    format!("{stem}.{extension}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_follows_the_type() {
        let media = |text: &str| MediaType::parse(text).unwrap();
        let (bmp, png) = (media("image/bmp"), media("image/png"));
        assert_eq!(renamed("scan.bmp", &bmp, &png), "scan.png");
        assert_eq!(renamed("scan", &bmp, &png), "scan.png");
        assert_eq!(renamed("v1.final scan", &bmp, &png), "v1.final scan.png");
        assert_eq!(renamed("scan.PNG", &png, &png), "scan.PNG");
    }

    #[test]
    fn an_answer_that_does_not_fit_is_none() {
        let document = Document::from_bytes(&b"BM pixels"[..], "image/bmp").with_media_type("image/bmp");
        let form = MediaLimits::of(["image/png"]).with_max_bytes(10);
        let of = |media: &str, bytes: &'static [u8]| {
            Transcoding::of(
                &document,
                &form,
                Transcoded::changed(bytes, MediaType::parse(media).unwrap(), "made"),
            )
        };
        assert!(matches!(of("image/png", b"\x89PNG\r\n\x1a\n"), Transcoding::Adapted(_)));
        assert!(matches!(of("image/jpeg", b"\xff\xd8\xff"), Transcoding::Failed(_)));
        assert!(matches!(of("image/png", b"\x89PNG\r\n\x1a\n and more"), Transcoding::Failed(_)));
        assert!(matches!(of("image/png", b""), Transcoding::Failed(_)));
        let of = |form: MediaLimits, media: &str, bytes: &[u8]| {
            Transcoding::of(
                &document,
                &form,
                Transcoded::changed(bytes.to_vec(), MediaType::parse(media).unwrap(), "made"),
            )
        };
        // Width and height stand in the first chunk.
        let wide = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x03\0\0\0\x01\x08\x02\0\0\0";
        assert!(matches!(
            of(MediaLimits::of(["image/png"]).with_max_pixels(2), "image/png", wide),
            Transcoding::Failed(_)
        ));
        assert!(matches!(
            of(MediaLimits::of(["image/png"]).with_max_pixels(3), "image/png", wide),
            Transcoding::Adapted(_)
        ));
        let pages = b"%PDF-1.7\n<</Type/Page>><</Type/Page>>";
        let pdf = |most| MediaLimits::of(["application/pdf"]).with_max_pages(most);
        assert!(matches!(of(pdf(1), "application/pdf", pages), Transcoding::Failed(_)));
        assert!(
            matches!(of(pdf(2), "application/pdf", pages), Transcoding::Adapted(made) if made.pages == Some(2))
        );
    }
}

/// A document in another form.
#[derive(Clone, Debug)]
pub(crate) struct Adapted {
    pub(crate) document: Document,
    /// A word on the change.
    pub(crate) note: String,
    /// The pages that it holds, if it has pages.
    pub(crate) pages: Option<u64>,
    /// The pages of the whole, if these are only the first of them.
    pub(crate) part_of: Option<u64>,
}
