//! The words of an agent while it works, as the progress of the call.

use attache_core::tool::{Listening, Progress};
use serde_json::Value;

use super::gather::Gathered;
use crate::config::Config;
use crate::wire::{Content, Message, PROGRESS};

/// The maximum number of characters of a word about progress.
const LONGEST: usize = 500;

/// Somebody who hears of a call's progress, and the last that was told. It lasts as long as the call, through questions.
pub(super) struct Heard<'a> {
    config: &'a Config,
    listening: &'a Listening,
    told: u32,
    last: Option<Message>,
}

impl<'a> Heard<'a> {
    pub(super) fn new(config: &'a Config, listening: &'a Listening) -> Self {
        Self { config, listening, told: 0, last: None }
    }

    /// Tells what the status of a task under way says, once.
    pub(super) fn note(&mut self, gathered: &Gathered) {
        let said = gathered.task.as_ref().and_then(|task| task.said.as_ref());
        let Some(said) = said.filter(|said| self.last.as_ref() != Some(said)) else { return };
        self.last = Some(said.clone());
        self.told += 1;
        let text = self.config.told(&said.words(), LONGEST);
        let mut progress = counted(said).unwrap_or_else(|| Progress::new(f64::from(self.told)));
        if !text.trim().is_empty() {
            progress = progress.with_message(text);
        }
        self.listening.tell(progress);
    }
}

/// The progress of the agent, where it says so as an agent of ours does.
fn counted(said: &Message) -> Option<Progress> {
    let told = said.parts.iter().find_map(|part| match &part.content {
        Content::Data(data) => data.get(PROGRESS),
        _ => None,
    })?;
    let progress = Progress::new(told.get("done")?.as_f64()?);
    Some(match told.get("total").and_then(Value::as_f64) {
        Some(total) => progress.with_total(total),
        None => progress,
    })
}
