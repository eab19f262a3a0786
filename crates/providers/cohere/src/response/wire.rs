//! The form of replies, whole or event by event.

use attache_transport::JsonStr;
use attache_transport::lenient::{Count, List, Object, RawList};
use serde::Deserialize;
use serde_json::value::RawValue;

/// Any event. The members of the delta depend on the type.
#[derive(Deserialize)]
pub(crate) struct Event<'a> {
    #[serde(borrow, rename = "type")]
    pub(crate) kind: Option<JsonStr<'a>>,
    pub(crate) id: Option<JsonStr<'a>>,
    #[serde(default)]
    pub(crate) index: Count,
    pub(crate) delta: Option<&'a RawValue>,
    pub(crate) logprobs: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct Delta<'a> {
    #[serde(borrow)]
    pub(crate) message: Option<Piece<'a>>,
    pub(crate) finish_reason: Option<JsonStr<'a>>,
    pub(crate) error: Option<JsonStr<'a>>,
    pub(crate) usage: Option<&'a RawValue>,
}

/// The piece of a message that an event brings: where a message has lists, it has one of their items.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct Piece<'a> {
    #[serde(borrow)]
    pub(crate) content: Option<&'a RawValue>,
    pub(crate) tool_plan: Option<JsonStr<'a>>,
    pub(crate) tool_calls: List<Object<Call<'a>>>,
    pub(crate) citations: RawList<'a>,
}

/// A reply in one piece.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct Whole<'a> {
    #[serde(borrow)]
    pub(crate) id: Option<JsonStr<'a>>,
    pub(crate) message: Option<&'a RawValue>,
    pub(crate) finish_reason: Option<JsonStr<'a>>,
    pub(crate) usage: Option<&'a RawValue>,
    pub(crate) logprobs: Option<Vec<&'a RawValue>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct Message<'a> {
    #[serde(borrow)]
    pub(crate) content: Option<&'a RawValue>,
    pub(crate) tool_plan: Option<JsonStr<'a>>,
    pub(crate) tool_calls: List<Object<Call<'a>>>,
    pub(crate) citations: RawList<'a>,
}

/// A call as it comes, whole or a piece of it.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct Call<'a> {
    #[serde(borrow)]
    pub(crate) id: Option<JsonStr<'a>>,
    pub(crate) function: Option<Function<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct Function<'a> {
    #[serde(borrow)]
    pub(crate) name: Option<JsonStr<'a>>,
    /// Text, or the object itself.
    pub(crate) arguments: Option<&'a RawValue>,
}
