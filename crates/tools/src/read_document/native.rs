//! A part of a document as it is, where no text of it can be had.

use std::sync::Arc;

use attache_core::capability::Place;
use attache_core::{
    Capture, Converter, Document, MediaKind, MediaType, ModelCapabilities, ToolError, ToolErrorKind,
    ToolOutput,
};
use attache_documents::tame;
use bytes::Bytes;
use serde::Serialize;

use super::ranges::{self, Range};
use super::request::Part;

/// The maximum number of pages of one answer: a page costs a model about as much as two pages of text.
pub(super) const MAX_PAGES: usize = 10;

/// The text that the model reads beside the documents.
#[derive(Serialize)]
struct Shown {
    shown: String,
    documents: Vec<Document>,
}

/// True if the model takes documents of this type, as they are or in another form, where a tool's documents stand.
pub(super) fn takes(capabilities: &ModelCapabilities, media_type: &MediaType) -> bool {
    [Place::ToolResult, Place::AfterToolResults].iter().any(|place| {
        let place = capabilities.place(*place);
        media_type.kind() != MediaKind::Text
            && (place.accepts(media_type) || place.form(media_type).is_some())
    })
}

/// The part of a document whose bytes are in memory: pages of a PDF, of anything else all of it. `why` says why there
/// is no text.
///
/// # Errors
/// The model reads that there is no such part.
pub(super) async fn show(
    document: &Document,
    bytes: Bytes,
    part: &Part,
    why: &str,
    converters: &[Arc<dyn Converter>],
) -> Result<ToolOutput, ToolError> {
    let why = tame(why);
    if document.media_type().kind() != MediaKind::Pdf {
        let shown = format!("the whole document as it is, since it has no readable text: {why}");
        return output(shown, vec![document.clone()]);
    }
    let asked = pages(part, &why)?;
    let mut cut = Cut { document, bytes, converters, total: None };
    let (mut documents, mut shown) = (Vec::new(), Vec::new());
    let mut left = MAX_PAGES;
    for (first, last) in &asked {
        let last = (*last).min(first.saturating_add(left - 1));
        // The end of the document is known once something was taken out of it.
        if cut.total.is_some_and(|total| *first > total) {
            break;
        }
        match cut.pages((*first, last)).await {
            Ok((pages, document)) => {
                left = left.saturating_sub(pages.1 - pages.0 + 1);
                let cut_short = pages.1 < last.min(cut.total.unwrap_or(last));
                shown.push(pages);
                documents.push(document);
                if cut_short {
                    break;
                }
            }
            Err(_) if !documents.is_empty() => break,
            Err(problem) => match cut.known_total(*first).await {
                Some(total) if *first > total => {
                    return Err(ToolError::new(format!("this document has {total} pages"))
                        .with_kind(ToolErrorKind::InvalidArguments));
                }
                _ => {
                    let shown = format!(
                        "the whole document as it is, since it has no readable text ({why}) and its pages cannot \
                         be taken out ({})",
                        tame(&problem)
                    );
                    return output(shown, vec![document.clone()]);
                }
            },
        }
        if left == 0 {
            break;
        }
    }
    let last = shown.last().map_or(0, |(_, last)| *last);
    let total = cut.total.unwrap_or(last);
    let mut rest = ranges::within(&ranges::from(&asked, last + 1), total);
    if rest.is_empty() && last < total {
        rest = vec![(last + 1, total)];
    }
    let mut text = format!(
        "pages {} of {total} as they are, since they have no readable text: {why}",
        ranges::written(&shown)
    );
    if !rest.is_empty() {
        text.push_str(&format!("; next: pages {}", ranges::written(&rest)));
    }
    output(text, documents)
}

/// The pages that a part stands for.
///
/// # Errors
/// The model reads that lines are none; `why` says why there is no text.
pub(super) fn pages(part: &Part, why: &str) -> Result<Vec<Range>, ToolError> {
    match part {
        Part::All => Ok(vec![(1, usize::MAX)]),
        Part::Units(asked) => Ok(asked.clone()),
        Part::Lines(_) => {
            let problem = format!("this document has no readable text: {why}; ask for its pages");
            Err(ToolError::new(problem).with_kind(ToolErrorKind::InvalidArguments))
        }
    }
}

pub(super) fn output(shown: String, documents: Vec<Document>) -> Result<ToolOutput, ToolError> {
    Ok(ToolOutput::new(Capture::new().finish(&Shown { shown, documents })?))
}

/// Takes pages out of a document.
struct Cut<'a> {
    document: &'a Document,
    bytes: Bytes,
    converters: &'a [Arc<dyn Converter>],
    /// The number of its pages, once that is known.
    total: Option<usize>,
}

impl Cut<'_> {
    /// The number of pages, where a page from `first` on could not be had.
    async fn known_total(&mut self, first: usize) -> Option<usize> {
        if self.total.is_none() && first > 1 {
            // A document that is shorter than was thought has a first page.
            let _known = self.pages((1, 1)).await;
        }
        self.total
    }

    /// Some of the pages as a document of their own, and which of them there are. The first converter that can do it
    /// does it.
    async fn pages(&mut self, (first, last): Range) -> Result<(Range, Document), String> {
        let mut problem = "there is no converter for that".to_owned();
        for converter in self.converters {
            let fitted = match converter.pages(self.document, self.bytes.clone(), first, last).await {
                Ok(fitted) => fitted,
                Err(error) => {
                    problem = error.to_string();
                    continue;
                }
            };
            let number = |pages: Option<u64>| pages.and_then(|pages| usize::try_from(pages).ok());
            let total = number(fitted.pages);
            self.total = self.total.or(total);
            let last = last.min(total.unwrap_or(last));
            let last =
                number(fitted.pages_held).map_or(last, |held| last.min(first.saturating_add(held) - 1));
            if last < first {
                return Err("it has no such pages".to_owned());
            }
            let document = match fitted.content {
                // They are all of it.
                None => self.document.clone(),
                Some((bytes, media_type)) => {
                    let name = named(self.document.file_name(), (first, last));
                    Document::from_bytes(bytes, media_type.essence()).with_file_name(name)
                }
            };
            return Ok(((first, last), document));
        }
        Err(problem)
    }
}

/// `lease, pages 3-5.pdf`
fn named(name: Option<&str>, pages: Range) -> String {
    let extension = name.and_then(|name| name.rsplit_once('.')).map_or("pdf", |(_, extension)| extension);
    named_as(name, pages, extension)
}

/// `lease, pages 3-5` with an extension.
pub(super) fn named_as(name: Option<&str>, pages: Range, extension: &str) -> String {
    let name = name.unwrap_or("document");
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let word = if pages.0 == pages.1 { "page" } else { "pages" };
    format!("{stem}, {word} {}.{extension}", ranges::written(&[pages]))
}
