//! Everything that was read, by its words.

use std::collections::{HashMap, HashSet};

use crate::material::{Material, Source};
use crate::pieces::{Form, Passage};
use crate::question::Term;
use crate::words::{stems, synonyms};

/// The weight of a synonym.
const SYNONYM: f32 = 0.85;
/// The weight of a long compound that begins or ends with a word.
const COMPOUND: f32 = 0.7;
/// Letters from which on a word is looked for inside compounds, and letters that a compound has at least.
const IN_COMPOUNDS: (usize, usize) = (5, 10);

/// The weights of a word in a source's name, in its first lines, or anywhere.
const BY_NAME: f32 = 0.7;
const BY_TITLE: f32 = 0.65;
const ANYWHERE: f32 = 0.4;

/// Everything that was read, by its words.
pub(crate) struct Index<'m> {
    material: &'m Material,
    vocabulary: HashMap<String, u32>,
    entries: Vec<Entry>,
    /// The entries that hold a word, in their text or above it.
    postings: Vec<Vec<u32>>,
    sources: Vec<About>,
}

/// One passage.
pub(crate) struct Entry {
    pub(crate) source: usize,
    passage: usize,
    /// The words of its text.
    pub(crate) tokens: Vec<u32>,
    /// The words of what stands above it: its heading, its table's head, the call that brought it.
    pub(crate) above: Vec<u32>,
    /// True if it is the first one below its heading.
    pub(crate) opens: bool,
}

/// The facts about a whole source.
struct About {
    name: Vec<u32>,
    title: Vec<u32>,
}

/// One way in which a term can stand in a text.
pub(crate) struct Variant {
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
        for (at, source) in material.sources.iter().enumerate() {
            index.source(at, source);
        }
        index
    }

    fn source(&mut self, at: usize, source: &Source) {
        let name = self.learn(&source.name);
        let about = self.learn(&source.about);
        let mut title = about.clone();
        let mut before = None;
        for (passage_at, passage) in source.pieces.passages.iter().enumerate() {
            let tokens = self.learn(&passage.text);
            let mut above = about.clone();
            above.extend(self.learn(&passage.heading));
            if let Form::Row { table, .. } = &passage.form
                && let Some(table) = source.pieces.tables.get(*table)
            {
                above.extend(self.learn(&table.columns.join(" ")));
            }
            if passage_at < 4 || passage.form == Form::Heading && passage_at < 12 {
                title.extend(&tokens);
            }
            let entry = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
            for id in tokens.iter().chain(&above) {
                let posting = usize::try_from(*id).ok().and_then(|id| self.postings.get_mut(id));
                if let Some(posting) = posting.filter(|posting| posting.last() != Some(&entry)) {
                    posting.push(entry);
                }
            }
            let opens = before != Some(&passage.heading);
            before = Some(&passage.heading);
            self.entries.push(Entry { source: at, passage: passage_at, tokens, above, opens });
        }
        self.sources.push(About { name, title });
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

    /// The words of a text that were read anywhere.
    pub(crate) fn known(&self, text: &str) -> Vec<u32> {
        stems(text).filter_map(|stem| self.vocabulary.get(&stem).copied()).collect()
    }

    /// Every passage with its place.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (usize, &Entry)> {
        self.entries.iter().enumerate()
    }

    /// The passage of an entry and its source.
    pub(crate) fn quoted(&self, entry: &Entry) -> Option<(&'m Source, &'m Passage)> {
        let source = self.material.sources.get(entry.source)?;
        Some((source, source.pieces.passages.get(entry.passage)?))
    }

    /// The ways in which a term can stand in what was read: as it is, as a synonym, inside a long compound.
    pub(crate) fn variants(&self, term: &Term) -> Vec<Variant> {
        let ids: Option<Vec<u32>> =
            term.stems.iter().map(|stem| self.vocabulary.get(stem).copied()).collect();
        let mut variants: Vec<Variant> = ids.map(|ids| Variant { ids, strength: 1.0 }).into_iter().collect();
        let [stem] = term.stems.as_slice() else { return variants };
        let one = |id: u32, strength| Variant { ids: vec![id], strength };
        let alike = synonyms(stem).iter().filter_map(|other| self.vocabulary.get(other));
        variants.extend(alike.map(|id| one(*id, SYNONYM)));
        let (least, compound) = IN_COMPOUNDS;
        if stem.len() >= least {
            let holds = |word: &String| {
                word.len() >= compound && word != stem && (word.starts_with(stem) || word.ends_with(stem))
            };
            let held = self.vocabulary.iter().filter(|(word, _)| holds(word));
            let mut compounds: Vec<u32> = held.map(|(_, id)| *id).collect();
            compounds.sort_unstable();
            variants.extend(compounds.into_iter().map(|id| one(id, COMPOUND)));
        }
        variants
    }

    /// The entries that may hold one of these.
    fn postings<'s>(
        &'s self,
        variants: &'s [Variant],
    ) -> impl Iterator<Item = (&'s Variant, usize, &'s Entry)> {
        let posting = |id: &u32| usize::try_from(*id).ok().and_then(|id| self.postings.get(id));
        variants.iter().flat_map(move |variant| {
            // A sequence stands nowhere where its rarest word does not.
            let rarest = variant.ids.iter().filter_map(posting).min_by_key(|posting| posting.len());
            rarest.into_iter().flatten().filter_map(move |at| {
                let at = usize::try_from(*at).ok()?;
                Some((variant, at, self.entries.get(at)?))
            })
        })
    }

    /// The places of the entries that may hold one of these, at most `most`.
    pub(crate) fn places(&self, variants: &[Variant], most: usize) -> HashSet<usize> {
        self.postings(variants).map(|(_, at, _)| at).take(most).collect()
    }

    /// The weight of a term: the fewer passages hold it, the more. (The weight of a word in BM25.)
    pub(crate) fn rarity(&self, variants: &[Variant]) -> f32 {
        let holding = self.places(variants, usize::MAX).len();
        #[expect(clippy::cast_precision_loss, reason = "a weight need not be exact")]
        let (all, holding) = (self.entries.len() as f32, holding as f32);
        (1.0 + (all - holding + 0.5) / (holding + 0.5)).ln().max(0.1)
    }

    /// For each source, how much it is about a term: by its name, its first lines, or anywhere.
    pub(crate) fn about(&self, variants: &[Variant]) -> Vec<f32> {
        // Text elsewhere under the same identifier is about something else more often than not.
        let apart = if variants.iter().any(|variant| variant.ids.len() > 1) { 0.5 } else { 1.0 };
        let mut about: Vec<f32> = self.sources.iter().map(|source| source.says(variants, apart)).collect();
        for (variant, _, entry) in self.postings(variants) {
            if let Some(known) = about.get_mut(entry.source) {
                *known = known.max(ANYWHERE * apart * variant.strength);
            }
        }
        about
    }

    /// The sources, each with how much its name and first lines are about the terms, added up.
    pub(crate) fn titled(&self, terms: &[Vec<Variant>]) -> impl Iterator<Item = (f32, &'m Source)> {
        let says = |about: &About| terms.iter().map(|variants| about.says(variants, 1.0)).sum();
        self.material.sources.iter().zip(&self.sources).map(move |(source, about)| (says(about), source))
    }
}

impl About {
    fn says(&self, variants: &[Variant], apart: f32) -> f32 {
        (BY_NAME * strength(variants, &self.name)).max(BY_TITLE * apart * strength(variants, &self.title))
    }
}

/// The strength with which words hold a term.
pub(crate) fn strength(variants: &[Variant], tokens: &[u32]) -> f32 {
    let holds =
        |variant: &&Variant| tokens.windows(variant.ids.len().max(1)).any(|window| window == variant.ids);
    variants.iter().filter(holds).map(|variant| variant.strength).fold(0.0, f32::max)
}
