//! A turn of a thread: a conversation under the client's own id, which is that of a session. A page sends all of the
//! conversation each time, its answers to calls, and what people decided.

use std::collections::HashSet;
use std::sync::Arc;

use attache_agent::{DecideError, Decision, Outcome};
use attache_core::{ContentTree, Message, Role, ToolCallId};
use serde_json::Value;

use super::begin_run::{Decisions, Place, RunRequest, millis};
use crate::app::allow;
use crate::auth::Scope;
use crate::dialect::snapshot::take_messages;
use crate::fault::Fault;
use crate::inbound::ag_ui::Resume;
use crate::inbound::conversation::{Conversation, Reading};
use crate::inbound::files;
use crate::inbound::tools::Offered;
use crate::live::Viewer;

/// The things that come with a turn beside the conversation.
pub(super) enum Said {
    Decisions(Vec<(String, Decision)>),
    Resumed(Vec<Resume>),
}

/// Begins a run of the thread, or goes on with the one that waits. Yields the messages that the session had before, too.
pub(super) async fn turn(
    run_request: &RunRequest<'_>,
    id: &str,
    mut conversation: Conversation,
    said: Said,
    tools: Offered,
) -> Result<(Viewer, Vec<Arc<Message>>), Fault> {
    if id.trim().is_empty() {
        return Err(Fault::invalid("the id of the conversation is empty"));
    }
    let session = run_request.session(id).await?;
    let mut last = session.last().await?;
    let history = last.as_mut().map(take_messages).unwrap_or_default();
    let decisions = match said {
        Said::Decisions(mut decisions) => {
            // Before what the user says, one that counts no more may stand in the conversation for good.
            if conversation.new.iter().any(|message| message.role() == Role::User) {
                let now = millis();
                let open =
                    last.iter().flat_map(|last| &last.approvals).filter(|asked| asked.expires_at > now);
                let open: HashSet<&str> = open.map(|asked| asked.id.as_str()).collect();
                decisions.retain(|(id, _)| open.contains(id.as_str()));
            }
            decisions
        }
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
        allow(run_request.principal, Scope::Approve)?;
        let last = last.ok_or_else(|| Fault::not_found("approval"))?;
        let offered = tools.with_instructions(conversation.system.take());
        let (open, others): (Vec<_>, Vec<_>) =
            decisions.into_iter().partition(|(id, _)| last.approvals.iter().any(|asked| asked.id == *id));
        let now = millis();
        let is_over = |id: &str| last.approvals.iter().any(|asked| asked.id == id && asked.expires_at <= now);
        let (over, open): (Vec<_>, Vec<_>) = open.into_iter().partition(|(id, _)| is_over(id));
        // The run that goes on tells the model that nobody decided in time, which says as much as a denial.
        if let Some((id, _)) = over.into_iter().find(|(_, decision)| !matches!(decision, Decision::Deny(_))) {
            return Err(DecideError::Closed { id }.into());
        }
        let decisions = Decisions { open, others };
        return Ok((
            run_request.resume(&session, last.run_id, conversation, offered, decisions).await?,
            history,
        ));
    }
    if conversation.new.is_empty() {
        return Err(Fault::invalid("the last message must be the user's, or answer a call").at("messages"));
    }
    Ok((run_request.start(&Place::Session(session), conversation, None, tools).await?, history))
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
            let tree = match is_resolved {
                true => files::result(&payload, usize::MAX).map_err(|fault| fault.at("resume"))?,
                false => ContentTree::text("Nobody answered."),
            };
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
