//! The yardsticks of attache's own tests for its providers; nothing here is published.
//!
//! - [`MockProvider`] is an HTTP server that speaks the providers' APIs: it answers with scripted [`Reply`]s,
//!   whole or streamed, injects faults, records what it was asked, and judges every request as strictly as the
//!   real servers do. The judgement alone is [`validate_chat`], [`validate_messages`],
//!   [`validate_responses`], [`validate_gemini`], [`validate_converse`], [`validate_cohere`] and
//!   [`validate_ollama`].
//! - [`seen_documents`] decodes the documents of a request as its provider would see them;
//!   [`MockProvider::seen_documents`] looks into uploaded files too.
//! - [`hostile`] makes documents that were made to break their readers.
//! - [`conversation`] has the documents, tools and growing conversations that the tests of each provider send.
//! - [`CassetteIndex`] says what recorded answers hold. Recordings themselves are read by
//!   [`attache_transport::cassette`].

mod api;
mod cassette;
pub mod conversation;
mod digest;
mod documents;
pub mod hostile;
mod media;
mod members;
mod mock;
mod paths;

#[cfg(test)]
mod testing;

pub use api::Api;
pub use cassette::{
    CassetteIndex, Expectation, ExpectedCall, ExpectedError, ExpectedThinking, ExpectedUsage, IndexedCassette,
};
pub use digest::sha256_hex;
pub use documents::{SeenDocument, SeenPlace, seen_documents};
pub use mock::{
    Finish, MockProvider, RecordedRequest, Reply, ReplyUsage, ResponseState, Rules, Server, StoredFile,
    Violation, Writes, event_frame, validate_chat, validate_chat_with, validate_cohere, validate_converse,
    validate_converse_with, validate_gemini, validate_gemini_with, validate_messages, validate_messages_with,
    validate_ollama, validate_responses, validate_responses_with,
};
