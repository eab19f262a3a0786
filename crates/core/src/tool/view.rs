//! The way in which documents are shown to a run's model.

use std::fmt;
use std::sync::Arc;

use crate::converter::Converter;
use crate::provider::ModelHandle;

/// How a run shows documents to its model, for a tool that reads them on the model's behalf. An agent puts it into the
/// [`ToolContext`](crate::ToolContext) of runs that have such a tool, see
/// [`ToolMetadata::reads_documents`](crate::tool::ToolMetadata::reads_documents).
#[derive(Clone)]
#[non_exhaustive]
pub struct DocumentView {
    /// The model of the run.
    pub model: ModelHandle,
    /// The converters; the first one that supports a type is used.
    pub converters: Vec<Arc<dyn Converter>>,
    /// True if HTML is shown as source.
    pub html_source: bool,
    /// The maximum number of bytes of a text that is shown as a whole.
    pub max_text_bytes: usize,
    /// The maximum number of characters of a result that the model reads.
    pub max_result_chars: usize,
}

impl DocumentView {
    /// Creates the view of a model without converters: HTML as text, texts up to 100,000 bytes, results up to 50,000
    /// characters.
    pub fn new(model: ModelHandle) -> Self {
        let converters = Vec::new();
        Self { model, converters, html_source: false, max_text_bytes: 100_000, max_result_chars: 50_000 }
    }
}

impl fmt::Debug for DocumentView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DocumentView")
            .field("model", &self.model)
            .field("converters", &self.converters.len())
            .finish_non_exhaustive()
    }
}
