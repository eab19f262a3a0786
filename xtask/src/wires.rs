//! The files of the codecs: one concept has one file name in all of them, so that who knows one codec finds the place in
//! another.

use std::fs;
use std::path::Path;

use crate::shell::Failure;

/// The folders that speak one API each, and the files that belong to that API alone.
const WIRES: [(&str, &[&str]); 7] = [
    ("anthropic/src", &[]),
    ("bedrock/src", &["credentials", "eventstream", "sigv4"]),
    ("cohere/src", &[]),
    ("gemini/src", &["cache", "response/candidate", "response/grounding", "response/message"]),
    (
        "openai/src/chat",
        &[
            "request/assistant",
            "request/reasoning",
            "response/extras",
            "response/generation",
            "response/hosted",
            "response/merged",
            "response/reasoning",
            "response/think_tags",
        ],
    ),
    ("openai/src/responses", &["request/assistant", "response/items"]),
    ("openai/src/ollama", &[]),
];

/// The files that every wire has.
const EVERY: [&str; 8] =
    ["codec", "api", "request", "request/messages", "request/options", "response", "response/wire", "stream"];

/// The files that a wire has where its API knows such a thing.
const SOME: [&str; 10] = [
    "request/tools",
    "request/history",
    "request/ids",
    "request/documents",
    "request/results",
    "response/block",
    "response/item",
    "response/content",
    "response/citations",
    "response/usage",
];

/// The files of a crate, or of a wire that differs there from the others of its crate.
const OF_CRATE: [&str; 6] = ["lib", "error", "address", "capabilities", "files", "models"];

/// The files that are missing, and those that have a name of their own.
pub(crate) fn problems(root: &Path) -> Result<Vec<String>, Failure> {
    let mut problems = Vec::new();
    for (folder, own) in WIRES {
        let folder = Path::new("crates/providers").join(folder);
        let shown = folder.display();
        let mut found = Vec::new();
        collect(&root.join(&folder), "", own, &mut found)?;
        let missing = EVERY.iter().filter(|name| !found.iter().any(|known| known == *name));
        problems.extend(missing.map(|name| format!("{shown} has no {name}.rs, as every wire has")));
        let known =
            |name: &str| EVERY.iter().chain(&SOME).chain(&OF_CRATE).chain(own).any(|known| *known == name);
        let others = found.iter().filter(|name| !known(name));
        problems.extend(others.map(|name| format!("{shown}/{name}.rs is in no list of xtask/src/wires.rs")));
    }
    Ok(problems)
}

/// The source files below `folder`, without their ending. The folders of files that are the API's `own` belong to them.
fn collect(folder: &Path, above: &str, own: &[&str], found: &mut Vec<String>) -> Result<(), Failure> {
    let unread = |error| format!("{} cannot be read: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(unread)? {
        let path = entry.map_err(unread)?.path();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let name = format!("{above}{stem}");
        if !path.is_dir() {
            found.extend((stem != "tests").then_some(name));
        } else if !own.contains(&&*name) {
            collect(&path, &format!("{name}/"), own, found)?;
        }
    }
    Ok(())
}
