//! Settings of `attache serve`.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;

use attache_core::{MediaType, Secret};

use crate::config::Config;
use crate::sections::{
    Audience, BusySetting, DisconnectSetting, JwtSection, ServerLimitsSection, ServerSection,
};

/// The server settings, as far as the files contain them. If several files set a value, the last one applies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerSettings {
    /// The port.
    pub port: Option<u16>,
    /// The address to listen on.
    pub host: Option<IpAddr>,
    /// The base path of all routes.
    pub base_path: Option<String>,
    /// The file with the keys.
    pub keys: Option<PathBuf>,
    /// Additional keys by the name of the principal that uses them, from all files.
    pub api_keys: BTreeMap<String, Secret>,
    /// The origins of other pages that may send requests, from all files.
    pub origins: Vec<String>,
    /// The custom headers that those pages may send, from all files.
    pub headers: Vec<String>,
    /// The origins of pages that may embed the chat page in a frame, from all files.
    pub frames: Vec<String>,
    /// The models that clients may call directly without the agent, from all files.
    pub models: Vec<String>,
    /// False if the chat page is not served.
    pub web: Option<bool>,
    /// The handling of a run whose client disconnects.
    pub disconnect: Option<DisconnectSetting>,
    /// The handling of a run in a session that already has an active run.
    pub busy: Option<BusySetting>,
    /// The seconds after which an unused session is deleted.
    pub expiry_seconds: Option<u32>,
    /// True if clients receive the model's reasoning.
    pub thinking: Option<bool>,
    /// False if clients do not receive the arguments and results of tools.
    pub tool_details: Option<bool>,
    /// The title of the chat.
    pub title: Option<String>,
    /// A greeting for an empty conversation.
    pub greeting: Option<String>,
    /// Example questions to choose from.
    pub examples: Vec<String>,
    /// The maximum number of bytes of a request.
    pub body_bytes: Option<u32>,
    /// The maximum number of bytes of an upload.
    pub upload_bytes: Option<u32>,
    /// The maximum number of bytes of all request bodies read at the same time.
    pub bodies_bytes: Option<u32>,
    /// The media types of uploads, in [normal form](MediaType::pattern); all types if empty.
    pub upload_types: Vec<String>,
    /// The maximum number of concurrent runs per principal.
    pub runs: Option<u32>,
    /// The maximum number of requests per principal and minute.
    pub requests_per_minute: Option<u32>,
    /// The maximum number of connections.
    pub connections: Option<u32>,
    /// The maximum duration of a run in seconds.
    pub run_seconds: Option<u32>,
    /// The seconds that runs have to finish when the server stops.
    pub drain_seconds: Option<u32>,
    /// The seconds that a run waits for the result of a frontend tool.
    pub frontend_seconds: Option<u32>,
    /// The timeout for receiving the head of a request, in seconds.
    pub head_seconds: Option<u32>,
    /// The timeout for receiving the body of a request, in seconds.
    pub body_seconds: Option<u32>,
    /// The seconds within which a client must accept some of the data written to it.
    pub write_seconds: Option<u32>,
    /// The URL under which clients reach the server.
    pub public_url: Option<String>,
    /// True if the agent is also an MCP server.
    pub mcp: Option<bool>,
    /// True if the agent is also an A2A agent.
    pub a2a: Option<bool>,
    /// True if the audit log contains the arguments of calls.
    pub audit_content: Option<bool>,
    /// The settings for tokens of an issuer: the whole section of the last file that has one.
    pub jwt: Option<JwtSettings>,
    /// The dialects that are enabled or disabled.
    pub dialects: DialectSwitches,
}

/// Settings for tokens of an issuer, with which a server authenticates clients.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JwtSettings {
    /// The issuer, as named in its tokens.
    pub issuer: String,
    /// The accepted audiences, of which tokens must contain one. There is at least one.
    pub audiences: Vec<String>,
    /// The URL of the issuer's keys; if missing, it is taken from the OpenID Connect configuration.
    pub jwks: Option<String>,
    /// The claim that contains the principal.
    pub principal: Option<String>,
    /// The claim that lists the scopes of a principal, and the prefix of each scope in it.
    pub scopes: Option<(String, String)>,
    /// The accepted algorithms, by their JSON Web Algorithms names; if empty, those of the keys.
    pub algorithms: Vec<String>,
    /// The allowed clock skew between issuer and server, in seconds.
    pub skew_seconds: Option<u32>,
}

/// The dialects that files enable or disable; `None` if no file sets it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DialectSwitches {
    /// OpenAI's Chat Completions.
    pub chat_completions: Option<bool>,
    /// OpenAI's Responses.
    pub responses: Option<bool>,
    /// Anthropic's Messages.
    pub messages: Option<bool>,
    /// AG-UI.
    pub ag_ui: Option<bool>,
    /// The UI message stream of Vercel's AI SDK.
    pub ui_messages: Option<bool>,
}

impl From<JwtSection> for JwtSettings {
    fn from(section: JwtSection) -> Self {
        Self {
            issuer: section.issuer,
            audiences: match section.audience {
                Audience::One(one) => vec![one],
                Audience::Several(several) => several,
            },
            jwks: section.jwks,
            principal: section.principal,
            scopes: section.scopes.map(|claim| (claim, section.scope_prefix.unwrap_or_default())),
            algorithms: section.algorithms,
            skew_seconds: section.skew_seconds,
        }
    }
}

impl Config {
    /// The settings of the server.
    pub fn server(&self) -> ServerSettings {
        let mut settings = ServerSettings::default();
        for read in &self.files {
            let ServerSection {
                port,
                host,
                base_path,
                keys,
                api_keys,
                origins,
                headers,
                frames,
                models,
                web,
                disconnect,
                busy,
                expiry_seconds,
                thinking,
                tool_details,
                title,
                greeting,
                examples,
                public_url,
                mcp,
                a2a,
                audit_content,
                jwt,
                dialects,
                limits,
            } = read.sections.server.clone();
            let ServerLimitsSection {
                body_bytes,
                upload_bytes,
                bodies_bytes,
                upload_types,
                runs,
                requests_per_minute,
                connections,
                run_seconds,
                drain_seconds,
                frontend_seconds,
                head_seconds,
                body_seconds,
                write_seconds,
            } = limits;
            let keys = keys.map(|written| read.place(&written));
            settings.api_keys.extend(api_keys.into_iter().map(|(name, key)| (name, key.into())));
            settings.origins.extend(origins);
            settings.headers.extend(headers);
            settings.frames.extend(frames);
            settings.models.extend(models);
            settings.web = web.or(settings.web);
            settings.disconnect = disconnect.or(settings.disconnect);
            settings.busy = busy.or(settings.busy);
            settings.expiry_seconds = expiry_seconds.or(settings.expiry_seconds);
            if !examples.is_empty() {
                settings.examples = examples;
            }
            settings.port = port.or(settings.port);
            settings.host = host.and_then(|host| host.parse().ok()).or(settings.host);
            settings.base_path = base_path.or(settings.base_path);
            settings.keys = keys.or(settings.keys);
            settings.thinking = thinking.or(settings.thinking);
            settings.tool_details = tool_details.or(settings.tool_details);
            settings.title = title.or(settings.title);
            settings.greeting = greeting.or(settings.greeting);
            settings.body_bytes = body_bytes.or(settings.body_bytes);
            settings.upload_bytes = upload_bytes.or(settings.upload_bytes);
            settings.bodies_bytes = bodies_bytes.or(settings.bodies_bytes);
            if !upload_types.is_empty() {
                settings.upload_types =
                    upload_types.iter().filter_map(|name| MediaType::pattern(name)).collect();
            }
            settings.runs = runs.or(settings.runs);
            settings.requests_per_minute = requests_per_minute.or(settings.requests_per_minute);
            settings.connections = connections.or(settings.connections);
            settings.run_seconds = run_seconds.or(settings.run_seconds);
            settings.drain_seconds = drain_seconds.or(settings.drain_seconds);
            settings.frontend_seconds = frontend_seconds.or(settings.frontend_seconds);
            settings.head_seconds = head_seconds.or(settings.head_seconds);
            settings.body_seconds = body_seconds.or(settings.body_seconds);
            settings.write_seconds = write_seconds.or(settings.write_seconds);
            settings.public_url = public_url.or(settings.public_url);
            settings.mcp = mcp.or(settings.mcp);
            settings.a2a = a2a.or(settings.a2a);
            settings.audit_content = audit_content.or(settings.audit_content);
            settings.jwt = jwt.map(JwtSettings::from).or(settings.jwt);
            let on = &mut settings.dialects;
            on.chat_completions = dialects.chat_completions.or(on.chat_completions);
            on.responses = dialects.responses.or(on.responses);
            on.messages = dialects.messages.or(on.messages);
            on.ag_ui = dialects.ag_ui.or(on.ag_ui);
            on.ui_messages = dialects.ui_messages.or(on.ui_messages);
        }
        settings
    }
}
