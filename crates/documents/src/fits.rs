//! The forms into which converters brought documents.

use std::collections::HashMap;

use attache_core::{Document, DocumentId, Fitted, Form, MediaType};

use crate::stand::Adapted;
use crate::text::one_line;

/// What is known of a document and a form.
#[derive(Clone, Debug)]
pub(crate) enum Fit {
    /// It is in that form.
    AsIs { pages: Option<u64> },
    /// This is in that form.
    Adapted(Adapted),
    /// It cannot be brought there, or not be sent at all.
    Failed(String),
    /// There is nobody who could say.
    Unknown,
}

/// By document, since few forms are asked for of each.
#[derive(Clone, Default)]
pub(crate) struct Fits(HashMap<DocumentId, Vec<(Form, Fit)>>);

impl Fits {
    pub(crate) fn get(&self, document: &DocumentId, form: &Form) -> Option<&Fit> {
        self.0.get(document)?.iter().find(|(known, _)| known == form).map(|(_, fit)| fit)
    }

    pub(crate) fn insert(&mut self, document: &DocumentId, form: &Form, fit: Fit) {
        let known = self.0.entry(document.clone()).or_default();
        known.retain(|(known, _)| known != form);
        known.push((form.clone(), fit));
    }

    pub(crate) fn forget(&mut self, document: &DocumentId) {
        self.0.remove(document);
    }

    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&DocumentId) -> bool) {
        self.0.retain(|id, _| keep(id));
    }
}

impl Fit {
    /// What a converter answered about `document` and `form`.
    pub(crate) fn of(document: &Document, form: &Form, fitted: Fitted) -> Self {
        let Some((bytes, media_type)) = fitted.content else { return Self::AsIs { pages: fitted.pages } };
        if bytes.is_empty() {
            return Self::Failed("the converter made nothing of it".to_owned());
        }
        // Who converts is no more trusted with the model's limits than who wrote the document.
        if !form.allows(&media_type) || form.max_bytes.is_some_and(|most| bytes.len() as u64 > most) {
            return Self::Failed("the converter could not bring it into a form that fits".to_owned());
        }
        let renamed = document.file_name().map(|name| renamed(name, document.media_type(), &media_type));
        let mut made = document.clone().with_media_type(&media_type.to_string()).with_bytes(bytes);
        if let Some(name) = renamed {
            made = made.with_file_name(name);
        }
        let note = fitted.note.as_deref().map_or_else(|| "in another encoding".to_owned(), one_line);
        let (pages, held) = (fitted.pages, fitted.pages_held);
        let part_of = held.and_then(|held| pages.filter(|pages| held < *pages));
        Self::Adapted(Adapted { document: made, note, pages: held.or(pages), part_of })
    }
}

/// The file name with the extension of the new type: some APIs believe the name.
fn renamed(name: &str, from: &MediaType, to: &MediaType) -> String {
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
        let form = Form::of(["image/png"]).with_max_bytes(10);
        let of = |media: &str, bytes: &'static [u8]| {
            Fit::of(&document, &form, Fitted::changed(bytes, MediaType::parse(media).unwrap(), "made"))
        };
        assert!(matches!(of("image/png", b"\x89PNG\r\n\x1a\n"), Fit::Adapted(_)));
        assert!(matches!(of("image/jpeg", b"\xff\xd8\xff"), Fit::Failed(_)));
        assert!(matches!(of("image/png", b"\x89PNG\r\n\x1a\n and more"), Fit::Failed(_)));
        assert!(matches!(of("image/png", b""), Fit::Failed(_)));
    }
}
