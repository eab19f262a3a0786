//! The citations of a reply, as programs read them. The reply goes back as it came.

use attache_core::AssistantMessage;
use attache_core::citation::{AnswerSpan, Citation, Source};
use attache_transport::cited::{Beside, MAX_CITATIONS, cite, list, locate_in_parts, native, number, text};
use serde_json::Value;

/// The kind of the part that holds what the answer rests on.
pub(crate) const CITATIONS: &str = "citations";

/// Reads those of the answer's text; the API cites its plan and its thoughts, too. It counts each block of content by
/// itself, thoughts included.
pub(crate) fn read(message: &mut AssistantMessage) {
    cite(message, |_, _| Vec::new(), of_block);
}

fn of_block(block: &Beside<'_>) -> Vec<Citation> {
    if block.kind != CITATIONS {
        return Vec::new();
    }
    let value: Value = serde_json::from_str(block.replay.json()).unwrap_or_default();
    let mut citations = Vec::new();
    // An event of a stream has one where a whole reply has a list of them.
    for cited in value.as_array().into_iter().flatten().flat_map(|cited| match cited {
        Value::Array(list) => list.iter().collect::<Vec<_>>(),
        one => vec![one],
    }) {
        if citations.len() >= MAX_CITATIONS {
            break;
        }
        if text(cited, "type").is_some_and(|kind| kind != "TEXT_CONTENT") {
            continue;
        }
        let (start, end) =
            (number(cited, "start").unwrap_or_default(), number(cited, "end").unwrap_or_default());
        let span =
            locate_in_parts(block.message, number(cited, "content_index"), start, end, text(cited, "text"));
        for source in list(cited, "sources").iter().take(MAX_CITATIONS) {
            let inside = |member: &str, of: &str| {
                source.get(member).and_then(|held| text(held, of)).map(str::to_owned)
            };
            let title = inside("document", "title").or_else(|| inside("tool_output", "title"));
            let source = Source::Foreign { id: text(source, "id").unwrap_or_default().to_owned(), title };
            citations.push(native(source).with_answer_span(span.map(AnswerSpan::Claim)));
        }
    }
    citations
}
