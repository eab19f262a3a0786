//! The bounds of a server.

use std::time::Duration;

/// The bounds of a server. All of them have defaults.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerLimits {
    /// The maximum number of bytes of a request's body: 32 MiB.
    pub body: usize,
    /// The maximum number of bytes of an upload: 64 MiB.
    pub upload: usize,
    /// The maximum number of bytes of bodies that are read at a time, each beyond its first 64 KiB: 512 MiB, or what
    /// one may have where that is more. Further ones are refused (503), so that it should be several times what one may
    /// have. A principal takes half of it at most, and always what one request may have. Without keys all users are one
    /// principal. Documents that are on their way out, or are read for a preview, have as much room of their own; one
    /// alone may be larger than that.
    pub bodies: usize,
    /// The media types that `POST /v1/documents` takes, such as `application/pdf` or `image/*`: all by default. A text that
    /// is no such [pattern](attache_core::MediaType::pattern) takes nothing. Documents inside other requests may be of any
    /// type. The chat offers those that the model of its agent reads where none are named.
    pub upload_types: Vec<String>,
    /// The time in which a body comes: 60 s.
    pub body_time: Duration,
    /// The time in which the head of a request comes: 10 s.
    pub head_time: Duration,
    /// The time in which a client takes something of what is to be written to it: 60 s. Then its connection ends.
    pub write_time: Duration,
    /// The maximum number of connections: 4,096. Further ones wait.
    pub connections: usize,
    /// The maximum number of runs of a principal that are under way: 64. Runs of processes that are gone are taken over
    /// also where there is no room for new ones, as many at a time in all, and count like others.
    pub runs: usize,
    /// The maximum number of requests of a principal in a minute, which may come at once: as many as they like by
    /// default.
    pub requests_per_minute: Option<u32>,
    /// The longest that a run is driven: 10 minutes. For ever with `None`.
    pub run_time: Option<Duration>,
    /// The time that a run waits for the answer of a frontend tool: 30 s.
    pub frontend_time: Duration,
    /// The maximum number of events of a run that viewers may fall behind: 4,096.
    pub ring_events: usize,
    /// Their bytes: 1 MiB.
    pub ring_bytes: usize,
    /// The time in which runs end when the server stops: 20 s.
    pub drain: Duration,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            body: 32 << 20,
            upload: 64 << 20,
            bodies: 512 << 20,
            upload_types: Vec::new(),
            body_time: Duration::from_secs(60),
            head_time: Duration::from_secs(10),
            write_time: Duration::from_secs(60),
            connections: 4096,
            runs: 64,
            requests_per_minute: None,
            run_time: Some(Duration::from_secs(600)),
            frontend_time: Duration::from_secs(30),
            ring_events: 4096,
            ring_bytes: 1 << 20,
            drain: Duration::from_secs(20),
        }
    }
}
