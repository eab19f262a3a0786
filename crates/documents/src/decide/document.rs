//! The decision about each document where it stands, for itself: native, as text, converted, or a note.

use std::borrow::Cow;

use attache_core::capability::Place;
use attache_core::{Document, DocumentSource, MediaKind, MediaType};

use crate::content::content_bytes;
use crate::decide::decider::Decider;
use crate::decide::place::{Misfit, Stand};
use crate::decide::rendered::Sight;
use crate::decide::treatment::{Expected, Need, Purpose, Shown, Treatment};
use crate::decide::words::{media_name, name, names};
use crate::estimate::{self, Estimate};
use crate::find::{Excluded, Occurrence, Origin};
use crate::materials::{Adapted, Content, Readable};
use crate::report::{DocumentOutcome, Reason, ReasonKind};
use crate::text::fence::Fenced;

impl Decider<'_> {
    /// The treatment of the document where it stands, were it alone.
    pub(crate) fn decide(&self, occurrence: &Occurrence<'_>) -> Treatment {
        let hidden = |kind, text| {
            Treatment::new(DocumentOutcome::Withheld, None, Reason::new(kind, text), Shown::Nothing)
        };
        match occurrence.excluded {
            Some(Excluded::Withheld) => {
                hidden(ReasonKind::Withheld, "the tool's handler keeps it from the model")
            }
            Some(Excluded::Cancelled) => hidden(ReasonKind::Cancelled, "the call was cancelled"),
            None => self.admit(occurrence),
        }
    }

    fn admit(&self, occurrence: &Occurrence<'_>) -> Treatment {
        let place = occurrence.place;
        let treatment = match occurrence.origin {
            Origin::Tool => self.settle(occurrence, &[place, Place::AfterToolResults]),
            Origin::Event | Origin::Author { .. } => self.settle(occurrence, &[place]),
        };
        let fails = treatment.outcome == DocumentOutcome::Note
            && (treatment.need.is_none() || self.purpose == Purpose::Route)
            && match (occurrence.origin, treatment.reason.kind()) {
                // The note says all there is to say about an empty document.
                (_, ReasonKind::Empty) | (Origin::Tool, _) => false,
                (Origin::Event, _) => self.options.fail_on_event_documents,
                // A document that was sent once must not fail all later turns, lost or on another model.
                (Origin::Author { current }, _) => current,
            };
        if fails { Treatment::error(treatment.place, treatment.reason) } else { treatment }
    }

    /// Tries the places in order.
    fn settle(&self, occurrence: &Occurrence<'_>, places: &[Place]) -> Treatment {
        if let Some(passed) = self.passed(occurrence.document, places) {
            return passed;
        }
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
        self.natively(occurrence, &document, places)
    }

    /// The first place that takes the document as it is, else the first that takes it in another form, else text.
    fn natively(&self, occurrence: &Occurrence<'_>, document: &Document, places: &[Place]) -> Treatment {
        let mut second: Option<Treatment> = None;
        let mut why: Option<Misfit> = None;
        // A form that is hoped for takes its part of the limits in a request as it did in the plan.
        let mut hoped: Option<Expected> = None;
        for (at, place) in places.iter().enumerate().skip(self.first_citable(document, places)) {
            let treatment = match self.stand(document, *place, is_author(occurrence)) {
                Stand::AsIs { pages, check } => {
                    let treatment = match at {
                        0 => self.native(places, document, pages),
                        _ => self.synthetic(places, at, document, pages, why.as_ref()),
                    };
                    return Treatment {
                        need: check.map(|form| Need::Transcode(document.clone(), form)),
                        ..treatment
                    };
                }
                Stand::Transcoded(Adapted { pages, part_of: Some(whole), .. })
                    if !self.may_convert(occurrence) =>
                {
                    why = worse(why, Misfit::Pages { pages: whole, most: pages.unwrap_or_default() });
                    None
                }
                Stand::Transcoded(adapted) => Some(self.adapted(occurrence, document, *place, adapted)),
                Stand::Fits(form, misfit) => {
                    let bytes = content_bytes(document).map_or(0, <[u8]>::len) as u64;
                    let bytes = form.max_bytes.map_or(bytes, |most| bytes.min(most));
                    let note = self.misfit(document, places, &misfit);
                    why = worse(why, misfit);
                    let expected = *hoped.get_or_insert(Expected { native: Some(*place), bytes });
                    let need = Some(Need::Transcode(document.clone(), form));
                    (self.purpose == Purpose::Plan).then_some(Treatment {
                        need,
                        expected: Some(expected),
                        ..note
                    })
                }
                Stand::No(misfit) => {
                    why = worse(why, misfit);
                    None
                }
            };
            second = second.or(treatment);
        }
        second.unwrap_or_else(|| {
            let why = why.unwrap_or(Misfit::Type);
            Treatment { expected: hoped, ..self.otherwise(occurrence, document, places, &why) }
        })
    }

    /// The first of the places where the document can be cited, if that is wanted and there is one.
    fn first_citable(&self, document: &Document, places: &[Place]) -> usize {
        let cites = |place: &Place| self.capabilities.place(*place).cites(document.media_type());
        let citable = if self.options.citations { places.iter().position(cites) } else { None };
        citable.unwrap_or(0)
    }

    /// No place takes the document itself; text may have been made of it, and images of its pages.
    fn otherwise(
        &self,
        occurrence: &Occurrence<'_>,
        document: &Document,
        places: &[Place],
        why: &Misfit,
    ) -> Treatment {
        let sight = self.sight(occurrence, document, places);
        let need = match &sight {
            Sight::Shown(treatment) => return Treatment::clone(treatment),
            Sight::Render(request) => Some(Need::Render(document.clone(), request.clone())),
            Sight::Convert => Some(Need::Convert(document.clone())),
            Sight::None | Sight::Failed(_) => None,
        };
        if let Some(converted) = self.converted(occurrence, document, places) {
            return Treatment { need, ..converted };
        }
        let note = self.misfit(document, places, why);
        let unrendered = match &sight {
            Sight::Failed(why) => format!(", and its pages cannot be shown as images: {why}"),
            _ => String::new(),
        };
        let note = match self.materials.unconvertible(occurrence.document) {
            Some(tried) if self.may_convert(occurrence) || !unrendered.is_empty() => {
                let kind = note.reason.kind();
                let text =
                    format!("{}, and it could not be converted to text: {tried}{unrendered}", note.reason);
                self.note(places, kind, text)
            }
            Some(_) => note,
            None if !self.may_convert(occurrence) => note,
            None => return Treatment { need: Some(Need::Convert(document.clone())), ..note },
        };
        // Its images take their part of the limits, as far as that is known.
        let expected = matches!(need, Some(Need::Render(..))).then(|| Expected {
            native: places.last().copied(),
            bytes: content_bytes(document).map_or(0, <[u8]>::len) as u64,
        });
        Treatment { need, expected, ..note }
    }

    /// The note that no place takes the document, and why.
    fn misfit(&self, document: &Document, places: &[Place], why: &Misfit) -> Treatment {
        let media = media_name(document);
        let (kind, text) = match why {
            Misfit::Type => {
                (ReasonKind::Unsupported, format!("this model does not take {media} in {}", names(places)))
            }
            Misfit::Bytes(limit) => {
                let bytes = content_bytes(document).map_or(0, <[u8]>::len);
                (
                    ReasonKind::TooLarge,
                    format!("it has {bytes} bytes, and this model takes at most {limit} of {media}"),
                )
            }
            Misfit::Pixels { width, height, most } => {
                let many = self.capabilities.files.many_images.filter(|_| self.many_images);
                let many = many.map(|many| format!(" where there are more than {many} images"));
                let many = many.unwrap_or_default();
                let text = format!(
                    "it has {width} × {height} pixels, and this model takes at most {most} on a side{many}"
                );
                (ReasonKind::TooLarge, text)
            }
            Misfit::Pages { pages, most } => (
                ReasonKind::TooLarge,
                format!("it has {pages} pages, and this model takes at most {most} of them"),
            ),
            Misfit::Uncounted { most } => (
                ReasonKind::Unfit,
                format!("its pages cannot be counted, and this model takes at most {most} of them"),
            ),
            Misfit::Unfit(why) => (
                ReasonKind::Unfit,
                format!("{media} cannot be brought into a form that this model takes: {why}"),
            ),
        };
        self.note(places, kind, text)
    }

    fn native(&self, places: &[Place], document: &Document, pages: Option<u64>) -> Treatment {
        let place = places.first().copied();
        let media = media_name(document);
        let text = format!("this model takes {media} in {}", place.map_or("", name));
        Treatment::new(
            DocumentOutcome::Native,
            place,
            Reason::new(ReasonKind::Accepted, text),
            Shown::Native(document.clone()),
        )
        .costing(self.cost(document, pages), pages)
    }

    fn synthetic(
        &self,
        places: &[Place],
        at: usize,
        document: &Document,
        pages: Option<u64>,
        why: Option<&Misfit>,
    ) -> Treatment {
        let media = media_name(document);
        let large = matches!(why, Some(Misfit::Bytes(_) | Misfit::Pixels { .. }));
        let (first, size) =
            (places.first().map_or("", |first| name(*first)), if large { " of this size" } else { "" });
        let is_taken = self.options.citations
            && places
                .first()
                .is_some_and(|first| self.capabilities.place(*first).accepts(document.media_type()));
        let cannot = if is_taken && !large { "cite" } else { "take" };
        let text =
            format!("this model does not {cannot} {media}{size} in {first}; it follows in a user message");
        let reason = Reason::new(ReasonKind::NotInResult, text);
        Treatment::new(
            DocumentOutcome::Synthetic,
            places.get(at).copied(),
            reason,
            Shown::Native(document.clone()),
        )
        .costing(self.cost(document, pages), pages)
    }

    /// The document in the form that a converter brought it into. Of a PDF that is cut, the other pages follow as text.
    fn adapted(
        &self,
        occurrence: &Occurrence<'_>,
        document: &Document,
        place: Place,
        adapted: Adapted,
    ) -> Treatment {
        let Adapted { document: made, note, pages, part_of } = adapted;
        let mut cost = self.cost(&made, pages);
        let (mut rest, mut need) = (None, None);
        if part_of.is_some() && self.capabilities.place(place).accepts_text() {
            let first = pages.map_or(1, |held| usize::try_from(held).unwrap_or(usize::MAX).saturating_add(1));
            let units = first..=usize::MAX;
            let limit = self.converted_limit(occurrence);
            rest = self.materials.conversion(occurrence.document, document.media_type(), &units, limit);
            let tried = rest.is_some()
                || self.materials.unconvertible(occurrence.document).is_some()
                || self.materials.is_converted(occurrence.document);
            need = (!tried).then(|| Need::Convert(document.clone()));
        }
        if let Some(rest) = &rest {
            cost.tokens = cost.tokens.saturating_add(rest.tokens);
        }
        let follows = if rest.is_some() { ", the others as text" } else { "" };
        let reason = Reason::new(ReasonKind::Transcoded, format!("shown in another form: {note}{follows}"));
        let shown = Shown::Adapted { document: made, note, rest };
        let treatment =
            Treatment::new(DocumentOutcome::Reencoded, Some(place), reason, shown).costing(cost, pages);
        Treatment { need, ..treatment }
    }

    pub(crate) fn cost(&self, document: &Document, pages: Option<u64>) -> Estimate {
        estimate::of_document(document, pages, &self.capabilities.files)
    }

    fn text(&self, occurrence: &Occurrence<'_>, document: &Document, places: &[Place]) -> Treatment {
        let fenced = match self.materials.text(document, self.limit(occurrence)) {
            Readable::Text(fenced) => fenced,
            Readable::Blank => {
                return self.note(places, ReasonKind::Empty, "the document holds nothing but blank space");
            }
            Readable::Undecodable => {
                return self.converted(occurrence, document, places).unwrap_or_else(|| {
                    let media = media_name(document);
                    let text = format!("it is not readable as {media}: its bytes fit no known charset");
                    let may_convert = self.may_convert(occurrence)
                        && self.materials.unconvertible(occurrence.document).is_none();
                    let need = may_convert.then(|| Need::Convert(document.clone()));
                    Treatment { need, ..self.note(places, ReasonKind::Unreadable, text) }
                });
            }
        };
        let need = match self.reads_better(occurrence, document, &fenced) {
            true => match self.converted(occurrence, document, places) {
                Some(converted) => return converted,
                None => Some(Need::Convert(document.clone()))
                    .filter(|_| self.materials.unconvertible(occurrence.document).is_none()),
            },
            false => None,
        };
        match self.text_place(places) {
            Some(place) => {
                let reason = Reason::new(ReasonKind::ReadsAsText, shown_as("text", &fenced));
                let cost = Estimate { tokens: fenced.tokens, is_guess: false };
                let treatment =
                    Treatment::new(DocumentOutcome::Text, Some(place), reason, Shown::Text(fenced));
                Treatment { need, ..treatment.costing(cost, None) }
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
    ) -> Option<Treatment> {
        if !self.may_convert(occurrence) {
            return None;
        }
        let place = self.text_place(places)?;
        let fenced = self.materials.conversion(
            occurrence.document,
            document.media_type(),
            &(1..=usize::MAX),
            self.converted_limit(occurrence),
        )?;
        let reason = Reason::new(ReasonKind::MadeText, shown_as("converted text", &fenced));
        let cost = Estimate { tokens: fenced.tokens, is_guess: false };
        let treatment = Treatment::new(DocumentOutcome::Converted, Some(place), reason, Shown::Text(fenced));
        Some(treatment.costing(cost, None))
    }

    /// The content cannot be had; text made of it earlier may still be there.
    fn without_content(&self, occurrence: &Occurrence<'_>, places: &[Place], why: String) -> Treatment {
        if let Sight::Shown(treatment) = self.sight(occurrence, occurrence.document, places) {
            return *treatment;
        }
        self.converted(occurrence, occurrence.document, places)
            .unwrap_or_else(|| self.note(places, ReasonKind::Missing, why))
    }

    fn unloaded(&self, occurrence: &Occurrence<'_>, places: &[Place]) -> Treatment {
        let document = occurrence.document;
        let media = document.media_type();
        let accepting = |place: &Place| self.capabilities.place(*place).accepts(media);
        let native = places.iter().copied().find(accepting);
        let native = native.or_else(|| {
            places.iter().copied().find(|place| self.may_fit(document, *place, is_author(occurrence)))
        });
        let sight = if native.is_none() { self.sight(occurrence, document, places) } else { Sight::None };
        let needs_bytes = matches!(sight, Sight::Convert | Sight::Render(_));
        if let Sight::Shown(treatment) = sight {
            return *treatment;
        }
        // Bytes of unknown type may be anything.
        if native.is_none() && !is_text(document) && *media != MediaType::octet_stream() && !needs_bytes {
            if let Some(converted) = self.converted(occurrence, document, places) {
                return converted;
            }
            // Without its bytes nothing would become of it that is not known already.
            if !self.may_convert(occurrence) || self.materials.unconvertible(document).is_some() {
                let text = format!("this model does not take {} in {}", media_name(document), names(places));
                return self.note(places, ReasonKind::Unsupported, text);
            }
        }
        let treatment = self.without_content(occurrence, places, "it was not loaded".to_owned());
        if treatment.outcome != DocumentOutcome::Note && self.purpose == Purpose::Route {
            return treatment;
        }
        let native = native.filter(|_| !is_text(document));
        let expected = Expected { native, bytes: document.size().unwrap_or_default() };
        Treatment { need: Some(Need::Load(document.clone())), expected: Some(expected), ..treatment }
    }

    fn note(&self, places: &[Place], kind: ReasonKind, text: impl Into<Cow<'static, str>>) -> Treatment {
        Treatment::note(self.note_place(places), Reason::new(kind, text))
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
            Origin::Tool => self.note_place(&[occurrence.place, Place::AfterToolResults]),
            Origin::Event | Origin::Author { .. } => Some(occurrence.place),
        }
    }

    /// True if a converter may make better text of a document that is text itself: of one whose charset is a guess, of
    /// HTML, whose tags cost more than they say, and of tables and JSON of which only the start would be shown.
    fn reads_better(&self, occurrence: &Occurrence<'_>, document: &Document, fenced: &Fenced) -> bool {
        let is_author = is_author(occurrence);
        // Converters tell charsets apart, where windows-1252 fits nearly all bytes. An author's text stays as it was in
        // its own turn.
        if let Some(guessed) = fenced.guessed
            && (!is_author || self.options.convert_author_documents)
            && !self.materials.remarks(occurrence.document).iter().any(|remark| remark.contains(guessed))
        {
            return true;
        }
        if is_author {
            return false;
        }
        match document.media_type().essence() {
            "text/html" | "application/xhtml+xml" => !self.options.html_source,
            "text/csv" | "text/tab-separated-values" | "application/json" => fenced.shown < fenced.total,
            _ => false,
        }
    }

    /// True if text may be made of it: of a document that its author attached to this turn, only if that is asked for.
    /// One of an earlier turn, which this model does not take, is better read as text than not at all.
    pub(super) fn may_convert(&self, occurrence: &Occurrence<'_>) -> bool {
        occurrence.origin != Origin::Author { current: true } || self.options.convert_author_documents
    }

    /// The maximum number of bytes of text made of it. A text that was whole in its own turn stays so.
    pub(super) fn converted_limit(&self, occurrence: &Occurrence<'_>) -> usize {
        match self.options.convert_author_documents {
            true => self.limit(occurrence),
            false => self.options.max_text_bytes,
        }
    }

    fn limit(&self, occurrence: &Occurrence<'_>) -> usize {
        match occurrence.origin {
            Origin::Author { .. } => usize::MAX,
            Origin::Tool | Origin::Event => self.options.max_text_bytes,
        }
    }
}

fn is_author(occurrence: &Occurrence<'_>) -> bool {
    matches!(occurrence.origin, Origin::Author { .. })
}

/// The reason that says more: a limit is nearer to being taken than a type that nobody takes.
fn worse(known: Option<Misfit>, other: Misfit) -> Option<Misfit> {
    match (known, other) {
        (None | Some(Misfit::Type), other) => Some(other),
        (Some(Misfit::Bytes(a)), Misfit::Bytes(b)) => Some(Misfit::Bytes(a.max(b))),
        (known, Misfit::Unfit(why)) if !matches!(known, Some(Misfit::Unfit(_))) => Some(Misfit::Unfit(why)),
        (known, _) => known,
    }
}

/// Inline documents hold text, whatever type they claim.
fn is_text(document: &Document) -> bool {
    document.media_type().kind() == MediaKind::Text
        || matches!(document.source(), DocumentSource::Inline { .. })
}

fn shown_as(what: &str, fenced: &Fenced) -> String {
    let mut text = format!("shown as {what}");
    if let Some(charset) = fenced.guessed {
        text.push_str(&format!(", read as {charset} (guessed)"));
    }
    if fenced.shown < fenced.total {
        text.push_str(&format!(", the first {} of {} bytes", fenced.shown, fenced.total));
    }
    text
}
