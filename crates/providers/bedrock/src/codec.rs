//! The codec: requests and replies of Converse without I/O.

use std::fmt;
use std::sync::Arc;

use attache_core::ModelCapabilities;
use attache_transport::{HttpModel, join_url, percent_encoded, shown_url};

use crate::address;
use crate::capabilities::{self, FAMILY, Family};
use crate::error::{self, Result};

/// The region in which requests are shown that are never sent.
const SHOWN_REGION: &str = "us-east-1";

/// One model behind Converse, by its id, that of an inference profile, or an ARN.
///
/// [`from_env`](HttpModel::from_env) takes an API key from `AWS_BEARER_TOKEN_BEDROCK`, else signs with the credentials
/// of `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN`, else with those of `AWS_PROFILE` in the
/// shared files (`AWS_SHARED_CREDENTIALS_FILE`, `AWS_CONFIG_FILE`), else, with the feature `aws-config`, with what the
/// usual chain of AWS yields. The region is the one that an ARN names, that of `AWS_REGION` or `AWS_DEFAULT_REGION`, or
/// the profile's. `AWS_ENDPOINT_URL_BEDROCK_RUNTIME` sets another base URL (FIPS, dual stack, a private endpoint).
///
/// ```
/// use attache_bedrock::{Bedrock, ConverseCodec};
/// use attache_core::{ModelHandle, ModelSettings};
///
/// let codec = ConverseCodec::new("us.anthropic.claude-sonnet-4-5-20250929-v1:0").with_region("us-east-1");
/// let model = Bedrock::new(codec, "an API key of Bedrock")?
///     .with_settings(ModelSettings::new().with_system("Answer in one sentence."));
/// assert_eq!(ModelHandle::new(model).id(), "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0");
/// # Ok::<(), attache_core::ProviderError>(())
/// ```
pub type Bedrock = HttpModel<ConverseCodec>;

/// One call that the codec writes.
pub(crate) type Ask<'a> = attache_transport::Ask<'a, ConverseCodec>;

/// Makes the HTTP requests of Converse and ConverseStream and reads their replies, without sending anything.
///
/// It knows the model and how the API is addressed: everything about a request that is not the conversation and
/// its options. A key goes into `authorization`, unless the options bring their own.
///
/// * The first system messages stand at the top level, behind [`ModelSettings::system`](attache_core::ModelSettings::system); a later one is a text
///   block in angle brackets where it was given, so that the cache keeps what stands before it.
/// * Neighbours of one role share a message. Messages that leave nothing are left out, and so are those of the
///   assistant with nothing but reasoning. A conversation that begins with the assistant gets a `.` of the user before
///   it where the model demands that.
/// * Content that a model does not let stand beside tool results follows in a message of its own, with a `.` of the assistant
///   between the two.
/// * A call keeps the provider's id where the API can take it again; ids of elsewhere are mapped, the same way each
///   time, on the call and on its result.
/// * Reasoning goes back byte for byte if it is signed and of this model. All other reasoning stays out.
/// * Blocks of the provider's own tools go back verbatim to the same model, except calls that were never answered.
/// * Tools are declared as long as the history holds calls, those that were called if none are offered. The API
///   cannot forbid calls; with Claude its own API is asked to, with others a degradation says so.
/// * Without a cache policy a request with tools, or with an answer in its history, is cached for the short time,
///   where the model has cache points.
/// * Members of [`ModelSettings::extra_body`](attache_core::ModelSettings::extra_body) are merged over others, but tools are added behind the request's tools.
///   So guardrails, service tiers and fields of a model's own are asked for. The answers of the API to them stand in the
///   metadata of the reply under its names, `trace`, `serviceTier`, `performanceConfig` and
///   `additionalModelResponseFields`; of these, the stop sequence that was met is the entry `stopSequence`.
///
/// Of a reply, unknown events, blocks, pieces and stop reasons are no errors: blocks are kept verbatim, in place, the
/// rest is skipped. A reply without text and calls ends in [`StreamChunk::Done`](attache_core::StreamChunk::Done) with
/// an empty message: whether that is an error is the caller's policy.
///
/// ```
/// use attache_bedrock::ConverseCodec;
/// use attache_core::{ChatRequest, Message, ModelSettings};
/// use attache_transport::{Ask, Codec};
///
/// let codec = ConverseCodec::new("amazon.nova-lite-v1:0").with_region("eu-west-1");
/// let request = ChatRequest::new([Message::user("Hello").shared()]);
/// let encoded = codec.encode(Ask::new(&request, &ModelSettings::new(), None))?;
/// assert_eq!(
///     encoded.parts.url,
///     "https://bedrock-runtime.eu-west-1.amazonaws.com/model/amazon.nova-lite-v1%3A0/converse-stream",
/// );
/// assert_eq!(
///     String::from_utf8_lossy(&encoded.parts.body.to_vec()),
///     r#"{"messages":[{"role":"user","content":[{"text":"Hello"}]}]}"#,
/// );
/// # Ok::<(), attache_core::ProviderError>(())
/// ```
#[derive(Clone)]
pub struct ConverseCodec {
    pub(crate) model: Arc<str>,
    pub(crate) region: Option<String>,
    pub(crate) base_url: Option<String>,
    pub(crate) plain_slashes: bool,
    pub(crate) capabilities: Arc<ModelCapabilities>,
    pub(crate) family: Arc<Family>,
    /// The reason why the rules of the family cannot be read.
    pub(crate) problem: Option<Arc<str>>,
}

impl ConverseCodec {
    /// A model, with what the bundled matrix knows of it. Of the ARN of an application's own profile it knows nothing;
    /// [`with_capabilities`](Self::with_capabilities) says what stands behind it.
    pub fn new(model: &str) -> Self {
        let model = model.trim();
        let codec = Self {
            model: Arc::from(model),
            region: address::of_arn(model).map(str::to_owned),
            base_url: None,
            plain_slashes: false,
            family: Arc::default(),
            problem: None,
            capabilities: Arc::new(ModelCapabilities::text_only(FAMILY, model)),
        };
        codec.with_capabilities(capabilities::of(model))
    }

    /// Sets the region. An ARN brings its own.
    #[must_use]
    pub fn with_region(mut self, region: impl Into<String>) -> Self {
        self.region = Some(region.into());
        self
    }

    /// Sends requests elsewhere, as [`set_base_url`](attache_transport::Codec::set_base_url). `/model/…` is added.
    #[must_use]
    pub fn with_base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// Leaves the slashes of an ARN as they are in the address, for gateways that do not know them as `%2F`.
    #[must_use]
    pub fn with_plain_slashes(mut self) -> Self {
        self.plain_slashes = true;
        self
    }

    /// Sets the capabilities of the model, as a configured matrix has them. The rules of its family are among them, so
    /// they say what stands behind an ARN:
    ///
    /// ```
    /// use attache_bedrock::ConverseCodec;
    /// use attache_core::capability::Matrix;
    ///
    /// let arn = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2c3";
    /// let claude = Matrix::bundled().resolve("bedrock-converse", "anthropic.claude-opus-4-6-v1");
    /// let codec = ConverseCodec::new(arn).with_capabilities(claude);
    /// # let _ = codec;
    /// ```
    #[must_use]
    pub fn with_capabilities(mut self, capabilities: impl Into<Arc<ModelCapabilities>>) -> Self {
        self.set_capabilities(capabilities.into());
        self
    }

    /// The model's id, profile or ARN.
    pub fn model(&self) -> &str {
        &self.model
    }

    pub(crate) fn family(&self) -> &Family {
        &self.family
    }

    pub(crate) fn set_capabilities(&mut self, capabilities: Arc<ModelCapabilities>) {
        (self.family, self.problem) = match Family::of(&capabilities) {
            Ok(family) => (Arc::new(family), None),
            Err(problem) => (Arc::default(), Some(Arc::from(problem))),
        };
        self.capabilities = capabilities;
    }

    pub(crate) fn fits(&self) -> Result<()> {
        self.problem.as_deref().map_or(Ok(()), |problem| Err(error::configuration(problem)))
    }

    /// The address of the endpoint, for replies that come whole or in events.
    pub(crate) fn url(&self, whole: bool) -> Result<String> {
        if self.model.is_empty() {
            return Err(error::configuration("the model has no name"));
        }
        self.url_of(&self.model, if whole { "converse" } else { "converse-stream" })
    }

    /// An address of the API that manages models, which has a host of its own.
    pub(crate) fn control_url(&self, path: &str) -> Result<String> {
        let base = self.base()?;
        match self.base_url {
            Some(_) => join_url(&base, path),
            None => join_url(&base.replacen("bedrock-runtime.", "bedrock.", 1), path),
        }
    }

    fn base(&self) -> Result<String> {
        let own = || address::endpoint(self.region.as_deref().unwrap_or(SHOWN_REGION));
        self.base_url.clone().map_or_else(own, Ok)
    }

    pub(crate) fn url_of(&self, model: &str, method: &str) -> Result<String> {
        let mut model = percent_encoded(model.as_bytes());
        if self.plain_slashes {
            model = model.replace("%2F", "/");
        }
        join_url(&self.base()?, &format!("model/{model}/{method}"))
    }
}

impl From<&str> for ConverseCodec {
    fn from(model: &str) -> Self {
        Self::new(model)
    }
}

impl fmt::Debug for ConverseCodec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConverseCodec")
            .field("model", &self.model)
            .field("region", &self.region)
            .field("base_url", &self.base_url.as_deref().map(shown_url))
            .finish_non_exhaustive()
    }
}
