//! Options of routing.

use attache_core::ModelCapabilities;

use crate::label::LabelProfile;

/// The maximum number of bytes of text shown of one document where nobody says otherwise.
pub(crate) const MAX_TEXT_BYTES: usize = 256 << 10;

/// Options for labelling and placing documents. Defaults are given at each field.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RouteOptions {
    /// The format of labels; [`LabelProfile::Spec`] by default.
    pub profile: LabelProfile,
    /// When a document that is already in the window is replaced by a back reference;
    /// [`BackReferences::AcrossMessages`] by default.
    pub back_references: BackReferences,
    /// If true, documents that are shown natively in tool results and authors' messages are also labelled; `false` by
    /// default. (All others are always labelled, and so are these if an API requires text beside them and there is
    /// none.)
    pub label_native: bool,
    /// If true, labels of the `refs` profile show the URL of an external document; `false` by default, since a
    /// model may repeat it anywhere.
    pub show_urls: bool,
    /// The way in which the model gets the content of an external document; [`ExternalDocuments::Fetch`] by default.
    pub external: ExternalDocuments,
    /// If true, a document that an author attached in the last turn and that the model does not accept may be shown as
    /// converted text; `false` by default, which makes it an error.
    pub convert_author_documents: bool,
    /// If true, a document of an event that cannot be shown is an error instead of a note; `false` by default.
    pub fail_on_event_documents: bool,
    /// The maximum number of bytes of text shown per document of a tool or an event; 256 KiB by default. Longer text is
    /// cut between lines, as its closing line says. An author's text documents are never cut.
    pub max_text_bytes: usize,
    /// The budget for all documents of a request; [`DocumentBudget::Window`] by default.
    pub budget: DocumentBudget,
    /// If true, HTML of tools and events is shown as source even if a converter can extract readable text from it;
    /// `false` by default.
    pub html_source: bool,
    /// If true, documents are placed so that the model can cite them, if it supports that: text as separate documents
    /// that providers treat as search results, others where they can be cited. `false` by default. Use it together with
    /// [`ModelSettings::citations`](attache_core::ModelSettings::citations), and do not change it within a
    /// conversation.
    pub citations: bool,
    /// The name of a tool with which the model can read more of a document; notes about omitted content mention it.
    /// `None` by default.
    pub read_tool: Option<String>,
}

impl Default for RouteOptions {
    fn default() -> Self {
        Self {
            profile: LabelProfile::default(),
            back_references: BackReferences::default(),
            label_native: false,
            show_urls: false,
            external: ExternalDocuments::default(),
            convert_author_documents: false,
            fail_on_event_documents: false,
            max_text_bytes: MAX_TEXT_BYTES,
            budget: DocumentBudget::default(),
            html_source: false,
            citations: false,
            read_tool: None,
        }
    }
}

impl RouteOptions {
    /// Creates the default options.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the format of labels.
    #[must_use]
    pub fn with_profile(mut self, profile: LabelProfile) -> Self {
        self.profile = profile;
        self
    }

    /// Sets when documents that are already in the window are replaced by back references.
    #[must_use]
    pub fn with_back_references(mut self, back_references: BackReferences) -> Self {
        self.back_references = back_references;
        self
    }

    /// Sets if native documents are labelled too.
    #[must_use]
    pub fn with_label_native(mut self, label: bool) -> Self {
        self.label_native = label;
        self
    }

    /// Sets if labels may show URLs.
    #[must_use]
    pub fn with_show_urls(mut self, show: bool) -> Self {
        self.show_urls = show;
        self
    }

    /// Sets how the model gets external documents.
    #[must_use]
    pub fn with_external(mut self, external: ExternalDocuments) -> Self {
        self.external = external;
        self
    }

    /// Sets if authors' documents may be shown as converted text.
    #[must_use]
    pub fn with_convert_author_documents(mut self, convert: bool) -> Self {
        self.convert_author_documents = convert;
        self
    }

    /// Sets if a document of an event that cannot be shown is an error.
    #[must_use]
    pub fn with_fail_on_event_documents(mut self, fail: bool) -> Self {
        self.fail_on_event_documents = fail;
        self
    }

    /// Sets the budget for all documents of a request.
    #[must_use]
    pub fn with_budget(mut self, budget: DocumentBudget) -> Self {
        self.budget = budget;
        self
    }

    /// Sets if HTML is shown as source.
    #[must_use]
    pub fn with_html_source(mut self, source: bool) -> Self {
        self.html_source = source;
        self
    }

    /// Sets if documents are placed so that the model can cite them.
    #[must_use]
    pub fn with_citations(mut self, citations: bool) -> Self {
        self.citations = citations;
        self
    }

    /// Sets the name of the tool with which the model can read more of a document.
    #[must_use]
    pub fn with_read_tool(mut self, name: impl Into<String>) -> Self {
        self.read_tool = Some(name.into());
        self
    }

    /// Sets the maximum number of bytes of text shown per document of a tool or an event.
    #[must_use]
    pub fn with_max_text_bytes(mut self, bytes: usize) -> Self {
        self.max_text_bytes = bytes;
        self
    }
}

/// The way in which the model gets the content of an external document. Neither variant shows the URL to the model as
/// text; use [`RouteOptions::show_urls`] for that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ExternalDocuments {
    /// It is fetched locally, by the fetcher given to [`gather`](crate::gather), and routed like any other document.
    #[default]
    Fetch,
    /// The provider fetches it, if the model's row supports this for the type and place, and the URL is `https` and
    /// looks public. All others are fetched locally.
    ///
    /// The provider sees the URL, including a signature if there is one, in each request with the document. The content
    /// may change between requests, and a request fails if the URL no longer works. In return, nothing is loaded
    /// locally.
    PassUrl,
}

/// The maximum cost of all documents of a request, in estimated tokens. If it is exceeded, the oldest documents become
/// notes, in blocks of a quarter of the budget; the author's last turn and the newest content are never left out. A PDF
/// of a tool or an event is cut to the pages that fit into three quarters of the budget; the other pages follow as
/// text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DocumentBudget {
    /// Three quarters of the model's context window, if it is known. Documents whose cost could only be guessed from
    /// the file size do not count.
    #[default]
    Window,
    /// A number of tokens, which also counts guessed costs.
    Tokens(u64),
    /// No limit except those of the model.
    Unlimited,
}

impl DocumentBudget {
    /// The tokens that documents may cost; `None` where they may cost anything.
    pub(crate) fn tokens(self, capabilities: &ModelCapabilities) -> Option<u64> {
        match self {
            Self::Window => capabilities.context_window.map(|window| window / 4 * 3),
            Self::Tokens(most) => Some(most),
            Self::Unlimited => None,
        }
    }
}

/// When a document of a tool or an event is shown as a back reference because its content is already in the window.
///
/// The first occurrence keeps the content, so the messages already sent do not change when new ones are added; when a
/// window drops it, the next occurrence shows the content. Documents are identical if their ids and contents are equal.
/// A document that an author attached is always shown where it was attached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BackReferences {
    /// A label and a back reference, if an earlier message shows the document. If two calls of one turn return the same
    /// document, both show it.
    #[default]
    AcrossMessages,
    /// A label and a back reference, also between two calls of one turn.
    Everywhere,
    /// The document is shown in full each time. Then routing also commutes, message by message, with a window that
    /// drops leading turns.
    Never,
}
