//! The citations of a reply, as programs read them. The reply goes back as it came.

use attache_core::AssistantMessage;
use attache_core::citation::{Citation, Place, Source};
use attache_transport::cited::{cite_texts, native, number, page, text};
use serde_json::Value;

/// Reads those of all texts. A citation holds for the whole of its text; what it points to is counted from 0 in
/// characters and blocks and from 1 in pages, and each end is the first that is no part of it.
pub(super) fn read(message: &mut AssistantMessage) {
    cite_texts(message, citation);
}

pub(super) fn citation(cited: &Value) -> Citation {
    let index = |member: &str| number(cited, member).and_then(|number| u32::try_from(number).ok());
    let title = || text(cited, "document_title").or_else(|| text(cited, "title"));
    let source = match (text(cited, "url"), text(cited, "source"), index("document_index")) {
        (Some(url), _, _) => page(url, title()),
        (_, Some(id), _) => Source::Foreign { id: id.to_owned(), title: title().map(str::to_owned) },
        (_, _, Some(index)) => Source::Nth { index, title: title().map(str::to_owned) },
        _ => Source::Foreign { id: String::new(), title: title().map(str::to_owned) },
    };
    let pages = index("start_page_number").zip(index("end_page_number"));
    let place = match (pages, index("start_block_index")) {
        (Some((first, end)), _) => Some(Place::Pages(first, end.saturating_sub(1).max(first))),
        (_, Some(block)) => Some(Place::Block(block.saturating_add(1))),
        _ => None,
    };
    native(source).with_place(place).with_quote(text(cited, "cited_text"))
}
