//! The citations of a reply, as programs read them. The reply goes back as it came.

use attache_core::AssistantMessage;
use attache_core::citation::{Citation, Place, Source};
use attache_transport::cited::{cite_texts, list, native, number, page, text};
use serde_json::Value;

/// Reads those of all texts. A citation holds for the whole of its text; what it points to is counted as Anthropic does:
/// characters and chunks from 0, pages from 1, each end the first that is no part of it.
pub(super) fn read(message: &mut AssistantMessage) {
    cite_texts(message, citation);
}

pub(super) fn citation(cited: &Value) -> Citation {
    let title = text(cited, "title").map(str::to_owned);
    let quote: Vec<&str> =
        list(cited, "sourceContent").iter().filter_map(|content| text(content, "text")).collect();
    let none = Value::Null;
    let location = cited.get("location").unwrap_or(&none);
    let place_of = |member: &str| location.get(member);
    let index =
        |value: &Value, member: &str| number(value, member).and_then(|number| u32::try_from(number).ok());
    let nth = |value: &Value| Source::Nth {
        index: index(value, "documentIndex").unwrap_or_default(),
        title: title.clone(),
    };
    let block = |value: &Value| index(value, "start").map(|block| Place::Block(block.saturating_add(1)));
    let (source, place) = if let Some(web) = place_of("web") {
        (page(text(web, "url").unwrap_or_default(), title.as_deref().or_else(|| text(web, "domain"))), None)
    } else if let Some(chars) = place_of("documentChar") {
        (nth(chars), None)
    } else if let Some(pages) = place_of("documentPage") {
        let place = index(pages, "start").zip(index(pages, "end"));
        (nth(pages), place.map(|(first, end)| Place::Pages(first, end.saturating_sub(1).max(first))))
    } else if let Some(chunk) = place_of("documentChunk") {
        (nth(chunk), block(chunk))
    } else {
        let result = place_of("searchResultLocation").unwrap_or(&none);
        let id = text(cited, "source")
            .map(str::to_owned)
            .or_else(|| number(result, "searchResultIndex").map(|at| at.to_string()));
        (Source::Foreign { id: id.unwrap_or_default(), title: title.clone() }, block(result))
    };
    native(source).with_place(place).with_quote(Some(&quote.join("\n")))
}
