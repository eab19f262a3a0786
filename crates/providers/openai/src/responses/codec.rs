//! The codec: requests and replies of Responses without I/O.

use std::sync::Arc;

use attache_core::message::{MadeDocument, ReplayData};
use attache_transport::{
    Codec as _, CountRequest, Decoder, EncodedRequest, HttpModel, Reading, ReplyDecoder, join_url,
    note_made_documents,
};

use super::ask::{Ask, Responses};
use super::request;
use super::stream::Events;
use crate::codec::{Dialect, ServerCodec};
use crate::error::Result;
use crate::profile::Profile;

/// A model behind the Responses API: OpenAI's own, or a server that imitates it. Made of a model's name it is OpenAI's.
///
/// ```
/// use attache_core::{ModelHandle, ModelSettings};
/// use attache_openai::OpenAi;
/// let model = OpenAi::new("gpt-5.6", "sk-…")?.with_settings(ModelSettings::new().with_max_tokens(2000));
/// assert_eq!(ModelHandle::new(model).id(), "openai/gpt-5.6");
/// # Ok::<(), attache_core::ProviderError>(())
/// ```
pub type OpenAi = HttpModel<ResponsesCodec>;

/// The Responses API for one model of one profile: requests to HTTP, answers to chunks. It does no I/O.
///
/// Conversations are sent whole, nothing is stored at the server, and reasoning goes back encrypted beside what it led
/// to. Of an answer, unknown events and items are no errors: items are kept verbatim, in place, and go back to where
/// they came from; unknown events are skipped. An answer without text and calls ends in
/// [`StreamChunk::Done`](attache_core::StreamChunk::Done) with an empty message: whether that is an error is the
/// caller's policy.
pub type ResponsesCodec = ServerCodec<Responses>;

/// The members of a request that count.
const COUNTED: [&str; 8] =
    ["model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls", "reasoning", "text"];

impl Dialect for Responses {
    fn openai() -> Arc<Profile> {
        Profile::openai()
    }

    fn encode(ask: Ask<'_>) -> Result<EncodedRequest> {
        let goes_back = |made: &MadeDocument| {
            let is_own = |replay: &ReplayData| replay.family() == &*ask.codec.server.family;
            made.replay.as_ref().is_some_and(is_own) && made.document.bytes().is_some()
        };
        request::encode(ask.with_request(&note_made_documents(ask.request, goes_back)))
    }

    fn count(ask: Ask<'_>) -> Option<Result<CountRequest>> {
        let profile = ask.codec.profile();
        let counted = || {
            let url = join_url(&profile.base_url, "responses/input_tokens")?;
            let encoded =
                ask.codec.encode(attache_transport::Ask::new(ask.request, ask.settings, ask.key))?;
            CountRequest::of(encoded, url, "/input_tokens", |mut members| {
                members.retain(|name, _| COUNTED.contains(&name.as_str()));
                serde_json::Value::Object(members)
            })
        };
        profile.responses.counts_tokens.then(counted)
    }

    fn decoder(_: &Profile, reading: Reading) -> Box<dyn Decoder> {
        Box::new(ReplyDecoder::new(Events::new(reading)))
    }

    fn keeps_files(_: &Profile) -> bool {
        true
    }
}
