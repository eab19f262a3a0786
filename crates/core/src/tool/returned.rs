//! The return value of a tool with documents.

use serde::ser::Error as _;
use serde::{Serialize, Serializer};

use crate::capture::{self, Standing};
use crate::document::Document;

/// A tool's return value, with additional documents to show and documents to withhold from the model.
///
/// It serialises as the value; inside a [`Capture`](crate::Capture) the documents are registered with it.
///
/// ```
/// use attache_core::{Capture, Document, ToolReturn};
/// let (report, raw) = (Document::inline("the report"), Document::inline("raw data"));
/// let returned = ToolReturn::new([&report, &raw]).withhold(&raw);
/// let tree = Capture::new().finish(&returned)?;
/// assert_eq!(tree.documents().len(), 2);
/// assert_eq!(tree.withheld(), [raw.id().clone()]);
/// # Ok::<(), attache_core::tree::TreeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ToolReturn<T> {
    value: T,
    shown: Vec<Document>,
    withheld: Vec<Document>,
}

impl<T> ToolReturn<T> {
    /// Creates a return value without documents.
    pub fn new(value: T) -> Self {
        Self { value, shown: Vec::new(), withheld: Vec::new() }
    }

    /// Adds a document to show to the model, even if it has no place in the value.
    #[must_use]
    pub fn with_document(mut self, document: Document) -> Self {
        self.shown.push(document);
        self
    }

    /// Withholds a document from the model. Its reference stays in the value, and the routing report lists it as
    /// withheld.
    #[must_use]
    pub fn withhold(mut self, document: &Document) -> Self {
        self.withheld.push(document.clone());
        self
    }
}

impl<T: Serialize> Serialize for ToolReturn<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let shown = self.shown.iter().map(|document| (document, Standing::Shown));
        let withheld = self.withheld.iter().map(|document| (document, Standing::Withheld));
        for (document, standing) in withheld.chain(shown) {
            capture::mark(document, standing).map_err(S::Error::custom)?;
        }
        self.value.serialize(serializer)
    }
}
