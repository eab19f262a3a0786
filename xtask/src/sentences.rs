//! The sentences of comments and pages: none begins with a bare question word, whose answer the reader would have to find first.

/// The words that no sentence begins with, unless it is a question.
const BEGINNINGS: [&str; 5] = ["What ", "Who ", "Whether ", "How many ", "How much "];

/// The sentences of the comments of a source file in Rust that begin so, each with its line.
pub(crate) fn of_source(text: &str) -> Vec<(usize, String)> {
    bare(text, comment)
}

/// The begin and the end of a docstring.
const QUOTES: &str = "\"\"\"";

/// Those of a file whose comments begin with a hash: a script in Python with its docstrings, a table in TOML.
pub(crate) fn of_script(text: &str) -> Vec<(usize, String)> {
    // True while a string in three quotes is open that nothing takes, as docstrings are; false in another one.
    let mut open = None;
    bare(text, |line| {
        let line = line.trim();
        let was_open = open;
        let is_comment = open.is_none() && line.starts_with('#');
        if !is_comment && line.matches(QUOTES).count() % 2 == 1 {
            open = if open.is_some() { None } else { Some(line.starts_with(QUOTES)) };
        }
        let prose = match was_open {
            Some(is_prose) => is_prose.then_some(line),
            None => line.strip_prefix('#').or_else(|| line.strip_prefix(QUOTES)),
        };
        prose.map(|prose| prose.trim_end_matches(QUOTES).trim())
    })
}

/// The sentences of a page that begin so, each with its line.
pub(crate) fn of_page(text: &str) -> Vec<(usize, String)> {
    bare(text, |line| Some(line.trim()))
}

fn bare(text: &str, mut prose: impl FnMut(&str) -> Option<&str>) -> Vec<(usize, String)> {
    let (mut found, mut paragraph, mut is_code) = (Vec::new(), Vec::new(), false);
    for (at, line) in text.lines().enumerate() {
        let comment = prose(line);
        if comment.is_some_and(|comment| comment.starts_with("```")) {
            is_code = !is_code;
        }
        // Headings may begin so, and are no part of what follows.
        let prose = comment.filter(|comment| {
            !is_code && !comment.is_empty() && !["#", "```"].iter().any(|mark| comment.starts_with(mark))
        });
        let begins = prose.is_none_or(|prose| ["- ", "* ", "|"].iter().any(|mark| prose.starts_with(mark)));
        if begins {
            found.extend(of_paragraph(&paragraph));
            paragraph.clear();
        }
        is_code &= comment.is_some();
        paragraph.extend(prose.map(|prose| (at + 1, prose)));
    }
    found.extend(of_paragraph(&paragraph));
    found
}

/// The text of a line that is a comment as a whole.
fn comment(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("//")?;
    Some(rest.strip_prefix(['/', '!']).unwrap_or(rest).trim())
}

fn of_paragraph(lines: &[(usize, &str)]) -> Vec<(usize, String)> {
    let (mut text, mut starts) = (String::new(), Vec::new());
    for (at, line) in lines {
        starts.push((text.len(), *at));
        text.push_str(line.trim_start_matches(['-', '*', '|', ' ']));
        text.push(' ');
    }
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(rest) = text.get(from..).filter(|rest| !rest.is_empty()) {
        let length =
            [". ", "! ", "? ", " | "].iter().filter_map(|end| Some(rest.find(end)? + end.len())).min();
        let sentence = rest.get(..length.unwrap_or(rest.len())).unwrap_or(rest).trim();
        if BEGINNINGS.iter().any(|word| sentence.starts_with(word)) && !sentence.ends_with('?') {
            let line = starts.iter().rev().find(|(start, _)| *start <= from).map_or(0, |(_, at)| *at);
            found.push((line, sentence.to_owned()));
        }
        from += length.unwrap_or(rest.len());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        of_source(text).into_iter().map(|(line, _)| line).collect()
    }

    #[test]
    fn a_sentence_that_begins_with_a_bare_question_word_is_found_with_its_line() {
        let text = [
            "//! What the model said.",
            "fn f() {}",
            "    /// The count. It ends",
            "    /// here. How many there are.",
            "// Who asks is told.",
            "/// - Whether it fails",
        ]
        .join("\n");
        assert_eq!(lines(&text), [1, 4, 5, 6]);
        assert_eq!(lines("/// # Errors\n/// What is wrong."), [2], "behind a heading");
    }

    #[test]
    fn questions_code_and_words_inside_of_a_sentence_are_left_alone() {
        let text = "// What is this?\n/// The one\n/// What follows is no beginning\n/// ```text\n/// What is here.\n\
                    /// ```\nlet s = \"What is said.\";\n// Whatever comes.\n";
        assert_eq!(lines(text), [0; 0]);
    }

    #[test]
    fn comments_of_scripts_are_read() {
        let script = "a = 1\n# What is meant.\n\"\"\"Who asks.\"\"\"\nb = '# What' # What\n";
        let lines = |script: &str| of_script(script).into_iter().map(|(line, _)| line).collect::<Vec<_>>();
        assert_eq!(lines(script), [2, 3]);
        let docstring = "def f():\n    \"\"\"Adds.\n\n    Two. What\n    is meant.\n    \"\"\"\n    x = 1\n";
        assert_eq!(lines(docstring), [4]);
        let text = "x = \"\"\"\nWhat is said.\n\"\"\"\ny = 1\n\"\"\"It is.\nWho asks.\"\"\"\n";
        assert_eq!(lines(text), [6], "a text is no comment");
    }

    #[test]
    fn headings_and_code_of_pages_are_left_alone() {
        assert_eq!(of_page("| a | b |\n| 1 | What is meant |\n"), [(2, "What is meant |".to_owned())]);
        let page =
            "# What it is\n\n```sh\n# What runs\nWhat it prints\n```\n\n- It is. What follows is found.\n";
        assert_eq!(of_page(page), [(8, "What follows is found.".to_owned())]);
    }
}
