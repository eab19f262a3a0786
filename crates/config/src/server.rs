//! The server of `attache serve`.

use std::net::IpAddr;
use std::path::PathBuf;

use crate::config::Config;
use crate::sections::{ServerLimitsSection, ServerSection};

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
    /// The origins of other pages that may ask: those of all files.
    pub origins: Vec<String>,
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
                origins,
                thinking,
                tool_details,
                title,
                greeting,
                examples,
                limits,
            } = read.sections.server.clone();
            let ServerLimitsSection {
                body_bytes,
                upload_bytes,
                runs,
                requests_per_minute,
                connections,
                run_seconds,
                drain_seconds,
            } = limits;
            let keys = keys.map(|written| read.place(&written));
            settings.origins.extend(origins);
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
            settings.runs = runs.or(settings.runs);
            settings.requests_per_minute = requests_per_minute.or(settings.requests_per_minute);
            settings.connections = connections.or(settings.connections);
            settings.run_seconds = run_seconds.or(settings.run_seconds);
            settings.drain_seconds = drain_seconds.or(settings.drain_seconds);
        }
        settings
    }
}
