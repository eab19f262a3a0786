//! What no compiler checks.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Failure;

/// The most lines of a source file, its tests included.
const MAX_LINES: usize = 600;

/// Checks source files for length, and the facade for being a list.
pub(crate) fn run(root: &Path) -> Result<(), Failure> {
    let mut problems = Vec::new();
    let mut files = Vec::new();
    for folder in ["crates", "tests", "xtask"] {
        collect(&root.join(folder), &mut files)?;
    }
    for file in &files {
        let text = fs::read_to_string(file)
            .map_err(|error| format!("{} cannot be read: {error}", file.display()))?;
        let shown = file.strip_prefix(root).unwrap_or(file).display();
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
    }
    let facade = root.join("crates/attache/src/lib.rs");
    let text = fs::read_to_string(&facade).unwrap_or_default();
    let defines = ["fn ", "struct ", "enum ", "trait ", "impl ", "mod "];
    for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
        let item = line.trim_start().trim_start_matches("pub ");
        if defines.iter().any(|word| item.starts_with(word)) && !item.ends_with('{') {
            problems.push(format!("the facade defines something: {line}"));
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(format!("tidy found:\n  {}", problems.join("\n  "))) }
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let entries =
        fs::read_dir(folder).map_err(|error| format!("{} cannot be read: {error}", folder.display()))?;
    for path in entries.filter_map(Result::ok).map(|entry| entry.path()) {
        if path.is_dir() {
            if !path.ends_with("target") && !path.ends_with("fixtures") {
                collect(&path, files)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}
