//! The models of the API (anthropic.md 14).

use attache_core::capability::StructuredOutput;
use attache_core::{Effort, ModelSettings, Secret};
use attache_transport::{EncodedBody, ListedModel, ModelApi, ModelPage, RequestParts};
use http::Method;
use serde::Deserialize;
use serde_json::Value;

use crate::codec::MessagesCodec;
use crate::error::{self, Result};
use crate::request::addressed;

#[derive(Deserialize)]
struct Page {
    data: Vec<Model>,
    #[serde(default)]
    has_more: bool,
    last_id: Option<String>,
}

#[derive(Deserialize)]
struct Model {
    id: String,
    max_input_tokens: Option<u64>,
    max_tokens: Option<u64>,
    /// An object of abilities, or `null`.
    #[serde(default)]
    capabilities: Value,
}

impl ModelApi for MessagesCodec {
    fn list(&self, after: Option<&str>, key: Option<&Secret>) -> Result<RequestParts> {
        let after = after.map_or_else(String::new, |id| format!("&after_id={id}"));
        let parts = RequestParts::post_json(
            self.url_of(&format!("models?limit=1000{after}"))?,
            EncodedBody::default(),
        );
        let mut parts = addressed(self, parts, &ModelSettings::new(), key, None)?;
        parts.method = Method::GET;
        Ok(parts)
    }

    fn listed(&self, body: &[u8]) -> Result<ModelPage> {
        let Ok(Page { data, has_more, last_id }) = serde_json::from_slice(body) else {
            return Err(error::of_foreign_shape(body));
        };
        Ok(ModelPage::new(data.into_iter().map(read).collect(), last_id.filter(|_| has_more)))
    }
}

fn read(model: Model) -> ListedModel {
    let Model { id, max_input_tokens, max_tokens, capabilities } = model;
    let supports = |name: &str| match capabilities.pointer(&format!("/{name}")) {
        Some(Value::Bool(is)) => Some(*is),
        Some(ability) => ability.get("supported").and_then(Value::as_bool),
        None => None,
    };
    let mut listed = ListedModel::new(id);
    listed.context_window = max_input_tokens;
    listed.max_output_tokens = max_tokens;
    listed.images = supports("image_input");
    listed.pdfs = supports("pdf_input");
    listed.structured_output = supports("structured_outputs").map(|is| match is {
        true => StructuredOutput::JsonSchema,
        false => StructuredOutput::None,
    });
    if let Some(reasons) = supports("thinking") {
        let ways = [("adaptive", "adaptive"), ("enabled", "budget"), ("disabled", "off")];
        let knows = |word: &str| reasons && supports(&format!("thinking/types/{word}")) == Some(true);
        let words = ways.iter().filter(|(word, _)| knows(word)).map(|(_, ours)| (*ours).to_owned());
        listed.reasoning = Some(words.collect());
    }
    if let Some(knows) = supports("effort") {
        let all = [Effort::Low, Effort::Medium, Effort::High, Effort::XHigh, Effort::Max];
        let has = |effort: &Effort| knows && supports(&format!("effort/{}", effort.as_str())) == Some(true);
        listed.efforts = Some(all.into_iter().filter(has).collect());
    }
    listed
}
