//! Another model where one fails.

use std::fmt;
use std::sync::Arc;

use attache_core::fetcher::Fetcher;
use attache_core::tool::SchemaReport;
use attache_core::{
    BoxFuture, ChatRequest, ChunkStream, Converter, Degradation, Document, DocumentId, DocumentStore,
    ErrorKind, ModelHandle, ModelSettings, ProviderError, StoreError, StoreErrorKind, StreamChunk, ToolSet,
};
use attache_documents::{DocumentOutcome, Materials, ReasonKind, RouteOptions, RoutingReport, gather, route};
use bytes::Bytes;
use futures_util::StreamExt;

use super::Layer;
use super::earlier::Earlier;

/// The maximum number of documents that are told one by one.
const MAX_TOLD: usize = 8;

/// True if another model is asked after this error.
pub type SwitchRule = fn(&ProviderError) -> bool;

/// Asks other models, in order, where one fails before it said anything: after the first chunk nothing is switched.
///
/// Documents are routed anew for what each model can read; what it cannot take natively is converted by the converters
/// that this layer was given. The model that answered, and the errors of the others, are recorded in
/// [`Completion::degradations`](attache_core::Completion::degradations), and so are the documents of which it was shown
/// a note alone, and that it cites none where the request wants citations. The usage of the reply counts the others, too, and
/// [`Completion::usage_by_model`](attache_core::Completion::usage_by_model) says which tokens are those of which model.
/// Tools, tool choice and other options go to each model alike, so an option that only the first one knows may end a call
/// as unsupported on the next.
///
/// By default every error switches but those that another model would meet too: bad configuration, an invalid
/// history or request, cancellation. Where no model answers, the error is the first that may pass, else the last one, and
/// its message names those of the others.
#[derive(Clone)]
pub struct Fallback {
    models: Vec<ModelHandle>,
    switches: SwitchRule,
    options: RouteOptions,
    store: Option<Arc<dyn DocumentStore>>,
    fetcher: Option<Arc<dyn Fetcher>>,
    converters: Vec<Arc<dyn Converter>>,
}

impl Fallback {
    /// Asks `models` after the one that this layer is put around.
    pub fn new(models: impl IntoIterator<Item = ModelHandle>) -> Self {
        Self {
            models: models.into_iter().collect(),
            switches: may_switch,
            options: RouteOptions::new(),
            store: None,
            fetcher: None,
            converters: Vec::new(),
        }
    }

    /// Sets which errors switch.
    #[must_use]
    pub fn with_rule(mut self, rule: SwitchRule) -> Self {
        self.switches = rule;
        self
    }

    /// Sets how documents are routed; the same as in the agent.
    #[must_use]
    pub fn with_routing(mut self, options: RouteOptions) -> Self {
        self.options = options;
        self
    }

    /// Sets where documents are loaded from whose bytes are not in memory; the same as in the agent.
    #[must_use]
    pub fn with_store(mut self, store: Arc<dyn DocumentStore>) -> Self {
        self.store = Some(store);
        self
    }

    /// Sets who fetches documents from their addresses; the same as in the agent. With the agent's store nothing is
    /// fetched again.
    #[must_use]
    pub fn with_fetcher(mut self, fetcher: Arc<dyn Fetcher>) -> Self {
        self.fetcher = Some(fetcher);
        self
    }

    /// Adds a converter for documents that a model cannot read; the same as in the agent.
    #[must_use]
    pub fn with_converter(mut self, converter: impl Converter + 'static) -> Self {
        self.converters.push(Arc::new(converter));
        self
    }

    /// The request as `model` can read it, and what it asks that this model does not do.
    async fn rerouted(
        &self,
        mut request: ChatRequest,
        model: &ModelHandle,
    ) -> Result<(ChatRequest, Vec<Degradation>), ProviderError> {
        let mut materials = Materials::new();
        let capabilities = model.capabilities();
        let (wish, own) = (request.settings.citations, model.settings().citations);
        let cites = wish.or(own) == Some(true) && own != Some(false) && capabilities.cites();
        let mut lost = Vec::new();
        if wish == Some(true) && !cites {
            request.settings.citations = None;
            lost.push(Degradation::new("citations", format!("{} cites no documents", model.id())));
        }
        let options = self.options.clone().with_citations(cites);
        let nowhere = Nowhere;
        let store: &dyn DocumentStore = match &self.store {
            Some(store) => &**store,
            None => &nowhere,
        };
        let messages = &request.messages;
        let fetcher = self.fetcher.as_deref();
        gather(&mut materials, messages, capabilities, &options, store, fetcher, &self.converters).await;
        let routing = route(messages, capabilities, &request.tools, &materials, &options)?;
        request.messages = routing.messages;
        lost.extend(not_shown(&routing.report, model.id()));
        Ok((request, lost))
    }
}

/// The documents of which a model was shown a note alone: the first [`MAX_TOLD`] each with its reason, then the number
/// of the others.
fn not_shown(report: &RoutingReport, model: &str) -> Vec<Degradation> {
    let is_lost = |reason| !matches!(reason, ReasonKind::ShownBefore | ReasonKind::Cancelled);
    let mut lost = report
        .decisions
        .iter()
        .filter(|decision| decision.outcome == DocumentOutcome::Note && is_lost(decision.reason.kind()));
    let told = lost.by_ref().take(MAX_TOLD).map(|decision| format!("{model}: {decision}"));
    let mut told: Vec<_> = told.collect();
    let others = lost.count();
    if others > 0 {
        told.push(format!("{model}: {others} more, each shown as a note alone"));
    }
    told.into_iter().map(|note| Degradation::new("documents", note)).collect()
}

fn may_switch(error: &ProviderError) -> bool {
    !matches!(
        error.kind(),
        ErrorKind::Configuration
            | ErrorKind::InvalidHistory
            | ErrorKind::InvalidRequest
            | ErrorKind::Cancelled
    )
}

impl fmt::Debug for Fallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fallback").field("models", &self.models).finish_non_exhaustive()
    }
}

impl Layer for Fallback {
    fn fallbacks<'a>(&'a self, inner: &'a ModelHandle) -> Vec<&'a str> {
        let others =
            self.models.iter().flat_map(|model| std::iter::once(model.id()).chain(model.fallbacks()));
        inner.fallbacks().into_iter().chain(others).collect()
    }

    /// The report of each of the models, those of the others with their name.
    fn check_tools(&self, inner: &ModelHandle, tools: &ToolSet, options: &ModelSettings) -> SchemaReport {
        let mut check = inner.check_tools(tools, options);
        for model in &self.models {
            let mut other = model.check_tools(tools, options);
            let words = other.loosened.iter_mut().map(|loosened| &mut loosened.why);
            for why in words.chain(other.refused.iter_mut().map(|refused| &mut refused.why)) {
                *why = format!("{}: {why}", model.id());
            }
            check.extend(other);
        }
        check
    }

    fn stream(&self, inner: &ModelHandle, request: ChatRequest) -> ChunkStream {
        let (chain, first) = (self.clone(), inner.clone());
        Box::pin(async_stream::stream! {
            let mut failures: Vec<Degradation> = Vec::new();
            let mut lost = Vec::new();
            let mut stream = first.stream(request.clone());
            let mut asked = &first;
            let mut next = chain.models.iter();
            let mut errors: Vec<(String, ProviderError)> = Vec::new();
            loop {
                let error = match stream.next().await {
                    None => return,
                    Some(Err(error)) if !error.is_after_output() => error,
                    // The first chunk decides; what follows is this model's.
                    Some(chunk) => {
                        failures.extend(lost);
                        let spent = spent_in(&errors);
                        let told = |chunk: StreamChunk| told(chunk, &failures);
                        yield spent.told(chunk.map(told), first.id(), asked.id());
                        while let Some(chunk) = stream.next().await {
                            yield spent.told(chunk.map(told), first.id(), asked.id());
                        }
                        return;
                    }
                };
                let (kind, switches) = (error.kind(), (chain.switches)(&error));
                errors.push((asked.id().to_owned(), error));
                let Some(model) = next.next().filter(|_| switches) else {
                    if let Some(error) = failure_of(errors, first.id()) {
                        yield Err(error);
                    }
                    return;
                };
                tracing::warn!(failed = asked.id(), error = kind.as_str(), asking = model.id(), "another model is asked");
                let note = format!("{} failed ({kind}); {} answered", asked.id(), model.id());
                failures.push(Degradation::new("model", note));
                lost = Vec::new();
                stream = match chain.rerouted(request.clone(), model).await {
                    Ok((request, without)) => {
                        lost = without;
                        model.stream(request)
                    }
                    Err(error) => Box::pin(futures_util::stream::iter([Err(error)])),
                };
                asked = model;
            }
        })
    }
}

/// The failure of models of which none answered: the first that may pass, so that whoever asks again is told so, or else
/// the last, as after a cancellation. It names those of the others, and counts their tokens.
fn failure_of(mut errors: Vec<(String, ProviderError)>, asked: &str) -> Option<ProviderError> {
    let last = errors.len().checked_sub(1)?;
    let is_cancelled = errors.last().is_some_and(|(_, error)| error.kind() == ErrorKind::Cancelled);
    let passing = errors.iter().position(|(_, error)| error.is_retryable());
    let told = passing.filter(|_| !is_cancelled).unwrap_or(last);
    let (model, error) = errors.remove(told);
    if errors.is_empty() {
        return Some(error);
    }
    let others: String =
        errors.iter().map(|(model, error)| format!("; {model} failed ({})", error.kind())).collect();
    let message = [error.message(), &others].concat();
    Some(spent_in(&errors).failed(error, asked, &model).with_message(message))
}

/// The tokens of models that failed.
fn spent_in(errors: &[(String, ProviderError)]) -> Earlier {
    let mut spent = Earlier::default();
    errors.iter().for_each(|(model, error)| spent.add_failed(model, error));
    spent
}

/// The end says which models did not answer, and what the one that did lacks.
fn told(mut chunk: StreamChunk, failures: &[Degradation]) -> StreamChunk {
    if let StreamChunk::Done(completion) = &mut chunk {
        completion.degradations.extend_from_slice(failures);
    }
    chunk
}

/// Where nothing is kept.
struct Nowhere;

impl DocumentStore for Nowhere {
    fn id(&self) -> &str {
        "nowhere"
    }

    fn put<'a>(&'a self, _: &'a Document) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async { Err(nothing()) })
    }

    fn get<'a>(&'a self, _: &'a DocumentId) -> BoxFuture<'a, Result<Bytes, StoreError>> {
        Box::pin(async { Err(nothing()) })
    }

    fn delete<'a>(&'a self, _: &'a DocumentId) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async { Ok(()) })
    }
}

fn nothing() -> StoreError {
    StoreError::new(StoreErrorKind::NotFound, "this fallback was given no document store")
}
