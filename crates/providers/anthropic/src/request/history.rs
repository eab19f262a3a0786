//! The decisions about a conversation before any of it is rendered: pairing, ids, and what stays out.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use attache_core::capability::ReasoningReplay;
use attache_core::hash::StableHash;
use attache_core::message::{OpaquePart, ReplayData, UserOrigin};
use attache_core::{
    AssistantMessage, AssistantPart, Message, ReasoningPart, ToolCallId, ToolResultsMessage, ToolSet,
};
use attache_transport::claude::{CallIds, loop_began_with_thinking};
use attache_transport::{Codec as _, check_pairing, count_seen};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::capabilities::{FAMILY, is_same_model};
use crate::codec::{Ask, MessagesCodec};
use crate::error::Result;
use crate::response::{CONTAINER, FALLBACK};

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
    /// The messages since the last assistant message began with tool results.
    after_results: bool,
    /// Calls of server tools without a result so far: the message and the id.
    server_calls: Vec<(usize, String)>,
    /// The ids of all calls of server tools so far.
    called: HashSet<String>,
    /// Calls of server tools that nothing will answer, and those whose answer stands there without them: a window has
    /// moved on.
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
    ) -> Result<()> {
        if count_seen(messages, &self.planned) < self.planned.len() {
            *self = Self::default();
        }
        // The messages that were planned are paired. Of a mistake all of them tell the place.
        let new = messages.get(self.planned.len()..).unwrap_or_default();
        check_pairing(new).or_else(|_| check_pairing(messages))?;
        new.iter().for_each(|message| self.step(message, tools, codec));
        Ok(())
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

    /// True if a block of the provider is left out, since it calls a server tool that never answered, or answers a call
    /// that is not there.
    pub(super) fn is_orphan(&self, part: &OpaquePart) -> bool {
        let id = || server_call(part).or_else(|| server_result(part));
        !self.orphans.is_empty() && id().is_some_and(|id| self.orphans.contains(&id))
    }

    fn step(&mut self, message: &Arc<Message>, tools: &ToolSet, codec: &MessagesCodec) {
        let index = self.planned.len();
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
            Message::Assistant(message) => {
                self.after_results = false;
                self.assistant(index, message, tools, codec)
            }
            Message::ToolResults(message) => {
                self.after_results |= !message.results.is_empty();
                self.results(message)
            }
            _ => 0,
        };
        self.variants.push(variant);
        self.planned.push(Arc::clone(message));
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
                    let name = tools.wire_name(&call.name);
                    variant = self.ids.plan_call(call, &name, is_legal, legal, variant);
                    // The result repeats it.
                    if let Some(replay) = &call.replay
                        && let Some(name) =
                            replay.read::<CallReplay>(FAMILY).and_then(|replay| replay.toolset_name)
                    {
                        self.toolsets.insert(call.id.clone(), name);
                    }
                }
                AssistantPart::Reasoning(part) if is_replayed(part, codec) => {
                    variant = variant.text("replayed")
                }
                // The model that declined was cut off in them.
                AssistantPart::Opaque(part) if is_block(part) && part.kind == FALLBACK => {
                    for (_, id) in self.server_calls.extract_if(.., |(at, _)| *at == index) {
                        variant = variant.text(&id);
                        self.orphans.insert(id);
                    }
                }
                AssistantPart::Opaque(part) if is_block(part) => {
                    if let Some(id) = server_call(part) {
                        self.called.insert(id.clone());
                        self.server_calls.push((index, id));
                    } else if let Some(id) = server_result(part) {
                        self.server_calls.retain(|(_, call)| *call != id);
                        if self.orphans.contains(&id) || !self.called.contains(&id) {
                            variant = variant.text(&id);
                            self.orphans.insert(id);
                        }
                    }
                }
                _ => {}
            }
        }
        variant.finish()
    }

    fn results(&mut self, message: &ToolResultsMessage) -> u64 {
        let variant = self.ids.plan_results(self.planned.last(), message, StableHash::new());
        let toolsets = message.results.iter().filter_map(|result| self.toolset(&result.call_id));
        toolsets.fold(variant, |variant, name| variant.text(name.get())).finish()
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
