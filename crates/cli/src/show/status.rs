//! The line that says what is waited for, and since when. It is drawn on a terminal alone, and taken away before
//! anything else is written.

use std::time::Duration;

use attache_core::ToolCallId;
use tokio::time::Instant;

use super::style::Style;
use super::width::{clipped, is_narrow, terminal_width};
use crate::output::{harmless, piece};

/// The waits that are shown.
#[derive(Debug)]
pub(crate) struct Status {
    style: Style,
    is_on: bool,
    is_drawn: bool,
    asking: Option<(String, Instant)>,
    /// The reason why the model is asked again.
    note: Option<String>,
    tools: Vec<(ToolCallId, String, Instant)>,
}

impl Status {
    pub(crate) fn new(style: Style, is_on: bool) -> Self {
        Self { style, is_on, is_drawn: false, asking: None, note: None, tools: Vec::new() }
    }

    /// True if it has something to say that changes with time.
    pub(crate) fn is_waiting(&self) -> bool {
        self.is_on && (self.asking.is_some() || !self.tools.is_empty())
    }

    pub(crate) fn asking(&mut self, model: &str) {
        (self.asking, self.note) = (Some((harmless(model), Instant::now())), None);
    }

    pub(crate) fn note(&mut self, note: Option<String>) {
        self.note = note;
    }

    /// The model answers, or is no longer asked.
    pub(crate) fn heard(&mut self) {
        (self.asking, self.note) = (None, None);
    }

    pub(crate) fn started(&mut self, call: ToolCallId, tool: &str) {
        self.tools.push((call, harmless(tool), Instant::now()));
    }

    /// The time that the call took.
    pub(crate) fn finished(&mut self, call: &ToolCallId) -> Option<Duration> {
        let at = self.tools.iter().position(|(known, ..)| known == call)?;
        Some(self.tools.remove(at).2.elapsed())
    }

    pub(crate) fn draw(&mut self) {
        if !self.is_waiting() || is_narrow() {
            return;
        }
        let text = self.text(Instant::now());
        let text = self.style.dim(clipped(&text, terminal_width().saturating_sub(1)));
        piece(&format!("\r\x1b[K{text}"));
        self.is_drawn = true;
    }

    pub(crate) fn clear(&mut self) {
        if std::mem::take(&mut self.is_drawn) {
            piece("\r\x1b[K");
        }
    }

    fn text(&self, now: Instant) -> String {
        let since = |then: Instant| elapsed(now.saturating_duration_since(then));
        if let Some((model, then)) = &self.asking {
            let note = self.note.as_ref().map(|note| format!(" ({note})")).unwrap_or_default();
            return format!("asking {model}… {}{note}", since(*then));
        }
        let tools: Vec<String> =
            self.tools.iter().map(|(_, tool, then)| format!("{tool} {}", since(*then))).collect();
        tools.join(", ")
    }
}

/// A time as people say it.
pub(crate) fn elapsed(time: Duration) -> String {
    match time.as_secs() {
        0..60 => format!("{:.1} s", time.as_secs_f64()),
        seconds => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_says_what_is_waited_for_and_since_when() {
        let mut status = Status::new(Style::new(false), true);
        assert!(!status.is_waiting());
        status.asking("openai/gpt-5");
        tokio::time::advance(Duration::from_millis(2_300)).await;
        status.note(Some("HTTP 429, asking again".to_owned()));
        assert_eq!(status.text(Instant::now()), "asking openai/gpt-5… 2.3 s (HTTP 429, asking again)");
        status.heard();
        let call = ToolCallId::new();
        status.started(call.clone(), "read_file");
        tokio::time::advance(Duration::from_secs(63)).await;
        assert_eq!(status.text(Instant::now()), "read_file 1 min 3 s");
        assert_eq!(status.finished(&call), Some(Duration::from_secs(63)));
        assert!(!status.is_waiting() && status.finished(&call).is_none());
    }
}
