//! The order of calls and results, and the ids that they have on the wire.

use std::collections::HashSet;
use std::sync::Arc;

use attache_core::{
    AssistantMessage, ErrorKind, Message, ProviderError, ToolCall, ToolResult, ToolResultsMessage, wire_name,
};

use crate::profile::CallIds;

/// The longest id that is sent back as it came.
const MAX_ID: usize = 64;

/// Checks that every call is answered by exactly one result in the next message, and every result answers a call
/// of the message before (openai.md A.2). Repairing a history is not the codec's business.
pub(super) fn check_pairing(messages: &[Arc<Message>]) -> Result<(), ProviderError> {
    let mut open: Option<&AssistantMessage> = None;
    for (at, message) in messages.iter().enumerate() {
        match (&**message, open.take()) {
            (Message::ToolResults(results), Some(asked)) if in_order(asked, results) => {}
            (Message::ToolResults(results), asked) => {
                let answered: Vec<_> = results.results.iter().map(|result| &result.call_id).collect();
                let mut calls: Vec<_> = asked.iter().flat_map(|asked| asked.tool_calls()).collect();
                for id in answered {
                    let Some(found) = calls.iter().position(|call| call.id == *id) else {
                        let text =
                            format!("the result of call {id} in message {at} answers no call before it");
                        return Err(invalid(text));
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
    Err(invalid(format!("calls without a result before message {at}: {}", calls.join(", "))))
}

pub(super) fn invalid(text: impl Into<String>) -> ProviderError {
    ProviderError::new(ErrorKind::InvalidHistory, text)
}

/// The ids of a message's calls on the wire, in call order: the provider's where it is legal, otherwise one made
/// from it, always the same, or ours. Within a message they are unique.
pub(super) fn wire_ids(calls: &[&ToolCall], rule: CallIds) -> Vec<String> {
    let mut taken = HashSet::with_capacity(calls.len());
    let ids = calls.iter().map(|call| {
        let own = call.provider_id.as_ref().map_or(call.id.as_str(), |id| id.as_str());
        let mut id = legal(own, rule);
        let mut copy = 1;
        while !taken.insert(id.clone()) {
            copy += 1;
            id = legal(&format!("{own}_{copy}"), rule);
        }
        id
    });
    ids.collect()
}

fn legal(id: &str, rule: CallIds) -> String {
    let plain =
        |id: &str| id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    match rule {
        CallIds::AsReceived => id.to_owned(),
        CallIds::Plain if id.len() <= MAX_ID && plain(id) => id.to_owned(),
        // The rule for names is stricter, deterministic, and marks what it cuts with a digest of the whole.
        CallIds::Plain => wire_name(id),
    }
}

#[cfg(test)]
mod tests {
    use attache_core::{Arguments, AssistantPart, ProviderCallId};

    use super::*;

    fn call(id: &str) -> ToolCall {
        ToolCall::new("t", Arguments::new("{}")).with_provider_id(ProviderCallId::parse(id))
    }

    fn ids(list: &[&str], rule: CallIds) -> Vec<String> {
        let calls: Vec<_> = list.iter().map(|id| call(id)).collect();
        wire_ids(&calls.iter().collect::<Vec<_>>(), rule)
    }

    // openai.md D 13, D 19
    #[test]
    fn d19_ids_are_replaced_only_where_they_must_be() {
        let long = "x".repeat(70);
        let odd = ["call_1", "functions.add:0", &long, "toolu_01-a"];
        assert_eq!(ids(&odd, CallIds::AsReceived), odd);
        let plain = ids(&odd, CallIds::Plain);
        assert_eq!(
            (plain[0].as_str(), plain[1].as_str(), plain[3].as_str()),
            ("call_1", "functions_add_0", "toolu_01-a")
        );
        assert!(plain[2].len() <= 64);
        assert_eq!(plain, ids(&odd, CallIds::Plain), "always the same");
        assert_eq!(ids(&["a.b", "a:b", "a_b"], CallIds::Plain), ["a_b", "a_b_2", "a_b_3"]);
        assert_eq!(ids(&["a", "a"], CallIds::AsReceived), ["a", "a_2"]);
    }

    #[test]
    fn a_call_without_a_provider_id_goes_by_ours() {
        let call = ToolCall::new("t", Arguments::new("{}"));
        assert_eq!(wire_ids(&[&call], CallIds::Plain), [call.id.as_str()]);
    }

    // design.md invariant 3
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
        for broken in [
            vec![user(), asks.clone()],
            vec![asks.clone(), user(), results(&[&a, &b])],
            vec![asks.clone(), results(&[&a])],
            vec![asks.clone(), asks.clone()],
            vec![says(), results(&[&a])],
            vec![asks.clone(), results(&[&a, &b, &b])],
            vec![asks.clone(), results(&[&a, &b]), results(&[&a])],
        ] {
            assert!(check(&broken).is_err());
        }
        let error = check_pairing(&[asks, results(&[&a])]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidHistory);
        assert!(error.message().contains(b.id.as_str()), "{error}");
    }
}
