//! The places of citations, in the words of Anthropic's Messages.

use attache_core::citation::{Place, Source};
use attache_core::{Citation, Document, DocumentId};

use crate::json::Object;

/// The things that an answer can cite by their numbers: those that the client sent, each kind counted alone as Anthropic's
/// API counts them, then others as they are cited.
#[derive(Debug, Default)]
pub(crate) struct Citable {
    documents: Vec<Known>,
    /// Results of searches: those of the request, and whatever else is no document.
    results: Vec<Found>,
}

#[derive(Debug)]
struct Known {
    id: DocumentId,
    /// The document, if the client sent it.
    sent: Option<Document>,
}

#[derive(Debug)]
struct Found {
    source: String,
    title: Option<String>,
    /// The document that the result became, if the client sent it.
    document: Option<DocumentId>,
}

impl Citable {
    /// Counts a document of the request.
    pub(crate) fn document(&mut self, document: Document) {
        self.documents.push(Known { id: document.id().clone(), sent: Some(document) });
    }

    /// Counts the result of a search in the request.
    pub(crate) fn search_result(&mut self, source: &str, title: Option<&str>, document: &Document) {
        let (source, title) = (source.to_owned(), title.map(str::to_owned));
        self.results.push(Found { source, title, document: Some(document.id().clone()) });
    }

    /// Writes a citation. All that is known of it stands in the member `attache`.
    pub(super) fn write(&mut self, citation: &Citation, out: &mut Vec<u8>) {
        let quote = citation.quote.as_deref();
        let object = match &citation.source {
            Source::Document { id, name } => {
                let searched = self.results.iter().position(|found| found.document.as_ref() == Some(id));
                match searched {
                    Some(at) => self.searched(at, quote, out),
                    None => {
                        let at = self.number(id);
                        let sent = self.documents.get(at).and_then(|known| known.sent.as_ref());
                        located(citation, at, name.as_deref(), sent, out)
                    }
                }
            }
            Source::Nth { index, title } => {
                let at = usize::try_from(*index).unwrap_or(usize::MAX);
                let sent = self.documents.get(at).and_then(|known| known.sent.as_ref());
                located(citation, at, title.as_deref(), sent, out)
            }
            Source::Url { url, title } => Object::begin(out)
                .with("type", "web_search_result_location")
                .with("cited_text", quote.unwrap_or_default())
                .with("encrypted_index", "")
                .with("title", title)
                .with("url", url),
            Source::ToolResult { call_id, tool } => {
                let at = self.found(call_id.as_str(), tool.as_deref());
                self.searched(at, quote, out)
            }
            Source::Foreign { id, title } => {
                let at = self.found(id, title.as_deref());
                self.searched(at, quote, out)
            }
            _ => {
                let at = self.found("message", None);
                self.searched(at, quote, out)
            }
        };
        object.with("attache", citation).end();
    }

    fn number(&mut self, id: &DocumentId) -> usize {
        let known = self.documents.iter().position(|known| known.id == *id);
        known.unwrap_or_else(|| {
            self.documents.push(Known { id: id.clone(), sent: None });
            self.documents.len() - 1
        })
    }

    fn found(&mut self, source: &str, title: Option<&str>) -> usize {
        let known = self.results.iter().position(|found| found.document.is_none() && found.source == source);
        known.unwrap_or_else(|| {
            let (source, title) = (source.to_owned(), title.map(str::to_owned));
            self.results.push(Found { source, title, document: None });
            self.results.len() - 1
        })
    }

    /// A result is one block.
    fn searched<'o>(&self, at: usize, quote: Option<&str>, out: &'o mut Vec<u8>) -> Object<'o> {
        let found = self.results.get(at);
        Object::begin(out)
            .with("type", "search_result_location")
            .with("cited_text", quote.unwrap_or_default())
            .with("search_result_index", &at)
            .with("source", found.map(|found| found.source.as_str()).unwrap_or_default())
            .with("title", &found.and_then(|found| found.title.as_deref()))
            .with("start_block_index", &0)
            .with("end_block_index", &1)
    }
}

/// Writes the place of a citation in a document. Where neither pages nor characters are known, the whole document is the
/// block that is cited: places that nobody knows are not made up.
fn located<'o>(
    citation: &Citation,
    at: usize,
    title: Option<&str>,
    sent: Option<&Document>,
    out: &'o mut Vec<u8>,
) -> Object<'o> {
    let quote = citation.quote.as_deref();
    let characters = sent.and_then(|document| characters(citation, document));
    let (kind, names, start, end) = match (&citation.place, &characters) {
        // The last page is excluded there.
        (Some(Place::Pages(first, last)), _) => {
            let names = ("start_page_number", "end_page_number");
            ("page_location", names, u64::from(*first), u64::from(last.saturating_add(1)))
        }
        (_, Some(Characters { start, end, .. })) => {
            ("char_location", ("start_char_index", "end_char_index"), *start, *end)
        }
        (place, None) => {
            // Blocks count from 0 there.
            let block = match place {
                Some(Place::Block(block)) => u64::from(block.saturating_sub(1)),
                _ => 0,
            };
            ("content_block_location", ("start_block_index", "end_block_index"), block, block + 1)
        }
    };
    let cited = quote.map(str::to_owned).or(characters.map(|characters| characters.text));
    Object::begin(out)
        .with("type", kind)
        .with("cited_text", cited.as_deref().unwrap_or_default())
        .with("document_index", &at)
        .with("document_title", &title)
        .with("file_id", &None::<()>)
        .with(names.0, &start)
        .with(names.1, &end)
}

/// A passage of a document in characters.
struct Characters {
    start: u64,
    end: u64,
    text: String,
}

/// The characters that a citation means, if the document is a text in which they stand: a converter's text has places of
/// its own, which mean nothing to whoever has the document.
fn characters(citation: &Citation, document: &Document) -> Option<Characters> {
    let span = citation.in_document?;
    let bytes = document.bytes().filter(|_| document.media_type().essence().starts_with("text/"))?;
    let text = std::str::from_utf8(&bytes).ok()?;
    let passage =
        span.of(text).filter(|passage| citation.quote.as_deref().is_none_or(|quote| quote == *passage))?;
    let before = text.get(..usize::try_from(span.start).ok()?)?.chars().count() as u64;
    Some(Characters { start: before, end: before + passage.chars().count() as u64, text: passage.to_owned() })
}
