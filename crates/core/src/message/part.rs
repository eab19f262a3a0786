//! The parts that messages share.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::document::Document;
use crate::id::DocumentId;
use crate::identity::own_ids;
use crate::tree::ContentTree;

/// A text that is not blank.
#[derive(Clone, Debug, PartialEq)]
pub struct TextPart {
    text: Arc<str>,
    refusal: bool,
    replay: Option<Arc<ReplayData>>,
}

impl TextPart {
    /// Creates a text part, or `None` if the text is empty or only white space, because providers reject blank text.
    pub fn new(text: impl Into<String>) -> Option<Self> {
        let text: String = text.into();
        (!text.trim().is_empty()).then(|| Self { text: Arc::from(text), refusal: false, replay: None })
    }

    /// Marks the text as the model's refusal.
    #[must_use]
    pub fn into_refusal(mut self) -> Self {
        self.refusal = true;
        self
    }

    /// Adds the data that the provider needs back with it.
    #[must_use]
    pub fn with_replay(mut self, replay: impl Into<Option<ReplayData>>) -> Self {
        self.replay = replay.into().map(Arc::new);
        self
    }

    /// The text, never blank.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// True if the text is a refusal by the model.
    pub fn is_refusal(&self) -> bool {
        self.refusal
    }

    /// The data that the provider needs back with it.
    pub fn replay(&self) -> Option<&ReplayData> {
        self.replay.as_deref()
    }
}

/// Free-form data attached to a message, for applications, audit and routing. It never reaches a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metadata(Map<String, Value>);

impl Metadata {
    /// Creates metadata without entries.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds or replaces an entry.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.0.insert(key.into(), value.into());
        self
    }

    /// The entry under `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    /// True if there are no entries.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The entries, in the order they were added.
    pub fn entries(&self) -> &Map<String, Value> {
        &self.0
    }
}

impl From<Map<String, Value>> for Metadata {
    fn from(entries: Map<String, Value>) -> Self {
        Self(entries)
    }
}

/// One part of a user message, or content that routing added to a tool result.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum UserPart {
    /// A text.
    Text(TextPart),
    /// A document.
    Document(Document),
    /// Structured data, shown as JSON, with the documents it contains.
    Object(ContentTree),
}

impl UserPart {
    /// Creates a text part, or `None` if `text` is blank.
    pub fn text(text: impl Into<String>) -> Option<Self> {
        TextPart::new(text).map(Self::Text)
    }

    /// The documents in it, withheld ones included.
    pub(crate) fn documents(&self) -> &[Document] {
        match self {
            Self::Text(_) => &[],
            Self::Document(document) => std::slice::from_ref(document),
            Self::Object(tree) => tree.documents(),
        }
    }

    /// The same part, whose documents stand apart from those that are known; `None` if they do already.
    pub(crate) fn apart_from<'d>(&self, known: impl Fn(&DocumentId) -> Option<&'d Document>) -> Option<Self> {
        let ids = own_ids(self.documents(), known)?;
        Some(match self {
            Self::Text(text) => Self::Text(text.clone()),
            Self::Document(document) => {
                let id = ids.get(document.id()).unwrap_or_else(|| document.id()).clone();
                Self::Document(document.clone().with_id(id))
            }
            Self::Object(tree) => Self::Object(tree.with_ids(&ids)),
        })
    }
}

impl From<Document> for Option<UserPart> {
    fn from(document: Document) -> Self {
        Some(UserPart::Document(document))
    }
}

/// Data that is sent back unchanged to its provider: signatures, item ids, phases, encrypted blobs.
#[derive(Clone, Debug)]
pub struct ReplayData {
    family: Arc<str>,
    model: Arc<str>,
    data: Arc<RawValue>,
}

impl ReplayData {
    /// Creates replay data from JSON of the API `family` (such as `anthropic`) and its `model`.
    pub fn new(family: impl Into<Arc<str>>, model: impl Into<Arc<str>>, data: Box<RawValue>) -> Self {
        Self { family: family.into(), model: model.into(), data: Arc::from(data) }
    }

    /// The API family whose wire format it belongs to.
    pub fn family(&self) -> &str {
        &self.family
    }

    /// The model that produced it.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// The JSON, byte for byte as received.
    pub fn json(&self) -> &str {
        self.data.get()
    }

    /// Reads the JSON, if it came from `family`.
    pub fn read<T: DeserializeOwned>(&self, family: &str) -> Option<T> {
        if &*self.family == family { serde_json::from_str(self.json()).ok() } else { None }
    }
}

impl PartialEq for ReplayData {
    fn eq(&self, other: &Self) -> bool {
        self.family == other.family && self.model == other.model && self.json() == other.json()
    }
}
