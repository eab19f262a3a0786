//! Logged events: a process of its own, since whether an event is logged at all is decided once for all its threads.

#![cfg(test)]

#[path = "../http/support.rs"]
#[allow(dead_code, reason = "this test uses a part of it")]
mod support;

use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};

use attache_core::{ModelSettings, Secret};
use attache_transport::{HttpClient, RequestParts};
use http::header::AUTHORIZATION;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use support::{Server, call_with, collect, quick};

const KEY: &str = "canary-0123456789";

fn request(url: &str) -> RequestParts {
    let options = ModelSettings::new().with_extra_header("X-Gateway", "canary-gateway");
    RequestParts::post_json(format!("{url}/v1?key=canary-query"), "{\"prompt\":\"canary-prompt\"}".to_owned())
        .with_secret_header(AUTHORIZATION, "Bearer ", &Secret::new(KEY))
        .with_extra_headers(&options.extra_headers)
        .unwrap()
}

/// Everything that any crate logs, at every level.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, "{field}={value:?} ").unwrap();
    }
}

impl Log {
    fn note(&self, metadata: &Metadata<'_>, record: impl FnOnce(&mut Fields)) {
        let mut fields = Fields(format!("{} ", metadata.target()));
        record(&mut fields);
        self.0.lock().unwrap().push(fields.0);
    }
}

impl Subscriber for Log {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        self.note(span.metadata(), |fields| span.record(fields));
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        self.note(event.metadata(), |fields| event.record(fields));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

// Invariant 11
#[tokio::test]
async fn logs_show_one_event_a_call_and_no_secret() {
    let server = Server::start(|number, mut connection| async move {
        match number {
            0 => connection.respond(503, "", KEY).await,
            1 => connection.respond(200, "", "{\"text\":\"canary-answer\"}").await,
            _ => connection.respond(401, "", &format!("{{\"error\":\"bad {KEY}\"}}")).await,
        }
        Some(connection)
    })
    .await;
    let log = Log::default();
    let guard = tracing::subscriber::set_default(log.clone());
    let client = HttpClient::shared();
    let call = || collect(call_with(&client, &Arc::default(), request(&server.url), quick()));
    call().await.1.unwrap();
    call().await.1.unwrap_err();
    drop(guard);

    let lines = log.0.lock().unwrap().clone();
    let text = lines.join("\n");
    assert!(!text.contains("canary"), "{text}");
    let ours: Vec<_> = lines.iter().filter(|line| line.starts_with("attache_transport")).collect();
    assert_eq!(ours.len(), 2, "{ours:?}");
    assert!(ours[0].contains("attempts=2") && ours[0].contains("?key=***"), "{ours:?}");
    assert!(ours[1].contains("error=\"authentication\"") && ours[1].contains("status=401"), "{ours:?}");
}
