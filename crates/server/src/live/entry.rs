//! The things that happen in a run, as its ring keeps them.

use attache_agent::{Disposition, EndReason, Event, EventKind, Outcome, Run};
use attache_core::{Document, DocumentSource, Message, Role, ToolCall, Usage};

/// One thing that happened.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Counts from 1 while one task drives the run.
    pub(crate) seq: u64,
    pub(crate) what: What,
}

#[derive(Debug)]
pub(crate) enum What {
    /// The run tells it.
    Event(Event),
    /// Nothing goes on until the client answers its calls; the run is let go and can be resumed.
    Paused(Pause),
    /// Nobody drives the run any more, and it has not ended.
    Broken(Broken),
}

/// The place at which a run is let go for its client.
#[derive(Debug, Default)]
pub(crate) struct Pause {
    /// All calls that the client is to answer: it was asked some of them in an answer before.
    pub(crate) calls: Vec<ToolCall>,
    /// The tokens of the run so far.
    pub(crate) usage: Usage,
}

/// The reason why nobody drives a run any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    /// The server stops. A run of a session can be resumed.
    Stopping,
    /// The task that drove it failed.
    Failed,
    /// The process that drove it is gone, and no other one took it over. It can be resumed.
    Abandoned,
}

impl Broken {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Stopping => "stopping",
            Self::Failed => "failed",
            Self::Abandoned => "abandoned",
        }
    }

    /// The reason in words.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Stopping => "the server stops",
            Self::Failed => "the server failed",
            Self::Abandoned => "the server is gone, and no other one goes on with the run",
        }
    }
}

impl Entry {
    /// True if nothing comes behind it.
    pub(crate) fn is_last(&self) -> bool {
        match &self.what {
            What::Event(event) => matches!(event.kind, EventKind::Finished(_)),
            What::Paused(_) | What::Broken(_) => true,
        }
    }

    /// True if it tells a result that somebody gave.
    pub(super) fn is_submitted(&self) -> bool {
        let What::Event(event) = &self.what else { return false };
        matches!(event.kind, EventKind::ToolFinished { disposition: Disposition::Submitted, .. })
    }

    /// True if the run failed.
    pub(super) fn is_failure(&self) -> bool {
        matches!(&self.what, What::Event(event) if matches!(event.kind, EventKind::Finished(Err(_))))
    }

    /// The steps of the run at its end.
    pub(crate) fn steps(&self) -> Option<u32> {
        let What::Event(event) = &self.what else { return None };
        event.kind.outcome().map(|outcome| outcome.steps)
    }

    /// True if the run never goes on.
    pub(crate) fn is_end_of_run(&self) -> bool {
        let What::Event(event) = &self.what else { return false };
        matches!(&event.kind, EventKind::Finished(Ok(outcome)) if !matches!(
            outcome.reason,
            EndReason::PendingApproval | EndReason::PendingExternal | EndReason::InputRequired
        ))
    }
}

/// Takes out of an event what viewers are not told, since it would be held for as long as somebody may look at the run: the
/// bytes of documents in results, and the messages of the end that are no replies of the run.
pub(super) fn lighten(event: &mut Event) {
    match &mut event.kind {
        EventKind::ToolFinished { result, .. } => {
            let is_held = |document: &Document| matches!(document.source(), DocumentSource::Bytes(_));
            if result.tree.documents().iter().chain(&result.documents).any(is_held) {
                result.tree = result.tree.map_documents(|document| document.clone().without_bytes());
                result.documents = result.documents.drain(..).map(Document::without_bytes).collect();
            }
        }
        EventKind::Nested { event, .. } => lighten(event),
        EventKind::Finished(Ok(outcome)) => keep_replies(outcome),
        EventKind::Finished(Err(error)) => {
            *error = error.clone().with_partial(|mut outcome| {
                keep_replies(&mut outcome);
                outcome
            });
        }
        _ => {}
    }
}

/// Leaves the replies of the run alone in its messages.
fn keep_replies(outcome: &mut Outcome) {
    let run = &outcome.run_id;
    outcome.messages.retain(|message| is_reply_of(run, message));
}

/// True if the model said that message in that run. Its id tells: others may have said something in between.
pub(crate) fn is_reply_of(run: &str, message: &Message) -> bool {
    // Ids of messages have no blanks around them.
    message.role() == Role::Assistant && Run::that_made(message.id()) == Some(run.trim_start())
}

/// About how many bytes an entry takes.
pub(super) fn weight(what: &What) -> usize {
    size_of::<Entry>()
        + match what {
            What::Event(event) => weight_of(&event.kind),
            What::Paused(pause) => weight_of_calls(&pause.calls),
            What::Broken(_) => 0,
        }
}

/// The weight of an entry that is small, and not worth a closer look.
const SMALL: usize = 256;

fn weight_of_calls(calls: &[ToolCall]) -> usize {
    calls.iter().map(|call| SMALL + call.arguments.raw().len()).sum()
}

fn weight_of(kind: &EventKind) -> usize {
    match kind {
        EventKind::Content(text) | EventKind::Thinking(text) => text.len(),
        EventKind::ToolCallDelta { arguments_delta, .. } => arguments_delta.len(),
        EventKind::ToolCallsRequested { calls, content } => weight_of_calls(calls) + content.len(),
        EventKind::ToolStarted { call } | EventKind::ExternalPending { call } => {
            SMALL + call.arguments.raw().len()
        }
        EventKind::ToolProgress { progress, .. } => SMALL + progress.message.as_ref().map_or(0, String::len),
        EventKind::ApprovalRequested(asked) => SMALL + asked.call.arguments.raw().len(),
        EventKind::CallDeferred(request) => SMALL + request.call.arguments.raw().len(),
        EventKind::ToolFinished { result, .. } => {
            SMALL + result.tree.json().len() + result.documents.iter().map(in_memory).sum::<usize>()
        }
        EventKind::DocumentsRouted(report) => SMALL * (1 + report.decisions.len()),
        EventKind::Nested { event, .. } => SMALL + weight_of(&event.kind),
        EventKind::Finished(Ok(outcome)) => SMALL * (1 + outcome.citations.len()) + outcome.text.len(),
        // The run so far holds the content of a document that the model made for as long as the ring is there: a picture
        // does not push the text before it out.
        _ => SMALL,
    }
}

/// The bytes of a document's content that are in memory.
pub(super) fn in_memory(document: &Document) -> usize {
    match document.source() {
        DocumentSource::Bytes(bytes) => bytes.len(),
        DocumentSource::Inline { text } => text.len(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use attache_agent::{Agent, tool_fn};
    use attache_core::UserMessage;
    use attache_testkit::{ScriptedModel, Turn};

    use super::*;

    // Whatever way a run ends, the conversation is not held with its end.
    #[tokio::test]
    async fn the_end_of_a_run_has_its_replies_alone() {
        for turns in [2, 1] {
            let all =
                [Turn::text("Let me see.").and_call("look", serde_json::json!({})), Turn::text("Seen.")];
            let model = ScriptedModel::new(all.into_iter().take(turns)).unverified();
            let look = tool_fn("look", "", || Ok("seen"));
            let mut run = Agent::builder(model).tool(look).build().unwrap().run("Look.");
            let mut last = None;
            while let Some(event) = run.next().await {
                last = Some(event);
            }
            let mut last = last.unwrap();
            assert_eq!(matches!(last.kind, EventKind::Finished(Err(_))), turns == 1, "{last:?}");
            lighten(&mut last);
            let roles: Vec<_> = last.kind.outcome().unwrap().messages.iter().map(|one| one.role()).collect();
            assert_eq!(roles, vec![Role::Assistant; turns]);
        }
    }

    // A message to the run while it is under way removes no picture that the model made before.
    #[tokio::test]
    async fn the_end_of_a_run_has_all_documents_that_the_model_made() {
        let picture = Document::from_bytes(&b"\x89PNG\r\n\x1a\n"[..], "image/png");
        let drawn = Turn::text("Here.").making(picture).and_call("look", serde_json::json!({}));
        let model = ScriptedModel::new([drawn, Turn::text("Seen.")]).unverified();
        let look = tool_fn("look", "", || Ok("seen"));
        let mut run = Agent::builder(model).tool(look).build().unwrap().run("Draw.");
        let mut last = None;
        while let Some(event) = run.next().await {
            if matches!(event.kind, EventKind::ToolFinished { .. }) {
                run.control().inject(UserMessage::text("In blue.")).unwrap();
            }
            last = Some(event);
        }
        let mut last = last.unwrap();
        lighten(&mut last);
        let outcome = last.kind.outcome().unwrap();
        let made: Vec<_> = outcome.documents().map(|made| made.media_type().essence()).collect();
        assert_eq!(made, ["image/png"]);
        assert!(outcome.messages.iter().all(|message| message.role() == Role::Assistant));
    }
}
