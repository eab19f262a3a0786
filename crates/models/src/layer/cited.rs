//! Keeps the citations of a reply whose text a layer reads anew.

use attache_core::citation::{AnswerSpan, Citation, Span};
use attache_core::{AssistantMessage, Degradation};

/// Gives a message the citations of the text that it had, at the places where they stand now. Those of texts that are no
/// longer there are left out, which the answer says.
pub(super) fn keep(
    message: &mut AssistantMessage,
    citations: Vec<Citation>,
    said: &str,
) -> Option<Degradation> {
    if citations.is_empty() {
        return None;
    }
    let text = message.text();
    let shift = (!text.is_empty()).then(|| said.rfind(&text)).flatten();
    let all = citations.len();
    message.citations =
        citations.into_iter().filter_map(|citation| moved(citation, shift, text.len())).collect();
    let lost = all - message.citations.len();
    (lost > 0).then(|| {
        let note =
            format!("{lost} citations belong to a text that is no part of the answer, and are left out");
        Degradation::new("citations", note)
    })
}

/// The citation in a text that began `shift` bytes further on.
fn moved(mut citation: Citation, shift: Option<usize>, length: usize) -> Option<Citation> {
    let Some(place) = citation.in_answer else { return Some(citation) };
    let shift = u32::try_from(shift?).ok()?;
    let moved = |span: Span| {
        let start = span.start.checked_sub(shift)?;
        let end = span.end.checked_sub(shift)?;
        (usize::try_from(end).ok()? <= length).then(|| Span::new(start as usize, end as usize)).flatten()
    };
    citation.in_answer = Some(match place {
        AnswerSpan::Claim(span) => AnswerSpan::Claim(moved(span)?),
        AnswerSpan::Marker(span) => AnswerSpan::Marker(moved(span)?),
        _ => return None,
    });
    Some(citation)
}
