//! The text of a cell that has several lines.

use super::line::Line;

/// The lines of a cell as one text.
pub(super) fn joined(lines: &[Line]) -> String {
    let mut text = String::new();
    for line in lines {
        append(&mut text, &line.text());
    }
    text
}

/// Adds a line to the text of a cell.
pub(super) fn append(text: &mut String, line: &str) {
    // The scripts of East Asia have no spaces between words.
    let is_wide =
        |c: char| matches!(c, '\u{2E80}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{FF00}'..='\u{FFEF}');
    let wide = text.chars().next_back().is_some_and(is_wide) && line.chars().next().is_some_and(is_wide);
    if !text.is_empty() && !wide {
        text.push(' ');
    }
    text.push_str(line);
}
