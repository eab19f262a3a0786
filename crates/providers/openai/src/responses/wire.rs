//! The form of the events and objects of the Responses API (openai.md B.3, B.6).

use serde::Deserialize;
use serde_json::value::RawValue;

use attache_transport::JsonCursor;
use attache_transport::lenient::{Count, List, Object, Text};

/// The members of the most frequent events of a stream: a kind, a place, a piece of text.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Piece<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Text<'a>,
    pub(super) output_index: Count,
    pub(super) content_index: Count,
    pub(super) summary_index: Count,
    pub(super) item_id: Text<'a>,
    pub(super) delta: Text<'a>,
}

impl<'a> Piece<'a> {
    /// The same of an event as plain as nearly all are, at a fraction of the cost.
    pub(super) fn read(json: &'a str) -> Option<Self> {
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
pub(super) struct Whole<'a> {
    #[serde(borrow)]
    pub(super) text: Text<'a>,
    pub(super) refusal: Text<'a>,
    pub(super) arguments: Option<&'a RawValue>,
    pub(super) input: Option<&'a RawValue>,
    pub(super) part: Object<Part<'a>>,
    pub(super) item: Option<&'a RawValue>,
    pub(super) response: Option<&'a RawValue>,
    pub(super) error: Option<&'a RawValue>,
}

/// A response, finished or not.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Response<'a> {
    #[serde(borrow)]
    pub(super) id: Text<'a>,
    pub(super) model: Text<'a>,
    pub(super) status: Text<'a>,
    pub(super) error: Option<&'a RawValue>,
    pub(super) incomplete_details: Object<Incomplete<'a>>,
    pub(super) output: Option<&'a RawValue>,
    pub(super) usage: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Incomplete<'a> {
    #[serde(borrow)]
    pub(super) reason: Text<'a>,
}

/// An item of the output.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Item<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    role: Text<'a>,
    pub(super) id: Text<'a>,
    pub(super) status: Text<'a>,
    pub(super) call_id: Text<'a>,
    pub(super) name: Text<'a>,
    arguments: Option<&'a RawValue>,
    input: Option<&'a RawValue>,
    pub(super) content: List<Object<Part<'a>>>,
    pub(super) summary: List<Object<Part<'a>>>,
}

impl Item<'_> {
    /// The type of the item; a message may leave it out.
    pub(super) fn kind(&self) -> &str {
        match (self.kind.get(), self.role.get()) {
            (Some(kind), _) => kind,
            (None, Some("assistant")) => MESSAGE,
            (None, _) => "",
        }
    }

    /// The arguments of a call, or the free text that a custom tool takes.
    pub(super) fn given(&self) -> String {
        self.arguments.or(self.input).map(|raw| text(raw.get())).unwrap_or_default()
    }
}

pub(super) const MESSAGE: &str = "message";
pub(super) const REASONING: &str = "reasoning";
pub(super) const FUNCTION_CALL: &str = "function_call";
pub(super) const CUSTOM_CALL: &str = "custom_tool_call";

/// A part of a message's content, of reasoning, or of its summary.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Part<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Text<'a>,
    pub(super) text: Text<'a>,
    pub(super) refusal: Text<'a>,
}

/// Reads JSON leniently: what is no object is none.
pub(super) fn object<'a, T: Deserialize<'a>>(json: &'a str) -> Option<T> {
    serde_json::from_str::<Object<T>>(json).ok()?.0
}

/// Arguments as text, also where a server sends an object.
pub(super) fn text(json: &str) -> String {
    match serde_json::from_str::<String>(json) {
        Ok(text) => text,
        Err(_) if json == "null" => String::new(),
        Err(_) => json.to_owned(),
    }
}
