//! Text in lines that fit a width, broken between words.

use super::width::columns_of;

/// Lines of at most `width` columns, broken between words; a longer word is broken where it must be. Escape sequences
/// take no room.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    wrapped(text, width.max(1), width.max(1))
}

/// The same with another width for the first line.
fn wrapped(text: &str, first: usize, further: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for paragraph in text.split('\n') {
        let (mut line, mut taken) = (String::new(), 0);
        for word in paragraph.split_whitespace() {
            let room = |lines: &[String]| if lines.is_empty() { first } else { further };
            let mut rest = word;
            // A word that no line holds begins behind the mark of its line.
            if taken == 1
                && seen(word) > further
                && let Some((head, tail)) = broken(word, room(&lines).saturating_sub(2))
            {
                lines.push(format!("{} {head}", std::mem::take(&mut line)));
                (rest, taken) = (tail, 0);
            }
            let word = rest;
            if !line.is_empty() && taken + 1 + seen(word) > room(&lines) {
                lines.push(std::mem::take(&mut line));
                taken = 0;
            }
            if !line.is_empty() {
                line.push(' ');
                taken += 1;
            }
            // A line that holds anything by now has room for the whole word.
            while let Some((head, tail)) = broken(rest, room(&lines)).filter(|_| line.is_empty()) {
                lines.push(head.to_owned());
                rest = tail;
            }
            line.push_str(rest);
            taken += seen(rest);
        }
        lines.push(line);
    }
    lines
}

/// A text whose lines all fit: one that does not goes on below itself, two columns further in. Lines that fit are left
/// as they are.
pub(crate) fn hung(text: &str, width: usize) -> String {
    let mut lines = Vec::new();
    for line in text.split('\n') {
        if seen(line) <= width {
            lines.push(line.to_owned());
            continue;
        }
        let blanks = (line.len() - line.trim_start_matches(' ').len()).min(width / 2);
        let room = |margin: usize| width.saturating_sub(margin).max(1);
        let pieces = wrapped(line, room(blanks), room(blanks + 2));
        let margins = std::iter::once(blanks).chain(std::iter::repeat(blanks + 2));
        lines.extend(margins.zip(pieces).map(|(margin, piece)| " ".repeat(margin) + &piece));
    }
    lines.join("\n")
}

/// The columns that a text takes on a terminal.
fn seen(text: &str) -> usize {
    shown(text).map(|(_, columns)| columns).sum()
}

/// The characters of a text by their places, with the columns that each takes: none where it is a part of an escape
/// sequence.
fn shown(text: &str) -> impl Iterator<Item = (usize, usize)> {
    let mut is_escape = false;
    text.char_indices().map(move |(at, c)| {
        let was_escape = is_escape;
        is_escape = c == '\x1b' || (is_escape && !c.is_ascii_alphabetic());
        (at, if is_escape || was_escape { 0 } else { columns_of(c) })
    })
}

/// A word that is too long as what fits and the rest, divided behind a mark if there is one; `None` if all of it fits.
fn broken(word: &str, width: usize) -> Option<(&str, &str)> {
    let mut taken = 0;
    let (end, _) = shown(word).find(|(_, columns)| {
        taken += columns;
        taken > width
    })?;
    // A character that is wider than the line has one to itself.
    let end = end.max(word.chars().next().map_or(1, char::len_utf8)).min(word.len());
    let (head, _) = word.split_at_checked(end)?;
    let mark = head.rfind(['/', '-', '_', '.', ',']).map(|at| at + 1).filter(|at| *at > end / 2);
    let (head, rest) = word.split_at_checked(mark.unwrap_or(end))?;
    (!rest.is_empty()).then_some((head, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_words_are_broken() {
        assert_eq!(wrap("abcdefgh ij", 3), ["abc", "def", "gh", "ij"]);
        assert_eq!(wrap("in application/pdf", 13), ["in", "application/", "pdf"]);
        assert_eq!(wrap("← abcdefgh ij", 6), ["← abcd", "efgh", "ij"]);
        assert_eq!(wrap("a\nb", 3), ["a", "b"]);
        assert_eq!(wrap("", 3), [""]);
        assert_eq!(wrap("租约租约", 3), ["租", "约", "租", "约"]);
    }

    #[test]
    fn lines_that_do_not_fit_go_on_below_themselves() {
        assert_eq!(hung("· as it is", 10), "· as it is");
        assert_eq!(hung("· one two three\n  four five", 10), "· one two\n  three\n  four\n    five");
        let styled = "\x1b[2m· one two\x1b[0m";
        assert_eq!(hung(styled, 9), styled, "escape sequences take no room");
        assert_eq!(hung(styled, 8), "\x1b[2m· one\n  two\x1b[0m");
    }

    #[test]
    fn every_width_is_kept_and_no_word_is_lost() {
        let text = "→ read_file {\"path\": \"inbox/a-long-name-of-a-file.pdf\"} with a word, and 租约 too";
        for width in 5..90 {
            let lines = hung(text, width);
            assert!(lines.lines().all(|line| seen(line) <= width), "{width}: {lines}");
            let letters = |text: &str| text.split_whitespace().collect::<String>();
            assert_eq!(letters(&lines), letters(text));
        }
    }
}
