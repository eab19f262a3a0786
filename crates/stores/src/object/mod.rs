//! Documents in object storage.

mod backend;
mod documents;
mod garbage;
mod names;
#[cfg(feature = "s3")]
mod s3;

pub use documents::ObjectDocumentStore;
