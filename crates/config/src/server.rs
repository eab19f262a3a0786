//! The server of `attache serve`.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;

use attache_core::{MediaType, Secret};

use crate::config::Config;
use crate::sections::{
    Audience, BusySetting, DisconnectSetting, JwtSection, ServerLimitsSection, ServerSection,
};

/// The settings of a server, as far as the files say some. The last file that says one counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerSettings {
    /// The port.
    pub port: Option<u16>,
    /// The address to listen at.
    pub host: Option<IpAddr>,
    /// The path under which all routes are.
    pub base_path: Option<String>,
    /// The file of the keys.
    pub keys: Option<PathBuf>,
    /// Further keys, each behind the name of the one who asks with it: those of all files.
    pub api_keys: BTreeMap<String, Secret>,
    /// The origins of other pages that may ask: those of all files.
    pub origins: Vec<String>,
    /// The headers of their own that those pages may send: those of all files.
    pub headers: Vec<String>,
    /// The origins of pages that may hold the page of the chat in a frame: those of all files.
    pub frames: Vec<String>,
    /// The models that clients may ask without the agent: those of all files.
    pub models: Vec<String>,
    /// False if the chat is not served.
    pub web: Option<bool>,
    /// The fate of a run whose client leaves.
    pub disconnect: Option<DisconnectSetting>,
    /// The fate of a run whose session another run is under way in.
    pub busy: Option<BusySetting>,
    /// The seconds after which a session that nobody used is deleted.
    pub expiry_seconds: Option<u32>,
    /// True if clients are told the model's reasoning.
    pub thinking: Option<bool>,
    /// False if clients are not told the arguments and results of tools.
    pub tool_details: Option<bool>,
    /// The title of the chat.
    pub title: Option<String>,
    /// A sentence for an empty conversation.
    pub greeting: Option<String>,
    /// Questions to choose from.
    pub examples: Vec<String>,
    /// The most bytes of a request.
    pub body_bytes: Option<u32>,
    /// The most bytes of an upload.
    pub upload_bytes: Option<u32>,
    /// The most bytes of bodies that are read at a time.
    pub bodies_bytes: Option<u32>,
    /// The media types of uploads, in [normal form](MediaType::pattern); all if there are none.
    pub upload_types: Vec<String>,
    /// The most runs of a principal at once.
    pub runs: Option<u32>,
    /// The most requests of a principal in a minute.
    pub requests_per_minute: Option<u32>,
    /// The most connections.
    pub connections: Option<u32>,
    /// The most seconds of a run.
    pub run_seconds: Option<u32>,
    /// The seconds in which runs end when the server stops.
    pub drain_seconds: Option<u32>,
    /// The seconds that a run waits for the answer of a page's tool.
    pub frontend_seconds: Option<u32>,
    /// The seconds in which the head of a request comes.
    pub head_seconds: Option<u32>,
    /// The seconds in which the body of a request comes.
    pub body_seconds: Option<u32>,
    /// The seconds in which a client takes something of what is written to it.
    pub write_seconds: Option<u32>,
    /// The address under which clients reach the server.
    pub public_url: Option<String>,
    /// True if the agent is an MCP server too.
    pub mcp: Option<bool>,
    /// True if the agent is an A2A agent too.
    pub a2a: Option<bool>,
    /// True if the audit log has the arguments of calls.
    pub audit_content: Option<bool>,
    /// Tokens of an issuer: the whole section of the last file that has one.
    pub jwt: Option<JwtSettings>,
    /// The dialects that are switched.
    pub dialects: DialectSwitches,
}

/// Tokens of an issuer, by which a server knows who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JwtSettings {
    /// The issuer, as its tokens name it.
    pub issuer: String,
    /// The audiences of which tokens must name one. There is one at least.
    pub audiences: Vec<String>,
    /// The address of the issuer's keys; without one its OpenID Connect configuration says it.
    pub jwks: Option<String>,
    /// The claim that names the principal.
    pub principal: Option<String>,
    /// The claim that lists what a principal may do, and the text before each scope in it.
    pub scopes: Option<(String, String)>,
    /// The algorithms that count, as JSON Web Algorithms names them; those of the keys where there is none.
    pub algorithms: Vec<String>,
    /// The seconds that the clocks of issuer and server may be apart.
    pub skew_seconds: Option<u32>,
}

/// The dialects that files switch: `None` where none says it.
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
            settings.host = host.or(settings.host);
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
