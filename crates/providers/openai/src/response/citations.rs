//! The citations of answers, as programs read them. The reply goes back as it came.

use std::collections::HashSet;

use attache_core::AssistantMessage;
use attache_core::citation::{AnswerSpan, Citation, Source, Span};
use attache_transport::cited::{Beside, MAX_CITATIONS, cite, list, locate, native, number, page, text};
use serde_json::Value;

/// The kind of the part that holds the annotations of a chat message.
pub(crate) const ANNOTATIONS: &str = "annotations";
/// The kind of the part that holds what the tools of a server did (openai.md C.7).
pub(crate) const EXECUTED_TOOLS: &str = "executed_tools";

/// The maximum number of searches whose pages are cited.
const MAX_SEARCHES: usize = 100;
/// The maximum number of digits of a mark.
const MAX_DIGITS: usize = 4;
/// The maximum number of bytes of snippets that marks repeat; marks behind them name the page alone.
const MAX_QUOTED: usize = 1024 * 1024;

/// Reads the annotations of texts and of messages, the references among parts of content, and the pages that tools of the
/// server found. The spans of the API are
/// those of the link or mark in the text, and say nothing of the words that it stands behind.
pub(crate) fn read(message: &mut AssistantMessage) {
    cite(message, of_text, of_block);
}

fn of_text(replay: &attache_core::message::ReplayData, said: &str) -> Vec<Citation> {
    // Nearly all data beside a text have none.
    if !replay.json().contains("\"annotations\"") {
        return Vec::new();
    }
    let value: Value = serde_json::from_str(replay.json()).unwrap_or_default();
    let annotations = list(&value, ANNOTATIONS).iter().take(MAX_CITATIONS);
    annotations.filter_map(|annotation| annotated(annotation, said)).collect()
}

fn of_block(block: &Beside<'_>) -> Vec<Citation> {
    if !matches!(block.kind, ANNOTATIONS | EXECUTED_TOOLS | "reference") {
        return Vec::new();
    }
    let value: Value = serde_json::from_str(block.replay.json()).unwrap_or_default();
    if block.kind == ANNOTATIONS {
        let said = block.message.text();
        let annotations = value.as_array().into_iter().flatten().take(MAX_CITATIONS);
        return annotations.filter_map(|annotation| annotated(annotation, &said)).collect();
    }
    if block.kind == EXECUTED_TOOLS {
        // A stream says a search again once its results are there.
        let mut searches: Vec<&[Value]> = Vec::new();
        for tool in value.as_array().into_iter().flatten() {
            let pages = tool.get("search_results").map(|found| list(found, "results")).unwrap_or_default();
            if !pages.is_empty() && !searches.contains(&pages) && searches.len() < MAX_SEARCHES {
                searches.push(pages);
            }
        }
        // A mark counts the pages of one search; nothing tells of which.
        if let [pages] = *searches {
            let pages = pages.iter().take(MAX_CITATIONS).map(result).collect::<Vec<_>>();
            let marks = marks(&block.message.text(), &pages);
            if !marks.is_empty() {
                return marks;
            }
        }
        let mut seen = HashSet::new();
        let pages = searches.into_iter().flatten();
        let pages = pages.filter(|result| text(result, "url").is_some_and(|url| seen.insert(url)));
        return pages.filter_map(result).take(MAX_CITATIONS).collect();
    }
    // Mistral names what it was told to name in a tool result, behind the text that rests on it.
    let source = |id: &Value| {
        let id = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
        native(Source::Foreign { id, title: None }).with_answer_span(block.before.map(AnswerSpan::Claim))
    };
    list(&value, "reference_ids").iter().take(MAX_CITATIONS).map(source).collect()
}

fn annotated(annotation: &Value, said: &str) -> Option<Citation> {
    // Chat Completions has the members in an object of the type's name. The latter two are Groq's (openai.md C.7).
    let names = ["url_citation", "document_citation", "function_citation"];
    let of = names.iter().find_map(|name| annotation.get(*name)).unwrap_or(annotation);
    let span = number(of, "start_index").zip(number(of, "end_index"));
    let marker = span.and_then(|(start, end)| locate(said, start, end, None)).map(AnswerSpan::Marker);
    let id = ["file_id", "document_id", "tool_call_id"].iter().find_map(|name| text(of, name));
    let source = match (text(of, "url"), id) {
        (Some(url), _) => page(url, text(of, "title")),
        (None, Some(id)) => {
            Source::Foreign { id: id.to_owned(), title: text(of, "filename").map(str::to_owned) }
        }
        (None, None) => return None,
    };
    Some(native(source).with_answer_span(marker).with_quote(text(of, "content")))
}

/// The pages that a search of the server found, with their text or only by their addresses.
pub(crate) fn found(message: &mut AssistantMessage, results: &[Value], urls: &[Value]) {
    let sources: Vec<_> = if results.is_empty() {
        let urls = urls.iter().take(MAX_CITATIONS);
        urls.map(|url| Some(native(page(url.as_str()?, None)))).collect()
    } else {
        results.iter().take(MAX_CITATIONS).map(result).collect()
    };
    let marks = marks(&message.text(), &sources);
    if marks.is_empty() {
        message.citations.extend(sources.into_iter().flatten());
    } else {
        message.citations.extend(marks);
    }
}

fn result(result: &Value) -> Option<Citation> {
    let quote = text(result, "snippet").or_else(|| text(result, "content"));
    Some(native(page(text(result, "url")?, text(result, "title"))).with_quote(quote))
}

/// The citations of pages where the answer marks them `[1]`. One without an address counts, too.
fn marks(said: &str, sources: &[Option<Citation>]) -> Vec<Citation> {
    let mut marked = Vec::new();
    let mut quoted = 0;
    for (open, _) in said.match_indices('[') {
        let rest = said.get(open + 1..).unwrap_or_default();
        let digits = rest.bytes().take(MAX_DIGITS + 1).take_while(u8::is_ascii_digit).count();
        let number =
            rest.get(..digits).filter(|_| rest.get(digits..).is_some_and(|rest| rest.starts_with(']')));
        let nth = number.and_then(|number| number.parse::<usize>().ok()?.checked_sub(1));
        if let Some(source) = nth.and_then(|nth| sources.get(nth)?.as_ref()) {
            quoted += source.quote.as_deref().map_or(0, str::len);
            let marker = Span::new(open, open + digits + 2).map(AnswerSpan::Marker);
            let mark = native(source.source.clone()).with_answer_span(marker);
            marked.push(mark.with_quote(source.quote.as_deref().filter(|_| quoted <= MAX_QUOTED)));
        }
        if marked.len() >= MAX_CITATIONS {
            break;
        }
    }
    marked
}

#[cfg(test)]
mod tests {
    use super::{MAX_CITATIONS, MAX_QUOTED, found};
    use attache_core::{AssistantMessage, AssistantPart};
    use serde_json::json;

    fn cited(text: &str, snippet: &str) -> AssistantMessage {
        let mut message = AssistantMessage::new([AssistantPart::text(text)]);
        let results = [json!({"url": "https://a.example", "snippet": snippet})];
        found(&mut message, &results, &[]);
        message
    }

    #[test]
    fn marks_of_search_results_are_bounded() {
        let said = "It rains [1], [2], [x] and [1].";
        let message = cited(said, "rain");
        let marks: Vec<_> =
            message.citations.iter().map(|cited| cited.in_answer.unwrap().span().of(said).unwrap()).collect();
        assert_eq!(marks, ["[1]", "[1]"]);
        assert_eq!(cited(&"[".repeat(1_000_000), "rain").citations.len(), 1, "all, since none is marked");
        let message = cited(&"[1]".repeat(20_000), &"rain".repeat(1000));
        assert_eq!(message.citations.len(), MAX_CITATIONS);
        let quoted: usize =
            message.citations.iter().filter_map(|cited| cited.quote.as_deref()).map(str::len).sum();
        assert!(quoted <= MAX_QUOTED && quoted > MAX_QUOTED / 2, "{quoted}");
    }
}
