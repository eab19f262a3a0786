//! The documents to load and convert before routing.

use std::collections::HashSet;
use std::sync::Arc;

use attache_core::converter::MediaLimits;
use attache_core::{Document, Message, ModelCapabilities};

use crate::decide::all::decide_all;
use crate::decide::treatment::{Need, Purpose};
use crate::materials::{Materials, PageRequest};
use crate::options::RouteOptions;

/// The documents whose bytes or texts are needed for routing, each once.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Plan {
    /// Documents whose bytes are not in memory, in message order. An external document may be fetched if that is
    /// allowed; a document that is not loaded becomes a note.
    pub load: Vec<Document>,
    /// Documents to check against the form of a place and to bring into it if necessary, with their bytes in memory, in
    /// message order.
    pub transcode: Vec<(Document, MediaLimits)>,
    /// Documents to convert to text, with their bytes in memory, in message order.
    pub convert: Vec<Document>,
    /// Documents whose pages are to be rendered as images, with their bytes in memory, in message order.
    pub render: Vec<(Document, PageRequest)>,
}

impl Plan {
    /// True if there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.load.is_empty() && self.transcode.is_empty() && self.convert.is_empty() && self.render.is_empty()
    }
}

/// Determines which documents of `messages` must be loaded, fitted to a place, converted to text, or rendered as images
/// of their pages. Considers only documents that will be shown and are not yet covered by `have`.
///
/// The type of a document may show only in its bytes, so plan again after loading, until the plan is
/// [empty](Plan::is_empty): each document is loaded at most once, fitted at most once to a form, converted at most
/// once, and each request for its pages is made at most once.
///
/// ```
/// use attache_core::{Document, Message, UserMessage, UserPart};
/// use attache_core::capability::Matrix;
/// use attache_documents::{ConvertedText, Materials, RouteOptions, plan};
///
/// let pdf = Document::from_bytes(&b"%PDF-1.7"[..], "application/pdf");
/// let message = Message::User(UserMessage::new([pdf.clone().into()])).shared();
/// let (text_only, options) = (Matrix::bundled().resolve("offline", "any"), RouteOptions::new().with_convert_author_documents(true));
/// let mut have = Materials::new();
/// assert_eq!(plan(&[message.clone()], &text_only, &options, &have).convert, [pdf.clone()]);
/// have.insert(&pdf, ConvertedText::new("the text of the PDF"));
/// assert!(plan(&[message], &text_only, &options, &have).is_empty());
/// ```
pub fn plan(
    messages: &[Arc<Message>],
    capabilities: &ModelCapabilities,
    options: &RouteOptions,
    have: &Materials,
) -> Plan {
    let decided = decide_all(messages, capabilities, have, options, Purpose::Plan);
    let mut plan = Plan::default();
    let (mut loading, mut converting, mut fitting) = (HashSet::new(), HashSet::new(), HashSet::new());
    let mut rendering = HashSet::new();
    for (occurrence, treatment) in decided.occurrences.iter().zip(decided.treatments) {
        match treatment.need {
            Some(Need::Load(document)) if loading.insert(occurrence.identity) => plan.load.push(document),
            Some(Need::Convert(document)) if converting.insert(occurrence.identity) => {
                plan.convert.push(document);
            }
            Some(Need::Transcode(document, form)) if fitting.insert((occurrence.identity, form.clone())) => {
                plan.transcode.push((document, form));
            }
            Some(Need::Render(document, request))
                if rendering.insert((occurrence.identity, request.clone())) =>
            {
                plan.render.push((document, request));
            }
            _ => {}
        }
    }
    plan
}
