//! The kinds of answers, and the words by which a question shows which is wanted.

use crate::values;
use crate::words::{among, is_stopword};

/// The kind of answer that is wanted.
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
    /// True if a text holds a value of this kind.
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

    /// True if an answer without such a value is next to none.
    pub(crate) fn is_needed(self) -> bool {
        matches!(self, Self::Amount | Self::Date | Self::Duration | Self::Count)
    }

    /// Stems that only say which kind of answer is wanted.
    pub(crate) fn soft(self) -> &'static str {
        match self {
            Self::Amount => {
                "month year week day spend spent cost costs price pay paid amount money charge charged worth value \
                 expensive kostet kosten preis betrag bezahlt ausgegeben"
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

    /// The kind of answer that the words of a clause, in lower case, ask for.
    pub(crate) fn of(words: &[String]) -> Self {
        let has = |list: &str| words.iter().any(|word| among(list, word));
        let pair =
            |a: &str, b: &str| words.windows(2).any(|pair| matches!(pair, [x, y] if x == a && among(b, y)));
        let about = words.last().is_some_and(|word| word == "about") && pair("what", "is")
            || matches!(words, [what, is, within, ..] if what == "what" && among("is s", is) && within == "in");
        let mut other = words.iter().filter(|word| !is_stopword(word) && !among(FILES, word));
        // A folder holds files, a document says something.
        let holds = has("folder directory ordner") && !other.clone().any(|_| true);
        if holds {
            Self::Files
        } else if about || has("summarise summarize summary zusammenfassung zusammen") {
            Self::Summary
        } else if has(FILES) && !other.any(|word| !among("available inbox", word)) {
            Self::Files
        } else if has("when wann deadline date datum") || pair("which", "day") {
            Self::Date
        } else if has("dauer duration") || pair("how", "long") || pair("wie", "lang lange") {
            Self::Duration
        } else if pair("how", "many") || pair("wie", "viele") {
            Self::Count
        } else if has(AMOUNTS) || pair("how", "much") || pair("wie", "viel") {
            Self::Amount
        } else if has("who whom whose wer wen wem") {
            Self::Person
        } else if has("where wo wohin address adresse") {
            Self::Place
        } else {
            Self::Text
        }
    }
}

const FILES: &str = "file files document documents folder directory dateien datei dokumente ordner";

const AMOUNTS: &str = "total sum amount price cost costs subtotal balance fee rent salary vat discount spend spent wieviel kostet \
    betrag summe preis gesamtbetrag";
