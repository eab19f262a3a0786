//! Checks that no compiler makes.

use std::fs;
use std::path::{Path, PathBuf};

use crate::shell::Failure;
use crate::{circles, citations, docs, layers, sentences, wires};

/// The most lines of a source file, its tests included.
const MAX_LINES: usize = 600;

/// Checks source files for length and names, what comments cite, the facade for being a list,
/// files that need each other, the names of the codecs' files, and who knows whom.
pub(crate) fn run(root: &Path) -> Result<(), Failure> {
    let mut files = Vec::new();
    for folder in ["crates", "fuzz", "tests", "xtask"] {
        collect(&root.join(folder), &mut files)?;
    }
    let mut problems = citations::problems(root, &files)?;
    collect(&root.join("docs/examples"), &mut files)?;
    files.extend(["Cargo.toml", "clippy.toml", "deny.toml"].map(|name| root.join(name)));
    for file in files.iter().filter(|file| !is_rust(file)) {
        let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let shown = file.strip_prefix(root).unwrap_or(file).display().to_string();
        problems.extend(told(&shown, sentences::of_script(&text)));
    }
    files.retain(|file| is_rust(file));
    for file in &files {
        let text = fs::read_to_string(file)
            .map_err(|error| format!("{} cannot be read: {error}", file.display()))?;
        let shown = file.strip_prefix(root).unwrap_or(file).display().to_string();
        let lines = text.lines().count();
        if lines > MAX_LINES {
            problems
                .push(format!("{shown} has {lines} lines, more than {MAX_LINES}: is it about one thing?"));
        }
        for word in ["todo!(", "unimplemented!(", "dbg!("] {
            if text.contains(word) && !file.ends_with("tidy.rs") {
                problems.push(format!("{shown} holds {word}"));
            }
        }
        problems.extend(told(&shown, sentences::of_source(&text)));
        if file.parent().is_some_and(|folder| folder.ends_with("tests")) {
            problems.extend(by_feature(&text).map(|line| {
                format!("{shown} is empty where a feature is off, and passes: {line} (turn it on for tests)")
            }));
        }
    }
    for page in docs::pages(root)? {
        problems.extend(told(&page.path.display().to_string(), sentences::of_page(&page.text)));
    }
    let facade = root.join("crates/attache/src/lib.rs");
    let text = fs::read_to_string(&facade)
        .map_err(|error| format!("{} cannot be read: {error}", facade.display()))?;
    problems.extend(definitions(&text).map(|line| format!("the facade defines something: {line}")));
    problems.extend(circles::problems(root)?);
    problems.extend(wires::problems(root)?);
    problems.extend(layers::problems()?);
    if problems.is_empty() { Ok(()) } else { Err(format!("tidy found:\n  {}", problems.join("\n  "))) }
}

fn told(shown: &str, sentences: Vec<(usize, String)>) -> impl Iterator<Item = String> {
    sentences.into_iter().map(move |(line, sentence)| {
        format!("{shown}:{line}: a sentence begins with a bare question word: {sentence}")
    })
}

fn is_rust(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "rs")
}

/// Lines that define something, in a file that should gather what others define.
fn definitions(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| {
        let mut words = line.split(|c: char| c.is_whitespace() || "!<(".contains(c));
        let mut word = words.next().unwrap_or_default();
        // `pub(crate)` is two words here.
        while matches!(word, "pub" | "crate)" | "super)" | "async" | "unsafe" | "extern" | "default" | "auto")
        {
            word = words.next().unwrap_or_default();
        }
        const KEYWORDS: [&str; 11] = [
            "const",
            "enum",
            "fn",
            "impl",
            "macro_rules",
            "mod",
            "static",
            "struct",
            "trait",
            "type",
            "union",
        ];
        KEYWORDS.contains(&word)
    })
}

/// Lines that leave a whole file out.
fn by_feature(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| line.starts_with("#![cfg(") && line.contains("feature"))
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let entries =
        fs::read_dir(folder).map_err(|error| format!("{} cannot be read: {error}", folder.display()))?;
    for path in entries.filter_map(Result::ok).map(|entry| entry.path()) {
        if path.is_dir() {
            if !["target", "fixtures", "node_modules"].iter().any(|name| path.ends_with(name)) {
                collect(&path, files)?;
            }
        } else if path
            .extension()
            .is_some_and(|extension| ["rs", "toml", "py"].iter().any(|known| extension == *known))
        {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_facade_that_defines_something_is_found() {
        for line in [
            "pub fn run() {",
            "pub(crate) fn run();",
            "    async fn run() {",
            "pub struct Agent {",
            "struct Agent;",
            "pub struct Agent(u8);",
            "impl Agent {",
            "impl<T> From<T> for Agent {",
            "pub enum Kind {",
            "pub trait Tool: Send {",
            "mod prelude {",
            "pub mod prelude;",
            "pub type Result<T> = core::result::Result<T, Error>;",
            "pub const LIMIT: usize = 1;",
            "static ONE: u8 = 1;",
            "macro_rules! agent {",
        ] {
            assert_eq!(definitions(line).count(), 1, "{line}");
        }
    }

    #[test]
    fn a_facade_that_gathers_is_left_alone() {
        let text = "//! fn main() {}\n/// struct\n#[cfg(feature = \"agent\")]\n#[doc(inline)]\n\
                    pub use attache_agent::{\n    self as agent, Agent, tool_fn,\n};\npub use attache_core as core;\n";
        assert_eq!(definitions(text).collect::<Vec<_>>(), Vec::<&str>::new());
    }

    #[test]
    fn a_file_that_a_feature_leaves_out_is_found() {
        let text = "//! Tests.\n#![allow(clippy::unwrap_used)]\n#![cfg(all(feature = \"a\", unix))]\n";
        assert_eq!(by_feature(text).count(), 1);
        assert_eq!(by_feature("#![cfg(unix)]\n#[cfg(feature = \"a\")]\nfn f() {}\n").count(), 0);
    }
}
