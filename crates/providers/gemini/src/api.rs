//! The codec behind the trait of the transport: what each call of it comes to.

use std::sync::Arc;

use attache_core::capability::Matrix;
use attache_core::tool::SchemaReport;
use attache_core::{BoxFuture, Degradation, ModelCapabilities, ModelSettings, ProviderError, ToolSet};
use attache_transport::{
    Ask, Auth, Codec, CountRequest, Decoder, EncodedBody, EncodedRequest, Environment, ErrorReader, FileApi,
    ModelApi, Network, Reading, Refusals, ReplyDecoder, RequestParts,
};
use serde_json::{Value, json};

use crate::address::Platform;
use crate::cache;
use crate::codec::{self, GenerateCodec};
use crate::error::{self, Result, configuration};
use crate::request::{self, State, authorized};
use crate::stream::Events;

impl Codec for GenerateCodec {
    fn model_id(&self) -> String {
        format!("{}/{}", self.family(), self.model)
    }

    fn capabilities(&self) -> &ModelCapabilities {
        &self.capabilities
    }

    fn set_matrix(&mut self, matrix: &Matrix) {
        self.capabilities = Arc::new(matrix.resolve(self.family(), &self.model));
    }

    fn set_base_url(&mut self, url: String) {
        self.base_url = Some(url);
    }

    fn configure(&mut self, environment: &Environment) -> Result<Auth> {
        let variable = match self.platform {
            Platform::Gemini => "GOOGLE_GEMINI_BASE_URL",
            Platform::Vertex { .. } => "GOOGLE_VERTEX_BASE_URL",
        };
        if let Some(url) = environment.get(variable) {
            self.base_url = Some(url);
        }
        self.platform.configure(environment)
    }

    fn check(&self, auth: &Auth) -> Result<()> {
        if self.model.is_empty() {
            return Err(configuration("the model has no name"));
        }
        self.platform.model_path(&self.model)?;
        self.platform.check(auth)
    }

    fn prepare<'a>(&'a self, ask: Ask<'a>, network: &'a Network) -> Option<BoxFuture<'a, Result<()>>> {
        cache::prepare(ask.of(self), network)
    }

    fn encode(&self, ask: Ask<'_>) -> Result<EncodedRequest> {
        let ask = ask.of(self);
        let url = self.endpoint(!ask.request.streaming)?;
        let mut parts =
            authorized(self, ask.settings, RequestParts::post_json(url, EncodedBody::default()), ask.key)?;
        let (body, degradations) = State::with(ask, |state| encode(state, ask))?;
        parts.body = body;
        Ok(EncodedRequest::new(parts, degradations))
    }

    fn count(&self, ask: Ask<'_>) -> Option<Result<CountRequest>> {
        Some(self.counting(ask))
    }

    fn check_tools(&self, tools: &ToolSet, settings: &ModelSettings) -> SchemaReport {
        request::check_tools(self, tools, settings)
    }

    fn decoder(&self, tools: Arc<ToolSet>, degradations: Vec<Degradation>) -> Box<dyn Decoder> {
        let reading = Reading::new(self.family(), Arc::clone(&self.model), tools, degradations);
        Box::new(ReplyDecoder::new(Events::new(reading)))
    }

    fn error_reader(&self) -> ErrorReader {
        error::read
    }

    fn models(&self) -> Option<&dyn ModelApi> {
        (self.platform == Platform::Gemini).then_some(self)
    }

    fn files(&self) -> Option<&dyn FileApi> {
        (self.platform == Platform::Gemini).then_some(self)
    }

    fn recovers(&self, error: &ProviderError) -> bool {
        self.caches.recovers(error)
    }
}

impl GenerateCodec {
    /// The request that counts the tokens of another (gemini.md 11).
    fn counting(&self, ask: Ask<'_>) -> Result<CountRequest> {
        let model = self.platform.model_path(&self.model)?;
        let url = self.url(&format!("{model}:countTokens"))?;
        CountRequest::of(self.encode(ask)?, url, "/totalTokens", |mut members| match self.platform {
            Platform::Gemini => {
                members.insert("model".to_owned(), Value::from(model));
                json!({"generateContentRequest": members})
            }
            Platform::Vertex { .. } => {
                const KNOWN: [&str; 4] = ["contents", "systemInstruction", "tools", "generationConfig"];
                members.retain(|name, _| KNOWN.contains(&name.as_str()));
                Value::Object(members)
            }
        })
    }
}

/// The body, and what it leaves out.
fn encode(state: &mut State, ask: codec::Ask<'_>) -> Result<(EncodedBody, Vec<Degradation>)> {
    let mut refusals = Refusals::new(ask.codec.model(), ask.settings.unsupported);
    state.check_pairing(&ask.request.messages)?;
    let head = state.head(ask, &mut refusals)?;
    let cached = cache::find(state, ask, &head, &mut refusals)?;
    let body = state.encode(ask, head, cached.as_ref())?;
    Ok((body, refusals.into_recorded()))
}
