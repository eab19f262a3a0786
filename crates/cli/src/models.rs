//! `attache models`: what is known of models.

use attache_core::{Matrix, ModelCapabilities};
use serde_json::json;

use crate::args::Models;
use crate::exit::Exit;
use crate::model::{self, Provider};
use crate::output::{answer, line};

/// Runs the command.
pub(crate) fn run(models: &Models, matrix: &Matrix) -> Exit {
    let pattern = models.pattern.as_deref().unwrap_or_default();
    let mut rows: Vec<(String, ModelCapabilities)> = Vec::new();
    for provider in Provider::ALL {
        let mut patterns = matrix.patterns(provider.name());
        // Every other model of the provider.
        patterns.push("*");
        for row in patterns {
            let name = format!("{}/{row}", provider.name());
            if name.contains(pattern) {
                rows.push((name, provider.capabilities(matrix, row)));
            }
        }
    }
    if rows.is_empty()
        && let Ok((provider, id)) = model::parse(pattern)
    {
        rows.push((pattern.to_owned(), provider.capabilities(matrix, id)));
    }
    if rows.is_empty() {
        line(&format!("attache: nothing is known of {pattern:?}; `attache models` lists what is"));
        return Exit::Setup;
    }
    let text: String = if models.json {
        rows.iter().map(|(name, row)| format!("{}\n", json!({ "id": name, "capabilities": row }))).collect()
    } else {
        rows.iter().map(|(name, row)| describe(name, row)).collect()
    };
    if answer(&text).is_err() {
        return Exit::Failed;
    }
    Exit::Done
}

fn describe(name: &str, row: &ModelCapabilities) -> String {
    let number = |limit: Option<u64>| limit.map_or_else(|| "unknown".to_owned(), |limit| limit.to_string());
    let note = match row.family.as_str() {
        "offline" => "\n  no language model: it quotes the passages that fit best; no key, no network",
        _ => "",
    };
    format!(
        "{name}{note}\n  user message: {}\n  tool result:  {}\n  window {} tokens, reply {} tokens, parallel tools {}, \
         caching {}, reasoning {}\n  from: {}\n\n",
        row.user.media.join(" "),
        row.tool_result.media.join(" "),
        number(row.context_window),
        number(row.max_output_tokens),
        if row.parallel_tools { "yes" } else { "no" },
        word(&row.caching),
        if row.reasoning.is_empty() { "no".to_owned() } else { row.reasoning.join("/") },
        match row.row.as_str() {
            "default" => format!("the default row of {}", row.family),
            pattern => format!("the row {pattern} of {}", row.family),
        },
    )
}

fn word(value: &impl serde::Serialize) -> String {
    let text = serde_json::to_string(value).unwrap_or_default();
    text.trim_matches('"').to_owned()
}
