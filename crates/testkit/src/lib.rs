//! Scripted models, a strict mock provider and a cassette player for testing attache agents.
//!
//! - [`MockProvider`] is an HTTP server that speaks the providers' APIs: it answers with scripted [`Reply`]s,
//!   whole or streamed, injects faults, records what it was asked, and judges every request as strictly as the
//!   real servers do. The judgement alone is [`validate_chat`], [`validate_messages`],
//!   [`validate_responses`], [`validate_gemini`] and [`validate_converse`].
//! - [`seen_documents`] decodes the documents of a request as its provider would see them;
//!   [`MockProvider::seen_documents`] looks into uploaded files too.
//! - [`hostile`] makes documents that were made to break their readers.
//! - [`Cassette`] reads recorded traffic, [`chunked`] cuts its bodies into chunks, [`CassettePlayer`] serves it.

mod api;
mod cassette;
mod documents;
pub mod hostile;
mod media;
mod mock;
mod scripted;

#[cfg(test)]
mod testing;

pub use api::Api;
pub use cassette::{
    Cassette, CassetteError, CassetteIndex, CassettePlayer, Difference, Elided, Expectation, ExpectedCall,
    ExpectedError, ExpectedThinking, ExpectedUsage, IndexedCassette, Interaction, PlayerOptions,
    RecordedBody, RecordedCall, RecordedResponse, RequestMismatch, chunked, json_differences,
};
pub use documents::{SeenDocument, SeenPlace, seen_documents, sha256_hex};
pub use mock::{
    Finish, MockProvider, RecordedRequest, Reply, ReplyUsage, ResponseState, Rules, Server, StoredFile,
    Violation, Writes, event_frame, validate_chat, validate_chat_with, validate_converse,
    validate_converse_with, validate_gemini, validate_gemini_with, validate_messages, validate_messages_with,
    validate_responses, validate_responses_with,
};
pub use scripted::{ScriptedArguments, ScriptedModel, Turn};
