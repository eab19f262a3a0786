//! The projection of a conversation for one model.

mod parts;
mod refusal;
mod result;
mod synthetic;
mod user;

use std::collections::HashSet;
use std::sync::Arc;

use attache_core::capability::Place;
use attache_core::message::UserOrigin;
use attache_core::tree::{REFERENCE_MARKER, reference_ids};
use attache_core::{ContentTree, Message, ModelCapabilities, ProviderError, ToolSet, UserPart};

use crate::decide::all::{Decided, decide_all, wire_call_id};
use crate::decide::treatment::Purpose;
use crate::find::Origin;
use crate::materials::Materials;
use crate::options::RouteOptions;
use crate::report::{DocumentOutcome, Extraction, RoutingReport, UnresolvedReference};
use crate::text::imitation::pretends;

/// The messages as one model sees them, and the decision for each document.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Routing {
    /// The messages to send. Messages with documents have their `routed` content set, and each tool-results message
    /// with documents that it cannot contain is followed by its synthetic message; all others are the same `Arc`s as
    /// before.
    pub messages: Vec<Arc<Message>>,
    /// The decision for each document, with its reason.
    pub report: RoutingReport,
}

/// Brings every document of `messages` into a form and a place in which the model can read it.
///
/// It reads the original messages, never the result of an earlier routing: `routed` content is replaced, synthetic
/// messages are created anew. So its output may be routed again, for the same or another model. The same input always
/// gives the same output, and messages added at the end change nothing before them, unless the request exceeds a limit
/// of the model. For each document, the first step that applies:
///
/// 1. its handler withholds it, or the call was cancelled: nothing is shown;
/// 2. it is empty: a note;
/// 3. it is text: its text, fenced, in the tool result or else in the user message after it;
/// 4. the tool result accepts its type and size: it is shown there natively;
/// 5. the user message after the results accepts them: it is shown there, in the synthetic message;
/// 6. [`Materials`] contain it in a form that the tool result or the message after it accepts, an image re-encoded or
///    scaled, a PDF cut to its first pages: that form is shown there natively, the other pages as text;
/// 7. [`Materials`] contain images of its pages, and one of the two places accepts images: they are shown in the first
///    such place, in order, with pages that contain text as text in between;
/// 8. [`Materials`] contain text extracted from it: that text, as in 3, and the documents found inside it, each by
///    these steps; also if its bytes are missing, or are declared as text but fit no charset, and for HTML and long
///    tables, which are more readable this way;
/// 9. a note with the reason, in the tool result if that accepts text.
///
/// Documents of events and authors stay in their own message, with the same steps for that single place. A document
/// that an author attached in the last turn and that the model does not accept is an error instead of a note. Then
/// duplicate contents in the window are replaced by back references, see [`BackReferences`](crate::BackReferences), and
/// if the documents exceed the model's limit of documents, pages or bytes per request, or the
/// [budget](crate::DocumentBudget), the oldest become notes.
///
/// # Errors
/// [`ErrorKind::Unsupported`](attache_core::ErrorKind::Unsupported), naming document, media type and model, if the
/// model does not accept a document that an author attached (or a document of an event, if
/// [`RouteOptions::fail_on_event_documents`] is set). [`explain`] returns the report in this case too.
pub fn route(
    messages: &[Arc<Message>],
    capabilities: &ModelCapabilities,
    tools: &ToolSet,
    materials: &Materials,
    options: &RouteOptions,
) -> Result<Routing, ProviderError> {
    let decided = decide_all(messages, capabilities, materials, options, Purpose::Route);
    if let Some((occurrence, treatment)) = decided.error() {
        return Err(refusal::refusal(occurrence, treatment, capabilities));
    }
    let report = report(messages, &decided, tools);
    log(&report);
    if decided.idle {
        return Ok(Routing { messages: messages.to_vec(), report });
    }
    let fingerprint = format!("{:016x}", capabilities.fingerprint());
    let scene = Scene { decided: &decided, capabilities, fingerprint: &fingerprint, tools, options };
    Ok(Routing { messages: scene.project(messages), report })
}

/// Returns the report of [`route`], even if it fails: the documents that make it fail have the outcome
/// [`DocumentOutcome::Error`].
pub fn explain(
    messages: &[Arc<Message>],
    capabilities: &ModelCapabilities,
    tools: &ToolSet,
    materials: &Materials,
    options: &RouteOptions,
) -> RoutingReport {
    let decided = decide_all(messages, capabilities, materials, options, Purpose::Route);
    report(messages, &decided, tools)
}

/// All that rendering a message looks at.
#[derive(Clone, Copy)]
struct Scene<'a, 'm> {
    decided: &'a Decided<'m>,
    capabilities: &'a ModelCapabilities,
    /// The capabilities that synthetic messages are made for, as they say it.
    fingerprint: &'a str,
    tools: &'a ToolSet,
    options: &'a RouteOptions,
}

impl Scene<'_, '_> {
    /// True if text in that place is to be cited.
    fn cites_text(&self, place: Place) -> bool {
        self.options.citations && self.capabilities.place(place).cites_text()
    }
}

impl<'m> Scene<'_, 'm> {
    fn project(&self, messages: &'m [Arc<Message>]) -> Vec<Arc<Message>> {
        let mut projected = Vec::with_capacity(messages.len() + 8);
        let mut next = 0;
        for (at, message) in messages.iter().enumerate() {
            let here = self.decided.of_message(at, next);
            next = here.end;
            match &**message {
                Message::User(_) if message.is_tool_call_documents() => {}
                Message::ToolResults(results) if !here.is_empty() => {
                    let (results, synthetic) = self.results(results, here);
                    projected.push(Message::ToolResults(results).shared());
                    projected.extend(synthetic.map(|synthetic| Message::User(synthetic).shared()));
                }
                Message::User(user)
                    if !here.is_empty() || user.origin == UserOrigin::Event && pretends(user) =>
                {
                    projected.push(Message::User(self.user(user, here)).shared());
                }
                _ => projected.push(without_routing(message)),
            }
        }
        projected
    }
}

/// A message without documents, free of what an earlier routing of something else may have left in it.
fn without_routing(message: &Arc<Message>) -> Arc<Message> {
    match &**message {
        Message::User(user) if user.routed.is_some() => {
            let mut user = user.clone();
            user.routed = None;
            Message::User(user).shared()
        }
        Message::ToolResults(results) if results.results.iter().any(|result| result.routed.is_some()) => {
            let mut results = results.clone();
            for result in &mut results.results {
                result.routed = None;
            }
            Message::ToolResults(results).shared()
        }
        _ => Arc::clone(message),
    }
}

fn report(messages: &[Arc<Message>], decided: &Decided<'_>, tools: &ToolSet) -> RoutingReport {
    let from_tools = decided.occurrences.iter().filter(|occurrence| occurrence.origin == Origin::Tool);
    let holders: HashSet<_> =
        from_tools.clone().map(|occurrence| (occurrence.message, occurrence.part)).collect();
    let extraction = Extraction {
        results: decided.results,
        results_with_documents: holders.len(),
        documents: from_tools.count(),
    };
    let last_reply = messages.iter().rposition(|message| matches!(**message, Message::Assistant(_)));
    let new = messages.get(last_reply.map_or(0, |reply| reply + 1)..).unwrap_or_default();
    RoutingReport { decisions: decided.decisions(messages, tools), unresolved: unresolved(new), extraction }
}

/// The document references in tool results, events and prompts that match no document: forged ones, and those of other
/// conversations.
///
/// [`route`] only reports those in the messages after the model's last reply, to avoid reading the whole history each
/// time; this function reads all given messages.
pub fn unresolved(messages: &[Arc<Message>]) -> Vec<UnresolvedReference> {
    let mut found = Vec::new();
    let mut read = |tree: &ContentTree, tool_name: Option<&String>, tool_call_id: Option<&str>| {
        // Most outputs mention no document at all.
        let marked = marks(tree.json());
        if marked == 0 {
            return;
        }
        let dangling = tree.unresolved();
        let malformed = marked.saturating_sub(reference_ids(tree.json()).count());
        if dangling.is_empty() && malformed == 0 {
            return;
        }
        tracing::debug!(
            tool = tool_name.map(String::as_str),
            references = dangling.len(),
            malformed,
            "the output refers to documents that it does not hold"
        );
        found.extend(dangling.into_iter().map(|document_id| UnresolvedReference {
            document_id,
            tool_name: tool_name.cloned(),
            tool_call_id: tool_call_id.map(str::to_owned),
        }));
    };
    for message in messages {
        match &**message {
            Message::ToolResults(results) => {
                for result in &results.results {
                    read(&result.tree, result.tool_name.as_ref(), Some(wire_call_id(result)));
                }
            }
            Message::User(user) if !message.is_tool_call_documents() => {
                for part in &user.parts {
                    if let UserPart::Object(tree) = part {
                        read(tree, None, None);
                    }
                }
            }
            _ => {}
        }
    }
    found
}

/// The number of objects of compact JSON that have the member of document references.
fn marks(json: &str) -> usize {
    let is_member = |(at, marker): &(usize, &str)| {
        let (before, behind) = (json.get(..*at), json.get(at + marker.len()..));
        before.is_some_and(|before| before.ends_with("{\"") || before.ends_with(",\""))
            && behind.is_some_and(|behind| behind.starts_with("\":"))
    };
    json.match_indices(REFERENCE_MARKER).filter(is_member).count()
}

fn log(report: &RoutingReport) {
    let Extraction { results, results_with_documents, documents } = report.extraction;
    tracing::debug!(
        results,
        results_with_documents,
        documents,
        native = report.count(DocumentOutcome::Native),
        synthetic = report.count(DocumentOutcome::Synthetic),
        text = report.count(DocumentOutcome::Text),
        rendered = report.count(DocumentOutcome::Rendered),
        converted = report.count(DocumentOutcome::Converted),
        notes = report.count(DocumentOutcome::Note),
        withheld = report.count(DocumentOutcome::Withheld),
        "routed the documents of tool results, events and prompts"
    );
}
