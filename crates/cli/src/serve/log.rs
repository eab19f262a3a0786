//! The log of a server: lines on stderr.

use std::io;

use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::{SubscriberInitExt as _, TryInitError};
use tracing_subscriber::{Layer as _, fmt, registry};

use crate::args::LogFormat;

/// Writes what the program tells of itself from now on.
pub(super) fn begin(format: LogFormat, told: &str) -> Result<(), String> {
    let told: Targets = told.parse().map_err(|error| format!("--log: {error}"))?;
    let lines = fmt::layer().with_writer(io::stderr).with_target(true);
    let begun: Result<(), TryInitError> = match format {
        LogFormat::Text => registry().with(lines.with_ansi(false).compact().with_filter(told)).try_init(),
        LogFormat::Json => registry().with(lines.json().flatten_event(true).with_filter(told)).try_init(),
    };
    begun.map_err(|error| error.to_string())
}
