//! The provider APIs that the mock provider speaks.

use std::fmt;

use http::HeaderMap;

use crate::paths::{converse_model, is_cache_path, is_files_path};

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
    /// Cohere's chat, version 2, `POST …/v2/chat`.
    Cohere,
    /// Ollama's own chat, `POST …/api/chat`.
    Ollama,
}

impl Api {
    /// Every API, in the order of declaration.
    pub const ALL: [Api; 7] = [
        Api::ChatCompletions,
        Api::Messages,
        Api::Responses,
        Api::Gemini,
        Api::Converse,
        Api::Cohere,
        Api::Ollama,
    ];

    /// The name recordings and capability families use: `openai-chat`, `anthropic`, `openai-responses`, `gemini`,
    /// `bedrock-converse`, `cohere`, `ollama`.
    pub fn as_str(self) -> &'static str {
        match self {
            Api::ChatCompletions => "openai-chat",
            Api::Messages => "anthropic",
            Api::Responses => "openai-responses",
            Api::Gemini => "gemini",
            Api::Converse => "bedrock-converse",
            Api::Cohere => "cohere",
            Api::Ollama => "ollama",
        }
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
            || is_cache_path(path)
        {
            Some(Api::Gemini)
        } else if converse_model(path).is_some() {
            Some(Api::Converse)
        } else if path.ends_with("/v2/chat") {
            Some(Api::Cohere)
        } else if path.ends_with("/api/chat") {
            Some(Api::Ollama)
        } else {
            None
        }
    }

    /// The API that a request about files is for; `None` for other requests.
    pub(crate) fn from_files(path: &str, headers: &HeaderMap) -> Option<Api> {
        if !is_files_path(path) {
            return None;
        }
        let has = |name: &str| headers.contains_key(name);
        let is_google = path.split('/').any(|segment| segment == "upload" || segment.starts_with("v1beta"));
        Some(if has("anthropic-version") {
            Api::Messages
        } else if is_google || has("x-goog-api-key") {
            Api::Gemini
        } else {
            Api::Responses
        })
    }
}

impl fmt::Display for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
