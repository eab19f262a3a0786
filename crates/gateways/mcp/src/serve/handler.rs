//! One session with a client: what it may ask.
#![expect(
    deprecated,
    reason = "messages for the log are on their way out of the protocol, and clients want them"
)]

use std::borrow::Cow;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use attache_core::fresh;
use futures_util::FutureExt;
use futures_util::future::{Either, select};
use http::request::Parts;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, Implementation, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
    ServerCapabilities, ServerConfig, SetLevelRequestParams, SubscriptionFilter, Tool,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, SubscriptionContext};
use rmcp::{ErrorData, ServerHandler};
use tokio::sync::Semaphore;

use super::answer::failure;
use super::asking::Client;
use super::blocks::{contents, link};
use super::call::McpLogLevel;
use super::listing::page;
use super::shared::{Offer, Shared};
use super::shelf::Whose;
use super::toolbox::{Calling, described};

/// The time between two looks whether the tools have changed.
const LOOK: Duration = Duration::from_secs(5);
/// The header that names a session over HTTP.
pub(super) const SESSION: &str = "mcp-session-id";

/// On whose behalf a request over HTTP is made.
#[derive(Clone, Debug)]
pub(super) struct Principal(pub(super) Arc<str>);

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
            calls: Semaphore::new(shared.state.limits.session_calls.min(Semaphore::MAX_PERMITS)),
            conversations: shared.offers.iter().map(|_| tokio::sync::Mutex::default()).collect(),
        };
        Self { shared, state: Arc::new(state) }
    }

    fn whose(&self, context: &RequestContext<RoleServer>) -> Whose {
        let parts = context.extensions.get::<Parts>();
        let principal = parts.and_then(|parts| parts.extensions.get::<Principal>());
        let principal =
            principal.map_or_else(|| Arc::clone(&self.shared.principal), |known| Arc::clone(&known.0));
        let is_session =
            self.state.is_process || parts.is_some_and(|parts| parts.headers.contains_key(SESSION));
        Whose { principal, scope: is_session.then(|| Arc::clone(&self.state.scope)) }
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
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_resources()
            .enable_logging()
            .build();
        let Shared { name, version, instructions, .. } = &*self.shared;
        let mut config = ServerConfig::new(capabilities)
            .with_server_info(Implementation::new(name.clone(), version.clone()));
        config.instructions.clone_from(instructions);
        config
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let (tools, next) = page(self.tools().await?, request.as_ref(), self.shared.state.limits.page)?;
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
        let tool = request.name.clone();
        let work = Box::pin(AssertUnwindSafe(self.called(request, context)).catch_unwind());
        match select(work, pin!(cancelled.cancelled())).await {
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
        let mut resources = Vec::new();
        for offered in &self.shared.resources {
            let mut resource = link(&offered.uri, &offered.document);
            resource.description.clone_from(&offered.description);
            resources.push(resource);
        }
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
        let offered = self.shared.resources.iter().find(|offered| offered.uri == *uri);
        let document = match offered {
            Some(offered) => Some(offered.document.clone()),
            None => self.shared.state.shelf.read(&self.whose(&context), uri),
        };
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

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let mut known = self.tools().await.ok();
        while self.change(&mut known, || context.peer.is_transport_closed()).await {
            if context.peer.notify_tool_list_changed().await.is_err() {
                return;
            }
        }
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let mut accepted = SubscriptionFilter::new();
        accepted.tools_list_changed = requested.tools_list_changed;
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut known = self.tools().await.ok();
        let telling = async {
            while self.change(&mut known, || false).await {
                if context.sink().notify_tool_list_changed().await.is_err() {
                    return;
                }
            }
        };
        select(pin!(telling), pin!(context.cancelled())).await;
        Ok(())
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [rmcp::model::ProtocolVersion]> {
        Cow::Borrowed(rmcp::model::ProtocolVersion::KNOWN_VERSIONS)
    }
}
