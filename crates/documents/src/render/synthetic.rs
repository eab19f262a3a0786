//! The synthetic user message behind tool results: the documents that the results themselves cannot hold.

use attache_core::message::{Metadata, TOOL_CALL_DOCUMENTS, UserOrigin};
use attache_core::{MessageId, UserMessage};

use super::Scene;
use super::parts::Pieces;

/// The metadata key of the capabilities that the synthetic message was made for.
const FINGERPRINT: &str = "capabilityFingerprint";

impl Scene<'_, '_> {
    /// Begins the message with the line that says where its documents come from.
    pub(super) fn begin_synthetic(&self, pieces: &mut Pieces) {
        if pieces.is_empty() {
            pieces.text(self.options.profile.results_preamble());
        }
    }

    /// The message behind the results of that id.
    pub(super) fn synthetic(&self, anchor: &MessageId, pieces: Pieces) -> UserMessage {
        let routed = pieces.routed();
        let mut message = UserMessage::new(routed.content.iter().cloned().map(Some));
        message.id = anchor.derived("documents");
        message.origin = UserOrigin::ToolCallDocuments;
        message.metadata =
            Metadata::new().with(TOOL_CALL_DOCUMENTS, true).with(FINGERPRINT, self.fingerprint);
        message.routed = Some(routed);
        message
    }
}
