//! The configuration of a server, known before it is asked.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use attache_core::ModelHandle;
use attache_transport::Redactor;

use super::hook::McpHook;
use super::http::McpEndpoint;
use super::secrets::redactor;
use super::stdio::McpCommand;

/// The way to reach a server.
#[derive(Clone, Debug)]
pub(crate) enum Door {
    Command(McpCommand),
    Endpoint(McpEndpoint),
}

/// The era of the protocol that a server speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum McpEra {
    /// The server is asked. One that does not answer the question of the newer era within a sixth of
    /// [`McpLimits::connect`], 5 s of its 30 s, is taken for one of the older.
    #[default]
    Auto,
    /// A handshake and a session: versions up to 2025-11-25.
    Sessions,
    /// No handshake; each request stands for itself: version 2026-07-28 and later.
    Stateless,
}

/// The limits on the time that parts of the work with a server take, and on how much it may say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct McpLimits {
    /// Until a connection stands, the start of a child process included; 30 s. An agent waits 10 s for a list of tools,
    /// so connect a server that starts slowly beforehand ([`McpServer::connect`](crate::McpServer::connect)).
    pub connect: Duration,
    /// For a list, all its pages included; 30 s.
    pub list: Duration,
    /// For a call; 120 s.
    pub call: Duration,
    /// The maximum number of bytes of one message; 32 MiB. Larger ones are dropped, and the request that waits for one
    /// fails.
    pub message_bytes: usize,
    /// The maximum number of pages of a list; 100. All of them together hold no more bytes than a message may.
    pub pages: usize,
    /// The maximum number of tools, and the maximum number of resources or prompts in a list; 1,000.
    pub items: usize,
    /// The maximum number of blocks of content in a result; 1,000.
    pub blocks: usize,
    /// The maximum number of documents in a result; 500.
    pub documents: usize,
    /// The maximum number of characters of a tool's description; 8,000.
    pub description_chars: usize,
    /// The maximum number of bytes of a tool's schema as JSON; 256 KiB.
    pub schema_bytes: usize,
}

impl Default for McpLimits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(30),
            list: Duration::from_secs(30),
            call: Duration::from_secs(120),
            message_bytes: 32 << 20,
            pages: 100,
            items: 1_000,
            blocks: 1_000,
            documents: 500,
            description_chars: 8_000,
            schema_bytes: 256 << 10,
        }
    }
}

impl McpLimits {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the limit of connecting.
    #[must_use]
    pub fn with_connect(mut self, limit: Duration) -> Self {
        self.connect = limit;
        self
    }

    /// Sets the limit of a list.
    #[must_use]
    pub fn with_list(mut self, limit: Duration) -> Self {
        self.list = limit;
        self
    }

    /// Sets the limit of a call.
    #[must_use]
    pub fn with_call(mut self, limit: Duration) -> Self {
        self.call = limit;
        self
    }

    /// Sets the maximum number of bytes of one message.
    #[must_use]
    pub fn with_message_bytes(mut self, bytes: usize) -> Self {
        self.message_bytes = bytes;
        self
    }

    /// Sets the maximum number of tools.
    #[must_use]
    pub fn with_items(mut self, items: usize) -> Self {
        self.items = items;
        self
    }
}

/// Somebody who looks on.
#[derive(Clone)]
pub(crate) struct Hook(pub(crate) Arc<dyn McpHook>);

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hook")
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) alias: String,
    /// The family's name.
    pub(crate) name: String,
    /// The text before each tool's name.
    pub(crate) prefix: String,
    pub(crate) door: Door,
    pub(crate) era: McpEra,
    pub(crate) limits: McpLimits,
    pub(crate) only: Option<Vec<String>>,
    pub(crate) without: Vec<String>,
    /// Names of the server with the names that models see.
    pub(crate) renamed: Vec<(String, String)>,
    pub(crate) trusts_hints: bool,
    pub(crate) resources: bool,
    pub(crate) prompts: bool,
    /// Addresses of folders.
    pub(crate) roots: Vec<String>,
    /// True if it may ask people.
    pub(crate) elicitation: bool,
    /// The model that it may ask.
    pub(crate) sampling: Option<ModelHandle>,
    pub(crate) hook: Option<Hook>,
    /// True if a task that takes longer than a call becomes a deferred call.
    pub(crate) defers: bool,
    /// The time after which no result of one is taken.
    pub(crate) lifetime: Option<Duration>,
}

impl Config {
    pub(crate) fn new(alias: String, door: Door) -> Self {
        Self {
            name: format!("mcp:{alias}"),
            prefix: format!("mcp_{alias}___"),
            alias,
            door,
            era: McpEra::default(),
            limits: McpLimits::default(),
            only: None,
            without: Vec::new(),
            renamed: Vec::new(),
            trusts_hints: false,
            resources: false,
            prompts: false,
            roots: Vec::new(),
            elicitation: false,
            sampling: None,
            hook: None,
            defers: false,
            lifetime: None,
        }
    }

    /// The redactor that takes the secrets that this server was given out of texts.
    pub(crate) fn redactor(&self) -> Redactor {
        let secrets = match &self.door {
            Door::Command(command) => command.secrets(),
            Door::Endpoint(endpoint) => endpoint.secrets(),
        };
        redactor(secrets.iter().map(String::as_str))
    }

    /// True if it may ask back during a call.
    pub(crate) fn asks(&self) -> bool {
        self.elicitation || self.sampling.is_some()
    }
}
