//! The parts of a page that repeat others: programs of the examples, and counts of crates.

use std::collections::BTreeSet;
use std::path::Path;

use super::page::{Page, read, write as write_file};
use crate::shell::{Failure, output, report};
use crate::workspace;

/// The crate whose examples and tests pages show. A comment with the path of one stands before the block that shows it.
const EXAMPLES: &str = "<!-- crates/attache/";

/// The comments before the tables of what each feature of a package costs.
const COUNTS: [(&str, &str); 2] =
    [("attache", "<!-- cargo tree -->"), ("attache-cli", "<!-- cargo tree -p attache-cli -->")];

/// The file that names the pages whose programs are doc tests.
const COMPILED: &str = "tests/src/lib.rs";

/// The page whose programs are excerpts of a crate, which that crate's tests compare with it.
const EXCERPTS: &str = "docs/guide/your-own-provider.md";

/// Blocks that are not the example that they name, and examples that no page shows.
pub(super) fn problems(root: &Path, pages: &[Page]) -> Result<Vec<String>, Failure> {
    let mut problems = Vec::new();
    for page in pages {
        let (fresh, _) = with_examples(root, page)?;
        if fresh != page.text {
            problems
                .push(format!("{} shows an older example: cargo xtask docs --write", page.path.display()));
        }
    }
    Ok(problems)
}

/// Pages with programs that no compiler reads, and blocks that tell it to look away.
pub(super) fn unread(root: &Path, pages: &[Page]) -> Result<Vec<String>, Failure> {
    let compiled = read(&root.join(COMPILED))?;
    Ok(pages.iter().flat_map(|page| unread_of(page, &compiled)).collect())
}

fn unread_of(page: &Page, compiled: &str) -> Vec<String> {
    let shown = page.path.display().to_string();
    let blocks: Vec<&str> =
        page.text.lines().map(str::trim).filter(|line| line.starts_with("```rust")).collect();
    let is_read = compiled.contains(&format!("include_str!(\"../../{shown}\")"));
    let missing = !blocks.is_empty() && !is_read && shown != EXCERPTS;
    let missing =
        missing.then(|| format!("{shown} has programs that are not compiled: name it in {COMPILED}"));
    let ignored = blocks.iter().filter(|block| block.contains("ignore"));
    missing.into_iter().chain(ignored.map(|block| format!("{shown}: {block} is not compiled"))).collect()
}

/// The places that tell of every feature of the facade, and the heads of the tables that do.
const FEATURE_TABLES: [(&str, &str); 2] = [
    ("docs/guide/crates.md", "| you want | features |"),
    ("crates/attache/src/lib.rs", "| feature | name here | what it is |"),
];

/// Features of the facade that one of its tables lacks.
pub(super) fn untold_features(root: &Path) -> Result<Vec<String>, Failure> {
    let features: Vec<String> =
        workspace::libraries(&["attache"])?.into_iter().flat_map(|package| package.features).collect();
    let mut problems = Vec::new();
    for (place, head) in FEATURE_TABLES {
        let text = read(&root.join(place))?;
        let told = told(&text, head);
        let untold = features.iter().filter(|feature| !told.contains(&feature.as_str()));
        problems.extend(untold.map(|feature| format!("{place} has no row of the feature `{feature}`")));
    }
    Ok(problems)
}

/// The names in the column of features of the table with that head.
fn told<'t>(text: &'t str, head: &str) -> Vec<&'t str> {
    let column = head.split('|').position(|cell| cell.trim().starts_with("feature"));
    let lines = text.lines().map(|line| line.trim_start_matches("//! "));
    let rows = lines.skip_while(|line| *line != head).take_while(|line| line.starts_with('|'));
    let cells = rows.filter_map(|row| row.split('|').nth(column?));
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect()
}

/// Copies the examples into the pages.
pub(super) fn write(root: &Path, pages: Vec<Page>) -> Result<(), Failure> {
    for page in pages {
        let (fresh, shown) = with_examples(root, &page)?;
        if fresh != page.text {
            report(&format!("{}: {shown} examples", page.path.display()));
            write_file(&root.join(&page.path), &fresh)?;
        }
    }
    Ok(())
}

/// The page with its examples as they are now, and how many it shows.
fn with_examples(root: &Path, page: &Page) -> Result<(String, usize), Failure> {
    let mut fresh = String::with_capacity(page.text.len());
    let mut lines = page.text.split_inclusive('\n');
    let mut shown = 0;
    while let Some(line) = lines.next() {
        fresh.push_str(line);
        let Some(name) = line.strip_prefix(EXAMPLES).and_then(|rest| rest.trim_end().strip_suffix(" -->"))
        else {
            continue;
        };
        let opening = lines.next().filter(|line| line.starts_with("```"));
        let Some(opening) = opening else {
            return Err(format!("{}: no block follows the name {name}", page.path.display()));
        };
        fresh.push_str(opening);
        fresh.push_str(&body(&read(&root.join("crates/attache").join(name))?));
        let closing = lines.find(|line| line.trim_end() == "```");
        fresh.push_str(closing.ok_or_else(|| format!("{}: a block is not closed", page.path.display()))?);
        shown += 1;
    }
    Ok((fresh, shown))
}

/// An example without what it says of itself at its start.
fn body(example: &str) -> String {
    let is_head = |line: &&str| line.is_empty() || line.starts_with("//!") || line.starts_with("#![");
    example.lines().skip_while(is_head).flat_map(|line| [line, "\n"]).collect()
}

/// Rows of the tables of costs whose count of crates is another than cargo's.
pub(super) fn wrong_counts(pages: &[Page]) -> Result<Vec<String>, Failure> {
    let mut problems = Vec::new();
    let tables = COUNTS.into_iter().flat_map(|table| pages.iter().map(move |page| (table, page)));
    for ((package, comment), page) in tables {
        for (features, count) in counts(&page.text, comment) {
            let tree = ["tree", "--locked", "-p", package, "--no-default-features", "--features", &features];
            // The same on every machine.
            let form = [
                "--target",
                "x86_64-unknown-linux-gnu",
                "-e",
                "normal",
                "--prefix",
                "none",
                "--format",
                "{p}",
            ];
            let tree = output("cargo", &[&tree[..], &form].concat())?;
            let crates: BTreeSet<&str> = tree.lines().filter_map(|line| line.split(" (").next()).collect();
            if crates.len() != count {
                let now = crates.len();
                let place = page.path.display();
                problems.push(format!("{place}: {package} with {features:?} is {now} crates, not {count}"));
            }
        }
    }
    Ok(problems)
}

/// The rows of tables behind the comment: the features in the first cell, the number in the second.
fn counts(text: &str, comment: &str) -> Vec<(String, usize)> {
    let Some((_, behind)) = text.split_once(comment) else { return Vec::new() };
    let rows = behind.trim_start().lines().take_while(|line| line.starts_with('|'));
    let cells = rows.map(|row| row.split('|').map(str::trim).skip(1).collect::<Vec<_>>());
    let counted = cells.filter_map(|cells| {
        let features: Vec<&str> = cells.first()?.split('`').skip(1).step_by(2).collect();
        Some((features.join(","), cells.get(1)?.parse().ok()?))
    });
    counted.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_whose_programs_no_compiler_reads_is_found() {
        let page = |text: &str| Page { path: "docs/guide/a.md".into(), text: text.to_owned() };
        let found = |text: &str, compiled: &str| unread_of(&page(text), compiled).len();
        let (program, named) =
            ("- so:\n  ```rust,no_run\n  f();\n  ```\n", "include_str!(\"../../docs/guide/a.md\")");
        assert_eq!(found(program, ""), 1);
        assert_eq!(found(program, "include_str!(\"../../docs/guide/b.md\")"), 1);
        assert_eq!(found(program, named), 0);
        assert_eq!(found("```rust,ignore\nf();\n```\n", named), 1);
        assert_eq!(found("```toml\na = 1\n```\n", ""), 0);
    }

    #[test]
    fn a_feature_is_told_by_a_row_alone() {
        let text = "//! The feature `render`.\n//!\n//! | feature | name here |\n//! | --- | --- |\n\
                    //! | `jwt`, `previews` | `server` |\n//!\n//! | `otel` | 12 |\n";
        assert_eq!(told(text, "| feature | name here |"), ["jwt", "previews"]);
        assert_eq!(
            told("| you want | features |\n| `a` | `b`; `c` |\n", "| you want | features |"),
            ["b", "c"]
        );
    }

    #[test]
    fn an_example_is_shown_without_its_head() {
        let example =
            "//! Doc.\n//! More.\n\n#![expect(lint)]\n\nuse a::b;\n\n#[tokio::main]\nasync fn main() {}\n";
        assert_eq!(body(example), "use a::b;\n\n#[tokio::main]\nasync fn main() {}\n");
    }

    #[test]
    fn a_block_that_differs_is_renewed() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let text = "a\n<!-- crates/attache/examples/pdf_tool.rs -->\n```rust,no_run\nold\n```\nb\n";
        let page = Page { path: "a.md".into(), text: text.to_owned() };
        let (fresh, shown) = with_examples(&root, &page).unwrap();
        assert_eq!(shown, 1);
        assert!(
            fresh.contains("fn main()") && !fresh.contains("old") && fresh.ends_with("```\nb\n"),
            "{fresh}"
        );
        let page = Page { path: "a.md".into(), text: fresh.clone() };
        assert_eq!(with_examples(&root, &page).unwrap().0, fresh);
    }

    #[test]
    fn counts_are_read_from_the_table() {
        let text = "| `no` | 1 |\n\n<!-- cargo tree -->\n\n| a | b |\n|---|--:|\n| `x` and `y` | 12 | 3 |\n\n| `z` | 5 |\n";
        assert_eq!(counts(text, COUNTS[0].1), [("x,y".to_owned(), 12)]);
        assert_eq!(counts(text, COUNTS[1].1), []);
    }
}
