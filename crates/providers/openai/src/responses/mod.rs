//! The Responses API, without I/O (openai.md B).

mod assistant;
mod ids;
mod messages;
mod options;
mod output;
mod request;
mod response;
mod rules;
mod stream;
mod wire;

use std::sync::Arc;

use attache_core::{
    ChatRequest, Degradation, MadeDocument, Matrix, ModelCapabilities, ModelSettings, ProviderError,
    ReplayData, SchemaReport, Secret, ToolSet,
};
use attache_transport::{
    Auth, Codec, CountRequest, Decoder, EncodedRequest, Environment, ErrorReader, FileApi, HttpModel,
    ModelApi, ReplyDecoder, join_url, note_made_documents,
};

use crate::error;
use crate::profile::Profile;
use crate::server::Server;

pub use rules::{ItemIds, ReasoningItems, ResponsesRules};

/// A model behind the Responses API: OpenAI's own, or a server that imitates it. Made of a model's name it is OpenAI's.
///
/// ```
/// use attache_core::{ModelHandle, ModelSettings};
/// use attache_openai::OpenAi;
/// let model = OpenAi::new("gpt-5.6", "sk-…")?.with_settings(ModelSettings::new().with_max_tokens(2000));
/// assert_eq!(ModelHandle::new(model).id(), "openai/gpt-5.6");
/// # Ok::<(), attache_core::ProviderError>(())
/// ```
pub type OpenAi = HttpModel<ResponsesCodec>;

/// The Responses API for one model of one profile: requests to HTTP, answers to chunks. It does no I/O.
///
/// Conversations are sent whole, nothing is stored at the server, and reasoning goes back encrypted beside what it led
/// to. Of an answer, unknown events and items are no errors: items are kept verbatim, in place, and go back to where
/// they came from; unknown events are skipped. An answer without text and calls ends in
/// [`StreamChunk::Done`](attache_core::StreamChunk::Done) with an empty message: whether that is an error is the
/// caller's policy.
#[derive(Clone, Debug)]
pub struct ResponsesCodec {
    server: Server,
}

impl ResponsesCodec {
    /// The codec for a model, with what the bundled matrix knows of it.
    pub fn new(profile: impl Into<Arc<Profile>>, model: &str) -> Self {
        Self { server: Server::new(&profile.into(), model) }
    }

    /// Sets what the model can do, as a configured matrix says.
    #[must_use]
    pub fn with_capabilities(mut self, capabilities: impl Into<Arc<ModelCapabilities>>) -> Self {
        self.server.set_capabilities(capabilities.into());
        self
    }

    /// The profile as it is for the model.
    pub fn profile(&self) -> &Profile {
        &self.server.profile
    }

    /// The model's id at the server.
    pub fn model(&self) -> &str {
        &self.server.model
    }

    /// The request that counts the tokens of another.
    fn counting(
        &self,
        request: &ChatRequest,
        settings: &ModelSettings,
        key: Option<&Secret>,
    ) -> Result<CountRequest, ProviderError> {
        const KNOWN: [&str; 8] = [
            "model",
            "input",
            "instructions",
            "tools",
            "tool_choice",
            "parallel_tool_calls",
            "reasoning",
            "text",
        ];
        let url = join_url(&self.server.profile.base_url, "responses/input_tokens")?;
        CountRequest::of(self.encode(request, settings, key)?, url, "/input_tokens", |mut members| {
            members.retain(|name, _| KNOWN.contains(&name.as_str()));
            serde_json::Value::Object(members)
        })
    }
}

impl From<&str> for ResponsesCodec {
    /// A model at OpenAI.
    fn from(model: &str) -> Self {
        Self::new(Profile::openai(), model)
    }
}

impl Codec for ResponsesCodec {
    fn model_id(&self) -> String {
        self.server.model_id()
    }

    fn capabilities(&self) -> &ModelCapabilities {
        &self.server.capabilities
    }

    fn set_matrix(&mut self, matrix: &Matrix) {
        self.server.set_matrix(matrix);
    }

    fn set_base_url(&mut self, url: String) {
        self.server.set_base_url(url);
    }

    fn configure(&mut self, environment: &Environment) -> Result<Auth, ProviderError> {
        self.server.configure(environment)
    }

    fn check(&self, auth: &Auth) -> Result<(), ProviderError> {
        self.server.check(auth)
    }

    fn encode(
        &self,
        request: &ChatRequest,
        settings: &ModelSettings,
        key: Option<&Secret>,
    ) -> Result<EncodedRequest, ProviderError> {
        let goes_back = |made: &MadeDocument| {
            let is_own = |replay: &ReplayData| replay.family() == &*self.server.family;
            made.replay.as_ref().is_some_and(is_own) && made.document.bytes().is_some()
        };
        self.server.fits()?;
        self.request(&note_made_documents(request, goes_back), settings, key)
    }

    fn count(
        &self,
        request: &ChatRequest,
        settings: &ModelSettings,
        key: Option<&Secret>,
    ) -> Option<Result<CountRequest, ProviderError>> {
        self.server.profile.responses.counts_tokens.then(|| self.counting(request, settings, key))
    }

    fn check_tools(&self, tools: &ToolSet, settings: &ModelSettings) -> SchemaReport {
        self.server.check_tools(tools, settings)
    }

    fn decoder(&self, tools: Arc<ToolSet>, degradations: Vec<Degradation>) -> Box<dyn Decoder> {
        let reading = self.server.reading(tools, degradations);
        Box::new(ReplyDecoder::new(stream::Events::new(reading)))
    }

    fn error_reader(&self) -> ErrorReader {
        error::read
    }

    fn models(&self) -> Option<&dyn ModelApi> {
        self.server.models()
    }

    fn files(&self) -> Option<&dyn FileApi> {
        Some(&self.server)
    }
}
