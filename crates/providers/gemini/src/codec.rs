//! The codec: requests and replies of generateContent without I/O.

use std::fmt;
use std::sync::Arc;

use attache_core::ModelCapabilities;
use attache_core::capability::Matrix;
use attache_transport::{HttpModel, shown_url};

use crate::address::Platform;
use crate::cache::entries::Caches;
use crate::error::{Result, configuration};

/// One Gemini model. The key goes into `x-goog-api-key`; on Vertex AI it is an access token, or an
/// [`Authorizer`](attache_transport::Authorizer) that fetches one.
///
/// ```
/// use attache_core::{ModelHandle, ModelSettings};
/// use attache_gemini::{Gemini, GenerateCodec};
///
/// let model = Gemini::new("gemini-3-flash-preview", "AIza…")?
///     .with_settings(ModelSettings::new().with_system("Answer in one sentence."));
/// assert_eq!(ModelHandle::new(model).id(), "gemini/gemini-3-flash-preview");
///
/// let codec = GenerateCodec::vertex("gemini-3-flash-preview").with_project("my-project", "global");
/// assert_eq!(ModelHandle::new(Gemini::new(codec, "ya29.…")?).id(), "vertex/gemini-3-flash-preview");
/// # Ok::<(), attache_core::ProviderError>(())
/// ```
pub type Gemini = HttpModel<GenerateCodec>;

/// One call that the codec writes.
pub(crate) type Ask<'a> = attache_transport::Ask<'a, GenerateCodec>;

/// Makes the HTTP requests of generateContent and reads its replies, without sending anything but cached contents.
///
/// It knows the model and how the API is addressed: everything about a request that is not the conversation and
/// its options.
///
/// * The first system messages stand in `systemInstruction`, behind [`ModelSettings::system`](attache_core::ModelSettings::system); a later one is a text
///   part in angle brackets where it was given.
/// * Neighbours of one role share a content, but the results of a turn stand alone in theirs. A conversation that
///   begins with the model gets a note of the user in front.
/// * A signature goes back unchanged on the part that it came with, to the model that signed. Where a model demands one
///   (on calls, or as Gemini 3's image models on texts and images, too) and the history has none of its own, the
///   documented stand-in is sent.
/// * A result is an object: `{"output": …}`, `{"error": …}`, or the tool's own object.
/// * Members of [`ModelSettings::extra_body`](attache_core::ModelSettings::extra_body) replace others, but `tools` are added behind the request's tools and
///   objects are merged at every depth: `{"toolConfig":{"functionCallingConfig":{"mode":"VALIDATED"}}}` has the API
///   hold calls to their schemas.
///
/// With [`CachePolicy::Short`](attache_core::settings::CachePolicy::Short) (five minutes) or
/// [`Long`](attache_core::settings::CachePolicy::Long) (an hour) a prefix of at least about 4,096 tokens is kept at the provider as
/// a cached content, which the following requests name instead of repeating it. Storage is billed, so nothing is kept
/// unless asked for. The caches are shared by the clones of a codec; [`delete_caches`](Self::delete_caches) ends it
/// early.
///
/// Of a reply, unknown members, parts and reasons to finish are no errors: parts are kept verbatim, in place. A blocked
/// prompt is [`ErrorKind::Refused`](attache_core::ErrorKind::Refused), a call that the model could not write a retryable
/// [`ErrorKind::Malformed`](attache_core::ErrorKind::Malformed). Metadata of searches and citations stand behind the
/// parts, under the API's names, and never go back. The likelihood of tokens, where `extra_body` asks for it, is
/// the entry `logprobs` of the reply's metadata, a list of each `logprobsResult`. A reply that reached the tokens of one
/// request ends with [`FinishReason::Length`](attache_core::FinishReason::Length), and `continuationToken` of its metadata
/// goes on with it: as the member of that name in `extra_body`, the same request brings the rest. Of one that was
/// filtered, `finishMessage` and `safetyRatings` stand there. The transcription of sound is the text of a reply that has
/// no other.
///
/// ```
/// use attache_core::{ChatRequest, Message, ModelSettings};
/// use attache_gemini::GenerateCodec;
/// use attache_transport::{Ask, Codec};
///
/// let codec = GenerateCodec::new("gemini-2.5-flash");
/// let request = ChatRequest::new([Message::user("Hello").shared()]).streaming(false);
/// let encoded = codec.encode(Ask::new(&request, &ModelSettings::new(), None))?;
/// assert_eq!(
///     encoded.parts.url,
///     "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:generateContent",
/// );
/// assert_eq!(
///     String::from_utf8_lossy(&encoded.parts.body.to_vec()),
///     r#"{"contents":[{"role":"user","parts":[{"text":"Hello"}]}]}"#,
/// );
/// # Ok::<(), attache_core::ProviderError>(())
/// ```
#[derive(Clone)]
pub struct GenerateCodec {
    pub(crate) model: Arc<str>,
    pub(crate) platform: Platform,
    pub(crate) base_url: Option<String>,
    pub(crate) capabilities: Arc<ModelCapabilities>,
    pub(crate) caches: Arc<Caches>,
}

impl GenerateCodec {
    /// A model at the Gemini API, with what the bundled matrix knows of it.
    pub fn new(model: &str) -> Self {
        Self::on(Platform::Gemini, model)
    }

    /// A model at Vertex AI. Project and location are set by [`with_project`](Self::with_project), or come from
    /// `GOOGLE_CLOUD_PROJECT` and `GOOGLE_CLOUD_LOCATION`. From the environment come credentials too: a token in
    /// `GOOGLE_ACCESS_TOKEN`, or what [`GoogleCredentials`](crate::GoogleCredentials) finds.
    pub fn vertex(model: &str) -> Self {
        Self::on(Platform::Vertex { project: String::new(), location: String::new() }, model)
    }

    fn on(platform: Platform, model: &str) -> Self {
        let model = model.trim();
        Self {
            model: Arc::from(model),
            capabilities: Arc::new(Matrix::bundled().resolve(platform.family(), model)),
            platform,
            base_url: None,
            caches: Arc::default(),
        }
    }

    /// Sets project and location of a model at Vertex AI. `global`, `us` and `eu` have hosts of their own; a blank
    /// location is `global`. Models at the Gemini API have neither.
    #[must_use]
    pub fn with_project(mut self, project: impl Into<String>, location: impl Into<String>) -> Self {
        if let Platform::Vertex { .. } = self.platform {
            let location = Some(location.into()).filter(|location: &String| !location.trim().is_empty());
            let location = location.unwrap_or_else(|| "global".to_owned());
            self.platform = Platform::Vertex { project: project.into(), location };
        }
        self
    }

    /// Sends requests elsewhere, as [`set_base_url`](attache_transport::Codec::set_base_url): the version of the API is added unless the
    /// path ends in one.
    #[must_use]
    pub fn with_base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
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

    pub(crate) fn family(&self) -> &'static str {
        self.platform.family()
    }

    /// The address of a path below the version of the API.
    pub(crate) fn url(&self, path: &str) -> Result<String> {
        self.platform.url(self.base_url.as_deref(), path)
    }

    /// The address to which files are uploaded.
    pub(crate) fn upload_url(&self) -> Result<String> {
        self.platform.upload_url(self.base_url.as_deref())
    }

    /// The address of the model's method.
    pub(crate) fn endpoint(&self, whole: bool) -> Result<String> {
        if self.model.is_empty() {
            return Err(configuration("the model has no name"));
        }
        let model = self.platform.model_path(&self.model)?;
        // Without `alt` a stream is one list, sent piecemeal.
        let method = if whole { "generateContent" } else { "streamGenerateContent?alt=sse" };
        self.url(&format!("{model}:{method}"))
    }
}

impl From<&str> for GenerateCodec {
    fn from(model: &str) -> Self {
        Self::new(model)
    }
}

impl fmt::Debug for GenerateCodec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GenerateCodec")
            .field("model", &self.model)
            .field("platform", &self.platform)
            .field("base_url", &self.base_url.as_deref().map(shown_url))
            .finish_non_exhaustive()
    }
}
