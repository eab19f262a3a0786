//! The APIs of the tests that need no mock: those that one speaks, and Cohere's and Ollama's own, whose bodies are held
//! against their descriptions (cohere.md 2, openai.md C.13).

use std::sync::{Arc, LazyLock};

use attache_cohere::CohereCodec;
use attache_conformance::{SeenPlace, seen_documents, sha256_hex};
use attache_core::capability::Matrix;
use attache_core::settings::Unsupported;
use attache_core::{ChatRequest, ModelCapabilities, ModelSettings, ProviderError, ToolSet, Transcript};
use attache_documents::{Materials, route};
use attache_openai::OllamaCodec;
use attache_transport::{Ask, Codec};
use serde_json::Value;

use crate::api::{APIS, Api, Wire};
use crate::described::{self, items, messages};
use crate::scenario::Scenario;

/// An API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a test that forgets an API must not compile")]
pub enum AnyApi {
    /// One that a mock speaks.
    Mocked(Api),
    /// Cohere's chat.
    Cohere,
    /// Ollama's own API.
    Ollama,
}

/// Every API.
pub const ALL_APIS: [AnyApi; 7] = {
    let [one, two, three, four, five] = APIS;
    [
        AnyApi::Mocked(one),
        AnyApi::Mocked(two),
        AnyApi::Mocked(three),
        AnyApi::Mocked(four),
        AnyApi::Mocked(five),
        AnyApi::Cohere,
        AnyApi::Ollama,
    ]
};

/// A document in a body.
#[derive(Clone, Debug)]
pub struct Shown {
    /// Its place.
    pub place: SeenPlace,
    /// The SHA-256 of its bytes, if they are there.
    pub sha256: Option<String>,
    /// Its address, if it has one.
    pub reference: Option<String>,
}

/// The table of Cohere's models, which their crate keeps for itself.
static COHERE: LazyLock<Option<Matrix>> =
    LazyLock::new(|| Matrix::parse(include_str!("../../crates/providers/cohere/src/capabilities.toml")).ok());

impl AnyApi {
    /// The word for messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mocked(api) => api.name(),
            Self::Cohere => "cohere",
            Self::Ollama => "ollama",
        }
    }

    /// The name of the model that scenarios are rendered for: one that reads images and calls tools.
    pub fn model(self) -> &'static str {
        match self {
            Self::Mocked(api) => api.model(),
            Self::Cohere => "command-a-plus-05-2026",
            Self::Ollama => "qwen3-vl:4b",
        }
    }

    /// The codec of a model.
    pub fn codec_of(self, model: &str) -> Box<dyn Codec> {
        match self {
            Self::Mocked(api) => api.codec_of(model),
            Self::Cohere => Box::new(CohereCodec::new(model)),
            Self::Ollama => Box::new(OllamaCodec::new(model)),
        }
    }

    /// The capabilities of the model.
    pub fn capabilities(self) -> ModelCapabilities {
        self.codec_of(self.model()).capabilities().clone()
    }

    /// The table with the rows of its models.
    pub fn matrix(self) -> &'static Matrix {
        match (self, &*COHERE) {
            (Self::Cohere, Some(own)) => own,
            _ => Matrix::bundled(),
        }
    }

    /// Routes and renders a scenario. An API that no mock speaks leaves out the options that it does not know.
    ///
    /// # Errors
    /// The refusal of routing or of the codec.
    pub fn wire(self, scenario: &Scenario, transcript: Option<&Transcript>) -> Result<Wire, ProviderError> {
        self.wire_with(scenario, &Arc::new(scenario.tool_set()), transcript)
    }

    /// The same with tools that are shared between the requests of a conversation.
    ///
    /// # Errors
    /// The refusal of routing or of the codec.
    pub fn wire_with(
        self,
        scenario: &Scenario,
        tools: &Arc<ToolSet>,
        transcript: Option<&Transcript>,
    ) -> Result<Wire, ProviderError> {
        if let Self::Mocked(api) = self {
            return api.wire_with(scenario, tools, transcript);
        }
        let capabilities = self.capabilities();
        let routing = route(&scenario.messages, &capabilities, tools, &Materials::new(), &scenario.routing)?;
        let mut request = ChatRequest::new(routing.messages)
            .with_tools(Arc::clone(tools))
            .with_tool_choice(scenario.tool_choice.clone())
            .with_settings(scenario.options.clone().with_unsupported(Unsupported::Degrade));
        request.streaming = scenario.stream;
        if let Some(names) = &scenario.allowed_tools {
            request = request.with_allowed_tools(names.iter().copied());
            request.narrow(&capabilities);
        }
        request.transcript = transcript.cloned();
        // Neither has a member for what users attach to a request.
        request.settings.extra_body.remove("metadata");
        let config = ModelSettings::new().merged(&request.settings);
        let parts = self.codec_of(self.model()).encode(Ask::new(&request, &config, None))?.parts;
        let bytes = parts.body.to_vec();
        let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        Ok(Wire { url: parts.url, body, bytes, report: routing.report })
    }

    /// The content blocks of a body in order, without cache markers.
    pub fn blocks(self, body: &Value) -> Vec<Value> {
        match self {
            Self::Mocked(api) => api.blocks(body),
            Self::Cohere | Self::Ollama => {
                let list = |name: &str| body.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
                [list("tools"), list("messages")].concat()
            }
        }
    }

    /// The documents in a body.
    pub fn shown(self, body: &Value) -> Vec<Shown> {
        match self {
            Self::Mocked(api) => {
                let seen = seen_documents(api.conformance(), body).into_iter();
                seen.map(|seen| Shown { place: seen.place, sha256: seen.sha256, reference: seen.reference })
                    .collect()
            }
            Self::Cohere => {
                let blocks = messages(body).flat_map(|message| items(message, "content"));
                let urls = blocks.filter_map(|block| block.pointer("/image_url/url")?.as_str());
                urls.map(|url| match url.split_once(";base64,") {
                    Some((_, data)) => image(data),
                    None => Shown { place: SeenPlace::User, sha256: None, reference: Some(url.to_owned()) },
                })
                .collect()
            }
            Self::Ollama => {
                let images = messages(body).flat_map(|message| items(message, "images"));
                images.filter_map(Value::as_str).map(image).collect()
            }
        }
    }

    /// The verdict of the API, or of its description, on a body of a model.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub fn judge_of(self, model: &str, body: &Value) -> Result<(), String> {
        match self {
            Self::Mocked(api) => api.judge_of(model, body).map_err(|violation| violation.to_string()),
            Self::Cohere => described::cohere(body),
            Self::Ollama => described::ollama(body),
        }
    }
}

fn image(data: &str) -> Shown {
    let bytes = attache_core::base64::decode(data);
    Shown { place: SeenPlace::User, sha256: bytes.map(|bytes| sha256_hex(&bytes)), reference: None }
}
