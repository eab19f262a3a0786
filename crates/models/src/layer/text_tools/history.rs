//! A conversation with calls as one of texts.

use std::sync::Arc;

use attache_core::hash::StableHash;
use attache_core::message::{ReplayData, UserOrigin};
use attache_core::{
    AssistantMessage, AssistantPart, ChatRequest, Message, MessageId, ReasoningPart, ResultStatus,
    SystemMessage, ToolCall, ToolResult, ToolSet, UserMessage, UserPart,
};
use serde_json::value::RawValue;

use super::marker::neutralised;

/// The mark of a thought that the protocol read: no provider takes it for its own reasoning.
const FAMILY: &str = "text-tools";

/// A thought as a part of a message.
pub(super) fn thought(text: &str) -> ReasoningPart {
    let mark = RawValue::from_string("true".to_owned()).ok();
    ReasoningPart::new(text).with_replay(mark.map(|mark| ReplayData::new(FAMILY, "", mark)))
}

fn is_thought(part: &ReasoningPart) -> bool {
    part.replay().is_some_and(|replay| replay.family() == FAMILY)
}

/// The instructions of `messages` with `text` behind them, and the other messages.
pub(super) fn instructed<'m>(messages: &'m [Arc<Message>], text: &str) -> (Arc<Message>, &'m [Arc<Message>]) {
    let mut rest = messages;
    let mut system = SystemMessage::new(text);
    let mut base = FAMILY;
    if let Some((first, others)) = rest.split_first()
        && let Message::System(own) = &**first
    {
        // The agent's own instructions come first.
        let mut joined = own.clone();
        joined.parts.append(&mut system.parts);
        (system, base, rest) = (joined, first.id().as_str(), others);
    }
    let id = format!("{base}~{:x}", StableHash::new().text(text).finish());
    let id = MessageId::parse(id).unwrap_or_else(MessageId::new);
    (Message::System(system).with_id(id).shared(), rest)
}

/// The messages with these words behind their instructions, if there are any, and calls, results and answers as texts.
pub(super) fn as_text(request: &ChatRequest, words: &str) -> Vec<Arc<Message>> {
    let mut texts = Vec::with_capacity(request.messages.len() + 1);
    let mut rest = request.messages.as_slice();
    if !words.is_empty() {
        let (system, others) = instructed(rest, words);
        texts.push(system);
        rest = others;
    }
    let mut open: Option<Open<'_>> = None;
    let mut number = 0_usize;
    for message in rest {
        match &**message {
            Message::ToolResults(results) => {
                for said in open.take().into_iter().flat_map(Open::split) {
                    number += 1;
                    let result = results.results.iter().find(|result| result.call_id == said.call.id);
                    let id = MessageId::parse(format!("{}.{number}", derived(message, "results")));
                    let mut seen = UserMessage::new(observation(number, said.call, result));
                    seen.origin = UserOrigin::Event;
                    texts.push(said.message(&request.tools));
                    texts.push(Message::User(seen).with_id(id.unwrap_or_else(MessageId::new)).shared());
                }
                continue;
            }
            _ => texts.extend(
                open.take().into_iter().flat_map(Open::split).map(|said| said.message(&request.tools)),
            ),
        }
        match &**message {
            Message::Assistant(reply) if reply.has_tool_calls() => open = Some(Open { message, reply }),
            // Without the protocol nobody takes its markers off again.
            Message::Assistant(reply) if !request.tools.is_empty() => texts.push(answer(message, reply)),
            Message::User(user) if user.origin == UserOrigin::ToolCallDocuments => {
                texts.push(documents(message, user));
            }
            _ => texts.push(Arc::clone(message)),
        }
    }
    texts.extend(open.into_iter().flat_map(Open::split).map(|said| said.message(&request.tools)));
    texts
}

/// A message with calls whose results are to come.
struct Open<'a> {
    message: &'a Arc<Message>,
    reply: &'a AssistantMessage,
}

/// One call of a message, and what was said before it.
struct Said<'a> {
    id: String,
    thoughts: String,
    call: &'a ToolCall,
}

impl<'a> Open<'a> {
    /// One action after the other, as the format has it.
    fn split(self) -> impl Iterator<Item = Said<'a>> {
        let mut thoughts = thoughts(self.reply);
        let id = derived(self.message, "calls");
        self.reply.tool_calls().enumerate().map(move |(place, call)| Said {
            id: format!("{id}.{place}"),
            thoughts: std::mem::take(&mut thoughts),
            call,
        })
    }
}

impl Said<'_> {
    fn message(&self, tools: &ToolSet) -> Arc<Message> {
        let text = action(&self.thoughts, self.call, tools);
        let said = AssistantMessage::new([AssistantPart::text(text)]);
        Message::Assistant(said).with_id(MessageId::parse(&self.id).unwrap_or_else(MessageId::new)).shared()
    }
}

/// The id of what a message becomes: another one where routing decided otherwise, so that nothing of it is taken for the
/// message itself.
fn derived(message: &Arc<Message>, kind: &str) -> MessageId {
    let text = format!("{}~{kind}-{:x}", message.id(), message.stamp());
    MessageId::parse(text).unwrap_or_else(|| message.id().clone())
}

/// The thoughts and the words before the calls of a message.
fn thoughts(reply: &AssistantMessage) -> String {
    let said = |part: &AssistantPart| match part {
        AssistantPart::Reasoning(reasoning) if is_thought(reasoning) => {
            Some(reasoning.text().trim().to_owned())
        }
        AssistantPart::Text(text) => Some(text.text().trim().to_owned()),
        _ => None,
    };
    let texts: Vec<String> = reply.parts.iter().filter_map(said).filter(|text| !text.is_empty()).collect();
    texts.join("\n")
}

fn action(thoughts: &str, call: &ToolCall, tools: &ToolSet) -> String {
    let thought = if thoughts.is_empty() { String::new() } else { format!("Thought: {thoughts}\n") };
    format!(
        "{thought}Action: {}\nAction Input: {}",
        tools.wire_name(&call.name),
        call.arguments.replay_json()
    )
}

fn observation(number: usize, call: &ToolCall, result: Option<&ToolResult>) -> Vec<Option<UserPart>> {
    let status = match result.map(|result| result.status) {
        Some(ResultStatus::Ok) => "",
        Some(ResultStatus::Cancelled) => ", cancelled",
        Some(_) => ", failed",
        None => ", no result",
    };
    let text = result.map(|result| neutralised(&result.tree.model_text())).unwrap_or_default();
    let text = format!("Observation: (call {number}, {}{status}) {text}", neutralised(&call.name));
    let mut attached = result.map(|result| result.attached().to_vec()).unwrap_or_default();
    tame(&mut attached);
    [UserPart::text(text)].into_iter().chain(attached.into_iter().map(Some)).collect()
}

fn answer(message: &Arc<Message>, reply: &AssistantMessage) -> Arc<Message> {
    let text = reply.text();
    if text.trim().is_empty() {
        return Arc::clone(message);
    }
    let thoughts: Vec<&str> = reply
        .parts
        .iter()
        .filter_map(|part| match part {
            AssistantPart::Reasoning(reasoning) if is_thought(reasoning) => Some(reasoning.text().trim()),
            _ => None,
        })
        .collect();
    let thought =
        if thoughts.is_empty() { String::new() } else { format!("Thought: {}\n", thoughts.join("\n")) };
    let others = reply.parts.iter().filter(|part| {
        !matches!(part, AssistantPart::Text(_))
            && !matches!(part, AssistantPart::Reasoning(part) if is_thought(part))
    });
    let parts =
        others.cloned().map(Some).chain([AssistantPart::text(format!("{thought}Final Answer: {text}"))]);
    let mut said = AssistantMessage::new(parts);
    said.metadata = reply.metadata.clone();
    Message::Assistant(said).with_id(derived(message, "answer")).shared()
}

/// Documents that tools returned: their text is a tool's word too.
fn documents(message: &Arc<Message>, user: &UserMessage) -> Arc<Message> {
    let mut user = user.clone();
    tame(&mut user.parts);
    if let Some(routed) = &mut user.routed {
        tame(&mut routed.content);
    }
    Message::User(user).with_id(derived(message, "documents")).shared()
}

/// Takes the markers of the protocol out of texts of somebody else.
fn tame(parts: &mut [UserPart]) {
    for part in parts {
        if let UserPart::Text(text) = part {
            let safe = neutralised(text.text());
            if safe != text.text()
                && let Some(UserPart::Text(new)) = UserPart::text(safe)
            {
                *text = new;
            }
        }
    }
}
