//! One client over streams of lines.

use rmcp::service::{ServerInitializeError, ServiceExt};
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncRead, AsyncWrite};

use super::handler::Handler;

/// A client cannot be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum McpServeError {
    /// It begins with something else than the protocol says.
    #[error("the client does not begin as the protocol says: {0}")]
    Handshake(String),
    /// The address cannot be listened at, or the listener failed.
    #[error("connections cannot be accepted")]
    Listen(#[from] std::io::Error),
}

/// The lines of a client.
pub(super) type Read = Box<dyn AsyncRead + Send + Unpin>;
/// Takes the lines for a client.
pub(super) type Write = Box<dyn AsyncWrite + Send + Unpin>;

/// Serves until the client is gone.
pub(super) async fn serve(
    handler: Handler,
    read: Read,
    write: Write,
    limit: usize,
) -> Result<(), McpServeError> {
    let transport = AsyncRwTransport::new(read, write).with_max_line_length(limit);
    let running = match handler.serve(transport).await {
        Ok(running) => running,
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => {
            let said: String = error.to_string().chars().take(300).collect();
            return Err(McpServeError::Handshake(said));
        }
    };
    if let Err(error) = running.waiting().await {
        tracing::error!(%error, "the session with a client ended unexpectedly");
    }
    Ok(())
}
