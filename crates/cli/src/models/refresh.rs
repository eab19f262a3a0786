//! The models that a provider's server has, and what it says of those that the table does not know.

use std::path::Path;
use std::time::SystemTime;

use attache_core::ErrorKind;
use attache_models::{Registry, RegistryError, Unresolved};
use attache_transport::ListedModel;
use serde_json::json;

use crate::args::Models;
use crate::exit::Exit;
use crate::model_by_name::{self, SetupError};
use crate::output::{answer, fail, harmless, line, page, short, word, written};
use crate::overlay::{Overlay, date, may_write, overlay};
use crate::replace_file::put;

/// The first words of every file of ours. A file that begins otherwise is not overwritten.
const MARK: &str = "# attache models";

/// A model, with what the server says beyond what is known.
struct Found {
    name: String,
    has_row: bool,
    said: String,
    adds: Overlay,
}

pub(super) async fn run(
    models: &Models,
    provider: &str,
    capabilities: Option<&Path>,
    registry: &Registry,
) -> Exit {
    if let Some(file) = models.save.as_deref()
        && let Err((exit, problem)) = may_write(file, MARK, capabilities)
    {
        fail(&format!("{}: {problem}", file.display()));
        return exit;
    }
    let registry = model_by_name::at(registry, models.base_url.as_deref());
    let asking = registry.list_models(provider);
    let listed = tokio::select! {
        listed = asking => listed,
        _ = tokio::signal::ctrl_c() => return Exit::Cancelled,
    };
    let listed = match listed {
        Ok(Some(listed)) => listed,
        Ok(None) => {
            fail(&format!("the API of {provider} does not list models"));
            return Exit::Setup;
        }
        Err(error) => return failed(error),
    };
    let pattern = models.pattern.as_deref().unwrap_or_default();
    let provider = provider.trim_end_matches('/');
    let named = listed.iter().map(|model| (format!("{provider}/{}", model.id), model));
    let mut found = Vec::new();
    for (name, model) in named.filter(|(name, _)| name.contains(pattern)) {
        match look(&registry, name.clone(), model) {
            Ok(model) => found.push(model),
            Err(problem) => fail(&format!("{}: {problem}", harmless(&name))),
        }
    }
    let text: String =
        found.iter().map(|model| if models.json { as_json(model) } else { as_text(model) }).collect();
    let told = if models.json { answer(&text) } else { page(&text) };
    if told.is_err() {
        return written(told);
    }
    let adding = found.iter().filter(|model| !model.adds.is_empty()).count();
    line(&format!("· {} models, {adding} of them with information that is not in the table", found.len()));
    match models.save.as_deref().map(|file| save(file, provider, &found)) {
        Some(Err(problem)) => {
            fail(&problem);
            Exit::Setup
        }
        _ => Exit::Done,
    }
}

fn failed(error: RegistryError) -> Exit {
    match &error.reason {
        Unresolved::Setup(cause) if cause.kind() != ErrorKind::Configuration => {
            fail(&harmless(&error.to_string()));
            if let Some(advice) = model_by_name::advice(cause) {
                line(&format!("  {advice}"));
            }
            Exit::Failed
        }
        _ => {
            fail(&SetupError::from(error).to_string());
            Exit::Setup
        }
    }
}

fn look(registry: &Registry, name: String, model: &ListedModel) -> Result<Found, String> {
    let now = registry.capabilities(&name).map_err(|error| error.to_string())?;
    let mut wanted = now.clone();
    model.fill(&mut wanted);
    let adds = overlay(registry, &name, &now, &wanted)?;
    let has_row = !matches!(now.row.as_str(), "default" | "unknown");
    Ok(Found { name, has_row, said: said(model), adds })
}

/// The server's word on a model.
fn said(model: &ListedModel) -> String {
    let number = |told: Option<u64>, unit: &str| told.map(|told| format!("{unit} {told}"));
    let flag = |told: Option<bool>, word: &str| {
        told.map(|is| if is { word.to_owned() } else { format!("no {word}") })
    };
    let words = [
        number(model.context_window, "window"),
        number(model.max_output_tokens, "reply"),
        flag(model.images, "images"),
        flag(model.pdfs, "PDFs"),
        flag(model.tools, "tools"),
        model.structured_output.as_ref().map(|form| format!("structured output {}", word(form))),
        model.reasoning.as_ref().map(|ways| format!("reasoning {}", ways.join("/"))),
    ];
    words.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn as_text(model: &Found) -> String {
    let (known, said) = (if model.has_row { "known" } else { "new  " }, &model.said);
    let said = if said.is_empty() { String::new() } else { format!("  {said}") };
    format!("{known}  {}{said}\n", harmless(&model.name))
}

fn as_json(model: &Found) -> String {
    let line = json!({
        "id": model.name,
        "has_row": model.has_row,
        "said": model.said,
        "adds": model.adds.cells().map(|(name, value)| (name.to_owned(), json!(value))).collect::<serde_json::Map<_, _>>(),
    });
    format!("{line}\n")
}

/// Writes what the server says beyond what is known.
fn save(file: &Path, provider: &str, found: &[Found]) -> Result<(), String> {
    // A file of an earlier time would lose what it says.
    if found.iter().all(|model| model.adds.is_empty()) {
        line(&format!("· there is nothing to add; {} was not written", file.display()));
        return Ok(());
    }
    let mut text = format!(
        "{MARK} --refresh {}: what its server said on {}, beyond what the capability table knows.\n# Give this file to \
         --capabilities.\n",
        short(provider, 200),
        date(SystemTime::now())
    );
    for model in found.iter().filter(|model| !model.adds.is_empty()) {
        text.push_str(&format!("\n{}", model.adds));
    }
    put(file, &text).map_err(|error| format!("{}: {error}", file.display()))?;
    line(&format!("· saved to {}: pass it to --capabilities", file.display()));
    Ok(())
}
