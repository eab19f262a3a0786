//! Gemini models behind generateContent, on the Gemini API and on Vertex AI, for attache.
//!
//! [`Gemini`] is the provider: a model that answers `gemini/<model>` or `vertex/<model>`. It is [`GenerateCodec`] with a
//! connection; the codec turns requests into HTTP requests and replies into chunks without doing I/O.
//!
//! # What the API says in its own way
//! - A result of a tool is an object. From the third generation on it may carry media; for older models routing puts
//!   them into the user's turn behind the results.
//! - Signatures stand on parts of every kind. They go back byte for byte, in place, to the model that signed; what the
//!   model demands and the history lacks is replaced by the documented stand-in.
//! - A prompt may be refused and a call unwritable under status 200: both are errors here, the second one retryable.
//! - Prefixes are cached by the provider itself or, where the caller asks for it, kept there as a resource.

mod address;
mod api;
mod cache;
mod capabilities;
mod codec;
mod error;
mod files;
mod models;
mod request;
mod response;
mod stream;

pub use codec::{Gemini, GenerateCodec};

#[doc(inline)]
pub use attache_transport::{GoogleCredentials, UploadedFile, Uploads};
