//! Models behind the Anthropic Messages API, for attache.
//!
//! [`Anthropic`] is the provider: a model that answers `anthropic/<model>`. It is [`MessagesCodec`] with a
//! connection; the codec turns requests into HTTP requests and replies into chunks without doing I/O.
//!
//! # What the API says in its own way
//! - Documents of tool results stand natively inside the result, next to its text; only those of a failed result
//!   follow in the user's turn, where routing put them.
//! - Instructions have one place, before the messages. Later ones stay in place as marked text.
//! - Thinking goes back byte for byte with its signature, to the model that signed it and to no other.
//! - Prompt caching is asked for by markers, which are placed for the caller.

mod address;
mod api;
mod capabilities;
mod codec;
mod error;
mod files;
mod models;
mod request;
mod response;
mod stream;

pub use codec::{Anthropic, MessagesCodec};

#[doc(inline)]
pub use attache_transport::{UploadedFile, Uploads};
