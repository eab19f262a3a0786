//! The codec: requests and replies of Chat Completions without I/O.

use attache_transport::HttpModel;

use crate::codec::ServerCodec;

/// A model behind Chat Completions: OpenAI's own, or a server that imitates it. Made of a model's name it is OpenAI's.
///
/// ```
/// use attache_core::{ModelHandle, ModelSettings};
/// use attache_openai::OpenAiChat;
/// let model = OpenAiChat::new("gpt-4o", "sk-…")?.with_settings(ModelSettings::new().with_temperature(0.0));
/// assert_eq!(ModelHandle::new(model).id(), "openai-chat/gpt-4o");
/// # Ok::<(), attache_core::ProviderError>(())
/// ```
pub type OpenAiChat = HttpModel<ChatCodec>;

/// Chat Completions for one model of one profile: requests to HTTP, answers to chunks. It does no I/O.
///
/// An answer without text and calls ends in [`StreamChunk::Done`](attache_core::StreamChunk::Done) with an empty
/// message: whether that is an error is the caller's policy. One that failed on the server's side before it said
/// anything, and said so only as its finish reason, is an error that may be retried. How likely the tokens were, where
/// `extra_body` asks for it, is the entry `logprobs` of the message's metadata, a list with an item for each token; so is
/// `moderation`, as it came.
///
/// ```
/// use attache_core::{ChatRequest, Message, ModelSettings};
/// use attache_openai::{ChatCodec, Profile};
/// use attache_transport::{Ask, Codec};
/// let codec = ChatCodec::new(Profile::openai_chat(), "gpt-4o");
/// let request = ChatRequest::new([Message::user("Hi").shared()]).streaming(false);
/// let encoded = codec.encode(Ask::new(&request, &ModelSettings::new(), None))?;
/// assert_eq!(encoded.parts.url, "https://api.openai.com/v1/chat/completions");
/// assert_eq!(encoded.parts.body.to_vec(), br#"{"model":"gpt-4o","messages":[{"role":"user","content":"Hi"}]}"#);
/// # Ok::<(), attache_core::ProviderError>(())
/// ```
pub type ChatCodec = ServerCodec<Chat>;

/// Chat Completions.
#[derive(Clone, Copy, Debug)]
pub struct Chat;

/// One call that the codec writes.
pub(super) type Ask<'a> = attache_transport::Ask<'a, ServerCodec<Chat>>;
