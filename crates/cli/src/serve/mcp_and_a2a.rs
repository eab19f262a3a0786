//! Other protocols beside the server's own, for the same agent and the same principals.

use attache_agent::Sessions;
use attache_config::ServerSettings;
use attache_server::Server;
#[cfg(any(feature = "a2a", feature = "mcp"))]
use attache_server::{Principal, Scope};

use crate::args::Serve;

/// The sentence by which others choose the agent.
#[cfg(any(feature = "a2a", feature = "mcp"))]
const ABOUT: &str = "Answers a question from the files that this server may read, and from documents that come with the \
    question, briefly, with figures, quotes and the files that they come from";

/// The protocols that are asked for, by flag or configuration.
#[derive(Clone, Copy, Debug)]
pub(super) struct Beside {
    mcp: bool,
    a2a: bool,
}

impl Beside {
    /// Says what is asked for, or why it cannot be had.
    pub(super) fn wanted(serve: &Serve, settings: &ServerSettings) -> Result<Self, String> {
        let mcp = serve.mcp || settings.mcp.unwrap_or(false);
        let a2a = serve.a2a || settings.a2a.unwrap_or(false);
        for (is_wanted, is_built, name) in
            [(mcp, cfg!(feature = "mcp"), "mcp"), (a2a, cfg!(feature = "a2a"), "a2a")]
        {
            if is_wanted && !is_built {
                return Err(format!("this program was built without the feature `{name}`"));
            }
        }
        if a2a && settings.public_url.is_none() {
            let problem = "A2A publishes a URL: set `public_url` in [server] to the one that clients use";
            return Err(problem.to_owned());
        }
        Ok(Self { mcp, a2a })
    }

    /// The paths, for people.
    pub(super) fn paths(self) -> impl Iterator<Item = &'static str> {
        [(self.mcp, "/mcp"), (self.a2a, "/a2a")].into_iter().filter_map(|(is_on, path)| is_on.then_some(path))
    }

    /// The server with them.
    pub(super) fn mounted(
        self,
        mut server: Server,
        sessions: &Sessions,
        settings: &ServerSettings,
    ) -> Server {
        let sessions = &server.recorded(super::agent::NAME, sessions);
        #[cfg(feature = "mcp")]
        if self.mcp {
            server = server.mount("/mcp", mcp(sessions, settings));
        }
        #[cfg(feature = "a2a")]
        if self.a2a {
            server = server.mount("/a2a", a2a(sessions, settings));
        }
        let _ = (sessions, settings, &mut server);
        server
    }
}

/// The one who asks, as the server found out.
#[cfg(any(feature = "a2a", feature = "mcp"))]
fn principal(head: &http::request::Parts) -> Option<String> {
    head.extensions.get::<Principal>().map(|who| who.name().to_owned())
}

/// True if the one who asks may do that.
#[cfg(any(feature = "a2a", feature = "mcp"))]
fn may(head: &http::request::Parts, scope: Scope) -> bool {
    head.extensions.get::<Principal>().is_some_and(|who| who.may(scope))
}

#[cfg(feature = "mcp")]
fn mcp(sessions: &Sessions, settings: &ServerSettings) -> axum::Router {
    use attache_mcp::{McpAgent, McpService};

    let agent = McpAgent::new("ask", ABOUT, sessions.agent().clone())
        .with_sessions(sessions)
        .with_documents(settings.tool_details.unwrap_or(true));
    let service = McpService::new("attache").with_agent(agent).http();
    // Names of this machine, and the one that clients have.
    let own = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
    let public = settings.public_url.as_deref().and_then(|url| url.parse::<http::Uri>().ok());
    let public = public.and_then(|url| url.host().map(str::to_owned));
    let local = ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"].map(str::to_owned);
    // A port that an origin leaves out is that of its scheme.
    let origins = settings.origins.iter().map(|origin| match origin.rsplit_once(':') {
        Some((_, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => origin.clone(),
        _ => format!("{origin}:*"),
    });
    let service = service
        .with_hosts(own.into_iter().chain(public))
        .with_origins(local.into_iter().chain(origins))
        .with_principal(principal)
        .with_approvers(|head| may(head, Scope::Approve));
    axum::Router::new().route_service("/", service)
}

#[cfg(feature = "a2a")]
fn a2a(sessions: &Sessions, settings: &ServerSettings) -> axum::Router {
    use attache_a2a::{A2aProfile, A2aServer};

    let base = settings.base_path.as_deref().unwrap_or_default().trim_matches('/');
    let public = settings.public_url.as_deref().unwrap_or_default().trim_end_matches('/');
    let url = if base.is_empty() { format!("{public}/a2a") } else { format!("{public}/{base}/a2a") };
    let name = settings.title.as_deref().unwrap_or("attache");
    let profile = A2aProfile::new(name, settings.greeting.as_deref().unwrap_or(ABOUT), url).bearer("API key");
    A2aServer::new(profile, sessions.clone())
        .store(sessions.agent().store())
        .with_documents(settings.tool_details.unwrap_or(true))
        .principal(principal)
        .readers(|head| may(head, Scope::Read))
        .router()
}
