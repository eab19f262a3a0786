//! A reply as it is on the wire, borrowed from its bytes (gemini.md 7). Every member may be absent, null or, from a
//! later version of the API, something else.

use std::borrow::Cow;
use std::fmt;

use attache_transport::JsonCursor;
use attache_transport::lenient::{Count, Flag, Lenient, List, Object, RawList, Text, lenient};
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer as _};
use serde_json::value::RawValue;

/// A chunk of a stream that brings a piece of one candidate's text and no other news, as nearly all do.
#[derive(Debug, Default)]
pub(crate) struct Delta<'a> {
    pub(super) index: Option<u64>,
    pub(super) text: Option<Cow<'a, str>>,
    pub(super) thought: bool,
    pub(super) usage: Option<&'a str>,
    pub(super) ratings: Option<&'a str>,
    pub(super) model_version: Option<Cow<'a, str>>,
    pub(super) response_id: Option<Cow<'a, str>>,
}

impl<'a> Delta<'a> {
    /// The chunk as such a piece, if it is one.
    pub(crate) fn read(json: &'a str) -> Option<Self> {
        let (mut delta, mut candidates) = (Self::default(), 0);
        JsonCursor::read(json, |cursor| {
            cursor.object(|cursor, name| match name {
                b"candidates" => cursor.list(|cursor| {
                    candidates += 1;
                    delta.candidate(cursor)
                }),
                b"usageMetadata" => {
                    delta.usage = Some(cursor.json(JsonCursor::skip)?).filter(|json| *json != "null");
                    Some(())
                }
                b"modelVersion" => cursor.text(&mut delta.model_version),
                b"responseId" => cursor.text(&mut delta.response_id),
                b"promptFeedback" | b"error" => cursor.null(),
                _ => cursor.skip(),
            })
        })?;
        (candidates == 1).then_some(delta)
    }

    fn candidate(&mut self, cursor: &mut JsonCursor<'a>) -> Option<()> {
        cursor.object(|cursor, name| match name {
            b"index" => cursor.count(&mut self.index),
            b"content" => cursor.object(|cursor, name| match name {
                b"parts" => cursor.list(|cursor| self.part(cursor)),
                _ => cursor.skip(),
            }),
            b"finishReason" | b"finishMessage" => cursor.nothing(),
            b"urlContextMetadata"
            | b"groundingMetadata"
            | b"citationMetadata"
            | b"logprobsResult"
            | b"continuationToken" => cursor.null(),
            b"safetyRatings" => {
                self.ratings = Some(cursor.json(JsonCursor::skip)?);
                Some(())
            }
            _ => cursor.skip(),
        })
    }

    fn part(&mut self, cursor: &mut JsonCursor<'a>) -> Option<()> {
        // A second part finds the place of its text filled.
        let known = self.text.is_some();
        cursor.object(|cursor, name| match name {
            b"text" => cursor.text(&mut self.text),
            b"thought" => {
                self.thought = cursor.flag()?;
                Some(())
            }
            b"thoughtSignature" => cursor.nothing(),
            b"functionCall" | b"inlineData" => cursor.null(),
            _ => cursor.skip(),
        })?;
        (!known && self.text.is_some()).then_some(())
    }
}

/// One chunk of a stream, or a whole reply.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Chunk<'a> {
    #[serde(borrow)]
    pub(crate) candidates: List<Object<Candidate<'a>>>,
    pub(crate) prompt_feedback: Option<&'a RawValue>,
    pub(crate) usage_metadata: Option<&'a RawValue>,
    pub(crate) model_version: Text<'a>,
    pub(crate) response_id: Text<'a>,
    pub(crate) error: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Feedback<'a> {
    #[serde(borrow)]
    pub(crate) block_reason: Text<'a>,
    pub(crate) block_reason_message: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Candidate<'a> {
    pub(crate) index: Count,
    #[serde(borrow)]
    pub(crate) content: Object<Content<'a>>,
    pub(crate) finish_reason: Text<'a>,
    pub(crate) finish_message: Text<'a>,
    pub(crate) url_context_metadata: Option<&'a RawValue>,
    pub(crate) grounding_metadata: Option<&'a RawValue>,
    pub(crate) citation_metadata: Option<&'a RawValue>,
    pub(crate) logprobs_result: Option<&'a RawValue>,
    pub(crate) safety_ratings: Option<&'a RawValue>,
    pub(crate) continuation_token: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Content<'a> {
    #[serde(borrow)]
    pub(crate) parts: RawList<'a>,
}

/// The members of a part that are read. Parts of other kinds are kept as they are.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Part<'a> {
    #[serde(borrow, deserialize_with = "lenient")]
    pub(crate) text: Words<'a>,
    pub(crate) thought: Flag,
    pub(crate) thought_signature: Text<'a>,
    pub(crate) function_call: Option<&'a RawValue>,
    pub(crate) inline_data: Option<&'a RawValue>,
    pub(crate) audio_transcription: Object<Transcription<'a>>,
}

/// The words of a part of sound.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Transcription<'a> {
    #[serde(borrow)]
    pub(crate) text: Text<'a>,
}

/// A string, possibly empty; nothing where the member is something else, numbers among it.
#[derive(Debug, Default)]
pub(crate) struct Words<'a>(pub(crate) Option<Cow<'a, str>>);

impl<'a> Lenient<'a> for Words<'a> {
    fn borrowed(text: &'a str) -> Self {
        Self(Some(Cow::Borrowed(text)))
    }

    fn text(text: &str) -> Self {
        Self(Some(Cow::Owned(text.to_owned())))
    }
}

/// The data of a document that the model made: an image, sound.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct InlineData<'a> {
    #[serde(borrow)]
    pub(crate) mime_type: Text<'a>,
    pub(crate) data: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct FunctionCall<'a> {
    #[serde(borrow)]
    pub(crate) id: Text<'a>,
    pub(crate) name: Text<'a>,
    pub(crate) args: Option<&'a RawValue>,
    pub(crate) partial_args: Option<IgnoredAny>,
    pub(crate) will_continue: Flag,
}

/// Reads what should be an object; nothing comes of anything else.
pub(crate) fn read<'a, T: Deserialize<'a> + Default>(raw: &'a RawValue) -> T {
    serde_json::from_str(raw.get()).unwrap_or_default()
}

/// The member that tells of what kind a part is: its data, not what stands beside the data.
pub(crate) fn kind_of_part(raw: &RawValue) -> Option<String> {
    const BESIDE: [&str; 11] = [
        "thought",
        "thoughtSignature",
        "videoMetadata",
        "mediaResolution",
        "partMetadata",
        "audioTranscription",
        "mediaProcessing",
        "speechMetadata",
        "documentMetadata",
        "spreadsheetMetadata",
        "audioMetadata",
    ];
    struct First;
    impl<'de> Visitor<'de> for First {
        type Value = Option<String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut first = None;
            while let Some((name, value)) = map.next_entry::<String, Option<IgnoredAny>>()? {
                if first.is_none() && value.is_some() && !BESIDE.contains(&name.as_str()) {
                    first = Some(name);
                }
            }
            Ok(first)
        }
    }
    serde_json::Deserializer::from_str(raw.get()).deserialize_map(First).ok().flatten()
}
