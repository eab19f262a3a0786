//! The judgement of replies.

use attache_core::{Completion, ErrorKind, FinishReason, ProviderError};
use serde_json::Value;

use super::finding::Ended;
use super::plan::{Proof, TOOL};
use crate::output::short;

/// A reply as it came.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) completion: Completion,
    /// The number of pieces of content that came before the end.
    pub(super) pieces: usize,
}

/// The finding from a reply: how the probe ended, and what was seen.
pub(super) fn judge(proof: &Proof, answer: &Answer) -> (Ended, String) {
    let completion = &answer.completion;
    let text = completion.message.text();
    let has_calls = completion.message.has_tool_calls();
    if let Some(why) = declined(completion) {
        return (Ended::Failed, why);
    }
    if text.trim().is_empty() && !has_calls {
        return (Ended::Failed, empty(completion));
    }
    let said = || format!("the reply is {:?}", short(&text, 60));
    let shown = |works: bool, yes: String, no: String| match works {
        true => (Ended::Works, yes),
        false => (Ended::NotSeen, no),
    };
    match proof {
        Proof::Answer => (Ended::Works, format!("{}{}", said(), named(completion))),
        Proof::Streams => {
            let counted = match (completion.usage.input_tokens, completion.usage.output_tokens) {
                (Some(input), Some(output)) => format!("{input} tokens in and {output} out reported"),
                _ => "no usage reported".to_owned(),
            };
            let pieces = answer.pieces;
            shown(
                pieces > 1,
                format!("{pieces} pieces, {counted}"),
                format!("it came in one piece, {counted}"),
            )
        }
        Proof::Code(code) => {
            let yes = "the reply names its number".to_owned();
            shown(code.is_in(&text), yes, format!("the reply does not name its number: {}", said()))
        }
        Proof::Calls(least) => calls(*least, answer),
        Proof::NoCall => {
            shown(!has_calls, "no call came".to_owned(), "it was called all the same".to_owned())
        }
        Proof::Object => shown(object(&text).is_some(), "an object came".to_owned(), said()),
        Proof::Schema if has_calls => (Ended::Failed, "the tool was called instead".to_owned()),
        Proof::Schema => shown(follows(&text), "the answer follows the schema".to_owned(), said()),
        Proof::Cached => {
            let cached = completion.usage.cached_tokens.unwrap_or_default();
            let no = "no tokens from a cache were reported".to_owned();
            shown(cached > 0, format!("{cached} tokens came from a cache"), no)
        }
        Proof::Reasoning => match reasoned(completion) {
            Some(seen) => (Ended::Works, seen),
            None => (Ended::NotSeen, "accepted, and no reasoning was reported".to_owned()),
        },
        Proof::NoReasoning => match reasoned(completion) {
            Some(seen) => (Ended::NotSeen, format!("it reasons nevertheless: {seen}")),
            None => (Ended::Works, "no reasoning was reported".to_owned()),
        },
    }
}

fn calls(least: usize, answer: &Answer) -> (Ended, String) {
    let calls: Vec<_> = answer.completion.message.tool_calls().collect();
    let is_right = |call: &&&attache_core::ToolCall| {
        let drawer = call.arguments.object().ok().and_then(|arguments| arguments.get("drawer").cloned());
        call.name == TOOL && drawer.is_some_and(|drawer| drawer == "left" || drawer == "right")
    };
    let right = calls.iter().filter(is_right).count();
    let number =
        |count: usize| if count == 1 { "1 call came".to_owned() } else { format!("{count} calls came") };
    if right >= least {
        return (Ended::Works, number(right));
    }
    if calls.is_empty() {
        return (
            Ended::NotSeen,
            format!("no call came: the reply is {:?}", short(&answer.completion.message.text(), 60)),
        );
    }
    if right < calls.len() {
        return (Ended::NotSeen, "the arguments of the call are not what the schema says".to_owned());
    }
    (Ended::NotSeen, format!("{} only", number(right)))
}

/// The model that answered, where the server names it.
fn named(completion: &Completion) -> String {
    completion.model.as_deref().map(|model| format!(", by {}", short(model, 60))).unwrap_or_default()
}

fn declined(completion: &Completion) -> Option<String> {
    match &completion.finish_reason {
        FinishReason::ContentFilter => Some("the provider withheld the reply".to_owned()),
        FinishReason::Refusal => Some("the model declined".to_owned()),
        FinishReason::Error => Some("the provider failed in the middle of the reply".to_owned()),
        _ => None,
    }
}

fn empty(completion: &Completion) -> String {
    match completion.finish_reason {
        FinishReason::Length => {
            let spent = completion.usage.output_tokens.map(|tokens| format!(" after {tokens} tokens"));
            let spent = spent.unwrap_or_default();
            format!("the reply reached its limit{spent} before any text; increase it with --max-tokens")
        }
        _ => "the reply is empty".to_owned(),
    }
}

/// The object that a reply is, also in a fence.
fn object(text: &str) -> Option<Value> {
    let text = text.trim();
    let text = text.strip_prefix("```json").or_else(|| text.strip_prefix("```")).unwrap_or(text);
    let text = text.strip_suffix("```").unwrap_or(text);
    serde_json::from_str::<Value>(text.trim()).ok().filter(Value::is_object)
}

fn follows(text: &str) -> bool {
    // A fence is no JSON, and nobody who holds a model to a schema writes one.
    let Ok(Value::Object(object)) = serde_json::from_str::<Value>(text.trim()) else { return false };
    let mood = object.get("mood").and_then(Value::as_str);
    object.len() == 2
        && matches!(mood, Some("calm" | "stormy"))
        && object.get("knots").is_some_and(|knots| knots.is_i64() || knots.is_u64())
}

fn reasoned(completion: &Completion) -> Option<String> {
    match completion.usage.reasoning_tokens.filter(|tokens| *tokens > 0) {
        Some(tokens) => Some(format!("{tokens} tokens of reasoning")),
        None => (!completion.message.thinking().trim().is_empty()).then(|| "a text of reasoning".to_owned()),
    }
}

/// The reason why no reply came.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The server says no to this request.
    Refused(String),
    /// Nothing can be concluded from it.
    Failed(String),
    /// It will not be otherwise with any other request.
    Hopeless(String),
}

/// The meaning of an error of a request that was sent.
pub(super) fn trouble(error: &ProviderError) -> Trouble {
    let text = match error.status() {
        Some(status) => format!("HTTP {status}: {}", short(error.message(), 300)),
        None => short(error.message(), 300),
    };
    let is_about_request = matches!(error.status(), None | Some(400..=499));
    match error.kind() {
        ErrorKind::Authentication | ErrorKind::QuotaExceeded | ErrorKind::Configuration => {
            Trouble::Hopeless(text)
        }
        // 501, or a server of which 500 is the word for everything.
        ErrorKind::Unsupported => Trouble::Refused(text),
        ErrorKind::InvalidRequest
        | ErrorKind::InvalidHistory
        | ErrorKind::NotFound
        | ErrorKind::Permission
        | ErrorKind::Refused
        | ErrorKind::Api
            if is_about_request =>
        {
            Trouble::Refused(text)
        }
        _ if error.status() == Some(500) && says_unsupported(error.message()) => Trouble::Refused(text),
        _ => Trouble::Failed(text),
    }
}

fn says_unsupported(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    ["not support", "unsupported"].iter().any(|words| message.contains(words))
}
