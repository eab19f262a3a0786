//! Reads the files that agents name by their addresses.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use attache_core::fetcher::{FetchError, FetchErrorKind, Fetched, Fetcher};
use attache_core::{BoxFuture, ErrorKind};
use attache_transport::{RequestParts, named_file, percent_decoded, redirected, said_media_type};
use http::header::{ACCEPT, ACCEPT_ENCODING, LOCATION};
use tokio::time::{Instant, timeout_at};

use super::agent::A2aAgent;
use super::failure::Failure;
use super::file::{SCHEME, is_file_of};
use super::send::{Way, body};

/// The time that a file may take.
const LIMIT: Duration = Duration::from_secs(60);

/// Fetches the files that agents name by their addresses, where the model is to see them.
///
/// The files that an agent names itself at its own address or below, or at an origin that you trust like it, are asked
/// for with what the agent was given: its token goes nowhere else, and nobody else has it sent, since such a document
/// says whose it is (`a2a-file://ALIAS/ADDRESS`). Where an agent leads to another origin, the other fetcher follows. All others are for the other fetcher, which has guards and no
/// credentials.
///
/// ```
/// use attache_a2a::{A2aAgent, A2aFetcher};
/// let leases = A2aAgent::at("leases", "https://leases.example");
/// let fetcher = A2aFetcher::new([leases.clone()]).or(attache_transport::GuardedFetcher::new());
/// # let _ = fetcher;
/// ```
#[derive(Clone)]
pub struct A2aFetcher {
    agents: Vec<A2aAgent>,
    others: Option<Arc<dyn Fetcher>>,
}

impl A2aFetcher {
    /// A fetcher for the files of these agents, of as many bytes as their messages may have.
    pub fn new(agents: impl IntoIterator<Item = A2aAgent>) -> Self {
        Self { agents: agents.into_iter().collect(), others: None }
    }

    /// Fetches all other addresses.
    #[must_use]
    pub fn or(mut self, others: impl Fetcher + 'static) -> Self {
        self.others = Some(Arc::new(others));
        self
    }

    async fn read(&self, agent: &A2aAgent, url: &str) -> Result<Fetched, FetchError> {
        let config = agent.config();
        let way = Way::new(config);
        let end = Instant::now() + LIMIT;
        let parts =
            RequestParts::get(url).with_header(ACCEPT, "*/*").with_header(ACCEPT_ENCODING, "identity");
        let reply = way.send(config, parts, end).await.map_err(|failure| failed(&failure))?;
        // A store of the agent's, say, which wants none of what the agent was given.
        if reply.status().is_redirection()
            && let Some(others) = &self.others
            && let Some(location) = reply.headers().get(LOCATION)
            && let Ok(elsewhere) = redirected(url, location.as_bytes())
            && !Way::is_own(config, &elsewhere)
        {
            let fetched = timeout_at(end, others.fetch(&elsewhere)).await;
            let late = FetchError::new(FetchErrorKind::Timeout, "its agent's store takes too long");
            return fetched.unwrap_or(Err(late));
        }
        let (said, name) = (said_media_type(reply.headers()), named_file(reply.headers()));
        let bytes = body(config, reply, end).await.map_err(|failure| failed(&failure))?;
        let written = said.as_ref().map(ToString::to_string).unwrap_or_default();
        let bytes = config.redactor().given_only().redact_file(bytes, &written);
        Ok(Fetched::new(bytes).with_media_type(said).with_file_name(name))
    }
}

impl Fetcher for A2aFetcher {
    fn fetch<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<Fetched, FetchError>> {
        Box::pin(async move {
            let refused = |text| Err(FetchError::new(FetchErrorKind::Refused, text));
            match (url.strip_prefix(SCHEME), &self.others) {
                (Some(named), _) => {
                    let (alias, file) = named.split_once('/').unwrap_or((named, ""));
                    let text = |part: &str| String::from_utf8_lossy(&percent_decoded(part)).into_owned();
                    let (alias, file) = (text(alias), text(file));
                    let own = self.agents.iter().find(|agent| agent.alias() == alias);
                    match own.filter(|agent| is_file_of(agent.config(), &file)) {
                        Some(agent) => self.read(agent, &file).await,
                        None => refused("its agent is not known, or has no such file"),
                    }
                }
                (None, Some(others)) => others.fetch(url).await,
                (None, None) => refused("its address is not fetched"),
            }
        })
    }
}

fn failed(failure: &Failure) -> FetchError {
    let (kind, text) = match failure {
        Failure::Late => (FetchErrorKind::Timeout, "its agent takes too long"),
        Failure::Unreached(error) if error.kind() == ErrorKind::Timeout => {
            (FetchErrorKind::Timeout, "its agent takes too long")
        }
        Failure::TooLarge => (FetchErrorKind::TooLarge, "it has more bytes than are fetched"),
        Failure::Unreached(_) | Failure::Cut(_) => {
            (FetchErrorKind::Unavailable, "its agent is not available")
        }
        Failure::Malformed(_) => (FetchErrorKind::Malformed, "its agent's answer is none that is known"),
        Failure::Refused { .. } | Failure::Status { .. } | Failure::Forbidden(_) => {
            (FetchErrorKind::NotFound, "its agent does not give it")
        }
    };
    FetchError::new(kind, text)
}

impl fmt::Debug for A2aFetcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("A2aFetcher").field("agents", &self.agents).finish_non_exhaustive()
    }
}
