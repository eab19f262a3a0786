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
    /// Names that stand for models, such as `fast = "groq/llama-3.3-70b-versatile"`. `default` is the one that is asked
    /// where none is named.
    pub(crate) models: BTreeMap<String, String>,
    /// Profiles of servers with an API of OpenAI's, by their names. `like` names a profile to start from, `base_url` the
    /// address.
    pub(crate) providers: BTreeMap<String, Map<String, Value>>,
    /// Facts about models, by family, on top of the bundled table.
    pub(crate) capabilities: BTreeMap<String, Map<String, Value>>,
    /// True if large documents are uploaded once, where the API has files; a size says from which on.
    pub(crate) uploads: Option<UploadsSection>,
    /// The prices of models.
    pub(crate) prices: Option<PricesSection>,
    /// MCP servers, by their names.
    pub(crate) mcp: McpSection,
    /// A2A agents, by their names.
    pub(crate) a2a: BTreeMap<String, A2aSection>,
    /// Services whose HTTP endpoints are tools, by their names.
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
    /// From that many bytes on.
    Bytes(u64),
    /// From that size on, such as `2 MiB`.
    Size(String),
    /// From that size on, and for that many hours.
    Both(UploadsTable),
}

/// From which size on documents are uploaded, and for how long.
#[derive(Clone, Deserialize, Serialize, JsonSchema)]
#[schemars(crate = "attache_core::schemars")]
#[serde(deny_unknown_fields)]
pub(crate) struct UploadsTable {
    /// The size from which on, such as `2 MiB`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    above: Option<String>,
    /// The hours for which files are kept.
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
    /// The day of which the prices are, such as `2026-11-01`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    as_of: Option<String>,
    /// True if a limit of cost holds also where a model has no price.
    #[serde(default)]
    allow_unknown: bool,
    /// The prices, by `provider/model`; a name that ends with `*` stands for all that begin so.
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
    /// Files of other clients whose servers are taken over: the `mcpServers` or `servers` of their JSON.
    pub(crate) import: Vec<String>,
    #[serde(flatten)]
    pub(crate) servers: BTreeMap<String, McpServerSection>,
}

/// One MCP server: a `command` that is started, or a `url`.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[schemars(crate = "attache_core::schemars")]
#[serde(default, deny_unknown_fields)]
pub(crate) struct McpServerSection {
    /// False if it is left alone.
    pub(crate) enabled: Option<bool>,
    /// The program that is started, alone or with its arguments.
    pub(crate) command: Option<CommandLine>,
    /// The arguments of the program.
    pub(crate) args: Vec<String>,
    /// Variables that the program gets, beside a short list of harmless ones.
    pub(crate) env: BTreeMap<String, String>,
    /// Variables of this process that it gets too.
    pub(crate) inherit: Vec<String>,
    /// The folder in which it is started.
    pub(crate) folder: Option<String>,
    /// The address of a server over HTTP.
    pub(crate) url: Option<String>,
    /// The token that is sent with each request: `${NAME}` or `${file:PATH}`.
    pub(crate) bearer: Option<String>,
    /// Headers of each request.
    pub(crate) headers: BTreeMap<String, String>,
    /// True if private addresses are refused.
    pub(crate) public_only: bool,
    /// The only tools that are taken, by the server's names; one `*` stands for anything.
    pub(crate) only: Vec<String>,
    /// The tools that are left out.
    pub(crate) without: Vec<String>,
    /// Other names for tools, by the server's names.
    pub(crate) rename: BTreeMap<String, String>,
    /// True if the server is believed which of its tools only read.
    pub(crate) trust_hints: bool,
    /// True if its resources are tools: list and read.
    pub(crate) resources: bool,
    /// True if its prompts are tools: list and get.
    pub(crate) prompts: bool,
    /// Folders in which it may work.
    pub(crate) roots: Vec<String>,
    /// The era of the protocol; found out by default.
    pub(crate) era: Option<Era>,
    /// The most seconds of a call; 120 by default.
    #[schemars(range(min = 1))]
    pub(crate) call_seconds: Option<u32>,
    /// The most seconds until it is connected; 30 by default.
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
    /// The address of the agent, or of its card.
    pub(crate) url: Option<String>,
    /// The token that is sent with each request: `${NAME}` or `${file:PATH}`.
    pub(crate) bearer: Option<String>,
    /// Headers of each request.
    pub(crate) headers: BTreeMap<String, String>,
    /// True if private addresses are refused.
    pub(crate) public_only: bool,
    /// The only skills that the model is told of, by their ids.
    pub(crate) only: Vec<String>,
    /// The one who answers what the agent asks; the user by default.
    pub(crate) questions: Option<Questions>,
    /// The most seconds that a call waits for a task; 60 by default.
    #[schemars(range(min = 1))]
    pub(crate) call_seconds: Option<u32>,
}

/// The one who answers what an agent asks.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[schemars(crate = "attache_core::schemars")]
#[serde(rename_all = "snake_case")]
pub(crate) enum Questions {
    User,
    Model,
}

/// Tools of this machine. All are off unless they are asked for.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[schemars(crate = "attache_core::schemars")]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ToolsSection {
    /// Folders and files that the model may list, read and search.
    pub(crate) files: Vec<String>,
    /// True if it may change them, too; you are asked before each change.
    pub(crate) write: bool,
    /// True if it may fetch public addresses.
    pub(crate) fetch: bool,
    /// True if it may calculate.
    pub(crate) calculator: bool,
    /// True if it may ask for the time.
    pub(crate) time: bool,
    /// Commands that it may run, such as `git log -n <number>`. `<text>`, `<number>` and `<file>` stand for what the
    /// model writes, `...` behind one of them for any number of them.
    pub(crate) command: Vec<String>,
    /// True if the system keeps commands to reading the working folder and its own programs: they write nothing, and
    /// have no network. Where the system cannot, it is a mistake.
    pub(crate) sandbox: bool,
}

/// Calls of tools that somebody is asked about first. Tools under `deny` never run; those under `ask` are asked about
/// also where `allow` names them.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[schemars(crate = "attache_core::schemars")]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ApprovalsSection {
    /// The calls that are asked about where no list names the tool; those of tools with effects by default.
    pub(crate) default: Option<AskedAbout>,
    /// Tools whose calls run without a question, by their names; `*` stands for anything.
    pub(crate) allow: Vec<String>,
    /// Tools whose calls are always asked about.
    pub(crate) ask: Vec<String>,
    /// Tools whose calls never run.
    pub(crate) deny: Vec<String>,
}

/// The calls that are asked about.
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
    /// Model calls; 20 by default.
    #[schemars(range(min = 1))]
    pub(crate) steps: Option<u32>,
    /// Tool calls; 150 by default.
    #[schemars(range(min = 1))]
    pub(crate) tool_calls: Option<u32>,
    /// Tokens read and written; none by default.
    #[schemars(range(min = 1))]
    pub(crate) tokens: Option<u64>,
    /// The cost in the currency of `[prices]`; none by default.
    #[schemars(range(min = 0))]
    pub(crate) cost: Option<f64>,
    /// Seconds in all; none by default.
    #[schemars(range(min = 1))]
    pub(crate) seconds: Option<u64>,
    /// Seconds of one call of a tool that sets no time of its own; 60 by default.
    #[schemars(range(min = 1))]
    pub(crate) tool_seconds: Option<u64>,
    /// Calls that run side by side; 8 by default.
    #[schemars(range(min = 1))]
    pub(crate) parallel_calls: Option<u32>,
    /// Characters of one result that the model reads; 50,000 by default.
    #[schemars(range(min = 100))]
    pub(crate) result_chars: Option<u32>,
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
    /// True if `attache serve` removes documents from that folder that no session mentions, a week after they came; false by
    /// default. Leave it so where a copy of the database is used beside the same folder, or where clients keep the id of an
    /// upload for days before they send it.
    pub(crate) collect_documents: Option<bool>,
}

/// The server of `attache serve`. All but the words of the chat hold from its next start on: title, greeting and examples hold
/// at once.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[schemars(crate = "attache_core::schemars")]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ServerSection {
    /// The port; 8080 by default.
    pub(crate) port: Option<u16>,
    /// The address to listen at; 127.0.0.1 by default. `0.0.0.0` is every one of the machine, and needs keys.
    pub(crate) host: Option<std::net::IpAddr>,
    /// The path under which all routes are, such as `/agents`.
    pub(crate) base_path: Option<String>,
    /// The file of the keys that `attache keys` writes; in the command's folder for data by default.
    pub(crate) keys: Option<String>,
    /// Further keys, each under the name of the one who asks with it and in a variable or a file: `ann = "${ANN_KEY}"`. They
    /// may do what a key of `attache keys` may that names no scopes.
    pub(crate) api_keys: BTreeMap<String, String>,
    /// The origins of other pages that may ask, such as `https://app.example.org`.
    pub(crate) origins: Vec<String>,
    /// The headers of their own that those pages may send, such as `x-tenant`. They need `origins`.
    pub(crate) headers: Vec<String>,
    /// The origins of pages that may hold the page of the chat in a frame, such as `https://app.example.org`.
    pub(crate) frames: Vec<String>,
    /// Models that clients may ask under these names, without the instructions and tools of the agent: names of `[models]`,
    /// or `PROVIDER/MODEL`.
    pub(crate) models: Vec<String>,
    /// False if the chat is not served, neither as a page nor as a script for others.
    pub(crate) web: Option<bool>,
    /// The fate of a run whose client leaves, where the request does not say it: `cancel` by default.
    pub(crate) disconnect: Option<DisconnectSetting>,
    /// The fate of a run whose session another run is under way in: `refuse` by default.
    pub(crate) busy: Option<BusySetting>,
    /// Seconds after which a session that nobody used is deleted; never by default. It holds for all sessions of the store.
    #[schemars(range(min = 1))]
    pub(crate) expiry_seconds: Option<u32>,
    /// True if clients are told the model's reasoning.
    pub(crate) thinking: Option<bool>,
    /// False if clients are not told the arguments and results of tools.
    pub(crate) tool_details: Option<bool>,
    /// The title of the chat.
    pub(crate) title: Option<String>,
    /// A sentence for an empty conversation.
    pub(crate) greeting: Option<String>,
    /// Questions to choose from.
    pub(crate) examples: Vec<String>,
    /// The address under which clients reach the server, such as `https://papers.example.org`: for MCP and A2A.
    pub(crate) public_url: Option<String>,
    /// True if the agent is an MCP server too, at `/mcp`.
    pub(crate) mcp: Option<bool>,
    /// True if the agent is an A2A agent too, at `/a2a`. It needs `public_url`.
    pub(crate) a2a: Option<bool>,
    /// True if the audit log has the arguments of calls, and not their hashes alone.
    pub(crate) audit_content: Option<bool>,
    /// Tokens of an issuer, by which the server knows who asks.
    pub(crate) jwt: Option<JwtSection>,
    /// The dialects that are switched off or on.
    pub(crate) dialects: DialectsSection,
    /// Limits of requests.
    pub(crate) limits: ServerLimitsSection,
}

/// The fate of a run whose client leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[schemars(crate = "attache_core::schemars")]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DisconnectSetting {
    /// It is cancelled at once.
    Cancel,
    /// It is cancelled unless somebody looks at it again within so many seconds.
    GraceSeconds(u32),
    /// It goes on to its end.
    Detach,
}

/// The fate of a run whose session another run is under way in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[schemars(crate = "attache_core::schemars")]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum BusySetting {
    /// It fails.
    Refuse,
    /// It waits, if no more than so many wait already.
    Queue(u32),
}

/// Tokens of an OpenID Connect provider, or of whoever else signs JSON Web Tokens.
#[derive(Clone, Deserialize, JsonSchema)]
#[schemars(crate = "attache_core::schemars")]
#[serde(deny_unknown_fields)]
pub(crate) struct JwtSection {
    /// The issuer, as its tokens name it.
    pub(crate) issuer: String,
    /// The audience that tokens must name, or several of which they must name one.
    pub(crate) audience: Audience,
    /// The address of the issuer's keys; without one its OpenID Connect configuration says it.
    pub(crate) jwks: Option<String>,
    /// The claim that names the principal; `sub` by default. `/a/b` is one inside another.
    pub(crate) principal: Option<String>,
    /// The claim that lists what a principal may do. Without one a token may do everything.
    pub(crate) scopes: Option<String>,
    /// The text before the scopes in that claim, such as `attache:`.
    pub(crate) scope_prefix: Option<String>,
    /// The algorithms that count, such as `RS256`; by default each that a key of the issuer is for.
    #[serde(default)]
    pub(crate) algorithms: Vec<String>,
    /// Seconds that the clocks of issuer and server may be apart; 60 by default.
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

/// Dialects that clients speak. All of them are on by default.
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
    /// Bytes of bodies that are read at a time; 536,870,912 by default.
    #[schemars(range(min = 1024))]
    pub(crate) bodies_bytes: Option<u32>,
    /// The media types that `POST /v1/documents` takes, such as `application/pdf` or `image/*`; all by default. Documents
    /// inside other requests may be of any type.
    pub(crate) upload_types: Vec<String>,
    /// Runs of a principal at once; 64 by default.
    #[schemars(range(min = 1))]
    pub(crate) runs: Option<u32>,
    /// Requests of a principal in a minute; none by default.
    #[schemars(range(min = 1))]
    pub(crate) requests_per_minute: Option<u32>,
    /// Connections; 4,096 by default.
    #[schemars(range(min = 1))]
    pub(crate) connections: Option<u32>,
    /// Seconds of a run; 600 by default.
    #[schemars(range(min = 1))]
    pub(crate) run_seconds: Option<u32>,
    /// Seconds in which runs end when the server stops; 20 by default.
    pub(crate) drain_seconds: Option<u32>,
    /// Seconds that a run waits for the answer of a page's tool; 30 by default.
    #[schemars(range(min = 1))]
    pub(crate) frontend_seconds: Option<u32>,
    /// Seconds in which the head of a request comes; 10 by default.
    #[schemars(range(min = 1))]
    pub(crate) head_seconds: Option<u32>,
    /// Seconds in which the body of a request comes; 60 by default.
    #[schemars(range(min = 1))]
    pub(crate) body_seconds: Option<u32>,
    /// Seconds in which a client takes something of what is written to it; 60 by default.
    #[schemars(range(min = 1))]
    pub(crate) write_seconds: Option<u32>,
}
