//! The options of `serve` and `keys`.

use std::net::IpAddr;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use super::ask::{Chosen, Opened, Permitted};
use crate::exit::CODES;

/// The help of `PATH`, in the place of the one that `ask` has.
const SERVED: &str = "Folders and files that the model may list and read; nothing else is opened. If neither these nor \
    `[tools] files` of the configuration name any: an example";

#[derive(Debug, Args)]
#[command(after_help = CODES, mut_arg("paths", |paths| paths.help(SERVED)))]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) opened: Opened,
    #[command(flatten)]
    pub(crate) model: Chosen,
    #[command(flatten)]
    pub(crate) permitted: Permitted,
    /// The port; 0 uses any free port. Defaults to that of the configuration, otherwise to 8080
    #[arg(short, long, value_name = "PORT")]
    pub(crate) port: Option<u16>,
    /// The address to listen on: 0.0.0.0 for all addresses of this machine, which requires API keys or tokens of an
    /// issuer. Defaults to that of the configuration, otherwise to 127.0.0.1
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) host: Option<IpAddr>,
    /// Also serve the agent over MCP, at /mcp, for clients with a key
    #[arg(long)]
    pub(crate) mcp: bool,
    /// Also serve the agent over A2A, at /a2a, for clients with a key; set the public address with `public_url` in the
    /// configuration
    #[arg(long)]
    pub(crate) a2a: bool,
    /// The format of the log on stderr
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = LogFormat::Text)]
    pub(crate) log_format: LogFormat,
    /// The level of the log: error, warn, info, debug, trace, or a list such as info,attache_server=debug
    #[arg(long, value_name = "LEVEL", env = "ATTACHE_LOG", default_value = "info,rmcp=warn")]
    pub(crate) log: String,
}

/// The forms of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines for people
    Text,
    /// One JSON object per line
    Json,
}

#[derive(Debug, Args)]
#[command(after_help = CODES)]
pub(crate) struct Keys {
    #[command(subcommand)]
    pub(crate) command: KeysCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Create a key and print it; it is shown only once
    Add {
        /// The owner of the key and of its sessions and documents. Keys with the same owner share them
        principal: String,
        /// A scope to grant to the key; can be repeated. All except metrics by default
        #[arg(long, value_name = "run|read|approve|metrics", value_parser = scope)]
        scope: Vec<attache_server::Scope>,
        /// The lifetime of the key, such as 12h, 30d or 8w; unlimited by default
        #[arg(long, value_name = "TIME", value_parser = lifetime)]
        expires: Option<Duration>,
    },
    /// List the keys, without their secrets
    List {
        /// Print JSON lines
        #[arg(long)]
        json: bool,
    },
    /// Remove keys; requests with them are refused from then on
    Remove {
        /// The ids of the keys
        #[arg(required = true)]
        ids: Vec<String>,
    },
}

fn scope(text: &str) -> Result<attache_server::Scope, String> {
    use attache_server::Scope;
    let known = [Scope::Run, Scope::Read, Scope::Approve, Scope::Metrics];
    known
        .into_iter()
        .find(|scope| scope.as_str() == text)
        .ok_or_else(|| "expected run, read, approve or metrics".to_owned())
}

fn lifetime(text: &str) -> Result<Duration, String> {
    let wrong = || "expected a number of hours, days or weeks, such as 12h, 30d or 8w".to_owned();
    let unit = text.chars().last().ok_or_else(wrong)?;
    let seconds = match unit {
        'h' => 3600,
        'd' => 24 * 3600,
        'w' => 7 * 24 * 3600,
        _ => return Err(wrong()),
    };
    let count: u32 = text.strip_suffix(unit).and_then(|count| count.parse().ok()).ok_or_else(wrong)?;
    match count {
        0 => Err("a key must be valid for longer than 0".to_owned()),
        count => Ok(Duration::from_secs(u64::from(count) * seconds)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lifetimes_are_counts_of_hours_days_and_weeks() {
        assert_eq!(lifetime("12h"), Ok(Duration::from_secs(43_200)));
        assert_eq!(lifetime("30d"), Ok(Duration::from_secs(2_592_000)));
        assert_eq!(lifetime("1w"), Ok(Duration::from_secs(604_800)));
        for wrong in ["", "d", "0d", "-1d", "1.5h", "5", "5m", "é"] {
            assert!(lifetime(wrong).is_err(), "{wrong}");
        }
    }
}
