//! Models behind Amazon Bedrock Converse and ConverseStream, for attache.
//!
//! [`Bedrock`] is the provider: a model that answers `bedrock/<model id, profile id or ARN>`. It is [`ConverseCodec`]
//! with a connection; the codec turns requests into HTTP requests and replies into chunks without doing I/O. Requests
//! carry an API key of Bedrock or are signed by [`SigV4`].
//!
//! # What the API says in its own way
//! - One wire for many vendors, whose models differ in what may stand where. The capability table says what a model
//!   takes; rules that it has no cells for are kept per family of models.
//! - Content that a family does not let stand beside tool results follows in a turn of its own, behind a word of the
//!   assistant's.
//! - Documents have names, which the model reads. They are made of the document's id and say nothing else.
//! - Replies stream in binary frames, whose checksums are verified.
//!
//! # Features
//! - `aws-config`: the whole chain of AWS credentials (single sign-on, roles, web identity, containers, machines).

mod address;
mod api;
mod capabilities;
mod codec;
mod credentials;
mod error;
mod eventstream;
mod models;
mod request;
mod response;
mod sigv4;
mod stream;

pub use codec::{Bedrock, ConverseCodec};
pub use credentials::{CredentialSource, Credentials};
pub use sigv4::SigV4;
