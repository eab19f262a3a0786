//! `attache mcp` alone: the agent of `attache ask`, or its tools, as an MCP server.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use attache_mcp::{McpAgent, McpHttp, McpServeError, McpService};
use attache_models::Registry;

use crate::args::Served;
use crate::ask::build::{Wanted, build, folders};
use crate::config_files::Config;
use crate::config_tools::Outside;
use crate::exit::Exit;
use crate::model_by_name::{self, OFFLINE, SetupError};
use crate::output::{fail, line, with_causes};
use crate::signals::LookedAfter;

/// The variable that holds the token of clients over HTTP. It is no option: everybody on a machine sees those.
const TOKEN: &str = "ATTACHE_MCP_TOKEN";
/// The names of this machine.
const LOCAL: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

const ABOUT_FILES: &str = "Answers a question from the files that this server may read, and from documents that come with \
    the question, briefly, with figures, quotes and the files that they come from";
const ABOUT_DOCUMENTS: &str = "Answers a question from the documents that come with it, briefly, with figures, quotes and \
    the documents that they come from";

/// Serves until the client is gone, or somebody ends the process. Stdout belongs to the protocol.
pub(crate) async fn run(served: &Served, registry: &Registry, config: &Config) -> Exit {
    match done(served, registry, config).await {
        Ok(exit) => exit,
        Err((exit, problem)) => {
            fail(&problem);
            exit
        }
    }
}

async fn done(served: &Served, registry: &Registry, config: &Config) -> Result<Exit, (Exit, String)> {
    let setup = |error: SetupError| (Exit::Setup, error.to_string());
    let token = token();
    if let Some(address) = served.http.filter(|address| !address.ip().is_loopback() && token.is_none()) {
        let problem =
            format!("{address} can be reached from elsewhere: set {TOKEN} to the token of its clients");
        return Err((Exit::Setup, problem));
    }
    if let Some(notice) = config.notice() {
        line(&notice);
    }
    let registry = model_by_name::at(registry, served.model.base_url.as_deref());
    // Tools alone need no model, and this one needs no key.
    let name =
        if served.tools { OFFLINE } else { model_by_name::chosen(&registry, served.model.name.as_deref()) };
    let folders = folders(&served.opened, config, true).await.map_err(setup)?;
    let mut wanted = Wanted::new(name, &served.model, config);
    // Clients send the addresses of documents.
    wanted.fetches = true;
    wanted.asks_user = name != OFFLINE;
    wanted.permitted = served.permitted.clone();
    wanted.outside = Outside::connected(config, false).await.told();
    let agent = build(&wanted, &folders, &registry).map_err(setup)?;
    if let Some(notice) = model_by_name::notice(agent.model().id()).filter(|_| !served.tools) {
        line(&notice);
    }
    let service = McpService::new("attache");
    let service = match served.tools {
        true => service.with_tools_of(agent),
        false => {
            let about = if folders.is_some() { ABOUT_FILES } else { ABOUT_DOCUMENTS };
            service.with_agent(McpAgent::new("ask", about, agent))
        }
    };
    let serving = async {
        match served.http {
            Some(address) => listen(http(service, served, token), address).await,
            None => service.serve_stdio().await,
        }
    };
    // Servers of the configuration are left as at every end: they may do something before theirs.
    let signals = LookedAfter::all();
    let result = tokio::select! {
        result = serving => result.map(|()| Exit::Done),
        exit = signals.asked() => Ok(exit),
    };
    wanted.outside.close().await;
    result.map_err(|error| (Exit::Failed, with_causes(&error)))
}

/// The token of clients over HTTP, if there is one. A variable that is empty is none.
fn token() -> Option<String> {
    std::env::var(TOKEN).ok().filter(|token| !token.is_empty())
}

/// The server over HTTP, for clients that have the token.
fn http(service: McpService, served: &Served, token: Option<String>) -> McpHttp {
    let own = served.http.map(|address| address.ip()).filter(|ip| !ip.is_unspecified());
    let hosts = LOCAL.map(str::to_owned).into_iter().chain(own.map(|ip| ip.to_string()));
    let http = service.http().with_hosts(hosts.chain(served.host.iter().cloned()));
    let Some(token) = token else { return http };
    let token: Arc<str> = token.into();
    http.with_bearer(move |given| {
        let is_it = is_same(given.as_bytes(), token.as_bytes());
        async move { is_it.then(|| "token".to_owned()) }
    })
}

async fn listen(http: McpHttp, address: SocketAddr) -> Result<(), McpServeError> {
    let listener = http.bind(address).await.map_err(|error| match error {
        McpServeError::Listen(error) => io::Error::new(error.kind(), format!("{address}: {error}")).into(),
        error => error,
    })?;
    line(&format!("· serving http://{}/mcp; Ctrl-C ends it", listener.address()));
    listener.serve().await;
    Ok(())
}

/// True if two secrets are the same. The time that it takes says nothing about where they differ.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    let differing = one.iter().zip(other).fold(0, |bits, (one, other)| bits | (one ^ other));
    one.len() == other.len() && differing == 0
}
