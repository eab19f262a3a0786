//! The codec behind the trait of the transport: what each call of it comes to.

use std::sync::Arc;

use attache_core::capability::Matrix;
use attache_core::tool::SchemaReport;
use attache_core::{Degradation, ModelCapabilities, ModelSettings, ProviderError, ToolSet};
use attache_transport::{
    Ask, Auth, Codec, Decoder, EncodedRequest, Environment, ErrorReader, Reading, ReplyDecoder,
    note_made_documents,
};

use crate::capabilities::{self, FAMILY};
use crate::codec::CohereCodec;
use crate::error;
use crate::request::tools;
use crate::stream::Events;

/// The variables that may hold the key, the preferred one first.
const KEY_VARIABLES: [&str; 2] = ["CO_API_KEY", "COHERE_API_KEY"];
/// The variable that may hold another base URL.
const URL_VARIABLE: &str = "CO_API_URL";

impl Codec for CohereCodec {
    fn model_id(&self) -> String {
        format!("{FAMILY}/{}", self.model)
    }

    fn capabilities(&self) -> &ModelCapabilities {
        &self.capabilities
    }

    fn set_matrix(&mut self, matrix: &Matrix) {
        self.capabilities = Arc::new(capabilities::under(matrix, &self.model));
    }

    fn set_base_url(&mut self, url: String) {
        self.base_url = url;
    }

    fn configure(&mut self, environment: &Environment) -> Result<Auth, ProviderError> {
        if let Some(url) = environment.get(URL_VARIABLE) {
            self.base_url = url;
        }
        environment.key(FAMILY, &KEY_VARIABLES)
    }

    fn check(&self, _: &Auth) -> Result<(), ProviderError> {
        if self.model.is_empty() {
            return Err(error::configuration("the model has no name"));
        }
        Ok(())
    }

    fn encode(&self, ask: Ask<'_>) -> Result<EncodedRequest, ProviderError> {
        self.request(ask.with_request(&note_made_documents(ask.request, |_| false)))
    }

    fn check_tools(&self, tools: &ToolSet, settings: &ModelSettings) -> SchemaReport {
        tools::check(self, tools, settings)
    }

    fn decoder(&self, tools: Arc<ToolSet>, degradations: Vec<Degradation>) -> Box<dyn Decoder> {
        let reading = Reading::new(FAMILY, Arc::clone(&self.model), tools, degradations);
        Box::new(ReplyDecoder::new(Events::new(reading)))
    }

    fn error_reader(&self) -> ErrorReader {
        error::read
    }
}
