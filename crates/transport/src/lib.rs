//! The common ground of attache's providers on HTTP. For authors of provider crates.
//!
//! A provider crate is a [`Codec`] without I/O: requests to HTTP, replies to chunks. This crate does the rest, and
//! [`HttpModel`] makes a provider of a codec:
//!
//! | need | type |
//! | --- | --- |
//! | a codec with a connection | [`HttpModel`], [`Network`] |
//! | keys, signatures, tokens, and where they are found | [`Auth`], [`Authorizer`], [`Tokens`], [`Environment`] |
//! | a history that is rendered once and sent without copies | [`EncodedLog`], [`ItemWriter`], [`Fill`], [`EncodedBody`] |
//! | what every API demands of histories and options | [`check_pairing`], [`wire_ids`], [`Refusals`] |
//! | what is kept of a conversation, and what stands around its messages | [`with_kept`], [`system_texts`], [`head`], [`tail`] |
//! | options held against what a model can do | [`Refusals`], [`knows`], [`check_choice`] |
//! | documents as they are sent | [`Shown`], [`shown`], [`check_routed`] |
//! | documents that models make | [`made_document`], [`note_made_documents`] |
//! | documents that are uploaded once and named in requests | [`Uploads`], [`FileApi`], [`NewFile`] |
//! | schemas as APIs take them | [`plain_tool`], [`check_tools`] |
//! | schemas in subsets that APIs enforce, and the way back | [`StrictForms`], [`strict_answer`], [`strict_loosened`] |
//! | server-sent events, whatever the network did to them | [`SseDecoder`] |
//! | replies whose members may be anything, or must stay as they are | [`lenient`], [`Members`], [`JsonStr`] |
//! | the few members that matter of an event, read in place | [`JsonCursor`] |
//! | what the APIs of Claude have in common | [`claude`] |
//! | one reply, streamed or whole, decoded piece by piece | [`EventDecoder`], [`ReplyDecoder`], [`ChunkSink`] |
//! | what an API counts of a request before it is sent | [`CountRequest`], [`HttpModel::count_tokens`] |
//! | the models that a server has, with what it says of them | [`ModelApi`], [`Network::list_models`] |
//! | an encoded request; a recorded reply read again | [`EncodedRequest`], [`Replay`], [`replay`] |
//! | the files that such replies are recorded in | [`cassette`] |
//! | a request with secrets that nobody sees | [`RequestParts`], [`Redactor`], [`shown_url`] |
//! | the client, its time limits, retries | [`HttpClient`], [`Timeouts`], [`RetryPolicy`], [`Trying`] |
//! | metrics, headers of a gateway, recordings: what stands between a client and the network | [`Hook`] |
//! | documents from addresses that anybody may have written | [`GuardedFetcher`] |
//! | requests that reach public addresses only | [`AddressGuard`], [`HttpClient::guarded`] |
//! | an error body as a [`ProviderError`](attache_core::ProviderError) | [`ErrorResponse`], [`ErrorBody`] |
//! | all of it as one [`ChunkStream`](attache_core::ChunkStream) | [`Exchange`], [`stream`] |
//!
//! TLS is rustls with ring and the certificates of the operating system. It is set up at the first `https`
//! connection, the client at the first request.

mod ask;
mod auth;
mod body;
mod call_pairing;
pub mod cassette;
pub mod cited;
pub mod claude;
mod client;
mod codec;
mod conversation;
mod count;
mod cursor;
mod document_parts;
mod drive;
mod encoded;
mod encoded_log;
mod error;
mod fetch;
mod files;
#[cfg(feature = "google")]
mod google;
mod json;
pub mod lenient;
mod listing;
mod model;
mod network;
mod options;
mod origin;
mod output_documents;
mod reading;
mod redact;
mod refused_options;
mod reply;
mod request;
mod retry;
mod sse;
mod strict;
mod token;
mod tool_schema;

pub use ask::Ask;
pub use auth::{Auth, Authorizer, Environment, missing_key};
pub use body::EncodedBody;
pub use call_pairing::{check_pairing, wire_ids};
pub use client::{AddressGuard, EndedExchange, Hook, HttpClient, Reply, Timeouts};
pub use codec::{Codec, Replay, replay};
pub use conversation::{
    asked, behind, comma, count_leading, count_seen, extra_tools, forbid, head, is_same, joined, own_system,
    same_names, separate, system_blocks, system_texts, tail, with_kept,
};
pub use count::CountRequest;
pub use cursor::JsonCursor;
pub use document_parts::{
    Shown, bytes_of, cannot_send, cannot_take, check_result_routed, check_routed, is_blank, place_of_result,
    place_of_user, plain_text, shown, unknown_part, with_text_of,
};
pub use drive::{Exchange, stream};
pub use encoded::EncodedRequest;
pub use encoded_log::{EncodedLog, Envelope, Fill, ItemWriter, Marker, RoleTag, Template};
pub use error::{
    ErrorBody, ErrorReader, ErrorResponse, configuration, content_encoding, excerpt, invalid_history,
    kind_of_code, kind_of_status, malformed, one_line, tells_of_full_window, unsupported,
};
pub use fetch::{GuardedFetcher, media_type_of, named_file, redirected, said_media_type};
pub use files::{
    FileAnswer, FileApi, FileAsk, FileStep, NewFile, RemoteFile, UploadedFile, Uploads, seconds_between,
};
#[cfg(feature = "google")]
pub use google::{GoogleCredentials, google_auth, missing_project, vertex_host};
pub use json::{JsonStr, Members, write_json};
pub use listing::{ListedModel, ModelApi, ModelPage};
pub use model::HttpModel;
pub use network::Network;
pub use options::{budget_for, can_reason, check_choice, forces_tool, knows, refuse_allowed, set_member};
pub use origin::Origin;
pub use output_documents::{made_document, made_document_of_uri, note, note_made_documents};
pub use reading::Reading;
pub use redact::{Redactor, SHORTEST_SECRET, redact_texts, shown_url};
pub use refused_options::{ANY, Refusals};
pub use reply::{BodyForm, ChunkSink, Decoder, EventDecoder, HandedOut, ReplyDecoder};
pub use request::{RequestParts, join_url, percent_decoded, percent_encoded};
pub use retry::{RetryPolicy, Trying};
pub use sse::{SseDecoder, SseEvent};
pub use strict::{StrictForms, strict_answer, strict_loosened};
pub use token::{AccessToken, TokenSource, Tokens};
pub use tool_schema::{check_tools, described, plain_tool};
