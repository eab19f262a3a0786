//! The demands of every wire on a history: the order of calls and results, and ids that differ.

use std::collections::HashSet;
use std::sync::Arc;

use attache_core::{AssistantMessage, Message, ProviderError, ToolCall, ToolResult, ToolResultsMessage};

use crate::error::invalid_history;

/// Checks that every call is answered by exactly one result in the next message, and every result answers a call
/// of the message before (openai.md A.2). Repairing a history is not a codec's business.
///
/// # Errors
/// [`ErrorKind::InvalidHistory`](attache_core::ErrorKind::InvalidHistory) names the calls.
pub fn check_pairing(messages: &[Arc<Message>]) -> Result<(), ProviderError> {
    check_pairing_behind(messages, 0)
}

/// The same, where the first `checked` of them were found to be in order, whatever came behind them.
pub(crate) fn check_pairing_behind(messages: &[Arc<Message>], checked: usize) -> Result<(), ProviderError> {
    let last = checked.checked_sub(1).and_then(|last| messages.get(last));
    let mut open: Option<&AssistantMessage> = match last.map(|last| &**last) {
        Some(Message::Assistant(assistant)) if assistant.has_tool_calls() => Some(assistant),
        _ => None,
    };
    for (at, message) in messages.iter().enumerate().skip(checked) {
        match (&**message, open.take()) {
            (Message::ToolResults(results), Some(asked)) if in_order(asked, results) => {}
            (Message::ToolResults(results), asked) => {
                let mut calls: Vec<_> = asked.iter().flat_map(|asked| asked.tool_calls()).collect();
                let mut answered = HashSet::with_capacity(calls.len());
                for id in results.results.iter().map(|result| &result.call_id) {
                    if !answered.insert(id) {
                        return Err(invalid_history(format!("call {id} has two results in message {at}")));
                    }
                    let Some(found) = calls.iter().position(|call| call.id == *id) else {
                        let text =
                            format!("the result of call {id} in message {at} answers no call before it");
                        return Err(invalid_history(text));
                    };
                    calls.remove(found);
                }
                unanswered(&calls, at)?;
            }
            (Message::Assistant(assistant), None) if assistant.has_tool_calls() => open = Some(assistant),
            (_, None) => {}
            (_, Some(asked)) => unanswered(&asked.tool_calls().collect::<Vec<_>>(), at)?,
        }
    }
    match open {
        Some(asked) => unanswered(&asked.tool_calls().collect::<Vec<_>>(), messages.len()),
        None => Ok(()),
    }
}

/// The usual case, without an allocation: the results are in call order. That ids are unique in a message, so that
/// order proves pairing, is looked at too; messages have few calls.
fn in_order(asked: &AssistantMessage, results: &ToolResultsMessage) -> bool {
    let unique = |(at, result): (usize, &ToolResult)| {
        results.results.iter().take(at).all(|before| before.call_id != result.call_id)
    };
    asked.tool_calls().map(|call| &call.id).eq(results.results.iter().map(|result| &result.call_id))
        && results.results.iter().enumerate().all(unique)
}

fn unanswered(calls: &[&ToolCall], at: usize) -> Result<(), ProviderError> {
    if calls.is_empty() {
        return Ok(());
    }
    let calls: Vec<_> = calls.iter().map(|call| format!("{} ({})", call.id, call.name)).collect();
    Err(invalid_history(format!("calls without a result before message {at}: {}", calls.join(", "))))
}

/// The ids of a message's calls on the wire, in call order: the provider's, or ours where it sent none, as `legal`
/// makes them. Within a message they are unique. `legal` must always give the same for the same.
pub fn wire_ids(calls: &[&ToolCall], legal: impl Fn(&str) -> String) -> Vec<String> {
    fn own(call: &ToolCall) -> &str {
        call.provider_id.as_ref().map_or(call.id.as_str(), |id| id.as_str())
    }
    if let [call] = calls {
        return vec![legal(own(call))];
    }
    let mut taken = HashSet::with_capacity(calls.len());
    let ids = calls.iter().map(|call| {
        let own = own(call);
        let mut id = legal(own);
        let mut copy = 1;
        while !taken.insert(id.clone()) {
            copy += 1;
            id = legal(&format!("{own}_{copy}"));
        }
        id
    });
    ids.collect()
}

#[cfg(test)]
mod tests {
    use attache_core::{Arguments, AssistantPart, ErrorKind, ProviderCallId};

    use super::*;

    fn call(id: &str) -> ToolCall {
        ToolCall::new("t", Arguments::new("{}")).with_provider_id(ProviderCallId::parse(id))
    }

    #[test]
    fn ids_are_those_of_the_provider_and_differ() {
        let plain = |id: &str| id.replace('.', "_");
        let list = ["a.b", "a_b", "a"].map(call);
        assert_eq!(wire_ids(&list.iter().collect::<Vec<_>>(), plain), ["a_b", "a_b_2", "a"]);
        let ours = ToolCall::new("t", Arguments::new("{}"));
        assert_eq!(wire_ids(&[&ours], str::to_owned), [ours.id.as_str()]);
    }

    // invariant 3
    #[test]
    fn pairing() {
        let (a, b) = (call("a"), call("b"));
        let asks = Message::Assistant(AssistantMessage::new([a.clone().into(), b.clone().into()])).shared();
        let results = |calls: &[&ToolCall]| {
            let results = calls.iter().map(|call| ToolResult::ok(call, "x"));
            Message::ToolResults(ToolResultsMessage::new(results)).shared()
        };
        let user = || Message::user("hi").shared();
        let says = || Message::Assistant(AssistantMessage::new([AssistantPart::text("x")])).shared();
        let check =
            |messages: &[Arc<Message>]| check_pairing(messages).map_err(|error| error.message().to_owned());
        check(&[user(), asks.clone(), results(&[&b, &a]), says()]).unwrap();
        check(&[]).unwrap();
        // Two calls of one id cannot be told apart.
        let asks_twice =
            Message::Assistant(AssistantMessage::new([a.clone().into(), a.clone().into()])).shared();
        for broken in [
            vec![user(), asks.clone()],
            vec![asks.clone(), user(), results(&[&a, &b])],
            vec![asks.clone(), results(&[&a])],
            vec![asks.clone(), asks.clone()],
            vec![says(), results(&[&a])],
            vec![asks.clone(), results(&[&a, &b, &b])],
            vec![asks.clone(), results(&[&a, &b]), results(&[&a])],
            vec![asks_twice, results(&[&a, &a])],
        ] {
            assert!(check(&broken).is_err());
        }
        let error = check_pairing(&[asks, results(&[&a])]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidHistory);
        assert!(error.message().contains(b.id.as_str()), "{error}");
    }
}
