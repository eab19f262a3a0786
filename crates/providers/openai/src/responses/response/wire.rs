//! The form of the events and objects of the Responses API (openai.md B.3, B.6).

use serde::Deserialize;
use serde_json::value::RawValue;

use attache_transport::JsonCursor;
use attache_transport::lenient::{Count, List, Object, Text};

/// The members of the most frequent events of a stream: a kind, a place, a piece of text.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Piece<'a> {
    #[serde(borrow, rename = "type")]
    pub(crate) kind: Text<'a>,
    pub(crate) output_index: Count,
    pub(crate) content_index: Count,
    pub(crate) summary_index: Count,
    pub(crate) item_id: Text<'a>,
    pub(crate) delta: Text<'a>,
}

impl<'a> Piece<'a> {
    /// The same of an event as plain as nearly all are, at a fraction of the cost.
    pub(crate) fn read(json: &'a str) -> Option<Self> {
        let mut piece = Self::default();
        JsonCursor::read(json, |cursor| {
            cursor.object(|cursor, name| match name {
                b"type" => cursor.text(&mut piece.kind.0),
                b"output_index" => cursor.count(&mut piece.output_index.0),
                b"content_index" => cursor.count(&mut piece.content_index.0),
                b"summary_index" => cursor.count(&mut piece.summary_index.0),
                b"item_id" => cursor.text(&mut piece.item_id.0),
                b"delta" => cursor.text(&mut piece.delta.0),
                _ => cursor.skip(),
            })
        })?;
        Some(piece)
    }
}

/// The members of the other events.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Whole<'a> {
    #[serde(borrow)]
    pub(crate) text: Text<'a>,
    pub(crate) refusal: Text<'a>,
    pub(crate) arguments: Option<&'a RawValue>,
    pub(crate) input: Option<&'a RawValue>,
    pub(crate) part: Object<Part<'a>>,
    pub(crate) item: Option<&'a RawValue>,
    pub(crate) response: Option<&'a RawValue>,
    pub(crate) error: Option<&'a RawValue>,
}

/// A response, finished or not.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Response<'a> {
    #[serde(borrow)]
    pub(crate) id: Text<'a>,
    pub(crate) model: Text<'a>,
    pub(crate) status: Text<'a>,
    pub(crate) error: Option<&'a RawValue>,
    pub(crate) incomplete_details: Object<Incomplete<'a>>,
    pub(crate) output: Option<&'a RawValue>,
    pub(crate) usage: Option<&'a RawValue>,
    /// Reasoning that was sent and that the model was not shown.
    pub(crate) input_transformations: Option<&'a RawValue>,
    pub(crate) moderation: Option<&'a RawValue>,
    pub(crate) prompt_cache_diagnostics: Option<&'a RawValue>,
    pub(crate) access_programs: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Incomplete<'a> {
    #[serde(borrow)]
    pub(crate) reason: Text<'a>,
}

/// An item of the output.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Item<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    role: Text<'a>,
    pub(crate) id: Text<'a>,
    pub(crate) status: Text<'a>,
    pub(crate) call_id: Text<'a>,
    pub(crate) name: Text<'a>,
    arguments: Option<&'a RawValue>,
    input: Option<&'a RawValue>,
    pub(crate) content: List<Object<Part<'a>>>,
    pub(crate) summary: List<Object<Part<'a>>>,
}

impl Item<'_> {
    /// The type of the item; a message may leave it out.
    pub(crate) fn kind(&self) -> &str {
        match (self.kind.get(), self.role.get()) {
            (Some(kind), _) => kind,
            (None, Some("assistant")) => MESSAGE,
            (None, _) => "",
        }
    }

    /// The arguments of a call, or the free text that a custom tool takes.
    pub(crate) fn given(&self) -> String {
        self.arguments.or(self.input).map(|raw| text(raw.get())).unwrap_or_default()
    }
}

pub(crate) const MESSAGE: &str = "message";
pub(crate) const REASONING: &str = "reasoning";
pub(crate) const FUNCTION_CALL: &str = "function_call";
pub(crate) const CUSTOM_CALL: &str = "custom_tool_call";

/// A part of a message's content, of reasoning, or of its summary.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Part<'a> {
    #[serde(borrow, rename = "type")]
    pub(crate) kind: Text<'a>,
    pub(crate) text: Text<'a>,
    pub(crate) refusal: Text<'a>,
}

/// Reads JSON leniently: what is no object is none.
pub(crate) fn object<'a, T: Deserialize<'a>>(json: &'a str) -> Option<T> {
    serde_json::from_str::<Object<T>>(json).ok()?.0
}

/// Arguments as text, also where a server sends an object.
pub(crate) fn text(json: &str) -> String {
    match serde_json::from_str::<String>(json) {
        Ok(text) => text,
        Err(_) if json == "null" => String::new(),
        Err(_) => json.to_owned(),
    }
}
