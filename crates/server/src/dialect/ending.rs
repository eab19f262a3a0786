//! The end of an answer, and the words for it.

use attache_agent::{ApprovalRequest, EndReason, Outcome};

/// The way in which a client learns that calls wait for approval, or for a result that comes later.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum PauseForm {
    /// The dialect has pieces of its own for it.
    #[default]
    Pieces,
    /// It has none: the answer says it.
    Words,
    /// Nobody can ever decide, or deliver the result, since no session keeps the run: there is no answer.
    Never,
}

impl PauseForm {
    /// The way of a dialect that has no word for approvals.
    pub(crate) fn of(has_session: bool) -> Self {
        if has_session { Self::Words } else { Self::Never }
    }
}

/// Says for what a run waits that no client of an answer gives, for those who read the answer alone.
pub(crate) fn notice(outcome: &Outcome) -> Option<String> {
    match outcome.reason {
        EndReason::PendingApproval => {
            let name = |asked: &ApprovalRequest| format!("{} (approval {})", asked.call.name, asked.id);
            let calls: Vec<String> = outcome.approvals.iter().map(name).collect();
            Some(format!("[Waits for approval: {}. It goes on once they are decided.]", calls.join(", ")))
        }
        EndReason::PendingExternal => {
            let calls: Vec<&str> =
                outcome.deferred.iter().map(|request| request.call.name.as_str()).collect();
            Some(format!("[Waits for the result of {}. It goes on once that is there.]", calls.join(", ")))
        }
        _ => None,
    }
}

/// The end of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Stop,
    Length,
    Filter,
    Refusal,
    /// The client has calls to answer.
    Calls,
    /// Somebody has to approve calls.
    Approval,
    /// Somebody is asked something.
    Input,
}

/// The words of the end that no step has told. `spoke` says that the last step told some.
pub(crate) fn unsaid(outcome: &Outcome, spoke: bool) -> Option<&str> {
    // A run that waits has said all of it, maybe to a client that asked before.
    let waits = matches!(
        outcome.reason,
        EndReason::PendingApproval | EndReason::PendingExternal | EndReason::InputRequired
    );
    let question = outcome.deferred.iter().find_map(|request| request.deferred.prompt.as_deref());
    let text = Some(outcome.text.as_str()).filter(|_| !spoke && !waits);
    question.or(text).filter(|text| !text.is_empty())
}

/// The end of an answer by that of its run; `None` if there is no answer.
pub(crate) fn end(outcome: &Outcome, has_text: bool) -> Option<End> {
    Some(match outcome.reason {
        EndReason::Length => End::Length,
        EndReason::ContentFilter => End::Filter,
        EndReason::Refusal => End::Refusal,
        EndReason::Answer | EndReason::ReturnDirect | EndReason::FinishTool => End::Stop,
        EndReason::InputRequired => End::Input,
        EndReason::PendingApproval => End::Approval,
        // The client knows it by the calls that it was told to answer. It cannot give the result of any other call.
        EndReason::PendingExternal => End::Stop,
        EndReason::Cancelled => return None,
        _ if outcome.reason.is_failure() => return None,
        // A check ended it, and has no words for the client.
        EndReason::GuardrailTripped if outcome.text.is_empty() => return None,
        _ if has_text => End::Stop,
        _ => return None,
    })
}
