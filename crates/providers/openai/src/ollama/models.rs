//! The models of an Ollama server (openai.md C.13).

use attache_core::{ModelSettings, Secret};
use attache_transport::{ListedModel, ModelApi, ModelPage, RequestParts};
use http::Method;
use serde::Deserialize;
use serde_json::json;

use super::codec::OllamaCodec;
use crate::error::{self, Result};

#[derive(Deserialize)]
struct Tags {
    models: Vec<Tag>,
}

#[derive(Deserialize)]
struct Tag {
    name: String,
}

#[derive(Deserialize)]
struct Shown {
    capabilities: Option<Vec<String>>,
    /// Lines of a name and a value.
    #[serde(default)]
    parameters: String,
}

impl ModelApi for OllamaCodec {
    fn list(&self, _: Option<&str>, key: Option<&Secret>) -> Result<RequestParts> {
        let mut parts = self.server.envelope("api/tags", &ModelSettings::new(), key)?;
        parts.method = Method::GET;
        Ok(parts)
    }

    fn listed(&self, body: &[u8]) -> Result<ModelPage> {
        let Tags { models } = serde_json::from_slice(body).map_err(|_| error::no_answer(body))?;
        Ok(ModelPage::new(models.into_iter().map(|tag| ListedModel::new(tag.name)).collect(), None))
    }

    fn detail(&self, model: &ListedModel, key: Option<&Secret>) -> Option<Result<RequestParts>> {
        let parts = self.server.envelope("api/show", &ModelSettings::new(), key);
        Some(parts.map(|mut parts| {
            parts.body = json!({"model": model.id}).to_string().into();
            parts
        }))
    }

    fn detailed(&self, body: &[u8], model: &mut ListedModel) {
        let Ok(Shown { capabilities, parameters }) = serde_json::from_slice(body) else { return };
        if let Some(abilities) = capabilities {
            let has = |word: &str| Some(abilities.iter().any(|ability| ability == word));
            (model.images, model.tools) = (has("vision"), has("tools"));
        }
        // The window that the server sets, not the one that the model could have: what the table says is what requests
        // ask for, and the server reserves memory for all of it.
        let window = parameters.lines().find_map(|line| line.trim().strip_prefix("num_ctx"));
        model.context_window = window.and_then(|value| value.trim().parse().ok());
    }
}
