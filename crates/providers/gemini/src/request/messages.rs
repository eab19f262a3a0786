//! Messages as parts of contents (gemini.md 2, 3, 4).

use std::sync::Arc;

use attache_core::files::FileReferences;
use attache_core::hash::StableHash;
use attache_core::message::{MadeDocument, ReplayData};
use attache_core::tool::wire_name;
use attache_core::{
    AssistantMessage, AssistantPart, Message, SystemMessage, ToolCall, ToolSet, UserMessage, UserPart,
};
use attache_transport::Fill::{Bare, Base64, Json, Text};
use attache_transport::{
    Codec as _, Envelope, ItemWriter, RoleTag, asked, check_routed, comma, note, place_of_user, template,
    wire_ids,
};
use serde::Deserialize;

use super::documents::{self, text};
use super::results;
use crate::capabilities::{demands_signatures, is_same_model, signs_all};
use crate::codec::GenerateCodec;
use crate::error::{Result, configuration, invalid_history};

pub(super) const USER: RoleTag = RoleTag::new(0);
pub(super) const MODEL: RoleTag = RoleTag::new(1);
/// The results of a turn: the user's role, but nothing else may stand beside them (gemini.md (a) 9).
pub(super) const RESULTS: RoleTag = RoleTag::new(2);

pub(super) static ENVELOPE: Envelope = Envelope::new(opening, joint, |_| "]}");

/// The word that the API takes in place of a signature where a history has none (gemini.md 4).
const STAND_IN: &str = "skip_thought_signature_validator";

/// A remark about a reply that is no part of it: it does not go back.
const METADATA: [&str; 3] = ["groundingMetadata", "urlContextMetadata", "citationMetadata"];

fn opening(role: RoleTag) -> &'static str {
    match role {
        MODEL => r#"{"role":"model","parts":["#,
        _ => r#"{"role":"user","parts":["#,
    }
}

fn joint(before: RoleTag, after: RoleTag) -> &'static str {
    match after {
        _ if before == after && after != RESULTS => ",",
        MODEL => r#"]},{"role":"model","parts":["#,
        _ => r#"]},{"role":"user","parts":["#,
    }
}

/// Renders the messages of one conversation.
#[derive(Clone, Copy)]
pub(super) struct Renderer<'a> {
    pub(super) codec: &'a GenerateCodec,
    pub(super) tools: &'a ToolSet,
    pub(super) files: &'a FileReferences,
    pub(super) messages: &'a [Arc<Message>],
    /// System messages that stand in the system instruction.
    pub(super) leading: usize,
    /// A mark of everything that all renderings depend on: see [`epoch`].
    pub(super) epoch: u64,
}

/// A number for what the rendering of messages depends on besides the messages: the model that reads them, and tools
/// whose name on the wire depends on the other tools.
pub(super) fn epoch(codec: &GenerateCodec, tools: &ToolSet) -> u64 {
    let renamed = tools.iter().filter(|(wire, tool)| *wire != wire_name(tool.name()));
    let renamed = renamed.flat_map(|(wire, tool)| [wire, tool.name()]);
    let demands = match (demands_signatures(codec.capabilities()), signs_all(codec.capabilities())) {
        (false, false) => "",
        (true, false) => "signed",
        (_, true) => "all signed",
    };
    let system = if codec.capabilities.system { "system" } else { "" };
    let texts = [codec.family(), codec.model(), demands, system].into_iter().chain(renamed);
    texts.fold(StableHash::new(), StableHash::text).finish()
}

impl Renderer<'_> {
    /// A number for what the rendering of a message depends on besides the message.
    pub(super) fn variant(&self, index: usize, message: &Message) -> u64 {
        match message {
            Message::System(_) => {
                u64::from(index < self.leading) + 2 * u64::from(self.codec.capabilities.system)
            }
            Message::Assistant(_) | Message::ToolResults(_) => self.epoch,
            // Results refer to no files.
            Message::User(_) => self.files.variant(message),
            _ => 0,
        }
    }

    /// Writes the parts of `message`, separated by commas; nothing for one that leaves nothing.
    pub(super) fn message(
        &self,
        index: usize,
        message: &Message,
        item: &mut ItemWriter<'_>,
    ) -> Result<Option<RoleTag>> {
        let role = match message {
            Message::System(_) if index < self.leading && self.codec.capabilities().system => {
                return Ok(None);
            }
            Message::System(system) => {
                instructions(system, item);
                USER
            }
            Message::User(user) => {
                self.user(user, item)?;
                USER
            }
            Message::Assistant(assistant) => {
                self.assistant(assistant, item);
                MODEL
            }
            Message::ToolResults(results) => {
                let (_, asked) = asked(self.messages, index)
                    .ok_or_else(|| invalid_history("tool results follow no message with calls"))?;
                results::render(self.codec, self.tools, asked, results, item)?;
                RESULTS
            }
            _ => return Err(configuration("this kind of message is not known here")),
        };
        Ok((!item.is_empty()).then_some(role))
    }

    fn user(&self, message: &UserMessage, item: &mut ItemWriter<'_>) -> Result<()> {
        check_routed(message)?;
        let place = (place_of_user(message), message.routed.is_none());
        for content in message.shown() {
            match content {
                UserPart::Text(part) => text(part.text(), item),
                UserPart::Object(tree) if tree.is_blank() => {}
                UserPart::Object(tree) => {
                    comma(item);
                    item.fill(template!(r#"{"text":$}"#), &[Json(&tree.model_text_literal())]);
                }
                UserPart::Document(document) => {
                    documents::part(self.codec, self.files, document, place, item)?;
                }
                _ => return Err(configuration("this kind of content is not known here")),
            }
        }
        Ok(())
    }

    fn assistant(&self, message: &AssistantMessage, item: &mut ItemWriter<'_>) {
        let calls: Vec<&ToolCall> = message.tool_calls().collect();
        let mut ids = if calls.is_empty() { Vec::new() } else { wire_ids(&calls, str::to_owned) }.into_iter();
        let mut is_first = true;
        let signs_all = signs_all(self.codec.capabilities());
        // The first part wants one that is no thought.
        let mut wants_signature = signs_all;
        for part in &message.parts {
            match part {
                AssistantPart::Text(part) => {
                    let replay = part.replay().and_then(|replay| self.replay(replay));
                    let stand_in = std::mem::take(&mut wants_signature).then_some(STAND_IN);
                    comma(item);
                    item.raw(r#"{"text":"#);
                    let own = replay.as_ref().and_then(|replay| replay.text.as_deref());
                    item.string(own.unwrap_or(part.text()));
                    end(replay.as_ref().map(|replay| replay.signature.as_str()).or(stand_in), item);
                }
                // Thoughts that are not signed mean nothing to the model.
                AssistantPart::Reasoning(part) => {
                    if let Some(replay) = part.replay().and_then(|replay| self.replay(replay)) {
                        comma(item);
                        item.fill(template!(r#"{"text":$,"thought":true"#), &[Text(part.text())]);
                        end(Some(&replay.signature), item);
                    }
                }
                AssistantPart::ToolCall(call) => {
                    let id = ids.next();
                    wants_signature = false;
                    self.call(call, id.as_deref(), std::mem::take(&mut is_first), item);
                }
                AssistantPart::Opaque(part)
                    if self.is_own(&part.replay) && !METADATA.contains(&part.kind.as_str()) =>
                {
                    wants_signature = false;
                    comma(item);
                    item.raw(part.replay.json().trim());
                }
                AssistantPart::Document(made) => {
                    let is_first = std::mem::take(&mut wants_signature);
                    self.made(made, signs_all, is_first, item);
                }
                // The data that means nothing to this model.
                _ => {}
            }
        }
    }

    /// A document that a model made goes back as it was, with its signature if it is this model's; otherwise a note
    /// stands there.
    fn made(&self, made: &MadeDocument, signs_all: bool, is_first: bool, item: &mut ItemWriter<'_>) {
        let stand_in = |wanted: bool| wanted.then_some(STAND_IN);
        let (document, media) = (&made.document, made.document.media_type());
        comma(item);
        match document.bytes().filter(|_| self.codec.capabilities().user.accepts(media)) {
            Some(bytes) => {
                item.fill(
                    template!(r#"{"inlineData":{"mimeType":$,"data":"$"}"#),
                    &[Text(media.essence()), Base64(&bytes)],
                );
                let replay = made.replay.as_ref().and_then(|replay| self.replay(replay));
                end(replay.as_ref().map(|replay| replay.signature.as_str()).or(stand_in(signs_all)), item);
            }
            None => {
                item.fill(template!(r#"{"text":$"#), &[Text(&note(document))]);
                end(stand_in(is_first), item);
            }
        }
    }

    fn call(&self, call: &ToolCall, id: Option<&str>, is_first: bool, item: &mut ItemWriter<'_>) {
        comma(item);
        item.raw(r#"{"functionCall":{"#);
        if let Some(id) = id {
            item.fill(template!(r#""id":$,"#), &[Text(id)]);
        }
        item.fill(
            template!(r#""name":$,"args":$}"#),
            &[Text(&self.tools.wire_name(&call.name)), Json(call.arguments.replay_json())],
        );
        let replay = call.replay.as_ref().and_then(|replay| self.replay(replay));
        let stand_in = is_first && demands_signatures(self.codec.capabilities());
        let signature = replay.as_ref().map(|replay| replay.signature.as_str());
        end(signature.or(stand_in.then_some(STAND_IN)), item);
    }

    /// True if it came from this model.
    fn is_own(&self, replay: &ReplayData) -> bool {
        replay.family() == self.codec.family() && is_same_model(replay.model(), self.codec.model())
    }

    fn replay(&self, replay: &ReplayData) -> Option<Replay> {
        self.is_own(replay).then(|| replay.read(self.codec.family())).flatten()
    }
}

/// The members that go back with a part.
#[derive(Deserialize)]
struct Replay {
    /// The part's own text, where it reads differently here.
    text: Option<String>,
    #[serde(rename = "thoughtSignature")]
    signature: String,
}

/// The signature stands beside the data of the part, never inside (gemini.md (a) 2).
fn end(signature: Option<&str>, item: &mut ItemWriter<'_>) {
    if let Some(signature) = signature {
        item.fill(template!(r#","thoughtSignature":$"#), &[Text(signature)]);
    }
    item.raw("}");
}

/// Instructions that have no place of their own stay where they were given, as marked text, so that what stands before
/// them is still read from the cache.
fn instructions(system: &SystemMessage, item: &mut ItemWriter<'_>) {
    for part in &system.parts {
        comma(item);
        item.fill(template!(r#"{"text":"<system>\n$\n</system>"}"#), &[Bare(part.text())]);
    }
}
