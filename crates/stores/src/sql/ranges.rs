//! Words as ranges of an index of words.

use attache_core::words::WordQuery;

use super::error::SqlError;
use super::row::json;

/// Behind every character of a word.
const LAST: char = char::MAX;
/// The least characters of a word that goes on in another one.
const STEM: usize = 4;
/// The maximum number of characters that it goes on with.
const ENDING: usize = 3;

/// For each word of a query the range of those that begin with it: an array of pairs, as JSON.
pub(crate) fn beginnings(query: &WordQuery) -> Result<String, SqlError> {
    json(&query.words().iter().map(|word| beginning(word)).collect::<Vec<_>>())
}

/// Ranges that have all forms of the words of a query, and others: an array of pairs, as JSON.
pub(crate) fn forms(query: &WordQuery) -> Result<String, SqlError> {
    let mut ranges = Vec::new();
    for word in query.words() {
        let length = word.chars().count();
        let shorter = (STEM.max(length.saturating_sub(ENDING))..length).map(|chars| {
            let stem: String = word.chars().take(chars).collect();
            (stem.clone(), stem)
        });
        ranges.extend(shorter);
        // A character of Chinese, Japanese or Korean begins the words that hold it.
        let is_character = length == 1 && !word.is_ascii();
        ranges.push(match length < STEM && !is_character {
            true => (word.clone(), word.clone()),
            false => beginning(word),
        });
    }
    json(&ranges)
}

/// Words as an array of arrays of one, as JSON.
pub(crate) fn each(words: impl IntoIterator<Item = impl serde::Serialize>) -> Result<String, SqlError> {
    json(&words.into_iter().map(|word| [word]).collect::<Vec<_>>())
}

fn beginning(word: &str) -> (String, String) {
    (word.to_owned(), format!("{word}{LAST}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_lie_in_its_ranges() {
        let ranges: Vec<(String, String)> =
            serde_json::from_str(&forms(&WordQuery::new("invoices in 租")).unwrap()).unwrap();
        let is_in =
            |word: &str| ranges.iter().any(|(low, high)| low.as_str() <= word && word <= high.as_str());
        for form in ["invoice", "invoices", "invoic", "invoi", "in", "invoicesé租x", "租", "租赁"] {
            assert!(is_in(form), "{form}");
        }
        for other in ["invo", "int", "i", "invoicf"] {
            assert!(!is_in(other), "{other}");
        }
    }
}
