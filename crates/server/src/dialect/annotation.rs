//! The places of citations in an answer, in characters.

use attache_core::Citation;
use attache_core::citation::{AnswerSpan, Place, Source};

use super::answer::BREAK;
use crate::json::Object;

/// The part of a text that cites, from one character up to another. `said` is the last part of the text, behind that many
/// characters.
pub(super) fn span(citation: &Citation, said: &str, before: usize) -> (usize, usize) {
    let chars = |byte: u32| {
        let byte = usize::try_from(byte).unwrap_or(usize::MAX);
        before + said.get(..byte).map_or_else(|| said.chars().count(), |said| said.chars().count())
    };
    match citation.in_answer.map(AnswerSpan::span) {
        Some(span) => (chars(span.start), chars(span.end)),
        None => (0, before + said.chars().count()),
    }
}

/// The citations of an answer of Chat Completions while it is told.
#[derive(Debug, Default)]
pub(super) struct Annotations {
    /// The words of the last step.
    said: String,
    /// The number of characters before them.
    before: usize,
    pub(super) list: Vec<Vec<u8>>,
}

impl Annotations {
    pub(super) fn say(&mut self, piece: &str) {
        self.said.push_str(piece);
    }

    pub(super) fn end_step(&mut self) {
        self.before += self.said.chars().count() + BREAK.chars().count();
        self.said.clear();
    }

    /// Adds a citation of a page of the web, or of a document whose address begins with `documents`. OpenAI's API has no
    /// word for others.
    pub(super) fn cite(&mut self, citation: &Citation, documents: Option<&str>) {
        let (url, title) = match (&citation.source, documents) {
            (Source::Url { url, title }, _) => (url.clone(), title.as_deref().unwrap_or_default()),
            (Source::Document { id, name }, Some(documents)) => {
                let page = match citation.place {
                    Some(Place::Pages(first, _)) => format!("#page={first}"),
                    _ => String::new(),
                };
                (format!("{documents}{id}{page}"), name.as_deref().unwrap_or_default())
            }
            _ => return,
        };
        let (start, end) = span(citation, &self.said, self.before);
        let mut annotation = Vec::new();
        Object::begin(&mut annotation)
            .with("type", "url_citation")
            .by("url_citation", |out| {
                Object::begin(out)
                    .with("start_index", &start)
                    .with("end_index", &end)
                    .with("url", &url)
                    .with("title", title)
                    .end();
            })
            .with("attache", citation)
            .end();
        self.list.push(annotation);
    }
}
