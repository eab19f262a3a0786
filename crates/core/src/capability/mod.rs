//! The media types that a model accepts in each place, and its other capabilities.

mod bundled;
mod cells;
mod fingerprint;
mod matrix;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use matrix::{Matrix, MatrixError};

use crate::converter::MediaLimits;
use crate::media::{MediaKind, MediaType};
use crate::settings::Effort;

/// A place for content in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Place {
    /// A user message.
    User,
    /// A successful tool result.
    ToolResult,
    /// A failed tool result.
    FailedResult,
    /// The user content that directly follows tool results. It is called `beside_result` in tables and reports.
    #[serde(rename = "beside_result")]
    AfterToolResults,
}

impl Place {
    /// The name in reports and configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::ToolResult => "tool_result",
            Self::FailedResult => "failed_result",
            Self::AfterToolResults => "beside_result",
        }
    }
}

/// The media types that a model accepts in one place, and their limits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct PlaceCapabilities {
    /// Accepted media types: full types, `type/*`, and `text` for everything that can be read as text.
    pub media: Vec<String>,
    /// Media types for which an uploaded file may be referenced by id or URL, in the same format as `media`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<String>,
    /// Media types that the model can cite natively here, in the same format as `media`; `text` as a search result.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub citations: Vec<String>,
    /// The maximum number of bytes of one document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
    /// The maximum number of bytes of one image, if it is less than that of other documents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_image_bytes: Option<u64>,
    /// The maximum number of documents in one request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_count: Option<u64>,
    /// The maximum number of pages of one PDF.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_pages: Option<u64>,
    /// The maximum number of pixels along one side of an image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_pixels: Option<u64>,
    /// True if a document must be accompanied by text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needs_text: Option<bool>,
    /// The types in `media` that may also be passed as a public URL here, if that is not every type except text. It has
    /// no effect if the provider does not fetch URLs ([`FileRules::urls`]).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub urls: Option<Vec<String>>,
    /// Media types that are accepted here only as a public URL, if the provider fetches URLs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub url_only: Vec<String>,
}

impl PlaceCapabilities {
    /// Creates a place that accepts these media types without limits.
    pub fn of(media: &[&str]) -> Self {
        Self { media: media.iter().map(|media| (*media).to_owned()).collect(), ..Self::default() }
    }

    /// True if documents of this type are accepted here unchanged; text documents as text.
    pub fn accepts(&self, media: &MediaType) -> bool {
        let kind = media.kind();
        self.media.iter().any(|pattern| match pattern.as_str() {
            "text" => kind == MediaKind::Text,
            pattern => kind != MediaKind::Text && media.matches(pattern),
        })
    }

    /// True if a document of this type may be a reference to an uploaded file here.
    pub fn refers(&self, media: &MediaType) -> bool {
        self.accepts(media)
            && media.kind() != MediaKind::Text
            && self.references.iter().any(|pattern| media.matches(pattern))
    }

    /// True if the model can cite documents of this type here; text documents as search results.
    pub fn cites(&self, media: &MediaType) -> bool {
        let is_text = media.kind() == MediaKind::Text;
        self.accepts(media)
            && self.citations.iter().any(|pattern| match pattern.as_str() {
                "text" => is_text,
                pattern => !is_text && media.matches(pattern),
            })
    }

    /// True if the model can cite text here.
    pub fn cites_text(&self) -> bool {
        self.accepts_text() && self.citations.iter().any(|pattern| pattern == "text")
    }

    /// True if documents of this type may be passed as a public URL here, if the provider fetches URLs. Never true for
    /// text, since it is shown as text.
    pub fn accepts_url(&self, media: &MediaType) -> bool {
        let covers = |patterns: &[String]| patterns.iter().any(|pattern| media.matches(pattern));
        let as_well = || self.accepts(media) && self.urls.as_deref().is_none_or(covers);
        media.kind() != MediaKind::Text && (covers(&self.url_only) || as_well())
    }

    /// True if text is accepted here.
    pub fn accepts_text(&self) -> bool {
        self.media.iter().any(|pattern| pattern == "text")
    }

    /// The form in which documents of this kind are accepted here; `None` if they are not, or only as text.
    ///
    /// ```
    /// use attache_core::MediaType;
    /// use attache_core::capability::Matrix;
    /// let claude = Matrix::bundled().resolve("anthropic", "claude-opus-4-8");
    /// let form = claude.user.form(&MediaType::parse("image/bmp").unwrap()).unwrap();
    /// assert!(form.allows(&MediaType::parse("image/png").unwrap()));
    /// assert_eq!((form.max_pixels, form.max_pages), (Some(8000), None));
    /// ```
    pub fn form(&self, media: &MediaType) -> Option<MediaLimits> {
        let kind = media.kind();
        let same_kind = |pattern: &&String| *pattern == "*/*" || MediaKind::of(pattern) == Some(kind);
        let (is_image, is_pdf) = (kind == MediaKind::Image, kind == MediaKind::Pdf);
        let form = MediaLimits {
            media: self.media.iter().filter(same_kind).cloned().collect(),
            max_bytes: self.byte_limit(media),
            max_pixels: self.max_pixels.filter(|_| is_image),
            max_pages: self.max_pages.filter(|_| is_pdf),
        };
        (!form.media.is_empty()).then_some(form)
    }

    /// The maximum number of bytes of a document of this type.
    pub fn byte_limit(&self, media: &MediaType) -> Option<u64> {
        match media.kind() {
            MediaKind::Image => self.max_image_bytes.or(self.max_bytes),
            _ => self.max_bytes,
        }
    }
}

/// The way to request prompt caching.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Caching {
    /// Not supported.
    #[default]
    None,
    /// The provider caches automatically; it only needs a stable prefix.
    Automatic,
    /// With markers in the request.
    Explicit,
    /// With a resource that is created first and referenced in the request.
    Resource,
}

/// The supported formats of structured answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StructuredOutput {
    /// None.
    #[default]
    None,
    /// A JSON object.
    JsonObject,
    /// JSON of a schema, but not together with tools.
    JsonSchemaAlone,
    /// JSON of a schema, also together with tools.
    JsonSchema,
}

/// Defines if reasoning is sent back to the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ReasoningReplay {
    /// Reasoning is not sent back.
    #[default]
    None,
    /// Reasoning may be sent back.
    Optional,
    /// Reasoning must be sent back with the tool calls that it led to.
    Required,
    /// The same, and it counts only behind the system prompt, tools and messages behind which it was written.
    Bound,
}

/// The tokeniser of a model, for token estimates. Each estimate was compared with counts of the real tokeniser.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Tokenizer {
    /// Not public, or without an estimate of its own.
    #[default]
    Unknown,
    /// Used by OpenAI's models since GPT-4o, and by gpt-oss.
    #[serde(rename = "o200k_base")]
    O200kBase,
    /// Used by GPT-3.5 and GPT-4.
    #[serde(rename = "cl100k_base")]
    Cl100kBase,
    /// Used by Llama 3.
    Llama3,
    /// Used by Claude before version 3; the last one that was published.
    Claude2,
}

impl Tokenizer {
    /// The name in tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::O200kBase => "o200k_base",
            Self::Cl100kBase => "cl100k_base",
            Self::Llama3 => "llama3",
            Self::Claude2 => "claude2",
        }
    }

    fn is_unknown(&self) -> bool {
        *self == Self::Unknown
    }
}

/// Rules for files in a request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct FileRules {
    /// The maximum number of bytes of a whole request, including base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_request_bytes: Option<u64>,
    /// The maximum number of documents in a request that are not images, audio, video or shown as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_files: Option<u64>,
    /// True if every file needs a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub names_required: Option<bool>,
    /// True if files can be uploaded first and referenced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upload: Option<bool>,
    /// The maximum number of pages of all PDFs in a request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_pages: Option<u64>,
    /// If a request has more images than this, [`many_images_pixels`](Self::many_images_pixels) applies to each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub many_images: Option<u64>,
    /// The maximum number of pixels along one side of an image if there are many images.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub many_images_pixels: Option<u64>,
    /// The maximum number of bytes of a file that is uploaded first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_upload_bytes: Option<u64>,
    /// The size in bytes from which this model uploads documents, which then do not count towards the size of its
    /// requests. It is set by a model that is configured to upload, not by tables.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upload_from: Option<u64>,
    /// The approximate number of tokens per PDF page, for estimates; 2,000 if not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_tokens: Option<u64>,
    /// The approximate number of image pixels per token, for estimates; 750 if not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pixels_per_token: Option<u64>,
    /// True if the provider fetches public URLs itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub urls: Option<bool>,
}

/// Everything known about a model behind an API.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ModelCapabilities {
    /// The API family, such as `anthropic` or `openai-chat`.
    pub family: String,
    /// The model's id as requested.
    pub model: String,
    /// The matrix row that the capabilities come from: a pattern, `default`, or `unknown` for an unknown family.
    pub row: String,
    /// Media in user messages.
    pub user: PlaceCapabilities,
    /// Media in successful tool results.
    pub tool_result: PlaceCapabilities,
    /// Media in failed tool results.
    pub failed_result: PlaceCapabilities,
    /// Media in the user content that directly follows tool results.
    pub beside_result: PlaceCapabilities,
    /// Rules for files.
    pub files: FileRules,
    /// The context window in tokens.
    pub context_window: Option<u64>,
    /// The maximum number of tokens of a reply.
    pub max_output_tokens: Option<u64>,
    /// True if the model supports native tool calls.
    pub tools: bool,
    /// True if a reply may contain several calls.
    pub parallel_tools: bool,
    /// True if a tool call can be forced.
    pub forced_tools: bool,
    /// The supported formats of structured answers.
    pub structured_output: StructuredOutput,
    /// The way to request prompt caching.
    pub caching: Caching,
    /// Defines if reasoning is sent back to the model.
    pub reasoning_replay: ReasoningReplay,
    /// The ways to control reasoning: `adaptive`, `budget`, `off`, `effort`; empty if it cannot be controlled.
    pub reasoning: Vec<String>,
    /// The supported reasoning efforts.
    pub efforts: Vec<Effort>,
    /// Features that are not available while the model reasons.
    pub reasoning_excludes: Vec<ReasoningExcludes>,
    /// True if the model reasons by default.
    pub reasons_unasked: bool,
    /// True if temperature, top-p and top-k are supported.
    pub sampling: bool,
    /// True if a model that otherwise does not support sampling options supports them when it does not reason.
    pub sampling_without_reasoning: bool,
    /// True if temperature and top-p can be set together.
    pub temperature_with_top_p: bool,
    /// True if presence and frequency penalties are supported, where the API has them.
    pub penalties: bool,
    /// True if stop sequences are supported, where the API has them.
    pub stop: bool,
    /// True if there is a separate place for instructions; otherwise they are part of the first prompt.
    pub system: bool,
    /// True if calls can be restricted to some of the tools without removing the others.
    pub allowed_tools: bool,
    /// True if several calls in one reply can be allowed or forbidden, where the API has the option.
    pub parallel_choice: bool,
    /// True if tool schemas can be enforced, where the API supports it.
    pub strict_tools: bool,
    /// True if a structured answer can be requested together with tools.
    pub json_beside_tools: bool,
    /// True if prompts can be cached for longer than usual, such as for an hour or a day.
    pub long_cache: bool,
    /// The tokeniser.
    #[serde(skip_serializing_if = "Tokenizer::is_unknown")]
    pub tokenizer: Tokenizer,
    /// The API of the model, if it differs from that of the family.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api: Option<String>,
    /// Cells that only the codec of the API uses: wire-level differences of the model.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub wire: Map<String, Value>,
}

/// A feature that is not available while a model reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ReasoningExcludes {
    /// Tools are not supported.
    Tools,
    /// Tool calls cannot be forced.
    ForcedTools,
    /// Structured answers are not supported.
    Json,
    /// Responses must be streamed.
    WholeAnswers,
}

impl ModelCapabilities {
    /// The capabilities assumed for an unknown model: text in every place, and tools.
    pub fn text_only(family: impl Into<String>, model: impl Into<String>) -> Self {
        let text = PlaceCapabilities::of(&["text"]);
        Self {
            family: family.into(),
            model: model.into(),
            row: "unknown".to_owned(),
            user: text.clone(),
            tool_result: text.clone(),
            failed_result: text.clone(),
            beside_result: text,
            files: FileRules::default(),
            context_window: None,
            max_output_tokens: None,
            tools: true,
            parallel_tools: false,
            forced_tools: true,
            structured_output: StructuredOutput::None,
            caching: Caching::None,
            reasoning_replay: ReasoningReplay::None,
            reasoning: Vec::new(),
            efforts: Vec::new(),
            reasoning_excludes: Vec::new(),
            reasons_unasked: false,
            sampling: true,
            sampling_without_reasoning: true,
            temperature_with_top_p: true,
            penalties: true,
            stop: true,
            system: true,
            allowed_tools: false,
            parallel_choice: true,
            strict_tools: true,
            json_beside_tools: true,
            long_cache: false,
            tokenizer: Tokenizer::Unknown,
            api: None,
            wire: Map::new(),
        }
    }

    /// True if this is not available while the model reasons.
    pub fn reasoning_excludes(&self, what: ReasoningExcludes) -> bool {
        self.reasoning_excludes.contains(&what)
    }

    /// True if the model can cite documents of its requests.
    pub fn cites(&self) -> bool {
        !self.user.citations.is_empty() || !self.tool_result.citations.is_empty()
    }

    /// The media and limits of a place.
    pub fn place(&self, place: Place) -> &PlaceCapabilities {
        match place {
            Place::User => &self.user,
            Place::ToolResult => &self.tool_result,
            Place::FailedResult => &self.failed_result,
            Place::AfterToolResults => &self.beside_result,
        }
    }

    /// True if a document is uploaded and referenced in the request, so that the request does not contain its bytes.
    ///
    /// This requires a model that is configured to upload; if the upload fails, the request contains the bytes after
    /// all.
    pub fn uploads(&self, place: Place, media: &MediaType, bytes: u64) -> bool {
        self.files.upload == Some(true)
            && self.files.upload_from.is_some_and(|from| bytes >= from.max(1))
            && self.files.max_upload_bytes.is_none_or(|most| bytes <= most)
            && self.place(place).refers(media)
    }

    /// True if a document of this type may be passed in this place as a public URL that the provider fetches itself.
    ///
    /// ```
    /// use attache_core::MediaType;
    /// use attache_core::capability::{Matrix, Place};
    /// let (pdf, png) = (MediaType::parse("application/pdf").unwrap(), MediaType::parse("image/png").unwrap());
    /// let chat = Matrix::bundled().resolve("openai-chat", "gpt-4o");
    /// assert!(chat.takes_url(Place::User, &png) && !chat.takes_url(Place::User, &pdf));
    /// ```
    pub fn takes_url(&self, place: Place, media: &MediaType) -> bool {
        self.files.urls == Some(true) && self.place(place).accepts_url(media)
    }
}
