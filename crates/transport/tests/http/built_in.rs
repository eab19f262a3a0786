//! What holds of every client, over the built-in connections.

use attache_transport::{HttpClient, Timeouts};

#[path = "calls.rs"]
mod calls;
#[path = "hooks.rs"]
mod hooks;
#[path = "limits.rs"]
mod limits;
#[path = "secrets.rs"]
mod secrets;

pub(crate) fn client_with(timeouts: Timeouts) -> HttpClient {
    HttpClient::new(timeouts)
}

fn client() -> HttpClient {
    client_with(Timeouts::new())
}

/// Lines of a request's head that the client writes, and words that are not in it.
const SAYS: [&str; 1] = [concat!("user-agent: attache/", env!("CARGO_PKG_VERSION"), "\r\n")];
const SAYS_NOT: [&str; 2] = ["accept-encoding", "transfer-encoding"];
