//! Decides about calls that wait for approval, from wherever somebody knows the journal and the approval.

use attache_core::fresh;

use super::DecideError;
use crate::journal::{Journal, JournalError, in_time, is_over, millis};
use crate::log::{Asked, Decided, Decision, Entry, EntryKind, Key};

/// Decides about a call that waits for approval. Nobody needs to drive the run meanwhile; whoever drives or
/// [resumes](crate::Agent::resume) it acts on the decision. `by` says who decides, for the log: the caller has made sure
/// that they may.
///
/// An approval takes one decision. The same one may come again, and yields the first.
///
/// ```no_run
/// # async fn example(journal: attache_agent::MemoryJournal, id: &str) -> Result<(), attache_agent::DecideError> {
/// use attache_agent::{Decision, decide};
/// decide(&journal, id, "ann@example.org", Decision::Deny("the invoice is paid already".to_owned())).await?;
/// # Ok(()) }
/// ```
///
/// # Errors
/// [`DecideError`] if there is no such approval, if somebody decided otherwise, if the time for it is up, or if the
/// journal fails.
pub async fn decide(
    journal: &dyn Journal,
    id: &str,
    by: &str,
    decision: Decision,
) -> Result<Decided, DecideError> {
    let entries = in_time(journal.behind(0)).await?;
    let asked = entries.iter().find_map(|entry| match &entry.kind {
        EntryKind::Asked(asked) if asked.id == id => Some((entry.key.scope_text(), asked)),
        _ => None,
    });
    let (scope, asked) = asked.ok_or_else(|| DecideError::Unknown { id: id.to_owned() })?;
    let key = Key::decided(id).within(scope);
    let first = entries.iter().find(|entry| entry.key == key);
    let entry = match first {
        Some(first) => first.clone(),
        None if is_closed(&entries, scope, asked) => return Err(DecideError::Closed { id: id.to_owned() }),
        None => {
            let entry = Entry::new(key, settled(id, by, decision.clone()));
            in_time(journal.deliver(entry)).await.map_err(|error| match error {
                // The run has ended meanwhile.
                JournalError::Fenced => DecideError::Closed { id: id.to_owned() },
                error => error.into(),
            })?
        }
    };
    stands(entry, id, &decision)
}

/// Denies all calls that wait for approval.
pub(crate) async fn deny_all(journal: &dyn Journal, by: &str, text: &str) -> Result<(), DecideError> {
    let entries = in_time(journal.behind(0)).await?;
    let settled = |id: &str| {
        entries.iter().any(|entry| matches!(&entry.kind, EntryKind::Decided(decided) if decided.id == id))
    };
    for entry in &entries {
        let EntryKind::Asked(asked) = &entry.kind else { continue };
        if settled(&asked.id) || is_closed(&entries, entry.key.scope_text(), asked) {
            continue;
        }
        match decide(journal, &asked.id, by, Decision::Deny(text.to_owned())).await {
            // Somebody was faster.
            Ok(_) | Err(DecideError::Decided { .. } | DecideError::Closed { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The entry of a decision.
pub(crate) fn settled(id: &str, by: &str, decision: Decision) -> EntryKind {
    EntryKind::Decided(Decided { id: id.to_owned(), decision: Some(decision), by: Some(by.to_owned()) })
}

/// The decision that stands, if it is the one that somebody makes.
pub(crate) fn stands(entry: Entry, id: &str, decision: &Decision) -> Result<Decided, DecideError> {
    match entry.kind {
        EntryKind::Decided(first) if first.decision.as_ref() == Some(decision) => Ok(first),
        EntryKind::Decided(first) if first.decision.is_some() => {
            Err(DecideError::Decided { first: Box::new(first) })
        }
        _ => Err(DecideError::Closed { id: id.to_owned() }),
    }
}

/// True if nobody needs the decision any more.
fn is_closed(entries: &[Entry], scope: &str, asked: &Asked) -> bool {
    let result = Key::result(&asked.call_id).within(scope);
    is_expired(asked) || entries.iter().any(|entry| entry.key == result) || is_over(entries, scope)
}

pub(crate) fn is_expired(asked: &Asked) -> bool {
    asked.expires_at <= millis(fresh::now())
}
