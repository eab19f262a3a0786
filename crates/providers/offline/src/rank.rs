//! The choice of the passage that answers a part of a question.
//!
//! A passage counts by how much of what is asked it covers, each word weighed by how rare it is, by the value that is
//! wanted in it, and by what is known about it from its heading, its table and its file.

use crate::index::{Entry, Index, Variant, strength};
use crate::material::{Source, SourceKind};
use crate::pieces::{Form, Passage};
use crate::question::{Facet, Kind, Term};
use crate::values;
use crate::words::{is_stopword, words};

/// The share of a question that an answer must cover if its source speaks of all of it.
const FOUND: f32 = 0.5;
/// The same, if its source says nothing about some of it.
const FOUND_APART: f32 = 0.62;
/// Of long questions less is enough, from this many words on.
const LONG: usize = 5;
/// The share of a long question that an answer must cover.
const FOUND_LONG: f32 = 0.4;
/// From here on there is no need to read more.
const STRONG: f32 = 0.7;
/// The weight of a word that stands above a passage.
const ABOVE: f32 = 0.8;
/// The bonus of each word that an answer need not hold.
const SOFT: f32 = 0.2;
/// The share of its words that a file must be about to be the one that is meant; each counts at most 0.7.
const ABOUT: f32 = 0.45;
/// The weight of a sentence below a heading that begins with what is asked for.
const BELOW: f32 = 1.1;
/// The same for the first one there, which says the most about it.
const OPENS: f32 = 1.6;
/// Passages that are looked at for one word; more than tables and lists are read of.
const MAX_CANDIDATES: usize = 100_000;

/// A passage that answers a part of the question.
#[derive(Clone, Debug)]
pub(crate) struct Hit<'m> {
    pub(crate) source: &'m Source,
    pub(crate) passage: &'m Passage,
    /// Its place in the material.
    pub(crate) position: usize,
    score: f32,
    /// True if it holds a value of the kind that is asked for.
    pub(crate) typed: bool,
    covers: Cover,
}

/// The part of a question that a passage covers.
#[derive(Clone, Copy, Debug)]
struct Cover {
    /// The share, at most 1.
    share: f32,
    /// The bonus of the words that an answer need not hold.
    bonus: f32,
    /// True if the passage itself, or what stands above it, holds a word of this part of the question.
    direct: bool,
    /// True if it holds a word of the question itself, not only a synonym.
    literal: bool,
    /// True if its source speaks of everything that is asked.
    every: bool,
    /// True if nothing that is asked only stands somewhere in its source.
    solid: bool,
    /// True if it holds the words, too, that an answer need not hold.
    rest: bool,
}

impl<'m> Hit<'m> {
    /// The same with another passage of its source.
    pub(crate) fn at(&self, passage: &'m Passage) -> Self {
        Self { passage, ..self.clone() }
    }

    /// True if it is good enough to answer with.
    pub(crate) fn is_found(&self, facet: &Facet) -> bool {
        let least = if facet.terms.iter().filter(|term| !term.soft).count() >= LONG {
            FOUND_LONG
        } else if self.covers.every {
            FOUND
        } else {
            FOUND_APART
        };
        let share = self.covers.share;
        share >= least && (self.typed || !facet.kind.is_needed() || share >= STRONG)
    }

    /// True if it says as much as the best one.
    pub(crate) fn is_as_good_as(&self, best: &Self) -> bool {
        let covers = self.covers.share >= best.covers.share - 0.05 && self.covers.rest >= best.covers.rest;
        covers && self.typed >= best.typed && self.score >= 0.9 * best.score
    }

    /// True if it covers the same, however long it is.
    pub(crate) fn covers_like(&self, best: &Self) -> bool {
        self.covers.share >= best.covers.share - 0.02 && self.typed == best.typed
    }

    /// True if it is so good that nothing else need be read.
    pub(crate) fn is_strong(&self, facet: &Facet) -> bool {
        // A single word may stand somewhere else just as well.
        let several = facet.terms.iter().filter(|term| !term.soft).count() > 1;
        let Cover { share, literal, solid, rest, .. } = self.covers;
        self.is_found(facet) && self.typed && literal && solid && (several || rest) && share >= STRONG
    }
}

/// A term of the question with what the index knows of it.
struct Asked<'f> {
    term: &'f Term,
    variants: Vec<Variant>,
    weight: f32,
    /// For each source, how much it is about the term.
    about: Vec<f32>,
}

impl<'f> Asked<'f> {
    fn new(term: &'f Term, index: &Index<'_>) -> Self {
        let variants = index.variants(term);
        Self { term, weight: term.weight * index.rarity(&variants), about: index.about(&variants), variants }
    }

    /// True if the question itself asks for it, and an answer must say it.
    fn is_own(&self) -> bool {
        !self.term.soft && !self.term.inherited
    }
}

/// The passages that answer a part of the question, the best first.
pub(crate) fn hits<'m>(index: &Index<'m>, facet: &Facet) -> Vec<Hit<'m>> {
    let asked: Vec<Asked<'_>> = facet.terms.iter().map(|term| Asked::new(term, index)).collect();
    if asked.iter().all(|asked| asked.term.soft) {
        return of_day(index, facet);
    }
    let mut places: Vec<usize> = asked
        .iter()
        .filter(|asked| !asked.term.inherited)
        .flat_map(|asked| index.places(&asked.variants, MAX_CANDIDATES))
        .collect();
    places.sort_unstable();
    places.dedup();
    let mut places = places.into_iter().peekable();
    let candidates = index.entries().filter(|(at, _)| places.next_if_eq(at).is_some());
    let mut hits: Vec<Hit<'m>> =
        candidates.filter_map(|(position, entry)| hit(index, facet, &asked, position, entry)).collect();
    hits.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.position.cmp(&b.position)));
    hits
}

fn hit<'m>(
    index: &Index<'m>,
    facet: &Facet,
    asked: &[Asked<'_>],
    position: usize,
    entry: &Entry,
) -> Option<Hit<'m>> {
    let (source, passage) = index.quoted(entry)?;
    // A question is no answer.
    if source.kind == SourceKind::Listing && facet.kind != Kind::Files || passage.text.ends_with('?') {
        return None;
    }
    let covers = cover(asked, entry);
    let dated = dated(facet, source, passage)?;
    let typed = is_typed(facet.kind, passage);
    let shape = shape(facet, asked, index, entry, passage, typed);
    let score = (covers.share + covers.bonus) * dated * shape;
    covers.direct.then_some(Hit { source, passage, position, score, typed, covers })
}

fn cover(asked: &[Asked<'_>], entry: &Entry) -> Cover {
    let mut cover =
        Cover { share: 0.0, bonus: 0.0, direct: false, literal: false, every: true, solid: true, rest: true };
    let mut whole = 0.0;
    for asked in asked {
        let here = strength(&asked.variants, &entry.tokens);
        let above = ABOVE * strength(&asked.variants, &entry.above);
        let near = here.max(above);
        let evidence = near.max(asked.about.get(entry.source).copied().unwrap_or(0.0));
        if asked.term.soft {
            cover.bonus += SOFT * near;
            cover.rest &= evidence > 0.0;
            continue;
        }
        cover.direct |= asked.is_own() && near > 0.0;
        cover.literal |= asked.is_own() && (here == 1.0 || above == ABOVE);
        cover.every &= evidence > 0.0;
        cover.solid &= asked.term.inherited || evidence >= 0.5;
        cover.share += asked.weight * evidence;
        whole += asked.weight;
    }
    cover.share /= whole.max(f32::EPSILON);
    cover
}

/// The passages of a day, where nothing but a date is asked for.
fn of_day<'m>(index: &Index<'m>, facet: &Facet) -> Vec<Hit<'m>> {
    let agrees =
        |text: &str| values::dates(text).iter().any(|day| facet.when.iter().any(|wanted| wanted.agrees(day)));
    let hit = |(position, entry): (usize, &Entry)| {
        let (source, passage) = index.quoted(entry)?;
        let of_content = source.kind != SourceKind::Listing && passage.form != Form::Heading;
        let covers = Cover {
            share: 1.0,
            bonus: 0.0,
            direct: true,
            literal: false,
            every: true,
            solid: true,
            rest: true,
        };
        let typed = is_typed(facet.kind, passage);
        (of_content && agrees(&passage.text)).then_some(Hit {
            source,
            passage,
            position,
            score: 1.0,
            typed,
            covers,
        })
    };
    index.entries().filter_map(hit).take(MAX_CANDIDATES).collect()
}

/// The file that is most about what is asked, if its name and first lines say so; any, if nothing is named.
pub(crate) fn most_about<'m>(index: &Index<'m>, facet: &Facet) -> Option<&'m Source> {
    let named: Vec<Vec<Variant>> =
        facet.terms.iter().filter(|term| !term.soft).map(|term| index.variants(term)).collect();
    #[expect(clippy::cast_precision_loss, reason = "a handful of words")]
    let least = ABOUT * named.len() as f32;
    let files = index.titled(&named).filter(|(score, source)| {
        source.kind == SourceKind::File && !source.pieces.passages.is_empty() && *score >= least
    });
    // Of equals the first one.
    files.reduce(|best, next| if next.0 > best.0 { next } else { best }).map(|(_, source)| source)
}

/// The weight of a passage's form: the wanted value, a label that names it, its length.
fn shape(
    facet: &Facet,
    asked: &[Asked<'_>],
    index: &Index<'_>,
    entry: &Entry,
    passage: &Passage,
    typed: bool,
) -> f32 {
    let value = match (typed, facet.kind.is_needed()) {
        (true, _) => 1.0,
        (false, true) => 0.55,
        (false, false) => 0.85,
    };
    let named =
        |tokens: &[u32]| asked.iter().any(|asked| asked.is_own() && strength(&asked.variants, tokens) > 0.0);
    let form = match &passage.form {
        Form::Pair { label, value }
            if named(&index.known(label)) && (!facet.kind.is_needed() || facet.kind.is_in(value)) =>
        {
            1.2
        }
        // "Task chair, mesh back" is one; "Floor mat for task chairs" is none.
        Form::Row { cells, .. }
            if cells.iter().any(|cell| named(index.known(cell).get(..1).unwrap_or_default())) =>
        {
            1.15
        }
        Form::Heading => 0.6,
        // "4.3 | The warranty period is …" is clause 4.3; elsewhere it is only mentioned.
        Form::Prose => {
            let opens = |asked: &Asked<'_>| {
                let length = asked.term.stems.len();
                let head = entry.tokens.get(..length).unwrap_or_default();
                length > 1 && strength(&asked.variants, head) > 0.0
            };
            if asked.iter().any(opens) { 1.8 } else { 1.0 }
        }
        Form::Pair { .. } | Form::Row { .. } => 1.0,
    };
    let form = match passage.form {
        // "10. Term and notice" is the section about the term; elsewhere the word is only used.
        Form::Prose if named(&index.known(topic(&passage.heading))) => match entry.opens {
            true => form * OPENS,
            false => form * BELOW,
        },
        _ => form,
    };
    #[expect(clippy::cast_precision_loss, reason = "a weight need not be exact")]
    let length = passage.text.len() as f32;
    value * form / (1.0 + length / 700.0)
}

/// The word that a heading begins with, behind its number and small words.
fn topic(heading: &str) -> &str {
    let mut words = words(heading).filter(|word| !is_stopword(word) && word.chars().any(char::is_alphabetic));
    words.next().unwrap_or_default()
}

/// True if a passage holds a value of the kind that is asked for.
fn is_typed(kind: Kind, passage: &Passage) -> bool {
    kind.is_in(&passage.text) || matches!(&passage.form, Form::Pair { value, .. } if kind.is_in(value))
}

/// The agreement of a passage with the dates that the question names: `None` if it says others.
fn dated(facet: &Facet, source: &Source, passage: &Passage) -> Option<f32> {
    if facet.when.is_empty() {
        return Some(1.0);
    }
    let agrees = |text: &str| {
        let days = values::dates(text);
        let any = days.iter().any(|day| facet.when.iter().any(|wanted| wanted.agrees(day)));
        (!days.is_empty()).then_some(any)
    };
    match agrees(&passage.text).or_else(|| agrees(&passage.heading)).or_else(|| agrees(&source.name)) {
        Some(true) => Some(1.1),
        Some(false) => None,
        None => Some(0.6),
    }
}
