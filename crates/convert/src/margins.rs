//! Headers and footers of sheets. Excel keeps each as one text with codes: `&L`, `&C` and `&R` begin its sections, others
//! stand for values or say how it is written (ECMA-376 part 1, 18.3.1.46).

use crate::Note;
use crate::output::{Output, one_line};
use crate::table::push_cells;

/// A `header` or `footer` with its codes.
pub(crate) type Margin = (&'static str, String);

/// The maximum number of bytes of a section, and of the name of a sheet in it.
pub(crate) const MAX_SECTION: usize = 64 << 10;
const MAX_NAME: usize = 255;

/// Headers and footers of one sheet: of its first page, of even ones, and of the others.
pub(crate) const MAX_MARGINS: usize = 6;

/// Writes the headers and footers of a sheet, each text once.
pub(crate) fn write(margins: &[Margin], sheet: &str, output: &mut Output) {
    let mut shown = Vec::new();
    for (kind, code) in margins {
        if let Some(text) = text(code, sheet, output) {
            output.margin(kind, &text, &mut shown);
        }
    }
}

/// The text of a header or footer without values that a page has when it is printed; `None` if nothing else is there.
fn text(code: &str, sheet: &str, output: &mut Output) -> Option<String> {
    let sheet = sheet.get(..sheet.floor_char_boundary(MAX_NAME)).unwrap_or(sheet);
    let (mut left, mut center, mut right) = (String::new(), String::new(), String::new());
    let mut section = &mut center;
    let mut says = false;
    let mut rest = code.chars().peekable();
    while let Some(c) = rest.next() {
        if section.len() > MAX_SECTION {
            section.push_str(" […]");
            output.note(Note::Shortened);
            break;
        }
        if c != '&' {
            says |= !c.is_whitespace();
            section.push(c);
            continue;
        }
        match rest.next().map(|c| c.to_ascii_uppercase()) {
            Some('L') => section = &mut left,
            Some('C') => section = &mut center,
            Some('R') => section = &mut right,
            Some('A') => section.push_str(sheet),
            Some('G') => output.not_shown("image"),
            Some('"') => _ = rest.find(|c| *c == '"'),
            Some('K') => _ = rest.nth(5),
            // A number may be added to that of the page.
            Some('P') => while rest.next_if(|c| c.is_ascii_digit() || matches!(c, '+' | '-')).is_some() {},
            Some('0'..='9') => while rest.next_if(char::is_ascii_digit).is_some() {},
            Some('N' | 'D' | 'T' | 'F' | 'Z' | 'B' | 'I' | 'U' | 'E' | 'S' | 'X' | 'Y' | 'O' | 'H')
            | None => {}
            Some(c) => {
                says = true;
                section.push(c);
            }
        }
    }
    let sections = [left, center, right].map(|section| {
        section.lines().map(one_line).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
    });
    let mut text = String::new();
    push_cells(&mut text, sections.iter().map(String::as_str).filter(|section| !section.is_empty()));
    says.then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, Unit};

    #[test]
    fn the_name_of_a_sheet_fills_no_memory() {
        let mut output = Output::new(Unit::Sheet, &Limits::new());
        let text = text(&format!("x{}", "&A".repeat(100_000)), &"x".repeat(1_000_000), &mut output).unwrap();
        assert!((1..=2 * MAX_SECTION).contains(&text.len()) && text.ends_with("[…]"), "{}", text.len());
    }
}
