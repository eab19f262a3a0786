//! The dialect behind the codec: what each call of it comes to in Chat Completions.

use std::sync::Arc;

use attache_transport::{Decoder, EncodedRequest, Reading, ReplyDecoder, note_made_documents};

use super::codec::{Ask, Chat};
use super::request;
use super::stream::Events;
use crate::codec::Dialect;
use crate::error::Result;
use crate::profile::{FileForm, Profile};

impl Dialect for Chat {
    fn openai() -> Arc<Profile> {
        Profile::openai_chat()
    }

    fn encode(ask: Ask<'_>) -> Result<EncodedRequest> {
        request::encode(ask.with_request(&note_made_documents(ask.request, |_| false)))
    }

    fn decoder(profile: &Profile, reading: Reading) -> Box<dyn Decoder> {
        Box::new(ReplyDecoder::new(Events::new(reading, profile)))
    }

    fn keeps_files(profile: &Profile) -> bool {
        // Elsewhere a file stands in a form that has no id.
        profile.files == FileForm::File
    }
}
