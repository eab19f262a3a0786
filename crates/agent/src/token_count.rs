//! The tokens that a run would be asked with, without running it.

use std::sync::Arc;
use std::time::Duration;

use attache_core::repair::{Repaired, repair};
use attache_core::{ChatRequest, Message};
use attache_documents::{Materials, gather, needs_routing, route};
use tokio::time::timeout;

use crate::driver::{conversation, shortened};
use crate::input::RunInput;
use crate::memory::message_tokens::of_request;
use crate::setup::Setup;
use crate::tools::ToolsError;

/// An estimate is better than an answer that takes longer.
const PATIENCE: Duration = Duration::from_secs(30);

/// The tokens of a request that is not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InputTokens {
    /// The number.
    pub tokens: u64,
    /// True if the model's API counted them, false for an estimate.
    pub is_counted: bool,
}

/// The reason why tokens cannot be counted: there is no such request.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CountError {
    /// The tools cannot be offered.
    #[error(transparent)]
    Tools(#[from] ToolsError),
    /// The documents cannot be shown to the model.
    #[error("{0}")]
    Documents(String),
}

/// Counts the first request of a run over that input: all that the model would be shown.
pub(crate) async fn input_tokens(setup: &Arc<Setup>, input: RunInput) -> Result<InputTokens, CountError> {
    let varied = match input.options.vary() {
        true => Some(Arc::new(setup.varied(&input.options, input.limits.as_ref())?)),
        false => None,
    };
    let setup = varied.as_ref().unwrap_or(setup);
    let (toolbox, _) = setup.toolbox().await?;
    let messages = conversation(setup.system.as_deref(), &input.history, &input.messages);
    let Repaired { mut messages, .. } = repair(&messages);
    let (reader, longest) = (setup.routing.read_tool.as_deref(), setup.limits.max_result_chars);
    for message in &mut messages {
        if let Message::ToolResults(results) = &**message
            && let Some(short) = shortened(results, longest, reader)
        {
            *message = Message::ToolResults(short).shared();
        }
    }
    let capabilities = setup.model.capabilities();
    if messages.iter().any(|message| needs_routing(message)) {
        let mut materials = Materials::default();
        let (store, fetcher) = (&*setup.store, setup.fetcher.as_deref());
        gather(&mut materials, &messages, capabilities, &setup.routing, store, fetcher, &setup.converters)
            .await;
        let routed = route(&messages, capabilities, &toolbox.set, &materials, &setup.routing);
        messages = routed.map_err(|error| CountError::Documents(error.to_string()))?.messages;
    }
    let estimated = of_request(&messages, &toolbox.set, capabilities, longest);
    let mut request = ChatRequest::new(messages);
    request.tools = Arc::clone(&toolbox.set);
    request.settings = setup.settings.clone();
    if let Some(counting) = setup.model.count_tokens(request) {
        match timeout(PATIENCE, counting).await {
            Ok(Ok(tokens)) => return Ok(InputTokens { tokens, is_counted: true }),
            Ok(Err(error)) => {
                tracing::warn!(%error, "the model's API did not count tokens, which are estimated");
            }
            Err(_) => tracing::warn!("the model's API did not count tokens in time, which are estimated"),
        }
    }
    Ok(InputTokens { tokens: estimated, is_counted: false })
}
