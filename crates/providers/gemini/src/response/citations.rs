//! The grounding of an answer of Gemini, as programs read it. The reply goes back as it came.

use attache_core::AssistantMessage;
use attache_core::citation::{AnswerSpan, Citation, Place, Source};
use attache_transport::cited::{
    Beside, MAX_CITATIONS, cite, list, locate_in_parts, native, number, page, text,
};
use serde_json::Value;

/// Reads the supports: each ties a piece of the answer, in bytes of its part, to chunks of sources. `citationMetadata`
/// reports what was recited from the web, and is no citation of ours.
pub(super) fn read(message: &mut AssistantMessage) {
    cite(message, |_, _| Vec::new(), grounded);
}

fn grounded(block: &Beside<'_>) -> Vec<Citation> {
    if block.kind != "groundingMetadata" {
        return Vec::new();
    }
    let value: Value = serde_json::from_str(block.replay.json()).unwrap_or_default();
    let chunks = list(&value, "groundingChunks");
    let mut citations = Vec::new();
    for support in list(&value, "groundingSupports") {
        if citations.len() >= MAX_CITATIONS {
            break;
        }
        let Some(segment) = support.get("segment") else { continue };
        // A start of 0 is left out.
        let (start, end) = (number(segment, "startIndex").unwrap_or_default(), number(segment, "endIndex"));
        let span = locate_in_parts(
            block.message,
            number(segment, "partIndex"),
            start,
            end.unwrap_or_default(),
            text(segment, "text"),
        );
        for index in list(support, "groundingChunkIndices").iter().take(MAX_CITATIONS) {
            let chunk = index.as_u64().and_then(|index| chunks.get(usize::try_from(index).ok()?));
            citations.extend(
                chunk.and_then(cited).map(|cited| cited.with_answer_span(span.map(AnswerSpan::Claim))),
            );
        }
    }
    citations
}

fn cited(chunk: &Value) -> Option<Citation> {
    let page_of = |chunk: &Value| Some(native(page(text(chunk, "uri")?, text(chunk, "title"))));
    if let Some(retrieved) = chunk.get("retrievedContext") {
        let title = text(retrieved, "title").map(str::to_owned);
        let id = text(retrieved, "documentName").or_else(|| text(retrieved, "uri")).map(str::to_owned);
        let page = number(retrieved, "pageNumber").and_then(|page| u32::try_from(page).ok());
        let span = retrieved.pointer("/ragChunk/pageSpan");
        let of = |member: &str| {
            span.and_then(|span| number(span, member)).and_then(|page| u32::try_from(page).ok())
        };
        let place = of("firstPage").map(|first| Place::Pages(first, of("lastPage").unwrap_or(first)));
        let source = Source::Foreign { id: id.or_else(|| title.clone()).unwrap_or_default(), title };
        let place = place.or_else(|| page.map(|page| Place::Pages(page, page)));
        return Some(native(source).with_place(place).with_quote(text(retrieved, "text")));
    }
    if let Some(image) = chunk.get("image") {
        // The page that shows the image says more than the image.
        let url = text(image, "sourceUri").or_else(|| text(image, "imageUri"))?;
        return Some(native(page(url, text(image, "title"))));
    }
    page_of(chunk.get("web").or_else(|| chunk.get("maps"))?)
}
