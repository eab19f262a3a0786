//! Media types and places in words.

use attache_core::Document;
use attache_core::capability::Place;

/// The media type for a sentence; whoever made it up may have made it long.
pub(crate) fn media_name(document: &Document) -> &str {
    let essence = document.media_type().essence();
    essence.get(..100).unwrap_or(essence)
}

/// The place in words.
pub(crate) fn name(place: Place) -> &'static str {
    match place {
        Place::ToolResult => "tool results",
        Place::FailedResult => "failed tool results",
        Place::AfterToolResults => "user messages after tool results",
        _ => "user messages",
    }
}

pub(super) fn names(places: &[Place]) -> String {
    match places {
        [only] => name(*only).to_owned(),
        [first, ..] => format!("{} or after them", name(*first)),
        [] => String::new(),
    }
}
