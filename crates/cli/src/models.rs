//! `attache models`: what is known of models.

mod refresh;

use std::io::IsTerminal;
use std::path::Path;

use attache_core::capability::{FileRules, PlaceCapabilities};
use attache_core::{MediaType, ModelCapabilities};
use attache_models::{Registry, RegistryError};
use serde_json::json;

use crate::args::Models;
use crate::exit::Exit;
use crate::model_by_name::SetupError;
use crate::output::{answer, fail, line, page, word, written};
use crate::show::number::grouped;
use crate::show::table::Table;
use crate::show::width::terminal_width;

/// Runs the command. `capabilities` is the file on top of the bundled table.
pub(crate) async fn run(models: &Models, capabilities: Option<&Path>, registry: &Registry) -> Exit {
    if let Some(provider) = &models.refresh {
        return refresh::run(models, provider, capabilities, registry).await;
    }
    let pattern = models.pattern.as_deref().unwrap_or_default();
    let rows = match rows(registry, pattern) {
        Ok(rows) => rows,
        Err(error) => {
            let error = SetupError::from(error);
            fail(&format!("{pattern:?} is unknown: {error}"));
            return Exit::Setup;
        }
    };
    let text: String = match rows.as_slice() {
        rows if models.json => rows
            .iter()
            .map(|(name, row)| format!("{}\n", json!({ "id": name, "capabilities": row })))
            .collect(),
        [(name, row)] => describe(name, row),
        rows => table(rows).render(terminal_width()),
    };
    let exit = written(if models.json { answer(&text) } else { page(&text) });
    if rows.len() > 1 && !models.json && std::io::stdout().is_terminal() {
        line("· `attache models PROVIDER/MODEL` prints everything known about one model");
    }
    exit
}

type Row = (String, ModelCapabilities);

/// The rows whose name holds the pattern; if there is none, what is known of the model of that name.
fn rows(registry: &Registry, pattern: &str) -> Result<Vec<Row>, RegistryError> {
    let mut rows = Vec::new();
    for (provider, family) in registry.providers() {
        let mut models = registry.matrix().patterns(family);
        // Every other model of the provider.
        models.push("*");
        for model in models {
            let name = format!("{provider}/{model}");
            if name.contains(pattern) {
                let row = registry.capabilities(&name)?;
                rows.push((name, row));
            }
        }
    }
    if rows.is_empty() {
        rows.push((pattern.to_owned(), registry.capabilities(pattern)?));
    }
    Ok(rows)
}

/// A line for each row, with as many columns as there is room for.
fn table(rows: &[Row]) -> Table {
    let heads = ["model", "user message", "tool result", "window", "reply", "JSON", "caching"];
    let columns = |count: usize| {
        let mut table = Table::new(heads.iter().take(count).copied());
        for (name, row) in rows {
            let cells = [
                name.clone(),
                kinds(&row.user),
                kinds(&row.tool_result),
                row.context_window.map_or_else(|| "?".to_owned(), grouped),
                row.max_output_tokens.map_or_else(|| "?".to_owned(), grouped),
                word(&row.structured_output),
                word(&row.caching),
            ];
            table.row(cells.iter().take(count));
        }
        table
    };
    let width = terminal_width();
    let counts = (3..=heads.len()).rev();
    counts.map(columns).find(|table| table.fits(width)).unwrap_or_else(|| columns(3))
}

/// The kinds of documents that a place takes.
fn kinds(place: &PlaceCapabilities) -> String {
    let mut kinds: Vec<&str> = Vec::new();
    for media in &place.media {
        let kind = match media.split_once('/') {
            None => media.as_str(),
            Some(("application", "pdf")) => "PDF",
            Some((kind @ ("image" | "audio" | "video" | "text"), _)) => kind,
            Some(_) => "others",
        };
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    if kinds.is_empty() { "nothing".to_owned() } else { kinds.join(", ") }
}

fn describe(name: &str, row: &ModelCapabilities) -> String {
    let note = match row.family.as_str() {
        "offline" => "\n  no language model: it quotes the passages that fit best; no key, no network",
        _ => "",
    };
    let efforts: Vec<&str> = row.efforts.iter().map(|effort| effort.as_str()).collect();
    let reasoning = match (row.reasoning.is_empty(), efforts.is_empty()) {
        (true, _) => "cannot be set".to_owned(),
        (false, true) => row.reasoning.join("/"),
        (false, false) => format!("{} ({})", row.reasoning.join("/"), efforts.join(" ")),
    };
    format!(
        "{name}{note}\n  user message: {}\n  tool result:  {}\n  failed:       {}\n  beside it:    {}\n  files:        {}\n  \
         window {} tokens, reply {} tokens\n  tools {}, parallel {}, forced {}; structured output {}; caching {}; sampling {}\n  \
         reasoning {reasoning}; goes back: {}\n  from: {}\n\n",
        place(&row.user),
        place(&row.tool_result),
        place(&row.failed_result),
        place(&row.beside_result),
        files(&row.files),
        number(row.context_window),
        number(row.max_output_tokens),
        yes(row.tools),
        yes(row.parallel_tools),
        yes(row.forced_tools),
        word(&row.structured_output),
        word(&row.caching),
        yes(row.sampling),
        word(&row.reasoning_replay),
        match row.row.as_str() {
            "default" => format!("the default row of {}", row.family),
            "unknown" => format!("nothing: the family {} is not in the table", row.family),
            pattern => format!("the row {pattern} of {}", row.family),
        },
    )
}

/// Media types and limits.
fn place(place: &PlaceCapabilities) -> String {
    let mut text = if place.media.is_empty() { "nothing".to_owned() } else { place.media.join(" ") };
    let limits = [
        (place.max_bytes, "bytes each"),
        (place.max_image_bytes, "bytes an image"),
        (place.max_count, "documents"),
        (place.max_pages, "pages"),
        (place.max_pixels, "pixels a side"),
    ];
    let limits: Vec<String> =
        limits.iter().filter_map(|(limit, unit)| Some(format!("{} {unit}", (*limit)?))).collect();
    if !limits.is_empty() {
        text.push_str(&format!(" (at most {})", limits.join(", ")));
    }
    let uploaded: Vec<&str> = uploaded(place).collect();
    if !uploaded.is_empty() {
        text.push_str(&format!(" (can be uploaded: {})", uploaded.join(" ")));
    }
    if place.needs_text == Some(true) {
        text.push_str(" (with a text beside documents)");
    }
    if let Some(urls) = &place.urls {
        let urls = if urls.is_empty() { "none".to_owned() } else { urls.join(" ") };
        text.push_str(&format!(" (by URL: {urls})"));
    }
    if !place.url_only.is_empty() {
        text.push_str(&format!(" (by URL only: {})", place.url_only.join(" ")));
    }
    text
}

/// The types that can be uploaded, of those that are taken.
fn uploaded(place: &PlaceCapabilities) -> impl Iterator<Item = &str> {
    let covers = |wide: &str, narrow: &str| MediaType::parse(narrow).is_some_and(|media| media.matches(wide));
    let is_taken = move |pattern: &&str| {
        place.media.iter().any(|media| media == pattern || covers(media, pattern) || covers(pattern, media))
    };
    place.references.iter().map(String::as_str).filter(is_taken)
}

fn files(rules: &FileRules) -> String {
    let known = |rule: Option<bool>| rule.map_or("unknown", yes);
    let count = rules.max_files.map(|most| format!(", {most} files")).unwrap_or_default();
    format!(
        "request at most {} bytes{count}; names needed: {}; upload: {}; URLs: {}",
        number(rules.max_request_bytes),
        known(rules.names_required),
        known(rules.upload),
        known(rules.urls),
    )
}

fn number(limit: Option<u64>) -> String {
    limit.map_or_else(|| "unknown".to_owned(), |limit| limit.to_string())
}

fn yes(is: bool) -> &'static str {
    if is { "yes" } else { "no" }
}
