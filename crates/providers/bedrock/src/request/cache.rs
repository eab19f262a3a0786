//! Where cache points stand (bedrock.md 6).

use std::sync::Arc;

use attache_core::{CachePolicy, Caching, ChatRequest, Message, ProviderError};
use attache_transport::{Codec as _, EncodedLog, Refusals};

use super::Ask;
use crate::capabilities::takes_long_cache;

/// The most cache points that a request may carry, and the most blocks that the API looks back from one for an entry
/// written earlier.
const MAX_POINTS: usize = 4;
const LOOKBACK: usize = 20;

/// The places of a request's cache points.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Points {
    pub(super) tools: bool,
    pub(super) system: bool,
    /// Messages that one stands in.
    pub(super) messages: Vec<usize>,
}

/// A cache point, as a block behind others; `None` where none are wanted.
///
/// Where the caller says nothing, they are placed as soon as the request can be expected to be followed by one that
/// repeats it: with tools, or after a first answer. They cost a quarter of the price of what is new, once, and save
/// nine tenths of it at each later step. A single question without tools is sent without.
pub(super) fn point(
    ask: Ask<'_>,
    refusals: &mut Refusals<'_>,
) -> Result<Option<&'static str>, ProviderError> {
    let capabilities = ask.codec.capabilities();
    let explicit = capabilities.caching == Caching::Explicit;
    let policy = match ask.config.cache {
        Some(CachePolicy::Off) => CachePolicy::Off,
        Some(_) if !explicit => {
            refusals.refuse("cache", "the model takes no cache points", "there are none")?;
            CachePolicy::Off
        }
        Some(CachePolicy::Long) if !takes_long_cache(capabilities) => {
            let why = "the model keeps what it caches for five minutes only";
            refusals.refuse("cache", why, "it is kept that long")?;
            CachePolicy::Short
        }
        Some(policy) => policy,
        None if explicit && goes_on(ask.request) => CachePolicy::Short,
        None => CachePolicy::Off,
    };
    Ok(match policy {
        CachePolicy::Short => Some(r#",{"cachePoint":{"type":"default"}}"#),
        CachePolicy::Long => Some(r#",{"cachePoint":{"type":"default","ttl":"1h"}}"#),
        _ => None,
    })
}

fn goes_on(request: &ChatRequest) -> bool {
    !request.tools.is_empty()
        || request.messages.iter().any(|message| matches!(&**message, Message::Assistant(_)))
}

impl Points {
    /// Spends the points in the order of what they save: on the end of the conversation, which the next request
    /// reads; on the end of what tools and system make; on the end of the request before, which this one reads;
    /// between the two where the last step is longer than the API looks back; on the tools alone.
    ///
    /// A message that holds nothing but documents takes none, so the one before it does. `spent` are those that the
    /// caller placed.
    pub(super) fn place(
        messages: &[Arc<Message>],
        log: &EncodedLog,
        has_tools: bool,
        has_system: bool,
        spent: usize,
    ) -> Self {
        let mut left = MAX_POINTS.saturating_sub(spent);
        let mut spend = || {
            let affordable = left > 0;
            left = left.saturating_sub(1);
            affordable
        };
        let mut points = Self::default();
        let of_user = |at: &usize| !is_assistant(messages, *at) && log.takes_marker(*at);
        let last = (0..messages.len()).rev().find(of_user);
        if let Some(last) = last.filter(|_| spend()) {
            points.messages.push(last);
        }
        if has_system && spend() {
            points.system = true;
        } else if has_tools && spend() {
            points.tools = true;
        }
        let answer = last.and_then(|last| (0..last).rev().find(|at| is_assistant(messages, *at)));
        let before = answer.and_then(|answer| (0..answer).rev().find(of_user));
        if let (Some(last), Some(answer), Some(before)) = (last, answer, before) {
            if spend() {
                points.messages.push(before);
            }
            let step = messages.get(before + 1..=last).unwrap_or_default();
            let blocks: usize = step.iter().map(|message| blocks(message)).sum();
            if blocks > LOOKBACK && log.takes_marker(answer) && spend() {
                points.messages.push(answer);
            }
        }
        if has_tools && !points.tools && spend() {
            points.tools = true;
        }
        points
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
