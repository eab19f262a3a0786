//! The provider APIs that the mock provider speaks.

use std::fmt;

/// A provider's wire API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Api {
    /// OpenAI Chat Completions, `POST …/chat/completions`.
    ChatCompletions,
    /// Anthropic Messages, `POST …/messages`.
    Messages,
    /// OpenAI Responses, `POST …/responses`.
    Responses,
    /// Gemini, `POST …/models/{model}:generateContent` and `:streamGenerateContent`, and its `…/cachedContents`.
    Gemini,
    /// Bedrock Converse and ConverseStream, `POST …/model/{id}/converse` and `…/converse-stream`.
    Converse,
}

impl Api {
    /// Every API, in the order of declaration.
    pub const ALL: [Api; 5] =
        [Api::ChatCompletions, Api::Messages, Api::Responses, Api::Gemini, Api::Converse];

    /// The name recordings and capability families use: `openai-chat`, `anthropic`, `openai-responses`, `gemini`,
    /// `bedrock-converse`.
    pub fn as_str(self) -> &'static str {
        match self {
            Api::ChatCompletions => "openai-chat",
            Api::Messages => "anthropic",
            Api::Responses => "openai-responses",
            Api::Gemini => "gemini",
            Api::Converse => "bedrock-converse",
        }
    }

    /// The API of that name, as [`as_str`](Self::as_str) gives it.
    pub fn from_name(name: &str) -> Option<Api> {
        Api::ALL.into_iter().find(|api| api.as_str() == name)
    }

    /// The API a request path belongs to; whatever stands before the last segments (a version, a gateway's
    /// prefix) is free.
    pub fn from_path(path: &str) -> Option<Api> {
        let path = path.trim_end_matches('/');
        if path.ends_with("/chat/completions") {
            Some(Api::ChatCompletions)
        } else if path.ends_with("/messages") {
            Some(Api::Messages)
        } else if path.ends_with("/responses") {
            Some(Api::Responses)
        } else if path.ends_with(":generateContent")
            || path.ends_with(":streamGenerateContent")
            || crate::mock::is_cache_path(path)
        {
            Some(Api::Gemini)
        } else if converse_model(path).is_some() {
            Some(Api::Converse)
        } else {
            None
        }
    }
}

/// The model id in the path of a Converse request, as it stands there: one percent-encoded segment.
pub(crate) fn converse_model(path: &str) -> Option<&str> {
    let (rest, operation) = path.rsplit_once('/')?;
    let (rest, model) = rest.rsplit_once('/')?;
    let known = matches!(operation, "converse" | "converse-stream") && rest.ends_with("/model");
    known.then_some(model).filter(|model| !model.is_empty())
}

impl fmt::Display for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
