//! The lines that a change touches, for people who approve it and for the model.

use std::fmt::Write as _;

/// The maximum number of lines of each side that are shown.
const MOST: usize = 60;
/// The maximum number of characters of a line.
const LONGEST: usize = 300;

/// The lines between those that both texts begin and end with, as they were and as they are.
pub(super) fn diff(before: &str, after: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let same = |(a, b): &(&&str, &&str)| a == b;
    let head = old.iter().zip(&new).take_while(same).count();
    let (old, new) = (old.get(head..).unwrap_or_default(), new.get(head..).unwrap_or_default());
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(same).count();
    let (old, new) =
        (old.get(..old.len() - tail).unwrap_or_default(), new.get(..new.len() - tail).unwrap_or_default());
    if old.is_empty() && new.is_empty() {
        return String::new();
    }
    let mut text = format!("@@ line {} @@\n", head + 1);
    for (mark, lines) in [('-', old), ('+', new)] {
        for line in lines.iter().take(MOST) {
            let end = line.char_indices().nth(LONGEST).map_or(line.len(), |(end, _)| end);
            let cut = if end < line.len() { "…" } else { "" };
            _ = writeln!(text, "{mark}{}{cut}", line.get(..end).unwrap_or(line));
        }
        if lines.len() > MOST {
            _ = writeln!(text, "{mark}[… {} lines …]", lines.len() - MOST);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_stay_are_left_out() {
        assert_eq!(diff("a\nb\nc\n", "a\nx\ny\nc\n"), "@@ line 2 @@\n-b\n+x\n+y\n");
        assert_eq!(diff("", "a\n"), "@@ line 1 @@\n+a\n");
        assert_eq!(diff("a\na\n", "a\n"), "@@ line 2 @@\n-a\n");
        assert_eq!(diff("a\n", "a\n"), "");
    }

    #[test]
    fn long_changes_are_cut_and_counted() {
        let text = diff("", &"x\n".repeat(100));
        assert!(text.lines().count() < 70 && text.contains("[… 40 lines …]"), "{text}");
    }
}
