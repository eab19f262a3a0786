//! Logins at HTTP servers: tokens that a person, or the program itself, is given for them (OAuth 2.1).

mod address;
mod challenge;
mod discovery;
mod error;
mod exchange;
mod login;
mod loopback;
mod renewal;
mod settings;
mod tokens;
mod wire;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use attache_core::Secret;
use attache_transport::{HttpClient, RequestParts};
use http::header::ACCEPT;
use http::{HeaderMap, StatusCode};
use serde_json::json;

pub use error::McpLoginError;
pub use login::McpLogin;
pub use tokens::{FileTokens, McpGrant, McpTokens, MemoryTokens};

pub(crate) use loopback::Loopback;

use self::address::{covers, resource};
use self::challenge::Challenge;
use self::discovery::Found;
use self::settings::Settings;
use self::wire::Web;

/// The right to renew a token while nobody is there.
const OFFLINE: &str = "offline_access";

/// The way in which a program logs in to a server, with the store of what it is given.
///
/// ```
/// use attache_mcp::{FileTokens, McpEndpoint, McpOAuth};
/// let oauth = McpOAuth::new(FileTokens::new("/home/ann/.config/attache/tokens.json")).name("lease reader");
/// let endpoint = McpEndpoint::new("https://leases.example/mcp").oauth(oauth);
/// # let _ = endpoint;
/// ```
#[derive(Clone)]
pub struct McpOAuth {
    settings: Settings,
    tokens: Arc<dyn McpTokens>,
}

impl McpOAuth {
    /// Logins whose grants are kept there.
    pub fn new(tokens: impl McpTokens) -> Self {
        let settings = Settings {
            name: "attache".to_owned(),
            client_id: None,
            client_secret: None,
            client_document: None,
            issuer: None,
            scopes: None,
            is_own: false,
        };
        Self { settings, tokens: Arc::new(tokens) }
    }

    /// Sets the name under which people see the program when they allow it.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.settings.name = name.into();
        self
    }

    /// Uses a client that the authorization server knows, in the place of a new one. Its secret goes to the
    /// [`issuer`](Self::issuer) that you name; without one, to an authorization server at the server's own origin alone,
    /// or to the one that a server on this machine names ([`McpLoginError::Elsewhere`]).
    #[must_use]
    pub fn client(mut self, id: impl Into<String>, secret: Option<Secret>) -> Self {
        (self.settings.client_id, self.settings.client_secret) = (Some(id.into()), secret);
        self
    }

    /// Names the document at an `https` address that describes the program (a client id metadata document), for
    /// authorization servers that read such.
    #[must_use]
    pub fn client_document(mut self, url: impl Into<String>) -> Self {
        self.settings.client_document = Some(url.into());
        self
    }

    /// Names the authorization server. Another that the MCP server names is refused then. This one may have a private
    /// address, where one that only the MCP server names must have a public one.
    #[must_use]
    pub fn issuer(mut self, issuer: impl Into<String>) -> Self {
        self.settings.issuer = Some(issuer.into());
        self
    }

    /// Asks for these rights, by spaces apart. By default the server says which.
    #[must_use]
    pub fn scopes(mut self, scopes: impl Into<String>) -> Self {
        self.settings.scopes = Some(scopes.into());
        self
    }

    /// The program acts for itself (client credentials): no person logs in. It needs a [`client`](Self::client) with a
    /// secret.
    #[must_use]
    pub fn client_credentials(mut self) -> Self {
        self.settings.is_own = true;
        self
    }

    /// The login of one server.
    pub(crate) fn at(self, url: &str) -> Shared {
        Shared {
            settings: self.settings,
            tokens: self.tokens,
            url: url.to_owned(),
            client: HttpClient::shared(),
            brought: false,
            state: Mutex::default(),
            turn: Arc::default(),
            keeping: tokio::sync::Mutex::default(),
        }
    }
}

impl fmt::Debug for McpOAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpOAuth").field("name", &self.settings.name).finish_non_exhaustive()
    }
}

/// The login of one server, which all its handles share.
pub(crate) struct Shared {
    pub(crate) settings: Settings,
    tokens: Arc<dyn McpTokens>,
    pub(crate) url: String,
    client: HttpClient,
    /// True if the user brought the client.
    brought: bool,
    state: Mutex<State>,
    /// One renews at a time.
    turn: Arc<tokio::sync::Mutex<()>>,
    /// One puts a grant in the place of another at a time.
    keeping: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    /// The last challenge, until somebody logs in.
    challenge: Option<Challenge>,
    /// The secrets that were in use last, to be masked.
    secrets: Vec<String>,
}

impl Shared {
    /// The same with other connections.
    pub(crate) fn over(&self, client: HttpClient, brought: bool) -> Self {
        Self {
            settings: self.settings.clone(),
            tokens: Arc::clone(&self.tokens),
            url: self.url.clone(),
            client,
            brought,
            state: Mutex::default(),
            turn: Arc::default(),
            keeping: tokio::sync::Mutex::default(),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn web(&self) -> Web<'_> {
        Web {
            client: self.client.clone(),
            server: &self.url,
            named: self.settings.issuer.as_deref(),
            brought: self.brought,
        }
    }

    fn key(&self) -> Result<String, McpLoginError> {
        resource(&self.url).ok_or(McpLoginError::Address)
    }

    /// The grant for this server, if there is one. One for another server is none.
    async fn load(&self) -> Result<Option<McpGrant>, McpLoginError> {
        let grant = self.tokens.load(&self.key()?).await.map_err(McpLoginError::Store)?;
        let grant = grant.filter(|grant| covers(&grant.resource, &self.url));
        self.lock().secrets = grant.iter().flat_map(secrets).collect();
        Ok(grant)
    }

    /// The secrets that the server was given.
    pub(crate) fn secrets(&self) -> Vec<String> {
        self.lock().secrets.clone()
    }

    /// True if the server asked for a login since the last one.
    pub(crate) fn is_wanted(&self) -> bool {
        self.lock().challenge.is_some()
    }

    /// The token for a request, renewed if it ends soon and another is to be had; nothing if nobody is logged in.
    pub(crate) async fn token(self: &Arc<Self>) -> Result<Option<Secret>, McpLoginError> {
        let grant = match self.load().await? {
            Some(grant) if grant.is_fresh() => Some(grant),
            known => match self.renewed(known.map(|grant| grant.access_token), None).await {
                Ok(Some(grant)) => Some(grant),
                // The one that is kept is good to its end. After a logout there is none.
                none => match self.load().await?.filter(McpGrant::is_good) {
                    Some(grant) => Some(grant),
                    None => none?,
                },
            },
        };
        Ok(grant.map(|grant| Secret::new(grant.access_token)))
    }

    /// Notes that a server wants a login, if it refused a request for want of one.
    pub(crate) fn wanted(&self, status: StatusCode, headers: &HeaderMap) {
        if let Some(challenge) = challenged(status, headers) {
            self.note(challenge);
        }
    }

    /// Notes a challenge, beside which one for more rights stays.
    fn note(&self, challenge: Challenge) {
        let mut state = self.lock();
        let lacks_rights = state.challenge.as_ref().is_some_and(Challenge::lacks_rights);
        if !lacks_rights || challenge.lacks_rights() {
            state.challenge = Some(challenge);
        }
    }

    /// Notes that a server refused a request. A token to try it again with, if there is another.
    pub(crate) async fn refused(
        self: &Arc<Self>,
        status: StatusCode,
        headers: &HeaderMap,
        sent: Option<&Secret>,
    ) -> Result<Option<Secret>, McpLoginError> {
        let Some(challenge) = challenged(status, headers) else { return Ok(None) };
        if challenge.lacks_rights() && !self.settings.is_own {
            // A new token would have the same rights.
            self.note(challenge);
            return Ok(None);
        }
        let old = sent.map(|sent| sent.expose().to_owned());
        let new = self.renewed(old, Some(challenge.clone())).await;
        // Nobody need log in where there is another token.
        if !matches!(new, Ok(Some(_))) {
            self.note(challenge);
        }
        Ok(new?.map(|grant| Secret::new(grant.access_token)))
    }

    /// The last challenge of the server, or the one to a request without a token.
    pub(crate) async fn challenge(&self) -> Result<Challenge, McpLoginError> {
        if let Some(challenge) = self.lock().challenge.clone() {
            return Ok(challenge);
        }
        let body = json!({"jsonrpc": "2.0", "id": 0, "method": "ping"}).to_string().into_bytes();
        let both = "application/json, text/event-stream";
        let request = RequestParts::post_json(&*self.url, body).with_header(ACCEPT, both);
        let reply = self.client.answer(&request).await.map_err(|_| McpLoginError::Unreachable)?;
        Ok(Challenge::of(reply.headers()).unwrap_or_default())
    }

    /// The rights to ask for: those that the server wants now, or is known to have. Those that were given stay, where it
    /// wants more.
    pub(crate) async fn scope(
        &self,
        challenge: &Challenge,
        found: &Found,
    ) -> Result<Option<String>, McpLoginError> {
        let own = self.settings.scopes.clone();
        let Some(wanted) = challenge.scope.clone().or_else(|| own.clone()).or_else(|| found.scopes.clone())
        else {
            return Ok(None);
        };
        let given = match challenge.lacks_rights() {
            true => self.load().await?.and_then(|grant| grant.scope),
            false => None,
        };
        let offline = found.issuer.scopes_supported.iter().flatten().any(|scope| scope == OFFLINE);
        let offline = (offline && !self.settings.is_own).then(|| OFFLINE.to_owned());
        let sources = [Some(wanted), own, given, offline];
        let mut all: Vec<&str> = Vec::new();
        for scope in sources.iter().flatten().flat_map(|scopes| scopes.split_whitespace()) {
            if !all.contains(&scope) {
                all.push(scope);
            }
        }
        Ok((!all.is_empty()).then(|| all.join(" ")))
    }
}

/// The challenge of an answer, if it refuses a request for want of a token or of rights.
fn challenged(status: StatusCode, headers: &HeaderMap) -> Option<Challenge> {
    let challenge = Challenge::of(headers);
    let lacks_rights = challenge.as_ref().is_some_and(Challenge::lacks_rights);
    let wants = status == StatusCode::UNAUTHORIZED || status == StatusCode::FORBIDDEN && lacks_rights;
    wants.then(|| challenge.unwrap_or_default())
}

fn secrets(grant: &McpGrant) -> Vec<String> {
    let client = grant.client.secret.clone();
    [Some(grant.access_token.clone()), grant.refresh_token.clone(), client].into_iter().flatten().collect()
}
