//! Events whose text looks like a label or a fence of ours.

use std::borrow::Cow;

use attache_core::{ContentTree, UserMessage, UserPart};

use crate::text::fence::without_imitations;

/// True if an event's text looks like a label, or like the fence around a document's text. Such an event is not shown as
/// it is.
pub(crate) fn pretends(event: &UserMessage) -> bool {
    event.parts.iter().any(|part| match part {
        UserPart::Text(text) => matches!(without_imitations(text.text()), Cow::Owned(_)),
        UserPart::Object(tree) if is_plain_text(tree) => {
            // Most texts hold nothing that could be one, and need not be decoded.
            let may = tree.json().contains(['<', '[']) || tree.json().contains("\\u");
            may && matches!(without_imitations(&tree.model_text()), Cow::Owned(_))
        }
        _ => false,
    })
}

/// True if an object is shown as a text with lines of its own. Others are shown as JSON, where no line can begin.
pub(crate) fn is_plain_text(tree: &ContentTree) -> bool {
    tree.json().starts_with('"') && !tree.is_blank()
}
