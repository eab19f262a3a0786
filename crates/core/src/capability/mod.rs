//! The media that a model takes in each place, and the model's abilities.

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

/// The place of content in a request.
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
    /// The user content that follows tool results directly. Tables and reports say `beside_result`.
    #[serde(rename = "beside_result")]
    AfterToolResults,
}

impl Place {
    /// The word in reports and configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::ToolResult => "tool_result",
            Self::FailedResult => "failed_result",
            Self::AfterToolResults => "beside_result",
        }
    }
}

/// The media that a model takes in one place, and their limits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct PlaceCapabilities {
    /// Media types: whole types, `type/*`, and `text` for everything that reads as text.
    pub media: Vec<String>,
    /// Media types of which a document may be named by the id or address of an uploaded file, as in `media`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<String>,
    /// Media types of which a document may be cited natively here, as in `media`; `text` as a search result.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub citations: Vec<String>,
    /// The most bytes of one document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
    /// The most bytes of one image, where it is less than that of other documents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_image_bytes: Option<u64>,
    /// The most documents in one request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_count: Option<u64>,
    /// The most documents other than images in one message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_files_per_message: Option<u64>,
    /// The most pages of one PDF.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_pages: Option<u64>,
    /// The most pixels along one side of an image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_pixels: Option<u64>,
    /// True if a text must stand beside a document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needs_text: Option<bool>,
    /// Of `media`, the types that may stand here as a public address too, where that is not all but text. It says
    /// nothing where the provider fetches nothing ([`FileRules::urls`]).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub urls: Option<Vec<String>>,
    /// Media types that may stand here as a public address and in no other form, if the provider fetches any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub url_only: Vec<String>,
}

impl PlaceCapabilities {
    /// A place that takes these media types and sets no limits.
    pub fn of(media: &[&str]) -> Self {
        Self { media: media.iter().map(|media| (*media).to_owned()).collect(), ..Self::default() }
    }

    /// True if documents of this type may stand here as they are; text ones as text.
    pub fn accepts(&self, media: &MediaType) -> bool {
        let kind = media.kind();
        self.media.iter().any(|pattern| match pattern.as_str() {
            "text" => kind == MediaKind::Text,
            pattern => kind != MediaKind::Text && media.matches(pattern),
        })
    }

    /// True if a document of this type may be named here by a reference to an uploaded file.
    pub fn refers(&self, media: &MediaType) -> bool {
        self.accepts(media)
            && media.kind() != MediaKind::Text
            && self.references.iter().any(|pattern| media.matches(pattern))
    }

    /// True if the model can cite documents of this type that stand here, text ones as search results.
    pub fn cites(&self, media: &MediaType) -> bool {
        let is_text = media.kind() == MediaKind::Text;
        self.accepts(media)
            && self.citations.iter().any(|pattern| match pattern.as_str() {
                "text" => is_text,
                pattern => !is_text && media.matches(pattern),
            })
    }

    /// True if the model can cite text that stands here.
    pub fn cites_text(&self) -> bool {
        self.accepts_text() && self.citations.iter().any(|pattern| pattern == "text")
    }

    /// True if documents of this type may stand here as a public address, if the provider fetches any. Text never
    /// does, since it is shown as text.
    pub fn accepts_url(&self, media: &MediaType) -> bool {
        let covers = |patterns: &[String]| patterns.iter().any(|pattern| media.matches(pattern));
        let as_well = || self.accepts(media) && self.urls.as_deref().is_none_or(covers);
        media.kind() != MediaKind::Text && (covers(&self.url_only) || as_well())
    }

    /// True if text may stand here.
    pub fn accepts_text(&self) -> bool {
        self.media.iter().any(|pattern| pattern == "text")
    }

    /// The form in which documents of this kind may stand here; `None` if none may, or only as text.
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

    /// The most bytes of a document of this type.
    pub fn byte_limit(&self, media: &MediaType) -> Option<u64> {
        match media.kind() {
            MediaKind::Image => self.max_image_bytes.or(self.max_bytes),
            _ => self.max_bytes,
        }
    }
}

/// The way to ask for prompt caching.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Caching {
    /// There is none.
    #[default]
    None,
    /// The provider does it by itself; a stable prefix is all it needs.
    Automatic,
    /// By markers in the request.
    Explicit,
    /// By a resource that is made first and named in the request.
    Resource,
}

/// The forms that an answer can be asked for in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StructuredOutput {
    /// Nothing.
    #[default]
    None,
    /// A JSON object.
    JsonObject,
    /// JSON of a schema, but not beside tools.
    JsonSchemaAlone,
    /// JSON of a schema, beside tools too.
    JsonSchema,
}

/// True if reasoning goes back to the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ReasoningReplay {
    /// It sends none back, or takes none.
    #[default]
    None,
    /// It may go back.
    Optional,
    /// It must go back beside the tool calls that it led to.
    Required,
}

/// The tokeniser of a model, for estimates of tokens. The estimate of each was held against counts of the tokeniser.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Tokenizer {
    /// It is not public, or has no estimate of its own.
    #[default]
    Unknown,
    /// That of OpenAI's models since GPT-4o, and of gpt-oss.
    #[serde(rename = "o200k_base")]
    O200kBase,
    /// That of GPT-3.5 and GPT-4.
    #[serde(rename = "cl100k_base")]
    Cl100kBase,
    /// That of Llama 3.
    Llama3,
    /// That of Claude before version 3, the last one that was published.
    Claude2,
}

impl Tokenizer {
    /// The word in tables.
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
    /// The most bytes of a whole request, base64 included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_request_bytes: Option<u64>,
    /// True if every file needs a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub names_required: Option<bool>,
    /// True if files can be uploaded first and referenced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upload: Option<bool>,
    /// The most pages of all PDFs of a request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_pages: Option<u64>,
    /// With more images than this in a request, [`many_images_pixels`](Self::many_images_pixels) holds for each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub many_images: Option<u64>,
    /// The most pixels along one side of an image where there are many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub many_images_pixels: Option<u64>,
    /// The most bytes of a file that is uploaded first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_upload_bytes: Option<u64>,
    /// The size in bytes from which on this very model uploads documents, which then count no bytes in its requests.
    /// A model that was told to upload says so; no table needs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upload_from: Option<u64>,
    /// About how many tokens one page of a PDF costs, for estimates; 2,000 where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_tokens: Option<u64>,
    /// About how many pixels of an image cost one token, for estimates; 750 where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pixels_per_token: Option<u64>,
    /// True if the provider fetches public URLs itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub urls: Option<bool>,
}

/// Everything known of a model behind an API.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ModelCapabilities {
    /// The API family, such as `anthropic` or `openai-chat`.
    pub family: String,
    /// The model's id as asked for.
    pub model: String,
    /// The row of the matrix that it comes from: a pattern, `default`, or `unknown` for an unknown family.
    pub row: String,
    /// A user message's media.
    pub user: PlaceCapabilities,
    /// A tool result's media.
    pub tool_result: PlaceCapabilities,
    /// A failed tool result's media.
    pub failed_result: PlaceCapabilities,
    /// The media of the user content directly after tool results.
    pub beside_result: PlaceCapabilities,
    /// Rules for files.
    pub files: FileRules,
    /// Tokens of the whole window.
    pub context_window: Option<u64>,
    /// The most tokens of a reply.
    pub max_output_tokens: Option<u64>,
    /// True if it calls tools natively.
    pub tools: bool,
    /// True if several calls come in one reply.
    pub parallel_tools: bool,
    /// True if a tool can be forced.
    pub forced_tools: bool,
    /// The forms that an answer can be asked for in.
    pub structured_output: StructuredOutput,
    /// The way to ask for prompt caching.
    pub caching: Caching,
    /// True if reasoning goes back.
    pub reasoning_replay: ReasoningReplay,
    /// The ways to switch reasoning: `adaptive`, `budget`, `off`, `effort`; empty if it cannot be switched.
    pub reasoning: Vec<String>,
    /// The efforts that it knows.
    pub efforts: Vec<Effort>,
    /// The things that it does not do while it reasons.
    pub reasoning_excludes: Vec<ReasoningExcludes>,
    /// True if it reasons unless it is told not to.
    pub reasons_unasked: bool,
    /// True if it takes temperature, top-p and top-k.
    pub sampling: bool,
    /// True if a model that takes no sampling options takes them while it does not reason.
    pub sampling_without_reasoning: bool,
    /// True if temperature and top-p go together.
    pub temperature_with_top_p: bool,
    /// True if it takes presence and frequency penalties, where its API has them.
    pub penalties: bool,
    /// True if it takes stop sequences, where its API has them.
    pub stop: bool,
    /// True if instructions have a place of their own; otherwise they stand in the first prompt.
    pub system: bool,
    /// True if it may be told which of the tools it may call now, without taking the others away.
    pub allowed_tools: bool,
    /// True if it may be chosen whether several calls come in one reply, where its API has the option.
    pub parallel_choice: bool,
    /// True if it can be held to the schemas of tools, where its API does that.
    pub strict_tools: bool,
    /// True if a form of answers can be asked for beside tools at all.
    pub json_beside_tools: bool,
    /// True if prompts can be kept for longer than usual, as for an hour or a day.
    pub long_cache: bool,
    /// Its tokeniser.
    #[serde(skip_serializing_if = "Tokenizer::is_unknown")]
    pub tokenizer: Tokenizer,
    /// The API that the model speaks, where it is another one than the family's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api: Option<String>,
    /// The cells that only the codec of the API knows: how the model differs on the wire.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub wire: Map<String, Value>,
}

/// A thing that a model does not do while it reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ReasoningExcludes {
    /// It takes no tools.
    Tools,
    /// It cannot be forced to call one.
    ForcedTools,
    /// It promises no form of answers.
    Json,
    /// It does not answer in one piece, only in a stream.
    WholeAnswers,
}

impl ModelCapabilities {
    /// The capabilities of a model of which nothing is known: text in every place, and tools.
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

    /// True if the model does not do this while it reasons.
    pub fn reasoning_excludes(&self, what: ReasoningExcludes) -> bool {
        self.reasoning_excludes.contains(&what)
    }

    /// True if the model can be told to cite documents of its requests.
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

    /// True if a document is uploaded and named in the request, so that its bytes are none of the request's.
    ///
    /// That takes a model that was told to upload, and holds unless the provider fails to take the file.
    pub fn uploads(&self, place: Place, media: &MediaType, bytes: u64) -> bool {
        self.files.upload == Some(true)
            && self.files.upload_from.is_some_and(|from| bytes >= from.max(1))
            && self.files.max_upload_bytes.is_none_or(|most| bytes <= most)
            && self.place(place).refers(media)
    }

    /// True if a document of this type may stand in this place as a public address that the provider fetches itself.
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
