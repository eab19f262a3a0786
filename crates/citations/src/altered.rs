//! Tells a slip from a change of meaning: whether the words that differ are digits, units, negations or names.

use crate::units;

/// Words that turn a sentence round.
const NEGATIONS: [&str; 44] = [
    "not", "no", "never", "none", "nor", "neither", "without", "cannot", "nothing", "nobody", "except",
    "unless", "nicht", "kein", "keine", "keinen", "keinem", "keiner", "keines", "nie", "niemals", "ohne",
    "weder", "noch", "außer", "ne", "pas", "non", "jamais", "sans", "aucun", "aucune", "ni", "sin", "nunca",
    "ningún", "ninguna", "não", "sem", "niet", "geen", "nooit", "senza", "mai",
];

/// Begins of words that turn them round.
const PREFIXES: [&str; 9] = ["un", "in", "im", "ir", "il", "non", "dis", "nicht", "a"];

/// The maximum number of words that are compared; longer passages count as changed where they differ.
const MAX_WORDS: usize = 1500;

/// A word of a passage as it is compared.
#[derive(Clone, Debug)]
struct Word {
    text: String,
    /// True if it is written like a name.
    is_name: bool,
}

/// True if a word in which two passages differ is a digit, unit, negation or name.
pub(crate) fn is_altered(one: &str, other: &str) -> bool {
    let (one, other) = (words(one), words(other));
    if one.len() > MAX_WORDS || other.len() > MAX_WORDS {
        return true;
    }
    let (one, other) = differing(&one, &other);
    let turned = |one: &Word, other: &Word| {
        PREFIXES.iter().any(|prefix| one.text.strip_prefix(prefix).is_some_and(|rest| rest == other.text))
    };
    one.iter().chain(&other).any(matters)
        || one.iter().any(|one| other.iter().any(|other| turned(one, other) || turned(other, one)))
}

fn matters(word: &Word) -> bool {
    let text = word.text.as_str();
    word.is_name
        || text.chars().any(char::is_numeric)
        || NEGATIONS.contains(&text)
        || text.ends_with("n't")
        || units::is_unit(text)
}

fn words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut word = String::new();
    // The first word of a sentence is written large whatever it is.
    let mut first = true;
    let mut chars = text.chars().peekable();
    let mut before = ' ';
    while let Some(char) = chars.next() {
        let next = chars.peek().copied().unwrap_or(' ');
        let joins = match char {
            '\'' | '’' => before.is_alphabetic() && next.is_alphabetic(),
            '.' | ',' => before.is_ascii_digit() && next.is_ascii_digit(),
            '-' | '−' => !before.is_alphanumeric() && next.is_ascii_digit(),
            _ => char.is_alphanumeric(),
        };
        // A hyphen or a break inside a word.
        let is_soft = matches!(char, '-' | '\u{ad}' | '‐') && before.is_alphabetic();
        if joins {
            word.push(if char == '’' { '\'' } else { char });
        } else if !(is_soft && (next.is_alphabetic() || next.is_whitespace())
            || !word.is_empty() && char.is_whitespace() && matches!(before, '-' | '\u{ad}' | '‐'))
        {
            end(&mut words, &mut word, &mut first);
            if matches!(char, '%' | '€' | '$' | '£' | '¥' | '°' | '‰') {
                words.push(Word { text: char.to_string(), is_name: false });
            }
            first |= matches!(char, '.' | '!' | '?' | ':' | '\n' | '•' | '|');
        }
        before = char;
    }
    end(&mut words, &mut word, &mut first);
    words
}

fn end(words: &mut Vec<Word>, word: &mut String, first: &mut bool) {
    if word.is_empty() {
        return;
    }
    let capitals = word.chars().filter(|char| char.is_uppercase()).count();
    let is_name =
        capitals > 1 || capitals == 1 && !*first && word.chars().next().is_some_and(char::is_uppercase);
    words.push(Word { text: word.to_lowercase(), is_name });
    word.clear();
    *first = false;
}

/// The words of each that are not in the longest sequence of words that both have.
fn differing(one: &[Word], other: &[Word]) -> (Vec<Word>, Vec<Word>) {
    let same = one.iter().zip(other).take_while(|(one, other)| one.text == other.text).count();
    let (one, other) = (one.get(same..).unwrap_or_default(), other.get(same..).unwrap_or_default());
    let ends =
        one.iter().rev().zip(other.iter().rev()).take_while(|(one, other)| one.text == other.text).count();
    let one = one.get(..one.len() - ends).unwrap_or_default();
    let other = other.get(..other.len() - ends).unwrap_or_default();
    let width = other.len() + 1;
    let mut table = vec![0_u16; (one.len() + 1) * width];
    let get = |table: &[u16], row: usize, column: usize| {
        table.get(row * width + column).copied().unwrap_or_default()
    };
    for (row, word) in one.iter().enumerate().rev() {
        for (column, with) in other.iter().enumerate().rev() {
            let best = if word.text == with.text {
                get(&table, row + 1, column + 1) + 1
            } else {
                get(&table, row + 1, column).max(get(&table, row, column + 1))
            };
            if let Some(cell) = table.get_mut(row * width + column) {
                *cell = best;
            }
        }
    }
    let (mut row, mut column) = (0, 0);
    let (mut of_one, mut of_other) = (Vec::new(), Vec::new());
    loop {
        match (one.get(row), other.get(column)) {
            (Some(word), Some(with)) if word.text == with.text => (row, column) = (row + 1, column + 1),
            (Some(word), with)
                if with.is_none() || get(&table, row + 1, column) >= get(&table, row, column + 1) =>
            {
                of_one.push(word.clone());
                row += 1;
            }
            (_, Some(with)) => {
                of_other.push(with.clone());
                column += 1;
            }
            _ => return (of_one, of_other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_altered;

    #[test]
    fn what_changes_the_meaning() {
        let text = "The tenant shall not sublet the flat to Miller for 900 EUR a month.";
        for other in [
            "The tenant shall sublet the flat to Miller for 900 EUR a month.",
            "The tenant shall not sublet the flat to Müller for 900 EUR a month.",
            "The tenant shall not sublet the flat to Miller for 90 EUR a month.",
            "The tenant shall not sublet the flat to Miller for 900 USD a month.",
            "The tenant shall not sublet the flat to Miller for -900 EUR a month.",
        ] {
            assert!(is_altered(text, other), "{other}");
        }
        assert!(is_altered("it is limited", "it is unlimited"));
        assert!(is_altered("you do it", "you don't do it"));
    }

    #[test]
    fn what_is_a_slip() {
        let text = "The tenant shall keep the flat tidy at all times.";
        for other in [
            "The tenant shall keep the apartment tidy at all times.",
            "The tenants shall keep the flat tidy at all time",
            "the tenant shall keep the flat ti-\ndy at all times.",
        ] {
            assert!(!is_altered(text, other), "{other}");
        }
    }
}
