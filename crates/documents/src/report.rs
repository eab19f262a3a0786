//! The routing decision for each document, with its reason.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use attache_core::capability::Place;
use attache_core::{DocumentId, MediaType};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::text::tame;

/// The routing decisions for all documents of the messages.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RoutingReport {
    /// Exactly one decision for each document captured in a tool result or event, and for each that an author attached,
    /// in message order. A document in two results has a decision for each.
    pub decisions: Vec<DocumentDecision>,
    /// References without a document in the new messages, which are those after the model's last reply.
    pub unresolved: Vec<UnresolvedReference>,
    /// The totals of this routing.
    pub extraction: Extraction,
}

impl RoutingReport {
    /// The number of documents with this outcome.
    pub fn count(&self, outcome: DocumentOutcome) -> usize {
        self.decisions.iter().filter(|decision| decision.outcome == outcome).count()
    }

    /// The documents whose content was in the request of an earlier report and is now left out because of a limit or
    /// the budget.
    pub fn left_out_since(&self, earlier: &RoutingReport) -> Vec<DocumentId> {
        let shown = earlier.decisions.iter().filter(|decision| decision.bytes > 0);
        let stood: HashSet<_> =
            shown.map(|decision| (&decision.document_id, decision.tool_call_id.as_deref())).collect();
        let left_out = |decision: &&DocumentDecision| {
            let limit = matches!(
                decision.reason.kind(),
                ReasonKind::TooMany | ReasonKind::RequestFull | ReasonKind::OverBudget
            );
            limit && stood.contains(&(&decision.document_id, decision.tool_call_id.as_deref()))
        };
        self.decisions.iter().filter(left_out).map(|decision| decision.document_id.clone()).collect()
    }

    /// The estimated tokens of all documents together.
    pub fn tokens(&self) -> u64 {
        self.decisions.iter().map(|decision| decision.tokens).fold(0, u64::saturating_add)
    }
}

/// A line for each decision, for people who read a log.
impl fmt::Display for RoutingReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, decision) in self.decisions.iter().enumerate() {
            let end = if at == 0 { "" } else { "\n" };
            write!(f, "{end}{decision}")?;
        }
        Ok(())
    }
}

/// Totals of one routing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Extraction {
    /// Tool results examined.
    pub results: usize,
    /// Tool results that contain documents.
    pub results_with_documents: usize,
    /// Documents in tool results.
    pub documents: usize,
}

/// The decision for one document, with its reason.
///
/// The JSON form has the fields under their names: the media type without parameters, the place and the outcome in
/// snake case, the reason as a sentence without full stop. A decision read from JSON has only that sentence as its
/// reason; see [`ReasonKind::Told`].
// Logs of runs hold it in this form: a new field has a default, and none gets another name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DocumentDecision {
    /// The document.
    pub document_id: DocumentId,
    /// The wire name of the tool that returned it; `None` for documents of events and authors, and if it is not known.
    pub tool_name: Option<String>,
    /// The wire id of the call that returned it; `None` for documents of events and authors.
    pub tool_call_id: Option<String>,
    /// The media type, checked against the bytes if they are in memory.
    #[serde(serialize_with = "essence", deserialize_with = "media_type")]
    pub media_type: MediaType,
    /// The file name, if it is known.
    pub file_name: Option<String>,
    /// The place of its content or of the note about it; `None` if nothing is shown.
    pub place: Option<Place>,
    /// The document that contains it, such as the e-mail that it is attached to; `None` for documents directly in
    /// messages.
    pub inside: Option<DocumentId>,
    /// The outcome.
    pub outcome: DocumentOutcome,
    /// The reason.
    pub reason: Reason,
    /// The bytes of its content in the request, before base64; 0 if there are none.
    pub bytes: u64,
    /// The estimated tokens of that content; 0 if there is none. Providers count differently.
    pub tokens: u64,
}

/// Name or short id, media type, outcome and reason, on one line.
impl fmt::Display for DocumentDecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = tame(self.file_name.as_deref().unwrap_or(self.document_id.short()));
        write!(f, "{name} ({}): {}, {}", tame(self.media_type.essence()), self.outcome, self.reason)
    }
}

fn essence<S: Serializer>(media_type: &MediaType, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(media_type.essence())
}

fn media_type<'de, D: Deserializer<'de>>(deserializer: D) -> Result<MediaType, D::Error> {
    let essence = String::deserialize(deserializer)?;
    MediaType::parse(&essence).ok_or_else(|| serde::de::Error::custom("no media type"))
}

/// The form, if any, in which a document reaches the model.
// Logs of runs hold its words: none is taken away, and one that is new makes them unreadable to older programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DocumentOutcome {
    /// It is shown unchanged in its original place.
    Native,
    /// It is shown unchanged in the user message that follows the tool results.
    Synthetic,
    /// Its own text is shown.
    Text,
    /// It is shown natively in another encoding: an image re-encoded or scaled, a PDF cut to its first pages with the
    /// text of the others.
    Reencoded,
    /// Its pages are shown as images, and pages with text as text.
    Rendered,
    /// Text extracted by a converter is shown.
    Converted,
    /// A label says why it is not shown, or where it is shown.
    Note,
    /// The tool's handler withholds it from the model.
    Withheld,
    /// It makes the request fail, because the author must be informed.
    Error,
}

impl DocumentOutcome {
    /// The name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Synthetic => "synthetic",
            Self::Text => "text",
            Self::Reencoded => "reencoded",
            Self::Rendered => "rendered",
            Self::Converted => "converted",
            Self::Note => "note",
            Self::Withheld => "withheld",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for DocumentOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The reason for an outcome. `Display` is a sentence without full stop and without secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    kind: ReasonKind,
    text: Cow<'static, str>,
}

impl Reason {
    pub(crate) fn new(kind: ReasonKind, text: impl Into<Cow<'static, str>>) -> Self {
        Self { kind, text: text.into() }
    }

    /// The kind of reason, for programs.
    pub fn kind(&self) -> ReasonKind {
        self.kind
    }

    /// The reason as text for people.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Reason {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::new(ReasonKind::Told, String::deserialize(deserializer)?))
    }
}

/// The kinds of reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReasonKind {
    /// The place accepts the document unchanged.
    Accepted,
    /// The provider fetches it from its URL.
    PassedUrl,
    /// The tool result does not accept it, but the message after it does.
    NotInResult,
    /// It is text.
    ReadsAsText,
    /// A converter extracted its text.
    MadeText,
    /// A converter brought it into a form that the place accepts.
    Transcoded,
    /// A converter rendered its pages as images.
    Rendered,
    /// Its content is already in the window.
    ShownBefore,
    /// The tool's handler withholds it from the model.
    Withheld,
    /// The call was cancelled.
    Cancelled,
    /// Its content is not available.
    Missing,
    /// It has no content.
    Empty,
    /// It is declared as text but cannot be decoded.
    Unreadable,
    /// No place of the model accepts its media type, and there is no converted text.
    Unsupported,
    /// It cannot be brought into a form that the model accepts, or it cannot be opened.
    Unfit,
    /// It exceeds the size limit of every place of the model.
    TooLarge,
    /// The request already contains the maximum number of documents.
    TooMany,
    /// The request has reached the maximum size.
    RequestFull,
    /// The documents of the request have used up the token budget.
    OverBudget,
    /// Only the sentence is known, because the decision was read from a log.
    Told,
}

impl ReasonKind {
    /// The word in the `status` of a note's label; `None` for reasons that lead to no note.
    pub(crate) fn status(self) -> Option<&'static str> {
        match self {
            Self::ShownBefore => Some("shown-before"),
            Self::Missing => Some("missing"),
            Self::Empty => Some("empty"),
            Self::Unreadable => Some("unreadable"),
            Self::Unsupported => Some("unsupported"),
            Self::Unfit => Some("unreadable"),
            Self::TooLarge => Some("too-large"),
            Self::TooMany | Self::RequestFull | Self::OverBudget => Some("left-out"),
            Self::Accepted
            | Self::PassedUrl
            | Self::NotInResult
            | Self::ReadsAsText
            | Self::MadeText
            | Self::Transcoded
            | Self::Rendered
            | Self::Withheld
            | Self::Cancelled
            | Self::Told => None,
        }
    }
}

/// A document reference in a tool's output or an event that matches none of its documents: forged, or from another
/// conversation. It is shown as plain text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct UnresolvedReference {
    /// The id in the reference.
    pub document_id: DocumentId,
    /// The internal name of the tool whose output contains it.
    pub tool_name: Option<String>,
    /// The wire id of the call.
    pub tool_call_id: Option<String>,
}
