//! Time limits.

use std::time::Duration;

/// The time that each part of a request may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timeouts {
    /// Until a connection stands, TLS included; 10 s. A `reqwest::Client` has its own limit instead.
    pub connect: Duration,
    /// From the start of an attempt until its response begins; 300 s. A response that comes whole begins when all of it
    /// is made, so it has until `total`.
    pub first_byte: Duration,
    /// Between two reads of the response; 300 s. Comments and pings count as life.
    pub idle: Duration,
    /// Everything, attempts and waits included; 60 min.
    pub total: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(300),
            idle: Duration::from_secs(300),
            total: Duration::from_secs(3600),
        }
    }
}

impl Timeouts {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the limit for connecting.
    #[must_use]
    pub fn with_connect(mut self, limit: Duration) -> Self {
        self.connect = limit;
        self
    }

    /// Sets the limit until the response begins.
    #[must_use]
    pub fn with_first_byte(mut self, limit: Duration) -> Self {
        self.first_byte = limit;
        self
    }

    /// Sets the limit between two reads.
    #[must_use]
    pub fn with_idle(mut self, limit: Duration) -> Self {
        self.idle = limit;
        self
    }

    /// Sets the limit of everything.
    #[must_use]
    pub fn with_total(mut self, limit: Duration) -> Self {
        self.total = limit;
        self
    }
}
