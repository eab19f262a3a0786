//! The codec behind the trait of the transport: what each call of it comes to.

use std::sync::Arc;

use attache_core::capability::Matrix;
use attache_core::tool::SchemaReport;
use attache_core::{Degradation, ModelCapabilities, ModelSettings, ToolSet};
use attache_transport::{
    Ask, Auth, Codec, CountRequest, Decoder, EncodedRequest, Environment, ErrorReader, FileApi, ModelApi,
};

use crate::codec::{Dialect, ServerCodec};
use crate::error::{self, Result};

impl<D: Dialect> Codec for ServerCodec<D> {
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

    fn configure(&mut self, environment: &Environment) -> Result<Auth> {
        Ok(self.server.configure(environment))
    }

    fn check(&self, auth: &Auth) -> Result<()> {
        self.server.check(auth)
    }

    fn encode(&self, ask: Ask<'_>) -> Result<EncodedRequest> {
        self.server.fits()?;
        D::encode(ask.of(self))
    }

    fn count(&self, ask: Ask<'_>) -> Option<Result<CountRequest>> {
        D::count(ask.of(self))
    }

    fn check_tools(&self, tools: &ToolSet, settings: &ModelSettings) -> SchemaReport {
        self.server.check_tools(tools, settings)
    }

    fn decoder(&self, tools: Arc<ToolSet>, degradations: Vec<Degradation>) -> Box<dyn Decoder> {
        D::decoder(self.profile(), self.server.reading(tools, degradations))
    }

    fn error_reader(&self) -> ErrorReader {
        error::read
    }

    fn models(&self) -> Option<&dyn ModelApi> {
        // A deployment that is addressed by its name has no list there.
        (!self.profile().base_url.contains("/deployments/")).then_some(&self.server)
    }

    fn files(&self) -> Option<&dyn FileApi> {
        D::keeps_files(self.profile()).then_some(&self.server)
    }
}
