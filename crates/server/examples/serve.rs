//! A server of one model at an address of OpenAI's API, for measuring what the server itself costs:
//! `cargo run --release -p attache-server --example serve -- PORT BASE_URL [SESSIONS.db]`.
//!
//! The agent `bench` has no tools, so that a request is one question to the model. A request that names a session goes
//! through the file of SQLite, any other one is kept nowhere. The key is in the variable `BENCH_KEY`.

#![allow(clippy::print_stdout, reason = "whoever starts it learns when it is ready")]

use std::env;
use std::error::Error;
use std::sync::Arc;

use attache_agent::{Agent, MemorySessions, Sessions};
use attache_openai::OpenAiChat;
use attache_server::{ApiKey, ApiKeys, Server, ServerLimits};
use attache_stores::SqliteStore;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let port: u16 = arguments.next().ok_or("the port is missing")?.parse()?;
    let base_url = arguments.next().ok_or("the address of the API is missing")?;
    let model = OpenAiChat::new("bench", "sk-bench")?.with_base_url(base_url);
    let agent = Agent::builder(model).build()?;
    let sessions = match arguments.next() {
        Some(file) => Sessions::new(agent, Arc::new(SqliteStore::open(file).await?)),
        None => Sessions::new(agent, Arc::new(MemorySessions::new())),
    };
    let mut limits = ServerLimits::default();
    limits.runs = 10_000;
    let mut server = Server::new("bench", sessions).limits(limits);
    if let Ok(key) = env::var("BENCH_KEY") {
        server = server.keys(ApiKeys::new().with_key(ApiKey::of("bench", &key)));
    }
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    println!("ready {}", listener.local_addr()?.port());
    let mut terminated = signal(SignalKind::terminate())?;
    server
        .serve(listener, async move {
            terminated.recv().await;
        })
        .await?;
    Ok(())
}
