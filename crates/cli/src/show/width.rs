//! The room that texts have.

use terminal_size::{Width, terminal_size_of};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The width where nobody says another.
const WIDTH: usize = 100;
/// The least width that a text is set in.
pub(crate) const LEAST: usize = 16;

/// The width as `COLUMNS` says it, else that of the terminal, and no less than texts are set in.
pub(crate) fn terminal_width() -> usize {
    known().unwrap_or(WIDTH).max(LEAST)
}

/// True if the terminal is narrower than texts are set.
pub(crate) fn is_narrow() -> bool {
    known().is_some_and(|width| width < LEAST)
}

fn known() -> Option<usize> {
    let said = std::env::var("COLUMNS").ok().and_then(|width| width.trim().parse().ok());
    let size = || terminal_size_of(std::io::stdout()).or_else(|| terminal_size_of(std::io::stderr()));
    let width = said.or_else(|| size().map(|(Width(width), _)| usize::from(width)));
    width.filter(|width| (1..=10_000).contains(width))
}

/// The columns that a text takes: wide characters take two.
pub(crate) fn columns(text: &str) -> usize {
    text.width()
}

/// The columns that a character takes.
pub(crate) fn columns_of(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// At most `width` columns of a text.
pub(crate) fn clipped(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut taken = 1;
    for c in text.chars() {
        taken += columns_of(c);
        if taken > width {
            break;
        }
        kept.push(c);
    }
    kept + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!((columns("租约 1"), columns("naïve")), (6, 5));
        assert_eq!(clipped("租约租约", 5), "租约…");
        assert_eq!(clipped("lease", 5), "lease");
        assert_eq!(clipped("leases", 5), "leas…");
    }
}
