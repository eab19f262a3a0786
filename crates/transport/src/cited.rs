//! Citations of providers, as codecs read them.

use attache_core::citation::{AnswerSpan, Citation, How, Source, Span};
use attache_core::message::ReplayData;
use attache_core::{AssistantMessage, AssistantPart};
use serde_json::Value;

/// The maximum number of citations of a reply that are read.
pub const MAX_CITATIONS: usize = 10_000;

/// Where `start..end` is in `text`, whatever the provider counts.
///
/// No API says what a character is to it. The offsets are read as code points, as UTF-16 and as bytes, and the first
/// reading whose piece is `given`, the text that the provider repeats, counts. If none is, the one place that this text
/// stands at; without it, code points.
///
/// ```
/// use attache_transport::cited::locate;
/// let text = "Miete: 900 € fix";
/// let piece = |start, end, given| locate(text, start, end, given).and_then(|span| span.of(text));
/// assert_eq!(piece(7, 12, Some("900 €")), Some("900 €"), "code points");
/// assert_eq!(piece(7, 14, Some("900 €")), Some("900 €"), "bytes");
/// assert_eq!(piece(70, 99, Some("900 €")), Some("900 €"), "nonsense, and one place");
/// assert_eq!(piece(7, 12, Some("i")), None, "nonsense, and two places");
/// ```
pub fn locate(text: &str, start: u64, end: u64, given: Option<&str>) -> Option<Span> {
    let (start, end) = (usize::try_from(start).ok()?, usize::try_from(end).ok()?);
    let Some(given) = given.filter(|given| !given.is_empty()) else {
        return if start < end { points(text, start, end) } else { None };
    };
    let readings = [points(text, start, end), units(text, start, end), Span::new(start, end)];
    let fits = |span: &Span| span.of(text) == Some(given);
    readings.into_iter().flatten().find(fits).or_else(|| only(text, given))
}

fn points(text: &str, start: usize, end: usize) -> Option<Span> {
    let mut bounds = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    let first = bounds.nth(start)?;
    let last = bounds.nth(end.checked_sub(start)?.checked_sub(1)?)?;
    Span::new(first, last)
}

fn units(text: &str, start: usize, end: usize) -> Option<Span> {
    let mut unit = 0;
    let (mut first, mut last) = (None, None);
    for (at, width) in text.char_indices().map(|(at, char)| (at, char.len_utf16())).chain([(text.len(), 0)]) {
        first = first.or((unit == start).then_some(at));
        last = last.or((unit == end).then_some(at));
        unit += width;
    }
    Span::new(first?, last?)
}

/// The one place of a text in another.
pub fn only(text: &str, given: &str) -> Option<Span> {
    let at = text.find(given)?;
    let step = given.chars().next().map_or(1, char::len_utf8);
    let again = text.get(at + step..).is_some_and(|rest| rest.contains(given));
    if again { None } else { Span::new(at, at + given.len()) }
}

/// A block beside the texts of a message.
#[derive(Debug)]
#[non_exhaustive]
pub struct Beside<'m> {
    /// The provider's word for its kind.
    pub kind: &'m str,
    /// The block.
    pub replay: &'m ReplayData,
    /// The message that it stands in.
    pub message: &'m AssistantMessage,
    /// The text that stands before it.
    pub before: Option<Span>,
}

/// Puts the citations there that the data of a text list, each for the whole of the text, as the APIs of Claude do.
pub fn cite_texts(message: &mut AssistantMessage, citation: impl Fn(&Value) -> Citation) {
    cite(
        message,
        |replay, said| {
            let value: Value = serde_json::from_str(replay.json()).unwrap_or_default();
            let claim = Span::new(0, said.len()).map(AnswerSpan::Claim);
            let cited = list(&value, "citations").iter().take(MAX_CITATIONS);
            cited.map(|cited| citation(cited).with_answer_span(claim)).collect()
        },
        |_| Vec::new(),
    );
}

/// Puts the citations of a message's texts, and of what stands beside them, where programs look for them.
///
/// `of_text` reads those of one text, out of the data that go back with it, and yields spans of it; `of_block` reads
/// those of a block beside the texts, and yields spans of the whole answer. Neither needs to yield more than
/// [`MAX_CITATIONS`].
pub fn cite(
    message: &mut AssistantMessage,
    of_text: impl Fn(&ReplayData, &str) -> Vec<Citation>,
    of_block: impl Fn(&Beside<'_>) -> Vec<Citation>,
) {
    let mut citations = Vec::new();
    let mut at = 0;
    let mut before = None;
    for part in &message.parts {
        if citations.len() >= MAX_CITATIONS {
            break;
        }
        match part {
            AssistantPart::Text(text) if !text.is_refusal() => {
                if let Some(replay) = text.replay() {
                    citations
                        .extend(of_text(replay, text.text()).into_iter().map(|cited| shifted(cited, at)));
                }
                before = Span::new(at, at + text.text().len());
                at += text.text().len();
            }
            AssistantPart::Opaque(opaque) => {
                let (kind, replay) = (opaque.kind.as_str(), &opaque.replay);
                citations.extend(of_block(&Beside { kind, replay, message, before }));
            }
            _ => {}
        }
    }
    citations.truncate(MAX_CITATIONS);
    if !citations.is_empty() {
        message.citations = citations;
    }
}

/// Where a piece of text stands in an answer of which the provider counts each text from 0: in the text that fits, those
/// of `part` first.
pub fn locate_in_parts(
    message: &AssistantMessage,
    part: Option<u64>,
    start: u64,
    end: u64,
    given: Option<&str>,
) -> Option<Span> {
    let mut at = 0;
    let mut texts: Vec<(u64, usize, &str)> = Vec::new();
    for (number, part) in (0_u64..).zip(&message.parts) {
        if let AssistantPart::Text(text) = part {
            texts.push((number, at, text.text()));
            at += text.text().len();
        }
    }
    let own = texts.iter().filter(|(number, ..)| part == Some(*number));
    let others = texts.iter().filter(|(number, ..)| part != Some(*number));
    for (_, at, text) in own.chain(others) {
        if let Some(span) =
            locate(text, start, end, given).filter(|span| given.is_none() || span.of(text) == given)
        {
            let at = u32::try_from(*at).ok()?;
            return Some(moved(span, at)).flatten();
        }
    }
    locate(&message.text(), start, end, given)
}

fn moved(span: Span, by: u32) -> Option<Span> {
    let (start, end) = (span.start.checked_add(by)?, span.end.checked_add(by)?);
    Span::new(usize::try_from(start).ok()?, usize::try_from(end).ok()?)
}

/// A citation whose text begins so far into the answer.
fn shifted(mut citation: Citation, by: usize) -> Citation {
    let shift = |span: Span| moved(span, u32::try_from(by).ok()?);
    citation.in_answer = citation.in_answer.and_then(|place| {
        Some(match place {
            AnswerSpan::Claim(span) => AnswerSpan::Claim(shift(span)?),
            AnswerSpan::Marker(span) => AnswerSpan::Marker(shift(span)?),
            _ => return None,
        })
    });
    citation
}

/// A citation of the provider.
pub fn native(source: Source) -> Citation {
    Citation::new(source, How::Native)
}

/// A member that is a text and not blank.
pub fn text<'v>(value: &'v Value, member: &str) -> Option<&'v str> {
    value.get(member)?.as_str().filter(|text| !text.trim().is_empty())
}

/// A member that is a number, also where the API counts in floats.
pub fn number(value: &Value, member: &str) -> Option<u64> {
    let value = value.get(member)?;
    value.as_u64().or_else(|| value.to_string().strip_suffix(".0")?.parse().ok())
}

/// A page of the web.
pub fn page(url: &str, title: Option<&str>) -> Source {
    Source::Url { url: url.to_owned(), title: title.map(str::to_owned) }
}

/// The list under a member of JSON, if it is one.
pub fn list<'v>(value: &'v Value, member: &str) -> &'v [Value] {
    value.get(member).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
