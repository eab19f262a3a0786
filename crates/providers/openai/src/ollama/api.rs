//! The codec behind the trait of the transport: what each call of it comes to.

use std::sync::Arc;

use attache_core::capability::Matrix;
use attache_core::tool::SchemaReport;
use attache_core::{Degradation, ModelCapabilities, ModelSettings, ProviderError, ToolSet};
use attache_transport::{
    Ask, Auth, Codec, Decoder, EncodedRequest, Environment, ErrorReader, ErrorResponse, ModelApi, Reading,
    note_made_documents,
};

use super::codec::{BASE_URL, NAME, OllamaCodec};
use super::request;
use super::stream::{Lines, Reply};
use crate::address::from_environment;
use crate::error;
use crate::profile::Profile;

const KEY_VARIABLES: [&str; 1] = ["OLLAMA_API_KEY"];

impl Codec for OllamaCodec {
    fn model_id(&self) -> String {
        format!("{NAME}/{}", self.model)
    }

    fn capabilities(&self) -> &ModelCapabilities {
        &self.capabilities
    }

    fn set_matrix(&mut self, matrix: &Matrix) {
        self.capabilities = Arc::new(matrix.resolve(NAME, &self.model));
    }

    fn set_base_url(&mut self, url: String) {
        self.base_url = Arc::from(url);
    }

    fn configure(&mut self, environment: &Environment) -> Result<Auth, ProviderError> {
        let mut place = Profile::compatible(NAME, BASE_URL);
        place.addresses = vec!["{OLLAMA_BASE_URL}".to_owned(), "{OLLAMA_HOST}".to_owned()];
        if let Some(url) = from_environment(&place, &self.model, environment) {
            // The variable may hold the address of the other dialect.
            self.set_base_url(url.strip_suffix("/v1").unwrap_or(&url).to_owned());
        }
        Ok(environment.first(KEY_VARIABLES).map_or(Auth::None, Auth::from))
    }

    fn check(&self, _: &Auth) -> Result<(), ProviderError> {
        if self.model.trim().is_empty() {
            return Err(error::configuration("no model is named"));
        }
        Ok(())
    }

    fn encode(&self, ask: Ask<'_>) -> Result<EncodedRequest, ProviderError> {
        self.request(ask.with_request(&note_made_documents(ask.request, |_| false)))
    }

    fn check_tools(&self, tools: &ToolSet, settings: &ModelSettings) -> SchemaReport {
        request::check(self, tools, settings)
    }

    fn decoder(&self, tools: Arc<ToolSet>, degradations: Vec<Degradation>) -> Box<dyn Decoder> {
        let reading = Reading::new(NAME, Arc::clone(&self.model), tools, degradations);
        Box::new(Lines::new(Reply::new(reading)))
    }

    fn error_reader(&self) -> ErrorReader {
        read_error
    }

    fn models(&self) -> Option<&dyn ModelApi> {
        Some(self)
    }
}

/// Ollama says in words what a model cannot do.
fn read_error(response: &ErrorResponse) -> ProviderError {
    let common = error::read(response);
    if common.message().contains("does not support") {
        return response.error(attache_core::ErrorKind::Unsupported, common.message());
    }
    common
}
