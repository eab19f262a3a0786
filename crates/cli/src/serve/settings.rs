//! The `[server]` section, for a server.

use std::sync::Arc;
use std::time::Duration;

use attache_agent::{Busy, Sessions};
use attache_config::{BusySetting, DisconnectSetting, JwtSettings, ServerSettings};
use attache_server::{Dialect, Introduction, Jwt, JwtAlgorithm, OnDisconnect, Server, ServerLimits};
use attache_transport::GuardedFetcher;

use super::agent::Files;
use super::example;

/// The server with what the configuration says of it.
pub(super) fn applied(mut server: Server, settings: &ServerSettings) -> Server {
    server = server.web(settings.web.unwrap_or(true));
    if let Some(path) = &settings.base_path {
        server = server.base_path(path);
    }
    for origin in &settings.origins {
        server = server.allow_origin(origin.as_str());
    }
    for name in &settings.headers {
        server = server.allow_header(name.as_str());
    }
    server = match settings.disconnect {
        Some(DisconnectSetting::Cancel) => server.disconnect(OnDisconnect::Cancel),
        Some(DisconnectSetting::GraceSeconds(seconds)) => {
            server.disconnect(OnDisconnect::Grace(Duration::from_secs(seconds.into())))
        }
        Some(DisconnectSetting::Detach) => server.disconnect(OnDisconnect::Detach),
        _ => server,
    };
    for origin in &settings.frames {
        server = server.allow_frame(origin.as_str());
    }
    if let Some(shown) = settings.thinking {
        server = server.thinking(shown);
    }
    if let Some(shown) = settings.tool_details {
        server = server.tool_details(shown);
    }
    if let Some(shown) = settings.audit_content {
        server = server.audit_content(shown);
    }
    if let Some(settings) = &settings.jwt {
        server = server.jwt(jwt(settings));
    }
    let on = settings.dialects;
    let switches = [
        (Dialect::ChatCompletions, on.chat_completions),
        (Dialect::Responses, on.responses),
        (Dialect::Messages, on.messages),
        (Dialect::AgUi, on.ag_ui),
        (Dialect::UiMessages, on.ui_messages),
    ];
    for (dialect, on) in switches {
        if let Some(on) = on {
            server = server.dialect(dialect, on);
        }
    }
    server.limits(limits(settings))
}

/// The sessions with what the configuration says of them.
pub(super) fn with_settings(mut sessions: Sessions, settings: &ServerSettings) -> Sessions {
    sessions = match settings.busy {
        Some(BusySetting::Refuse) => sessions.with_busy(Busy::Refuse),
        Some(BusySetting::Queue(depth)) => sessions.with_busy(Busy::Queue { depth: size(depth) }),
        _ => sessions,
    };
    match settings.expiry_seconds {
        Some(seconds) => sessions.with_expiry(Duration::from_secs(seconds.into())),
        None => sessions,
    }
}

fn size(count: u32) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

/// Tokens of an issuer. The operator of the server names its address, so that private addresses are allowed.
fn jwt(settings: &JwtSettings) -> Jwt {
    let fetcher = Arc::new(GuardedFetcher::new().with_private_addresses(true).with_any_port());
    let mut audiences = settings.audiences.iter();
    let first = audiences.next().map(String::as_str).unwrap_or_default();
    let mut jwt = match &settings.jwks {
        Some(keys) => Jwt::jwks(settings.issuer.as_str(), first, keys.as_str(), fetcher),
        None => Jwt::oidc(settings.issuer.as_str(), first, fetcher),
    };
    for audience in audiences {
        jwt = jwt.with_audience(audience.as_str());
    }
    if let Some(claim) = &settings.principal {
        jwt = jwt.with_principal_claim(claim.as_str());
    }
    if let Some((claim, prefix)) = &settings.scopes {
        jwt = jwt.with_scopes(claim.as_str(), prefix.as_str());
    }
    if let Some(seconds) = settings.skew_seconds {
        jwt = jwt.with_skew(Duration::from_secs(seconds.into()));
    }
    let known = |name: &String| serde_json::from_value::<JwtAlgorithm>(name.as_str().into()).ok();
    let algorithms: Vec<_> = settings.algorithms.iter().filter_map(known).collect();
    if !settings.algorithms.is_empty() {
        jwt = jwt.with_algorithms(algorithms);
    }
    jwt
}

fn limits(settings: &ServerSettings) -> ServerLimits {
    let mut limits = ServerLimits::default();
    limits.body = settings.body_bytes.map_or(limits.body, size);
    limits.upload = settings.upload_bytes.map_or(limits.upload, size);
    limits.bodies = settings.bodies_bytes.map_or(limits.bodies, size);
    limits.upload_types.clone_from(&settings.upload_types);
    limits.runs = settings.runs.map_or(limits.runs, size);
    limits.connections = settings.connections.map_or(limits.connections, size);
    limits.requests_per_minute = settings.requests_per_minute.or(limits.requests_per_minute);
    let time = |seconds: u32| Duration::from_secs(seconds.into());
    limits.run_time = settings.run_seconds.map(time).or(limits.run_time);
    limits.drain = settings.drain_seconds.map_or(limits.drain, time);
    limits.frontend_time = settings.frontend_seconds.map_or(limits.frontend_time, time);
    limits.head_time = settings.head_seconds.map_or(limits.head_time, time);
    limits.body_time = settings.body_seconds.map_or(limits.body_time, time);
    limits.write_time = settings.write_seconds.map_or(limits.write_time, time);
    limits
}

/// The words of the chat; about the example, where the configuration has none.
pub(super) fn introduction(settings: &ServerSettings, files: Files) -> Introduction {
    let mut words = Introduction::default();
    words.title.clone_from(&settings.title);
    words.greeting.clone_from(&settings.greeting);
    words.examples.clone_from(&settings.examples);
    if files == Files::Example && settings.examples.is_empty() {
        words.greeting.get_or_insert_with(|| example::GREETING.to_owned());
        words.examples = example::QUESTIONS.map(str::to_owned).into();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::UNIX_EPOCH;

    use attache_agent::{Agent, MemorySessions, SessionState};
    use attache_config::{Config, ConfigFile};
    use attache_models::Registry;

    #[test]
    fn uploads_are_of_the_types_that_the_last_file_names() {
        let named = |texts: &[&str]| {
            let files = texts.iter().map(|text| ConfigFile::parse("attache.toml", *text).unwrap());
            limits(&Config::of(files, &|_| None).unwrap().server()).upload_types
        };
        assert!(named(&[""]).is_empty());
        let [pdf, images] = ["application/pdf", "image/*"]
            .map(|name| format!("[server.limits]\nupload_types = [\"{name}\"]\n"));
        assert_eq!(named(&[&pdf]), ["application/pdf"]);
        assert_eq!(named(&[&pdf, &images, ""]), ["image/*"]);
    }

    #[tokio::test]
    async fn sessions_expire_as_the_configuration_says() {
        for (text, state) in [
            ("[server]\nexpiry_seconds = 60\n", SessionState::Expired),
            ("[server]\nexpiry_seconds = 90\n", SessionState::Continued),
            ("", SessionState::Continued),
        ] {
            let file = ConfigFile::parse("attache.toml", text).unwrap();
            let settings = Config::of([file], &|_| None).unwrap().server();
            let now = Arc::new(AtomicU64::new(1_000_000));
            let clock = Arc::clone(&now);
            let model = Registry::bundled().model("offline/extractive").unwrap();
            let agent = Agent::builder(model).build().unwrap();
            let sessions = Sessions::new(agent, Arc::new(MemorySessions::new()))
                .with_expiry(None)
                .with_clock(move || UNIX_EPOCH + Duration::from_secs(clock.load(Ordering::Relaxed)));
            let sessions = with_settings(sessions, &settings);
            sessions.open("local", Some("s")).await.unwrap();
            now.fetch_add(75, Ordering::Relaxed);
            assert_eq!(sessions.open("local", Some("s")).await.unwrap().state(), state, "{text}");
        }
    }
}
