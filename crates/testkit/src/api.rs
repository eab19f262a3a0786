//! The provider APIs the testkit speaks.

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
}

impl Api {
    /// Every API, in the order of declaration.
    pub const ALL: [Api; 4] = [Api::ChatCompletions, Api::Messages, Api::Responses, Api::Gemini];

    /// The name recordings and capability families use: `openai-chat`, `anthropic`, `openai-responses`, `gemini`.
    pub fn as_str(self) -> &'static str {
        match self {
            Api::ChatCompletions => "openai-chat",
            Api::Messages => "anthropic",
            Api::Responses => "openai-responses",
            Api::Gemini => "gemini",
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
        } else {
            None
        }
    }
}

impl fmt::Display for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
