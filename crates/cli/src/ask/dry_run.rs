//! The request that a question would send first, without sending it.

use std::sync::Arc;

use attache_agent::{EstimatedTokens, TokenCounter};
use attache_core::{Message, Usage, UserMessage};
use attache_models::Registry;
use attache_tools::Folders;

use super::build::{Wanted, build, routing};
use crate::args::Ask;
use crate::config_files::Config;
use crate::model_by_name::{OFFLINE, SetupError};
use crate::output::short;
use crate::show::number::{counted, grouped};
use crate::show::width::terminal_width;
use crate::tools::sent;
use crate::wire::gathered;

pub(super) async fn told(
    ask: &Ask,
    name: &str,
    question: &UserMessage,
    folders: &Option<Arc<Folders>>,
    registry: &Registry,
    config: &Config,
) -> Result<String, SetupError> {
    let row = registry.capabilities(name)?;
    // The tools are those of every model, and this one needs no key.
    let wanted = Wanted::new(OFFLINE, &ask.model, config);
    let system = wanted.system(folders.is_some());
    let tools = build(&wanted, folders, registry)?.tool_manager().await;
    let tools = tools.map_err(|error| SetupError::new(error.to_string()))?.tools();
    let messages = [Message::system(system).shared(), Message::User(question.clone()).shared()];
    let options = routing();
    let materials = gathered(&messages, &row, &options, false).await;
    let report = attache_documents::explain(&messages, &row, &tools, &materials, &options);

    let whole = registry.names().find(|(alias, _)| *alias == name).map_or(name, |(_, model)| model);
    let mut text = format!("Nothing is sent. The model would be {whole}.\n");
    if row.row == "default" || row.row == "unknown" {
        text.push_str("It is not in the table: what is known of its provider in general applies.\n");
    }
    match report.decisions.as_slice() {
        [] => text.push_str("No documents are attached.\n"),
        decisions => {
            text.push_str(&format!("\nAttached, {}:\n", counted(decisions.len() as u64, "document")));
            for decision in decisions {
                text.push_str(&format!("  {}\n", short(&decision.to_string(), terminal_width())));
                if decision.tokens > 0 {
                    text.push_str(&format!("    about {} tokens\n", grouped(decision.tokens)));
                }
            }
        }
    }
    if let Some(folders) = folders {
        let folders = Arc::clone(folders);
        let listing = tokio::task::spawn_blocking(move || folders.list(None));
        let listing = listing.await.map_err(|error| SetupError::new(error.to_string()))?;
        let listing = listing.map_err(|error| SetupError::new(error.to_string()))?;
        let bytes: u64 = listing.files.iter().map(|file| file.size).sum();
        let files = counted(listing.files.len() as u64, "file");
        text.push_str(&format!("\nThe model may list and read {files}, {} bytes in all.\n", grouped(bytes)));
        if listing.omitted > 0 {
            text.push_str(&format!("A listing leaves out {} more.\n", grouped(listing.omitted as u64)));
        }
    }
    let count = |text: &str| EstimatedTokens.count_for(text, &row);
    let words: u64 = count(system)
        + count(&ask.question)
        + tools.iter().map(|(name, tool)| count(&sent(name, tool))).sum::<u64>();
    let tokens = words + report.tokens();
    text.push_str(&format!("\nThe first request has about {} tokens", grouped(tokens)));
    if let Some(window) = row.context_window {
        text.push_str(&format!(", of a window of {}", grouped(window)));
    }
    text.push_str(".\n");
    #[cfg(feature = "chat")]
    if ask.session.is_chosen() {
        text.push_str("Those of what the session holds come on top.\n");
    }
    let whole_name = format!("{}/{}", name.split('/').next().unwrap_or_default(), row.model);
    match &config.prices {
        Some(prices) => match prices
            .price(&whole_name, None)
            .and_then(|price| price.cost(&Usage::new(tokens, 0)))
        {
            Some(cost) => {
                text.push_str(&format!("Its input costs about {} {:.4}.\n", prices.currency(), cost.units()))
            }
            None => text.push_str(&format!("[prices] has no price for {whole_name}.\n")),
        },
        None => text.push_str("Nobody knows its cost: the configuration has no [prices].\n"),
    }
    Ok(text)
}
