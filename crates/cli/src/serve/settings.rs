//! The `[server]` section, for a server.

use std::time::Duration;

use attache_config::ServerSettings;
use attache_server::{Introduction, Server, ServerLimits};

/// The server with what the configuration says of it.
pub(super) fn applied(mut server: Server, settings: &ServerSettings) -> Server {
    server = server.web(true);
    if let Some(path) = &settings.base_path {
        server = server.base_path(path);
    }
    for origin in &settings.origins {
        server = server.allow_origin(origin.as_str());
    }
    if let Some(shown) = settings.thinking {
        server = server.thinking(shown);
    }
    if let Some(shown) = settings.tool_details {
        server = server.tool_details(shown);
    }
    server.limits(limits(settings))
}

fn limits(settings: &ServerSettings) -> ServerLimits {
    let mut limits = ServerLimits::default();
    let size = |count: u32| usize::try_from(count).unwrap_or(usize::MAX);
    limits.body = settings.body_bytes.map_or(limits.body, size);
    limits.upload = settings.upload_bytes.map_or(limits.upload, size);
    limits.runs = settings.runs.map_or(limits.runs, size);
    limits.connections = settings.connections.map_or(limits.connections, size);
    limits.requests_per_minute = settings.requests_per_minute.or(limits.requests_per_minute);
    let time = |seconds: u32| Duration::from_secs(seconds.into());
    limits.run_time = settings.run_seconds.map(time).or(limits.run_time);
    limits.drain = settings.drain_seconds.map_or(limits.drain, time);
    limits
}

/// The words of the chat.
pub(super) fn introduction(settings: &ServerSettings) -> Introduction {
    let mut words = Introduction::default();
    words.title.clone_from(&settings.title);
    words.greeting.clone_from(&settings.greeting);
    words.examples.clone_from(&settings.examples);
    words
}
