//! An MCP server of ours, before it is served.

use std::fmt;
use std::sync::Arc;

use attache_agent::{Agent, BuildError, Tools};
use attache_core::{BoxFuture, Document};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Semaphore;

use super::agent::McpAgent;
use super::call_state::CallState;
use super::handler::Handler;
use super::http::McpHttp;
use super::limits::McpServeLimits;
use super::prompt::McpPrompt;
use super::resources::McpResources;
use super::shared::{Offer, Shared};
use super::stdio::{self, McpServeError, Read, Write};
use super::template::McpTemplate;
use super::toolbox::Toolbox;

/// Tools and agents of yours as an MCP server.
///
/// ```no_run
/// use attache_agent::{Agent, Tools, tool_fn};
/// use attache_mcp::McpService;
///
/// # async fn example(model: attache_core::ModelHandle) -> Result<(), Box<dyn std::error::Error>> {
/// // Each tool is a tool of the server …
/// let tools = Tools::new().with(tool_fn("now", "Tells the time", || Ok("12:00")));
/// McpService::tools(tools)?.serve_stdio().await?;
///
/// // … or an agent is, as a whole.
/// let agent = Agent::builder(model).system("You keep the books.").build()?;
/// McpService::agent("ask", "Answers questions about the books", agent).http().serve("127.0.0.1:8080").await?;
/// # Ok(()) }
/// ```
///
/// It speaks all versions of the protocol from 2024-11-05 to 2026-07-28. Documents of results are images, sound, and
/// resources with their type and name; large ones are links that the same client may read. A call that needs an approval,
/// or that asks the user, does so by elicitation.
#[must_use]
pub struct McpService {
    shared: Shared,
}

impl McpService {
    /// A server of that name, without tools.
    pub fn new(name: impl Into<String>) -> Self {
        let state = CallState::default();
        Self {
            shared: Shared {
                name: name.into(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                instructions: None,
                offers: Vec::new(),
                resources: McpResources::new(),
                templates: Vec::new(),
                prompts: Vec::new(),
                principal: Arc::from("local"),
                calls: Semaphore::new(state.limits.calls),
                state,
            },
        }
    }

    /// A server of these tools.
    ///
    /// # Errors
    /// See [`with_tools`](Self::with_tools).
    pub fn tools(tools: Tools) -> Result<Self, BuildError> {
        Self::new("attache").with_tools(tools)
    }

    /// A server of an agent, which is one tool of that name.
    pub fn agent(name: impl Into<String>, description: impl Into<String>, agent: Agent) -> Self {
        Self::new("attache").with_agent(McpAgent::new(name, description, agent))
    }

    /// Adds tools: each is one of the server, under its name. Tools whose calls the caller answers are left out. Of two of
    /// one name the one that was added first is offered.
    ///
    /// # Errors
    /// The tools cannot be offered; see [`AgentBuilder::build`](attache_agent::AgentBuilder::build).
    pub fn with_tools(self, tools: Tools) -> Result<Self, BuildError> {
        Ok(self.with_tools_of(Agent::without_model().tool_set(tools).build()?))
    }

    /// Adds the tools of an agent, with its policy, its hooks, its store, and the values that it gives them. Its model is not
    /// asked.
    pub fn with_tools_of(mut self, agent: Agent) -> Self {
        self.shared.offers.push(Offer::Tools(Box::new(Toolbox::new(agent))));
        self
    }

    /// Adds an agent as one tool.
    pub fn with_agent(mut self, agent: McpAgent) -> Self {
        self.shared.offers.push(Offer::Agent(Box::new(agent)));
        self
    }

    /// Adds a document that every client may read as a resource at this address.
    pub fn with_resource(self, uri: impl Into<String>, document: Document) -> Self {
        self.shared.resources.set(uri, document);
        self
    }

    /// Serves these documents as resources, in place of those that were set before. A program that keeps a clone of
    /// them may change them meanwhile.
    pub fn with_resources(mut self, resources: &McpResources) -> Self {
        self.shared.resources = resources.clone();
        self
    }

    /// Adds documents at addresses of one form, which are read when a client asks for one.
    pub fn with_template(mut self, template: McpTemplate) -> Self {
        self.shared.templates.push(template);
        self
    }

    /// Adds a prompt, which clients offer to their users. Of two of one name the one that was added first is offered.
    pub fn with_prompt(mut self, prompt: McpPrompt) -> Self {
        if !self.shared.prompts.iter().any(|known| known.name() == prompt.name()) {
            self.shared.prompts.push(prompt);
        }
        self
    }

    /// Sets the version that clients are told; that of this crate by default.
    pub fn with_version(mut self, version: impl Into<String>) -> Self {
        self.shared.version = version.into();
        self
    }

    /// Tells clients what the server is for.
    pub fn with_instructions(mut self, text: impl Into<String>) -> Self {
        self.shared.instructions = Some(text.into());
        self
    }

    /// Sets on whose behalf calls work where nobody says it: those over stdio, and over HTTP without
    /// [bearers](McpHttp::with_bearer). `local` by default.
    pub fn with_principal(mut self, principal: impl Into<Arc<str>>) -> Self {
        self.shared.principal = principal.into();
        self
    }

    /// Sets the bounds.
    pub fn with_limits(mut self, limits: McpServeLimits) -> Self {
        self.shared.state.limits = limits;
        self.shared.calls = Semaphore::new(limits.calls.min(Semaphore::MAX_PERMITS));
        self
    }

    /// Serves the standard streams until the client closes them. Nothing else may write to stdout meanwhile: log to
    /// stderr.
    ///
    /// # Errors
    /// See [`serve`](Self::serve).
    ///
    /// # Cancellation
    /// Dropping the future ends the session, and cancels its calls.
    pub async fn serve_stdio(self) -> Result<(), McpServeError> {
        self.serve(tokio::io::stdin(), tokio::io::stdout()).await
    }

    /// Serves one client over streams of lines, until it closes them. Its calls then have 5 s to end, and are cancelled.
    ///
    /// # Errors
    /// [`McpServeError`] if the client begins with something else than the protocol says.
    ///
    /// # Cancellation
    /// Dropping the future ends the session, and cancels its calls.
    pub async fn serve<R, W>(self, read: R, write: W) -> Result<(), McpServeError>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        self.serve_boxed(Box::new(read), Box::new(write)).await
    }

    /// A border: see ADR 0053.
    fn serve_boxed(self, read: Read, write: Write) -> BoxFuture<'static, Result<(), McpServeError>> {
        let limit = self.shared.state.limits.message_bytes;
        Box::pin(stdio::serve(Handler::of_process(Arc::new(self.shared)), read, write, limit))
    }

    /// The server over streamable HTTP: a service of `tower`, to be mounted or bound.
    pub fn http(self) -> McpHttp {
        McpHttp::new(Arc::new(self.shared))
    }
}

impl fmt::Debug for McpService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpService").field("name", &self.shared.name).finish_non_exhaustive()
    }
}
