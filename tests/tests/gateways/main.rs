//! Each gateway alike: the same files through it to every API, and the same harm done to a run by what stands behind it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken expectation is a failed test"
)]

mod crash;
mod files;
mod hostile;
mod served;

use std::sync::Arc;
use std::time::Duration;

use attache::a2a::{A2aAgent, A2aLimits};
use attache::http_tools::{Endpoint, HttpTools};
use attache::mcp::{McpEndpoint, McpEra, McpLimits, McpServer};
use attache::tools::{FileFilter, Folders, file_tools};
use attache_agent::AgentBuilder;
use attache_testkit::Turn;
use attache_transport::{RetryPolicy, Timeouts};
use serde_json::{Value, json};

use served::{Served, TOKEN};

/// A way on which files come to an agent.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Gateway {
    Mcp,
    Http,
    A2a,
    Local,
}

/// The most bytes of an answer.
const MOST: usize = 256 << 10;

impl Gateway {
    /// The builder with what the gateway reaches: a server, or a folder.
    async fn attached(self, alias: &str, server: &Served, builder: AgentBuilder) -> AgentBuilder {
        match self {
            Self::Mcp => {
                let endpoint = McpEndpoint::new(server.url("/mcp")).bearer(TOKEN);
                let limits = McpLimits::new().with_message_bytes(MOST).with_call(Duration::from_secs(2));
                builder.handler(McpServer::http(alias, endpoint).era(McpEra::Stateless).limits(limits))
            }
            Self::Http => {
                let timeouts = Timeouts::new()
                    .with_first_byte(Duration::from_secs(1))
                    .with_idle(Duration::from_secs(1))
                    .with_total(Duration::from_secs(2));
                let mut tools = HttpTools::new(alias, &server.url(""))
                    .unwrap()
                    .with_private_addresses(true)
                    .with_timeouts(timeouts)
                    .with_retry(RetryPolicy::never())
                    .with_max_bytes(MOST)
                    .with_secret_header("authorization", "Bearer ", TOKEN)
                    .unwrap();
                for name in server.tools() {
                    let endpoint = Endpoint::get(format!("{alias}.{name}"), format!("/calls/{name}"));
                    tools = tools.with_endpoint(endpoint).unwrap();
                }
                builder.handler(tools)
            }
            Self::A2a => {
                let limits = A2aLimits::new()
                    .with_message_bytes(MOST)
                    .with_request(Duration::from_secs(2))
                    .with_patience(Duration::from_secs(2));
                builder.handler(A2aAgent::at(alias, server.url("")).bearer(TOKEN).limits(limits))
            }
            Self::Local => {
                let folders = Folders::open([server.folder()], FileFilter::new()).unwrap();
                builder.tools(file_tools(Arc::new(folders)))
            }
        }
    }

    /// The name and the arguments of the call that asks for a file, or does a harm.
    fn call(self, alias: &str, name: &str) -> (String, Value) {
        match self {
            Self::Mcp => (format!("mcp_{alias}___{name}"), json!({})),
            Self::Http => (format!("{alias}_{name}"), json!({})),
            Self::A2a => (format!("a2a_{alias}___ask"), json!({"message": name})),
            Self::Local => {
                let name = served::FILES.iter().find(|(file, ..)| *file == name).unwrap().2;
                ("read_file".to_owned(), json!({"path": name}))
            }
        }
    }

    fn turn(self, alias: &str, name: &str) -> Turn {
        let (tool, arguments) = self.call(alias, name);
        // The scripted model knows tools by the names that the program gave them.
        let tool = if self == Self::Http { tool.replacen('_', ".", 1) } else { tool };
        Turn::call(&tool, arguments)
    }
}
