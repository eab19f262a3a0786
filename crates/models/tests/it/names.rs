//! Facts about a model stand in the capability table: no code names one.

use std::fs;
use std::path::{Path, PathBuf};

/// Beginnings of the names of models.
const NAMES: [&str; 14] = [
    "gpt-",
    "claude-",
    "gemini-1",
    "gemini-2",
    "gemini-3",
    "gemma-",
    "nova-",
    "llama-4",
    "llama3",
    "magistral",
    "qwen3",
    "grok-",
    "glm-",
    "kimi-",
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") && path.file_stem().unwrap() != "tests" {
            found.push(path);
        }
    }
}

#[test]
fn no_code_names_a_model() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let providers = fs::read_dir(crates.join("providers")).unwrap().map(|entry| entry.unwrap().path());
    let mut files = Vec::new();
    for part in providers.chain(["models", "transport", "documents", "agent"].map(|name| crates.join(name))) {
        sources(&part.join("src"), &mut files);
    }
    assert!(files.len() > 150, "only {} files", files.len());
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
            let named = NAMES
                .iter()
                .find(|name| line.split('"').skip(1).step_by(2).any(|said| said.contains(**name)));
            assert!(named.is_none(), "{}: {line}", file.display());
        }
    }
    // Nor do the profiles of servers.
    let profiles = fs::read_to_string(crates.join("providers/openai/src/profile/bundled.toml")).unwrap();
    for line in profiles.lines().filter(|line| !line.starts_with('#')) {
        assert!(!NAMES.iter().any(|name| line.contains(name)), "{line}");
    }
}
