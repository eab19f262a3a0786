//! Word extraction for text search.

/// The maximum number of words of a query that are looked for.
const MAX_WORDS: usize = 64;
/// The maximum number of characters of a word that count.
const MAX_CHARS: usize = 60;

/// The words of a text in lower case, sorted and without duplicates. Chinese, Japanese and Korean text yields pairs of
/// characters and the last character, so that each character begins a word; words are cut after 60 characters.
///
/// ```
/// assert_eq!(attache_core::words::words("Ann's invoices, invoices"), ["ann", "invoices", "s"]);
/// assert_eq!(attache_core::words::words("租赁合同"), ["合同", "同", "租赁", "赁合"]);
/// ```
pub fn words(text: &str) -> Vec<String> {
    split(text, true)
}

/// The words of a text. Without the last characters, pairs alone stand for a longer text.
fn split(text: &str, with_last: bool) -> Vec<String> {
    let mut words = Vec::new();
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        if word.chars().any(is_unspaced) {
            let mut chars = word.chars();
            let mut last = chars.next();
            let before = words.len();
            for next in chars {
                words.extend(last.map(|last| String::from_iter([last, next])));
                last = Some(next);
            }
            if words.len() == before || with_last {
                words.extend(last.filter(|last| is_unspaced(*last)).map(String::from));
            }
        } else {
            words.push(word.to_lowercase().chars().take(MAX_CHARS).collect());
        }
    }
    words.sort_unstable();
    words.dedup();
    words
}

/// True for a character of Chinese, Japanese and Korean, whose words have no blanks between them or endings without
/// number.
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3fffd}')
}

/// The words of a search query; if there are more than 64, the longest ones.
///
/// The ranking is independent of the storage, so that all stores give the same results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordQuery(Vec<String>);

impl WordQuery {
    /// Extracts the words of a query. Everything else in it is ignored.
    pub fn new(query: &str) -> Self {
        let mut words = split(query, false);
        if words.len() > MAX_WORDS {
            words.sort_by_key(|word| std::cmp::Reverse(word.len()));
            words.truncate(MAX_WORDS);
        }
        Self(words)
    }

    /// The words, at most 64.
    pub fn words(&self) -> &[String] {
        &self.0
    }

    /// The words of the query that occur in a text in some form, as bits in their order. The text is given as its
    /// [`words`].
    ///
    /// Two words are forms of each other if they are equal, or if one of them has at least four characters and the
    /// other extends it by at most three. A single Chinese, Japanese or Korean character matches every word that it
    /// begins.
    pub fn held<'a>(&self, text: impl IntoIterator<Item = &'a str>) -> u64 {
        let mut held = 0;
        for known in text {
            for (at, _) in self.0.iter().enumerate().filter(|(_, word)| is_form(known, word)) {
                held |= 1 << at;
            }
        }
        held
    }

    /// The indices of the best matching texts, best first, by the words that each of them [contains](Self::held). Words
    /// that many texts contain count less; texts with equal matches keep their order. Texts without a match are left
    /// out.
    pub fn best(&self, held: &[u64], limit: usize) -> Vec<usize> {
        let bits = || (0..self.0.len()).map(|at| 1_u64 << at);
        let holding = |bit: u64| held.iter().filter(|held| *held & bit > 0).count().max(1);
        let weights: Vec<(u64, usize)> = bits().map(|bit| (bit, 1_000 / holding(bit) + 1)).collect();
        let score = |held: u64| -> usize {
            weights.iter().filter(|(bit, _)| held & bit > 0).map(|(_, weight)| weight).sum()
        };
        let mut found: Vec<(usize, usize)> = held.iter().map(|held| score(*held)).enumerate().collect();
        found.retain(|(_, score)| *score > 0);
        found.sort_by_key(|(_, score)| std::cmp::Reverse(*score));
        found.into_iter().take(limit).map(|(at, _)| at).collect()
    }
}

/// True if a word of a text is a form of one of a query.
fn is_form(known: &str, word: &str) -> bool {
    let mut chars = word.chars();
    let is_one_character = chars.next().is_some_and(is_unspaced) && chars.next().is_none();
    are_alike(known, word) || (is_one_character && known.starts_with(word))
}

/// True if two words are forms of one: equal, or one begins with the other but for a short ending.
fn are_alike(one: &str, other: &str) -> bool {
    let (short, long) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    long.strip_prefix(short).is_some_and(|ending| {
        ending.is_empty() || (short.chars().count() >= 4 && ending.chars().count() <= 3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_scripts_with_and_without_blanks() {
        assert_eq!(words("Crème BRÛLÉE"), ["brûlée", "crème"]);
        assert_eq!(words("合 x合"), ["x合", "合"]);
        assert_eq!(words("第3"), ["第3"]);
        assert_eq!(words(&"X".repeat(1_000_000)), ["x".repeat(60)]);
        assert!(words(" \0\"*-").is_empty());
    }

    #[test]
    fn forms_of_a_word_are_alike() {
        assert!(are_alike("invoice", "invoices") && are_alike("invoices", "invoice"));
        assert!(!are_alike("in", "invoice") && !are_alike("ann", "anna") && !are_alike("form", "formally"));
    }

    #[test]
    fn each_character_is_found_alone() {
        let text = words("租赁合同从七月开始。");
        for character in "租赁合同从七月开始".chars() {
            let query = WordQuery::new(&character.to_string());
            assert_eq!(query.held(text.iter().map(String::as_str)), 1, "{character}");
        }
        assert_eq!(WordQuery::new("赁").held(words("合同").iter().map(String::as_str)), 0);
        assert_eq!(WordQuery::new("合同").words(), ["合同"], "a longer query means pairs alone");
        assert_eq!(WordQuery::new("a").held(["ann"]), 0);
        let korean = words("계약서는 칠월에 시작됩니다.");
        assert_eq!(
            WordQuery::new("계약서").held(korean.iter().map(String::as_str)),
            0b11,
            "whatever its ending"
        );
    }

    #[test]
    fn a_rare_word_counts_for_more_and_the_first_of_equals_comes_first() {
        let query = WordQuery::new("red house");
        let held = ["red red", "a house", "red", "red house", "blue"].map(|text| {
            let words = words(text);
            query.held(words.iter().map(String::as_str))
        });
        assert_eq!(query.best(&held, 9), [3, 1, 0, 2]);
        assert_eq!(query.best(&held, 1), [3]);
    }
}
