//! A reply as it is on the wire, borrowed from its bytes.

use attache_transport::JsonStr;
use attache_transport::claude::Piece;
use attache_transport::lenient::{Lenient, Number, RawList, lenient};
use serde::Deserialize;
use serde::de::value::SeqAccessDeserializer;
use serde::de::{IgnoredAny, MapAccess, SeqAccess};
use serde_json::value::RawValue;

/// The envelope of the blocks: the `message` of a `message_start`, a whole reply, or the `delta` of a
/// `message_delta`.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Envelope<'a> {
    #[serde(borrow)]
    pub(super) id: Option<JsonStr<'a>>,
    pub(super) model: Option<JsonStr<'a>>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) content: Content<'a>,
    pub(super) stop_reason: Option<JsonStr<'a>>,
    pub(super) stop_sequence: Option<JsonStr<'a>>,
    pub(super) stop_details: Option<&'a RawValue>,
    pub(super) container: Option<&'a RawValue>,
    pub(super) context_management: Option<&'a RawValue>,
    pub(super) diagnostics: Option<&'a RawValue>,
    pub(super) input_transformations: Option<&'a RawValue>,
    pub(super) usage: Option<&'a RawValue>,
}

/// The content of a message: its blocks, or a text alone where a server imitates the API.
#[derive(Debug, Default)]
pub(super) enum Content<'a> {
    #[default]
    None,
    Blocks(RawList<'a>),
    Text(String),
    /// Anything else, which is no content.
    Other,
}

impl<'a> Lenient<'a> for Content<'a> {
    fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    fn boolean(_: bool) -> Self {
        Self::Other
    }

    fn number(_: Number) -> Self {
        Self::Other
    }

    fn list<A: SeqAccess<'a>>(list: A) -> Result<Self, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(RawList).map(Self::Blocks)
    }

    fn object<A: MapAccess<'a>>(mut object: A) -> Result<Self, A::Error> {
        while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self::Other)
    }
}

/// The `delta` of an event. The members that are set in it tell its kind.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Delta<'a> {
    #[serde(borrow)]
    text: Option<JsonStr<'a>>,
    thinking: Option<JsonStr<'a>>,
    partial_json: Option<JsonStr<'a>>,
    signature: Option<JsonStr<'a>>,
    citation: Option<&'a RawValue>,
    content: Option<&'a RawValue>,
    encrypted_content: Option<&'a RawValue>,
}

impl<'a> Delta<'a> {
    pub(crate) fn into_pieces(self) -> impl Iterator<Item = Piece<'a>> {
        let pieces = [
            self.text.map(|text| Piece::Text(text.0)),
            self.thinking.map(|text| Piece::Thinking(text.0)),
            self.partial_json.map(|text| Piece::Json(text.0)),
            self.signature.map(|text| Piece::Signature(text.0)),
            self.citation.map(Piece::Citation),
            self.content.map(|content| Piece::Own("content", content)),
            self.encrypted_content.map(|content| Piece::Own("encrypted_content", content)),
        ];
        pieces.into_iter().flatten()
    }
}
