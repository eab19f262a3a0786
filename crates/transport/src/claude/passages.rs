//! Citations in requests: their switch, and the passages of a text that is cited as a search result, since the API cites
//! whole blocks of it.

/// Why a document that cannot be cited does not stand beside those that are.
pub const UNCITED: &str = "it cannot be cited there, and the API cites all documents of a request or none";

/// The switch of what is to be cited.
pub const CITED: &str = r#","citations":{"enabled":true}"#;

/// A passage has at most about so many bytes, where its lines let it.
const LONG: usize = 1_200;
/// The maximum number of passages of a text, roughly.
const MANY: usize = 500;

/// The passages of a text, in order: paragraphs, long ones cut between lines, and long lines between words. Short
/// paragraphs of a long text stand together, so that there are about a thousand passages at most. None is blank, and only
/// white space stands between them.
///
/// ```
/// use attache_transport::claude::passages;
/// assert_eq!(passages("The rent\nis due.\n\n \nIt is EUR 900.\n"), ["The rent\nis due.", "It is EUR 900."]);
/// ```
pub fn passages(text: &str) -> Vec<&str> {
    let least = text.len() / MANY;
    let most = LONG.max(least);
    let mut passages = Vec::new();
    let (mut start, mut end) = (0, 0);
    for line in text.split_inclusive('\n') {
        let is_blank = line.trim().is_empty();
        if (is_blank && end >= start + least) || end + line.len() > start + most {
            cut(text.get(start..end).unwrap_or_default(), most, &mut passages);
            start = end;
        }
        end += line.len();
        // No passage begins with a blank line.
        if is_blank && start + line.len() == end {
            start = end;
        }
    }
    cut(text.get(start..end).unwrap_or_default(), most, &mut passages);
    passages
}

/// Adds a passage, in pieces if it is one long line.
fn cut<'t>(passage: &'t str, most: usize, passages: &mut Vec<&'t str>) {
    let mut rest = passage.trim();
    while rest.len() > most * 2 {
        let head = rest.get(..rest.floor_char_boundary(most)).unwrap_or(rest);
        let at = head.rfind(char::is_whitespace).filter(|at| *at > 0).unwrap_or(head.len());
        passages.extend(rest.get(..at).map(str::trim_end).filter(|piece| !piece.is_empty()));
        rest = rest.get(at..).unwrap_or_default().trim_start();
    }
    if !rest.is_empty() {
        passages.push(rest);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn long_paragraphs_are_cut_between_lines_and_long_lines_between_words() {
        let row = format!("{}\n", "cell ".repeat(100).trim_end());
        let table = row.repeat(10);
        let pieces = passages(&table);
        assert!(pieces.iter().all(|piece| piece.len() <= LONG && piece.ends_with("cell")), "{pieces:?}");
        assert_eq!(pieces.len(), 5);
        let line = "word ".repeat(1_000);
        assert!(passages(&line).iter().all(|piece| piece.len() <= 2 * LONG && piece.ends_with("word")));
    }

    #[test]
    fn the_passages_of_a_text_are_bounded_however_it_is_cut() {
        let texts = [
            "x\n\n".repeat(5_000),
            "x\n\n".repeat(90_000),
            "x \n\n\n".repeat(333),
            format!("x {}\n\n", "y".repeat(3_000)).repeat(300),
            format!("x\n{}\n", "y".repeat(1_300)).repeat(300),
        ];
        for text in texts {
            let pieces = passages(&text);
            assert!(pieces.len() > 100 && pieces.len() <= 2 * MANY + 1, "{}", pieces.len());
        }
    }

    proptest! {
        #[test]
        fn nothing_but_white_space_is_lost(text in "[a-zé \n]{0,4000}") {
            let squeeze = |text: &str| text.split_whitespace().collect::<String>();
            let pieces = passages(&text);
            prop_assert_eq!(squeeze(&pieces.concat()), squeeze(&text));
            prop_assert!(pieces.iter().all(|piece| !piece.trim().is_empty()));
        }
    }
}
