//! Words: how text is taken apart so that a question and a passage can be compared.

use std::collections::HashMap;
use std::sync::OnceLock;

/// The words of a text: runs of letters and digits. Identifiers such as `PO-1182` fall into their parts and are
/// compared as a sequence.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// The stems of a text's words.
pub(crate) fn stems(text: &str) -> impl Iterator<Item = String> {
    words(text).map(stem)
}

/// The words of a name in code or JSON: `mediaType`, `media_type` and `media-type` are the same two.
pub(crate) fn name_stems(name: &str) -> Vec<String> {
    let mut apart = String::with_capacity(name.len() + 4);
    let mut before = ' ';
    for c in name.chars() {
        if c.is_uppercase() && before.is_lowercase() {
            apart.push(' ');
        }
        apart.push(c);
        before = c;
    }
    stems(&apart).collect()
}

/// A word without case, accents and the endings of English and German inflection. Both sides of a comparison are
/// cut alike, so a stem need not be a word.
pub(crate) fn stem(word: &str) -> String {
    let mut stem = fold(word);
    if stem.len() < 4 || stem.bytes().any(|b| b.is_ascii_digit()) {
        return stem;
    }
    for (ending, kept, least) in ENDINGS {
        if stem.len() >= *least && stem.ends_with(ending) && !is_whole(&stem, ending) {
            stem.truncate(stem.len() - ending.len());
            stem.push_str(kept);
            break;
        }
    }
    if stem.len() > 4 && stem.ends_with('e') {
        stem.pop();
    }
    let mut last = stem.chars().rev();
    if let (Some(a), Some(b)) = (last.next(), last.next())
        && a == b
        && stem.len() > 4
        && !matches!(a, 'l' | 's')
    {
        stem.pop();
    }
    stem
}

/// Endings, what stands in their place, and the least length of a word that has them.
const ENDINGS: &[(&str, &str, usize)] = &[
    ("ies", "y", 5),
    ("sses", "ss", 6),
    ("xes", "x", 5),
    ("zes", "z", 5),
    ("ches", "ch", 6),
    ("shes", "sh", 6),
    ("ungen", "ung", 8),
    ("ing", "", 6),
    ("ied", "y", 5),
    ("eed", "ee", 5),
    ("ed", "", 5),
    ("en", "", 7),
    ("s", "", 4),
];

/// True if an ending belongs to the word itself.
fn is_whole(word: &str, ending: &str) -> bool {
    match ending {
        "s" => word.ends_with("ss") || word.ends_with("us") || word.ends_with("is"),
        "ing" => !word.trim_end_matches("ing").contains(['a', 'e', 'i', 'o', 'u', 'y']),
        _ => false,
    }
}

fn fold(word: &str) -> String {
    let mut folded = String::with_capacity(word.len());
    for c in word.chars().flat_map(char::to_lowercase) {
        match c {
            'ä' | 'à' | 'á' | 'â' | 'ã' | 'å' => folded.push('a'),
            'ö' | 'ò' | 'ó' | 'ô' | 'õ' | 'ø' => folded.push('o'),
            'ü' | 'ù' | 'ú' | 'û' => folded.push('u'),
            'è' | 'é' | 'ê' | 'ë' => folded.push('e'),
            'ì' | 'í' | 'î' | 'ï' => folded.push('i'),
            'ç' => folded.push('c'),
            'ñ' => folded.push('n'),
            'ß' => folded.push_str("ss"),
            // The dot that lower-casing `İ` leaves behind.
            '\u{307}' => {}
            c => folded.push(c),
        }
    }
    folded
}

/// True if a word says nothing about what is asked: articles, pronouns, auxiliaries, prepositions, politeness.
pub(crate) fn is_stopword(word: &str) -> bool {
    static STOPWORDS: OnceLock<Vec<String>> = OnceLock::new();
    let stopwords = STOPWORDS.get_or_init(|| {
        let mut words: Vec<String> =
            ENGLISH.split_whitespace().chain(GERMAN.split_whitespace()).map(fold).collect();
        words.sort_unstable();
        words
    });
    stopwords.binary_search(&fold(word)).is_ok()
}

const ENGLISH: &str = "a about above after again all also am an and any are as at be been before being below between both \
    but by came can check come comes compare concern concerning could currently d describe did do does \
    doing done down during each else ever every exactly explain few find for from further get give given \
    go goes got had happen happened happens has have having he hello her here hers hey hi him his how i \
    if in into is it its just kindly know let like list ll look m made make makes many may me mean \
    mention mentioned mentions might mine more most much must my name need no nor not of off on once one \
    only or other our ours out over own per please re read regarding s said same say says see shall she \
    should show so some still such t take takes tell than thank thanks that the their theirs them then \
    there these they thing things this those through to told too took under until up upon us ve very via \
    want was we went were what whats when where whether which while who whom whose why will with within \
    without would you your yours";

const GERMAN: &str = "aber alle als am an auch auf aus bei beim bin bis bitte da danke dann das dass dein dem den denn der \
    des dessen die dies diese diesem diesen dieser dieses doch dort du durch ein eine einem einen einer \
    eines er es etwa euch euer fur gab geben gegen gibt gross habe haben hallo hat hatte hatten hier \
    hoch ich ihm ihn ihr ihre im in ins ist ja jede jeder kann kein keine konnen lautet mein mich mir \
    mit muss mussen nach nenne nicht noch nun nur ob oder ohne sagt sehr sein seine sich sie sind so \
    soll sollen sowie steht um und uns unser unsere unter viel viele vom von vor wann war waren was \
    wegen welche welchem welchen welcher welches wem wen wenn wer werden wessen wie wieviel wir wird wo \
    wohin worin wurde wurden zeige zu zum zur zwischen";

/// True if a word stands in a list of words with spaces between them.
pub(crate) fn among(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|one| one == word)
}

/// Words that stand for one another when a question meets a text.
const SYNONYMS: &[&str] = &[
    "due payable deadline fällig fälligkeit zahlbar zahlungsziel",
    "total sum gesamt gesamtbetrag gesamtsumme summe endbetrag",
    "invoice bill rechnung",
    "spend spent expense expenses cost costs ausgabe ausgaben ausgegeben kosten",
    "cost costs price charge fee kostet preis gebühr",
    "pay paid payment bezahlt zahlung zahlen",
    "vat tax mwst mehrwertsteuer umsatzsteuer",
    "discount rebate reduction rabatt skonto",
    "buy bought purchase order ordered bestellung bestellt",
    "sign signed signature signatory unterschrieben unterzeichnet unterschrift",
    "contract agreement vertrag vereinbarung",
    "lease tenancy rental mietvertrag",
    "rent miete",
    "landlord lessor vermieter",
    "tenant lessee mieter",
    "start starts begin begins began commence commences beginnt beginn",
    "end ends ended expire expires expiry terminate termination ende endet",
    "notice cancel cancellation terminate termination kündigung kündigen kündigungsfrist",
    "deliver delivery shipped shipment lieferung geliefert liefern",
    "send sent shipped versandt",
    "phone telephone telefon",
    "email mail",
    "meeting minutes besprechung protokoll",
    "supplier vendor seller lieferant verkäufer",
    "customer client buyer kunde käufer",
    "company firm business firma unternehmen",
    "employee staff personnel mitarbeiter",
    "salary wage pay gehalt lohn",
    "trip travel journey reise",
    "picture photo image bild foto",
    "wrong problem fault faulty broken damage damaged defect defective scratch scratched kaputt beschädigt",
    "warranty guarantee garantie gewährleistung",
    "reply answer respond antwort",
    "write wrote written author sender from verfasst geschrieben verfasser absender",
    "address located adresse anschrift",
    "unpaid open outstanding offen",
    "moved postponed rescheduled verschoben",
    "attend attended attendees present participants teilnehmer anwesend",
];

/// The stems that mean the same as `stem`, itself left out.
pub(crate) fn synonyms(stem: &str) -> &'static [String] {
    static TABLE: OnceLock<HashMap<String, Vec<String>>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let mut table: HashMap<String, Vec<String>> = HashMap::new();
        for group in SYNONYMS {
            let group: Vec<String> = stems(group).collect();
            for one in &group {
                let known = table.entry(one.clone()).or_default();
                for other in group.iter().filter(|other| *other != one) {
                    if !known.contains(other) {
                        known.push(other.clone());
                    }
                }
            }
        }
        table
    });
    table.get(stem).map_or(&[], Vec::as_slice)
}

/// The number of words of a text, as this model counts tokens: the pieces between white space.
pub(crate) fn count(text: &str) -> u64 {
    u64::try_from(text.split_whitespace().count()).unwrap_or(u64::MAX)
}

/// At most `limit` bytes of a text, cut between characters.
pub(crate) fn head(text: &str, limit: usize) -> &str {
    text.get(..text.floor_char_boundary(limit)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inflected_words_have_one_stem() {
        for group in [
            &["invoice", "Invoices", "invoiced", "invoicing"][..],
            &["delivery", "deliveries"],
            &["sign", "signed", "signing", "signs"],
            &["box", "boxes"],
            &["Rechnung", "Rechnungen"],
            &["plan", "planned", "planning"],
            &["total", "totals"],
            &["fällig", "FÄLLIG"],
        ] {
            let stems: Vec<_> = group.iter().map(|word| stem(word)).collect();
            assert!(stems.windows(2).all(|pair| pair[0] == pair[1]), "{group:?} → {stems:?}");
        }
        for (a, b) in [("bus", "bu"), ("address", "addres"), ("spring", "spr"), ("analysis", "analysi")] {
            assert!(stem(a).starts_with(b), "{a}");
        }
        assert_ne!(stem("total"), stem("subtotal"));
    }

    #[test]
    fn names_fall_into_words() {
        assert_eq!(name_stems("mediaType"), name_stems("media_type"));
        assert_eq!(words("invoice-2026-0417.pdf").collect::<Vec<_>>(), ["invoice", "2026", "0417", "pdf"]);
        assert!(is_stopword("The") && is_stopword("FÜR") && !is_stopword("total"));
    }

    #[test]
    fn synonyms_are_mutual() {
        for group in SYNONYMS {
            let group: Vec<String> = stems(group).collect();
            for (a, b) in group.iter().zip(group.iter().skip(1)) {
                assert!(a == b || synonyms(a).contains(b) && synonyms(b).contains(a), "{a} {b}");
            }
        }
        assert!(synonyms("nothing").is_empty());
    }
}
