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
}

impl Api {
    /// Every API, in the order of declaration.
    pub const ALL: [Api; 2] = [Api::ChatCompletions, Api::Messages];

    /// The name recordings and capability families use: `openai-chat`, `anthropic`.
    pub fn as_str(self) -> &'static str {
        match self {
            Api::ChatCompletions => "openai-chat",
            Api::Messages => "anthropic",
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
