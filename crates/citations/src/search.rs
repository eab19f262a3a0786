//! Finds a passage in a text byte for byte, as whole words.

use memchr::memmem::Finder;

/// The maximum number of places of one passage that are looked at.
pub(crate) const MAX_PLACES: usize = 64;
/// The maximum number of places that hold the bytes, though not as words.
const MAX_FALSE: usize = 4096;

/// Where `needle` stands in `hay` as whole words, in order; at most `MAX_PLACES`.
pub(crate) fn places(needle: &str, hay: &str) -> Vec<(usize, usize)> {
    if needle.is_empty() {
        return Vec::new();
    }
    let finder = Finder::new(needle);
    let found = finder.find_iter(hay.as_bytes()).take(MAX_FALSE).map(|start| (start, start + needle.len()));
    found.filter(|(start, end)| is_whole(hay, *start, *end)).take(MAX_PLACES).collect()
}

/// True if no word goes on before or behind the piece.
pub(crate) fn is_whole(text: &str, start: usize, end: usize) -> bool {
    let (Some(before), Some(inside), Some(behind)) =
        (text.get(..start), text.get(start..end), text.get(end..))
    else {
        return false;
    };
    let splits =
        |one: Option<char>, other: Option<char>| one.is_some_and(is_word) && other.is_some_and(is_word);
    !splits(before.chars().next_back(), inside.chars().next())
        && !splits(inside.chars().next_back(), behind.chars().next())
}

/// True for a character of a word that blanks set apart: scripts of East Asia write without.
pub(crate) fn is_word(char: char) -> bool {
    char.is_alphanumeric()
        && !('\u{2e80}'..='\u{9fff}').contains(&char)
        && !('\u{f900}'..='\u{faff}').contains(&char)
}

#[cfg(test)]
mod tests {
    use super::places;

    #[test]
    fn words_are_whole() {
        assert_eq!(places("rent", "current rent, rents"), [(8, 12)]);
        assert_eq!(places("租金", "每月租金是"), [(6, 12)]);
    }
}
