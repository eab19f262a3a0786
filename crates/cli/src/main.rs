//! The `attache` command: ask over your own files, and see what is sent to a model and what came back.

mod args;
mod ask;
#[cfg(feature = "chat")]
mod chat;
#[cfg(feature = "shell")]
mod complete;
mod config_command;
mod config_files;
mod config_tools;
mod doctor;
mod exit;
mod explain;
mod json;
#[cfg(feature = "server")]
mod keys;
mod log;
#[cfg(feature = "mcp")]
mod mcp;
mod model_by_name;
mod models;
#[cfg(feature = "otlp")]
mod otlp;
mod output;
mod overlay;
#[cfg(feature = "chat")]
mod prompt;
mod replace_file;
mod replay;
#[cfg(feature = "server")]
mod serve;
#[cfg(feature = "chat")]
mod sessions;
mod show;
mod signals;
mod tools;
mod wire;

use std::process::ExitCode;
use std::time::Duration;

#[cfg(feature = "mcp")]
use crate::args::Mcp;
use crate::args::{Args, Command};
use crate::exit::Exit;
use crate::signals::until_asked;

/// The time in which tasks end, and with them the programs that they have started. A tool that blocks its thread, or a
/// read of stdin, does not hold the process for longer.
const FAREWELL: Duration = Duration::from_millis(500);

fn main() -> ExitCode {
    let args = match Args::read() {
        Ok(args) => args,
        Err(error) => {
            let exit = if error.use_stderr() { Exit::Usage } else { Exit::Done };
            // Nothing can be said where even this fails.
            let _unwritten = error.print();
            return exit.into();
        }
    };
    #[cfg(feature = "shell")]
    match &args.command {
        Command::Completions(completions) => return complete::completions(completions.shell).into(),
        Command::Man => return complete::man().into(),
        _ => {}
    }
    let as_json = matches!(&args.command, Command::Ask(ask) if ask.json);
    if let Err(problem) = config_files::home_is_absolute() {
        return ask::failed(as_json, Exit::Setup, &problem).into();
    }
    if let Command::Config(configuration) = &args.command {
        return config_command::run(configuration, &args).into();
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            output::fail(&format!("the runtime cannot start: {error}"));
            return Exit::Failed.into();
        }
    };
    let watched = show::watch::Watch::new();
    if !args.command.has_log()
        && let Err(problem) = log::of_command(&args.command, &watched.0)
    {
        return ask::failed(as_json, Exit::Usage, &problem).into();
    }
    #[cfg(feature = "mcp")]
    if let Command::Mcp(Mcp { command: Some(command), .. }) = &args.command {
        let exit = runtime.block_on(until_asked(mcp::run(command, &args)));
        runtime.shutdown_timeout(FAREWELL);
        return exit.into();
    }
    let known = config_files::Config::load(&args)
        .map_err(model_by_name::SetupError::new)
        .and_then(|config| Ok((model_by_name::registry(&args, &config)?, config)));
    let (registry, config) = match known {
        Ok(known) => known,
        Err(error) => return ask::failed(as_json, Exit::Setup, &error.to_string()).into(),
    };
    #[cfg(feature = "server")]
    if let Command::Serve(serve) = &args.command {
        let exit = runtime.block_on(serve::run(serve, &args, &registry, &config));
        runtime.shutdown_background();
        return exit.into();
    }
    let exit = runtime.block_on(async {
        #[cfg(feature = "otlp")]
        let exporting =
            args.command.runs().then(|| otlp::begin(|problem| output::line(&format!("! {problem}"))));
        let (registry, config) = (&registry, &config);
        let exit = match args.command {
            Command::Ask(ask) => until_asked(ask::run(*ask, registry, config, args.color, watched)).await,
            #[cfg(feature = "chat")]
            Command::Chat(chat) => until_asked(chat::run(*chat, registry, config, args.color, watched)).await,
            #[cfg(feature = "chat")]
            Command::Resume(resume) => {
                until_asked(chat::resume(*resume, registry, config, args.color, watched)).await
            }
            #[cfg(feature = "chat")]
            Command::Sessions(sessions) => sessions::run(sessions, registry, config, args.color).await,
            #[cfg(feature = "server")]
            Command::Keys(keys) => keys::run(keys, config),
            #[cfg(feature = "server")]
            Command::Serve(_) => Exit::Usage,
            Command::Tools(tools) => until_asked(tools::run(tools, registry, config)).await,
            Command::Wire(wire) => wire::run(&wire, registry).await,
            Command::Replay(replay) => replay::run(&replay),
            Command::Models(models) => models::run(&models, args.capabilities.as_deref(), registry).await,
            Command::Doctor(doctor) => doctor::run(&doctor, args.capabilities.as_deref(), registry).await,
            Command::Explain(explain) => explain::run(&explain, registry).await,
            #[cfg(feature = "mcp")]
            Command::Mcp(mcp) => until_asked(mcp::serve(&mcp.served, registry, config)).await,
            #[cfg(feature = "shell")]
            Command::Completions(_) | Command::Man => Exit::Done,
            Command::Config(_) => Exit::Done,
        };
        #[cfg(feature = "otlp")]
        if let Some(exporting) = exporting {
            exporting.end().await;
        }
        exit
    });
    runtime.shutdown_timeout(FAREWELL);
    exit.into()
}
