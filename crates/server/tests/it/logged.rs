//! The log of the program.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use attache_agent::Agent;
use attache_core::ErrorKind;
use attache_testkit::Turn;
use serde_json::json;
use tracing::subscriber::DefaultGuard;
use tracing::{Dispatch, Level};
use tracing_subscriber::fmt;
use tracing_subscriber::fmt::MakeWriter;

use crate::common::{Client, Stage, server, text};

/// All that is logged.
#[derive(Clone, Default)]
pub(crate) struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Lines {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

impl Lines {
    /// Takes the lines of this thread down.
    pub(crate) fn begin(&self, level: Level) -> (Dispatch, DefaultGuard) {
        // While there is just one, a line that another thread comes to first is taken for one that nobody wants to read.
        let second = Dispatch::new(fmt().with_writer(io::sink).finish());
        let log = fmt().with_max_level(level).with_ansi(false).with_writer(self.clone()).finish();
        (second, tracing::subscriber::set_default(log))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()).unwrap()
    }
}

// Users are not told why a model failed, so that whoever runs the server must be: once, however often the run is looked at.
#[tokio::test(start_paused = true)]
async fn a_failure_of_the_model_is_logged_once() {
    for (kind, level) in [(ErrorKind::Network, "WARN"), (ErrorKind::Authentication, "ERROR")] {
        let lines = Lines::default();
        let _log = lines.begin(Level::WARN);
        let stage = Stage::new([Turn::empty().then_error(kind)]);
        let client = Client::new(server(Agent::builder(stage)));
        let begun = json!({"model": "papers", "input": "?", "background": true});
        let begun: serde_json::Value =
            serde_json::from_str(&text(client.post("/v1/responses", begun).await).await).unwrap();
        for query in ["?stream=true", "", "?stream=true"] {
            let path = format!("/v1/responses/{}{query}", begun["id"].as_str().unwrap());
            let told = text(client.get(&path).await).await;
            assert!(told.contains("failed"), "{told}");
        }
        let logged = lines.text();
        let failures: Vec<_> = logged.lines().filter(|line| line.contains(kind.as_str())).collect();
        assert!(matches!(failures[..], [line] if line.contains(level)), "{logged}");
    }
}
