//! The things that happen in a run, as JSON: the server's own form, of which the other dialects are smaller views.

use std::sync::Arc;

use attache_agent::{
    ApprovalRequest, DeferredRequest, Disposition, Event, EventKind, NestedAgent, Outcome, RunError,
};
use attache_core::message::UserOrigin;
use attache_core::tool::Progress;
use attache_core::{Document, Message, ToolCall, ToolResult, UserPart};
use attache_documents::{DocumentDecision, RoutingReport};

use super::Shown;
use crate::fault::Fault;
use crate::json::{Object, write, write_json};
use crate::live::{Block, CallState, CallView, Entry, View, What};

/// Writes an entry as an object; the word for its kind, or `None` if clients are not told of it.
pub(crate) fn entry(entry: &Entry, shown: Shown, out: &mut Vec<u8>) -> Option<&'static str> {
    match &entry.what {
        What::Event(told) => event(told, shown, out),
        What::Paused(_) => {
            Object::begin(out).with("type", "paused").end();
            Some("paused")
        }
        What::Broken(broken) => {
            Object::begin(out).with("type", "interrupted").with("reason", broken.as_str()).end();
            Some("interrupted")
        }
    }
}

/// Writes an event as an object; see [`entry`].
fn event(told: &Event, shown: Shown, out: &mut Vec<u8>) -> Option<&'static str> {
    // By far the most frequent one.
    if let EventKind::Content(text) = &told.kind {
        begin("text", told.step, out).text("delta", text).end();
        return Some("text");
    }
    let word = word(&told.kind, shown)?;
    let object = begin(word, told.step, out);
    match &told.kind {
        EventKind::RunStarted { run_id } => object.with("runId", run_id),
        EventKind::HistoryRepaired(repairs) => {
            object.each("repairs", repairs, |repair, out| write(out, &repair.to_string()))
        }
        EventKind::WindowMoved { evicted } => object.with("evicted", evicted),
        EventKind::Compacted { tokens, summarised, .. } => {
            object.with("tokens", tokens).with("summarised", summarised)
        }
        EventKind::DocumentsRouted(report) => {
            object.with("decisions", &decisions(report, shown)).with("tokens", &report.tokens())
        }
        EventKind::DocumentsLeftOut { documents } => object.with("documents", documents),
        EventKind::ToolsOffered { names } => object.with("names", names),
        EventKind::HandedOff { from, agent } => object.with("from", from).with("agent", agent),
        EventKind::StepStarted { model, .. } => object.with("model", model),
        EventKind::Thinking(text) => object.text("delta", text),
        EventKind::Made(made) => object.by("document", |out| document(made, out)),
        EventKind::ToolCallDelta { id, name, arguments_delta } => {
            let delta = if shown.details { arguments_delta.as_str() } else { "" };
            object.with("callId", id).maybe("name", name.as_ref()).text("delta", delta)
        }
        EventKind::ToolCallsRequested { calls, .. } => {
            object.each("calls", calls, |requested, out| call(requested, shown, out))
        }
        EventKind::ToolStarted { call } => members(object, call, shown),
        EventKind::ToolProgress { id, progress } => progressed(object.with("callId", id), progress, shown),
        // The client needs the arguments to answer.
        EventKind::ExternalPending { call } => members(object, call, Shown { details: true, ..shown }),
        EventKind::ApprovalRequested(asked) => approval_members(object, asked),
        EventKind::CallDeferred(request) => deferred_members(object, request, shown),
        EventKind::ApprovalDecided(decided) => object
            .with("approvalId", &decided.id)
            .maybe("decision", decided.decision.as_ref())
            .maybe("by", decided.by.as_ref()),
        EventKind::ToolFinished { result, disposition } => {
            result_members(object, result, shown).with("disposition", disposition)
        }
        EventKind::ReplyWithdrawn { reply } => object.with("messageId", reply),
        EventKind::ToolResultsReceived { count } => object.with("count", count),
        EventKind::StepFinished { finish_reason, usage, .. } => {
            object.with("finishReason", finish_reason).with("usage", &bare(usage))
        }
        EventKind::Nested { path, event: inside } => way(object, path).by("event", |out| {
            let before = out.len();
            if event(inside, shown, out).is_none() {
                out.truncate(before);
                out.extend_from_slice(b"null");
            }
        }),
        EventKind::Warning { code, message } => object.with("code", code).text("message", message),
        EventKind::Source(citation) => object.with("citation", citation),
        EventKind::Finished(Ok(outcome)) => end_members(object, outcome, shown),
        EventKind::Finished(Err(error)) => failure_members(object, error, shown),
        _ => object,
    }
    .end();
    Some(word)
}

/// The word for a kind of event; `None` for one that clients are not told of.
fn word(kind: &EventKind, shown: Shown) -> Option<&'static str> {
    Some(match kind {
        EventKind::RunStarted { .. } => "run_started",
        EventKind::HistoryRepaired(_) => "history_repaired",
        EventKind::WindowMoved { .. } => "window_moved",
        EventKind::Compacted { .. } => "compacted",
        EventKind::DocumentsRouted(_) => "routing",
        // Nothing says which of them came from tools.
        EventKind::DocumentsLeftOut { .. } if shown.details => "documents_left_out",
        EventKind::ToolsOffered { .. } => "tools_offered",
        EventKind::HandedOff { .. } => "handed_off",
        EventKind::StepStarted { .. } => "step_started",
        EventKind::Content(_) => "text",
        EventKind::Thinking(_) if shown.thinking => "thinking",
        EventKind::Made(_) => "document",
        EventKind::ToolCallDelta { .. } => "tool_call_delta",
        EventKind::ToolCallsRequested { .. } => "tool_calls",
        EventKind::ToolStarted { .. } => "tool_started",
        EventKind::ToolProgress { .. } => "tool_progress",
        EventKind::ExternalPending { .. } => "frontend_call",
        EventKind::ApprovalRequested(_) => "approval_requested",
        EventKind::CallDeferred(_) => "call_deferred",
        EventKind::ApprovalDecided(_) => "approval_decided",
        EventKind::ToolFinished { .. } => "tool_finished",
        EventKind::ReplyWithdrawn { .. } => "reply_withdrawn",
        EventKind::ToolResultsReceived { .. } => "tool_results",
        EventKind::StepFinished { .. } => "step_finished",
        EventKind::Nested { event, .. } if shown.details || is_for_people(&event.kind) => "nested",
        EventKind::Warning { .. } => "warning",
        EventKind::Source(_) => "citation",
        EventKind::Finished(Ok(_)) => "finished",
        EventKind::Finished(Err(_)) => "failed",
        _ => return None,
    })
}

/// True for what clients and people have to answer in an agent inside, and for its end. The rest is how a tool works, and
/// what the agent says is the result.
fn is_for_people(kind: &EventKind) -> bool {
    match kind {
        EventKind::Nested { event, .. } => is_for_people(&event.kind),
        kind => matches!(
            kind,
            EventKind::ExternalPending { .. }
                | EventKind::ApprovalRequested(_)
                | EventKind::ApprovalDecided(_)
                | EventKind::CallDeferred(_)
                | EventKind::ToolFinished { .. }
        ),
    }
}

/// The decisions about documents; those of tools are details.
fn decisions(report: &RoutingReport, shown: Shown) -> Vec<&DocumentDecision> {
    let decisions = report.decisions.iter();
    decisions.filter(|decision| shown.details || decision.tool_call_id.is_none()).collect()
}

/// Writes the run so far as an object.
pub(crate) fn view(view: &View, last: u64, shown: Shown, out: &mut Vec<u8>) {
    let state = match view.end.as_deref().map(|end| &end.what) {
        None if view.client_calls().next().is_some() => "waiting",
        None => "running",
        Some(What::Event(_)) => "ended",
        Some(What::Paused(_)) => "paused",
        Some(What::Broken(_)) => "interrupted",
    };
    let is_shown = |block: &&Block| match block {
        Block::Text { step, .. } | Block::Made { step, .. } => !view.is_withdrawn(*step),
        Block::Thinking { step, .. } => shown.thinking && !view.is_withdrawn(*step),
        Block::Call(_) => true,
    };
    Object::begin(out)
        .with("type", "snapshot")
        .with("seq", &last)
        .with("state", state)
        .with("step", &view.step)
        .maybe("model", view.model.as_ref())
        .each("blocks", view.blocks.iter().filter(is_shown), |piece, out| block(piece, shown, out))
        .each("approvals", &view.approvals, approval)
        .each("deferred", &view.deferred, |request, out| {
            deferred_members(Object::begin(out), request, shown).end();
        })
        .maybe("routing", view.routing.last().map(|(_, report)| decisions(report, shown)).as_ref())
        .with("citations", &view.cited().collect::<Vec<_>>())
        .with("usage", &bare(&view.usage))
        .by("end", |out| {
            let before = out.len();
            if view.end.as_deref().and_then(|end| entry(end, shown, out)).is_none() {
                out.truncate(before);
                out.extend_from_slice(b"null");
            }
        })
        .end();
}

/// Writes the reports of the steps whose documents were routed in another way than before, each with the reply of its step.
pub(crate) fn routing(view: &View, shown: Shown, out: &mut Vec<u8>) {
    out.push(b'[');
    for (at, (step, report)) in view.routing.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        Object::begin(out)
            .with("step", step)
            .maybe("messageId", view.reply(*step))
            .with("decisions", &decisions(report, shown))
            .with("tokens", &report.tokens())
            .end();
    }
    out.push(b']');
}

fn block(block: &Block, shown: Shown, out: &mut Vec<u8>) {
    match block {
        Block::Text { step, text } => begin("text", *step, out).text("text", text).end(),
        Block::Thinking { step, text } => begin("thinking", *step, out).text("text", text).end(),
        Block::Call(call) => call_so_far(call, shown, out),
        Block::Made { step, document: made } => {
            begin("document", *step, out).by("document", |out| document(made, out)).end();
        }
    }
}

/// Adds the agents on the way to something inside a tool; nothing for what the run itself does.
fn way<'o>(object: Object<'o>, path: &[NestedAgent]) -> Object<'o> {
    if path.is_empty() {
        return object;
    }
    object.each("path", path, |agent, out| {
        Object::begin(out).with("name", &agent.name).with("callId", &agent.call).end();
    })
}

fn call_so_far(call: &CallView, shown: Shown, out: &mut Vec<u8>) {
    let object = begin("call", call.step, out)
        .with("callId", &call.id)
        .with("name", &call.name)
        .with("state", call.state.as_str());
    let object = way(object, call.path.as_deref().unwrap_or_default());
    let is_for_client = matches!(call.state, CallState::Client);
    let object = match shown.details || is_for_client {
        true => object.by("arguments", |out| write_json(out, &call.arguments)),
        false => object,
    };
    match &call.state {
        CallState::Finished(entry) => match result_of(entry) {
            Some((result, _)) => object.by("result", |out| {
                result_members(Object::begin(out), result, shown).end();
            }),
            None => object,
        },
        CallState::Running => match &call.progress {
            Some(progress) => {
                object.by("progress", |out| progressed(Object::begin(out), progress, shown).end())
            }
            None => object,
        },
        _ => object,
    }
    .end();
}

/// Adds how far a call has come.
pub(super) fn progressed<'o>(object: Object<'o>, progress: &Progress, shown: Shown) -> Object<'o> {
    let message = progress.message.as_ref().filter(|_| shown.details);
    object.with("done", &progress.done).maybe("total", progress.total.as_ref()).maybe("message", message)
}

/// The result that an entry tells, and how it came about.
pub(super) fn result_of(entry: &Arc<Entry>) -> Option<(&ToolResult, Disposition)> {
    let What::Event(event) = &entry.what else { return None };
    let mut kind = &event.kind;
    while let EventKind::Nested { event, .. } = kind {
        kind = &event.kind;
    }
    match kind {
        EventKind::ToolFinished { result, disposition } => Some((result, *disposition)),
        _ => None,
    }
}

fn begin<'o>(word: &str, step: u32, out: &'o mut Vec<u8>) -> Object<'o> {
    Object::begin(out).with("type", word).with("step", &step)
}

fn call(call: &ToolCall, shown: Shown, out: &mut Vec<u8>) {
    members(Object::begin(out), call, shown).end();
}

fn members<'o>(object: Object<'o>, call: &ToolCall, shown: Shown) -> Object<'o> {
    let object = object.with("callId", &call.id).with("name", &call.name);
    match shown.details {
        true => object.by("arguments", |out| write_json(out, call.arguments.raw())),
        false => object,
    }
}

/// Writes an approval with its arguments, on which the decision depends.
pub(crate) fn approval(asked: &ApprovalRequest, out: &mut Vec<u8>) {
    approval_members(Object::begin(out), asked).end();
}

fn approval_members<'o>(object: Object<'o>, asked: &ApprovalRequest) -> Object<'o> {
    let shown = Shown { details: true, thinking: false };
    let object = members(object.with("approvalId", &asked.id), &asked.call, shown)
        .maybe("reason", asked.reason.as_ref())
        .with("expiresAt", &asked.expires_at);
    way(object, &asked.path)
}

/// Writes a call whose result comes later.
pub(crate) fn deferred_members<'o>(
    object: Object<'o>,
    request: &DeferredRequest,
    shown: Shown,
) -> Object<'o> {
    let deferred = &request.deferred;
    let object = members(object, &request.call, shown)
        .maybe("prompt", deferred.prompt.as_ref())
        .maybe("schema", deferred.schema.as_ref())
        .maybe("handle", deferred.handle.as_ref())
        .maybe("expiresAt", deferred.expires_at.as_ref());
    way(object, &request.path)
}

pub(crate) fn result_members<'o>(object: Object<'o>, result: &ToolResult, shown: Shown) -> Object<'o> {
    let object = object
        .with("callId", &result.call_id)
        .maybe("name", result.tool_name.as_ref())
        .with("isError", &result.is_error());
    match shown.details {
        true => object.by("content", |out| write_json(out, result.tree.json())).each(
            "documents",
            result.tree.shown(),
            document,
        ),
        false => object,
    }
}

/// Writes a document, without its content.
pub(crate) fn document(document: &Document, out: &mut Vec<u8>) {
    Object::begin(out)
        .with("id", document.id())
        .with("mediaType", document.media_type().essence())
        .maybe("fileName", document.file_name())
        .maybe("size", document.size().as_ref())
        .end();
}

/// Adds the end of a run.
pub(crate) fn end_members<'o>(object: Object<'o>, outcome: &Outcome, shown: Shown) -> Object<'o> {
    let hidden: Vec<u32> = outcome.hidden_reasoning().collect();
    let unread: Vec<String> = outcome.unread.iter().filter_map(|message| words(message)).collect();
    object
        .with("runId", &outcome.run_id)
        .with("reason", outcome.reason.as_str())
        .maybe("detail", outcome.detail.as_ref())
        .text("text", &outcome.text)
        .maybe("agent", outcome.agent.as_ref())
        .with("steps", &outcome.steps)
        .maybe("hiddenThinking", (shown.thinking && !hidden.is_empty()).then_some(&hidden))
        .maybe("unread", (!unread.is_empty()).then_some(&unread))
        .with("usage", &bare(&outcome.usage))
        .by("cost", |out| {
            Object::begin(out)
                .with("known", &outcome.cost.known)
                .with("unknownSteps", &outcome.cost.unknown_steps)
                .end();
        })
        .with("citations", &outcome.citations)
        .with("figures", &outcome.figures)
        .with("unfound", &outcome.unfound)
        .each("documents", outcome.documents(), document)
        .each("approvals", &outcome.approvals, approval)
        .each("deferred", &outcome.deferred, |request, out| {
            deferred_members(Object::begin(out), request, shown).end();
        })
        .each("pending", &outcome.pending, |pending, out| call(pending, shown, out))
}

fn failure_members<'o>(object: Object<'o>, error: &RunError, shown: Shown) -> Object<'o> {
    let object = object.by("error", |out| Fault::from(error).write(out));
    end_members(object, error.partial(), shown)
}

/// The words of a message that somebody wrote, if there are some: it may be documents alone.
fn words(message: &Message) -> Option<String> {
    let Message::User(user) = message else { return None };
    let texts = user.parts.iter().filter_map(|part| match part {
        UserPart::Text(text) => Some(text.text()),
        _ => None,
    });
    let words = (user.origin == UserOrigin::Author).then(|| texts.collect::<Vec<_>>().join("\n"));
    words.filter(|words| !words.is_empty())
}

/// Counts without the provider's own object.
fn bare(usage: &attache_core::Usage) -> attache_core::Usage {
    let mut bare = usage.clone();
    bare.raw = None;
    bare
}

#[cfg(test)]
mod tests {
    use attache_core::UserMessage;

    use super::*;

    #[test]
    fn a_message_of_documents_alone_has_no_words() {
        let document = UserPart::Document(Document::inline("day,rain"));
        let message = UserMessage::new([Some(document.clone())]);
        assert_eq!(words(&Message::User(message)), None);
        let message = UserMessage::new([UserPart::text("Read this."), Some(document)]);
        assert_eq!(words(&Message::User(message)).unwrap(), "Read this.");
    }
}
