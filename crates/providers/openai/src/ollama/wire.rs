//! The form of Ollama's answers, whole or line by line.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use attache_transport::lenient::{Count, List, Object, Text};

/// One line of a stream, or a whole answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Line<'a> {
    #[serde(borrow)]
    pub(super) model: Text<'a>,
    pub(super) message: Object<Message<'a>>,
    /// `true` on the last line; lines of other types say nothing of the end.
    pub(super) done: Option<&'a RawValue>,
    pub(super) done_reason: Text<'a>,
    pub(super) error: Option<&'a RawValue>,
    pub(super) prompt_eval_count: Count,
    pub(super) eval_count: Count,
}

impl Line<'_> {
    pub(super) fn is_last(&self) -> bool {
        self.done.is_some_and(|done| done.get() == "true")
    }
}

/// A message, or a piece of one.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Message<'a> {
    #[serde(borrow)]
    pub(super) content: Text<'a>,
    pub(super) thinking: Text<'a>,
    pub(super) tool_calls: List<Object<Call<'a>>>,
}

/// A tool call, always whole. Older servers send no id.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Call<'a> {
    #[serde(borrow)]
    pub(super) id: Text<'a>,
    pub(super) function: Object<Function<'a>>,
}

impl Call<'_> {
    /// The arguments as text. Text holds the object, as in Chat Completions.
    pub(super) fn arguments(&self) -> Option<Cow<'_, str>> {
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
pub(super) struct Function<'a> {
    pub(super) index: Count,
    #[serde(borrow)]
    pub(super) name: Text<'a>,
    /// An object, or its text.
    pub(super) arguments: Option<&'a RawValue>,
}
