//! Media types: normalised, guessed from bytes and file names.

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

/// The ability that a model needs to take a media type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MediaKind {
    /// Readable as text: `text/*`, JSON, XML, YAML and their `+json`, `+xml` relatives, SVG.
    Text,
    /// A raster image.
    Image,
    /// A PDF.
    Pdf,
    /// Sound.
    Audio,
    /// Moving images.
    Video,
    /// Everything else: office files, archives, unknown bytes.
    Other,
}

impl MediaKind {
    /// The word used in messages to people and models.
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

    /// Unknown bytes.
    pub fn octet_stream() -> Self {
        Self { essence: Arc::from(OCTETS), charset: None }
    }

    /// The type of bytes that declare themselves, or `None` if nothing in them says.
    ///
    /// Looks at signatures of images, PDF, archives, office files, sound and video, and takes what is valid UTF-8
    /// without control characters as `text/plain`.
    pub fn sniff(bytes: &[u8]) -> Option<Self> {
        signature(bytes).or_else(|| plain_text(bytes).then_some("text/plain")).and_then(Self::parse)
    }

    /// The type that the extension of a file name stands for.
    pub fn from_file_name(name: &str) -> Option<Self> {
        let (_, extension) = name.rsplit_once('.')?;
        let extension = extension.to_ascii_lowercase();
        EXTENSIONS.iter().find(|(known, _)| *known == extension).and_then(|(_, media)| Self::parse(media))
    }

    /// The extensions that are known, without the dot, with the types of such files.
    ///
    /// ```
    /// use attache_core::MediaType;
    /// assert!(MediaType::extensions().any(|(extension, media)| extension == "pdf" && media.essence() == "application/pdf"));
    /// ```
    pub fn extensions() -> impl Iterator<Item = (&'static str, Self)> {
        EXTENSIONS.iter().filter_map(|(extension, media)| Some((*extension, Self::parse(media)?)))
    }

    fn is_unknown(&self) -> bool {
        matches!(
            &*self.essence,
            OCTETS | "binary/octet-stream" | "application/unknown" | "application/x-download"
        )
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

    /// The ability that a model needs to take it.
    pub fn kind(&self) -> MediaKind {
        MediaKind::of(&self.essence).unwrap_or(MediaKind::Other)
    }

    /// The normal form of a pattern, as [`matches`](Self::matches) takes it: lower case, without parameters, common aliases
    /// replaced. `None` for what is no pattern.
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

    /// True if `pattern` covers it: a whole type, `type/*`, or `*/*`, in [normal form](Self::pattern).
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
mod tests {
    use super::known::ZIP;
    use super::*;

    fn kind(text: &str) -> Option<MediaKind> {
        MediaType::parse(text).map(|media| media.kind())
    }

    // documents.md 8.8 #104: the table of 4.3, row by row
    #[test]
    fn kinds() {
        for text in [
            "text/plain",
            "TEXT/csv; charset=x",
            "application/json",
            "application/xml",
            "application/yaml",
            "application/x-yaml",
            "application/ld+json",
            "application/atom+xml",
            "image/svg+xml",
        ] {
            assert_eq!(kind(text), Some(MediaKind::Text), "{text}");
        }
        for text in [" Image/Png  ", "image/jpg", "image/gif", "image/webp", "image/bmp", "image/tiff"] {
            assert_eq!(kind(text), Some(MediaKind::Image), "{text}");
        }
        assert_eq!(kind("application/pdf;version=1.7"), Some(MediaKind::Pdf));
        assert_eq!(kind("audio/wav"), Some(MediaKind::Audio));
        assert_eq!(kind("video/mp4"), Some(MediaKind::Video));
        for text in ["application/zip", "application/octet-stream", "application/msword"] {
            assert_eq!(kind(text), Some(MediaKind::Other), "{text}");
        }
        for text in ["", " ", "pdf", "a/b/c", "/x", "x/", "te xt/plain", "text/<b>"] {
            assert_eq!(kind(text), None, "{text}");
        }
    }

    #[test]
    fn charset_is_kept() {
        let media = MediaType::parse("text/csv; header=present; Charset=\"ISO-8859-1\"").unwrap();
        assert_eq!(media.charset(), Some("iso-8859-1"));
        assert_eq!(media.to_string(), "text/csv; charset=iso-8859-1");
        for none in ["x\r\nx-evil: 1", "a b", "\"a\nb\"", "\"\"", "a,b"] {
            let media = MediaType::parse(&format!("text/csv; charset={none}")).unwrap();
            assert_eq!(media.to_string(), "text/csv", "{none:?}");
        }
    }

    // documents.md 9.2 D22: missing, meaningless and wrong types
    #[test]
    fn resolution() {
        let png = b"\x89PNG\r\n\x1a\n....".as_slice();
        let resolve = |declared, bytes, name| MediaType::resolve(declared, bytes, name).essence().to_owned();
        assert_eq!(resolve(Some("image/jpeg"), Some(png), None), "image/png");
        assert_eq!(resolve(Some("application/octet-stream"), Some(b"%PDF-1.7"), None), "application/pdf");
        assert_eq!(resolve(None, Some(png), Some("x.pdf")), "image/png");
        assert_eq!(resolve(None, Some(b"a,b\n1,2"), Some("x.csv")), "text/csv");
        assert_eq!(
            resolve(None, Some(b"PK\x03\x04"), Some("x.docx")).split('.').next_back(),
            Some("document")
        );
        assert_eq!(resolve(None, Some(b"hello"), None), "text/plain");
        assert_eq!(resolve(None, Some(b"\0\x01"), None), "application/octet-stream");
        assert_eq!(resolve(Some("application/json"), Some(b"{}"), Some("x.txt")), "application/json");
        assert_eq!(resolve(Some("text/csv"), Some(png), None), "image/png");
    }

    /// The heads are those that ffmpeg, QuickTime, browsers' recorders and phones write.
    #[test]
    fn sound_and_video_in_one_form_of_file_are_what_somebody_said() {
        let brand = |brand: &str| [b"\0\0\0\x20ftyp", brand.as_bytes(), b"\0\0\x02\0isomiso2"].concat();
        let ebml = |kind: &str| {
            [b"\x1a\x45\xdf\xa3\x9fB\x86\x81\x01B\xf7\x81\x01B\x82\x84", kind.as_bytes()].concat()
        };
        let resolve = |declared: &str, bytes: &[u8], name: &str| {
            let name = (!name.is_empty()).then_some(name);
            MediaType::resolve(Some(declared), Some(bytes), name).essence().to_owned()
        };
        for (declared, bytes, name, is) in [
            ("audio/mp4", brand("M4A "), "", "audio/mp4"),
            ("audio/x-m4a", brand("mp42"), "", "audio/mp4"),
            ("", brand("M4A "), "", "audio/mp4"),
            ("", brand("isom"), "memo.m4a", "audio/mp4"),
            ("video/quicktime", brand("qt  "), "", "video/quicktime"),
            ("", brand("qt  "), "clip.mov", "video/quicktime"),
            ("", brand("qt  "), "", "video/quicktime"),
            ("video/3gpp", brand("3gp4"), "", "video/3gpp"),
            ("", brand("3g2a"), "", "video/3gpp2"),
            ("", brand("isom"), "", "video/mp4"),
            ("audio/webm;codecs=opus", ebml("webm"), "", "audio/webm"),
            ("video/webm", ebml("webm"), "", "video/webm"),
            ("", ebml("matroska"), "", "video/x-matroska"),
            ("video/x-matroska", ebml("matroska"), "", "video/x-matroska"),
            ("", ebml("webm"), "", "video/webm"),
            ("video/ogg", b"OggS\0\x02".to_vec(), "", "video/ogg"),
            ("", b"OggS\0\x02".to_vec(), "a.opus", "audio/opus"),
            // Of another form of file they are what their bytes say.
            ("audio/mpeg", brand("M4A "), "", "audio/mp4"),
            ("video/mp4", ebml("webm"), "", "video/webm"),
            ("image/png", brand("isom"), "", "video/mp4"),
        ] {
            assert_eq!(resolve(declared, &bytes, name), is, "{declared} {name} {}", bytes.escape_ascii());
        }
    }

    #[test]
    fn text_that_systems_call_otherwise_is_text() {
        let resolve = |declared: &str, bytes: &[u8], name: Option<&str>| {
            MediaType::resolve(Some(declared), Some(bytes), name).essence().to_owned()
        };
        let excel = "application/vnd.ms-excel";
        assert_eq!(resolve(excel, b"a,b\n1,2", Some("x.csv")), "text/csv");
        assert_eq!(resolve(excel, b"a\tb\n1\t2", Some("x.xls")), "text/plain");
        assert_eq!(resolve("", b"a\tb\n1\t2", Some("x.xls")), "text/plain");
        assert_eq!(resolve("video/mp2t", b"const a = 1;\n", Some("a.ts")), "text/plain");
        assert_eq!(resolve("application/msword", b"Dear all,", None), "text/plain");
        // Bytes that are no text, and pages, which converters see, stay as declared.
        assert_eq!(resolve(excel, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", Some("x.csv")), excel);
        assert_eq!(resolve(excel, b"\xef\xbb\xbf <html><table>", Some("x.xls")), excel);
        assert_eq!(resolve("video/mp2t", b"G@\0\x10\0", Some("a.ts")), "video/mp2t");
        for script in
            ["application/x-ruby", "application/x-javascript", "application/typescript", "application/jsonl"]
        {
            assert_eq!(kind(script), Some(MediaKind::Text), "{script}");
        }
    }

    #[test]
    fn usual_names_have_one_normal_form() {
        for (name, is) in [
            ("video/avi", "video/x-msvideo"),
            ("video/vnd.avi", "video/x-msvideo"),
            ("video/wmv", "video/x-ms-wmv"),
            ("audio/x-aiff", "audio/aiff"),
            ("audio/m4a", "audio/mp4"),
            ("video/mov", "video/quicktime"),
            ("image/svg", "image/svg+xml"),
        ] {
            assert_eq!(MediaType::parse(name).unwrap().essence(), is);
        }
        for (name, is) in
            [("a.AVI", "video/x-msvideo"), ("a.mkv", "video/x-matroska"), ("a.aac", "audio/aac")]
        {
            assert_eq!(MediaType::from_file_name(name).unwrap().essence(), is);
        }
        assert_eq!(MediaType::parse("video/mp4").unwrap().extension(), Some("mp4"));
        assert_eq!(MediaType::parse("audio/mp4").unwrap().extension(), Some("m4a"));
    }

    #[test]
    fn text_that_begins_like_a_signature_stays_the_text_it_was_declared_to_be() {
        let resolve = |declared: &str, bytes: &[u8]| {
            MediaType::resolve(Some(declared), Some(bytes), None).essence().to_owned()
        };
        for text in [
            "ID3,name\n1,ada\n",
            "BM25 is a rank",
            "OggS is",
            "fLaC is",
            "GIF89a is old",
            "II*",
            "%PDF- begins it",
        ] {
            assert_eq!(resolve("text/csv", text.as_bytes()), "text/csv", "{text}");
        }
        for text in ["ID3,name\n1,ada\n", "OggS is", "fLaC is", "what ftyp is"] {
            assert_eq!(resolve("", text.as_bytes()), "text/plain", "{text}");
        }
        assert_eq!(resolve("text/csv", b"ID3\x04\0\0\0\0\0\x10"), "audio/mpeg");
        assert_eq!(resolve("text/plain", b"%PDF-1.7\n%\xe2\xe3\xcf\xd3"), "application/pdf");
    }

    /// A zip archive of these empty files, stored: local heads, the directory, its end.
    fn zip(names: &[&str]) -> Vec<u8> {
        let head = |signature: &[u8; 4], zeros: usize, name: &str| {
            let mut head = signature.to_vec();
            head.resize(4 + zeros, 0);
            head.extend(u16::try_from(name.len()).unwrap().to_le_bytes());
            head
        };
        let mut bytes = Vec::new();
        for name in names {
            bytes.extend(head(b"PK\x03\x04", 22, name));
            bytes.extend([0; 2]);
            bytes.extend(name.bytes());
        }
        let directory = u32::try_from(bytes.len()).unwrap();
        for name in names {
            bytes.extend(head(b"PK\x01\x02", 24, name));
            bytes.extend([0; 16]);
            bytes.extend(name.bytes());
        }
        bytes.extend(b"PK\x05\x06");
        bytes.extend([0; 12]);
        bytes.extend(directory.to_le_bytes());
        bytes.extend([0; 2]);
        bytes
    }

    #[test]
    fn office_files_without_a_name_are_told_by_what_is_inside() {
        let sniff = |names: &[&str]| MediaType::sniff(&zip(names)).unwrap().extension();
        assert_eq!(sniff(&["[Content_Types].xml", "word/document.xml"]), Some("docx"));
        assert_eq!(sniff(&["xl/worksheets/sheet1.xml", "xl/workbook.xml"]), Some("xlsx"));
        assert_eq!(sniff(&["ppt/presentation.xml"]), Some("pptx"));
        assert_eq!(sniff(&["xl/workbook.bin"]), Some("xlsb"));
        assert_eq!(sniff(&["mimetypeapplication/vnd.oasis.opendocument.text"]), Some("odt"));
        assert_eq!(sniff(&["mimetypeapplication/vnd.oasis.opendocument.text-template"]), Some("ott"));
        assert_eq!(sniff(&["mimetypeapplication/epub+zip"]), Some("epub"));
        assert_eq!(sniff(&["folder/word/document.xml", "a.txt"]), Some("zip"));
        assert_eq!(MediaType::sniff(b"PK\x03\x04").unwrap().extension(), Some("zip"));
        // The contents do not overrule the sender's word on them.
        let docx = zip(&["word/document.xml"]);
        assert_eq!(MediaType::resolve(None, Some(&docx), Some("x.docm")).extension(), Some("docm"));
        assert_eq!(MediaType::resolve(Some("application/zip"), Some(&docx), None).extension(), Some("zip"));
        assert_eq!(MediaType::resolve(Some("image/png"), Some(&docx), None).extension(), Some("docx"));
    }

    #[test]
    fn names_of_office_files_say_their_types() {
        for (name, part) in [
            ("a.xlsm", "ms-excel.sheet.macroenabled"),
            ("a.docm", "ms-word.document.macroenabled"),
            ("a.pptm", "ms-powerpoint.presentation.macroenabled"),
            ("a.xlsb", "ms-excel.sheet.binary"),
            ("a.msg", "ms-outlook"),
            ("a.odp", "opendocument.presentation"),
            ("a.DOTX", "wordprocessingml.template"),
            ("a.potm", "ms-powerpoint.template"),
        ] {
            let media = MediaType::from_file_name(name).unwrap();
            assert!(media.essence().contains(part), "{name}: {media}");
            let container = if name == "a.msg" { "application/x-ole-storage" } else { ZIP };
            assert!(MediaType::parse(container).unwrap().is_refined_by(&media), "{name}");
        }
    }

    #[test]
    fn patterns() {
        let media = MediaType::parse("image/png").unwrap();
        assert!(media.matches("image/png") && media.matches("image/*") && media.matches("*/*"));
        assert!(!media.matches("image/p*") && !media.matches("text/*") && !media.matches("*"));
    }

    #[test]
    fn patterns_are_types_and_whole_kinds() {
        for (text, normal) in [
            (" Application/PDF ; a=b", "application/pdf"),
            ("TEXT/*", "text/*"),
            ("*/*", "*/*"),
            ("text/x-markdown", "text/markdown"),
        ] {
            assert_eq!(MediaType::pattern(text).as_deref(), Some(normal), "{text}");
        }
        for text in ["", "pdf", ".pdf", "*", "*.*", "*/pdf", "image/p*", "im*/*", "image/", "a/b/c", "**/*"] {
            assert_eq!(MediaType::pattern(text), None, "{text}");
        }
    }
}
