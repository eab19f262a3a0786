//! Models behind Cohere's chat API, version 2, for attache.
//!
//! [`Cohere`] is the provider: a model that answers `cohere/<model>`. It is [`CohereCodec`] with a connection; the
//! codec turns requests into HTTP requests and replies into chunks without doing I/O.
//!
//! This crate is also the worked example of the guide page `docs/guide/your-own-provider.md`. It uses nothing that
//! an author outside attache's workspace has not. `Registry::bundled` does not know it; the command adds it by
//! `Registry::with_codec`.

mod api;
mod capabilities;
mod codec;
mod error;
mod request;
mod response;
mod stream;

pub use codec::{Cohere, CohereCodec};
