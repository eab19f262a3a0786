//! Documents in object storage.

mod backend;
mod collect;
mod documents;
mod names;
#[cfg(feature = "s3")]
mod s3;

pub use documents::ObjectDocumentStore;
