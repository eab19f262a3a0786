//! The passages that an answer rests on, and the figures that it states.
//!
//! A [`Citation`] ties a place of an answer to a place of a source. Codecs read those that a provider sends into
//! [`AssistantMessage::citations`](crate::AssistantMessage::citations); matching finds the others. A [`Figure`] is a
//! number of an answer with what stands behind it. Both are data for programs and never reach a model.

use serde::{Deserialize, Serialize};

use crate::id::{DocumentId, ToolCallId};

/// A passage of a source that an answer quotes, or rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct Citation {
    /// The thing that is cited.
    pub source: Source,
    /// The page, cell or block, as far as it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// The passage in the words of the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<Box<str>>,
    /// Where the passage stands in the text of the source, as the model read it or a converter extracts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_document: Option<Span>,
    /// The part of the answer's text that cites it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_answer: Option<AnswerSpan>,
    /// The way in which it was found.
    pub how: How,
    /// True if the passage stands in more than one place, of which this is one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ambiguous: bool,
}

impl Citation {
    /// A citation of `source` that says nothing more.
    pub fn new(source: Source, how: How) -> Self {
        Self { source, place: None, quote: None, in_document: None, in_answer: None, how, ambiguous: false }
    }

    /// Sets the place in the source.
    #[must_use]
    pub fn with_place(mut self, place: impl Into<Option<Place>>) -> Self {
        self.place = place.into();
        self
    }

    /// Sets the words of the source. Blank ones say nothing.
    #[must_use]
    pub fn with_quote(mut self, quote: Option<&str>) -> Self {
        self.quote = quote.filter(|quote| !quote.trim().is_empty()).map(Box::from);
        self
    }

    /// Sets where the passage stands in the text of the source.
    #[must_use]
    pub fn with_document_span(mut self, span: impl Into<Option<Span>>) -> Self {
        self.in_document = span.into();
        self
    }

    /// Sets where in the answer it is cited.
    #[must_use]
    pub fn with_answer_span(mut self, span: impl Into<Option<AnswerSpan>>) -> Self {
        self.in_answer = span.into();
        self
    }

    /// Sets whether the passage stands in more than one place.
    #[must_use]
    pub fn with_ambiguous(mut self, ambiguous: bool) -> Self {
        self.ambiguous = ambiguous;
        self
    }

    /// The citation without what it tells of its source: the passage, its place, and the names of files and pages. It says
    /// which part of the answer rests on which source.
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

    /// True if the words of the source are in the text that is cited, apart from their form.
    pub fn is_faithful(&self) -> bool {
        self.how != How::Altered
    }
}

/// The thing that is cited.
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
    /// A page of the web.
    Url {
        /// The address.
        url: String,
        /// Its title.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
    },
    /// A file, search result or chunk that the provider names by an id of its own.
    Foreign {
        /// The provider's id.
        id: String,
        /// Its title.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
    },
    /// A document of the request, by its number among those that the provider counts.
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

/// A piece of a text in UTF-8 bytes, its end excluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// The byte behind the last.
    pub end: u32,
}

impl Span {
    /// The bytes from `start` to `end`; `None` if they are too far away for a number of 32 bits, or none.
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

    /// The piece of `text`, if it has it.
    pub fn of(self, text: &str) -> Option<&str> {
        text.get(usize::try_from(self.start).ok()?..usize::try_from(self.end).ok()?)
    }
}

/// A place in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum AnswerSpan {
    /// The words that rest on the source.
    Claim(Span),
    /// A link or mark that stands behind such words.
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

/// The way in which a citation was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum How {
    /// The provider says so.
    Native,
    /// The answer has the source's words byte for byte.
    Exact,
    /// The answer has the source's words apart from case, white space, hyphens, quotation marks and other forms of the
    /// same characters.
    Normalised,
    /// A few characters differ, and no digit, unit, negation or name among them.
    Fuzzy {
        /// Characters that differ.
        edits: u16,
    },
    /// The answer quotes the source with another digit, unit, negation or name.
    Altered,
}

/// A number that an answer states.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct Figure {
    /// The figure as the answer writes it, with sign, scale and unit.
    pub text: Box<str>,
    /// Its place in the answer's text.
    pub in_answer: Span,
    /// The support that it has.
    pub state: FigureState,
    /// Where it was found, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<Box<Citation>>,
}

impl Figure {
    /// A figure in this state.
    pub fn new(text: impl Into<Box<str>>, in_answer: Span, state: FigureState) -> Self {
        Self { text: text.into(), in_answer, state, found: None }
    }

    /// Sets where it was found.
    #[must_use]
    pub fn with_found(mut self, found: impl Into<Option<Citation>>) -> Self {
        self.found = found.into().map(Box::new);
        self
    }

    /// The figure without what it tells of sources. See [`Citation::without_passage`].
    #[must_use]
    pub fn without_passage(mut self) -> Self {
        self.found = self.found.map(|found| Box::new(found.without_passage()));
        if let FigureState::Unsupported { nearest } = &mut self.state {
            *nearest = None;
        }
        self
    }

    /// True if nothing that the model was shown explains it.
    pub fn is_unsupported(&self) -> bool {
        matches!(self.state, FigureState::Unsupported { .. })
    }
}

/// The support that a figure has, in the order in which it is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum FigureState {
    /// A document or tool result that the model was shown holds it, rounded as the answer shows it.
    Supported,
    /// It follows from figures of the same paragraph, or of a whole column or row of a table.
    Derived(Derivation),
    /// A message of the user or the instructions hold it.
    Given,
    /// It states nothing.
    Ignored(Ignored),
    /// A document was shown whose text nobody has.
    Unchecked,
    /// Nothing of that explains it.
    Unsupported {
        /// The figure of the sources that is nearest, as it stands there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        nearest: Option<Box<str>>,
    },
}

/// The way in which a figure follows from others.
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
    /// A part or a change, in per cent.
    Percentage,
    /// The sum of a whole column of a table.
    Column,
    /// The sum of a whole row of a table.
    Row,
}

/// The reason why a number states nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Ignored {
    /// It numbers an item of a list, or a heading.
    ListNumber,
    /// It names a page or section that exists.
    Place,
    /// It is a reference mark.
    Marker,
    /// It stands in code.
    Code,
    /// It stands in an address.
    Url,
    /// It is a version.
    Version,
    /// It is today's date, or of it.
    Today,
    /// It counts the items that the answer lists.
    Count,
    /// It is part of a word.
    Word,
}

/// The findings about an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Checked {
    /// The passages that it quotes or cites, in the order of the answer; the provider's come first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub citations: Vec<Citation>,
    /// The figures that it states, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<Figure>,
    /// Long passages in quotation marks that stand in no text that the model was shown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unfound: Vec<Span>,
    /// Remarks for people: what could not be checked, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Checked {
    /// The figures that nothing explains.
    pub fn unsupported(&self) -> impl Iterator<Item = &Figure> {
        self.figures.iter().filter(|figure| figure.is_unsupported())
    }
}
