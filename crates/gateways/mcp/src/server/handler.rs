//! One session with a client: what it may ask.
#![expect(
    deprecated,
    reason = "messages for the log are on their way out of the protocol, and clients want them"
)]

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use attache_core::{Document, fresh};
use futures_util::FutureExt;
use futures_util::future::{Either, select};
use http::request::Parts;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, GetPromptRequestParams,
    GetPromptResponse, Implementation, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, PromptsCapability, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, Reference, ServerCapabilities, ServerConfig,
    SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, SubscriptionContext};
use rmcp::{ErrorData, ServerHandler};
use tokio::sync::Semaphore;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::timeout;

use super::answer::failure;
use super::asking::{Client, is_newest};
use super::awake::{Awake, SESSION};
use super::blocks::{Blocks, contents, link};
use super::call::McpLogLevel;
use super::call_state::CallState;
use super::kept_documents::Whose;
use super::listing::page;
use super::notices::{OfRequest, OfSession, Told};
use super::prompt::McpPrompt;
use super::resources::Change;
use super::schemas::for_older;
use super::shared::{Offer, Shared};
use super::template::McpTemplate;
use super::toolbox::{Calling, described};

/// The time between two looks whether the tools have changed.
const LOOK: Duration = Duration::from_secs(5);
/// The maximum number of documents whose changes one client is told.
const WATCHED: usize = 1_000;

/// On whose behalf a request over HTTP is made.
#[derive(Clone, Debug)]
pub(super) struct Caller {
    pub(super) principal: Arc<str>,
    pub(super) may_approve: bool,
}

/// One session with a client, or one request of a client that has none.
pub(super) struct Handler {
    shared: Arc<Shared>,
    state: Arc<State>,
}

/// The state of a session.
struct State {
    shared: Arc<Shared>,
    /// The name under which it is known here.
    scope: Arc<str>,
    /// True if it is the only one of its process, whatever its requests say.
    is_process: bool,
    level: Mutex<McpLogLevel>,
    /// The addresses of documents whose changes the client wants to hear of.
    watched: Mutex<BTreeSet<String>>,
    calls: Semaphore,
    /// The conversation with each agent, by its place among the offers.
    conversations: Vec<tokio::sync::Mutex<Option<String>>>,
}

impl Drop for State {
    fn drop(&mut self) {
        self.shared.state.shelf.forget(&self.scope);
    }
}

impl Handler {
    /// A session over the streams of a process.
    pub(super) fn of_process(shared: Arc<Shared>) -> Self {
        Self::new(shared, true)
    }

    /// A session over HTTP, or one request.
    pub(super) fn of_http(shared: Arc<Shared>) -> Self {
        Self::new(shared, false)
    }

    fn new(shared: Arc<Shared>, is_process: bool) -> Self {
        let state = State {
            shared: Arc::clone(&shared),
            scope: fresh::uuid(),
            is_process,
            level: Mutex::new(McpLogLevel::Info),
            watched: Mutex::default(),
            calls: Semaphore::new(shared.state.limits.session_calls.min(Semaphore::MAX_PERMITS)),
            conversations: shared.offers.iter().map(|_| tokio::sync::Mutex::default()).collect(),
        };
        Self { shared, state: Arc::new(state) }
    }

    fn whose(&self, context: &RequestContext<RoleServer>) -> Whose {
        let parts = context.extensions.get::<Parts>();
        let caller = parts.and_then(|parts| parts.extensions.get::<Caller>());
        let principal = caller.map_or(&self.shared.principal, |caller| &caller.principal);
        let is_session =
            self.state.is_process || parts.is_some_and(|parts| parts.headers.contains_key(SESSION));
        Whose {
            principal: Arc::clone(principal),
            scope: is_session.then(|| Arc::clone(&self.state.scope)),
            may_approve: caller.is_none_or(|caller| caller.may_approve),
        }
    }

    /// Does what a request asks, while its session stays.
    async fn awake<T>(&self, request: Option<&Parts>, work: impl Future<Output = T>) -> T {
        let awake = Awake::keep(request, self.shared.state.limits.idle());
        match select(pin!(work), pin!(awake)).await {
            Either::Left((done, _)) => done,
            Either::Right((never, _)) => match never {},
        }
    }

    async fn tools(&self) -> Result<Vec<Tool>, ErrorData> {
        let mut tools: Vec<Tool> = Vec::new();
        let mut add = |tool: Tool| match tools.iter().any(|known| known.name == tool.name) {
            true => tracing::warn!(tool = %tool.name, "two tools have one name, of which one is offered"),
            false => tools.push(tool),
        };
        for offer in &self.shared.offers {
            match offer {
                Offer::Agent(agent) => add(agent.described()),
                Offer::Tools(toolbox) => {
                    let manager = toolbox.manager().await?;
                    manager.specs().for_each(|(wire, spec)| add(described(wire, spec)));
                }
            }
        }
        Ok(tools)
    }

    async fn called(
        &self,
        mut request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let limits = &self.shared.state.limits;
        let level = *self.state.level.lock().unwrap_or_else(PoisonError::into_inner);
        let whose = self.whose(&context);
        let has_session = whose.scope.is_some();
        let client = Client::new(&context, &mut request, whose, Some(level), limits.answer);
        let arguments = request.arguments.take().unwrap_or_default();
        for (offer, conversation) in self.shared.offers.iter().zip(&self.state.conversations) {
            match offer {
                Offer::Agent(agent) if agent.name() == request.name => {
                    let conversation = has_session.then_some(conversation);
                    return agent.call(&self.shared.state, &client, conversation, &arguments).await;
                }
                Offer::Agent(_) => {}
                Offer::Tools(toolbox) => {
                    let manager = toolbox.manager().await?;
                    let named = manager.specs().find(|(wire, _)| *wire == request.name);
                    if let Some((name, spec)) = named {
                        let arguments = &arguments;
                        let calling = Calling {
                            shared: &self.shared.state,
                            client: &client,
                            agent: &toolbox.agent,
                            manager: &manager,
                            spec,
                            name,
                            arguments,
                        };
                        return calling.run().await;
                    }
                }
            }
        }
        let name: String = request.name.chars().take(80).collect();
        Err(ErrorData::invalid_params(format!("Unknown tool: {name}"), None))
    }

    /// The document at an address, of whichever kind.
    async fn found(&self, whose: &Whose, uri: &str) -> Result<Option<Document>, ErrorData> {
        if let Some(document) = self.shared.resources.read(uri) {
            return Ok(Some(document));
        }
        for template in &self.shared.templates {
            let Some(values) = template.values_of(uri) else { continue };
            let reading = AssertUnwindSafe(template.read(values)).catch_unwind();
            match timeout(self.shared.state.limits.function, reading).await {
                Ok(Ok(Ok(Some(document)))) => return Ok(Some(document)),
                Ok(Ok(Ok(None))) => {}
                Ok(Ok(Err(error))) => {
                    return Err(ErrorData::internal_error(error.for_model().to_owned(), None));
                }
                Err(_) => {
                    tracing::warn!(form = template.form(), "a document took too long");
                    return Err(ErrorData::internal_error("the document could not be read in time", None));
                }
                Ok(Err(_)) => {
                    tracing::error!(form = template.form(), "a document could not be read");
                    return Err(ErrorData::internal_error("the document could not be read", None));
                }
            }
        }
        Ok(self.shared.state.shelf.read(whose, uri))
    }

    /// True if there may be a document at an address that changes.
    fn may_change(&self, uri: &str) -> bool {
        self.shared.resources.read(uri).is_some()
            || self.shared.templates.iter().any(|template| template.values_of(uri).is_some())
    }

    fn prompt(&self, name: &str) -> Result<&McpPrompt, ErrorData> {
        let found = self.shared.prompts.iter().find(|prompt| prompt.name() == name);
        found.ok_or_else(|| {
            let name: String = name.chars().take(80).collect();
            ErrorData::invalid_params(format!("Unknown prompt: {name}"), None)
        })
    }

    /// Tells a client what changes, until it is gone.
    async fn tell<T: Told>(&self, told: &T) {
        let mut changes = self.shared.resources.changes();
        let resources = async {
            loop {
                let end = match changes.recv().await {
                    Ok(Change::List) => told.list().await,
                    Ok(Change::Document(uri)) => told.document(&uri).await,
                    // Some changes are gone; each of them may have been meant.
                    Err(RecvError::Lagged(_)) => told.all().await,
                    Err(RecvError::Closed) => return,
                };
                if end.is_break() {
                    return;
                }
            }
        };
        let tools = async {
            let mut known = self.tools().await.ok();
            while self.change(&mut known, || told.is_over()).await {
                if told.tools().await.is_break() {
                    return;
                }
            }
        };
        select(pin!(resources), pin!(tools)).await;
    }

    /// Waits until the tools are others than they were, and returns false when `is_over`.
    async fn change(&self, known: &mut Option<Vec<Tool>>, is_over: impl Fn() -> bool) -> bool {
        loop {
            tokio::time::sleep(LOOK).await;
            if is_over() {
                return false;
            }
            let Ok(tools) = self.tools().await else { continue };
            let has_changed = known.as_ref().is_some_and(|known| *known != tools);
            *known = Some(tools);
            if has_changed {
                return true;
            }
        }
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let mut capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
            .enable_logging()
            .build();
        if !self.shared.prompts.is_empty() {
            capabilities.prompts = Some(PromptsCapability::default());
        }
        if !(self.shared.prompts.is_empty() && self.shared.templates.is_empty()) {
            capabilities.completions = Some(Default::default());
        }
        let Shared { name, version, instructions, .. } = &*self.shared;
        let own = Implementation::new(name.clone(), version.clone());
        let mut config = ServerConfig::new(capabilities).with_server_info(own);
        config.instructions.clone_from(instructions);
        config
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut tools = self.tools().await?;
        if !is_newest(&context) {
            tools = tools.into_iter().map(for_older).collect();
        }
        let (tools, next) = page(tools, request.as_ref(), self.shared.state.limits.page)?;
        let mut result = ListToolsResult::with_all_items(tools);
        result.next_cursor = next;
        Ok(result)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let (Ok(_one), Ok(_another)) = (self.shared.calls.try_acquire(), self.state.calls.try_acquire())
        else {
            return Ok(failure("too many calls are under way; try again when one of them is done"));
        };
        let cancelled = context.ct.clone();
        let parts = context.extensions.get::<Parts>().cloned();
        let tool = request.name.clone();
        let work = Box::pin(AssertUnwindSafe(self.called(request, context)).catch_unwind());
        match select(pin!(self.awake(parts.as_ref(), work)), pin!(cancelled.cancelled())).await {
            Either::Left((Ok(response), _)) => response,
            Either::Left((Err(_), _)) => {
                tracing::error!(%tool, "a call failed unexpectedly");
                Err(ErrorData::internal_error("the call failed unexpectedly", None))
            }
            // Nobody waits for the answer.
            Either::Right(_) => Err(ErrorData::internal_error("the call was cancelled", None)),
        }
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let own = self.shared.resources.all();
        // Others cannot be read.
        let own = own.iter().filter(|(_, document)| document.bytes().is_some());
        let mut resources: Vec<_> = own.map(|(uri, document)| link(uri, document)).collect();
        let kept = self.shared.state.shelf.list(&self.whose(&context));
        resources.extend(kept.iter().map(|(uri, document)| link(uri, document)));
        let (resources, next) = page(resources, request.as_ref(), self.shared.state.limits.page)?;
        let mut result = ListResourcesResult::with_all_items(resources);
        result.next_cursor = next;
        Ok(result)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = &request.uri;
        let whose = self.whose(&context);
        let document = self.awake(context.extensions.get(), self.found(&whose, uri)).await?;
        let bytes = document.as_ref().and_then(|document| document.bytes());
        let (Some(document), Some(bytes)) = (document, bytes) else {
            let data = serde_json::json!({"uri": uri});
            return Err(ErrorData::resource_not_found("there is no such resource, or no more", Some(data)));
        };
        Ok(ReadResourceResult::new(vec![contents(uri, &document, &bytes)]).into())
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        *self.state.level.lock().unwrap_or_else(PoisonError::into_inner) =
            McpLogLevel::from_wire(request.level);
        Ok(())
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates = self.shared.templates.iter().map(McpTemplate::described).collect();
        let (templates, next) = page(templates, request.as_ref(), self.shared.state.limits.page)?;
        let mut result = ListResourceTemplatesResult::with_all_items(templates);
        result.next_cursor = next;
        Ok(result)
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let prompts = self.shared.prompts.iter().map(McpPrompt::described).collect();
        let (prompts, next) = page(prompts, request.as_ref(), self.shared.state.limits.page)?;
        let mut result = ListPromptsResult::with_all_items(prompts);
        result.next_cursor = next;
        Ok(result)
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let (prompt, whose) = (self.prompt(&request.name)?, self.whose(&context));
        let CallState { shelf, limits, .. } = &self.shared.state;
        let made = prompt.get(request, Blocks::new(shelf, &whose, limits));
        let made = timeout(limits.function, AssertUnwindSafe(made).catch_unwind());
        match self.awake(context.extensions.get(), made).await {
            Ok(Ok(made)) => made,
            Ok(Err(_)) => {
                tracing::error!(prompt = prompt.name(), "a prompt could not be made");
                Err(ErrorData::internal_error("the prompt could not be made", None))
            }
            Err(_) => {
                tracing::warn!(prompt = prompt.name(), "a prompt took too long");
                Err(ErrorData::internal_error("the prompt could not be made in time", None))
            }
        }
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let (name, typed) = (&request.argument.name, &request.argument.value);
        let completed = match &request.r#ref {
            Reference::Prompt(prompt) => self.prompt(&prompt.name)?.values.complete(name, typed),
            Reference::Resource(resource) => {
                let template = self.shared.templates.iter().find(|known| known.form() == resource.uri);
                let unknown = || ErrorData::invalid_params("there is no such template", None);
                template.ok_or_else(unknown)?.values.complete(name, typed)
            }
            _ => return Err(ErrorData::invalid_params("there is nothing of that kind to complete", None)),
        };
        Ok(CompleteResult::new(completed))
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        // A document of a result never changes, and is there for its own client alone.
        let is_kept = || self.shared.state.shelf.read(&self.whose(&context), &request.uri).is_some();
        if !self.may_change(&request.uri) && !is_kept() {
            let data = serde_json::json!({"uri": request.uri});
            return Err(ErrorData::resource_not_found("there is no such resource", Some(data)));
        }
        let mut watched = self.state.watched.lock().unwrap_or_else(PoisonError::into_inner);
        if watched.len() >= WATCHED && !watched.contains(&request.uri) {
            return Err(ErrorData::invalid_params("there are too many subscriptions", None));
        }
        watched.insert(request.uri);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.state.watched.lock().unwrap_or_else(PoisonError::into_inner).remove(&request.uri);
        Ok(())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.tell(&OfSession { peer: context.peer, watched: &self.state.watched }).await;
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let mut accepted = SubscriptionFilter::new();
        accepted.tools_list_changed = requested.tools_list_changed;
        accepted.resources_list_changed = requested.resources_list_changed;
        let watched = requested.resource_subscriptions.iter().flatten().filter(|uri| self.may_change(uri));
        let watched: Vec<String> = watched.take(WATCHED).cloned().collect();
        accepted.resource_subscriptions = (!watched.is_empty()).then_some(watched);
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let told = OfRequest(&context);
        let telling = self.tell(&told);
        select(pin!(telling), pin!(context.cancelled())).await;
        Ok(())
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.shared.offers.iter().find_map(|offer| match offer {
            Offer::Agent(agent) => (agent.name() == name).then(|| agent.described()),
            Offer::Tools(toolbox) => toolbox.known(name),
        })
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [rmcp::model::ProtocolVersion]> {
        Cow::Borrowed(rmcp::model::ProtocolVersion::KNOWN_VERSIONS)
    }
}
