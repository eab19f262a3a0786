//! Comments cite only where a reader finds it: sections of the pages in `docs/wire`, as in `openai.md C.11` or
//! `documents.md 9.2 D20`, rows of `docs/coverage.md`, invariants of `docs/ARCHITECTURE.md`. And the tests that these two
//! name are there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::shell::Failure;

const COVERAGE: &str = "docs/coverage.md";
const ARCHITECTURE: &str = "docs/ARCHITECTURE.md";

/// Every citation that points to nothing, in a line each.
pub(crate) fn problems(root: &Path, files: &[PathBuf]) -> Result<Vec<String>, Failure> {
    let coverage = read(&root.join(COVERAGE))?;
    let architecture = read(&root.join(ARCHITECTURE))?;
    let mut pages = Pages { invariants: Page::read(&architecture).rows("Invariants"), ..Pages::default() };
    for page in Page::read(&coverage).0.into_values() {
        pages.rows.extend(page);
    }
    let folder = root.join("docs/wire");
    let entries =
        fs::read_dir(&folder).map_err(|error| format!("{} cannot be read: {error}", folder.display()))?;
    for path in entries.filter_map(Result::ok).map(|entry| entry.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // The page that explains the others is none of them.
        if name != "README.md" {
            pages.wire.insert(name, Page::read(&read(&path)?));
        }
    }

    let mut problems = Vec::new();
    for file in files {
        let shown = file.strip_prefix(root).unwrap_or(file).display();
        let mark = if file.extension().is_some_and(|extension| extension == "rs") { "//" } else { "#" };
        for (line, comment) in comments(&read(file)?, mark) {
            problems
                .extend(pages.missed(&comment).into_iter().map(|missed| format!("{shown}:{line}: {missed}")));
        }
    }
    for (page, text) in [(COVERAGE, &coverage), (ARCHITECTURE, &architecture)] {
        let missed = missing_tests(text, |path| fs::read_to_string(root.join(path)).ok());
        problems.extend(missed.into_iter().map(|missed| format!("{page} names {missed}")));
    }
    Ok(problems)
}

fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| format!("{} cannot be read: {error}", path.display()))
}

/// All that may be cited.
#[derive(Default)]
struct Pages {
    /// The pages of `docs/wire`, by the name of their file.
    wire: BTreeMap<String, Page>,
    /// The rows of `docs/coverage.md`.
    rows: BTreeSet<String>,
    /// The numbers of invariants.
    invariants: BTreeSet<String>,
}

impl Pages {
    /// The citations of a comment that point to nothing.
    fn missed(&self, comment: &str) -> Vec<String> {
        let mut missed = Vec::new();
        // A section that is cited with its page is not looked up once more without it.
        let mut known = BTreeSet::new();
        for (page, section, row) in cited(comment) {
            known.extend(row.iter().flat_map(|row| [row.clone(), format!("{section} {row}")]));
            known.insert(section.clone());
            // Other files may be called so too: a citation is a page with a section, or a page of ours.
            let there = self.wire.get(&page).map(|page| page.0.get(&section));
            match (there, row) {
                (None, _) if section.is_empty() => {}
                (None, _) => missed.push(format!("there is no docs/wire/{page}")),
                (Some(_), _) if section.is_empty() => {
                    missed.push(format!("{page} is cited without a section"))
                }
                (Some(None), _) => missed.push(format!("{page} has no section {section}")),
                (Some(Some(rows)), Some(row)) if !rows.contains(&row) => {
                    missed.push(format!("section {section} of {page} has no row {row}"));
                }
                (Some(Some(_)), _) => {}
            }
        }
        let bare = bare(comment)
            .into_iter()
            .filter(|name| !known.contains(name) && !self.wire.values().any(|page| page.has(name)));
        missed.extend(bare.map(|name| format!("no page of docs/wire has {name}")));
        let rows = rows_in(comment).into_iter().filter(|row| !self.rows.contains(row));
        missed.extend(rows.map(|row| format!("{COVERAGE} has no row {row}")));
        let invariants =
            invariants_in(comment).into_iter().filter(|number| !self.invariants.contains(number));
        missed.extend(invariants.map(|number| format!("{ARCHITECTURE} has no invariant {number}")));
        if comment.contains('§') {
            missed.push("a section is cited with its page and no sign, as in `openai.md C.11`".to_owned());
        }
        missed
    }
}

/// The sections of a page by their names, each with the names of its rows: the first cells of its tables, and the
/// numbers of its lists.
struct Page(BTreeMap<String, BTreeSet<String>>);

impl Page {
    fn read(text: &str) -> Self {
        let mut sections: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut current = String::new();
        for line in text.lines() {
            let title = line.trim_start_matches('#');
            if title.len() < line.len() {
                let name = title.split_whitespace().next().unwrap_or_default().trim_end_matches('.');
                // A heading below a section without a name of its own belongs to that section.
                if line.starts_with("## ") || is_section(name) {
                    name.clone_into(&mut current);
                    sections.entry(current.clone()).or_default();
                }
                continue;
            }
            let row = match line.strip_prefix("| ") {
                Some(cells) => cells.split(" |").next(),
                None => line.split_once(". ").map(|(number, _)| number).filter(|number| is_number(number)),
            };
            sections.entry(current.clone()).or_default().extend(row.map(|row| row.trim().to_owned()));
        }
        Self(sections)
    }

    /// True if this is a section, a row of any, or both with a space between.
    fn has(&self, name: &str) -> bool {
        let of = |(section, row): (&str, &str)| self.0.get(section).is_some_and(|rows| rows.contains(row));
        name.split_once(' ').is_some_and(of)
            || self.0.iter().any(|(section, rows)| section == name || rows.contains(name))
    }

    fn rows(&self, section: &str) -> BTreeSet<String> {
        self.0.get(section).cloned().unwrap_or_default()
    }
}

/// `C`, `C.11`, `9.2`, `(a)`.
fn is_section(word: &str) -> bool {
    let (head, tail) = word.split_once('.').unwrap_or((word, "0"));
    let letter = head.len() == 1 && head.chars().all(|c| c.is_ascii_uppercase());
    word == "(a)" || word == "(b)" || ((letter || is_number(head)) && is_number(tail))
}

/// `20`, `D20`, `#20`.
fn is_row(word: &str) -> bool {
    is_number(word.strip_prefix(['D', '#']).unwrap_or(word))
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_ascii_digit())
}

/// The comments of a file, each with its first line's number. Lines that follow each other are one comment.
fn comments(text: &str, mark: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut before = false;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_start();
        let own = line.strip_prefix(mark);
        let behind = || line.split_once(&format!(" {mark} ")).map(|(_, comment)| comment);
        let Some(comment) = own.or_else(behind) else {
            before = false;
            continue;
        };
        let comment = comment.trim_start_matches(['/', '!']);
        match found.last_mut().filter(|_| before && own.is_some()) {
            Some((_, block)) => {
                block.push('\n');
                block.push_str(comment);
            }
            None => found.push((index + 1, comment.to_owned())),
        }
        before = own.is_some();
    }
    found
}

/// The page, section and row of each citation: `openai.md D 5, 6` are two, `bedrock.md 3, 11` too.
fn cited(comment: &str) -> Vec<(String, String, Option<String>)> {
    let mut found = Vec::new();
    for (end, _) in comment.match_indices(".md") {
        let head = comment.get(..end).unwrap_or_default();
        let name = head.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_').next();
        let name = name.unwrap_or_default();
        let path = head.strip_suffix(name).is_some_and(|head| head.ends_with(['/', '"', '.', '`']));
        let rest = comment.get(end + 3..).unwrap_or_default();
        if name.is_empty() || path || rest.starts_with(|c: char| c.is_alphanumeric() || "\"/#`_]".contains(c))
        {
            continue;
        }
        let page = format!("{name}.md");
        let before = found.len();
        // A comma after the page would make its sections words of the sentence.
        if rest.starts_with(char::is_whitespace) {
            sections(&page, rest, &mut found);
        }
        if found.len() == before {
            found.push((page, String::new(), None));
        }
    }
    found
}

/// The sections and rows that stand behind the name of a page.
fn sections(page: &str, rest: &str, found: &mut Vec<(String, String, Option<String>)>) {
    // The section of the last citation, and whether that has a row.
    let mut last: Option<(String, bool)> = None;
    // True if a separator stands before the word.
    let mut apart = true;
    for word in rest.split_whitespace() {
        if last.is_some() && matches!(word, "and" | "to") {
            apart = true;
            continue;
        }
        let table = word.get(..3).filter(|table| matches!(*table, "(a)" | "(b)"));
        let bare = table.unwrap_or_else(|| word.trim_end_matches([',', ';', ':', '.', ')']));
        let row = is_row(bare.split('–').next().unwrap_or_default());
        match &mut last {
            Some((section, rows)) if row && (*rows || !apart) => {
                if !*rows {
                    found.pop();
                }
                *rows = true;
                found.extend(
                    bare.split('–').map(|row| (page.to_owned(), section.clone(), Some(row.to_owned()))),
                );
            }
            _ if apart && is_section(bare) => {
                found.push((page.to_owned(), bare.to_owned(), None));
                last = Some((bare.to_owned(), false));
            }
            _ => return,
        }
        match word.get(bare.len()..) {
            Some("") => apart = false,
            Some("," | ";") => apart = true,
            _ => return,
        }
    }
}

/// Sections and rows that can only be those of a page, whether or not that is named beside them: `C.11`, `D 64`, `D20`,
/// `#58`.
fn bare(comment: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut before = "";
    for word in comment.split(|c: char| c.is_whitespace() || c == '–') {
        let word = word.trim_matches(|c: char| "(),;:.".contains(c));
        let section = word.starts_with(|c: char| ('A'..='F').contains(&c)) && word.contains('.');
        if before == "D" && is_number(word) {
            found.push(format!("D {word}"));
        } else if section && is_section(word) || word.starts_with(['D', '#']) && is_row(word) {
            found.push(word.to_owned());
        }
        before = word;
    }
    found
}

/// The rows of the coverage page that a comment names: `C01`, and all three of `E05–E07` or `E05 to E07`.
fn rows_in(comment: &str) -> Vec<String> {
    let mut found: Vec<(char, u8)> = Vec::new();
    let mut between = "";
    let mut rest = comment;
    while let Some(start) = rest.find(|c: char| c.is_ascii_alphanumeric() || "`#_".contains(c)) {
        between = rest.get(..start).unwrap_or(between);
        rest = rest.get(start..).unwrap_or_default();
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && !"`#_".contains(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        rest = after;
        let mut characters = word.chars();
        let letter = characters.next().filter(|letter| "ACEPRS".contains(*letter));
        let (Some(letter), 3, Ok(number)) = (letter, word.len(), characters.as_str().parse::<u8>()) else {
            // The word of a range, which stands between its ends.
            let range = word == "to" && found.last().is_some();
            if !range {
                found.push(('-', 0));
            }
            continue;
        };
        let from = found.last().filter(|(last, _)| *last == letter && !between.contains([',', ';']));
        let range = from.map_or(number..number, |(_, from)| from + 1..number);
        found.extend(range.map(|number| (letter, number)));
        found.push((letter, number));
    }
    found
        .iter()
        .filter(|(letter, _)| *letter != '-')
        .map(|(letter, number)| format!("{letter}{number:02}"))
        .collect()
}

/// The numbers of the invariants that a comment names.
fn invariants_in(comment: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut naming = false;
    for word in comment.split_whitespace() {
        let bare = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        if bare.eq_ignore_ascii_case("invariant") || bare.eq_ignore_ascii_case("invariants") {
            naming = true;
        } else if naming && is_number(bare) {
            found.push(bare.to_owned());
            naming = word.ends_with(bare) || word.ends_with(',');
        } else {
            naming = naming && matches!(bare, "and" | "to");
        }
    }
    found
}

/// The files and functions that a page names as tests, as `FILE.rs` (`function`, `function`), and that are not there.
fn missing_tests(text: &str, read: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let mut missing = Vec::new();
    for (end, _) in text.match_indices(".rs`") {
        let head = text.get(..end + 3).unwrap_or_default();
        let path = head.rsplit('`').next().unwrap_or_default();
        let Some(source) = read(path) else {
            missing.push(format!("{path}, which is not there"));
            continue;
        };
        let behind = text.get(end + 4..).and_then(|rest| rest.strip_prefix(" ("));
        let named = behind.and_then(|rest| rest.split(')').next()).unwrap_or_default();
        let functions = named.split('`').skip(1).step_by(2).filter(|function| {
            !source.contains(&format!("fn {function}(")) && !source.contains(&format!("fn {function}<"))
        });
        missing.extend(functions.map(|function| format!("{function}, which {path} does not have")));
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages() -> Pages {
        let page = "# Page\n\n## 2. Roles\n\n1. One.\n\n### Order\n\n2. Two.\n\n## C Servers\n\n### C.11 Azure\n\n\
                    ## D Breakages\n\n| # | fact |\n| --- | --- |\n| 5 | x |\n| 6 | y |\n\n## (a) Rows\n\n| 7 | z |\n\n\
                    ## 9.2 Defects\n\n| D20 | w |\n| #58 | v |\n| #60 | v |\n";
        Pages {
            wire: [("page.md".to_owned(), Page::read(page))].into(),
            rows: ["C01", "E05", "E06", "E07"].map(str::to_owned).into(),
            invariants: ["1", "12"].map(str::to_owned).into(),
        }
    }

    #[test]
    fn citations_that_resolve_are_left_alone() {
        for comment in [
            "(page.md C.11)",
            "page.md C.11: a token stands in `authorization`",
            "C01, page.md 2 1, 2, C and D 5, 6",
            "page.md D 5, (a) 7; 9.2 D20, #58–#60. The rest",
            "page.md 9.2 #58 to #60",
            "#58, D20 (C.11, D 6)",
            "page.md C, other words",
            "page.md\n C.11",
            "E05 to E07, C01; E05–E07, Invariants 1 and 12 hold, as a `C50` does",
            "docs/guide/page.md says it; a file may be called notes.md as well",
            "include_str!(\"../page.md\")",
        ] {
            assert_eq!(pages().missed(comment), Vec::<String>::new(), "{comment}");
        }
    }

    #[test]
    fn citations_that_point_to_nothing_are_found() {
        for (comment, missed) in [
            ("(page.md C.12)", "page.md has no section C.12"),
            ("page.md 2, C.11, 3: x", "page.md has no section 3"),
            ("page.md D 5, 7", "section D of page.md has no row 7"),
            ("page.md D 8", "section D of page.md has no row 8"),
            ("page.md (a) 8", "section (a) of page.md has no row 8"),
            ("page.md 9.2 #58–59", "section 9.2 of page.md has no row 59"),
            ("(page.md)", "page.md is cited without a section"),
            ("page.md, golden rule 1", "page.md is cited without a section"),
            ("pages.md C.11", "there is no docs/wire/pages.md"),
            ("#58–#62", "no page of docs/wire has #62"),
            ("D21, C.11", "no page of docs/wire has D21"),
            ("C.11, D 8", "no page of docs/wire has D 8"),
            ("C01, C02", "docs/coverage.md has no row C02"),
            ("E05 to E08", "docs/coverage.md has no row E08"),
            ("invariant 13", "docs/ARCHITECTURE.md has no invariant 13"),
            ("invariants 1, 12 and 14", "docs/ARCHITECTURE.md has no invariant 14"),
        ] {
            assert_eq!(pages().missed(comment), [missed], "{comment}");
        }
        assert_eq!(pages().missed("the sheet §3").len(), 1);
    }

    #[test]
    fn comments_are_read_over_their_lines() {
        let text =
            "//! One (page.md\n//! C.11).\nlet url = \"https://x\"; // two\n// three\n\n    /// four\n";
        let found = comments(text, "//");
        let lines: Vec<(usize, &str)> = found.iter().map(|(line, text)| (*line, text.as_str())).collect();
        assert_eq!(lines, [(1, " One (page.md\n C.11)."), (3, "two"), (4, " three"), (6, " four")]);
        assert_eq!(comments("a = 1 # b\n# c\n", "#").len(), 2);
    }

    #[test]
    fn tests_that_are_not_there_are_found() {
        let read = |path: &str| (path == "a/b.rs").then(|| "fn one() {}\nfn two<T>() {}".to_owned());
        let text = "| C01 | x | `a/b.rs` (`one`, `two`) |\n| C02 | y | `a/b.rs` (in words) |";
        assert_eq!(missing_tests(text, read), Vec::<String>::new());
        let text = "| C01 | x | `a/b.rs` (`one`, `three`), `a/c.rs` (`one`) |";
        assert_eq!(
            missing_tests(text, read),
            ["three, which a/b.rs does not have", "a/c.rs, which is not there"]
        );
    }
}
