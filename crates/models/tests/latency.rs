//! The way of the first token, from the provider's connection to the caller's events.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken expectation is a failed test"
)]

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use attache_agent::{Agent, EventKind};
use attache_conformance::{MockProvider, Reply};
use attache_models::{HttpSettings, Registry};
use attache_transport::Environment;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// The first token of a reply.
const TOKEN: &str = "Zebra";

/// A relay before a server: it notes when the token has gone to the client, and lets nothing behind it pass until it is
/// seen.
struct Relay {
    url: String,
    passed: Arc<Mutex<Option<Instant>>>,
    seen: Arc<Notify>,
}

impl Relay {
    async fn before(server: &str) -> Self {
        let server = server.strip_prefix("http://").unwrap().to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (passed, seen) = <(Arc<Mutex<Option<Instant>>>, Arc<Notify>)>::default();
        let (notes, waits) = (Arc::clone(&passed), Arc::clone(&seen));
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (mut from_client, mut to_client) = client.into_split();
                let (mut from_server, mut to_server) =
                    TcpStream::connect(&server).await.unwrap().into_split();
                tokio::spawn(async move { copy(&mut from_client, &mut to_server).await });
                let (notes, waits) = (Arc::clone(&notes), Arc::clone(&waits));
                tokio::spawn(async move {
                    let mut bytes = vec![0; 64 << 10];
                    while let Ok(length @ 1..) = from_server.read(&mut bytes).await {
                        if to_client.write_all(&bytes[..length]).await.is_err() {
                            return;
                        }
                        let has_token =
                            bytes[..length].windows(TOKEN.len()).any(|part| part == TOKEN.as_bytes());
                        if has_token && notes.lock().unwrap().is_none() {
                            *notes.lock().unwrap() = Some(Instant::now());
                            waits.notified().await;
                        }
                    }
                });
            }
        });
        Self { url, passed, seen }
    }
}

// A87
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_token_is_told_within_50_ms_and_waits_for_nothing_behind_it() {
    let models = [
        ("openai/gpt-5.1", "/v1"),
        ("openai-chat/gpt-4o", "/v1"),
        ("anthropic/claude-sonnet-4-5", ""),
        ("gemini/gemini-3-pro-preview", ""),
    ];
    for (name, path) in models {
        let mut best = Duration::MAX;
        // A busy machine is late now and then. One that is always late waits for something.
        for _ in 0..10 {
            let mock = MockProvider::start().await.unwrap();
            mock.enqueue(
                Reply::new().text_pieces([TOKEN, " crossing"]).delay_between(Duration::from_millis(5)),
            );
            let relay = Relay::before(mock.url()).await;
            let registry = Registry::bundled().with_environment(Environment::new(|_| None));
            let registry = registry.with_http(HttpSettings::new().with_auth("no key"));
            let model = registry.with_base_url(format!("{}{path}", relay.url)).model(name).unwrap();
            let mut run = Agent::builder(model).build().unwrap().run("Which crossing?");
            let mut first = None;
            while let Some(event) = run.next().await {
                if let EventKind::Content(text) = &event.kind
                    && first.is_none()
                {
                    first = Some((text.clone(), Instant::now()));
                    relay.seen.notify_one();
                }
            }
            let (text, told) = first.unwrap();
            let passed = relay.passed.lock().unwrap().unwrap();
            assert!(text.starts_with(TOKEN), "{}: {text}", name);
            best = best.min(told.saturating_duration_since(passed));
            if best < Duration::from_millis(50) {
                break;
            }
        }
        assert!(best < Duration::from_millis(50), "{}: {best:?}", name);
    }
}
