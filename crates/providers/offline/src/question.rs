//! Questions: the facts that one wants, and the words by which each can be recognised.

mod clauses;
mod kind;

use crate::values::{self, Day};
use crate::words::{among, is_stopword, stem, stems, words};

use clauses::{MAX_FACETS, asked, clauses, listed};
pub(crate) use kind::Kind;

/// A question, taken apart.
#[derive(Debug, Default)]
pub(crate) struct Question {
    /// The facts that are asked for.
    pub(crate) facets: Vec<Facet>,
    /// The text that asks.
    pub(crate) text: String,
    /// The text in the message beside the question.
    pub(crate) beside: String,
    /// The words that say something, as they are written, each once.
    pub(crate) content: Vec<String>,
    /// Dates that are named.
    pub(crate) days: Vec<Day>,
}

/// One fact that is asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Facet {
    /// The words of the question that ask for it.
    pub(crate) text: String,
    pub(crate) kind: Kind,
    pub(crate) terms: Vec<Term>,
    /// Dates that the answer must agree with.
    pub(crate) when: Vec<Day>,
    /// True if several answers are wanted.
    pub(crate) many: bool,
    /// True if amounts are to be added up.
    pub(crate) sum: bool,
    /// True if it points back at what was asked before.
    refers: bool,
}

/// A word or an identifier by which an answer is recognised.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Term {
    /// The stems in sequence; one for a word, several for an identifier.
    pub(crate) stems: Vec<String>,
    /// Its weight; a word of the question itself counts 1.
    pub(crate) weight: f32,
    /// True if an answer need not hold it.
    pub(crate) soft: bool,
    /// True if it comes from another part of the question.
    pub(crate) inherited: bool,
}

impl Question {
    /// Takes the text of a message apart.
    pub(crate) fn read(text: &str) -> Self {
        let text = text.trim();
        let (asked, beside) = asked(text);
        let mut facets: Vec<Facet> = Vec::new();
        for sentence in &asked {
            for clause in clauses(sentence) {
                for part in listed(&clause) {
                    facets.push(Facet::read(&part));
                }
            }
        }
        facets.retain(|facet| {
            !facet.terms.is_empty() || facet.refers || facet.kind != Kind::Text || !facet.when.is_empty()
        });
        facets.truncate(MAX_FACETS);
        inherit(&mut facets);
        facets.retain(|facet| {
            let needs_no_words = matches!(facet.kind, Kind::Files | Kind::Summary) || !facet.when.is_empty();
            !facet.terms.is_empty() || needs_no_words
        });
        facets.dedup();
        let text = asked.join(" ");
        let mut content: Vec<String> = Vec::new();
        for word in words(&text).filter(|word| !is_stopword(word) && word.len() > 1) {
            if !content.iter().any(|known| known == word) {
                content.push(word.to_owned());
            }
        }
        Self { facets, days: values::dates(&text), beside, content, text }
    }

    /// The stems of its content words.
    pub(crate) fn stems(&self) -> Vec<String> {
        self.content.iter().map(|word| stem(word)).collect()
    }
}

impl Facet {
    fn read(text: &str) -> Self {
        let lower: Vec<String> = words(text).map(str::to_lowercase).collect();
        let has = |list: &str| lower.iter().any(|word| among(list, word));
        let kind = Kind::of(&lower);
        let when = when(text);
        let soft: Vec<String> = stems(kind.soft()).collect();
        let mut terms: Vec<Term> = Vec::new();
        for chunk in text.split_whitespace() {
            for term in chunk_terms(chunk, &when) {
                let soft = term.len() == 1 && term.iter().all(|stem| soft.contains(stem));
                // An identifier says more than any word, and what kind of identifier it is says little.
                if term.len() > 1
                    && let Some(before) = terms.last_mut().filter(|before| is_numbered(&before.stems))
                {
                    (before.soft, before.weight) = (true, 0.3);
                }
                if !terms.iter().any(|known| known.stems == term) {
                    let weight = match (soft, term.len()) {
                        (true, _) => 0.3,
                        (false, 1) => 1.0,
                        (false, _) => 2.0,
                    };
                    terms.push(Term { stems: term, weight, soft, inherited: false });
                }
            }
        }
        if terms.iter().all(|term| term.soft) && kind != Kind::Files && kind != Kind::Summary {
            terms.iter_mut().for_each(|term| (term.soft, term.weight) = (false, 1.0));
        }
        let asks = has("which what list show all every welche alle who wer");
        let is_plural = |word: &str| word.len() > 3 && word.ends_with('s') && stem(word).len() < word.len();
        Self {
            text: text.to_owned(),
            many: asks && (words(text).any(is_plural) || has("all every alle welche")),
            sum: kind == Kind::Amount
                && has("spend spent sum altogether overall insgesamt summe gesamt ausgegeben total"),
            refers: has("it its they them their that this these those he she es sie er dessen deren ihn"),
            kind,
            terms,
            when,
        }
    }

    /// The same without the word that asks for a sum, which rows that are to be added up do not hold.
    pub(crate) fn of_rows(&self) -> Option<Self> {
        let sums: Vec<String> =
            stems("total sum gesamt gesamtbetrag summe overall altogether insgesamt").collect();
        let mut of_rows = self.clone();
        of_rows.terms.retain(|term| !term.stems.iter().any(|stem| sums.contains(stem)));
        (self.sum && of_rows.terms.len() < self.terms.len()).then_some(of_rows)
    }

    /// True if it says what it is about by itself.
    fn stands_alone(&self) -> bool {
        !self.refers && self.terms.iter().filter(|term| !term.soft).count() > 0
    }
}

/// The dates of a clause, and years that stand alone: "in 2025".
fn when(text: &str) -> Vec<Day> {
    let mut days = values::dates(text);
    let words: Vec<&str> = words(text).collect();
    for pair in words.windows(2) {
        if let [before, year] = pair
            && among("in of for year im jahr during since", &before.to_lowercase())
            && year.len() == 4
            && !days.iter().any(|day| day.year.is_some())
            && let Ok(year @ 1900..2200) = year.parse()
        {
            days.push(Day { year: Some(year), ..Day::default() });
        }
    }
    days
}

/// Stems that say what the identifier after them is.
const NUMBERED: &str = "claus section paragraph articl chapter number ziffer absatz klausel punkt nummer";

/// True if a word says what the identifier after it is.
fn is_numbered(stems: &[String]) -> bool {
    matches!(stems, [stem] if among(NUMBERED, stem))
}

/// The terms of what stands between white space: a word, or an identifier in one piece.
fn chunk_terms(chunk: &str, when: &[Day]) -> Vec<Vec<String>> {
    let is_date = values::dates(chunk).iter().any(|day| when.contains(day));
    let parts: Vec<&str> = words(chunk).collect();
    if is_date && parts.len() > 1 {
        return Vec::new();
    }
    let has_digit = |part: &&str| part.bytes().any(|b| b.is_ascii_digit());
    if parts.len() > 1 && parts.iter().any(has_digit) {
        return vec![parts.into_iter().map(stem).collect()];
    }
    let in_date = |part: &str| {
        let number: Option<u16> = part.trim_end_matches(|c: char| c.is_alphabetic()).parse().ok();
        when.iter().any(|day| {
            values::is_month(part)
                || number
                    .is_some_and(|number| day.year == Some(number) || day.day.map(u16::from) == Some(number))
        })
    };
    let says = |part: &&str| !is_stopword(part) && !in_date(part) && (part.len() > 1 || has_digit(part));
    parts.into_iter().filter(says).map(|part| vec![stem(part)]).collect()
}

/// A clause that points back, or leaves words out, takes them from the one before; the first one from the next.
fn inherit(facets: &mut [Facet]) {
    for at in 0..facets.len() {
        let Some(facet) = facets.get(at).filter(|facet| !facet.stands_alone()) else { continue };
        let neighbour = if at > 0 { at - 1 } else { 1 };
        let Some(from) = facets.get(neighbour) else { continue };
        let alone = !facet.terms.iter().any(|term| !term.soft);
        let taken: Vec<Term> = from
            .terms
            .iter()
            .filter(|term| !term.soft && !facet.terms.iter().any(|own| own.stems == term.stems))
            .map(|term| Term {
                weight: term.weight * if alone { 1.0 } else { 0.4 },
                inherited: !alone,
                ..term.clone()
            })
            .collect();
        let when = from.when.clone();
        if let Some(facet) = facets.get_mut(at) {
            facet.terms.extend(taken);
            if facet.when.is_empty() {
                facet.when = when;
            }
        }
    }
}

#[cfg(test)]
mod tests;
