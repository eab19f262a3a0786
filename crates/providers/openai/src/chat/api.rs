//! The codec behind the trait of the transport: what each call of it comes to.

use std::sync::Arc;

use attache_core::{
    ChatRequest, Degradation, Matrix, ModelCapabilities, ModelSettings, ProviderError, SchemaReport, Secret,
    ToolSet,
};
use attache_transport::{
    Auth, Codec, Decoder, EncodedRequest, Environment, ErrorReader, FileApi, ModelApi, ReplyDecoder,
    note_made_documents,
};

use super::codec::ChatCodec;
use super::stream::Events;
use crate::error;
use crate::profile::FileForm;

impl Codec for ChatCodec {
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
        self.server.fits()?;
        self.request(&note_made_documents(request, |_| false), settings, key)
    }

    fn check_tools(&self, tools: &ToolSet, settings: &ModelSettings) -> SchemaReport {
        self.server.check_tools(tools, settings)
    }

    fn decoder(&self, tools: Arc<ToolSet>, degradations: Vec<Degradation>) -> Box<dyn Decoder> {
        let reading = self.server.reading(tools, degradations);
        Box::new(ReplyDecoder::new(Events::new(reading, &self.server.profile)))
    }

    fn error_reader(&self) -> ErrorReader {
        error::read
    }

    fn models(&self) -> Option<&dyn ModelApi> {
        self.server.models()
    }

    fn files(&self) -> Option<&dyn FileApi> {
        // Elsewhere a file stands in a form that has no id.
        (self.server.profile.files == FileForm::File).then_some(&self.server)
    }
}
