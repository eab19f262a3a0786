//! The outcome of one thing that a plan asks for.

use attache_core::Document;
use attache_core::converter::{ConvertedText, MediaLimits, RenderedPages, Transcoded};
use attache_core::fetcher::Fetched;
use bytes::Bytes;

use crate::materials::{Materials, PageRequest};

/// The outcome of one thing that a plan asks for.
pub(crate) enum Brought<'p> {
    Bytes(&'p Document, Bytes),
    Fetched(&'p Document, Fetched),
    Missing(&'p Document, String),
    Transcoded(&'p Document, &'p MediaLimits, Transcoded),
    Unfit(&'p Document, &'p MediaLimits, String),
    Unchecked(&'p Document, &'p MediaLimits),
    Converted(&'p Document, ConvertedText),
    Unconvertible(&'p Document, String),
    Rendered(&'p Document, &'p PageRequest, RenderedPages),
    Unrenderable(&'p Document, &'p PageRequest, String),
    Unrendered(&'p Document, &'p PageRequest),
}

impl Brought<'_> {
    pub(super) fn put_into(self, materials: &mut Materials) {
        match self {
            Self::Bytes(document, bytes) => materials.insert_bytes(document, bytes),
            Self::Fetched(document, fetched) => materials.insert_fetched(document, fetched),
            Self::Missing(document, why) => materials.insert_missing(document, why),
            Self::Transcoded(document, form, fitted) => materials.insert_transcoded(document, form, fitted),
            Self::Unfit(document, form, why) => materials.insert_untranscodable(document, form, why),
            Self::Unchecked(document, form) => materials.insert_unchecked(document, form),
            Self::Converted(document, text) => materials.insert_converted(document, text),
            Self::Unconvertible(document, why) => materials.insert_unconvertible(document, why),
            Self::Rendered(document, request, pages) => materials.insert_rendered(document, request, pages),
            Self::Unrenderable(document, request, why) => {
                materials.insert_unrenderable(document, request, why);
            }
            Self::Unrendered(document, request) => materials.insert_unrendered(document, request),
        }
    }
}
