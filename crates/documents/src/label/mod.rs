//! Labels: the tag before a document that describes it and its origin.

mod escape;
mod profile;
mod read;
mod short;

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use attache_core::{Document, DocumentSource};

pub use profile::LabelProfile;
pub(crate) use read::NOT_SHOWN;
pub use read::ReadLabel;
pub(crate) use short::ShortIds;

use profile::{Attribute, Value};

/// A label that can be rendered in any profile.
///
/// It contains only what is known without network access: rendering never loads a document, and a URL is left out
/// unless [`with_url`](Self::with_url) allows it.
///
/// ```
/// use attache_core::{Document, DocumentId};
/// use attache_documents::{Label, LabelProfile};
///
/// let id = DocumentId::parse("7d41c0b2-93e5-4f6a-8b1d-2a6e5f0c9d34").unwrap();
/// let lease = Document::stored(id, "main", "application/pdf").with_file_name("lease.pdf");
/// let label = Label::new(&lease).of_call(Some("find_contract"), "call_9");
/// assert_eq!(
///     label.render(LabelProfile::Spec),
///     r#"<document tool-name="find_contract" tool-call-id="call_9" document-short-id="7d41c0b2" filename="lease.pdf" />"#
/// );
/// ```
#[derive(Clone, Debug)]
pub struct Label<'a> {
    document: &'a Document,
    tool_name: Option<&'a str>,
    tool_call_id: Option<&'a str>,
    short_id: Option<&'a str>,
    status: Option<&'a str>,
    url: bool,
}

impl<'a> Label<'a> {
    /// Creates the label of a document that was not returned by a tool call.
    pub fn new(document: &'a Document) -> Self {
        Self { document, tool_name: None, tool_call_id: None, short_id: None, status: None, url: false }
    }

    /// Sets the call that returned the document, as the model knows it: by wire name and wire id.
    #[must_use]
    pub fn of_call(mut self, tool_name: Option<&'a str>, tool_call_id: &'a str) -> Self {
        self.tool_name = tool_name;
        self.tool_call_id = Some(tool_call_id);
        self
    }

    /// Sets the short id of the `spec` profile, if [`DocumentId::short`](attache_core::DocumentId::short) is ambiguous.
    #[must_use]
    pub fn with_short_id(mut self, short_id: &'a str) -> Self {
        self.short_id = Some(short_id);
        self
    }

    /// Sets the reason why the content does not follow, in one word.
    #[must_use]
    pub fn with_status(mut self, status: &'a str) -> Self {
        self.status = Some(status);
        self
    }

    /// Allows the `refs` profile to show the URL of an external document.
    #[must_use]
    pub fn with_url(mut self, shown: bool) -> Self {
        self.url = shown;
        self
    }

    /// Renders the tag. Attributes with a missing or blank value are left out.
    pub fn render(&self, profile: LabelProfile) -> String {
        let form = profile.form();
        let external = matches!(self.document.source(), DocumentSource::External { .. });
        let attributes = if external { form.external } else { form.attributes };
        let mut tag = String::with_capacity(128);
        tag.push('<');
        tag.push_str(form.element);
        for Attribute(name, value) in attributes {
            let Some(value) = self.value(*value) else { continue };
            let Some(value) = escape::attribute(&value, form.breaks) else { continue };
            tag.extend([" ", name, "=\"", &value, "\""]);
        }
        tag.push_str(" />");
        tag
    }

    fn value(&self, value: Value) -> Option<Cow<'a, str>> {
        let document = self.document;
        let url = match document.source() {
            DocumentSource::External { url } if self.url => Some(&**url),
            _ => None,
        };
        let text = match value {
            Value::ToolName => self.tool_name,
            Value::ToolCallId => self.tool_call_id,
            Value::ShortId => self.short_id.or_else(|| Some(document.id().short())),
            Value::DocumentId => Some(document.id().as_str()),
            Value::StoreId => document.store_id(),
            Value::ContentType => return Some(Cow::Owned(document.media_type().to_string())),
            Value::FileName => document.file_name(),
            Value::Url => url,
            Value::DocumentIdWithoutUrl => url.is_none().then(|| document.id().as_str()),
            Value::Status => self.status,
        };
        text.map(Cow::Borrowed)
    }
}
