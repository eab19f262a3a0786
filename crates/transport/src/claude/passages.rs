//! The passages of a text that is cited as a search result: the API cites whole blocks of it.

/// A passage has at most about so many bytes, where its lines let it.
const LONG: usize = 1_200;
/// The most passages of a text, roughly.
const MANY: usize = 500;

/// The passages of a text, in order: paragraphs, long ones cut between lines, and long lines between words. None is
/// blank, and only white space stands between them.
///
/// ```
/// use attache_transport::claude::passages;
/// assert_eq!(passages("The rent\nis due.\n\n \nIt is EUR 900.\n"), ["The rent\nis due.", "It is EUR 900."]);
/// ```
pub fn passages(text: &str) -> Vec<&str> {
    let most = LONG.max(text.len() / MANY);
    let mut passages = Vec::new();
    let (mut start, mut end) = (0, 0);
    for line in text.split_inclusive('\n') {
        let is_blank = line.trim().is_empty();
        if is_blank || end + line.len() > start + most {
            cut(text.get(start..end).unwrap_or_default(), most, &mut passages);
            start = end;
        }
        end += line.len();
        if is_blank {
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
        assert!(passages(&"x\n\n".repeat(5_000)).len() <= 5_000);
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
