//! The codec behind the trait of the transport: what each call of it comes to.

use std::sync::Arc;

use attache_core::capability::Matrix;
use attache_core::tool::SchemaReport;
use attache_core::{Degradation, ModelCapabilities, ModelSettings, ToolSet};
use attache_transport::{
    Ask, Auth, Codec, CountRequest, Decoder, EncodedRequest, Environment, ErrorReader, FileApi, ModelApi,
    Reading, ReplyDecoder, note_made_documents,
};

use crate::address::Platform;
use crate::capabilities::FAMILY;
use crate::codec::MessagesCodec;
use crate::stream::Events;
use crate::{
    error::{self, Result},
    request,
};

impl Codec for MessagesCodec {
    fn model_id(&self) -> String {
        format!("{}/{}", self.platform.name(), self.model)
    }

    fn capabilities(&self) -> &ModelCapabilities {
        &self.capabilities
    }

    fn set_matrix(&mut self, matrix: &Matrix) {
        self.capabilities = Arc::new(self.platform.fitted(matrix.resolve(FAMILY, &self.model)));
    }

    fn set_base_url(&mut self, url: String) {
        self.base_url = Some(url);
    }

    fn configure(&mut self, environment: &Environment) -> Result<Auth> {
        if let Some(url) = environment.get(self.platform.url_variable()) {
            self.base_url = Some(url);
        }
        self.platform.configure(environment)
    }

    fn check(&self, _: &Auth) -> Result<()> {
        if self.model.is_empty() {
            return Err(error::configuration("the model has no name"));
        }
        self.platform.check()
    }

    fn encode(&self, ask: Ask<'_>) -> Result<EncodedRequest> {
        self.request(ask.with_request(&note_made_documents(ask.request, |_| false)))
    }

    fn count(&self, ask: Ask<'_>) -> Option<Result<CountRequest>> {
        Some(request::count(self, ask))
    }

    fn check_tools(&self, tools: &ToolSet, settings: &ModelSettings) -> SchemaReport {
        request::check_tools(self, tools, settings)
    }

    fn decoder(&self, tools: Arc<ToolSet>, degradations: Vec<Degradation>) -> Box<dyn Decoder> {
        let reading = Reading::new(FAMILY, Arc::clone(&self.model), tools, degradations);
        Box::new(ReplyDecoder::new(Events::new(reading)))
    }

    fn error_reader(&self) -> ErrorReader {
        error::read
    }

    fn models(&self) -> Option<&dyn ModelApi> {
        (self.platform == Platform::Anthropic).then_some(self)
    }

    fn files(&self) -> Option<&dyn FileApi> {
        (self.platform == Platform::Anthropic).then_some(self)
    }
}
