//! The passages that support an answer, and the figures in it.
//!
//! A [`Citation`] links a place in an answer to a place in a source. Codecs read the citations that a provider sends
//! into [`AssistantMessage::citations`](crate::AssistantMessage::citations); matching finds the others. A [`Figure`] is
//! a number in an answer with the evidence for it. Both are data for programs and are never shown to a model.

use serde::{Deserialize, Serialize};

use crate::id::{DocumentId, ToolCallId};

/// A passage of a source that an answer quotes or is based on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct Citation {
    /// The cited source.
    pub source: Source,
    /// The page, cell or block, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// The text of the passage in the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<Box<str>>,
    /// The position of the passage in the text of the source, as read by the model or extracted by a converter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_document: Option<Span>,
    /// The part of the answer that cites it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_answer: Option<AnswerSpan>,
    /// The method by which it was found.
    pub how: How,
    /// True if the passage occurs in several places, of which this is one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ambiguous: bool,
}

impl Citation {
    /// Creates a citation of `source` without further details.
    pub fn new(source: Source, how: How) -> Self {
        Self { source, place: None, quote: None, in_document: None, in_answer: None, how, ambiguous: false }
    }

    /// Sets the place in the source.
    #[must_use]
    pub fn with_place(mut self, place: impl Into<Option<Place>>) -> Self {
        self.place = place.into();
        self
    }

    /// Sets the text of the passage. Blank text is ignored.
    #[must_use]
    pub fn with_quote(mut self, quote: Option<&str>) -> Self {
        self.quote = quote.filter(|quote| !quote.trim().is_empty()).map(Box::from);
        self
    }

    /// Sets the position of the passage in the text of the source.
    #[must_use]
    pub fn with_document_span(mut self, span: impl Into<Option<Span>>) -> Self {
        self.in_document = span.into();
        self
    }

    /// Sets the position in the answer that cites it.
    #[must_use]
    pub fn with_answer_span(mut self, span: impl Into<Option<AnswerSpan>>) -> Self {
        self.in_answer = span.into();
        self
    }

    /// Sets if the passage occurs in several places.
    #[must_use]
    pub fn with_ambiguous(mut self, ambiguous: bool) -> Self {
        self.ambiguous = ambiguous;
        self
    }

    /// Returns the citation without content from its source: without the passage, its place, and the names of files and
    /// pages. It still links a part of the answer to a source.
    #[must_use]
    pub fn without_passage(mut self) -> Self {
        (self.quote, self.place, self.in_document) = (None, None, None);
        match &mut self.source {
            Source::Document { name, .. } => *name = None,
            Source::Url { title, .. } | Source::Foreign { title, .. } | Source::Nth { title, .. } => {
                *title = None;
            }
            Source::ToolResult { .. } | Source::Message => {}
        }
        self
    }

    /// True if the answer contains the text of the source, apart from differences in form.
    pub fn is_faithful(&self) -> bool {
        self.how != How::Altered
    }
}

/// The cited source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Source {
    /// A document of the conversation.
    Document {
        /// Its identity.
        id: DocumentId,
        /// Its file name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// The result of a tool, besides documents.
    ToolResult {
        /// The call.
        call_id: ToolCallId,
        /// The tool's name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool: Option<String>,
    },
    /// A message of a user, an event or the system.
    Message,
    /// A web page.
    Url {
        /// The address.
        url: String,
        /// Its title.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
    },
    /// A file, search result or chunk that the provider identifies by its own id.
    Foreign {
        /// The provider's id.
        id: String,
        /// Its title.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
    },
    /// A document of the request, by its number in the provider's count.
    Nth {
        /// The number, from 0.
        index: u32,
        /// Its title.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
    },
}

/// A place in a source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Place {
    /// The first and the last page, from 1, both included.
    Pages(u32, u32),
    /// Cells of a table.
    Cell {
        /// The sheet's name, or its number.
        sheet: String,
        /// The cells, such as `B7`, `7:7` for a row, or `B2:B9`.
        range: String,
    },
    /// A block that the provider counts, from 1.
    Block(u32),
}

/// A range of a text in UTF-8 bytes, with an exclusive end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
}

impl Span {
    /// The bytes from `start` to `end`; `None` if the range is empty or does not fit into 32 bits.
    ///
    /// ```
    /// use attache_core::citation::Span;
    /// assert_eq!(Span::new(4, 8).and_then(|span| span.of("The rent")), Some("rent"));
    /// assert_eq!(Span::new(8, 8), None);
    /// ```
    pub fn new(start: usize, end: usize) -> Option<Self> {
        let span = Self { start: u32::try_from(start).ok()?, end: u32::try_from(end).ok()? };
        (span.start < span.end).then_some(span)
    }

    /// The range of `text`, if it exists there.
    pub fn of(self, text: &str) -> Option<&str> {
        text.get(usize::try_from(self.start).ok()?..usize::try_from(self.end).ok()?)
    }
}

/// A place in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum AnswerSpan {
    /// The words that are based on the source.
    Claim(Span),
    /// A link or mark that follows such words.
    Marker(Span),
}

impl AnswerSpan {
    /// The bytes.
    pub fn span(self) -> Span {
        match self {
            Self::Claim(span) | Self::Marker(span) => span,
        }
    }
}

/// The method by which a citation was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum How {
    /// The provider sent it.
    Native,
    /// The answer contains the source's words byte for byte.
    Exact,
    /// The answer contains the source's words, apart from case, white space, hyphens, quotation marks and other forms
    /// of the same characters.
    Normalised,
    /// A few characters differ, and no digit, unit, negation or name among them.
    Fuzzy {
        /// The number of differing characters.
        edits: u16,
    },
    /// The answer quotes the source with a different digit, unit, negation or name.
    Altered,
}

/// A number in an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct Figure {
    /// The figure as the answer writes it, with sign, scale and unit.
    pub text: Box<str>,
    /// Its position in the answer's text.
    pub in_answer: Span,
    /// The evidence for it.
    pub state: FigureState,
    /// The source in which it was found, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<Box<Citation>>,
}

impl Figure {
    /// Creates a figure in this state.
    pub fn new(text: impl Into<Box<str>>, in_answer: Span, state: FigureState) -> Self {
        Self { text: text.into(), in_answer, state, found: None }
    }

    /// Sets the source in which it was found.
    #[must_use]
    pub fn with_found(mut self, found: impl Into<Option<Citation>>) -> Self {
        self.found = found.into().map(Box::new);
        self
    }

    /// Returns the figure without content from sources. See [`Citation::without_passage`].
    #[must_use]
    pub fn without_passage(mut self) -> Self {
        self.found = self.found.map(|found| Box::new(found.without_passage()));
        if let FigureState::Unsupported { nearest } = &mut self.state {
            *nearest = None;
        }
        self
    }

    /// True if nothing shown to the model supports it.
    pub fn is_unsupported(&self) -> bool {
        matches!(self.state, FigureState::Unsupported { .. })
    }
}

/// The evidence for a figure, in the order in which it is checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum FigureState {
    /// A document or tool result shown to the model contains it, rounded as in the answer.
    Supported,
    /// It can be calculated from figures of the same paragraph, or from a whole column or row of a table.
    Derived(Derivation),
    /// A user message or the instructions contain it.
    Given,
    /// It is not a factual figure.
    Ignored(Ignored),
    /// It could not be checked, because a document without available text was shown.
    Unchecked,
    /// None of these supports it.
    Unsupported {
        /// The nearest figure in the sources, as written there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        nearest: Option<Box<str>>,
    },
}

/// The calculation by which a figure follows from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Derivation {
    /// A sum.
    Sum,
    /// A difference.
    Difference,
    /// A product.
    Product,
    /// A share or a change, in per cent.
    Percentage,
    /// The sum of a whole column of a table.
    Column,
    /// The sum of a whole row of a table.
    Row,
}

/// The reason why a number is not a factual figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Ignored {
    /// It numbers an item of a list, or a heading.
    ListNumber,
    /// It names a page or section that exists.
    Place,
    /// It is a reference mark, or stands in the name of a document that was shown.
    Marker,
    /// It is in code.
    Code,
    /// It is in a URL.
    Url,
    /// It is a version number.
    Version,
    /// It is today's date, or part of it.
    Today,
    /// It counts the items that the answer lists.
    Count,
    /// It is part of a word.
    Word,
}

/// The results of checking an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Checked {
    /// The passages that the answer quotes or cites, in the order of the answer; those of the provider come first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub citations: Vec<Citation>,
    /// The figures in the answer, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<Figure>,
    /// Long passages in quotation marks that occur in no text shown to the model.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unfound: Vec<Span>,
    /// Remarks for people: what could not be checked, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Checked {
    /// The unsupported figures.
    pub fn unsupported(&self) -> impl Iterator<Item = &Figure> {
        self.figures.iter().filter(|figure| figure.is_unsupported())
    }
}
