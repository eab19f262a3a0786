//! The models of the Gemini API.
//!
//! Source: Gemini API, `models.list`.

use attache_core::{ModelSettings, Secret};
use attache_transport::{ListedModel, ModelApi, ModelPage, RequestParts};
use serde::Deserialize;

use crate::codec::GenerateCodec;
use crate::error::{self, Result};
use crate::request::authorized;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    models: Vec<Model>,
    next_page_token: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Model {
    /// `models/gemini-2.5-flash`.
    name: String,
    input_token_limit: Option<u64>,
    output_token_limit: Option<u64>,
    #[serde(default)]
    supported_generation_methods: Vec<String>,
}

impl ModelApi for GenerateCodec {
    fn list(&self, after: Option<&str>, key: Option<&Secret>) -> Result<RequestParts> {
        let after = after.map_or_else(String::new, |token| format!("&pageToken={token}"));
        let parts = RequestParts::get(self.url(&format!("models?pageSize=1000{after}"))?);
        authorized(self, &ModelSettings::new(), parts, key)
    }

    fn listed(&self, body: &[u8]) -> Result<ModelPage> {
        let Ok(Page { models, next_page_token }) = serde_json::from_slice(body) else {
            return Err(error::malformed("the answer is no list of models"));
        };
        // Others embed, or make pictures by another method.
        let talks = |model: &Model| {
            model.supported_generation_methods.iter().any(|method| method == "generateContent")
        };
        let models = models.into_iter().filter(talks).map(|model| {
            let id = model.name.strip_prefix("models/").unwrap_or(&model.name);
            let mut listed = ListedModel::new(id);
            listed.context_window = model.input_token_limit;
            listed.max_output_tokens = model.output_token_limit;
            listed
        });
        Ok(ModelPage::new(models.collect(), next_page_token.filter(|token| !token.is_empty())))
    }
}
