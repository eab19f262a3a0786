//! The words of a text, for search.

/// The words of a text in small letters. Scripts without blanks between words yield pairs of characters.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        if word.chars().any(is_unspaced) {
            let chars: Vec<char> = word.chars().collect();
            match chars.len() {
                1 => words.push(word.to_owned()),
                _ => words.extend(chars.windows(2).map(|pair| pair.iter().collect::<String>())),
            }
        } else {
            words.push(word.to_lowercase());
        }
    }
    words.sort_unstable();
    words.dedup();
    words
}

/// True for a character of a script that writes words without blanks.
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3fffd}')
}

/// True if two words are forms of one: equal, or one begins with the other but for a short ending.
pub(super) fn are_alike(one: &str, other: &str) -> bool {
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
        assert_eq!(words("Ann's invoices, invoices"), ["ann", "invoices", "s"]);
        assert_eq!(words("租赁合同"), ["合同", "租赁", "赁合"]);
        assert!(are_alike("invoice", "invoices") && !are_alike("in", "invoice") && !are_alike("ann", "anna"));
    }
}
