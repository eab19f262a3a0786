//! The models of Amazon Bedrock in a region.
//!
//! Source: Amazon Bedrock API, `ListFoundationModels`.

use attache_core::Secret;
use attache_transport::{ListedModel, ModelApi, ModelPage, RequestParts};
use http::header::AUTHORIZATION;
use serde::Deserialize;

use crate::codec::ConverseCodec;
use crate::error::{self, Result};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    model_summaries: Vec<Model>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Model {
    model_id: String,
    #[serde(default)]
    input_modalities: Vec<String>,
    #[serde(default)]
    output_modalities: Vec<String>,
}

impl ModelApi for ConverseCodec {
    fn list(&self, _: Option<&str>, key: Option<&Secret>) -> Result<RequestParts> {
        let parts = RequestParts::get(self.control_url("foundation-models")?);
        Ok(match key.filter(|key| !key.is_empty()) {
            Some(key) => parts.with_secret_header(AUTHORIZATION, "Bearer ", key),
            None => parts,
        })
    }

    fn listed(&self, body: &[u8]) -> Result<ModelPage> {
        let Ok(Page { model_summaries }) = serde_json::from_slice(body) else {
            return Err(error::of_foreign_shape(body));
        };
        let has = |modalities: &[String], word: &str| modalities.iter().any(|one| one == word);
        // Others embed, or make pictures.
        let models =
            model_summaries.into_iter().filter(|model| has(&model.output_modalities, "TEXT")).map(|model| {
                let mut listed = ListedModel::new(model.model_id);
                listed.images = Some(has(&model.input_modalities, "IMAGE"));
                listed
            });
        Ok(ModelPage::new(models.collect(), None))
    }
}
