//! The codec behind the trait of the transport: what each call of it comes to.

use std::sync::Arc;

use attache_core::{
    ChatRequest, Degradation, MadeDocument, Matrix, ModelCapabilities, ModelSettings, ProviderError,
    ReplayData, SchemaReport, Secret, ToolSet,
};
use attache_transport::{
    Auth, Codec, CountRequest, Decoder, EncodedRequest, Environment, ErrorReader, FileApi, ModelApi,
    ReplyDecoder, join_url, note_made_documents,
};

use super::codec::ResponsesCodec;
use super::stream::Events;
use crate::error;

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
        Box::new(ReplyDecoder::new(Events::new(reading)))
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

impl ResponsesCodec {
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
