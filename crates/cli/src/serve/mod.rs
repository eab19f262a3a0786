//! `attache serve`: the agent of `attache chat` over HTTP, with a chat for browsers.

mod agent;
mod collecting;
mod example;
mod mcp_and_a2a;
mod reload;
mod settings;

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use attache_config::ServerSettings;
use attache_models::Registry;
use attache_server::{ServeError, Server};
use tokio::net::TcpListener;

use crate::args::{Args, LogFormat, Serve};
use crate::config_files::Config;
use crate::exit::Exit;
use crate::keys;
use crate::log;
use crate::model_by_name::{self, SetupError};
use crate::output::{fail, line, with_causes};
use crate::sessions::Stores;
use agent::{Files, NAME};
use mcp_and_a2a::Beside;
use reload::{Reload, Seen, watched};

/// The port where nobody names one.
const PORT: u16 = 8080;

/// Serves until somebody ends the process.
pub(crate) async fn run(serve: &Serve, args: &Args, registry: &Registry, config: &Config) -> Exit {
    match done(serve, args, registry, config).await {
        Ok(()) => Exit::Done,
        Err((exit, problem)) => {
            fail(&problem);
            exit
        }
    }
}

async fn done(
    serve: &Serve,
    args: &Args,
    registry: &Registry,
    config: &Config,
) -> Result<(), (Exit, String)> {
    let begun = match serve.log_format {
        LogFormat::Json => log::begin_as_json(&serve.log),
        // The lines at the start tell it.
        LogFormat::Text => log::begin(&format!("attache_server::no_keys=off,{}", serve.log)),
    };
    begun.map_err(|problem| (Exit::Usage, format!("--log: {problem}")))?;
    #[cfg(feature = "otlp")]
    let exporting = crate::otlp::begin(|problem| tracing::warn!("{problem}"));
    let served = served(serve, args, registry, config).await;
    #[cfg(feature = "otlp")]
    exporting.end().await;
    served
}

async fn served(
    serve: &Serve,
    args: &Args,
    registry: &Registry,
    config: &Config,
) -> Result<(), (Exit, String)> {
    let setup = |error: SetupError| (Exit::Setup, error.to_string());
    if let Some(notice) = config.notice() {
        tracing::warn!("{}", notice.trim_start_matches("! "));
    }
    let stores = Stores::open(config).await.map_err(setup)?;
    let keys = keys::file(config).map_err(setup)?;
    let files = watched(args, config);
    let seen = Seen::of(files.clone(), keys.clone()).await;
    let settings = config.said.server();
    let ring = keys::ring(&keys, &settings).map_err(setup)?;
    let host = serve.host.or(settings.host).unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let address = SocketAddr::new(host, serve.port.or(settings.port).unwrap_or(PORT));
    let asks = ring.asks() || settings.jwt.is_some();
    if !asks && !host.to_canonical().is_loopback() {
        let problem = format!(
            "{host} can be reached from other machines, but there are no keys: create one with `attache keys add NAME`, or accept tokens of an issuer with [server.jwt]"
        );
        return Err((Exit::Setup, problem));
    }
    let beside = Beside::wanted(serve, &settings).map_err(|problem| (Exit::Setup, problem))?;
    // A port that is taken is told before servers and agents are started.
    let listener = TcpListener::bind(address).await.map_err(|error| (Exit::Setup, taken(address, &error)))?;
    let mut built = agent::built(serve, registry, config, &stores).await.map_err(setup)?;
    // Also runs of other protocols are taken over by a process that comes later.
    built.sessions = settings::with_settings(built.sessions, &settings).with_name(NAME);
    let model = built.sessions.agent().model().id().to_owned();
    let chosen = built.files;
    let server = Server::new(NAME, built.sessions.clone()).keys(ring.clone());
    // Each section of HTTP tools names the headers that it passes on. Sections may come while the server runs.
    #[cfg(feature = "http-tools")]
    let server = server
        .context(|headers, options| options.with_context(attache_http_tools::CallerHeaders::of(headers)));
    let server = beside.mounted(settings::applied(server, &settings), &built.sessions, &settings);
    for (name, sessions) in agent::models(serve, registry, config, &stores).map_err(setup)? {
        server.agents().set(name, settings::with_settings(sessions, &settings));
    }
    server.agents().introduce(settings::introduction(&settings, built.files));
    let reload = Reload {
        serve,
        args,
        stores: &stores,
        settings: &settings,
        keys,
        agents: server.agents(),
        ring: ring.clone(),
        beside,
        files: files.into(),
        outside: built.outside.into(),
    };
    let local = listener.local_addr().map_err(|error| (Exit::Failed, error.to_string()))?;
    tell(serve.log_format, local, &settings, &model, asks, beside, chosen);
    let stop = async {
        stopped().await;
        if serve.log_format == LogFormat::Text {
            line("· stopping; press Ctrl-C again to stop immediately");
        }
    };
    let served = async {
        tokio::select! {
            served = server.serve(listener, stop) => served,
            never = reload.watch(seen) => match never {},
            never = collecting::collect(&stores, config.said.collects_documents()) => match never {},
        }
    };
    let result = served.await;
    reload.close().await;
    result.map_err(|error| match error {
        ServeError::Open(_) => (Exit::Setup, error.to_string()),
        error => (Exit::Failed, with_causes(&error)),
    })
}

/// The reason why nobody can listen there.
fn taken(address: SocketAddr, error: &io::Error) -> String {
    let port = address.port();
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            format!(
                "port {port} is already in use; stop the other program, or choose another port with --port"
            )
        }
        io::ErrorKind::PermissionDenied => {
            format!("this user may not listen on port {port}; choose one above 1023")
        }
        io::ErrorKind::AddrNotAvailable => format!("{} is not an address of this machine", address.ip()),
        _ => format!("{address}: {error}"),
    }
}

/// Says where the server is, and what it is not.
fn tell(
    format: LogFormat,
    local: SocketAddr,
    settings: &ServerSettings,
    model: &str,
    asks: bool,
    beside: Beside,
    files: Files,
) {
    let files = match files {
        Files::Named => None,
        Files::Example => Some("this is an example folder: `attache serve FOLDER` serves one of yours"),
        Files::None => Some("no files are served: `attache serve FOLDER` adds a folder"),
    };
    if format == LogFormat::Json {
        if let Some(files) = files {
            tracing::info!("{files}");
        }
        tracing::info!(address = %local, model, keys = asks, "serving");
        return;
    }
    let shown = match local.ip() {
        ip if ip.is_unspecified() => SocketAddr::new(Ipv4Addr::LOCALHOST.into(), local.port()),
        _ => local,
    };
    let base = settings.base_path.as_deref().unwrap_or_default().trim_matches('/');
    let base = if base.is_empty() { String::new() } else { format!("/{base}") };
    if let Some(notice) = model_by_name::notice(model) {
        line(&format!("! {notice}"));
    }
    if !asks {
        line("! no keys: only this machine can send requests. `attache keys add NAME` creates a key");
    }
    if let Some(files) = files {
        line(&format!("· {files}"));
    }
    let others: String = beside.paths().map(|path| format!(", http://{shown}{base}{path}")).collect();
    let chat = match settings.web {
        Some(false) => String::new(),
        _ => format!("\n  Chat with {model}:  http://{shown}{base}/"),
    };
    line(&format!("{chat}\n  For programs:  http://{shown}{base}/v1{others}\n\n  Ctrl-C ends it"));
}

/// Waits for the word that the process ends; the second one ends it at once.
async fn stopped() {
    asked_to_stop().await;
    tokio::spawn(async {
        asked_to_stop().await;
        std::process::exit(Exit::Cancelled.code().into());
    });
}

#[cfg(unix)]
async fn asked_to_stop() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminated) = signal(SignalKind::terminate()) else {
        return tokio::signal::ctrl_c().await.unwrap_or_default();
    };
    tokio::select! {
        _ = terminated.recv() => {}
        result = tokio::signal::ctrl_c() => result.unwrap_or_default(),
    }
}

#[cfg(not(unix))]
async fn asked_to_stop() {
    tokio::signal::ctrl_c().await.unwrap_or_default();
}
