//! Numbers of pages in words.

/// `page 3`, `pages 3, 5–9`: ascending numbers of pages.
pub(crate) fn numbers(pages: &[usize]) -> String {
    let mut out = if pages.len() == 1 { "page " } else { "pages " }.to_owned();
    for (at, run) in pages.chunk_by(|a, b| a + 1 == *b).enumerate() {
        if at > 0 {
            out.push_str(", ");
        }
        match run {
            [first, .., last] => out.push_str(&format!("{first}\u{2013}{last}")),
            run => run.iter().for_each(|only| out.push_str(&only.to_string())),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::numbers;

    #[test]
    fn runs_are_ranges() {
        assert_eq!(numbers(&[3]), "page 3");
        assert_eq!(numbers(&[1, 3, 4, 5, 9, 10]), "pages 1, 3\u{2013}5, 9\u{2013}10");
    }
}
