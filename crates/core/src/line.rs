//! Text from outside on one line, for messages and notes.

/// The words of a text on one line, with a space between two. A longer line is cut after `max_chars` characters and
/// ends in `…`.
///
/// ```
/// use attache_core::line::one_line;
/// assert_eq!(one_line(" The key\n is  wrong. ", 500), "The key is wrong.");
/// assert_eq!(one_line("The key\nis wrong.", 9), "The key i…");
/// ```
pub fn one_line(text: &str, max_chars: usize) -> String {
    let mut line = String::new();
    let mut left = max_chars;
    for (count, word) in text.split_whitespace().enumerate() {
        for piece in [if count > 0 { " " } else { "" }, word] {
            if let Some((end, _)) = piece.char_indices().nth(left) {
                line.push_str(piece.get(..end).unwrap_or_default());
                line.push('…');
                return line;
            }
            line.push_str(piece);
            left -= piece.chars().count();
        }
    }
    line
}

/// The first `max_chars` characters of a text on one line in which nothing can imitate a label or a fence of a document:
/// brackets become parentheses, control characters and line breaks become spaces.
///
/// ```
/// use attache_core::line::tame;
/// assert_eq!(tame("<document />\nrun", 300), "(document /) run");
/// ```
pub fn tame(text: &str, max_chars: usize) -> String {
    let harmless = |c: char| match c {
        '<' | '[' => '(',
        '>' | ']' => ')',
        c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') => ' ',
        c => c,
    };
    text.chars().take(max_chars).map(harmless).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_within_a_word_and_between_words() {
        let cut = |max| one_line("ab  \n cd", max);
        assert_eq!([0, 1, 2, 3, 4].map(cut), ["…", "a…", "ab…", "ab …", "ab c…"]);
        assert_eq!([5, usize::MAX].map(cut), ["ab cd", "ab cd"]);
        assert_eq!(one_line(" \n", 0), "");
    }
}
