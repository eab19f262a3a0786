//! A run as a person reads it: the answer on stdout, the rest on stderr.

use std::io;

use attache_agent::{Event, EventKind, Outcome};
use attache_core::ToolResult;
use attache_documents::RoutingReport;

use crate::output::{answer, harmless, line, piece, short};

/// Writes events as they come.
#[derive(Debug, Default)]
pub(crate) struct Terminal {
    thinking: bool,
    /// True if stderr stands in the middle of a line of reasoning.
    in_thought: bool,
    /// The model's words in this step; an answer only if no calls follow.
    said: String,
    written: bool,
    ends_in_newline: bool,
}

impl Terminal {
    pub(crate) fn new(thinking: bool) -> Self {
        Self { thinking, ..Self::default() }
    }

    /// Writes one event.
    pub(crate) fn show(&mut self, event: &Event) -> io::Result<()> {
        if self.in_thought && !matches!(event.kind, EventKind::Thinking(_)) {
            self.in_thought = false;
            line("");
        }
        match &event.kind {
            EventKind::Content(text) => {
                self.written = true;
                self.ends_in_newline = text.ends_with('\n');
                self.said.push_str(text);
                answer(&harmless(text))?;
            }
            EventKind::Thinking(text) if self.thinking => {
                self.in_thought = true;
                piece(&harmless(text));
            }
            EventKind::ToolCallsRequested { .. } => {
                // Text beside calls is no answer; it stays readable, on a line of its own.
                self.end_line()?;
                self.said.clear();
            }
            EventKind::ToolStarted { call } => {
                line(&format!("→ {} {}", harmless(&call.name), short(call.arguments.raw(), 120)));
            }
            EventKind::ToolFinished { result, .. } => line(&finished(result)),
            EventKind::DocumentsRouted(report) => routed(report),
            EventKind::DocumentsLeftOut { documents } => {
                line(&format!(
                    "· the contents of {} older documents are no longer shown to the model",
                    documents.len()
                ));
            }
            EventKind::WindowMoved { evicted } => {
                line(&format!("· {evicted} older messages are no longer shown to the model"));
            }
            EventKind::Warning { message, .. } => line(&format!("! {}", short(message, 300))),
            EventKind::Finished(result) => {
                self.finish(result.as_deref().unwrap_or_else(|error| error.partial()))?;
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(&mut self, outcome: &Outcome) -> io::Result<()> {
        // An answer that did not stream, such as the output of a tool.
        if self.said.is_empty() && !outcome.text.trim().is_empty() {
            self.written = true;
            self.ends_in_newline = outcome.text.ends_with('\n');
            answer(&harmless(&outcome.text))?;
        }
        self.end_line()?;
        let usage = match (outcome.usage.input_tokens, outcome.usage.output_tokens) {
            (Some(input), Some(output)) => format!(", {input} tokens in, {output} out"),
            _ => String::new(),
        };
        let steps = if outcome.steps == 1 { "step" } else { "steps" };
        line(&format!("· {} after {} {steps}{usage}", outcome.reason, outcome.steps));
        Ok(())
    }

    fn end_line(&mut self) -> io::Result<()> {
        if self.written && !self.ends_in_newline {
            self.ends_in_newline = true;
            answer("\n")?;
        }
        Ok(())
    }
}

fn finished(result: &ToolResult) -> String {
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

/// Notes each document that is not simply shown as it is.
fn routed(report: &RoutingReport) {
    for decision in &report.decisions {
        let name = decision.file_name.as_deref().unwrap_or("a document");
        line(&format!(
            "· {}: {} ({})",
            harmless(name),
            decision.outcome,
            short(decision.reason.as_str(), 160)
        ));
    }
}
