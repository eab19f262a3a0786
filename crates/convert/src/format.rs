//! The formats that are read, and the media types that say them.

use attache_core::{MediaKind, MediaType};

use crate::Note;

/// The formats that converters read.
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
    /// An office file that is encrypted.
    #[cfg(feature = "legacy")]
    Encrypted,
    #[cfg(feature = "epub")]
    Epub,
    #[cfg(feature = "html")]
    Html,
    #[cfg(feature = "html")]
    Xhtml,
    #[cfg(feature = "email")]
    Email,
    Csv,
    Tsv,
    Json,
    JsonLines,
    Text,
    Zip,
    Tar,
    /// One file, packed.
    Gzip,
    /// An office file from before 2007, or any of which the type says less than the bytes.
    Office,
    /// Bytes of unknown type.
    Unknown,
}

/// Media types in their normal form, for those that are not read as they are.
const TYPES: &[(&str, Format)] = &[
    #[cfg(feature = "pdf")]
    ("application/pdf", Format::Pdf),
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
    ("text/richtext", Format::Rtf),
    #[cfg(feature = "epub")]
    ("application/epub+zip", Format::Epub),
    #[cfg(feature = "html")]
    ("text/html", Format::Html),
    #[cfg(feature = "html")]
    ("application/xhtml+xml", Format::Xhtml),
    #[cfg(feature = "email")]
    ("message/rfc822", Format::Email),
    #[cfg(feature = "email")]
    ("message/global", Format::Email),
    // A page with its pictures, as browsers save it (RFC 2557).
    #[cfg(feature = "email")]
    ("multipart/related", Format::Email),
    #[cfg(feature = "email")]
    ("application/x-mimearchive", Format::Email),
    ("text/csv", Format::Csv),
    ("application/csv", Format::Csv),
    ("text/tab-separated-values", Format::Tsv),
    ("application/json", Format::Json),
    ("application/x-ndjson", Format::JsonLines),
    ("application/zip", Format::Zip),
    ("application/x-tar", Format::Tar),
    ("application/gzip", Format::Gzip),
    ("application/x-gzip", Format::Gzip),
    ("application/msword", Format::Office),
    ("application/vnd.ms-excel", Format::Office),
    ("application/vnd.ms-powerpoint", Format::Office),
    ("application/x-ole-storage", Format::Office),
    ("application/vnd.ms-outlook", Format::Office),
    ("application/octet-stream", Format::Unknown),
    ("binary/octet-stream", Format::Unknown),
];

impl Format {
    /// The format that a media type says; parameters and case do not matter.
    pub(crate) fn of(media_type: &str) -> Option<Self> {
        let media = MediaType::parse(media_type)?;
        if let Some((_, format)) = TYPES.iter().find(|(name, _)| *name == media.essence()) {
            return Some(*format);
        }
        match media.kind() {
            MediaKind::Text if media.essence().ends_with("+json") => Some(Self::Json),
            MediaKind::Text => Some(Self::Text),
            _ => None,
        }
    }

    /// The note to a reader if it is not the format that its type said.
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
            #[cfg(feature = "legacy")]
            Self::Encrypted => "an encrypted file",
            #[cfg(feature = "epub")]
            Self::Epub => "EPUB",
            #[cfg(feature = "html")]
            Self::Html => "HTML",
            #[cfg(feature = "html")]
            Self::Xhtml => "XHTML",
            #[cfg(feature = "email")]
            Self::Email => "an e-mail",
            Self::Csv => "CSV",
            Self::Tsv => "TSV",
            Self::Json => "JSON",
            Self::JsonLines => "JSON lines",
            Self::Text => "text",
            Self::Zip => "a zip archive",
            Self::Tar => "a tar archive",
            Self::Gzip => "a file that gzip packed",
            Self::Office | Self::Unknown => "what it is",
        }
    }

    /// True if a document of this type may turn out to be of another. Text is taken at its word.
    pub(crate) fn is_container(self) -> bool {
        match self {
            Self::Zip | Self::Tar | Self::Gzip | Self::Office | Self::Unknown => true,
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
