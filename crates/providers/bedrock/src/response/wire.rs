//! A reply as it is on the wire, borrowed from its bytes.

use std::borrow::Cow;

use attache_transport::JsonStr;
use attache_transport::claude::Piece;
use serde::Deserialize;
use serde_json::value::RawValue;

/// A whole reply, or one of the last events of a stream, each of which has some of its members.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Whole<'a> {
    #[serde(borrow)]
    output: Option<Output<'a>>,
    pub(super) stop_reason: Option<JsonStr<'a>>,
    pub(super) usage: Option<&'a RawValue>,
    pub(super) additional_model_response_fields: Option<&'a RawValue>,
    pub(super) trace: Option<&'a RawValue>,
    pub(super) performance_config: Option<&'a RawValue>,
    pub(super) service_tier: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
struct Output<'a> {
    #[serde(borrow)]
    message: Option<Message<'a>>,
}

#[derive(Debug, Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    content: Option<Vec<&'a RawValue>>,
}

impl<'a> Whole<'a> {
    /// The content blocks, if this is a reply at all.
    pub(crate) fn blocks(&self) -> Option<Vec<&'a RawValue>> {
        let message = self.output.as_ref()?.message.as_ref();
        Some(message.and_then(|message| message.content.clone()).unwrap_or_default())
    }
}

/// The `delta` of an event: a union, of which one member is set.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Delta<'a> {
    #[serde(borrow)]
    text: Option<JsonStr<'a>>,
    tool_use: Option<InputDelta<'a>>,
    reasoning_content: Option<ReasoningDelta<'a>>,
    tool_result: Option<&'a RawValue>,
    citation: Option<&'a RawValue>,
    image: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
struct InputDelta<'a> {
    /// A piece of JSON as a string; some models send the object itself.
    #[serde(borrow)]
    input: Option<&'a RawValue>,
}

/// Flat, where a block nests it in `reasoningText`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReasoningDelta<'a> {
    #[serde(borrow)]
    text: Option<JsonStr<'a>>,
    signature: Option<JsonStr<'a>>,
    redacted_content: Option<JsonStr<'a>>,
}

/// The members of a delta that only this API has.
pub(super) const RESULTS: &str = "toolResult";
pub(super) const IMAGE: &str = "image";
/// Sound comes whole alone.
pub(super) const AUDIO: &str = "audio";

impl<'a> Delta<'a> {
    pub(crate) fn into_pieces(self) -> impl Iterator<Item = Piece<'a>> {
        let thought = self.reasoning_content;
        let (thinking, signature, redacted) = match thought {
            Some(ReasoningDelta { text, signature, redacted_content }) => (text, signature, redacted_content),
            None => (None, None, None),
        };
        let input = self.tool_use.and_then(|delta| delta.input).map(|raw| {
            // Not a string: the object itself.
            serde_json::from_str::<JsonStr<'_>>(raw.get()).map_or(Cow::Borrowed(raw.get()), |text| text.0)
        });
        let pieces = [
            self.text.map(|text| Piece::Text(text.0)),
            thinking.map(|text| Piece::Thinking(text.0)),
            signature.map(|text| Piece::Signature(text.0)),
            redacted.map(|text| Piece::Redacted(text.0)),
            input.map(Piece::Json),
            self.tool_result.map(|results| Piece::Own(RESULTS, results)),
            self.citation.map(Piece::Citation),
            self.image.map(|image| Piece::Own(IMAGE, image)),
        ];
        pieces.into_iter().flatten()
    }
}
