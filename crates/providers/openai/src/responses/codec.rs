//! The codec: requests and replies of Responses without I/O.

use attache_transport::HttpModel;

use crate::codec::ServerCodec;

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
///
/// Members of [`ModelSettings::extra_body`](attache_core::ModelSettings::extra_body) replace others; objects are merged at
/// every depth, and what `include` asks for is asked for beside what this codec needs, unless it is an empty list. How
/// likely the tokens were, where that asks for it, is the entry `logprobs` of the message's metadata. Reports of the
/// server are entries as they came: `inputTransformations` (reasoning that it withheld from the model), `moderation`,
/// `promptCacheDiagnostics`, `accessPrograms`.
pub type ResponsesCodec = ServerCodec<Responses>;

/// The Responses API.
#[derive(Clone, Copy, Debug)]
pub struct Responses;

/// One call that the codec writes.
pub(super) type Ask<'a> = attache_transport::Ask<'a, ServerCodec<Responses>>;
