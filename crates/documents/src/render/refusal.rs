//! The error for what must not be left out in silence.

use attache_core::{ErrorKind, ModelCapabilities, ProviderError};

use crate::decide::treatment::Treatment;
use crate::decide::words::name;
use crate::find::{Occurrence, Origin};
use crate::report::ReasonKind;

/// Names the document, its media type, the model, and what the model takes instead.
pub(super) fn refusal(
    occurrence: &Occurrence<'_>,
    treatment: &Treatment,
    capabilities: &ModelCapabilities,
) -> ProviderError {
    let document = occurrence.document;
    let who = match occurrence.origin {
        Origin::Event => "an event",
        Origin::Author { .. } | Origin::Tool => "the author",
    };
    // Quoted, so that a hostile name stays on the line, and cut, so that it stays short.
    let quoted = |name: &str| format!("{:?} ", name.chars().take(200).collect::<String>());
    let named = document.file_name().map(quoted).unwrap_or_default();
    let media = document.media_type();
    let mut text = format!(
        "the document {named}({id}) of {who} has modality {kind} ({essence}) and cannot be shown to {model}: {reason}",
        id = document.id().short(),
        kind = media.kind().as_str(),
        essence = media.essence(),
        model = capabilities.model,
        reason = treatment.reason,
    );
    if treatment.reason.kind() == ReasonKind::Unsupported {
        let place = capabilities.place(occurrence.place);
        text.push_str(&format!(" (supported in {}: {})", name(occurrence.place), place.media.join(", ")));
    }
    ProviderError::new(ErrorKind::Unsupported, text)
}
