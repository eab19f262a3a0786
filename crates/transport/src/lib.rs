//! What attache's providers share on HTTP. For authors of provider crates.
//!
//! A provider crate is a codec without I/O and a thin client around it. The codec turns a request into
//! [`RequestParts`] and a reply into chunks; this crate does the rest:
//!
//! | need | type |
//! | --- | --- |
//! | a history that is rendered once and sent without copies | [`EncodedLog`], [`ItemWriter`], [`EncodedBody`] |
//! | server-sent events, whatever the network did to them | [`SseDecoder`] |
//! | one reply, streamed or whole, decoded piece by piece | [`EventDecoder`], [`ReplyDecoder`], [`ChunkSink`] |
//! | an encoded request; a recorded reply read again | [`EncodedRequest`], [`Replay`], [`replay`] |
//! | a request with secrets that nobody sees | [`RequestParts`], [`Redactor`], [`shown_url`] |
//! | the client, its time limits, retries | [`HttpClient`], [`Timeouts`], [`RetryPolicy`] |
//! | an error body as a [`ProviderError`](attache_core::ProviderError) | [`ErrorResponse`], [`ErrorBody`] |
//! | all of it as one [`ChunkStream`](attache_core::ChunkStream) | [`Exchange`], [`stream`] |
//!
//! TLS is rustls with ring and the certificates of the operating system. It is set up at the first `https`
//! connection, the client at the first request.

mod body;
mod client;
mod drive;
mod error;
mod log;
mod redact;
mod replay;
mod reply;
mod request;
mod retry;
mod sse;

pub use body::EncodedBody;
pub use client::{HttpClient, Reply, Timeouts};
pub use drive::{Exchange, stream};
pub use error::{ErrorBody, ErrorReader, ErrorResponse, kind_of_code, kind_of_status};
pub use log::{EncodedLog, Envelope, ItemWriter, Marker, RoleTag};
pub use redact::{Redactor, shown_url};
pub use replay::{EncodedRequest, Replay, replay};
pub use reply::{ChunkSink, Decoder, EventDecoder, ReplyDecoder};
pub use request::{RequestParts, join_url};
pub use retry::RetryPolicy;
pub use sse::{SseDecoder, SseEvent};
