//! The form of Ollama's answers, whole or line by line.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use attache_transport::lenient::{Count, List, Object, Text};

/// One line of a stream, or a whole answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Line<'a> {
    #[serde(borrow)]
    pub(crate) model: Text<'a>,
    pub(crate) message: Object<Message<'a>>,
    /// `true` on the last line; lines of other types say nothing of the end.
    pub(crate) done: Option<&'a RawValue>,
    pub(crate) done_reason: Text<'a>,
    pub(crate) error: Option<&'a RawValue>,
    pub(crate) prompt_eval_count: Count,
    /// Those of the prompt that came from the cache.
    pub(crate) prompt_eval_cached_count: Count,
    pub(crate) eval_count: Count,
    /// The likelihood of the tokens of the line.
    pub(crate) logprobs: Option<&'a RawValue>,
}

impl Line<'_> {
    pub(crate) fn is_last(&self) -> bool {
        self.done.is_some_and(|done| done.get() == "true")
    }
}

/// A message, or a piece of one.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Message<'a> {
    #[serde(borrow)]
    pub(crate) content: Text<'a>,
    pub(crate) thinking: Text<'a>,
    pub(crate) tool_calls: List<Object<Call<'a>>>,
}

/// A tool call, always whole. Older servers send no id.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Call<'a> {
    #[serde(borrow)]
    pub(crate) id: Text<'a>,
    pub(crate) function: Object<Function<'a>>,
}

impl Call<'_> {
    /// The arguments as text. Text holds the object, as in Chat Completions.
    pub(crate) fn arguments(&self) -> Option<Cow<'_, str>> {
        let raw = self.function.0.as_ref()?.arguments?.get();
        match raw {
            "null" => None,
            raw if raw.starts_with('"') => serde_json::from_str::<String>(raw).ok().map(Cow::Owned),
            raw => Some(Cow::Borrowed(raw)),
        }
    }
}

/// The function that is called.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Function<'a> {
    pub(crate) index: Count,
    #[serde(borrow)]
    pub(crate) name: Text<'a>,
    /// An object, or its text.
    pub(crate) arguments: Option<&'a RawValue>,
}
