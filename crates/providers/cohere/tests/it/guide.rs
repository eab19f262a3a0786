//! The guide page shows this crate's code, and shows it as it is.

use std::path::PathBuf;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

fn page() -> String {
    std::fs::read_to_string(root().join("docs/guide/your-own-provider.md")).unwrap()
}

/// The code blocks of a page, each with the file that the comment before it names.
fn excerpts(page: &str) -> Vec<(Option<String>, String)> {
    let mut found = Vec::new();
    let (mut before, mut block) = (None, None::<String>);
    for line in page.lines() {
        match (&mut block, line.starts_with("```")) {
            (None, true) => block = Some(String::new()),
            (Some(_), true) => found.push((before.take(), block.take().unwrap())),
            (Some(code), false) => {
                code.push_str(line);
                code.push('\n');
            }
            (None, false) => {
                let named = line.strip_prefix("<!-- ").and_then(|line| line.strip_suffix(" -->"));
                before = named.map(str::to_owned);
            }
        }
    }
    assert!(block.is_none(), "a code block is not closed");
    found
}

/// The first line of an excerpt that does not stand so in the file. Pieces between ellipses stand in their order;
/// within a piece the lines follow one another, indentation aside.
fn astray<'e>(excerpt: &'e str, file: &str) -> Option<&'e str> {
    let file: Vec<&str> = file.lines().map(str::trim).collect();
    let mut from = 0;
    for piece in excerpt.split("…\n") {
        let lines: Vec<&str> = piece.lines().map(str::trim).collect();
        let stands = |at: usize| file.get(at..at + lines.len()) == Some(&lines[..]);
        match (from..file.len()).find(|at| stands(*at)) {
            Some(at) => from = at + lines.len(),
            None => return piece.lines().find(|line| !file.contains(&line.trim())).or(piece.lines().next()),
        }
    }
    None
}

#[test]
fn every_excerpt_stands_in_the_file_that_it_names() {
    let page = page();
    let excerpts = excerpts(&page);
    assert!(excerpts.len() >= 20, "only {} code blocks", excerpts.len());
    for (file, code) in &excerpts {
        let file = file.as_ref().unwrap_or_else(|| panic!("nobody says where this is from:\n{code}"));
        let text =
            std::fs::read_to_string(root().join(file)).unwrap_or_else(|_| panic!("there is no {file}"));
        assert_eq!(astray(code, &text), None, "{file}");
    }
}

#[test]
fn an_excerpt_that_strays_from_its_file_is_found() {
    let file = "fn a() {\n    one();\n    two();\n}\nfn b() {}\n";
    assert_eq!(astray("one();\ntwo();\n", file), None);
    assert_eq!(astray("fn a() {\n…\nfn b() {}\n", file), None);
    assert_eq!(astray("one();\nthree();\n", file), Some("three();"));
    assert_eq!(astray("fn a() {\ntwo();\n", file), Some("fn a() {"), "a line is left out without a mark");
    assert_eq!(astray("fn b() {}\n…\nfn a() {\n", file), Some("fn a() {"), "the order is another");
    let unnamed = excerpts("<!-- a.rs -->\n\n```rust\nx\n```\n");
    assert_eq!(unnamed, [(None, "x\n".to_owned())], "the name stands right before the block");
}

// The links of the table lead to headings that are there.
#[test]
fn links_lead_somewhere() {
    let page = page();
    let headings: Vec<String> = page
        .lines()
        .filter_map(|line| line.strip_prefix("## "))
        .map(|heading| heading.to_lowercase().replace('.', "").replace(' ', "-"))
        .collect();
    let links: Vec<&str> = page.split("](#").skip(1).filter_map(|rest| rest.split(')').next()).collect();
    assert_eq!(links, headings);
}
