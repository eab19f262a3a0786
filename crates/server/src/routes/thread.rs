//! A turn of a thread: a conversation under the client's own id, which is that of a session. A page sends all of the
//! conversation each time, its answers to calls, and what people decided.

use std::sync::Arc;

use attache_agent::{ApprovalRequest, DecideError, Decision, Outcome};
use attache_core::{ContentTree, Message, ToolCallId};
use serde_json::Value;

use super::begin_run::{Asking, Decisions, Place, millis};
use crate::app::allow;
use crate::auth::Scope;
use crate::dialect::snapshot::take_messages;
use crate::fault::Fault;
use crate::inbound::ag_ui::Resume;
use crate::inbound::conversation::{Conversation, Reading};
use crate::inbound::tools::Offered;
use crate::live::Viewer;

/// The things that come with a turn beside the conversation.
pub(super) enum Said {
    Decisions(Vec<(String, Decision)>),
    Resumed(Vec<Resume>),
}

/// Begins a run of the thread, or goes on with the one that waits. Yields the messages that the session had before, too.
pub(super) async fn turn(
    asking: &Asking<'_>,
    id: &str,
    mut conversation: Conversation,
    said: Said,
    tools: Offered,
) -> Result<(Viewer, Vec<Arc<Message>>), Fault> {
    if id.trim().is_empty() {
        return Err(Fault::invalid("the id of the conversation is empty"));
    }
    let session = asking.session(id).await?;
    let mut last = session.last().await?;
    let history = last.as_mut().map(take_messages).unwrap_or_default();
    let decisions = match said {
        Said::Decisions(decisions) => decisions,
        Said::Resumed(entries) => resumed(entries, last.as_ref(), &mut conversation)?,
    };
    match &last {
        None => {
            // Nobody here knows what was said elsewhere, so that all of it is new.
            let mut all = std::mem::take(&mut conversation.history);
            all.append(&mut conversation.new);
            conversation.new = all;
        }
        // The agent's own tools answered the other calls here.
        Some(last) => conversation.retain_results(|id| last.pending.iter().any(|call| call.id == *id)),
    }
    if !decisions.is_empty() {
        allow(asking.principal, Scope::Approve)?;
        let last = last.ok_or_else(|| Fault::not_found("approval"))?;
        let offered = tools.with_instructions(conversation.system.take());
        let is_open = |id: &str| last.approvals.iter().any(|asked| asked.id == id);
        let is_over = |asked: &&ApprovalRequest| {
            asked.expires_at <= millis() && decisions.iter().any(|(id, _)| *id == asked.id)
        };
        if let Some(asked) = last.approvals.iter().find(is_over) {
            return Err(DecideError::Closed { id: asked.id.clone() }.into());
        }
        let (open, others) = decisions.into_iter().partition(|(id, _)| is_open(id));
        let decisions = Decisions { open, others };
        return Ok((asking.resume(&session, last.run_id, conversation, offered, decisions).await?, history));
    }
    if conversation.new.is_empty() {
        return Err(Fault::invalid("the last message must be the user's, or answer a call").at("messages"));
    }
    Ok((asking.start(&Place::Session(session), conversation, None, tools).await?, history))
}

/// The answers of people to interrupts: decisions, and results of calls that asked something.
fn resumed(
    entries: Vec<Resume>,
    last: Option<&Outcome>,
    conversation: &mut Conversation,
) -> Result<Vec<(String, Decision)>, Fault> {
    let mut decisions = Vec::new();
    let mut reading = Reading::default();
    for Resume { interrupt_id, status, payload } in entries {
        let is_resolved = match status.as_str() {
            "resolved" => true,
            "cancelled" => false,
            _ => return Err(Fault::invalid(format!("the status {status:?} is not known")).at("resume")),
        };
        let question = ToolCallId::parse(&interrupt_id)
            .filter(|id| last.is_some_and(|last| last.deferred.iter().any(|request| request.call.id == *id)));
        if question.is_some() {
            let tree = match &payload {
                Value::String(text) => ContentTree::text(text),
                value => ContentTree::value(value),
            };
            let tree = if is_resolved { tree } else { ContentTree::text("Nobody answered.") };
            reading.result_alone(&interrupt_id, tree, !is_resolved)?;
            continue;
        }
        let flag = |name: &str| payload.get(name).and_then(Value::as_bool).unwrap_or(false);
        let edited = payload.get("editedArgs").filter(|edited| edited.is_object());
        decisions.push((
            interrupt_id,
            match (is_resolved && flag("approved"), edited) {
                (true, Some(edited)) => Decision::Edit(edited.clone()),
                (true, None) if flag("always") => Decision::ApproveAlways,
                (true, None) => Decision::Approve,
                (false, _) => {
                    let reason = payload.get("reason").and_then(Value::as_str).unwrap_or_default();
                    Decision::Deny(reason.to_owned())
                }
            },
        ));
    }
    conversation.new.append(&mut reading.finish_as_it_is().new);
    Ok(decisions)
}
