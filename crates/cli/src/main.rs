//! The `attache` command: ask over your own files, and see what is sent to a model and what came back.

mod args;
mod ask;
mod doctor;
mod exit;
mod explain;
mod files;
mod json;
mod model;
mod models;
mod output;
mod overlay;
mod replay;
mod table;
mod terminal;
mod wire;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Args, Command};
use crate::exit::Exit;

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            let exit = if error.use_stderr() { Exit::Usage } else { Exit::Done };
            // Nothing can be said where even this fails.
            let _unwritten = error.print();
            return exit.into();
        }
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            output::line(&format!("attache: the runtime cannot start: {error}"));
            return Exit::Failed.into();
        }
    };
    let registry = match model::registry(&args) {
        Ok(registry) => registry,
        Err(error) => {
            output::line(&format!("attache: {error}"));
            return Exit::Setup.into();
        }
    };
    let exit = runtime.block_on(async {
        match args.command {
            Command::Ask(ask) => ask::run(ask, &registry).await,
            Command::Wire(wire) => wire::run(&wire, &registry).await,
            Command::Replay(replay) => replay::run(&replay),
            Command::Models(models) => models::run(&models, args.capabilities.as_deref(), &registry).await,
            Command::Doctor(doctor) => doctor::run(&doctor, &registry).await,
            Command::Explain(explain) => explain::run(&explain, &registry).await,
        }
    });
    // A tool that blocks its thread must not hold the process.
    runtime.shutdown_background();
    exit.into()
}
