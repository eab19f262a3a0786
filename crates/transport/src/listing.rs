//! The models that a server has, and what it says of them.

use attache_core::capability::{PlaceCapabilities, StructuredOutput};
use attache_core::{Effort, ErrorKind, ModelCapabilities, ProviderError, Secret};
use bytes::Bytes;

use crate::error::ErrorReader;
use crate::network::Network;
use crate::request::{RequestParts, percent_encoded};

/// Pages that are asked for, and models that are asked for by name.
const MAX_PAGES: usize = 100;
const MAX_DETAILS: usize = 500;
/// The maximum number of bytes of one answer.
const ANSWER_LIMIT: usize = 32 << 20;

/// The list of an API's models: its requests and answers.
pub trait ModelApi: Send + Sync {
    /// The request for the models, or for those behind the page that ended in `after`, which is encoded for an address.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] if there is no address.
    fn list(&self, after: Option<&str>, key: Option<&Secret>) -> Result<RequestParts, ProviderError>;

    /// The models of an answer.
    ///
    /// # Errors
    /// [`ErrorKind::Malformed`] for an answer that lists none.
    fn listed(&self, body: &[u8]) -> Result<ModelPage, ProviderError>;

    /// The request for more about one of them, where the list tells little.
    fn detail(
        &self,
        model: &ListedModel,
        key: Option<&Secret>,
    ) -> Option<Result<RequestParts, ProviderError>> {
        let _ = (model, key);
        None
    }

    /// Adds what an answer says of one model.
    fn detailed(&self, body: &[u8], model: &mut ListedModel) {
        let _ = (body, model);
    }
}

/// One answer of a list.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ModelPage {
    /// The models in their order.
    pub models: Vec<ListedModel>,
    /// The mark by which the next page is asked for, if there is one.
    pub next: Option<String>,
}

impl ModelPage {
    /// A page of these models.
    pub fn new(models: Vec<ListedModel>, next: Option<String>) -> Self {
        Self { models, next }
    }
}

/// A model that a server has, and what it says of it. A fact that it does not say is absent.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ListedModel {
    /// Its id there.
    pub id: String,
    /// The maximum number of tokens of a request and its reply.
    pub context_window: Option<u64>,
    /// The maximum number of tokens of a reply.
    pub max_output_tokens: Option<u64>,
    /// True if users can show it images.
    pub images: Option<bool>,
    /// True if users can show it PDFs.
    pub pdfs: Option<bool>,
    /// True if it calls tools.
    pub tools: Option<bool>,
    /// The forms that its answers can be asked for in.
    pub structured_output: Option<StructuredOutput>,
    /// The ways in which it reasons, in the words of [`ModelCapabilities::reasoning`].
    pub reasoning: Option<Vec<String>>,
    /// The efforts that it knows.
    pub efforts: Option<Vec<Effort>>,
}

impl ListedModel {
    /// A model of which nothing is said.
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), ..Self::default() }
    }

    /// Adds what the server says to what the table knows. Of a model that has a row of its own in the table only what
    /// that does not know is filled; of any other everything.
    pub fn fill(&self, known: &mut ModelCapabilities) {
        let has_row = !matches!(known.row.as_str(), "default" | "unknown");
        let number = |cell: &mut Option<u64>, told: Option<u64>| {
            if let Some(told) = told.filter(|_| !has_row || cell.is_none()) {
                *cell = Some(told);
            }
        };
        number(&mut known.context_window, self.context_window);
        number(&mut known.max_output_tokens, self.max_output_tokens);
        if has_row {
            return;
        }
        takes(known, self.images, "image/", &["image/png", "image/jpeg", "image/webp", "image/gif"]);
        takes(known, self.pdfs, "application/pdf", &["application/pdf"]);
        if let Some(tools) = self.tools {
            known.tools = tools;
        }
        if let Some(form) = self.structured_output {
            known.structured_output = form;
        }
        if let Some(reasoning) = &self.reasoning {
            known.reasoning.clone_from(reasoning);
        }
        if let Some(efforts) = &self.efforts {
            known.efforts.clone_from(efforts);
        }
    }
}

/// Adds media to what users can show, or takes them away everywhere.
fn takes(known: &mut ModelCapabilities, told: Option<bool>, kind: &str, media: &[&str]) {
    let is_one = |pattern: &String| pattern.starts_with(kind);
    let add = |place: &mut PlaceCapabilities| {
        if !place.media.iter().any(is_one) {
            place.media.extend(media.iter().map(|media| (*media).to_owned()));
        }
    };
    match told {
        None => {}
        Some(true) => {
            add(&mut known.user);
            add(&mut known.beside_result);
        }
        Some(false) => {
            let (one, two) = (&mut known.user, &mut known.tool_result);
            for place in [one, two, &mut known.failed_result, &mut known.beside_result] {
                place.media.retain(|pattern| !is_one(pattern));
                place.references.retain(|pattern| !is_one(pattern));
            }
        }
    }
}

impl Network {
    /// The models that a server has, asked for as its API says ([`Codec::models`](crate::Codec::models)).
    ///
    /// # Errors
    /// The provider's errors, and [`ErrorKind::Malformed`] for a list without end. A model that is gone when it is
    /// asked about is listed all the same.
    ///
    /// # Cancellation
    /// Dropping the future aborts the request.
    pub async fn list_models(
        &self,
        api: &dyn ModelApi,
        read_error: ErrorReader,
    ) -> Result<Vec<ListedModel>, ProviderError> {
        let key = self.auth().key();
        let (mut models, mut after) = (Vec::new(), None::<String>);
        for _ in 0..MAX_PAGES {
            let request = api.list(after.as_deref(), key)?;
            let read = |_, body: Bytes| api.listed(&body);
            let page = self.read(&request, read_error, ANSWER_LIMIT, read).await?;
            models.extend(page.models);
            after = page.next.map(|next| percent_encoded(next.as_bytes()));
            if after.is_none() {
                break;
            }
        }
        if after.is_some() {
            let message = format!("the list of models has more than {MAX_PAGES} pages");
            return Err(ProviderError::new(ErrorKind::Malformed, message));
        }
        for model in models.iter_mut().take(MAX_DETAILS) {
            let Some(request) = api.detail(model, key) else { break };
            let read = |_, body: Bytes| {
                api.detailed(&body, model);
                Ok(())
            };
            match self.read(&request?, read_error, ANSWER_LIMIT, read).await {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(models)
    }
}

#[cfg(test)]
mod tests {
    use attache_core::capability::Matrix;

    use super::*;

    #[test]
    fn tokens_of_pages_are_encoded() {
        assert_eq!(percent_encoded("a+b/c=&é".as_bytes()), "a%2Bb%2Fc%3D%26%C3%A9");
    }

    #[test]
    fn a_row_of_the_table_keeps_what_it_knows() {
        let told = ListedModel {
            context_window: Some(7),
            max_output_tokens: Some(5),
            images: Some(false),
            tools: Some(false),
            ..ListedModel::new("x")
        };
        let mut known = Matrix::bundled().resolve("openai-chat", "gpt-4.1");
        let before = known.clone();
        told.fill(&mut known);
        assert_eq!(known, before);
        let mut unknown = Matrix::bundled().resolve("openai-chat", "a-model-that-nobody-knows");
        assert!(unknown.user.media.iter().any(|media| media.starts_with("image/")));
        told.fill(&mut unknown);
        assert_eq!(
            (unknown.context_window, unknown.max_output_tokens, unknown.tools),
            (Some(7), Some(5), false)
        );
        assert!(!unknown.user.media.iter().any(|media| media.starts_with("image/")));
    }
}
