//! The codec: requests and replies of the Messages API without I/O.

use std::fmt;
use std::sync::Arc;

use attache_core::capability::ReasoningReplay;
use attache_core::{ErrorKind, ModelCapabilities, ProviderError};
use attache_transport::{HttpModel, shown_url};

use crate::address::Platform;
use crate::capabilities;
use crate::error::Result;

/// The flag of requests to the Files API, and of those that name a file.
pub(crate) const FILES_BETA: &str = "files-api-2025-04-14";

/// The flag of requests that say what becomes of thinking which no longer fits the messages before it.
pub(crate) const BINDING_BETA: &str = "thinking-binding-controls-2026-08-01";

/// One model behind the Messages API. Gateways that want no key get [`Auth::None`](attache_transport::Auth::None).
///
/// ```
/// use attache_anthropic::Anthropic;
/// use attache_core::{ModelHandle, ModelSettings};
///
/// let model = Anthropic::new("claude-sonnet-4-5", "sk-ant-…")?
///     .with_settings(ModelSettings::new().with_system("Answer in one sentence."));
/// assert_eq!(ModelHandle::new(model).id(), "anthropic/claude-sonnet-4-5");
/// # Ok::<(), attache_core::ProviderError>(())
/// ```
pub type Anthropic = HttpModel<MessagesCodec>;

/// One call that the codec writes.
pub(crate) type Ask<'a> = attache_transport::Ask<'a, MessagesCodec>;

/// Makes the HTTP requests of the Messages API and reads its replies, without sending anything.
///
/// It knows the model and how the API is addressed: everything about a request that is not the conversation and
/// its options.
///
/// A key goes into `x-api-key`, a token of `ANTHROPIC_AUTH_TOKEN` into `authorization`, unless the options bring their
/// own `authorization` header.
///
/// * The first system messages stand at the top level, behind [`ModelSettings::system`](attache_core::ModelSettings::system); a later one is a text
///   block in angle brackets where it was given, so that the cache keeps what stands before it.
/// * Neighbours of one role share a turn. Messages that leave nothing are left out.
/// * A call keeps the provider's id where the API can take it again; ids of elsewhere are mapped, the same way each
///   time, on the call and on its result.
/// * Thinking goes back byte for byte if it is signed and of this model. All other reasoning stays out.
/// * Some models refuse thinking behind a system prompt, tools or messages other than those behind which it was written. A
///   window, a summary or new tools change them, so the API is asked to leave such thinking out
///   (`prefix_mismatch_behavior`); `inputTransformations` of the metadata says where it did. At another base URL that needs
///   [`with_beta("thinking-binding-controls-2026-08-01")`](Self::with_beta).
/// * Blocks of the provider's own tools go back verbatim, except calls that were never answered.
/// * The container in which the provider ran code is kept as a part of kind `container`. While the turn goes on, its id
///   goes back as the member of that name; `extra_body` may add to it or name another.
/// * The stop sequence that a reply met is the entry `stopSequence` of its metadata. So are `stopDetails`, as the category
///   of a refusal, `appliedEdits`, what the API cleared from the context, `inputTransformations`, what it left out of the
///   request, and, where `extra_body` asks for them, `diagnostics`.
/// * A conversation may end with the assistant only to continue a paused turn or, on models that allow it, a text.
/// * Without `max_tokens` a reply may have 32,000 tokens and the thinking budget, or the model's limit if it is
///   less.
/// * Without a cache policy a request with tools, or with an answer in its history, is cached for the short time.
/// * A document that [`ChatRequest::files`](attache_core::ChatRequest::files) refers to stands there by its id, with the flag that the API wants for it.
/// * Members of [`ModelSettings::extra_body`](attache_core::ModelSettings::extra_body) replace others, but `tools` are added behind the request's tools and
///   objects are merged.
///
/// Of a reply, unknown events, blocks, pieces and stop reasons are no errors: blocks are kept verbatim, in place, the
/// rest is skipped. A reply without text and calls ends in [`StreamChunk::Done`](attache_core::StreamChunk::Done) with
/// an empty message: whether that is an error is the caller's policy. A text block of nothing but white space cannot be
/// sent back, so it becomes part of the text beside it.
///
/// ```
/// use attache_anthropic::MessagesCodec;
/// use attache_core::{ChatRequest, Message, ModelSettings};
/// use attache_transport::{Ask, Codec};
///
/// let codec = MessagesCodec::new("claude-sonnet-4-5");
/// let request = ChatRequest::new([Message::user("Hello").shared()]).streaming(false);
/// let encoded = codec.encode(Ask::new(&request, &ModelSettings::new(), None))?;
/// assert_eq!(encoded.parts.url, "https://api.anthropic.com/v1/messages");
/// assert_eq!(
///     String::from_utf8_lossy(&encoded.parts.body.to_vec()),
///     r#"{"model":"claude-sonnet-4-5","max_tokens":32000,"messages":[{"role":"user","content":[{"type":"text","text":"Hello"}]}]}"#,
/// );
/// # Ok::<(), attache_core::ProviderError>(())
/// ```
#[derive(Clone)]
pub struct MessagesCodec {
    pub(crate) model: Arc<str>,
    pub(crate) platform: Platform,
    pub(crate) base_url: Option<String>,
    pub(crate) version: String,
    pub(crate) betas: Vec<String>,
    pub(crate) capabilities: Arc<ModelCapabilities>,
}

impl MessagesCodec {
    /// A model at the public API, version `2023-06-01`, with what the bundled matrix knows of it.
    pub fn new(model: &str) -> Self {
        Self::on(Platform::Anthropic, model, "2023-06-01")
    }

    /// A model at Vertex AI, which speaks the same API under addresses of its own and keeps no files. Project and
    /// location are set by [`with_project`](Self::with_project), or come from `GOOGLE_CLOUD_PROJECT` and
    /// `GOOGLE_CLOUD_LOCATION`. From the environment come credentials too: a token in `GOOGLE_ACCESS_TOKEN`, or what
    /// [`GoogleCredentials`](attache_transport::GoogleCredentials) finds. A publisher before the name is left out.
    ///
    /// ```
    /// use attache_anthropic::MessagesCodec;
    /// use attache_transport::Codec as _;
    ///
    /// let codec = MessagesCodec::vertex("claude-sonnet-4-5@20250929").with_project("my-project", "europe-west1");
    /// assert_eq!(codec.model_id(), "vertex/claude-sonnet-4-5@20250929");
    /// ```
    pub fn vertex(model: &str) -> Self {
        let model = model.trim();
        let named = model.strip_prefix("publishers/anthropic/models/");
        let named = named.or_else(|| model.strip_prefix("anthropic/")).unwrap_or(model);
        let platform = Platform::Vertex { project: String::new(), location: String::new() };
        Self::on(platform, named, "vertex-2023-10-16")
    }

    fn on(platform: Platform, model: &str, version: &str) -> Self {
        let model = model.trim();
        Self {
            model: Arc::from(model),
            capabilities: Arc::new(platform.fitted(capabilities::of(model))),
            platform,
            base_url: None,
            version: version.to_owned(),
            betas: Vec::new(),
        }
    }

    /// Sets project and location of a model at Vertex AI. `global`, `us` and `eu` have hosts of their own; a blank
    /// location is `global`. Models at Anthropic's own API have neither.
    #[must_use]
    pub fn with_project(mut self, project: impl Into<String>, location: impl Into<String>) -> Self {
        if let Platform::Vertex { .. } = self.platform {
            self.platform = Platform::Vertex { project: project.into(), location: location.into() };
        }
        self
    }

    /// Sends requests elsewhere, as [`set_base_url`](attache_transport::Codec::set_base_url). `/v1/messages` is added, or `/messages` if the URL ends in `/v1`.
    #[must_use]
    pub fn with_base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// Sets the `anthropic-version`, which at Vertex AI is a member of the body. From `2026-10-21` on the API takes no sampling options.
    #[must_use]
    pub fn with_version(mut self, version: impl Into<String>) -> Self {
        self.version = version.into();
        self
    }

    /// True if the API is to leave thinking out which no longer fits the system prompt, tools and messages before it, as
    /// behind a window; it would refuse the request. Another server may know neither the member nor its flag, so that it is
    /// asked for that only where the flag is among the codec's own.
    pub(crate) fn drops_outdated_thinking(&self) -> bool {
        let is_asked =
            || self.betas.iter().flat_map(|flags| flags.split(',')).any(|flag| flag.trim() == BINDING_BETA);
        self.capabilities.reasoning_replay == ReasoningReplay::Bound
            && (self.platform.is_own(self.base_url.as_deref()) || is_asked())
    }

    /// Adds a flag to `anthropic-beta`. Those of a request's own headers are added to it.
    #[must_use]
    pub fn with_beta(mut self, flag: impl Into<String>) -> Self {
        self.betas.push(flag.into());
        self
    }

    /// Sets what the model takes and can do, as a configured matrix says.
    #[must_use]
    pub fn with_capabilities(mut self, capabilities: impl Into<Arc<ModelCapabilities>>) -> Self {
        self.capabilities = capabilities.into();
        self
    }

    /// The model's id at the API.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// The address of the endpoint.
    pub(crate) fn url(&self, whole: bool) -> Result<String> {
        if self.model.is_empty() {
            return Err(ProviderError::new(ErrorKind::Configuration, "the model has no name"));
        }
        self.platform.messages(self.base_url.as_deref(), &self.model, whole)
    }

    /// The address that counts tokens.
    pub(crate) fn count_url(&self) -> Result<String> {
        self.url_of(match self.platform {
            Platform::Anthropic => "messages/count_tokens",
            Platform::Vertex { .. } => "count-tokens:rawPredict",
        })
    }

    /// The address of a path below the version of the API.
    pub(crate) fn url_of(&self, path: &str) -> Result<String> {
        self.platform.url(self.base_url.as_deref(), path)
    }
}

impl From<&str> for MessagesCodec {
    fn from(model: &str) -> Self {
        Self::new(model)
    }
}

impl fmt::Debug for MessagesCodec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessagesCodec")
            .field("model", &self.model)
            .field("platform", &self.platform)
            .field("base_url", &self.base_url.as_deref().map(shown_url))
            .field("version", &self.version)
            .field("betas", &self.betas)
            .finish_non_exhaustive()
    }
}
