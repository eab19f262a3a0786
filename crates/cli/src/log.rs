//! The log of the program: lines on stderr, or the warnings beside an answer.

use std::collections::HashSet;
use std::fmt::{Debug, Write as _};
use std::io;
use std::sync::{Mutex, PoisonError};

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer, Registry, fmt, registry};

use crate::args::Command;
use crate::show::watch::Watch;

/// The variable that says what the log tells.
const CHOSEN: &str = "ATTACHE_LOG";
/// The maximum number of different warnings that are remembered, so that each is told once.
const REMEMBERED: usize = 256;

/// Writes what the program tells of itself from now on, as lines for people.
pub(crate) fn begin(told: &str) -> Result<(), String> {
    let lines = fmt::layer().with_writer(io::stderr).with_target(true).with_ansi(false).compact();
    begin_with(lines, told)
}

/// As [`begin`], in lines of JSON.
#[cfg(feature = "server")]
pub(crate) fn begin_as_json(told: &str) -> Result<(), String> {
    let lines = fmt::layer().with_writer(io::stderr).with_target(true).json();
    begin_with(lines.flatten_event(true).with_current_span(false), told)
}

fn begin_with(lines: impl Layer<Registry> + Send + Sync, told: &str) -> Result<(), String> {
    let told: Targets = told.parse().map_err(|error| format!("{error}"))?;
    registry().with(lines.with_filter(told)).try_init().map_err(|error| error.to_string())
}

/// The log of a command other than `serve`, which has options for it: all that the variable names, else warnings. Those
/// of a command that shows runs go to `watch`, which tells them between the other lines.
pub(crate) fn of_command(command: &Command, watch: &Watch) -> Result<(), String> {
    // A variable that is empty is none.
    if let Some(told) = std::env::var(CHOSEN).ok().filter(|told| !told.is_empty()) {
        return begin(&told).map_err(|problem| format!("{CHOSEN}: {problem}"));
    }
    match command {
        #[cfg(feature = "mcp")]
        Command::Mcp(_) => return begin("warn"),
        // A database may have to be migrated, which others may delay.
        #[cfg(feature = "chat")]
        Command::Sessions(_) => return begin("attache=warn"),
        command if !command.runs() => return Ok(()),
        _ => {}
    }
    let warnings = Warnings { watch: watch.clone(), told: Mutex::default() };
    let own = Targets::new().with_target("attache", Level::WARN);
    registry().with(warnings.with_filter(own)).try_init().map_err(|error| error.to_string())
}

/// Tells each warning once.
struct Warnings {
    watch: Watch,
    told: Mutex<HashSet<String>>,
}

impl<S: Subscriber> Layer<S> for Warnings {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut text = Text::default();
        event.record(&mut text);
        let text = text.line();
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() >= REMEMBERED {
            told.clear();
        }
        if told.insert(text.clone()) {
            drop(told);
            self.watch.warned(text);
        }
    }
}

/// The message of an event, and its fields.
#[derive(Default)]
struct Text {
    message: String,
    fields: String,
}

impl Text {
    fn line(self) -> String {
        let Self { message, fields } = self;
        if fields.is_empty() { message } else { format!("{message} ({fields})") }
    }
}

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _infallible = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name if self.fields.is_empty() => write!(self.fields, "{name}: {value:?}"),
            name => write!(self.fields, ", {name}: {value:?}"),
        };
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }
}
