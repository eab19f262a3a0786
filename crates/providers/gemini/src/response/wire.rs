//! A reply as it is on the wire, borrowed from its bytes (gemini.md 7). Every member may be absent, null or, from a
//! later version of the API, something else.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// A JSON string, borrowed where it holds no escapes; nothing where the member is something else.
#[derive(Debug, Default)]
pub(crate) struct Text<'a>(Option<Cow<'a, str>>);

impl<'a> Text<'a> {
    /// The text, possibly empty.
    pub(crate) fn get(self) -> Option<Cow<'a, str>> {
        self.0
    }

    /// The text, unless it is empty.
    pub(crate) fn filled(self) -> Option<String> {
        self.0.filter(|text| !text.is_empty()).map(Cow::into_owned)
    }
}

/// A count. Numbers of 64 bits may come as strings.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Count(pub(crate) Option<u64>);

/// Whether a member is `true`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Flag(pub(crate) bool);

/// The elements of a list; none where the member is no list.
#[derive(Debug)]
pub(crate) struct List<T>(pub(crate) Vec<T>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

/// An object; an empty one where the member is something else.
#[derive(Debug, Default)]
pub(crate) struct Object<T>(pub(crate) T);

/// One chunk of a stream, or a whole reply.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Chunk<'a> {
    #[serde(borrow)]
    pub(crate) candidates: List<Object<Candidate<'a>>>,
    #[serde(borrow)]
    pub(crate) prompt_feedback: Object<Feedback<'a>>,
    #[serde(borrow)]
    pub(crate) usage_metadata: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) model_version: Text<'a>,
    #[serde(borrow)]
    pub(crate) response_id: Text<'a>,
    #[serde(borrow)]
    pub(crate) error: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Feedback<'a> {
    #[serde(borrow)]
    pub(crate) block_reason: Text<'a>,
    #[serde(borrow)]
    pub(crate) block_reason_message: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Candidate<'a> {
    pub(crate) index: Count,
    #[serde(borrow)]
    pub(crate) content: Object<Content<'a>>,
    #[serde(borrow)]
    pub(crate) finish_reason: Text<'a>,
    #[serde(borrow)]
    pub(crate) finish_message: Text<'a>,
    #[serde(borrow)]
    pub(crate) url_context_metadata: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) grounding_metadata: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) citation_metadata: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Content<'a> {
    #[serde(borrow)]
    pub(crate) parts: List<&'a RawValue>,
}

/// What is looked at in a part. Parts of other kinds are kept as they are.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Part<'a> {
    #[serde(borrow)]
    pub(crate) text: Text<'a>,
    pub(crate) thought: Flag,
    #[serde(borrow)]
    pub(crate) thought_signature: Text<'a>,
    #[serde(borrow)]
    pub(crate) function_call: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) inline_data: Option<&'a RawValue>,
}

/// The data of a document that the model made: an image, sound.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct InlineData<'a> {
    #[serde(borrow)]
    pub(crate) mime_type: Text<'a>,
    #[serde(borrow)]
    pub(crate) data: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct FunctionCall<'a> {
    #[serde(borrow)]
    pub(crate) id: Text<'a>,
    #[serde(borrow)]
    pub(crate) name: Text<'a>,
    #[serde(borrow)]
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
    const BESIDE: [&str; 5] =
        ["thought", "thoughtSignature", "videoMetadata", "mediaResolution", "partMetadata"];
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

/// What a member is, as far as it is of the expected kind; the default where it is something else.
trait Expected<'de>: Default {
    fn text(_: &str) -> Self {
        Self::default()
    }

    fn borrowed(text: &'de str) -> Self {
        Self::text(text)
    }

    fn number(_: u64) -> Self {
        Self::default()
    }

    fn boolean(_: bool) -> Self {
        Self::default()
    }

    fn list<A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }

    fn object<A: MapAccess<'de>>(mut object: A) -> Result<Self, A::Error> {
        while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }
}

impl<'a> Expected<'a> for Text<'a> {
    fn text(text: &str) -> Self {
        Self(Some(Cow::Owned(text.to_owned())))
    }

    fn borrowed(text: &'a str) -> Self {
        Self(Some(Cow::Borrowed(text)))
    }
}

impl Expected<'_> for Count {
    fn text(text: &str) -> Self {
        Self(text.parse().ok())
    }

    fn number(number: u64) -> Self {
        Self(Some(number))
    }
}

impl Expected<'_> for Flag {
    fn boolean(value: bool) -> Self {
        Self(value)
    }
}

impl<'de, T: Deserialize<'de>> Expected<'de> for List<T> {
    fn list<A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        let mut elements = Vec::new();
        // Null elements say nothing.
        while let Some(element) = list.next_element::<Option<T>>()? {
            elements.extend(element);
        }
        Ok(Self(elements))
    }
}

impl<'de, T: Deserialize<'de> + Default> Expected<'de> for Object<T> {
    fn object<A: MapAccess<'de>>(object: A) -> Result<Self, A::Error> {
        T::deserialize(MapAccessDeserializer::new(object)).map(Self)
    }
}

struct Any<T>(PhantomData<T>);

impl<'de, T: Expected<'de>> Visitor<'de> for Any<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<T, E> {
        Ok(T::borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<T, E> {
        Ok(T::text(text))
    }

    fn visit_u64<E>(self, number: u64) -> Result<T, E> {
        Ok(T::number(number))
    }

    fn visit_bool<E>(self, value: bool) -> Result<T, E> {
        Ok(T::boolean(value))
    }

    fn visit_i64<E>(self, _: i64) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_f64<E>(self, _: f64) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_unit<E>(self) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<T, A::Error> {
        T::list(list)
    }

    fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<T, A::Error> {
        T::object(object)
    }
}

fn any<'de, T: Expected<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_any(Any(PhantomData))
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        any(deserializer)
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        any(deserializer)
    }
}

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        any(deserializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        any(deserializer)
    }
}

impl<'de, T: Deserialize<'de> + Default> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        any(deserializer)
    }
}
