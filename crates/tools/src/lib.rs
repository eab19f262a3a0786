//! Tools that an agent is given ready-made.
//!
//! [`ReadDocument`] lets a model ask for more of a document of the conversation.

mod read_document;

pub use read_document::ReadDocument;
