//! A run as a person reads it: the answer on stdout, the rest on stderr.

use std::io::{self, IsTerminal};
use std::time::Duration;

use attache_agent::{EndReason, Event, EventKind, Outcome, Prices};
use attache_core::ToolResult;
use attache_tools::Listing;
use serde_json::Value;
use tokio::time::Instant;

use super::closing::closing;
use super::markdown::Markdown;
use super::routed::Routed;
use super::status::{Status, elapsed};
use super::style::{Style, When};
use super::watch::Notice;
use super::width::terminal_width;
use crate::args::Shown;
use crate::output::{answer, harmless, line, piece, short};

/// A call that takes less time is told without it.
const WORTH_TELLING: Duration = Duration::from_millis(500);

/// Writes events as they come.
#[derive(Debug)]
pub(crate) struct Terminal {
    shown: Shown,
    style: Style,
    /// The currency of costs.
    currency: Option<String>,
    status: Status,
    routed: Routed,
    /// Sets the answer where a terminal reads it.
    markdown: Option<Markdown>,
    /// True if more runs follow.
    in_chat: bool,
    /// False if the answer is not to be written as it comes.
    says: bool,
    began: Instant,
    /// True if stderr stands in the middle of a line of reasoning.
    in_thought: bool,
    /// Sets the reasoning where a terminal shows it.
    thought: Option<Markdown>,
    /// The failure of the last request, if another one may follow.
    failed: Option<String>,
    /// The model's words in this step; an answer only if no calls follow.
    said: String,
    written: bool,
    ends_in_newline: bool,
}

impl Terminal {
    pub(crate) fn new(shown: Shown, color: When, prices: Option<&Prices>) -> Self {
        let style = Style::of_stderr(color);
        let markdown =
            io::stdout().is_terminal().then(|| Markdown::new(Style::of_stdout(color), terminal_width()));
        Self {
            shown,
            style,
            currency: prices.map(|prices| prices.currency().to_owned()),
            status: Status::new(style, io::stderr().is_terminal() && !shown.quiet),
            routed: Routed::default(),
            markdown,
            in_chat: false,
            says: true,
            began: Instant::now(),
            in_thought: false,
            // Its colours are those of text beside the point.
            thought: io::stderr().is_terminal().then(|| Markdown::new(Style::default(), terminal_width())),
            failed: None,
            said: String::new(),
            written: false,
            ends_in_newline: false,
        }
    }

    /// Says nothing of the end of a run that goes on once the user has answered.
    #[cfg(feature = "chat")]
    pub(crate) fn in_chat(mut self) -> Self {
        self.in_chat = true;
        self
    }

    /// Begins with the next run.
    #[cfg(feature = "chat")]
    pub(crate) fn begin(&mut self) {
        (self.began, self.failed, self.in_thought) = (Instant::now(), None, false);
        (self.written, self.ends_in_newline) = (false, false);
        self.said.clear();
        if let Some(markdown) = &mut self.markdown {
            markdown.set_width(terminal_width());
        }
    }

    /// Leaves the answer out.
    pub(crate) fn without_answer(mut self) -> Self {
        self.says = false;
        self
    }

    /// True if [`tick`](Self::tick) should be called now and then.
    pub(crate) fn is_waiting(&self) -> bool {
        self.status.is_waiting()
    }

    /// Draws anew what is waited for.
    pub(crate) fn tick(&mut self) {
        self.status.draw();
    }

    /// Says why a wait takes longer, or what the library warns of.
    pub(crate) fn notice(&mut self, notice: Notice) {
        match notice {
            Notice::Failed(why) => {
                self.status.note(Some(format!("{}; waiting to ask again", short(&why, 80))));
                self.failed = Some(why);
            }
            Notice::Sent => {
                if let Some(why) = self.failed.take() {
                    self.status.note(None);
                    self.note(&format!("· asked again after {}", short(&why, 160)));
                }
            }
            Notice::Warned(text) => self.note(&format!("! {}", short(&text, 300))),
        }
        self.status.draw();
    }

    /// Writes one event.
    pub(crate) fn show(&mut self, event: &Event) -> io::Result<()> {
        self.status.clear();
        if self.in_thought && !matches!(event.kind, EventKind::Thinking(_)) {
            self.in_thought = false;
            match &mut self.thought {
                Some(thought) => piece(&self.style.dim(thought.finish())),
                None => line(""),
            }
        }
        match &event.kind {
            EventKind::StepStarted { model, .. } => self.status.asking(model),
            EventKind::Content(text) => {
                self.status.heard();
                self.say(text)?;
            }
            EventKind::Thinking(text) if self.shown.thinking && !self.shown.quiet => {
                self.status.heard();
                self.in_thought = true;
                let text = harmless(text);
                let text = self.thought.as_mut().map_or(text.clone(), |thought| thought.push(&text));
                if !text.is_empty() {
                    piece(&self.style.dim(text));
                }
            }
            EventKind::ToolCallsRequested { .. } => {
                self.status.heard();
                // Text beside calls is no answer; it stays readable, on a line of its own.
                self.end_line()?;
                self.said.clear();
            }
            EventKind::ToolStarted { call } => {
                self.status.started(call.id.clone(), &call.name);
                self.note(&format!("→ {} {}", harmless(&call.name), short(call.arguments.raw(), 120)));
            }
            EventKind::ToolFinished { result, .. } => self.finished(result),
            EventKind::DocumentsRouted(report) => {
                for line in self.routed.lines(report, self.shown.verbose) {
                    self.note(&line);
                }
            }
            EventKind::DocumentsLeftOut { documents } => self.note(&format!(
                "· the contents of {} older documents are no longer shown to the model",
                documents.len()
            )),
            EventKind::WindowMoved { evicted } => {
                self.note(&format!("· {evicted} older messages are no longer shown to the model"));
            }
            EventKind::Warning { message, .. } => self.note(&format!("! {}", short(message, 300))),
            EventKind::StepFinished { .. } => self.status.heard(),
            EventKind::Finished(result) => {
                self.status.heard();
                self.finish(result.as_deref().unwrap_or_else(|error| error.partial()))?;
            }
            _ => {}
        }
        self.status.draw();
        Ok(())
    }

    /// A piece of the answer.
    fn say(&mut self, text: &str) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.said.push_str(text);
        if !self.says {
            return Ok(());
        }
        self.written = true;
        self.ends_in_newline = text.ends_with('\n');
        let text = harmless(text);
        match &mut self.markdown {
            Some(markdown) => answer(&markdown.push(&text)),
            None => answer(&text),
        }
    }

    fn finish(&mut self, outcome: &Outcome) -> io::Result<()> {
        // An answer that did not stream, such as the output of a tool.
        if self.said.is_empty() && !outcome.text.trim().is_empty() {
            self.say(&outcome.text)?;
        }
        self.end_line()?;
        if self.in_chat && matches!(outcome.reason, EndReason::PendingApproval | EndReason::InputRequired) {
            return Ok(());
        }
        let text = closing(outcome, self.began.elapsed(), self.currency.as_deref());
        self.note(&text);
        Ok(())
    }

    fn finished(&mut self, result: &ToolResult) {
        let time = self.status.finished(&result.call_id).filter(|time| *time >= WORTH_TELLING);
        let time = time.map(|time| format!(" ({})", elapsed(time))).unwrap_or_default();
        let text = format!("{}{time}", told(result));
        if result.is_error() && !self.shown.quiet {
            self.status.clear();
            line(&self.style.bad(harmless(&text)));
        } else {
            self.note(&text);
        }
        if let Some(omitted) = omitted(result) {
            self.note(&format!(
                "! the listing was cut: the model sees {} files, and {omitted} more are left out; open fewer folders, \
                 or use --include and --exclude",
                Listing::MOST
            ));
        }
    }

    /// A line beside the answer.
    fn note(&mut self, text: &str) {
        if !self.shown.quiet {
            self.status.clear();
            line(&self.style.dim(harmless(text)));
        }
    }

    fn end_line(&mut self) -> io::Result<()> {
        if let Some(markdown) = &mut self.markdown {
            let rest = markdown.finish();
            self.ends_in_newline = true;
            if !rest.is_empty() {
                answer(&rest)?;
            }
        }
        if self.written && !self.ends_in_newline {
            self.ends_in_newline = true;
            answer("\n")?;
        }
        Ok(())
    }
}

/// The files that a listing left out.
fn omitted(result: &ToolResult) -> Option<u64> {
    let is_listing = result.tool_name.as_deref() == Some("list_files") && !result.is_error();
    let listing: Value = is_listing.then(|| serde_json::from_str(result.tree.json()).ok()).flatten()?;
    listing.get("omitted").and_then(Value::as_u64).filter(|omitted| *omitted > 0)
}

fn told(result: &ToolResult) -> String {
    let mark = if result.is_error() { "✗" } else { "←" };
    let documents: Vec<String> = result
        .documents
        .iter()
        .map(|document| {
            let name = document.file_name().unwrap_or("a document");
            let size = document.size().map(|size| format!(", {size} bytes")).unwrap_or_default();
            format!("{} ({}{size})", harmless(name), document.media_type())
        })
        .collect();
    match documents.as_slice() {
        [] => format!("{mark} {}", short(&result.tree.model_text(), 160)),
        documents => format!("{mark} {}", documents.join(", ")),
    }
}
