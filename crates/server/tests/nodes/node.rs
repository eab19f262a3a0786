//! The process of a node: a server over a store that others use, too.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use attache_agent::{Agent, SessionStore, Sessions, tool_fn};
use attache_core::schemars::{self, JsonSchema};
use attache_core::{Approval, Effect, Tool, ToolContext, ToolError};
use attache_server::{Principal, Server, ServerLimits};
use attache_stores::{PostgresStore, SqliteStore};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use crate::script::Planned;

const ORDER: &str = "ATTACHE_NODE";
/// The beginning of the line that tells where a node listens.
pub(crate) const LISTENS: &str = "listens on ";

/// The task of a node.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    /// The address of the database, or the SQLite file.
    pub(crate) store: String,
    pub(crate) lease: Duration,
    /// The file in which each effect leaves a line.
    pub(crate) effects: PathBuf,
}

impl Order {
    pub(crate) fn given() -> Option<Self> {
        let text = std::env::var(ORDER).ok()?;
        let mut words = text.splitn(3, ' ');
        let lease = Duration::from_millis(words.next().unwrap().parse().unwrap());
        let store = words.next().unwrap().to_owned();
        Some(Self { store, lease, effects: PathBuf::from(words.next().unwrap()) })
    }

    pub(crate) fn text(&self) -> (&'static str, String) {
        (ORDER, format!("{} {} {}", self.lease.as_millis(), self.store, self.effects.display()))
    }
}

#[derive(serde::Deserialize, JsonSchema)]
struct Number {
    n: i64,
}

/// A tool whose effect is a line outside of all that a store knows: the call, and the process.
fn effect(name: &'static str, approval: Approval, effects: PathBuf) -> impl Tool + 'static {
    tool_fn(name, "", move |Number { n }: Number, context: ToolContext| {
        let effects = effects.clone();
        async move {
            tokio::time::sleep(Duration::from_millis(5)).await;
            let line = format!("{} {}\n", context.call_id.as_ref().unwrap(), std::process::id());
            let mut file = OpenOptions::new().create(true).append(true).open(&effects)?;
            file.write_all(line.as_bytes())?;
            tokio::time::sleep(Duration::from_millis(5)).await;
            Ok::<_, ToolError>(json!({ "done": n }))
        }
    })
    .with_effect(Effect::SideEffect)
    .with_approval(approval)
}

fn look() -> impl Tool + 'static {
    tool_fn("look", "", |Number { n }: Number, _: ToolContext| async move {
        tokio::time::sleep(Duration::from_millis(10)).await;
        Ok::<_, ToolError>(json!({ "seen": n }))
    })
    .with_effect(Effect::Read)
}

pub(crate) fn serve(order: &Order) {
    std::thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        std::process::exit(1);
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let store: Arc<dyn SessionStore> = match order.store.starts_with("postgres:") {
            true => Arc::new(PostgresStore::connect(&order.store).await.unwrap()),
            false => Arc::new(SqliteStore::open(&order.store).await.unwrap()),
        };
        let agent = Agent::builder(Planned::new())
            .tool(effect("pay", Approval::Never, order.effects.clone()))
            .tool(effect("transfer", Approval::Always, order.effects.clone()))
            .tool(look())
            .patience(Duration::from_secs(60))
            .build()
            .unwrap();
        let sessions = Sessions::new(agent, store).with_lease(order.lease);
        let server = Server::new("books", sessions).authenticate(|headers| async move {
            let user = headers.get("x-user")?.to_str().ok()?;
            Some(Principal::new(user))
        });
        // Runs go on elsewhere, and need no time to end here.
        let mut limits = ServerLimits::default();
        limits.drain = Duration::ZERO;
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        println!("\n{LISTENS}{}", listener.local_addr().unwrap());
        let mut ends = signal(SignalKind::terminate()).unwrap();
        let stopped = async move {
            ends.recv().await;
        };
        server.limits(limits).serve(listener, stopped).await.unwrap();
    });
}
