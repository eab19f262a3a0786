//! A window of tokens.

use std::fmt;
use std::sync::Arc;

use attache_core::Message;

use crate::memory::look::{Look, Memory, shown};
use crate::memory::marks::Marks;
use crate::memory::past::Past;
use crate::memory::text_tokens::{EstimatedTokens, TokenCounter};

/// Shows the model the newest turns that have at most so many tokens, tools and system messages included.
///
/// Turns leave whole, oldest first, once the limit is passed, until the low mark is reached; so providers' caches hold in
/// between. Only when the newest turn alone has too many tokens, its oldest rounds leave, and what its author said stays.
/// System messages and [pinned](crate::PINNED) messages stay, and a word stands in the place of what left. Tokens are estimated, and the
/// estimate is corrected by what the provider counted last.
///
/// ```
/// use attache_agent::{Agent, TokenWindow};
/// # let model = attache_testkit::ScriptedModel::new([]);
/// let agent = Agent::builder(model).memory(TokenWindow::new(32_000)).build()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
#[must_use]
pub struct TokenWindow {
    limit: u64,
    low_mark: u64,
    counter: Arc<dyn TokenCounter>,
    exact: bool,
}

impl TokenWindow {
    /// A window of at most `max_tokens`, which is cut down to three quarters.
    pub fn new(max_tokens: u64) -> Self {
        let limit = max_tokens.max(1);
        Self { limit, low_mark: (limit / 4 * 3).max(1), counter: Arc::new(EstimatedTokens), exact: false }
    }

    /// Sets the tokens down to which it is cut.
    pub fn with_low_mark(mut self, low_mark: u64) -> Self {
        self.low_mark = low_mark.clamp(1, self.limit);
        self
    }

    /// Counts tokens with `counter`, in place of the estimate.
    pub fn with_counter(mut self, counter: impl TokenCounter) -> Self {
        self.counter = Arc::new(counter);
        self
    }

    /// Has the model's API count the conversation at the beginning of a run that may have too many tokens, where the API
    /// counts: Anthropic, Gemini, Bedrock, OpenAI's Responses. It is one more request, which bills no tokens. Where it
    /// fails, the estimate counts, and a warning (`count_failed`) says so.
    pub fn with_exact_counts(mut self, exact: bool) -> Self {
        self.exact = exact;
        self
    }
}

impl Memory for TokenWindow {
    fn look(&self, past: &Past<'_>, marks: &mut Marks) -> Look {
        let ledger = marks.ledger.get_or_insert_default();
        ledger.catch_up(past, &*self.counter);
        let now = ledger.now(past);
        let low_mark = if past.is_full { self.low_mark.min(now / 2) } else { self.low_mark };
        if !past.is_full && now <= self.limit {
            return shown(ledger.show(past));
        }
        let from = ledger.recent(low_mark.saturating_sub(ledger.fixed(past)), true);
        if from <= ledger.newest().from {
            return shown(ledger.show(past));
        }
        Look::Move(Box::new(ledger.mark(ledger.cut(from, from, past), past)))
    }

    fn asks_for_count(&self, past: &Past<'_>, marks: &mut Marks) -> Option<Vec<Arc<Message>>> {
        if !self.exact {
            return None;
        }
        let ledger = marks.ledger.get_or_insert_default();
        ledger.catch_up(past, &*self.counter);
        ledger.to_count(past, self.limit)
    }
}

impl fmt::Debug for TokenWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenWindow")
            .field("limit", &self.limit)
            .field("low_mark", &self.low_mark)
            .finish_non_exhaustive()
    }
}
