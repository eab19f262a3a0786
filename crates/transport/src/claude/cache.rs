//! The places of cache markers (anthropic.md 7).

use std::sync::Arc;

use attache_core::capability::Caching;
use attache_core::settings::CachePolicy;
use attache_core::{ChatRequest, Message, ModelCapabilities, ModelSettings, ProviderError};
use serde_json::Value;

use crate::encoded_log::EncodedLog;
use crate::refused_options::Refusals;

/// The maximum number of markers that a request may carry, and the maximum number of blocks that the API looks back
/// from one for an entry written earlier.
const MAX_MARKERS: usize = 4;
const LOOKBACK: usize = 20;

/// The time for which markers keep what stands before them; off where no markers are wanted. `markers` is the API's word,
/// and `own` are those that the caller placed before ours.
///
/// Where the caller says nothing, markers are placed as soon as the request can be expected to be followed by one
/// that repeats it: with tools, or after a first answer. They cost a quarter of the price of what is new, once, and
/// save nine tenths of it at each later step. A single question without tools is sent without.
///
/// # Errors
/// [`ErrorKind::Unsupported`](attache_core::ErrorKind::Unsupported) for a model that takes none, unless the caller
/// allows it, and for an hour behind a marker of the caller's that keeps five minutes, which the API does not take.
pub fn cache_policy(
    request: &ChatRequest,
    settings: &ModelSettings,
    capabilities: &ModelCapabilities,
    markers: &str,
    own: &[&Value],
    refusals: &mut Refusals<'_>,
) -> Result<CachePolicy, ProviderError> {
    let explicit = capabilities.caching == Caching::Explicit;
    Ok(match settings.cache {
        Some(CachePolicy::Off) => CachePolicy::Off,
        Some(_) if !explicit => {
            refusals.refuse("cache", &format!("the model takes no cache {markers}"), "there are none")?;
            CachePolicy::Off
        }
        Some(CachePolicy::Long) if !own.iter().all(|marker| keeps_an_hour(marker)) => {
            let why = format!(
                "an hour may not stand behind the cache {markers} of extra_body, which keep five minutes"
            );
            refusals.refuse("cache", &why, "they keep five minutes too")?;
            CachePolicy::Short
        }
        Some(policy) => policy,
        None if explicit && goes_on(request) => CachePolicy::Short,
        None => CachePolicy::Off,
    })
}

/// True if a marker of the caller's keeps what stands before it for an hour.
pub fn keeps_an_hour(marker: &Value) -> bool {
    marker.get("ttl").is_some_and(|ttl| ttl == "1h")
}

fn goes_on(request: &ChatRequest) -> bool {
    !request.tools.is_empty()
        || request.messages.iter().any(|message| matches!(&**message, Message::Assistant(_)))
}

/// The places of a request's markers.
#[derive(Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct CachePlaces {
    /// Behind the tools.
    pub tools: bool,
    /// Behind the instructions.
    pub system: bool,
    /// Messages whose last block carries one.
    pub messages: Vec<usize>,
}

impl CachePlaces {
    /// Spends the markers in the order of what they save: on the end of the conversation, which the next request
    /// reads; on the end of what tools and system make; on the end of the request before, which this one reads;
    /// between the two where the last step is longer than the API looks back; on the tools alone.
    ///
    /// A message that takes none leaves it to the one before it. `spent` are those that the caller placed.
    pub fn place(
        messages: &[Arc<Message>],
        log: &EncodedLog,
        has_tools: bool,
        has_system: bool,
        spent: usize,
    ) -> Self {
        let mut left = MAX_MARKERS.saturating_sub(spent);
        let mut spend = || {
            let affordable = left > 0;
            left = left.saturating_sub(1);
            affordable
        };
        let mut places = Self::default();
        let of_user = |at: &usize| !is_assistant(messages, *at) && log.takes_marker(*at);
        let last = (0..messages.len()).rev().find(of_user);
        if let Some(last) = last.filter(|_| spend()) {
            places.messages.push(last);
        }
        if has_system && spend() {
            places.system = true;
        } else if has_tools && spend() {
            places.tools = true;
        }
        let answer = last.and_then(|last| (0..last).rev().find(|at| is_assistant(messages, *at)));
        let before = answer.and_then(|answer| (0..answer).rev().find(of_user));
        if let (Some(last), Some(answer), Some(before)) = (last, answer, before) {
            if spend() {
                places.messages.push(before);
            }
            let step = messages.get(before + 1..=last).unwrap_or_default();
            let blocks: usize = step.iter().map(|message| blocks(message)).sum();
            if blocks > LOOKBACK && log.takes_marker(answer) && spend() {
                places.messages.push(answer);
            }
        }
        if has_tools && !places.tools && spend() {
            places.tools = true;
        }
        places
    }
}

fn is_assistant(messages: &[Arc<Message>], at: usize) -> bool {
    messages.get(at).is_some_and(|message| matches!(&**message, Message::Assistant(_)))
}

fn blocks(message: &Message) -> usize {
    match message {
        Message::System(message) => message.parts.len(),
        Message::User(message) => message.shown().len(),
        Message::Assistant(message) => message.parts.len(),
        Message::ToolResults(message) => message.results.len(),
        _ => 1,
    }
}
