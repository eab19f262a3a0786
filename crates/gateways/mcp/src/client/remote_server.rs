//! A server as a family of tools.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use attache_core::{BoxFuture, ModelHandle, ToolError};
use attache_transport::percent_encoded;
use rmcp::model::{
    CallToolResult, ClientRequest, ReadResourceRequest, ReadResourceRequestParams, ResourceContents,
    ServerResult,
};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::Instant;

use super::calling::Talk;
use super::config::{Config, Door, Hook, McpEra, McpLimits};
use super::connection::Link;
use super::hook::McpHook;
use super::http::McpEndpoint;
use super::lenient::Odd;
use super::listing::Catalog;
use super::oauth::{Loopback, McpGrant, McpLogin, McpLoginError, Shared};
use super::output::McpOutput;
use super::results::Reader;
use super::stdio::McpCommand;

/// An MCP server, whose tools an agent is given as one family.
///
/// It is connected when its tools are first needed, and again when the connection broke, with growing waits between
/// failures. All clones share one connection, which ends with the last of them. A server that is dead or hangs costs its
/// own tools alone.
///
/// Tools are named `mcp_ALIAS___TOOL`, so that a second server renames none of the first, and none can take the place of
/// one of yours. Names, descriptions, schemas and results come from somebody else: they are bounded, and secrets that
/// the server was given are masked in them.
///
/// ```
/// use attache_mcp::{McpCommand, McpServer};
/// let files = McpServer::command("files", McpCommand::new("mcp-server-filesystem").arg("/srv/files"))
///     .only(["read_*", "list_directory"])
///     .rename("read_media_file", "read_media");
/// # let _ = files;
/// ```
#[derive(Clone)]
pub struct McpServer {
    pub(crate) config: Arc<Config>,
    pub(crate) link: Arc<Link>,
    pub(super) catalog: Arc<Mutex<Arc<Catalog>>>,
}

impl McpServer {
    /// A server that is a child process. `alias` is a short name of yours for it, without `___` and no `_` at its end.
    pub fn command(alias: impl Into<String>, command: McpCommand) -> Self {
        Self::new(Config::new(alias.into(), Door::Command(command)))
    }

    /// A server over streamable HTTP. `alias` is a short name of yours for it, without `___` and no `_` at its end.
    pub fn http(alias: impl Into<String>, endpoint: McpEndpoint) -> Self {
        Self::new(Config::new(alias.into(), Door::Endpoint(endpoint)))
    }

    fn new(config: Config) -> Self {
        Self { config: Arc::new(config), link: Arc::default(), catalog: Arc::default() }
    }

    /// A server of another configuration, which is not connected.
    fn edit(mut self, change: impl FnOnce(&mut Config)) -> Self {
        change(Arc::make_mut(&mut self.config));
        Self { link: Arc::default(), catalog: Arc::default(), ..self }
    }

    /// Offers only the tools of these names, which are the server's own. One `*` in each stands for anything.
    #[must_use]
    pub fn only(self, tools: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.edit(|config| config.only = Some(tools.into_iter().map(Into::into).collect()))
    }

    /// Leaves out the tools of these names, written as for [`only`](Self::only), over which they take precedence.
    #[must_use]
    pub fn without(self, tools: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.edit(|config| config.without.extend(tools.into_iter().map(Into::into)))
    }

    /// Offers a tool under another name, before which the alias still stands. Another tool of the server that has that name
    /// is left out.
    #[must_use]
    pub fn rename(self, theirs: impl Into<String>, ours: impl Into<String>) -> Self {
        self.edit(|config| config.renamed.push((theirs.into(), ours.into())))
    }

    /// Believes what the server says of its tools' effects: a tool that it calls read-only may then be repeated and run
    /// beside others. By default each is taken for one with effects, since anybody can say so.
    #[must_use]
    pub fn trust_hints(self) -> Self {
        self.edit(|config| config.trusts_hints = true)
    }

    /// Adds two tools, with which a model lists and reads the server's resources.
    #[must_use]
    pub fn resources(self) -> Self {
        self.edit(|config| config.resources = true)
    }

    /// Adds two tools, with which a model lists and gets the server's prompts.
    #[must_use]
    pub fn prompts(self) -> Self {
        self.edit(|config| config.prompts = true)
    }

    /// Lets the server ask the people behind a run while it answers a call (elicitation): to fill in a form, or to open an
    /// address. It is declined where nobody is there to answer, and the model is told.
    #[must_use]
    pub fn elicitation(self) -> Self {
        self.edit(|config| config.elicitation = true)
    }

    /// Lets the server ask a model while it answers a call (sampling), with text alone, each time that a person allows
    /// it. Its cost is in no account of the run.
    #[must_use]
    pub fn sampling(self, model: impl Into<ModelHandle>) -> Self {
        let model = model.into();
        self.edit(|config| config.sampling = Some(model))
    }

    /// Says whether a call that the server works on as a task becomes a deferred call ([`Deferred::to`](attache_core::tool::Deferred::to)) where it takes
    /// longer than a call may; by default it is cancelled then. Somebody has to [`poll`](Self::poll) it.
    #[must_use]
    pub fn defers(self, defers: bool) -> Self {
        self.edit(|config| config.defers = defers)
    }

    /// Sets the time after which no result of a deferred call is taken any more. Unlimited by default.
    #[must_use]
    pub fn lifetime(self, lifetime: Duration) -> Self {
        self.edit(|config| config.lifetime = Some(lifetime))
    }

    /// Has somebody look on at the requests of calls, such as telemetry, and say what stands in their `_meta`.
    #[must_use]
    pub fn hook(self, hook: impl McpHook) -> Self {
        self.edit(|config| config.hook = Some(Hook(Arc::new(hook))))
    }

    /// Tells the server of a folder in which it may work. It is for the server to keep to it.
    #[must_use]
    pub fn root(self, folder: impl AsRef<Path>) -> Self {
        let path = folder.as_ref().to_string_lossy().replace('\\', "/");
        let steps: Vec<String> = path.split('/').map(|step| percent_encoded(step.as_bytes())).collect();
        let path = steps.join("/");
        let slash = if path.starts_with('/') { "" } else { "/" };
        self.edit(|config| config.roots.push(format!("file://{slash}{path}")))
    }

    /// Says which era of the protocol the server speaks, so that it is not asked.
    #[must_use]
    pub fn era(self, era: McpEra) -> Self {
        self.edit(|config| config.era = era)
    }

    /// Sets time limits and bounds.
    #[must_use]
    pub fn limits(self, limits: McpLimits) -> Self {
        self.edit(|config| config.limits = limits)
    }

    /// The alias.
    pub fn alias(&self) -> &str {
        &self.config.alias
    }

    /// Connects now, for a server that takes long to start or whose absence is to be known at once.
    ///
    /// # Errors
    /// [`ToolErrorKind::Unavailable`](attache_core::ToolErrorKind::Unavailable), with what is wrong.
    pub async fn connect(&self) -> Result<(), ToolError> {
        self.link.session(&self.config).await.map(drop)
    }

    /// Ends the connection, and with it a child process, as soon as no call uses it. The next call connects again.
    pub async fn close(&self) {
        self.link.close().await;
    }

    /// True if the server has asked for a login, or for one with more rights, since the last one. It needs
    /// [`McpEndpoint::oauth`].
    pub fn wants_login(&self) -> bool {
        self.shared().is_ok_and(|login| login.is_wanted())
    }

    /// Logs a person in whose browser is on this machine: `show` is given the address to open, and the answer is taken on
    /// a page of this machine, for which the person has five minutes.
    ///
    /// # Errors
    /// [`McpLoginError`].
    pub async fn login(&self, show: impl FnOnce(&str)) -> Result<McpGrant, McpLoginError> {
        let (page, redirect) = Loopback::open().await?;
        let login = self.begin_login(redirect).await?;
        show(login.address());
        let query = page.query(login.state()).await?;
        login.finish(&query).await
    }

    /// Begins a login of which the answer comes to an address of yours, the redirect address.
    ///
    /// # Errors
    /// [`McpLoginError`].
    pub async fn begin_login(&self, redirect: impl Into<String>) -> Result<McpLogin, McpLoginError> {
        McpLogin::begin(self.shared()?, Arc::clone(&self.link), redirect.into()).await
    }

    /// Forgets what a login has brought. The authorization server is not told.
    ///
    /// # Errors
    /// [`McpLoginError::Store`].
    pub async fn logout(&self) -> Result<(), McpLoginError> {
        self.shared()?.keep(None).await?;
        self.link.begin_anew().await;
        Ok(())
    }

    fn shared(&self) -> Result<&Arc<Shared>, McpLoginError> {
        match &self.config.door {
            Door::Endpoint(endpoint) => endpoint.login().ok_or(McpLoginError::NotSetUp),
            Door::Command(_) => Err(McpLoginError::NotSetUp),
        }
    }

    /// The version of the protocol that the connection speaks.
    ///
    /// # Errors
    /// As for [`connect`](Self::connect).
    pub async fn protocol_version(&self) -> Result<String, ToolError> {
        let session = self.link.session(&self.config).await?;
        Ok(session.info().map(|info| info.protocol_version.to_string()).unwrap_or_default())
    }

    /// The server's instructions for its use, for a system prompt. They come from somebody else: look at them
    /// before you put them there.
    ///
    /// # Errors
    /// As for [`connect`](Self::connect).
    pub async fn instructions(&self) -> Result<Option<String>, ToolError> {
        let session = self.link.session(&self.config).await?;
        let redactor = self.config.redactor().given_only();
        let said = session.info().and_then(|info| info.instructions.clone());
        Ok(said.map(|said| redactor.redact(&said).into_owned()))
    }

    /// The tools that the last list of the server had and that are not offered, each with the reason: too large, nested too
    /// deep, of a name that is none. Tools that [`only`](Self::only) and its like leave out are not named.
    pub fn left_out(&self) -> Vec<String> {
        self.catalog.lock().unwrap_or_else(PoisonError::into_inner).left_out.lines()
    }

    /// Reads a resource.
    ///
    /// # Errors
    /// The server is not available, does not answer in time, or has no such resource.
    pub async fn read(&self, uri: &str) -> Result<McpOutput, ToolError> {
        let read = self.read_within(uri, self.config.limits.call).await?;
        Ok(Reader::new(&self.config).resource(read))
    }

    /// A border: see ADR 0053.
    pub(crate) fn read_within<'a>(
        &'a self,
        uri: &'a str,
        limit: Duration,
    ) -> BoxFuture<'a, Result<Vec<Odd<ResourceContents>>, ToolError>> {
        let request = |answers, state| {
            let mut params = ReadResourceRequestParams::new(uri.to_owned());
            (params.input_responses, params.request_state) = (answers, state);
            ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params))
        };
        Box::pin(async move {
            let mut talk = Talk::new(&self.config, &self.link, Instant::now() + limit, None);
            match talk.ask(request, true).await? {
                ServerResult::ReadResourceResult(result) => {
                    Ok(result.contents.into_iter().map(Odd::Known).collect())
                }
                // One odd piece does not take the others away.
                ServerResult::CustomResult(mut result) => {
                    Odd::list(&mut result.0, "contents").ok_or_else(|| self.unexpected_form())
                }
                other => Err(self.unexpected(&other)),
            }
        })
    }

    /// A result of a tool, of whichever form it is.
    pub(crate) fn read_result(&self, theirs: &str, result: Value) -> Result<McpOutput, ToolError> {
        let catalog = Arc::clone(&self.catalog.lock().unwrap_or_else(PoisonError::into_inner));
        let (schema, reader) = (catalog.output(theirs), Reader::new(&self.config));
        if let Ok(result) = CallToolResult::deserialize(&result) {
            return Ok(reader.call(result, schema.as_deref()));
        }
        let shape = match &result {
            Value::Object(members) => format!("an object of {} members", members.len()),
            Value::Array(items) => format!("a list of {}", items.len()),
            _ => "a plain value".to_owned(),
        };
        reader.call_leniently(result, schema.as_deref()).ok_or_else(|| {
            tracing::debug!(server = self.config.alias, tool = theirs, shape, "an unexpected result");
            ToolError::new(format!("the server {:?} answers with no result of a tool", self.config.alias))
        })
    }

    pub(super) fn unexpected(&self, result: &ServerResult) -> ToolError {
        let alias = &self.config.alias;
        let wish = match result {
            ServerResult::InputRequiredResult(_) => "asks for an input that nobody here can give",
            ServerResult::CreateTaskResult(_) => "answers with a task, which was not asked for",
            _ => return self.unexpected_form(),
        };
        ToolError::new(format!("the server {alias:?} {wish}"))
    }

    pub(super) fn unexpected_form(&self) -> ToolError {
        let alias = &self.config.alias;
        ToolError::new(format!("the server {alias:?} answers with something else than was asked for"))
    }
}

impl fmt::Debug for McpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpServer")
            .field("alias", &self.config.alias)
            .field("door", &self.config.door)
            .finish_non_exhaustive()
    }
}
