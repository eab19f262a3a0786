//! The text of the bundled table. A row is read when it is asked for, since a program asks for few of many.
//!
//! It is TOML of which a line is a cell, `name = value`, and each value is JSON too; a test reads it as TOML.

use std::iter::once;

use memchr::{memchr, memmem};
use serde_json::Value;

use crate::json::table_lines;

/// A file, and the families that stand in it. Families stand in one file each, with their rows behind them.
pub(super) struct File {
    pub(super) families: &'static [&'static str],
    pub(super) text: &'static str,
}

pub(super) const FILES: [File; 6] = [
    File {
        families: &["openai-responses", "openai-chat", "azure"],
        text: include_str!("matrix/openai.toml"),
    },
    File { families: &["anthropic"], text: include_str!("matrix/anthropic.toml") },
    File { families: &["gemini", "vertex", "gemini-chat"], text: include_str!("matrix/gemini.toml") },
    File { families: &["bedrock-converse", "bedrock-mantle"], text: include_str!("matrix/bedrock.toml") },
    File {
        families: &[
            "xai-responses",
            "deepseek-responses",
            "openrouter-responses",
            "compatible",
            "cerebras",
            "deepseek",
            "docker",
            "github-models",
            "groq",
            "huggingface",
            "llamacpp",
            "lmstudio",
            "minimax",
            "mistral",
            "moonshot",
            "ollama",
            "openrouter",
            "perplexity",
            "qwen",
            "together",
            "vllm",
            "xai-chat",
            "zhipu",
        ],
        text: include_str!("matrix/servers.toml"),
    },
    File { families: &["offline"], text: include_str!("matrix/offline.toml") },
];

/// About as many as a family has, so that no list of them grows.
pub(super) const MANY: usize = 40;

/// The bodies of a family: its own, under no pattern, and those of its rows. A start looks through the whole file for
/// them, many bytes at once.
pub(super) fn bodies(family: &str) -> Option<Vec<(Option<&'static str>, &'static str)>> {
    let text = FILES.iter().find(|file| file.families.contains(&family))?.text;
    let heads = once(0).chain(memmem::find_iter(text.as_bytes(), "\n[").map(|at| at + 1));
    let (mut bodies, mut head) = (Vec::with_capacity(MANY), None);
    for at in heads.chain([text.len()]) {
        if let Some((head, from)) = head.take() {
            bodies.push((pattern(head), text.get(from..at)?));
        }
        let is_own = text.get(at..)?.strip_prefix('[').and_then(|rest| rest.strip_prefix(family));
        if let Some(rest) = is_own.filter(|rest| rest.starts_with([']', '.'])) {
            let end = memchr(b'\n', rest.as_bytes())?;
            head = Some((rest.get(..end)?, text.len() - rest.len() + end + 1));
        }
    }
    Some(bodies)
}

/// The pattern in the end of a head, `.models."PATTERN"]`.
fn pattern(head: &'static str) -> Option<&'static str> {
    head.strip_prefix(".models.\"")?.trim_end().strip_suffix("\"]")
}

/// The lines of a body that are no cells.
const REMARKS: [&str; 3] = ["like", "source", "checked"];

/// The cells of a body.
pub(super) fn cells(body: &'static str) -> impl Iterator<Item = (&'static str, Value)> {
    table_lines(body).filter(|(name, _)| !REMARKS.contains(name))
}

/// The row or family that a body starts from, which its first line names.
pub(super) fn like(body: &'static str) -> Option<&'static str> {
    Some(body.strip_prefix("like = \"")?.split_once('"')?.0)
}
