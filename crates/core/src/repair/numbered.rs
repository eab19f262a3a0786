//! Messages with the places that they had.

use std::sync::Arc;

use crate::message::{AssistantPart, Message, Role, UserPart};
use crate::repair::kind::{Repair, RepairKind};

/// A message, and where it stood.
#[derive(Clone)]
pub(super) struct Numbered {
    pub(super) at: usize,
    pub(super) message: Arc<Message>,
}

impl Numbered {
    /// Another message in its place.
    pub(super) fn with(&self, message: Message) -> Self {
        Self { at: self.at, message: message.shared() }
    }

    pub(super) fn repair(&self, kind: RepairKind, detail: impl Into<String>) -> Repair {
        Repair { at: self.at, message: self.message.id().clone(), kind, detail: detail.into() }
    }
}

/// True if a message says nothing at all.
pub(super) fn is_empty(message: &Message) -> bool {
    match message {
        Message::System(message) => message.parts.is_empty(),
        Message::User(message) => message.parts.is_empty(),
        Message::Assistant(message) => message.parts.is_empty(),
        Message::ToolResults(message) => message.results.is_empty(),
    }
}

pub(super) fn is_blank_content(content: &UserPart) -> bool {
    matches!(content, UserPart::Object(tree) if tree.is_blank() && tree.documents().is_empty())
}

pub(super) fn is_blank_part(part: &AssistantPart) -> bool {
    let AssistantPart::Reasoning(part) = part else { return false };
    part.text().trim().is_empty() && !part.is_redacted() && part.replay().is_none()
}

pub(super) fn role(numbered: &Numbered) -> Role {
    numbered.message.role()
}
