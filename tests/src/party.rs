//! The parties that the same agent code talks to: each API, and compatible servers by their profiles.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use attache_conformance::{MockProvider, Rules, Server};
use attache_core::{ErrorKind, ModelHandle, ModelSettings, ProviderError, Secret};
use attache_openai::{ChatCodec, OpenAiChat, Profiles};
use attache_transport::{Auth, HttpClient, RetryPolicy, Timeouts};

use crate::{APIS, Api};

/// The profiles of compatible servers that agents run against, each with a model.
const COMPATIBLE: [(&str, Server, &str); 10] = [
    ("deepseek", Server::DeepSeek, "deepseek-chat"),
    ("groq", Server::Groq, "llama-3.3-70b-versatile"),
    ("minimax", Server::MiniMax, "MiniMax-M2.7"),
    ("mistral", Server::Mistral, "mistral-small-latest"),
    ("moonshot", Server::Moonshot, "moonshot-v1-8k"),
    ("ollama-chat", Server::Ollama, "qwen3:4b"),
    ("openrouter", Server::OpenRouter, "openai/gpt-4o"),
    ("qwen", Server::Qwen, "qwen-plus"),
    ("xai-chat", Server::Xai, "grok-3-mini"),
    ("zhipu", Server::Zhipu, "glm-4.7"),
];

/// A counterpart of an agent.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Party {
    /// The API that it speaks.
    pub api: Api,
    server: Option<(&'static str, Server, &'static str)>,
}

impl From<Api> for Party {
    fn from(api: Api) -> Self {
        Self { api, server: None }
    }
}

impl Party {
    /// Each API and each compatible server.
    pub fn all() -> Vec<Self> {
        let compatible =
            COMPATIBLE.into_iter().map(|server| Self { api: Api::OpenAiChat, server: Some(server) });
        APIS.into_iter().map(Self::from).chain(compatible).collect()
    }

    /// A compatible server whose model takes images and no PDF.
    pub fn of_images() -> Self {
        Self { api: Api::OpenAiChat, server: Some(("xai-chat", Server::Xai, "grok-4")) }
    }

    /// The name of the API, or of the server's profile.
    pub fn name(self) -> &'static str {
        self.server.map_or_else(|| self.api.name(), |(name, ..)| name)
    }

    /// True if it is a compatible server.
    pub fn is_compatible(self) -> bool {
        self.server.is_some()
    }

    /// A mock provider with its rules.
    ///
    /// # Errors
    /// When no port can be bound.
    pub async fn mock(self) -> io::Result<MockProvider> {
        match self.server {
            None => MockProvider::start().await,
            Some((_, server, _)) => MockProvider::start_with(Some(Rules::for_server(server))).await,
        }
    }

    /// The model at the mock, with the key `sk-canary`, which asks three times at once when that may help.
    ///
    /// # Errors
    /// The problem with the settings.
    pub fn connected(self, mock: &MockProvider, config: ModelSettings) -> Result<ModelHandle, ProviderError> {
        let retry = RetryPolicy::new().with_backoff(Duration::from_millis(1), Duration::from_millis(1));
        self.connected_with(mock, config, retry)
    }

    /// The same that asks again as `retry` says.
    ///
    /// # Errors
    /// The problem with the settings.
    pub fn connected_with(
        self,
        mock: &MockProvider,
        config: ModelSettings,
        retry: RetryPolicy,
    ) -> Result<ModelHandle, ProviderError> {
        // Connections live on the runtime that opened them, and each test has its own.
        let http = HttpClient::new(Timeouts::default());
        let Some((name, _, model)) = self.server else {
            return self.api.reached_through(self.api.model(), mock.url(), config, http, retry);
        };
        let profile = Profiles::bundled().get(name).ok_or_else(|| {
            ProviderError::new(ErrorKind::Configuration, format!("there is no profile {name}"))
        })?;
        let codec = ChatCodec::new(Arc::clone(profile), model);
        let model = OpenAiChat::new(codec, Auth::from(Secret::from("sk-canary")))?;
        let model = model.with_base_url(format!("{}/v1", mock.url()));
        Ok(model.with_settings(config).with_http(http).with_retry(retry).into())
    }
}
