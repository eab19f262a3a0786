//! Compaction: a summary stands in for what is old.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use attache_core::tool::ConversationDocuments;
use attache_core::{Message, ModelHandle, Role};

use crate::input::is_run_only;
use crate::memory::ledger::Ledger;
use crate::memory::look::{Look, Memory, shown};
use crate::memory::mark::{Mark, is_mark};
use crate::memory::marks::Marks;
use crate::memory::message_tokens::{SHORT_RESULT, named};
use crate::memory::past::Past;
use crate::memory::summary::Summarise;
use crate::memory::text_tokens::{EstimatedTokens, TokenCounter};

/// The place of the summary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SummaryPlacement {
    /// It is a system message right behind the agent's; each API has it in its place for instructions.
    #[default]
    System,
    /// It is a user message before those that are shown.
    User,
}

/// Shows the model a summary in the place of what is old, once a request has too many tokens.
///
/// The model is then shown three parts, in this order: the system messages with the summary, the
/// [pinned](crate::PINNED) messages, and the newest turns or rounds as they are. The words of the author of
/// the turn under way stay, and no call is parted from its results. Before a summary is asked for, results of
/// old calls are cleared, which may do; a note says how to get each back. A summary that fails, is empty or
/// too long changes nothing: the run goes on with a warning, and only if it cannot, the oldest turns leave.
///
/// The messages stay in the history and in the log.
///
/// ```
/// use attache_agent::{Agent, Compaction};
/// # let model = attache_testkit::ScriptedModel::new([]);
/// # let cheap = attache_testkit::ScriptedModel::new([]);
/// let memory = Compaction::new().with_threshold(100_000).with_model(cheap);
/// let agent = Agent::builder(model).memory(memory).build()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
#[must_use]
pub struct Compaction {
    threshold: u64,
    recent: u64,
    ceiling: u64,
    placement: SummaryPlacement,
    clears: bool,
    model: Option<ModelHandle>,
    timeout: Duration,
    instructions: Option<String>,
    counter: Arc<dyn TokenCounter>,
    exact: bool,
}

/// Documents that a summary names at most.
const REFERENCES: usize = 40;

impl Default for Compaction {
    fn default() -> Self {
        Self::new()
    }
}

impl Compaction {
    /// Acts above 64,000 tokens, keeps the newest 12,000 as they are, and leaves at most 16,000.
    pub fn new() -> Self {
        Self {
            threshold: 64_000,
            recent: 12_000,
            ceiling: 16_000,
            placement: SummaryPlacement::System,
            clears: true,
            model: None,
            timeout: Duration::from_secs(120),
            instructions: None,
            counter: Arc::new(EstimatedTokens),
            exact: false,
        }
    }

    /// Sets the tokens of a request above which it acts. Four fifths of the model's window count, if they are fewer.
    pub fn with_threshold(mut self, tokens: u64) -> Self {
        self.threshold = tokens.max(1);
        self
    }

    /// Sets the tokens of the newest messages that stay as they are.
    pub fn with_recent(mut self, tokens: u64) -> Self {
        self.recent = tokens;
        self
    }

    /// Sets the maximum number of tokens of a request afterwards, as far as tools, instructions and the newest round
    /// leave room.
    pub fn with_ceiling(mut self, tokens: u64) -> Self {
        self.ceiling = tokens.max(1);
        self
    }

    /// Sets where the summary stands.
    pub fn with_placement(mut self, placement: SummaryPlacement) -> Self {
        self.placement = placement;
        self
    }

    /// Says whether old results are cleared before a summary is asked for. They are by default.
    pub fn with_clearing(mut self, clears: bool) -> Self {
        self.clears = clears;
        self
    }

    /// Has another model write the summary than the run's.
    pub fn with_model(mut self, model: impl Into<ModelHandle>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Sets how long a request for a summary may take. 120 s by default.
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Says what the summary must keep, beside the usual.
    pub fn with_instructions(mut self, instructions: impl Into<String>) -> Self {
        self.instructions = Some(instructions.into());
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

    /// The tokens above which it acts on a conversation with this model.
    fn threshold_of(&self, past: &Past<'_>) -> u64 {
        let window = past.capabilities.context_window;
        window.map_or(self.threshold, |window| self.threshold.min(window / 5 * 4))
    }

    /// The mark or the summary that brings the request under the ceiling, if there is one.
    fn decide(&self, ledger: &Ledger, past: &Past<'_>, now: u64, fits: bool) -> Option<Look> {
        let ceiling = self.ceiling.min(self.threshold);
        let summary_tokens = (ceiling / 4).clamp(1, 4_000);
        let room = ceiling.saturating_sub(ledger.fixed(past)).saturating_sub(summary_tokens);
        let frame = ledger.newest();
        let recent = |room: u64| ledger.recent(room.min(self.recent), false);
        // The words before it that stay take their part of the room.
        let further = |from: usize, named: u64| {
            let beside = ledger.kept_beside(from, past).saturating_add(named);
            Some(recent(room.saturating_sub(beside))).filter(|next| *next > from)
        };
        let mut from = recent(room);
        while let Some(next) = further(from, 0) {
            from = next;
        }
        if self.clears && from > frame.rest {
            let cut = ledger.cut_further(from, past);
            let after = ledger.would_leave(&cut, past, &*self.counter);
            if after <= ceiling && after.saturating_mul(10) <= now.saturating_mul(9) {
                return Some(Look::Move(Box::new(ledger.mark(cut, past))));
            }
        }
        if past.is_full && from <= frame.from {
            from = ledger.recent(0, false);
        }
        if from <= frame.from {
            return None;
        }
        let (old, recent) = (ledger.between(frame.from, from), ledger.between(from, past.history.len()));
        if fits && old.saturating_mul(2) < recent {
            return None;
        }
        if past.failed_at.is_some() && !fits {
            return Some(Look::Move(Box::new(ledger.mark(ledger.cut(from, from, past), past))));
        }
        // So do the documents that are named behind a summary.
        let counter = self.counter_for(past);
        let mut named = references(past.history.get(..from).unwrap_or_default());
        while let Some(next) = further(from, counter.count(&named)) {
            from = next;
            named = references(past.history.get(..from).unwrap_or_default());
        }
        let mark = ledger.mark(ledger.cut(from, from, past), past);
        let mark = Mark { as_user: self.placement == SummaryPlacement::User, ..mark };
        let messages = past.history.get(frame.from..from).unwrap_or_default().iter();
        // A record outlives the run that alone was told something.
        let messages = messages
            .filter(|message| message.role() != Role::System && !is_mark(message) && !is_run_only(message));
        let window = self.model.as_ref().map_or(past.capabilities, ModelHandle::capabilities).context_window;
        Some(Look::Summarise(Box::new(Summarise {
            mark,
            messages: messages.cloned().collect(),
            earlier: frame.mark.summary.clone(),
            references: named,
            replaces: ledger.between(frame.from, from),
            max_tokens: summary_tokens,
            piece_tokens: window.map_or(48_000, |window| (window / 2).min(48_000)),
            timeout: self.timeout,
            model: self.model.clone(),
            instructions: self.instructions.clone(),
            counter,
        })))
    }
}

impl Compaction {
    /// The counter for texts of the run's model.
    fn counter_for(&self, past: &Past<'_>) -> Arc<dyn TokenCounter> {
        let (counter, model) = (Arc::clone(&self.counter), past.capabilities.clone());
        Arc::new(move |text: &str| counter.count_for(text, &model))
    }
}

/// The documents of messages that tools can take, the newest ones, as lines behind a summary.
fn references(messages: &[Arc<Message>]) -> String {
    let (mut seen, mut lines) = (HashSet::new(), String::new());
    for message in messages.iter().rev() {
        for document in ConversationDocuments::of([message]).iter() {
            if seen.insert(document.id().clone()) && seen.len() <= REFERENCES {
                lines.push_str(&format!("\n- {}", named(document)));
            }
        }
    }
    match seen.len() {
        0 => String::new(),
        1..=REFERENCES => format!("\n\nDocuments of that part:{lines}"),
        count => format!("\n\nDocuments of that part:{lines}\n- and {} older ones", count - REFERENCES),
    }
}

impl Memory for Compaction {
    fn look(&self, past: &Past<'_>, marks: &mut Marks) -> Look {
        let ledger = marks.ledger.get_or_insert_default();
        ledger.catch_up(past, &*self.counter);
        let now = ledger.now(past);
        let window = past.capabilities.context_window;
        let fits = !past.is_full && window.is_none_or(|window| now < window);
        let threshold = self.threshold_of(past);
        // Whatever was done last must be outgrown by a quarter, so that nothing is done over and over.
        let settled = ledger.after_mark(past).into_iter().chain(past.failed_at).max().unwrap_or(0);
        let is_due = now > threshold && now > settled.saturating_mul(5) / 4;
        let cannot_go_on = past.is_full || (!fits && past.failed_at.is_some());
        if !is_due && !cannot_go_on {
            return shown(ledger.show(past));
        }
        match self.decide(ledger, past, now, fits) {
            Some(decision) => decision,
            None => shown(ledger.show(past)),
        }
    }

    fn asks_for_count(&self, past: &Past<'_>, marks: &mut Marks) -> Option<Vec<Arc<Message>>> {
        if !self.exact {
            return None;
        }
        let ledger = marks.ledger.get_or_insert_default();
        ledger.catch_up(past, &*self.counter);
        ledger.to_count(past, self.threshold_of(past))
    }

    fn clears_above(&self) -> Option<usize> {
        self.clears.then_some(SHORT_RESULT)
    }
}

impl fmt::Debug for Compaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compaction")
            .field("threshold", &self.threshold)
            .field("recent", &self.recent)
            .field("ceiling", &self.ceiling)
            .field("placement", &self.placement)
            .finish_non_exhaustive()
    }
}
