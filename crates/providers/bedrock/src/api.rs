//! The codec behind the trait of the transport: what each call of it comes to.

use std::sync::Arc;

use attache_core::capability::Matrix;
use attache_core::tool::SchemaReport;
use attache_core::{Degradation, ModelCapabilities, ModelSettings, ProviderError, ToolSet};
use attache_transport::{
    Ask, Auth, Codec, CountRequest, Decoder, EncodedRequest, Environment, ErrorReader, ModelApi, Reading,
    ReplyDecoder, note_made_documents,
};

use serde_json::json;

use crate::address;
use crate::capabilities::{FAMILY, PROVIDER};
use crate::codec::ConverseCodec;
use crate::credentials::{self, Profiles};
use crate::stream::Events;
use crate::{
    error::{self, Result},
    request,
};

/// The variables that hold a region, and another base URL.
const REGIONS: [&str; 2] = ["AWS_REGION", "AWS_DEFAULT_REGION"];
const URLS: [&str; 2] = ["AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "AWS_ENDPOINT_URL"];

impl Codec for ConverseCodec {
    fn model_id(&self) -> String {
        format!("{PROVIDER}/{}", self.model)
    }

    fn capabilities(&self) -> &ModelCapabilities {
        &self.capabilities
    }

    fn set_matrix(&mut self, matrix: &Matrix) {
        self.set_capabilities(Arc::new(matrix.resolve(FAMILY, &self.model)));
    }

    fn set_base_url(&mut self, url: String) {
        self.base_url = Some(url);
    }

    fn configure(&mut self, environment: &Environment) -> Result<Auth> {
        let profiles = Profiles::load(environment);
        let profile = |name: &str| profiles.get(name).map(str::to_owned);
        self.region = self.region.take().or_else(|| environment.first(REGIONS)).or_else(|| profile("region"));
        self.base_url = environment.first(URLS).or_else(|| profile("endpoint_url")).or(self.base_url.take());
        let region = self.region.as_deref().ok_or_else(no_region)?;
        address::endpoint(region)?;
        credentials::find(environment, &profiles, region)
    }

    fn check(&self, _: &Auth) -> Result<()> {
        if self.model.is_empty() {
            return Err(error::configuration("the model has no name"));
        }
        if self.region.is_none() && self.base_url.is_none() {
            return Err(no_region());
        }
        self.fits()
    }

    fn encode(&self, ask: Ask<'_>) -> Result<EncodedRequest> {
        self.fits()?;
        self.request(ask.with_request(&note_made_documents(ask.request, |_| false)))
    }

    fn count(&self, ask: Ask<'_>) -> Option<Result<CountRequest>> {
        // Of others the API counts none.
        self.family.counts_tokens.then(|| self.counting(ask))
    }

    fn check_tools(&self, tools: &ToolSet, settings: &ModelSettings) -> SchemaReport {
        request::check_tools(self, tools, settings)
    }

    fn decoder(&self, tools: Arc<ToolSet>, degradations: Vec<Degradation>) -> Box<dyn Decoder> {
        let reading = Reading::new(FAMILY, Arc::clone(&self.model), tools, degradations);
        Box::new(ReplyDecoder::new(Events::new(reading)))
    }

    fn models(&self) -> Option<&dyn ModelApi> {
        Some(self)
    }

    fn error_reader(&self) -> ErrorReader {
        error::read
    }
}

fn no_region() -> ProviderError {
    error::configuration("no AWS region for bedrock: set AWS_REGION, or name one in the model's ARN")
}

impl ConverseCodec {
    /// The request that counts the tokens of another (bedrock.md 9). It wants the model without the regions that its
    /// profile stands for.
    fn counting(&self, ask: Ask<'_>) -> Result<CountRequest> {
        const KNOWN: [&str; 4] = ["messages", "system", "toolConfig", "additionalModelRequestFields"];
        let own = self.model.find("anthropic.").filter(|_| !self.model.starts_with("arn:"));
        let model = own.and_then(|at| self.model.get(at..)).unwrap_or(&self.model);
        let url = self.url_of(model, "count-tokens")?;
        CountRequest::of(self.encode(ask)?, url, "/inputTokens", |mut members| {
            members.retain(|name, _| KNOWN.contains(&name.as_str()));
            json!({"input": {"converse": members}})
        })
    }
}
