//! Where cache markers stand (anthropic.md 7).

use std::sync::Arc;

use attache_core::{CachePolicy, Caching, ChatRequest, Message, ProviderError};
use attache_transport::EncodedLog;
use attache_transport::{Codec as _, Refusals};

use super::Ask;
/// The most markers that a request may carry, and the most blocks that the API looks back from one for an entry
/// written earlier.
const MAX_MARKERS: usize = 4;
const LOOKBACK: usize = 20;

/// The places of a request's markers.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Markers {
    pub(super) tools: bool,
    pub(super) system: bool,
    /// Messages whose last block carries one.
    pub(super) messages: Vec<usize>,
}

/// The marker's member, to be spliced before the `}` of a block; `None` where no markers are wanted.
///
/// Where the caller says nothing, markers are placed as soon as the request can be expected to be followed by one
/// that repeats it: with tools, or after a first answer. They cost a quarter of the price of what is new, once, and
/// save nine tenths of it at each later step. A single question without tools is sent without.
pub(super) fn marker(
    ask: Ask<'_>,
    refusals: &mut Refusals<'_>,
) -> Result<Option<&'static str>, ProviderError> {
    let explicit = ask.codec.capabilities().caching == Caching::Explicit;
    let policy = match ask.config.cache {
        Some(CachePolicy::Off) => CachePolicy::Off,
        Some(_) if !explicit => {
            refusals.refuse("cache", "the model takes no cache markers", "there are none")?;
            CachePolicy::Off
        }
        Some(policy) => policy,
        None if explicit && goes_on(ask.request) => CachePolicy::Short,
        None => CachePolicy::Off,
    };
    Ok(match policy {
        CachePolicy::Short => Some(r#","cache_control":{"type":"ephemeral"}"#),
        CachePolicy::Long => Some(r#","cache_control":{"type":"ephemeral","ttl":"1h"}"#),
        _ => None,
    })
}

fn goes_on(request: &ChatRequest) -> bool {
    !request.tools.is_empty()
        || request.messages.iter().any(|message| matches!(&**message, Message::Assistant(_)))
}

impl Markers {
    /// Spends the markers in the order of what they save: on the end of the conversation, which the next request
    /// reads; on the end of what tools and system make; on the end of the request before, which this one reads;
    /// between the two where the last step is longer than the API looks back; on the tools alone.
    ///
    /// `automatic` tells that the caller placed one of the four by a `cache_control` of the whole request.
    pub(super) fn place(
        messages: &[Arc<Message>],
        log: &EncodedLog,
        has_tools: bool,
        has_system: bool,
        automatic: bool,
    ) -> Self {
        let mut left = MAX_MARKERS - usize::from(automatic);
        let mut spend = || {
            let affordable = left > 0;
            left = left.saturating_sub(1);
            affordable
        };
        let mut markers = Self::default();
        let of_user = |at: &usize| !is_assistant(messages, *at) && log.takes_marker(*at);
        let Some(last) = (0..messages.len()).rev().find(of_user) else {
            return Self { tools: has_tools, system: has_system, messages: Vec::new() };
        };
        if spend() {
            markers.messages.push(last);
        }
        if has_system && spend() {
            markers.system = true;
        } else if has_tools && spend() {
            markers.tools = true;
        }
        let answer = (0..last).rev().find(|at| is_assistant(messages, *at));
        let before = answer.and_then(|answer| (0..answer).rev().find(of_user));
        if let (Some(answer), Some(before)) = (answer, before) {
            if spend() {
                markers.messages.push(before);
            }
            let step = messages.get(before + 1..=last).unwrap_or_default();
            let blocks: usize = step.iter().map(|message| blocks(message)).sum();
            if blocks > LOOKBACK && log.takes_marker(answer) && spend() {
                markers.messages.push(answer);
            }
        }
        if has_tools && !markers.tools && spend() {
            markers.tools = true;
        }
        markers
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
