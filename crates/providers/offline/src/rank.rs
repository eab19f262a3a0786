//! Which passage answers which part of a question.
//!
//! A passage counts by how much of what is asked it covers, each word weighed by how rare it is (as in BM25), the
//! value that is wanted near it, and what is known about it from its heading, its table and its file.

use std::collections::{HashMap, HashSet};

use crate::material::{Material, Source, SourceKind};
use crate::passages::{Form, Passage};
use crate::question::{Facet, Kind, Term};
use crate::values;
use crate::words::{stems, synonyms};

/// How much of what is asked an answer must cover if its source speaks of all of that.
const FOUND: f32 = 0.5;
/// The same, if its source says nothing about some of it.
const FOUND_APART: f32 = 0.62;
/// Of long questions less is enough, from this many words on.
const LONG: usize = 5;
/// How much of a long question an answer must cover.
const FOUND_LONG: f32 = 0.4;
/// From here on there is no need to read more.
const STRONG: f32 = 0.7;
/// Hits of one question part that are kept.
const MAX_HITS: usize = 400;
/// Candidates that are looked at for one question part.
const MAX_CANDIDATES: usize = 50_000;

/// Everything that was read, by its words.
pub(crate) struct Index<'m> {
    material: &'m Material,
    vocabulary: HashMap<String, u32>,
    entries: Vec<Entry>,
    /// The entries that hold a word, in their text or above it.
    postings: Vec<Vec<u32>>,
    sources: Vec<About>,
}

struct Entry {
    source: usize,
    passage: usize,
    tokens: Vec<u32>,
    above: Vec<u32>,
}

/// What is known about a whole source.
struct About {
    name: Vec<u32>,
    title: Vec<u32>,
    entries: usize,
}

/// A passage that answers a part of the question.
#[derive(Clone, Debug)]
pub(crate) struct Hit<'m> {
    pub(crate) source: &'m Source,
    pub(crate) passage: &'m Passage,
    /// Where it stands, for a stable order.
    entry: usize,
    pub(crate) score: f32,
    /// How much of what is asked it covers.
    pub(crate) coverage: f32,
    /// Whether it holds a value of the kind that is asked for.
    pub(crate) typed: bool,
    /// Whether its source speaks of everything that is asked.
    whole: bool,
    /// Whether it holds a word of the question itself, not only a synonym.
    literal: bool,
    /// Whether it holds the words, too, that an answer need not hold.
    rest: bool,
}

impl Hit<'_> {
    /// Where it stands in what was read.
    pub(crate) fn position(&self) -> usize {
        self.entry
    }

    /// Whether it is good enough to answer with.
    pub(crate) fn is_found(&self, facet: &Facet) -> bool {
        let least = if facet.terms.iter().filter(|term| !term.soft).count() >= LONG {
            FOUND_LONG
        } else if self.whole {
            FOUND
        } else {
            FOUND_APART
        };
        self.coverage >= least && (self.typed || !facet.kind.is_needed() || self.coverage >= STRONG)
    }

    /// Whether it says as much as the best one.
    pub(crate) fn is_as_good_as(&self, best: &Self) -> bool {
        let covers =
            self.coverage >= best.coverage - 0.05 && self.rest >= best.rest && self.typed >= best.typed;
        covers && self.score >= 0.9 * best.score
    }

    /// Whether it is so good that nothing else need be read.
    pub(crate) fn is_strong(&self, facet: &Facet) -> bool {
        // A single word may stand somewhere else just as well.
        let several = facet.terms.iter().filter(|term| !term.soft).count() > 1;
        self.is_found(facet)
            && self.typed
            && self.literal
            && (several || self.rest)
            && self.coverage >= STRONG
    }
}

/// One way in which a term can stand in a text.
struct Variant {
    ids: Vec<u32>,
    strength: f32,
}

impl<'m> Index<'m> {
    pub(crate) fn new(material: &'m Material) -> Self {
        let mut index = Self {
            material,
            vocabulary: HashMap::new(),
            entries: Vec::new(),
            postings: Vec::new(),
            sources: Vec::new(),
        };
        for (source_at, source) in material.sources.iter().enumerate() {
            let first = index.entries.len();
            let name = index.learn(&source.name);
            let about = index.learn(&source.about);
            let mut title = about.clone();
            for (passage_at, passage) in source.pieces.passages.iter().enumerate() {
                let tokens = index.learn(&passage.text);
                let mut above = about.clone();
                above.extend(index.learn(&passage.heading));
                if let Form::Row { table, .. } = &passage.form
                    && let Some(table) = source.pieces.tables.get(*table)
                {
                    above.extend(index.learn(&table.columns.join(" ")));
                }
                if passage_at < 4 || passage.form == Form::Heading && passage_at < 12 {
                    title.extend(&tokens);
                }
                let entry = u32::try_from(index.entries.len()).unwrap_or(u32::MAX);
                for id in tokens.iter().chain(&above) {
                    let posting = usize::try_from(*id).ok().and_then(|id| index.postings.get_mut(id));
                    if let Some(posting) = posting.filter(|posting| posting.last() != Some(&entry)) {
                        posting.push(entry);
                    }
                }
                index.entries.push(Entry { source: source_at, passage: passage_at, tokens, above });
            }
            let entries = index.entries.len() - first;
            index.sources.push(About { name, title, entries });
        }
        index
    }

    fn learn(&mut self, text: &str) -> Vec<u32> {
        let (vocabulary, postings) = (&mut self.vocabulary, &mut self.postings);
        let id = |stem: String| {
            *vocabulary.entry(stem).or_insert_with(|| {
                postings.push(Vec::new());
                u32::try_from(postings.len() - 1).unwrap_or(u32::MAX)
            })
        };
        stems(text).map(id).collect()
    }

    fn posting(&self, id: u32) -> &[u32] {
        usize::try_from(id).ok().and_then(|id| self.postings.get(id)).map_or(&[], Vec::as_slice)
    }

    /// The ways in which a term can stand in what was read: as it is, as a synonym, inside a long compound.
    fn variants(&self, term: &Term) -> Vec<Variant> {
        let ids: Option<Vec<u32>> =
            term.stems.iter().map(|stem| self.vocabulary.get(stem).copied()).collect();
        let mut variants: Vec<Variant> = ids.map(|ids| Variant { ids, strength: 1.0 }).into_iter().collect();
        let [stem] = term.stems.as_slice() else { return variants };
        let one = |id: &u32, strength| Variant { ids: vec![*id], strength };
        variants.extend(
            synonyms(stem).iter().filter_map(|other| self.vocabulary.get(other)).map(|id| one(id, 0.85)),
        );
        if stem.len() >= 5 {
            let mut compounds: Vec<&u32> = self
                .vocabulary
                .iter()
                .filter(|(word, _)| {
                    word.len() >= 10 && *word != stem && (word.starts_with(stem) || word.ends_with(stem))
                })
                .map(|(_, id)| id)
                .collect();
            compounds.sort_unstable();
            variants.extend(compounds.into_iter().map(|id| one(id, 0.7)));
        }
        variants
    }

    /// The passages that answer a part of the question, the best first.
    pub(crate) fn hits(&self, facet: &Facet) -> Vec<Hit<'m>> {
        let terms: Vec<(&Term, Vec<Variant>)> =
            facet.terms.iter().map(|term| (term, self.variants(term))).collect();
        let weights: Vec<f32> =
            terms.iter().map(|(term, variants)| term.weight * self.rarity(variants)).collect();
        let whole: f32 =
            terms.iter().zip(&weights).filter(|((term, _), _)| !term.soft).map(|(_, weight)| weight).sum();
        if whole <= 0.0 {
            return self.dated(facet);
        }
        let about: Vec<Vec<f32>> = terms.iter().map(|(_, variants)| self.about(variants)).collect();
        let mut hits: Vec<Hit<'m>> = self
            .candidates(&terms)
            .into_iter()
            .filter_map(|entry_at| {
                let entry = self.entries.get(entry_at)?;
                let source = self.material.sources.get(entry.source)?;
                let passage = source.pieces.passages.get(entry.passage)?;
                if source.kind == SourceKind::Listing && facet.kind != Kind::Files {
                    return None;
                }
                // Who asks does not answer.
                if passage.text.ends_with('?') {
                    return None;
                }
                let near = |at: usize| {
                    about.get(at).and_then(|about| about.get(entry.source)).copied().unwrap_or(0.0)
                };
                let (mut covered, mut bonus) = (0.0, 0.0);
                let (mut direct, mut literal, mut every, mut rest) = (false, false, true, true);
                for (at, ((term, variants), weight)) in terms.iter().zip(&weights).enumerate() {
                    let here = strength(variants, &entry.tokens);
                    let above = 0.8 * strength(variants, &entry.above);
                    if term.soft {
                        bonus += 0.2 * here.max(above);
                        rest &= here.max(above) > 0.0;
                        continue;
                    }
                    direct |= !term.inherited && here.max(above) > 0.0;
                    literal |= !term.inherited && (here == 1.0 || above == 0.8);
                    let evidence = here.max(above).max(near(at));
                    every &= evidence > 0.0;
                    covered += weight * evidence;
                }
                let coverage = covered / whole;
                let dated = dated(facet, source, passage)?;
                let typed = is_typed(facet.kind, passage);
                direct.then(|| {
                    let score = (coverage + bonus)
                        * dated
                        * shape(facet, passage, typed, &entry.tokens, &terms, self);
                    Hit {
                        source,
                        passage,
                        entry: entry_at,
                        score,
                        coverage,
                        typed,
                        whole: every,
                        literal,
                        rest,
                    }
                })
            })
            .collect();
        hits.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.entry.cmp(&b.entry)));
        hits.truncate(MAX_HITS);
        hits
    }

    /// The passages of a day, where nothing but a date is asked for.
    fn dated(&self, facet: &Facet) -> Vec<Hit<'m>> {
        let agrees = |text: &str| {
            values::dates(text).iter().any(|day| facet.when.iter().any(|wanted| wanted.agrees(day)))
        };
        let hit = |(at, entry): (usize, &Entry)| {
            let source = self.material.sources.get(entry.source)?;
            let passage = source.pieces.passages.get(entry.passage)?;
            let of_content = source.kind != SourceKind::Listing && passage.form != Form::Heading;
            (of_content && agrees(&passage.text)).then_some(Hit {
                source,
                passage,
                entry: at,
                score: 1.0,
                coverage: 1.0,
                typed: is_typed(facet.kind, passage),
                whole: true,
                literal: false,
                rest: true,
            })
        };
        self.entries.iter().enumerate().filter_map(hit).take(MAX_HITS).collect()
    }

    fn candidates(&self, terms: &[(&Term, Vec<Variant>)]) -> Vec<usize> {
        let mut seen = HashSet::new();
        let mut candidates = Vec::new();
        for variant in terms.iter().filter(|(term, _)| !term.inherited).flat_map(|(_, variants)| variants) {
            let rarest = variant.ids.iter().map(|id| self.posting(*id)).min_by_key(|posting| posting.len());
            for entry in rarest.unwrap_or_default() {
                if candidates.len() < MAX_CANDIDATES && seen.insert(*entry) {
                    candidates.extend(usize::try_from(*entry));
                }
            }
        }
        candidates.sort_unstable();
        candidates
    }

    /// How telling a term is: the fewer passages hold it, the more.
    fn rarity(&self, variants: &[Variant]) -> f32 {
        let holds: HashSet<u32> = variants
            .iter()
            .filter_map(|variant| {
                variant.ids.iter().map(|id| self.posting(*id)).min_by_key(|posting| posting.len())
            })
            .flatten()
            .copied()
            .collect();
        #[expect(clippy::cast_precision_loss, reason = "a weight need not be exact")]
        let (all, holding) = (self.entries.len() as f32, holds.len() as f32);
        (1.0 + (all - holding + 0.5) / (holding + 0.5)).ln().max(0.1)
    }

    /// For each source, how much it is about a term: by its name, its first lines, or anywhere.
    fn about(&self, variants: &[Variant]) -> Vec<f32> {
        // What stands elsewhere under the same identifier is about something else more often than not.
        let apart = if variants.iter().any(|variant| variant.ids.len() > 1) { 0.5 } else { 1.0 };
        let mut about: Vec<f32> = self
            .sources
            .iter()
            .map(|source| {
                (0.7 * strength(variants, &source.name)).max(0.65 * apart * strength(variants, &source.title))
            })
            .collect();
        for variant in variants {
            let Some(rarest) =
                variant.ids.iter().map(|id| self.posting(*id)).min_by_key(|posting| posting.len())
            else {
                continue;
            };
            for entry in rarest {
                let source = usize::try_from(*entry)
                    .ok()
                    .and_then(|entry| self.entries.get(entry))
                    .map(|entry| entry.source);
                if let Some(known) = source.and_then(|source| about.get_mut(source)) {
                    *known = known.max(0.4 * apart * variant.strength);
                }
            }
        }
        about
    }

    /// The passages of the source that is most about the facet, for a summary.
    pub(crate) fn most_about(&self, facet: &Facet) -> Option<&'m Source> {
        let mut best: Option<(f32, usize)> = None;
        for (at, source) in self.sources.iter().enumerate().filter(|(_, source)| source.entries > 0) {
            let score: f32 = facet
                .terms
                .iter()
                .filter(|term| !term.soft)
                .map(|term| {
                    let variants = self.variants(term);
                    (0.7 * strength(&variants, &source.name)).max(0.65 * strength(&variants, &source.title))
                })
                .sum();
            let kind = self.material.sources.get(at).map(|source| source.kind);
            if kind == Some(SourceKind::File) && best.is_none_or(|(known, _)| score > known) {
                best = Some((score, at));
            }
        }
        let wanted = facet.terms.iter().any(|term| !term.soft);
        best.filter(|(score, _)| *score > 0.0 || !wanted).and_then(|(_, at)| self.material.sources.get(at))
    }
}

/// How much a passage's form speaks for it: the wanted value, a label that names it, its length.
fn shape(
    facet: &Facet,
    passage: &Passage,
    typed: bool,
    tokens: &[u32],
    terms: &[(&Term, Vec<Variant>)],
    index: &Index<'_>,
) -> f32 {
    let mut shape = match (typed, facet.kind.is_needed()) {
        (true, _) => 1.0,
        (false, true) => 0.55,
        (false, false) => 0.85,
    };
    match &passage.form {
        Form::Pair { label, value } => {
            let label: Vec<u32> =
                stems(label).filter_map(|stem| index.vocabulary.get(&stem).copied()).collect();
            let named = terms
                .iter()
                .any(|(term, variants)| !term.inherited && !term.soft && strength(variants, &label) > 0.0);
            if named && (!facet.kind.is_needed() || facet.kind.is_in(value)) {
                shape *= 1.2;
            }
        }
        // "Task chair, mesh back" is one; "Floor mat for task chairs" is none.
        Form::Row { cells, .. } => {
            let opens = |cell: &String| {
                let first = stems(cell).next().and_then(|stem| index.vocabulary.get(&stem).copied());
                first.is_some_and(|id| {
                    terms.iter().any(|(term, variants)| !term.soft && strength(variants, &[id]) > 0.0)
                })
            };
            if cells.iter().any(opens) {
                shape *= 1.15;
            }
        }
        Form::Heading => shape *= 0.6,
        // "4.3 | The warranty period is …" is clause 4.3; elsewhere it is only mentioned.
        Form::Prose => {
            let opens = |(term, variants): &(&Term, Vec<Variant>)| {
                let head = tokens.get(..term.stems.len()).unwrap_or_default();
                term.stems.len() > 1 && strength(variants, head) > 0.0
            };
            if terms.iter().any(opens) {
                shape *= 1.8;
            }
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "a weight need not be exact")]
    let length = passage.text.len() as f32;
    shape / (1.0 + length / 700.0)
}

/// Whether a passage holds a value of the kind that is asked for.
fn is_typed(kind: Kind, passage: &Passage) -> bool {
    kind.is_in(&passage.text) || matches!(&passage.form, Form::Pair { value, .. } if kind.is_in(value))
}

/// Whether a passage agrees with the dates that the question names: `None` if it says others.
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

/// How strongly tokens hold a term.
fn strength(variants: &[Variant], tokens: &[u32]) -> f32 {
    let holds =
        |variant: &&Variant| tokens.windows(variant.ids.len().max(1)).any(|window| window == variant.ids);
    variants.iter().filter(holds).map(|variant| variant.strength).fold(0.0, f32::max)
}
