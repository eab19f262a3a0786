//! The models of a server, as OpenAI lists them and as others add to it (openai.md C).

use attache_core::capability::StructuredOutput;
use attache_core::{ModelSettings, Secret};
use attache_transport::{ListedModel, ModelApi, ModelPage, RequestParts};
use http::Method;
use serde_json::Value;

use crate::error::{self, Result};
use crate::server::Server;

impl ModelApi for Server {
    fn list(&self, _: Option<&str>, key: Option<&Secret>) -> Result<RequestParts> {
        let mut parts = self.envelope("models", &ModelSettings::new(), key)?;
        parts.method = Method::GET;
        Ok(parts)
    }

    fn listed(&self, body: &[u8]) -> Result<ModelPage> {
        let answer: Value = serde_json::from_slice(body).map_err(|_| error::no_answer(body))?;
        // Together sends the list itself.
        let models = answer.get("data").unwrap_or(&answer).as_array();
        let models = models.ok_or_else(|| error::no_answer(body))?;
        Ok(ModelPage::new(models.iter().filter_map(read).collect(), None))
    }
}

/// A model, with what the server adds to it. OpenAI itself adds nothing.
fn read(model: &Value) -> Option<ListedModel> {
    let mut listed = ListedModel::new(model.get("id")?.as_str()?);
    let number = |pointers: &[&str]| pointers.iter().find_map(|pointer| model.pointer(pointer)?.as_u64());
    // OpenRouter and Together, Groq, vLLM, Mistral, llama.cpp.
    listed.context_window = number(&[
        "/context_length",
        "/context_window",
        "/max_model_len",
        "/max_context_length",
        "/meta/n_ctx",
        "/meta/n_ctx_train",
    ]);
    listed.max_output_tokens =
        number(&["/top_provider/max_completion_tokens", "/max_completion_tokens", "/max_output_tokens"]);
    let words = |pointer: &str| {
        let list = model.pointer(pointer)?.as_array()?;
        Some(list.iter().filter_map(Value::as_str).collect::<Vec<_>>())
    };
    let is = |pointer: &str| model.pointer(pointer).and_then(Value::as_bool);
    if let Some(modalities) = words("/architecture/input_modalities") {
        listed.images = Some(modalities.contains(&"image"));
        listed.pdfs = Some(modalities.contains(&"file"));
    }
    if let Some(parameters) = words("/supported_parameters") {
        listed.tools = Some(parameters.contains(&"tools"));
        listed.structured_output = Some(match () {
            () if parameters.contains(&"structured_outputs") => StructuredOutput::JsonSchema,
            () if parameters.contains(&"response_format") => StructuredOutput::JsonObject,
            () => StructuredOutput::None,
        });
    }
    // Mistral.
    listed.images = listed.images.or(is("/capabilities/vision"));
    listed.tools = listed.tools.or(is("/capabilities/function_calling"));
    Some(listed)
}
