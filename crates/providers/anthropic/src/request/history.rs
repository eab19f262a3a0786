//! The decisions about a conversation before any of it is rendered: pairing, ids, and what stays out.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use attache_core::capability::ReasoningReplay;
use attache_core::hash::StableHash;
use attache_core::message::{OpaquePart, ReplayData, UserOrigin};
use attache_core::tool::wire_name;
use attache_core::{
    AssistantMessage, AssistantPart, Message, ProviderError, ReasoningPart, ToolCall, ToolCallId,
    ToolResultsMessage, ToolSet,
};
use attache_transport::claude::{CallIds, loop_began_with_thinking};
use attache_transport::{Codec as _, count_seen, invalid_history};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::capabilities::{FAMILY, is_same_model};
use crate::codec::{Ask, MessagesCodec};
use crate::response::CONTAINER;

/// The plan of a conversation. It grows with it: what was planned stays, so that what was sent stays.
#[derive(Debug, Default)]
pub(super) struct Plan {
    planned: Vec<Arc<Message>>,
    variants: Vec<u64>,
    /// System messages before everything else, which stand at the top level of the request.
    leading: usize,
    ids: CallIds,
    /// `toolset_name`s of calls, which their results repeat.
    toolsets: HashMap<ToolCallId, Box<RawValue>>,
    /// The assistant message whose calls have no results yet.
    waiting: Option<usize>,
    /// The messages since the last assistant message began with tool results.
    after_results: bool,
    /// Calls of server tools without a result so far: the message and the id.
    server_calls: Vec<(usize, String)>,
    /// Calls of server tools that nothing will answer.
    orphans: HashSet<String>,
}

/// The members that the API wants back with a call.
#[derive(Debug, Default, Deserialize)]
pub(super) struct CallReplay {
    pub(super) caller: Option<Box<RawValue>>,
    pub(super) toolset_name: Option<Box<RawValue>>,
}

impl Plan {
    /// Plans `messages`, going on where the last plan ended if it was of the same conversation.
    pub(super) fn extend(
        &mut self,
        messages: &[Arc<Message>],
        tools: &ToolSet,
        codec: &MessagesCodec,
    ) -> Result<(), ProviderError> {
        if count_seen(messages, &self.planned) < self.planned.len() {
            *self = Self::default();
        }
        for message in messages.iter().skip(self.planned.len()) {
            if let Err(error) = self.step(message, tools, codec) {
                *self = Self::default();
                return Err(error);
            }
        }
        match self.waiting.and_then(|at| self.planned.get(at)).map(|message| &**message) {
            Some(Message::Assistant(message)) => Err(unanswered(message.tool_calls())),
            _ => Ok(()),
        }
    }

    /// A number for what the rendering of a message depends on besides the message.
    pub(super) fn variant(&self, index: usize) -> u64 {
        self.variants.get(index).copied().unwrap_or_default()
    }

    /// The number of system messages before everything else.
    pub(super) fn leading(&self) -> usize {
        self.leading
    }

    /// The ids of calls on the wire.
    pub(super) fn ids(&self) -> &CallIds {
        &self.ids
    }

    /// The `toolset_name` that the result of a call repeats.
    pub(super) fn toolset(&self, id: &ToolCallId) -> Option<&RawValue> {
        self.toolsets.get(id).map(|name| &**name)
    }

    /// True if a block of the provider is left out, since it calls a server tool that never answered.
    pub(super) fn is_orphan(&self, part: &OpaquePart) -> bool {
        !self.orphans.is_empty() && server_call(part).is_some_and(|id| self.orphans.contains(&id))
    }

    fn step(
        &mut self,
        message: &Arc<Message>,
        tools: &ToolSet,
        codec: &MessagesCodec,
    ) -> Result<(), ProviderError> {
        let index = self.planned.len();
        let waiting = self.waiting.take();
        if let Some(Message::Assistant(calls)) = waiting.and_then(|at| self.planned.get(at)).map(|m| &**m)
            && !matches!(&**message, Message::ToolResults(_))
        {
            return Err(unanswered(calls.tool_calls()));
        }
        let variant = match &**message {
            Message::System(_) if index == self.leading => {
                self.leading += 1;
                0
            }
            Message::System(_) | Message::User(_) => {
                if !self.after_results {
                    self.give_up_server_calls();
                }
                u64::from(matches!(&**message, Message::System(_)))
            }
            Message::Assistant(message) => self.assistant(index, message, tools, codec),
            Message::ToolResults(message) => self.results(waiting, message)?,
            _ => 0,
        };
        match &**message {
            Message::Assistant(_) => self.after_results = false,
            Message::ToolResults(results) => self.after_results |= !results.results.is_empty(),
            _ => {}
        }
        self.variants.push(variant);
        self.planned.push(Arc::clone(message));
        Ok(())
    }

    fn assistant(
        &mut self,
        index: usize,
        message: &AssistantMessage,
        tools: &ToolSet,
        codec: &MessagesCodec,
    ) -> u64 {
        let mut variant = StableHash::new();
        for part in &message.parts {
            match part {
                AssistantPart::ToolCall(call) => {
                    self.waiting = Some(index);
                    variant = self.call(call, variant);
                    let name = tools.wire_name(&call.name);
                    if name != wire_name(&call.name) {
                        variant = variant.text(&name);
                    }
                }
                AssistantPart::Reasoning(part) if is_replayed(part, codec) => {
                    variant = variant.text("replayed")
                }
                AssistantPart::Opaque(part) if is_block(part) => {
                    if let Some(id) = server_call(part) {
                        self.server_calls.push((index, id));
                    } else if let Some(id) = server_result(part) {
                        self.server_calls.retain(|(_, call)| *call != id);
                    }
                }
                _ => {}
            }
        }
        variant.finish()
    }

    /// Settles the id of a call, and notes what its result repeats.
    fn call(&mut self, call: &ToolCall, mut variant: StableHash) -> StableHash {
        if let Some(id) = self.ids.settle(call, is_legal, legal) {
            variant = variant.text(id);
        }
        if let Some(replay) = &call.replay
            && let Some(name) = replay.read::<CallReplay>(FAMILY).and_then(|replay| replay.toolset_name)
        {
            self.toolsets.insert(call.id.clone(), name);
        }
        variant
    }

    fn results(
        &mut self,
        waiting: Option<usize>,
        message: &ToolResultsMessage,
    ) -> Result<u64, ProviderError> {
        let asked = waiting.and_then(|at| self.planned.get(at)).map(Arc::clone);
        let calls: Vec<&ToolCall> = match asked.as_deref() {
            Some(Message::Assistant(assistant)) => assistant.tool_calls().collect(),
            _ => Vec::new(),
        };
        let mut variant = StableHash::new();
        let mut answered = HashSet::with_capacity(calls.len());
        for result in &message.results {
            let Some(call) = calls.iter().find(|call| call.id == result.call_id) else {
                return Err(invalid_history(format!(
                    "the result of {} answers no call of the assistant message before it",
                    result.call_id
                )));
            };
            if !answered.insert(&result.call_id) {
                return Err(invalid_history(format!("the call {} has two results", result.call_id)));
            }
            if let Some(id) = self.ids.answer(call, result) {
                variant = variant.text(id);
            }
            if let Some(name) = self.toolsets.get(&call.id) {
                variant = variant.text(name.get());
            }
        }
        if answered.len() < calls.len() {
            return Err(unanswered(calls.into_iter().filter(|call| !answered.contains(&call.id))));
        }
        Ok(variant.finish())
    }

    /// The user speaks: what server tools have not answered, they never will. (While client tools run, code at the
    /// provider may wait for their results, so tool results do not end the waiting.)
    fn give_up_server_calls(&mut self) {
        for (index, id) in self.server_calls.drain(..) {
            if let Some(variant) = self.variants.get_mut(index) {
                *variant = StableHash::new().number(*variant).text(&id).finish();
            }
            self.orphans.insert(id);
        }
    }
}

/// True if reasoning goes back: signed by this API for this model. Unsigned and foreign reasoning never does, nor
/// that of another model, which older models reject and newer ones ignore.
pub(super) fn is_replayed(part: &ReasoningPart, codec: &MessagesCodec) -> bool {
    codec.capabilities().reasoning_replay != ReasoningReplay::None
        && part.replay().is_some_and(|replay| is_ours(replay) && is_same_model(replay.model(), codec.model()))
}

/// True if replay data comes from this API.
pub(super) fn is_ours(replay: &ReplayData) -> bool {
    replay.family() == FAMILY
}

/// True if a part stands in the conversation as the block that the provider made.
pub(super) fn is_block(part: &OpaquePart) -> bool {
    is_ours(&part.replay) && part.kind != CONTAINER
}

/// The id of the container in which the provider's code ran in the turn that the request goes on with. Where there
/// are calls of that code to answer, the API demands it.
pub(super) fn container(messages: &[Arc<Message>]) -> Option<String> {
    #[derive(Deserialize)]
    struct Container {
        id: String,
    }
    let author =
        |message: &Message| matches!(message, Message::User(user) if user.origin == UserOrigin::Author);
    let turn = messages.iter().rev().take_while(|message| !author(message));
    let mut parts = turn.flat_map(|message| match &**message {
        Message::Assistant(message) => message.parts.as_slice(),
        _ => &[],
    });
    parts.find_map(|part| match part {
        AssistantPart::Opaque(part) if part.kind == CONTAINER => {
            Some(part.replay.read::<Container>(FAMILY)?.id)
        }
        _ => None,
    })
}

/// True if the turn that the request goes on with began with thinking that goes back.
pub(super) fn began_with_thinking(ask: Ask<'_>) -> bool {
    loop_began_with_thinking(&ask.request.messages, |part| match part {
        AssistantPart::Reasoning(part) => is_replayed(part, ask.codec),
        AssistantPart::Opaque(part) => is_block(part),
        _ => true,
    })
}

#[derive(Deserialize)]
struct ServerBlock {
    id: Option<String>,
    tool_use_id: Option<String>,
}

fn server_call(part: &OpaquePart) -> Option<String> {
    let calls = part.kind.ends_with("tool_use");
    calls.then(|| part.replay.read::<ServerBlock>(FAMILY)).flatten()?.id
}

fn server_result(part: &OpaquePart) -> Option<String> {
    let answers = part.kind.ends_with("_tool_result");
    answers.then(|| part.replay.read::<ServerBlock>(FAMILY)).flatten()?.tool_use_id
}

fn is_legal(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

fn legal(id: &str) -> String {
    let legal = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    id.chars().map(legal).collect()
}

fn unanswered<'a>(calls: impl Iterator<Item = &'a ToolCall>) -> ProviderError {
    let calls: Vec<String> = calls.map(|call| format!("{} ({})", call.id, call.name)).collect();
    invalid_history(format!("tool calls have no results directly after them: {}", calls.join(", ")))
}
