//! Text whose paragraphs are broken into lines for transport (`format=flowed`, RFC 3676).

/// The line that stands before a signature. It ends in a blank and is no part of a paragraph.
const SIGNATURE: &str = "-- ";

/// The way in which lines of a text are joined.
#[derive(Clone, Copy)]
pub(super) struct Flowed {
    /// The blank at the end of a line that goes on is no part of the text.
    pub(super) delete_space: bool,
}

impl Flowed {
    /// The text as it was written: each paragraph is a line.
    pub(super) fn undone(self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        // The depth of the quote whose last line goes on.
        let mut open = None;
        for (at, line) in text.lines().enumerate() {
            let quoted = line.trim_start_matches('>');
            let depth = line.len() - quoted.len();
            // Lines that begin with a blank or a sign of quotes have one more blank before it.
            let line = quoted.strip_prefix(' ').unwrap_or(quoted);
            let is_signature = line == SIGNATURE;
            if open != Some(depth) || is_signature || line.is_empty() {
                out.push_str(if at > 0 { "\n" } else { "" });
                out.extend(std::iter::repeat_n('>', depth));
                out.push_str(if depth > 0 && !line.is_empty() { " " } else { "" });
            }
            let goes_on = line.ends_with(' ') && !is_signature;
            open = goes_on.then_some(depth);
            out.push_str(line.strip_suffix(' ').filter(|_| goes_on && self.delete_space).unwrap_or(line));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::Flowed;

    #[test]
    fn paragraphs_are_joined_and_blanks_that_protect_are_taken_off() {
        for (written, text) in [
            ("one \ntwo \nthree\nfour", "one two three\nfour"),
            (" From here\n >not quoted\n  two", "From here\n>not quoted\n two"),
            ("> a \n> b\n>> c \n> d\ne", "> a b\n>> c \n> d\ne"),
            (">a \n>b", "> a b"),
            ("text \n-- \nAnn \nBob", "text \n-- \nAnn Bob"),
            ("> text \n> -- \n> Ann", "> text \n> -- \n> Ann"),
            ("\n\na \n\nb\n", "\n\na \n\nb"),
            (">\n> a", ">\n> a"),
            ("", ""),
        ] {
            assert_eq!(Flowed { delete_space: false }.undone(written), text, "{written:?}");
        }
        assert_eq!(Flowed { delete_space: true }.undone("日本 \n語 \n-- \nx"), "日本語\n-- \nx");
    }
}
