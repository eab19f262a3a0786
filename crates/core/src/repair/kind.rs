//! Kinds of repairs of a history.

use std::fmt;

use crate::id::MessageId;

/// One repair.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repair {
    /// The index of the affected message before the repair, from 0.
    pub at: usize,
    /// The id of the affected message.
    pub message: MessageId,
    /// The problem.
    pub kind: RepairKind,
    /// The change: one line, without message content.
    pub detail: String,
}

/// The kind of a problem in a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RepairKind {
    /// A call has no result.
    MissingResult,
    /// A result answers no call.
    OrphanResult,
    /// A call has a second result.
    DuplicateResult,
    /// A result does not directly follow its call, or is not in the order of the calls.
    MisplacedResult,
    /// Two calls have the same id.
    DuplicateCall,
    /// Two messages have the same id.
    DuplicateMessage,
    /// A part is blank.
    BlankPart,
    /// A message has no parts.
    EmptyMessage,
    /// A synthetic message does not follow its tool results.
    OrphanDocuments,
    /// The instructions do not come first.
    SystemNotFirst,
    /// The conversation begins with a message of the model.
    BeginsWithAssistant,
}

impl RepairKind {
    /// The name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MissingResult => "missing_result",
            Self::OrphanResult => "orphan_result",
            Self::DuplicateResult => "duplicate_result",
            Self::MisplacedResult => "misplaced_result",
            Self::DuplicateCall => "duplicate_call",
            Self::DuplicateMessage => "duplicate_message",
            Self::BlankPart => "blank_part",
            Self::EmptyMessage => "empty_message",
            Self::OrphanDocuments => "orphan_documents",
            Self::SystemNotFirst => "system_not_first",
            Self::BeginsWithAssistant => "begins_with_assistant",
        }
    }
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "message {} ({}): {}", self.at, self.message, self.detail)
    }
}
