//! Messages of a session, for a client that shows them.

use std::collections::HashMap;
use std::sync::Arc;

use attache_agent::{Disposition, Run, RunInfo, is_read};
use attache_core::{AssistantPart, Message, ResultStatus, Role, ToolCallId, UserPart};

use super::event_json as event;
use crate::dialect::Shown;
use crate::json::{Object, write, write_json};
use crate::live::Origins;

/// The things that messages of a session do not tell themselves.
pub(crate) struct About<'s> {
    /// The runs of the session.
    pub(crate) runs: &'s [RunInfo],
    /// The one that is under way or waits.
    pub(crate) open_run: Option<&'s str>,
    /// The ways in which results came about.
    pub(crate) dispositions: HashMap<&'s ToolCallId, Disposition>,
}

/// Writes the messages that a person reads.
pub(crate) fn all(messages: &[Arc<Message>], about: &About<'_>, shown: Shown, out: &mut Vec<u8>) {
    let mut origins = (!shown.details).then(Origins::default);
    let mut is_first = true;
    // The run that made the message before.
    let mut before = None;
    out.push(b'[');
    for (at, message) in messages.iter().enumerate() {
        let run = Run::that_made(message.id());
        // Words that were said while a run was under way stand between its messages, or at the end while it goes on.
        let is_aside = message.role() == Role::User && before.is_some() && {
            let mut later = messages.iter().skip(at).filter_map(|later| Run::that_made(later.id()));
            before == later.next().or(about.open_run)
        };
        before = run.or(before);
        // A citation is of what came before it.
        if let Some(origins) = &mut origins {
            origins.add(message);
        }
        if !is_read(message) {
            continue;
        }
        if !std::mem::take(&mut is_first) {
            out.push(b',');
        }
        let object = Object::begin(out)
            .with("id", message.id())
            // A session that was forked does not know all of them.
            .maybe("runId", run.filter(|run| about.runs.iter().any(|known| known.id == *run)))
            .maybe("isAside", is_aside.then_some(&true));
        members(object, message, about, shown, origins.as_ref());
    }
    out.push(b']');
}

fn members(
    object: Object<'_>,
    message: &Message,
    about: &About<'_>,
    shown: Shown,
    origins: Option<&Origins>,
) {
    match message {
        Message::User(message) => {
            object.with("role", "user").each("parts", &message.parts, |part, out| match part {
                UserPart::Text(text) => self::text(text.text(), out),
                UserPart::Document(document) => self::document(document, out),
                UserPart::Object(tree) => Object::begin(out)
                    .with("type", "object")
                    .by("value", |out| write_json(out, tree.json()))
                    .end(),
                _ => out.extend_from_slice(b"{}"),
            })
        }
        Message::Assistant(message) => {
            let is_shown = |part: &&AssistantPart| match part {
                AssistantPart::Text(_) | AssistantPart::ToolCall(_) | AssistantPart::Document(_) => true,
                AssistantPart::Reasoning(_) => shown.thinking,
                _ => false,
            };
            let parts = message.parts.iter().filter(is_shown);
            object
                .with("role", "assistant")
                .each("parts", parts, |part, out| match part {
                    AssistantPart::Text(text) => self::text(text.text(), out),
                    AssistantPart::Reasoning(reasoning) => {
                        Object::begin(out).with("type", "thinking").text("text", reasoning.text()).end();
                    }
                    AssistantPart::ToolCall(call) => {
                        let object = Object::begin(out)
                            .with("type", "call")
                            .with("callId", &call.id)
                            .with("name", &call.name);
                        match shown.details {
                            true => object.by("arguments", |out| write_json(out, call.arguments.raw())),
                            false => object,
                        }
                        .end();
                    }
                    AssistantPart::Document(made) => self::document(&made.document, out),
                    _ => out.extend_from_slice(b"{}"),
                })
                .each("citations", &message.citations, |citation, out| {
                    let mut citation = citation.clone();
                    if let Some(origins) = origins {
                        origins.hide(&mut citation);
                    }
                    write(out, &citation);
                })
        }
        Message::ToolResults(message) => {
            object.with("role", "tool").each("results", &message.results, |result, out| {
                let known = about.dispositions.get(&result.call_id).copied();
                let cancelled = (result.status == ResultStatus::Cancelled).then_some(Disposition::Cancelled);
                event::result_members(Object::begin(out), result, shown)
                    .maybe("disposition", known.or(cancelled).as_ref())
                    .end();
            })
        }
        _ => object,
    }
    .end();
}

fn text(text: &str, out: &mut Vec<u8>) {
    Object::begin(out).with("type", "text").text("text", text).end();
}

fn document(document: &attache_core::Document, out: &mut Vec<u8>) {
    Object::begin(out).with("type", "document").by("document", |out| event::document(document, out)).end();
}
