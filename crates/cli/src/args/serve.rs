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
    /// The port; 0 takes any that is free. By default that of the configuration, else 8080
    #[arg(short, long, value_name = "PORT")]
    pub(crate) port: Option<u16>,
    /// The address to listen at: 0.0.0.0 for all of this machine's, which needs keys or tokens of an issuer. By default that of the
    /// configuration, else 127.0.0.1
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) host: Option<IpAddr>,
    /// Serve the agent over MCP too, at /mcp, for those who have a key
    #[arg(long)]
    pub(crate) mcp: bool,
    /// Serve the agent over A2A too, at /a2a, for those who have a key; `public_url` of the configuration says the address
    /// that others have
    #[arg(long)]
    pub(crate) a2a: bool,
    /// The form of the log on stderr
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = LogFormat::Text)]
    pub(crate) log_format: LogFormat,
    /// The things that the log tells: error, warn, info, debug, trace, or a list such as info,attache_server=debug
    #[arg(long, value_name = "LEVEL", env = "ATTACHE_LOG", default_value = "info")]
    pub(crate) log: String,
}

/// The forms of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines for people
    Text,
    /// A JSON object for each line
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
    /// Make a key, and print it: it is shown this once
    Add {
        /// The owner of the key, and of its sessions and documents. Two keys of one name share them
        principal: String,
        /// The only thing that the key may do; give it several times. All but metrics by default
        #[arg(long, value_name = "run|read|approve|metrics", value_parser = scope)]
        scope: Vec<attache_server::Scope>,
        /// The time for which it holds, such as 12h, 30d or 8w; for ever by default
        #[arg(long, value_name = "TIME", value_parser = lifetime)]
        expires: Option<Duration>,
    },
    /// List the keys, without their secrets
    List {
        /// Print JSON lines
        #[arg(long)]
        json: bool,
    },
    /// Take keys away; who has one is refused from then on
    Remove {
        /// The keys, by their ids
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
        .ok_or_else(|| "run, read, approve or metrics is expected".to_owned())
}

fn lifetime(text: &str) -> Result<Duration, String> {
    let wrong = || "a number of hours, days or weeks is expected, such as 12h, 30d or 8w".to_owned();
    let unit = text.chars().last().ok_or_else(wrong)?;
    let seconds = match unit {
        'h' => 3600,
        'd' => 24 * 3600,
        'w' => 7 * 24 * 3600,
        _ => return Err(wrong()),
    };
    let count: u32 = text.strip_suffix(unit).and_then(|count| count.parse().ok()).ok_or_else(wrong)?;
    match count {
        0 => Err("a key that holds for no time is none".to_owned()),
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
