//! A reply as it is on the wire, borrowed from its bytes.

use attache_transport::JsonStr;
use attache_transport::claude::Piece;
use serde::Deserialize;
use serde_json::value::RawValue;

/// The envelope of the blocks: the `message` of a `message_start`, a whole reply, or the `delta` of a
/// `message_delta`.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Envelope<'a> {
    #[serde(borrow)]
    pub(super) id: Option<JsonStr<'a>>,
    pub(super) model: Option<JsonStr<'a>>,
    pub(super) content: Option<Vec<&'a RawValue>>,
    pub(super) stop_reason: Option<JsonStr<'a>>,
    pub(super) stop_sequence: Option<JsonStr<'a>>,
    pub(super) stop_details: Option<&'a RawValue>,
    pub(super) container: Option<&'a RawValue>,
    pub(super) usage: Option<&'a RawValue>,
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
        ];
        pieces.into_iter().flatten()
    }
}
