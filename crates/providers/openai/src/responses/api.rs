//! The dialect behind the codec: what each call of it comes to in Responses.

use std::sync::Arc;

use attache_core::message::{MadeDocument, ReplayData};
use attache_transport::{
    Codec as _, CountRequest, Decoder, EncodedRequest, Reading, ReplyDecoder, join_url, note_made_documents,
};

use super::codec::{Ask, Responses};
use super::request;
use super::stream::Events;
use crate::codec::Dialect;
use crate::error::Result;
use crate::profile::Profile;

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

    fn decoder(profile: &Profile, reading: Reading) -> Box<dyn Decoder> {
        Box::new(ReplyDecoder::new(Events::new(reading, profile)))
    }

    fn keeps_files(_: &Profile) -> bool {
        true
    }
}
