//! The decision about one document, as data.

use std::sync::Arc;

use attache_core::Document;
use attache_core::capability::Place;
use attache_core::converter::MediaLimits;

use crate::content::content_bytes;
use crate::estimate::Estimate;
use crate::materials::PageRequest;
use crate::report::{DocumentOutcome, Reason};
use crate::text::fence::Fenced;

/// The decision about one occurrence.
#[derive(Clone, Debug)]
pub(crate) struct Treatment {
    pub(crate) outcome: DocumentOutcome,
    pub(crate) place: Option<Place>,
    pub(crate) reason: Reason,
    pub(crate) shown: Shown,
    /// The thing to fetch or make for something better.
    pub(crate) need: Option<Need>,
    /// The content that would stand there then. It takes its part of the limits, so that a document that a plan leaves
    /// out for them is left out for them, and not because nobody loaded it.
    pub(crate) expected: Option<Expected>,
    /// The tokens that the content costs.
    pub(crate) cost: Estimate,
    /// The pages of a PDF that stand there natively, if they are known.
    pub(crate) pages: Option<u64>,
    /// The number of documents inside it that are not looked at, because there are too many or they are too deep.
    pub(crate) not_opened: usize,
}

/// The content in the message.
#[derive(Clone, Debug)]
pub(crate) enum Shown {
    Nothing,
    /// The document itself: its bytes in memory, or its address cleared for the provider.
    Native(Document),
    /// Text of it or from it.
    Text(Arc<Fenced>),
    /// The document in another form: what was done to it, and the text of what that form lacks.
    Adapted {
        document: Document,
        note: String,
        rest: Option<Arc<Fenced>>,
    },
    /// Its pages in order, some as images and some as text.
    Pages {
        pieces: Vec<Piece>,
        note: String,
        /// True if no page is left out.
        is_whole: bool,
    },
    /// A sentence about it.
    Note,
}

/// Pages of a document.
#[derive(Clone, Debug)]
pub(crate) enum Piece {
    /// The text of some of them.
    Text(Arc<Fenced>),
    /// One as an image.
    Image { page: usize, total: usize, document: Document },
}

/// The likely form of a document that is not loaded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected {
    /// The place that takes it as it is, if one does.
    pub(crate) native: Option<Place>,
    pub(crate) bytes: u64,
}

/// A thing to fetch or make first.
#[derive(Clone, Debug)]
pub(crate) enum Need {
    Load(Document),
    Convert(Document),
    Transcode(Document, MediaLimits),
    Render(Document, PageRequest),
}

impl Treatment {
    pub(crate) fn new(outcome: DocumentOutcome, place: Option<Place>, reason: Reason, shown: Shown) -> Self {
        let (cost, pages, not_opened) = (Estimate::default(), None, 0);
        Self { outcome, place, reason, shown, need: None, expected: None, cost, pages, not_opened }
    }

    pub(crate) fn note(place: Option<Place>, reason: Reason) -> Self {
        Self::new(DocumentOutcome::Note, place, reason, Shown::Note)
    }

    pub(crate) fn error(place: Option<Place>, reason: Reason) -> Self {
        Self::new(DocumentOutcome::Error, place, reason, Shown::Nothing)
    }

    /// The same at what it costs.
    pub(crate) fn costing(self, cost: Estimate, pages: Option<u64>) -> Self {
        Self { cost, pages, ..self }
    }

    /// How good the form is in which the content is shown: 0 where it is not. A plan hopes for the best.
    pub(crate) fn rank(&self, purpose: Purpose) -> u8 {
        match (&self.shown, self.outcome, self.expected) {
            (Shown::Native(_) | Shown::Adapted { .. } | Shown::Pages { .. }, ..)
            | (Shown::Text(_), DocumentOutcome::Text, _) => 2,
            (Shown::Text(_), ..) => 1,
            (_, _, Some(expected)) if purpose == Purpose::Plan => 1 + u8::from(expected.native.is_some()),
            (Shown::Nothing | Shown::Note, ..) => 0,
        }
    }

    /// The bytes of content that stand in the request, before base64.
    pub(crate) fn content_bytes(&self) -> u64 {
        match &self.shown {
            Shown::Native(document) => content_bytes(document).map_or(0, <[u8]>::len) as u64,
            Shown::Text(fenced) => fenced.shown as u64,
            Shown::Adapted { document, rest, .. } => {
                let text = rest.as_ref().map_or(0, |rest| rest.shown);
                content_bytes(document).map_or(0, <[u8]>::len) as u64 + text as u64
            }
            Shown::Pages { pieces, .. } => pieces.iter().map(Piece::bytes).sum(),
            Shown::Nothing | Shown::Note => 0,
        }
    }

    /// The images of pages that stand in the request.
    pub(crate) fn page_images(&self) -> impl Iterator<Item = &Document> {
        let pieces = match &self.shown {
            Shown::Pages { pieces, .. } => pieces.as_slice(),
            _ => &[],
        };
        pieces.iter().filter_map(|piece| match piece {
            Piece::Image { document, .. } => Some(document),
            Piece::Text(_) => None,
        })
    }
}

impl Piece {
    fn bytes(&self) -> u64 {
        match self {
            Self::Text(fenced) => fenced.shown as u64,
            Self::Image { document, .. } => content_bytes(document).map_or(0, <[u8]>::len) as u64,
        }
    }
}

/// The use of a decision: for a request, or for finding out what a request needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Route,
    Plan,
}
