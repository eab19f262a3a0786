//! The tools that a configuration brings, for an agent.

#![cfg_attr(
    not(all(feature = "a2a", feature = "mcp", feature = "http-tools")),
    allow(
        dead_code,
        unused_imports,
        unused_mut,
        unused_variables,
        reason = "there are fewer servers to look at"
    )
)]

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "a2a")]
use attache_a2a::{A2aAgent, A2aFetcher, A2aQuestions};
use attache_agent::{AgentBuilder, Ask, Proposal, Verdict};
use attache_config::Approvals;
use attache_core::fetcher::{FetchError, Fetched, Fetcher};
use attache_core::tool::ToolSpec;
use attache_core::{Approval, BoxFuture, Effect, Tool, ToolHandler};
#[cfg(feature = "mcp")]
use attache_mcp::{FileTokens, McpFetcher, McpOAuth, McpServer};
use attache_transport::GuardedFetcher;
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use crate::config_files::Config;
#[cfg(feature = "mcp")]
use crate::config_files::{Folder, folder};
use crate::output::{harmless, line, short, with_causes};

/// The longest text on a server that cannot be used.
const LONGEST_PROBLEM: usize = 600;
/// The user is told every so often for whom the command waits.
const PATIENCE: Duration = Duration::from_secs(3);

/// Servers and services, connected as far as they can be.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outside {
    #[cfg(feature = "mcp")]
    servers: Vec<McpServer>,
    #[cfg(feature = "a2a")]
    agents: Vec<A2aAgent>,
    #[cfg(feature = "http-tools")]
    said: Arc<attache_config::Config>,
    /// The servers that cannot be used, with the reason.
    pub(crate) failed: Vec<String>,
    /// Those servers and agents, as `mcp ALIAS` and `a2a ALIAS`.
    dead: Vec<String>,
}

impl Outside {
    /// Starts and connects everything that the configuration names, side by side. A server that fails costs its own
    /// tools alone.
    pub(crate) async fn connected(config: &Config, quiet: bool) -> Self {
        let mut outside = Self::default();
        outside.failed.extend(config.said.left_out().iter().map(|problem| format!("left out: {problem}")));
        #[cfg(feature = "http-tools")]
        {
            outside.said = Arc::clone(&config.said);
        }
        #[cfg(feature = "mcp")]
        {
            outside.servers = servers(config);
        }
        #[cfg(feature = "a2a")]
        {
            // Nobody looks at a task behind this process, and an answer that the user types goes to the model.
            let agents = config.said.a2a_agents().into_iter();
            outside.agents = agents.map(|agent| agent.defers(false).questions(A2aQuestions::Model)).collect();
        }
        let (dead, failed): (Vec<_>, Vec<_>) = outside.reached(quiet).await.into_iter().unzip();
        outside.dead = dead;
        outside.failed.extend(failed);
        outside
    }

    /// Tells people of the servers that cannot be used.
    pub(crate) fn told(self) -> Self {
        for problem in &self.failed {
            line(&format!("! {}", short(problem, LONGEST_PROBLEM)));
        }
        self
    }

    /// The tools of these servers and services that are not offered, with the reason: known once they were listed.
    pub(crate) fn left_out(&self) -> Vec<String> {
        let mut all = Vec::new();
        let mut add = |source: String, tools: Vec<String>| {
            all.extend(tools.into_iter().map(|tool| format!("{source} lacks {tool}")));
        };
        #[cfg(feature = "mcp")]
        for server in &self.servers {
            add(format!("mcp {}", server.alias()), server.left_out());
        }
        #[cfg(feature = "http-tools")]
        for service in self.services() {
            let skipped = service.skipped().iter().map(ToString::to_string).collect();
            add(format!("http {}", service.name()), skipped);
        }
        all
    }

    /// True if the configuration names servers, agents or endpoints, also such that cannot be used now.
    #[cfg(feature = "server")]
    pub(crate) fn has_tools(&self) -> bool {
        let mut any = false;
        #[cfg(feature = "mcp")]
        {
            any |= !self.servers.is_empty();
        }
        #[cfg(feature = "a2a")]
        {
            any |= !self.agents.is_empty();
        }
        #[cfg(feature = "http-tools")]
        {
            any |= !self.services().is_empty();
        }
        any
    }

    /// Without those that cannot be used now: a command that does one thing does not wait for them a second time.
    pub(crate) fn alive(mut self) -> Self {
        let dead = std::mem::take(&mut self.dead);
        #[cfg(feature = "mcp")]
        self.servers.retain(|server| !dead.contains(&format!("mcp {}", server.alias())));
        #[cfg(feature = "a2a")]
        self.agents.retain(|agent| !dead.contains(&format!("a2a {}", agent.alias())));
        self
    }

    /// Connects the servers and agents side by side, each within its own limit, and says which cannot be used.
    async fn reached(&self, quiet: bool) -> Vec<(String, String)> {
        let mut under_way: FuturesUnordered<BoxFuture<'_, (&str, &str, Option<String>)>> =
            FuturesUnordered::new();
        let mut waiting: Vec<&str> = Vec::new();
        #[cfg(feature = "mcp")]
        for server in &self.servers {
            let name = server.alias();
            waiting.push(name);
            under_way.push(Box::pin(async move {
                let problem = match server.connect().await {
                    Ok(()) => None,
                    Err(_) if server.wants_login() => {
                        Some(format!("the MCP server {name} requires a login: `attache mcp login {name}`"))
                    }
                    Err(error) => {
                        Some(format!("the MCP server {name} cannot be used: {}", error.for_model()))
                    }
                };
                ("mcp", name, problem)
            }));
        }
        #[cfg(feature = "a2a")]
        for agent in &self.agents {
            let name = agent.alias();
            waiting.push(name);
            under_way.push(Box::pin(async move {
                let failed = agent.card().await.err();
                let told =
                    failed.map(|error| format!("the A2A agent {name} cannot be used: {}", error.for_model()));
                ("a2a", name, told)
            }));
        }
        let mut failed = Vec::new();
        loop {
            match tokio::time::timeout(PATIENCE, under_way.next()).await {
                Ok(None) => return failed,
                Ok(Some((kind, name, problem))) => {
                    if let Some(at) = waiting.iter().position(|waiting| *waiting == name) {
                        waiting.remove(at);
                    }
                    failed.extend(problem.map(|problem| (format!("{kind} {name}"), problem)));
                }
                Err(_) if quiet => {}
                Err(_) => line(&harmless(&format!("· waiting for {}", waiting.join(", ")))),
            }
        }
    }

    /// The services, which were checked when the configuration was read.
    #[cfg(feature = "http-tools")]
    fn services(&self) -> Vec<attache_http_tools::HttpTools> {
        self.said.http_tools().unwrap_or_default()
    }

    /// The sources of tools, by their names.
    pub(crate) async fn sources(&self) -> HashMap<String, String> {
        let mut known = HashMap::new();
        let mut add = |source: String, specs: Vec<ToolSpec>| {
            let names = specs.into_iter().map(|spec| spec.definition.name().to_owned());
            known.extend(names.map(|name| (name, source.clone())));
        };
        // One that cannot be asked is told already.
        #[cfg(feature = "mcp")]
        for server in &self.servers {
            add(format!("mcp {}", server.alias()), server.tools().await.unwrap_or_default());
        }
        #[cfg(feature = "a2a")]
        for agent in &self.agents {
            add(format!("a2a {}", agent.alias()), agent.tools().await.unwrap_or_default());
        }
        #[cfg(feature = "http-tools")]
        for service in self.services() {
            add(format!("http {}", service.name()), service.tools().await.unwrap_or_default());
        }
        known
    }

    /// The content at the address of a document that a tool returned.
    pub(crate) async fn fetched(&self, url: &str) -> Result<Bytes, String> {
        let Some(fetcher) = self.fetcher(true) else { return Err("its content is elsewhere".to_owned()) };
        fetcher.fetch(url).await.map(|fetched| fetched.bytes).map_err(|error| with_causes(&error))
    }

    /// The agent with these tools, and with what fetches their documents.
    pub(crate) fn given(&self, mut agent: AgentBuilder, fetches: bool) -> AgentBuilder {
        #[cfg(feature = "http-tools")]
        for service in self.services() {
            agent = agent.handler(service);
        }
        #[cfg(feature = "mcp")]
        for server in &self.servers {
            agent = agent.handler(server.clone());
        }
        #[cfg(feature = "a2a")]
        for one in &self.agents {
            agent = agent.handler(one.clone());
        }
        self.fetching(agent, fetches)
    }

    /// The agent with what fetches documents of these tools, and those at public addresses if `fetches`.
    pub(crate) fn fetching(&self, agent: AgentBuilder, fetches: bool) -> AgentBuilder {
        match self.fetcher(fetches) {
            Some(fetcher) => agent.fetcher(fetcher),
            None => agent,
        }
    }

    /// The one that fetches documents of these tools, and those at public addresses if `fetches`.
    fn fetcher(&self, fetches: bool) -> Option<Links> {
        let mut links = fetches.then(|| Links(Box::new(GuardedFetcher::new())));
        #[cfg(feature = "a2a")]
        if !self.agents.is_empty() {
            let own = A2aFetcher::new(self.agents.iter().cloned());
            links = Some(Links(match links {
                Some(others) => Box::new(own.or(others)),
                None => Box::new(own),
            }));
        }
        #[cfg(feature = "mcp")]
        if !self.servers.is_empty() {
            let own = McpFetcher::new(self.servers.iter().cloned());
            links = Some(Links(match links {
                Some(others) => Box::new(own.or(others)),
                None => Box::new(own),
            }));
        }
        links
    }

    /// Ends connections and processes.
    pub(crate) async fn close(&self) {
        #[cfg(feature = "mcp")]
        for server in &self.servers {
            server.close().await;
        }
    }
}

/// A fetcher of some kind.
struct Links(Box<dyn Fetcher>);

impl Fetcher for Links {
    fn fetch<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<Fetched, FetchError>> {
        self.0.fetch(url)
    }
}

/// The MCP servers of the configuration, with the logins that are kept.
#[cfg(feature = "mcp")]
pub(crate) fn servers(config: &Config) -> Vec<McpServer> {
    config.said.mcp_servers_with(|| {
        let file = folder(Folder::Data)?.join("mcp-tokens.json");
        Some(McpOAuth::new(FileTokens::new(file)).name("attache"))
    })
}

/// The tools, of which those that the user allows by their names are not asked about, whatever they say of themselves.
pub(crate) fn allowed(tools: Vec<Arc<dyn Tool>>, approvals: &Approvals) -> Vec<Arc<dyn Tool>> {
    let unasked = |tool: Arc<dyn Tool>| -> Arc<dyn Tool> {
        match approvals.allows(tool.spec().definition.name()) {
            true => Arc::new(tool.with_metadata(|metadata| metadata.approval = Approval::Never)),
            false => tool,
        }
    };
    tools.into_iter().map(unasked).collect()
}

/// The reason for a question about a call where nobody gave one.
pub(crate) const ASKS_ITSELF: &str = "the tool itself requires approval of each call";

/// The agent that asks before what the configuration asks about; before every call, if `asks_first`.
pub(crate) fn approving(agent: AgentBuilder, approvals: Approvals, asks_first: bool) -> AgentBuilder {
    let approvals = Arc::new(approvals);
    agent.approval_policy(move |proposal: &Proposal<'_>| {
        let tool = proposal.tool;
        // The client of a server answers such a call, and asks its own user.
        let effect = if proposal.by_caller { Effect::Read } else { tool.metadata.effect };
        match approvals.verdict(tool.definition.name(), effect) {
            Verdict::Deny(why) => Verdict::Deny(why),
            _ if asks_first => Verdict::Ask(Ask::because("--ask-first requires approval of each call")),
            verdict => verdict,
        }
    })
}
