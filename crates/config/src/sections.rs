//! The sections of `attache.toml`, of which its schema is made.

use std::collections::BTreeMap;

use attache_core::schemars;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

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

/// The server of `attache serve`. Title, greeting and examples of the chat take effect immediately, all other settings
/// at the next start.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[schemars(crate = "attache_core::schemars")]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ServerSection {
    /// The port; 8080 by default.
    pub(crate) port: Option<u16>,
    /// The address to listen on; 127.0.0.1 by default. `0.0.0.0` means all addresses of the machine, and requires keys.
    pub(crate) host: Option<std::net::IpAddr>,
    /// The base path of all routes, such as `/agents`.
    pub(crate) base_path: Option<String>,
    /// The file of the keys that `attache keys` writes; in the command's folder for data by default.
    pub(crate) keys: Option<String>,
    /// Further keys, each under the name of the one who asks with it and in a variable or a file: `ann = "${ANN_KEY}"`. They
    /// may do what a key of `attache keys` may that names no scopes.
    pub(crate) api_keys: BTreeMap<String, String>,
    /// The origins of other pages that may send requests, such as `https://app.example.org`.
    pub(crate) origins: Vec<String>,
    /// The custom headers that those pages may send, such as `x-tenant`. They require `origins`.
    pub(crate) headers: Vec<String>,
    /// The origins of pages that may embed the chat page in a frame, such as `https://app.example.org`.
    pub(crate) frames: Vec<String>,
    /// Models that clients may ask under these names, without the instructions and tools of the agent: names of `[models]`,
    /// or `PROVIDER/MODEL`.
    pub(crate) models: Vec<String>,
    /// False if the chat is not served, neither as a page nor as a script for others.
    pub(crate) web: Option<bool>,
    /// The handling of a run whose client disconnects, if the request does not set it: `cancel` by default.
    pub(crate) disconnect: Option<DisconnectSetting>,
    /// The handling of a run in a session that already has an active run: `refuse` by default.
    pub(crate) busy: Option<BusySetting>,
    /// Seconds after which an unused session is deleted; never by default. It applies to all sessions of the store.
    #[schemars(range(min = 1))]
    pub(crate) expiry_seconds: Option<u32>,
    /// True if clients receive the model's reasoning.
    pub(crate) thinking: Option<bool>,
    /// False if clients do not receive the arguments and results of tools.
    pub(crate) tool_details: Option<bool>,
    /// The title of the chat.
    pub(crate) title: Option<String>,
    /// A greeting for an empty conversation.
    pub(crate) greeting: Option<String>,
    /// Example questions to choose from.
    pub(crate) examples: Vec<String>,
    /// The URL under which clients reach the server, such as `https://papers.example.org`: for MCP and A2A.
    pub(crate) public_url: Option<String>,
    /// True if the agent is also an MCP server, at `/mcp`.
    pub(crate) mcp: Option<bool>,
    /// True if the agent is also an A2A agent, at `/a2a`. It requires `public_url`.
    pub(crate) a2a: Option<bool>,
    /// True if the audit log contains the arguments of calls instead of only their hashes.
    pub(crate) audit_content: Option<bool>,
    /// Tokens of an issuer, with which the server authenticates clients.
    pub(crate) jwt: Option<JwtSection>,
    /// The dialects that are enabled or disabled.
    pub(crate) dialects: DialectsSection,
    /// Limits of requests.
    pub(crate) limits: ServerLimitsSection,
}

/// The handling of a run whose client disconnects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[schemars(crate = "attache_core::schemars")]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DisconnectSetting {
    /// It is cancelled immediately.
    Cancel,
    /// It is cancelled unless a client follows it again within this number of seconds.
    GraceSeconds(u32),
    /// It continues to its end.
    Detach,
}

/// The handling of a run in a session that already has an active run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[schemars(crate = "attache_core::schemars")]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum BusySetting {
    /// It fails.
    Refuse,
    /// It waits, if at most this number of runs are already waiting.
    Queue(u32),
}

/// Tokens of an OpenID Connect provider, or of any other issuer of JSON Web Tokens.
#[derive(Clone, Deserialize, JsonSchema)]
#[schemars(crate = "attache_core::schemars")]
#[serde(deny_unknown_fields)]
pub(crate) struct JwtSection {
    /// The issuer, as named in its tokens.
    pub(crate) issuer: String,
    /// The required audience of tokens, or several of which one is required.
    pub(crate) audience: Audience,
    /// The URL of the issuer's keys; if missing, it is taken from the OpenID Connect configuration.
    pub(crate) jwks: Option<String>,
    /// The claim that contains the principal; `sub` by default. `/a/b` is a nested claim.
    pub(crate) principal: Option<String>,
    /// The claim that lists the scopes of a principal. Without it, a token may do everything.
    pub(crate) scopes: Option<String>,
    /// The prefix of the scopes in that claim, such as `attache:`.
    pub(crate) scope_prefix: Option<String>,
    /// The accepted algorithms, such as `RS256`; by default those of the issuer's keys.
    #[serde(default)]
    pub(crate) algorithms: Vec<String>,
    /// The allowed clock skew between issuer and server in seconds; 60 by default.
    #[schemars(range(max = 600))]
    pub(crate) skew_seconds: Option<u32>,
}

/// One audience, or several.
#[derive(Clone, Deserialize, JsonSchema)]
#[schemars(crate = "attache_core::schemars")]
#[serde(untagged)]
pub(crate) enum Audience {
    One(String),
    Several(Vec<String>),
}

/// API dialects for clients. All are enabled by default.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[schemars(crate = "attache_core::schemars")]
#[serde(default, deny_unknown_fields)]
pub(crate) struct DialectsSection {
    /// OpenAI's Chat Completions.
    pub(crate) chat_completions: Option<bool>,
    /// OpenAI's Responses.
    pub(crate) responses: Option<bool>,
    /// Anthropic's Messages.
    pub(crate) messages: Option<bool>,
    /// AG-UI.
    pub(crate) ag_ui: Option<bool>,
    /// The UI message stream of Vercel's AI SDK.
    pub(crate) ui_messages: Option<bool>,
}

/// Limits of requests.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[schemars(crate = "attache_core::schemars")]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ServerLimitsSection {
    /// Bytes of a request; 33,554,432 by default.
    #[schemars(range(min = 1024))]
    pub(crate) body_bytes: Option<u32>,
    /// Bytes of an upload; 67,108,864 by default.
    #[schemars(range(min = 1024))]
    pub(crate) upload_bytes: Option<u32>,
    /// Bytes of all request bodies read at the same time; 536,870,912 by default.
    #[schemars(range(min = 1024))]
    pub(crate) bodies_bytes: Option<u32>,
    /// The media types that `POST /v1/documents` accepts, such as `application/pdf` or `image/*`; all by default.
    /// Documents inside other requests may be of any type.
    pub(crate) upload_types: Vec<String>,
    /// Concurrent runs per principal; 64 by default.
    #[schemars(range(min = 1))]
    pub(crate) runs: Option<u32>,
    /// Requests per principal and minute; unlimited by default.
    #[schemars(range(min = 1))]
    pub(crate) requests_per_minute: Option<u32>,
    /// Connections; 4,096 by default.
    #[schemars(range(min = 1))]
    pub(crate) connections: Option<u32>,
    /// The maximum duration of a run in seconds; 600 by default.
    #[schemars(range(min = 1))]
    pub(crate) run_seconds: Option<u32>,
    /// Seconds that runs have to finish when the server stops; 20 by default.
    pub(crate) drain_seconds: Option<u32>,
    /// Seconds that a run waits for the result of a frontend tool; 30 by default.
    #[schemars(range(min = 1))]
    pub(crate) frontend_seconds: Option<u32>,
    /// Timeout for receiving the head of a request, in seconds; 10 by default.
    #[schemars(range(min = 1))]
    pub(crate) head_seconds: Option<u32>,
    /// Timeout for receiving the body of a request, in seconds; 60 by default.
    #[schemars(range(min = 1))]
    pub(crate) body_seconds: Option<u32>,
    /// Seconds within which a client must accept some of the data written to it; 60 by default.
    #[schemars(range(min = 1))]
    pub(crate) write_seconds: Option<u32>,
}
