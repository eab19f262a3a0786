//! Holds an answer against the texts that were shown.

use attache_core::citation::{AnswerSpan, Checked, Citation, How, Source, Span};

use crate::altered::is_altered;
use crate::answer::Parts;
use crate::figures::{Sources, figures};
use crate::fuzzy;
use crate::index::Text;
use crate::normal::Key;
use crate::place::Layout;
use crate::quotes::{Quote, line_marks, pieces, quotes};
use crate::search::places;
use crate::shown::{Options, Shown};

/// A passage of fewer letters is no quotation.
const SHORTEST: usize = 3;
/// A passage of fewer words that is found nowhere may be none.
const SURE_WORDS: usize = 4;

/// A text as it is searched.
struct Searched<'t> {
    text: Text<'t>,
    key: Key,
}

/// A passage to be found.
struct Wanted {
    /// Where it stands in the answer; `None` for one that a provider cites.
    at: Option<(usize, usize)>,
    raw: String,
    key: String,
    /// A piece of the same quotation stands before it.
    follows: bool,
    is_sure: bool,
}

/// A place of a text that a passage stands at.
#[derive(Clone, Copy)]
struct Found {
    text: usize,
    start: usize,
    end: usize,
    how: How,
    ambiguous: bool,
}

/// What `answer` rests on: the passages that it quotes, those that its provider cites, and its figures.
///
/// `native` are the citations of the provider, with spans of `answer`; each that has a quote is looked for in the text
/// of its source, and gets its place there. `shown` are the texts in the order in which the model read them: where a
/// passage stands in several places, the first counts, or the next behind the one cited before.
pub fn check(answer: &str, native: &[Citation], shown: &[Shown], options: &Options) -> Checked {
    let mut checked = Checked::default();
    let mut left = options.max_bytes;
    let mut is_partial = false;
    let (mut texts, mut given) = (Vec::new(), Vec::new());
    for shown in shown {
        let Some(text) = &shown.text else {
            is_partial = true;
            continue;
        };
        if text.len() > left {
            is_partial |= !shown.is_given;
            checked.notes.push("texts were too long to be searched to their end".to_owned());
        }
        let text = text.get(..text.floor_char_boundary(left.min(text.len()))).unwrap_or_default();
        left -= text.len();
        let layout = Layout::of(text);
        let text = Text { source: &shown.source, text, layout };
        if shown.is_given { given.push(text) } else { texts.push(text) }
    }
    checked.notes.dedup();
    let parts = Parts::of(answer);
    let (wanted, too_many) = wanted(answer, native, &parts, options);
    if too_many > 0 {
        checked.notes.push(format!("{too_many} quoted passages were not looked for: there are too many"));
    }
    let searched: Vec<Searched<'_>> =
        if wanted.is_empty() { Vec::new() } else { texts.iter().map(search).collect() };
    let places = find(&wanted, &searched, native);
    let mut wanted_places = wanted.iter().zip(&places);
    for citation in native {
        checked.citations.push(match citation.quote {
            Some(_) => verified(
                citation,
                wanted_places.next().and_then(|(_, place)| *place),
                &searched,
                &mut checked.notes,
            ),
            None => citation.clone(),
        });
    }
    let mut keys: Option<Vec<Key>> = None;
    for (wanted, place) in wanted_places {
        let Some((start, end)) = wanted.at else { continue };
        let Some(in_answer) = Span::new(start, end) else { continue };
        match place {
            Some(found) => checked.citations.extend(cited(*found, &searched, AnswerSpan::Claim(in_answer))),
            None if wanted.is_sure && !is_partial => {
                let keys =
                    keys.get_or_insert_with(|| given.iter().map(|text| Key::of(text.text, &[])).collect());
                // The words of the user are theirs.
                if keys.iter().all(|key| self::places(&wanted.key, &key.text).is_empty()) {
                    checked.unfound.push(in_answer);
                }
            }
            None => {}
        }
    }
    let sources = Sources { texts: &texts, given: &given, is_partial };
    let (found, left_out) = figures(answer, &parts, &sources, options);
    checked.figures = found;
    if left_out > 0 {
        checked.notes.push(format!("{left_out} figures were not looked for: there are too many"));
    }
    checked
}

fn search<'t>(text: &Text<'t>) -> Searched<'t> {
    let layout = Layout::of(text.text);
    let key = Key::of(text.text, &layout.skipped);
    Searched { text: Text { source: text.source, text: text.text, layout }, key }
}

/// The passages to be found: first those that the provider cites, then those that the answer quotes.
fn wanted(answer: &str, native: &[Citation], parts: &Parts, options: &Options) -> (Vec<Wanted>, usize) {
    let of_provider = native.iter().filter_map(|citation| citation.quote.as_deref());
    let mut wanted: Vec<Wanted> = of_provider
        .map(|quote| Wanted {
            at: None,
            raw: quote.to_owned(),
            key: key_of(quote, &[]),
            follows: false,
            is_sure: false,
        })
        .collect();
    let most = wanted.len() + options.max_quotes;
    let mut too_many = 0;
    for quote in quotes(answer, parts) {
        let mut follows = false;
        for (start, end) in pieces(answer, &quote) {
            if wanted.len() >= most {
                too_many += 1;
                continue;
            }
            let Some(raw) = answer.get(start..end) else { continue };
            let passage = passage(raw, (start, end), &quote, follows);
            if passage.key.chars().filter(|char| char.is_alphanumeric()).count() >= SHORTEST {
                wanted.push(passage);
                follows = true;
            }
        }
    }
    (wanted, too_many)
}

fn passage(raw: &str, at: (usize, usize), quote: &Quote, follows: bool) -> Wanted {
    let marks = if quote.is_block { line_marks(raw) } else { Vec::new() };
    let key = key_of(raw, &marks);
    let is_long = key.len() >= fuzzy::SHORTEST && key.split(' ').count() >= SURE_WORDS;
    Wanted { at: Some(at), raw: raw.to_owned(), key, follows, is_sure: quote.is_sure && is_long }
}

/// The key of a passage, without the marks that the sentence around it put at its end.
fn key_of(passage: &str, skipped: &[(usize, usize)]) -> String {
    let mut key = Key::of(passage, skipped).text;
    key.truncate(key.trim_end_matches([' ', '.', ',', ';', ':', '!', '?', '\'', '-']).len());
    key.trim_start_matches([' ', '\'', '.', ',', '-']).to_owned()
}

/// Where each passage stands.
fn find(wanted: &[Wanted], searched: &[Searched<'_>], native: &[Citation]) -> Vec<Option<Found>> {
    let mut of_provider = native.iter().filter(|citation| citation.quote.is_some());
    let mut cursor: (usize, usize) = (0, 0);
    let mut found: Vec<Option<Found>> = Vec::with_capacity(wanted.len());
    for passage in wanted {
        let source =
            if passage.at.is_none() { of_provider.next().map(|citation| &citation.source) } else { None };
        let place = exact(passage, searched, source, cursor);
        if let Some(place) = place.filter(|_| passage.at.is_some()) {
            cursor = (place.text, place.end);
        }
        found.push(place);
    }
    let missed: Vec<usize> = (0..wanted.len())
        .filter(|at| matches!(found.get(*at), Some(None)))
        .filter(|at| {
            wanted
                .get(*at)
                .is_some_and(|passage| (fuzzy::SHORTEST..=fuzzy::LONGEST).contains(&passage.key.len()))
        })
        .take(64)
        .collect();
    if missed.is_empty() {
        return found;
    }
    let keys: Vec<&str> =
        missed.iter().filter_map(|at| wanted.get(*at)).map(|passage| &*passage.key).collect();
    let mut best: Vec<Option<(usize, fuzzy::Near)>> = vec![None; keys.len()];
    for (text, searched) in searched.iter().enumerate() {
        for (best, near) in best.iter_mut().zip(fuzzy::nearest(&keys, &searched.key.text)) {
            if let Some(near) = near
                && best.is_none_or(|(_, known)| near.edits < known.edits)
            {
                *best = Some((text, near));
            }
        }
    }
    for (at, best) in missed.iter().zip(best) {
        let (Some((text, near)), Some(passage)) = (best, wanted.get(*at)) else { continue };
        let Some(searched) = searched.get(text) else { continue };
        let Some((start, end)) = searched.key.source(near.start, near.end) else { continue };
        let Some(words) = searched.text.text.get(start..end) else { continue };
        let edits = u16::try_from(near.edits).unwrap_or(u16::MAX);
        let how = if is_altered(words, &passage.raw) { How::Altered } else { How::Fuzzy { edits } };
        if let Some(place) = found.get_mut(*at) {
            *place = Some(Found { text, start, end, how, ambiguous: false });
        }
    }
    found
}

/// Where a passage stands letter by letter: behind the one before it if it can.
fn exact(
    passage: &Wanted,
    searched: &[Searched<'_>],
    source: Option<&Source>,
    cursor: (usize, usize),
) -> Option<Found> {
    if passage.key.is_empty() {
        return None;
    }
    let mut all: Vec<(usize, usize, usize)> = Vec::new();
    for (text, searched) in searched.iter().enumerate() {
        if source.is_some_and(|source| !is_same(source, searched.text.source)) {
            continue;
        }
        let found = places(&passage.key, &searched.key.text);
        all.extend(found.into_iter().filter_map(|(start, end)| {
            let (start, end) = searched.key.source(start, end)?;
            Some((text, start, end))
        }));
    }
    let ahead = |(text, start, _): &&(usize, usize, usize)| *text == cursor.0 && *start >= cursor.1;
    let next = all.iter().find(ahead);
    // The pieces of one quotation stand in order.
    if passage.follows && next.is_none() && all.iter().any(|(text, _, _)| *text == cursor.0) {
        return None;
    }
    let (text, start, end) = *next.filter(|_| cursor != (0, 0)).or_else(|| all.first())?;
    let words = searched.get(text).and_then(|searched| searched.text.text.get(start..end));
    let how =
        if words.is_some_and(|words| passage.raw.contains(words)) { How::Exact } else { How::Normalised };
    Some(Found { text, start, end, how, ambiguous: all.len() > 1 })
}

/// True if a provider's citation may be of this source.
fn is_same(cited: &Source, source: &Source) -> bool {
    match cited {
        Source::Document { .. } | Source::ToolResult { .. } => cited == source,
        // The provider's own names of things lead nowhere else.
        _ => true,
    }
}

fn cited(found: Found, searched: &[Searched<'_>], in_answer: AnswerSpan) -> Option<Citation> {
    let text = &searched.get(found.text)?.text;
    let citation = Citation::new(text.source.clone(), found.how)
        .with_place(text.layout.place(text.text, found.start, found.end))
        .with_quote(text.text.get(found.start..found.end))
        .with_document_span(Span::new(found.start, found.end))
        .with_answer_span(in_answer)
        .with_ambiguous(found.ambiguous);
    Some(citation)
}

/// A provider's citation with the place that its words stand at.
fn verified(
    citation: &Citation,
    found: Option<Found>,
    searched: &[Searched<'_>],
    notes: &mut Vec<String>,
) -> Citation {
    let mut citation = citation.clone();
    let of_documents =
        matches!(citation.source, Source::Document { .. } | Source::ToolResult { .. } | Source::Nth { .. });
    let is_faithful = |found: &Found| found.how != How::Altered;
    match found.filter(is_faithful).and_then(|found| Some((found, &searched.get(found.text)?.text))) {
        Some((found, text)) => {
            citation.in_document = Span::new(found.start, found.end);
            citation.ambiguous = found.ambiguous;
            if matches!(citation.source, Source::Nth { .. }) {
                citation.source = text.source.clone();
            }
            if citation.place.is_none()
                || matches!(citation.place, Some(attache_core::citation::Place::Block(_)))
            {
                let place = text.layout.place(text.text, found.start, found.end);
                citation.place = place.or(citation.place);
            }
        }
        None => {
            citation.in_document = None;
            if of_documents && !searched.is_empty() {
                notes.push("a passage that the provider cites stands in no text of its source".to_owned());
            }
        }
    }
    citation
}
