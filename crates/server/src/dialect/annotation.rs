//! The places of citations in an answer, in characters.

use attache_core::Citation;
use attache_core::citation::{AnswerSpan, Place, Source};

use super::answer::BREAK;
use crate::address::Addresses;
use crate::json::{Object, write};

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
    list: Vec<Vec<u8>>,
    /// The citations for which OpenAI's API has no word.
    others: Vec<Vec<u8>>,
}

/// Adds the citations for which OpenAI's API has no word, as they are.
pub(super) fn with_others<'o>(object: Object<'o>, others: &[Vec<u8>]) -> Object<'o> {
    match others.is_empty() {
        true => object,
        false => object.by("attache", |out| {
            let one = |other: &Vec<u8>, out: &mut Vec<u8>| out.extend_from_slice(other);
            Object::begin(out).each("citations", others, one).end();
        }),
    }
}

/// A citation as it is.
pub(super) fn plain(citation: &Citation) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut out, citation);
    out
}

impl Annotations {
    pub(super) fn say(&mut self, piece: &str) {
        self.said.push_str(piece);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty() && self.others.is_empty()
    }

    /// Adds the citations to a message, or a piece of one.
    pub(super) fn members<'o>(&self, object: Object<'o>) -> Object<'o> {
        let object = match self.list.is_empty() {
            true => object,
            false => object.each("annotations", &self.list, |cited, out| out.extend_from_slice(cited)),
        };
        with_others(object, &self.others)
    }

    pub(super) fn end_step(&mut self) {
        self.before += self.said.chars().count() + BREAK.chars().count();
        self.said.clear();
    }

    /// Adds a citation. OpenAI's API has a word for pages of the web, and for documents that have addresses.
    pub(super) fn cite(&mut self, citation: &Citation, documents: Option<&Addresses>) {
        let (url, title) = match (&citation.source, documents) {
            (Source::Url { url, title }, _) => (url.clone(), title.as_deref().unwrap_or_default()),
            (Source::Document { id, name }, Some(documents)) => {
                let page = match citation.place {
                    Some(Place::Pages(first, _)) => format!("#page={first}"),
                    _ => String::new(),
                };
                (format!("{}{page}", documents.of(id)), name.as_deref().unwrap_or_default())
            }
            _ => return self.others.push(plain(citation)),
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
