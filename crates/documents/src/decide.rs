//! What becomes of each document where it stands, for itself.

use std::borrow::Cow;

use attache_core::{Document, DocumentSource, MediaKind, MediaType, ModelCapabilities, Place};

use crate::fence::Fenced;
use crate::materials::{Content, Materials, Readable, content_bytes};
use crate::options::RouteOptions;
use crate::report::{Outcome, Reason, ReasonKind};
use crate::survey::{Excluded, Occurrence, Origin};
use crate::verdict::{Expected, Need, Purpose, Shown, Verdict};

/// Decides for one model, one set of materials and options.
#[derive(Clone, Copy)]
pub(crate) struct Judge<'a> {
    pub(crate) capabilities: &'a ModelCapabilities,
    pub(crate) materials: &'a Materials,
    pub(crate) options: &'a RouteOptions,
    pub(crate) purpose: Purpose,
}

impl Judge<'_> {
    /// What becomes of the document where it stands, were it alone. Duplicates are settled by their first.
    pub(crate) fn decide(&self, occurrence: &Occurrence<'_>) -> Verdict {
        let hidden =
            |kind, text| Verdict::new(Outcome::Withheld, None, Reason::new(kind, text), Shown::Nothing);
        match occurrence.excluded {
            Some(Excluded::Withheld) => {
                hidden(ReasonKind::Withheld, "the tool's handler keeps it from the model")
            }
            Some(Excluded::Cancelled) => hidden(ReasonKind::Cancelled, "the call was cancelled"),
            Some(Excluded::Duplicate(_)) => {
                hidden(ReasonKind::Duplicate, "it is the same as another document of the same result")
            }
            None => self.admit(occurrence),
        }
    }

    fn admit(&self, occurrence: &Occurrence<'_>) -> Verdict {
        let place = occurrence.place;
        let verdict = match occurrence.origin {
            Origin::Tool => self.settle(occurrence, &[place, Place::BesideResult]),
            Origin::Event | Origin::Author { .. } => self.settle(occurrence, &[place]),
        };
        let fails = verdict.outcome == Outcome::Note
            && (verdict.need.is_none() || self.purpose == Purpose::Route)
            && match (occurrence.origin, verdict.reason.kind()) {
                // The note says all there is to say about an empty document.
                (_, ReasonKind::Empty) | (Origin::Tool, _) => false,
                (Origin::Event, _) => self.options.fail_on_event_documents,
                // What was lost since its author attached it must not fail all later turns.
                (Origin::Author { current: false }, ReasonKind::Missing) => false,
                (Origin::Author { .. }, _) => true,
            };
        if fails { Verdict::error(verdict.place, verdict.reason) } else { verdict }
    }

    /// Tries the places in order.
    fn settle(&self, occurrence: &Occurrence<'_>, places: &[Place]) -> Verdict {
        let document = match self.materials.content(occurrence.document) {
            Content::Here(document) => document,
            Content::Missing(why) => {
                let why = format!("it could not be loaded: {why}");
                return self.without_content(occurrence, places, why);
            }
            Content::NotLoaded => return self.unloaded(occurrence, places),
        };
        if content_bytes(&document).is_none_or(<[u8]>::is_empty) {
            return self.note(places, ReasonKind::Empty, "the document is empty");
        }
        if is_text(&document) {
            return self.text(occurrence, &document, places);
        }
        let media = media_name(&document);
        match self.fit(&document, places) {
            Fit::At(0) => self.native(places, &document),
            Fit::At(at) => self.synthetic(places, at, &document),
            Fit::TooLarge(limit) => {
                let bytes = content_bytes(&document).map_or(0, <[u8]>::len);
                let text = format!("it has {bytes} bytes, and this model takes at most {limit} of {media}");
                self.as_other_text(occurrence, &document, places, ReasonKind::TooLarge, text)
            }
            Fit::Nowhere => {
                let text = format!("this model does not take {media} in {}", names(places));
                self.as_other_text(occurrence, &document, places, ReasonKind::Unsupported, text)
            }
        }
    }

    /// No place takes the document itself, for the reason given; text may have been made of it.
    fn as_other_text(
        &self,
        occurrence: &Occurrence<'_>,
        document: &Document,
        places: &[Place],
        kind: ReasonKind,
        text: String,
    ) -> Verdict {
        if let Some(converted) = self.converted(occurrence, document, places) {
            return converted;
        }
        if !self.may_convert(occurrence) {
            return self.note(places, kind, text);
        }
        match self.materials.unconvertible(occurrence.document) {
            Some(why) => {
                self.note(places, kind, format!("{text}, and it could not be converted to text: {why}"))
            }
            None => {
                let need = Some(Need::Convert(document.clone()));
                Verdict { need, ..self.note(places, kind, text) }
            }
        }
    }

    /// The first place that takes the document.
    fn fit(&self, document: &Document, places: &[Place]) -> Fit {
        let media = document.media_type();
        let size = content_bytes(document).map_or(0, <[u8]>::len) as u64;
        let mut largest = None;
        for (at, place) in places.iter().enumerate() {
            let takes = self.capabilities.place(*place);
            if !takes.accepts(media) {
                continue;
            }
            match takes.byte_limit(media).filter(|limit| size > *limit) {
                Some(limit) => largest = largest.max(Some(limit)),
                None => return Fit::At(at),
            }
        }
        largest.map_or(Fit::Nowhere, Fit::TooLarge)
    }

    fn native(&self, places: &[Place], document: &Document) -> Verdict {
        let place = places.first().copied();
        let media = media_name(document);
        let text = format!("this model takes {media} in {}", place.map_or("", name));
        Verdict::new(
            Outcome::Native,
            place,
            Reason::new(ReasonKind::Accepted, text),
            Shown::Native(document.clone()),
        )
    }

    fn synthetic(&self, places: &[Place], at: usize, document: &Document) -> Verdict {
        let media = media_name(document);
        let first = places.first().copied();
        let large = first.is_some_and(|first| self.capabilities.place(first).accepts(document.media_type()));
        let (first, size) = (first.map_or("", name), if large { " of this size" } else { "" });
        let text = format!("this model does not take {media}{size} in {first}; it follows in a user message");
        let reason = Reason::new(ReasonKind::NotInResult, text);
        Verdict::new(Outcome::Synthetic, places.get(at).copied(), reason, Shown::Native(document.clone()))
    }

    fn text(&self, occurrence: &Occurrence<'_>, document: &Document, places: &[Place]) -> Verdict {
        let fenced = match self.materials.text(document, self.limit(occurrence)) {
            Readable::Text(fenced) => fenced,
            Readable::Blank => {
                return self.note(places, ReasonKind::Empty, "the document holds nothing but blank space");
            }
            Readable::Undecodable => {
                return self.converted(occurrence, document, places).unwrap_or_else(|| {
                    let media = media_name(document);
                    let text = format!("it is not readable as {media}: its bytes fit no known charset");
                    self.note(places, ReasonKind::Unreadable, text)
                });
            }
        };
        match self.text_place(places) {
            Some(place) => {
                let reason = Reason::new(ReasonKind::ReadsAsText, shown_as("text", &fenced));
                Verdict::new(Outcome::Text, Some(place), reason, Shown::Text(fenced))
            }
            None => {
                let text = format!("this model does not take text in {}", names(places));
                self.note(places, ReasonKind::Unsupported, text)
            }
        }
    }

    fn converted(
        &self,
        occurrence: &Occurrence<'_>,
        document: &Document,
        places: &[Place],
    ) -> Option<Verdict> {
        if !self.may_convert(occurrence) {
            return None;
        }
        let place = self.text_place(places)?;
        let fenced =
            self.materials.conversion(occurrence.document, document.media_type(), self.limit(occurrence))?;
        let reason = Reason::new(ReasonKind::MadeText, shown_as("converted text", &fenced));
        Some(Verdict::new(Outcome::Converted, Some(place), reason, Shown::Text(fenced)))
    }

    /// The content cannot be had; text made of it earlier may still be there.
    fn without_content(&self, occurrence: &Occurrence<'_>, places: &[Place], why: String) -> Verdict {
        self.converted(occurrence, occurrence.document, places)
            .unwrap_or_else(|| self.note(places, ReasonKind::Missing, why))
    }

    fn unloaded(&self, occurrence: &Occurrence<'_>, places: &[Place]) -> Verdict {
        let document = occurrence.document;
        let media = document.media_type();
        let native = places.iter().copied().find(|place| self.capabilities.place(*place).accepts(media));
        // Bytes of unknown type may be anything.
        if native.is_none() && !is_text(document) && *media != MediaType::octet_stream() {
            if let Some(converted) = self.converted(occurrence, document, places) {
                return converted;
            }
            // Without its bytes nothing would become of it that is not known already.
            if !self.may_convert(occurrence) || self.materials.unconvertible(document).is_some() {
                let text = format!("this model does not take {} in {}", media_name(document), names(places));
                return self.note(places, ReasonKind::Unsupported, text);
            }
        }
        let verdict = self.without_content(occurrence, places, "it was not loaded".to_owned());
        if verdict.outcome != Outcome::Note && self.purpose == Purpose::Route {
            return verdict;
        }
        let native = native.filter(|_| !is_text(document));
        let expected = Expected { native, bytes: document.size().unwrap_or_default() };
        Verdict { need: Some(Need::Load(document.clone())), expected: Some(expected), ..verdict }
    }

    fn note(&self, places: &[Place], kind: ReasonKind, text: impl Into<Cow<'static, str>>) -> Verdict {
        Verdict::note(self.note_place(places), Reason::new(kind, text))
    }

    fn text_place(&self, places: &[Place]) -> Option<Place> {
        places.iter().copied().find(|place| self.capabilities.place(*place).accepts_text())
    }

    fn note_place(&self, places: &[Place]) -> Option<Place> {
        self.text_place(places).or_else(|| places.last().copied())
    }

    /// Where a note about this occurrence stands.
    pub(crate) fn place_for_note(&self, occurrence: &Occurrence<'_>) -> Option<Place> {
        match occurrence.origin {
            Origin::Tool => self.note_place(&[occurrence.place, Place::BesideResult]),
            Origin::Event | Origin::Author { .. } => Some(occurrence.place),
        }
    }

    fn may_convert(&self, occurrence: &Occurrence<'_>) -> bool {
        !matches!(occurrence.origin, Origin::Author { .. }) || self.options.convert_author_documents
    }

    fn limit(&self, occurrence: &Occurrence<'_>) -> usize {
        match occurrence.origin {
            Origin::Author { .. } => usize::MAX,
            Origin::Tool | Origin::Event => self.options.max_text_bytes,
        }
    }
}

/// Where a document fits.
enum Fit {
    /// In the place of this index.
    At(usize),
    /// Some place takes its type, and of that at most so many bytes.
    TooLarge(u64),
    /// No place takes its type.
    Nowhere,
}

/// The media type for a sentence; whoever made it up may have made it long.
fn media_name(document: &Document) -> &str {
    let essence = document.media_type().essence();
    essence.get(..100).unwrap_or(essence)
}

/// Inline documents hold text, whatever type they claim.
fn is_text(document: &Document) -> bool {
    document.media_type().kind() == MediaKind::Text
        || matches!(document.source(), DocumentSource::Inline { .. })
}

fn shown_as(what: &str, fenced: &Fenced) -> String {
    let mut text = format!("shown as {what}");
    if let Some(charset) = fenced.guessed {
        text.push_str(&format!(", read as {charset}"));
    }
    if fenced.shown < fenced.total {
        text.push_str(&format!(", the first {} of {} bytes", fenced.shown, fenced.total));
    }
    text
}

/// The place in words.
pub(crate) fn name(place: Place) -> &'static str {
    match place {
        Place::ToolResult => "tool results",
        Place::FailedResult => "failed tool results",
        Place::BesideResult => "user messages after tool results",
        _ => "user messages",
    }
}

fn names(places: &[Place]) -> String {
    match places {
        [only] => name(*only).to_owned(),
        [first, ..] => format!("{} or after them", name(*first)),
        [] => String::new(),
    }
}
