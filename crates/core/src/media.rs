//! Media types: normalised, or detected from bytes and file names.

mod known;
mod resolve;
mod signature;

use std::fmt;
use std::sync::Arc;

use self::known::EXTENSIONS;
use self::signature::{plain_text, signature};

/// A media type in normal form: lower case, without parameters other than the charset, common aliases replaced.
///
/// ```
/// use attache_core::{MediaKind, MediaType};
/// let media = MediaType::parse(" Image/JPG; q=1 ").unwrap();
/// assert_eq!((media.essence(), media.kind()), ("image/jpeg", MediaKind::Image));
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct MediaType {
    essence: Arc<str>,
    charset: Option<Arc<str>>,
}

/// The kind of a media type, which decides the capability that a model needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MediaKind {
    /// Readable as text: `text/*`, JSON, XML, YAML and their `+json`, `+xml` relatives, SVG.
    Text,
    /// A raster image.
    Image,
    /// A PDF.
    Pdf,
    /// Audio.
    Audio,
    /// Video.
    Video,
    /// Everything else: office files, archives, unknown bytes.
    Other,
}

impl MediaKind {
    /// The name in messages to people and models.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Image => "image",
            Self::Pdf => "pdf",
            Self::Audio => "audio",
            Self::Video => "video",
            Self::Other => "binary",
        }
    }

    /// The kind of a `type/subtype` in lower case, or of a pattern such as `image/*`; `None` for what is neither.
    pub(crate) fn of(essence: &str) -> Option<Self> {
        let (kind, subtype) = essence.split_once('/')?;
        Some(match kind {
            "text" => Self::Text,
            "image" if subtype == "svg+xml" => Self::Text,
            "image" => Self::Image,
            "audio" => Self::Audio,
            "video" => Self::Video,
            _ if subtype.ends_with("+json") || subtype.ends_with("+xml") || subtype.ends_with("+yaml") => {
                Self::Text
            }
            _ => match essence {
                "application/json"
                | "application/xml"
                | "application/yaml"
                | "application/x-ndjson"
                | "application/javascript"
                | "application/toml"
                | "application/sql"
                | "application/csv"
                | "application/x-sh"
                | "application/x-csh"
                | "application/x-subrip"
                | "application/x-ruby"
                | "application/x-perl"
                | "application/x-python"
                | "application/x-python-code"
                | "application/x-php"
                | "application/x-httpd-php"
                | "application/x-tcl"
                | "application/x-lua"
                | "application/x-tex"
                | "application/x-latex"
                | "application/ecmascript"
                | "application/typescript"
                | "application/graphql"
                | "application/x-www-form-urlencoded" => Self::Text,
                "application/pdf" => Self::Pdf,
                _ => Self::Other,
            },
        })
    }
}

const OCTETS: &str = "application/octet-stream";
const RTF: &str = "application/rtf";

impl MediaType {
    /// Reads `type/subtype` with optional parameters; `None` if it is not of that form.
    pub fn parse(text: &str) -> Option<Self> {
        let mut pieces = text.split(';');
        let essence = pieces.next()?.trim().to_ascii_lowercase();
        let (kind, subtype) = essence.split_once('/')?;
        let token = |s: &str| {
            !s.is_empty() && s.bytes().all(|b| b.is_ascii_graphic() && !b"/,;\"()<>@:\\[]?=".contains(&b))
        };
        if !token(kind) || !token(subtype) {
            return None;
        }
        let charset = pieces.find_map(|parameter| {
            let (name, value) = parameter.split_once('=')?;
            let value = value.trim().trim_matches('"');
            // Nothing else may stand there: the type goes into headers as it is.
            (name.trim().eq_ignore_ascii_case("charset") && token(value))
                .then(|| Arc::from(value.to_ascii_lowercase()))
        });
        Some(Self { essence: Arc::from(alias(&essence)), charset })
    }

    /// The type of unknown bytes.
    pub fn octet_stream() -> Self {
        Self { essence: Arc::from(OCTETS), charset: None }
    }

    /// Detects the type from the bytes, or returns `None` if they do not show it.
    ///
    /// Recognises the signatures of images, PDF, archives, office files, audio and video; valid UTF-8 without control
    /// characters is `text/plain`.
    pub fn sniff(bytes: &[u8]) -> Option<Self> {
        signature(bytes).or_else(|| plain_text(bytes).then_some("text/plain")).and_then(Self::parse)
    }

    /// The type for the extension of a file name.
    pub fn from_file_name(name: &str) -> Option<Self> {
        let (_, extension) = name.rsplit_once('.')?;
        let extension = extension.to_ascii_lowercase();
        EXTENSIONS.iter().find(|(known, _)| *known == extension).and_then(|(_, media)| Self::parse(media))
    }

    /// The known extensions, without the dot, with their types.
    ///
    /// ```
    /// use attache_core::MediaType;
    /// assert!(MediaType::extensions().any(|(extension, media)| extension == "pdf" && media.essence() == "application/pdf"));
    /// ```
    pub fn extensions() -> impl Iterator<Item = (&'static str, Self)> {
        EXTENSIONS.iter().filter_map(|(extension, media)| Some((*extension, Self::parse(media)?)))
    }

    /// True if it says nothing of what something is. A pattern does not either.
    fn is_unknown(&self) -> bool {
        matches!(
            &*self.essence,
            OCTETS | "binary/octet-stream" | "application/unknown" | "application/x-download"
        ) || self.is_pattern()
    }

    /// True of a pattern such as `image/*`, which [`parse`](Self::parse) reads, too.
    pub(crate) fn is_pattern(&self) -> bool {
        self.essence.contains('*')
    }

    /// True if `other` says the same more exactly, so that a file name may replace this type by it.
    pub(crate) fn is_refined_by(&self, other: &MediaType) -> bool {
        match &*self.essence {
            "text/plain" => other.kind() == MediaKind::Text || other.essence() == "message/rfc822",
            "application/zip" => ["openxmlformats", "opendocument", "epub+zip", ".macroenabled."]
                .iter()
                .any(|format| other.essence.contains(format)),
            "application/x-ole-storage" => {
                other.essence() == "application/msword" || other.essence.starts_with("application/vnd.ms-")
            }
            _ => self.is_unknown(),
        }
    }

    /// This type with the charset of another, if it is one of text and names none.
    pub(crate) fn with_charset_of(self, other: &MediaType) -> Self {
        match (&self.charset, self.kind()) {
            (None, MediaKind::Text) => Self { charset: other.charset.clone(), ..self },
            _ => self,
        }
    }

    /// `type/subtype`.
    pub fn essence(&self) -> &str {
        &self.essence
    }

    /// The charset parameter in lower case, if one was given.
    pub fn charset(&self) -> Option<&str> {
        self.charset.as_deref()
    }

    /// The kind, which decides the capability that a model needs.
    pub fn kind(&self) -> MediaKind {
        MediaKind::of(&self.essence).unwrap_or(MediaKind::Other)
    }

    /// The normal form of a pattern, as [`matches`](Self::matches) takes it: lower case, without parameters, common
    /// aliases replaced. `None` if the text is not a pattern.
    ///
    /// ```
    /// use attache_core::MediaType;
    /// assert_eq!(MediaType::pattern("Image/JPG").as_deref(), Some("image/jpeg"));
    /// assert_eq!(MediaType::pattern("Image/*").as_deref(), Some("image/*"));
    /// assert_eq!(MediaType::pattern(".pdf"), None);
    /// ```
    pub fn pattern(text: &str) -> Option<String> {
        let pattern = Self::parse(text)?.essence;
        let (kind, subtype) = pattern.split_once('/')?;
        let is_pattern = match (kind, subtype) {
            ("*", "*") => true,
            (kind, "*") => !kind.contains('*'),
            _ => !pattern.contains('*'),
        };
        is_pattern.then(|| pattern.to_string())
    }

    /// True if `pattern` matches it: a full type, `type/*`, or `*/*`, in [normal form](Self::pattern).
    pub fn matches(&self, pattern: &str) -> bool {
        match pattern.strip_suffix('*') {
            Some("*/") => true,
            Some(prefix) if prefix.ends_with('/') => self.essence.starts_with(prefix),
            _ => &*self.essence == pattern,
        }
    }

    /// The usual file name extension, without the dot.
    pub fn extension(&self) -> Option<&'static str> {
        EXTENSIONS.iter().find(|(_, media)| *media == &*self.essence).map(|(extension, _)| *extension)
    }
}

impl fmt::Display for MediaType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.essence)?;
        match &self.charset {
            Some(charset) => write!(f, "; charset={charset}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for MediaType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn alias(essence: &str) -> &str {
    match essence {
        "image/jpg" | "image/pjpeg" => "image/jpeg",
        "image/x-png" => "image/png",
        "image/x-ms-bmp" | "image/x-bmp" => "image/bmp",
        "application/x-pdf" | "application/acrobat" | "text/pdf" => "application/pdf",
        "text/json" | "application/x-json" => "application/json",
        "text/xml" => "application/xml",
        "text/yaml" | "text/x-yaml" | "application/x-yaml" => "application/yaml",
        "text/x-markdown" => "text/markdown",
        "text/comma-separated-values" | "text/x-csv" | "application/x-csv" => "text/csv",
        "application/x-javascript" => "application/javascript",
        "application/x-typescript" => "application/typescript",
        "application/jsonl" | "application/jsonlines" | "application/x-jsonlines" => "application/x-ndjson",
        "text/rtf" | "application/x-rtf" => RTF,
        "image/svg" => "image/svg+xml",
        "audio/x-wav" | "audio/wave" | "audio/vnd.wave" => "audio/wav",
        "audio/mp3" | "audio/x-mp3" => "audio/mpeg",
        "audio/m4a" | "audio/x-m4a" => "audio/mp4",
        "audio/x-flac" => "audio/flac",
        "audio/x-aac" => "audio/aac",
        "audio/x-aiff" | "audio/aif" => "audio/aiff",
        "video/x-m4v" => "video/mp4",
        "video/mov" => "video/quicktime",
        "video/mpg" => "video/mpeg",
        "video/avi" | "video/msvideo" | "video/vnd.avi" => "video/x-msvideo",
        "video/wmv" => "video/x-ms-wmv",
        "video/flv" => "video/x-flv",
        "application/x-zip-compressed" => "application/zip",
        other => other,
    }
}

#[cfg(test)]
mod tests;
