//! The origins of what an answer cites, where clients do not see what tools return.
//!
//! A citation quotes its source, and names a document that a tool may have brought and that can be fetched by its id.
//! Clients that are not to see results of tools are told which call the answer rests on: its id and its tool are told in
//! any case. A document that people brought is theirs, and is cited with the passage; so is a message. Of any other source
//! nobody knows here whether a tool returned it, so that no passage of it is told; a page of the web has its address.

use std::collections::HashMap;
use std::sync::Arc;

use attache_agent::{Event, EventKind, Outcome};
use attache_core::citation::{Figure, Source};
use attache_core::{Citation, DocumentId, Message, ToolCallId, ToolResult};
use attache_documents::RoutingReport;

/// The documents that were seen, each with the call of a tool that brought it, or none if people or the model did.
#[derive(Debug, Default)]
pub(crate) struct Origins(HashMap<DocumentId, Option<Source>>);

impl Origins {
    /// The documents of a conversation.
    pub(crate) fn of(messages: &[Arc<Message>]) -> Self {
        let mut origins = Self::default();
        messages.iter().for_each(|message| origins.add(message));
        origins
    }

    /// Takes a message of a conversation in.
    pub(crate) fn add(&mut self, message: &Message) {
        match message {
            Message::ToolResults(told) => told.results.iter().for_each(|result| self.returned(result)),
            // The documents of results once more.
            message if message.is_tool_call_documents() => {}
            message => message.documents().iter().for_each(|document| self.see(document.id(), None)),
        }
    }

    /// Takes an event of a run in, and takes out of it what it quotes of tools.
    pub(super) fn pass(&mut self, event: &mut Event) {
        match &mut event.kind {
            EventKind::ToolFinished { result, .. } => self.returned(result),
            EventKind::DocumentsRouted(report) => self.routed(report),
            EventKind::Source(citation) => self.hide(citation),
            EventKind::Finished(Ok(outcome)) => self.hide_in(outcome),
            EventKind::Finished(Err(error)) => {
                *error = error.clone().with_partial(|mut outcome| {
                    self.hide_in(&mut outcome);
                    outcome
                });
            }
            _ => {}
        }
    }

    fn returned(&mut self, result: &ToolResult) {
        let source = Source::ToolResult { call_id: result.call_id.clone(), tool: result.tool_name.clone() };
        for document in result.tree.documents().iter().chain(&result.documents) {
            let from = self.0.entry(document.id().clone()).or_insert_with(|| Some(source.clone()));
            // A document that the client brought stays the client's, also where a tool returns it.
            if let Some(from) = from {
                from.clone_from(&source);
            }
        }
    }

    /// The documents of a request: those of results before the run, too, with the id that the provider gave the call.
    fn routed(&mut self, report: &RoutingReport) {
        for decision in &report.decisions {
            let call = decision.tool_call_id.as_deref().map(ToolCallId::parse);
            let from = call.map(|call| of_call(call, decision.tool_name.clone()));
            self.see(&decision.document_id, from);
        }
    }

    fn see(&mut self, document: &DocumentId, from: Option<Source>) {
        self.0.entry(document.clone()).or_insert(from);
    }

    /// Takes out of a citation what tools returned.
    pub(crate) fn hide(&self, citation: &mut Citation) {
        let from = match &citation.source {
            Source::Message => return,
            Source::Document { id, .. } => match self.0.get(id) {
                Some(None) => return,
                Some(Some(tool)) => Some(tool.clone()),
                None => Some(of_call(None, None)),
            },
            _ => None,
        };
        *citation = citation.clone().without_passage();
        if let Some(from) = from {
            citation.source = from;
        }
    }

    /// Takes out of an outcome what it quotes of tools.
    pub(crate) fn hide_in(&self, outcome: &mut Outcome) {
        outcome.citations.iter_mut().for_each(|citation| self.hide(citation));
        for figure in &mut outcome.figures {
            let found = figure.found.take();
            *figure = Figure::without_passage(figure.clone()).with_found(found.map(|mut found| {
                self.hide(&mut found);
                *found
            }));
        }
    }
}

/// The result of a call. An id that nobody knows leads nowhere.
fn of_call(call: Option<ToolCallId>, tool: Option<String>) -> Source {
    Source::ToolResult { call_id: call.unwrap_or_else(ToolCallId::new), tool }
}
