//! Replies of the model as they go back to it.

use std::borrow::Cow;

use attache_core::message::ReplayData;
use attache_core::{AssistantMessage, AssistantPart, TextPart, ToolCall};
use attache_transport::Fill::{Json, Text};
use attache_transport::{ItemWriter, joined, separate, template, unknown_part, wire_ids};
use serde_json::Value;
use serde_json::value::RawValue;

use super::ids::legal;
use super::messages::{Renderer, text_part};
use crate::chat::response::extras::{EXTRA_CONTENT, is_beside};
use crate::chat::response::reasoning::Origin;
use crate::chat::response::wire::BesideCall;
use crate::error::Result;
use crate::profile::{EmptyContent, Replayed};

impl Renderer<'_> {
    /// True if anything of a reply goes back.
    pub(super) fn says_something(&self, message: &AssistantMessage) -> bool {
        message.parts.iter().any(|part| matches!(part, AssistantPart::Text(_) | AssistantPart::ToolCall(_)))
            || Replaying::new(self, message, false).is_ok_and(|replay| replay.has_parts())
    }

    /// Writes a reply of the model; `false` if nothing of it can go back.
    pub(super) fn assistant(&self, message: &AssistantMessage, out: &mut ItemWriter<'_>) -> Result<bool> {
        let calls: Vec<_> = message.tool_calls().collect();
        let replay = Replaying::new(self, message, !calls.is_empty())?;
        let says = message.parts.iter().any(|part| matches!(part, AssistantPart::Text(_)));
        if !says && calls.is_empty() && !replay.has_parts() {
            return Ok(false);
        }
        out.raw(r#"{"role":"assistant""#);
        self.assistant_content(message, &replay, says, out);
        replay.members(!calls.is_empty(), out)?;
        for (at, (call, id)) in
            calls.iter().zip(wire_ids(&calls, |id| legal(id, self.server.profile.call_ids))).enumerate()
        {
            out.raw(if at == 0 { r#","tool_calls":["# } else { "," });
            self.call(call, &id, out);
        }
        out.raw(if calls.is_empty() { "}" } else { "]}" });
        Ok(true)
    }

    fn assistant_content(
        &self,
        message: &AssistantMessage,
        replay: &Replaying<'_>,
        says: bool,
        out: &mut ItemWriter<'_>,
    ) {
        let texts = || {
            message.parts.iter().filter_map(|part| match part {
                AssistantPart::Text(text) => Some(text),
                _ => None,
            })
        };
        let as_parts =
            replay.has_parts() || self.server.profile.refusal_parts && texts().any(TextPart::is_refusal);
        if !as_parts {
            let tagged =
                replay.tags.iter().flat_map(|(text, open, close)| [open.as_str(), text, close.as_str()]);
            if says || !replay.tags.is_empty() {
                out.raw(r#","content":"#);
                joined(tagged.chain(texts().map(TextPart::text)), "", out);
                return;
            }
            out.raw(match self.server.profile.empty_content {
                EmptyContent::Null => r#","content":null"#,
                EmptyContent::Empty => r#","content":"""#,
                EmptyContent::Omitted => "",
            });
            return;
        }
        out.raw(r#","content":["#);
        let mut first = true;
        for part in &message.parts {
            let written = match part {
                AssistantPart::Text(text) => {
                    separate(&mut first, out);
                    if text.is_refusal() && self.server.profile.refusal_parts {
                        out.fill(template!(r#"{"type":"refusal","refusal":$}"#), &[Text(text.text())]);
                    } else {
                        text_part(text.text(), out);
                    }
                    continue;
                }
                AssistantPart::Reasoning(reasoning) => match replay.origin(reasoning.replay()) {
                    Some(Origin::Content { value }) => Some(Cow::Owned(value.to_string())),
                    _ => None,
                },
                AssistantPart::Opaque(opaque) if opaque.kind != EXTRA_CONTENT && !is_beside(&opaque.kind) => {
                    replay.verbatim(Some(&opaque.replay)).map(Cow::Borrowed)
                }
                _ => None,
            };
            if let Some(json) = written {
                separate(&mut first, out);
                out.raw(&json);
            }
        }
        out.raw("]");
    }

    fn call(&self, call: &ToolCall, id: &str, out: &mut ItemWriter<'_>) {
        out.fill(
            template!(r#"{"id":$,"type":"function","function":{"name":$,"arguments":$}"#),
            &[Text(id), Text(&self.request.tools.wire_name(&call.name)), Text(call.arguments.replay_json())],
        );
        if let Some(extra) = self.own(call.replay.as_deref()) {
            let (extra, fields) = match BesideCall::read(extra) {
                Some(beside) => {
                    (beside.extra_content.map(RawValue::get), Some(beside.provider_specific_fields.get()))
                }
                None => (Some(extra), None),
            };
            if let Some(extra) = extra {
                out.fill(template!(r#","extra_content":$"#), &[Json(extra)]);
            }
            if let Some(fields) = fields {
                out.fill(template!(r#","provider_specific_fields":$"#), &[Json(fields)]);
            }
        }
        out.raw("}");
    }

    /// Data that this profile and model made, which alone may go back verbatim.
    fn own<'r>(&self, replay: Option<&'r ReplayData>) -> Option<&'r str> {
        let replay = replay?;
        (replay.family() == self.server.profile.name && replay.model() == &*self.server.model)
            .then(|| replay.json())
    }
}

/// The part of a message's reasoning and other data that goes back.
struct Replaying<'a> {
    renderer: &'a Renderer<'a>,
    wanted: bool,
    has_calls: bool,
    content: String,
    reasoning: String,
    details: Vec<Value>,
    blocks: Vec<Value>,
    /// Reasoning with what stands around it.
    tags: Vec<(&'a str, String, String)>,
    parts: bool,
    extra: Option<&'a str>,
}

impl<'a> Replaying<'a> {
    fn new(renderer: &'a Renderer<'a>, message: &'a AssistantMessage, has_calls: bool) -> Result<Self> {
        let wanted = match renderer.server.profile.reasoning_replay {
            Replayed::Never => false,
            Replayed::WithCalls => has_calls,
            Replayed::Always => true,
        };
        let mut replay = Self {
            renderer,
            wanted,
            has_calls,
            content: String::new(),
            reasoning: String::new(),
            details: Vec::new(),
            blocks: Vec::new(),
            tags: Vec::new(),
            parts: false,
            extra: None,
        };
        for part in &message.parts {
            match part {
                AssistantPart::Reasoning(part) => match replay.origin(part.replay()) {
                    Some(Origin::ReasoningContent) => replay.content.push_str(part.text()),
                    Some(Origin::Reasoning) => replay.reasoning.push_str(part.text()),
                    Some(Origin::ReasoningDetails { value: Value::Array(value) }) => {
                        replay.details.extend(value)
                    }
                    Some(Origin::ReasoningDetails { value }) => replay.details.push(value),
                    Some(Origin::ThinkingBlocks { value: Value::Array(value) }) => {
                        replay.blocks.extend(value)
                    }
                    Some(Origin::ThinkingBlocks { value }) => replay.blocks.push(value),
                    Some(Origin::Tags { open, close }) => replay.tags.push((part.text(), open, close)),
                    Some(Origin::Content { .. }) => replay.parts = true,
                    None => {}
                },
                AssistantPart::Opaque(part) if is_beside(&part.kind) => {}
                AssistantPart::Opaque(part) => match replay.verbatim(Some(&part.replay)) {
                    Some(json) if part.kind == EXTRA_CONTENT => replay.extra = Some(json),
                    Some(_) => replay.parts = true,
                    None => {}
                },
                AssistantPart::Text(_) | AssistantPart::ToolCall(_) => {}
                _ => return Err(unknown_part(&message.id)),
            }
        }
        Ok(replay)
    }

    /// Where reasoning came from, if it goes back there. Signed or encrypted text is the model's own; plain text
    /// may go to another model of the same server. Blocks go back with calls wherever the server sent some: Claude
    /// refuses calls without them (openai.md C.19).
    fn origin(&self, replay: Option<&ReplayData>) -> Option<Origin> {
        let may_be_blocks =
            |replay: &&ReplayData| self.has_calls && replay.json().contains("\"thinking_blocks\"");
        let replay = replay.filter(|replay| self.wanted || may_be_blocks(replay))?;
        let origin = replay.read(&self.renderer.server.profile.name)?;
        match origin {
            Origin::ThinkingBlocks { .. } | Origin::ReasoningDetails { .. } | Origin::Content { .. } => {
                let is_wanted = self.wanted || matches!(origin, Origin::ThinkingBlocks { .. });
                (is_wanted && replay.model() == &*self.renderer.server.model).then_some(origin)
            }
            plain => self.wanted.then_some(plain),
        }
    }

    fn verbatim<'r>(&self, replay: Option<&'r ReplayData>) -> Option<&'r str> {
        self.renderer.own(replay)
    }

    /// True if the content must be a list.
    fn has_parts(&self) -> bool {
        self.parts
    }

    /// Writes the members beside the content.
    fn members(&self, has_calls: bool, out: &mut ItemWriter<'_>) -> Result<()> {
        // openai.md D 1
        if has_calls && self.content.is_empty() && self.renderer.server.profile.empty_reasoning {
            out.raw(r#","reasoning_content":"""#);
        }
        for (name, text) in [("reasoning_content", &self.content), ("reasoning", &self.reasoning)] {
            if !text.is_empty() {
                out.fill(template!(r#","$":$"#), &[Json(name), Text(text)]);
            }
        }
        if !self.details.is_empty() {
            out.raw(r#","reasoning_details":"#);
            out.json(&self.details)?;
        }
        if !self.blocks.is_empty() {
            out.raw(r#","thinking_blocks":"#);
            out.json(&self.blocks)?;
        }
        if let Some(extra) = self.extra {
            out.fill(template!(r#","extra_content":$"#), &[Json(extra)]);
        }
        Ok(())
    }
}
