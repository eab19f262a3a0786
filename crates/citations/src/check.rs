//! Checks an answer against the texts that were shown.

use std::collections::HashMap;

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
use crate::sources::{Options, Shown};

/// A passage of fewer letters is no quotation.
const SHORTEST: usize = 3;
/// The maximum number of passages that stand nowhere letter by letter and are looked for with slips.
const MAX_MISSED: usize = 64;
/// A passage of fewer words that is found nowhere may be none.
const SURE_WORDS: usize = 4;

/// A text as it is searched.
struct Searched<'t> {
    text: Text<'t>,
    key: Key,
}

/// A passage to be found.
struct Wanted<'a> {
    /// Its place in the answer; `None` for one that a provider cites.
    at: Option<(usize, usize)>,
    /// The source that a provider cites it of.
    source: Option<&'a Source>,
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

/// The name of the file that a source is.
fn name(source: &Source) -> Option<&str> {
    match source {
        Source::Document { name, .. } => name.as_deref(),
        _ => None,
    }
}

/// Checks `answer`: the passages that it quotes, those that its provider cites, and its figures.
///
/// `native` are the citations of the provider, with spans of `answer`; each one with a quote is located in the text of
/// its source. `shown` are the texts in the order in which the model read them: if a passage occurs in several places,
/// the first is used, or the next one after the previously cited place.
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
    let mut parts = Parts::of(answer);
    parts.learn(answer, shown.iter().filter_map(|shown| name(&shown.source)));
    let (wanted, cited_by, too_many) = wanted(answer, native, &parts, options);
    if too_many > 0 {
        checked.notes.push(format!("{too_many} quoted passages were not looked for: there are too many"));
    }
    let searched: Vec<Searched<'_>> =
        if wanted.is_empty() { Vec::new() } else { texts.iter().map(search).collect() };
    let places = find(&wanted, &searched);
    for (citation, by) in native.iter().zip(cited_by) {
        checked.citations.push(match by {
            Some(by) => verified(citation, places.get(by).copied().flatten(), &searched, &mut checked.notes),
            // One whose passage was not looked for is of no known place.
            None => {
                citation.clone().with_document_span(citation.in_document.filter(|_| citation.quote.is_none()))
            }
        });
    }
    let mut keys: Option<Vec<Key>> = None;
    for (wanted, place) in wanted.iter().zip(&places) {
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

/// The passages to be found: first those that the provider cites, each once, then those that the answer quotes; of each
/// citation the number of its passage; and how many passages are left out.
fn wanted<'a>(
    answer: &str,
    native: &'a [Citation],
    parts: &Parts,
    options: &Options,
) -> (Vec<Wanted<'a>>, Vec<Option<usize>>, usize) {
    let mut wanted: Vec<Wanted<'a>> = Vec::new();
    let mut too_many = 0;
    let mut known: HashMap<&str, Vec<usize>> = HashMap::new();
    let mut by_number = |citation: &'a Citation| {
        let (quote, source) = (citation.quote.as_deref()?, Some(&citation.source));
        let same = known.entry(quote).or_default();
        let of_source = |number: &&usize| wanted.get(**number).is_some_and(|wanted| wanted.source == source);
        if let Some(number) = same.iter().find(of_source) {
            return Some(*number);
        }
        if wanted.len() >= options.max_quotes {
            too_many += 1;
            return None;
        }
        same.push(wanted.len());
        let key = key_of(quote, &[]);
        wanted.push(Wanted { at: None, source, raw: quote.to_owned(), key, follows: false, is_sure: false });
        Some(wanted.len() - 1)
    };
    let cited_by: Vec<Option<usize>> = native.iter().map(&mut by_number).collect();
    let most = wanted.len() + options.max_quotes;
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
    (wanted, cited_by, too_many)
}

fn passage(raw: &str, at: (usize, usize), quote: &Quote, follows: bool) -> Wanted<'static> {
    let marks = if quote.is_block { line_marks(raw) } else { Vec::new() };
    let key = key_of(raw, &marks);
    let is_long = key.len() >= fuzzy::SHORTEST && key.split(' ').count() >= SURE_WORDS;
    let is_sure = quote.is_sure && is_long;
    Wanted { at: Some(at), source: None, raw: raw.to_owned(), key, follows, is_sure }
}

/// The key of a passage, without the marks that the sentence around it put at its end.
fn key_of(passage: &str, skipped: &[(usize, usize)]) -> String {
    let mut key = Key::of(passage, skipped).text;
    key.truncate(key.trim_end_matches([' ', '.', ',', ';', ':', '!', '?', '\'', '-']).len());
    key.trim_start_matches([' ', '\'', '.', ',', '-']).to_owned()
}

/// The place of each passage.
fn find(wanted: &[Wanted<'_>], searched: &[Searched<'_>]) -> Vec<Option<Found>> {
    let mut cursor: (usize, usize) = (0, 0);
    let mut found: Vec<Option<Found>> = Vec::with_capacity(wanted.len());
    let mut missed: Vec<usize> = Vec::new();
    for (at, passage) in wanted.iter().enumerate() {
        let (place, stands) = exact(passage, searched, cursor);
        // One that stands there letter by letter, out of order, is no slip.
        if !stands && (fuzzy::SHORTEST..=fuzzy::LONGEST).contains(&passage.key.len()) {
            missed.push(at);
        }
        if let Some(place) = place.filter(|_| passage.at.is_some()) {
            cursor = (place.text, place.end);
        }
        found.push(place);
    }
    missed.truncate(MAX_MISSED);
    if missed.is_empty() {
        return found;
    }
    let passages: Vec<&Wanted<'_>> = missed.iter().filter_map(|at| wanted.get(*at)).collect();
    let keys: Vec<&str> = passages.iter().map(|passage| &*passage.key).collect();
    let mut best: Vec<Option<(usize, fuzzy::Near)>> = vec![None; keys.len()];
    for (text, searched) in searched.iter().enumerate() {
        let all = fuzzy::nearest(&keys, &searched.key.text);
        for ((best, near), passage) in best.iter_mut().zip(all).zip(&passages) {
            if let Some(near) = near
                && passage.may_be_of(searched.text.source)
                && best.is_none_or(|(_, known)| near.edits < known.edits)
            {
                *best = Some((text, near));
            }
        }
    }
    for ((at, best), passage) in missed.iter().zip(best).zip(&passages) {
        let Some((text, near)) = best else { continue };
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

/// The place where a passage stands letter by letter: behind the one before it if it can. And true if it
/// stands anywhere at all.
fn exact(passage: &Wanted<'_>, searched: &[Searched<'_>], cursor: (usize, usize)) -> (Option<Found>, bool) {
    if passage.key.is_empty() {
        return (None, false);
    }
    let mut all: Vec<(usize, usize, usize)> = Vec::new();
    for (text, searched) in searched.iter().enumerate() {
        if !passage.may_be_of(searched.text.source) {
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
        return (None, true);
    }
    let Some((text, start, end)) = next.filter(|_| cursor != (0, 0)).or_else(|| all.first()).copied() else {
        return (None, false);
    };
    let words = searched.get(text).and_then(|searched| searched.text.text.get(start..end));
    let how =
        if words.is_some_and(|words| passage.raw.contains(words)) { How::Exact } else { How::Normalised };
    // A document that was shown twice is one.
    let source = |text: usize| searched.get(text).map(|searched| searched.text.source);
    let ambiguous = all
        .iter()
        .any(|(of, at, _)| (*of, *at) != (text, start) && (*of == text || source(*of) != source(text)));
    (Some(Found { text, start, end, how, ambiguous }), true)
}

impl Wanted<'_> {
    fn may_be_of(&self, source: &Source) -> bool {
        self.source.is_none_or(|cited| is_same(cited, source))
    }
}

/// True if a provider's citation may be of this source.
fn is_same(cited: &Source, source: &Source) -> bool {
    match cited {
        // The number of a document leads nowhere by itself.
        Source::Nth { .. } => true,
        Source::Url { url, .. } => matches!(source, Source::Url { url: of, .. } if of == url),
        // A file that was uploaded keeps its name.
        Source::Foreign { title: Some(title), .. } => {
            cited == source || matches!(source, Source::Document { name: Some(name), .. } if name == title)
        }
        _ => cited == source,
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
            if matches!(citation.source, Source::Nth { .. } | Source::Foreign { .. }) {
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
            // A source of which nobody has a text was not searched.
            let was_searched =
                || searched.iter().any(|searched| is_same(&citation.source, searched.text.source));
            if of_documents && was_searched() {
                notes.push("a passage that the provider cites stands in no text of its source".to_owned());
            }
        }
    }
    citation
}
