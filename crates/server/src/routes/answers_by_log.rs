//! The answers of a run by its log: one that asks its client in between gives several.
//!
//! The number of an answer is that of the results which the client gave before it. A request may bring several at once, and
//! the log does not tell: the numbers between are those of no request. An answer of such a number lists the calls that were
//! open then, and nothing else.

use std::collections::HashMap;
use std::sync::Arc;

use attache_agent::Run;
use attache_core::{Message, MessageId, ToolCall, ToolCallId, Usage};

use super::runs_by_log::Stored;
use crate::dialect::usage;
use crate::fault::Fault;
use crate::live::{Stand, is_reply_of, left_by};

/// The answers that a run gave so far. Each but the last one ends where the run stopped for its client: for calls of its own,
/// or of agents inside its tools.
pub(super) struct Answers {
    /// The replies of the run, each with the number of the answer that tells it.
    pub(super) replies: Vec<(u32, Arc<Message>)>,
    /// The calls for which the run stopped, each with the number of the answer that tells it.
    calls: Vec<(u32, ToolCall)>,
    /// The tokens of the run where each answer begins, and of all of it.
    begins: Vec<Usage>,
    all: Usage,
}

impl Answers {
    pub(super) fn of(stored: &Stored) -> Result<Self, Fault> {
        let mut run = Run::new();
        let mut answers = Self {
            replies: Vec::new(),
            calls: Vec::new(),
            begins: vec![Usage::default()],
            all: Usage::default(),
        };
        let mut told: HashMap<MessageId, u32> = HashMap::new();
        for entry in &stored.entries {
            if let Some(stops) = left_by(&run, entry) {
                let number = answers.last();
                for reply in replies(&run, run.history()) {
                    told.entry(reply.id().clone()).or_insert(number);
                }
                answers.ask(stops);
                answers.begins.push(run.usage().clone());
            }
            run.apply(entry).map_err(|error| Fault::internal(&error))?;
        }
        if let Stand::AsksClient(stops) = Stand::of(&run) {
            answers.ask(stops);
        }
        let last = answers.last();
        let number = |reply: &Arc<Message>| told.get(reply.id()).copied().unwrap_or(last);
        let messages = run.outcome().messages;
        answers.replies = replies(&run, &messages).map(|reply| (number(reply), Arc::clone(reply))).collect();
        answers.all = run.usage().clone();
        Ok(answers)
    }

    /// The run stops for its client.
    fn ask(&mut self, stops: Vec<ToolCall>) {
        let number = self.last();
        self.calls.extend(stops.into_iter().map(|call| (number, call)));
    }

    /// The number of the last answer, from 0: it is under way, or has ended in whichever way.
    pub(super) fn last(&self) -> u32 {
        u32::try_from(self.begins.len().saturating_sub(1)).unwrap_or(u32::MAX)
    }

    /// The number of the answer to the results of these calls. Those that nobody waits for begin none.
    pub(super) fn behind(&self, answered: &[ToolCallId]) -> u32 {
        let taken = self.calls(self.last()).filter(|call| answered.contains(&call.id)).count();
        self.last().saturating_add(u32::try_from(taken).unwrap_or(u32::MAX))
    }

    /// True if an answer ends with calls for the client.
    pub(super) fn asks(&self, number: u32) -> bool {
        self.calls(number).next().is_some()
    }

    /// The calls with which an answer ends, in the order in which the run made them. Whoever was told the answer as it was
    /// made had those first that were asked in it, since nobody knew then where it would end.
    pub(super) fn calls(&self, number: u32) -> impl Iterator<Item = &ToolCall> {
        self.calls.iter().filter(move |(of, _)| *of == number).map(|(_, call)| call)
    }

    /// The tokens of an answer.
    pub(super) fn usage(&self, number: u32) -> Usage {
        let place = usize::try_from(number).unwrap_or(usize::MAX);
        let end = self.begins.get(place.saturating_add(1)).unwrap_or(&self.all);
        self.begins.get(place).map_or_else(Usage::default, |begin| usage::behind(end, begin))
    }
}

fn replies<'m>(run: &Run, messages: &'m [Arc<Message>]) -> impl Iterator<Item = &'m Arc<Message>> {
    messages.iter().filter(move |message| is_reply_of(run.id(), message))
}
