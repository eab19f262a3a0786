//! The choices that a caller has about routing.

use attache_core::ModelCapabilities;

use crate::label::LabelProfile;

/// The most bytes of text shown of one document where nobody says otherwise.
pub(crate) const MAX_TEXT_BYTES: usize = 256 << 10;

/// How documents are labelled and placed where the model leaves a choice. The defaults are those of the fields.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RouteOptions {
    /// How labels look; [`LabelProfile::Spec`] by default.
    pub profile: LabelProfile,
    /// The treatment of a document that stood in the window before; [`Repeats::AcrossMessages`] by default.
    pub repeats: Repeats,
    /// If true, a label stands also before documents that go natively into tool results and authors' messages;
    /// `false` by default. (All others are always labelled, and so are these where an API demands text beside
    /// them and there is none.)
    pub label_native: bool,
    /// If true, labels of the `refs` profile show the URL of an external document; `false` by default, since a
    /// model may repeat it anywhere.
    pub show_urls: bool,
    /// How the model gets what is at the address of an external document; [`ExternalDocuments::Fetch`] by default.
    pub external: ExternalDocuments,
    /// If true, a document that an author attached to the last turn may be shown as converted text where the model does
    /// not take it; `false` by default: it is an error then.
    pub convert_author_documents: bool,
    /// If true, a document of an event that cannot be shown is an error instead of a note; `false` by default.
    pub fail_on_event_documents: bool,
    /// The most bytes of text shown of one document of a tool or an event; 256 KiB by default. Longer text is cut
    /// between lines, and its closing line says so. An author's text documents are never cut.
    pub max_text_bytes: usize,
    /// The most that the documents of a request cost together; [`DocumentBudget::Window`] by default.
    pub budget: DocumentBudget,
    /// If true, HTML of tools and events is shown as its source although a converter makes readable text of it; `false`
    /// by default.
    pub html_source: bool,
    /// If true, documents are placed and written so that the model can cite them, where it can: text as documents of
    /// their own that providers take for search results, others where they can be cited. `false` by default. It goes
    /// with [`ModelSettings::citations`](attache_core::ModelSettings::citations), and must stay as it is for a
    /// conversation.
    pub citations: bool,
    /// The name of a tool with which the model can read more of a document; notes about what is left out name it.
    /// `None` by default.
    pub read_tool: Option<String>,
}

impl Default for RouteOptions {
    fn default() -> Self {
        Self {
            profile: LabelProfile::default(),
            repeats: Repeats::default(),
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
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how labels look.
    #[must_use]
    pub fn with_profile(mut self, profile: LabelProfile) -> Self {
        self.profile = profile;
        self
    }

    /// Sets the treatment of documents that stood in the window before.
    #[must_use]
    pub fn with_repeats(mut self, repeats: Repeats) -> Self {
        self.repeats = repeats;
        self
    }

    /// Sets whether native documents are labelled too.
    #[must_use]
    pub fn with_label_native(mut self, label: bool) -> Self {
        self.label_native = label;
        self
    }

    /// Sets whether labels may show URLs.
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

    /// Sets whether authors' documents may be shown as converted text.
    #[must_use]
    pub fn with_convert_author_documents(mut self, convert: bool) -> Self {
        self.convert_author_documents = convert;
        self
    }

    /// Sets whether a document of an event that cannot be shown is an error.
    #[must_use]
    pub fn with_fail_on_event_documents(mut self, fail: bool) -> Self {
        self.fail_on_event_documents = fail;
        self
    }

    /// Sets what the documents of a request may cost.
    #[must_use]
    pub fn with_budget(mut self, budget: DocumentBudget) -> Self {
        self.budget = budget;
        self
    }

    /// Sets whether HTML is shown as its source.
    #[must_use]
    pub fn with_html_source(mut self, source: bool) -> Self {
        self.html_source = source;
        self
    }

    /// Sets whether documents are written so that the model can cite them.
    #[must_use]
    pub fn with_citations(mut self, citations: bool) -> Self {
        self.citations = citations;
        self
    }

    /// Names the tool with which the model can read more of a document.
    #[must_use]
    pub fn with_read_tool(mut self, name: impl Into<String>) -> Self {
        self.read_tool = Some(name.into());
        self
    }

    /// Sets the most bytes of text shown of one document of a tool or an event.
    #[must_use]
    pub fn with_max_text_bytes(mut self, bytes: usize) -> Self {
        self.max_text_bytes = bytes;
        self
    }
}

/// How the model gets what is at the address of an external document. Neither shows the address to the model as text:
/// [`RouteOptions::show_urls`] is for that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ExternalDocuments {
    /// It is fetched here, by whoever is given to [`gather`](crate::gather) for that, and routed like any other.
    #[default]
    Fetch,
    /// The provider fetches it, where the model's row says that it does for this type and place, and the address is
    /// `https` and looks public. All others are fetched here.
    ///
    /// The provider sees the address, with its signature if it has one, at each request that holds the document; what
    /// is there may be something else each time, and the request fails if it is nothing any more. In return nothing is
    /// loaded here.
    PassUrl,
}

/// The most that the documents of a request cost together, in estimated tokens. Where they cost more, the oldest become
/// notes, in blocks of a quarter; the author's last turn and the newest content are never left out. A PDF of a
/// tool or an event is cut to the pages that three quarters of it pay for; the others follow as text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DocumentBudget {
    /// Three quarters of the model's context window, where that is known. Contents about whose cost no more is known
    /// than the size of a file do not count.
    #[default]
    Window,
    /// So many tokens, guesses included.
    Tokens(u64),
    /// As much as the model takes.
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

/// The treatment of a document of a tool or an event whose content stands in the window already.
///
/// The first occurrence keeps the content, so what was sent stays as it was when messages are added; when a window
/// drops it, the next one shows the content. Documents are the same if their ids and
/// their contents are. A document that an author attached is always shown where it was attached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Repeats {
    /// A label and a reference back, if an earlier message shows it. Two calls of one turn that return the same
    /// document both show it.
    #[default]
    AcrossMessages,
    /// A label and a reference back, also between two calls of one turn.
    Everywhere,
    /// It is shown in full each time. Then routing also commutes, message by message, with a window that drops
    /// leading turns.
    Never,
}
