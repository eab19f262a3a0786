//! The codec behind the trait of the transport: what each call of it comes to.

use std::sync::Arc;

use attache_core::capability::Matrix;
use attache_core::tool::SchemaReport;
use attache_core::{Degradation, ModelCapabilities, ModelSettings, ToolSet};
use attache_transport::{
    Ask, Auth, Codec, Decoder, EncodedRequest, Environment, ErrorReader, ModelApi, note_made_documents,
};

use super::codec::OllamaCodec;
use super::error::read;
use super::response::Reply;
use super::stream::Lines;
use crate::error::Result;
use crate::profile::ToolSchemas;
use crate::request::tools::check;

impl Codec for OllamaCodec {
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
        let own = self.server.profile.base_url.clone();
        let auth = self.server.configure(environment);
        let url = &self.server.profile.base_url;
        // The variable may hold the address of the other dialect.
        if let Some(url) = url.strip_suffix("/v1").filter(|_| *url != own).map(str::to_owned) {
            self.set_base_url(url);
        }
        Ok(auth)
    }

    fn check(&self, auth: &Auth) -> Result<()> {
        self.server.check(auth)
    }

    fn encode(&self, ask: Ask<'_>) -> Result<EncodedRequest> {
        self.request(ask.with_request(&note_made_documents(ask.request, |_| false)))
    }

    fn check_tools(&self, tools: &ToolSet, settings: &ModelSettings) -> SchemaReport {
        // It takes schemas as they are, whatever the other dialect of the same server does.
        check(&self.server.capabilities, ToolSchemas::AsGiven, tools, settings.unsupported)
    }

    fn decoder(&self, tools: Arc<ToolSet>, degradations: Vec<Degradation>) -> Box<dyn Decoder> {
        Box::new(Lines::new(Reply::new(self.server.reading(tools, degradations))))
    }

    fn error_reader(&self) -> ErrorReader {
        read
    }

    fn models(&self) -> Option<&dyn ModelApi> {
        Some(self)
    }
}
