//! What a document is: by its media type, and by its bytes where the type does not say or says it wrong.

use bytes::Bytes;
use memchr::memmem;

#[cfg(feature = "office")]
use crate::Unit;
use crate::archive::Archive;
use crate::guarded::Clock;
use crate::{ConvertError, Converted, Limits, Note};

/// What a converter reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    #[cfg(feature = "pdf")]
    Pdf,
    #[cfg(feature = "office")]
    Docx,
    #[cfg(feature = "office")]
    Xlsx,
    #[cfg(feature = "office")]
    Pptx,
    #[cfg(feature = "office")]
    OpenText,
    #[cfg(feature = "office")]
    OpenSheet,
    #[cfg(feature = "office")]
    OpenSlides,
    #[cfg(feature = "office")]
    Rtf,
    #[cfg(feature = "legacy")]
    Doc,
    #[cfg(feature = "legacy")]
    Xls,
    #[cfg(feature = "legacy")]
    Ppt,
    #[cfg(feature = "legacy")]
    Msg,
    #[cfg(feature = "epub")]
    Epub,
    #[cfg(feature = "html")]
    Html,
    #[cfg(feature = "email")]
    Email,
    Csv,
    Tsv,
    Json,
    JsonLines,
    Text,
    Zip,
    /// An office file from before 2007, or any of which the type says less than the bytes.
    Office,
    /// Bytes of unknown type.
    Unknown,
}

/// Media types by essence, for those that are not text.
const TYPES: &[(&str, Format)] = &[
    #[cfg(feature = "pdf")]
    ("application/pdf", Format::Pdf),
    #[cfg(feature = "pdf")]
    ("application/x-pdf", Format::Pdf),
    #[cfg(feature = "office")]
    ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", Format::Docx),
    #[cfg(feature = "office")]
    ("application/vnd.openxmlformats-officedocument.wordprocessingml.template", Format::Docx),
    #[cfg(feature = "office")]
    ("application/vnd.ms-word.document.macroenabled.12", Format::Docx),
    #[cfg(feature = "office")]
    ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", Format::Xlsx),
    #[cfg(feature = "office")]
    ("application/vnd.openxmlformats-officedocument.spreadsheetml.template", Format::Xlsx),
    #[cfg(feature = "office")]
    ("application/vnd.ms-excel.sheet.macroenabled.12", Format::Xlsx),
    #[cfg(feature = "office")]
    ("application/vnd.ms-excel.sheet.binary.macroenabled.12", Format::Xlsx),
    #[cfg(feature = "office")]
    ("application/vnd.openxmlformats-officedocument.presentationml.presentation", Format::Pptx),
    #[cfg(feature = "office")]
    ("application/vnd.openxmlformats-officedocument.presentationml.slideshow", Format::Pptx),
    #[cfg(feature = "office")]
    ("application/vnd.openxmlformats-officedocument.presentationml.template", Format::Pptx),
    #[cfg(feature = "office")]
    ("application/vnd.ms-powerpoint.presentation.macroenabled.12", Format::Pptx),
    #[cfg(feature = "office")]
    ("application/vnd.ms-word.template.macroenabled.12", Format::Docx),
    #[cfg(feature = "office")]
    ("application/vnd.ms-excel.template.macroenabled.12", Format::Xlsx),
    #[cfg(feature = "office")]
    ("application/vnd.ms-powerpoint.template.macroenabled.12", Format::Pptx),
    #[cfg(feature = "office")]
    ("application/vnd.ms-powerpoint.slideshow.macroenabled.12", Format::Pptx),
    #[cfg(feature = "office")]
    ("application/vnd.oasis.opendocument.text", Format::OpenText),
    #[cfg(feature = "office")]
    ("application/vnd.oasis.opendocument.text-template", Format::OpenText),
    #[cfg(feature = "office")]
    ("application/vnd.oasis.opendocument.spreadsheet", Format::OpenSheet),
    #[cfg(feature = "office")]
    ("application/vnd.oasis.opendocument.spreadsheet-template", Format::OpenSheet),
    #[cfg(feature = "office")]
    ("application/vnd.oasis.opendocument.presentation", Format::OpenSlides),
    #[cfg(feature = "office")]
    ("application/vnd.oasis.opendocument.presentation-template", Format::OpenSlides),
    #[cfg(feature = "office")]
    ("application/rtf", Format::Rtf),
    #[cfg(feature = "office")]
    ("application/x-rtf", Format::Rtf),
    #[cfg(feature = "office")]
    ("text/rtf", Format::Rtf),
    #[cfg(feature = "office")]
    ("text/richtext", Format::Rtf),
    #[cfg(feature = "epub")]
    ("application/epub+zip", Format::Epub),
    #[cfg(feature = "html")]
    ("text/html", Format::Html),
    #[cfg(feature = "html")]
    ("application/xhtml+xml", Format::Html),
    #[cfg(feature = "email")]
    ("message/rfc822", Format::Email),
    #[cfg(feature = "email")]
    ("message/global", Format::Email),
    ("text/csv", Format::Csv),
    ("application/csv", Format::Csv),
    ("application/x-csv", Format::Csv),
    ("text/comma-separated-values", Format::Csv),
    ("text/x-csv", Format::Csv),
    ("text/tab-separated-values", Format::Tsv),
    ("application/json", Format::Json),
    ("application/x-json", Format::Json),
    ("text/json", Format::Json),
    ("application/x-ndjson", Format::JsonLines),
    ("application/jsonl", Format::JsonLines),
    ("application/jsonlines", Format::JsonLines),
    ("application/xml", Format::Text),
    ("application/yaml", Format::Text),
    ("application/x-yaml", Format::Text),
    ("application/toml", Format::Text),
    ("application/sql", Format::Text),
    ("application/javascript", Format::Text),
    ("application/x-sh", Format::Text),
    ("application/graphql", Format::Text),
    ("application/x-www-form-urlencoded", Format::Text),
    ("image/svg+xml", Format::Text),
    ("application/zip", Format::Zip),
    ("application/x-zip-compressed", Format::Zip),
    ("application/msword", Format::Office),
    ("application/vnd.ms-excel", Format::Office),
    ("application/vnd.ms-powerpoint", Format::Office),
    ("application/x-ole-storage", Format::Office),
    ("application/vnd.ms-outlook", Format::Office),
    ("application/octet-stream", Format::Unknown),
    ("binary/octet-stream", Format::Unknown),
];

/// The mark of the compound files that Office wrote before 2007, and writes still for encrypted documents.
pub(crate) const COMPOUND: &[u8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";

impl Format {
    /// What a media type says; parameters and case do not matter.
    pub(crate) fn of(media_type: &str) -> Option<Self> {
        let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        if let Some((_, format)) = TYPES.iter().find(|(name, _)| *name == essence) {
            return Some(*format);
        }
        let (kind, subtype) = essence.split_once('/')?;
        match kind {
            _ if subtype.ends_with("+json") => Some(Self::Json),
            _ if subtype.ends_with("+xml") || subtype.ends_with("+yaml") => Some(Self::Text),
            "text" => Some(Self::Text),
            _ => None,
        }
    }

    /// What the bytes are, given what their type says.
    ///
    /// # Errors
    /// They are of a kind that is known and not read, or the type said nothing and the bytes neither.
    pub(crate) fn resolve(self, bytes: &Bytes) -> Result<Self, ConvertError> {
        if !self.is_container() {
            return Ok(self);
        }
        if bytes.starts_with(COMPOUND) {
            return compound(bytes);
        }
        let found = if bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06") {
            inside(bytes).or(matches!(self, Self::Unknown | Self::Office).then_some(Self::Zip))
        } else {
            by_signature(bytes)
        };
        match (self, found) {
            (_, Some(found)) => Ok(found),
            (Self::Unknown | Self::Office, None) => Err(ConvertError::UnknownFormat),
            (declared, None) => Ok(declared),
        }
    }

    /// Reads a document of this format.
    pub(crate) fn convert(
        self,
        bytes: &Bytes,
        charset: Option<&str>,
        limits: &Limits,
        clock: Clock,
    ) -> Result<Converted, ConvertError> {
        match self {
            #[cfg(feature = "pdf")]
            Self::Pdf => crate::pdf::convert(bytes.clone(), limits, clock),
            #[cfg(feature = "office")]
            Self::Docx => crate::docx::convert(bytes, limits, clock),
            #[cfg(feature = "office")]
            Self::Xlsx => crate::xlsx::convert(bytes, limits, clock),
            #[cfg(feature = "office")]
            Self::Pptx => crate::pptx::convert(bytes, limits, clock),
            #[cfg(feature = "office")]
            Self::OpenText => crate::odf::convert(bytes, Unit::Whole, limits, clock),
            #[cfg(feature = "office")]
            Self::OpenSheet => crate::odf::convert(bytes, Unit::Sheet, limits, clock),
            #[cfg(feature = "office")]
            Self::OpenSlides => crate::odf::convert(bytes, Unit::Slide, limits, clock),
            #[cfg(feature = "epub")]
            Self::Epub => crate::epub::convert(bytes, limits, clock),
            #[cfg(feature = "office")]
            Self::Rtf => crate::rtf::convert(bytes, limits, clock),
            #[cfg(feature = "legacy")]
            Self::Doc => crate::doc::convert(bytes, limits, clock),
            #[cfg(feature = "legacy")]
            Self::Xls => crate::xls::convert(bytes, limits, clock),
            #[cfg(feature = "legacy")]
            Self::Ppt => crate::ppt::convert(bytes, limits, clock),
            #[cfg(feature = "legacy")]
            Self::Msg => crate::msg::convert(bytes, limits, clock),
            #[cfg(feature = "html")]
            Self::Html => crate::html::convert(bytes, charset, limits, clock),
            #[cfg(feature = "email")]
            Self::Email => crate::email::convert(bytes, limits, clock),
            Self::Csv => crate::csv::convert(bytes, charset, false, limits, clock),
            Self::Tsv => crate::csv::convert(bytes, charset, true, limits, clock),
            Self::Json => crate::json::convert(bytes, charset, limits, clock),
            Self::JsonLines => crate::json::convert_lines(bytes, charset, limits, clock),
            Self::Text => crate::plain::convert(bytes, charset, limits, clock),
            Self::Zip => crate::listing::convert(bytes, limits, clock),
            Self::Office | Self::Unknown => Err(ConvertError::UnknownFormat),
        }
    }

    /// What a reader should know if it is not what its type said.
    pub(crate) fn differs_from(self, declared: Self) -> Option<Note> {
        let said_little = matches!(declared, Self::Unknown | Self::Office | Self::Zip);
        (self != declared && !said_little).then(|| Note::ReadAs { format: self.name() })
    }

    const fn name(self) -> &'static str {
        match self {
            #[cfg(feature = "pdf")]
            Self::Pdf => "PDF",
            #[cfg(feature = "office")]
            Self::Docx => "DOCX",
            #[cfg(feature = "office")]
            Self::Xlsx => "XLSX",
            #[cfg(feature = "office")]
            Self::Pptx => "PPTX",
            #[cfg(feature = "office")]
            Self::OpenText => "ODT",
            #[cfg(feature = "office")]
            Self::OpenSheet => "ODS",
            #[cfg(feature = "office")]
            Self::OpenSlides => "ODP",
            #[cfg(feature = "office")]
            Self::Rtf => "RTF",
            #[cfg(feature = "legacy")]
            Self::Doc => "DOC",
            #[cfg(feature = "legacy")]
            Self::Xls => "XLS",
            #[cfg(feature = "legacy")]
            Self::Ppt => "PPT",
            #[cfg(feature = "legacy")]
            Self::Msg => "a message of Outlook",
            #[cfg(feature = "epub")]
            Self::Epub => "EPUB",
            #[cfg(feature = "html")]
            Self::Html => "HTML",
            #[cfg(feature = "email")]
            Self::Email => "an e-mail",
            Self::Csv => "CSV",
            Self::Tsv => "TSV",
            Self::Json => "JSON",
            Self::JsonLines => "JSON lines",
            Self::Text => "text",
            Self::Zip => "a zip archive",
            Self::Office | Self::Unknown => "what it is",
        }
    }

    /// True if a document of this type may turn out to be of another. Text is taken at its word.
    fn is_container(self) -> bool {
        match self {
            Self::Zip | Self::Office | Self::Unknown => true,
            #[cfg(feature = "office")]
            Self::Docx
            | Self::Xlsx
            | Self::Pptx
            | Self::OpenText
            | Self::OpenSheet
            | Self::OpenSlides
            | Self::Rtf => true,
            #[cfg(feature = "epub")]
            Self::Epub => true,
            _ => false,
        }
    }
}

/// The charset parameter of a media type.
pub(crate) fn charset_of(media_type: &str) -> Option<String> {
    media_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"').to_owned())
    })
}

/// A format that a zip archive holds, by the names in it.
fn inside(bytes: &[u8]) -> Option<Format> {
    let archive = Archive::names_of(bytes)?;
    let has = |name: &str| archive.has(name);
    #[cfg(feature = "office")]
    if has("[Content_Types].xml") || has("_rels/.rels") {
        if has("word/document.xml") || archive.has_under("word/") {
            return Some(Format::Docx);
        }
        if has("xl/workbook.xml") || archive.has_under("xl/") {
            return Some(Format::Xlsx);
        }
        if has("ppt/presentation.xml") || archive.has_under("ppt/") {
            return Some(Format::Pptx);
        }
    }
    #[cfg(feature = "epub")]
    if has("META-INF/container.xml")
        && archive.stored("mimetype").is_none_or(|m| m.starts_with(b"application/epub"))
    {
        return Some(Format::Epub);
    }
    #[cfg(feature = "office")]
    if has("content.xml") {
        let declared = archive.stored("mimetype").unwrap_or_default();
        return Format::of(&String::from_utf8_lossy(declared.trim_ascii()))
            .filter(|format| matches!(format, Format::OpenText | Format::OpenSheet | Format::OpenSlides));
    }
    let _ = has;
    None
}

fn by_signature(bytes: &[u8]) -> Option<Format> {
    #[cfg(feature = "pdf")]
    if bytes.starts_with(b"%PDF-") {
        return Some(Format::Pdf);
    }
    #[cfg(feature = "office")]
    if bytes.starts_with(b"{\\rtf") {
        return Some(Format::Rtf);
    }
    #[cfg(feature = "html")]
    {
        let head = bytes.get(..512.min(bytes.len())).unwrap_or_default();
        let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start().to_ascii_lowercase();
        if head.starts_with(b"<!doctype html") || head.starts_with(b"<html") {
            return Some(Format::Html);
        }
    }
    let _ = bytes;
    None
}

/// What a compound file is, by the names of the streams that it begins with: others belong to what is embedded.
fn compound(bytes: &Bytes) -> Result<Format, ConvertError> {
    #[cfg(feature = "legacy")]
    if let Ok(file) = crate::compound::Compound::open(bytes, &Limits::new()) {
        let names = file.entries("/");
        let has = |name: &str| names.iter().any(|entry| entry.name.eq_ignore_ascii_case(name));
        if has("EncryptedPackage") || has("EncryptionInfo") {
            return Err(ConvertError::Encrypted { reason: "it needs a password" });
        }
        return match () {
            () if has("WordDocument") => Ok(Format::Doc),
            () if has("PowerPoint Document") => Ok(Format::Ppt),
            () if has("Workbook") || has("Book") => Ok(Format::Xls),
            () if has("__properties_version1.0") => Ok(Format::Msg),
            () => Err(ConvertError::OldFormat { format: "Office before 2007" }),
        };
    }
    let holds = |name: &str| {
        let wide: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
        memmem::find(bytes, &wide).is_some()
    };
    if holds("EncryptedPackage") || holds("EncryptionInfo") {
        return Err(ConvertError::Encrypted { reason: "it needs a password" });
    }
    let format = if holds("PowerPoint Document") {
        "PowerPoint before 2007 (.ppt)"
    } else if holds("WordDocument") {
        "Word before 2007 (.doc)"
    } else if holds("__properties_version1.0") {
        "Outlook (.msg)"
    } else if holds("Workbook") || holds("Book") {
        "Excel before 2007 (.xls)"
    } else {
        "Office before 2007"
    };
    Err(ConvertError::OldFormat { format })
}

#[cfg(test)]
mod tests {
    use super::Format;

    #[test]
    fn types_are_known_whatever_their_case_and_parameters() {
        assert_eq!(Format::of("TEXT/CSV; header=present"), Some(Format::Csv));
        assert_eq!(Format::of("application/ld+json"), Some(Format::Json));
        assert_eq!(Format::of("application/atom+xml"), Some(Format::Text));
        assert_eq!(Format::of("text/x-rust"), Some(Format::Text));
        assert_eq!(Format::of("image/png"), None);
        assert_eq!(Format::of("pdf"), None);
    }
}
