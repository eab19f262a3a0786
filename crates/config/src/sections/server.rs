//! The section `server`.

use std::collections::BTreeMap;

use attache_core::schemars;
use schemars::JsonSchema;
use serde::Deserialize;

/// The server of `attache serve`. Title, greeting and examples of the chat take effect immediately, all other settings
/// at the next start.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[schemars(crate = "attache_core::schemars")]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ServerSection {
    /// The port; 8080 by default.
    pub(crate) port: Option<u16>,
    /// The address to listen on; 127.0.0.1 by default. `0.0.0.0` means all addresses of the machine, and requires keys.
    #[schemars(with = "Option<std::net::IpAddr>")]
    pub(crate) host: Option<String>,
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
