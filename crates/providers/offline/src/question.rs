//! What is asked: the facts that a question wants, and the words by which each can be recognised.

use crate::passages::sentences;
use crate::values::{self, Day};
use crate::words::{head, is_stopword, stem, stems, words};

/// The most facts that are looked for in one message.
const MAX_FACETS: usize = 8;
/// The most bytes of a message in which questions are looked for.
const MAX_QUESTION: usize = 8 << 10;
/// From this length on, a message that holds a question also holds material.
const MATERIAL_FROM: usize = 400;

/// A question, taken apart.
#[derive(Debug, Default)]
pub(crate) struct Question {
    /// The facts that are asked for.
    pub(crate) facets: Vec<Facet>,
    /// The text that asks.
    pub(crate) text: String,
    /// What stands in the message beside the question.
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
    /// Whether several answers are wanted.
    pub(crate) many: bool,
    /// Whether amounts are to be added up.
    pub(crate) sum: bool,
    /// Whether it points back at what was asked before.
    refers: bool,
}

/// A word or an identifier by which an answer is recognised.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Term {
    /// The stems in sequence; one for a word, several for an identifier.
    pub(crate) stems: Vec<String>,
    /// How much it counts; a word of the question itself counts 1.
    pub(crate) weight: f32,
    /// Whether an answer need not hold it.
    pub(crate) soft: bool,
    /// Whether it comes from another part of the question.
    pub(crate) inherited: bool,
}

/// What kind of answer is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Kind {
    #[default]
    Text,
    Amount,
    Date,
    Duration,
    Count,
    Person,
    Place,
    /// A summary of a document.
    Summary,
    /// The files themselves.
    Files,
}

impl Kind {
    /// Whether a text holds a value of this kind.
    pub(crate) fn is_in(self, text: &str) -> bool {
        match self {
            Self::Amount => {
                values::has_amount(text) || text.contains('%') || values::Decimal::parse(text).is_some()
            }
            Self::Date => values::dates(text).iter().any(|day| day.month.is_some() || day.day.is_some()),
            Self::Duration => values::has_duration(text),
            Self::Count => values::has_number(text),
            Self::Person => values::has_name(text),
            Self::Text | Self::Place | Self::Summary | Self::Files => true,
        }
    }

    /// Whether an answer without such a value is next to none.
    pub(crate) fn is_needed(self) -> bool {
        matches!(self, Self::Amount | Self::Date | Self::Duration | Self::Count)
    }

    /// Stems that only say which kind of answer is wanted.
    fn soft(self) -> &'static str {
        match self {
            Self::Amount => {
                "month year week day spend spent cost costs price pay paid amount money charge charged worth value expensive kostet \
                 kosten preis betrag bezahlt ausgegeben"
            }
            Self::Date => "date day time datum tag zeitpunkt",
            Self::Duration => "long last lasts period time lange dauert dauer",
            Self::Count => "number count anzahl",
            Self::Person => "person people name names work works worked working live lives arbeitet",
            Self::Place => "place located location find ort",
            Self::Summary => "summarise summarize summary brief zusammenfassung",
            Self::Files => "file files document documents folder directory list there available",
            Self::Text => "",
        }
    }
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

/// The sentences that ask, and the text beside them.
fn asked(text: &str) -> (Vec<String>, String) {
    let whole = head(text, MAX_QUESTION);
    let all: Vec<&str> = whole.lines().flat_map(sentences).collect();
    let asking: Vec<&str> = all
        .iter()
        .copied()
        .filter(|sentence| sentence.ends_with('?') || is_request(sentence))
        .take(MAX_FACETS)
        .collect();
    if asking.is_empty() || text.len() < MATERIAL_FROM {
        let chosen = if asking.is_empty() { all.iter().copied().take(MAX_FACETS).collect() } else { asking };
        return (chosen.into_iter().map(str::to_owned).collect(), String::new());
    }
    let mut beside = text.to_owned();
    for sentence in &asking {
        beside = beside.replacen(sentence, "", 1);
    }
    (asking.into_iter().map(str::to_owned).collect(), beside)
}

fn is_request(sentence: &str) -> bool {
    const VERBS: [&str; 22] = [
        "tell",
        "give",
        "show",
        "list",
        "find",
        "name",
        "summarise",
        "summarize",
        "what",
        "who",
        "when",
        "where",
        "which",
        "how",
        "nenne",
        "zeige",
        "gib",
        "liste",
        "finde",
        "fasse",
        "fass",
        "look",
    ];
    let mut start =
        words(sentence).map(str::to_lowercase).skip_while(|word| matches!(word.as_str(), "please" | "bitte"));
    start.next().is_some_and(|word| VERBS.contains(&word.as_str()))
}

const QUESTION_WORDS: [&str; 26] = [
    "what", "who", "whom", "whose", "when", "where", "which", "how", "why", "is", "are", "was", "were",
    "did", "does", "wer", "wen", "wem", "was", "wann", "wo", "wie", "wieviel", "welche", "welcher", "warum",
];

/// Words that stand before a question word.
const LEADS: [&str; 12] =
    ["by", "until", "till", "for", "to", "from", "at", "with", "bis", "seit", "ab", "von"];

/// The parts of a sentence that ask one thing each: "What is …, and when is …?"
fn clauses(sentence: &str) -> Vec<String> {
    let tokens: Vec<&str> = sentence.split_whitespace().collect();
    let lower: Vec<String> = tokens.iter().map(|token| bare(token).to_lowercase()).collect();
    let mut clauses: Vec<Vec<&str>> = vec![Vec::new()];
    for (at, token) in tokens.iter().enumerate() {
        let word = lower.get(at).map_or("", String::as_str);
        let follows_pause = at > 0 && tokens.get(at - 1).is_some_and(|before| before.ends_with([',', ';']));
        // "and when", "and by when"
        let asks = |at: usize| lower.get(at).is_some_and(|word| QUESTION_WORDS.contains(&word.as_str()));
        let leads = lower.get(at + 1).is_some_and(|word| LEADS.contains(&word.as_str()));
        let next_asks = asks(at + 1) || leads && asks(at + 2);
        let joins = matches!(word, "and" | "und" | "sowie" | "&") && next_asks;
        // After a comma only a word that cannot stand in the middle of a clause starts another one.
        let starts = follows_pause
            && QUESTION_WORDS.contains(&word)
            && !matches!(word, "is" | "are" | "was" | "were" | "which");
        if (joins || starts) && clauses.last().is_some_and(|clause| !clause.is_empty()) {
            clauses.push(Vec::new());
        }
        if !joins && let Some(clause) = clauses.last_mut() {
            clause.push(token);
        }
    }
    let text = |clause: Vec<&str>| {
        clause.join(" ").trim_matches(|c: char| matches!(c, ',' | ';' | '?' | '.' | '!' | ' ')).to_owned()
    };
    clauses.into_iter().map(text).filter(|clause| !clause.is_empty()).collect()
}

fn bare(token: &str) -> &str {
    token.trim_matches(|c: char| !c.is_alphanumeric())
}

/// "What are the net amount and the VAT of X" as two clauses about X.
fn listed(clause: &str) -> Vec<String> {
    let tokens: Vec<&str> = clause.split_whitespace().collect();
    let lower: Vec<String> = tokens.iter().map(|token| bare(token).to_lowercase()).collect();
    let at = |index: usize| lower.get(index).map_or("", String::as_str);
    let whole = || vec![clause.to_owned()];
    let mut start = match (at(0), at(1)) {
        ("what" | "was", "is" | "are" | "was" | "were" | "ist" | "sind" | "war" | "waren") => 2,
        ("tell" | "give" | "show", "me" | "us") => 2,
        ("give" | "show" | "list" | "name" | "nenne" | "zeige", _) => 1,
        _ => return whole(),
    };
    while matches!(at(start), "the" | "both" | "all" | "der" | "die" | "das" | "mir") {
        start += 1;
    }
    const PREPOSITIONS: [&str; 16] = [
        "of", "for", "in", "on", "from", "to", "with", "by", "at", "about", "von", "vom", "für", "im", "der",
        "des",
    ];
    let tail = (start..tokens.len()).find(|index| PREPOSITIONS.contains(&at(*index))).unwrap_or(tokens.len());
    let mut items: Vec<Vec<&str>> = vec![Vec::new()];
    for index in start..tail {
        let Some(token) = tokens.get(index) else { continue };
        if matches!(at(index), "and" | "und" | "sowie" | "&") {
            items.push(Vec::new());
            continue;
        }
        if let Some(item) = items.last_mut() {
            item.push(token);
        }
        if token.ends_with(',') {
            items.push(Vec::new());
        }
    }
    items.retain(|item| !item.is_empty());
    let says_something =
        |item: &Vec<&str>| item.len() <= 5 && item.iter().any(|word| !is_stopword(bare(word)));
    if !(2..=6).contains(&items.len()) || !items.iter().all(says_something) {
        return whole();
    }
    let tail = tokens.get(tail..).unwrap_or_default().join(" ");
    let text = |item: Vec<&str>| format!("{} {tail}", item.join(" ").trim_end_matches(',')).trim().to_owned();
    items.into_iter().map(text).collect()
}

impl Facet {
    fn read(text: &str) -> Self {
        let lower: Vec<String> = words(text).map(str::to_lowercase).collect();
        let has = |list: &[&str]| lower.iter().any(|word| list.contains(&word.as_str()));
        let kind = kind(&lower);
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
        let asks = has(&["which", "what", "list", "show", "all", "every", "welche", "alle", "who", "wer"]);
        let plural =
            words(text).any(|word| word.len() > 3 && word.ends_with('s') && stem(word).len() < word.len());
        let adds = [
            "spend",
            "spent",
            "sum",
            "altogether",
            "overall",
            "insgesamt",
            "summe",
            "gesamt",
            "ausgegeben",
            "total",
        ];
        Self {
            text: text.to_owned(),
            many: asks && (plural || has(&["all", "every", "alle", "welche"])),
            sum: kind == Kind::Amount && has(&adds),
            refers: has(&[
                "it", "its", "they", "them", "their", "that", "this", "these", "those", "he", "she", "es",
                "sie", "er", "dessen", "deren", "ihn",
            ]),
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

    /// Whether it says what it is about by itself.
    fn stands_alone(&self) -> bool {
        !self.refers && self.terms.iter().filter(|term| !term.soft).count() > 0
    }
}

fn kind(lower: &[String]) -> Kind {
    let has = |list: &[&str]| lower.iter().any(|word| list.contains(&word.as_str()));
    let pair = |a: &str, b: &str| lower.windows(2).any(|pair| matches!(pair, [x, y] if x == a && y == b));
    let files = [
        "file",
        "files",
        "document",
        "documents",
        "folder",
        "directory",
        "dateien",
        "datei",
        "dokumente",
        "ordner",
    ];
    let other = lower.iter().filter(|word| !is_stopword(word) && !files.contains(&word.as_str()));
    let about = lower.last().is_some_and(|word| word == "about") && pair("what", "is")
        || matches!(lower, [what, is, within, ..] if what == "what" && (is == "is" || is == "s") && within == "in");
    if about || has(&["summarise", "summarize", "summary", "zusammenfassung", "zusammen"]) {
        Kind::Summary
    } else if has(&files) && other.filter(|word| !matches!(word.as_str(), "available" | "inbox")).count() == 0
    {
        Kind::Files
    } else if has(&["when", "wann", "deadline"])
        || pair("what", "date")
        || pair("which", "date")
        || pair("which", "day")
        || has(&["date", "datum"])
    {
        Kind::Date
    } else if pair("how", "long")
        || pair("wie", "lange")
        || pair("wie", "lang")
        || has(&["dauer", "duration"])
    {
        Kind::Duration
    } else if pair("how", "many") || pair("wie", "viele") {
        Kind::Count
    } else if pair("how", "much")
        || pair("wie", "viel")
        || has(&["wieviel", "kostet", "betrag", "summe", "preis", "gesamtbetrag"])
        || has(&[
            "total", "sum", "amount", "price", "cost", "costs", "subtotal", "balance", "fee", "rent",
            "salary", "vat", "discount",
        ])
    {
        Kind::Amount
    } else if has(&["who", "whom", "whose", "wer", "wen", "wem"]) {
        Kind::Person
    } else if has(&["where", "wo", "wohin", "address", "adresse"]) {
        Kind::Place
    } else {
        Kind::Text
    }
}

/// The dates of a clause, and years that stand alone: "in 2025".
fn when(text: &str) -> Vec<Day> {
    let mut days = values::dates(text);
    let words: Vec<&str> = words(text).collect();
    for pair in words.windows(2) {
        if let [before, year] = pair
            && matches!(
                before.to_lowercase().as_str(),
                "in" | "of" | "for" | "year" | "im" | "jahr" | "during" | "since"
            )
            && year.len() == 4
            && !days.iter().any(|day| day.year.is_some())
            && let Ok(year @ 1900..2200) = year.parse()
        {
            days.push(Day { year: Some(year), ..Day::default() });
        }
    }
    days
}

/// Whether a word says what the identifier after it is.
fn is_numbered(stems: &[String]) -> bool {
    const WORDS: [&str; 12] = [
        "claus",
        "section",
        "paragraph",
        "articl",
        "chapter",
        "number",
        "numb",
        "ziffer",
        "absatz",
        "klausel",
        "punkt",
        "nummer",
    ];
    matches!(stems, [stem] if WORDS.contains(&stem.as_str()))
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

/// What a clause points back at, or leaves out, it takes from the one before; the first one from the next.
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
