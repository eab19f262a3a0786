//! The sections of `attache.toml`, of which its schema is made.

mod server;

use std::collections::BTreeMap;

use attache_core::schemars;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub(crate) use self::server::{Audience, JwtSection, ServerLimitsSection, ServerSection};
pub use self::server::{BusySetting, DisconnectSetting};

/// The configuration of attache: models, servers, tools, approvals, limits and stores.
///
/// `${NAME}` in a text is the value of a variable, `${NAME:-default}` has a default, `${file:PATH}` is the content of a
/// file.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[schemars(crate = "attache_core::schemars")]
#[serde(default, deny_unknown_fields)]
#[schemars(title = "attache.toml")]
pub(crate) struct Sections {
    /// Aliases of models, such as `fast = "groq/llama-3.3-70b-versatile"`. `default` is used if no model is given.
    pub(crate) models: BTreeMap<String, String>,
    /// Profiles of OpenAI-compatible servers, by name. `like` names a base profile, `base_url` sets the address.
    pub(crate) providers: BTreeMap<String, Map<String, Value>>,
    /// Capabilities of models, by family, which override the bundled table.
    pub(crate) capabilities: BTreeMap<String, Map<String, Value>>,
    /// True to upload large documents once, if the API supports files; a size sets the minimum.
    pub(crate) uploads: Option<UploadsSection>,
    /// The prices of models.
    pub(crate) prices: Option<PricesSection>,
    /// MCP servers, by their names.
    pub(crate) mcp: McpSection,
    /// A2A agents, by name.
    pub(crate) a2a: BTreeMap<String, A2aSection>,
    /// HTTP services whose endpoints are tools, by name.
    #[cfg(feature = "http-tools")]
    pub(crate) http: BTreeMap<String, attache_http_tools::HttpToolsConfig>,
    #[cfg(not(feature = "http-tools"))]
    #[schemars(skip)]
    pub(crate) http: BTreeMap<String, Value>,
    /// Tools of this machine.
    pub(crate) tools: ToolsSection,
    /// Calls of tools that somebody is asked about first.
    pub(crate) approvals: ApprovalsSection,
    /// Limits of an answer.
    pub(crate) limits: LimitsSection,
    /// The place of sessions and documents.
    pub(crate) stores: StoresSection,
    /// The server of `attache serve`.
    pub(crate) server: ServerSection,
}

/// The switch for uploads.
#[derive(Clone, Deserialize, Serialize, JsonSchema)]
#[schemars(crate = "attache_core::schemars")]
#[serde(untagged)]
pub(crate) enum UploadsSection {
    /// On or off.
    Switch(bool),
    /// The minimum size in bytes.
    Bytes(u64),
    /// The minimum size, such as `2 MiB`.
    Size(String),
    /// The minimum size, and how many hours files are kept.
    Both(UploadsTable),
}

/// The minimum size of uploaded documents, and how long they are kept.
#[derive(Clone, Deserialize, Serialize, JsonSchema)]
#[schemars(crate = "attache_core::schemars")]
#[serde(deny_unknown_fields)]
pub(crate) struct UploadsTable {
    /// The minimum size, such as `2 MiB`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    above: Option<String>,
    /// The number of hours that files are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 2160))]
    hours: Option<u32>,
}

/// The prices of models.
#[derive(Clone, Deserialize, Serialize, JsonSchema)]
#[schemars(crate = "attache_core::schemars")]
#[serde(deny_unknown_fields)]
pub(crate) struct PricesSection {
    /// The currency, such as `USD`.
    currency: String,
    /// The date of the prices, such as `2026-11-01`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    as_of: Option<String>,
    /// True if a cost limit also applies to models without a price.
    #[serde(default)]
    allow_unknown: bool,
    /// The prices, by `provider/model`; a name that ends with `*` matches all names with that prefix.
    models: BTreeMap<String, PriceSection>,
}

/// The price of a million tokens.
#[derive(Clone, Deserialize, Serialize, JsonSchema)]
#[schemars(crate = "attache_core::schemars")]
#[serde(deny_unknown_fields)]
pub(crate) struct PriceSection {
    /// Input.
    #[schemars(range(min = 0))]
    input: f64,
    /// Output.
    #[schemars(range(min = 0))]
    output: f64,
    /// Input that is read from the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cached: Option<f64>,
    /// Input that is written to the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cache_write: Option<f64>,
    /// Output that is reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reasoning: Option<f64>,
}

/// MCP servers, by their names.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[schemars(crate = "attache_core::schemars")]
#[serde(default)]
pub(crate) struct McpSection {
    /// Files of other clients whose servers are imported: the `mcpServers` or `servers` of their JSON.
    pub(crate) import: Vec<String>,
    #[serde(flatten)]
    pub(crate) servers: BTreeMap<String, McpServerSection>,
}

/// One MCP server: a `command` to start, or a `url`.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[schemars(crate = "attache_core::schemars")]
#[serde(default, deny_unknown_fields)]
pub(crate) struct McpServerSection {
    /// False if it is left alone.
    pub(crate) enabled: Option<bool>,
    /// The program to start, alone or with its arguments.
    pub(crate) command: Option<CommandLine>,
    /// The arguments of the program.
    pub(crate) args: Vec<String>,
    /// Environment variables of the program, in addition to a short list of harmless ones.
    pub(crate) env: BTreeMap<String, String>,
    /// Environment variables of this process that are passed on.
    pub(crate) inherit: Vec<String>,
    /// The working directory of the program.
    pub(crate) folder: Option<String>,
    /// The URL of a server over HTTP.
    pub(crate) url: Option<String>,
    /// The token that is sent with each request: `${NAME}` or `${file:PATH}`.
    pub(crate) bearer: Option<String>,
    /// Headers of each request.
    pub(crate) headers: BTreeMap<String, String>,
    /// True if private addresses are refused.
    pub(crate) public_only: bool,
    /// The only tools to use, by the server's names; one `*` matches anything.
    pub(crate) only: Vec<String>,
    /// The tools that are left out.
    pub(crate) without: Vec<String>,
    /// New names of tools, by the server's names.
    pub(crate) rename: BTreeMap<String, String>,
    /// True to trust the server about which of its tools only read.
    pub(crate) trust_hints: bool,
    /// True to offer its resources as tools: list and read.
    pub(crate) resources: bool,
    /// True to offer its prompts as tools: list and get.
    pub(crate) prompts: bool,
    /// Folders in which it may work.
    pub(crate) roots: Vec<String>,
    /// The era of the protocol; detected by default.
    pub(crate) era: Option<Era>,
    /// The timeout of a call in seconds; 120 by default.
    #[schemars(range(min = 1))]
    pub(crate) call_seconds: Option<u32>,
    /// The timeout for connecting in seconds; 30 by default.
    #[schemars(range(min = 1))]
    pub(crate) connect_seconds: Option<u32>,
}

/// A program, alone or with its arguments.
#[derive(Clone, Deserialize, JsonSchema)]
#[schemars(crate = "attache_core::schemars")]
#[serde(untagged)]
pub(crate) enum CommandLine {
    /// The program.
    Program(String),
    /// The program and its arguments.
    Line(Vec<String>),
}

/// The eras of the protocol.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[schemars(crate = "attache_core::schemars")]
#[serde(rename_all = "snake_case")]
pub(crate) enum Era {
    Auto,
    Sessions,
    Stateless,
}

/// One A2A agent, which is a tool.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[schemars(crate = "attache_core::schemars")]
#[serde(default, deny_unknown_fields)]
pub(crate) struct A2aSection {
    /// False if it is left alone.
    pub(crate) enabled: Option<bool>,
    /// The URL of the agent, or of its card.
    pub(crate) url: Option<String>,
    /// The token that is sent with each request: `${NAME}` or `${file:PATH}`.
    pub(crate) bearer: Option<String>,
    /// Headers of each request.
    pub(crate) headers: BTreeMap<String, String>,
    /// True if private addresses are refused.
    pub(crate) public_only: bool,
    /// The only skills that are shown to the model, by id.
    pub(crate) only: Vec<String>,
    /// Defines who answers questions of the agent; the user by default.
    pub(crate) questions: Option<Questions>,
    /// The maximum number of seconds that a call waits for a task; 60 by default.
    #[schemars(range(min = 1))]
    pub(crate) call_seconds: Option<u32>,
}

/// Defines who answers questions of an agent.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[schemars(crate = "attache_core::schemars")]
#[serde(rename_all = "snake_case")]
pub(crate) enum Questions {
    User,
    Model,
}

/// Tools of this machine. All are disabled by default.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[schemars(crate = "attache_core::schemars")]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ToolsSection {
    /// Folders and files that the model may list, read and search.
    pub(crate) files: Vec<String>,
    /// True if the model may also change them; you are asked before each change.
    pub(crate) write: bool,
    /// True if the model may fetch public addresses.
    pub(crate) fetch: bool,
    /// True if the model may calculate.
    pub(crate) calculator: bool,
    /// True if the model may get the time.
    pub(crate) time: bool,
    /// Commands that the model may run, such as `git log -n <number>`. `<text>`, `<number>` and `<file>` are values
    /// from the model; `...` after one of them allows any number of them.
    pub(crate) command: Vec<String>,
    /// True to restrict commands to reading the working directory and the system's programs: they cannot write or use
    /// the network. It is an error if the system does not support this.
    pub(crate) sandbox: bool,
}

/// Approval of tool calls. Tools under `deny` never run; those under `ask` require approval even if `allow` contains
/// them.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[schemars(crate = "attache_core::schemars")]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ApprovalsSection {
    /// The calls that require approval if no list contains the tool; by default those of tools with effects.
    pub(crate) default: Option<AskedAbout>,
    /// Tools whose calls run without approval, by name; `*` matches anything.
    pub(crate) allow: Vec<String>,
    /// Tools whose calls always require approval.
    pub(crate) ask: Vec<String>,
    /// Tools whose calls never run.
    pub(crate) deny: Vec<String>,
}

/// The calls that require approval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[schemars(crate = "attache_core::schemars")]
#[serde(rename_all = "snake_case")]
pub(crate) enum AskedAbout {
    /// None.
    Never,
    /// Those of tools that do more than read.
    #[default]
    Effects,
    /// All.
    Always,
}

/// Limits of an answer.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[schemars(crate = "attache_core::schemars")]
#[serde(default, deny_unknown_fields)]
pub(crate) struct LimitsSection {
    /// Maximum number of model calls; 20 by default.
    #[schemars(range(min = 1))]
    pub(crate) steps: Option<u32>,
    /// Maximum number of tool calls; 150 by default.
    #[schemars(range(min = 1))]
    pub(crate) tool_calls: Option<u32>,
    /// Maximum number of tokens read and written; unlimited by default.
    #[schemars(range(min = 1))]
    pub(crate) tokens: Option<u64>,
    /// Maximum cost in the currency of `[prices]`; unlimited by default.
    #[schemars(range(min = 0))]
    pub(crate) cost: Option<f64>,
    /// Maximum duration in seconds; unlimited by default.
    #[schemars(range(min = 1))]
    pub(crate) seconds: Option<u64>,
    /// Timeout in seconds of a call of a tool that does not set its own; 60 by default.
    #[schemars(range(min = 1))]
    pub(crate) tool_seconds: Option<u64>,
    /// Maximum number of parallel calls; 8 by default.
    #[schemars(range(min = 1))]
    pub(crate) parallel_calls: Option<u32>,
    /// Maximum number of characters of one result that the model reads; 50,000 by default.
    #[schemars(range(min = 100))]
    pub(crate) result_chars: Option<u32>,
    /// Tokens of a request above which a summary replaces its old part. By default nothing is summarised, and the newest
    /// 40 messages are sent.
    #[schemars(range(min = 1))]
    pub(crate) compact_above: Option<u64>,
}

/// The place of sessions and documents.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[schemars(crate = "attache_core::schemars")]
#[serde(default, deny_unknown_fields)]
pub(crate) struct StoresSection {
    /// The file of sessions in SQLite, or the address of a PostgreSQL database: `postgres://user@host/database`, with its
    /// password in a variable.
    pub(crate) sessions: Option<String>,
    /// The folder of documents.
    pub(crate) documents: Option<String>,
    /// True if `attache serve` removes documents from that folder that no session mentions, a week after they were
    /// added; false by default. Do not enable it if a copy of the database is used with the same folder, or if clients
    /// keep the id of an upload for days before they send it.
    pub(crate) collect_documents: Option<bool>,
}
