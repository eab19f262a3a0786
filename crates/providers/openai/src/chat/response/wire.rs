//! The form of Chat Completions answers, whole or in chunks; one set of types for both.
//!
//! Members that the deltas of a text do not have are boxed: these values are moved several times for each of them.

use std::borrow::Cow;

use attache_core::assembler::ToolCallFragment;
use attache_transport::JsonCursor;
use attache_transport::lenient::{Count, Lenient, List, Number, Object, RawList, Text, lenient};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error as _, MapAccess, SeqAccess};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use crate::error::is_set;

/// A chunk of a stream that brings a piece of a text or of a call and nothing else, as nearly all do.
#[derive(Debug, Default)]
pub(crate) struct Piece<'a> {
    pub(crate) id: Option<Cow<'a, str>>,
    pub(crate) model: Option<Cow<'a, str>>,
    pub(crate) index: Option<u64>,
    pub(crate) content: Option<Cow<'a, str>>,
    pub(crate) reasoning_content: Option<Cow<'a, str>>,
    pub(crate) reasoning: Option<Cow<'a, str>>,
    pub(crate) call: Option<Box<CallPiece<'a>>>,
}

/// A piece of a call of a function.
#[derive(Debug, Default)]
pub(crate) struct CallPiece<'a> {
    pub(crate) index: Option<u64>,
    pub(crate) id: Option<Cow<'a, str>>,
    pub(crate) name: Option<Cow<'a, str>>,
    pub(crate) arguments: Option<Cow<'a, str>>,
}

impl<'a> Piece<'a> {
    /// The chunk as such a piece, if it is one.
    pub(crate) fn read(json: &'a str) -> Option<Self> {
        let (mut piece, mut choices) = (Self::default(), 0);
        JsonCursor::read(json, |cursor| {
            cursor.object(|cursor, name| match name {
                b"id" => cursor.text(&mut piece.id),
                b"model" => cursor.text(&mut piece.model),
                b"choices" => cursor.list(|cursor| {
                    choices += 1;
                    piece.choice(cursor)
                }),
                b"usage" | b"error" | b"base_resp" | b"x_groq" | b"citations" | b"search_results"
                | b"moderation" => cursor.null(),
                _ => cursor.skip(),
            })
        })?;
        (choices == 1).then_some(piece)
    }

    fn choice(&mut self, cursor: &mut JsonCursor<'a>) -> Option<()> {
        cursor.object(|cursor, name| match name {
            b"index" => cursor.count(&mut self.index),
            b"delta" => cursor.object(|cursor, name| match name {
                b"content" => cursor.text(&mut self.content),
                b"reasoning_content" => cursor.text(&mut self.reasoning_content),
                b"reasoning" => cursor.text(&mut self.reasoning),
                b"tool_calls" => match cursor.json(JsonCursor::skip)? {
                    "null" | "[]" | "\"\"" => Some(()),
                    calls => JsonCursor::read(calls, |cursor| cursor.list(|cursor| self.call(cursor))),
                },
                b"refusal" | b"reasoning_details" | b"thinking_blocks" | b"function_call"
                | b"annotations" | b"images" | b"executed_tools" | b"audio" => cursor.nothing(),
                b"extra_content" => cursor.null(),
                b"role" => (cursor.json(JsonCursor::skip)? != TOOL).then_some(()),
                b"index" | b"tool_call_id" | b"metadata" => cursor.nothing(),
                _ => cursor.skip(),
            }),
            b"logprobs" | b"usage" | b"error" | b"reasoning_logprobs" => cursor.null(),
            b"message" | b"finish_reason" | b"messages" => cursor.nothing(),
            _ => cursor.skip(),
        })
    }

    /// Takes a call, of which a chunk nearly never has two.
    fn call(&mut self, cursor: &mut JsonCursor<'a>) -> Option<()> {
        let (mut call, mut functions) = (Box::<CallPiece<'a>>::default(), 0);
        cursor.object(|cursor, name| match name {
            b"index" => cursor.count(&mut call.index),
            b"id" => cursor.text(&mut call.id),
            b"function" => {
                functions += 1;
                cursor.object(|cursor, name| match name {
                    b"name" => cursor.text(&mut call.name),
                    b"arguments" => cursor.text(&mut call.arguments),
                    b"input" | b"provider_specific_fields" => cursor.null(),
                    _ => cursor.skip(),
                })
            }
            b"custom" | b"extra_content" | b"provider_specific_fields" | b"metadata" => cursor.null(),
            _ => cursor.skip(),
        })?;
        (functions == 1 && self.call.replace(call).is_none()).then_some(())
    }
}

/// A whole answer, or one chunk of a stream (openai.md A.5, A.7).
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Chunk<'a> {
    #[serde(borrow)]
    pub(crate) id: Text<'a>,
    pub(crate) model: Text<'a>,
    pub(crate) choices: List<Object<Choice<'a>>>,
    pub(crate) usage: Option<&'a RawValue>,
    pub(crate) error: Option<&'a RawValue>,
    pub(crate) base_resp: Option<&'a RawValue>,
    pub(crate) x_groq: Object<Groq<'a>>,
    /// Addresses of what a server searched, and the same with titles (Perplexity, xAI).
    pub(crate) citations: Option<&'a RawValue>,
    pub(crate) search_results: Option<&'a RawValue>,
    pub(crate) moderation: Option<&'a RawValue>,
}

impl Chunk<'_> {
    /// True if it holds nothing of an answer.
    pub(crate) fn is_nothing(&self) -> bool {
        self.choices.0.is_empty() && self.usage.is_none() && self.id.get().is_none()
    }
}

/// Groq's own member.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Groq<'a> {
    #[serde(borrow)]
    pub(crate) usage: Option<&'a RawValue>,
    pub(crate) error: Option<&'a RawValue>,
}

/// One generation.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Choice<'a> {
    pub(crate) index: Count,
    #[serde(borrow)]
    pub(crate) delta: Object<Delta<'a>>,
    pub(crate) message: Object<Box<Delta<'a>>>,
    /// The messages of an answer among which the server ran its tools (Mistral).
    pub(crate) messages: List<Object<Delta<'a>>>,
    pub(crate) finish_reason: Text<'a>,
    pub(crate) logprobs: Option<&'a RawValue>,
    /// The same of its reasoning (Cerebras).
    pub(crate) reasoning_logprobs: Option<&'a RawValue>,
    pub(crate) usage: Option<&'a RawValue>,
    pub(crate) error: Option<&'a RawValue>,
}

/// A message, or a piece of one.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Delta<'a> {
    #[serde(borrow, deserialize_with = "lenient")]
    pub(crate) content: Content<'a>,
    pub(crate) refusal: Text<'a>,
    pub(crate) reasoning_content: Text<'a>,
    pub(crate) reasoning: Text<'a>,
    pub(crate) reasoning_details: RawList<'a>,
    /// Blocks of Claude with their signatures (LiteLLM).
    pub(crate) thinking_blocks: Option<&'a RawValue>,
    pub(crate) tool_calls: List<Object<Call<'a>>>,
    pub(crate) function_call: Object<Box<Function<'a>>>,
    pub(crate) extra_content: Option<&'a RawValue>,
    pub(crate) annotations: Option<&'a RawValue>,
    pub(crate) images: Option<&'a RawValue>,
    /// The calls of the server's own tools with their results (Groq).
    pub(crate) executed_tools: Option<&'a RawValue>,
    pub(crate) audio: Option<&'a RawValue>,
    pub(crate) role: Option<&'a RawValue>,
    /// The number of the message, where an answer has several, and the call that it answers (Mistral).
    pub(crate) index: Count,
    pub(crate) tool_call_id: Text<'a>,
    pub(crate) metadata: Option<&'a RawValue>,
}

/// The role of a message that answers a call.
const TOOL: &str = "\"tool\"";

impl<'a> Delta<'a> {
    /// True if it is the result of a call.
    pub(crate) fn is_result(&self) -> bool {
        self.tool_call_id.get().is_some() || self.role.is_some_and(|role| role.get() == TOOL)
    }

    /// True if a call of it is one of a tool that the server runs.
    pub(crate) fn is_of_server(&self, call: &Call<'_>) -> bool {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Metadata<'a> {
            #[serde(borrow)]
            tool_type: Text<'a>,
        }
        let names = |raw: &RawValue| {
            let metadata = serde_json::from_str::<Object<Metadata<'_>>>(raw.get()).ok()?;
            metadata.0?.tool_type.get().map(|_| ())
        };
        [call.metadata, self.metadata].into_iter().flatten().find_map(names).is_some()
    }

    pub(crate) fn thinking_blocks(&self) -> Vec<&'a RawValue> {
        self.thinking_blocks.map(|blocks| RawList::of(blocks).0).unwrap_or_default()
    }
}

/// A tool call, or a piece of one.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Call<'a> {
    pub(crate) index: Count,
    #[serde(borrow)]
    pub(crate) id: Text<'a>,
    pub(crate) function: Object<Function<'a>>,
    pub(crate) custom: Object<Box<Function<'a>>>,
    pub(crate) extra_content: Option<&'a RawValue>,
    pub(crate) provider_specific_fields: Option<&'a RawValue>,
    pub(crate) metadata: Option<&'a RawValue>,
}

/// The members of a call that go back with it. `extra_content` alone is kept as its value.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct BesideCall<'a> {
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub(crate) extra_content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) provider_specific_fields: &'a RawValue,
}

impl<'a> BesideCall<'a> {
    fn together(extra_content: Option<&RawValue>, fields: &RawValue) -> Option<Box<RawValue>> {
        to_raw_value(&BesideCall { extra_content, provider_specific_fields: fields }).ok()
    }

    /// The members, if more than `extra_content` is kept.
    pub(crate) fn read(json: &'a str) -> Option<Self> {
        json.contains("\"provider_specific_fields\"").then(|| serde_json::from_str(json).ok()).flatten()
    }
}

/// The function that is called. A custom tool has `input`, text that need not be JSON, where a function has
/// `arguments`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Function<'a> {
    #[serde(borrow)]
    pub(crate) name: Text<'a>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) arguments: Arguments<'a>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) input: Arguments<'a>,
    pub(crate) provider_specific_fields: Option<&'a RawValue>,
}

impl Call<'_> {
    /// The data that go back with the call.
    pub(super) fn extra(&self) -> Option<Cow<'_, RawValue>> {
        let inside = self.function.0.as_ref().and_then(|function| function.provider_specific_fields);
        let fields = [self.provider_specific_fields, inside];
        match fields.into_iter().flatten().find(|fields| is_set(Some(fields))) {
            Some(fields) => BesideCall::together(self.extra_content, fields).map(Cow::Owned),
            None => self.extra_content.map(Cow::Borrowed),
        }
    }

    /// The call as a piece of one.
    pub(super) fn piece(&self) -> ToolCallFragment<'_> {
        let called = self.function.0.as_ref().or(self.custom.0.as_deref());
        let fragment = called.map(Function::whole).unwrap_or_default();
        fragment.with_index(self.index.0).with_id(self.id.get())
    }

    /// The call as one piece, if it says anything.
    pub(super) fn whole(&self) -> Option<ToolCallFragment<'_>> {
        let function = self.function.0.as_ref().or(self.custom.0.as_deref())?;
        let whole = function.whole().with_id(self.id.get());
        (whole.id.is_some() || whole.name.is_some()).then_some(whole)
    }
}

impl Function<'_> {
    /// The function and its arguments, as a piece of a call.
    pub(super) fn whole(&self) -> ToolCallFragment<'_> {
        let given = match self.arguments {
            Arguments::None => &self.input,
            _ => &self.arguments,
        };
        ToolCallFragment::new()
            .with_name(self.name.get())
            .with_arguments(given.text())
            .with_object(given.json())
    }
}

/// The tokens of `logprobs`, with how likely each was: those of the content, and of a refusal (openai.md A.5).
pub(crate) fn logprobs(given: &RawValue) -> impl Iterator<Item = Value> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Logprobs<'a> {
        #[serde(borrow)]
        content: Option<&'a RawValue>,
        #[serde(borrow)]
        refusal: Option<&'a RawValue>,
    }
    let given = serde_json::from_str::<Object<Logprobs<'_>>>(given.get()).ok();
    let given = given.and_then(|given| given.0).unwrap_or_default();
    let lists = [given.content, given.refusal].into_iter().flatten();
    lists.flat_map(|list| RawList::of(list).0).filter_map(|token| serde_json::from_str(token.get()).ok())
}

/// One item of a content list.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Part<'a> {
    #[serde(borrow, rename = "type")]
    pub(crate) kind: Text<'a>,
    pub(crate) text: Text<'a>,
    pub(crate) refusal: Text<'a>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) thinking: Content<'a>,
    pub(crate) signature: Option<&'a RawValue>,
    pub(crate) closed: Option<&'a RawValue>,
}

/// The content of a message: nothing, a string, or a list of parts, of which an object is the only one.
#[derive(Debug, Default)]
pub(crate) enum Content<'a> {
    #[default]
    None,
    Text(Cow<'a, str>),
    Parts(Vec<&'a RawValue>),
    Part(Box<RawValue>),
}

/// The arguments of a call: nothing, a piece of their text, or all of them as JSON.
#[derive(Debug, Default)]
pub(crate) enum Arguments<'a> {
    #[default]
    None,
    Text(Cow<'a, str>),
    Json(Box<Value>),
}

impl Arguments<'_> {
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::None | Self::Json(_) => None,
        }
    }

    pub(crate) fn json(&self) -> Option<&Value> {
        match self {
            Self::Json(value) => Some(&**value),
            Self::None | Self::Text(_) => None,
        }
    }
}

impl<'a> Lenient<'a> for Content<'a> {
    fn borrowed(text: &'a str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }

    fn text(text: &str) -> Self {
        Self::Text(Cow::Owned(text.to_owned()))
    }

    fn number(number: Number) -> Self {
        Self::Text(Cow::Owned(number.to_string()))
    }

    fn list<A: SeqAccess<'a>>(list: A) -> Result<Self, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(Self::Parts)
    }

    fn object<A: MapAccess<'a>>(object: A) -> Result<Self, A::Error> {
        let part = Value::deserialize(MapAccessDeserializer::new(object))?;
        to_raw_value(&part).map(Self::Part).map_err(A::Error::custom)
    }
}

impl<'a> Lenient<'a> for Arguments<'a> {
    fn borrowed(text: &'a str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }

    fn text(text: &str) -> Self {
        Self::Text(Cow::Owned(text.to_owned()))
    }

    fn boolean(value: bool) -> Self {
        Self::Json(Box::new(value.into()))
    }

    fn number(number: Number) -> Self {
        Self::Json(Box::new(number.into()))
    }

    fn list<A: SeqAccess<'a>>(list: A) -> Result<Self, A::Error> {
        Box::deserialize(SeqAccessDeserializer::new(list)).map(Self::Json)
    }

    fn object<A: MapAccess<'a>>(object: A) -> Result<Self, A::Error> {
        Box::deserialize(MapAccessDeserializer::new(object)).map(Self::Json)
    }
}

#[cfg(test)]
mod tests {
    use attache_core::StreamChunk;
    use attache_transport::{ChunkSink, Decoder, Reading, ReplyDecoder};

    use super::Piece;
    use crate::chat::stream::Events;
    use crate::profile::Profile;

    /// The calls and texts of chunks with these deltas. With `more` at its start a chunk is no piece.
    fn read(deltas: &[&str], more: &str) -> Vec<String> {
        let mut decoder =
            ReplyDecoder::new(Events::new(Reading::default(), &Profile::compatible("a", "http://h/v1")));
        let (mut out, mut seen) = (ChunkSink::new(), Vec::new());
        for delta in deltas {
            let data =
                format!("data: {{{more}\"id\":\"r\",\"choices\":[{{\"index\":0,\"delta\":{delta}}}]}}\n\n");
            let outcome = decoder.push(data.as_bytes(), &mut out);
            seen.extend(outcome.err().map(|error| error.message().to_owned()));
            seen.extend(std::iter::from_fn(|| out.pop()).map(|chunk| match chunk {
                StreamChunk::ToolCallDelta { slot, provider_id, name, arguments_delta, .. } => {
                    format!("{slot} {provider_id:?} {name:?} {arguments_delta}")
                }
                other => format!("{other:?}"),
            }));
        }
        let message = decoder.partial().message;
        seen.extend(message.tool_calls().map(|call| format!("{} {}", call.name, call.arguments.raw())));
        seen
    }

    #[test]
    fn a_piece_of_a_call_is_read_as_its_chunk_is() {
        let first = r#"{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":""}}]}"#;
        let call = |call: &str| format!(r#"{{"content":null,"tool_calls":[{call}]}}"#);
        let calls = [
            r#"{"index":0,"function":{"arguments":"{\"a\":\"\\u00e9 \\n\""}}"#,
            r#"{"index":1,"id":"d","function":{"name":"g","arguments":"{}"}}"#,
            r#"{"id":"d","function":{"name":"g","arguments":"{}"}}"#,
            r#"{"index":0,"id":"","type":"function","function":{"name":"","arguments":"x"}}"#,
            r#"{"index":0,"id":"null","function":{"name":null,"arguments":null}}"#,
            r#"{"index":null,"id":7,"function":{"name":"g"}}"#,
            r#"{"index":"1","function":{"name":"g","arguments":{"a":1}}}"#,
            r#"{"index":1.0,"function":{"name":"g","arguments":5}}"#,
            r#"{"index":0,"function":{"input":"text"}}"#,
            r#"{"index":0,"function":{"arguments":"a"},"function":{"arguments":"b"}}"#,
            r#"{"index":0,"function":{"arguments":"a","arguments":"b"}}"#,
            r#"{"index":0,"function":null}"#,
            r#"{"index":0,"id":"e"}"#,
            r#"{"index":1,"custom":{"name":"g","input":"text"}}"#,
            r#"{"index":0,"function":{"arguments":"a"},"extra_content":{"b":1}}"#,
            r#"{"index":0,"function":{"arguments":"a"}},{"index":0,"function":{"arguments":"b"}}"#,
            "null",
            "\"a\"",
            "",
            " ",
        ];
        let mut deltas: Vec<String> = calls.map(call).into();
        deltas.extend(["null", "\"\"", "7", "{}"].map(|calls| format!(r#"{{"tool_calls":{calls} }}"#)));
        let twice = r#"[{"index":0,"function":{"arguments":"a"}}]"#;
        deltas.push(format!(r#"{{"tool_calls":{twice},"tool_calls":{twice}}}"#));
        deltas.push(format!(r#"{{"content":"text","reasoning":"thought","tool_calls":{twice}}}"#));
        for delta in &deltas {
            let both = [first, delta.as_str(), delta.as_str()];
            assert_eq!(read(&both, ""), read(&both, "\"x_groq\":{},"), "{delta}");
        }
        let chunk = format!(r#"{{"choices":[{{"index":0,"delta":{first},"finish_reason":null}}]}}"#);
        assert!(Piece::read(&chunk).is_some_and(|piece| piece.call.is_some()));
    }
}
